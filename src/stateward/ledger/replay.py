"""Goes through the log of a ledger once more: each move against its state machine, the outcome against what is stored.

The bytes are checked before, by `verification`; here it is asked whether what they say makes sense. Reads only.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import structs

from stateward.core.erasure import RECORD_ERASED
from stateward.core.errors import Damage, LedgerDamaged
from stateward.core.machine import is_stay
from stateward.core.model import Transition
from stateward.core.verify import check_link
from stateward.ledger.manifest import Manifest, SnapshotInfo
from stateward.ledger.mirrored import MIRRORED, mirrored_transition
from stateward.ledger.record import (
    IMPORT_CLOSED,
    IMPORT_OPENED,
    LedgerLine,
    decode_json,
    encode_json,
    line_from_snapshot,
)
from stateward.ledger.states import TransitionTable
from stateward.ledger.view import LedgerView, Progress, no_progress

PROGRESS_LINES = 65_536
"""Often enough for a person who waits, and too seldom to be seen in the time that it takes."""
_NO_STATE = (None, 0)


def replay(
    view: LedgerView, table: TransitionTable | None, tables: Mapping[str, TransitionTable], *,
    progress: Progress = no_progress,
) -> Iterator[Damage]:  # fmt: skip
    """Replay the log and compare the outcome with what is stored; what cannot be read for that is a finding too."""
    try:
        yield from _replay(view, table, tables, progress)
    except LedgerDamaged as error:
        yield from error.findings


def _replay(
    view: LedgerView, table: TransitionTable | None, tables: Mapping[str, TransitionTable], progress: Progress
) -> Iterator[Damage]:  # fmt: skip
    """Each transition against its state machine, and the outcome against the stored documents.

    Where segments were removed there are two walks: from the start, which checks moves up to the first gap, and from
    the snapshot after the last one.
    """
    unknown: set[str] = set()
    removed = max((info.end_seq for info in view.segments() if info.is_removed), default=0)
    base = replay_base(view.manifest, removed)
    walk = _LogWalk(view, None, progress)
    yield from _wrong_lines(walk, table, tables, unknown, up_to=base.last_seq if base else None)
    if base is not None:
        is_importing = walk.import_opened > removed or _is_import_open(view, base.last_seq)
        walk = _LogWalk(view, base, progress)
        walk.import_opened = base.last_seq if is_importing else 0
        yield from _wrong_lines(walk, table, tables, unknown)
    if walk.import_opened:
        sentence = "an import began here and never ended, so no move after it is checked; finish the migration"
        yield Damage(file="log", seq=walk.import_opened, sentence=sentence)
    if walk.is_whole:
        yield from wrong_documents(view, walk.states)


def _wrong_lines(
    walk: "_LogWalk", table: TransitionTable | None, tables: Mapping[str, TransitionTable], unknown: set[str], *,
    up_to: int | None = None,
) -> Iterator[Damage]:  # fmt: skip
    """What is wrong with the lines of a walk, which ends after the seq `up_to`.

    Imported lines may make any move. A mirrored line is checked against the machine that it names, if `tables` has
    that version of it; a name that `tables` does not have is reported once (`unknown`). The seal of a mirrored
    transition is computed anew: a mirror is bound by the hash rule of its store and by its own. Memory grows with the
    number of documents.
    """
    for line in walk.lines():
        if up_to is not None and line.seq > up_to:
            return
        if not line.doc_id:
            if line.new_state in (IMPORT_OPENED, IMPORT_CLOSED):
                walk.import_opened = line.seq if line.new_state == IMPORT_OPENED else 0
            continue
        state = walk.states.get(line.doc_id, _NO_STATE)[0]
        is_own = line.source is None and not walk.import_opened and walk.is_whole
        if (
            is_own and table is not None
            and state == line.old_state and (state, line.new_state) in table.pairs
        ):  # fmt: skip
            continue  # a good move, as nearly all are: there is nothing to say
        is_judged = not walk.import_opened and (line.source is None or bool(tables))
        own = _table_of(line, table, tables)
        is_unknown = own is None and bool(tables) and line.adapter not in tables
        if is_unknown and line.adapter not in unknown:
            unknown.add(line.adapter)
            sentence = f"no machine {line.adapter!r} is known here, so its moves cannot be checked"
            yield Damage(file="log", seq=line.seq, sentence=sentence)
        for sentence in _wrong_moves(line, state, own, is_checked=is_judged and walk.is_whole):
            yield Damage(file="log", seq=line.seq, sentence=sentence)
        # What sealed it last is gone only if the snapshot that the walk began at knows the document.
        is_first_seen = walk.has_base and state is not None and line.doc_id not in walk.sealed
        for sentence in _wrong_seals(line, walk.sealed, is_first_seen) if walk.is_whole else ():
            yield Damage(file="log", seq=line.seq, sentence=sentence)


def _is_import_open(view: LedgerView, seq: int) -> bool:
    """Whether an import was under way at `seq`: the line that closes it says where it was opened."""
    for _, line in view.log_lines(after=seq):
        if line.new_state == IMPORT_CLOSED and not line.doc_id:
            opened = line.metadata.get("opened")
            if isinstance(opened, int) and opened <= seq:
                return True
    return False


def replay_base(manifest: Manifest, removed: int) -> SnapshotInfo | None:
    """The oldest snapshot after the lines that were removed, the last of which is given; None if there were none.

    One to before which a rollback went is of no use: what was there then is not known.
    """
    for info in reversed(manifest.snapshots) if removed else ():
        is_gone_back = any(to < info.last_seq < at for at, to in manifest.rollbacks)
        if info.last_seq >= removed and not is_gone_back:
            return info
    return None


def states_after(
    view: LedgerView, base: SnapshotInfo | None, progress: Progress
) -> dict[str, tuple[str, int]] | None:
    """Where the lines after a snapshot, or all lines, lead to; None if some of them were removed."""
    walk = _LogWalk(view, base, progress)
    if all(walk.is_whole for _ in walk.lines()) and walk.is_whole and walk.seq == view.active.seq:
        return walk.states
    return None


class _LogWalk:
    """Goes through the log from a snapshot, or from its start, and knows where it has led the documents to.

    `states` are the state of each document and a hash of all that a snapshot keeps of it, `sealed` the last mirrored
    transition of each, and `import_opened` where an import that is under way began, which the caller fills in.
    `is_whole` turns False where a line is missing, or the place that a rollback went back to.
    """

    def __init__(self, view: LedgerView, base: SnapshotInfo | None, progress: Progress) -> None:
        self._view, self._progress = view, progress
        self.seq = base.last_seq if base is not None else 0
        self.has_base = base is not None
        self.is_whole = True
        self.import_opened = 0
        self.states: dict[str, tuple[str, int]] = {}
        self.sealed: dict[str, Transition] = {}
        for key, kept in () if base is None else view.open_layers(base, view.manifest).lines():
            self._keep(line_from_snapshot(decode_json(key), kept))

    def _keep(self, line: LedgerLine) -> None:
        self.states[line.doc_id] = line.new_state, _outcome_hash(line)

    def lines(self) -> Iterator[LedgerLine]:
        """Every line, before it takes effect."""
        rollbacks = dict(self._view.manifest.rollbacks)
        targets = set(rollbacks.values())
        saved = {self.seq: (dict(self.states), dict(self.sealed))}
        for _, line in self._view.log_lines(after=self.seq):
            if line.seq != self.seq + 1:
                self.is_whole = False
            self.seq = line.seq
            yield line
            if line.doc_id:
                self._keep(line)
            elif line.seq in rollbacks:
                self.is_whole = self.is_whole and rollbacks[line.seq] in saved
                states, sealed = saved.get(rollbacks[line.seq], ({}, {}))
                self.states, self.sealed = dict(states), dict(sealed)
            if line.seq in targets:
                saved[line.seq] = dict(self.states), dict(self.sealed)
            if line.seq % PROGRESS_LINES == 0:
                self._progress("replay", line.seq)


def _outcome_hash(line: LedgerLine) -> int:
    """A hash of all that a snapshot keeps of a document; every line is asked, so nothing is encoded but metadata."""
    metadata = encode_json(line.metadata) if line.metadata else b""
    return hash((
        line.new_state, line.timestamp, line.adapter, metadata, line.seq, line.retry_count,
        line.max_retries, line.resume, line.error_type, line.error_message,
    ))  # fmt: skip


def _wrong_seals(
    line: LedgerLine, sealed: dict[str, Transition], is_first_seen: bool
) -> Iterator[str]:
    """What is wrong with the transition of a store that a line holds; `sealed` are the last ones, and gets this one.

    `is_first_seen`: the one before it was removed, so what it says of that is believed.
    """
    if line.source != MIRRORED:
        return
    try:
        found = mirrored_transition(line)
    except msgspec.ValidationError as error:
        yield f"{line.doc_id}: it does not hold a whole transition: {error}"
        return
    before = sealed.get(line.doc_id)
    if is_first_seen and found.version:
        before = structs.replace(
            found, version=found.version - 1, hash=found.prev_hash, target=found.source or ""
        )
    version = before.version + 1 if before else 0
    for each in check_link(found, before, version=version):
        yield f"{each.where}: {each.sentence}"
    sealed[line.doc_id] = structs.replace(found, metadata={})


def _table_of(
    line: LedgerLine, table: TransitionTable | None, tables: Mapping[str, TransitionTable]
) -> TransitionTable | None:
    """The transitions that a line is checked against; None if this version of its machine is not known."""
    if table is not None or line.source is None:
        return table
    found = tables.get(line.adapter)
    is_same = found is not None and line.metadata.get("machine_version") == found.version
    return found if is_same else None


def _wrong_moves(
    line: LedgerLine, state: str | None, table: TransitionTable | None, *, is_checked: bool
) -> Iterator[str]:
    """What is wrong with a line, given the state that the lines before it left its document in.

    Where moves cannot be judged (an import may make any, and after a gap old states are unknown) `is_checked` is False:
    then it is only asked that the machine has the state.
    """
    doc_id, old, new = line.doc_id, line.old_state, line.new_state
    if is_checked and state != old:
        yield f"{doc_id} was in {state}, but the line says it left {old}"
    if table is None:
        return
    if new not in table.machine.state:
        yield f"{doc_id}: {table.name} has no state {new!r}"
    elif is_checked and old is None and not table.machine.can_begin(new, _trigger(line)):
        yield f"{doc_id} began in {new}"
    elif is_checked and old is not None and (old, new) not in table.pairs and not _stays(line):
        yield f"{doc_id}: {old} → {new} is no move of {table.name}"


def _stays(line: LedgerLine) -> bool:
    """Whether a mirrored line tells of something else than a move: an erasure, or one of several approvals."""
    trigger = _trigger(line)
    is_said = trigger == RECORD_ERASED or is_stay(trigger)
    return is_said and line.old_state == line.new_state


def _trigger(line: LedgerLine) -> str:
    """What caused a mirrored transition; in other ledgers metadata is the user's own."""
    return "" if line.source is None else str(line.metadata.get("trigger"))


def wrong_documents(view: LedgerView, states: dict[str, tuple[str, int]]) -> Iterator[Damage]:
    """Where snapshots and deltas say something else of a document than all lines together.

    They are derived from the log, so the log is right; but look-ups are answered from them, and those were wrong.
    """
    left = dict(states)
    for line in view.latest_lines():
        replayed, hashed = left.pop(line.doc_id, (None, 0))
        if replayed != line.new_state:
            sentence = f"{line.doc_id} is kept as {line.new_state}, but the log says {replayed}"
            yield Damage(file="snapshot", seq=line.seq, sentence=sentence)
        elif hashed != _outcome_hash(line):
            sentence = f"{line.doc_id} is kept with other details than the log has"
            yield Damage(file="snapshot", seq=line.seq, sentence=sentence)
    for doc_id, (replayed, _) in left.items():
        sentence = f"{doc_id} is in {replayed} by the log, but is not kept"
        yield Damage(file="snapshot", sentence=sentence)
    counts = dict(Counter(state for state, _ in states.values()))
    kept = {name: count for name, count in view.summary().counts.items() if count}
    if kept != counts:
        sentence = f"the counts are kept as {kept}, but the log says {counts}"
        yield Damage(file="summary", sentence=sentence)
