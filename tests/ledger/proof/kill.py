"""Real processes, really killed: a writer that says what it was told, a killer, and a reader that never waits."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.ledger import Ledger, LedgerState
from tests.ledger.builders import in_layers, walk

RUN_S_MAX = 30.0
MOMENT_S = 0.01
ACK_BYTES = 20


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


def explore(scratch: Path, *, kills: int = 8, seed: int = 1, groups_max: int = 300) -> Report:
    """Kill the writer after a random number of groups and a random moment more, again and again."""
    folder, acks = scratch / "ledger", scratch / "acks"
    Ledger.open(folder).close()
    rng = random.Random(seed)
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
            groups = rng.randrange(1, groups_max + 1)
            seen = _watch(reader, acks, seen, groups=groups, report=report)
            time.sleep(rng.random() * MOMENT_S)
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        report.kills += 1
        _check(folder, acks, report)
    reader.close()
    report.seen = seen
    return report


def _watch(reader: Ledger, acks: Path, seen: int, *, groups: int, report: Report) -> int:
    """Follow while the writer writes so many groups; every line once, in order."""
    end = time.monotonic() + RUN_S_MAX

    def is_enough() -> bool:
        return acks.stat().st_size >= groups * ACK_BYTES or time.monotonic() > end

    for each in reader.follow(after=seen, poll_s=0.001, until=is_enough):
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
        report.failures += [str(finding) for finding in ledger.replay()]


def write(folder: Path, acks: Path, seed: int) -> None:
    """What the child does until it is killed."""
    rng = random.Random(seed)
    with (
        in_layers(),
        Ledger.open(folder, snapshots_kept=2) as ledger,
        acks.open("ab", buffering=0) as told,
    ):
        states = {each.doc_id: str(each.state) for each in ledger.documents()}
        source = busy(rng, states, seed)
        turn = 0
        while True:
            turn += 1
            size = rng.choice([1, 1, 3, 40])
            ledger.record_many((*next(source), "pubmed") for _ in range(size))
            told.write(b"%019d\n" % ledger.last_seq)
            if turn % 40 == 0:
                ledger.rotate()
            if turn % 90 == 0:
                ledger.compact()


def busy(
    rng: random.Random, states: dict[str, str], seed: int
) -> Iterator[tuple[str, LedgerState]]:
    """Endless legal moves: of documents on their way, and of new ones."""
    moving = [doc_id for doc_id in states if walk(rng, doc_id, states) is not None]
    count = 0
    while True:
        if not moving or rng.random() < 0.2:
            count += 1
            moving.append(f"doc:{seed}:{count}")
        place = rng.randrange(len(moving))
        doc_id = moving[place]
        state = walk(rng, doc_id, states)
        if state is None:
            moving[place] = moving[-1]
            moving.pop()
        else:
            states[doc_id] = str(state)
            yield doc_id, state


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
