"""Records: send documents, look at what became of them, move them one by one or together."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from stateward import schemas
from stateward.client.requests import Requests
from stateward.client.steps import (
    POLL_S,
    Source,
    Steps,
    follow_changes,
    form_fields,
    given_parameters,
    part,
)
from stateward.core.model import Fields


class RecordOperations(Requests):
    """Operations on records, machines and bulk actions."""

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

        Bytes that were submitted before give their record, unless they are refused.
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
            "/records",
            source,
            schemas.RecordOpened,
            fields=fields,
            params={"on_duplicate": on_duplicate},
            key=idempotency_key,
        )

    def detect(self, source: Source) -> list[schemas.DetectedType]:
        """What a document may be, the surest first; nothing of it is kept."""

        def steps() -> Steps[list[schemas.DetectedType]]:
            return (
                yield from self._send_steps("/detect", source, schemas.Detection, fields={})
            ).items

        return self._run(steps())

    def refused_uploads(self) -> list[schemas.RefusedUpload]:
        """What was sent with this key and refused, with the reasons, until it is dismissed."""
        return self._list("/refused-uploads", schemas.RefusedUploads)

    def dismiss_refused_upload(self, refused_id: str) -> None:
        """Dismiss a refused upload."""
        return self._delete(f"/refused-uploads/{part(refused_id)}", type(None))

    def dismiss_refused_uploads(self) -> None:
        """Dismiss all refused uploads."""
        return self._delete("/refused-uploads", type(None))

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
        params = given_parameters(
            q=q, status=list(status), source_type=list(source_type), limit=limit
        )
        return self._pages("/records", params, schemas.RecordPage)

    def wait(self, record_id: str, *, timeout_s: float = 300.0) -> schemas.Record:
        """Wait until a record has ended or rests; the record as it then is, at the latest after the time."""
        deadline = time.monotonic() + timeout_s

        def steps() -> Steps[schemas.Record]:
            while True:
                left = max(0.0, min(POLL_S, deadline - time.monotonic()))
                path, wait = f"/records/{part(record_id)}", {"wait": f"{left:.3f}s"}
                record = yield from self._get_steps(path, schemas.Record, wait)
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
        query = given_parameters(kind=kind, stage=stage, edition=edition)
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
        params = given_parameters(kind=kind, stage=stage, edition=edition, cursor=cursor)
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
        return self._bytes(path)

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
        return self._list("/counts", schemas.Counts, given_parameters(q=q))

    def search(
        self,
        text: str,
        *,
        pipeline: str = "",
        types: Sequence[str] = (),
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> Iterator[schemas.SearchHit]:
        """Passages of documents that match, the best first; of a pipeline that ranks, documents.

        With `types` only passages of one of these, such as `liability` of clauses.
        """
        params = given_parameters(
            q=text, pipeline=pipeline or None, type=list(types), filter=list(filters), hybrid=is_hybrid or None,
            limit=limit,
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
        params = given_parameters(
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
        return self._iterate(follow_changes(after, machine))

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
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Let a record go sooner or later: 1 to 10, higher goes first; with a version, only if it is still that one."""
        request = schemas.PriorityRequest(priority=priority, reason=reason)
        path = f"/records/{part(record_id)}/priority"
        return self._post(path, request, schemas.Record, version=version, key=idempotency_key)

    def reprocess(
        self,
        record_id: str,
        hints: Mapping[str, str] | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.RecordOpened:
        """Process the document of a record that has ended again, as a new record; with hints, read with those."""
        path = f"/records/{part(record_id)}/reprocess"
        request = schemas.ReprocessRecordRequest(hints=dict(hints or {}), reason=reason)
        return self._post(path, request, schemas.RecordOpened, key=idempotency_key)

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
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.Record:
        """Decide about a result that is flagged as wrong or incomplete."""
        request = schemas.FlagRequest(action=action, reason=reason)
        path = f"/records/{part(record_id)}/flags"
        return self._post(path, request, schemas.Record, version=version, key=idempotency_key)

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
        reason: str | None = None,
        reason_code: str | None = None,
        idempotency_key: str | None = None,
    ) -> schemas.RereadAnswer:
        """Read a document again with hints, or retry it with other options; what was read before stays.

        What failed or is in review is processed anew, by the `successor` of the answer.
        """
        request = schemas.RereadRequest(
            hints=dict(hints),
            secrets=dict(secrets or {}),
            is_preview=is_preview,
            is_reset=is_reset,
            accept_flags=accept_flags,
            remember=remember,
            reason=reason,
            reason_code=reason_code,
        )
        return self.reread(record_id, request, idempotency_key=idempotency_key)

    def reread(
        self, record_id: str, asked: schemas.RereadRequest, *, idempotency_key: str | None = None
    ) -> schemas.RereadAnswer:
        """`reparse`, with all that can be asked for."""
        path = f"/records/{part(record_id)}/reparse"
        return self._post(path, asked, schemas.RereadAnswer, key=idempotency_key)

    def _act(
        self, record_id: str, verb: str, reason: str | None, version: int | None, key: str | None
    ) -> schemas.Record:
        path = f"/records/{part(record_id)}/{verb}"
        request = schemas.Ask(reason=reason)
        return self._post(path, request, schemas.Record, version=version, key=key)

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
        request = schemas.BatchRequest(
            action=action,
            priority=priority,
            query=query,
            ids=tuple(ids),
            reason=reason,
            dry_run=dry_run,
        )
        return self._post("/batches", request, schemas.Batch, key=idempotency_key)

    def get_batch(self, batch_id: str) -> schemas.Batch:
        """How far a bulk action is."""
        return self._get(f"/batches/{part(batch_id)}", schemas.Batch)

    def batches(self) -> Iterator[schemas.Batch]:
        """Bulk actions, newest first."""
        return self._pages("/batches", {}, schemas.BatchPage)

    def abort_batch(self, batch_id: str, *, version: int | None = None) -> schemas.Batch:
        """Stop a bulk action; with a version, only if it is still that one."""
        path = f"/batches/{part(batch_id)}/abort"
        return self._post(path, None, schemas.Batch, version=version)

    def pause(
        self, machine: str, *, stage: str | None = None, reason: str | None = None
    ) -> schemas.Paused:
        """Stop dispatching a machine or a stage."""
        request = schemas.PauseRequest(stage=stage, reason=reason)
        return self._post(f"/machines/{part(machine)}/pause", request, schemas.Paused)

    def resume(self, machine: str, *, stage: str | None = None) -> schemas.Paused:
        """Dispatch a paused machine or stage again."""
        request = schemas.PauseRequest(stage=stage)
        return self._post(f"/machines/{part(machine)}/resume", request, schemas.Paused)
