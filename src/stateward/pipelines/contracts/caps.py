"""Caps: what keeps a value from being accepted without a person, and what keeps a whole document from it.

The rules are data (`rules/caps.yaml`): patterns in the words around a value, or in the document. They apply to what any
extractor found, after two extractors were compared, so that agreement does not lift them. A cap never changes a value,
with one exception that shows its arithmetic: an amount for several months is divided (`periods`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from stateward.core.model import Fields, Json
from stateward.pipelines.contracts.candidates import money, quantities
from stateward.pipelines.contracts.due_dates import uneven_due_dates
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.offline.arithmetic import is_net_of
from stateward.pipelines.contracts.offline.choice import SETTLED
from stateward.pipelines.contracts.offline.number_fields import STATED
from stateward.pipelines.contracts.ordinary import ordinary_flags
from stateward.pipelines.contracts.periods import convert_period
from stateward.pipelines.contracts.remarks import remark_flags
from stateward.pipelines.contracts.required_words import (
    DocumentPatterns,
    SearchedText,
    searched_text,
)
from stateward.pipelines.contracts.rules import (
    CapRule,
    ContractRules,
    DocumentRule,
    FieldRule,
    Vertical,
)
from stateward.pipelines.contracts.states import state_flags
from stateward.pipelines.kit.documents import TextDocument, TextPage
from stateward.pipelines.kit.pdf.page_numbers import uncounted_pages

FLAGS = "flags"  # in Extraction.about: what keeps the document from going on without a person
AROUND_CHARS = 120
BEFORE_CHARS = 240
HEADING_CHARS_MAX = 80
SHOUTED_CHARS_MAX = 140  # of a line in capitals, as a stamp is, and of one above the title
TOP_LINES = 3
HEADING_LINES = 25  # of the first page: further down a line of one word may be part of a table
TEXT_CHARS_MAX = 200_000
NET_AND_GROSS = "NET_AND_GROSS"  # the code of the rules about taxes
OTHER_PERIOD = "OTHER_PERIOD"  # and of those about periods
INSTRUCTIONS = "INSTRUCTIONS"  # the code of the rule that knows instructions to a program
ONLY_PARTY_CAP = 70
UNSEEN_WORDS_MIN = 4  # fewer are a mark, a number of a form, the title of a file
DUE_DATES_CAP = 60
SCAN_CAP = 78  # of a value that OCR read: a digit may be another, and nothing proves it
QUOTE_CHARS_MAX = 100
PAGES_NAMED_MAX = 10
COUNTED_FORMATS = frozenset({"pdf", "image", "text", "eml"})
SENTENCE_CHARS_MAX = 500
OPEN, CLOSE = "⟦", "⟧"  # around the value, in the text that patterns with `is_marked` see
# A line with so many words is part of a paragraph, and its sentence goes on in the next.
PROSE_WORDS = 9

_SPACED = re.compile(r"(?<!\S)(?:[A-ZÄÖÜ]\s){3,}[A-ZÄÖÜ](?!\S)")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SENTENCE_END = re.compile(r"[.;!?](?=\s+[A-ZÄÖÜ(\"“§]|\s*$)")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_GAP = re.compile(r"\t| {3,}|:\s")
_WIDE = re.compile(r" {3,}")


class Surroundings(NamedTuple):
    """The words before and behind a value, within its line, or its sentence where it is part of one."""

    before: str
    value: str
    behind: str

    @property
    def marked(self) -> str:
        """All of it, with marks around the value."""
        return f"{self.before}{OPEN}{self.value}{CLOSE}{self.behind}"

    @property
    def plain(self) -> str:
        """All of it."""
        return f"{self.before}{self.value}{self.behind}"


class CompiledCap(NamedTuple):
    """A rule with its patterns."""

    rule: CapRule
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    anywhere: DocumentPatterns

    def is_in(self, searched: SearchedText) -> bool:
        """Whether the document, or its beginning, holds one of the patterns."""
        head = searched.head(self.rule.chars) if self.rule.chars else searched
        return self.anywhere.search(head) is not None


class CompiledDocumentRule(NamedTuple):
    """A rule about documents with its patterns: for one line, and for all of the text."""

    rule: DocumentRule
    pattern: re.Pattern[str]
    anywhere: DocumentPatterns
    unless: re.Pattern[str] | None

    def asserted(self, searched: SearchedText) -> str:
        """The first sentence that has one of the patterns, and no word that makes it a condition or a right."""
        for met in self.anywhere.matches(searched):
            sentence = _sentence_at(searched.text, met.start(), met.end())
            if self.unless is None or not self.unless.search(sentence):
                return sentence
        return ""


def cap_extraction(
    extraction: Extraction, document: TextDocument, vertical: Vertical, rules: ContractRules
) -> Extraction:
    """The extraction with capped confidences, and with the flags of the document."""
    text = document.text[:TEXT_CHARS_MAX]
    caps = [each for each in _compile_caps(rules) if _is_for_some(each.rule, vertical)]
    searched = searched_text(text)
    in_document = {
        id(each.rule): each.is_in(searched) for each in caps if each.rule.where == "document"
    }
    found = [
        _cap(each, vertical.field(each.field), document, caps, in_document)
        for each in extraction.found
    ]
    found = _cap_parties(_cap_due_dates(found, vertical, text), vertical)
    flags: list[Json] = [
        *_flags_of_extractor(extraction),
        *_flags(document, searched, rules),
        *_unseen_flags(document, rules),
        *_pictures(document),
        *_missing_pages(document),
        *_damage(document),
    ]
    flags.extend(_state_flags(document, vertical, rules, flags, found))
    flags.extend(_unread_volumes(found, vertical, text))
    about: Fields = {**extraction.about, FLAGS: flags} if flags else extraction.about
    return replace(extraction, found=found, about=about)


def mask_instructions(document: TextDocument, rules: ContractRules) -> TextDocument:
    """The document with blanks where it instructs a program: what stands there is never a source of a value."""
    told = [each for each in _compiled_documents(rules) if each.rule.code == INSTRUCTIONS]
    # All pages at once first, as the caps do next: hardly a document has any.
    whole = searched_text(document.text[:TEXT_CHARS_MAX])
    if len(document.text) <= TEXT_CHARS_MAX and not any(
        each.anywhere.search(whole) for each in told
    ):
        return document
    texts = [SearchedText(page.text[:TEXT_CHARS_MAX]) for page in document.pages]
    told = [each for each in told if any(each.anywhere.search(text) for text in texts)]
    if not told:
        return document
    pages = [replace(page, text=_masked_text(page.text, told)) for page in document.pages]
    return replace(document, pages=pages)


def _masked_text(text: str, told: Sequence[CompiledDocumentRule]) -> str:
    for each in told:
        for met in each.pattern.finditer(text[:TEXT_CHARS_MAX]):
            first, last = _paragraph(text, met.start(), met.end())
            blanks = re.sub(r"[^\s]", " ", text[first:last])
            text = text[:first] + blanks + text[last:]
    return text


def _paragraph(text: str, start: int, end: int) -> tuple[int, int]:
    """From the sentence of a place to the end of its paragraph: what follows an instruction belongs to it."""
    above = text.rfind("\n", 0, start) + 1
    sentences = [each.end() for each in _SENTENCE_END.finditer(text, above, start)]
    first = sentences[-1] if sentences else above
    last = text.find("\n", end)
    while last >= 0 and _is_prose(text[text.rfind("\n", 0, last) + 1 : last]):
        following = text.find("\n", last + 1)
        line = text[last + 1 : following if following >= 0 else len(text)]
        if not line.strip() or text[:last].rstrip().endswith((".", ":", "!", "?", "]")):
            break
        last = following
    return first, last if last >= 0 else len(text)


def _cap(
    found: FoundValue,
    field: FieldRule | None,
    document: TextDocument,
    caps: Sequence[CompiledCap],
    in_document: dict[int, bool],
) -> FoundValue:
    if field is None or not found.value or found.place is None:
        return found
    place = found.place
    page = document.pages[place.page - 1]
    if page.is_scan:
        found = lower_confidence(found, SCAN_CAP, "its page is a scan, which was read by OCR")
    around = surroundings(page, place.start, place.end)
    found = convert_period(found, field, around.before, around.behind)
    is_gross = field.kind == "money" and _is_gross(found, around)
    for each in caps:
        if is_gross and each.rule.code == NET_AND_GROSS:
            continue
        if STATED in found.why and each.rule.code == OTHER_PERIOD:
            continue  # it was divided, and no other period is named anywhere
        if SETTLED in found.why and each.rule.is_settled_by_term:
            continue
        if _is_for(each.rule, field) and _holds(each, found, around, in_document):
            found = lower_confidence(found, each.rule.cap, each.rule.sentence)
    return found


def _is_gross(found: FoundValue, around: Surroundings) -> bool:
    """Whether an amount beside it is this one without its tax: then it is the one that is paid."""
    printed = [each.number for each in money(around.plain) if each.start != len(around.before)]
    own = next((each.number for each in money(around.value)), 0.0)
    return any(is_net_of(each, own) for each in printed)


def lower_confidence(found: FoundValue, cap: int, sentence: str) -> FoundValue:
    """A value with at most that confidence, and why."""
    if found.confidence <= cap and found.cap <= cap:
        return found
    said = f"at most {cap}, because {sentence}"
    why = found.why if said in found.why else f"{found.why}; {said}" if found.why else said
    return replace(found, confidence=min(found.confidence, cap), cap=min(found.cap, cap), why=why)


def _holds(
    cap: CompiledCap, found: FoundValue, around: Surroundings, in_document: dict[int, bool]
) -> bool:
    rule = cap.rule
    if cap.unless is not None and cap.unless.search(around.marked):
        return False
    match rule.where:
        case "document":
            return in_document[id(rule)]
        case "value":
            return bool(cap.pattern.search(found.value or ""))
        case "before":
            return bool(cap.pattern.search(around.before))
        case "behind":
            return bool(cap.pattern.search(around.behind))
    return bool(cap.pattern.search(around.marked if rule.is_marked else around.plain))


def surroundings(page: TextPage, start: int, end: int) -> Surroundings:
    """The words around a place of a page."""
    at = page.line_at(start)
    line = page.lines[at] if page.lines else None
    text = page.text
    is_prose = line is None or _is_prose(text[line.start : line.end])
    if line is not None and at and not is_prose:  # a paragraph may end with a short line
        above = text[page.lines[at - 1].start : page.lines[at - 1].end]
        is_prose = _is_prose(above) and not above.rstrip().endswith((".", ":", "!", "?"))
    first = max(0, start - BEFORE_CHARS) if is_prose or line is None else line.start
    last = min(len(text), end + AROUND_CHARS) if is_prose or line is None else max(line.end, end)
    before, behind = text[first:start], text[end:last]
    before = _BLANK_LINE.split(before)[-1]
    behind = _BLANK_LINE.split(behind)[0]
    if is_prose and line is not None:
        before = _below_cells(before)
    if is_prose:
        ends = [each.end() for each in _SENTENCE_END.finditer(before)]
        before = before[ends[-1] :] if ends else before
        over = _SENTENCE_END.search(behind)
        behind = behind[: over.end()] if over else behind
    return Surroundings(_flat(before), text[start:end], _flat(behind))


def _is_prose(line: str) -> bool:
    return len(line.split()) >= PROSE_WORDS and not _GAP.search(line)


def _below_cells(before: str) -> str:
    """What stands before a value, below the last row of cells: no sentence begins in one."""
    above, newline, own = before.rpartition("\n")
    lines = above.split("\n") if newline else []
    cells = [at for at, line in enumerate(lines) if "\t" in line or _WIDE.search(line)]
    return "\n".join([*lines[cells[-1] + 1 :], own]) if cells else before


def _flat(text: str) -> str:
    return text.replace("\n", " ")


def _cap_due_dates(found: list[FoundValue], vertical: Vertical, text: str) -> list[FoundValue]:
    """What is paid on some days of a year is no amount of a month, whatever it is called."""
    monthly = {rule.name for rule in vertical.fields if rule.per == "month"}
    dates = uneven_due_dates(text) if monthly else ""
    if not dates:
        return found
    said = f"the due dates are not those of every month: {dates[:QUOTE_CHARS_MAX]!r}"
    return [
        lower_confidence(each, DUE_DATES_CAP, said) if each.field in monthly else each
        for each in found
    ]


# Parties


def _cap_parties(found: list[FoundValue], vertical: Vertical) -> list[FoundValue]:
    """A contract has two sides: one party alone means that another was not found."""
    names = [each for each in found if each.value and _kind(vertical, each) == "party"]
    if len(names) == 1:
        said = "it is the only party that was found, and a contract has two"
        return [
            lower_confidence(each, ONLY_PARTY_CAP, said) if each is names[0] else each
            for each in found
        ]
    if _one_within_another(names):
        said = "the name of one party is a part of that of another"
        return [
            lower_confidence(each, ONLY_PARTY_CAP, said) if each in names else each
            for each in found
        ]
    return found


def _one_within_another(names: Sequence[FoundValue]) -> bool:
    values = [" ".join((each.value or "").casefold().split()) for each in names]
    return any(one != two and one in two for one in values for two in values)


def _kind(vertical: Vertical, found: FoundValue) -> str:
    rule = vertical.field(found.field)
    return rule.kind if rule else ""


# Documents


def _flags_of_extractor(extraction: Extraction) -> list[Json]:
    """What the extractor itself found that a person must see."""
    flags = extraction.about.get(FLAGS)
    return flags if isinstance(flags, list) else []


def _flags(document: TextDocument, searched: SearchedText, rules: ContractRules) -> Iterator[Json]:
    told: set[str] = set()  # one reason for each code is enough
    for each in _compiled_documents(rules):
        rule, quote = each.rule, ""
        if rule.code in told:
            continue
        match rule.where:
            case "document":
                met = each.anywhere.search(searched)
                quote = (
                    "" if met is None else searched.text[max(0, met.start() - 10) : met.end() + 30]
                )
            case "sentence":
                quote = each.asserted(searched)
            case "heading":
                quote = next((line for line in headings(document) if each.pattern.search(line)), "")
        if quote:
            told.add(rule.code)
            said = " ".join(quote.split())[:QUOTE_CHARS_MAX]
            yield {"code": rule.code, "sentence": f"{rule.sentence}: {said!r}"}


def _state_flags(
    document: TextDocument,
    vertical: Vertical,
    rules: ContractRules,
    told: Sequence[Json],
    found: Sequence[FoundValue],
) -> list[Json]:
    """What the document says of its state, if nothing of the kind was told; else what was not understood."""
    codes = {each["code"] for each in told if isinstance(each, dict)}
    states = [
        each
        for each in state_flags(document, vertical, rules)
        if isinstance(each, dict) and each["code"] not in codes
    ]
    if codes or states:
        return [*states]
    return [
        *remark_flags(document, vertical, rules),
        *ordinary_flags(document, vertical, rules, found),
    ][:1]


def _unread_volumes(found: Sequence[FoundValue], vertical: Vertical, text: str) -> Iterator[Json]:
    """A volume is printed that was taken for none: a field that may be missing is not missing then."""
    named = {each.field for each in found}
    for rule in vertical.fields:
        if rule.may_be_missing and rule.kind == "quantity" and rule.name not in named:
            printed = next((each.value for each in quantities(text) if each.unit), "")
            if printed:
                said = f"{rule.name} was not found, but {printed} is printed"
                yield {"code": "MISSING", "sentence": said}


def _sentence_at(text: str, start: int, end: int) -> str:
    """The sentence around a place: over the lines of its paragraph, but not beyond a line that is no prose."""
    before = _BLANK_LINE.split(text[max(0, start - BEFORE_CHARS) : start])[-1]
    behind = _BLANK_LINE.split(text[end : end + BEFORE_CHARS])[0]
    above, newline, line = before.rpartition("\n")
    if newline and not _is_prose(above.rpartition("\n")[2]):
        before = line
    if "\n" in behind and not _is_prose(
        before.rpartition("\n")[2] + text[start:end] + behind.partition("\n")[0]
    ):
        behind = behind.partition("\n")[0]
    ends = [each.end() for each in _SENTENCE_END.finditer(before)]
    over = _SENTENCE_END.search(behind)
    before = before[ends[-1] :] if ends else before
    return f"{before}{text[start:end]}{behind[: over.start()] if over else behind}"


def headings(document: TextDocument) -> Iterator[str]:
    """Short lines: those of the start of the document, those that shout anywhere, and what is printed across pages."""
    for page in document.pages:
        for run in page.turned.split("\n"):
            yield from _across(_close_up(run))
        above = ""
        for at, line in enumerate(page.text.split("\n")):
            is_end = _is_prose(above) and not above.rstrip().endswith((".", ":", "!", "?"))
            above = line
            short = _close_up(line)
            is_top = page.number == 1 and at < TOP_LINES
            chars_max = SHOUTED_CHARS_MAX if short.isupper() or is_top else HEADING_CHARS_MAX
            if not short or len(short) > chars_max or _GAP.search(short):
                continue
            is_last = short[0].islower() or (short.endswith(".") and not short.isupper())
            if is_end and is_last:  # the last words of a paragraph
                continue
            is_start = page.number == 1 and at < HEADING_LINES
            if is_start or (short.isupper() and len(short.split()) <= 6):
                yield short


def _close_up(line: str) -> str:
    """A line whose spaced words are whole: `E N T W U R F`."""
    return _SPACED.sub(lambda found: re.sub(r"\s", "", found[0]), line.strip())


def _across(run: str) -> Iterator[str]:
    """What a run of words across a page says: all of it, a word that is repeated, and those that shout."""
    words = run.split()
    if len(set(words)) == 1:
        yield words[0]
    elif len(run) <= SHOUTED_CHARS_MAX:
        yield run
    yield from (word for word in words if word.isupper())


def _unseen_flags(document: TextDocument, rules: ContractRules) -> Iterator[Json]:
    """What the file holds beside what a person reads: it is never a source, and a person should know of it."""
    unseen = "\n".join(page.unseen for page in document.pages if page.unseen)[:TEXT_CHARS_MAX]
    struck = " ".join(page.struck for page in document.pages if page.struck)[:TEXT_CHARS_MAX]
    aside = "\n".join([unseen, struck, *(page.aside for page in document.pages)])
    searched = searched_text(aside)
    for each in _compiled_documents(rules) if aside.strip() else ():
        met = each.anywhere.search(searched)
        if each.rule.code == INSTRUCTIONS and met is not None:
            said = " ".join(aside[met.start() :].split())[:QUOTE_CHARS_MAX]
            yield {"code": INSTRUCTIONS, "sentence": f"{each.rule.sentence}: {said!r}, unseen"}
    if len(_WORDS.findall(unseen)) >= UNSEEN_WORDS_MIN:
        said = f"the file holds text that a person does not see: {unseen[:QUOTE_CHARS_MAX]!r}"
        yield {"code": "UNSEEN_TEXT", "sentence": said}
    if re.search(r"\w", struck):
        said = f"words are struck through or deleted: {struck[:QUOTE_CHARS_MAX]!r}"
        yield {"code": "STRUCK_TEXT", "sentence": said}


def _missing_pages(document: TextDocument) -> Iterator[Json]:
    """Pages that are counted and not there. A word processor counts its pages anew, so what it printed says nothing."""
    if document.format not in COUNTED_FORMATS:
        return
    if missing := uncounted_pages([page.text for page in document.pages]):
        named = ", ".join(map(str, missing[:PAGES_NAMED_MAX]))
        said = f"the pages are counted, and of them are missing: {named}"
        yield {"code": "PAGES_MISSING", "sentence": said}


def _pictures(document: TextDocument) -> Iterator[Json]:
    missing = [str(page.number) for page in document.pages if page.is_picture]
    if missing:
        is_one = len(missing) == 1
        named = f"page {missing[0]} is" if is_one else f"pages {', '.join(missing)} are"
        what = "an attachment or a picture" if document.format == "eml" else "a picture"
        said = f"{named} {what} without text, and {'was' if is_one else 'were'} not read"
        yield {"code": "PAGES_WITHOUT_TEXT", "sentence": said}


def _damage(document: TextDocument) -> Iterator[Json]:
    if document.damage:
        said = f"the file is damaged, and something may be missing: {document.damage}"
        yield {"code": "DAMAGED_FILE", "sentence": said[:SENTENCE_CHARS_MAX]}


# Compiling


_BY_VERSION: dict[str, tuple[CompiledCap, ...]] = {}
_DOCUMENTS: dict[str, tuple[CompiledDocumentRule, ...]] = {}
VERSIONS_MAX = 8


def _compile_caps(rules: ContractRules) -> tuple[CompiledCap, ...]:
    """The caps with their patterns, compiled once for each version of the rules."""
    if rules.version not in _BY_VERSION:
        if len(_BY_VERSION) >= VERSIONS_MAX:
            _BY_VERSION.clear()
        _BY_VERSION[rules.version] = tuple(
            CompiledCap(
                rule,
                compile_patterns(rule.all_patterns),
                compile_patterns(rule.unless_around) if rule.unless_around else None,
                DocumentPatterns(rule.all_patterns),
            )
            for rule in rules.caps
        )
    return _BY_VERSION[rules.version]


def _compiled_documents(rules: ContractRules) -> tuple[CompiledDocumentRule, ...]:
    if rules.version not in _DOCUMENTS:
        if len(_DOCUMENTS) >= VERSIONS_MAX:
            _DOCUMENTS.clear()
        _DOCUMENTS[rules.version] = tuple(
            CompiledDocumentRule(
                rule,
                compile_patterns(rule.all_patterns),
                DocumentPatterns(rule.all_patterns),
                compile_patterns(rule.unless) if rule.unless else None,
            )
            for rule in rules.document_rules
        )
    return _DOCUMENTS[rules.version]


def compile_patterns(patterns: Sequence[str]) -> re.Pattern[str]:
    """Several patterns as one."""
    return re.compile("|".join(f"(?:{each})" for each in patterns), re.IGNORECASE)


def _is_for(rule: CapRule, field: FieldRule) -> bool:
    if rule.fields and field.name not in rule.fields:
        return False
    if rule.kinds and field.kind not in rule.kinds:
        return False
    return not rule.per or field.per in rule.per


def _is_for_some(rule: CapRule, vertical: Vertical) -> bool:
    return any(_is_for(rule, field) for field in vertical.fields)
