"""The HTTP API as Python: typed, synchronous, patient.

    from stateward.client import Client

    with Client("http://127.0.0.1:8420") as client:
        sent = client.submit("january.pdf", machine="invoices")
        print(client.wait(sent.record.id).status)

Lists are iterators that fetch page after page. What may be repeated is repeated: a server that is busy or away is
asked again after the time it names, or after a growing one; a POST carries an `Idempotency-Key`, so it is done once
however often it is sent. Everything else that goes wrong is an `ApiProblem` with the problem in it.
"""

import io
import random  # noqa: TID251 - jitter of a client: how long it waits decides nothing
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, Self, TypeVar
from urllib.parse import quote

from stateward.extras import missing_extra

try:
    import httpx2
except ModuleNotFoundError as error:
    raise (missing_extra(error) or error) from error
import msgspec

from stateward import schemas
from stateward.core.errors import StatewardError
from stateward.core.model import Fields

TRIES_MAX = 5
PAUSE_S = 0.25
PAUSE_MAX_S = 8.0
RETRY_AFTER_MAX_S = 60.0
TIMEOUT_S = 30.0
POLL_S = 20.0
AGAIN = frozenset({429, 502, 503, 504})

T = TypeVar("T")
Source = Path | str | bytes | IO[bytes]


class ApiProblem(StatewardError):
    """A request that the server did not do; `problem` says why."""

    def __init__(self, problem: schemas.Problem) -> None:
        self.problem = problem
        super().__init__(problem.detail)

    @property
    def kind(self) -> str:
        """The word that names the problem, such as `duplicate`."""
        return self.problem.type.removeprefix(schemas.PROBLEM_PREFIX)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status


class ServerUnreachable(StatewardError):
    """No answer came, however often it was asked for."""


class Client:
    """A connection to a Stateward service."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES_MAX,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": "stateward-client"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._url = url.rstrip("/")
        self._tries = max(1, tries)
        self._http = httpx2.Client(
            base_url=self._url, headers=headers, timeout=timeout_s, follow_redirects=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Without the key."""
        return f"Client({self._url!r})"

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

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
        fields = _fields(
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
        return self._send("/detect", source, {}, None, None, schemas.Detection).items

    def _send(
        self,
        path: str,
        source: Source,
        fields: dict[str, str],
        on_duplicate: str | None,
        key: str | None,
        type_: type[T],
    ) -> T:
        headers = {"Idempotency-Key": key or _new_key()}
        with _opened(source) as (filename, file):
            start = file.tell() if file.seekable() else None

            def send() -> httpx2.Response:
                if start is not None:
                    file.seek(start)
                return self._http.post(
                    path,
                    params=_params(on_duplicate=on_duplicate) or None,
                    data=fields,
                    files={"file": (filename, file, "application/octet-stream")},
                    headers=headers,
                )

            return _read(self._patiently(send, can_repeat=start is not None), type_)

    def refused_uploads(self) -> list[schemas.RefusedUpload]:
        """What was sent with this key and refused, with the reasons, until it is dismissed."""
        return self._get("/refused-uploads", schemas.RefusedUploads).items

    def dismiss_refused_upload(self, refused_id: str) -> None:
        """Dismiss a refused upload."""
        self._patiently(lambda: self._http.delete(f"/refused-uploads/{_part(refused_id)}"))

    # Looking

    def record(self, record_id: str) -> schemas.Record:
        """One record."""
        return self._get(f"/records/{_part(record_id)}", schemas.Record)

    def records(
        self,
        q: str | None = None,
        *,
        status: Iterable[str] = (),
        source_type: Iterable[str] = (),
        limit: int = 200,
    ) -> Iterator[schemas.Record]:
        """Records that match, newest first."""
        params = _params(q=q, status=list(status), source_type=list(source_type), limit=limit)
        return self._pages("/records", params, schemas.RecordPage, lambda page: page.items)

    def wait(self, record_id: str, *, timeout_s: float = 300.0) -> schemas.Record:
        """Wait until a record has ended or rests; the record as it then is, at the latest after the time."""
        deadline = time.monotonic() + timeout_s
        while True:
            left = max(0.0, min(POLL_S, deadline - time.monotonic()))
            record = self._get(
                f"/records/{_part(record_id)}", schemas.Record, params={"wait": f"{left:.3f}s"}
            )
            if record.is_at_rest or time.monotonic() >= deadline:
                return record

    def history(self, record_id: str) -> Iterator[schemas.Transition]:
        """What happened to a record, oldest first."""
        path = f"/records/{_part(record_id)}/history"
        return self._pages(path, {}, schemas.History, lambda page: page.items)

    def items(
        self,
        record_id: str,
        *,
        kind: str | None = None,
        stage: str | None = None,
        edition: int | None = None,
    ) -> Iterator[Fields]:
        """The items of a kind or of a stage; by default of the last stage that is done, in their newest edition."""
        cursor = None
        while True:
            page = self.item_page(record_id, kind=kind, stage=stage, edition=edition, cursor=cursor)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

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
        params = _params(kind=kind, stage=stage, edition=edition, cursor=cursor)
        return self._get(f"/records/{_part(record_id)}/items", schemas.ItemPage, params=params)

    def log(self, record_id: str, stage: str) -> schemas.StageLog:
        """What was written while a stage ran."""
        return self._get(f"/records/{_part(record_id)}/logs/{_part(stage)}", schemas.StageLog)

    def files(self, record_id: str) -> list[schemas.RecordFile]:
        """The files that stages derived from the document of a record."""
        return self._get(f"/records/{_part(record_id)}/files", schemas.RecordFiles).items

    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]:
        """The bytes of a derived file, a piece at a time."""
        path = f"/records/{_part(record_id)}/files/{_part(stage)}/{_part(name)}"
        with self._http.stream("GET", path, headers={"Accept": "*/*"}) as answer:
            if answer.status_code >= 400:
                answer.read()
                _raise(answer)
            if not answer.is_redirect:
                yield from answer.iter_bytes()
                return
            link = answer.headers["Location"]
        # A presigned link to object storage: without our key, which is not meant for that server.
        with httpx2.stream("GET", link, timeout=self._http.timeout) as answer:
            if answer.status_code >= 400:
                answer.read()
                _raise(answer)
            yield from answer.iter_bytes()

    def provenance(
        self, record_id: str, *, form: Literal["prov", "openlineage"] = "prov"
    ) -> schemas.Provenance:
        """The history of a record as W3C PROV, or as OpenLineage events."""
        path = f"/records/{_part(record_id)}/provenance"
        return self._get(path, schemas.Provenance, params={"format": form})

    def explain(self, record_id: str) -> schemas.Why:
        """Why a record is where it is."""
        return self._get(f"/records/{_part(record_id)}/explain", schemas.Why)

    def counts(self, q: str | None = None) -> list[schemas.StatusCount]:
        """Records by machine and status."""
        return self._get("/counts", schemas.Counts, params=_params(q=q)).items

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
        params = _params(
            q=text, pipeline=pipeline or None, filter=list(filters), hybrid=is_hybrid or None, limit=limit
        )  # fmt: skip
        return self._pages("/search", params, schemas.SearchPage, lambda page: page.items)

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
        params = _params(
            q=text, pipeline=pipeline or None, filter=list(filters), hybrid=is_hybrid or None, limit=limit,
            format=format_,
        )  # fmt: skip
        answer = self._patiently(
            lambda: self._http.get("/search", params=params, headers={"Accept": "*/*"})
        )
        return answer.text

    def errors(self) -> list[schemas.ErrorGroup]:
        """Errors by cause."""
        return self._get("/errors", schemas.Errors).items

    def machines(self) -> list[schemas.MachineSummary]:
        """The machines in force."""
        return self._get("/machines", schemas.Machines).items

    def machine(self, name: str) -> schemas.MachineDetail:
        """A machine with its states, stages and transitions."""
        return self._get(f"/machines/{_part(name)}", schemas.MachineDetail)

    def graph(self, name: str) -> str:
        """A machine as SVG."""
        return self._patiently(lambda: self._http.get(f"/machines/{_part(name)}/graph.svg")).text

    def pauses(self) -> list[schemas.Pause]:
        """What is paused."""
        return self._get("/pauses", schemas.Pauses).items

    def events(
        self, *, after: int | None = None, machine: str | None = None
    ) -> Iterator[schemas.Transition]:
        """Every change of status from now on, or from after a place in the log; it comes back if it is cut."""
        seq = after
        while True:
            headers = {"Accept": "text/event-stream"}
            if seq is not None:
                headers["Last-Event-ID"] = str(seq)
            try:
                with self._http.stream(
                    "GET",
                    "/events/stream",
                    params=_params(machine=machine),
                    headers=headers,
                    timeout=httpx2.Timeout(TIMEOUT_S, read=2 * POLL_S),
                ) as answer:
                    if answer.status_code >= 400:
                        answer.read()
                        _raise(answer)
                    for line in answer.iter_lines():
                        if line.startswith("data: "):
                            event = msgspec.json.decode(line[6:], type=schemas.Transition)
                            seq = event.seq
                            yield event
            except httpx2.TransportError:
                if seq is None:
                    raise
            time.sleep(PAUSE_S)

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
        path = f"/records/{_part(record_id)}/priority"
        return self._post(path, asked, schemas.Record, key=idempotency_key)

    def reprocess(
        self, record_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> schemas.RecordOpened:
        """Process the document of a record that has ended again, as a new record."""
        path = f"/records/{_part(record_id)}/reprocess"
        return self._post(path, {"reason": reason}, schemas.RecordOpened, key=idempotency_key)

    def advance(
        self, record_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> schemas.Record:
        """Let a held record go on, in place of its external driver."""
        path = f"/records/{_part(record_id)}/advance"
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
        return self._act(record_id, f"moves/{_part(event)}", reason, version, idempotency_key)

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
        path = f"/records/{_part(record_id)}/flags"
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
        path = f"/records/{_part(record_id)}/reparse"
        return self._post(path, asked, schemas.RereadAnswer, key=idempotency_key)

    def _act(
        self, record_id: str, verb: str, reason: str | None, version: int | None, key: str | None
    ) -> schemas.Record:
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        path = f"/records/{_part(record_id)}/{verb}"
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
        return self._get(f"/batches/{_part(batch_id)}", schemas.Batch)

    def batches(self) -> Iterator[schemas.Batch]:
        """Bulk actions, newest first."""
        return self._pages("/batches", {}, schemas.BatchPage, lambda page: page.items)

    def abort_batch(self, batch_id: str) -> schemas.Batch:
        """Stop a bulk action."""
        return self._post(f"/batches/{_part(batch_id)}/abort", None, schemas.Batch)

    def pause(
        self, machine: str, *, stage: str | None = None, reason: str | None = None
    ) -> schemas.Paused:
        """Stop handing out work of a machine or of a stage."""
        asked = schemas.PauseRequest(stage=stage, reason=reason)
        return self._post(f"/machines/{_part(machine)}/pause", asked, schemas.Paused)

    def resume(self, machine: str, *, stage: str | None = None) -> schemas.Paused:
        """Hand out work again."""
        asked = schemas.PauseRequest(stage=stage)
        return self._post(f"/machines/{_part(machine)}/resume", asked, schemas.Paused)

    # Reviews

    def pending_reviews(self, *, limit: int = 200) -> Iterator[schemas.ReviewTask]:
        """What waits for a decision, the nearest deadline first."""
        return self._pages(
            "/reviews/pending", _params(limit=limit), schemas.ReviewPage, lambda page: page.items
        )

    def get_review(self, record_id: str) -> schemas.ReviewDetail:
        """A review with the values that were found, or how it was decided."""
        return self._get(f"/reviews/{_part(record_id)}", schemas.ReviewDetail)

    def review_statistics(self, *, days: int = 30) -> schemas.ReviewStatistics:
        """What people decided in reviews, and which fields they correct most."""
        return self._get("/reviews/statistics", schemas.ReviewStatistics, params={"days": days})

    def claim_review(self, record_id: str) -> schemas.ReviewTask:
        """Claim a review: for a while no other person may decide it."""
        return self._post(f"/reviews/{_part(record_id)}/claim", None, schemas.ReviewTask)

    def unclaim_review(self, record_id: str) -> schemas.ReviewTask:
        """Leave a review to others."""
        return self._post(f"/reviews/{_part(record_id)}/release", None, schemas.ReviewTask)

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
        path = f"/records/{_part(record_id)}/review"
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
        path = f"/reviews/{_part(record_id)}/opinion"
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
        answer = self._patiently(lambda: self._http.delete(f"/reviews/batches/{_part(batch_id)}"))
        return _read(answer, schemas.ReviewBatchUndone)

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
        params = _params(
            actor=actor, verb=verb, record_id=record_id, since=since, until=until, after=after
        )
        return self._pages("/audit", params, schemas.AuditPage, lambda page: page.items)

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
            f"/records/{_part(record_id)}/hold", asked, schemas.HeldRecord, key=idempotency_key
        )

    def holds(self) -> list[schemas.HeldRecord]:
        """The records of which nothing may be deleted."""
        return self._get("/holds", schemas.HeldRecords).items

    def apply_retention(self, *, is_dry_run: bool = False) -> schemas.RetentionAnswer:
        """Apply the rules of retention now."""
        asked = schemas.RetentionRequest(is_dry_run=is_dry_run)
        return self._post("/retention", asked, schemas.RetentionAnswer, key=None)

    # Carrying

    def _get(self, path: str, type_: type[T], *, params: Mapping[str, Any] | None = None) -> T:
        return _read(self._patiently(lambda: self._http.get(path, params=params or {})), type_)

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
            "Idempotency-Key": key or _new_key(),
            "Content-Type": "application/json",
            **(headers or {}),
        }
        content = b"" if document is None else msgspec.json.encode(document)
        return _read(
            self._patiently(lambda: self._http.post(path, content=content, headers=sent)), type_
        )

    def _lines(self, path: str) -> Iterator[bytes]:
        with self._http.stream("GET", path, headers={"Accept": "*/*"}) as answer:
            if answer.status_code >= 400:
                answer.read()
                _raise(answer)
            for line in answer.iter_lines():
                yield line.encode() + b"\n"

    def _pages(self, path: str, params: Mapping[str, Any], type_: Any, rows: Any) -> Iterator[Any]:  # noqa: ANN401
        cursor: str | None = None
        while True:
            page = self._get(path, type_, params={**params, **_params(cursor=cursor)})
            yield from rows(page)
            cursor = page.next
            if cursor is None:
                return

    def _patiently(
        self,
        send: Callable[[], httpx2.Response],
        *,
        can_repeat: bool = True,
    ) -> httpx2.Response:
        """Send until there is an answer that another try would not better."""
        for number in range(1, self._tries + 1):
            is_last = number == self._tries or not can_repeat
            try:
                answer = send()
            except httpx2.TransportError as error:
                if is_last:
                    raise ServerUnreachable(
                        f"no answer from {self._url} ({type(error).__name__}); see that the service runs: stateward up"
                    ) from error
                time.sleep(_pause(number, None))
                continue
            is_worth_it = answer.status_code in AGAIN or _kind(answer) == "in-progress"
            if answer.status_code < 400:
                return answer
            if is_last or not is_worth_it:
                _raise(answer)
            time.sleep(_pause(number, answer.headers.get("Retry-After")))
        raise AssertionError("unreachable")


def _pause(number: int, retry_after: str | None) -> float:
    """How long to wait before the next try: what the server says, else twice as long each time, with jitter."""
    if retry_after is not None and retry_after.isdecimal():
        return min(float(retry_after), RETRY_AFTER_MAX_S)
    longest = min(PAUSE_S * float(2 ** (number - 1)), PAUSE_MAX_S)
    jitter: float = random.random()  # noqa: S311 - no secret
    return longest / 2 * (1 + jitter)


def _new_key() -> str:
    return uuid.uuid4().hex  # noqa: TID251 - a client names its own requests


def _read(answer: httpx2.Response, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.content, type=type_)
    except msgspec.MsgspecError as error:
        raise ServerUnreachable(
            f"{answer.request.url.copy_with(query=None)} gave an answer that is none of Stateward's: {error}"
        ) from error


def _kind(answer: httpx2.Response) -> str:
    problem = _problem(answer)
    return "" if problem is None else problem.type.removeprefix(schemas.PROBLEM_PREFIX)


def _problem(answer: httpx2.Response) -> schemas.Problem | None:
    if answer.headers.get("Content-Type", "").partition(";")[0] != schemas.PROBLEM_JSON:
        return None
    try:
        return msgspec.json.decode(answer.content, type=schemas.Problem)
    except msgspec.MsgspecError:
        return None


def _raise(answer: httpx2.Response) -> NoReturn:
    problem = _problem(answer)
    if problem is None:
        said = (
            f"the server answered {answer.status_code}, not as Stateward does; look at its address"
        )
        problem = schemas.Problem(
            type="about:blank", title="", status=answer.status_code, detail=said
        )
    raise ApiProblem(problem)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[str, IO[bytes]]]:
    if isinstance(source, bytes):
        yield "document", io.BytesIO(source)
    elif isinstance(source, str | Path):
        with Path(source).open("rb") as file:
            yield Path(source).name, file
    else:
        yield Path(str(getattr(source, "name", "document"))).name, source


def _fields(
    *, labels: Mapping[str, str] | None, priority: int | str | None, **given: str | None
) -> dict[str, str]:
    fields = {key: value for key, value in given.items() if value is not None}
    if priority is not None:
        fields["priority"] = str(priority)
    return {**fields, **{f"label.{key}": value for key, value in (labels or {}).items()}}


def _params(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a parameter may be
    return {key: value for key, value in given.items() if value not in (None, [])}


def _part(text: str) -> str:
    """A part of a path: what is in it stays in it."""
    return quote(text, safe="")
