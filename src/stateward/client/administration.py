"""The installation: health, diagnosis, verification, erasure, the change feed, keys, webhooks."""

from collections.abc import Iterator, Sequence
from typing import Literal

from stateward import schemas
from stateward.client.requests import Requests
from stateward.client.steps import (
    Call,
    Steps,
    given_parameters,
    part,
    problem_of,
    read,
    refuse,
    send_once,
)


class AdministrationOperations(Requests):
    """Operations on the installation as a whole."""

    def health(self) -> schemas.Health:
        """That the service answers."""
        return self._get("/healthz", schemas.Health)

    def readiness(self) -> schemas.Readiness:
        """Whether the service can do its work, and what is missing if it cannot; it is asked once."""

        def steps() -> Steps[schemas.Readiness]:
            answer = yield from send_once(Call("GET", "/readyz"), url=self._url)
            if problem_of(answer) is not None:
                refuse(answer)
            return read(answer, schemas.Readiness)

        return self._run(steps())

    def metrics(self) -> str:
        """The numbers that Prometheus reads, in its text format."""
        return self._text("/metrics")

    def doctor(self) -> schemas.Diagnosis:
        """What is wrong with the installation."""
        return self._get("/doctor", schemas.Diagnosis)

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
        """Entries of the audit log, the newest first; with `after`, those after that number, the oldest first."""
        params = given_parameters(
            actor=actor, verb=verb, record_id=record_id, since=since, until=until, after=after
        )
        return self._pages("/audit", params, schemas.AuditPage)

    def dead_letters(self, *, limit: int = 200) -> Iterator[schemas.DeadLetter]:
        """Events and messages that could not be read, newest first; `limit` is how many a page has."""
        return self._pages("/dead-letters", given_parameters(limit=limit), schemas.DeadLetterPage)

    def transport_letters(self, *, limit: int = 200) -> schemas.TransportLetters:
        """Messages of the broker that could not be used, newest first."""
        params = given_parameters(limit=limit)
        return self._get("/dead-letters/transport", schemas.TransportLetters, params=params)

    def act_on_letters(
        self, action: schemas.LetterAction, ids: Sequence[str]
    ) -> schemas.LetterOutcomes:
        """Drop such messages, or have the attempts that they were about done again (`resend`)."""
        asked = schemas.LetterRequest(action=action, ids=list(ids))
        return self._post("/dead-letters/transport", asked, schemas.LetterOutcomes)

    def verify(self, *, checkpoint: str | None = None) -> schemas.Verification:
        """Replay the whole history and check it, also against a checkpoint that was kept elsewhere."""
        if checkpoint is None:
            return self._get("/verify", schemas.Verification)
        return self._post("/verify", {"checkpoint": checkpoint}, schemas.Verification)

    def history_lines(self) -> Iterator[bytes]:
        """Every transition as a line of JSON, in the order of the log."""
        return self._lines("/history/export")

    def erase(
        self,
        record_ids: Sequence[str] = (),
        *,
        reason: str,
        subject: str | None = None,
        is_dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.ErasureAnswer:
        """Delete what records held, named by their ids or by a label (`LABEL=VALUE`), and keep the proof."""
        request = schemas.ErasureRequest(
            record_ids=list(record_ids), subject=subject, reason=reason, is_dry_run=is_dry_run
        )
        return self._post("/erasures", request, schemas.ErasureAnswer, key=idempotency_key)

    def hold(
        self,
        record_id: str,
        *,
        reason: str,
        is_held: bool = True,
        idempotency_key: str | None = None,
    ) -> schemas.HeldRecord:
        """Forbid the deletion of anything of a record, or allow it again."""
        request = schemas.HoldRequest(is_held=is_held, reason=reason)
        return self._post(
            f"/records/{part(record_id)}/hold", request, schemas.HeldRecord, key=idempotency_key
        )

    def holds(self) -> list[schemas.HeldRecord]:
        """The records of which nothing may be deleted."""
        return self._list("/holds", schemas.HeldRecords)

    def apply_retention(self, *, is_dry_run: bool = False) -> schemas.RetentionAnswer:
        """Apply the rules of retention now."""
        request = schemas.RetentionRequest(is_dry_run=is_dry_run)
        return self._post("/retention", request, schemas.RetentionAnswer, key=None)

    # The change feed

    def feed(self) -> schemas.FeedDocument:
        """How far the change feed has come."""
        return self._get("/feed", schemas.FeedDocument)

    def replay_feed(self, seq: int) -> schemas.FeedDocument:
        """Have everything from a transition on sent again, by its `seq`."""
        request = schemas.FeedReplayRequest(seq=seq)
        return self._post("/feed/replay", request, schemas.FeedDocument, key=None)

    # Keys

    def keys(self) -> list[schemas.KeyDocument]:
        """The keys of the API and console, without their secrets."""
        return self._list("/keys", schemas.KeyList)

    def create_key(
        self,
        name: str,
        role: Literal["viewer", "submitter", "reviewer", "operator", "admin"],
        *,
        pipelines: Sequence[str] = (),
        days: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.KeyDocument:
        """Make a key; its text is `key` in this answer, and in no other."""
        request = schemas.KeyRequest(
            name=name,
            role=role,
            pipelines=tuple(pipelines),
            days=days,
            rate_per_minute=rate_per_minute,
            upload_bytes_max=upload_bytes_max,
        )
        return self._post("/keys", request, schemas.KeyDocument, key=idempotency_key)

    def revoke_key(self, key_id: str) -> schemas.KeyRevoked:
        """Close a key, from the next request on."""
        return self._delete(f"/keys/{part(key_id)}", schemas.KeyRevoked)

    # Webhooks

    def webhooks(self) -> list[schemas.WebhookDocument]:
        """The webhooks with their events and states, without secrets."""
        return self._list("/webhooks", schemas.WebhookList)

    def webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        """An address that is told, without its secret."""
        return self._get(f"/webhooks/{part(webhook_id)}", schemas.WebhookDocument)

    def add_webhook(
        self,
        url: str,
        events: Sequence[str],
        *,
        content: Literal["standard", "cloudevents"] = "standard",
        secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.WebhookDocument:
        """Tell one more address, from now on; `secret` is in this answer and in no other."""
        request = schemas.WebhookRequest(
            url=url, events=tuple(events), content=content, secret=secret
        )
        return self._post("/webhooks", request, schemas.WebhookDocument, key=idempotency_key)

    def remove_webhook(self, webhook_id: str) -> None:
        """Forget an address and what was delivered to it."""
        return self._delete(f"/webhooks/{part(webhook_id)}", type(None))

    def rotate_webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        """Make a new secret, which is in this answer; for a while messages are signed with both."""
        return self._post(f"/webhooks/{part(webhook_id)}/rotate", None, schemas.WebhookDocument)

    def enable_webhook(self, webhook_id: str) -> schemas.WebhookDocument:
        """Tell an address again."""
        return self._post(f"/webhooks/{part(webhook_id)}/enable", None, schemas.WebhookDocument)

    def disable_webhook(
        self, webhook_id: str, *, reason: str | None = None
    ) -> schemas.WebhookDocument:
        """Tell an address nothing for now."""
        request = schemas.DisableRequest(reason=reason)
        return self._post(f"/webhooks/{part(webhook_id)}/disable", request, schemas.WebhookDocument)

    def ping_webhook(self, webhook_id: str) -> schemas.DeliveryDocument:
        """Send a test; look at the delivery for its answer."""
        return self._post(f"/webhooks/{part(webhook_id)}/ping", None, schemas.DeliveryDocument)

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: Literal["pending", "delivered", "dead"] | None = None,
        limit: int = 200,
    ) -> Iterator[schemas.DeliveryDocument]:
        """Messages, newest first; `limit` is how many a page has."""
        query = given_parameters(
            webhook_id=webhook_id, record_id=record_id, state=state, limit=limit
        )
        return self._pages("/deliveries", query, schemas.DeliveryPage)

    def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument:
        """One message, with every attempt."""
        path = f"/deliveries/{part(webhook_id)}/{part(message_id)}"
        return self._get(path, schemas.DeliveryDocument)

    def replay_deliveries(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: Literal["delivered", "dead"] | None = None,
        since: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Replayed:
        """Deliver messages again, under the same ids."""
        request = schemas.ReplayRequest(
            webhook_id=webhook_id, message_id=message_id, state=state, since=since
        )
        return self._post("/deliveries/replay", request, schemas.Replayed, key=idempotency_key)
