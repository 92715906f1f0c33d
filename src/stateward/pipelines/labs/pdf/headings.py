"""Lines that name the columns of a table, and the date on which a specimen was taken."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit.dates import is_date
from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.pdf.cells import cells
from stateward.pipelines.labs.table import iso_date
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import COLLECTED, column_of, fold, known_column, ordinal_of

WORDS_MAX = 5  # of one heading
GAP_MAX = 1.2  # of the height, between two words of one heading
BROKEN_GAP_MAX = 0.18  # of the height: a blank is wider
SHARE_MIN = 0.55  # of the words of a heading line that headings explain
BETWEEN_MAX = 8  # letters between a label and its date: `am`, `le`, `time`
NUMBERED_MIN = 3  # columns of numbered samples, where no other heading is known
SAMPLES_MIN = 2  # columns, of a table without a heading for results
ROLES_MIN = 4  # cells of a line of headings most of which are not known
TITLED_MIN = 3  # headings that may stand as close together as the words of a title
NEARBY = 12.0  # points
LARGER = 1.1  # of the height: no line of a heading is so much larger than the one above it
JOINED_MAX = 3  # lines between the dates of columns and their units
CELL_END = "\t"  # between the texts of two cells of a line
LINE_GAP_MAX = 1.9  # of the height: a heading over two lines
DATE = re.compile(
    r"(?<![\w.,/-])(?:[0-9]{4}([-/.])[0-9]{2}\1[0-9]{2}|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日|[0-9]{1,2}([./-])[0-9]{1,2}\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[-./ ]{1,2}[A-Za-zäéûû]{3,9}\.?[-/ ,]{1,2}[0-9]{4}|[A-Z][a-z]{2,8}\.? [0-9]{1,2}, [0-9]{4})(?![\w/-])"
)
# Parts of words for the taking of a specimen, where no label that is known whole is printed.
_TAKEN = re.compile(
    r"pobrani|pobran|colheit|colet[ad]|entnahm|abnahm|afname|prelev|preliev|extracci|recolt|odber|mintavet"
    r"|provtag|provetak|provetat|provedat|numune|uzork|naytte|collect|drawn|sampled"
    r"|taken|tatt|prov tag|date of sample|sample date|afgenom|blutentn|extrai|toma de|muestra|colhid"
)
# Of birth, of the report, of its arrival and of paper: dates that are not those of the specimen.
_OTHER_DATE = re.compile(
    r"birth|dob|geb|born|nac|naiss|nasc|\bne\b|nee|urodz|geboorte|fodt|fodd|dogum|narozen|szulet|syntym"
    r"|report|befund|inform|relator|rapport|referto|rezult|result|wynik|uitslag|sonuc|lelet|issue|valid|print|druck|edit|impr|stamp|wydr"
    r"|receive|eingang|recib|receb|recu|ricev|przyj|ontvang|order|request|auftrag|anford|demand|solicit|richiest|zlec|aanvra|release|freigabe"
    r"|emit|emis|authori|approv|verif|sign|page|seite"
)
_GLUED = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-ZÄÖÜÉ])|(?<=[^\W\d_])(?=[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{2,4}$)"
)
_TIME = (
    r"(?:(?:[ ,T\t]*|[ \t]+[/|–-][ \t]+)"
    r"(?:um |à |at |ore |alle |hora |a las |om |kl\.? ?)?"  # codespell:ignore ore,alle
    r"[0-2]?[0-9](?:[:h]|(?<=kl[. ]\d\d)\.|(?<=kl\. \d\d)\.)[0-5][0-9]"
    r"(?::[0-5][0-9])?(?: ?[AaPp][Mm])?)?"
)
# Alone below its date, in a narrow column.
_HOUR = re.compile(r"(?:um |at )?([0-2]?[0-9]:[0-5][0-9])(?: ?(?:uhr|h))?", re.IGNORECASE)
_RECEIVED = re.compile(
    r"receive|eingang|accett|accept|recep|recib|recu |recu$|ontvang|mottag|przyj|arriv"
)
# An hour after a word for taking the specimen, whose day is that of its arrival: `Eingang 21.04. Entnahme um 07:31`.
_HOUR_TAKEN = re.compile(
    r"(?i)(?:prelievo|pr[ée]l[èe]vement|pr[ée]lev[ée]e?|entnahme|abnahme|collected|collection|drawn|toma|extracci[óo]n|colheita"
    r"|coleta|afname|provtagning)\W{1,3}"
    r"(?:(?:ore|alle|um|at|à|hora|a las|om|kl)\.?\s)?\s*"  # codespell:ignore ore,alle
    r"([0-2]?[0-9][:.h][0-5][0-9])(?![\d./-])"
)
# Of a sample before this one, to which a remark between two rows compares.
_EARLIER = re.compile(
    r"\b(?:previous|prior|last|earlier|former|vorbefund|vorwert|vorherig|letzte|vorige|precedent|anterior|anteced|poprzedn)"
)
_SIDES = {"low": "below", "normal": "in_range", "high": "above"}
_VALUES = frozenset({"value", "in_range", "out_of_range", "date", *_SIDES.values()})
_COUNTERS = frozenset({"no", "nr", "n", "lp", "l p", "s no", "sl no", "sr no", "pos", "#"})
UNKNOWN = "other"  # the role of a column whose heading is not known
COUNTER = "counter"  # the role of a column that numbers the rows
UNIT_ALONE = "unit alone"
UNIT_INSIDE = "unit inside"  # in brackets, right behind another heading


class Heading(msgspec.Struct, frozen=True):
    """One column by its heading; `text` is the date of a column of results of one day."""

    role: str
    x0: float
    x1: float
    text: str = ""

    @property
    def center(self) -> float:
        """The middle of the heading."""
        return (self.x0 + self.x1) / 2


def headings_of(line: PdfLine) -> list[Heading]:
    """The headings of a line; none if the line is not one that names columns."""
    found = list(_match_headings(line))
    glued = _part_glued(line)
    parted = list(_match_headings(glued))
    if _explains(parted, glued) > _explains(found, line):
        found, line = parted, glued
    explained = sum(count for _, count in found)
    headings = _joined_earlier([each for each, _ in found], line)
    headings = _with_values(_joined_names(headings))
    headings = _as_sides(_with_units(headings, line))
    if samples := _samples(headings, line):
        return _with_names([*headings, *samples])
    is_title = len(cells(line.words)) == 1 and len(found) < TITLED_MIN  # `Your Test Results`
    is_told = explained >= SHARE_MIN * len(line.words) or _is_told_by_roles(headings, line)
    if not is_told or not is_table(headings) or is_title:
        return []
    if any(read_value(_text(cell)).kind == "quantity" for cell in cells(line.words)):
        return []  # `Triglycerides   134   mg/dL   Normal : < 150` has words of headings, and a result
    headings = _with_names([*_unknown_headings(headings, line), *headings])
    dates = [each for each in headings if each.role == "date"]
    if dates and any(each.role == "value" for each in headings):
        # Beside a column of results, a column with a date holds earlier results.
        headings = [
            Heading("previous", each.x0, each.x1, each.text) if each.role == "date" else each
            for each in headings
        ]
    return headings


def _is_told_by_roles(headings: Sequence[Heading], line: PdfLine) -> bool:
    """Whether cells without a figure name a test, its result and one thing more: the others may have any name."""
    roles = {each.role for each in headings}
    parts = cells(line.words)
    is_short = all(len(cell) <= WORDS_MAX for cell in parts)
    is_worded = not any(map(str.isdigit, line.text)) and ":" not in line.text
    return {"test", "value"} < roles and len(parts) >= ROLES_MIN and is_short and is_worded


def _with_values(headings: list[Heading]) -> list[Heading]:
    """The headings, where no other column has results: below `Ergebnis Einheit` stands a result with its unit."""
    if _VALUES & {each.role for each in headings}:
        return headings
    return [
        replace(each, role="value") if each.role == "unit" and _begins_with_value(each) else each
        for each in headings
    ]


def _begins_with_value(heading: Heading) -> bool:
    first, _, others = heading.text.partition(" ")
    return bool(others) and column_of(first) == "value"


def _explains(found: Sequence[tuple[Heading, int]], line: PdfLine) -> tuple[int, int]:
    """How many columns headings name, and then how few words of the line they leave over."""
    return len({each.role for each, _ in found}), sum(count for _, count in found) - len(line.words)


def _samples(headings: Sequence[Heading], line: PdfLine) -> list[Heading]:
    """The columns of several samples: headings that are not known, where others say test and unit and none says result.

    They are columns of values with a name where others have a date. Names that are not alike may be of other things
    than samples: `Yours` and `Average`.
    """
    roles = {each.role for each in headings}
    if roles & _VALUES or ":" in line.text:
        return []
    if not {"test", "unit"} <= roles:
        return _numbered_samples(headings, line)
    end = max(each.x1 for each in headings if each.role in ("test", "unit"))
    found = [each for each in _unknown_headings(headings, line) if each.role == UNKNOWN]
    is_behind = len(found) >= SAMPLES_MIN and all(each.x0 > end for each in found)
    if not is_behind or not _are_alike([each.text for each in found]):
        return []
    return [Heading("date", each.x0, each.x1, each.text) for each in found]


def _numbered_samples(headings: Sequence[Heading], line: PdfLine) -> list[Heading]:
    """The same where nothing else names tests or units: `Subsample 1`, `Subsample 2`, `Subsample 3`."""
    unknown = _unknown_headings(headings, line)
    first = unknown[0].text.split()[0] if unknown else ""
    alike = [
        each for each in unknown if re.fullmatch(rf"{re.escape(first)} [0-9]{{1,2}}", each.text)
    ]
    if len(alike) < NUMBERED_MIN or unknown[: len(alike)] != alike:
        return []
    return [
        Heading("date" if each in alike else UNKNOWN, each.x0, each.x1, each.text)
        for each in unknown
    ]


def _are_alike(names: Sequence[str]) -> bool:
    """Whether names differ by a number or by what follows their first word: `S1` and `MW-2`, `Site A` and `Site B`."""
    is_counted = all(any(map(str.isdigit, name)) for name in names)
    return is_counted or len({name.split()[0] for name in names}) == 1


def _text(cell: Sequence[PdfWord]) -> str:
    return " ".join(word.text for word in cell)


def _joined_earlier(headings: Sequence[Heading], line: PdfLine) -> list[Heading]:
    """Headings with words for a result and for an earlier one in one cell as one: `Rezultat   Rezultat anterior`."""
    found: list[Heading] = []
    spans = [(cell[0].x0, cell[-1].x1) for cell in cells(line.words)]
    has_others = sum(each.role == "value" for each in headings) > 1
    for each in headings:
        last = found[-1] if found else None
        is_pair = last is not None and {last.role, each.role} == {"value", "previous"}
        if (
            last is not None
            and is_pair
            and has_others
            and any(x0 <= last.x0 and each.x1 <= x1 for x0, x1 in spans)
        ):
            found[-1] = Heading("previous", last.x0, each.x1, f"{last.text} {each.text}")
        else:
            found.append(each)
    return found


def _joined_names(headings: Sequence[Heading]) -> list[Heading]:
    """Headings with words that each name the tests as one: `Test item` is no table of names beside another.

    A heading for flags right behind that of the names (`Test Flag`) leaves no space for a name: they share a column.
    """
    found: list[Heading] = []
    has_names = any(each.role == "test" for each in headings)
    for each in headings:
        last = found[-1] if found else None
        if not has_names and each.role == "flag" and column_of(each.text.split()[0]) == "test":
            found.append(Heading("test", each.x0, each.x1, each.text))
            has_names = True
            continue
        is_near = last is not None and each.x0 - last.x1 < NEARBY
        is_name = is_near and last is not None and last.role == "test"
        # `Panel / Test`: titles of panels stand in the column of the names.
        is_panel = is_near and last is not None and (last.role, each.role) == ("section", "test")
        if last is not None and (is_panel or (is_name and each.role in ("test", "flag"))):
            found[-1] = Heading("test", last.x0, each.x1, f"{last.text} {each.text}")
        else:
            found.append(each)
    return found


def _part_glued(line: PdfLine) -> PdfLine:
    """The line with words parted where two headings have no gap: `IntervalMethod`, `Reference10/11/2025`."""
    words: list[PdfWord] = []
    for word in line.words:
        parts = _GLUED.split(word.text)
        width = (word.x1 - word.x0) / max(len(word.text), 1)
        at = 0
        for part in parts:
            x0 = word.x0 + at * width
            words.append(replace(word, text=part, x0=x0, x1=x0 + len(part) * width))
            at += len(part)
    return replace(line, words=words)


def _with_units(headings: list[Heading], line: PdfLine) -> list[Heading]:
    """Units that stand alone are headings of the values in them, where no other heading says `result`."""
    headings = _with_own_units(headings)
    others = [each for each in headings if each.role != UNIT_ALONE]
    if any(each.role in _VALUES for each in others):
        return others
    alone = {cell[0].x0 for cell in cells(line.words) if len(cell) == 1}
    units = [each for each in headings if each.role == UNIT_ALONE and each.x0 in alone]
    units = [each for each in units if is_measure(each.text)]
    values = [Heading("value", each.x0, each.x1, each.text) for each in units]
    return sorted([*others, *values], key=lambda each: each.x0)


def _with_own_units(headings: list[Heading]) -> list[Heading]:
    """A heading of values with the unit in brackets behind it: `MIC (mg/L)`."""
    found: list[Heading] = []
    for each in headings:
        if each.role != UNIT_INSIDE:
            found.append(each)
        elif found and found[-1].role == "value":
            found[-1] = Heading("value", found[-1].x0, each.x1, each.text)
    return found


def _as_sides(headings: list[Heading]) -> list[Heading]:
    """Low, Normal and High as columns of values, where another column holds the range or none holds values."""
    texts = {fold(each.text) for each in headings}
    ranges = [each for each in headings if each.role == "range"]
    if not texts >= _SIDES.keys() or (
        len(ranges) < 2 and any(each.role in _VALUES for each in headings)
    ):
        return headings
    return [
        Heading(_SIDES.get(fold(each.text), each.role), each.x0, each.x1, each.text)
        for each in headings
    ]


def _unknown_headings(headings: Sequence[Heading], line: PdfLine) -> list[Heading]:
    """Cells of a line of headings that are not known: what stands below them must not become part of other columns."""
    spans = [
        (cell[0].x0, cell[-1].x1, " ".join(word.text for word in cell))
        for cell in cells(line.words)
    ]
    return [
        Heading(COUNTER if text == "#" or fold(text) in _COUNTERS else UNKNOWN, x0, x1, text)
        for x0, x1, text in spans
        if not any(each.x0 < x1 and each.x1 > x0 for each in headings)
        and (text == "#" or any(map(str.isalnum, text.split()[0])))
    ]


def _with_names(headings: list[Heading]) -> list[Heading]:
    """The headings from left to right; where none says `test`, an unknown one before all others does."""
    ordered = sorted(headings, key=lambda each: each.x0)
    if any(each.role == "test" for each in ordered):
        return ordered
    first, *others = ordered
    if first.role == "collected" and any(each.role == "date" for each in others):
        return [Heading("test", first.x0, first.x1, first.text), *others]
    # The widest of several that are not known: codes and numbers of rows may stand before the names.
    codes = (UNKNOWN, COUNTER, "local_code", "code")
    leading = [*takewhile(lambda each: each.role in codes, ordered)]
    ends = [each.x0 for each in ordered[1:]]
    widths = [
        (end - each.x0, at)
        for at, (each, end) in enumerate(zip(leading, ends, strict=False))
        if each.role == UNKNOWN
    ]
    if widths:
        _, at = max(widths)
        ordered[at] = Heading("test", ordered[at].x0, ordered[at].x1, ordered[at].text)
    return ordered


def joined_headings(page: Sequence[PdfLine]) -> Iterator[tuple[int, list[Heading]]]:
    """Headings over several lines: dates of columns, and below them units and range; by the line that ends them."""
    for at, line in enumerate(page):
        dates = [each for each in _headings_of(line) if each.role == "date"]
        if len(dates) < 2:
            continue
        for below in range(at + 1, min(at + 1 + JOINED_MAX, len(page))):
            others = _headings_of(page[below])
            if others and {each.role for each in others} <= {"unit", "range", "flag", "test"}:
                yield below, sorted([*dates, *others], key=lambda each: each.x0)
                break


def stacked_headings(line: PdfLine, below: PdfLine) -> list[Heading]:
    """The headings of two lines, each cell read together with what stands below it: `Out Of` above `Range`.

    None where the second line is no part of a heading: it has a figure, or a cell of it stands below two others.
    """
    is_near = line.page == below.page and below.base - line.base <= LINE_GAP_MAX * line.height
    if not is_near or any(map(str.isdigit, below.text)) or ":" in below.text:
        return []
    upper = [*cells(line.words)]
    lower = [*cells(below.words)]
    under = [[at for at, part in enumerate(upper) if _overlap(part, cell)] for cell in lower]
    if any(len(each) > 1 for each in under):
        return []
    words: list[PdfWord] = []
    for at, part in enumerate(upper):
        parts = [part, *(cell for cell, each in zip(lower, under, strict=True) if each == [at])]
        words += [_as_one_word(parts)] if len(parts) > 1 else part
    for cell, each in zip(lower, under, strict=True):
        words += cell if not each else []
    words.sort(key=lambda word: word.x0)
    return headings_of(replace(line, words=words, text=" ".join(word.text for word in words)))


def _overlap(one: Sequence[PdfWord], other: Sequence[PdfWord]) -> bool:
    return one[0].x0 < other[-1].x1 and one[-1].x1 > other[0].x0


def _as_one_word(parts: Sequence[Sequence[PdfWord]]) -> PdfWord:
    """Cells below each other as one word, because their words do not follow each other from left to right."""
    return replace(
        parts[0][0],
        text=" ".join(_text(part) for part in parts),
        x0=min(part[0].x0 for part in parts),
        x1=max(part[-1].x1 for part in parts),
        begins_cell=True,
    )


def count_roles(headings: Sequence[Heading]) -> int:
    """How many columns headings tell the role of."""
    return len({each.role for each in headings} - {UNKNOWN})


def headings_without_values(line: PdfLine) -> list[Heading]:
    """The headings of a line that names tests and units, and no result; none if it is no such line."""
    found = max((_join_broken(line), line), key=lambda each: len({h.role for h in _headings_of(each)}))  # fmt: skip
    headings = _headings_of(found)
    roles = {each.role for each in headings}
    if not {"test", "unit"} <= roles or roles & _VALUES or ":" in line.text:
        return []
    return sorted([*headings, *_unknown_headings(headings, found)], key=lambda each: each.x0)


def _join_broken(line: PdfLine) -> PdfLine:
    """The line with letters put together that some programs set apart: `D e t e r m i n a n d`."""
    words: list[PdfWord] = []
    for word in line.words:
        last = words[-1] if words else None
        if last is not None and word.x0 - last.x1 < BROKEN_GAP_MAX * (last.bottom - last.top):
            words[-1] = replace(last, text=last.text + word.text, x1=word.x1)
        else:
            words.append(word)
    return replace(line, words=words, text=" ".join(word.text for word in words))


def _headings_of(line: PdfLine) -> list[Heading]:
    """The headings of a line that is made of hardly anything else."""
    found = list(_match_headings(line))
    is_heading = sum(count for _, count in found) >= SHARE_MIN * len(line.words)
    is_bare = {UNIT_ALONE, UNIT_INSIDE}
    return [each for each, _ in found if each.role not in is_bare] if is_heading else []


def is_table(headings: Sequence[Heading]) -> bool:
    """Whether these headings name a table of results: a test and its value, or a value with a unit or range."""
    roles = [each.role for each in headings]
    if "test" in roles and _VALUES & set(roles):
        return True
    has_value = "value" in roles or roles.count("date") > 1
    return has_value and bool({"unit", "range", "flag"} & set(roles))


def unit_of_heading(text: str) -> str:
    """The unit that a heading of results names, alone in its line: `Observed Value (mmol/L)`; "" for another line."""
    found = re.fullmatch(r"(.+?)\s*[(\[]([^()\[\]]+)[)\]]", text.strip())
    is_heading = found is not None and column_of(found[1]) == "value" and is_known_unit(found[2])
    return found[2] if found is not None and is_heading else ""


def is_line_of_headings(words: Sequence[PdfWord]) -> bool:
    """Whether words name the columns of a table."""
    if not words:
        return False
    text = " ".join(word.text for word in words)
    first = words[0]
    return bool(headings_of(PdfLine(1, 1, first.base, first.bottom - first.top, list(words), text)))


def _match_headings(line: PdfLine) -> Iterator[tuple[Heading, int]]:
    """Headings in the words of a line, the longest first; with each, how many words it explains."""
    words, at = line.words, 0
    while at < len(words):
        for count in range(min(WORDS_MAX, len(words) - at), 0, -1):
            run = words[at : at + count]
            if not _is_close(run):
                continue
            text = " ".join(word.text for word in run)
            # Words with a gap between them may be two headings.
            named = column_of if len(cells(run)) == 1 else known_column
            role = named(text.strip(":")) or ("date" if _is_day(text) else "")
            role = role or (UNIT_ALONE if is_measure(text) else "")
            is_inside = at > 0 and text[0] in "([" and _is_close(words[at - 1 : at + 1])
            if is_inside and role == UNIT_ALONE and is_known_unit(text.strip("()[]")):
                yield Heading(UNIT_INSIDE, run[0].x0, run[-1].x1, text.strip("()[]")), count
                at += count
                break
            if is_inside and role == "unit":  # `Analyt [Einheit]`: the unit stands behind the name
                yield Heading(UNIT_ALONE, run[0].x0, run[-1].x1, text), count
                at += count
                break
            if role and role != "patient" and not _is_label(words, at + count):
                yield Heading(role, run[0].x0, run[-1].x1, text), count
                at += count
                break
        else:
            at += 1


def _is_label(words: Sequence[PdfWord], end: int) -> bool:
    """Whether words before `end` are a label with its text right behind it: `Result: 5.4`."""
    return end < len(words) and words[end - 1].text.endswith(":") and _is_close(words[end - 1 : end + 1])  # fmt: skip


def _is_close(run: Sequence[PdfWord]) -> bool:
    return all(
        second.x0 - first.x1 <= GAP_MAX * (first.bottom - first.top)
        for first, second in pairwise(run)
    )


def _is_day(text: str) -> bool:
    return DATE.fullmatch(text) is not None and is_date(text)


def continues_heading(headings: Sequence[Heading], heading: PdfLine, line: PdfLine) -> bool:
    """Whether a line is the second one of a heading: close below it, no digits, each word under a heading."""
    if line.base - heading.base > LINE_GAP_MAX * heading.height:
        return False
    if re.search(r"[0-9]", line.text) and not re.fullmatch(r"[0-9:.,/\s-]*", line.text):
        return False
    texts = [_text(cell) for cell in cells(line.words)]
    if (
        line.height > LARGER * heading.height
        or any(map(ordinal_of, texts))
        or len({*texts}) < len(texts)
    ):
        return False  # a result in words: `Não reagente` below `Resultado`, and again below `Valor de referência`
    first = min(headings, key=lambda each: each.x0)
    beneath = [
        each.role for each in headings if any(_is_beneath(word, each) for word in line.words)
    ]
    if "test" in beneath and set(beneath) & _VALUES:
        return False  # a name and a value: the first row of the table
    is_under = all(any(_is_beneath(word, each) for each in headings) for word in line.words)
    return is_under and (
        any(word.x0 > first.x1 for word in line.words) or bool(column_of(line.text))
    )


def _is_beneath(word: PdfWord, heading: Heading) -> bool:
    return word.x0 < heading.x1 + 4 and word.x1 > heading.x0 - 4


class CollectedAt(NamedTuple):
    """A date of collection and where it is printed: it is that of the rows below it."""

    page: int
    base: float
    date: str
    is_received: bool  # the arrival of the specimen, which stands for its collection where nothing else is told


def collected_date(pages: Sequence[Sequence[PdfLine]], order: str) -> str:
    """When the specimen was taken, as the first label that says so; "" if none does."""
    if labelled := next(collected_dates(pages, order), None):
        if labelled.is_received and labelled.date and "T" not in labelled.date:
            lines = (_HOUR_TAKEN.search(line.text) for page in pages for line in page)
            hours = {found[1] for found in lines if found}
            told, _ = (
                iso_date(f"{labelled.date} {hours.pop()}", "ymd")
                if len(hours) == 1
                else ("", False)
            )
            return told or labelled.date
        return labelled.date
    taken = (
        date
        for label, date in _labelled_dates(pages)
        if _TAKEN.search(label) and not _OTHER_DATE.search(label)
    )
    told, is_sure = iso_date(next(taken, ""), order)
    return told if is_sure else ""


def collected_dates(pages: Sequence[Sequence[PdfLine]], order: str) -> Iterator[CollectedAt]:
    """Every date behind or below a label of collection, in reading order; "" where its order is unknown."""
    for page in pages:
        for number, line in enumerate(page):
            if (told := _collected_at(line, page[number + 1 : number + 2], order)) is not None:
                yield told


def _collected_at(line: PdfLine, following: Sequence[PdfLine], order: str) -> CollectedAt | None:
    """The date behind or below the first label of a line that has one."""
    for label in _labels(line):
        before = " ".join(word.text for word in line.words if word.x0 < label[-1].x1)
        if _EARLIER.search(fold(before)):
            continue
        after = " ".join(word.text for word in line.words if word.x0 > label[-1].x1 - 1)
        below = _below(label, following[0]) if following else ""
        for text in (after, below):
            found = re.search(DATE.pattern + _TIME, text)
            # Words between a label and a date belong to another label: a date of birth, of the report.
            between = text[: found.start()] if found is not None else ""
            if (
                found is not None
                and len(re.findall(r"[^\W\d]", between)) <= BETWEEN_MAX
                and _OTHER_DATE.search(fold(between)) is None
            ):
                hour = _HOUR.fullmatch(below) if text is after else None
                moment = f"{found[0]} {hour[1]}" if hour and ":" not in found[0] else found[0]
                told, is_sure = iso_date(moment.strip(), order)
                is_received = _RECEIVED.search(fold(label[0].text + label[-1].text)) is not None
                return CollectedAt(line.page, line.base, told if is_sure else "", is_received)
    return None


def is_dated_label(line: PdfLine) -> bool:
    """Whether a line tells when a specimen was taken: it is about the sample, and no result."""
    label = _label(line)
    after = " ".join(word.text for word in line.words if label and word.x0 > label[-1].x1 - 1)
    return bool(label) and DATE.match(after.lstrip(" :")) is not None


def has_unknown_date(pages: Sequence[Sequence[PdfLine]]) -> bool:
    """Whether a date follows a label that is not known or says two things: the specimen may have been taken then."""
    return any(
        _OTHER_DATE.search(label) is None or _TAKEN.search(label) is not None
        for label, _ in _labelled_dates(pages)
    )


def _labelled_dates(pages: Sequence[Sequence[PdfLine]]) -> Iterator[tuple[str, str]]:
    """Every date after a label, which is folded: words and a colon in the cell of the date, or in the one before."""
    for page in pages:
        for line in page:
            texts = [" ".join(word.text for word in cell) for cell in cells(line.words)]
            line_text = CELL_END.join(texts)
            for found in re.finditer(DATE.pattern + _TIME, line_text):
                label = re.search(
                    rf"([^\W\d][^\d:{CELL_END}]*)\s*:\s*$", line_text[: found.start()]
                )
                if label is not None:
                    yield fold(label[1]), found[0].replace(CELL_END, " ").strip()


def _label(line: PdfLine) -> list[PdfWord]:
    """The words of a line that say that a date of collection follows."""
    return next(_labels(line), [])


def _labels(line: PdfLine) -> Iterator[list[PdfWord]]:
    """All such words of a line, those first that say it best."""
    found = []
    for size in _LABEL_SIZES:
        for at in range(len(line.words) - size + 1):
            words = line.words[at : at + size]
            rank = _LABEL_RANKS.get(fold(" ".join(word.text for word in words)))
            if rank is not None:
                found.append((rank, at, words))
    # `John SAMPLE   Date of birth` is no label.
    return (words for *_, words in sorted(found) if len(cells(words)) == 1)


_LABEL_RANKS = {
    label: rank for rank, label in reversed(list(enumerate(COLLECTED)))
}  # the first counts
_LABEL_SIZES = sorted({len(label.split()) for label in COLLECTED})


def _below(label: Sequence[PdfWord], line: PdfLine) -> str:
    """The words of the next line that begin under a label."""
    left = label[0].x0 - NEARBY
    return " ".join(word.text for word in line.words if word.x0 >= left)
