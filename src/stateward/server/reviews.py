"""`/reviews`: what waits for people. A task is a record that waits for a decision, and has its id."""

from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Response, Router
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.views import pending_view, review_view, statistics_view, task_view
from stateward.core.approvals import person_of
from stateward.core.model import SECOND, Record
from stateward.engine.answers import DecisionRequest, OpinionRequest
from stateward.engine.pending_decisions import PendingDecision
from stateward.engine.review_tasks import Task
from stateward.server import operations, route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.executors import REPLAYED
from stateward.server.headers import trace_of
from stateward.server.paging import Cursor, ListPage
from stateward.server.parameters import (
    DAYS_DEFAULT,
    ROWS_DEFAULT,
    CursorText,
    IdempotencyKey,
    IfMatch,
    Limit,
    StatisticsDays,
)
from stateward.server.problems import Refusal, undone_since
from stateward.storage.idempotency import Answer

PENDING_PARAMETERS = ("cursor", "limit")
DAY = 86_400 * SECOND


@route.get(
    "/pending",
    "read",
    "listPendingReviews",
    "What waits for a decision",
    opt={"checks_query": True},
)
async def pending(
    request: Asked, cursor: CursorText = None, limit: Limit = ROWS_DEFAULT
) -> Response[schemas.ReviewPage]:
    """Tasks that wait, the nearest deadline first, with who has taken them up and why they wait.

    The facts that pipelines declare for reviewers are parameters too: `?FACT=VALUE`. Any other one is refused.
    """
    service, caller = service_of(request), caller_of(request)
    facts = await service.quick.ask(lambda app: _wanted_facts(app, request))
    named = (f"{key}={facts[key]}" for key in sorted(facts))
    page = ListPage(request, cursor, limit, "reviews", caller.machines, *named)
    after = None if page.at is None else (page.at.at, page.at.after)

    def look(app: App) -> Answer:
        return page.answer(
            dict,
            app.reviews.pending(
                machines=caller.machines, facts=facts, after=after, limit=page.rows + 1
            ),
            lambda task: _document(app, task_view(task, actor=caller.actor)),
            lambda last: Cursor(of=page.of, at=last.record.due_at or 0, after=last.record.id),
        )

    return reply(await service.broad.ask(look))


def _wanted_facts(app: App, request: Asked) -> dict[str, str]:
    """The facts in the address of a request; a name that no pipeline declares is refused, not dropped."""
    known = app.reviews.fact_names(caller_of(request).machines)
    facts = {
        name: value
        for name, value in request.query_params.items()
        if name not in PENDING_PARAMETERS
    }
    for name in facts:
        if name not in known:
            allowed = ", ".join(sorted({*PENDING_PARAMETERS, *known}))
            message = f"there is no parameter {name!r} here; there are: {allowed}"
            raise Refusal(
                "invalid-request",
                message,
                errors=[schemas.FieldFault(field=name, sentence=message)],
            )
    return facts


@route.get(
    "/statistics",
    "review",
    "getReviewStatistics",
    "What people decided, and which fields they correct",
)
async def statistics(
    request: Asked, days: StatisticsDays = DAYS_DEFAULT
) -> Response[schemas.ReviewStatistics]:
    """Of the last days, from the history. Without the right `admin`, of the people only the caller's own line."""
    return await operations.reply_read(
        request, lambda app, caller: statistics_for(app, caller, days)
    )


def statistics_for(app: App, caller: Caller, days: int) -> schemas.ReviewStatistics:
    """The statistics as a caller may see them."""
    since = app.clock() - days * DAY
    person = None if caller.may("admin") else person_of(caller.actor)
    found = app.review_statistics.since(since, machines=caller.machines, person=person)
    return statistics_view(found, since=since)


@route.get("/{record_id:str}", "read", "getReview", "Look at a review", opt={"by_link": True})
async def show(request: Asked, record_id: FromPath[str]) -> Response[schemas.ReviewDetail]:
    """A task with the values that were found and what the checks say of them; or how it was decided."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        task = app.reviews.task(record_id, machines=caller.machines)
        headers = {"ETag": views.etag(task.record.version), "Cache-Control": "no-store"}
        detail = review_view(app.reviews, app.store, task, actor=caller.actor)
        return views.json_answer(_document(app, detail), headers=headers)

    return reply(await service_of(request).broad.ask(look))


@route.post(
    "/{record_id:str}/claim", "review", "claimReview", "Take a review up", opt={"by_link": True}
)
async def claim(
    request: Asked, record_id: FromPath[str], key: IdempotencyKey = None
) -> Response[schemas.ReviewTask]:
    """For `reviews.claim_seconds` no other person may decide it; claiming again renews it."""
    caller = caller_of(request)
    return await _answer_change(
        request,
        key,
        lambda app: app.reviews.claim(
            record_id,
            actor=caller.actor,
            machines=caller.machines,
            is_administrator=caller.may("admin"),
        ),
    )


@route.post(
    "/{record_id:str}/release",
    "review",
    "releaseReview",
    "Leave a review to others",
    opt={"by_link": True},
)
async def release(
    request: Asked, record_id: FromPath[str], key: IdempotencyKey = None
) -> Response[schemas.ReviewTask]:
    """A review without a claim stays as it is."""
    caller = caller_of(request)
    return await _answer_change(
        request,
        key,
        lambda app: app.reviews.unclaim(record_id, actor=caller.actor, machines=caller.machines),
    )


@route.post(
    "/records/{record_id:str}/review", "review", "reviewRecord", "Decide a review", tags=["reviews"]
)
async def decide(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.ReviewRequest],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.Record]:
    """Approve, correct or reject a record in review. The first decision counts; a second is refused."""

    def act(app: App, caller: Caller, version: int | None) -> Record:
        return app.reviews.decide(_deciding(request, caller, version, record_id, data))

    return reply(await operations.change_record(request, act, key=key, if_match=if_match))


@route.put(
    "/{record_id:str}/decision",
    "review",
    "holdDecision",
    "Decide a review, with time to undo it",
    opt={"by_link": True},
)
async def hold(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.ReviewRequest],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.ReviewTask]:
    """It is checked and stored at once, and takes effect after `reviews.undo_seconds`, unless it is undone.

    To decide the same again after undoing it, take another `Idempotency-Key`.
    """
    caller = caller_of(request)

    def act(app: App, _: Caller, version: int | None) -> Task:
        return app.reviews.hold(_deciding(request, caller, version, record_id, data))

    answered = _task_answer(caller.actor)
    answer = await operations.change_record(
        request, act, key=key, if_match=if_match, answer=answered
    )
    if REPLAYED in answer.headers:
        deciding = _deciding(request, caller, None, record_id, data)
        await _check_standing(request, deciding, answer.body)
    return reply(answer)


async def _check_standing(request: Asked, deciding: DecisionRequest, earlier: bytes) -> None:
    """Refuse to say again that a decision is stored which was undone since: the caller would rely on it."""
    said = msgspec.json.decode(earlier)

    def stands(app: App) -> bool:
        return app.reviews.is_standing(deciding, version=said["version"])

    if said.get("pending") and not await service_of(request).quick.ask(stands):
        raise undone_since()


@route.delete(
    "/{record_id:str}/decision",
    "review",
    "undoDecision",
    "Undo a decision that is not in effect yet",
    opt={"by_link": True},
)
async def undo(request: Asked, record_id: FromPath[str]) -> Response[schemas.ReviewPending]:
    """The decision as it was, with the values and notes that its author had typed."""
    caller = caller_of(request)

    def answer(_app: App, pending: PendingDecision) -> Answer:
        return views.json_answer(pending_view(pending, actor=caller.actor))

    def act(app: App) -> PendingDecision:
        return app.reviews.undo(record_id, actor=caller.actor, machines=caller.machines)

    return await operations.reply_once(request, None, act, answer)


@route.post(
    "/{record_id:str}/opinion",
    "review",
    "askOpinion",
    "Ask another person or a group for a second opinion",
)
async def ask_opinion(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.OpinionRequest],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response[schemas.ReviewTask]:
    """The record stays in its review, and who was asked decides it. Who asked may ask again, also to take it back."""

    def act(app: App, caller: Caller, version: int | None) -> Task:
        asking = OpinionRequest(
            record_id=record_id,
            actor=caller.actor,
            to=data.to,
            values=data.corrected,
            is_blind=data.is_blind,
            notes=data.notes,
            version=version,
            machines=caller.machines,
            trace=trace_of(request),
            is_administrator=caller.may("admin"),
        )
        return app.reviews.refer(asking)

    answer = _task_answer(caller_of(request).actor)
    return reply(
        await operations.change_record(request, act, key=key, if_match=if_match, answer=answer)
    )


def _deciding(
    request: Asked, caller: Caller, version: int | None, record_id: str, data: schemas.ReviewRequest
) -> DecisionRequest:
    """What a caller decides, as the engine takes it."""
    return DecisionRequest(
        record_id=record_id,
        action=data.action,
        actor=caller.actor,
        corrected=data.corrected,
        notes=data.notes,
        reason_code=data.reason_code,
        moved=data.moved,
        version=version,
        machines=caller.machines,
        trace=trace_of(request),
        is_administrator=caller.may("admin"),
    )


async def _answer_change(
    request: Asked, key: str | None, act: Callable[[App], Task]
) -> Response[schemas.ReviewTask]:
    answer = _task_answer(caller_of(request).actor)
    return await operations.reply_once(request, key, act, answer, content=())


def _task_answer(actor: str) -> Callable[[App, Task], Answer]:
    def answer(app: App, task: Task) -> Answer:
        headers = {"ETag": views.etag(task.record.version)}
        return views.json_answer(_document(app, task_view(task, actor=actor)), headers=headers)

    return answer


# Views


def _document(app: App, task: schemas.ReviewTask) -> dict[str, Any]:
    """A task, with its facts under names of their own: in camelCase, as external drivers read them and its ids."""
    plain: dict[str, Any] = msgspec.to_builtins(task)
    named: dict[str, Any] = {
        "review_task_id": task.record_id,
        "workflow_id": task.record_id,
        **task.facts,
    }
    if confidence := app.plugins.record_view(task.machine).confidence:
        named[confidence] = task.confidence
    return {_camel(name): each for name, each in named.items()} | plain


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


router = Router(
    path="/reviews",
    route_handlers=[pending, statistics, show, claim, release, hold, undo, ask_opinion],
    tags=["reviews"],
)
HANDLERS: list[Any] = [router, decide]
