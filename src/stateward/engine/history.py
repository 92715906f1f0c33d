"""`verify` replays and checks the whole history, `export` writes it as JSON lines. Neither changes the store.

Both stream: they hold a few thousand rows, however long the history is. Writers may go on meanwhile, so both begin with
the anchor and read the log up to its count: it is numbered without gaps in the order of commits, and what is below that
count does not change any more (docs/decisions/0006).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from stateward.core.machine import Machine
from stateward.core.model import (
    Fields,
    Record,
    Transition,
    to_iso,
)
from stateward.core.verify import (
    Finding,
    LogCheck,
    by_record,
    check_record,
)
from stateward.storage.store import Store

CHUNK = 2000  # rows of one query: bounds memory, and how long a read is open beside the writers
FINDINGS_MAX = 1000  # damage may give a finding for every record; the first ones show what happened

Progress = Callable[[str, int], None]

# Sorted keys: two exports of one history are the same bytes, and can be compared by their hashes.
_encode = msgspec.json.Encoder(order="deterministic").encode


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification. Count and head are those of the anchor, to be compared with a checkpoint."""

    records: int
    transitions: int
    anchor_count: int
    anchor_head: str
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no check failed."""
        return not self.findings


def verify(
    store: Store,
    machines: Mapping[tuple[str, int], Machine],
    *,
    progress: Progress = lambda *_: None,
) -> Verdict:
    """Replay the whole history: chain, order, anchor, graph, versions, and the records as they stand.

    Writers may go on meanwhile: the check covers the log up to where it was when it began. The log is checked first, in
    the order of commits, then each record with its own transitions, because the two have separate chains.
    """
    anchor = store.anchor()
    findings: list[Finding] = []
    count = 0
    check = LogCheck()
    for chunk in _log(store, until=anchor.count):
        findings += check.feed(chunk)
        count += len(chunk)
        progress("log", count)
    findings += check.end(anchor)
    records = 0
    for record, history in _pairs(store, until=anchor.count):
        findings += check_record(record, history, machines)
        records += 1
        progress("records", records)
        if len(findings) >= FINDINGS_MAX:
            break
    return Verdict(
        records=records,
        transitions=count,
        anchor_count=anchor.count,
        anchor_head=anchor.head,
        findings=tuple(findings[:FINDINGS_MAX]),
    )


def export(store: Store, folder: Path, *, progress: Progress = lambda *_: None) -> dict[str, int]:
    """Write the history as JSON lines into a new or empty folder; how many lines each file got.

    `anchor.json` belongs to `transitions.jsonl`, and is written last: a folder without it is an unfinished export. The
    other files show what the store held when they were written, which may be a little newer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    anchor = store.anchor()
    counts = {
        "transitions.jsonl": _write(
            folder / "transitions.jsonl",
            (transition_line(each) for chunk in _log(store, until=anchor.count) for each in chunk),
            progress,
        ),
        "records.jsonl": _write(
            folder / "records.jsonl", (record_line(each) for each in store.walk()), progress
        ),
        "dispositions.jsonl": _write(folder / "dispositions.jsonl", _dispositions(store), progress),
        "dead_letters.jsonl": _write(
            folder / "dead_letters.jsonl",
            (
                {"kind": each.kind, "body": each.body, "reason": each.reason, "at": to_iso(each.at)}
                for each in store.dead_letters()
            ),
            progress,
        ),
    }
    (folder / "anchor.json").write_bytes(
        _encode({"count": anchor.count, "head": anchor.head, "digest": anchor.digest}) + b"\n"
    )
    return counts


def transition_line(t: Transition) -> Fields:
    """A transition in the form of the export: all that its hash covers, so that the chain can be checked from the file.

    `from` and `to` are the names of the format; times are RFC 3339, the text that is hashed (docs/decisions/0009).
    """
    return {
        "record_id": t.record_id,
        "machine": t.machine,
        "machine_version": t.machine_version,
        "from": t.source,
        "to": t.target,
        "version": t.version,
        "event_id": t.event_id,
        "at": to_iso(t.at),
        "actor": t.actor,
        "authority": t.authority,
        "epoch": t.epoch,
        "attempt": t.attempt,
        "trigger": t.trigger,
        "seq": t.seq,
        "metadata": t.metadata,
        "record_hash": t.record_hash,
        "prev_hash": t.prev_hash,
        "hash": t.hash,
    }


def record_line(r: Record) -> Fields:
    """A record in the form of the export: every field, times as RFC 3339."""
    line: Fields = msgspec.to_builtins(r)
    line["record_id"] = line.pop("id")
    for field in ("created_at", "entered_at", "due_at", "last_retry_at"):
        value = getattr(r, field)
        line[field] = None if value is None else to_iso(value)
    return line


def _write(path: Path, lines: Iterator[Fields], progress: Progress) -> int:
    count = 0
    with path.open("wb") as file:
        for count, line in enumerate(lines, 1):
            file.write(_encode(line) + b"\n")
            if count % CHUNK == 0:
                progress(path.name, count)
    progress(path.name, count)
    return count


def _log(store: Store, *, until: int) -> Iterator[list[Transition]]:
    after = 0
    while after < until:
        chunk = store.log(after=after, limit=min(CHUNK, until - after))
        if not chunk:
            return
        yield chunk
        after = chunk[-1].seq


def _pairs(store: Store, *, until: int) -> Iterator[tuple[Record | None, list[Transition]]]:
    """Each record with its history; None or [] where one has no counterpart, which is a finding.

    Both are streams in the order of record ids, merged, so that neither has to be in memory. The records are read later
    than the anchor: one that moved or was created since then would not fit its history, and is left out.
    """
    histories = by_record(store.walk_history(chunk=CHUNK, until=until))
    history = next(histories, None)
    for record in store.walk(chunk=CHUNK):
        while history is not None and history[0].record_id < record.id:
            yield None, history
            history = next(histories, None)
        if history is not None and history[0].record_id == record.id:
            if record.version == history[-1].version or not _moved_on(store, record, history[-1]):
                yield record, history
            history = next(histories, None)
        elif not _is_newer(store, record, until):
            yield record, []
    while history is not None:
        yield None, history
        history = next(histories, None)


def _moved_on(store: Store, record: Record, last: Transition) -> bool:
    """Whether the record changed after the verification began. It costs a query, so only where versions differ."""
    return store.history(record.id)[-1].seq > last.seq


def _is_newer(store: Store, record: Record, until: int) -> bool:
    history = store.history(record.id)
    return bool(history) and history[0].seq > until


def _dispositions(store: Store) -> Iterator[Fields]:
    after = 0
    while chunk := store.dispositions(after=after, limit=CHUNK):
        for _, each in chunk:
            line: Fields = msgspec.to_builtins(each)
            line["at"] = to_iso(each.at)
            yield line
        after = chunk[-1][0]
