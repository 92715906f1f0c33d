"""Candidates for fields with names: of a tariff, a plan, a kind of insurance.

A name is behind its label (after a colon, in the next cell, on the next line), in quotes in the same sentence, or a
sequence of capitalised words. Some fields have their own words (`Hausratversicherung`) that need no label.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from stateward.pipelines.contracts.offline.grid import GridCell
from stateward.pipelines.contracts.offline.labels import STRONG, LabelMention
from stateward.pipelines.contracts.offline.linking import LONG_LINE_CHARS, SLIPS, content_words
from stateward.pipelines.contracts.offline.number_fields import TERMS, FieldCandidate
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage, ContractReading
from stateward.pipelines.contracts.rules import FieldRule, all_labels
from stateward.pipelines.contracts.words import Phrases, skeleton, tokens

NAME_CHARS_MAX = 70
NAME_WORDS_MAX = 9
TITLE_ROWS = 14
TITLE_CHARS_MAX = 90

WEAK_COLON = 0.72
NAME_BEHIND = "the name behind"
COLON, BESIDE, OVER, NEXT_LINE, QUOTED, RUN = 1.0, 0.97, 0.92, 0.9, 0.95, 0.86
LISTED_MIN = 2  # commas
OWN_WORD, OWN_TITLE, QUOTED_TITLE, NAMED_TITLE = 0.6, 0.8, 0.7, 0.84

_COLON = re.compile(
    r"(?:\s(?:details|name|information|info|Angaben|Daten|Bezeichnung))?\s*(?:\([^()\n]{0,40}\))?\s*[:=]\s*(?=\S)"
)
_QUOTED = re.compile(r"[„“”\"»«‚‘']\s?(?P<name>[^„“”\"»«‚‘]{2,60}?)\s?[“”\"»«’']")
_LEAD = re.compile(
    r"(?:\s+(?:ist|is|lautet|heißt|called|named|namens|der|den|dem|the|mit|dem|Namen|under|wurde|our|unser|"
    r"unseren|unserem|gilt|Name|product|plan|tariff|Tarif))*\s+",
)
_NAME_WORD = r"(?:[A-ZÄÖÜ0-9(+&][\w&+./'’()-]*|\+|&|–|-|plus|pur|fix|flex|smart)"
_RUN = re.compile(
    rf"(?P<name>(?:[A-ZÄÖÜ0-9]|[a-zäöü]+[A-ZÄÖÜ0-9])[\w&+./'’-]*(?:[ \u00a0\n]{{1,2}}{_NAME_WORD})*)"
)
# A word with a capital, in the middle of a sentence, right before a label: `on the Fixed Tariff v34` names it so.
_WITHIN_NAME = re.compile(r"[\w,] (?!(?:Your|Our|The|Ihr|Unser|Dein)\w* )[A-ZÄÖÜ][\w-]* \Z")
_BRAND = re.compile(r"(?P<name>[a-zäöü][\w-]+ (?:[A-ZÄÖÜ0-9][\w&+./'’-]*[ \u00a0\n]?)+)")
# `Ihre Vertragsbestätigung: …`, `Confirmation of your new contract – …`
_TITLE = re.compile(
    r"\s*(?:(?:Ihre?|Deine?|Your)\s+)?(?:(?:Vertrags|Auftrags|Bestell|Liefer)bestätigung|Bestätigung\s+(?:Ihres|deines)\s+\w*[Vv]ertrage?s"
    r"|(?:(?:Contract|Order)\s+[Cc]onfirmation|Confirmation\s+of\s+your\s+(?:new\s+)?(?:\w+\s+)?(?:contract|plan|tariff|order)))"
    r"\s*(?::|[-–—])\s*(?:(?:Ihr|Dein|Your)\s+)?(?P<name>[A-Z0-9ÄÖÜ](?:[^\n:;,.!?]|\.(?=\S)){3,50}?)\s*"
)
# And the other way round: `Naturstrom Plus - wir bestätigen Ihre Belieferung`, `Fibre 150 – your contract summary`
_TITLE_BEHIND = re.compile(
    r"\s*(?P<name>[A-Z0-9ÄÖÜ](?:[^\n:;,.!?–]|\.(?=\S)){3,50}?)\s*(?:[-–—:|]\s+|:\s+)"
    r"(?:wir\s+bestätigen\b|(?:Ihre?|Deine?)\s+(?:(?:Vertrags|Auftrags|Bestell|Liefer)bestätigung|Vertragszusammenfassung)\b"
    r"|we\s+confirm\b|your\s+(?:new\s+)?(?:contract|order|plan)\s+(?:confirmation|summary|details)\b).*"
)
# A title may greet before it says what the letter is: `Herzlich willkommen bei Name: Ihre Vertragsbestätigung`.
_GREETING = re.compile(
    r"(?:(?:herzlich|schön|hello|hallo|hi)\W+)?(?:willkommen\s+(?:bei|zu|im|in|an)|welcome\s+(?:to|aboard|back))\b"
    r"|(?:vielen\s+|herzlichen\s+|besten\s+)?dank\s+(?:für|dass)\b|thank(?:s|\s+you)\s+(?:for|to)\b"
    r"|(?:gute|good|great)\s+(?:nachricht|news)\w*\b",
    re.IGNORECASE,
)
# What goes on behind a label in a heading: `Tariff Information Label – Gas`, `Plan Details`.
_OF_HEADING = re.compile(
    r"(?:information|details?|summary|overview|label|comparison|terms|conditions|guide|features|benefits)\b",
    re.IGNORECASE,
)
# Part of a mix, and no name: `100 % erneuerbare Energien`.
_SHARE = re.compile(r"\d{1,3}(?:[.,]\d+)?\s?%")
_CHOSEN = re.compile(r"\s*[\[(]\s?[xX✓]\s?[\])]\s*|\s*[☒☑✓✔]\s*")
_ASIDE = re.compile(r"(?<=\S\S\S)\s*\([^()]*\)\s*$")
_CUT = re.compile(
    r"\s+(?:mit einer|mit einem|mit der|ab dem|zum|gültig|inkl\.|for the|with a|with the|from the|starting|"
    r"beginnend|zu den|zu folgenden|"
    r"entschieden|gewählt|abgeschlossen|bestellt|beliefert|\((?:ab|gültig|seit|from|valid)|(?:Tarif|"
    r"Kunden)nummer|Vertragsnummer)\b|\s*[;|]|\.\s|,\s(?=[a-zäöü])|,\s?(?=\d+\s?(?:GB|MB|TB|Mbit|MBit|Mbps)\b)|\.$"
)
_NAME_BEHIND_PERIOD = re.compile(r"\s+[A-ZÄÖÜ][\w-]+")
_NAMED_NUMBER = re.compile(r"\b[^\W\d_]{3,}\b")  # `1&1 DSL 100` is a name, `711/204811-K` is none
# What needs no further word to be the name of an insurance.
_WHOLE = re.compile(r"versicherung|insurance|privat-?haftpflicht", re.IGNORECASE)
_COVER = re.compile(
    r"versicherung|insurance|schutz|cover|police|policy|haftpflicht|kasko", re.IGNORECASE
)
BULLETS = ("•", "●", "▪", "■", "✓", "→")
_STOP_WORDS = frozenset(
    "dear sehr guten hallo herr frau liebe lieber hello sie wir ihr die der das und oder vertrag contract your "
    "you the agreement kunde customer siehe see nummer number we us our wir uns".split()
)


def candidates(rule: FieldRule, reading: ContractReading) -> list[FieldCandidate]:
    """Every candidate for a field with a name."""
    found: list[FieldCandidate] = []
    for at, page in enumerate(reading.pages):
        for mention in page.mentions:
            meaning = next((each for each in mention.meanings if each.what == rule.name), None)
            if meaning and mention.slip != "compound":
                weight = meaning.weight * SLIPS[mention.slip]
                weight *= TERMS if page.is_small_print(mention.start) else 1.0
                is_weak = meaning.weight < STRONG
                for start, end, strength, why in _behind(page, mention, rule, is_weak=is_weak):
                    found.extend(_candidate(rule, page, (at, start, end), (strength * weight, why)))
        found.extend(_own(rule, page, at))
        found.extend(_quoted_title(rule, page, at))
        found.extend(_behind_title(rule, page, at))
    return _with_repetitions(found)


def _behind(
    page: AnalyzedPage, mention: LabelMention, rule: FieldRule, *, is_weak: bool
) -> Iterator[tuple[int, int, float, str]]:
    """Where the name for a label may be: offsets, strength and reason. A weak label needs quotes."""
    text = page.text
    cell = page.cell(mention.start)
    if cell is None:
        return
    label = " ".join(text[mention.start : mention.end].split())
    lead = content_words(text[cell.start : mention.start])
    colon = _COLON.match(text, mention.end, cell.end)
    if colon:
        yield (
            colon.end(),
            _end_of_value(page, colon.end(), cell),
            (WEAK_COLON if is_weak else COLON) - 0.05 * lead,
            f"behind '{label}'",
        )
        return
    rest = text[mention.end : cell.end].strip(" :*()[]")
    is_alone = not rest or _is_bracket(rest)
    if is_alone and lead and _is_beside_label(page, cell):
        return  # `Plan | Essentials Plan`: a name that ends like its label
    if is_alone and not is_weak and lead <= 1 and cell.end - cell.start < LONG_LINE_CHARS:
        yield from _around(page, cell, label)
        return
    quoted = _QUOTED.search(text, mention.end, min(len(text), mention.end + 90))
    if (
        quoted
        and content_words(text[mention.end : quoted.start()]) <= 3
        and "\n\n" not in quoted[0]
    ):
        yield quoted.start("name"), quoted.end("name"), QUOTED, f"in quotes behind '{label}'"
        return
    is_wrapped = cell.end - cell.start >= LONG_LINE_CHARS
    edge = min(len(text), cell.end + NAME_CHARS_MAX) if is_wrapped else cell.end
    skip = _LEAD.match(text, mention.end, edge)
    begin = skip.end() if skip else mention.end
    brand = next((hit for hit in page.names if hit.start == begin), None)
    run = _RUN.match(text, begin, edge) or (brand and _BRAND.match(text, begin, edge))
    is_within_name = _WITHIN_NAME.search(text, cell.start, mention.start) is not None
    is_heading = run is not None and _OF_HEADING.match(run["name"]) is not None
    if run and not is_heading and not rule.words and not is_weak and not is_within_name:
        yield run.start("name"), run.end("name"), RUN, f"{NAME_BEHIND} '{label}'"


def _is_beside_label(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether the cell to the left is a label, so that this one is its value."""
    return cell.column > 0 and is_label(page, page.grid.rows[cell.row][cell.column - 1])


def _is_bracket(text: str) -> bool:
    return text.startswith("(") and text.endswith(")")


def _around(
    page: AnalyzedPage, cell: GridCell, label: str
) -> Iterator[tuple[int, int, float, str]]:
    """The cell beside a label that is alone in its cell, else the one below it."""
    row = page.grid.rows[cell.row]
    is_head = cell.row in page.labelled.header_rows
    if not is_head and cell.column + 1 < len(row):
        right = row[cell.column + 1]
        if not is_label(page, right):
            yield right.start, right.end, BESIDE, f"beside '{label}'"
            return
    for below in page.grid.below(cell, rows_max=1):
        strength = OVER if len(row) > 1 else NEXT_LINE
        if not is_label(page, below):
            yield (
                below.start,
                _end_of_value(page, below.start, below),
                strength,
                f"beneath '{label}'",
            )
            return


def is_label(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell is a label itself, or begins with one that has a colon."""
    text = page.text
    for mention in page.mentions:
        if cell.start <= mention.start < cell.end and mention.slip != "compound":
            covers = (mention.end - mention.start) >= 0.75 * (cell.end - cell.start)
            if covers or text[mention.end : mention.end + 2].lstrip().startswith(":"):
                return True
    return text[cell.end - 1] == ":"


def _end_of_value(page: AnalyzedPage, start: int, cell: GridCell) -> int:
    """The end of a value in a cell: before the next label that has a colon."""
    for mention in page.mentions:
        if start < mention.start < cell.end and page.text[mention.end : mention.end + 1] == ":":
            return mention.start
    return cell.end


def _candidate(
    rule: FieldRule, page: AnalyzedPage, at: tuple[int, int, int], judged: tuple[float, str]
) -> Iterator[FieldCandidate]:
    index, start, end = at
    text = page.text[start:end]
    text = _CHOSEN.sub("", text) if (ticked := _CHOSEN.match(text)) else text
    start += len(ticked[0]) if ticked else 0
    cut = _CUT.search(text)
    if cut and cut.start() > 1:
        text = text[: cut.start()]
    name = tidy(_ASIDE.sub("", text))
    score, why = judged
    if not _is_name(name, page) or _is_figure(page, start, start + len(text)):
        return
    is_number = sum(map(str.isdigit, name)) > sum(map(str.isalpha, name))
    if name.startswith(BULLETS) or (is_number and not _NAMED_NUMBER.search(name)):
        return  # an item of a list, or a number
    own = _own_words(rule)
    if rule.words and ":" in name and own.find(tokens(name.partition(":")[0])):
        name = tidy(name.partition(":")[0])  # `Hausrat: Feuer, Wasser` lists what is insured
    if rule.words and name.count(",") >= LISTED_MIN and not own.find(tokens(name)):
        return  # a list of what is insured against
    if rule.words and own.whole(name) is None:
        inner = next(iter(own.find(tokens(name))), None)
        score *= 0.97 if inner else 0.9 if _COVER.search(name) else 0.7
    yield FieldCandidate(rule.name, name, 0.0, index, start, start + len(text), score, why)


def tidy(text: str) -> str:
    """A name with single blanks, and without quotes and punctuation at its ends."""
    return " ".join(text.split()).strip(" \"'„“”‚‘’»«.,;:-–*").removesuffix(" (").strip()


def _is_name(name: str, page: AnalyzedPage) -> bool:
    words = name.split()
    if _SHARE.match(name):
        return False
    if not 2 <= len(name) <= NAME_CHARS_MAX or not 1 <= len(words) <= NAME_WORDS_MAX:
        return False
    if not any(letter.isalpha() for letter in name) or words[0].lower() in _STOP_WORDS:
        return False
    key = skeleton(name)
    return not any(
        skeleton(page.text[each.start : each.end]) == key
        and not each.meanings[0].what.startswith("policy")
        for each in page.mentions
    )


def _is_figure(page: AnalyzedPage, start: int, end: int) -> bool:
    """Whether dates, amounts and periods cover much of a text. A period is part of a name: `1 Year Fixed`."""
    within = [
        each
        for each in page.candidates
        if start <= each.start < end and not each.is_bare and each.kind != "quantity"
    ]
    last = max((each.end for each in within if each.kind == "duration"), default=end)
    if _NAME_BEHIND_PERIOD.match(page.text, last, end):
        within = [each for each in within if each.kind != "duration"]
    return sum(each.end - each.start for each in within) > 0.4 * (end - start)


def _own(rule: FieldRule, page: AnalyzedPage, at: int) -> Iterator[FieldCandidate]:
    """Words that the field has in the rules; in a title they are nearly as good as behind a label."""
    if not rule.words:
        return
    for hit in _own_words(rule).find(page.words):
        is_of_name = any(each.start < hit.start < each.end for each in page.names)
        if hit.slip == "compound" or is_of_name:
            continue
        cell = page.cell(hit.start)
        if cell is None:
            continue
        is_title = (
            at == 0
            and cell.row < TITLE_ROWS
            and len(page.grid.words(cell)) <= TITLE_CHARS_MAX
            and page.text[cell.end - 1] not in ".,"
        )
        score = OWN_TITLE if is_title else OWN_WORD
        score *= TERMS if page.is_small_print(hit.start) else 1.0
        name = tidy(page.text[hit.start : hit.end])
        score *= 1.0 if _WHOLE.search(name) else 0.75
        why = "in the title" if is_title else "by its name"
        yield FieldCandidate(rule.name, name, 0.0, at, hit.start, hit.end, score, why)


def _quoted_title(rule: FieldRule, page: AnalyzedPage, at: int) -> Iterator[FieldCandidate]:
    """A name in quotes in a title, where the field has no words of its own; not enough without a review."""
    if at or rule.words:
        return
    for row in page.grid.rows[:TITLE_ROWS]:
        words = page.grid.words(row[0])
        quoted = _QUOTED.search(words) if len(words) <= TITLE_CHARS_MAX else None
        if quoted and not words.endswith((".", ",")):
            start = row[0].start + quoted.start("name")
            place = (at, start, row[0].start + quoted.end("name"))
            yield from _candidate(rule, page, place, (QUOTED_TITLE, "in quotes in the title"))


def _behind_title(rule: FieldRule, page: AnalyzedPage, at: int) -> Iterator[FieldCandidate]:
    """The name behind a title that says what the letter is: `Ihre Vertragsbestätigung: Natur12 Strom`."""
    if at or rule.words:
        return
    for row in page.grid.rows[:TITLE_ROWS]:
        title = _title(page, row[0]) if len(row) == 1 else None
        if title is None or _GREETING.match(title["name"]):
            continue
        if _is_of_two(title["name"]) and not _is_labelled(page, title):
            place = (at, title.start("name"), title.end("name"))
            yield from _candidate(rule, page, place, (NAMED_TITLE, "behind the title"))


def _title(page: AnalyzedPage, cell: GridCell) -> re.Match[str] | None:
    """A title with a name behind or before what the letter is."""
    behind = _TITLE.fullmatch(page.text, cell.start, cell.end)
    return behind or _TITLE_BEHIND.fullmatch(page.text, cell.start, cell.end)


def _is_of_two(name: str) -> bool:
    """Whether a name is more than one word: `Auftragsbestätigung: Umzug` names what was ordered."""
    return len(name.split()) > 1 and not any(
        word.isdigit() and len(word) > 4 for word in name.split()
    )


def _is_labelled(page: AnalyzedPage, title: re.Match[str]) -> bool:
    """Whether what stands behind a title is a label, or has one."""
    first, last = title.span("name")
    return any(first <= each.start < last for each in page.mentions)


def _with_repetitions(found: list[FieldCandidate]) -> list[FieldCandidate]:
    """Raise the score of names that occur several times."""
    places: dict[str, set[tuple[int, int]]] = {}
    for each in found:
        places.setdefault(skeleton(each.value), set()).add((each.page, each.start))
    return [
        each._replace(
            score=min(1.0, each.score + 0.03 * min(3, len(places[skeleton(each.value)]) - 1))
        )
        for each in found
    ]


def _own_words(rule: FieldRule) -> Phrases[str]:
    return _phrases(tuple(all_labels(rule.words)))


@lru_cache(maxsize=16)
def _phrases(words: tuple[str, ...]) -> Phrases[str]:
    return Phrases((word, word) for word in words)
