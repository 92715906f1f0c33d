"""The engine's values as the documents of `schemas`: what the API answers and what the command line shows.

Each kind of document is made here and nowhere else. Only what outsiders may see leaves: no internal id, and of a
record's fields those that its machine exposes at its status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from stateward import schemas
from stateward.core.approvals import (
    REFERRAL,
    approvals_of,
    has_approved,
    is_among,
    is_same_person,
    person_of,
)
from stateward.core.files import SavedFile
from stateward.core.machine import Machine
from stateward.core.model import (
    NOTES,
    PRIORITY_REASON,
    Fields,
    Micros,
    Record,
    Transition,
    rest_reason,
    to_iso,
    to_iso_or_none,
)
from stateward.core.view import (
    Explanation,
    flag_codes,
    is_at_rest,
    review_reasons,
    running_times,
    sentence,
)
from stateward.storage.outputs import AttemptResult
from stateward.storage.store import Store

if TYPE_CHECKING:  # with the coordinator, which a list of records need not wait for
    from stateward.app.doctor import Check
    from stateward.app.retention import Applied
    from stateward.engine.erasure import Erased
    from stateward.engine.flags import FlagDecision
    from stateward.engine.history import Verdict
    from stateward.engine.pending_decisions import PendingDecision
    from stateward.engine.review_statistics import Statistics
    from stateward.engine.review_tasks import Task
    from stateward.engine.reviews import Reviews
    from stateward.monitoring.dashboard import ErrorCause
    from stateward.storage.audit import AuditEntry
    from stateward.storage.dead_letters import DeadLetter
    from stateward.storage.erasure import Hold

LOG_LINES_MAX = 100_000


def record_view(
    machine: Machine,
    record: Record,
    files: Iterable[SavedFile] = (),
    decision: FlagDecision | None = None,
    *,
    is_priority_used: bool = False,
) -> schemas.Record:
    """A record; `machine` is the one that moves it on, `decision` what was decided about its flags."""
    exposed = machine.exposed(record) | running_times(machine, record)
    return schemas.Record(
        id=record.id,
        machine=record.machine,
        status=record.status,
        version=record.version,
        error_code=record.error_code,
        error_message=record.error_message,
        exposed=exposed,
        priority=record.priority,
        priority_reason=text_of(record.labels.get(PRIORITY_REASON)),
        is_priority_used=is_priority_used,
        retry_count=record.retry_count,
        max_retries=machine.retry_of(record).max_retries,
        last_retry_at=to_iso_or_none(record.last_retry_at),
        rest=rest_reason(record),
        is_at_rest=is_at_rest(machine, record),
        notes=record.fields.get(NOTES) or None,
        flags=flag_codes(record),
        flag_decision=None if decision is None else flag_decision_view(decision),
        labels=record.labels,
        replaces=record.replaces,
        created_at=to_iso(record.created_at),
        updated_at=to_iso(record.entered_at),
        status_metadata=schemas.StatusMetadata(
            started_at=to_iso(record.entered_at),
            worker_id=record.worker,
            retry_count=record.retry_count,
        ),
        files=[file_view(record.id, each) for each in files],
    )


def flag_decision_view(decision: FlagDecision) -> schemas.FlagDecision:
    """A decision about the flags of a record."""
    return schemas.FlagDecision(
        action=decision.action,
        by=decision.actor,
        reason=decision.reason,
        at=to_iso(decision.at),
    )


def file_view(record_id: str, saved: SavedFile) -> schemas.RecordFile:
    file = saved.file
    return schemas.RecordFile(
        stage=saved.stage,
        name=file.name,
        media_type=file.media_type,
        size=file.size,
        sha256=file.sha256,
        reference=file.reference,
        attempt=saved.attempt,
        url=f"/records/{quote(record_id, safe='')}/files/{saved.path}",
    )


def transition_view(machine: Machine, transition: Transition) -> schemas.Transition:
    """One change of status; `machine` is the version that made it."""
    return schemas.Transition(
        seq=transition.seq,
        record_id=transition.record_id,
        machine=transition.machine,
        machine_version=transition.machine_version,
        source=transition.source,
        target=transition.target,
        version=transition.version,
        event_id=transition.event_id,
        at=to_iso(transition.at),
        actor=transition.actor,
        trigger=transition.trigger,
        attempt=transition.attempt,
        metadata=transition.metadata,
        sentence=sentence(machine, transition),
        authority=transition.authority,
        epoch=transition.epoch,
        record_hash=transition.record_hash,
        hash=transition.hash,
        prev_hash=transition.prev_hash,
        salt=msgspec.UNSET if transition.salt is None else transition.salt,
    )


def attempt_view(result: AttemptResult) -> schemas.Attempt:
    return schemas.Attempt(
        stage=result.stage,
        attempt=result.version,
        at=to_iso(result.at),
        worker=result.worker,
        outcome=result.outcome if result.error_code is None else "failed",
        count=result.count,
        error_code=result.error_code,
        error_message=result.error_message,
        log=list(_log_lines(result.log)),
    )


def _log_lines(log: str) -> Iterator[Fields]:
    """The lines of a log as objects. A runner may write anything: what is no JSON object becomes a message."""
    for line in log.splitlines()[:LOG_LINES_MAX]:
        try:
            decoded = msgspec.json.decode(line)
        except msgspec.DecodeError:
            decoded = None
        yield decoded if isinstance(decoded, dict) else {"message": line}


def why_view(record: Record, why: Explanation) -> schemas.Why:
    """Why a record is where it is."""
    return schemas.Why(
        id=record.id,
        status=record.status,
        code=why.code,
        sentence=why.sentence,
        advice=why.advice,
        until=why.until,
        reasons=list(why.reasons),
    )


def error_group_views(causes: Iterable[ErrorCause]) -> list[schemas.ErrorGroup]:
    """Records that rest with the same error, the most frequent first."""
    return [
        schemas.ErrorGroup(
            machine=each.machine,
            error_code=each.error_code,
            error_message=(each.message if len(each.messages) == 1 else each.cause) or None,
            count=each.count,
        )
        for each in sorted(causes, key=lambda each: (-each.count, each.machine, each.error_code))
    ]


def status_counts(
    found: Mapping[tuple[str, str], int], cancelled: Mapping[tuple[str, str], int]
) -> list[schemas.StatusCount]:
    """Counts by machine and status, and how many of each a person stopped."""
    return [
        schemas.StatusCount(
            machine=machine,
            status=status,
            count=count,
            cancelled=min(count, cancelled.get((machine, status), 0)),
        )
        for (machine, status), count in found.items()
    ]


def task_view(task: Task, *, actor: str) -> schemas.ReviewTask:
    """A review as `actor` sees it."""
    return schemas.ReviewTask(**_task_parts(task, actor))


def review_view(reviews: Reviews, store: Store, task: Task, *, actor: str) -> schemas.ReviewDetail:
    """A review with the values to look at and what the checks say about them."""
    return schemas.ReviewDetail(
        **_task_parts(task, actor),
        submitted_by=store.history(task.record.id)[0].actor,
        fields=reviews.items(task.record),
        problems=reviews.problems(task.record),
        opinions=[
            schemas.ReviewOpinion(
                by=each.by,
                to=each.to,
                at=to_iso(each.at),
                is_blind=each.is_blind,
                notes=each.notes,
                values=each.values,
            )
            for each in reviews.opinions(task.record, actor=actor)
        ],
        evidence=[
            schemas.EvidenceTable(
                title=table.title,
                columns=[column.heading for column in table.columns],
                rows=[[column.text(row) for column in table.columns] for row in rows],
            )
            for table, rows in reviews.tables(task.record)
        ],
    )


def _task_parts(task: Task, actor: str) -> dict[str, Any]:
    record, claim, decided = task.record, task.claim, task.decided
    return {
        "record_id": record.id,
        "machine": record.machine,
        "status": record.status,
        "version": record.version,
        "review": task.review,
        "actions": list(task.actions),
        "deadline": to_iso_or_none(record.due_at) if task.is_open else None,
        "waiting_since": to_iso(record.entered_at),
        "claim": None
        if claim is None
        else schemas.ReviewClaim(
            by=claim.actor,
            is_mine=claim.actor == actor,
            at=to_iso(claim.at),
            until=to_iso(claim.until),
        ),
        "decision": None
        if decided is None
        else schemas.ReviewDecision(
            action=decided.action,
            by=decided.by,
            reviewer=decided.reviewer,
            at=to_iso(decided.at),
            notes=decided.notes,
            reason_code=decided.reason_code,
            approvals=list(decided.approvals),
        ),
        "pending": None if task.pending is None else pending_view(task.pending, actor=actor),
        "filename": text_of(record.labels.get("filename")),
        "facts": task.facts,
        "confidence": task.confidence,
        "reasons": list(review_reasons(record)),
        "reason_codes": task.reason_codes,
        "approvals": [
            schemas.ReviewApproval(
                by=str(each.get("by")),
                answer=str(each.get("answer")),
                is_mine=is_same_person(str(each.get("by")), person_of(actor)),
            )
            for each in approvals_of(record)
        ],
        "approvals_needed": task.approvals_needed,
        "group": task.group,
        "referral": _referral(record),
        "may_decide": task.is_open and _may_decide(task, person_of(actor)),
        "submitted_at": to_iso(record.created_at),
        "retry_count": record.retry_count,
        "replaces": record.replaces,
    }


def _may_decide(task: Task, person: str) -> bool:
    is_asked = task.people is None or is_among(person, task.people)
    return is_asked and not has_approved(task.record, person)


def _referral(record: Record) -> schemas.ReviewReferral | None:
    found = record.fields.get(REFERRAL)
    if not isinstance(found, dict):
        return None
    notes = found.get("notes")
    return schemas.ReviewReferral(
        by=str(found.get("by")),
        to=str(found.get("to")),
        at=str(found.get("at")),
        is_blind=found.get("is_blind") is True,
        notes=None if notes is None else str(notes),
    )


def pending_view(pending: PendingDecision, *, actor: str) -> schemas.ReviewPending:
    """A pending decision as `actor` sees it: what was typed is for its author until it is in effect."""
    is_mine = pending.actor == actor
    return schemas.ReviewPending(
        action=pending.action,
        by=pending.actor,
        is_mine=is_mine,
        at=to_iso(pending.at),
        effective_at=to_iso(pending.effective_at),
        corrected=pending.corrected if is_mine else {},
        notes=pending.notes if is_mine else None,
        reason_code=pending.reason_code if is_mine else None,
        batch=pending.batch if is_mine else None,
    )


def statistics_view(found: Statistics, *, since: Micros) -> schemas.ReviewStatistics:
    document = {**msgspec.to_builtins(found), "since": to_iso(since)}
    return msgspec.convert(document, schemas.ReviewStatistics)


def text_of(value: object) -> str | None:
    """A label or fact as text; None stays None."""
    return None if value is None else str(value)


# The installation


def audit_view(number: int, entry: AuditEntry) -> schemas.AuditItem:
    return schemas.AuditItem(
        number=number,
        at=to_iso(entry.at),
        actor=entry.actor,
        verb=entry.verb,
        record_id=entry.record_id or None,
        detail=entry.detail,
        reason=entry.reason,
        seq=entry.seq,
        hash=entry.hash,
        salt=entry.salt,
        reason_hash=entry.reason_hash,
    )


def dead_letter_view(number: int, letter: DeadLetter) -> schemas.DeadLetter:
    """Something that could not be read."""
    return schemas.DeadLetter(
        number=number,
        at=to_iso(letter.at),
        kind=letter.kind,
        reason=letter.reason,
        body=letter.body,
    )


def diagnosis_view(checks: Iterable[Check]) -> schemas.Diagnosis:
    """What was looked at in an installation."""
    found = [
        schemas.DiagnosisCheck(
            name=each.name, is_well=each.is_well, sentence=each.sentence, advice=each.advice
        )
        for each in checks
    ]
    return schemas.Diagnosis(is_well=all(each.is_well for each in found), checks=found)


def verification_view(verdict: Verdict) -> schemas.Verification:
    return schemas.Verification(
        is_sound=verdict.is_sound,
        records=verdict.records,
        transitions=verdict.transitions,
        lanes=verdict.lanes,
        root=verdict.root,
        former=verdict.former,
        since=verdict.since,
        unsealed=verdict.unsealed,
        sealed_since=verdict.sealed_since,
        has_strays=verdict.has_strays,
        checkpoint=verdict.checkpoint,
        findings=[
            schemas.VerificationFinding(check=each.check, where=each.where, sentence=each.sentence)
            for each in verdict.findings
        ],
    )


def erasure_view(done: Erased, *, copies: Iterable[str], is_dry_run: bool) -> schemas.ErasureAnswer:
    """What was erased, or would be."""
    return schemas.ErasureAnswer(
        erased=list(done.erased),
        refused=done.refused,
        documents=done.documents,
        copies=list(copies),
        left=done.left,
        is_dry_run=is_dry_run,
    )


def held_view(hold: Hold, *, is_held: bool) -> schemas.HeldRecord:
    """A record of which nothing may be deleted, or may be again."""
    return schemas.HeldRecord(
        record_id=hold.record_id,
        is_held=is_held,
        at=to_iso(hold.at),
        actor=hold.actor,
        reason=hold.reason,
    )


def retention_view(done: Iterable[Applied], *, is_dry_run: bool) -> schemas.RetentionAnswer:
    """What the rules of retention did, or would do."""
    rules = msgspec.convert(msgspec.to_builtins(list(done)), list[schemas.RetentionRuleResult])
    return schemas.RetentionAnswer(is_dry_run=is_dry_run, rules=rules)
