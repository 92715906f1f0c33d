"""The client of `/workflows`: contracts that are driven from outside, step by step."""

from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from stateward.client import Client, Source
from stateward.pipelines.contracts.schemas import Sequencing, Workflow


class WorkflowClient(Client):
    """A connection to a Stateward service that also drives contracts."""

    def ingest(
        self,
        source: Source,
        *,
        vertical: str | None = None,
        name: str | None = None,
        sequencing: Sequencing = "outside",
    ) -> Workflow:
        """Take a contract in and have its text read; with `auto` all steps run by themselves."""
        fields = {"verticalSlug": vertical, "filename": name}
        given = {key: value for key, value in fields.items() if value is not None}
        path = f"/workflows/ingest?sequencing={sequencing}"
        return self._send(path, source, given, None, None, Workflow)

    def workflow(self, workflow_id: str) -> Workflow:
        """Where a contract is, and what may be called next."""
        return self._get(f"/workflows/{quote(workflow_id, safe='')}", Workflow)

    def step(
        self, workflow_id: str, call: Literal["extract", "compare", "retry", "reprocess"]
    ) -> Workflow:
        """Have a step run and wait for it. What may pass is called again, as with every 503."""
        return self._post(f"/workflows/{quote(workflow_id, safe='')}/{call}", None, Workflow)

    def review_workflow(
        self,
        workflow_id: str,
        action: Literal["approve", "correct", "reject", "timeout"],
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        notes: str | None = None,
        reviewer: str | None = None,
    ) -> Workflow:
        """Bring a person's answer to a review of a contract that is driven from here."""
        asked = {"action": action, "notes": notes, "reviewer": reviewer}
        document = {**asked, "correctedData": dict(corrected or {})}
        return self._post(f"/workflows/{quote(workflow_id, safe='')}/review", document, Workflow)
