"""The long proofs: `python -m tests.ledger.proof [crash|damage|faults|kill|model …] [--quick] [--jobs 2] [--page …]`.

Without a name all of them. `--quick` does a tenth or less of each. `--page` writes what came out into a page of the
documentation, between its two marks. Ends with 1 if anything failed.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from lab.memory import memory_folder
from stateward.ledger import Ledger
from stateward.ledger.export_file import export, verify_file
from tests.ledger.proof import crash, damage, faults, kill
from tests.ledger.test_model import LedgerModel

BEGIN, END = "<!-- ledger-proof: begin -->", "<!-- ledger-proof: end -->"
ALL_BITS = (0, 1, 2, 3, 4, 5, 6, 7)
STEPS = 30


class Row(NamedTuple):
    """One line of the result: what was done, how often, and what was wrong."""

    what: str
    tried: int
    outcome: str
    failures: list[str]


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def run_crash(scratch: Path, *, is_quick: bool) -> list[Row]:
    report = crash.explore(scratch / "whole", days=2 if is_quick else 6)
    torn = f"{report.torn} with a torn tail"
    rows = [
        Row("power cuts before and after every system call", report.states, torn, report.failures)
    ]
    for barrier in ("fdatasync", "fsync", "sync_dir"):
        broken = crash.explore(scratch / barrier, days=2, without=barrier)
        missed = [] if broken.failures else [f"nothing was found although {barrier} was left out"]
        outcome = f"{len(broken.failures)} found, then stopped: the proof can fail"
        rows.append(
            Row(f"the same with every `{barrier}` left out", broken.states, outcome, missed)
        )
    return rows


def run_damage(scratch: Path, *, is_quick: bool) -> list[Row]:
    bits, step = ((0,), 7) if is_quick else (ALL_BITS, 1)
    rows = []
    read = damage.explore(scratch / "read", bits=bits, step=step)
    rows.append(_damaged("damages to every file, asked by a reader", read))
    written = damage.explore(scratch / "written", bits=(0,), step=step * 3, is_written=True)
    rows.append(_damaged("the same, opened by the writer", written))
    alone = damage.explore(scratch / "alone", bits=(0, 7), step=step * 3, lost=("MANIFEST.json",))
    rows.append(_damaged("the same with the manifest lost as well, by a reader", alone))
    folder = scratch / "export"
    folder.mkdir()
    with Ledger.open(scratch / "read" / "sound", read_only=True) as ledger:
        export(ledger, folder / "export.jsonl")
    found = damage.explore_file(
        folder / "export.jsonl", _is_unsound, scratch / "hurt", bits=bits, step=step
    )
    rows.append(_damaged("damages to a ledger exported as one file", found))
    history = damage.a_history(scratch / "service")
    found = damage.explore_file(history, _is_unsound, scratch / "hurt", bits=bits, step=step)
    rows.append(_damaged("damages to the exported history of a service", found))
    return rows


def _is_unsound(path: Path) -> bool:
    return not verify_file(path).is_sound


def _damaged(what: str, report: damage.Report) -> Row:
    outcome = f"{report.refused} refused, {report.unharmed} answered exactly as before"
    return Row(what, report.damages, outcome, report.wrong)


def run_faults(scratch: Path, *, is_quick: bool) -> list[Row]:
    report = faults.explore(scratch, nth_max=30 if is_quick else 400, is_every=not is_quick)
    outcome = f"{report.noticed} stopped the writer, the others cost nothing"
    return [
        Row(
            "ENOSPC and EIO at every single call, once and for good",
            report.tried,
            outcome,
            report.failures,
        )
    ]


def run_kill(scratch: Path, *, is_quick: bool) -> list[Row]:
    kills = records = seen = 0
    failures: list[str] = []
    for round_ in range(
        1 if is_quick else 10
    ):  # a ledger of its own each, for each kill reads all of it
        folder = scratch / str(round_)
        folder.mkdir()
        report = kill.explore(folder, kills=10, seed=round_ + 1)
        kills, records, seen = kills + report.kills, records + report.records, seen + report.seen
        failures += report.failures
    outcome = (
        f"{records} records, {seen} of them seen by a reader that followed, once each and in order"
    )
    return [Row("`kill -9` of a busy writer", kills, outcome, failures)]


def run_model(_scratch: Path, *, is_quick: bool) -> list[Row]:
    count = 30 if is_quick else 1000
    failures = []
    how = settings(
        max_examples=count, stateful_step_count=STEPS, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    try:
        run_state_machine_as_test(LedgerModel, settings=how)
    except Exception as error:  # noqa: BLE001 - a counterexample, or a fault of ours
        failures.append(repr(error)[:2000])
    outcome = f"up to {STEPS} steps each, compared with a plain dictionary after each"
    return [
        Row(
            "random histories: changes, upkeep, rollbacks, crashes, losses",
            count,
            outcome,
            failures,
        )
    ]


PROOFS: dict[str, Callable[..., list[Row]]] = {
    "crash": run_crash,
    "damage": run_damage,
    "faults": run_faults,
    "kill": run_kill,
    "model": run_model,
}


def main(words: list[str]) -> int:
    """Run them; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger.proof")
    parser.add_argument("names", nargs="*", metavar="|".join(PROOFS))
    parser.add_argument("--quick", action="store_true", help="a tenth or less of each")
    parser.add_argument("--jobs", type=int, default=1, help="how many proofs run at once")
    parser.add_argument("--page", type=Path, help="the page to write the result into")
    told = parser.parse_args(words)
    if strange := [name for name in told.names if name not in PROOFS]:
        parser.error(f"there is no proof {strange[0]!r}; there are: {', '.join(PROOFS)}")
    started = time.monotonic()
    with ProcessPoolExecutor(told.jobs) as pool:
        done = pool.map(partial(run, is_quick=told.quick), told.names or PROOFS)
        rows = [row for each in done for row in each]
    took_s = time.monotonic() - started
    failures = [f"{row.what}: {each}" for row in rows for each in row.failures]
    for failure in failures[:50]:
        say(failure)
    tried = sum(row.tried for row in rows)
    say(f"{tried:,} things tried in {took_s:.0f} s, {len(failures)} failures")
    if told.page is not None and not told.names:
        write_page(told.page, rows, took_s=took_s, words=words)
    return 1 if failures or not tried else 0


def run(name: str, *, is_quick: bool) -> list[Row]:
    started = time.monotonic()
    # A killed writer needs a real disk under it; the others are about bytes, not about speed.
    with tempfile.TemporaryDirectory(dir=None if name == "kill" else memory_folder()) as scratch:
        say(f"{name} …")
        rows = PROOFS[name](Path(scratch), is_quick=is_quick)
    for row in rows:
        say(f"  {row.what}: {row.tried:,}; {row.outcome}; {len(row.failures)} failures")
    say(f"{name}: {time.monotonic() - started:.0f} s")
    return rows


def write_page(page: Path, rows: list[Row], *, took_s: float, words: list[str]) -> None:
    """Put the result between the marks of a page."""
    lines = [
        f"On {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.machine()}, {os.cpu_count()} cores, Linux "
        f"{platform.release().split('-')[0]}, Python {platform.python_version()}, in {took_s:.0f} s, by",
        "",
        f"    python -m tests.ledger.proof {' '.join(words)}",
        "",
        "| what was done | how often | what came of it | failures |",
        "|---|---|---|---|",
        *(f"| {row.what} | {row.tried:,} | {row.outcome} | {len(row.failures)} |" for row in rows),
    ]
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
