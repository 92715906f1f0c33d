"""A Stateward in this process, for commands: the installation itself, its keys and its webhooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stateward import schemas
from stateward.app.views import diagnosis_view, verification_view
from stateward.cli.apps import AppProtocol, DeliveryState
from stateward.core.model import time_given
from stateward.engine.system import person

# What a command does not call it need not wait for.
if TYPE_CHECKING:
    from stateward.app import App
    from stateward.storage.keys import Role

PAGE = 200
PING_S_MAX = 75.0
PING_POLL_S = 0.02


class LocalInstallation(AppProtocol):
    """The part of `AppProtocol` that is about no record; the actor is the person who runs the command."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def _actor(self) -> str:
        return person()

    def audit(
        self,
        *,
        actor: str | None = None,
        verb: str | None = None,
        record_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: int | None = None,
    ) -> Iterator[schemas.AuditItem]:
        from stateward.app.views import audit_view
        from stateward.storage.audit import ENTRIES_MAX, AuditQuery

        query = AuditQuery(
            actor=actor,
            verb=verb,
            record_id=record_id,
            since=time_given("--since", since),
            until=time_given("--until", until),
        )
        place, is_rising = after, after is not None
        while found := self._app.audit.find(
            query, place=place, is_rising=is_rising, limit=ENTRIES_MAX
        ):
            for place, entry in found:
                yield audit_view(place, entry)

    def doctor(self) -> schemas.Diagnosis:
        from stateward.app.doctor import checks

        return diagnosis_view(checks(self._app))

    def verify(
        self,
        *,
        checkpoint: str | None = None,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> schemas.Verification:
        from stateward.proofs.history_checkpoint import read_checkpoint

        kept = None if checkpoint is None else read_checkpoint(checkpoint)
        return verification_view(self._app.admin.verify(kept=kept, progress=progress))

    def erase_records(
        self,
        record_ids: Sequence[str],
        *,
        subject: str | None,
        reason: str,
        is_dry_run: bool,
        is_compacted: bool,
        progress: Callable[[str], None],
    ) -> schemas.ErasureAnswer:
        from stateward.app.subjects import records_of, remaining_copies
        from stateward.app.views import erasure_view

        app = self._app
        named = [self.whole(each) for each in record_ids]
        wanted = named if subject is None else records_of(app, subject)
        done = app.eraser.erase(wanted, actor=self._actor, reason=reason, is_dry_run=is_dry_run)
        # Also if nothing was left to erase: the command that erased it may have been killed before this.
        if is_compacted and not is_dry_run and (done.erased or not app.database.is_compact):
            progress("the database is written anew")
            app.database.compact()
        copies = remaining_copies(app.settings, is_compacted=is_compacted)
        return erasure_view(done, copies=copies, is_dry_run=is_dry_run)

    def hold(self, record_id: str, *, reason: str, is_held: bool = True) -> schemas.HeldRecord:
        from stateward.app.views import held_view

        change = self._app.eraser.hold if is_held else self._app.eraser.release
        done = change(self.whole(record_id), actor=self._actor, reason=reason)
        return held_view(done, is_held=is_held)

    def holds(self) -> list[schemas.HeldRecord]:
        from stateward.app.views import held_view

        return [held_view(each, is_held=True) for each in self._app.eraser.holds()]

    def apply_retention(
        self,
        *,
        is_dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> schemas.RetentionAnswer:
        from stateward.app.views import retention_view

        done = self._app.retention.run(actor=self._actor, is_dry_run=is_dry_run, progress=progress)
        return retention_view(done, is_dry_run=is_dry_run)

    def dead_letters(self) -> Iterator[schemas.DeadLetter]:
        from stateward.app.views import dead_letter_view

        before = None
        while found := self._app.store.dead_letters.page(before=before, limit=PAGE):
            yield from (dead_letter_view(*each) for each in found)
            before = found[-1][0]

    def transport_letters(self, *, limit: int = 200) -> schemas.TransportLetters:
        from stateward.app.transport_letters import listed_letters

        return listed_letters(self._app, limit=limit)

    def act_on_letters(
        self, action: schemas.LetterAction, ids: Sequence[str]
    ) -> schemas.LetterOutcomes:
        from stateward.app.transport_letters import act_on_letters

        done = act_on_letters(self._app, action, ids, actor=self._actor)
        return schemas.LetterOutcomes(items=done)

    def feed(self) -> schemas.FeedDocument:
        from stateward.app.feed import feed_status, feed_view

        return feed_view(self._app, feed_status(self._app))

    def replay_feed(self, seq: int) -> schemas.FeedDocument:
        from stateward.app.feed import feed_view, replay_feed

        return feed_view(self._app, replay_feed(self._app, seq, actor=self._actor))

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        """Write the whole history into a new or empty folder."""
        return self._app.admin.export(folder, progress=progress)

    # Keys

    def keys(self) -> list[schemas.KeyDocument]:
        from stateward.app.key_views import key_view

        now = self._app.clock()
        return [key_view(each, now=now) for each in self._app.keys.all()]

    def create_key(
        self,
        name: str,
        role: Role,
        *,
        pipelines: Sequence[str] = (),
        days: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
    ) -> schemas.KeyDocument:
        from stateward.app.key_views import key_view

        made, text = self._app.admin.new_key(
            name,
            role=role,
            pipelines=pipelines,
            days=days,
            rate_per_minute=rate_per_minute,
            upload_bytes_max=upload_bytes_max,
        )
        return key_view(made, now=self._app.clock(), text=text)

    def revoke_key(self, key_id: str) -> schemas.KeyRevoked:
        return schemas.KeyRevoked(id=key_id, was_open=self._app.admin.revoke_key(key_id))

    # Webhooks

    def webhooks(self) -> list[schemas.WebhookDocument]:
        from stateward.app.webhook_views import webhook_view

        return [webhook_view(each) for each in self._app.notifications.webhooks()]

    def webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        from stateward.app.webhook_views import webhook_view

        found = self._app.notifications.with_secret(webhook_id)
        return webhook_view(found, secret=found.secret)

    def add_webhook(
        self,
        url: str,
        events: Sequence[str],
        *,
        content: Literal["standard", "cloudevents"] = "standard",
    ) -> schemas.WebhookDocument:
        from stateward.app.webhook_views import webhook_view

        made = self._app.notifications.add(
            url, events=tuple(events), content=content, actor=self._actor
        )
        return webhook_view(made, secret=made.secret)

    def remove_webhook(self, webhook_id: str) -> None:
        self._app.notifications.remove(webhook_id, actor=self._actor)

    def rotate_webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        from stateward.app.webhook_views import webhook_view

        changed = self._app.notifications.rotate(webhook_id, actor=self._actor)
        return webhook_view(changed, secret=changed.secret)

    def enable_webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        from stateward.app.webhook_views import webhook_view

        return webhook_view(self._app.notifications.enable(webhook_id, actor=self._actor))

    def disable_webhook(
        self, webhook_id: str, *, reason: str | None = None
    ) -> schemas.WebhookDocument:
        from stateward.app.webhook_views import webhook_view

        return webhook_view(
            self._app.notifications.disable(webhook_id, actor=self._actor, reason=reason)
        )

    def test_webhook(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test, and be the notifier until it was tried once, here or by another."""
        sent = self._app.notifications.ping(webhook_id)
        deadline = time.monotonic() + PING_S_MAX
        with self._app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            while True:
                node.turn()
                found = self.delivery(webhook_id, sent.message_id)
                if found.log or found.state != "pending" or time.monotonic() >= deadline:
                    return found
                time.sleep(PING_POLL_S)

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: DeliveryState | None = None,
        limit: int = 200,
    ) -> Iterator[schemas.DeliveryDocument]:
        from stateward.app.webhook_views import delivery_view

        found = self._app.notifications.deliveries(
            webhook_id=webhook_id, record_id=record_id, state=state, limit=limit
        )
        return map(delivery_view, found)

    def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument:
        from stateward.app.webhook_views import delivery_view

        return delivery_view(*self._app.notifications.delivery(webhook_id, message_id))

    def replay_deliveries(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: Literal["delivered", "dead"] | None = None,
        since: str | None = None,
    ) -> schemas.Replayed:
        count = self._app.notifications.replay(
            webhook_id=webhook_id,
            message_id=message_id,
            state=state,
            since=time_given("--since", since),
        )
        return schemas.Replayed(replayed=count)
