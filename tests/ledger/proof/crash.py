"""Every system call of a busy ledger, cut before and after: nothing acknowledged may be lost, nothing invented."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import msgspec

from stateward.ledger import Ledger, LedgerState
from stateward.ledger.disk import Disk
from stateward.ledger.verification import verify
from tests.ledger.builders import DAY_S, Clock, QuickDisk, in_layers, moves, states_of
from tests.ledger.proof.recorded import Platter, RecordingDisk

DOCUMENTS = 24
INDEX_EVERY_LINES = 12
PADDING = b"\n" * 1500
"""A few lines: files grow, and are written in place, by turns."""


class Report(msgspec.Struct, kw_only=True):
    """How many states were looked at and what was wrong with them."""

    states: int = 0
    failures: list[str] = []
    torn: int = 0
    rebuilt: int = 0

    def __str__(self) -> str:
        return (
            f"{self.states} crash states, {len(self.failures)} failures "
            f"({self.torn} with a torn tail, {self.rebuilt} with a rebuilt manifest)"
        )


class Workload:
    """A few days of a small ledger: groups, rotations, compactions, a rollback, reopenings."""

    def __init__(self, folder: Path, *, seed: int, days: int, without: str) -> None:
        self.folder = folder
        self.disk = RecordingDisk(without)
        self.rng = random.Random(seed)
        self.clock = Clock()
        self.states: dict[str, str] = {}
        self.after: list[dict[str, str]] = [{}]
        """The documents after each seq."""
        self.started = 0
        self._run(days)

    def _open(self) -> Ledger:
        return Ledger.open(self.folder, clock=self.clock, disk=self.disk, snapshots_kept=2)

    def _group(self, ledger: Ledger, size: int) -> None:
        source = moves(self.rng, DOCUMENTS, self.states)
        batch: list[tuple[str, LedgerState, str]] = []
        for _ in range(size):
            move = next(source, None)
            if move is None:
                break
            doc_id, state = move
            batch.append((doc_id, state, "pubmed"))
            self.states[doc_id] = str(state)
            self.after.append(dict(self.states))
        self.disk.mark("issued", len(self.after) - 1)
        ledger.record_many(batch)
        self.disk.mark("acked", len(self.after) - 1)
        self.clock.tick()

    def _run(self, days: int) -> None:
        ledger = self._open()
        self.started = len(self.disk.trace)
        for day in range(days):
            for _ in range(5):
                self._group(ledger, self.rng.choice([1, 1, 2, 5, 17]))
            ledger.rotate()
            self._group(ledger, 3)
            self._compact(ledger)
            self._group(ledger, self.rng.choice([1, 9]))
            if day % 3 == 1:
                self._roll_back(ledger)
            if day % 2 == 1:
                ledger.close()
                ledger = self._open()
            self.clock.tick(DAY_S)
        ledger.close()

    def _compact(self, ledger: Ledger) -> None:
        self.after.append(dict(self.states))  # the line that names the snapshot
        self.disk.mark("issued", len(self.after) - 1)
        ledger.compact()
        self.disk.mark("acked", len(self.after) - 1)

    def _roll_back(self, ledger: Ledger) -> None:
        target = ledger.snapshots()[-1]
        self.states = dict(self.after[target.last_seq])
        self.after += [dict(self.states)] * 2  # the line of the rollback, and that of its snapshot
        self.disk.mark("issued", len(self.after) - 1)
        ledger.rollback(target.last_seq)
        self.disk.mark("acked", len(self.after) - 1)
        self._group(ledger, 2)


def explore(
    scratch: Path,
    *,
    seed: int = 1,
    days: int = 4,
    every: int = 1,
    without: str = "",
    failures_max: int = 20,
) -> Report:
    """Cut the power after every call (or every n-th) and see what opening makes of it."""
    with (
        patch("stateward.ledger.writer.INDEX_EVERY_LINES", INDEX_EVERY_LINES),
        patch("stateward.ledger.writer.PADDING", PADDING),
        in_layers(),
    ):
        work = Workload(scratch / "work", seed=seed, days=days, without=without)
        report = Report()
        platter = Platter()
        acked = issued = 0
        for place, op in enumerate(work.disk.trace):
            acked = op[4] if op[0] == "acked" else acked
            issued = op[4] if op[0] == "issued" else issued
            platter.apply(op)
            if place < work.started or place % every or op[0] == "issued":
                continue
            for files in platter.after_cut(work.rng):
                report.states += 1
                fault = _looked_at(scratch / "cut", files, work, acked, issued, report)
                if fault is not None:
                    report.failures.append(f"after call {place} {op[:2]}: {fault}")
                if len(report.failures) >= failures_max:
                    return report
    return report


def _looked_at(
    folder: Path, files: dict[str, bytes], work: Workload, acked: int, issued: int, report: Report
) -> str | None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    try:
        return _opened(folder, work, acked, issued, report)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure of this state
        return repr(error)[:400]


def _opened(folder: Path, work: Workload, acked: int, issued: int, report: Report) -> str | None:
    disk: Disk = QuickDisk()
    with Ledger.open(folder, clock=work.clock, disk=disk, snapshots_kept=2) as ledger:
        report.torn += any("cut off" in note for note in ledger.notes)
        report.rebuilt += any("rebuilt" in note for note in ledger.notes)
        seq = ledger.last_seq
        if not acked <= seq <= issued:
            return f"acknowledged {acked}, there {seq}, issued {issued}"
        wrong = list(_compare(ledger, work.after[seq]))
        if wrong:
            return f"at seq {seq}: {wrong[:3]}"
        if report.states % 5 == 0:
            verdict = verify(folder)
            if not verdict.is_sound:
                return f"verify: {verdict.findings}"
            ledger.record("doc:new", LedgerState.PENDING)
    if report.states % 5 == 0:
        with Ledger.open(folder, clock=work.clock, disk=disk) as again:
            if again.state("doc:new") != "pending" or again.last_seq != seq + 1 or again.notes:
                return f"not usable afterwards: {again.last_seq} {again.notes}"
    return None


def _compare(ledger: Ledger, expected: dict[str, str]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for state in expected.values():
        counts[state] = counts.get(state, 0) + 1
    if ledger.counts() != counts:
        yield f"counts {ledger.counts()} instead of {counts}"
    for number in range(DOCUMENTS):
        doc_id = f"doc:{number}"
        if ledger.state(doc_id) != expected.get(doc_id):
            yield f"{doc_id}: {ledger.state(doc_id)} instead of {expected.get(doc_id)}"
    if states_of(ledger) != expected:
        yield "the walk over all documents differs"
