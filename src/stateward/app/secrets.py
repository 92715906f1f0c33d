"""Secrets of an installation where they are stored: sealed when a service starts, and brought under a new key."""

from collections.abc import Callable
from functools import partial

import msgspec

from stateward import telemetry
from stateward.app import App
from stateward.core.errors import SecretUnreadable
from stateward.core.model import Fields, plural
from stateward.storage.audit import SECRETS_ROTATED, AuditEntry
from stateward.storage.sealing import is_sealed


class SecretState(msgspec.Struct, frozen=True, kw_only=True):
    """How the secrets of webhooks and of workers' credentials are stored."""

    sealed: int
    plain: int
    unreadable: int


class Rotated(msgspec.Struct, frozen=True, kw_only=True):
    """A new key, and how much was brought under it."""

    key_id: str
    webhooks: int
    workers: int


def seal_stored(app: App) -> int:
    """Seal the secrets that versions before this stored as they are, and leave no trace of them in the file."""
    found = state(app)
    if found.unreadable:
        telemetry.log("secrets").warning(
            f"the keys in {app.secrets.path} do not open {plural(found.unreadable, 'secret')} of webhooks and workers: "
            "none of their messages is sent or accepted; put the right file there, or name it in store.secret_key_file"
        )
    plain = found.plain
    if not plain:
        return 0
    is_file = app.settings.store_path is not None
    try:
        if is_file:  # what an UPDATE replaces is overwritten, not only given up
            app.database.rows("PRAGMA secure_delete = ON")
        with app.database.transaction():
            app.notifications.seal_secrets()
            app.worker_keys.seal_plain(now=app.clock())
            app.idempotency.forget_plain()
    except ModuleNotFoundError as error:
        log = telemetry.log("secrets")
        log.warning(f"secrets stay as they are: {error}; install stateward[server]")
        return 0
    if is_file:
        app.database.rows("PRAGMA secure_delete = OFF")
        app.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return plain


def rotate(app: App, *, actor: str) -> Rotated:
    """Make a new key and bring the stored secrets under it.

    The key is durable before a secret is sealed with it. Former keys stay in the file: settings, backups and other
    processes still hold what was sealed with them.
    """
    seal_stored(app)
    key_id = app.secrets.rotate()
    with app.database.transaction():
        done = Rotated(
            key_id=key_id,
            webhooks=app.notifications.rewrap_secrets(),
            workers=app.worker_keys.rewrap(now=app.clock()),
        )
        detail: Fields = msgspec.to_builtins(done)
        app.audit.add(
            [AuditEntry(at=app.clock(), actor=actor, verb=SECRETS_ROTATED, detail=detail)]
        )
    return done


def state(app: App) -> SecretState:
    """Which secrets are sealed, which are not, and which cannot be opened here."""
    webhooks = app.notifications.webhooks()
    workers = [(key, stored) for key, stored in app.worker_keys.stored() if stored]
    sealed = [each for each in webhooks if is_sealed(each.secret)]
    sealed_keys = [each for each in workers if is_sealed(each[1])]
    checks: list[Callable[[], object]] = [
        *(partial(app.notifications.check_secret, each) for each in sealed),
        *(partial(app.worker_keys.open, *each) for each in sealed_keys),
    ]
    return SecretState(
        sealed=len(checks),
        plain=len(webhooks) + len(workers) - len(checks),
        unreadable=sum(_is_unreadable(each) for each in checks),
    )


def _is_unreadable(check: Callable[[], object]) -> bool:
    try:
        check()
    except SecretUnreadable:
        return True
    return False
