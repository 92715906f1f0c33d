"""Where papers are fetched from: how each source is asked for one, and how its answers say that there is none.

Base addresses are settings, so that a mirror, a proxy or a test's own server can stand for a source.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import msgspec

from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import Fields, Json
from stateward.pipelines.literature import DOCUMENT, REFRESH
from stateward.pipelines.literature.identifiers import identify
from stateward.pipelines.literature.web import (
    NOT_FOUND,
    SOURCE_ERROR,
    WRONG_CONTENT,
    FetchLimits,
    Web,
)
from stateward.workers.sdk import Job, Outcome

BAD_REQUEST = "BAD_REQUEST_DOCUMENT"
# The source that is asked for each kind of identifier.
ADAPTERS = {
    "pmid": "pubmed", "pmcid": "pmc", "doi": "europepmc", "arxiv": "arxiv", "nct": "clinicaltrials", "url": "url",
}  # fmt: skip
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>|<!--.*?-->|\s)*(?:<!doctype\s+html|<html)", re.IGNORECASE | re.DOTALL
)
_ERROR = re.compile(rb"<(?:ERROR|error)\b[^>]*>\s*([^<]{0,300})")
# What E-utilities say with status 200 while their database cannot be reached.
_PASSING = re.compile(
    rb"unable to|cannot connect|can't connect|timed? ?out|server (?:error|failed)|try again|temporar",
    re.IGNORECASE,
)
REQUEST_CHARS_MAX = 2100
# What an answer of E-utilities holds if there is one; a PMID may be that of a chapter of a book.
_CITATION = re.compile(rb"<Pubmed(?:Book)?Article[\s>]")
_ARTICLE = re.compile(rb"<article\b")


class SourceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The section `literature.fetch` as jobs get it."""

    pubmed_url: str = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    europepmc_url: str = "https://www.ebi.ac.uk/europepmc/webservices/rest"
    arxiv_url: str = "https://export.arxiv.org/api"
    clinicaltrials_url: str = "https://clinicaltrials.gov/api/v2"
    contact: str | None = None
    api_key: str | None = None
    timeout_seconds: float = 60.0
    bytes_max: int = 64 * 1024 * 1024
    pause_seconds: float = 0.4
    arxiv_pause_seconds: float = 3.0
    allow: tuple[str, ...] = ()
    ca_file: str | None = None

    def limits(self) -> FetchLimits:
        """How every source is asked."""
        contact = f" (mailto:{self.contact})" if self.contact else ""
        return FetchLimits(
            timeout_s=self.timeout_seconds,
            bytes_max=self.bytes_max,
            pause_s=self.pause_seconds,
            allow=self.allow,
            user_agent=f"Stateward/1{contact}",
            ca_file=self.ca_file,
        )


def download(job: Job) -> Outcome:
    """The stage `fetch` for a record that is an identifier or an address: its paper becomes a derived file."""
    options = msgspec.convert(job.options.get("fetch") or {}, SourceOptions)
    scheme, value = read_request(job.text())
    web = Web(job, options.limits(), is_refresh=job.labels.get(REFRESH) == "yes")
    body = Source(web, options, job.labels).fetch(scheme, value)
    last = web.received[-1]
    job.save_file(DOCUMENT, body, media_type=_media_type(last.media_type))
    requests: list[Json] = msgspec.to_builtins(web.received)
    return Outcome(
        facts={"adapter": ADAPTERS[scheme], "url": last.url, "bytes": len(body)},
        about={"adapter": ADAPTERS[scheme], "requests": requests},
    )


def request_document(scheme: str, value: str) -> bytes:
    """The document of a record that is only an identifier: one line, so that the same one is the same document."""
    return f"{scheme}:{value}\n".encode()


def read_request(text: str) -> tuple[str, str]:
    """The scheme and the value of such a document."""
    line = text.strip()
    if len(line) <= REQUEST_CHARS_MAX and line.startswith(("url:http://", "url:https://")):
        return "url", line.removeprefix("url:")
    found = identify(line) if len(line) <= REQUEST_CHARS_MAX else None
    if found is None:
        raise FatalFailure(
            "the record names no identifier and no address; add papers with `stateward literature add`",
            code=BAD_REQUEST,
        )
    return found


class Source:
    """Asks the source of an identifier for its paper."""

    def __init__(self, web: Web, options: SourceOptions, labels: Mapping[str, Json]) -> None:
        self._web = web
        self._options = options
        self._labels = labels

    def fetch(self, scheme: str, value: str) -> bytes:
        """The paper, in whatever format its source has it."""
        match scheme:
            case "pmid":
                return self._entrez("pubmed", value, _CITATION)
            case "pmcid":
                return self._entrez("pmc", value.removeprefix("PMC"), _ARTICLE)
            case "doi":
                return self._europepmc(value)
            case "arxiv":
                return self._arxiv(value)
            case "nct":
                return self._trial(value)
        return self._web.get(value, conditions=self._conditions())

    def _conditions(self) -> dict[str, str]:
        names = {"if_none_match": "If-None-Match", "if_modified_since": "If-Modified-Since"}
        return {
            header: str(self._labels[name])
            for name, header in names.items()
            if self._labels.get(name)
        }

    def _entrez(self, database: str, number: str, expected: re.Pattern[bytes]) -> bytes:
        own = {
            "tool": "stateward",
            "email": self._options.contact,
            "api_key": self._options.api_key,
        }
        asked = {"db": database, "id": number, "retmode": "xml"}
        query = urlencode(asked | {name: value for name, value in own.items() if value})
        body = self._web.get(f"{self._options.pubmed_url}/efetch.fcgi?{query}")
        _require_xml(body, "E-utilities")
        if not expected.search(body):
            found = _ERROR.search(body)
            said = f": {found[1].decode('utf-8', 'replace').strip()}" if found else ""
            if found and _PASSING.search(found[1]):
                raise StageFailure(f"E-utilities cannot answer now{said}", code=SOURCE_ERROR)
            none = (
                f"PubMed has no paper with the PMID {number}"
                if database == "pubmed"
                else f"PMC gives no text of PMC{number}: it has none, or none that is open"
            )
            raise FatalFailure(f"{none}{said}", code=NOT_FOUND)
        return body

    def _europepmc(self, doi: str) -> bytes:
        """The full text if it is open, else what PubMed has of the paper, else the abstract of Europe PMC."""
        base = self._options.europepmc_url
        query = urlencode(
            {"query": f'DOI:"{doi}"', "format": "json", "resultType": "core", "pageSize": "5"}
        )
        hits = _hits(self._web.get(f"{base}/search?{query}"))
        hit = next((each for each in hits if str(each.get("doi", "")).lower() == doi.lower()), None)
        if hit is None:
            raise FatalFailure(
                f"Europe PMC knows no paper with the DOI {doi}; fetch the publisher's page with its address",
                code=NOT_FOUND,
            )
        if hit.get("pmcid") and (hit.get("isOpenAccess") == "Y" or hit.get("inEPMC") == "Y"):
            try:
                body = self._web.get(f"{base}/{quote(str(hit['pmcid']))}/fullTextXML")
            except FatalFailure as failure:
                # A text that can be read there need not be one that is given away.
                if failure.code != NOT_FOUND or not hit.get("pmid"):
                    raise
            else:
                _require_xml(body, "Europe PMC")
                return body
        if hit.get("pmid"):
            return self._entrez("pubmed", str(hit["pmid"]), _CITATION)
        raise FatalFailure(
            f"Europe PMC has neither the full text nor a PubMed entry of {doi}", code=NOT_FOUND
        )

    def _arxiv(self, value: str) -> bytes:
        query = urlencode({"id_list": value, "max_results": "1"})
        pause_s = self._options.arxiv_pause_seconds
        body = self._web.get(f"{self._options.arxiv_url}/query?{query}", pause_s=pause_s)
        _require_xml(body, "arXiv")
        if b"<entry" not in body or b"api/errors" in body:
            raise FatalFailure(f"arXiv has no paper {value}", code=NOT_FOUND)
        return body

    def _trial(self, value: str) -> bytes:
        body = self._web.get(
            f"{self._options.clinicaltrials_url}/studies/{quote(value)}?format=json"
        )
        if not body.lstrip().startswith(b"{") or b'"protocolSection"' not in body:
            raise StageFailure(
                "ClinicalTrials.gov answered something else than a study", code=WRONG_CONTENT
            )
        return body


def _hits(body: bytes) -> list[Fields]:
    try:
        found = msgspec.json.decode(body)
        return list(found["resultList"]["result"])
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise StageFailure(
            "Europe PMC answered something else than a result list", code=WRONG_CONTENT
        ) from error


def _require_xml(body: bytes, source: str) -> None:
    """Refuse a page of words where XML was asked for: sources show one while they are being mended."""
    body = body.lstrip(b"\xef\xbb\xbf \r\n\t")
    if not body.startswith(b"<") or _HTML.match(body):
        raise StageFailure(
            f"{source} answered something else than XML; it is asked again later",
            code=WRONG_CONTENT,
        )


def _media_type(given: str) -> str:
    return (
        given if re.fullmatch(r"[a-z0-9.+-]+/[a-z0-9.+-]+", given) else "application/octet-stream"
    )
