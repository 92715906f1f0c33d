"""Review: what waits for a person's decision, the document beside what was found in it, and the decision.

Decisions go to the API itself, at once and with the version that was looked at: it checks and stores them, and for some
seconds their author can undo them. So two people never decide the same thing, what is stale is refused, and a decision
that the page calls made is durable.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from stateward import schemas
from stateward.app import App
from stateward.app.views import review_view, task_view
from stateward.console.badges import open_reviews
from stateward.console.document import (
    FileLink,
    ShownFile,
    file_links,
    mark_of,
    note_shown,
    place_of,
    shown_file,
)
from stateward.console.layout import fragment, page, value_text
from stateward.console.record import can_correct, headline, order_columns
from stateward.console.static_files import BASE
from stateward.core.approvals import has_approved, person_of
from stateward.core.model import NOTES, Fields, Json, Record
from stateward.definition.display import Column, ItemView, columns_of
from stateward.engine.review_rules import Refusals
from stateward.engine.review_tasks import Task
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.parameters import DAYS_DEFAULT
from stateward.server.reviews import statistics_for

# A claim is renewed while its page is looked at: often enough that one renewal may fail.
CLAIM_RENEWALS = 3
RENEW_S_MAX = 60.0
QUEUE_MAX = 100
FACT_CHARS_MAX = 200
ROWS_MAX = 500
STATISTICS_DAYS = ("7", "30", "90", "365")
LOW, MIDDLE = 60, 85


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the form: what was found, how sure that is, where it stands, and what is wrong with it."""

    name: str
    number: int
    value: str
    raw: str
    unit: str
    confidence: int | None
    level: str
    notes: list[str]
    why: str
    page: int | None

    @property
    def id(self) -> str:
        """What tells it from the others on the page."""
        return f"{self.name}-{self.number}"


class CheckedRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that a person compares with the document, and the places that they come from, for people.

    `is_cut`: there are more.
    """

    rows: list[Fields]
    columns: list[Column]
    places: list[str]
    is_cut: bool


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """All that a reviewer needs for one record."""

    task: schemas.ReviewDetail
    record: Record
    fields: list[Field]
    checked: CheckedRows
    problems: list[str]
    shown: ShownFile | None
    marks: str
    can_correct: bool
    headline: str
    """The sentence that sums the result up."""
    notes: list[str]
    """What its stages remarked, but for what the problems say."""
    files: list[FileLink]
    has_approved: bool
    """Whether the caller has accepted it, as one of several who must."""
    refusals: Refusals

    @property
    def refused(self) -> list[str]:
        """The actions that this caller would be refused."""
        accepting = [] if not self.refusals.accept else ["correct"]
        if self.has_approved or self.refusals.accept:
            accepting.append("approve")
        return list(self.task.actions) if self.refusals.decide else accepting


@get("/review", opt={"right": "read"})
async def queue(request: Asked) -> Response[bytes]:
    """The queue, and the first one without a claim."""
    tasks = await _queue(request)
    free = (each for each in tasks if each.pending is None and each.may_decide)
    first = next((each for each in free if each.claim is None or each.claim.is_mine), None)
    return await _page(request, tasks, None if first is None else first.record_id)


@get("/reviews/statistics", opt={"right": "review"})
async def statistics(request: Asked) -> Response[bytes]:
    """What people decided in the last days, and which fields they correct most."""
    caller = caller_of(request)
    given = request.query_params.get("days", "")
    days = int(given) if given in STATISTICS_DAYS else DAYS_DEFAULT
    found = await service_of(request).broad.ask(lambda app: statistics_for(app, caller, days))
    facts = {"it": found, "days": days, "choices": STATISTICS_DAYS}
    return await page(request, "review_statistics.html", facts, here="review")


@get("/review/{record_id:str}", opt={"right": "read", "by_link": True})
async def review(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """The queue, and this one of it."""
    is_alone = (
        caller_of(request).record_id is not None
    )  # by a link: the queue is not for its person
    return await _page(request, [] if is_alone else await _queue(request), record_id)


@get("/review/{record_id:str}/work", opt={"right": "read", "by_link": True})
async def work(request: Asked, record_id: FromPath[str]) -> Response[bytes]:
    """One of them, when the page moves on to it."""
    return fragment(request, "review_work.html", {"work": await _work(request, record_id)})


@get("/review-queue", opt={"right": "read"})
async def queue_live(request: Asked) -> Response[bytes]:
    """The queue as it is now."""
    tasks = await _queue(request)
    facts = {"tasks": tasks, "total": await _total(request, tasks), "fact": _fact(request)}
    return fragment(request, "review_queue.html", facts)


async def _page(
    request: Asked, tasks: Sequence[schemas.ReviewTask], record_id: str | None
) -> Response[bytes]:
    found = None if record_id is None else await _work(request, record_id)
    own = service_of(request).settings.reviews
    codes = {code: text for each in tasks for code, text in each.reason_codes.items()}
    facts = {
        "tasks": tasks,
        "total": await _total(request, tasks),
        "fact": _fact(request),
        "work": found,
        "present": record_id,
        "groups": sorted(own.groups),
        "codes": codes,
        "link_hours": f"{own.link_hours:g}",
        "renew_ms": round(min(RENEW_S_MAX, own.claim_seconds / CLAIM_RENEWALS) * 1000),
    }
    return await page(request, "review.html", facts, here="review")


async def _queue(request: Asked) -> list[schemas.ReviewTask]:
    caller = caller_of(request)
    name, _, value = _fact(request).partition(":")
    facts = {name: value} if value else {}
    return await service_of(request).broad.ask(lambda app: tasks_of(app, caller, facts))


def _fact(request: Asked) -> str:
    """The one fact that the queue is limited to, as `provider:Vattenfall`; "" for all of it."""
    return request.query_params.get("fact", "")[:FACT_CHARS_MAX]


async def _total(request: Asked, tasks: Sequence[schemas.ReviewTask]) -> int:
    """How many wait: more than are listed, where the list is full."""
    caller = caller_of(request)
    if len(tasks) < QUEUE_MAX or _fact(request):
        return len(tasks)
    counted = await service_of(request).broad.ask(lambda app: open_reviews(app, caller))
    return max(counted, len(tasks))


async def _work(request: Asked, record_id: str) -> Work:
    caller = caller_of(request)
    found = await service_of(request).broad.ask(lambda app: look(app, caller, record_id))
    await note_shown(request, found.record, found.shown)
    return found


def tasks_of(
    app: App, caller: Caller, facts: Mapping[str, str] | None = None
) -> list[schemas.ReviewTask]:
    """What waits, the most uncertain first, and of those the oldest; of the hundred with the nearest deadlines."""
    found = app.reviews.pending(machines=caller.machines, facts=facts, limit=QUEUE_MAX)
    tasks = [task_view(each, actor=caller.actor) for each in found]
    return sorted(tasks, key=lambda task: (_sureness(task), task.waiting_since))


def _sureness(task: schemas.ReviewTask) -> int:
    return -1 if task.confidence is None else task.confidence


def look(app: App, caller: Caller, record_id: str) -> Work:
    """One review with its document."""
    task = app.reviews.task(record_id, machines=caller.machines)
    detail = review_view(app.reviews, app.store, task, actor=caller.actor)
    problems = flat(detail.problems)
    # The stage whose items a reviewer checks.
    machine = app.registry.of(task.record)
    review = machine.review_in.get(task.record.status) or next(iter(machine.reviews), None)
    view = app.plugins.item_view(task.record, "" if review is None else review.of or "")
    fields = fields_of(detail.fields, problems, view)
    # Values with names make a form, which can be corrected. Rows are shown as their pipeline shows them.
    checked = checked_rows([] if fields else detail.fields, view)
    marks = marks_of(detail.fields, view) if fields else row_marks(checked.rows, view)
    return Work(
        task=detail,
        record=task.record,
        fields=fields,
        checked=checked,
        problems=[_reason_text(each) for each in problems if not each.get("field")],
        shown=shown_file(app, task.record, BASE),
        marks=msgspec.json.encode(marks).decode(),
        can_correct=can_correct(app, task.record),
        headline=headline(app, task.record),
        notes=_further_notes(task.record, problems),
        # A person who came by a link may see the document and its values alone.
        files=[]
        if caller.record_id is not None
        else file_links(task.record, app.records.files(task.record)),
        has_approved=task.is_open and has_approved(task.record, person_of(caller.actor)),
        refusals=_refusals(app, caller, task),
    )


def _refusals(app: App, caller: Caller, task: Task) -> Refusals:
    """As the service would say it to a reviewer, so that the page offers nothing that is then refused."""
    if not caller.may("review") or not task.is_open:
        return Refusals()
    return app.reviews.refusals(task, caller.actor, is_administrator=caller.may("admin"))


def _further_notes(record: Record, problems: Sequence[Fields]) -> list[str]:
    reasons = " ".join(map(_reason_text, problems))
    notes = record.fields.get(NOTES)
    shown = map(value_text, notes) if isinstance(notes, list) else ()
    return [each for each in shown if (each.partition(":")[2].strip() or each) not in reasons]


def flat(verdicts: Iterable[Fields]) -> list[Fields]:
    """The problems themselves: a verdict on a field may hold several, or be one."""
    problems: list[Fields] = []
    for each in verdicts:
        nested = each.get("problems")
        if isinstance(nested, list):
            problems += [one for one in nested if isinstance(one, dict)]
        elif _reason_text(each):
            problems.append(each)
    return problems


def fields_of(
    items: Sequence[Fields], problems: Sequence[Fields], view: ItemView | None = None
) -> list[Field]:
    """The form: every value that was found, and empty ones for fields that only a problem speaks of."""
    notes: dict[str, list[str]] = {}
    for each in problems:
        if reason := _reason_text(each):
            notes.setdefault(str(each.get("field") or ""), []).append(reason)
    fields: list[Field] = []
    for name, number, item in _number(items):
        place = place_of(view, item)
        sure = item.get("confidence")
        fields.append(
            Field(
                name=name,
                number=number,
                value=value_text(item.get("value")),
                raw=value_text(item.get("raw")),
                unit=value_text(item.get("unit")),
                confidence=sure if isinstance(sure, int) else None,
                level=_level(sure),
                notes=notes.get(name, []) if number == 0 else [],
                why=value_text(item.get("why")),
                page=None if place is None else place.page,
            )
        )
    named = {field.name for field in fields}
    fields += [
        Field(
            name=name, number=0, value="", raw="", unit="", confidence=None, level="low", notes=each, why="", page=None
        )
        for name, each in notes.items()
        if name and name not in named
    ]  # fmt: skip
    return fields


def marks_of(items: Sequence[Fields], view: ItemView | None) -> list[dict[str, Json]]:
    """Where the values of a form stand in the document."""
    named = [(f"{name}-{number}", place_of(view, item)) for name, number, item in _number(items)]
    return [mark_of(name, place) for name, place in named if place is not None]


def checked_rows(items: Iterable[Fields], view: ItemView | None) -> CheckedRows:
    """The rows of a result, as many as a person compares on one page."""
    found = list(islice(items, ROWS_MAX + 1))
    rows = found[:ROWS_MAX]
    places = [place_of(view, row) for row in rows]
    return CheckedRows(
        rows=rows,
        columns=order_columns(columns_of(view, rows), rows),
        places=["" if place is None else place.spot or place.text or "show" for place in places],
        is_cut=len(found) > ROWS_MAX,
    )


def row_marks(rows: Sequence[Fields], view: ItemView | None) -> list[dict[str, Json]]:
    """Where rows stand in the document."""
    numbered = [(f"row-{at}", place_of(view, row)) for at, row in enumerate(rows, start=1)]
    return [mark_of(name, place) for name, place in numbered if place is not None]


def _number(items: Iterable[Fields]) -> list[tuple[str, int, Fields]]:
    """Items with their field and their number among those of the same field."""
    seen: dict[str, int] = {}
    numbered: list[tuple[str, int, Fields]] = []
    for item in items:
        name = str(item.get("field") or "")
        if name:
            numbered.append((name, seen.get(name, 0), item))
            seen[name] = seen.get(name, 0) + 1
    return numbered


def _level(sure: Json) -> str:
    if not isinstance(sure, int):
        return ""
    return "low" if sure < LOW else "mid" if sure < MIDDLE else "high"


def _reason_text(problem: Fields) -> str:
    return value_text(problem.get("sentence") or problem.get("message") or problem.get("code"))


HANDLERS: list[Any] = [queue, statistics, review, work, queue_live]
