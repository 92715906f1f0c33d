"""Lists whose lines begin with a tag: RIS, PubMed's `.nbib`, Web of Science's plain text, and EndNote's `.enw`.

A value goes on in the lines below it that begin with no tag. And the citations that PubMed writes to be read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from stateward.pipelines.literature.bibtex import is_bibtex
from stateward.pipelines.literature.paper import squeeze

Pairs: TypeAlias = list[tuple[str, str]]
"""What an entry says: the names of its parts, as lists call them here, with their values."""

_NUMBERED = re.compile(r"^([0-9]{1,6})[.:] (?=\S)", re.MULTILINE)
_CITED = re.compile(
    r"(?:PMCID: (?P<before>PMC[0-9]+)\s+)?PMID: (?P<pmid>[0-9]+)\b(?:; PMCID: (?P<after>PMC[0-9]+))?"
)
_OF_PUBMED = re.compile(r"pubmed|medline|\bnlm\b", re.IGNORECASE)


class TaggedForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a form writes its entries. `sign` is what no other text has; `first` and `last` are tags of an entry."""

    sign: re.Pattern[str]
    line: re.Pattern[str]
    first: str
    last: str = ""
    fields: Mapping[str, str]


# Some programs leave out the type with which an entry begins, some write one blank for two.
RIS = TaggedForm(
    sign=re.compile(r"^(?:TY {1,2}- ?[A-Z]{2,8}|ER {1,2}-) *$", re.MULTILINE),
    line=re.compile(r"^([A-Z][A-Z0-9]) {1,2}-(?: (.*))?$"),
    first="TY",
    last="ER",
    fields={
        "DO": "doi", "TI": "title", "T1": "title", "PY": "year", "Y1": "year", "DA": "year", "LA": "language",
        "TY": "type", "UR": "url", "L2": "url", "AN": "accession", "DB": "database", "DP": "database",
        "C2": "id", "ID": "id", "M3": "type_or_id", "L3": "id", "N1": "note",
    },
)  # fmt: skip
MEDLINE = TaggedForm(
    sign=re.compile(r"^PMID- *[0-9]+ *$", re.MULTILINE),
    line=re.compile(r"^([A-Z]{2,4}) *- (.*)$"),
    first="PMID",
    fields={
        "PMID": "pmid", "PMC": "pmcid", "LID": "doi", "AID": "doi", "SI": "nct", "TI": "title", "DP": "year",
        "LA": "language", "PT": "type",
    },
)  # fmt: skip
WEB_OF_SCIENCE = TaggedForm(
    sign=re.compile(r"^FN .*\nVR [0-9.]+ *$", re.MULTILINE),
    line=re.compile(r"^([A-Z][A-Z0-9])(?: (.*))?$"),
    first="PT",
    last="ER",
    fields={
        "DI": "doi", "PM": "pmid", "TI": "title", "PY": "year", "LA": "language", "DT": "type",
    },
)  # fmt: skip
ENDNOTE = TaggedForm(
    sign=re.compile(r"^%0 [A-Z][A-Za-z ]+$", re.MULTILINE),
    line=re.compile(r"^%([0-9A-Z@+~]) (.*)$"),
    first="0",
    fields={
        "0": "type", "9": "type", "R": "doi", "M": "accession", "W": "database", "~": "database", "T": "title",
        "D": "year",
        "G": "language", "U": "url", "2": "pmcid",
    },
)  # fmt: skip
FORMS = (RIS, MEDLINE, WEB_OF_SCIENCE, ENDNOTE)


def form_of(text: str) -> TaggedForm | None:
    """The form of a list; None if it has none of these."""
    return next((form for form in FORMS if form.sign.search(text)), None)


def has_list_form(text: str) -> bool:
    """Whether a text has a form that only lists of papers have."""
    text = text.replace("\r\n", "\n")
    return form_of(text) is not None or is_bibtex(text, is_sure=True) or is_cited_text(text)


def tagged_entries(text: str, form: TaggedForm) -> Iterator[tuple[int, Pairs]]:
    """Each entry with its first line; one that has no end, or no beginning, is an entry as well."""
    pairs: Pairs = []
    start, is_open = 0, False
    for number, line in enumerate(text.splitlines(), start=1):
        found = form.line.match(line)
        if found is None:
            if is_open and line.strip():
                name, value = pairs[-1]
                pairs[-1] = (name, f"{value}\n{line.strip()}")
            continue
        tag, value = found[1], (found[2] or "").strip()
        if tag == form.first and any(name for name, _ in pairs):
            yield start, _pairs_of(pairs)
        if tag == form.first:
            pairs = []
        start = start if pairs else number
        if tag == form.last:
            yield start, _pairs_of(pairs)
            pairs, is_open = [], False
            continue
        pairs.append((_name(form, tag, value), value))
        is_open = True
    if any(name for name, _ in pairs):
        yield start, _pairs_of(pairs)


def _name(form: TaggedForm, tag: str, value: str) -> str:
    """Other numbers of publishers stand under the same tags as the DOI in PubMed's lists."""
    is_other = form is MEDLINE and tag in ("LID", "AID") and not value.endswith("[doi]")
    return "" if is_other else form.fields.get(tag, "")


def _pairs_of(pairs: Pairs) -> Pairs:
    """The accession number is that of a database: a PMID where PubMed is named, or a number that only PubMed has."""
    is_of_pubmed = any(name == "database" and _OF_PUBMED.search(value) for name, value in pairs)
    accession = "pmid" if is_of_pubmed else "id"
    return [
        (accession if name == "accession" else name, value.removeprefix("ClinicalTrials.gov/"))
        for name, value in pairs
        if name not in ("", "database")
    ]


def is_cited_text(text: str) -> bool:
    """Whether a text is what PubMed saves as `Abstract` or `Summary`: numbered citations, each with its PMID."""
    parts = _parts(text)
    whole = parts[:-1] if len(parts) > 1 else parts  # the last one may be cut off
    return bool(whole) and all(_CITED.search(part) for _, part in whole)


def cited_entries(text: str) -> Iterator[tuple[int, Pairs]]:
    """Each citation of such a text: its own PMID is the last that it names, after those of errata."""
    line, counted = 1, 0
    for start, part in _parts(text):
        line, counted = line + text.count("\n", counted, start), start
        found = [*_CITED.finditer(part)]
        if not found:
            yield line, [("title", squeeze(part)[:300])]
            continue
        own = found[-1]
        pmcid = own["before"] or own["after"]
        yield line, [("pmid", own["pmid"]), *([("pmcid", pmcid)] if pmcid else [])]


def _parts(text: str) -> list[tuple[int, str]]:
    """The parts of a text that begins with 1: each as far as the next number, with where it begins."""
    if not text.lstrip().startswith(("1. ", "1: ")):
        return []
    starts: list[int] = []
    for found in _NUMBERED.finditer(text):
        at = found.start()
        is_alone = not starts or text[at - 2 : at] == "\n\n"
        if is_alone and int(found[1]) == len(starts) + 1:
            starts.append(at)
    ends = [*starts[1:], len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]
