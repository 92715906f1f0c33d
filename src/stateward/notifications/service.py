"""The desk: what doors ask of notices, and how a notifier is put together from the settings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import SECOND, Micros
from stateward.notifications.addresses import AllowedHosts, Lookup, look_up
from stateward.notifications.deliveries import Attempt, Delivery, State
from stateward.notifications.endpoints import (
    PREFIX,
    Declared,
    Endpoints,
    Webhook,
)
from stateward.notifications.messages import (
    CONTENTS,
    PING,
    Content,
    ping_of,
)
from stateward.notifications.notifier import Mailing, Notifier
from stateward.notifications.outbox import Outbox
from stateward.notifications.sending import Sender
from stateward.notifications.smtp import Mailbox, Mailer
from stateward.settings import NotificationSettings, Settings
from stateward.storage.database import Database
from stateward.telemetry import Log
from stateward.telemetry.tracing import Spans

DAY_S = 86_400


class NotificationService:
    """Webhooks and their deliveries, for people and programs."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        clock: Callable[[], Micros],
        new_id: Callable[[str], str],
        new_secret: Callable[[], str],
        statuses: Mapping[str, Iterable[str]],
        lookup: Lookup = look_up,
    ) -> None:
        own = settings.notifications
        self._database = database
        self._settings = settings
        self._own = own
        self._clock, self._new_id, self._new_secret = clock, new_id, new_secret
        self._statuses = statuses
        self._lookup = lookup
        self._public_url = None if own.public_url is None else own.public_url.rstrip("/")
        self._allowed = AllowedHosts(own.webhook_allow, ports=own.webhook_ports)
        self._endpoints = Endpoints(database, allowed=self._allowed)
        self._outbox = Outbox(
            database, backoff_s=own.webhook_backoff_seconds, public_url=self._public_url
        )

    # Endpoints

    def webhooks(self) -> list[Webhook]:
        """Every endpoint, oldest first."""
        return self._endpoints.all()

    def webhook(self, webhook_id: str) -> Webhook:
        """One endpoint."""
        return self._endpoints.named(webhook_id)

    def add(
        self,
        url: str,
        *,
        events: Sequence[str],
        actor: str,
        content: str = "standard",
        secret: str | None = None,
    ) -> Webhook:
        """Tell one more address of what happens from now on; its secret is in the answer."""
        return self._endpoints.add(
            self._new_id(PREFIX),
            url=url,
            events=[self._event(each) for each in events],
            secret=secret or self._new_secret(),
            content=_content(content),
            origin=actor,
            now=self._clock(),
        )

    def _event(self, text: str) -> str:
        """`upload.normalized`, `upload.*` or `*`; a bare status where only one machine has it."""
        machine, dot, status = text.partition(".")
        if text == "*" or (dot and machine in self._statuses and status == "*"):
            return text
        if dot:
            of = self._statuses if machine not in self._statuses else [machine]
            if machine not in self._statuses or status not in self._statuses[machine]:
                known = [f"{name}.{each}" for name in of for each in self._statuses[name]]
                raise UnknownName("event", text[:80], known)
            return text
        having = [name for name, statuses in self._statuses.items() if text in statuses]
        if len(having) == 1:
            return f"{having[0]}.{text}"
        if having:
            said = ", ".join(f"{name}.{text}" for name in having)
            raise InvalidRequest(f"several machines have the status {text}; say which: {said}")
        known = sorted({each for statuses in self._statuses.values() for each in statuses})
        raise UnknownName("event", text[:80], known)

    def remove(self, webhook_id: str) -> None:
        """Forget an endpoint, with what was delivered to it."""
        self._endpoints.remove(webhook_id)

    def rotate(self, webhook_id: str, *, secret: str | None = None) -> Webhook:
        """A new secret; the old one signs too for a while."""
        until = self._clock() + round(self._own.rotation_seconds * SECOND)
        return self._endpoints.rotate(
            webhook_id, secret=secret or self._new_secret(), old_until=until
        )

    def enable(self, webhook_id: str) -> Webhook:
        """Tell an endpoint again that was disabled."""
        return self._endpoints.enable(webhook_id)

    def disable(self, webhook_id: str, *, reason: str) -> Webhook:
        """Tell an endpoint nothing for now; what waits for it is dead, and can be replayed."""
        with self._database.transaction():
            self._endpoints.named(webhook_id)
            self._endpoints.disable(webhook_id, reason)
            self._outbox.bury_all(webhook_id, reason, now=self._clock())
            return self._endpoints.named(webhook_id)

    # Deliveries

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: State | None = None,
        after: tuple[Micros, str, str] | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        """Deliveries, newest first."""
        return self._outbox.listed(
            webhook_id=webhook_id, record_id=record_id, state=state, after=after, limit=limit
        )

    def delivery(self, webhook_id: str, message_id: str) -> tuple[Delivery, list[Attempt]]:
        """One delivery with all that was sent and answered."""
        found = self._outbox.named(webhook_id, message_id)
        return found, self._outbox.attempts(webhook_id, message_id)

    def ping(self, webhook_id: str) -> Delivery:
        """Send a test to an endpoint; it is delivered like everything else."""
        webhook = self._endpoints.named(webhook_id)
        if not webhook.is_enabled:
            raise InvalidRequest(
                f"{webhook_id} is disabled ({webhook.disabled_reason}); enable it first"
            )
        now = self._clock()
        message_id = self._new_id("ping")
        body = ping_of(message_id, at=now, content=webhook.content, public_url=self._public_url)
        delivery = Delivery(
            webhook_id=webhook_id,
            message_id=message_id,
            type=PING,
            record_id=None,
            version=None,
            body=body.decode(),
            trace=None,
            created_at=now,
            state="pending",
            attempts=0,
            tries=0,
            due_at=now,
            ended_at=None,
            status=None,
            error=None,
        )
        self._outbox.add(delivery)
        return delivery

    def replay(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: State | None = None,
        since: Micros | None = None,
    ) -> int:
        """Deliver again, under the same ids; how many."""
        if webhook_id is not None:
            self._endpoints.named(webhook_id)
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
        """What delivers; the endpoints of the settings are the ones in force from here on."""
        own = self._own
        self._endpoints.declare(self._declared(), new_secret=self._new_secret, now=self._clock())
        sender = Sender(
            allowed=self._allowed,
            timeout_s=own.webhook_timeout_seconds,
            now=self._clock,
            ticks=ticks,
            lookup=self._lookup,
            ca_file=own.ca_file,
        )
        return Notifier(
            database=self._database,
            endpoints=self._endpoints,
            outbox=self._outbox,
            sender=sender,
            mailing=mailing_of(own),
            concurrency=own.webhook_concurrency,
            timeout_s=own.webhook_timeout_seconds,
            overdue_s=2 * self._settings.worker.lease_seconds,
            keep_s=own.retention_days * DAY_S,
            clock=self._clock,
            ticks=ticks,
            wake=wake,
            log=log,
            overdue_every_s=min(
                self._settings.machine(machine).check_interval_s for machine in self._statuses
            ),
            spans=spans,
        )

    def _declared(self) -> list[Declared]:
        return [
            Declared(
                machine=machine,
                url=each.url,
                events=tuple(f"{machine}.{status}" for status in each.events),
                content=each.content,
                secret=None if each.secret_file is None else _read_secret(Path(each.secret_file)),
            )
            for machine in self._statuses
            for each in self._settings.machine(machine).webhooks
        ]


def mailing_of(own: NotificationSettings) -> Mailing | None:
    """How mail is sent, if the settings say to whom."""
    if own.admin_email is None or own.smtp_url is None:
        return None
    public_url = None if own.public_url is None else own.public_url.rstrip("/")
    return Mailing(
        mailer=Mailer(own.smtp_url, ca_file=own.ca_file),
        box=Mailbox(
            sender=own.email_from or own.admin_email,
            recipient=own.admin_email,
            public_url=public_url,
        ),
        topics=frozenset(own.email_on),
        digest_over=own.digest_over,
        digest_s=own.digest_seconds,
    )


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
