"""The endpoints that receive webhooks: those that users added, and those that the settings name.

An endpoint receives what happens after it was added. Its secret is stored sealed, and opened for each attempt that it
signs; only the operations that make one return it. This module decides nothing about deliveries.

Locks are taken in one order: the cursor of the notifier, the seals (`storage.row_seals`), deliveries, endpoints. Who
changes several of these at once begins with the cursor, which the notifier holds while it settles and sends.
"""

from base64 import b32hexencode
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import Micros
from stateward.core.webhook_signing import key_of
from stateward.http_addresses import AllowedHosts, check_target, parse_url
from stateward.notifications.messages import Content
from stateward.storage.database import Database, Row, Table, log_end
from stateward.storage.erasure import NOTIFIER, lock_follower
from stateward.storage.row_seals import sealed_change
from stateward.storage.sealing import SecretKeys, is_sealed

WEBHOOKS_MAX = 1000  # all are read into memory, once a second
EVENTS_MAX = 100
PREFIX = "WH"
FROM_SETTINGS = "settings"
# Stored as the reason, and compared when the settings name the endpoint again: do not reword it.
NOT_IN_SETTINGS = "the settings no longer name it"

WEBHOOKS = Table(
    "webhooks",
    {
        "id": "text",
        "url": "text",
        "events": "json",
        "content": "text",
        "secret": "text",
        "old_secret": "text",
        "old_until": "bigint",
        "is_enabled": "boolean",
        "disabled_reason": "text",
        "origin": "text",
        "created_at": "bigint",
        "since": "bigint",
        "rests_until": "bigint",
    },
    key=("id",),
)
_COLUMNS = ", ".join(WEBHOOKS.columns)
_decode_events = msgspec.json.Decoder(tuple[str, ...]).decode


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint: its URL, its events, the form of messages, and the secrets that sign them.

    It receives transitions with a sequence number above `since`, and none before `rests_until`. The secrets are as
    they are stored, except in the answer to their making.
    """

    id: str
    url: str
    events: tuple[str, ...]
    content: Content
    secret: str
    old_secret: str | None
    old_until: Micros | None
    is_enabled: bool
    disabled_reason: str | None
    origin: str
    created_at: Micros
    since: int
    rests_until: Micros

    def __repr__(self) -> str:
        """Without the secrets."""
        return f"Webhook({self.id!r}, {self.url!r}, {', '.join(self.events)})"


class ConfiguredEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as the settings name it."""

    machine: str
    url: str
    events: tuple[str, ...]
    content: Content
    secret: str | None

    @property
    def id(self) -> str:
        """The same at every start: derived from the machine and the URL."""
        digest = sha256(f"{self.machine} {self.url}".encode()).digest()[:20]
        return f"{PREFIX}_{b32hexencode(digest).decode().lower()}"


def last_sequence(database: Database) -> int:
    """The sequence number of the latest transition."""
    return log_end(database)


def lock_cursor(database: Database) -> int:
    """The last transition that was processed; no one else moves it, or comes to deliveries, in this transaction."""
    return lock_follower(database, NOTIFIER)


class Endpoints:
    def __init__(self, database: Database, *, allowed: AllowedHosts, secrets: SecretKeys) -> None:
        self._database = database
        self._allowed = allowed
        self._secrets = secrets

    def secrets(self, webhook: Webhook, now: Micros) -> list[str]:
        """What to sign with: for a while after a rotation, with the previous secret too."""
        is_rotating = now < (webhook.old_until or 0)
        stored = [webhook.secret, webhook.old_secret if is_rotating else None]
        return [self._secrets.open(each, purpose=_purpose(webhook.id)) for each in stored if each]

    def seal_plain(self, *, now: Micros) -> int:
        """Seal the secrets that versions before this stored as they are; how many endpoints had one."""
        with sealed_change(self._database, WEBHOOKS.name, at=now):
            plain = [each for each in self.all() if _is_plain(each)]
            for each in plain:
                self._store_secrets(each, partial(self._seal, each.id))
        return len(plain)

    def rewrap(self, *, now: Micros) -> int:
        """Bring every sealed secret under the newest key; how many endpoints have one."""
        with sealed_change(self._database, WEBHOOKS.name, at=now):
            found = self.all()
            for each in found:
                self._store_secrets(each, self._secrets.rewrap)
        return len(found)

    def _store_secrets(self, webhook: Webhook, change: Callable[[str], str]) -> None:
        self._database.run(
            "UPDATE webhooks SET secret = :secret, old_secret = :old WHERE id = :id",
            id=webhook.id,
            secret=change(webhook.secret),
            old=None if webhook.old_secret is None else change(webhook.old_secret),
        )

    def _seal(self, webhook_id: str, secret: str) -> str:
        if is_sealed(secret):
            return secret
        return self._secrets.seal(secret, purpose=_purpose(webhook_id))

    def all(self) -> list[Webhook]:
        """Every endpoint, oldest first."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM webhooks ORDER BY created_at, id LIMIT {WEBHOOKS_MAX}"
        )
        return [_webhook(row) for row in found]

    def get(self, webhook_id: str) -> Webhook:
        """One endpoint; raises `UnknownName`."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM webhooks WHERE id = :id", id=webhook_id
        )
        if not found:
            raise UnknownName("webhook", webhook_id[:80])
        return _webhook(found[0])

    def add(
        self,
        webhook_id: str,
        *,
        url: str,
        events: Sequence[str],
        secret: str,
        content: Content,
        origin: str,
        now: Micros,
    ) -> Webhook:
        """Add an endpoint. Its address is checked now, and again before each connection."""
        check_target(parse_url(url), self._allowed)
        key_of(secret)
        if not events or len(events) > EVENTS_MAX:
            raise InvalidRequest(
                f"name 1 to {EVENTS_MAX} events, such as invoices.completed or invoices.*"
            )
        with self._database.transaction():
            # So that the notifier cannot pass `since` before this endpoint is committed and visible to it.
            lock_cursor(self._database)
            if len(self.all()) >= WEBHOOKS_MAX:
                raise InvalidRequest(f"there are {WEBHOOKS_MAX} webhooks already; remove some")
            webhook = Webhook(
                id=webhook_id,
                url=url,
                events=tuple(dict.fromkeys(events)),
                content=content,
                secret=self._seal(webhook_id, secret),
                old_secret=None,
                old_until=None,
                is_enabled=True,
                disabled_reason=None,
                origin=origin,
                created_at=now,
                since=last_sequence(self._database),
                rests_until=0,
            )
            with self._seal_change(webhook_id, now=now):
                self._database.insert(WEBHOOKS, [_row(webhook)])
        return replace(webhook, secret=secret)

    def _seal_change(self, webhook_id: str, *, now: Micros) -> AbstractContextManager[None]:
        return sealed_change(self._database, WEBHOOKS.name, [webhook_id], at=now)

    def remove(self, webhook_id: str, *, now: Micros) -> None:
        """Delete an endpoint with its deliveries."""
        with self._database.transaction():
            lock_cursor(self._database)
            with self._seal_change(webhook_id, now=now):
                self.get(webhook_id)
                for table in ("delivery_attempts", "deliveries"):
                    self._database.run(f"DELETE FROM {table} WHERE webhook_id = :id", id=webhook_id)
                self._database.run("DELETE FROM webhooks WHERE id = :id", id=webhook_id)

    def rotate(self, webhook_id: str, *, secret: str, old_until: Micros, now: Micros) -> Webhook:
        """Give an endpoint a new secret; until `old_until` the previous one signs as well."""
        key_of(secret)
        with self._seal_change(webhook_id, now=now):
            self.get(webhook_id)
            self._database.run(
                "UPDATE webhooks SET old_secret = secret, old_until = :until, secret = :secret WHERE id = :id",
                id=webhook_id,
                secret=self._seal(webhook_id, secret),
                until=old_until,
            )
            return replace(self.get(webhook_id), secret=secret)

    def enable(self, webhook_id: str, *, now: Micros) -> Webhook:
        """Send to an endpoint again, from the next transition on."""
        with self._seal_change(webhook_id, now=now):
            if not self.get(webhook_id).is_enabled:
                self._database.run(
                    "UPDATE webhooks SET is_enabled = :yes, disabled_reason = NULL, rests_until = 0, since = :since"
                    " WHERE id = :id",
                    id=webhook_id,
                    yes=True,
                    since=last_sequence(self._database),
                )
            return self.get(webhook_id)

    def disable(self, webhook_id: str, reason: str, *, now: Micros) -> None:
        """Send nothing to an endpoint any more."""
        with self._seal_change(webhook_id, now=now):
            self._database.run(
                "UPDATE webhooks SET is_enabled = :no, disabled_reason = :reason WHERE id = :id",
                id=webhook_id,
                no=False,
                reason=reason,
            )

    def pause(self, webhook_id: str, until: Micros) -> None:
        """Send nothing to an endpoint until then, as it asked for."""
        self._database.run(
            "UPDATE webhooks SET rests_until = :until WHERE id = :id AND rests_until < :until",
            id=webhook_id,
            until=until,
        )

    def configure(
        self,
        configured: Iterable[ConfiguredEndpoint],
        *,
        new_secret: Callable[[], str],
        now: Micros,
    ) -> None:
        """Apply the endpoints of the settings; those that they no longer name are disabled."""
        wanted = {each.id: each for each in configured}
        with self._database.transaction():
            lock_cursor(self._database)
            known = {each.id: each for each in self.all() if each.origin == FROM_SETTINGS}
            for webhook_id, each in wanted.items():
                if webhook_id in known:
                    self._update(known[webhook_id], each, now=now)
                else:
                    self.add(
                        webhook_id,
                        url=each.url,
                        events=each.events,
                        secret=each.secret or new_secret(),
                        content=each.content,
                        origin=FROM_SETTINGS,
                        now=now,
                    )
            for webhook_id in known.keys() - wanted.keys():
                if known[webhook_id].is_enabled:
                    self.disable(webhook_id, NOT_IN_SETTINGS, now=now)

    def _update(self, known: Webhook, each: ConfiguredEndpoint, *, now: Micros) -> None:
        with self._seal_change(known.id, now=now):
            self._database.run(
                "UPDATE webhooks SET events = :events, content = :content, secret = :secret WHERE id = :id",
                id=known.id,
                events=msgspec.json.encode(each.events).decode(),
                content=each.content,
                secret=known.secret if each.secret is None else self._seal(known.id, each.secret),
            )
        if known.disabled_reason == NOT_IN_SETTINGS:
            self.enable(known.id, now=now)


def _purpose(webhook_id: str) -> str:
    return f"webhook {webhook_id}"


def _is_plain(webhook: Webhook) -> bool:
    return any(each and not is_sealed(each) for each in (webhook.secret, webhook.old_secret))


def _row(webhook: Webhook) -> Row:
    values = msgspec.structs.asdict(webhook)
    values["events"] = msgspec.json.encode(webhook.events).decode()
    return tuple(values[name] for name in WEBHOOKS.columns)


def _webhook(row: Row) -> Webhook:
    values = WEBHOOKS.named(row)
    values["events"] = _decode_events(str(values["events"]))
    values["is_enabled"] = bool(values["is_enabled"])
    return Webhook(**values)
