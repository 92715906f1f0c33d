"""Outside anchors: signed checkpoints of the history, handed to places that the owner of this machine does not own.

A destination that fails is tried again with a newer checkpoint, which covers the one before. Each handover is an entry
of the audit log.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from stateward import telemetry
from stateward.core.model import COORDINATOR, SECOND, Json, Micros
from stateward.storage.audit import AuditEntry

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.settings import Settings

ANCHORED = "anchored"
HOUR_S = 3600.0
RETRY_S = 900.0  # while a destination does not answer


def hand_over(app: "App") -> dict[str, str]:
    """Hand the checkpoint of now to every destination; for each that has not got it, why."""
    from stateward.ledger.checkpoint_export import check_destination, export_checkpoint

    own, secret = app.settings.anchors, app.settings.ledger.webhook_secret
    signing = None if secret is None else Path(secret).read_text("utf-8").strip()
    for each in own.destinations:
        check_destination(each, app.settings.data_path)
    checkpoint = app.admin.checkpoint()
    told = {each: export_checkpoint(checkpoint, each, secret=signing) for each in own.destinations}
    done: list[Json] = [each for each, fault in told.items() if not fault]
    if done:
        entry = AuditEntry(
            at=app.clock(), actor=COORDINATOR, verb=ANCHORED, detail={"destinations": done}
        )
        app.audit.add([entry])
    return {each: fault for each, fault in told.items() if fault}


def last_anchor(app: "App") -> Micros | None:
    """When a checkpoint was handed over last."""
    found = app.audit.entries(verb=ANCHORED, limit=1)
    return found[0].at if found else None


def anchor_when_due(settings: "Settings") -> float:
    """Hand a checkpoint over if it is time; how many seconds until the next time."""
    from stateward.app import App

    every = settings.anchors.every_hours * HOUR_S
    with App(settings) as app:  # its own connection: the loop uses its one all the time
        last = last_anchor(app)
        left = 0.0 if last is None else (last - app.clock()) / SECOND + every
        if left > 0:
            return left
        failed = hand_over(app)
    for place, reason in failed.items():
        telemetry.log("anchors").error("not handed over", place=place, reason=reason)
    return RETRY_S if failed else every
