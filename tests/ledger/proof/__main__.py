"""The long proofs: `python -m tests.ledger.proof [crash|damage|faults|kill|model]`, all of them without a word."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.ledger.proof import crash, damage, faults, kill


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def run_crash(scratch: Path) -> list[str]:
    report = crash.explore(scratch / "whole", days=6)
    say(report)
    failures = list(report.failures)
    for barrier in ("fdatasync", "fsync", "sync_dir"):
        broken = crash.explore(scratch / barrier, days=2, without=barrier)
        say(f"without {barrier}: {broken}")
        if not broken.failures:
            failures.append(f"nothing was found although {barrier} was left out")
    return failures


def run_damage(scratch: Path) -> list[str]:
    read = damage.explore(scratch / "read")
    say(f"by a reader: {read}")
    written = damage.explore(scratch / "written", bits=(0,), step=3, is_written=True)
    say(f"by the writer: {written}")
    return read.wrong + written.wrong


def run_faults(scratch: Path) -> list[str]:
    report = faults.explore(scratch, nth_max=400)
    say(report)
    return report.failures


def run_kill(scratch: Path) -> list[str]:
    report = kill.explore(scratch, kills=100)
    say(report)
    return report.failures


PROOFS: dict[str, Callable[[Path], list[str]]] = {
    "crash": run_crash,
    "damage": run_damage,
    "faults": run_faults,
    "kill": run_kill,
}


def main(names: list[str]) -> int:
    """Run them; the number of failures."""
    failures: list[str] = []
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for name in names or list(PROOFS):
        started = time.monotonic()
        # A killed writer needs a real disk under it; the others are about bytes, not about speed.
        with tempfile.TemporaryDirectory(dir=None if name == "kill" else memory) as scratch:
            say(f"{name} …")
            failures += PROOFS[name](Path(scratch))
        say(f"{name}: {time.monotonic() - started:.0f} s")
    for failure in failures[:50]:
        say(failure)
    return len(failures)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
