"""Papers as citations: BibTeX, RIS and CSL-JSON, for reference managers."""

import re
from collections.abc import Callable, Iterable

import msgspec

from stateward.core.model import Fields
from stateward.core.stemming import words_of
from stateward.pipelines.literature.finding import metadata_of
from stateward.pipelines.literature.paper import Author, Metadata

# Signs with a meaning in BibTeX.
_TEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}  # fmt: skip
_CSL_TYPES = {"preprint": "article", "clinical trial": "dataset"}
_KEY = re.compile(r"[^a-z0-9]")


def bibtex(papers: Iterable[Metadata]) -> str:
    """Papers as BibTeX; keys are author, year and a word of the title, with letters where that is not enough."""
    used: dict[str, int] = {}
    return "\n".join(_bibtex_entry(paper, _unique(_key(paper), used)) for paper in papers)


def _bibtex_entry(paper: Metadata, key: str) -> str:
    pages = "--".join(filter(None, (paper.first_page, paper.last_page))) or paper.article_number
    fields = {
        "title": paper.title,
        "author": " and ".join(map(_bibtex_name, paper.authors)),
        "journal": paper.journal.title,
        "year": str(paper.year or ""),
        "volume": paper.volume,
        "number": paper.issue,
        "pages": pages,
        "publisher": paper.journal.publisher,
        "doi": paper.ids.get("doi", ""),
        "pmid": paper.ids.get("pmid", ""),
        "pmcid": paper.ids.get("pmcid", ""),
        "eprint": paper.ids.get("arxiv", ""),
        "archiveprefix": "arXiv" if paper.ids.get("arxiv") else "",
        "url": _address(paper),
    }
    whole = ("author", "doi", "pages", "url")  # already in the form that BibTeX reads
    lines = [
        f"  {name} = {{{value if name in whole else _tex(value)}}},"
        for name, value in fields.items()
        if value
    ]
    kind = "article" if paper.journal.title else "misc"
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])


def _address(paper: Metadata) -> str:
    """Where a paper is shown whose identifier has no field of its own in every format."""
    for scheme, site in _SITES.items():
        if value := paper.ids.get(scheme):
            return f"{site}{value}"
    return ""


_SITES = {"arxiv": "https://arxiv.org/abs/", "nct": "https://clinicaltrials.gov/study/"}


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def _bibtex_name(author: Author) -> str:
    if author.is_group or not author.surname:
        return f"{{{_tex(author.name)}}}"  # braces: BibTeX would take the name of a group apart
    given = ", ".join(filter(None, (author.suffix, author.given)))
    return _tex(f"{author.surname}, {given}" if given else author.surname)


def _key(paper: Metadata) -> str:
    first = paper.authors[0] if paper.authors else None
    name = "" if first is None else first.surname or first.name
    word = next((each for each in words_of(paper.title) if len(each) > 3), "")
    parts = (_KEY.sub("", "".join(words_of(name))), str(paper.year or ""), _KEY.sub("", word))
    return "".join(parts) or "paper"


def _unique(key: str, used: dict[str, int]) -> str:
    used[key] = used.get(key, 0) + 1
    return key if used[key] == 1 else f"{key}-{used[key]}"


def ris(papers: Iterable[Metadata]) -> str:
    """Papers as RIS."""
    return "".join(map(_ris_entry, papers))


def _ris_entry(paper: Metadata) -> str:
    date = max(
        (each for name, each in paper.dates.items() if name in _PUBLISHED), key=len, default=""
    )
    pairs = [
        ("TY", "JOUR" if paper.journal.title else "GEN"),
        ("TI", paper.title),
        *(("AU", _ris_name(each)) for each in paper.authors),
        ("PY", str(paper.year or "")),
        ("DA", date.replace("-", "/")),
        ("JO", paper.journal.title),
        ("VL", paper.volume),
        ("IS", paper.issue),
        ("SP", paper.first_page or paper.article_number),
        ("EP", paper.last_page),
        ("PB", paper.journal.publisher),
        ("LA", paper.language),
        ("AB", paper.abstract.replace("\n", " ")),
        *(("KW", each) for each in paper.keywords),
        ("DO", paper.ids.get("doi", "")),
        ("AN", paper.ids.get("pmid", "")),
        ("DB", "PubMed" if paper.ids.get("pmid") else ""),
        ("C2", paper.ids.get("pmcid", "")),
        ("UR", _address(paper)),
    ]
    lines = [f"{tag}  - {value}" for tag, value in pairs if value]
    return "\r\n".join([*lines, "ER  - ", "", ""])


_PUBLISHED = ("epub", "ppub", "published", "collection")


def _ris_name(author: Author) -> str:
    parts = (author.surname, author.given, author.suffix) if author.surname else (author.name,)
    return ", ".join(filter(None, parts))


def csl_json(papers: Iterable[Metadata]) -> str:
    """Papers as CSL-JSON."""
    used: dict[str, int] = {}
    entries = [_csl_entry(paper, _unique(_key(paper), used)) for paper in papers]
    return msgspec.json.format(msgspec.json.encode(entries), indent=2).decode() + "\n"


def _csl_entry(paper: Metadata, key: str) -> Fields:
    date = min((each for name, each in paper.dates.items() if name in _PUBLISHED), default="")
    pages = "-".join(filter(None, (paper.first_page, paper.last_page))) or paper.article_number
    fields: Fields = {
        "id": key,
        "type": _CSL_TYPES.get(paper.type, "article-journal"),
        "title": paper.title,
        "author": [_csl_name(each) for each in paper.authors],
        "issued": {"date-parts": [[int(part) for part in date.split("-")]]} if date else None,
        "container-title": paper.journal.title,
        "container-title-short": paper.journal.abbreviation,
        "publisher": paper.journal.publisher,
        "volume": paper.volume,
        "issue": paper.issue,
        "page": pages,
        "abstract": paper.abstract,
        "language": paper.language,
        "DOI": paper.ids.get("doi"),
        "PMID": paper.ids.get("pmid"),
        "PMCID": paper.ids.get("pmcid"),
        "URL": _address(paper),
    }
    return {name: value for name, value in fields.items() if value}


def _csl_name(author: Author) -> Fields:
    if author.is_group or not author.surname:
        return {"literal": author.name}
    name: Fields = {"family": author.surname, "given": author.given, "suffix": author.suffix}
    return {part: value for part, value in name.items() if value}


# From what a stage said about each paper


def bibtex_of(about: Iterable[Fields]) -> str:
    """Results of a search as BibTeX."""
    return bibtex(map(metadata_of, about))


def ris_of(about: Iterable[Fields]) -> str:
    """Results of a search as RIS."""
    return ris(map(metadata_of, about))


def csl_json_of(about: Iterable[Fields]) -> str:
    """Results of a search as CSL-JSON."""
    return csl_json(map(metadata_of, about))


FORMATS: dict[str, Callable[[Iterable[Metadata]], str]] = {
    "bibtex": bibtex,
    "ris": ris,
    "csl-json": csl_json,
}
