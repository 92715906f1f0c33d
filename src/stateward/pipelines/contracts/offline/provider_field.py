"""Candidates for the provider: a known name, or a company named by a label or in the letterhead.

A contract names several companies: the previous supplier, the network operator, the broker, the bank. A name with such
a label is not the provider; one without is, the more likely the nearer to the top of the first page.
"""

import re
from collections.abc import Iterator

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.grid import GridCell
from stateward.pipelines.contracts.offline.linking import links
from stateward.pipelines.contracts.offline.number_fields import TERMS, FieldCandidate
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage, ContractReading
from stateward.pipelines.contracts.offline.text_fields import is_label, tidy
from stateward.pipelines.contracts.providers import (
    COMPANY,
    ProviderIndex,
    is_general,
    without_legal_form,
)
from stateward.pipelines.contracts.rules import FieldRule

HEAD_ROWS = 8
NAME_SHARE = 0.3  # of its cell: a name in a letterhead stands alone
BETWEEN_CHARS = 60
OTHERWISE = 0.12  # score of a name that has the label of another role
HEAD, BETWEEN, CLOSING, ANYWHERE, UNKNOWN_HEAD = 0.84, 0.92, 0.7, 0.45, 0.62
LETTERHEAD = "in the letterhead"
NAME_CHARS_MAX = 80
# Confidence of a known name that is part of a longer one: it may be another company.
LONGER_NAME_CAP = 78
CALLED, CALLED_CHARS = 0.95, 160
SENTENCE_WORDS = 2  # in small letters: a sentence, and no name
_IN_NAMES = frozenset("of the and for de der die des von und für am an im in zu zur auf".split())

_ARTICLE = re.compile(r"\s*(?:(?:ist|is|die|der|das|the|dem|den)\s+)*", re.IGNORECASE)
_INTERMEDIARY = re.compile(
    r"makler|vermittl|broker|vergleich|portal|netz\b|netze\b|netzbetr|compar|agentur|bank\b",
    re.IGNORECASE,
)
_OPENED = re.compile(
    r"[(\"„“](?:[^()\"„“”]*[\"„“]|(?:hereinafter|nachfolgend|im Folgenden|the|der|die|als|as|[\s,:])*)$",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"(?P<word>[A-ZÄÖÜ0-9][\w&+.-]*) ?\Z")
# Words with a capital before a company that are no part of its name.
_NO_NAMES = frozenset(
    "die der das den dem deine deiner ihre ihrer ihr unsere bei von firma an für mit zwischen und "
    "the your our by with from for between and name of".split()
)
# Behind a known name: it is that of a street. Before one, in a letterhead: the town of a place.
_STREET = re.compile(
    r"(?:-(?:\w+-)*|\s+)(?:straße|strasse|str\.|platz|weg|allee|gasse|ring|damm|ufer|street|road|avenue|lane|house|square|drive)"
    r"(?!\w)",
    re.IGNORECASE,
)
_TOWN = re.compile(r"[A-ZÄÖÜ][\w.'’ -]*,\s*\Z")
_GOES_ON = re.compile(r"(?:[ \u00a0](?:&|und|and|[A-ZÄÖÜ][\w'’-]*))+")
_AND = re.compile(r"\)\s*\n|\b(?:und|and)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:zwischen|between)\b", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:mit freundlichen grüßen|freundliche grüße|ihr team|ihre?\s+team|yours sincerely|yours faithfully|"
    r"kind regards|best regards|"
    r"geschäftsführ|vorstand|handelsregister|amtsgericht|sitz der gesellschaft|registered office|registered in)",
    re.IGNORECASE,
)
_BROKER = re.compile(
    r"\b(?:makler|vermittler|broker|intermediary|bisherig\w*|previous|netzbetreiber|wechsel von|switching from|"
    r"früher\w*|kündig\w*|nummer\s+nehmen wir von|vertrag bei|policy with|contract with|your previous)\b",
    re.IGNORECASE,
)


def candidates(
    rule: FieldRule, reading: ContractReading, providers: ProviderIndex
) -> list[FieldCandidate]:
    """Every candidate for the provider; each further mention raises the score."""
    found = [
        candidate
        for at, page in enumerate(reading.pages)
        for candidate in _on_page(rule, page, at, providers)
    ]
    counts: dict[str, int] = {}
    for each in found:
        if each.score > OTHERWISE:
            counts[each.value] = counts.get(each.value, 0) + 1
    return [
        each._replace(score=min(0.98, each.score + 0.02 * min(4, counts.get(each.value, 1) - 1)))
        if each.score > OTHERWISE
        else each
        for each in found
    ]


def _on_page(
    rule: FieldRule, page: AnalyzedPage, at: int, providers: ProviderIndex
) -> Iterator[FieldCandidate]:
    taken: list[tuple[int, int]] = []
    for hit in page.names:
        if _is_end_of_another_name(page, hit.start, hit.end) or _is_place(page, hit.start, hit.end):
            continue
        taken.append((hit.start, hit.end))
        score, why = _score(rule, page, at, hit.start, hit.end)
        score -= 0.04 if hit.slip else 0
        end = _end_of_company(page.text, hit.start, hit.end)
        rest = _rest_of_name(page.text[hit.start : end], hit.end - hit.start)
        if not rest and end == hit.end and why.startswith("behind"):
            rest = _words_behind(page, end)
        why, cap = (f"{why}; its name goes on: {rest!r}", LONGER_NAME_CAP) if rest else (why, 100)
        yield FieldCandidate(rule.name, hit.what, 1.0, at, hit.start, end, score, why, cap)
    for start, end in _companies(rule, page):
        if any(start < last and first < end for first, last in taken):
            continue
        name = tidy(page.text[start:end])
        known = providers.match(name)
        score, why = _score(rule, page, at, start, end)
        if not known and score < OTHERWISE:
            continue
        near = known[1] / 100 if known else 1.0
        if not known and why == LETTERHEAD:
            near = OTHERWISE if _INTERMEDIARY.search(name) else UNKNOWN_HEAD / HEAD
        value = known[0] if known else name
        yield FieldCandidate(
            rule.name, value, 1.0 if known else 0.0, at, start, end, score * near, why
        )


def _end_of_company(text: str, start: int, end: int) -> int:
    """Where the company ends whose name begins with a known one: the value is the brand, its place the company."""
    found = COMPANY.search(text, start, min(len(text), end + NAME_CHARS_MAX))
    return max(end, found.end("name")) if found and found.start("name") == start else end


def _is_end_of_another_name(page: AnalyzedPage, start: int, end: int) -> bool:
    """Whether general words, which are a brand when they stand alone, are behind a name: `A1 Telekom Austria AG`."""
    return all(map(is_general, page.text[start:end].split())) and _has_name_before(page, start)


def _is_place(page: AnalyzedPage, start: int, end: int) -> bool:
    """Whether a known name is part of an address: `Wingo-Straße 7`, `Billings, Montana`."""
    if _STREET.match(page.text, end):
        return True
    cell = page.cell(start)
    if cell is None or page.text[end : cell.end].strip(" ,.0123456789"):
        return False
    before = page.text[cell.start : start]
    return _TOWN.fullmatch(before) is not None and COMPANY.search(before) is None


def _words_behind(page: AnalyzedPage, end: int) -> str:
    """Words with a capital behind a known name that has no legal form: they may make it another company."""
    cell = page.cell(end - 1)
    found = _GOES_ON.match(page.text, end, cell.end if cell else len(page.text))
    if found is None or any(found.start() < each.start < found.end() for each in page.mentions):
        return ""
    rest = without_legal_form(f"X{found[0]}")[1:].strip()
    return "" if all(map(is_general, rest.split())) else rest


def _has_name_before(page: AnalyzedPage, start: int) -> bool:
    """Whether the word before a place, in its cell, is written like one of a name, and is no label."""
    cell = page.cell(start)
    found = _NAME_BEFORE.search(page.text, cell.start if cell else start, start)
    if found is None or found["word"].casefold() in _NO_NAMES:
        return False
    return not any(each.start < found.end("word") <= each.end for each in page.mentions)


def _rest_of_name(company: str, known: int) -> str:
    """What stands between a known name and the legal form behind it, if it may make it another company."""
    rest = without_legal_form(company)[known:].strip(" ,-()")
    return "" if all(map(is_general, rest.split())) else rest


def _companies(rule: FieldRule, page: AnalyzedPage) -> Iterator[tuple[int, int]]:
    """Names with a legal form, and whatever is behind a label of the provider."""
    text = page.text
    for found in COMPANY.finditer(text):
        yield found.start("name"), found.end("name")
    for mention in page.mentions:
        if not any(meaning.what == rule.name for meaning in mention.meanings):
            continue
        cell = page.cell(mention.start)
        if cell is None or text[max(0, mention.start - 1)] in '("„“':
            continue
        if text[mention.end : cell.end].strip() == "" and _has_name_before(page, mention.start):
            continue  # `Progressive Casualty Insurance Company` is a name that ends like a label
        if (
            text[mention.end : mention.end + 3].lstrip(" ").startswith(":")
            and mention.end + 1 < cell.end
        ):
            start = text.index(":", mention.end) + 1
            if text[start : cell.end].strip():
                yield from _without_address(text, start, cell.end)
                continue
        if text[mention.end : cell.end].strip(" :()") == "":
            row = page.grid.rows[cell.row]
            beneath = page.grid.below(cell, rows_max=1)
            has_right = cell.column + 1 < len(row) and cell.row not in page.labelled.header_rows
            below = next(iter(beneath), None)
            if has_right and below and _names_company(page, below):
                # Two headings side by side, each over its own block.
                has_right = _names_company(page, row[cell.column + 1])
            target = row[cell.column + 1] if has_right else below
            if target and not is_label(page, target):
                yield from _without_address(text, target.start, target.end)


def _names_company(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell has a known name, or one with a legal form."""
    is_known = any(cell.start <= hit.start < cell.end for hit in page.names)
    return is_known or COMPANY.search(page.text, cell.start, cell.end) is not None


def _without_address(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A name up to its address: the first comma or the like."""
    lead = _ARTICLE.match(text, start, end)
    start = lead.end() if lead else start
    cut = re.search(r",\s|;|\s[-–]\s|\s\(|\s{2,}|\t|\n|\.\s[A-ZÄÖÜ]", text[start:end])
    end = start + cut.start() if cut and cut.start() > 1 else end
    name = text[start:end]
    if any(letter.isalpha() for letter in name) and end - start <= NAME_CHARS_MAX:
        small = [word for word in name.split() if word[0].islower() and word not in _IN_NAMES]
        if len(small) < SENTENCE_WORDS:
            yield start, end


def _is_called(rule: FieldRule, page: AnalyzedPage, end: int) -> bool:
    """Whether brackets or quotes behind a name call it the provider: `X AG, Y-Straße 1 ("Supplier")`."""
    text = page.text
    for mention in page.mentions:
        gap = text[end : mention.start]
        if mention.start < end or len(gap) > CALLED_CHARS:
            continue
        if any(each.what == rule.name for each in mention.meanings):
            return bool(_OPENED.search(gap)) and not COMPANY.search(gap) and not _AND.search(gap)
    return False


def _score(rule: FieldRule, page: AnalyzedPage, at: int, start: int, end: int) -> tuple[float, str]:
    """How likely the company at this place is the provider, and why."""
    candidate = ValueCandidate(start=start, end=end, kind="provider", value="")
    found = links(candidate, page.labelled._replace(candidates=[]), has_behind=False)
    best = found[0] if found else None
    mine = next((link for link in found if link.meaning.what == rule.name), None)
    label = page.text[best.mention.start : best.mention.end] if best else ""
    if best and best is not mine and best.strength > 0.55:
        return OTHERWISE * 0.9, f"it is {label!r}"
    if mine and mine is best and mine.strength > 0.6:
        factor = TERMS if page.is_small_print(start) else 1.0
        return mine.strength * factor, f"behind {label!r}"
    text = page.text
    if _is_called(rule, page, end):
        return CALLED, "called so in brackets"
    before = text[max(0, start - BETWEEN_CHARS) : start].rpartition("\n\n")[2]
    if _BROKER.search(before.rpartition("\n")[2][-40:]):
        return OTHERWISE * 0.9, "another party"
    if _BETWEEN.search(before):
        return BETWEEN, "a party of the contract"
    cell = page.cell(start)
    is_short = cell is not None and (
        (end - start) >= NAME_SHARE * (cell.end - cell.start) or start - cell.start <= 1
    )
    if at == 0 and cell and cell.row < HEAD_ROWS and is_short:
        return HEAD - 0.015 * cell.row, LETTERHEAD
    if _CLOSING.search(text[max(0, start - 80) : end + 60]):
        return CLOSING, "in the closing"
    ahead = 0.05 if at == 0 and not COMPANY.search(text[:start]) else 0.0
    return (ANYWHERE + ahead) * (TERMS if page.is_small_print(start) else 1.0), "named in the text"
