"""The operations on webhooks and deliveries for CLI, API and console, and the notifier that the settings describe."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import SECOND, Fields, Json, Micros, clean_text, plain_actor
from stateward.http_addresses import AllowedHosts
from stateward.notifications.deliveries import Delivery, DeliveryAttempt, DeliveryState
from stateward.notifications.email import EmailAddresses, Mailer
from stateward.notifications.endpoints import PREFIX, ConfiguredEndpoint, Endpoints, Webhook
from stateward.notifications.messages import (
    CONTENTS,
    ERASED,
    FLAGGED,
    PING,
    Content,
    MessageNames,
    ping_body,
)
from stateward.notifications.notifier import EmailOptions, Notifier, NotifierOptions
from stateward.notifications.outbox import Outbox
from stateward.notifications.sending import Sender
from stateward.schemas.base import REASON_CHARS_MAX
from stateward.settings import NotificationSettings, Settings
from stateward.storage.audit import (
    WEBHOOK_ADDED,
    WEBHOOK_DISABLED,
    WEBHOOK_ENABLED,
    WEBHOOK_REMOVED,
    WEBHOOK_ROTATED,
    AuditEntry,
    AuditLog,
)
from stateward.storage.database import Database
from stateward.storage.sealing import SETTINGS, SecretKeys, open_url
from stateward.telemetry import Log
from stateward.telemetry.tracing import Spans

DAY_S = 86_400


class NotificationService:
    """Webhooks and their deliveries: list, add, change, test, replay."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        clock: Callable[[], Micros],
        new_id: Callable[[str], str],
        new_secret: Callable[[], str],
        secrets: SecretKeys,
        statuses: Mapping[str, Iterable[str]],
        names: Mapping[str, MessageNames] | None = None,
    ) -> None:
        own = settings.notifications
        self._database = database
        self._settings = settings
        self._own = own
        self._clock, self._new_id, self._new_secret = clock, new_id, new_secret
        self._statuses = statuses
        self._public_url = None if own.public_url is None else own.public_url.rstrip("/")
        self._allowed = AllowedHosts(own.webhook_allow, ports=own.webhook_ports)
        self._secrets = secrets
        self._endpoints = Endpoints(database, allowed=self._allowed, secrets=secrets)
        self._outbox = Outbox(
            database,
            backoff_s=own.webhook_backoff_seconds,
            public_url=self._public_url,
            names=names,
        )

    # Secrets

    def seal_secrets(self) -> int:
        """Seal the secrets of endpoints that versions before this stored as they are; how many."""
        return self._endpoints.seal_plain(now=self._clock())

    def with_secret(self, webhook_id: str) -> Webhook:
        """One endpoint with its secret as it is, for who may read the key file."""
        webhook = self._endpoints.get(webhook_id)
        secret, *_ = self._endpoints.secrets(webhook, self._clock())
        return replace(webhook, secret=secret, old_secret=None)

    def check_secret(self, webhook: Webhook) -> None:
        """Raise `SecretUnreadable` if messages to an endpoint cannot be signed here."""
        self._endpoints.secrets(webhook, self._clock())

    def rewrap_secrets(self) -> int:
        """Bring the secrets of endpoints under the newest key; how many endpoints there are."""
        return self._endpoints.rewrap(now=self._clock())

    # Endpoints

    def webhooks(self) -> list[Webhook]:
        """Every endpoint, oldest first."""
        return self._endpoints.all()

    def webhook(self, webhook_id: str) -> Webhook:
        return self._endpoints.get(webhook_id)

    def add(
        self,
        url: str,
        *,
        events: Sequence[str],
        actor: str,
        content: str = "standard",
        secret: str | None = None,
    ) -> Webhook:
        """Send what happens from now on to one more address; the result holds its secret."""
        with self._database.transaction():
            made = self._endpoints.add(
                self._new_id(PREFIX),
                url=url,
                events=[self._event(each) for each in events],
                secret=secret or self._new_secret(),
                content=_content(content),
                origin=actor,
                now=self._clock(),
            )
            self._note(WEBHOOK_ADDED, made.id, actor, events=list(made.events), host=_host(url))
        return made

    def _note(self, verb: str, webhook_id: str, actor: str, **detail: Json) -> None:
        """Who is told, and who changed that, belongs to the history. The whole address may hold a secret."""
        fields: Fields = {"webhook_id": webhook_id, **detail}
        entry = AuditEntry(at=self._clock(), actor=actor, verb=verb, detail=fields)
        AuditLog(self._database).add([entry])

    def _event(self, text: str) -> str:
        """`invoices.completed`, `invoices.*` or `*`; a bare status where only one machine has it."""
        machine, dot, status = text.partition(".")
        if text == "*" or (dot and machine in self._statuses and status == "*"):
            return text
        if dot:
            if status in self._statuses.get(machine, ()) or (
                status in (FLAGGED, ERASED) and machine in self._statuses
            ):
                return text
            machines = [machine] if machine in self._statuses else self._statuses
            known = [f"{name}.{each}" for name in machines for each in self._statuses[name]]
            raise UnknownName("event", text[:80], known)
        having = [name for name, statuses in self._statuses.items() if text in statuses]
        if len(having) == 1:
            return f"{having[0]}.{text}"
        if having:
            where = ", ".join(f"{name}.{text}" for name in having)
            raise InvalidRequest(f"several machines have the status {text}; say which: {where}")
        known = sorted({each for statuses in self._statuses.values() for each in statuses})
        raise UnknownName("event", text[:80], known)

    def remove(self, webhook_id: str, *, actor: str) -> None:
        """Delete an endpoint with its deliveries."""
        with self._database.transaction():
            self._endpoints.remove(webhook_id, now=self._clock())
            self._note(WEBHOOK_REMOVED, webhook_id, actor)

    def rotate(self, webhook_id: str, *, actor: str, secret: str | None = None) -> Webhook:
        """Generate a new secret; the previous one also signs for `rotation_seconds`."""
        now = self._clock()
        until = now + round(self._own.rotation_seconds * SECOND)
        with self._database.transaction():
            changed = self._endpoints.rotate(
                webhook_id, secret=secret or self._new_secret(), old_until=until, now=now
            )
            self._note(WEBHOOK_ROTATED, webhook_id, actor)
        return changed

    def enable(self, webhook_id: str, *, actor: str) -> Webhook:
        """Send to a disabled endpoint again."""
        with self._database.transaction():
            changed = self._endpoints.enable(webhook_id, now=self._clock())
            self._note(WEBHOOK_ENABLED, webhook_id, actor)
        return changed

    def disable(self, webhook_id: str, *, actor: str, reason: str | None) -> Webhook:
        """Send nothing to an endpoint for now; what is pending becomes dead letters, which can be replayed."""
        said = f"disabled by {plain_actor(actor)}" + (f": {reason}" if reason else "")
        reason = clean_text(said, chars_max=REASON_CHARS_MAX)
        with self._database.transaction():
            self._outbox.cursor()
            self._endpoints.get(webhook_id)
            self._endpoints.disable(webhook_id, reason, now=self._clock())
            self._outbox.mark_dead(webhook_id, reason, now=self._clock())
            self._note(WEBHOOK_DISABLED, webhook_id, actor, reason=reason)
            return self._endpoints.get(webhook_id)

    # Deliveries

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: DeliveryState | None = None,
        after: tuple[Micros, str, str] | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        """Deliveries, newest first."""
        return self._outbox.find(
            webhook_id=webhook_id, record_id=record_id, state=state, after=after, limit=limit
        )

    def delivery(self, webhook_id: str, message_id: str) -> tuple[Delivery, list[DeliveryAttempt]]:
        found = self._outbox.get(webhook_id, message_id)
        return found, self._outbox.attempts(webhook_id, message_id)

    def ping(self, webhook_id: str) -> Delivery:
        """Send a test message to an endpoint; it is delivered like any other."""
        webhook = self._endpoints.get(webhook_id)
        if not webhook.is_enabled:
            raise InvalidRequest(
                f"{webhook_id} is disabled ({webhook.disabled_reason}); enable it first"
            )
        now = self._clock()
        message_id = self._new_id("ping")
        body = ping_body(message_id, at=now, content=webhook.content, public_url=self._public_url)
        delivery = Delivery(
            webhook_id=webhook_id,
            message_id=message_id,
            type=PING,
            body=body.decode(),
            created_at=now,
            due_at=now,
        )
        self._outbox.add(delivery)
        return delivery

    def replay(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: DeliveryState | None = None,
        since: Micros | None = None,
    ) -> int:
        """Deliver again, under the same ids; how many."""
        if webhook_id is not None:
            self._endpoints.get(webhook_id)
        return self._outbox.replay(
            now=self._clock(),
            webhook_id=webhook_id,
            message_id=message_id,
            state=state,
            since=since,
        )

    # Running

    def notifier(
        self,
        *,
        ticks: Callable[[], float],
        wake: Callable[[], None],
        log: Log,
        spans: Spans | None = None,
    ) -> Notifier:
        """A notifier; the endpoints of the settings are applied now."""
        own = self._own
        self._endpoints.configure(
            self._configured_endpoints(), new_secret=self._new_secret, now=self._clock()
        )
        sender = Sender(
            allowed=self._allowed,
            timeout_s=own.webhook_timeout_seconds,
            now=self._clock,
            ticks=ticks,
            ca_file=own.ca_file,
        )
        intervals = [self._settings.machine(name).check_interval_s for name in self._statuses]
        options = NotifierOptions(
            concurrency=own.webhook_concurrency,
            timeout_s=own.webhook_timeout_seconds,
            # A record is due when its lease ends; only after another one is no coordinator about to act.
            overdue_s=2 * self._settings.worker.lease_seconds,
            overdue_every_s=min(intervals),
            retention_s=own.retention_days * DAY_S,
        )
        return Notifier(
            options,
            database=self._database,
            endpoints=self._endpoints,
            outbox=self._outbox,
            sender=sender,
            email=_email_options(own, self._secrets),
            spans=spans,
            clock=self._clock,
            ticks=ticks,
            wake=wake,
            log=log,
        )

    def _configured_endpoints(self) -> list[ConfiguredEndpoint]:
        return [
            ConfiguredEndpoint(
                machine=machine,
                url=each.url,
                events=tuple(f"{machine}.{status}" for status in each.events),
                content=each.content,
                secret=None if each.secret_file is None else _read_secret(Path(each.secret_file)),
            )
            for machine in self._statuses
            for each in self._settings.machine(machine).webhooks
        ]


def open_mailer(own: NotificationSettings, secrets: SecretKeys) -> Mailer | None:
    """What sends email, if the settings name a server; nothing is connected yet."""
    if own.smtp_url is None:
        return None
    url = open_url(own.smtp_url, lambda text: secrets.open(text, purpose=SETTINGS))
    return Mailer(url, ca_file=own.ca_file)


def _email_options(own: NotificationSettings, secrets: SecretKeys) -> EmailOptions | None:
    """How email is sent, if the settings name a server and a recipient."""
    mailer = open_mailer(own, secrets)
    if own.admin_email is None or mailer is None:
        return None
    public_url = None if own.public_url is None else own.public_url.rstrip("/")
    return EmailOptions(
        mailer=mailer,
        addresses=EmailAddresses(
            sender=own.email_from or own.admin_email,
            recipient=own.admin_email,
            public_url=public_url,
        ),
        topics=frozenset(own.email_on),
        digest_over=own.digest_over,
        digest_s=own.digest_seconds,
    )


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _content(text: str) -> Content:
    for each in CONTENTS:
        if each == text:
            return each
    raise UnknownName("content", text[:80], CONTENTS)


def _read_secret(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"the secret of a webhook cannot be read from {path}: {error}"
        ) from None
