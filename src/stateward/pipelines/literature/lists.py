"""Lists of papers: identifiers on lines, CSV, BibTeX, and the tagged forms of reference managers and databases.

Each entry says what is known of it. Nothing is dropped: a line that names no paper is an entry without one, with its
number and what is wrong with it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.core.text_search import fold
from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.literature.bibtex import bibtex_entries, is_bibtex
from stateward.pipelines.literature.identifiers import (
    SCHEMES,
    asked_by,
    identify,
    match_key,
    normal_id,
    strongest,
)
from stateward.pipelines.literature.paper import language_code, squeeze
from stateward.pipelines.literature.tagged import (
    WEB_OF_SCIENCE,
    Pairs,
    cited_entries,
    form_of,
    has_list_form,
    is_cited_text,
    tagged_entries,
)
from stateward.schemas import Request

if TYPE_CHECKING:
    from _csv import Reader

LIST_BYTES_MAX = 256 * 1024 * 1024
LINE_CHARS_SHOWN = 80
# What columns and fields of lists are called, in small letters without signs.
_NAMES = {
    "doi": "doi", "pmid": "pmid", "pubmedid": "pmid", "pmcid": "pmcid", "pmc": "pmcid", "arxiv": "arxiv",
    "arxivid": "arxiv", "nct": "nct", "nctid": "nct", "nctnumber": "nct", "id": "id", "identifier": "id", "url": "url",
    "link": "url", "title": "title", "articletitle": "title", "displayname": "title", "year": "year",
    "publicationyear": "year",
    "date": "year", "type": "type", "publicationtype": "type", "itemtype": "type", "documenttype": "type",
    "publicationtypes": "type", "articletype": "type", "entrysubtype": "type",
    "language": "language", "lang": "language", "langid": "language", "languageoforiginaldocument": "language",
    "note": "note", "extra": "note", "howpublished": "url",
    "titel": "title", "titre": "title", "titulo": "title", "titolo": "title", "jahr": "year",
    "erscheinungsjahr": "year", "annee": "year", "ano": "year", "anno": "year", "sprache": "language",
    "langue": "language", "idioma": "language", "lingua": "language", "dokumenttyp": "type",
}  # fmt: skip
_YEAR = re.compile(r"\b(1[5-9]|20|21)[0-9]{2}\b")
# What reference managers write before what a person noted: "PMID: 31452104 PMCID: PMC77".
_NOTED = re.compile(
    r"\s*(pmid|pmcid|doi|arxiv)\s*:\s*(\S+?)(?:\s*\[[\w.-]*\])?[;,.]?(?:\s|$)", re.IGNORECASE
)
# Between several identifiers on one line; a DOI may hold any of these signs, so that an identifier has to follow.
_APART = re.compile(
    r"[,;|]?\s+|[,;|](?=10\.[0-9]{4,9}/|PMC[0-9]|NCT[0-9]|https?://)", re.IGNORECASE
)
_SEPARATOR = re.compile(r"sep=(.)\n", re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9]+(?:[\s,;|]+[0-9]+)+")


class ListedPaper(Request, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a list. `fault` says why it names no paper that can be fetched."""

    line: int
    text: str = ""
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    title: str = ""
    year: int | None = None
    type: str = ""
    types: tuple[str, ...] = ()
    """All that the list calls it: many name a kind of entry, and beside it what it is."""
    language: str = ""
    fault: str = ""
    is_legacy: bool = False
    """From an old ledger whose word for its state could not be mapped: a person adopts or skips it."""

    @property
    def name(self) -> tuple[str, str] | None:
        """What it is fetched by: its strongest identifier, else its address."""
        return strongest(self.ids) or (("url", self.url) if self.url else None)


class PaperFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Which listed papers are wanted; what a list does not say of a paper excludes none."""

    languages: tuple[str, ...] = ()
    skip_types: tuple[str, ...] = ()
    year_from: int | None = None
    year_to: int | None = None

    def refusal(self, paper: ListedPaper) -> str:
        """Why a paper is left out; "" if it is wanted."""
        if (
            self.languages
            and paper.language
            and language_code(paper.language) not in map(language_code, self.languages)
        ):
            return f"its language is {paper.language}"
        unwanted = set(map(_type_key, self.skip_types))
        for each in (paper.type, *paper.types):
            if each and _type_key(each) in unwanted:
                return f"its type is {each}"
        if paper.year is not None and self.year_from is not None and paper.year < self.year_from:
            return f"it is of {paper.year}, before {self.year_from}"
        if paper.year is not None and self.year_to is not None and paper.year > self.year_to:
            return f"it is of {paper.year}, after {self.year_to}"
        return ""


def _type_key(text: str) -> str:
    """A type as it is compared: some lists write review-article for Review Article."""
    return " ".join(re.findall(r"\w+", text.lower()))


def read_list(path: Path) -> Iterator[ListedPaper]:
    """The entries of a list; its content says what kind of list it is."""
    text = path.read_bytes().decode(find_encoding(path).name, "replace").lstrip("\ufeff")
    return entries_of(text)


def entries_of(text: str) -> Iterator[ListedPaper]:
    """The entries of the text of a list."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    form = form_of(text)
    if form is not None:
        return _entries(tagged_entries(text, form))
    if is_bibtex(text):
        return _entries(
            (line, [(_column(name), value) for name, value in pairs])
            for line, pairs in bibtex_entries(text)
        )
    if is_cited_text(text):
        return _entries(cited_entries(text))
    table = _table(text)
    return _lines(text) if table is None else table


def _entries(found: Iterable[tuple[int, Pairs]]) -> Iterator[ListedPaper]:
    return (_entry(line, pairs) for line, pairs in found)


def _lines(text: str) -> Iterator[ListedPaper]:
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.split("#")[0].strip() if not line.strip().startswith("http") else line.strip()
        if word:
            yield from _line(word, number)


def _line(word: str, number: int) -> Iterator[ListedPaper]:
    """Several identifiers on a line are as many entries; one among other words is one."""
    if _NUMBERS.fullmatch(word):
        yield from (entry_of(each, line=number) for each in re.findall(r"[0-9]+", word))
        return
    entries = [entry_of(each, line=number) for each in _APART.split(word) if each]
    named = [each for each in entries if each.name and not each.text.isdecimal()]
    if len(entries) == len(named):
        yield from named
    elif len(named) > 1:
        shown = word[:LINE_CHARS_SHOWN]
        yield ListedPaper(
            line=number,
            text=shown,
            fault=f"{shown!r} names several papers among other words; write one a line",
        )
    else:
        yield entry_of(word, line=number)


def entry_of(word: str, *, line: int = 0) -> ListedPaper:
    """One identifier or address that a person wrote."""
    found = identify(word)
    if found is not None:
        return ListedPaper(line=line, text=word, ids=dict([found]))
    if word.startswith(("http://", "https://")):
        return ListedPaper(line=line, text=word, url=word)
    shown = word[:LINE_CHARS_SHOWN]
    return ListedPaper(
        line=line,
        text=shown,
        fault=f"{shown!r} is no PMID, PMCID, DOI, arXiv or NCT number and no address",
    )


def _table(text: str) -> Iterator[ListedPaper] | None:
    """Rows of a CSV with a heading that names a column of identifiers; None if it is none."""
    said, skipped = _SEPARATOR.match(text), 0
    if said is not None:  # as spreadsheets are told which sign separates cells
        text, skipped = text[said.end() :], 1
    heading = text.split("\n", 1)[0]
    delimiter = said[1] if said is not None else max(",;\t", key=heading.count)
    columns = next(csv.reader([heading], delimiter=delimiter), [])
    is_tagged = heading.startswith(
        "PT\tAU\t"
    )  # Web of Science, whose cells have no quotation marks of their own
    # Programs that evaluate such exports keep its tags as headings, whatever separates the cells.
    tags = WEB_OF_SCIENCE.fields if is_tagged or {"DI", "TI"} <= {*columns} else {}
    names = [tags.get(each, "" if is_tagged else _column(each)) for each in columns]
    if not set(names) & {*SCHEMES, "id", "url"} or any(map(identify, columns)):
        return None
    file = io.StringIO(text, newline="")
    reader = csv.reader(
        file, delimiter=delimiter, quoting=csv.QUOTE_NONE if is_tagged else csv.QUOTE_MINIMAL
    )
    return _rows(reader, names, skipped, is_uneven=not is_tagged and text.count('"') % 2 == 1)


def _column(name: str) -> str:
    return _NAMES.get(re.sub(r"[^a-z]", "", fold(name)), "")


def _rows(
    reader: "Reader", names: list[str], skipped: int, *, is_uneven: bool
) -> Iterator[ListedPaper]:
    next(reader, None)
    begun = ended = reader.line_num
    try:
        for row in reader:
            begun, ended = ended, reader.line_num
            if any(cell.strip() for cell in row):
                pairs = [(name, cell) for name, cell in zip(names, row, strict=False) if name]
                # Beside other columns a number may be that of the row.
                yield _entry(ended + skipped, pairs, is_number_pmid=len(names) == 1)
    except csv.Error as error:
        yield _lost_rows(reader.line_num + skipped, str(error))
        return
    if is_uneven and ended - begun > 1:
        yield _lost_rows(begun + 1 + skipped, "a quotation mark is never closed")


def _lost_rows(line: int, why: str) -> ListedPaper:
    return ListedPaper(line=line, fault=f"the rows from line {line} on cannot be told apart: {why}")


def _entry(
    line: int, pairs: Iterable[tuple[str, str]], *, is_number_pmid: bool = False
) -> ListedPaper:
    """An entry from what a list calls its parts; a bare number may be anything, and says so by the name of its part."""
    ids: dict[str, str] = {}
    rest: dict[str, str] = {}
    types: list[str] = []
    number = ""
    for part, given in pairs:
        value = squeeze(given)
        name = _type_or_id(value) if part == "type_or_id" else part
        if name == "type":
            types += [each.strip() for each in value.split(";") if each.strip()]
            continue
        if name == "id" and value.isdecimal() and not is_number_pmid:
            number = number or value
            continue
        if name in SCHEMES and (found := normal_id(name, _bare(name, value))):
            ids.setdefault(*asked_by(name, found))
        elif name == "note":
            ids = _note_ids(value) | ids
        elif name in ("id", "url") and (known := identify(value)) is not None:
            ids.setdefault(*known)
        elif name and value and (name != "year" or _YEAR.search(value)):  # a date may be a month
            rest.setdefault(name, value)
    year = _YEAR.search(rest.get("year", ""))
    url = rest.get("url", "")
    title = rest.get("title", "")
    has_name = bool(ids) or url.startswith(("http://", "https://"))
    hint = f"; if {number[:20]} is a PMID, its column or field has to say so" if number else ""
    return ListedPaper(
        line=line,
        text=next(iter(ids.values()), url or title or number[:LINE_CHARS_SHOWN]),
        ids=ids,
        url=url if url.startswith(("http://", "https://")) else "",
        title=title,
        year=int(year[0]) if year else None,
        type=types[0] if types else "",
        types=tuple(dict.fromkeys(types[1:])),
        language=rest.get("language", ""),
        fault=""
        if has_name
        else f"the entry {title[:LINE_CHARS_SHOWN]!r} names no identifier and no address{hint}",
    )


def _type_or_id(value: str) -> str:
    """What stands under the type of work of RIS, where some programs write the DOI."""
    return "id" if value.isdecimal() or identify(value) is not None else "type"


def _note_ids(text: str) -> dict[str, str]:
    """The identifiers with which a note begins: further on it may speak of other papers."""
    found: dict[str, str] = {}
    at = 0
    while (each := _NOTED.match(text, at)) is not None:
        scheme, at = each[1].lower(), each.end()
        if value := normal_id(scheme, each[2]):
            found.setdefault(*asked_by(scheme, value))
    return found


def _bare(scheme: str, value: str) -> str:
    found = identify(value)
    return found[1] if found is not None and found[0] == scheme else value


def is_list(head: bytes, name: str) -> bool:
    """Whether a file is a list of papers and not a paper: by its ending, its form, or because its lines are ids."""
    if name.lower().endswith((".ris", ".nbib", ".bib", ".csv", ".tsv", ".ids", ".enw", ".ciw")):
        return True
    text = _head_text(head)
    if text.lstrip().startswith("<") or b"%PDF-" in head[:1024]:
        return False
    if has_list_form(text) or _is_table(text):
        return True
    lines = [line.split("#")[0].strip() for line in text.splitlines()[:20]]
    words = [line for line in lines if line]
    named = sum(entry_of(word).fault == "" for word in words)
    return bool(words) and named * 2 >= len(words)


def _is_table(text: str) -> bool:
    """Whether the first line is a heading of several columns, one of them of identifiers."""
    heading = text.lstrip().split("\n", 1)[0].rstrip()
    names = [_column(each) for each in re.split(r"[,;\t]", heading)]
    is_named = bool(set(names) & {*SCHEMES}) and sum(map(bool, names)) > 1
    return (is_named and not identify(heading)) or heading.startswith("PT\tAU\t")


def _head_text(head: bytes) -> str:
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = (
        head[: len(head) & ~1].decode("utf-16", "replace")
        if is_wide
        else head.decode("utf-8", "replace")
    )
    return text.lstrip("\ufeff")


def known_labels(paper: ListedPaper) -> Mapping[str, str]:
    """What a record keeps of its entry, as labels; identifiers in the form by which they are compared."""
    year = "" if paper.year is None else str(paper.year)
    said = {"title": paper.title, "year": year, "type": paper.type, "language": paper.language}
    ids = {scheme: match_key(scheme, value) for scheme, value in paper.ids.items()}
    return ids | {name: value for name, value in said.items() if value}
