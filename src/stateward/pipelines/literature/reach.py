"""The papers of a service from a command: of the database itself, or of a server over its routes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from stateward.core.model import Fields
from stateward.pipelines.literature import MACHINE
from stateward.pipelines.literature.lists import ListedPaper, known_labels
from stateward.pipelines.literature.papers import (
    AddedPaper,
    Citations,
    SamePaper,
    StoredPapers,
)
from stateward.pipelines.literature.progress import Progress

if TYPE_CHECKING:
    from stateward.pipelines.literature.client import LiteratureClient

CitationFormat: TypeAlias = Literal["bibtex", "ris", "csl-json"]


class Papers(Protocol):
    """What commands ask of papers, wherever they are."""

    def status(self) -> Progress: ...

    def citations(self, ids: Iterable[str], format_: CitationFormat) -> Citations: ...

    def duplicates(self) -> list[SamePaper]: ...

    def ir(self, record_id: str) -> Fields: ...

    def add(
        self, papers: Sequence[ListedPaper], *, reason: str | None, is_filtered: bool = True
    ) -> Iterator[AddedPaper]: ...

    def submit_files(
        self, sources: Sequence[bytes | Path], *, name: str, reason: str | None
    ) -> list[tuple[str, bool]]:
        """The ids of the records of papers, and whether they were there before."""
        ...

    def adopt_file(
        self, paper: ListedPaper, file: Path, *, reason: str | None, begins: str
    ) -> AddedPaper:
        """The record of a document whose file is here."""
        ...


class LocalPapers:
    """The papers of a database; ids may be given by their beginning."""

    def __init__(
        self,
        app: Any,  # noqa: ANN401 - an App
        actor: str,
        whole_id: Callable[[str], str],
    ) -> None:
        self._app = app
        self._papers = StoredPapers(app, actor)
        self._whole_id = whole_id

    def status(self) -> Progress:
        return self._papers.status()

    def citations(self, ids: Iterable[str], format_: CitationFormat) -> Citations:
        return self._papers.citations(map(self._whole_id, ids), format_)

    def duplicates(self) -> list[SamePaper]:
        return self._papers.duplicates()

    def ir(self, record_id: str) -> Fields:
        return self._papers.ir(self._whole_id(record_id))

    def add(
        self, papers: Sequence[ListedPaper], *, reason: str | None, is_filtered: bool = True
    ) -> Iterator[AddedPaper]:
        added = self._papers.add(papers, reason=reason, is_filtered=is_filtered)
        return map(AddedPaper.of, added)

    def submit_files(
        self, sources: Sequence[bytes | Path], *, name: str, reason: str | None
    ) -> list[tuple[str, bool]]:
        made = self._app.submissions.submit_all(sources, machine=MACHINE, name=name, reason=reason)
        return [(each.record.id, each.is_duplicate) for each in made]

    def adopt_file(
        self, paper: ListedPaper, file: Path, *, reason: str | None, begins: str
    ) -> AddedPaper:
        return self._papers.adopt_file(paper, file, reason=reason, begins=begins)


class RemotePapers:
    """The papers of a server; ids may be given by their beginning."""

    def __init__(self, client: "LiteratureClient", whole_id: Callable[[str], str]) -> None:
        self._client = client
        self._whole_id = whole_id

    def status(self) -> Progress:
        return self._client.literature_status()

    def citations(self, ids: Iterable[str], format_: CitationFormat) -> Citations:
        return self._client.citations([*map(self._whole_id, ids)], format_=format_)

    def duplicates(self) -> list[SamePaper]:
        return self._client.same_papers()

    def ir(self, record_id: str) -> Fields:
        return self._client.intermediate_form(self._whole_id(record_id))

    def add(
        self, papers: Sequence[ListedPaper], *, reason: str | None, is_filtered: bool = True
    ) -> Iterator[AddedPaper]:
        return iter(self._client.add_papers(papers, reason=reason, is_filtered=is_filtered))

    def submit_files(
        self, sources: Sequence[bytes | Path], *, name: str, reason: str | None
    ) -> list[tuple[str, bool]]:
        made = (
            self._client.submit(each, machine=MACHINE, name=name, reason=reason) for each in sources
        )
        return [(each.record.id, each.is_duplicate) for each in made]

    def adopt_file(
        self, paper: ListedPaper, file: Path, *, reason: str | None, begins: str
    ) -> AddedPaper:
        added = self._client.adopt_paper(
            file, labels=known_labels(paper), begins=begins, reason=reason
        )
        return replace(added, text=paper.text)
