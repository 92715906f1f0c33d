"""Whether a history is intact: replay it and compare. Pure: the caller feeds it transitions and records.

It trusts nothing but the machines: every hash is recomputed, every transition looked up in the graph, every record
compared with its last transition. A change of any single field of either is found. A finding is returned, never
raised, because an auditor needs all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from stateward.core.chain import (
    GENESIS,
    commitment,
    is_erased,
    record_hash,
    transition_hash,
)
from stateward.core.erasure import CONTENTS, ITEMS, LOGS, RECORD_ERASED, erased_kinds
from stateward.core.lanes import FORMER, Lane, LaneRouter, LogEntry, extend
from stateward.core.machine import UPGRADED, Machine
from stateward.core.model import (
    AUTHORITY,
    PRIORITY_MAX,
    PRIORITY_MIN,
    RUNNER,
    Json,
    Micros,
    Record,
    Transition,
)
from stateward.core.output_seal import (
    LEFT_DIGEST,
    LOG_DIGEST,
    OUTPUT_DIGEST,
    OutputSeal,
    left_digest,
)

Machines = Mapping[tuple[str, int], Machine]
OTHERS_MAX = 1000
STARTED = ".started"  # what the trigger of a dispatch ends with
T = TypeVar("T")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it must be: which check found it, where, and what it means."""

    check: str
    where: str
    sentence: str

    def __str__(self) -> str:
        """As the command `verify` prints it."""
        return f"{self.where}: {self.check}: {self.sentence}"


class LogCheck:
    """Checks the whole log in order, lane by lane: each must come to the head and the count that its lane has.

    `lanes` are the lanes as they were before the log was read. Entries that were added since then are counted but not
    checked. `kept` are the lanes of a checkpoint that was kept elsewhere: the log must have come past each of them.

    Hashes do not cover the number of an entry, which the database gives it. `marks` are the hashes that entries with
    some numbers had; where the database `is_gapless`, the numbers are 1, 2, 3, …
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        kept: Sequence[Lane] = (),
        marks: Mapping[int, str] | None = None,
        is_gapless: bool = False,
    ) -> None:
        self._marks, self._is_gapless = dict(marks or {}), is_gapless
        self._router = LaneRouter(lanes)
        self._lanes = {each.lane: each for each in lanes}
        self._kept = {each.lane: each for each in kept}
        self._running = {each.lane: _Running() for each in (*lanes, *kept)}
        self._seq = 0

    def feed(self, transitions: Sequence[LogEntry | Transition]) -> Iterator[Finding]:
        """Check the next entries, in the order of `seq`."""
        for each in transitions:
            if each.seq <= self._seq:
                yield _finding("order", f"entry {each.seq}", f"stands after entry {self._seq}")
            elif self._is_gapless and each.seq != self._seq + 1:
                yield _finding("order", f"entry {each.seq}", f"was entry {self._seq + 1}")
            self._seq = each.seq
            if self._marks.pop(each.seq, each.hash) != each.hash:
                yield _finding("order", f"entry {each.seq}", "another one had this number")
            number = self._router.lane(each.record_id, each.seq)
            running = self._running.setdefault(number, _Running())
            running.count += 1
            lane = self._lanes.get(number)
            if lane is not None and running.count > lane.count:
                continue
            if each.epoch < running.epoch:
                yield _finding(
                    "epoch", f"entry {each.seq}", f"epoch {each.epoch} after {running.epoch}"
                )
            running.epoch = max(running.epoch, each.epoch)
            running.head = extend(running.head, (each.hash,))
            yield from self._compare_kept(number, running)

    @property
    def epoch(self) -> int:
        """The newest epoch of what was fed."""
        return max((each.epoch for each in self._running.values()), default=0)

    def _compare_kept(self, number: int, running: "_Running") -> Iterator[Finding]:
        kept = self._kept.get(number)
        if kept is not None and running.count == kept.count and running.head != kept.head:
            yield _finding(
                "checkpoint",
                lane_name(number),
                f"its first {kept.count} transitions are not those of the checkpoint: they were rewritten",
            )

    def end(self, lanes: Sequence[Lane]) -> Iterator[Finding]:
        """Compare what was fed with the lanes; `lanes` are those after the log was read."""
        now = {each.lane: each for each in lanes}
        for seq in sorted(self._marks):
            yield _finding("order", f"entry {seq}", "no entry has this number any more")
        for number, running in sorted(self._running.items()):
            lane = self._lanes.get(number)
            if lane is not None and (running.count < lane.count or running.head != lane.head):
                yield _finding("lane", lane_name(number), _difference(lane, running))
            elif running.count > (now[number].count if number in now else 0):
                sentence = f"{running.count} entries, more than its head counts"
                yield _finding("lane", lane_name(number), sentence)
            kept = self._kept.get(number)
            if kept is not None and running.count < kept.count:
                sentence = (
                    f"{running.count} entries, the checkpoint counts {kept.count}: they were cut off, "
                    "or this is an older copy"
                )
                yield _finding("checkpoint", lane_name(number), sentence)
        if self._kept and not self._has_shape_of_kept():
            yield _finding("checkpoint", "lanes", "the checkpoint is of a history with other lanes")

    def _has_shape_of_kept(self) -> bool:
        """Whether both have the same lanes; the closed one does not grow, so it must be the same altogether."""
        ours, kept = self._lanes, self._kept
        if ours.keys() != kept.keys():
            return False
        return FORMER not in ours or ours[FORMER].count == kept[FORMER].count


class _Running:
    """How far a lane was read."""

    __slots__ = ("count", "epoch", "head")

    def __init__(self) -> None:
        self.count, self.epoch, self.head = 0, 0, GENESIS


def lane_name(number: int) -> str:
    return "what is older than lanes" if number == FORMER else f"lane {number}"


def _difference(lane: Lane, running: _Running) -> str:
    if running.count < lane.count:
        return f"{running.count} entries, its head counts {lane.count}"
    return "its entries in their order do not give its head"


def check_record(
    record: Record | None, history: Sequence[Transition], machines: Machines
) -> Iterator[Finding]:
    """One record against its own history, oldest first."""
    where = record.id if record is not None else history[0].record_id
    if record is None:
        yield _finding("lost", where, f"{len(history)} transitions, but no such record")
    if not history:
        yield _finding("lost", where, "the record has no history")
        return
    yield from _check_chain(history, machines)
    yield from _check_erased(history)
    if record is not None:
        yield from _check_end(record, history[-1], machines)


def _check_chain(history: Sequence[Transition], machines: Machines) -> Iterator[Finding]:
    before: Transition | None = None
    for place, transition in enumerate(history):
        yield from check_link(transition, before, version=place)
        yield from _check_move(transition, machines)
        before = transition


def _check_erased(history: Sequence[Transition]) -> Iterator[Finding]:
    """What was erased must have been erased by a transition that says so."""
    last = max((t.version for t in history if CONTENTS in erased_kinds(t)), default=-1)
    for each in history:
        if is_erased(each) and each.version >= last:
            where = f"{each.record_id} version {each.version}"
            yield _finding("erased", where, "its metadata is gone, and no transition erased it")


def check_link(
    transition: Transition, before: Transition | None, *, version: int
) -> Iterator[Finding]:
    """One transition against the one before it of the same record, as far as that needs no state machine."""
    where = f"{transition.record_id} version {transition.version}"
    if transition.version != version:
        yield _finding("version", where, f"version {version} was expected here")
    if transition.prev_hash != (before.hash if before else GENESIS):
        yield _finding("chain", where, "does not follow the entry before it")
    if not _is_unprovable(transition) and transition.hash != _compute(transition_hash, transition):
        yield _finding("hash", where, "was changed after it was written")
    if transition.authority != AUTHORITY:
        yield _finding("authority", where, f"written by {transition.authority!r}")
    if before is not None and transition.at < before.at:
        yield _finding("time", where, "is earlier than the entry before it")
    if transition.source != (before.target if before else None):
        yield _finding(
            "replay", where, f"leaves {transition.source!r}, but the record was elsewhere"
        )


def _is_unprovable(transition: Transition) -> bool:
    """Whether it was erased and had no salt: then nothing is left to compute its hash from."""
    return is_erased(transition) and not commitment(transition.metadata, transition.salt)


def _check_move(transition: Transition, machines: Machines) -> Iterator[Finding]:
    where = f"{transition.record_id} version {transition.version}"
    machine = machines.get((transition.machine, transition.machine_version))
    if machine is None:
        named = f"{transition.machine} version {transition.machine_version}"
        yield _finding("machine", where, f"there is no machine {named}")
        return
    source, target = transition.source, transition.target
    if source is None:
        if not machine.can_begin(target, transition.trigger):
            yield _finding("graph", where, f"{transition.trigger} creates no record in {target!r}")
    elif source == target and (
        transition.trigger == RECORD_ERASED or machine.stays(source, transition.trigger)
    ):
        pass
    elif transition.trigger == UPGRADED:
        if target not in machine.kind:
            yield _finding("graph", where, f"{machine.name} has no state {target!r}")
    elif (source, target) not in machine.pairs:
        yield _finding(
            "graph", where, f"{machine.name} has no transition from {source!r} to {target!r}"
        )


def _check_end(record: Record, last: Transition, machines: Machines) -> Iterator[Finding]:
    if (record.status, record.version) != (last.target, last.version):
        sentence = (
            f"is {record.status!r} at version {record.version}, "
            f"its history ends in {last.target!r} at version {last.version}"
        )
        yield _finding("status", record.id, sentence)
    if record.head != last.hash:
        yield _finding("chain", record.id, "its head is not the hash of its last transition")
    if _compute(lambda own: record_hash(own, last.salt), record) != last.record_hash:
        yield _finding("record", record.id, "a field was changed without a transition")
    machine = machines.get((record.machine, record.machine_version))
    if machine is not None and record.status in machine.kind:
        yield from _check_live(machine, record)


def _check_live(machine: Machine, record: Record) -> Iterator[Finding]:
    """Columns that change without a transition are not hashed, but they must make sense for the state."""
    if not PRIORITY_MIN <= record.priority <= PRIORITY_MAX:
        yield _finding("priority", record.id, f"priority {record.priority} is not 1 to 10")
    kind = machine.kind[record.status]
    is_moving = record.waiting is not None or record.due_at is not None
    if kind == "terminal" and is_moving:
        yield _finding(
            "stuck", record.id, "it is in a final state, but waits for a stage or a time"
        )
    if (
        kind in ("ready", "running")
        and not is_moving
        and record.rest is None
        and machine.stage_of(record.status)
    ):
        yield _finding(
            "stuck", record.id, f"in {record.status!r} with nothing that would move it on"
        )
    stage = machine.stage_of(record.status)
    if record.waiting is not None and (stage is None or stage.name != record.waiting):
        yield _finding(
            "stuck",
            record.id,
            f"waits for {record.waiting!r}, which {record.status!r} does not lead to",
        )


class OutputCheck:
    """Compares what attempts left with the digests in the transitions that ended them.

    `stored` are the seals of all outputs as they are now, by record and version. Histories must be fed in the order of
    record ids. `sealed_after` is the number of the last transition before each output had to have a digest.
    """

    def __init__(
        self, stored: Iterator[tuple[tuple[str, int], OutputSeal]], *, sealed_after: int
    ) -> None:
        self._stored, self._sealed_after = stored, sealed_after
        self._next = next(stored, None)
        self.erased = 0
        """Transitions whose metadata was erased."""
        self.unsealed = 0
        """Outputs that ended an attempt whose transition has no digest: those of a former version."""
        self.since: Micros | None = None
        """When the first transition with a digest was made."""
        self.untold: list[tuple[int, bool]] = []
        """Versions of outputs of the record checked last that no transition tells of, and whether an attempt ran then.

        Such a result may be about to be told, or was overtaken by a cancellation: the caller knows what waits.
        """
        self.others: dict[str, None] = {}
        """Records that own outputs and were not checked, at most the first thousand: they moved since, or are none."""

    def check(self, history: Sequence[Transition]) -> Iterator[Finding]:
        """One record's outputs against its transitions."""
        if not history:
            return
        stored = self._of(history[0].record_id)
        gone = {kind: t.version for t in history for kind in erased_kinds(t)}
        self.untold = list(self._find_untold(history, stored))
        yield from _check_left(history[0].record_id, stored, gone)
        yield from _check_bare(history, stored)
        for each in history:
            self.erased += is_erased(each)
            found = stored.get(each.version - 1)
            wanted = each.metadata.get(OUTPUT_DIGEST)
            is_without_log = each.version < gone.get(LOGS, 0)
            if each.version < gone.get(ITEMS, 0):  # the transition that erased them says so
                if found is not None and wanted is not None and not is_without_log:
                    yield from _check_log(each, found)
                continue
            if wanted is None:
                self.unsealed += found is not None and each.actor.startswith(RUNNER)
                continue
            self.since = each.at if self.since is None else min(self.since, each.at)
            yield from _check_output(each, found, wanted)
            if found is not None and not is_without_log:
                yield from _check_log(each, found)

    def _find_untold(
        self, history: Sequence[Transition], stored: Mapping[int, OutputSeal]
    ) -> Iterator[tuple[int, bool]]:
        """An attempt is of the version that its start made, and what a person corrects has its digest at once.

        A stage that follows another without waiting has no start: what ends its attempt names it.
        """
        started = {each.version for each in history if each.trigger.endswith(STARTED)}
        ended = {each.version - 1: each for each in history}
        for version in sorted(stored):
            end = ended.get(version)
            if end is None:
                if version not in started:
                    yield version, False
            elif end.trigger.endswith(STARTED):  # it still waited for a stage
                yield version, False
            elif (
                end.seq > self._sealed_after
                and OUTPUT_DIGEST not in end.metadata
                and not end.actor.startswith(RUNNER)  # one of a former version told of it
                and not is_erased(end)
            ):
                yield version, version in started or end.attempt == version

    def end(self) -> None:
        """No more histories will be fed."""
        while self._next is not None:
            self._of(self._next[0][0] + " ")

    def _of(self, record_id: str) -> dict[int, OutputSeal]:
        found: dict[int, OutputSeal] = {}
        while self._next is not None and self._next[0][0] <= record_id:
            (owner, version), seal = self._next
            if owner == record_id:
                found[version] = seal
            elif len(self.others) < OTHERS_MAX:
                self.others[owner] = None
            self._next = next(self._stored, None)
        return found


def _check_left(
    record_id: str, stored: Mapping[int, OutputSeal], gone: Mapping[str, int]
) -> Iterator[Finding]:
    """What an erasure deleted must not be there again: its digests are gone with it, or do not fit any more."""
    for version, seal in sorted(stored.items()):
        is_whole = version < gone.get(CONTENTS, 0)
        if is_whole or (version < gone.get(ITEMS, 0) and not seal.is_bare):
            where = f"{record_id} version {version}"
            yield _finding("output", where, "it was invented: what was here is erased")


def left_of(history: Sequence[Transition], kind: str) -> tuple[int, str] | None:
    """The version of the last erasure of results or items, and its digest of what it left, if it erased this kind."""
    kinds = {ITEMS, CONTENTS}
    last = next((each for each in reversed(history) if kinds & erased_kinds(each)), None)
    digest = None if last is None else last.metadata.get(LEFT_DIGEST)
    if last is None or digest is None or kind not in erased_kinds(last):
        return None  # an erasure of both leaves nothing, and one of a former version does not say
    return last.version, str(digest)


def _check_bare(
    history: Sequence[Transition], stored: Mapping[int, OutputSeal]
) -> Iterator[Finding]:
    """Results whose items were erased are those that the erasure left."""
    if left := left_of(history, ITEMS):
        version, digest = left
        own = {each: seal for each, seal in stored.items() if each < version}
        found = left_digest((each, seal.output) for each, seal in own.items())
        if found != digest and all(seal.is_bare for seal in own.values()):  # else it is found above
            sentence = "results were changed, deleted or invented after their items were erased"
            yield _finding("output", history[0].record_id, sentence)


def _check_output(
    transition: Transition, found: OutputSeal | None, wanted: Json
) -> Iterator[Finding]:
    where = f"{transition.record_id} version {transition.version - 1}"
    if found is None:
        yield _finding("output", where, "what the attempt left was deleted: result, items and log")
    elif found.output != wanted:
        yield _finding(
            "output", where, "its items, files or result were changed, deleted or doubled"
        )


def _check_log(transition: Transition, found: OutputSeal) -> Iterator[Finding]:
    if found.log != transition.metadata.get(LOG_DIGEST):
        where = f"{transition.record_id} version {transition.version - 1}"
        yield _finding("log", where, "its log was changed or deleted")


def by_record(transitions: Iterable[Transition]) -> Iterator[list[Transition]]:
    """The transitions of each record, from a stream that is ordered by record and version."""
    run: list[Transition] = []
    for transition in transitions:
        if run and run[-1].record_id != transition.record_id:
            yield run
            run = []
        run.append(transition)
    if run:
        yield run


def _compute(hash_of: Callable[[T], str], value: T) -> str | None:
    """The hash of a value; None where a damaged value has none, like a time in the year 40000."""
    try:
        return hash_of(value)
    except (ValueError, OverflowError, OSError, RecursionError):
        return None


def _finding(check: str, where: str, sentence: str) -> Finding:
    return Finding(check=check, where=where, sentence=sentence)
