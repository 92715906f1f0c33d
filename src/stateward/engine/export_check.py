"""Checks a folder that `export history` wrote, without a store: `stateward verify DIR` for an auditor who has no other.

`proofs.history_file` reads `transitions.jsonl`. Here the other files are compared with it: each record with the last
transition that it has there, the audit log with its own chain, and all of it with the checkpoint that the export holds
and with one that was kept elsewhere. Nothing is written.

What was written while work went on may be newer than the transitions: records are as they were when their line was
written. A record that moved or was created since is counted and told, since nothing in the folder vouches for it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from stateward.core.chain import record_hash
from stateward.core.errors import Damage, InvalidRequest
from stateward.core.model import Json, Record, Transition, from_iso, plural
from stateward.engine.history import audit_line, record_line
from stateward.engine.sealed_lines import SEALED_FILES, SealsRead, digest_of_line
from stateward.ledger.verification import LedgerVerification
from stateward.proofs.checkpoints import CheckpointVerifier
from stateward.proofs.history_checkpoint import (
    AUDIT,
    HISTORY_ORIGIN,
    HistoryCheckpoint,
    log_name,
    read_checkpoint,
)
from stateward.proofs.history_file import (
    FINDINGS_MAX,
    LINE_BYTES_MAX,
    RECORDS,
    TRANSITIONS,
    HistoryFileCheck,
    Progress,
    encode_line,
)
from stateward.proofs.merkle import MerkleSpan, leaf_hash
from stateward.regular_files import open_regular
from stateward.storage.audit import GENESIS, AuditEntry, entry_hash, is_reason

AUDIT_FILE, CHECKPOINTS = "audit.jsonl", "checkpoints.jsonl"
_TIMES = ("created_at", "entered_at", "due_at", "last_retry_at")
_OR_SORTED = ", unless a version of 2026-11-18 or before wrote this export: it sorted what is hashed in another order"
_OR_UNSALTED = (
    ", unless a version of 2026-11-18 or before wrote this export, which left out the salts"
)
_NOT_AS_WRITTEN = "the line is not as the export wrote it"

_Line = Mapping[str, Any]


def check_export(
    folder: Path,
    *,
    kept: HistoryCheckpoint | None,
    progress: Progress,
    signed_by: CheckpointVerifier | None = None,
) -> LedgerVerification:
    """What is wrong with an export. With `kept`, it must be the history of that checkpoint, grown.

    With `signed_by`, the checkpoint that the export holds itself must be signed by that key.
    """
    log = HistoryFileCheck(folder / TRANSITIONS, progress, kept=kept, with_trees=True)
    log.run()
    check = _ExportCheck(folder, log, progress, signed_by)
    if not log.is_cut_short:
        check.records()
        check.sealed_rows(check.audit(kept))
    return LedgerVerification(
        lines=log.count,
        snapshots=0,
        head=log.head,
        root=log.root,
        findings=(*log.findings, *check.findings)[:FINDINGS_MAX],
        notes=tuple(check.notes),
    )


class _ExportCheck:
    """The files beside the transitions."""

    def __init__(
        self,
        folder: Path,
        log: HistoryFileCheck,
        progress: Progress,
        signed_by: CheckpointVerifier | None,
    ) -> None:
        self._folder, self._log, self._progress = folder, log, progress
        self._signed_by = signed_by
        self.findings: list[Damage] = []
        self.notes: list[Damage] = []

    def records(self) -> None:
        """Each record is what its last transition left."""
        left, seen, newer = dict(self._log.ends), set[str](), 0
        before = ""
        for at, text, line in self._lines(RECORDS):
            record = _record_of(line)
            if record is None or encode_line(record_line(record)) + b"\n" != text:
                self._report(RECORDS, _NOT_AS_WRITTEN, at)
                continue
            if record.id < before:
                self._report(RECORDS, f"{record.id}: it is not in the order of the ids", at)
            before = record.id
            last = left.pop(record.id, None)
            if record.id in seen:
                self._report(RECORDS, f"{record.id}: it is there twice", at)
            elif last is None or record.version > last.version:
                newer += 1
            elif sentence := _difference(record, last):
                self._report(RECORDS, f"{record.id}: {sentence}", at)
            seen.add(record.id)
        for record_id in left:
            self._report(RECORDS, f"{record_id}: it has transitions, and is not there")
        if newer:
            sentence = f"{plural(newer, 'record')} moved after the export began: nothing here vouches for them"
            self.notes.append(Damage(file=RECORDS, sentence=sentence))

    def sealed_rows(self, seals: SealsRead | None) -> None:
        """Each row that no transition binds has its digest in the audit log; without one nothing is known of them."""
        if seals is None:
            return
        left = seals.left()
        for name, kind in SEALED_FILES.items():
            for at, text, line in self._lines(name):
                digest = digest_of_line(kind, line)
                if digest is None or encode_line(line) + b"\n" != text:
                    self._report(name, f"{_NOT_AS_WRITTEN}{_OR_UNSALTED}", at)
                elif left[kind, digest] > 0:
                    left[kind, digest] -= 1
                else:
                    self._report(name, "the line was changed, doubled or invented", at)
            if missing := sum(count for (own, _), count in left.items() if own == kind):
                self._report(name, f"{missing:,} were changed or deleted")

    def audit(self, kept: HistoryCheckpoint | None) -> SealsRead | None:
        """The audit log is a chain, and comes past what the checkpoints count. What it says of rows, if it is whole."""
        checkpoints = [*self._own_checkpoints(), *(() if kept is None else (kept,))]
        heads = {each.audit[0]: each.audit[1] for each in checkpoints if each.audit is not None}
        roots = {each.audit[0]: each.trees[AUDIT] for each in checkpoints if each.audit is not None}
        count, last, span, seals = 0, GENESIS, MerkleSpan(), SealsRead()
        self._compare_audit(heads, roots, count, last, span)
        for at, text, line in self._lines(AUDIT_FILE):
            entry = _entry_of(line)
            if entry is None or encode_line(audit_line(entry)) + b"\n" != text:
                self._report(AUDIT_FILE, _NOT_AS_WRITTEN, at)
                return None
            count += 1
            if entry.seq != count:
                self._report(
                    AUDIT_FILE, f"entry {count} is missing: the next one is {entry.seq}", at
                )
                return None
            last = _hash_of(entry, last)
            if last != entry.hash or not is_reason(entry.reason, entry.salt, entry.reason_hash):
                self._report(AUDIT_FILE, f"entry {count} was changed{_OR_SORTED}", at)
                return None
            seals.read(entry)
            span.add(leaf_hash(last.encode()))
            self._compare_audit(heads, roots, count, last, span)
        for wanted in heads:
            sentence = f"it has {plural(count, 'entry')}, and the checkpoint counts {wanted}"
            self._report(AUDIT_FILE, sentence)
        if not checkpoints:
            sentence = "that nothing was cut off its end only a checkpoint shows (--checkpoint)"
            self.notes.append(Damage(file=AUDIT_FILE, sentence=sentence))
        return seals if count else None

    def _compare_audit(
        self, heads: dict[int, str], roots: dict[int, str], count: int, last: str, span: MerkleSpan
    ) -> None:
        if count in heads and (heads.pop(count), roots[count]) != (last, span.root().hex()):
            sentence = f"its first {plural(count, 'entry')} are not those of the checkpoint"
            self._report(AUDIT_FILE, sentence)

    def _own_checkpoints(self) -> Iterator[HistoryCheckpoint]:
        """What the export says of itself, which must be the same as its files say."""
        key, has_any = self._signed_by, False
        for at, _, line in self._lines(CHECKPOINTS):
            text = str(line.get("checkpoint"))
            has_any = True
            try:
                found = read_checkpoint(text)
            except InvalidRequest as error:
                self._report(CHECKPOINTS, str(error), at)
                continue
            if key is not None and not key.has_signed(text):
                self._report(CHECKPOINTS, f"it carries no good signature of {key.name}", at)
            if found.origin != HISTORY_ORIGIN:
                self._report(CHECKPOINTS, f"it is that of {found.origin!r}", at)
            ends = {each.lane: (each.count, each.head) for each in found.lanes}
            if ends != {each.lane: (each.count, each.head) for each in self._log.lanes}:
                self._report(CHECKPOINTS, "its lanes are not those of anchor.json", at)
            for log in sorted(ends):
                if self._log.trees.get(log) != found.trees[log]:
                    self._report(
                        CHECKPOINTS, f"its tree {log_name(log)} is not that of the lane", at
                    )
            yield found
        if key is not None and not has_any:
            self._report(CHECKPOINTS, f"there is none, and so none that {key.name} has signed")

    def _lines(self, name: str) -> Iterator[tuple[int, bytes, _Line]]:
        """Each line of a file that can be read: its place, its text and its values; what cannot be read is reported."""
        at = 0
        try:
            with open_regular(self._folder / name) as file:
                while text := file.readline(LINE_BYTES_MAX):
                    try:
                        line = msgspec.json.decode(text, type=dict[str, Any])
                    except (msgspec.DecodeError, ValueError, RecursionError) as error:
                        self._report(name, f"the line cannot be read: {error}", at)
                        return
                    yield at, text, line
                    at += len(text)
        except OSError as error:
            self._report(name, f"it cannot be read: {error.strerror}")

    def _report(self, name: str, sentence: str, at: int | None = None) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Damage(file=name, sentence=sentence, byte=at))


def _record_of(line: _Line) -> Record | None:
    try:
        values = dict(line)
        values["id"] = values.pop("record_id")
        for name in _TIMES:
            values[name] = None if values[name] is None else from_iso(values[name])
        return msgspec.convert(values, Record)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _difference(record: Record, last: Transition) -> str:
    """What of a record is not as its last transition left it; '' if all is."""
    if record.version < last.version:
        return f"it is at version {record.version}, and its history ends at {last.version}"
    if record.status != last.target:
        return f"it is {record.status!r}, and its history ends in {last.target!r}"
    if record.head != last.hash or record_hash(record, last.salt) != last.record_hash:
        return "a field was changed without a transition"
    return ""


def _entry_of(line: _Line) -> AuditEntry | None:
    try:
        return msgspec.convert({**line, "at": from_iso(line["at"])}, AuditEntry)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _hash_of(entry: AuditEntry, before: str) -> str:
    detail = msgspec.json.encode(entry.detail).decode()
    fields: tuple[Json, ...] = (entry.at, entry.actor, entry.verb, entry.record_id, detail)
    sealed = entry.reason if entry.reason_hash is None else entry.reason_hash
    return entry_hash(before, entry.seq or 0, (*fields, sealed))
