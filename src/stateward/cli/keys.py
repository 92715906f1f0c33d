"""`stateward key`: keys of the HTTP API, which are shown once, keys that sign, and credentials of workers."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.apps import one_of
from stateward.cli.commands import A_FILE, Group, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import moment, write_table

if TYPE_CHECKING:
    from stateward.schemas import KeyDocument
    from stateward.storage.keys import Role
    from stateward.storage.worker_keys import WorkerKey

ROLES = ("viewer", "submitter", "reviewer", "operator", "admin")
DAYS_MAX = 3650
MINUTES_MAX = 1440
SECRET_MODE = 0o600


@click.group(
    "key", cls=Group, examples=["stateward key create anna --role operator", "stateward key list"]
)
def key() -> None:
    """Create, list and revoke keys of the HTTP API and console."""


@key.command(
    "create",
    "stateward key create anna --role operator",
    "stateward key create shop --role submitter --pipeline invoices --days 90 --rate 600",
)
@click.argument("name")
@option("--role", "What it may do; every role can read.", type=click.Choice(ROLES), required=True)
@option(
    "--pipeline MACHINE",
    "Only for this machine; may be repeated. Otherwise for all.",
    to="pipelines",
    multiple=True,
)
@option(
    "--days N",
    "Days until it expires; otherwise it is valid until revoked.",
    type=click.FloatRange(min=0, min_open=True, max=DAYS_MAX),
)
@option("--rate N", "Requests a minute; otherwise api.rate_per_minute.", type=click.IntRange(min=1))
@option(
    "--bytes N",
    "The largest document; otherwise limits.upload_bytes_max.",
    to="bytes_max",
    type=click.IntRange(min=1),
)
@pass_context
def create(
    context: CliContext,
    *,
    name: str,
    role: "Role",
    pipelines: tuple[str, ...],
    days: float | None,
    rate: int | None,
    bytes_max: int | None,
) -> None:
    """Create a key and show it once.

    NAME says who uses it; the history names it as the actor. Once there is a key, the service refuses requests without
    one.
    """
    with context.app() as app:
        made = app.create_key(
            name,
            role,
            pipelines=pipelines,
            days=days,
            rate_per_minute=rate,
            upload_bytes_max=bytes_max,
        )
    message = "this is the only time it is shown; send it as `Authorization: Bearer sw_…`"
    context.show(made, str(made.key), message=message)


@key.command(
    "list", "stateward key list", "stateward key list --json", is_listing=True, is_reading=True
)
@pass_context
def list_(context: CliContext) -> None:
    """List keys, without their secrets.

    Shows who created them, what they may do, when they expire and when they were last used.
    """
    with context.app() as app:
        found = app.keys()
    context.show_rows(
        found,
        ("id", "name", "role", "pipelines", "state", "expires", "last used"),
        lambda each: (
            each.id,
            each.name,
            each.role,
            ", ".join(each.pipelines) or "all",
            _state(each),
            _moment(each.expires_at),
            _moment(each.used_at),
        ),
        nothing="there is no key; the service listens at loopback only",
    )


@key.command(
    "link",
    "stateward key link 4k2m0f8q1s3t5v7x",
    "stateward key link 4k2m0f8q1s3t5v7x --minutes 60",
)
@click.argument("key_id", metavar="ID")
@option(
    "--minutes N",
    "How long it can be used.",
    type=click.FloatRange(min=0, min_open=True, max=MINUTES_MAX),
    default=15.0,
    show_default=True,
)
@pass_context
def link(context: CliContext, *, key_id: str, minutes: float) -> None:
    """Create a link that signs in to the console once.

    The first person who opens it is signed in with the role of the key ID, without seeing the key.
    """
    from stateward.app.approver_links import public_url
    from stateward.app.identity import new_token
    from stateward.console.static_files import link_address
    from stateward.core.errors import UnknownName
    from stateward.core.model import SECOND, to_iso

    with context.local_app() as app:
        now = app.clock()
        key_id = one_of(key_id, (each.id for each in app.keys.all()))
        if app.keys.live(key_id, now=now) is None:
            live = [each.id for each in app.keys.all() if each.is_live(now)]
            raise UnknownName("key", key_id[:80], live)
        token, until = new_token(), now + round(minutes * 60 * SECOND)
        app.sessions.add_link(token, key_id=key_id, now=now, until=until)
        own = app.settings
    address = link_address(public_url(own), token)
    expires_at = to_iso(until)
    context.show(
        {"url": address, "expires_at": expires_at},
        address,
        message=f"it works once, until {expires_at}",
    )


@key.command("revoke", "stateward key revoke 4k2m0f8q1s3t5v7x")
@click.argument("key_id", metavar="ID")
@pass_context
def revoke(context: CliContext, key_id: str) -> None:
    """Revoke a key, from the next request on."""
    with context.app() as app:
        known = app.keys()
        key_id = one_of(key_id, (each.id for each in known))
        was_open = app.revoke_key(key_id).was_open
    context.show_revoked(key_id, was_open=was_open)


@key.group(
    "signing",
    cls=Group,
    examples=["stateward key signing create example.org/history --out signing.key"],
)
def signing() -> None:
    """Manage keys that sign checkpoints."""


@signing.command(
    "create",
    "stateward key signing create",
    "stateward key signing create example.org/history --out signing.key",
)
@click.argument("name", metavar="[NAME]", required=False)
@option(
    "--out FILE",
    "New file for the private half; otherwise signing.key in the data folder, where it is used at once.",
    type=A_FILE,
)
@pass_context
def create_signing(context: CliContext, *, name: str | None, out: Path | None) -> None:
    """Create a key that signs checkpoints.

    Writes the private half to a file that only you can read; ledger.signing_key in the settings names it if it is not
    in the data folder. Prints the public half, for everybody who verifies. NAME says whose history it is. Needs the
    extra `signing`: pip install 'stateward[signing]'.
    """
    from stateward.app.signing import NAME, SIGNING_KEY
    from stateward.ledger import generate_key

    private, public = generate_key(name or NAME)
    if out is None:
        out = context.settings().data_path / SIGNING_KEY
        out.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write_secret(out, private)
    context.show(
        {"out": str(out), "public": public},
        public,
        message=f"the private half is in {out}; give the line above to those who verify",
    )


@key.group(
    "worker",
    cls=Group,
    examples=[
        "stateward key worker create ocr --stages papers.extract --out ocr.json",
        "stateward key worker list",
    ],
)
def worker() -> None:
    """Manage credentials of workers without a database."""


@worker.command(
    "create",
    "stateward key worker create ocr --stages papers.extract --out ocr.json",
    "stateward key worker create office --stages 'upload.*,letters.count' --out office.json",
)
@click.argument("name")
@option(
    "--stages MACHINE.STAGE,…",
    "Which stages it may do; MACHINE.* for all of a machine.",
    required=True,
)
@option("--out FILE", "A new file for the credential.", type=A_FILE, required=True)
@pass_context
def create_worker(context: CliContext, *, name: str, stages: str, out: Path) -> None:
    """Create a credential for a worker behind a transport.

    Copy the file to the worker's machine and name it there as transport.credential. It signs what the worker reports.
    Once there is a credential, coordinators refuse what is not signed.
    """
    import msgspec

    from stateward.core.errors import InvalidRequest

    if out.exists():  # before a credential is made that no file would hold
        raise InvalidRequest(f"{out} exists; name a new file")
    with context.local_app() as app:
        made, credential = app.admin.new_worker_key(name, stages=stages.split(","))
    _write_secret(out, msgspec.json.encode(credential).decode())
    context.show(
        {"out": str(out), **_worker_row(made)},
        made.id,
        message=f"the credential is in {out}; name it in transport.credential of the worker",
    )


@worker.command(
    "list",
    "stateward key worker list",
    "stateward key worker list --json",
    is_listing=True,
    is_reading=True,
)
@pass_context
def list_workers(context: CliContext) -> None:
    """List the credentials of workers, without their secrets."""
    with context.local_app() as app:
        found = app.admin.worker_keys()
    if context.is_for_programs:
        context.emit_rows(_worker_row(each) for each in found)
        return
    if not found:
        context.say(
            "there is no credential; results of any worker that reaches the broker are accepted"
        )
        return
    write_table(
        ("id", "name", "stages", "state", "created"),
        [
            (
                each.id,
                each.name,
                ", ".join(each.stages),
                "live" if each.revoked_at is None else "revoked",
                moment(each.created_at),
            )
            for each in found
        ],
    )


@worker.command("revoke", "stateward key worker revoke 4k2m0f8q1s3t5v7x")
@click.argument("key_id", metavar="ID")
@pass_context
def revoke_worker(context: CliContext, key_id: str) -> None:
    """Revoke a credential, from the next second on."""
    with context.local_app() as app:
        key_id = one_of(key_id, (each.id for each in app.admin.worker_keys()))
        was_open = app.admin.revoke_worker_key(key_id)
    context.show_revoked(key_id, was_open=was_open)


def _write_secret(out: Path, text: str) -> None:
    """Write a file that only this user can read."""
    from stateward.core.errors import InvalidRequest

    try:
        # The mode is given at creation: between creating and a chmod others could open the file.
        fd = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, SECRET_MODE)
    except FileExistsError:
        raise InvalidRequest(f"{out} exists; name a new file") from None
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")


def _worker_row(each: "WorkerKey") -> dict[str, object]:
    from stateward.core.model import to_iso, to_iso_or_none

    return {
        "id": each.id,
        "name": each.name,
        "stages": list(each.stages),
        "created_at": to_iso(each.created_at),
        "created_by": each.created_by,
        "revoked_at": to_iso_or_none(each.revoked_at),
    }


def _state(each: "KeyDocument") -> str:
    if each.revoked_at is not None:
        return "revoked"
    return "live" if each.is_live else "expired"


def _moment(at: str | None) -> str:
    return "" if at is None else moment(at)
