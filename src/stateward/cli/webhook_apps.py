"""What `stateward webhook` asks for: in this process (`LocalWebhooks`) or over HTTP (`RemoteWebhooks`).

Both answer with the documents of the HTTP API, so that a command prints the same wherever it asks.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Literal, Protocol

from stateward import schemas
from stateward.cli.apps import one_of

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.cli.context import CliContext
    from stateward.client import Client
    from stateward.notifications import Delivery

PING_S_MAX = 75.0
PING_POLL_S = 0.02
REMOTE_POLL_S = 0.25
DeliveryState = Literal["pending", "delivered", "dead"]


class Webhooks(Protocol):
    """The webhooks of a Stateward. Who changes them is the person at this machine, or the one whose key it is."""

    def whole(self, webhook_id: str) -> str:
        """The id that a person means, who may have typed its beginning."""
        return one_of(webhook_id, (each.id for each in self.all()))

    def whole_record(self, record_id: str) -> str:
        """The same for the id of a record."""
        ...

    def add(self, url: str, events: Sequence[str], content: str) -> schemas.WebhookDocument:
        """Add an address; the answer has its secret."""
        ...

    def all(self) -> list[schemas.WebhookDocument]:
        """Who is told."""
        ...

    def get(self, webhook_id: str) -> schemas.WebhookDocument:
        """One of them; with its secret where that can be read."""
        ...

    def rotate(self, webhook_id: str) -> schemas.WebhookDocument:
        """Make a new secret; the answer has it."""
        ...

    def enable(self, webhook_id: str) -> schemas.WebhookDocument:
        """Tell it again."""
        ...

    def disable(self, webhook_id: str, reason: str) -> schemas.WebhookDocument:
        """Tell it nothing for now."""
        ...

    def remove(self, webhook_id: str) -> None:
        """Forget it."""
        ...

    def ping(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test, and wait until it was tried once."""
        ...

    def deliveries(
        self,
        *,
        webhook_id: str | None,
        record_id: str | None,
        state: DeliveryState | None,
        limit: int,
    ) -> list[schemas.DeliveryDocument]:
        """Messages, newest first."""
        ...

    def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument:
        """One message, with every attempt."""
        ...

    def replay(
        self,
        *,
        webhook_id: str | None,
        message_id: str | None,
        is_dead: bool,
        since: str | None,
    ) -> int:
        """Deliver messages again; how many."""
        ...


@contextmanager
def webhooks(context: "CliContext") -> Iterator[Webhooks]:
    """The webhooks of this installation, or with --server those of another."""
    settings = context.settings()
    if settings.server.url is None:
        with context.local_app(settings) as app:
            yield LocalWebhooks(app)
        return
    from stateward.client import Client

    with context.client(Client) as client:
        yield RemoteWebhooks(client)


class LocalWebhooks(Webhooks):
    """On the database itself."""

    def __init__(self, app: "App") -> None:
        from stateward.app import webhook_views
        from stateward.engine.system import person

        self._app, self._own, self._views = app, app.notifications, webhook_views
        self._actor = person()

    def whole_record(self, record_id: str) -> str:
        """The id of a record that a person means."""
        from stateward.cli.local import LocalApp

        return LocalApp(self._app).whole(record_id)

    def add(self, url: str, events: Sequence[str], content: str) -> schemas.WebhookDocument:
        made = self._own.add(url, events=tuple(events), content=content, actor=self._actor)
        return self._views.webhook_view(made, secret=made.secret)

    def all(self) -> list[schemas.WebhookDocument]:
        return [self._views.webhook_view(each) for each in self._own.webhooks()]

    def get(self, webhook_id: str) -> schemas.WebhookDocument:
        found = self._own.with_secret(webhook_id)
        return self._views.webhook_view(found, secret=found.secret)

    def rotate(self, webhook_id: str) -> schemas.WebhookDocument:
        changed = self._own.rotate(webhook_id, actor=self._actor)
        return self._views.webhook_view(changed, secret=changed.secret)

    def enable(self, webhook_id: str) -> schemas.WebhookDocument:
        return self._views.webhook_view(self._own.enable(webhook_id, actor=self._actor))

    def disable(self, webhook_id: str, reason: str) -> schemas.WebhookDocument:
        from stateward.core.model import plain_actor

        said = f"disabled by {plain_actor(self._actor)}" + (f": {reason}" if reason else "")
        return self._views.webhook_view(
            self._own.disable(webhook_id, actor=self._actor, reason=said)
        )

    def remove(self, webhook_id: str) -> None:
        self._own.remove(webhook_id, actor=self._actor)

    def ping(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test, and be the notifier until it was tried once, here or by another."""
        sent = self._own.ping(webhook_id)
        with self._app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            _wait(lambda: self._is_tried(sent), node.turn, PING_POLL_S)
        return self.delivery(webhook_id, sent.message_id)

    def _is_tried(self, sent: "Delivery") -> bool:
        found, attempts = self._own.delivery(sent.webhook_id, sent.message_id)
        return bool(attempts) or found.state != "pending"

    def deliveries(
        self,
        *,
        webhook_id: str | None,
        record_id: str | None,
        state: DeliveryState | None,
        limit: int,
    ) -> list[schemas.DeliveryDocument]:
        found = self._own.deliveries(
            webhook_id=webhook_id, record_id=record_id, state=state, limit=limit
        )
        return [self._views.delivery_view(each) for each in found]

    def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument:
        return self._views.delivery_view(*self._own.delivery(webhook_id, message_id))

    def replay(
        self, *, webhook_id: str | None, message_id: str | None, is_dead: bool, since: str | None
    ) -> int:
        from stateward.core.model import from_iso

        return self._own.replay(
            webhook_id=webhook_id,
            message_id=message_id,
            state="dead" if is_dead else None,
            since=None if since is None else from_iso(since),
        )


class RemoteWebhooks(Webhooks):
    """Over HTTP."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def whole(self, webhook_id: str) -> str:
        """The id that a person means; as it was typed for who may not list webhooks.

        What is then done with it is refused as well, in a sentence that names the roles that can do that: some of it
        needs more than the list does.
        """
        from stateward.client import ApiProblem

        try:
            return super().whole(webhook_id)
        except ApiProblem as problem:
            if problem.kind != "forbidden":
                raise
            return webhook_id

    def whole_record(self, record_id: str) -> str:
        """The id of a record that a person means."""
        from stateward.cli.remote import RemoteApp

        return RemoteApp(self._client).whole(record_id)

    def add(self, url: str, events: Sequence[str], content: str) -> schemas.WebhookDocument:
        kind: Literal["standard", "cloudevents"] = (
            "cloudevents" if content == "cloudevents" else "standard"
        )
        return self._client.add_webhook(url, events, content=kind)

    def all(self) -> list[schemas.WebhookDocument]:
        return self._client.webhooks()

    def get(self, webhook_id: str) -> schemas.WebhookDocument:
        """One of them; a secret is not sent again."""
        return self._client.webhook(webhook_id)

    def rotate(self, webhook_id: str) -> schemas.WebhookDocument:
        return self._client.rotate_webhook(webhook_id)

    def enable(self, webhook_id: str) -> schemas.WebhookDocument:
        return self._client.enable_webhook(webhook_id)

    def disable(self, webhook_id: str, reason: str) -> schemas.WebhookDocument:
        return self._client.disable_webhook(webhook_id, reason=reason or None)

    def remove(self, webhook_id: str) -> None:
        self._client.remove_webhook(webhook_id)

    def ping(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test, and wait until the notifier there has tried it once."""
        sent = self._client.ping_webhook(webhook_id)

        def is_tried() -> bool:
            found = self._client.delivery(webhook_id, sent.message_id)
            return bool(found.attempts) or found.state != "pending"

        _wait(is_tried, lambda: None, REMOTE_POLL_S)
        return self.delivery(webhook_id, sent.message_id)

    def deliveries(
        self,
        *,
        webhook_id: str | None,
        record_id: str | None,
        state: DeliveryState | None,
        limit: int,
    ) -> list[schemas.DeliveryDocument]:
        found = self._client.deliveries(
            webhook_id=webhook_id, record_id=record_id, state=state, limit=limit
        )
        return list(islice(found, limit))

    def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument:
        return self._client.delivery(webhook_id, message_id)

    def replay(
        self, *, webhook_id: str | None, message_id: str | None, is_dead: bool, since: str | None
    ) -> int:
        return self._client.replay_deliveries(
            webhook_id=webhook_id,
            message_id=message_id,
            state="dead" if is_dead else None,
            since=since,
        ).replayed


def _wait(is_done: Callable[[], bool], turn: Callable[[], object], poll_s: float) -> None:
    deadline = time.monotonic() + PING_S_MAX
    while time.monotonic() < deadline:
        turn()
        if is_done():
            return
        time.sleep(poll_s)
