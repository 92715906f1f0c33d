"""Identifiers of papers: what a text is, in one normal form each, and which of several is the strongest.

A PMID is its number, a PMCID has its letters, a DOI has the letters that were printed, without any address
before it, an arXiv id has its version only if one was given, an NCT number is in capitals.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

SCHEMES = ("pmcid", "pmid", "doi", "arxiv", "nct")
"""In the order in which one is preferred to name a paper: the first leads to the fullest text."""

# Publishers of the nineties put a part in angle brackets: 10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2.
DOI = re.compile(
    r"10\.[0-9]{4,9}(?:\.[0-9]+)*/"
    r"(?:[^\s\"<>{}|\\^`]|<[^\s\"<>/]{1,40}:[^\s\"<>/]{1,40}>(?=[0-9]))+",
    re.IGNORECASE,
)
ARXIV_DOI = "10.48550/arxiv."
PMCID = re.compile(r"PMC[0-9]{1,9}", re.IGNORECASE)
NCT = re.compile(r"NCT[0-9]{8}", re.IGNORECASE)
ARXIV = re.compile(r"(?:[0-9]{4}\.[0-9]{4,5}|[a-z][a-z-]*(?:\.[A-Z]{2})?/[0-9]{7})(?:v[0-9]+)?")
_DIGITS = re.compile(r"[0-9]{1,9}")
# What people write before an identifier: a name with a colon, or the address of the site that shows it.
_PREFIX = re.compile(
    r"^\s*(?:(?P<name>doi|pmid|pubmed|medline|pmcid|pmc|arxiv|nct|clinicaltrials)\s*:\s*|doi\s+(?=10\.)"
    r"|(?:https?://)?(?:(?:dx\.)?doi\.org/|(?:www\.)?arxiv\.org/(?P<arxiv>abs|pdf)/"
    r"|(?:pubmed\.ncbi\.nlm\.nih\.gov|(?:www\.)?ncbi\.nlm\.nih\.gov/pubmed)/(?P<pubmed>)"
    r"|(?:www\.)?europepmc\.org/(?:article|abstract)/(?:MED|PMC)/"
    r"|(?:www\.ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov)/articles/(?P<pmc>)"
    r"|(?:www\.)?clinicaltrials\.gov/(?:study|ct2/show)/))",
    re.IGNORECASE,
)
_SCHEMES_NAMED = {
    "": ("doi", "pmcid", "nct", "arxiv", "pmid"), "pmc": ("pmcid",), "pubmed": ("pmid",), "medline": ("pmid",),
    "clinicaltrials": ("nct",),
}  # fmt: skip
_TRAILING = ".,;:)]}'\""
ORCID = re.compile(r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]", re.IGNORECASE)


def normal_id(scheme: str, text: str) -> str:
    """An identifier of a known scheme in its normal form; "" if it is none."""
    text = unquote(text.strip()) if "%" in text else text.strip()
    match scheme:
        case "doi":
            found = DOI.search(text)
            return _trim_doi(found[0]) if found else ""
        case "pmid":
            return str(int(text)) if _DIGITS.fullmatch(text) and int(text) else ""
        case "pmcid":
            digits = text[3:] if text[:3].upper() == "PMC" else text
            digits = digits.partition(".")[0]  # PMC123.1 is a version of PMC123
            return f"PMC{int(digits)}" if _DIGITS.fullmatch(digits) and int(digits) else ""
        case "nct":
            found = NCT.fullmatch(text)
            return text.upper() if found else ""
        case "arxiv":
            text = re.sub(r"^arxiv:", "", text, flags=re.IGNORECASE).removesuffix(".pdf")
            return text if ARXIV.fullmatch(text) else ""
    return ""


def _trim_doi(doi: str) -> str:
    """A DOI without the signs of the sentence around it; brackets that it opens itself are its own."""
    while doi and doi[-1] in _TRAILING:
        is_own = doi[-1] in ")]" and doi.count("(["[")]".index(doi[-1])]) >= doi.count(doi[-1])
        if is_own:
            break
        doi = doi[:-1]
    return doi


def identify(text: str) -> tuple[str, str] | None:
    """The scheme and the normal form of one identifier that a person wrote; None if it is none.

    A bare number is a PMID: that is what lists of bare numbers hold.
    """
    prefix = _PREFIX.match(text)
    rest = text[prefix.end() :].strip() if prefix else text.strip()
    named = (prefix["name"] or "").lower() if prefix else ""
    if prefix and not named:
        rest = unquote(re.split(r"[?#]", rest, maxsplit=1)[0].rstrip("/"))
    schemes = _SCHEMES_NAMED.get(named, (named,))
    for scheme in schemes:
        is_whole = scheme != "doi" or DOI.match(rest) is not None
        is_pmc = scheme != "pmcid" or named or rest[:3].upper() == "PMC"
        if is_whole and is_pmc and (found := normal_id(scheme, rest)):
            return asked_by(scheme, found)
    return None


def asked_by(scheme: str, value: str) -> tuple[str, str]:
    """What a paper is asked for by: the DOI that arXiv gives a preprint is its arXiv id, which others do not know."""
    if scheme == "doi" and value.lower().startswith(ARXIV_DOI):
        number = normal_id("arxiv", value[len(ARXIV_DOI) :])
        return ("arxiv", number) if number else (scheme, value)
    return scheme, value


def strongest(ids: Mapping[str, str]) -> tuple[str, str] | None:
    """The identifier that names a paper best; None if it has none."""
    return next(((scheme, ids[scheme]) for scheme in SCHEMES if ids.get(scheme)), None)


def display_name(scheme: str, value: str) -> str:
    """What a record is called whose document is only an identifier: a name that `identify` reads again.

    Of an address without what may be secret: a login, and the parameters, which may be a signature.
    """
    if scheme != "url":
        return f"{scheme}:{value}" if scheme in ("pmid", "arxiv") else value
    parts = urlsplit(value)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def normal_ids(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Identifiers by scheme, those that are well-formed; the first of each scheme."""
    found: dict[str, str] = {}
    for scheme, text in pairs:
        value = normal_id(scheme, text)
        if value and scheme not in found:
            found[scheme] = value
    return found


def orcid_of(text: str) -> str:
    """The ORCID in a text, without its address; "" if there is none or its check digit is wrong."""
    found = ORCID.search(text)
    if found is None:
        return ""
    orcid = found[0].upper()
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return orcid if orcid[-1] == ("X" if check == 10 else str(check)) else ""


def match_key(scheme: str, value: str) -> str:
    """What two spellings of one identifier have in common: DOIs do not differ by case, arXiv ids not by version."""
    if scheme == "doi":
        return value.lower()
    return re.sub(r"v[0-9]+$", "", value) if scheme == "arxiv" else value
