"""The board: where everything is, what moves, and the place to drop files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from litestar import Response, get
from msgspec.structs import replace

from stateward.app import App
from stateward.console.kinds import CANCELLED_NAME, shown_kind, state_kind
from stateward.console.layout import fragment, page
from stateward.core.machine import Machine
from stateward.core.model import Micros, Record
from stateward.core.view import document_name, flag_codes
from stateward.definition.plugin import AUTO, SourceType
from stateward.monitoring.dashboard import MinuteActivity, QueueLength
from stateward.server.auth import Asked, Caller, caller_of, service_of

NEWEST_ROWS = 14
CANCELLED_COUNT_MAX = 10_000


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """A status and how many records are in it."""

    status: str
    kind: str
    count: int


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A machine on the board."""

    name: str
    doc: str
    title: str
    accepts: str
    takes_files: bool
    source_types: list[SourceType]
    chips: list[Chip]
    total: int
    live: int
    flagged: int
    queues: list[QueueLength]
    points: str
    ended: int
    failed: int
    p95_s: float | None
    paused: list[str]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What a person may say that a file is: a source type of a machine, and the labels that it needs."""

    machine: str
    source_type: str
    title: str
    labels: dict[str, str]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A record in a list."""

    id: str
    name: str
    machine: str
    status: str
    kind: str
    error_code: str | None
    entered_at: Micros
    step: int
    steps: int
    is_flagged: bool = False


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """All of it at one moment."""

    cards: list[Card]
    kinds: list[Kind]
    newest: list[Row]
    now: Micros
    activity_since: Micros
    workers: int


@get("/", opt={"right": "read"})
async def board(request: Asked) -> Response[bytes]:
    """The whole page."""
    return await page(request, "board.html", {"board": await _look_up(request)}, here="board")


@get("/board/live", opt={"right": "read"})
async def live(request: Asked) -> Response[bytes]:
    """What changes on it."""
    return fragment(request, "board_live.html", {"board": await _look_up(request)})


async def _look_up(request: Asked) -> Board:
    service, caller = service_of(request), caller_of(request)
    service.catch_up()
    return await service.broad.ask(lambda app: look(app, caller))


def look(app: App, caller: Caller) -> Board:
    """The board as it is now; its cost does not grow with what has ended."""
    counts = app.dashboard.counts()
    minutes, since = app.dashboard.activity()
    queues = app.dashboard.queues()
    # How many records a person stopped, by machine and status; an index has them.
    query = app.records.query("is:cancelled")
    names = app.registry.query_names
    cancelled = app.dashboard.count_matching(query, names=names, most=CANCELLED_COUNT_MAX)
    flagged = app.flags.counts()
    paused = [(each.machine, each.stage) for each in app.store.pauses.all()]
    machines = [each for each in app.registry.newest.values() if caller.covers(each.name)]
    cards = [
        _card(
            app,
            machine,
            counts=counts,
            cancelled=cancelled,
            minutes=minutes.get(machine.name, []),
            queues=[each for each in queues if each.machine == machine.name],
            paused=[stage for name, stage in paused if name == machine.name],
            flagged=flagged.get(machine.name, 0),
        )
        for machine in machines
    ]
    ids = app.dashboard.recent(machines=caller.machines, limit=NEWEST_ROWS)
    found = app.store.load(ids)
    return Board(
        kinds=[kind for card in cards if card.takes_files for kind in _kinds(card)],
        cards=sorted(cards, key=lambda card: not card.total),
        newest=rows_of(app, [found[each] for each in ids if each in found]),
        now=app.clock(),
        activity_since=since,
        workers=sum(not (each.is_draining or each.is_relay) for each in app.bus.workers()),
    )


def _card(
    app: App,
    machine: Machine,
    *,
    counts: Mapping[tuple[str, str], int],
    cancelled: Mapping[tuple[str, str], int],
    minutes: list[MinuteActivity],
    queues: list[QueueLength],
    paused: list[str],
    flagged: int,
) -> Card:
    chips = [
        Chip(
            status=state.name,
            kind=state_kind(machine, state.name),
            count=counts.get((machine.name, state.name), 0)
            - cancelled.get((machine.name, state.name), 0),
        )
        for state in machine.states
        if not state.is_imported or counts.get((machine.name, state.name))
    ]
    stopped = sum(count for (name, _), count in cancelled.items() if name == machine.name)
    if stopped:
        chips.append(Chip(status=CANCELLED_NAME, kind=CANCELLED_NAME, count=stopped))
    view = app.plugins.record_view(machine.name)
    took = [minute.p95_s for minute in minutes if minute.p95_s is not None]
    points = {
        "at": [minute.at // 1_000_000 for minute in minutes],
        "all": [minute.ended + minute.failed for minute in minutes],
        "failed": [minute.failed for minute in minutes],
        "p95": [minute.p95_s for minute in minutes],
    }
    return Card(
        name=machine.name,
        doc=machine.doc,
        title=view.title or f"Documents for {machine.name}",
        accepts=view.accepts,
        takes_files=any(stage.runner in app.plugins.runners for stage in machine.stages),
        source_types=list(app.plugins.source_types(machine.name).values()),
        chips=chips,
        total=sum(chip.count for chip in chips),
        live=_in_progress(chips, queues),
        flagged=flagged,
        queues=queues,
        points=msgspec.json.encode(points).decode(),
        ended=sum(minute.ended for minute in minutes),
        failed=sum(minute.failed for minute in minutes),
        p95_s=took[-1] if took else None,
        paused=paused,
    )


def _in_progress(chips: Sequence[Chip], queues: Sequence[QueueLength]) -> int:
    """Records that a worker has or gets: not those that rest in a ready state, such as after a skipped stage."""
    ready = {chip.status for chip in chips if chip.kind == "ready"}
    queued = (
        count for each in queues for status, count in each.by_status.items() if status in ready
    )
    return sum(chip.count for chip in chips if chip.kind == "running") + sum(queued)


def _kinds(card: Card) -> Iterator[Kind]:
    """The kinds of documents that a machine takes; the machine itself, where it does not tell them apart."""
    for each in card.source_types:
        title = card.title if each.name == AUTO else each.title or each.name
        yield Kind(machine=card.name, source_type=each.name, title=title, labels=each.labels)
    if not card.source_types:
        yield Kind(machine=card.name, source_type="", title=card.title, labels={})


def rows_of(app: App, records: Sequence[Record]) -> list[Row]:
    """Records as a list shows them: a flag that waits for a decision stands beside the status."""
    flagged = [each for each in records if flag_codes(each)]
    waiting = {each.id for each in flagged} - set(app.flags.decisions(flagged))
    return [replace(row_of(app, each), is_flagged=each.id in waiting) for each in records]


def row_of(app: App, record: Record) -> Row:
    """A record as a list shows it."""
    machine = app.registry.of(record)
    way = [state.name for state in machine.states if state.kind in ("ready", "running")]
    kind = shown_kind(machine, record)
    reached = record.failed_from if machine.kind[record.status] == "failed" else record.status
    place = (
        len(way)
        if machine.kind[record.status] == "terminal"
        else sum(_comes_before(machine, each, reached) for each in way)
    )
    return Row(
        id=record.id,
        name=document_name(record),
        machine=record.machine,
        status=CANCELLED_NAME if kind == CANCELLED_NAME else record.status,
        kind=kind,
        error_code=None if kind == CANCELLED_NAME else record.error_code,
        entered_at=record.entered_at,
        step=place,
        steps=len(way),
    )


def _comes_before(machine: Machine, status: str, other: str | None) -> bool:
    return machine.order[status] < machine.order.get(other or "", 0)


HANDLERS: list[Any] = [board, live]
