# Made by `python tools/async_stub.py` from the operations of the client; do not edit.

from collections.abc import Mapping, Sequence
from typing import Literal

from stateward.async_client import AsyncClient
from stateward.client import Source
from stateward.pipelines.contracts.schemas import Sequencing, Workflow

class AsyncWorkflowClient(AsyncClient):
    async def ingest(
        self,
        source: Source,
        *,
        vertical: str | None = None,
        product_type: str | None = None,
        name: str | None = None,
        job_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        sequencing: Sequencing = "outside",
        return_text: bool = False,
        idempotency_key: str | None = None,
    ) -> Workflow: ...
    async def workflow(self, workflow_id: str) -> Workflow: ...
    async def extract_workflow(
        self, workflow_id: str, *, version: int | None = None, idempotency_key: str | None = None
    ) -> Workflow: ...
    async def compare_workflow(
        self, workflow_id: str, *, version: int | None = None, idempotency_key: str | None = None
    ) -> Workflow: ...
    async def retry_workflow(
        self,
        workflow_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow: ...
    async def reprocess_workflow(
        self,
        workflow_id: str,
        *,
        vertical: str | None = None,
        sequencing: Sequencing | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow: ...
    async def review_workflow(
        self,
        workflow_id: str,
        action: Literal["approve", "correct", "reject", "timeout"],
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        notes: str | None = None,
        reviewer: str | None = None,
        vertical: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow: ...
