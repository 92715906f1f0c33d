"""`/events/stream`: every change of status as it happens, as server-sent events.

The id of an event is its place in the log of transitions. A client that comes back with `Last-Event-ID` gets all that
happened meanwhile, in order, none missed and none twice.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar.response import Stream

from stateward.app import App
from stateward.server import route
from stateward.server.auth import Asked, Caller, caller_of, is_let_in, own_machine, service_of
from stateward.server.parameters import header, query
from stateward.server.service import Service

EVENT_STREAM = "text/event-stream"
BATCH = 500
ALIVE_EVERY_S = 15.0
SEQ_DIGITS_MAX = 18
NOW = -1

LastEventId = Annotated[
    str | None,
    header(
        "Last-Event-ID",
        "The id of the last event that the client has; the stream goes on after it.",
        pattern=r"^[0-9]{1,18}$",
    ),
]
After = Annotated[
    int,
    query(
        "after",
        "The same, for clients that cannot set the header; 0 is the beginning of the log, -1 is now.",
        ge=NOW,
        le=10**SEQ_DIGITS_MAX,
    ),
]
OfMachine = Annotated[
    str | None,
    query("machine", "Only of this machine.", max_length=100),
]


@route.get(
    "/events/stream",
    "read",
    "streamEvents",
    "Follow what happens",
    opt={"is_stream": True},
    media_type=EVENT_STREAM,
    tags=["events"],
)
async def stream(
    request: Asked,
    last_event_id: LastEventId = None,
    after: After = NOW,
    machine: OfMachine = None,
) -> Stream:
    """Each event is a transition as `/records/{id}/history` shows it; its id is its `seq`."""
    service, caller = service_of(request), caller_of(request)
    if machine is not None:
        own_machine(service.app, caller, machine)
    seq = int(last_event_id) if last_event_id is not None else after
    if seq == NOW:
        seq = await service.broad.ask(lambda app: app.store.log.end())
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(_lines(service, caller, seq, machine), media_type=EVENT_STREAM, headers=headers)


async def _lines(
    service: Service, caller: Caller, seq: int, machine: str | None
) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    quiet_s = 0.0
    while not service.hub.is_ending:
        turn = service.hub.turn()
        found = await service.broad.ask(partial(_after, caller, seq, machine))
        if found is None:
            return
        events, last = found
        for event in events:
            yield event
        if events:
            quiet_s = 0.0
        if last > seq:
            seq = last
            continue
        await service.hub.wait(turn, timeout_s=ALIVE_EVERY_S)
        quiet_s += 5.0
        if quiet_s >= ALIVE_EVERY_S:
            quiet_s = 0.0
            yield b": still here\n\n"


def _after(
    caller: Caller, seq: int, machine: str | None, app: App
) -> tuple[list[bytes], int] | None:
    """The events after a place in the log, and the last place that was looked at; None to who may see none any more."""
    if not is_let_in(app, caller):
        return None
    found = app.store.log.read(after=seq, limit=BATCH)
    shown = [
        each for each in found if caller.covers(each.machine) and machine in (None, each.machine)
    ]
    lines = [
        b"id: %d\nevent: transition\ndata: %b\n\n"
        % (each.seq, msgspec.json.encode(app.records.transition_view(each)))
        for each in shown
    ]
    return lines, found[-1].seq if found else seq


HANDLERS: list[Any] = [stream]
