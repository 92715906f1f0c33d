"""`/reviews/batches`: one decision of one person on many reviews, which can be undone as one.

The request names every review with the version that was looked at. So what a person confirmed is what is decided: a
review that came or moved meanwhile is not part of it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.core.errors import InvalidRequest, StatewardError, StoreError
from stateward.core.model import to_iso_or_none
from stateward.engine.answers import DecisionRequest
from stateward.engine.pending_decisions import PendingDecision
from stateward.engine.review_tasks import Task
from stateward.server import route, views
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.executors import REPLAYED
from stateward.server.headers import trace_of
from stateward.server.operations import reply_once
from stateward.server.parameters import IdempotencyKey
from stateward.server.problems import refusal_of, undone_since
from stateward.storage.idempotency import Answer

PREFIX = "RB"


@route.post(
    "/reviews/batches",
    "review",
    "decideReviews",
    "Decide many reviews, with time to undo it",
    tags=["reviews"],
)
async def decide_many(
    request: Asked, data: JSONBody[schemas.ReviewBatchRequest], key: IdempotencyKey = None
) -> Response[schemas.ReviewBatch]:
    """Each is checked for itself; what may be decided is stored in one transaction, or with `dry_run` not at all."""
    caller = caller_of(request)
    named = [each.record_id for each in data.reviews]
    if len(set(named)) < len(named):
        raise InvalidRequest("a review is named twice")
    trace = trace_of(request)

    def act(app: App) -> tuple[str | None, Sequence[Task | StatewardError]]:
        batch = None if data.dry_run else app.new_id(PREFIX)
        decisions = [
            DecisionRequest(
                record_id=each.record_id,
                action=data.action,
                actor=caller.actor,
                notes=data.notes,
                reason_code=data.reason_code,
                version=each.version,
                machines=caller.machines,
                trace=trace,
                batch=batch,
            )
            for each in data.reviews
        ]
        return batch, app.reviews.hold_each(decisions, is_dry_run=data.dry_run)

    def answer(_: App, given: tuple[str | None, Sequence[Task | StatewardError]]) -> Answer:
        batch, outcomes = given
        return views.json_answer(_document(batch, data, outcomes))

    if data.dry_run:
        return reply(await service_of(request).writer.ask(lambda app: answer(app, act(app))))
    replied = await reply_once(request, key, act, answer)
    if REPLAYED in replied.headers:
        await _check_standing(request, data, replied.content)
    return replied


async def _check_standing(request: Asked, data: schemas.ReviewBatchRequest, earlier: bytes) -> None:
    """Refuse to say again that decisions are stored which were all undone since: the caller would rely on it."""
    found = msgspec.json.decode(earlier, type=schemas.ReviewBatch)
    decided = {each.record_id for each in found.results if each.problem is None}
    versions = {each.record_id: each.version for each in data.reviews if each.record_id in decided}
    batch, actor = found.id, caller_of(request).actor

    def stands(app: App) -> bool:
        return app.reviews.is_batch_standing(batch or "", actor=actor, versions=versions)

    if found.effective_at is not None and not await service_of(request).quick.ask(stands):
        raise undone_since()


@route.delete(
    "/reviews/batches/{batch_id:str}",
    "review",
    "undoDecisions",
    "Undo what is not in effect yet of a bulk decision",
    tags=["reviews"],
)
async def undo_many(request: Asked, batch_id: FromPath[str]) -> Response[schemas.ReviewBatchUndone]:
    """The reviews wait again; those whose time was over are not among them."""
    caller = caller_of(request)

    def act(app: App) -> list[PendingDecision]:
        return app.reviews.undo_batch(batch_id, actor=caller.actor, machines=caller.machines)

    def answer(_: App, undone: Sequence[PendingDecision]) -> Answer:
        return views.json_answer(
            schemas.ReviewBatchUndone(id=batch_id, undone=[each.record_id for each in undone])
        )

    return await reply_once(request, None, act, answer)


def _document(
    batch: str | None,
    data: schemas.ReviewBatchRequest,
    outcomes: Sequence[Task | StatewardError],
) -> schemas.ReviewBatch:
    results = [
        _result(each.record_id, outcome)
        for each, outcome in zip(data.reviews, outcomes, strict=True)
    ]
    pending = [each.pending for each in outcomes if isinstance(each, Task) and each.pending]
    last = max((each.effective_at for each in pending), default=None)
    applied = sum(each.problem is None for each in results)
    return schemas.ReviewBatch(
        id=batch,
        action=data.action,
        applied=applied,
        refused=len(results) - applied,
        effective_at=to_iso_or_none(last),
        results=results,
    )


def _result(record_id: str, outcome: Task | StatewardError) -> schemas.ReviewBatchResult:
    if isinstance(outcome, Task):
        return schemas.ReviewBatchResult(record_id=record_id)
    if isinstance(outcome, StoreError):
        raise outcome  # says nothing about this review; the whole transaction failed
    refused = refusal_of(outcome)
    return schemas.ReviewBatchResult(
        record_id=record_id, problem=refused.kind.slug, detail=refused.detail
    )


HANDLERS: list[Any] = [decide_many, undo_many]
