"""Secrets of an installation where they are stored: sealed when a service starts, and brought under a new key."""

import msgspec

from stateward import telemetry
from stateward.app import App
from stateward.core.errors import SecretUnreadable
from stateward.core.model import Fields
from stateward.storage.audit import SECRETS_ROTATED, AuditEntry
from stateward.storage.sealing import is_sealed


class SecretState(msgspec.Struct, frozen=True, kw_only=True):
    """How the secrets of webhooks are stored."""

    sealed: int
    plain: int
    unreadable: int


def seal_stored(app: App) -> int:
    """Seal the secrets that versions before this stored as they are, and leave no trace of them in the file."""
    plain = state(app).plain
    if not plain:
        return 0
    is_file = app.settings.store_path is not None
    try:
        if is_file:  # what an UPDATE replaces is overwritten, not only given up
            app.database.rows("PRAGMA secure_delete = ON")
        with app.database.transaction():
            app.notifications.seal_secrets()
            app.idempotency.forget_plain()
    except ModuleNotFoundError as error:
        log = telemetry.log("secrets")
        log.warning(f"secrets of webhooks stay as they are: {error}; install stateward[server]")
        return 0
    if is_file:
        app.database.rows("PRAGMA secure_delete = OFF")
        app.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return plain


def rotate(app: App, *, actor: str) -> tuple[str, int]:
    """Make a new key and bring the stored secrets under it; its id, and how many endpoints were changed.

    The key is durable before a secret is sealed with it. Former keys stay in the file: settings, backups and other
    processes still hold what was sealed with them.
    """
    seal_stored(app)
    key_id = app.secrets.rotate()
    with app.database.transaction():
        count = app.notifications.rewrap_secrets()
        detail: Fields = {"key_id": key_id, "webhooks": count}
        app.audit.add(
            [AuditEntry(at=app.clock(), actor=actor, verb=SECRETS_ROTATED, detail=detail)]
        )
    return key_id, count


def state(app: App) -> SecretState:
    """Which secrets of webhooks are sealed, which are not, and which cannot be opened here."""
    webhooks = app.notifications.webhooks()
    sealed = [each for each in webhooks if is_sealed(each.secret)]
    unreadable = 0
    for each in sealed:
        try:
            app.notifications.check_secret(each)
        except SecretUnreadable:
            unreadable += 1
    return SecretState(sealed=len(sealed), plain=len(webhooks) - len(sealed), unreadable=unreadable)
