# Made by `python tools/async_stub.py` from the operations of the client; do not edit.

from collections.abc import Sequence
from typing import Any, Literal

from stateward.async_client import AsyncClient
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
