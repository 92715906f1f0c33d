# Made by `python tools/async_stub.py` from the operations of the client; do not edit.

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from stateward.async_client import AsyncClient
from stateward.client import Source
from stateward.pipelines.literature.lists import ListedPaper
from stateward.pipelines.literature.papers import AddedPaper, Citations, SamePaper
from stateward.pipelines.literature.progress import Progress

class AsyncLiteratureClient(AsyncClient):
    async def literature_status(self) -> Progress: ...
    async def same_papers(self) -> list[SamePaper]: ...
    async def intermediate_form(self, record_id: str) -> dict[str, Any]: ...
    async def citations(
        self, ids: Sequence[str], *, format_: Literal["bibtex", "ris", "csl-json"] = "bibtex"
    ) -> Citations: ...
    async def add_papers(
        self, papers: Sequence[ListedPaper], *, reason: str | None = None, is_filtered: bool = True
    ) -> list[AddedPaper]: ...
    async def adopt_paper(
        self,
        source: Source,
        *,
        labels: Mapping[str, str] | None = None,
        begins: str = "pending",
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> AddedPaper: ...
