"""The client of `/workflows`: contracts that are driven from outside, step by step."""

from collections.abc import Mapping, Sequence
from typing import Literal

from stateward.client import Client, Operations, Source
from stateward.client.steps import form_fields, given_parameters, part
from stateward.pipelines.contracts.schemas import Sequencing, Workflow


class WorkflowOperations(Operations):
    """Every operation of a service that also drives contracts, each defined once for every kind of client."""

    def ingest(
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
    ) -> Workflow:
        """Take a contract in and have its text read; with `auto` all steps run by themselves."""
        fields = form_fields(
            labels=labels,
            priority=None,
            verticalSlug=vertical,
            productType=product_type,
            filename=name,
            jobId=job_id,
        )
        params = given_parameters(sequencing=sequencing, returnText=return_text or None)
        path = "/workflows/ingest"
        return self._send(path, source, Workflow, fields=fields, params=params, key=idempotency_key)

    def workflow(self, workflow_id: str) -> Workflow:
        """Where a contract is, and what may be called next."""
        return self._get(f"/workflows/{part(workflow_id)}", Workflow)

    def extract_workflow(
        self, workflow_id: str, *, version: int | None = None, idempotency_key: str | None = None
    ) -> Workflow:
        """Have the terms extracted and checked, and wait for it. What may pass is called again, as with every 503."""
        path = f"/workflows/{part(workflow_id)}/extract"
        return self._post(path, None, Workflow, version=version, key=idempotency_key)

    def compare_workflow(
        self, workflow_id: str, *, version: int | None = None, idempotency_key: str | None = None
    ) -> Workflow:
        """Have the contract compared with offers, and wait for it."""
        path = f"/workflows/{part(workflow_id)}/compare"
        return self._post(path, None, Workflow, version=version, key=idempotency_key)

    def retry_workflow(
        self,
        workflow_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow:
        """Have the step that failed tried again, and wait for it."""
        path = f"/workflows/{part(workflow_id)}/retry"
        asked = {"reason": reason}
        return self._post(path, asked, Workflow, version=version, key=idempotency_key)

    def reprocess_workflow(
        self,
        workflow_id: str,
        *,
        vertical: str | None = None,
        sequencing: Sequencing | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow:
        """Process a contract that has ended again, as a new workflow; with a vertical, as that kind of contract."""
        path = f"/workflows/{part(workflow_id)}/reprocess"
        asked = {"reason": reason, "verticalSlug": vertical}
        params = given_parameters(sequencing=sequencing)
        return self._post(path, asked, Workflow, params=params, key=idempotency_key)

    def review_workflow(
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
    ) -> Workflow:
        """Bring a person's answer to a review; a vertical with `reject` has it processed again as that one."""
        asked = {
            "action": action,
            "correctedData": dict(corrected or {}),
            "notes": notes,
            "reviewer": reviewer,
            "verticalSlug": vertical,
        }
        path = f"/workflows/{part(workflow_id)}/review"
        return self._post(path, asked, Workflow, version=version, key=idempotency_key)


class WorkflowClient(WorkflowOperations, Client):
    """A connection to a Stateward service that also drives contracts."""
