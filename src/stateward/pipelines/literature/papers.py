"""What can be asked of the papers of a service, and how lists of them come in: the same for commands and for HTTP."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.model import SECOND, Fields, Micros, Record
from stateward.pipelines.literature import MACHINE
from stateward.pipelines.literature.citations import FORMATS
from stateward.pipelines.literature.identifiers import SCHEMES, normal_id
from stateward.pipelines.literature.intake import Added, add_papers, known_papers
from stateward.pipelines.literature.ir import ir_document
from stateward.pipelines.literature.lists import ListedPaper, PaperFilters, known_labels
from stateward.pipelines.literature.paper import Metadata
from stateward.pipelines.literature.progress import WINDOW_S, Progress, progress_of

PAGE = 200
PENDING = "pending"
SKIP = "document.skipped"
QUOTED_CHARS = 80
ABSTRACT_FORMATS = frozenset({"pubmed", "arxiv"})
READ_BY = ("build_ir", "validate", "parse")  # stages that say what a paper is, the latest first


class SamePaper(msgspec.Struct, frozen=True, kw_only=True):
    """Records of one paper; the first one that was indexed is the canonical one."""

    canonical: str
    same: list[str]
    title: str


class Citations(msgspec.Struct, frozen=True, kw_only=True):
    """Papers as citations, in one text of the format that was asked for."""

    format: str
    citations: str


class AddedPaper(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry of a list: `added`, `known`, `skipped` or `refused`, with the reason."""

    id: str | None
    outcome: str
    line: int
    text: str
    reason: str | None

    @classmethod
    def of(cls, added: Added) -> "AddedPaper":
        return cls(
            id=added.record_id or None,
            outcome=added.outcome,
            line=added.entry.line,
            text=added.entry.text,
            reason=added.reason or None,
        )

    @classmethod
    def adopted(cls, record_id: str, text: str, *, is_known: bool) -> "AddedPaper":
        outcome = "known" if is_known else "added"
        return cls(id=record_id, outcome=outcome, line=0, text=text, reason=None)


class AddedPapers(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the entries of a list, in their order."""

    items: list[AddedPaper]


class SamePapers(msgspec.Struct, frozen=True, kw_only=True):
    """Papers that have several records."""

    items: list[SamePaper]


class StoredPapers:
    """The papers of an App, which a plug-in knows by what it asks of it; `actor` is who adds and skips."""

    def __init__(self, app: Any, actor: str) -> None:  # noqa: ANN401 - of routes and commands
        self._app = app
        self._actor = actor

    # Asking

    def status(self) -> Progress:
        """How far they are, by source and state."""
        now: Micros = self._app.clock()
        counted = self._app.dashboard.source_counts(MACHINE, since=now - WINDOW_S * SECOND)
        return progress_of(counted, self._app.registry.named(MACHINE), now=now)

    def citations(self, ids: Iterable[str], format_: str) -> Citations:
        """These papers as citations."""
        papers = [self._metadata(each) for each in ids]
        return Citations(format=format_, citations=FORMATS[format_](papers))

    def _metadata(self, record_id: str) -> Metadata:
        record: Record = self._app.record(record_id)
        stage = next((each for each in READ_BY if each in record.outputs), None)
        if record.machine != MACHINE or stage is None:
            raise InvalidRequest(
                f"{record_id} is no paper that was read; it is {record.status} of {record.machine}"
            )
        return msgspec.convert(self._app.records.about(record_id, stage)["metadata"], Metadata)

    def duplicates(self) -> list[SamePaper]:
        """Papers that have several records."""
        groups: list[list[str]] = self._app.search.same_documents(MACHINE)
        return [
            SamePaper(canonical=first, same=rest, title=self._metadata(first).title)
            for first, *rest in groups
        ]

    def ir(self, record_id: str) -> Fields:
        """The intermediate form of a paper as one document."""
        record: Record = self._app.record(record_id)
        if record.machine != MACHINE or "build_ir" not in record.outputs:
            raise InvalidRequest(
                f"{record_id} has no intermediate form; it is {record.status} of {record.machine}"
            )
        about = self._app.records.about(record_id, "build_ir")
        return ir_document(record_id, about, list(self._app.items(record_id, "build_ir")))

    # Adding

    def add(
        self, papers: Sequence[ListedPaper], *, reason: str | None, is_filtered: bool = True
    ) -> Iterator[Added]:
        """A record for every entry; unless they are to be taken as they are, by the filters of the settings."""
        filters: PaperFilters | None = (
            self._app.plugins.configured(MACHINE).filters if is_filtered else None
        )
        return add_papers(self, papers, filters=filters, reason=reason)

    def submit(
        self,
        source: bytes | Path,
        *,
        labels: Mapping[str, str],
        reason: str | None,
        name: str | None = None,
        entry: str | None = None,
        refusal: str = "",
    ) -> tuple[str, bool]:
        found = self._app.submissions.submit(
            source, machine=MACHINE, name=name, labels=labels, actor=self._actor, reason=reason, entry=entry,
            move=SKIP if refusal else None, move_reason=refusal or None,
        )  # fmt: skip
        return found.record.id, found.is_duplicate

    def adopt_file(
        self, paper: ListedPaper, file: Path, *, reason: str | None, begins: str
    ) -> AddedPaper:
        """The record of a document whose file is here, or the one that has its identifier already."""
        if known := self._find_known(paper):
            return AddedPaper.adopted(known, paper.text, is_known=True)
        made, is_known = self.submit(
            file, labels=known_labels(paper), reason=reason, entry=_entry(begins)
        )
        return AddedPaper.adopted(made, paper.text, is_known=is_known)

    def adopt(self, submission: Any, *, begins: str) -> AddedPaper:  # noqa: ANN401 - a Submission
        """As `adopt_file`, of a document that is stored already; its labels name its identifiers."""
        labels = submission.labels
        ids = {scheme: _id(scheme, str(labels[scheme])) for scheme in SCHEMES if scheme in labels}
        text = str(labels.get("filename") or "")
        if known := self._find_known(ListedPaper(line=0, ids=ids)):
            return AddedPaper.adopted(known, text, is_known=True)
        named = replace(submission, labels={**labels, **ids}, entry=_entry(begins))
        (made,) = self._app.submissions.create([named])
        return AddedPaper.adopted(made.record.id, text, is_known=made.is_duplicate)

    def _find_known(self, paper: ListedPaper) -> str:
        return next(iter(known_papers(self.find, [paper]).values()), "")

    def read_as(self, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = self._app.search.documents_named(MACHINE, names)
        return found

    def has_only_abstract(self, record_id: str) -> bool:
        return self._metadata(record_id).format in ABSTRACT_FORMATS

    def find(self, query: str) -> Iterator[Record]:
        parsed, after = self._app.records.query(query), ""
        while page := self._app.records.find(parsed, after=after, limit=PAGE):
            yield from page
            after = page[-1].id


def _entry(begins: str) -> str | None:
    return None if begins == PENDING else begins


def _id(scheme: str, text: str) -> str:
    """An identifier in its normal form, by which records are found."""
    if found := normal_id(scheme, text):
        return found
    raise InvalidRequest(f"{text[:QUOTED_CHARS]!r} is no {scheme}")
