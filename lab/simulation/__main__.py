"""The command: runs seeds, shows the trace of one (`--seed`), or cuts transitions at crash points (`--pairs`)."""

import argparse
import gc
import json
import sys
import time
from collections.abc import Sequence

from lab.simulation.coverage import Coverage
from lab.simulation.pairs import verdicts
from lab.simulation.processes import Arena
from lab.simulation.run import simulate
from lab.simulation.shapes import BY_MACHINE

TELL_EVERY = 500
# Modules and state machines stay: looking for garbage among them in vain took a twentieth of the time.
GARBAGE_FROM = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds, say what they saw; 1 if any law was broken."""
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first (default: 0)")
    parser.add_argument("--seed", type=int, help="one only, with its whole trace")
    parser.add_argument("--pairs", metavar="MACHINE", choices=sorted(BY_MACHINE),
                        help="cut every transition of a machine at every crash point on its way")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return _trace(given.seed)
    if given.pairs is not None:
        return _cut(given.pairs, is_json=given.json)
    return _run(range(given.first, given.first + given.seeds), is_json=given.json)


def _trace(seed: int) -> int:
    report = simulate(seed)
    _say(*report.trace, f"{len(report.violations)} violations")
    return 1 if report.violations else 0


def _cut(machine: str, *, is_json: bool) -> int:
    """All pairs of transition and crash point; 1 if any was not cut, or broke a law."""
    seen = list(verdicts(machine))
    uncut = [str(each.pair) for each in seen if not each.is_cut]
    broken = [f"{each.pair}: {words}" for each in seen for words in each.violations]
    transitions = len({each.pair.way for each in seen})
    summary = {"transitions": transitions, "pairs": len(seen), "uncut": uncut, "violations": broken}
    if is_json:
        _say(json.dumps(summary, indent=2))
    else:
        _say(*uncut, *broken)
        _say(
            f"{machine}: {transitions} transitions cut in {len(seen)} places, {len(broken)} violations"
        )
    return 1 if uncut or broken else 0


def _run(seeds: range, *, is_json: bool) -> int:
    arena, coverage = Arena(), Coverage()
    began, cpu = time.perf_counter(), time.process_time()
    for seed in seeds:
        report = simulate(seed, arena)
        coverage.add(report)
        if report.violations or coverage.histories % TELL_EVERY == 0:
            _tell_progress(coverage, seeds, time.perf_counter() - began)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    speed = {"seconds": round(took, 1), "cpu_ms_a_history": round(1000 * cpu / len(seeds), 2)}
    if is_json:
        _say(json.dumps({**coverage.as_json(), **speed}, indent=2))
    else:
        per_s = len(seeds) / took
        _say(*coverage.lines())
        _say(
            f"{took:.1f} s, {per_s:.0f} histories a second, {speed['cpu_ms_a_history']} ms of CPU each"
        )
    return 1 if coverage.violations else 0


def _tell_progress(coverage: Coverage, seeds: range, took_s: float) -> None:
    line = f"{coverage.histories:,} of {len(seeds):,}, {len(coverage.violations)} violations, {took_s:.0f} s\n"
    sys.stderr.write(line)


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    gc.set_threshold(GARBAGE_FROM)
    sys.exit(main())
