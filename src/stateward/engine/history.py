"""`verify` replays and checks the whole history, `export` writes it as JSON lines. Neither changes the store.

Both stream: they hold a few thousand rows, however long the history is. Writers may go on meanwhile, so both begin with
the lanes as they are at one moment, and read each up to its count: what is below that does not change any more
(docs/decisions/0024).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from pathlib import Path

import msgspec
from msgspec import convert

from stateward.blobs import ArtifactStore
from stateward.core.chain import GENESIS
from stateward.core.erasure import CONTENTS, ITEMS, erased_kinds
from stateward.core.errors import ArtifactChanged, ArtifactError
from stateward.core.lanes import FORMER, Lane, LaneRouter, LogEntry, extend
from stateward.core.machine import Machine
from stateward.core.model import (
    Fields,
    Micros,
    Record,
    Transition,
    plural,
    to_iso,
)
from stateward.core.output_seal import left_digest
from stateward.core.verify import (
    Finding,
    LogCheck,
    OutputCheck,
    by_record,
    check_record,
    left_of,
)
from stateward.engine.history_tree import HistoryTree, TreeCheck
from stateward.engine.row_check import (
    PriorityCheck,
    began_after,
    check_acts,
    check_epochs,
    check_erasures,
    check_numbers,
    check_rows,
    former_until,
    log_marks,
)
from stateward.engine.sealed_lines import (
    SEALED_FILES,
    is_erased_since,
    sealed_lines,
)
from stateward.proofs.checkpoints import CheckpointSigner
from stateward.proofs.history_checkpoint import (
    HistoryCheckpoint,
    lanes_root,
    make_checkpoint,
)
from stateward.proofs.history_file import LaneLine, encode_line
from stateward.storage.audit import MACHINES_STORED, AuditEntry, AuditHead, AuditLog
from stateward.storage.doubled_keys import doubled_keys
from stateward.storage.output_seals import items_left, stored_seals, strays
from stateward.storage.outputs import stored_files
from stateward.storage.row_seals import FORMER_ACTS, OUTPUTS, sealing_began
from stateward.storage.store import Store

CHUNK = 2000  # rows of one query: bounds memory, and how long a read is open beside the writers
ATTEMPTS_MAX = 5  # an erasure for each of them is a rehearsal of one, not work
FINDINGS_MAX = 1000  # damage may give a finding for every record; the first ones show what happened

Progress = Callable[[str, int], None]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verification, and the checkpoint of what was verified: give it to someone else.

    `former` of the transitions were written before the store had lanes, which it has since `since`: who kept no
    checkpoint of them elsewhere knows that they have not changed from then on. `unsealed` are outputs that no
    transition has a digest of: they were written by a former version; the first digest is of `sealed_since`.
    `has_strays` says of an empty history that documents are stored beside it: those of submissions that failed, or of
    a history that is not here.
    """

    records: int
    transitions: int
    lanes: int
    root: str
    former: int
    since: str | None
    unsealed: int
    sealed_since: str | None
    checkpoint: str
    findings: tuple[Finding, ...]
    has_strays: bool = False

    @property
    def is_sound(self) -> bool:
        """Whether no check failed."""
        return not self.findings


def verify(
    store: Store,
    machines: Mapping[tuple[str, int], Machine],
    *,
    audit: AuditLog | None = None,
    kept: HistoryCheckpoint | None = None,
    signer: CheckpointSigner | None = None,
    progress: Progress = lambda *_: None,
) -> Verdict:
    """Replay the whole history: lanes, hashes, order, graph, versions, the records as they stand, and their outputs.

    Writers may go on meanwhile: the check covers the log up to where it was when it began. The log is checked first, in
    the order of commits, then each record with its own transitions. With `kept`, a checkpoint that was made earlier and
    kept elsewhere, the history must be that one, grown.
    """
    stored_tree = store.tree.every()
    lanes = store.lanes.all()
    acts = None if audit is None else audit.head()
    complete, until = store.log.end(), store.log.last_seq()
    progress("database", 0)
    findings = [
        Finding(check="database", where="database", sentence=each)
        for each in store.database.damage()
    ]
    findings += check_numbers(store.database)
    if audit is not None:
        findings += check_audit(store, audit, kept=None if kept is None else kept.audit)
        findings += check_rows(store, audit)
        findings += check_erasures(store, audit)
        findings += check_acts(store, audit)
    count = 0
    check = LogCheck(
        lanes,
        kept=() if kept is None else kept.lanes,
        marks=None if audit is None or acts is None else log_marks(audit, until=acts.count),
        is_gapless=store.database.is_gapless,
    )
    trees = TreeCheck(stored_tree, lanes, acts, kept=kept)
    for chunk in _entries(store, until=until):
        findings += check.feed(chunk)
        trees.feed(chunk)
        count += len(chunk)
        progress("log", count)
    findings += check.end(store.lanes.all())
    if audit is not None:
        findings += check_epochs(store, audit, newest=check.epoch)
    if audit is not None and acts is not None:
        trees.feed_acts(audit.hashes(0, acts.count))
    findings += trees.findings()
    records = 0
    priorities = None if audit is None else PriorityCheck(store, audit)
    outputs = OutputCheck(stored_seals(store.database), sealed_after=began_after(audit, OUTPUTS))
    findings += _check_strays(store)
    findings += _check_texts(store)
    for record, history in _pairs(store, until=complete):
        found = [
            *check_record(record, history, machines),
            *outputs.check(history),
            *_check_untold(store, history, outputs.untold, machines),
            *_check_items_left(store, history),
            *(() if priorities is None else priorities.check(record, history)),
        ]
        if found and not (history and _moved_on(store, history[-1])):
            findings += found
        records += 1
        progress("records", records)
        if len(findings) >= FINDINGS_MAX:
            break
    else:
        outputs.end()
        findings += _check_owners(store, outputs.others)
    if priorities is not None:
        findings += [each for each in priorities.of_acts() if each not in findings]
    former = next((each for each in lanes if each.lane == FORMER), None)
    return Verdict(
        records=records,
        transitions=count,
        lanes=sum(each.lane != FORMER for each in lanes),
        root=lanes_root(lanes).hex(),
        former=former.count if former else 0,
        since=_moment(former.since if former else None),
        unsealed=outputs.unsealed,
        sealed_since=_moment(outputs.since),
        checkpoint=make_checkpoint(
            lanes,
            audit=None if acts is None else (acts.count, acts.hash),
            trees=trees.roots(),
            signer=signer,
        ),
        findings=tuple(findings[:FINDINGS_MAX]),
    )


def _moment(at: Micros | None) -> str | None:
    """A time for people; None where there is none, or a damaged row has one that no calendar knows."""
    try:
        return None if at is None else to_iso(at)
    except (ValueError, OverflowError, OSError):
        return None


def checkpoint_of(
    store: Store,
    audit: AuditLog,
    *,
    signer: CheckpointSigner | None,
    is_stored: bool,
    lanes: Sequence[Lane] | None = None,
) -> str:
    """The checkpoint of the history as it is now, or of these lanes; nothing is verified.

    With `is_stored`, the hashes of the trees over it are stored, so that the next checkpoint reads only what is new.
    """
    acts, found = audit.head(), store.lanes.all() if lanes is None else lanes
    roots = HistoryTree(store, audit, is_stored=is_stored).roots(found, acts)
    return make_checkpoint(found, audit=(acts.count, acts.hash), trees=roots, signer=signer)


def check_audit(
    store: Store, audit: AuditLog, *, kept: tuple[int, str] | None = None
) -> Iterator[Finding]:
    """What is wrong with the audit log, and with the machines whose documents it seals.

    Machines that a former version stored are not in it; their graphs are checked by the transitions that they allowed.
    """
    head = None if kept is None else AuditHead(count=kept[0], hash=kept[1])
    for fault in audit.faults(kept=head):
        yield Finding(check="audit", where="audit log", sentence=fault)
    loose, late = audit.unchained()
    is_sealed = FORMER_ACTS in sealing_began(audit)  # then those before the chain are known
    if invented := late if is_sealed or former_until(store, audit) else loose:
        sentence = f"{plural(invented, 'entry')} without a place in the chain"
        yield Finding(check="audit", where="audit log", sentence=sentence)
    for record_id in audit.erased_reasons():
        if not any(CONTENTS in erased_kinds(each) for each in store.history(record_id)):
            sentence = "reasons of acts are gone, and no transition erased them"
            yield Finding(check="erased", where=record_id, sentence=sentence)
    stored = store.machine_versions.document_digests()
    for entry in audit.walk(verb=MACHINES_STORED):
        for name, version, digest in _sealed_machines(entry):
            found = stored.get((name, version))
            if found != digest:
                yield Finding(
                    check="machine",
                    where=f"machine {name} version {version}",
                    sentence="its document is gone"
                    if found is None
                    else "its document was changed after it came into force",
                )


def _check_strays(store: Store) -> Iterator[Finding]:
    """Items without their output, unless an erasure of the contents left them: it deletes outputs, and not items."""
    for (record_id, version), what in strays(store.database):
        gone = {kind: t.version for t in store.history(record_id) for kind in erased_kinds(t)}
        is_erased = ITEMS in gone and version < gone[ITEMS]
        if CONTENTS in gone and version < gone[CONTENTS] and not is_erased:
            continue
        sentence = f"{what} of no output: they were invented, or their output was deleted"
        yield Finding(check="output", where=f"{record_id} version {version}", sentence=sentence)


def _check_owners(store: Store, record_ids: Iterable[str]) -> Iterator[Finding]:
    """Outputs of records that were not checked: these moved meanwhile, or there is no such record."""
    for each in record_ids:
        if not store.history(each):
            sentence = "results of no record: they were invented, or the record was deleted"
            yield Finding(check="output", where=each, sentence=sentence)


def _check_texts(store: Store) -> Iterator[Finding]:
    """Values that one reader would see and another not."""
    for where, column in doubled_keys(store.database):
        sentence = (
            f"its {column} name a key twice: lists would show one value, and the other is proved"
        )
        yield Finding(check="text", where=where, sentence=sentence)


def _check_untold(
    store: Store,
    history: Sequence[Transition],
    untold: Sequence[tuple[int, bool]],
    machines: Mapping[tuple[str, int], Machine],
) -> Iterator[Finding]:
    """Outputs that no transition tells of."""
    if not untold:
        return
    last = history[-1]
    machine = machines.get((last.machine, last.machine_version))
    is_running = machine is not None and machine.kind.get(last.target) == "running"
    for version, was_attempt in untold:
        if is_running and version == last.version:
            continue  # a result whose event is on its way
        where = f"{history[0].record_id} version {version}"
        if not was_attempt:
            yield Finding(
                check="output", where=where, sentence="it was invented: no attempt ran then"
            )
        elif not store.is_told(history[0].record_id, version):
            sentence = "it was invented, or changed: nothing tells that the attempt ended so"
            yield Finding(check="output", where=where, sentence=sentence)


def _check_items_left(store: Store, history: Sequence[Transition]) -> Iterator[Finding]:
    """Items whose contents were erased are those that the erasure left."""
    if left := left_of(history, CONTENTS):
        version, digest = left
        record_id = history[0].record_id
        if left_digest(items_left(store.database, record_id, before=version)) != digest:
            sentence = "items were changed, deleted or invented after the contents were erased"
            yield Finding(check="output", where=record_id, sentence=sentence)


def _sealed_machines(entry: AuditEntry) -> list[tuple[str, int, str]]:
    try:
        return convert(entry.detail.get("machines"), list[tuple[str, int, str]])
    except msgspec.ValidationError:
        return []  # the entry was changed, which the chain of the audit log shows


def check_documents(
    store: Store, artifacts: ArtifactStore, *, progress: Progress = lambda *_: None
) -> Iterator[Finding]:
    """What is wrong with documents and derived files: those that are missing, and those that were changed."""
    seen: set[str] = set()
    documents = ((each.id, each.artifact) for each in store.walk(chunk=CHUNK))
    for record_id, digest in chain(documents, stored_files(store.database)):
        if digest is None or digest in seen:
            continue
        seen.add(digest)
        sentence = _fault_of(artifacts, digest)
        if sentence is not None:
            yield Finding(check="document", where=record_id, sentence=sentence)
        progress("documents", len(seen))


def _fault_of(artifacts: ArtifactStore, digest: str) -> str | None:
    try:
        return None if artifacts.verify(digest) else str(ArtifactChanged(digest))
    except (ArtifactError, OSError) as error:
        return str(error)


def export(
    store: Store,
    folder: Path,
    *,
    audit: AuditLog | None = None,
    signer: CheckpointSigner | None = None,
    progress: Progress = lambda *_: None,
) -> dict[str, int]:
    """Write the history as JSON lines into a new or empty folder; how many lines each file got.

    `anchor.json` belongs to `transitions.jsonl`, and is written last: a folder without it is an unfinished export.
    Records are as they were when they were written, which may be a little newer.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lanes = store.lanes.all()
    checkpoints: list[Fields] = []
    if signer is not None and audit is not None:
        text = checkpoint_of(store, audit, signer=signer, is_stored=False, lanes=lanes)
        checkpoints = [{"checkpoint": text}]
    files: dict[str, Iterator[Mapping[str, object] | LaneLine]] = {
        "transitions.jsonl": lane_lines(lanes, _log(store, until=store.log.last_seq())),
        "records.jsonl": (record_line(each) for each in store.walk()),
    }
    counts = {name: _write(folder / name, lines, progress) for name, lines in files.items()}
    for _ in range(ATTEMPTS_MAX):
        end = 0 if audit is None else audit.head().count
        for name, kind in SEALED_FILES.items():
            lines = sealed_lines(store.database, kind, audit, end=end)
            counts[name] = _write(folder / name, lines, progress)
        if not is_erased_since(audit, end):
            break
    acts = (
        iter(()) if audit is None else takewhile(lambda each: (each.seq or 0) <= end, audit.walk())
    )
    counts["audit.jsonl"] = _write(folder / "audit.jsonl", map(audit_line, acts), progress)
    counts["checkpoints.jsonl"] = _write(folder / "checkpoints.jsonl", iter(checkpoints), progress)
    (folder / "anchor.json").write_bytes(encode_line(anchor_line(lanes)) + b"\n")
    return counts


def audit_line(entry: AuditEntry) -> dict[str, object]:
    """An entry of the audit log in the form of the export; its hash can be computed from the lines.

    Its detail is the text that is stored and hashed: sorted keys would make another one of it.
    """
    detail = msgspec.Raw(msgspec.json.encode(entry.detail))
    return {**msgspec.to_builtins(entry), "at": to_iso(entry.at), "detail": detail}


def anchor_line(lanes: Sequence[Lane]) -> Fields:
    """What says that an export is all: count and head of each lane, and the root that binds them in order."""
    return {
        "lanes": [{"lane": each.lane, "count": each.count, "head": each.head} for each in lanes],
        "root": lanes_root(lanes).hex(),
    }


def lane_lines(lanes: Sequence[Lane], log: Iterable[Sequence[Transition]]) -> Iterator[LaneLine]:
    """The log in the form of the export: each transition with its place in its lane and its value in the chain.

    Transitions that were added after the lanes were read are left out.
    """
    router = LaneRouter(lanes)
    counts = {each.lane: each.count for each in lanes}
    ends = {each.lane: (0, GENESIS) for each in lanes}
    for chunk in log:
        for each in chunk:
            lane = router.lane(each.record_id, each.seq)
            count, value = ends.get(lane, (0, GENESIS))
            if count >= counts.get(lane, 0):
                continue
            ends[lane] = count + 1, extend(value, (each.hash,))
            yield LaneLine.of(
                each, lane=lane, lane_seq=count + 1, lane_prev=value, lane_hash=ends[lane][1]
            )


def record_line(r: Record) -> Fields:
    """A record in the form of the export: every field, times as RFC 3339."""
    line: Fields = msgspec.to_builtins(r)
    line["record_id"] = line.pop("id")
    for field in ("created_at", "entered_at", "due_at", "last_retry_at"):
        value = getattr(r, field)
        line[field] = None if value is None else to_iso(value)
    return line


def _write(path: Path, lines: Iterator[Mapping[str, object] | LaneLine], progress: Progress) -> int:
    count = 0
    with path.open("wb") as file:
        for count, line in enumerate(lines, 1):
            file.write(encode_line(line) + b"\n")
            if count % CHUNK == 0:
                progress(path.name, count)
    progress(path.name, count)
    return count


def _log(store: Store, *, until: int) -> Iterator[list[Transition]]:
    after = 0
    while chunk := store.log.between(after, until, limit=CHUNK):
        yield chunk
        after = chunk[-1].seq


def _entries(store: Store, *, until: int) -> Iterator[list[LogEntry]]:
    after = 0
    while chunk := store.log.entries(after, until, limit=CHUNK):
        yield chunk
        after = chunk[-1].seq


def _pairs(store: Store, *, until: int) -> Iterator[tuple[Record | None, list[Transition]]]:
    """Each record with its history; None or [] where one has no counterpart, which is a finding.

    Both are streams in the order of record ids, merged, so that neither has to be in memory. The records are read later
    than the log: one that moved or was created since then would not fit its history, and is left out. It may also move,
    or be erased, while what it holds is read: so nothing is found of a record that moved since.
    """
    histories = by_record(store.log.walk(chunk=CHUNK, until=until))
    history = next(histories, None)
    for record in store.walk(chunk=CHUNK):
        while history is not None and history[0].record_id < record.id:
            yield None, history
            history = next(histories, None)
        if history is not None and history[0].record_id == record.id:
            if record.version == history[-1].version or not _moved_on(store, history[-1]):
                yield record, history
            history = next(histories, None)
        elif not store.history(record.id):  # it was not created since then either
            yield record, []
    while history is not None:
        yield None, history
        history = next(histories, None)


def _moved_on(store: Store, last: Transition) -> bool:
    """Whether its record changed after the verification began. It costs a query, so only where something differs."""
    return store.history(last.record_id)[-1].seq > last.seq
