"""Outside anchors: signed checkpoints of the history, handed to places that the owner of this machine does not own.

A destination that fails is tried again with a newer checkpoint, which covers the one before. Each handover is an entry
of the audit log, by which each destination is known to be due.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stateward import telemetry
from stateward.app.backup_places import CHECKPOINTS
from stateward.app.repeating import seconds_left
from stateward.app.signing import ensure_signing_key
from stateward.core.errors import StatewardError
from stateward.core.model import COORDINATOR, Json, Micros
from stateward.ledger.checkpoint_export import checkpoint_name
from stateward.settings.storage import BUCKETS, MAILTO, TIMESTAMP
from stateward.storage.audit import ANCHORED, ENTRIES_MAX, AuditEntry
from stateward.storage.row_seals import mark_of_log

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.blobs.bucket import Bucket
    from stateward.settings import Settings

TIMESTAMPS = "timestamps"
HOUR_S = 3600.0
RETRY_S = 900.0  # while a destination does not answer


def anchor_destinations(settings: "Settings") -> tuple[str, ...]:
    """Where checkpoints go: as the settings say; where proof matters and they say nothing, to what they name anyway.

    That is the administrator's mailbox and the place of backups. There is no default beyond these: whatever this
    machine could choose by itself is owned by the same person, which would only look like an anchor.
    """
    own, mail = settings.anchors.destinations, settings.notifications
    if own or settings.profile == "personal":
        return own
    mailbox = () if None in (mail.admin_email, mail.smtp_url) else (f"{MAILTO}{mail.admin_email}",)
    return (*mailbox, *_beside_backups(settings))


def _beside_backups(settings: "Settings") -> tuple[str, ...]:
    folder = settings.backup.folder
    return () if folder is None else (f"{folder.rstrip('/')}/{CHECKPOINTS}",)


def hand_over(app: "App", destinations: Sequence[str] | None = None) -> dict[str, str]:
    """Hand the checkpoint of now to these destinations, or to every one; for each that has not got it, why."""
    if destinations is None:
        destinations = anchor_destinations(app.settings)
    ensure_signing_key(app.settings)
    checkpoint = app.admin.checkpoint()
    faults = {each: _hand_to(app, each, checkpoint) for each in destinations}
    done: list[Json] = [each for each, fault in faults.items() if not fault]
    if done:
        detail = {"destinations": done, **mark_of_log(app.database)}
        entry = AuditEntry(at=app.clock(), actor=COORDINATOR, verb=ANCHORED, detail=detail)
        app.audit.add([entry])
    return {each: fault for each, fault in faults.items() if fault}


def _hand_to(app: "App", destination: str, checkpoint: str) -> str:
    """Why a destination has not got the checkpoint; empty if it has."""
    from stateward.ledger.checkpoint_export import check_destination, export_checkpoint

    try:
        if destination.startswith(MAILTO):
            return _mail(app, destination.removeprefix(MAILTO), checkpoint)
        if destination.startswith(TIMESTAMP):
            return _stamp(app, destination.removeprefix(TIMESTAMP), checkpoint)
        if destination.partition("://")[0] in BUCKETS:
            return _put(app, destination, checkpoint)
        check_destination(destination, app.settings.data_path)
        if destination in _beside_backups(app.settings) and Path(destination).parent.is_dir():
            Path(destination).mkdir(exist_ok=True, mode=0o700)
        secret = app.settings.ledger.webhook_secret
        signing = None if secret is None else Path(secret).read_text("utf-8").strip()
        return export_checkpoint(checkpoint, destination, secret=signing)
    except (StatewardError, OSError) as error:  # the others get it nevertheless
        return str(error)


def _mail(app: "App", recipient: str, checkpoint: str) -> str:
    from stateward.notifications.email import EmailAddresses, compose_plain
    from stateward.notifications.service import open_mailer

    own = app.settings.notifications
    mailer, sender = open_mailer(own, app.secrets), own.email_from or own.admin_email
    if mailer is None or sender is None:
        return "there is no notifications.smtp_url in the settings to send mail by"
    message = compose_plain(
        EmailAddresses(sender=sender, recipient=recipient),
        subject=f"[Stateward] checkpoint {checkpoint_name(checkpoint)}",
        text=checkpoint,
        now=app.clock(),
    )
    return mailer.send(message) or ""


def _stamp(app: "App", url: str, checkpoint: str) -> str:
    """Have an authority sign the time; the token proves it from wherever it is, so here is a good place."""
    from stateward.ledger.disk import Disk, write_atomically
    from stateward.proofs.timestamps import obtain_timestamp

    roots = app.settings.anchors.timestamp_roots
    if roots is None:
        return "there is no anchors.timestamp_roots in the settings to check it by"
    data = checkpoint.encode()
    token = obtain_timestamp(data, url, Path(roots))
    folder = app.settings.data_path / TIMESTAMPS
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / checkpoint_name(checkpoint)
    write_atomically(Disk(), path, data)
    write_atomically(Disk(), path.with_suffix(".tsr"), token)
    return ""


def _put(app: "App", url: str, checkpoint: str) -> str:
    bucket_at(url, app.settings).put_named(checkpoint_name(checkpoint), checkpoint.encode())
    return ""


def bucket_at(url: str, settings: "Settings") -> "Bucket":
    """The bucket of a destination; endpoint and region are those of documents."""
    from stateward.blobs.bucket import Bucket
    from stateward.blobs.objects import ObjectOptions

    own = settings.artifacts
    options = ObjectOptions(
        url=url, endpoint=own.endpoint, region=own.region, timeout_s=own.timeout_seconds
    )
    return Bucket(options, settings.data_path)  # its cache is not used


def last_anchors(app: "App") -> dict[str, Micros]:
    """By destination, when it got a checkpoint last. One that is not there has got none for very long."""
    found: dict[str, Micros] = {}
    for entry in app.audit.entries(verb=ANCHORED, limit=ENTRIES_MAX):
        places = entry.detail.get("destinations")
        for each in places if isinstance(places, list) else ():
            found.setdefault(str(each), entry.at)
    return found


def anchor_when_due(settings: "Settings") -> float:
    """Hand a checkpoint to each destination whose time it is; how many seconds until the next time."""
    from stateward.app import App

    every = settings.anchors.every_hours * HOUR_S
    with App(settings) as app:  # its own connection: the loop uses its one all the time
        last, now = last_anchors(app), app.clock()
        left = {
            each: seconds_left(last[each], every_s=every, now=now) if each in last else 0.0
            for each in anchor_destinations(settings)
        }
        due = [each for each, seconds in left.items() if seconds <= 0]
        failed = hand_over(app, due) if due else {}
    for place, reason in failed.items():
        telemetry.log("anchors").error(
            f"a checkpoint was not handed to {place}: {reason}", place=place, reason=reason
        )
    return min(
        [RETRY_S] * bool(failed) + [seconds for seconds in left.values() if seconds > 0],
        default=every,
    )
