"""`make ledger-bench`: what the ledger takes on this machine, beside its rivals, and which goals that meets.

Everything is measured in one run and in ratios where there is something to compare with. A goal that is missed is said
to be missed. Some aims were lowered because they cannot be reached: the page has both, and says why; the verdict is
about the aim of now. Nothing outlives the run.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lab.bench import ledger_peers, ledger_rivals, ledger_work
from lab.bench.ledger_work import ADAPTER, WAY, Spent, commits, doc_id
from lab.bench.report import write_between
from stateward.core.model import to_iso
from stateward.engine.system import wall_clock
from stateward.ledger import Ledger

SIZES = (100_000, 1_000_000)
LARGE = 10_000_000
RIVALS_MAX = 1_000_000
"""Rivals that must load or fill everything are not asked for more documents than that."""
WHOLE = 100_000
"""A run with fewer documents than that does everything less often, down to a trial of a second."""
IN_FLIGHT = 50_000
GROUPS = ((1, 400), (64, 120), (1024, 36))
TURNS = 4
PEERS = Path(".venv-bench") / "bin" / "python"
PEERS_MAX_S = 900
APPEND_AIMS = {
    "in order": {1: 1.1, 64: 1.0, 1024: 1.0},
    "mixed order": {1: 0.8, 64: 2.0, 1024: 2.5},
}
FIRST_APPEND_AIMS = {
    "in order": {1: 1.8, 64: 2.0, 1024: 3.0},
    "mixed order": {1: 1.2, 64: 2.0, 1024: 4.0},
}
GROUPED_PER_S = 180_000
RECORDED_S_MAX = 110e-6
THREADS = 64
REPLAYED_S_MAX = 3.7e-6
MIGRATED_PER_S = 50_000
GOT_TIMES = 1.7
OPENED_TIMES_MAX = 2.5
VERIFIED_GB_PER_S = 1.0
TIMES = "\N{MULTIPLICATION SIGN}"


def _one_by_one(ledger: Ledger) -> Callable[[Sequence[ledger_work.Move]], object]:
    """`record` itself, as a program calls it for one document."""

    def write(group: Sequence[ledger_work.Move]) -> None:
        for name, state, adapter in group:
            ledger.record(name, state, adapter=adapter)

    return write


class Figure(msgspec.Struct, frozen=True):
    """One cell of a table: what, by whom, of how many."""

    table: str
    system: str
    column: str
    text: str


class Goal(msgspec.Struct, frozen=True):
    """A goal, its aim, what was measured, and whether it holds; None where it could not be measured.

    `first_aim` is what the aim was before it was lowered; empty if it was not.
    """

    name: str
    aim: str
    measured: str
    holds: bool | None
    first_aim: str = ""


class Result(msgspec.Struct, frozen=True):
    """All that one run found."""

    at: str
    machine: str
    sizes: tuple[int, ...]
    figures: tuple[Figure, ...]
    goals: tuple[Goal, ...]


class Run:
    """One run over some sizes. `tell` hears what is measured next."""

    def __init__(
        self, sizes: Sequence[int], *, peers: Path = PEERS, tell: Callable[[str], None] = lambda _: None
    ) -> None:  # fmt: skip
        self._sizes = tuple(sorted(set(sizes)))
        self._share = min(1.0, self._sizes[-1] / WHOLE)
        self._peers, self._tell = peers, tell
        self._figures: list[Figure] = []
        self._goals: list[Goal] = []
        self._opened: dict[int, float] = {}

    def result(self) -> Result:
        """Measure everything."""
        at = to_iso(wall_clock())
        with tempfile.TemporaryDirectory(prefix="stateward-ledger-bench-") as name:
            scratch = Path(name)
            self._append(scratch)
            self._log(scratch)
            for size in self._sizes:
                self._documents(scratch, size)
            self._over_sizes()
            size = max((each for each in self._sizes if each <= RIVALS_MAX), default=self._sizes[0])
            self._tell("LMDB, orjson and chained logs")
            peers = self._peer_reading(scratch, size)
            self._whole(scratch, size, peers.get("orjson"))
            self._directories(scratch)
            self._lmdb(peers.get("lmdb"), size)
            self._chained(peers.get("chained") or {})
        return Result(at, machine(), self._sizes, tuple(self._figures), tuple(self._goals))

    def _say(self, table: str, system: str, column: str, text: str) -> None:
        self._figures.append(Figure(table, system, column, text))

    def _goal(
        self, name: str, aim: str, measured: str, holds: bool | None, *, first_aim: str = ""
    ) -> None:
        self._goals.append(Goal(name, aim, measured, holds, first_aim))

    def _if_whole(self, holds: bool) -> bool | None:
        """A trial run says nothing about goals that are meant for many documents."""
        return holds if self._share == 1 else None

    def _some(self, number: int, least: int = 2) -> int:
        return max(least, int(number * self._share))

    # Appending

    def _append(self, scratch: Path) -> None:
        self._ours: dict[int, Spent] = {}
        for lines, times in GROUPS:
            self._tell(f"appending in groups of {lines}")
            turns = min(TURNS, self._some(times))
            wanted = self._some(times) // turns * turns
            in_flight = max(self._some(IN_FLIGHT), lines)
            first = [(doc_id(number), WAY[0], ADAPTER) for number in range(in_flight)]
            rounds = min(len(WAY) - 1, -(-lines * wanted // in_flight))
            self._beside(
                scratch, lines, "mixed order", first, ledger_work.mixed(in_flight, rounds), wanted
            )
            few = max(-(-lines * wanted // len(WAY)), lines)
            self._beside(scratch, lines, "in order", (), ledger_work.in_order(few), wanted)
            self._profile(scratch, lines, ledger_work.in_order(few), wanted)
        speed = 1024 / self._ours[1024].wall_s
        self._goal(
            "append in groups of 1,024: checked, chained, durable", f"≥ {GROUPED_PER_S:,} records/s",
            f"{speed:,.0f} records/s", speed >= GROUPED_PER_S, first_aim="≥ 250,000 records/s",
        )  # fmt: skip
        alone = self._ours[1]
        self._goal(
            "`record()`, one durable record", f"≤ {RECORDED_S_MAX * 1e6:.0f} µs",
            f"{alone.wall_s * 1e6:.0f} µs (CPU {alone.cpu_s * 1e6:.0f})", alone.wall_s <= RECORDED_S_MAX,
            first_aim="≤ 100 µs",
        )  # fmt: skip
        self._tell("recording from 64 threads")
        shared = ledger_work.shared_per_s(scratch / "threads", THREADS, self._some(200, 4))
        self._goal(
            f"{THREADS} threads with `record()`", "≥ 8,000 records/s", f"{shared:,.0f} records/s",
            self._if_whole(shared >= 8000),
        )  # fmt: skip

    def _profile(
        self, scratch: Path, lines: int, moves: Sequence[ledger_work.Move], wanted: int
    ) -> None:
        """Where the time of a commit goes."""
        starts = range(0, len(moves) - lines + 1, lines)
        groups = [moves[at : at + lines] for at in starts][:wanted]
        whole, parts = ledger_work.commit_parts_s(scratch / f"profile-{lines}", groups)
        parts["the rest: locks and calls"] = whole - sum(parts.values())
        for part, taken in parts.items():
            self._say("parts", part, f"group of {lines:,}", f"{taken * 1e6:,.1f} µs")

    def _beside(
        self, scratch: Path, lines: int, order: str, first: Sequence[ledger_work.Move],
        moves: Sequence[ledger_work.Move], wanted: int,
    ) -> None:  # fmt: skip
        """One kind of work, for the ledger and for SQLite."""
        starts = range(0, len(moves) - lines + 1, lines)
        groups = [moves[at : at + lines] for at in starts][:wanted]
        folder = scratch / f"append-{lines}-{order.replace(' ', '-')}"
        ours, theirs = self._by_turns(folder, first, groups, min(TURNS, len(groups)))
        self._ours[lines] = ours
        ratio, column = theirs.wall_s / ours.wall_s, f"group of {lines:,}"
        aim, first_aim = APPEND_AIMS[order][lines], FIRST_APPEND_AIMS[order][lines]
        self._say("append", f"ledger, {order}", column, f"{ours.wall_s * 1e6:,.0f} µs")
        self._say("append", f"SQLite, {order}", column, f"{theirs.wall_s * 1e6:,.0f} µs")
        self._goal(
            f"durable append vs SQLite WAL FULL (log + state), groups of {lines:,}, {order}", f"≥ {aim}{TIMES}",
            f"{ratio:.2f}{TIMES} (CPU {theirs.cpu_s / ours.cpu_s:.2f}{TIMES})", ratio >= aim,
            first_aim=f"≥ {first_aim}{TIMES}" if first_aim > aim else "",
        )  # fmt: skip

    def _by_turns(
        self, folder: Path, first: Sequence[ledger_work.Move], groups: Sequence[Sequence[ledger_work.Move]], turns: int
    ) -> tuple[Spent, Spent]:  # fmt: skip
        """Both in turns, so that both see the same machine; the better half of the turns counts for each."""
        rival = ledger_rivals.Sqlite(folder.with_suffix(".db"))
        ours, theirs = [], []
        with Ledger.open(folder) as ledger:
            if first:
                rival.write(first)
                ledger.record_many(first)
            size = -(-len(groups) // turns)
            for at in range(0, len(groups), size):
                write = ledger.record_many if len(groups[0]) > 1 else _one_by_one(ledger)
                ours.append(commits(write, groups[at : at + size]))
                theirs.append(commits(rival.write, groups[at : at + size]))
        rival.close()
        return _typical(ours), _typical(theirs)

    # The log

    def _log(self, scratch: Path) -> None:
        overhead = ledger_work.chain_overhead_s()
        self._goal(
            "the chain, of encoding and writing",
            "≤ 2 µs/record",
            f"{overhead * 1e6:.2f} µs",
            overhead <= 2e-6,
        )
        self._tell("replaying a log")
        lines = min(max(self._sizes[-1], 2000), 1_000_000)
        path, part = ledger_work.a_log(scratch / "log", lines)
        checked, indexed = ledger_work.replayed_s(path, part, lines)
        slow, quick = ledger_rivals.replayed_plainly_s(path)
        column = f"{lines:,} lines"
        self._say("replay", "ledger: checked against the chain", column, f"{checked * lines:.2f} s")
        self._say("replay", "ledger: the same, and indexed", column, f"{indexed * lines:.2f} s")
        self._say("replay", "plain, json", column, f"{slow:.2f} s")
        self._say("replay", "plain, msgspec", column, f"{quick:.2f} s")
        self._goal(
            "replay and verify",
            f"≤ {REPLAYED_S_MAX * 1e6:.1f} µs/record",
            f"{checked * 1e6:.2f} µs",
            self._if_whole(checked <= REPLAYED_S_MAX),
            first_aim="≤ 3 µs/record",
        )
        self._tell("asking DuckDB")
        asked = ledger_rivals.duckdb_p95_s(path)
        self._goal(
            f"DuckDB, p95 per state over {lines:,} lines", "≤ 1 s (1,000,000 lines)",
            "DuckDB is not installed" if asked is None else f"{asked:.2f} s",
            None if asked is None or lines < 1_000_000 else asked <= 1,
        )  # fmt: skip
        path.unlink()
        self._tell("following and rotating")
        stall, delay = ledger_work.stall_and_delay_s(scratch / "follow", max(200, self._some(400)))
        self._goal(
            "rotation stall p100 / follower p99", "≤ 20 ms / ≤ 10 ms", f"{stall * 1e3:.1f} / {delay * 1e3:.1f} ms",
            stall <= 0.02 and delay <= 0.01,
        )  # fmt: skip
        self._tell("migrating")
        lines = min(max(self._sizes[-1], 2000), 200_000)
        taken, parts = ledger_work.migrated_s(scratch, lines)
        self._goal(
            "migration, ISO times", f"≥ {MIGRATED_PER_S:,} lines per CPU second", f"{1 / taken:,.0f}",
            self._if_whole(1 / taken >= MIGRATED_PER_S), first_aim="≥ 60,000 lines per CPU second",
        )  # fmt: skip
        for name, each in parts.items():
            self._say("migration", name, "CPU time a line", f"{each * 1e6:.1f} µs")

    # Documents

    def _documents(self, scratch: Path, size: int) -> None:
        column = f"{size:,} documents"
        self._tell(f"a snapshot of {column}")
        path = ledger_work.a_ledger_with(scratch / f"docs-{size}", size)
        warm, cold = ledger_work.opened_s(path), ledger_work.cold_answer_s(path, size)
        self._opened[size] = warm
        self._say("open", "ledger: snapshot, warm", column, f"{warm * 1e3:.2f} ms")
        self._say("open", "ledger: snapshot, cold, with one answer", column, f"{cold * 1e3:.2f} ms")
        ids = ledger_work.asked(size)
        got, grown = ledger_work.got_s(path.parent, ids)
        self._say("get", "ledger", column, f"{got * 1e6:.1f} µs")
        self._say("memory", "ledger", column, f"{grown / size:.2f} B a document")
        if size == self._sizes[-1]:
            self._goal(
                "snapshot open, warm, " + column, "≤ 0.5 ms", f"{warm * 1e3:.2f} ms", warm <= 5e-4
            )
            self._goal(
                "cold first answer, " + column, "≤ 2 ms", f"{cold * 1e3:.2f} ms", cold <= 2e-3
            )
            per_document = grown / size
            self._goal(
                "private memory", "≤ 10 B a document", f"{per_document:.2f} B", per_document <= 10
            )
        if size <= RIVALS_MAX:
            opened, theirs = ledger_rivals.sqlite_opened_and_got_s(
                scratch / f"{size}.db", size, ids
            )
            (scratch / f"{size}.db").unlink()
            self._say("open", "SQLite, with one answer", column, f"{opened * 1e3:.2f} ms")
            self._say("get", "SQLite", column, f"{theirs * 1e6:.1f} µs")
            self._goal(
                f"get vs SQLite, warm, {column}",
                f"≥ {GOT_TIMES}{TIMES}",
                f"{theirs / got:.2f}{TIMES}",
                theirs / got >= GOT_TIMES,
                first_aim=f"≥ 2{TIMES}",
            )

    def _over_sizes(self) -> None:
        first, last = self._sizes[0], self._sizes[-1]
        ratio = self._opened[last] / self._opened[first]
        self._goal(
            f"snapshot open, {last:,} documents vs {first:,}", f"≤ {OPENED_TIMES_MAX}{TIMES}", f"{ratio:.2f}{TIMES}",
            ratio <= OPENED_TIMES_MAX, first_aim=f"≤ 1.5{TIMES}",
        )  # fmt: skip

    def _whole(self, scratch: Path, size: int, orjson: dict[str, float] | None) -> None:
        self._tell(f"loading and compacting {size:,} documents")
        folder = scratch / f"docs-{size}"
        path, column = folder / ledger_work.SNAPSHOT, f"{size:,} documents"
        name = "orjson" if orjson else "msgspec"
        loading, dumping = (
            (orjson["load_s"], orjson["dump_s"])
            if orjson
            else ledger_rivals.loaded_and_dumped_s(path)
        )
        self._say("open", f"all documents into a dict, {name}", column, f"{loading * 1e3:,.0f} ms")
        ratio = loading / self._opened[size]
        self._goal(
            f"open vs {name} load of {column}", f"≥ 10,000{TIMES} (1,000,000 documents)", f"{ratio:,.0f}{TIMES}",
            ratio >= 10_000 if size >= 1_000_000 else None,
        )  # fmt: skip
        speed = ledger_work.verify_bytes_per_s(path) / 1e9
        self._goal(
            "snapshot verify", f"≥ {VERIFIED_GB_PER_S} GB/s", f"{speed:.2f} GB/s",
            self._if_whole(speed >= VERIFIED_GB_PER_S), first_aim="≥ 1.3 GB/s",
        )  # fmt: skip
        taken = ledger_work.compacted_s(folder, scratch, size)
        mean = sum(taken) / len(taken)
        less = (loading + dumping) / mean
        self._goal(
            f"compaction of {column}, 1 % changed, vs {name} load and dump", f"≥ 6{TIMES} less CPU",
            f"{less:.1f}{TIMES} (mean of {len(taken)}: {mean:.2f} s; {taken[0]:.2f} to {max(taken):.2f} s)",
            less >= 6 if size >= 1_000_000 else None,
        )  # fmt: skip

    def _directories(self, scratch: Path) -> None:
        worst, lines = 0.0, self._some(100_000, 1000)
        for size in self._sizes:
            self._tell(f"opening a ledger of {size:,} documents")
            taken = ledger_work.directory_opened_s(scratch / f"docs-{size}", lines)
            worst = max(worst, taken)
            self._say("open", f"ledger: directory, {lines:,} lines and the longest tail", f"{size:,} documents",
                      f"{taken * 1e3:.2f} ms")  # fmt: skip
        self._goal("directory open, longest tail", "≤ 5 ms", f"{worst * 1e3:.1f} ms", worst <= 5e-3)

    # Packages that have an environment of their own

    def _lmdb(self, found: dict[str, Any] | None, size: int) -> None:
        if not found:
            self._say("append", "LMDB", "group of 1", "not installed: `make ledger-bench` has it")
            return
        column = f"{size:,} documents"
        self._say("open", "LMDB, with one answer", column, f"{found['open_s'] * 1e3:.2f} ms")
        self._say("get", "LMDB", column, f"{found['get_s'] * 1e6:.1f} µs")
        for lines, taken in found["commit_s"].items():
            self._say(
                "append", "LMDB, mixed order", f"group of {int(lines):,}", f"{taken * 1e6:,.0f} µs"
            )

    def _chained(self, found: dict[str, float]) -> None:
        name, aim = (
            "append vs the quickest tamper-evident log of JSON lines",
            f"≥ 4{TIMES} less CPU",
        )
        if not found:
            self._goal(name, aim, "none is installed: `make ledger-bench` has two", None)
            return
        ours = self._ours[1024].cpu_s / 1024
        best = min(found, key=lambda each: found[each])
        ratio = found[best] / ours
        measured = f"{ratio:.1f}{TIMES} ({best} {found[best] * 1e6:.1f} µs unsynced, ours {ours * 1e6:.1f} µs synced)"
        self._goal(name, aim, measured, ratio >= 4)

    def _peer_reading(self, scratch: Path, size: int) -> dict[str, Any]:
        """What the script in the peers' Python found; empty without such a Python."""
        if not self._peers.exists():
            return {}
        folder = scratch / "peers"
        folder.mkdir()
        job = {
            "folder": str(folder), "documents": size, "gets": ledger_work.GETS, "in_flight": self._some(IN_FLIGHT),
            "groups": [(lines, self._some(times)) for lines, times in GROUPS], "records": self._some(4096, 64),
            "snapshot": str(scratch / f"docs-{size}" / ledger_work.SNAPSHOT),
        }  # fmt: skip
        ran = subprocess.run(
            [self._peers, ledger_peers.__file__, json.dumps(job)],
            stdout=subprocess.PIPE, timeout=PEERS_MAX_S, check=True,
        )  # fmt: skip
        return msgspec.json.decode(ran.stdout, type=dict[str, Any])


def _typical(turns: Sequence[Spent]) -> Spent:
    best = sorted(turns, key=lambda each: each.wall_s)[: max(1, len(turns) // 2)]
    return best[-1]


def machine() -> str:
    """What this ran on, as far as it says so itself."""
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()}), "
        f"{platform.system()} {platform.release()}, load {load:.1f}"
    )


HEADINGS = {
    "append": "Durable append, a commit (median)",
    "parts": "Where a commit of the ledger goes, in order (mean)",
    "open": "Open",
    "get": "Read of one document, warm",
    "memory": "Private memory after 5,000 reads",
    "replay": "Replay of the log",
    "migration": "Migration",
}


def tables(result: Result) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """(heading, columns, rows) of each table."""
    for table, heading in HEADINGS.items():
        cells = [each for each in result.figures if each.table == table]
        columns = list(dict.fromkeys(each.column for each in cells))
        found = {(each.system, each.column): each.text for each in cells}
        systems = dict.fromkeys(each.system for each in cells)
        yield (
            heading,
            columns,
            [
                [system, *(found.get((system, column), "") for column in columns)]
                for system in systems
            ],
        )


def verdict(goal: Goal) -> str:
    """Whether it holds, in a word."""
    return "not measured" if goal.holds is None else "holds" if goal.holds else "missed"


def page(result: Result) -> str:
    """The result as the page has it."""
    lines = [
        f"Measured on {result.at[:10]} by `make ledger-bench`: {result.machine} at the end.",
        "",
    ]
    for heading, columns, rows in tables(result):
        lines += _table([heading, *columns], rows)
    rows = [
        [each.name, each.aim, each.first_aim, each.measured, verdict(each)] for each in result.goals
    ]
    head = ["goal", "aim", "before it was lowered", "measured", ""]
    return "\n".join([*lines, *_table(head, rows)]).rstrip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def main() -> None:
    """`python -m lab.bench.ledger PAGE [--large]`: measure, and put the tables into the page."""
    sizes = (*SIZES, LARGE) if "--large" in sys.argv else SIZES
    result = Run(sizes, tell=lambda text: print(text, file=sys.stderr, flush=True)).result()
    write_between(Path(sys.argv[1]), "ledger", page(result))


if __name__ == "__main__":
    main()
