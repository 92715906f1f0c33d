"""Errors: by cause, with how many, since when and where; tried again together, or acknowledged."""

import re
from typing import Any

import msgspec
from litestar import Response, get, post

from stateward.app import App
from stateward.console.badges import is_open, key_of
from stateward.console.board import Row, row_of
from stateward.console.layout import console_of, fragment, page, quote_value, reason_of
from stateward.core.errors import InvalidRequest
from stateward.monitoring.dashboard import ErrorCause
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.storage.acknowledgements import Acknowledgement

EXAMPLES = 3
SHOWN_MAX = 100
LITERAL_CHARS_MIN = 4
_GAPS = re.compile(r"[#…]+")


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A cause on the page."""

    cause: ErrorCause
    query: str
    examples: list[Row]
    seen: Acknowledgement | None
    is_open: bool
    can_retry: bool


@get("/errors", opt={"right": "read"})
async def errors(request: Asked) -> Response[bytes]:
    """The whole page."""
    return await page(request, "errors.html", {"causes": await _look_up(request)}, here="errors")


@get("/errors/live", opt={"right": "read"})
async def live(request: Asked) -> Response[bytes]:
    """What changes on it."""
    return fragment(request, "errors_live.html", {"causes": await _look_up(request)})


@post("/errors/acknowledge", opt={"right": "act"}, status_code=200)
async def acknowledge(request: Asked) -> Response[bytes]:
    """Acknowledge a cause: it leaves the badge until it happens again. Or undo that."""
    service, caller = service_of(request), caller_of(request)
    form = await request.form()
    machine, cause = str(form.get("machine", "")), str(form.get("cause", ""))
    is_taken_back = form.get("undo") == "yes"
    reason = reason_of(form)
    if not caller.covers(machine) or not cause:
        raise InvalidRequest("there is no such cause")

    def act(app: App) -> None:
        acknowledgement = Acknowledgement(
            machine=machine, cause=cause, at=app.clock(), actor=caller.actor, reason=reason
        )
        if is_taken_back:
            app.acknowledgements.remove(acknowledgement)
        else:
            app.acknowledgements.add(acknowledgement)

    await service.writer.ask(act)
    console_of(request).forget_badges()
    return fragment(request, "errors_live.html", {"causes": await _look_up(request)})


async def _look_up(request: Asked) -> list[Shown]:
    caller = caller_of(request)
    return await service_of(request).broad.ask(lambda app: look(app, caller))


def look(app: App, caller: Caller) -> list[Shown]:
    """Every cause, those that are open first, the newest first."""
    seen = app.acknowledgements.every()
    causes = [each for each in app.dashboard.causes() if caller.covers(each.machine)]
    shown = [
        _error_row(app, cause, seen.get((cause.machine, key_of(cause))))
        for cause in causes[:SHOWN_MAX]
    ]
    return sorted(shown, key=lambda each: not each.is_open)


def _error_row(app: App, cause: ErrorCause, seen: Acknowledgement | None) -> Shown:
    query = query_of(cause)
    found = app.records.find(app.records.query(query), limit=EXAMPLES)
    machine = app.registry.newest.get(cause.machine)
    return Shown(
        cause=cause,
        query=query,
        examples=[row_of(app, record) for record in found],
        seen=seen,
        is_open=is_open(cause, seen),
        can_retry=machine is not None
        and any(machine.kind[record.status] == "failed" for record in found),
    )


def query_of(cause: ErrorCause) -> str:
    """A query for the records of a cause: its code, and the longest piece of the message that is always the same."""
    terms = [f"machine:{quote_value(cause.machine)}", f"error:{quote_value(cause.error_code)}"]
    literal = max(_GAPS.split(cause.cause), key=len, default="").strip()
    if len(literal) >= LITERAL_CHARS_MIN:
        terms.append(f"message:{quote_value(literal)}")
    return " ".join(terms)


HANDLERS: list[Any] = [errors, live, acknowledge]
