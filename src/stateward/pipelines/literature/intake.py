"""Adding papers to a service: one record for each, known ones and unwanted ones skipped with the reason.

A record is created and skipped by one call: a free worker is given a new record in the transaction that creates it, and
would fetch what is to be skipped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.literature import MACHINE, SOURCE_TYPE
from stateward.pipelines.literature.identifiers import SCHEMES, display_name, match_key
from stateward.pipelines.literature.lists import ListedPaper, PaperFilters, known_labels
from stateward.pipelines.literature.sources import ADAPTERS, request_document

BATCH = 100  # identifiers in one query for known papers
TRIAL = "nct"
TEXT_SCHEMES = ("pmcid", "doi")  # whose sources may give the full text

Value = TypeVar("Value")


class KnownRecord(Protocol):
    """A record, as far as adding papers asks."""

    @property
    def id(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, Json]: ...


class Service(Protocol):
    """What is needed of a Stateward to add papers."""

    def submit(
        self,
        source: bytes,
        *,
        labels: Mapping[str, str],
        reason: str | None,
        name: str | None = None,
        entry: str | None = None,
        refusal: str = "",
    ) -> tuple[str, bool]:
        """The id of the record for a document, and whether it was there before.

        `entry` is the state of an import. With a `refusal`, a new record is skipped for this reason as it is created.
        """

    def find(self, query: str) -> Iterable[KnownRecord]:
        """Records that match."""

    def read_as(self, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """The records of papers that were read and say one of these identifiers of themselves, by `scheme:value`."""

    def has_only_abstract(self, record_id: str) -> bool:
        """Whether what was read of a paper is no more than its abstract."""


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry: `added`, `known`, `skipped` or `refused`, with the reason."""

    entry: ListedPaper
    outcome: str
    record_id: str = ""
    reason: str = ""


def add_papers(
    service: Service,
    papers: Iterable[ListedPaper],
    *,
    filters: PaperFilters | None,
    reason: str | None,
    tell: Callable[[int], object] = lambda _: None,
) -> Iterator[Added]:
    """Create a record for every entry that names a paper.

    Without filters the papers are taken up, not chosen: one that a record has under another identifier is that record,
    and gets none of its own to be skipped.
    """
    count = 0
    iterator = iter(papers)
    while batch := list(islice(iterator, BATCH)):
        known = known_papers(service.find, batch)
        read = service.read_as(key for entry in batch for key in _keys(entry))
        for entry in batch:
            twin = next((known[key] for key in _keys(entry) if key in known), "")
            twin = twin or _read_before(service, entry, read)
            yield _add(service, entry, twin, known, filters, reason)
        count += len(batch)
        tell(count)


def _add(
    service: Service,
    entry: ListedPaper,
    twin: str,
    known: dict[str, str],
    filters: PaperFilters | None,
    reason: str | None,
) -> Added:
    if entry.name is None:
        return Added(entry=entry, outcome="refused", reason=entry.fault)
    scheme, value = entry.name
    labels = {**known_labels(entry), SOURCE_TYPE: ADAPTERS[scheme]}
    if filters is None and twin:
        return Added(entry=entry, outcome="known", record_id=twin)
    refusal = f"the same paper is {twin}" if twin else (filters or PaperFilters()).refusal(entry)
    made, is_known = service.submit(
        request_document(scheme, value),
        labels=labels,
        reason=reason,
        name=display_name(scheme, value),
        entry="legacy" if entry.is_legacy else None,
        refusal=refusal,
    )
    if is_known:
        return Added(entry=entry, outcome="known", record_id=made)
    if refusal:
        return Added(entry=entry, outcome="skipped", record_id=made, reason=refusal)
    known.update(dict.fromkeys(_keys(entry), made))
    return Added(entry=entry, outcome="added", record_id=made)


def _read_before(service: Service, entry: ListedPaper, read: Mapping[str, Sequence[str]]) -> str:
    """The record of a paper that was read under another identifier; "" where the source of this one may give more.

    A PMCID, and often a DOI, leads to the full text: who adds one after an abstract does not want that abstract.
    """
    gives_text = entry.name is not None and entry.name[0] in TEXT_SCHEMES
    for key in _keys(entry):
        for record_id in read.get(key, ()):
            if not (gives_text and service.has_only_abstract(record_id)):
                return record_id
    return ""


def known_papers(
    find: Callable[[str], Iterable[KnownRecord]], batch: Sequence[ListedPaper]
) -> dict[str, str]:
    """Identifiers of these entries that records have already, with the record; skipped records stand for nothing."""
    known: dict[str, str] = {}
    for scheme in SCHEMES:
        values = {
            form
            for each in batch
            if scheme in (own := _own_ids(each.ids))
            for form in _spellings(scheme, own[scheme])
        }
        if not values:
            continue
        quoted = ",".join(f'"{value}"' for value in sorted(values) if '"' not in value)
        for record in find(f"machine:{MACHINE} meta.{scheme}:{quoted}"):
            if record.status != "skipped" and scheme in _own_ids(record.labels):
                known.setdefault(_key(scheme, str(record.labels.get(scheme, ""))), record.id)
    return known


def _own_ids(ids: Mapping[str, Value]) -> dict[str, Value]:
    """The identifiers of the paper itself: the number of a trial is that of each paper which reports the trial."""
    own = {scheme: ids[scheme] for scheme in SCHEMES if scheme in ids}
    return own if len(own) == 1 else {name: own[name] for name in own if name != TRIAL}


def _spellings(scheme: str, value: str) -> set[str]:
    return {value, match_key(scheme, value)}


def _keys(entry: ListedPaper) -> list[str]:
    return [_key(scheme, value) for scheme, value in _own_ids(entry.ids).items()]


def _key(scheme: str, value: str) -> str:
    return f"{scheme}:{match_key(scheme, value)}"


def papers_of(path: Path, format_: str) -> Iterator[list[bytes | Path]]:
    """The papers of a file, some at a time: the file itself, or each citation of a set of PubMed.

    Of a set that is cut off, what comes before that is given, then `FatalFailure`.
    """
    citations = _citations(path) if format_ == "pubmed" else iter(())
    try:
        batch: list[bytes | Path] = [*islice(citations, 2)]
    except etree.XMLSyntaxError:
        batch = []  # the record of the file says what is wrong with it
    if len(batch) < 2:
        yield [path]
        return
    count = len(batch)
    try:
        for each in citations:
            batch.append(each)
            count += 1
            if len(batch) == BATCH:
                yield batch
                batch = []
    except etree.XMLSyntaxError as error:
        yield batch
        raise FatalFailure(
            f"the set is damaged or cut off after {count} citations ({error.msg}); download it again and add it: "
            "those that are known are not added twice",
            code=CORRUPT_FILE,
        ) from error
    if batch:
        yield batch


def _citations(path: Path) -> Iterator[bytes]:
    """Each citation of a set of PubMed XML as a file of its own; the set is never in memory as a whole."""
    for _, element in etree.iterparse(
        str(path), events=("end",), tag=("PubmedArticle", "PubmedBookArticle"), resolve_entities=False,
        no_network=True, load_dtd=False, huge_tree=False,
    ):  # fmt: skip
        yield (
            b"<PubmedArticleSet>"
            + etree.tostring(element, with_tail=False)
            + b"</PubmedArticleSet>"
        )
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
