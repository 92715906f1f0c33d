"""Adding papers to a service: one record for each, known ones and unwanted ones skipped with the reason.

A record is created and skipped in one transaction, so that no worker can begin to fetch what is to be skipped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Protocol

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
SKIPPED_EVENT = "document.skipped"
FILTERED, DUPLICATE = "filtered", "duplicate"


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

    def transaction(self) -> AbstractContextManager[object]:
        """All that is done inside is committed together."""

    def submit(
        self,
        source: bytes,
        *,
        labels: Mapping[str, str],
        reason: str | None,
        name: str | None = None,
        entry: str | None = None,
    ) -> tuple[str, bool]:
        """The id of the record for a document, and whether it was there before; `entry` is the state of an import."""

    def skip(self, record_id: str, *, reason: str) -> object:
        """Leave a record out on purpose."""

    def find(self, query: str) -> Iterable[KnownRecord]:
        """Records that match."""


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
        for entry in batch:
            yield _add(service, entry, known, filters, reason)
        count += len(batch)
        tell(count)


def _add(
    service: Service,
    entry: ListedPaper,
    known: dict[str, str],
    filters: PaperFilters | None,
    reason: str | None,
) -> Added:
    if entry.name is None:
        return Added(entry=entry, outcome="refused", reason=entry.fault)
    scheme, value = entry.name
    labels = {**known_labels(entry), SOURCE_TYPE: ADAPTERS[scheme]}
    twin = next((known[key] for key in _keys(entry) if key in known), "")
    if filters is None and twin:
        return Added(entry=entry, outcome="known", record_id=twin)
    refusal = f"the same paper is {twin}" if twin else (filters or PaperFilters()).refusal(entry)
    with service.transaction():
        made, is_known = service.submit(
            request_document(scheme, value),
            labels=labels,
            reason=reason,
            name=display_name(scheme, value),
            entry="legacy" if entry.is_legacy else None,
        )
        if is_known:
            return Added(entry=entry, outcome="known", record_id=made)
        if refusal:
            service.skip(made, reason=refusal)
    if refusal:
        return Added(entry=entry, outcome="skipped", record_id=made, reason=refusal)
    known.update(dict.fromkeys(_keys(entry), made))
    return Added(entry=entry, outcome="added", record_id=made)


def known_papers(
    find: Callable[[str], Iterable[KnownRecord]], batch: Sequence[ListedPaper]
) -> dict[str, str]:
    """Identifiers of these entries that records have already, with the record; skipped records stand for nothing."""
    known: dict[str, str] = {}
    for scheme in SCHEMES:
        values = {
            form
            for each in batch
            if scheme in each.ids
            for form in _spellings(scheme, each.ids[scheme])
        }
        if not values:
            continue
        quoted = ",".join(f'"{value}"' for value in sorted(values) if '"' not in value)
        for record in find(f"machine:{MACHINE} meta.{scheme}:{quoted}"):
            if record.status != "skipped":
                known.setdefault(_key(scheme, str(record.labels.get(scheme, ""))), record.id)
    return known


def _spellings(scheme: str, value: str) -> set[str]:
    return {value, match_key(scheme, value)}


def _keys(entry: ListedPaper) -> list[str]:
    return [_key(scheme, value) for scheme, value in entry.ids.items()]


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
