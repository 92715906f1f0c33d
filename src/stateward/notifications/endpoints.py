"""Who is told over HTTP: the endpoints that people added, and those that the settings name.

An endpoint hears of what happens after it was made. Its secret stands in the database, because every attempt is
signed with it; it is shown to nobody but who asks for it by name. This room decides nothing about deliveries.
"""

from base64 import b32hexencode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

import msgspec

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import Micros
from stateward.notifications.addresses import AllowedHosts, check_target, parse_url
from stateward.notifications.messages import Content
from stateward.notifications.signing import key_of
from stateward.storage.database import Database, Row, Table

WEBHOOKS_MAX = 1000
EVENTS_MAX = 100
PREFIX = "WH"
FROM_SETTINGS = "settings"
NOT_DECLARED = "the settings no longer name it"

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
    """An endpoint: where, of what, how, and with which secrets. `since` is the place in the log it hears from."""

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

    def secrets(self, now: Micros) -> list[str]:
        """What to sign with: while a secret is replaced, with the old one too."""
        is_both = self.old_secret is not None and now < (self.old_until or 0)
        return [self.secret, self.old_secret] if is_both and self.old_secret else [self.secret]

    def __repr__(self) -> str:
        """Without the secrets."""
        return f"Webhook({self.id!r}, {self.url!r}, {', '.join(self.events)})"


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as the settings name it."""

    machine: str
    url: str
    events: tuple[str, ...]
    content: Content
    secret: str | None

    @property
    def id(self) -> str:
        """The same at every start."""
        digest = sha256(f"{self.machine} {self.url}".encode()).digest()[:20]
        return f"{PREFIX}_{b32hexencode(digest).decode().lower()}"


class Endpoints:
    """The table of endpoints."""

    def __init__(self, database: Database, *, allowed: AllowedHosts) -> None:
        self._database = database
        self._allowed = allowed

    def all(self) -> list[Webhook]:
        """Every endpoint, oldest first."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM webhooks ORDER BY created_at, id LIMIT {WEBHOOKS_MAX}"
        )
        return [_webhook(row) for row in found]

    def named(self, webhook_id: str) -> Webhook:
        """One endpoint, or a clear refusal."""
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
        """One more endpoint. What it may not be told at is refused now, and again before each connection."""
        check_target(parse_url(url), self._allowed)
        key_of(secret)
        if not events or len(events) > EVENTS_MAX:
            raise InvalidRequest(
                f"name 1 to {EVENTS_MAX} events, such as upload.normalized or upload.*"
            )
        with self._database.transaction():
            # Who follows the log waits for us meanwhile, so that nothing passes by between `since` and the commit.
            self._database.rows(
                f"SELECT seq FROM followers WHERE name = 'notices'{self._database.for_update}"
            )
            if len(self.all()) >= WEBHOOKS_MAX:
                raise InvalidRequest(f"there are {WEBHOOKS_MAX} webhooks already; remove some")
            webhook = Webhook(
                id=webhook_id,
                url=url,
                events=tuple(dict.fromkeys(events)),
                content=content,
                secret=secret,
                old_secret=None,
                old_until=None,
                is_enabled=True,
                disabled_reason=None,
                origin=origin,
                created_at=now,
                since=self._head(),
                rests_until=0,
            )
            self._database.insert(WEBHOOKS, [_row(webhook)])
        return webhook

    def _head(self) -> int:
        ((count,),) = self._database.rows("SELECT count FROM anchor WHERE one = 1")
        return int(count or 0)

    def remove(self, webhook_id: str) -> None:
        """Forget an endpoint with all that was delivered to it."""
        with self._database.transaction():
            self.named(webhook_id)
            for table in ("delivery_attempts", "deliveries"):
                self._database.run(f"DELETE FROM {table} WHERE webhook_id = :id", id=webhook_id)
            self._database.run("DELETE FROM webhooks WHERE id = :id", id=webhook_id)

    def rotate(self, webhook_id: str, *, secret: str, old_until: Micros) -> Webhook:
        """Give an endpoint a new secret; until then the old one signs as well."""
        key_of(secret)
        with self._database.transaction():
            self.named(webhook_id)
            self._database.run(
                "UPDATE webhooks SET old_secret = secret, old_until = :until, secret = :secret WHERE id = :id",
                id=webhook_id,
                secret=secret,
                until=old_until,
            )
            return self.named(webhook_id)

    def enable(self, webhook_id: str) -> Webhook:
        """Tell an endpoint again, of what happens from now on."""
        with self._database.transaction():
            if not self.named(webhook_id).is_enabled:
                self._database.run(
                    "UPDATE webhooks SET is_enabled = :yes, disabled_reason = NULL, rests_until = 0, since = :since"
                    " WHERE id = :id",
                    id=webhook_id,
                    yes=True,
                    since=self._head(),
                )
            return self.named(webhook_id)

    def disable(self, webhook_id: str, reason: str) -> None:
        """Tell an endpoint nothing more."""
        self._database.run(
            "UPDATE webhooks SET is_enabled = :no, disabled_reason = :reason WHERE id = :id",
            id=webhook_id,
            no=False,
            reason=reason,
        )

    def rest(self, webhook_id: str, until: Micros) -> None:
        """Leave an endpoint alone until then, as it asked for."""
        self._database.run(
            "UPDATE webhooks SET rests_until = :until WHERE id = :id AND rests_until < :until",
            id=webhook_id,
            until=until,
        )

    def declare(
        self, declared: Iterable[Declared], *, new_secret: Callable[[], str], now: Micros
    ) -> None:
        """Make the endpoints of the settings the ones in force; those that they no longer name are disabled."""
        wanted = {each.id: each for each in declared}
        with self._database.transaction():
            known = {each.id: each for each in self.all() if each.origin == FROM_SETTINGS}
            for webhook_id, each in wanted.items():
                if webhook_id in known:
                    self._renew(known[webhook_id], each)
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
                    self.disable(webhook_id, NOT_DECLARED)

    def _renew(self, known: Webhook, each: Declared) -> None:
        self._database.run(
            "UPDATE webhooks SET events = :events, content = :content, secret = :secret WHERE id = :id",
            id=known.id,
            events=msgspec.json.encode(each.events).decode(),
            content=each.content,
            secret=each.secret or known.secret,
        )
        if known.disabled_reason == NOT_DECLARED:
            self.enable(known.id)


def _row(webhook: Webhook) -> Row:
    values = msgspec.structs.asdict(webhook)
    values["events"] = msgspec.json.encode(webhook.events).decode()
    return tuple(values[name] for name in WEBHOOKS.columns)


def _webhook(row: Row) -> Webhook:
    values = dict(zip(WEBHOOKS.columns, row, strict=True))
    values["events"] = _decode_events(str(values["events"]))  # type: ignore[assignment]
    values["is_enabled"] = bool(values["is_enabled"])
    return Webhook(**values)  # type: ignore[arg-type]
