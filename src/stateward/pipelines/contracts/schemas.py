"""The documents of `/workflows`. They are written as their clients write: camelCase."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from stateward.core.model import Fields
from stateward.schemas import (
    Corrected,
    Count,
    Document,
    Notes,
    Reason,
    Request,
    Time,
)

Sequencing: TypeAlias = Literal["outside", "auto"]


class IngestRequest(Request, frozen=True, kw_only=True, rename="camel"):
    """A contract to take in, as JSON."""

    pdf_base64: Annotated[
        str, Meta(min_length=1, description="The document (PDF, DOCX or text) in base64.")
    ] = msgspec.field(name="pdfBase64")
    vertical_slug: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="Its vertical, such as `energy`; if null it is found out."),
    ] = None
    product_type: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(
            description="What kind of product it is, such as `gas`; it selects the prompt of a model."
        ),
    ] = None
    filename: Annotated[str, Meta(max_length=1000)] | None = None
    job_id: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="What its external driver calls this run; it stays on the workflow."),
    ] = None


class WorkflowReview(Request, frozen=True, kw_only=True, rename="camel"):
    """A person's answer, as the external driver brings it."""

    action: Literal["approve", "correct", "reject", "timeout"]
    corrected_data: Corrected = msgspec.field(default_factory=dict)
    notes: Notes = None
    reviewer: Annotated[
        Annotated[str, Meta(max_length=200)] | None, Meta(description="Who decided it.")
    ] = None
    vertical_slug: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(
            description="With `reject`: it was read as the wrong kind of contract, and is processed again as this one."
        ),
    ] = None


class ReprocessRequest(Request, frozen=True, kw_only=True, rename="camel"):
    """Why a contract is processed again, and as what kind of contract."""

    reason: Reason = None
    vertical_slug: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="Another vertical than before; null: as it was."),
    ] = None
    fresh_answer: Annotated[
        bool, Meta(description="Whether to ask the model anew what it has answered already.")
    ] = False


class WorkflowError(Document, frozen=True, kw_only=True, rename="camel"):
    """Why the last step failed."""

    code: str
    message: str | None
    failed_at_step: str | None


class Workflow(Document, frozen=True, kw_only=True, rename="camel"):
    """A contract in progress, and what its external driver needs to know."""

    workflow_id: str
    status: str
    version: Count
    sequencing: Sequencing
    needs_review: bool
    review_task_id: str | None
    review_deadline: Time | None
    final_confidence: int | None
    vertical: str | None
    provider: str | None
    retryable: Annotated[bool, Meta(description="Whether the same call may cure its failure.")]
    retry_count: Count
    error: WorkflowError | None
    next_calls: Annotated[
        list[str], Meta(description="What may be called now; the last call again changes nothing.")
    ]
    fields: Annotated[
        list[Fields], Meta(description="What was found, as it stands after a correction.")
    ]
    detection: Annotated[
        Fields | None,
        Meta(
            description="Which vertical the words of the document speak for, and which words those are."
        ),
    ]
    problems: Annotated[
        list[Fields],
        Meta(description="What the checks found wrong, and which values are not sure."),
    ]
    comparison: Annotated[
        Fields | None, Meta(description="The ranked offers and what was assumed; null until then.")
    ]
    model_calls: Annotated[
        list[Fields],
        Meta(
            description="Every answer of a model: prompt, tokens, cost, and how long it took; null if it was saved "
            "by an earlier attempt."
        ),
    ]
    text: Annotated[
        str | None, Meta(description="The text that was read, if `returnText` asked for it.")
    ]
    job_id: Annotated[
        str | None, Meta(description="What its external driver called the run that took it in.")
    ]
    filename: str | None
    replaces: str | None
    replaced_by: Annotated[
        list[str], Meta(description="The workflows that process its document again.")
    ]
    created_at: Time
    updated_at: Time
