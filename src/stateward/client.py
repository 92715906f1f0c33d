"""The HTTP API as Python: typed, patient, synchronous (`Client`) and for asyncio (`stateward.async_client`).

    from stateward.client import Client

    with Client("http://127.0.0.1:8420") as client:
        sent = client.submit("january.pdf", machine="invoices")
        print(client.wait(sent.record.id).status)

Lists are iterators that fetch page after page. What may be repeated is repeated: a server that is busy or away is
asked again after the time it names, or after a growing one; a POST carries an `Idempotency-Key`, so it is done once
however often it is sent. Everything else that goes wrong is an `ApiProblem` with the problem in it.

`Operations` defines every method once, as steps (`client_steps`); a client says how a step is done.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, TypeVar

import httpx2
import msgspec

from stateward import schemas
from stateward.client_steps import (
    ANYTHING,
    POLL_S,
    TIMEOUT_S,
    TRIES_MAX,
    ApiProblem,
    Call,
    Listing,
    Rows,
    ServerUnreachable,
    Source,
    Steps,
    Stream,
    default_headers,
    followed,
    form_fields,
    lines,
    new_key,
    opened,
    part,
    patiently,
    read,
    refuse,
    said,
    streamed,
)
from stateward.core.model import Fields

__all__ = ["ApiProblem", "Client", "Operations", "ServerUnreachable", "Source"]
T = TypeVar("T")
Found = TypeVar("Found")
Row = TypeVar("Row", covariant=True)


class Listed(Protocol[Row]):
    """A document that is a list."""

    @property
    def items(self) -> Sequence[Row]:
        """What is in it."""


class Operations:
    """Every operation of a Stateward service. What a method returns here, an asynchronous client gives awaited."""

    def __init__(self, url: str, *, tries: int = TRIES_MAX) -> None:
        self._url = url.rstrip("/")
        self._tries = max(1, tries)

    def __repr__(self) -> str:
        """Without the key."""
        return f"{type(self).__name__}({self._url!r})"

    @abstractmethod
    def _run(self, steps: Steps[T]) -> T:
        """Do the steps; what they end with."""

    @abstractmethod
    def _iterate(self, steps: Listing) -> Iterator[Any]:
        """Do the steps; the rows on the way."""

    # Sending

    def submit(
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
    ) -> schemas.RecordOpened:
        """Submit a document to a machine, or to the one that its content belongs to.

        Bytes that are there already give their record, unless they are refused.
        """
        fields = form_fields(
            pipeline=machine,
            source_type=source_type,
            name=name,
            priority=priority,
            reason=reason,
            labels=labels,
        )
        return self._send(
            "/records", source, fields, on_duplicate, idempotency_key, schemas.RecordOpened
        )

    def detect(self, source: Source) -> list[schemas.DetectedType]:
        """What a document may be, the surest first; nothing of it is kept."""
        return self._upload(
            "/detect", source, {}, None, None, lambda found: found.items, schemas.Detection
        )

    def refused_uploads(self) -> list[schemas.RefusedUpload]:
        """What was sent with this key and refused, with the reasons, until it is dismissed."""
        return self._list("/refused-uploads", schemas.RefusedUploads)

    def dismiss_refused_upload(self, refused_id: str) -> None:
        """Dismiss a refused upload."""
        return self._delete(f"/refused-uploads/{part(refused_id)}", type(None))

    # Looking

    def record(self, record_id: str) -> schemas.Record:
        """One record."""
        return self._get(f"/records/{part(record_id)}", schemas.Record)

    def records(
        self,
        q: str | None = None,
        *,
        status: Iterable[str] = (),
        source_type: Iterable[str] = (),
        limit: int = 200,
    ) -> Iterator[schemas.Record]:
        """Records that match, newest first."""
        params = said(q=q, status=list(status), source_type=list(source_type), limit=limit)
        return self._pages("/records", params, schemas.RecordPage)

    def wait(self, record_id: str, *, timeout_s: float = 300.0) -> schemas.Record:
        """Wait until a record has ended or rests; the record as it then is, at the latest after the time."""
        deadline = time.monotonic() + timeout_s

        def steps() -> Steps[schemas.Record]:
            while True:
                left = max(0.0, min(POLL_S, deadline - time.monotonic()))
                path, wait = f"/records/{part(record_id)}", {"wait": f"{left:.3f}s"}
                record = yield from self._got(path, schemas.Record, wait)
                if record.is_at_rest or time.monotonic() >= deadline:
                    return record

        return self._run(steps())

    def history(self, record_id: str) -> Iterator[schemas.Transition]:
        """What happened to a record, oldest first."""
        path = f"/records/{part(record_id)}/history"
        return self._pages(path, {}, schemas.History)

    def items(
        self,
        record_id: str,
        *,
        kind: str | None = None,
        stage: str | None = None,
        edition: int | None = None,
    ) -> Iterator[Fields]:
        """The items of a kind or of a stage; by default of the last stage that is done, in their newest edition."""
        query = said(kind=kind, stage=stage, edition=edition)
        return self._pages(f"/records/{part(record_id)}/items", query, schemas.ItemPage)

    def item_page(
        self,
        record_id: str,
        *,
        kind: str | None = None,
        stage: str | None = None,
        edition: int | None = None,
        cursor: str | None = None,
    ) -> schemas.ItemPage:
        """One page of items, with the stage that made them; `cursor` is the `next` of the page before."""
        params = said(kind=kind, stage=stage, edition=edition, cursor=cursor)
        return self._get(f"/records/{part(record_id)}/items", schemas.ItemPage, params=params)

    def log(self, record_id: str, stage: str) -> schemas.StageLog:
        """What was written while a stage ran."""
        return self._get(f"/records/{part(record_id)}/logs/{part(stage)}", schemas.StageLog)

    def files(self, record_id: str) -> list[schemas.RecordFile]:
        """The files that stages derived from the document of a record."""
        return self._list(f"/records/{part(record_id)}/files", schemas.RecordFiles)

    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]:
        """The bytes of a derived file, a piece at a time."""
        path = f"/records/{part(record_id)}/files/{part(stage)}/{part(name)}"
        return self._iterate(streamed(Stream(path, lambda piece: (piece,), is_lines=False)))

    def provenance(
        self, record_id: str, *, form: Literal["prov", "openlineage"] = "prov"
    ) -> schemas.Provenance:
        """The history of a record as W3C PROV, or as OpenLineage events."""
        path = f"/records/{part(record_id)}/provenance"
        return self._get(path, schemas.Provenance, params={"format": form})

    def explain(self, record_id: str) -> schemas.Why:
        """Why a record is where it is."""
        return self._get(f"/records/{part(record_id)}/explain", schemas.Why)

    def counts(self, q: str | None = None) -> list[schemas.StatusCount]:
        """Records by machine and status."""
        return self._list("/counts", schemas.Counts, said(q=q))

    def search(
        self,
        text: str,
        *,
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> Iterator[schemas.SearchHit]:
        """Passages of documents that match, the best first; of a pipeline that ranks, documents."""
        params = said(
            q=text, pipeline=pipeline or None, filter=list(filters), hybrid=is_hybrid or None, limit=limit
        )  # fmt: skip
        return self._pages("/search", params, schemas.SearchPage)

    def search_as(
        self,
        text: str,
        format_: str,
        *,
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> str:
        """The best documents of a pipeline that ranks, in a format that it offers, such as citations."""
        params = said(
            q=text, pipeline=pipeline or None, filter=list(filters), hybrid=is_hybrid or None, limit=limit,
            format=format_,
        )  # fmt: skip
        return self._text("/search", params=params)

    def errors(self) -> list[schemas.ErrorGroup]:
        """Errors by cause."""
        return self._list("/errors", schemas.Errors)

    def machines(self) -> list[schemas.MachineSummary]:
        """The machines in force."""
        return self._list("/machines", schemas.Machines)

    def machine(self, name: str) -> schemas.MachineDetail:
        """A machine with its states, stages and transitions."""
        return self._get(f"/machines/{part(name)}", schemas.MachineDetail)

    def graph(self, name: str) -> str:
        """A machine as SVG."""
        return self._text(f"/machines/{part(name)}/graph.svg")

    def pauses(self) -> list[schemas.Pause]:
        """What is paused."""
        return self._list("/pauses", schemas.Pauses)

    def events(
        self, *, after: int | None = None, machine: str | None = None
    ) -> Iterator[schemas.Transition]:
        """Every change of status from now on, or from after a place in the log; it comes back if it is cut."""
        return self._iterate(followed(after, machine))

    # Acting

    def retry(
        self,
        record_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Try a failed record again; with a version, only if it is still that one."""
        return self._act(record_id, "retry", reason, version, idempotency_key)

    def cancel(
        self,
        record_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Stop a record where it is; with a version, only if it is still that one."""
        return self._act(record_id, "cancel", reason, version, idempotency_key)

    def set_priority(
        self,
        record_id: str,
        priority: int,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Let a record go sooner or later: 1 to 10, higher goes first."""
        asked = schemas.PriorityRequest(priority=priority, reason=reason)
        path = f"/records/{part(record_id)}/priority"
        return self._post(path, asked, schemas.Record, key=idempotency_key)

    def reprocess(
        self, record_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> schemas.RecordOpened:
        """Process the document of a record that has ended again, as a new record."""
        path = f"/records/{part(record_id)}/reprocess"
        return self._post(path, {"reason": reason}, schemas.RecordOpened, key=idempotency_key)

    def advance(
        self, record_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> schemas.Record:
        """Let a held record go on, in place of its external driver."""
        path = f"/records/{part(record_id)}/advance"
        return self._post(path, {"reason": reason}, schemas.Record, key=idempotency_key)

    def move(
        self,
        record_id: str,
        event: str,
        *,
        reason: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Make a move that the machine of a record declares, by its event, such as `document.skipped`."""
        return self._act(record_id, f"moves/{part(event)}", reason, version, idempotency_key)

    def decide_flags(
        self,
        record_id: str,
        action: Literal["confirm", "correct", "reject"],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Decide about a result that is flagged as wrong or incomplete."""
        asked = schemas.FlagRequest(action=action, reason=reason)
        path = f"/records/{part(record_id)}/flags"
        return self._post(path, asked, schemas.Record, key=idempotency_key)

    def reparse(
        self,
        record_id: str,
        hints: Mapping[str, str],
        *,
        secrets: Mapping[str, str] | None = None,
        is_preview: bool = False,
        is_reset: bool = False,
        accept_flags: bool = False,
        remember: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.RereadAnswer:
        """Read a document again with hints; what was read before stays as an earlier edition."""
        asked = schemas.RereadRequest(
            hints=dict(hints),
            secrets=dict(secrets or {}),
            is_preview=is_preview,
            is_reset=is_reset,
            accept_flags=accept_flags,
            remember=remember,
        )
        return self.reread(record_id, asked, idempotency_key=idempotency_key)

    def reread(
        self, record_id: str, asked: schemas.RereadRequest, *, idempotency_key: str | None = None
    ) -> schemas.RereadAnswer:
        """`reparse`, with all that can be asked for."""
        path = f"/records/{part(record_id)}/reparse"
        return self._post(path, asked, schemas.RereadAnswer, key=idempotency_key)

    def _act(
        self, record_id: str, verb: str, reason: str | None, version: int | None, key: str | None
    ) -> schemas.Record:
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        path = f"/records/{part(record_id)}/{verb}"
        return self._post(
            path, schemas.Ask(reason=reason), schemas.Record, headers=headers, key=key
        )

    def batch(
        self,
        action: Literal["retry", "cancel", "priority"],
        *,
        query: str | None = None,
        ids: Iterable[str] = (),
        priority: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.Batch:
        """Begin a bulk action, or with `dry_run` only count what it would concern."""
        asked = schemas.BatchRequest(
            action=action,
            priority=priority,
            query=query,
            ids=tuple(ids),
            reason=reason,
            dry_run=dry_run,
        )
        return self._post("/batches", asked, schemas.Batch, key=idempotency_key)

    def get_batch(self, batch_id: str) -> schemas.Batch:
        """How far a bulk action is."""
        return self._get(f"/batches/{part(batch_id)}", schemas.Batch)

    def batches(self) -> Iterator[schemas.Batch]:
        """Bulk actions, newest first."""
        return self._pages("/batches", {}, schemas.BatchPage)

    def abort_batch(self, batch_id: str) -> schemas.Batch:
        """Stop a bulk action."""
        return self._post(f"/batches/{part(batch_id)}/abort", None, schemas.Batch)

    def pause(
        self, machine: str, *, stage: str | None = None, reason: str | None = None
    ) -> schemas.Paused:
        """Stop handing out work of a machine or of a stage."""
        asked = schemas.PauseRequest(stage=stage, reason=reason)
        return self._post(f"/machines/{part(machine)}/pause", asked, schemas.Paused)

    def resume(self, machine: str, *, stage: str | None = None) -> schemas.Paused:
        """Hand out work again."""
        asked = schemas.PauseRequest(stage=stage)
        return self._post(f"/machines/{part(machine)}/resume", asked, schemas.Paused)

    # Reviews

    def pending_reviews(self, *, limit: int = 200) -> Iterator[schemas.ReviewTask]:
        """What waits for a decision, the nearest deadline first."""
        return self._pages("/reviews/pending", said(limit=limit), schemas.ReviewPage)

    def get_review(self, record_id: str) -> schemas.ReviewDetail:
        """A review with the values that were found, or how it was decided."""
        return self._get(f"/reviews/{part(record_id)}", schemas.ReviewDetail)

    def review_statistics(self, *, days: int = 30) -> schemas.ReviewStatistics:
        """What people decided in reviews, and which fields they correct most."""
        return self._get("/reviews/statistics", schemas.ReviewStatistics, params={"days": days})

    def claim_review(self, record_id: str) -> schemas.ReviewTask:
        """Claim a review: for a while no other person may decide it."""
        return self._post(f"/reviews/{part(record_id)}/claim", None, schemas.ReviewTask)

    def unclaim_review(self, record_id: str) -> schemas.ReviewTask:
        """Leave a review to others."""
        return self._post(f"/reviews/{part(record_id)}/release", None, schemas.ReviewTask)

    def create_review_link(
        self,
        record_id: str,
        person: str,
        *,
        hours: float | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewLink:
        """Make a link that lets a named person decide a review; its `url` is in this answer, and in no other."""
        asked = schemas.ReviewLinkRequest(person=person, hours=hours)
        path = f"/reviews/{part(record_id)}/links"
        return self._post(path, asked, schemas.ReviewLink, key=idempotency_key)

    def review_links(self, record_id: str) -> list[schemas.ReviewLink]:
        """The links to a review, and what became of each."""
        return self._list(f"/reviews/{part(record_id)}/links", schemas.ReviewLinkList)

    def revoke_review_link(self, record_id: str, link_id: str) -> schemas.ReviewLinkRevoked:
        """Close a link to a review, from the next request on."""
        path = f"/reviews/{part(record_id)}/links/{part(link_id)}"
        return self._delete(path, schemas.ReviewLinkRevoked)

    def review(
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
    ) -> schemas.Record:
        """Decide a review: `approve`, `correct` or `reject`. The first decision counts."""
        asked = {
            "action": action,
            "corrected": dict(corrected or {}),
            "moved": dict(moved or {}),
            "notes": notes,
            "reason_code": reason_code,
        }
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        path = f"/records/{part(record_id)}/review"
        return self._post(path, asked, schemas.Record, headers=headers, key=idempotency_key)

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Mapping[str, str | Sequence[str] | None] | None = None,
        is_blind: bool = False,
        notes: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewTask:
        """Ask another person, or a group as `group:NAME`, who then decides; your values are shown or hidden."""
        asked = {
            "to": to,
            "corrected": dict(corrected or {}),
            "is_blind": is_blind,
            "notes": notes,
        }
        path = f"/reviews/{part(record_id)}/opinion"
        return self._post(path, asked, schemas.ReviewTask, key=idempotency_key)

    def decide_reviews(
        self,
        versions: Mapping[str, int],
        action: Literal["approve", "reject"],
        *,
        notes: str | None = None,
        reason_code: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> schemas.ReviewBatch:
        """Decide many reviews as one, by id and the version that was looked at; for a while it can be undone."""
        asked = schemas.ReviewBatchRequest(
            action=action,
            reviews=tuple(
                schemas.ReviewChoice(record_id=each, version=version)
                for each, version in versions.items()
            ),
            notes=notes,
            reason_code=reason_code,
            dry_run=dry_run,
        )
        return self._post("/reviews/batches", asked, schemas.ReviewBatch, key=idempotency_key)

    def undo_reviews(self, batch_id: str) -> schemas.ReviewBatchUndone:
        """Take back what is not in effect yet of a bulk decision."""
        return self._delete(f"/reviews/batches/{part(batch_id)}", schemas.ReviewBatchUndone)

    # The installation

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
        params = said(
            actor=actor, verb=verb, record_id=record_id, since=since, until=until, after=after
        )
        return self._pages("/audit", params, schemas.AuditPage)

    def verify(self, *, checkpoint: str | None = None) -> schemas.Verification:
        """Replay the whole history and check it, also against a checkpoint that was kept elsewhere."""
        if checkpoint is None:
            return self._get("/verify", schemas.Verification)
        return self._post("/verify", {"checkpoint": checkpoint}, schemas.Verification)

    def history_lines(self) -> Iterator[bytes]:
        """Every transition as a line of JSON, in the order of the log."""
        return self._lines("/history/export")

    def gold_lines(self) -> Iterator[bytes]:
        """Every decision of a person as a line of gold data."""
        return self._lines("/reviews/gold")

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
        asked = schemas.ErasureRequest(
            record_ids=list(record_ids), subject=subject, reason=reason, is_dry_run=is_dry_run
        )
        return self._post("/erasures", asked, schemas.ErasureAnswer, key=idempotency_key)

    def hold(
        self,
        record_id: str,
        *,
        reason: str,
        is_held: bool = True,
        idempotency_key: str | None = None,
    ) -> schemas.HeldRecord:
        """Forbid to delete anything of a record, or allow it again."""
        asked = schemas.HoldRequest(is_held=is_held, reason=reason)
        return self._post(
            f"/records/{part(record_id)}/hold", asked, schemas.HeldRecord, key=idempotency_key
        )

    def holds(self) -> list[schemas.HeldRecord]:
        """The records of which nothing may be deleted."""
        return self._list("/holds", schemas.HeldRecords)

    def apply_retention(self, *, is_dry_run: bool = False) -> schemas.RetentionAnswer:
        """Apply the rules of retention now."""
        asked = schemas.RetentionRequest(is_dry_run=is_dry_run)
        return self._post("/retention", asked, schemas.RetentionAnswer, key=None)

    # The change feed

    def feed(self) -> schemas.FeedDocument:
        """How far the change feed has come."""
        return self._get("/feed", schemas.FeedDocument)

    def replay_feed(self, seq: int) -> schemas.FeedDocument:
        """Have everything from a transition on sent again, by its `seq`."""
        asked = schemas.FeedReplayRequest(seq=seq)
        return self._post("/feed/replay", asked, schemas.FeedDocument, key=None)

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
        asked = schemas.KeyRequest(
            name=name,
            role=role,
            pipelines=tuple(pipelines),
            days=days,
            rate_per_minute=rate_per_minute,
            upload_bytes_max=upload_bytes_max,
        )
        return self._post("/keys", asked, schemas.KeyDocument, key=idempotency_key)

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
        asked = schemas.WebhookRequest(
            url=url, events=tuple(events), content=content, secret=secret
        )
        return self._post("/webhooks", asked, schemas.WebhookDocument, key=idempotency_key)

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
        asked = schemas.DisableRequest(reason=reason)
        return self._post(f"/webhooks/{part(webhook_id)}/disable", asked, schemas.WebhookDocument)

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
        query = said(webhook_id=webhook_id, record_id=record_id, state=state, limit=limit)
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
        asked = schemas.ReplayRequest(
            webhook_id=webhook_id, message_id=message_id, state=state, since=since
        )
        return self._post("/deliveries/replay", asked, schemas.Replayed, key=idempotency_key)

    # Steps

    def _answered(self, call: Call) -> Steps[httpx2.Response]:
        return patiently(call, tries=self._tries, url=self._url)

    def _get(self, path: str, type_: type[T], *, params: Mapping[str, Any] | None = None) -> T:
        return self._run(self._got(path, type_, params))

    def _got(self, path: str, type_: type[T], params: Mapping[str, Any] | None = None) -> Steps[T]:
        return read((yield from self._answered(Call("GET", path, params or {}))), type_)

    def _list(
        self, path: str, type_: type[Listed[T]], params: Mapping[str, Any] | None = None
    ) -> list[T]:
        def steps() -> Steps[list[T]]:
            return list((yield from self._got(path, type_, params)).items)

        return self._run(steps())

    def _text(self, path: str, *, params: Mapping[str, Any] | None = None) -> str:
        def steps() -> Steps[str]:
            call = Call("GET", path, params or {}, ANYTHING)
            return (yield from self._answered(call)).text

        return self._run(steps())

    def _delete(self, path: str, type_: type[T]) -> T:
        def steps() -> Steps[T]:
            answer = yield from self._answered(Call("DELETE", path))
            return read(answer, type_) if answer.content else msgspec.convert(None, type_)

        return self._run(steps())

    def _post(
        self,
        path: str,
        document: object,
        type_: type[T],
        *,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> T:
        sent = {
            "Idempotency-Key": key or new_key(),
            "Content-Type": "application/json",
            **(headers or {}),
        }
        content = b"" if document is None else msgspec.json.encode(document)

        def steps() -> Steps[T]:
            call = Call("POST", path, headers=sent, content=content)
            return read((yield from self._answered(call)), type_)

        return self._run(steps())

    def _send(
        self,
        path: str,
        source: Source,
        fields: dict[str, str],
        on_duplicate: str | None,
        key: str | None,
        type_: type[T],
    ) -> T:
        return self._upload(path, source, fields, on_duplicate, key, lambda found: found, type_)

    def _upload(
        self,
        path: str,
        source: Source,
        fields: dict[str, str],
        on_duplicate: str | None,
        key: str | None,
        part_of: Callable[[Found], T],
        type_: type[Found],
    ) -> T:
        headers = {"Idempotency-Key": key or new_key()}

        def steps() -> Steps[T]:
            with opened(source) as (filename, file):
                start = file.tell() if file.seekable() else None
                call = Call(
                    "POST",
                    path,
                    said(on_duplicate=on_duplicate) or None,
                    headers,
                    data=fields,
                    files={"file": (filename, file, "application/octet-stream")},
                )
                answer = yield from patiently(
                    call,
                    tries=1 if start is None else self._tries,
                    url=self._url,
                    restart=None if start is None else lambda: file.seek(start),
                )
                return part_of(read(answer, type_))

        return self._run(steps())

    def _pages(self, path: str, query: Mapping[str, Any], type_: type[Any]) -> Iterator[Any]:
        def steps() -> Listing:
            cursor: str | None = None
            while True:
                page = yield from self._got(path, type_, {**query, **said(cursor=cursor)})
                yield Rows(page.items)
                cursor = page.next
                if cursor is None:
                    return

        return self._iterate(steps())

    def _lines(self, path: str) -> Iterator[bytes]:
        return self._iterate(streamed(Stream(path, lines(), is_lines=True)))


class Client(Operations):
    """A connection to a Stateward service."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES_MAX,
    ) -> None:
        super().__init__(url, tries=tries)
        self._http = httpx2.Client(
            base_url=self._url,
            headers=default_headers(key),
            timeout=timeout_s,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _run(self, steps: Steps[T]) -> T:
        given: object = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration as end:
                result: T = end.value
                return result
            given = self._do(step)

    def _do(self, step: Call | float) -> object:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            return self._http.request(**step._asdict())
        except httpx2.TransportError as error:
            return error

    def _iterate(self, steps: Listing) -> Iterator[Any]:
        given: object = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration:
                return
            given = None
            if isinstance(step, Rows):
                yield from step.rows
            elif isinstance(step, Stream):
                given = yield from self._pieces(step)
            else:
                given = self._do(step)

    def _pieces(self, stream: Stream) -> Generator[Any, None, object]:
        """What a stream gives; why it ended, as the steps are told."""
        http = httpx2.Client(timeout=self._http.timeout) if stream.is_link else self._http
        try:
            with http.stream("GET", **stream.request()) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    refuse(answer)
                if answer.is_redirect:
                    return answer.headers["Location"]
                for piece in answer.iter_lines() if stream.is_lines else answer.iter_bytes():
                    yield from stream.feed(piece)
        except httpx2.TransportError as error:
            return error
        finally:
            if stream.is_link:
                http.close()
        return None
