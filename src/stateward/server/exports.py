"""`/history/export` and `/reviews/gold`: the history and the decisions of people as lines of JSON, page by page.

A page is read in one turn of a thread, so that an export of all neither holds a transaction nor all of it in memory.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
from litestar.response import Stream

from stateward.app import App
from stateward.core.model import Transition
from stateward.proofs.history_file import TransitionLine
from stateward.server import route
from stateward.server.audit import note
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.service import Service
from stateward.storage.audit import EXPORTED

LINES = "application/x-ndjson"
PAGE_MAX = 1000
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@route.get(
    "/history/export",
    "observe",
    "exportHistory",
    "Every transition as a line of JSON",
    opt={"media_types": [LINES]},
    tags=["service"],
    media_type=LINES,
)
async def export_history(request: Asked) -> Stream:
    """Of the pipelines that the caller may see, in the order of the log. It is noted in the audit log."""
    await note(request, EXPORTED, what="history")
    lines = history_lines(service_of(request), caller_of(request))
    return Stream(lines, media_type=LINES, headers=HEADERS)


@route.get(
    "/reviews/gold",
    "observe",
    "exportGold",
    "Every decision of a person as gold data",
    opt={"media_types": [LINES]},
    tags=["reviews"],
    media_type=LINES,
)
async def export_gold(request: Asked) -> Stream:
    """What was found with its confidence, what is right, who decided and when. It is noted in the audit log."""
    await note(request, EXPORTED, what="gold")
    lines = _gold_lines(service_of(request), caller_of(request))
    return Stream(lines, media_type=LINES, headers=HEADERS)


async def history_lines(
    service: Service, caller: Caller, record_id: str = ""
) -> AsyncIterator[bytes]:
    """The transitions that a caller may see, of all records or of one."""
    after = 0
    while True:
        found = await service.broad.ask(partial(_transitions, after=after, record_id=record_id))
        shown = [each for each in found if caller.covers(each.machine)]
        yield b"".join(msgspec.json.encode(TransitionLine.of(each)) + b"\n" for each in shown)
        if record_id or len(found) < PAGE_MAX:
            return
        after = found[-1].seq


def _transitions(app: App, *, after: int, record_id: str) -> list[Transition]:
    if record_id:
        return app.store.history(record_id)
    return app.store.log.read(after=after, limit=PAGE_MAX)


async def _gold_lines(service: Service, caller: Caller) -> AsyncIterator[bytes]:
    names = await service.quick.ask(lambda app: sorted(app.registry.newest))
    for name in names:
        after: str | None = "" if caller.covers(name) else None
        while after is not None:
            page, after = await service.broad.ask(partial(_gold, name=name, after=after))
            yield page


def _gold(app: App, *, name: str, after: str) -> tuple[bytes, str | None]:
    found, last = app.reviews.gold_page(name, after=after)
    return b"".join(each.line() for each in found), last


HANDLERS: list[Any] = [export_history, export_gold]
