# Made by `python tools/async_stub.py` from the operations of the client; do not edit.

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, Self

from stateward import schemas
from stateward.client import Source
from stateward.core.model import Fields

class AsyncClient:
    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = ...,
        tries: int = ...,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def close(self) -> None: ...
    async def submit(
        self,
        source: Source,
        *,
        machine: str | None = None,
        source_type: str | None = None,
        name: str | None = None,
        priority: int | str | None = None,
        labels: Mapping[str, str] | None = None,
        reason: str | None = None,
        on_duplicate: Literal["refuse", "return"] = "return",
        idempotency_key: str | None = None,
    ) -> schemas.RecordOpened: ...
    async def detect(self, source: Source) -> list[schemas.DetectedType]: ...
    async def refused_uploads(self) -> list[schemas.RefusedUpload]: ...
    async def dismiss_refused_upload(self, refused_id: str) -> None: ...
    async def dismiss_refused_uploads(self) -> None: ...
    async def record(self, record_id: str) -> schemas.Record: ...
    def records(
        self,
        q: str | None = None,
        *,
        status: Iterable[str] = (),
        source_type: Iterable[str] = (),
        limit: int = 200,
    ) -> AsyncIterator[schemas.Record]: ...
    async def wait(self, record_id: str, *, timeout_s: float = 300.0) -> schemas.Record: ...
    def history(self, record_id: str) -> AsyncIterator[schemas.Transition]: ...
    def items(
        self,
        record_id: str,
        *,
        kind: str | None = None,
        stage: str | None = None,
        edition: int | None = None,
    ) -> AsyncIterator[Fields]: ...
    async def item_page(
        self,
        record_id: str,
        *,
        kind: str | None = None,
        stage: str | None = None,
        edition: int | None = None,
        cursor: str | None = None,
    ) -> schemas.ItemPage: ...
    async def log(self, record_id: str, stage: str) -> schemas.StageLog: ...
    async def files(self, record_id: str) -> list[schemas.RecordFile]: ...
    def file(self, record_id: str, stage: str, name: str) -> AsyncIterator[bytes]: ...
    async def provenance(
        self, record_id: str, *, form: Literal["prov", "openlineage"] = "prov"
    ) -> schemas.Provenance: ...
    async def explain(self, record_id: str) -> schemas.Why: ...
    async def counts(self, q: str | None = None) -> list[schemas.StatusCount]: ...
    def search(
        self,
        text: str,
        *,
        pipeline: str = "",
        types: Sequence[str] = (),
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> AsyncIterator[schemas.SearchHit]: ...
    async def search_as(
        self,
        text: str,
        format_: str,
        *,
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> str: ...
    async def errors(self) -> list[schemas.ErrorGroup]: ...
    async def machines(self) -> list[schemas.MachineSummary]: ...
    async def machine(self, name: str) -> schemas.MachineDetail: ...
    async def graph(self, name: str) -> str: ...
    async def pauses(self) -> list[schemas.Pause]: ...
    def events(
        self, *, after: int | None = None, machine: str | None = None
    ) -> AsyncIterator[schemas.Transition]: ...
    async def retry(
        self,
        record_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def cancel(
        self,
        record_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def set_priority(
        self,
        record_id: str,
        priority: int,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def reprocess(
        self,
        record_id: str,
        hints: Mapping[str, str] | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.RecordOpened: ...
    async def advance(
        self, record_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> schemas.Record: ...
    async def move(
        self,
        record_id: str,
        event: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def decide_flags(
        self,
        record_id: str,
        action: Literal["confirm", "correct", "reject"],
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def reparse(
        self,
        record_id: str,
        hints: Mapping[str, str],
        *,
        secrets: Mapping[str, str] | None = None,
        is_preview: bool = False,
        is_reset: bool = False,
        accept_flags: bool = False,
        remember: bool = False,
        reason: str | None = None,
        reason_code: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.RereadAnswer: ...
    async def reread(
        self, record_id: str, asked: schemas.RereadRequest, *, idempotency_key: str | None = None
    ) -> schemas.RereadAnswer: ...
    async def batch(
        self,
        action: Literal["retry", "cancel", "priority"],
        *,
        query: str | None = None,
        ids: Iterable[str] = (),
        priority: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.Batch: ...
    async def get_batch(self, batch_id: str) -> schemas.Batch: ...
    def batches(self) -> AsyncIterator[schemas.Batch]: ...
    async def abort_batch(self, batch_id: str, *, version: int | None = None) -> schemas.Batch: ...
    async def pause(
        self, machine: str, *, stage: str | None = None, reason: str | None = None
    ) -> schemas.Paused: ...
    async def resume(self, machine: str, *, stage: str | None = None) -> schemas.Paused: ...
    def pending_reviews(self, *, limit: int = 200) -> AsyncIterator[schemas.ReviewTask]: ...
    async def get_review(self, record_id: str) -> schemas.ReviewDetail: ...
    async def review_statistics(self, *, days: int = 30) -> schemas.ReviewStatistics: ...
    async def claim_review(self, record_id: str) -> schemas.ReviewTask: ...
    async def unclaim_review(self, record_id: str) -> schemas.ReviewTask: ...
    async def create_review_link(
        self,
        record_id: str,
        person: str,
        *,
        hours: float | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewLink: ...
    async def review_links(self, record_id: str) -> list[schemas.ReviewLink]: ...
    async def revoke_review_link(
        self, record_id: str, link_id: str
    ) -> schemas.ReviewLinkRevoked: ...
    async def review(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record: ...
    async def hold_decision(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewTask: ...
    async def undo_decision(self, record_id: str) -> schemas.ReviewPending: ...
    async def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        is_blind: bool = False,
        notes: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewTask: ...
    async def decide_reviews(
        self,
        versions: Mapping[str, int],
        action: Literal["approve", "reject"],
        *,
        notes: str | None = None,
        reason_code: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewBatch: ...
    async def undo_reviews(self, batch_id: str) -> schemas.ReviewBatchUndone: ...
    def gold_lines(self) -> AsyncIterator[bytes]: ...
    async def health(self) -> schemas.Health: ...
    async def readiness(self) -> schemas.Readiness: ...
    async def metrics(self) -> str: ...
    async def doctor(self) -> schemas.Diagnosis: ...
    def audit(
        self,
        *,
        actor: str | None = None,
        verb: str | None = None,
        record_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: int | None = None,
    ) -> AsyncIterator[schemas.AuditItem]: ...
    def dead_letters(self, *, limit: int = 200) -> AsyncIterator[schemas.DeadLetter]: ...
    async def transport_letters(self, *, limit: int = 200) -> schemas.TransportLetters: ...
    async def act_on_letters(
        self, action: schemas.LetterAction, ids: Sequence[str]
    ) -> schemas.LetterOutcomes: ...
    async def verify(self, *, checkpoint: str | None = None) -> schemas.Verification: ...
    def history_lines(self) -> AsyncIterator[bytes]: ...
    async def erase(
        self,
        record_ids: Sequence[str] = (),
        *,
        reason: str,
        subject: str | None = None,
        is_dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.ErasureAnswer: ...
    async def hold(
        self,
        record_id: str,
        *,
        reason: str,
        is_held: bool = True,
        idempotency_key: str | None = None,
    ) -> schemas.HeldRecord: ...
    async def holds(self) -> list[schemas.HeldRecord]: ...
    async def apply_retention(self, *, is_dry_run: bool = False) -> schemas.RetentionAnswer: ...
    async def feed(self) -> schemas.FeedDocument: ...
    async def replay_feed(self, seq: int) -> schemas.FeedDocument: ...
    async def keys(self) -> list[schemas.KeyDocument]: ...
    async def create_key(
        self,
        name: str,
        role: Literal["viewer", "submitter", "reviewer", "operator", "admin"],
        *,
        pipelines: Sequence[str] = (),
        days: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.KeyDocument: ...
    async def revoke_key(self, key_id: str) -> schemas.KeyRevoked: ...
    async def webhooks(self) -> list[schemas.WebhookDocument]: ...
    async def webhook(self, webhook_id: str) -> schemas.WebhookDocument: ...
    async def add_webhook(
        self,
        url: str,
        events: Sequence[str],
        *,
        content: Literal["standard", "cloudevents"] = "standard",
        secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.WebhookDocument: ...
    async def remove_webhook(self, webhook_id: str) -> None: ...
    async def rotate_webhook(self, webhook_id: str) -> schemas.WebhookDocument: ...
    async def enable_webhook(self, webhook_id: str) -> schemas.WebhookDocument: ...
    async def disable_webhook(
        self, webhook_id: str, *, reason: str | None = None
    ) -> schemas.WebhookDocument: ...
    async def ping_webhook(self, webhook_id: str) -> schemas.DeliveryDocument: ...
    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: Literal["pending", "delivered", "dead"] | None = None,
        limit: int = 200,
    ) -> AsyncIterator[schemas.DeliveryDocument]: ...
    async def delivery(self, webhook_id: str, message_id: str) -> schemas.DeliveryDocument: ...
    async def replay_deliveries(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: Literal["delivered", "dead"] | None = None,
        since: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Replayed: ...
