"""Ledger and audit: whether the history is sound, where it is kept, and what anybody did."""

import asyncio
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import QueryParameter
from litestar.response import Stream

from stateward.app import App
from stateward.console.kinds import state_kinds
from stateward.console.layout import HEADERS, console_of, fragment, page
from stateward.core.errors import StatewardError
from stateward.core.lanes import FORMER
from stateward.core.model import Micros, clean_text
from stateward.engine.mirror import MirrorState, mirror_state
from stateward.ledger import Ledger, SnapshotInfo
from stateward.monitoring.dashboard import HistoryPage
from stateward.proofs.history_checkpoint import lanes_root
from stateward.server.administration import check_whole
from stateward.server.audit import note
from stateward.server.auth import Asked, Caller, caller_of, service_of
from stateward.server.exports import LINES, history_lines
from stateward.server.service import Service
from stateward.storage.audit import EXPORTED, AuditEntry, AuditQuery

ROWS = 100
SNAPSHOTS_SHOWN = 20
ACTS_SHOWN = 50
FINDINGS_SHOWN = 20
FILES_MAX = 100_000

Text = Annotated[str, QueryParameter(max_length=200, required=False)]
Before = Annotated[int | None, QueryParameter(name="before", ge=1, required=False)]


class Mirrored(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger that the history is mirrored to."""

    folder: str
    state: MirrorState | None
    snapshots: list[SnapshotInfo]
    size: int
    files: int
    message: str = ""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What the last verification from this page found, or how far the present one is."""

    is_running: bool
    read: int = 0
    at: Micros | None = None
    actor: str = ""
    records: int = 0
    transitions: int = 0
    findings: tuple[str, ...] = ()
    message: str = ""


class WholeHistory(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of the history of all pipelines, and where."""

    count: int
    lanes: int
    root: str
    mirror: Mirrored | None


class Ledgers(msgspec.Struct, frozen=True, kw_only=True):
    """All that the page shows but the search; `whole` is None for who may not see all of it."""

    whole: WholeHistory | None
    acts: list[AuditEntry]


@get("/ledger", opt={"right": "read"})
async def ledger(
    request: Asked, record: Text = "", actor: Text = "", trigger: Text = "", before: Before = None
) -> Response[bytes]:
    """The whole page, with a search in the history."""
    service, caller = service_of(request), caller_of(request)

    def look_(app: App) -> tuple[Ledgers, HistoryPage]:
        found = app.dashboard.search(
            record_id=record.strip(),
            actor=actor.strip(),
            trigger=trigger.strip(),
            machines=caller.machines,
            before=before,
            limit=ROWS,
        )
        return look(app, caller), found

    looked, found = await service.broad.ask(look_)
    filters = {"record": record, "actor": actor, "trigger": trigger}
    facts = {
        "it": looked,
        "found": found,
        "asked": filters,
        "address": urlencode(filters),
        "is_asked": any(filters.values()),
        "is_first": before is None,
        "verified": _verification(request),
        "kinds": await service.quick.ask(state_kinds),
    }
    return await page(request, "ledger.html", facts, here="ledger")


def look(app: App, caller: Caller) -> Ledgers:
    """Where the history is and what people did."""
    # As the API has it: the audit log tells of sign-ins, reads and settings, and is for administrators.
    query = AuditQuery(machines=caller.machines, own=caller.actor)
    found = app.audit.find(query, limit=ACTS_SHOWN) if caller.may("admin") else []
    acts = [entry for _, entry in found]
    return Ledgers(whole=_look_at_whole(app) if _is_for(caller) else None, acts=acts)


def _is_for(caller: Caller) -> bool:
    """Whether a caller may ask about the whole history, as `/verify` of the API has it."""
    return caller.may("observe") and caller.covers_all


def _look_at_whole(app: App) -> WholeHistory:
    mirror = app.settings.ledger.mirror
    lanes = app.store.lanes.all()
    return WholeHistory(
        count=sum(each.count for each in lanes),
        lanes=sum(each.lane != FORMER for each in lanes),
        root=lanes_root(lanes).hex(),
        mirror=None if mirror is None else describe_mirror(app, Path(mirror)),
    )


def describe_mirror(app: App, folder: Path) -> Mirrored:
    """The mirror as it is; what is wrong with it is said and not raised."""
    try:
        state = mirror_state(app.store, folder)
        snapshots: list[SnapshotInfo] = []
        if folder.exists():
            with Ledger.open(folder, read_only=True, machine=None) as found:
                snapshots = found.snapshots()
    except (StatewardError, OSError) as error:
        return Mirrored(
            folder=str(folder), state=None, snapshots=[], size=0, files=0, message=str(error)
        )
    sizes = [path.stat().st_size for path in _files(folder)]
    return Mirrored(
        folder=str(folder),
        state=state,
        snapshots=snapshots[-SNAPSHOTS_SHOWN:][::-1],
        size=sum(sizes),
        files=len(sizes),
    )


def _files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path, _ in zip(found, range(FILES_MAX), strict=False)]


# Verifying


@post("/ledger/verify", opt={"right": "observe"}, status_code=200)
async def verify(request: Asked) -> Response[bytes]:
    """Read and check the whole history, in a thread of its own; the page asks how far it is."""
    check_whole(request)
    state = request.app.state
    if not _verification(request).is_running:
        state.console_verified = Verified(is_running=True)
        task = asyncio.create_task(
            _verify(request.app.state, service_of(request), caller_of(request))
        )
        console_of(request).tasks.add(task)
        task.add_done_callback(console_of(request).tasks.discard)
    return fragment(request, "verified.html", {"verified": _verification(request)})


@get("/ledger/verified", opt={"right": "observe"})
async def verification_page(request: Asked) -> Response[bytes]:
    """How far it is, or what it found."""
    check_whole(request)
    return fragment(request, "verified.html", {"verified": _verification(request)})


def _verification(request: Asked) -> Verified:
    state = request.app.state
    found: Verified = (
        state.console_verified if "console_verified" in state else Verified(is_running=False)
    )
    return found


async def _verify(state: Any, service: Service, caller: Caller) -> None:  # noqa: ANN401 - Litestar's
    def check(app: App) -> Verified:
        def note(_: str, count: int) -> None:
            state.console_verified = Verified(is_running=True, read=count)

        verdict = app.admin.verify(progress=note)
        return Verified(
            is_running=False,
            at=app.clock(),
            actor=caller.actor,
            records=verdict.records,
            transitions=verdict.transitions,
            findings=tuple(str(each) for each in verdict.findings[:FINDINGS_SHOWN]),
        )

    try:
        state.console_verified = await service.aside("verifier", check)
    except StatewardError as error:
        state.console_verified = Verified(is_running=False, message=str(error))


# Taking along


@get("/ledger/export", opt={"right": "observe"})
async def export(request: Asked, record: Text = "") -> Stream:
    """The history as lines of JSON, of all that the caller may see or of one record."""
    service, caller = service_of(request), caller_of(request)
    record_id = clean_text(record.strip(), chars_max=100)
    await note(request, EXPORTED, record_id=record_id, what="history")
    headers = {
        **HEADERS,
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": f'attachment; filename="history{"-" + record_id if record_id.isalnum() else ""}.jsonl"',
    }
    lines = history_lines(service, caller, record_id)
    return Stream(lines, media_type=LINES, headers=headers)


HANDLERS: list[Any] = [ledger, verify, verification_page, export]
