"""Which label a value belongs to: one before it, left of it, above it, or right behind it.

Every value is linked to all labels around it, also to labels of things that are no fields; a nearer label weakens the
link to one further away. The strength of a link is a number from 0 to 1. Nothing here depends on single fields.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.grid import Grid, GridCell
from stateward.pipelines.contracts.offline.labels import STRONG, LabelMeaning, LabelMention

# Distances and strengths were set on generated contracts of one maker and checked on those of another.
REACH_CHARS = 220  # from a label to a value behind it
LABEL_CHARS = 2 * REACH_CHARS  # from the beginning of a label to that value
BEHIND_CHARS = 60  # from a value to a label behind it
LABELS_BEFORE_MAX = 4
HEADER_ROWS_MAX = 14  # rows of a table below its header
LONG_LINE_CHARS = 45  # a longer line is prose
LABEL_SHARE = 0.7  # of a cell that a label must cover to be the label of a column
OWNED = 0.8  # a label with a value of that strength right behind it does not also own the value before it
ALONE = 0.96
NEXT_CHARS = 12
RIGHT_BEHIND = 0.12
SLIPS = {"": 1.0, "slip": 0.96, "compound": 0.95, "modified": 0.93}

BESIDE, OVER, NEXT_LINE, BEHIND = 0.97, 0.92, 0.9, 0.62
RIGHT_BEFORE = 0.9  # of a label before a value: with a word or two between them
NOT_NEAREST, NOT_FIRST, OTHER_SENTENCE, TERSE = 0.45, 0.5, 0.3, 0.45

# Words between a label and its value that carry no meaning.
FILLERS = frozenset(
    """beträgt betragen ist sind lautet liegt belaufen beläuft sich auf von vom in höhe zu zum zur ab am an dem der
    den des die das derzeit aktuell momentan wird werden wurde mit ohne einer einem eine ein brutto netto inkl
    inklusive incl einschließlich mwst ust umsatzsteuer mehrwertsteuer gesetzlicher gesetzl monatlich mtl pro
    je im monat jahr jährlich eur euro ct cent kwh frist is are of at the on amounts amount to shall be set
    currently from for with a per month year monthly gross net including vat tax period months wochen tagen
    monaten jahren voraussichtlich vereinbart vereinbarte festgelegt jeweils insgesamt pauschal maximal bis
    mindestens least not less than date datum erstmals zunächst effective will it s your ihr ihre ihren ihrem
    unser unsere für sie wir dieser dieses as agreed fixed follows eines no later kalendermonat einhaltung
    unter durch folgt wie folgender betrag grundsätzlich derzeitige also has been nun dann hierfür dafür dabei
    hier beginnt startet endet läuft starts begins ends runs expires commences noch erst nur only just
    vorbehaltlich schriftlich upon written prior giving given by either party beiden parteien seiten textform
    in-writing writing schadenfall schadensfall versicherungsfall schaden link loss event strom gas
    verbrauchter verbrauchte bezogener what when how gewünschter gewünschte gewünschtes gewählter gewähltes
    selected chosen x""".split()
)
_UNFINISHED = re.compile(r"(?:\b(?:und|oder|für|mit|and|or|for|with)|[,-])\s*$")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_SENTENCE_END = re.compile(
    r"(?<![\d\b][\d])(?<!\b[A-Za-z])(?<!Mio)(?<!mtl)(?<!inkl)(?<!MwSt)(?<!bzw)(?<!ca)(?<!Nr)[.!?]\s+(?=[A-ZÄÖÜ\"„])"
)
_REMARK = re.compile(
    r"(?:inkl|incl|einschl|zzgl|exkl|excl|including|inclusive|excluding|einschließlich|inklusive|zuzüglich|ohne)\.?\s+"
    r"(?:(?:of|der|die|ges|gesetzlicher|all|the|government|statutory|insurance|\d{1,2}(?:[.,]\d{1,2})?\s?%)\.?\s+){0,3}$",
    re.IGNORECASE,
)
_INCLUDED = re.compile(
    r"\s+(?:(?:and|und)\s+(?:fees|charges|levies|surcharges|duties|abgaben)\s+)?"
    r"(?:(?:is|are|ist|sind)\s+)?(?:included|inclusive|inkl\w*|inbegriffen|enthalten|eingerechnet)\b",
    re.IGNORECASE,
)
_TAX = re.compile(r"tax|VAT|GST|IPT|steuer|MwSt|USt", re.IGNORECASE)
_WALL = re.compile(rf"[\t;:]|\n\s*\n|{_SENTENCE_END.pattern}")
_MORE = re.compile(
    r"\s(?:für|for|of|je|pro|per|bei|in|der|des)\s(?:[\w-]+(?:-,|,)?\s?){0,5}", re.IGNORECASE
)
_AND = re.compile(r"\s*(?:/|und|and|bis|–|-|,|&|;)\s*", re.IGNORECASE)
_OWN = re.compile(r"[^\W\d_]{2}[^:\n]*:")  # the cell has its own label, known or not
_BRACKET = re.compile(r"\([^()]{0,60}\)|\[[^\]]{0,60}\]")


P = TypeVar("P", LabelMention, ValueCandidate)


class LabelledPage(NamedTuple):
    """A page with its labels and values, and the rows that are headers of tables."""

    grid: Grid
    mentions: list[LabelMention]
    candidates: list[ValueCandidate]
    header_rows: frozenset[int]


class LabelLink(NamedTuple):
    """The link of a value to a label."""

    meaning: LabelMeaning
    mention: LabelMention
    strength: float
    how: str


def label_page(
    grid: Grid, mentions: list[LabelMention], candidates: list[ValueCandidate]
) -> LabelledPage:
    """A page, ready for linking. A label right behind the label of something else belongs to it: `EU roaming data`."""
    kept: list[LabelMention] = []
    reaches = [
        (candidate.end, candidate.reach)
        for candidate in candidates
        if candidate.reach > candidate.end
    ]
    for mention in mentions:
        last = kept[-1] if kept else None
        if _is_aside(grid, mention, last) or any(a <= mention.start < b for a, b in reaches):
            continue
        is_strong = any(each.weight == STRONG for each in mention.meanings)
        between = grid.text[last.end : mention.start] if last else ""
        if last and last.is_decoy and not last.slip and is_strong and between in ("", " ", "-"):
            meanings = {
                *last.meanings,
                *(each for each in mention.meanings if each.what.startswith("!")),
            }
            kept[-1] = LabelMention(last.start, mention.end, tuple(sorted(meanings)), last.slip)
        elif last and _is_modifier(grid, last, mention, candidates):
            kept[-1] = last._replace(end=mention.end, slip=last.slip or "modified")
            kept.append(_without_kinds_of(mention, last))
        else:
            kept.append(mention)
    return LabelledPage(grid, kept, candidates, _header_rows(grid, kept, candidates))


def _is_modifier(
    grid: Grid, last: LabelMention, mention: LabelMention, candidates: list[ValueCandidate]
) -> bool:
    """Whether a label only qualifies the one before: `Deckungssumme für Sachschäden`."""
    if grid.cell_at(last.start) != grid.cell_at(mention.start) or not mention.is_decoy:
        return False
    between = grid.text[last.end : mention.start]
    if any(last.end <= each.start < mention.start for each in candidates):
        return False
    return bool(_MORE.fullmatch(between))


def _without_kinds_of(mention: LabelMention, last: LabelMention) -> LabelMention:
    """A label without its meanings for the kinds of the label that it qualifies."""
    kinds = {kind for meaning in last.meanings for kind in meaning.kinds}
    kept = tuple(each for each in mention.meanings if not kinds & set(each.kinds))
    return mention._replace(meanings=kept)


def _is_aside(grid: Grid, mention: LabelMention, last: LabelMention | None) -> bool:
    """Whether a label is only a remark: `Beitrag inkl. Steuer`, `Preis (ohne Bonus)`, `40.00, taxes included`."""
    cell = grid.cell_at(mention.start)
    if cell is None:
        return True
    before = grid.text[cell.start : mention.start]
    if mention.is_decoy and _REMARK.search(before):
        return True
    is_tax = _TAX.search(grid.text, mention.start, mention.end) is not None
    if mention.is_decoy and is_tax and _INCLUDED.match(grid.text, mention.end, cell.end):
        return True
    if last is None or not cell.start <= last.start < cell.end:
        return False
    opened = before.rfind("(") if mention.is_decoy else -1
    return bool(_REMARK.search(before)) or opened > max(
        before.rfind(")"), last.end - cell.start - 1
    )


def _header_rows(
    grid: Grid, mentions: list[LabelMention], candidates: list[ValueCandidate]
) -> frozenset[int]:
    """Rows of labels above rows of values."""
    labels: dict[int, set[int]] = {}
    values: dict[int, set[int]] = {}
    for mention in mentions:
        cell = grid.cell_at(mention.start)
        if (
            cell
            and _covers(grid, cell, mention)
            and not _is_named_value(grid, mentions, cell, mention)
        ):
            labels.setdefault(cell.row, set()).add(cell.column)
    for candidate in candidates:
        cell = grid.cell_at(candidate.start)
        if cell and not candidate.is_bare:
            values.setdefault(cell.row, set()).add(cell.column)
    return frozenset(
        row
        for row, columns in labels.items()
        if len(grid.rows[row]) >= 2
        and not values.get(row)
        and row + 1 < len(grid.rows)
        and len(grid.rows[row + 1]) == len(grid.rows[row])
        and 2 * len(labels.get(row + 1, set())) < len(grid.rows[row])
        and (len(columns) >= 2 or len(grid.rows[row]) >= 3)
        and (len(columns) == len(grid.rows[row]) or values.get(row + 1))
        and _is_aligned(grid, row)
    )


def _is_named_value(
    grid: Grid, mentions: list[LabelMention], cell: GridCell, mention: LabelMention
) -> bool:
    """Whether a word that ends like the label left of it is its value: `Versicherung | Hausratversicherung`."""
    if mention.slip != "compound" or not cell.column:
        return False
    left = grid.rows[cell.row][cell.column - 1]
    whats = {each.what for each in mention.meanings}
    return any(
        whats & {each.what for each in other.meanings}
        for other in _within(mentions, left.start, left.end)
    )


def _is_aligned(grid: Grid, row: int) -> bool:
    pairs = zip(grid.rows[row], grid.rows[row + 1], strict=True)
    return all(head.overlaps(cell) for head, cell in pairs)


def links(
    candidate: ValueCandidate, labelled: LabelledPage, *, has_behind: bool = True
) -> list[LabelLink]:
    """All links of a value, the strongest first; one for each meaning."""
    cell = labelled.grid.cell_at(candidate.start)
    if cell is None:
        return []
    grid, mentions, candidates = labelled.grid, labelled.mentions, labelled.candidates
    found = [*_before(candidate, cell, grid, mentions, candidates)]
    has_own = bool(_OWN.search(grid.text[cell.start : candidate.start]))
    if cell.row - 1 not in labelled.header_rows and not has_own:
        found += _labels_to_the_left(candidate, cell, grid, mentions, candidates)
    if not has_own:
        found += _over(candidate, cell, grid, mentions, candidates)
    before = max((each.strength for each in found if each.how == "before"), default=0.0)
    if has_behind and before < RIGHT_BEFORE:
        behind = _behind(candidate, grid, mentions, candidates)
        # A label right behind is nearer than one with words in between: `SMS in alle Netze und 60 GB Datenvolumen`.
        found += [each for each in behind if before <= BEHIND or each.strength > before]
    best: dict[str, LabelLink] = {}
    for link in found:
        linked = best.get(link.meaning.what)
        if linked is None or link.strength > linked.strength:
            best[link.meaning.what] = link
    return sorted(best.values(), key=lambda link: -link.strength)


def _link(
    candidate: ValueCandidate,
    mention: LabelMention,
    strength: float,
    how: str,
    *,
    is_alone: bool = False,
) -> Iterator[LabelLink]:
    """A link for each meaning. A weak label that is all there is before the value is nearly a strong one."""
    for meaning in mention.of_kind(candidate.kind):
        weight = max(meaning.weight, ALONE) if is_alone else meaning.weight
        yield LabelLink(meaning, mention, strength * weight * SLIPS[mention.slip], how)


def _before(
    candidate: ValueCandidate,
    cell: GridCell,
    grid: Grid,
    mentions: list[LabelMention],
    candidates: list[ValueCandidate],
) -> Iterator[LabelLink]:
    """Labels before the value in the running text, on its line or on lines before."""
    nearer = 0
    row = [each for each in _within(mentions, cell.start, cell.end) if each.of_kind(candidate.kind)]
    if pair := _pair(row, candidate, cell, grid, candidates):
        yield from _link(candidate, pair, BESIDE, "before")
        return
    for mention in reversed(_within(mentions, candidate.start - LABEL_CHARS, candidate.start)):
        if mention.end > candidate.start or not mention.of_kind(candidate.kind):
            continue
        if candidate.start - mention.end > REACH_CHARS or nearer >= LABELS_BEFORE_MAX:
            return
        gap = grid.text[mention.end : candidate.start]
        if "\t" in gap or "\n\n" in gap or (home := grid.cell_at(mention.start)) is None:
            return
        if home.row == cell.row and home.column != cell.column:
            return
        if home.row != cell.row and not (grid.is_single(home.row) and grid.is_single(cell.row)):
            return
        strength = gap_strength(gap, is_wrapped=_is_wrapped(grid, home, cell))
        if _between(candidates, mention.end, candidate, candidate.start):
            strength *= NOT_FIRST
        if nearer:
            strength *= NOT_NEAREST
        lead = grid.text[home.start : mention.start]
        is_alone = not content_words(lead) and (":" in gap[:3] or home.row != cell.row)
        yield from _link(candidate, mention, strength, "before", is_alone=is_alone)
        nearer += 1


def gap_strength(gap: str, *, is_wrapped: bool = True) -> float:
    """How well a label binds a value across what stands between them."""
    lines = gap.split("\n")
    if len(lines) > 1 and not is_wrapped:
        if len(lines) > 2 or content_words(lines[0]) or content_words(lines[1]) > 1:
            return TERSE * 0.8
        return NEXT_LINE
    text = _BRACKET.sub(" ", " ".join(lines))
    strength = 1.0 if ":" in text[:3] else 0.97
    strength -= 0.055 * content_words(text)
    if _SENTENCE_END.search(text):
        strength *= OTHER_SENTENCE
    if ";" in text:
        strength *= 0.6
    if "," in text.strip(" ,"):
        strength *= 0.93
    return max(0.05, strength)


def content_words(text: str) -> int:
    """How many words of a text carry meaning."""
    return sum(1 for word in _WORD.findall(text.lower()) if word not in FILLERS)


def _is_wrapped(grid: Grid, home: GridCell, cell: GridCell) -> bool:
    """Whether the lines from one cell to another are prose."""
    if home.row == cell.row:
        return True
    return all(
        grid.is_single(row) and len(grid.words(grid.rows[row][0])) >= LONG_LINE_CHARS
        for row in range(home.row, cell.row)
    )


def _labels_to_the_left(
    candidate: ValueCandidate,
    cell: GridCell,
    grid: Grid,
    mentions: list[LabelMention],
    candidates: list[ValueCandidate],
) -> Iterator[LabelLink]:
    """Labels in cells to the left, on the same row."""
    strength = BESIDE
    lead = content_words(grid.text[cell.start : candidate.start])
    for other in reversed(grid.rows[cell.row][: cell.column]):
        inside = _within(mentions, other.start, other.end)
        fitting = [each for each in inside if each.of_kind(candidate.kind)]
        values = _within(candidates, other.start, other.end)
        has_value = any(_is_like(each, candidate) for each in values)
        if fitting and not has_value:
            label = _pair(fitting, candidate, cell, grid, candidates) or fitting[-1]
            rest = content_words(_BRACKET.sub(" ", grid.text[label.end : other.end]))
            rest += content_words(grid.text[other.start : label.start])
            rest = 0 if _pair(fitting, candidate, cell, grid, candidates) else rest
            reach = strength - 0.04 * rest - 0.05 * lead
            is_pair = label in fitting[:-1] or len(fitting) > 1
            if _between(candidates, cell.start - 1, candidate, candidate.start) and not is_pair:
                reach *= NOT_FIRST + 0.2
            yield from _link(candidate, label, reach, "left", is_alone=not rest)
            return
        if not has_value and not values and content_words(grid.words(other)):
            return  # a label of something unknown
        strength *= 0.9


def _pair(
    labels: list[LabelMention],
    candidate: ValueCandidate,
    cell: GridCell,
    grid: Grid,
    candidates: list[ValueCandidate],
) -> LabelMention | None:
    """The label of a value where a row has as many labels as values: `Beginn / Ende` and two dates."""
    if len(labels) < 2:
        return None
    values = [
        each for each in _within(candidates, cell.start, cell.end) if _is_like(each, candidate)
    ]
    if len(values) != len(labels):
        return None
    gaps = [grid.text[one.end : other.start] for one, other in pairwise(labels)]
    gaps += [grid.text[one.end : other.start] for one, other in pairwise(values)]
    if not all(_AND.fullmatch(gap) for gap in gaps):
        return None
    return labels[values.index(candidate)]


def _goes_on_from_above(grid: Grid, cell: GridCell) -> bool:
    """Whether a cell alone in its row is the second line of the one above: then it heads nothing."""
    if not grid.is_single(cell.row) or not cell.row:
        return False
    above = [each for each in grid.rows[cell.row - 1] if each.overlaps(cell)]
    return any(_UNFINISHED.search(grid.words(each)) for each in above)


def _over(
    candidate: ValueCandidate,
    cell: GridCell,
    grid: Grid,
    mentions: list[LabelMention],
    candidates: list[ValueCandidate],
) -> Iterator[LabelLink]:
    """Labels in the header of the column, or in the short line right above; none for prose."""
    if cell.end - cell.start >= LONG_LINE_CHARS:
        return
    strength = OVER
    last_row = cell.row
    for other in grid.above(cell, rows_max=HEADER_ROWS_MAX):
        if other.row < last_row - 1:
            return
        last_row = other.row
        if _goes_on_from_above(grid, other):
            return
        inside = _within(mentions, other.start, other.end)
        fitting = [each for each in inside if each.of_kind(candidate.kind)]
        values = _within(candidates, other.start, other.end)
        has_value = any(_is_like(each, candidate) for each in values)
        if fitting and not has_value and _is_value_of_row(grid, mentions, other, fitting[-1]):
            return
        if fitting and not has_value and len(grid.words(other)) <= LONG_LINE_CHARS:
            rest = content_words(_BRACKET.sub(" ", grid.text[fitting[-1].end : other.end]))
            lead = content_words(grid.text[cell.start : candidate.start])
            strength -= 0.06 * (rest + lead)
            yield from _link(candidate, fitting[-1], strength, "over", is_alone=not rest)
            return
        if not has_value:
            return
        strength *= 0.92


def _is_value_of_row(
    grid: Grid, mentions: list[LabelMention], cell: GridCell, mention: LabelMention
) -> bool:
    """Whether a cell with a label among other words is the value of the label left of it: `Speed | 9 Mbit download`."""
    if not cell.column or _covers(grid, cell, mention):
        return False
    left = grid.rows[cell.row][cell.column - 1]
    return any(_covers(grid, left, each) for each in _within(mentions, left.start, left.end))


def _covers(grid: Grid, cell: GridCell, mention: LabelMention) -> bool:
    """Whether a label is all of a cell, but for a bracket."""
    return mention.end - mention.start >= LABEL_SHARE * len(_BRACKET.sub("", grid.words(cell)))


def _behind(
    candidate: ValueCandidate,
    grid: Grid,
    mentions: list[LabelMention],
    candidates: list[ValueCandidate],
) -> Iterator[LabelLink]:
    """The first label behind the value, in the same sentence and before any other value."""
    home = grid.cell_at(candidate.start)
    is_long = home is not None and home.end - home.start >= LONG_LINE_CHARS
    for mention in mentions[bisect_left(mentions, candidate.end, key=_start) :]:
        gap = grid.text[candidate.end : mention.start]
        if len(gap) > BEHIND_CHARS or ("\n" in gap and not is_long) or _WALL.search(gap):
            return
        if not mention.of_kind(candidate.kind):
            continue
        between = _within(candidates, candidate.end, mention.start)
        if any(_is_like(each, candidate) for each in between):
            return
        if _owns_next(candidate, mention, grid, mentions, candidates):
            return
        behind = grid.text[mention.end : mention.end + 2]
        is_next = not content_words(gap) and len(gap) <= NEXT_CHARS
        strength = BEHIND + 0.2 - 0.05 * content_words(gap) - (0.3 if ":" in behind else 0)
        strength += RIGHT_BEHIND if is_next and ":" not in behind else 0
        yield from _link(candidate, mention, max(0.1, strength), "behind")
        return


def _owns_next(
    candidate: ValueCandidate,
    mention: LabelMention,
    grid: Grid,
    mentions: list[LabelMention],
    candidates: list[ValueCandidate],
) -> bool:
    """Whether a label has a value of that kind right behind it."""
    later = candidates[bisect_left(candidates, mention.end, key=_start) :]
    following = next((each for each in later if _is_like(each, candidate)), None)
    if following is None:
        return False
    gap = grid.text[mention.end : following.start]
    labels = _within(mentions, mention.end, following.start)
    if any(each.of_kind(candidate.kind) for each in labels):
        return False
    return len(gap) < REACH_CHARS and gap_strength(gap) > OWNED and "\t" not in gap


def _between(
    candidates: list[ValueCandidate], start: int, candidate: ValueCandidate, end: int
) -> bool:
    """Whether another value of that kind is in between."""
    return any(
        _is_like(each, candidate) and each.end <= end for each in _within(candidates, start, end)
    )


def _within(placed: list[P], start: int, end: int) -> list[P]:
    """Those that begin there: labels and values are in the order of the text, and long contracts have thousands."""
    return placed[bisect_left(placed, start, key=_start) : bisect_left(placed, end, key=_start)]


def _start(placed: P) -> int:
    return placed.start


def _is_like(one: ValueCandidate, other: ValueCandidate) -> bool:
    return one.kind == other.kind and (not one.is_bare or other.is_bare)
