"""The goals of the ledger, measured in one run: `python -m tests.ledger.bench_ledger [documents …] [--large]`.

Ratios against SQLite and a plain load stand beside the figures, because the machine is not always quiet. `orjson`
and `duckdb` are used when they are there, `msgspec` instead of the first otherwise.
"""

import gc
import importlib.util
import json
import os
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from stateward.ledger import Ledger, LedgerState, chain
from stateward.ledger.delta import FOLD_LINES, Delta
from stateward.ledger.disk import Disk
from stateward.ledger.manifest import DeltaPart, Manifest, SnapshotPart, write_manifest
from stateward.ledger.record import Line, encode_json
from stateward.ledger.snapshot import Header, Snapshot, SnapshotWriter
from stateward.ledger.states import LITERATURE
from stateward.ledger.summary import Summary

SALT = "bench"
STATES = ("pending", "fetching", "fetched", "parsing", "parsed", "completed")
WAY = (
    LedgerState.PENDING, LedgerState.FETCHING, LedgerState.FETCHED, LedgerState.PARSING, LedgerState.PARSED,
    LedgerState.VALIDATING, LedgerState.VALIDATED, LedgerState.IR_BUILDING, LedgerState.IR_READY,
)  # fmt: skip


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def row(goal: str, target: str, found: str, *, holds: bool | None = None) -> None:
    verdict = "" if holds is None else ("holds" if holds else "MISSED")
    say(f"| {goal} | {target} | {found} | {verdict} |")


def median_s(call: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def median_cpu_s(call: Callable[[], object], times: int) -> float:
    """The same in time of this process alone: for what does not wait for a disk."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


@contextmanager
def cpu() -> Iterator[list[float]]:
    taken: list[float] = []
    start = time.process_time()
    yield taken
    taken.append(time.process_time() - start)


def doc_id(number: int) -> str:
    return f"doc:{number:09d}"


def a_ledger_with(folder: Path, documents: int) -> Path:
    """A ledger whose snapshot holds that many documents, without the log that led to them."""
    folder.mkdir(parents=True)
    counts: dict[str, int] = {}
    for number in range(min(documents, len(STATES))):
        counts[STATES[number]] = len(range(number, documents, len(STATES)))
    header = Header(
        version="1.0", created_at="2025-10-04T00:00:00.000000Z", document_count=documents, last_seq=documents,
        chain="0" * 32, machine=LITERATURE.name, machine_version=LITERATURE.version, state_counts=counts,
        summary=msgspec.Raw(encode_json(Summary(counts=counts))),
    )  # fmt: skip
    writer = SnapshotWriter(Disk(), folder / "snapshot-2025-10-04.json", header)
    for number in range(documents):
        writer.add(
            b'"doc:%09d"' % number,
            b'{"state":"%b","updated_at":1759536000.25,"adapter":"pubmed","metadata":{"source":"pmc","pages":%d},'
            b'"seq":%d}' % (STATES[number % len(STATES)].encode(), number % 97, number + 1),
        )
    root = writer.finish()
    size = writer.path.stat().st_size
    (folder / "delta-2025-10-04.jsonl").touch()
    part = SnapshotPart(
        file=writer.path.name, last_seq=documents, chain="0" * 32, root=root, bytes=size, documents=documents,
        created_at=header.created_at,
    )  # fmt: skip
    manifest = Manifest(
        machine=LITERATURE.name, machine_version=LITERATURE.version, created_at=header.created_at, salt=SALT,
        snapshots=(part,), deltas=(DeltaPart(file="delta-2025-10-04.jsonl", first_seq=documents + 1, chain="0" * 32),),
    )  # fmt: skip
    write_manifest(Disk(), folder, manifest)
    return writer.path


def drop_cache(folder: Path) -> None:
    for path in folder.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def private_bytes() -> int:
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(
        int(line.split()[1]) * 1024
        for line in text.splitlines()
        if line.startswith("Private_Dirty")
    )


def loads() -> Callable[[bytes], Any]:
    if importlib.util.find_spec("orjson"):
        orjson = importlib.import_module("orjson")
        found: Callable[[bytes], Any] = orjson.loads
        return found
    return msgspec.json.decode


def dumps() -> Callable[[Any], bytes]:
    if importlib.util.find_spec("orjson"):
        orjson = importlib.import_module("orjson")
        found: Callable[[Any], bytes] = orjson.dumps
        return found
    return msgspec.json.encode


def bench_snapshots(scratch: Path, sizes: list[int]) -> None:
    opens: dict[int, float] = {}
    for size in sizes:
        folder = scratch / f"docs-{size}"
        path = a_ledger_with(folder, size)
        opens[size] = median_cpu_s(lambda p=path: Snapshot(p).close(), 60)  # type: ignore[misc]
        cold = []
        for turn in range(5):
            drop_cache(folder)
            start = time.perf_counter()
            assert Snapshot(path).get(b'"doc:%09d"' % (size * (turn + 1) // 7)) is not None
            cold.append(time.perf_counter() - start)
        row(
            f"snapshot open, {size:,} documents: warm / cold first answer", "≤ 0.5 ms / ≤ 2 ms",
            f"{opens[size] * 1e3:.2f} / {statistics.median(cold) * 1e3:.2f} ms",
            holds=opens[size] <= 5e-4 and statistics.median(cold) <= 2e-3,
        )  # fmt: skip
        bench_get(path, size, scratch)
    ratio = opens[sizes[-1]] / opens[sizes[0]]
    row(
        f"snapshot open, {sizes[-1]:,} documents vs {sizes[0]:,}",
        "≤ 1.5x",
        f"{ratio:.2f}x",
        holds=ratio <= 1.5,
    )


def bench_get(path: Path, size: int, scratch: Path) -> None:
    dice = random.Random(1)
    ids = [doc_id(dice.randrange(size)) for _ in range(5000)]
    before = private_bytes()
    with Ledger.open(path.parent, read_only=True) as ledger:
        view = ledger._view
        for each in ids:
            view.line(each)
        grown = private_bytes() - before
        ours = median_cpu_s(lambda: [view.line(each) for each in ids], 5) / len(ids)
    theirs = "not asked"
    ratio = 0.0
    if size <= 1_000_000:
        db = sqlite3.connect(scratch / f"{size}.db")
        db.execute("create table s(k text primary key, v text) without rowid")
        text = '{"state":"parsed","updated_at":1759536000.25,"adapter":"pubmed","metadata":{"source":"pmc","pages":3}}'
        db.executemany(
            "insert into s values(?,?)", ((doc_id(number), text) for number in range(size))
        )
        db.commit()
        read = loads()
        ask = "select v from s where k=?"
        taken = median_cpu_s(
            lambda: [read(db.execute(ask, (each,)).fetchone()[0]) for each in ids], 5
        ) / len(ids)
        theirs, ratio = f"{taken * 1e6:.1f} µs", taken / ours
        db.close()
    row(
        f"get, {size:,} documents vs SQLite, warm", "≥ 2x", f"{ours * 1e6:.1f} µs, SQLite {theirs}: {ratio:.2f}x",
        holds=None if not ratio else ratio >= 2,
    )  # fmt: skip
    row(
        f"private memory after 5,000 gets of {size:,}",
        "≤ 10 B a document",
        f"{max(grown, 0) / size:.2f} B",
        holds=grown / size <= 10,
    )


def bench_directory(scratch: Path, sizes: list[int], changed: int) -> None:
    for size in sizes:
        folder = scratch / f"docs-{size}"
        with Ledger.open(folder) as ledger:
            for start in range(0, changed, 1000):
                ledger.record_many(
                    [
                        (f"new:{number:08}", LedgerState.PENDING, "pubmed")
                        for number in range(start, start + 1000)
                    ]
                )
            while len(ledger._view.active.pending) < FOLD_LINES - 12:
                tail = len(ledger._view.active.pending)
                ledger.record_many(
                    [
                        (f"tail:{size}:{tail}:{number}", LedgerState.PENDING, "x")
                        for number in range(FOLD_LINES - 12 - tail)
                    ]
                )
        opened = median_cpu_s(lambda f=folder: Ledger.open(f, read_only=True).close(), 20)  # type: ignore[misc]
        written = median_cpu_s(lambda f=folder: Ledger.open(f).close(), 20)  # type: ignore[misc]
        row(
            f"directory open, {size:,} documents, {changed:,} lines, longest tail ({FOLD_LINES}): reader / writer",
            "≤ 5 ms",
            f"{opened * 1e3:.1f} / {written * 1e3:.1f} ms", holds=opened <= 5e-3,
        )  # fmt: skip


def bench_load_and_compaction(scratch: Path, size: int) -> None:
    folder = scratch / f"docs-{size}"
    path = folder / "snapshot-2025-10-04.json"
    opened = median_cpu_s(lambda: Snapshot(path).close(), 60)
    text = path.read_bytes()
    read, write = loads(), dumps()
    gc.disable()
    with cpu() as loading:
        value = read(text)
    with cpu() as dumping:
        write(value)
    gc.enable()
    del value, text
    row(
        f"open vs {read.__module__} load of {size:,} documents",
        "≥ 10,000x",
        f"{loading[0] / opened:,.0f}x ({loading[0]:.2f} s)",
        holds=loading[0] / opened >= 10_000,
    )
    snapshot = Snapshot(path)
    taken = median_cpu_s(snapshot.verify, 3)
    speed = snapshot.size / taken / 1e9
    row("snapshot verify", "≥ 1.3 GB/s", f"{speed:.2f} GB/s", holds=speed >= 1.3)
    fresh = scratch / "compact"
    shutil.copytree(folder, fresh)
    dice = random.Random(2)
    with Ledger.open(fresh) as ledger:
        chosen = dice.sample(range(0, size, len(STATES)), size // 100)
        for start in range(0, len(chosen), 1000):
            ledger.record_many(
                [
                    (doc_id(each), LedgerState.FETCHING, "pubmed")
                    for each in chosen[start : start + 1000]
                ]
            )
        with cpu() as compacting:
            ledger.compact(pack=False)
    ratio = (loading[0] + dumping[0]) / compacting[0]
    row(
        f"compaction of {size:,} documents, 1 % changed, vs load and dump",
        "≥ 10x less CPU",
        f"{compacting[0]:.2f} s: {ratio:.1f}x",
        holds=ratio >= 10,
    )


def bench_append(scratch: Path) -> None:
    for group, commits in ((1, 400), (64, 150), (1024, 40)):
        total = group * commits
        documents = max(-(-total // len(WAY)), group)
        plan = [
            (doc_id(number % documents), WAY[number // documents % len(WAY)])
            for number in range(total)
        ]
        ours, ours_cpu = _ours(scratch / f"append-{group}", plan, group)
        theirs, theirs_cpu = _sqlite(scratch / f"append-{group}.db", plan, group)
        target = {1: 1.8, 64: 4, 1024: 4}[group]
        row(
            f"durable append, groups of {group}, vs SQLite WAL FULL (log + state)", f"≥ {target}x",
            f"{ours * 1e6:,.0f} vs {theirs * 1e6:,.0f} µs a commit: {theirs / ours:.2f}x "
            f"(CPU {ours_cpu / total * 1e6:.1f} vs {theirs_cpu / total * 1e6:.1f} µs a record)",
            holds=theirs / ours >= target,
        )  # fmt: skip
        if group == 1024:
            row(
                "append in groups of 1,024, checked, chained, durable",
                "≥ 200 k/s",
                f"{group / ours:,.0f}/s",
                holds=group / ours >= 200_000,
            )


def _ours(folder: Path, plan: list[tuple[str, LedgerState]], group: int) -> tuple[float, float]:
    taken = []
    with Ledger.open(folder) as ledger, cpu() as spent:
        for start in range(0, len(plan), group):
            begin = time.perf_counter()
            ledger.record_many(
                [(name, state, "pubmed") for name, state in plan[start : start + group]]
            )
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken), spent[0]


def _sqlite(path: Path, plan: list[tuple[str, LedgerState]], group: int) -> tuple[float, float]:
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(
        "pragma journal_mode=wal; pragma synchronous=full; create table log(seq integer primary key, line text);"
        "create table state(k text primary key, state text, at real) without rowid;"
    )
    taken = []
    with cpu() as spent:
        for start in range(0, len(plan), group):
            begin = time.perf_counter()
            db.execute("begin immediate")
            for name, state in plan[start : start + group]:
                found = db.execute("select state, at from state where k=?", (name,)).fetchone()
                old = found[0] if found else None
                line = {
                    "doc_id": name,
                    "old_state": old,
                    "new_state": state.value,
                    "timestamp": 1.5,
                    "adapter": "pubmed",
                }
                db.execute("insert into log(line) values(?)", (msgspec.json.encode(line).decode(),))
                db.execute("insert or replace into state values(?,?,?)", (name, state.value, 1.5))
            db.execute("commit")
            taken.append(time.perf_counter() - begin)
    db.close()
    return statistics.median(taken), spent[0]


def bench_log(scratch: Path) -> None:
    body = encode_json(
        Line(
            doc_id="doc:000000001",
            old_state="pending",
            new_state="fetching",
            timestamp=1.5,
            adapter="pubmed",
            seq=1,
            n=1,
        )
    )[:-1]
    plain = median_cpu_s(lambda: [body + b"}\n" for _ in range(10_000)], 5) / 10_000
    sealed = (
        median_cpu_s(lambda: [chain.seal(body, chain.GENESIS) for _ in range(10_000)], 5) / 10_000
    )
    row(
        "chain overhead",
        "≤ 2 µs a record",
        f"{(sealed - plain) * 1e6:.2f} µs",
        holds=sealed - plain <= 2e-6,
    )
    folder = scratch / "replay"
    lines = 100_000
    with Ledger.open(folder) as ledger:
        for start in range(0, lines, 1000):
            ledger.record_many(
                [
                    (doc_id(number), LedgerState.PENDING, "pubmed")
                    for number in range(start, start + 1000)
                ]
            )
        part = ledger._view.manifest.active
    for path in folder.glob("*.idx"):
        path.unlink()
    with cpu() as spent:
        Delta(folder, part, salt="x").close()
    row(
        "replay + verify + index",
        "≤ 3 µs a record",
        f"{spent[0] / lines * 1e6:.2f} µs",
        holds=spent[0] / lines <= 3e-6,
    )


def bench_follow(scratch: Path) -> None:
    folder = scratch / "follow"
    delays: list[float] = []
    stalls: list[float] = []
    is_done = threading.Event()
    with Ledger.open(folder) as ledger, Ledger.open(folder, read_only=True) as reader:

        def follow() -> None:
            for each in reader.follow(after=0, poll_s=0.001, until=is_done.is_set):
                sent = each.metadata["sent"]
                assert isinstance(sent, float)
                delays.append(time.monotonic() - sent)

        thread = threading.Thread(target=follow)
        thread.start()
        for number in range(400):
            ledger.record(doc_id(number), LedgerState.PENDING, metadata={"sent": time.monotonic()})
            if number % 50 == 49:
                start = time.perf_counter()
                ledger.rotate()
                stalls.append(time.perf_counter() - start)
            time.sleep(0.001)
        is_done.set()
        thread.join()
    worst, slow = max(stalls), statistics.quantiles(delays, n=100)[98]
    row(
        "rotation stall p100 / follower p99",
        "≤ 20 ms / ≤ 10 ms",
        f"{worst * 1e3:.1f} / {slow * 1e3:.1f} ms",
        holds=worst <= 0.02 and slow <= 0.01,
    )


def bench_duckdb(scratch: Path) -> None:
    if not importlib.util.find_spec("duckdb"):
        row("DuckDB p95 per state", "≤ 1 s over 1 M lines", "not installed")
        return
    duckdb: Any = importlib.import_module("duckdb")
    lines = 1_000_000
    path = scratch / "million.jsonl"
    head = chain.GENESIS
    with path.open("wb") as file:
        for number in range(lines):
            line = Line(
                doc_id=doc_id(number), old_state=STATES[number % 5], new_state=STATES[number % 5 + 1], timestamp=1.5,
                adapter="pubmed", duration_seconds=number % 977 / 7, seq=number + 1, n=1,
            )  # fmt: skip
            text, head = chain.seal(encode_json(line)[:-1], head)
            file.write(text)
    table = f"read_json('{path}', format='newline_delimited')"
    ask = f"select old_state, quantile_cont(duration_seconds, 0.95) from {table} group by 1"  # noqa: S608
    taken = median_s(lambda: duckdb.sql(ask).fetchall(), 3)
    row("DuckDB p95 per state over 1 M lines", "≤ 1 s", f"{taken:.2f} s", holds=taken <= 1)


def main(words: list[str]) -> None:
    sizes = [int(word) for word in words if word.isdigit()] or [100_000, 1_000_000]
    if "--large" in words:
        sizes.append(10_000_000)
    say(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {json.dumps(sizes)}"
    )
    say("| goal | target | measured | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ledger-bench-") as name:
        scratch = Path(name)
        bench_append(scratch)
        bench_log(scratch)
        bench_follow(scratch)
        bench_snapshots(scratch, sizes)
        bench_load_and_compaction(scratch, 1_000_000 if 1_000_000 in sizes else sizes[0])
        bench_directory(scratch, sizes, 100_000)
        bench_duckdb(scratch)


if __name__ == "__main__":
    main(sys.argv[1:])
