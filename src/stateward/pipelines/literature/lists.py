"""Lists of papers: identifiers on lines, RIS, PubMed's `.nbib`, BibTeX, CSV, and sets of PubMed XML.

Each entry says what is known of it. Nothing is dropped: a line that names no paper is an entry without one, with its
number and what is wrong with it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from stateward.pipelines.kit.encoding import find_encoding
from stateward.pipelines.literature.identifiers import (
    SCHEMES,
    identify,
    match_key,
    normal_id,
    strongest,
)
from stateward.pipelines.literature.paper import squeeze
from stateward.schemas import Request

LIST_BYTES_MAX = 256 * 1024 * 1024
LINE_CHARS_SHOWN = 80
NESTED_MAX = 50  # braces in each other in a value; with more, one of them is never closed
UNCLOSED_CHARS_MAX = 1000  # of a value whose brace is never closed
# What columns and fields of lists are called, in small letters without signs.
_NAMES = {
    "doi": "doi", "pmid": "pmid", "pubmedid": "pmid", "pmcid": "pmcid", "pmc": "pmcid", "arxiv": "arxiv",
    "arxivid": "arxiv", "nct": "nct", "nctid": "nct", "nctnumber": "nct", "id": "id", "identifier": "id", "url": "url",
    "link": "url", "title": "title", "articletitle": "title", "year": "year", "publicationyear": "year",
    "date": "year", "type": "type", "publicationtype": "type", "language": "language", "lang": "language",
}  # fmt: skip
_RIS = re.compile(r"^([A-Z][A-Z0-9])  - ?(.*)$")
_RIS_FIELDS = {
    "DO": "doi", "TI": "title", "T1": "title", "PY": "year", "Y1": "year", "DA": "year", "LA": "language",
    "TY": "type", "UR": "url", "L2": "url", "AN": "accession", "DB": "database", "DP": "database",
    "C2": "id", "ID": "id",
}  # fmt: skip
# Some programs leave out the type with which an entry begins.
_IS_RIS = re.compile(r"^(?:TY|ER)  -", re.MULTILINE)
# As PubMed saves citations (`.nbib`): a long value goes on in lines that begin with blanks.
_MEDLINE = re.compile(r"^([A-Z]{2,4}) *- (.*(?:\n {6}.*)*)$", re.MULTILINE)
_IS_MEDLINE = re.compile(r"^PMID- *[0-9]+\s*$", re.MULTILINE)
_MEDLINE_FIELDS = {
    "PMID": "pmid", "PMC": "pmcid", "LID": "doi", "AID": "doi", "SI": "nct", "TI": "title", "DP": "year",
    "LA": "language", "PT": "type",
}  # fmt: skip
# EndNote writes entries without a key.
_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*[{(]\s*(?:[^,\s]{0,300}\s*,|(?=[A-Za-z][\w-]*\s*=))")
_BIBTEX_ENTRY = re.compile(r"^\s*@\s*[A-Za-z]+\s*[{(]", re.MULTILINE)
_FIELD = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*")
_YEAR = re.compile(r"\b(1[5-9]|20|21)[0-9]{2}\b")
_BRACES = re.compile(r"[{}]")
_ESCAPED = re.compile(r"\\([_%&#$~])")  # as BibTeX writes signs that mean something to TeX
_JOINED = re.compile(r"\s*#\s*")
_BETWEEN = re.compile(r"\s*,|(?=\s*[A-Za-z][\w-]*\s*=)")  # a forgotten comma loses no field
_OF_PUBMED = re.compile(r"pubmed|medline|\bnlm\b", re.IGNORECASE)


class ListedPaper(Request, frozen=True, kw_only=True):
    """One entry of a list. `fault` says why it names no paper that can be fetched."""

    line: int
    text: str = ""
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    title: str = ""
    year: int | None = None
    type: str = ""
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
            and _language(paper.language) not in map(_language, self.languages)
        ):
            return f"its language is {paper.language}"
        if paper.type and paper.type.lower() in {each.lower() for each in self.skip_types}:
            return f"its type is {paper.type}"
        if paper.year is not None and self.year_from is not None and paper.year < self.year_from:
            return f"it is of {paper.year}, before {self.year_from}"
        if paper.year is not None and self.year_to is not None and paper.year > self.year_to:
            return f"it is of {paper.year}, after {self.year_to}"
        return ""


_LANGUAGES = {
    "eng": "en", "english": "en", "ger": "de", "deu": "de", "german": "de", "fre": "fr", "fra": "fr", "french": "fr",
    "spa": "es", "spanish": "es", "ita": "it", "por": "pt", "rus": "ru", "chi": "zh", "zho": "zh", "jpn": "ja",
}  # fmt: skip


def _language(text: str) -> str:
    word = text.strip().lower()
    return _LANGUAGES.get(word, word.partition("-")[0])


def read_list(path: Path) -> Iterator[ListedPaper]:
    """The entries of a list; its content says what kind of list it is."""
    text = path.read_bytes().decode(find_encoding(path).name, "replace").lstrip("\ufeff")
    return entries_of(text)


def entries_of(text: str) -> Iterator[ListedPaper]:
    """The entries of the text of a list."""
    if _IS_RIS.search(text):
        return _ris(text)
    if _IS_MEDLINE.search(text):
        return _medline(text)
    if _BIBTEX_ENTRY.search(text):
        return _bibtex(text)
    table = _table(text)
    return _lines(text) if table is None else table


def _lines(text: str) -> Iterator[ListedPaper]:
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.split("#")[0].strip() if not line.strip().startswith("http") else line.strip()
        if word:
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
    heading = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=heading.count)
    names = [_column(each) for each in next(csv.reader([heading], delimiter=delimiter), [])]
    if not set(names) & {*SCHEMES, "id", "url"} or (len(names) < 2 and identify(heading)):
        return None
    return _rows(text, names, delimiter)


def _column(name: str) -> str:
    return _NAMES.get(re.sub(r"[^a-z]", "", name.lower()), "")


def _rows(text: str, names: list[str], delimiter: str) -> Iterator[ListedPaper]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    next(reader, None)
    for row in reader:
        if any(cell.strip() for cell in row):
            pairs = [(name, cell) for name, cell in zip(names, row, strict=False) if name]
            # Beside other columns a number may be that of the row.
            yield _entry(reader.line_num, pairs, is_number_pmid=len(names) == 1)


def _ris(text: str) -> Iterator[ListedPaper]:
    pairs: list[tuple[str, str]] = []
    start = 1
    for number, line in enumerate(text.splitlines(), start=1):
        found = _RIS.match(line)
        if found is None:
            continue
        if found[1] == "TY":
            if pairs:  # the entry before has no end
                yield _ris_entry(start, pairs)
            pairs = []
        start = start if pairs else number
        if found[1] in _RIS_FIELDS:
            pairs.append((_RIS_FIELDS[found[1]], found[2].strip()))
        if found[1] == "ER":
            yield _ris_entry(start, pairs)
            pairs = []
    if pairs:
        yield _ris_entry(start, pairs)


def _ris_entry(line: int, pairs: Sequence[tuple[str, str]]) -> ListedPaper:
    """The accession number is that of a database: a PMID where PubMed is named."""
    is_of_pubmed = any(name == "database" and _OF_PUBMED.search(value) for name, value in pairs)
    accession = "pmid" if is_of_pubmed else "id"
    return _entry(
        line, [(accession if name == "accession" else name, value) for name, value in pairs]
    )


def _medline(text: str) -> Iterator[ListedPaper]:
    starts = [found.start() for found in _IS_MEDLINE.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        found = [(name, value.strip()) for name, value in _MEDLINE.findall(text[start:end])]
        pairs = [
            (_MEDLINE_FIELDS[name], value.removeprefix("ClinicalTrials.gov/"))
            for name, value in found
            # Other numbers of publishers stand under the same names as the DOI.
            if name in _MEDLINE_FIELDS and (name not in ("LID", "AID") or value.endswith("[doi]"))
        ]
        yield _entry(text.count("\n", 0, start) + 1, pairs)


def _bibtex(text: str) -> Iterator[ListedPaper]:
    at = 0
    while (found := _ENTRY.search(text, at)) is not None:
        kind, at = found[1].lower(), found.end()
        if kind in ("string", "comment", "preamble"):
            continue
        line = text.count("\n", 0, found.start()) + 1
        fields, end = _bibtex_fields(text, at)
        at = (
            at if end >= len(text) else end
        )  # a brace that is never closed must not hide what follows
        pairs = [("type", kind), *((_column(name), value) for name, value in fields.items())]
        if (
            fields.get("eprint")
            and "arxiv" in fields.get("archiveprefix", fields.get("eprinttype", "arxiv")).lower()
        ):
            pairs.append(("arxiv", fields["eprint"]))
        yield _entry(line, pairs)


def _bibtex_fields(text: str, at: int) -> tuple[dict[str, str], int]:
    """The fields of an entry, and where they end: braces may hold braces, and a value may be a bare word."""
    fields: dict[str, str] = {}
    while (found := _FIELD.match(text, at)) is not None:
        value, at = _bibtex_value(text, found.end())
        while (joined := _JOINED.match(text, at)) is not None:
            more, at = _bibtex_value(text, joined.end())
            value += more
        fields[found[1].lower()] = squeeze(_BRACES.sub("", _ESCAPED.sub(r"\1", value)))
        between = _BETWEEN.match(text, at)
        if between is None:
            break
        at = between.end()
    return fields, at


def _bibtex_value(text: str, at: int) -> tuple[str, int]:
    opening = text[at : at + 1]
    if opening == "{":
        depth = 0
        for brace in _BRACES.finditer(text, at):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                return text[at + 1 : brace.start()], brace.end()
            if depth > NESTED_MAX:
                break
        return text[at + 1 : at + 1 + UNCLOSED_CHARS_MAX].partition("\n")[0], len(text)
    if opening == '"':
        end = text.find('"', at + 1)
        end = len(text) if end < 0 else end
        return text[at + 1 : end], end + 1
    found = re.compile(r"[^,}#\n]*").match(text, at)
    return (found[0], found.end()) if found else ("", at)


def _entry(
    line: int, pairs: Iterable[tuple[str, str]], *, is_number_pmid: bool = False
) -> ListedPaper:
    """An entry from what a list calls its parts; a bare number may be anything, and says so by the name of its part."""
    ids: dict[str, str] = {}
    rest: dict[str, str] = {}
    number = ""
    for name, given in pairs:
        value = squeeze(given)
        if name == "id" and value.isdecimal() and not is_number_pmid:
            number = number or value
            continue
        if name in SCHEMES and (found := normal_id(name, _bare(name, value))):
            ids.setdefault(name, found)
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
        type=rest.get("type", ""),
        language=rest.get("language", ""),
        fault=""
        if has_name
        else f"the entry {title[:LINE_CHARS_SHOWN]!r} names no identifier and no address{hint}",
    )


def _bare(scheme: str, value: str) -> str:
    found = identify(value)
    return found[1] if found is not None and found[0] == scheme else value


def is_list(head: bytes, name: str) -> bool:
    """Whether a file is a list of papers and not a paper: by its ending, or because its lines are identifiers."""
    if name.lower().endswith((".ris", ".nbib", ".bib", ".csv", ".tsv", ".ids")):
        return True
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip().startswith("<") or b"%PDF-" in head[:1024]:
        return False
    if _IS_RIS.search(text) or _IS_MEDLINE.search(text) or _BIBTEX_ENTRY.search(text):
        return True
    lines = [line.split("#")[0].strip() for line in text.splitlines()[:20]]
    words = [line for line in lines if line]
    named = sum(entry_of(word).fault == "" for word in words)
    return bool(words) and named * 2 >= len(words)


def known_labels(paper: ListedPaper) -> Mapping[str, str]:
    """What a record keeps of its entry, as labels; identifiers in the form by which they are compared."""
    year = "" if paper.year is None else str(paper.year)
    said = {"title": paper.title, "year": year, "type": paper.type, "language": paper.language}
    ids = {scheme: match_key(scheme, value) for scheme, value in paper.ids.items()}
    return ids | {name: value for name, value in said.items() if value}
