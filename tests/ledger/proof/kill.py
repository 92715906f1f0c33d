"""Real processes, really killed: a writer that says what it was told, a killer, and a reader that never waits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from stateward.ledger import Ledger, LedgerState
from tests.ledger.building import moves

READY_S_MAX = 20.0


class Report(msgspec.Struct, kw_only=True):
    """How often it was killed, and what was lost."""

    kills: int = 0
    records: int = 0
    seen: int = 0
    failures: list[str] = []

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.records} records, {self.seen} seen by the follower, "
            f"{len(self.failures)} failures"
        )


def explore(scratch: Path, *, kills: int = 8, seed: int = 1, run_s: float = 0.35) -> Report:
    """Kill the writer at a moment of the dice's choosing, again and again."""
    folder, acks = scratch / "ledger", scratch / "acks"
    Ledger.open(folder).close()
    dice = random.Random(seed)
    report = Report()
    reader = Ledger.open(folder, read_only=True)
    seen = 0
    for turn in range(kills):
        acks.write_bytes(b"")
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.ledger.proof.kill",
                str(folder),
                str(acks),
                str(seed * 1000 + turn),
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            seen = _watch(reader, acks, seen, until=run_s * (0.3 + dice.random()), report=report)
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        report.kills += 1
        _check(folder, acks, report)
    reader.close()
    report.seen = seen
    return report


def _watch(reader: Ledger, acks: Path, seen: int, *, until: float, report: Report) -> int:
    """Follow while the writer writes; every line once, in order."""
    started = time.monotonic()
    while acks.stat().st_size == 0 and time.monotonic() < started + READY_S_MAX:
        time.sleep(0.002)
    end = time.monotonic() + until
    for each in reader.follow(after=seen, poll_s=0.001, until=lambda: time.monotonic() > end):
        if each.seq != seen + 1:
            report.failures.append(f"the reader saw {each.seq} after {seen}")
        seen = each.seq
    return seen


def _check(folder: Path, acks: Path, report: Report) -> None:
    told = acks.read_bytes().split(b"\n")[:-1]
    acked = int(told[-1]) if told else 0
    with Ledger.open(folder) as ledger:
        report.records = ledger.last_seq
        if ledger.last_seq < acked:
            report.failures.append(f"{acked} was acknowledged, the log ends at {ledger.last_seq}")
        verdict = ledger.verify()
        if not verdict.is_sound:
            report.failures.append(str(verdict.findings))
        report.failures += [str(finding) for finding in ledger.validate()]


def write(folder: Path, acks: Path, seed: int) -> None:
    """What the child does until it is killed."""
    dice = random.Random(seed)
    with Ledger.open(folder, snapshots_kept=2) as ledger, acks.open("ab", buffering=0) as told:
        states = {each.doc_id: str(each.state) for each in ledger.documents()}
        turn = 0
        while True:
            turn += 1
            batch = []
            source = moves(dice, 200 + turn, states)
            for _, (doc_id, state) in zip(range(dice.choice([1, 1, 3, 40])), source, strict=False):
                states[doc_id] = str(state)
                batch.append((doc_id, LedgerState(state), "pubmed"))
            ledger.record_many(batch)
            told.write(b"%d\n" % ledger.last_seq)
            if turn % 40 == 0:
                ledger.rotate()
            if turn % 90 == 0:
                ledger.compact()


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
