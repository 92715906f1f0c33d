"""What is measured of the ledger itself: ledgers of any size, and what asking, appending and mending them costs.

CPU time is taken wherever no disk is waited for, because the machine is not always quiet; where one is, the clock on
the wall. Everything happens in folders that the caller names and removes.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median, quantiles

import msgspec

from stateward.ledger import Ledger, LedgerState
from stateward.ledger import chain as chains
from stateward.ledger.builder import LineBuilder
from stateward.ledger.delta import INDEX_EVERY_LINES, Delta
from stateward.ledger.disk import Disk
from stateward.ledger.manifest import DeltaInfo, Manifest, SnapshotInfo, write_manifest
from stateward.ledger.migrate import _Migration, migrate
from stateward.ledger.migration_report import MigrationCounts
from stateward.ledger.record import LedgerLine, encode_json
from stateward.ledger.snapshot import Header, Snapshot, SnapshotWriter
from stateward.ledger.states import DOCUMENT_MACHINE
from stateward.ledger.summary import Summary
from stateward.ledger.writer import LedgerWriter

STATES = ("pending", "fetching", "fetched", "parsing", "parsed", "completed")
WAY = (
    LedgerState.PENDING, LedgerState.FETCHING, LedgerState.FETCHED, LedgerState.PARSING, LedgerState.PARSED,
    LedgerState.VALIDATING, LedgerState.VALIDATED, LedgerState.IR_BUILDING, LedgerState.IR_READY,
)  # fmt: skip
ADAPTER = "pubmed"
GETS = 5000
SNAPSHOT = "snapshot-2025-10-04.json"
DELTA = "delta-2025-10-04.jsonl"
COHORT = 4096
MIGRATIONS = 3
"""The quickest counts: another process takes time away and gives none."""
MIXER = 7919
"""A prime: multiples of it, modulo the number of documents, name each document once and in no order."""

Move = tuple[str, LedgerState, str]


class Spent(msgspec.Struct, frozen=True):
    """Seconds of one commit, at the median: on the wall, and of this process."""

    wall_s: float
    cpu_s: float


def doc_id(number: int) -> str:
    """The name of a document."""
    return f"doc:{number:09d}"


def mixed(documents: int, rounds: int) -> list[Move]:
    """Moves of all documents along their way, one step a round, in mixed order."""
    return [
        (doc_id(number * MIXER % documents), WAY[step], ADAPTER)
        for step in range(1, rounds + 1)
        for number in range(documents)
    ]


def in_order(documents: int) -> list[Move]:
    """The whole way of some documents that are new to the ledger, one step a round, one after the other."""
    return [(doc_id(number), state, ADAPTER) for state in WAY for number in range(documents)]


def cpu_s(call: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of a call, at the median."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return median(taken)


@contextmanager
def cpu() -> Iterator[list[float]]:
    """CPU seconds of a block, in the list that it gets."""
    taken: list[float] = []
    start = time.process_time()
    yield taken
    taken.append(time.process_time() - start)


def commits(write: Callable[[Sequence[Move]], object], groups: Sequence[Sequence[Move]]) -> Spent:
    """What one of these commits takes."""
    walls, cpus = [], []
    for group in groups:
        wall, spent = time.perf_counter(), time.process_time()
        write(group)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - spent)
    return Spent(median(walls), median(cpus))


@contextmanager
def spent_in(
    places: Mapping[str, tuple[type, str]], clock: Callable[[], float]
) -> Iterator[dict[str, float]]:
    """Seconds that pass in each of these methods, by the names that they are given, in the dict that the block gets."""
    spent = dict.fromkeys(places, 0.0)

    def watched(part: str, method: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            start = clock()
            try:
                return method(*given, **named)
            finally:
                spent[part] += clock() - start

        return call

    with ExitStack() as stack:
        for part, (owner, name) in places.items():
            method = getattr(owner, name)
            stack.callback(setattr, owner, name, method)
            setattr(owner, name, watched(part, method))
        yield spent


COMMIT_PARTS: dict[str, tuple[type, str]] = {
    "checking moves, building and hashing lines": (LineBuilder, "add"),
    "looking for another writer": (LedgerWriter, "_check_alone"),
    "writing": (Disk, "write_at"),
    "the sync": (Disk, "fdatasync"),
    "totals, and where lines are": (LedgerWriter, "_show"),
    "`HEAD`": (LedgerWriter, "_write_head"),
    "the index": (LedgerWriter, "index_tail"),
}


def commit_parts_s(
    folder: Path, groups: Sequence[Sequence[Move]]
) -> tuple[float, dict[str, float]]:
    """Seconds of one of these commits, on the wall, and how much of that each part of the writer takes."""
    with Ledger.open(folder) as ledger, spent_in(COMMIT_PARTS, time.perf_counter) as spent:
        start = time.perf_counter()
        for group in groups:
            if len(group) > 1:
                ledger.record_many(group)
            else:
                ledger.record(group[0][0], group[0][1], adapter=group[0][2])
        whole = time.perf_counter() - start
    return whole / len(groups), {part: taken / len(groups) for part, taken in spent.items()}


def a_ledger_with(folder: Path, documents: int) -> Path:
    """A ledger whose snapshot holds that many documents, without the log that led to them; the snapshot's path."""
    folder.mkdir(parents=True)
    counts = {
        name: len(range(place, documents, len(STATES)))
        for place, name in enumerate(STATES)
        if place < documents
    }
    header = Header(
        version="1.0", created_at="2025-10-04T00:00:00.000000Z", document_count=documents, last_seq=documents,
        chain="0" * 32, machine=DOCUMENT_MACHINE.name, machine_version=DOCUMENT_MACHINE.version, state_counts=counts,
        summary=Summary(counts=counts),
    )  # fmt: skip
    writer = SnapshotWriter(Disk(), folder / SNAPSHOT, header)
    for number in range(documents):
        writer.add(
            b'"doc:%09d":{"state":"%b","updated_at":1759536000.25,"adapter":"pubmed","metadata":{"source":"pmc",'
            b'"pages":%d},"seq":%d}'
            % (number, STATES[number % len(STATES)].encode(), number % 97, number + 1),
        )
    root = writer.finish()
    (folder / DELTA).touch()
    part = SnapshotInfo(
        file=SNAPSHOT, last_seq=documents, chain="0" * 32, root=root, bytes=writer.path.stat().st_size,
        documents=documents, created_at=header.created_at,
    )  # fmt: skip
    manifest = Manifest(
        machine=DOCUMENT_MACHINE.name, machine_version=DOCUMENT_MACHINE.version,
        created_at=header.created_at, salt="bench",
        snapshots=(part,), deltas=(DeltaInfo(file=DELTA, first_seq=documents + 1, chain="0" * 32),),
    )  # fmt: skip
    write_manifest(Disk(), folder, manifest)
    return writer.path


def opened_s(path: Path) -> float:
    """Submission a snapshot that was open just now; giving it back is not counted."""
    taken = []
    for _ in range(60):
        start = time.process_time()
        snapshot = Snapshot(path)
        taken.append(time.process_time() - start)
        del snapshot
    return median(taken)


def cold_answer_s(path: Path, documents: int) -> float:
    """Submission a snapshot of which the kernel remembers nothing, and one answer; on the wall."""
    taken = []
    for turn in range(9):
        _forget(path.parent)
        key = b'"doc:%09d"' % (documents * (turn + 1) // 11)
        start = time.perf_counter()
        snapshot = Snapshot(path)
        snapshot.get(key)
        taken.append(time.perf_counter() - start)
        del snapshot
    return median(taken)


def _forget(folder: Path) -> None:
    for path in folder.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def asked(documents: int) -> list[str]:
    """The documents that are asked for, spread over all."""
    return [doc_id(number * 7_368_787 % documents) for number in range(GETS)]


def got_s(folder: Path, ids: Sequence[str]) -> tuple[float, float]:
    """Seconds of one get of an open ledger, and the private bytes that all of them left behind."""
    before = private_bytes()
    with Ledger.open(folder, read_only=True) as ledger:
        line = ledger._view.latest_line
        for each in ids:
            line(each)
        grown = private_bytes() - before
        return cpu_s(lambda: [line(each) for each in ids], 5) / len(ids), max(grown, 0)


def private_bytes() -> int:
    """The memory that only this process has encode to; 0 where the system does not say."""
    with suppress(OSError):
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(
            1024 * int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")
        )
    return 0


def directory_opened_s(folder: Path, lines: int) -> float:
    """Submission a whole ledger: with so many lines behind an index, and the longest tail that there can be."""
    with Ledger.open(folder) as ledger:
        for start in range(0, lines, 1000):
            numbers = range(start, min(start + 1000, lines))
            ledger.record_many(
                [(f"new:{number:08}", LedgerState.PENDING, ADAPTER) for number in numbers]
            )
        names = (f"tail:{number}" for number in count())
        while len(ledger._view.active.pending) != INDEX_EVERY_LINES - 1:
            ledger.record_many([(next(names), LedgerState.PENDING, ADAPTER)])
    return cpu_s(lambda: Ledger.open(folder, read_only=True).close(), 20)


def verify_bytes_per_s(path: Path) -> float:
    """Reading a snapshot against its root."""
    snapshot = Snapshot(path)
    taken = cpu_s(snapshot.verify, 3)
    return path.stat().st_size / taken


def compacted_s(source: Path, scratch: Path, documents: int) -> list[float]:
    """Compactions, before each of which one document of a hundred has changed, until all are written anew once."""
    folder = scratch / "compact"
    shutil.copytree(source, folder)
    every = len(STATES)
    pending = -(-documents // every)
    share = max(1, documents // 100)
    taken = []
    with Ledger.open(folder) as ledger:
        for turn in range(pending // share):
            numbers = range(turn * share, (turn + 1) * share)
            changed = [doc_id(number * MIXER % pending * every) for number in numbers]
            for start in range(0, len(changed), 1000):
                ledger.record_many(
                    [
                        (each, LedgerState.FETCHING, ADAPTER)
                        for each in changed[start : start + 1000]
                    ]
                )
            with cpu() as spent:
                made = ledger.compact(compress=False)
            taken += spent
            if made is None or made.base is None:
                break
    shutil.rmtree(folder)
    return taken


def chain_overhead_s() -> float:
    """What sealing a line costs beside ending it."""
    line = LedgerLine(
        doc_id=doc_id(1), old_state="pending", new_state="fetching", timestamp=1759536000.25, adapter=ADAPTER,
        seq=1, n=1,
    )  # fmt: skip
    body = encode_json(line)[:-1]
    times = range(10_000)
    sealed = cpu_s(lambda: [chains.seal(body, chains.GENESIS) for _ in times], 5)
    return (sealed - cpu_s(lambda: [body + b"}\n" for _ in times], 5)) / len(times)


def a_log(folder: Path, lines: int) -> tuple[Path, DeltaInfo]:
    """A ledger with a log of so many lines and no index: documents go all their way, some thousand at a time."""
    with Ledger.open(folder, delta_bytes_max=1 << 40) as ledger:
        cohort = min(COHORT, max(1, lines // len(WAY)))
        for start in range(0, lines, cohort * len(WAY)):
            names = [doc_id(start + number) for number in range(cohort)]
            for at, state in enumerate(WAY):
                left = lines - start - at * cohort
                ledger.record_many([(name, state, ADAPTER) for name in names[: max(left, 0)]])
        part, path = ledger._view.manifest.active, ledger._view.active.path
    for index in folder.glob("delta-*.idx"):
        index.unlink()
    return path, part


def replayed_s(path: Path, part: DeltaInfo, lines: int) -> tuple[float, float]:
    """Seconds a line: every line checked and every state known; and the same while an index is made."""
    with cpu() as indexing:
        delta = Delta(path.parent, part, salt="bench")
    states: dict[str, str] = {}

    def replay() -> None:
        for _, line in delta.lines():
            states[line.doc_id] = line.new_state

    taken = cpu_s(replay, 3)
    delta.close()
    return taken / lines, indexing[0] / lines


def stall_and_delay_s(folder: Path, records: int) -> tuple[float, float]:
    """The longest rotation, and the delay that 99 of 100 records do not exceed on their way to a follower."""
    delays: list[float] = []
    stalls: list[float] = []
    is_done = threading.Event()
    with Ledger.open(folder) as ledger, Ledger.open(folder, read_only=True) as reader:

        def follow() -> None:
            for each in reader.follow(after=0, poll_s=0.001, until=is_done.is_set):
                sent = each.metadata["sent"]
                delays.append(time.monotonic() - float(sent))  # type: ignore[arg-type]

        thread = threading.Thread(target=follow)
        thread.start()
        for number in range(records):
            ledger.record(doc_id(number), LedgerState.PENDING, metadata={"sent": time.monotonic()})
            if number % 50 == 49:
                start = time.perf_counter()
                ledger.rotate()
                stalls.append(time.perf_counter() - start)
            time.sleep(0.001)
        is_done.set()
        thread.join()
    return max(stalls), quantiles(delays, n=100)[98]


def shared_per_s(folder: Path, threads: int, records: int) -> float:
    """Records a second, on the wall, of so many threads that each record one document after the other."""
    with Ledger.open(folder) as ledger:

        def work(number: int) -> None:
            for at in range(records):
                ledger.record(f"doc:{number}:{at}", LedgerState.PENDING, adapter=ADAPTER)

        every = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        start = time.perf_counter()
        for each in every:
            each.start()
        for each in every:
            each.join()
        return threads * records / (time.perf_counter() - start)


MIGRATION_PARTS: dict[str, tuple[type, str]] = {
    "reading and counting": (MigrationCounts, "add_many"),
    "building and hashing lines": (LineBuilder, "add"),
    "writing, totals and index": (LedgerWriter, "commit"),
    "reading back, and the snapshot": (Ledger, "compact"),
    "comparing": (_Migration, "_check"),
}


def an_old_ledger(path: Path, lines: int) -> None:
    """A file as old programs wrote it, with ISO times."""
    words = (*STATES[:5], "VALIDATING", "auto_done", "failed")
    documents = max(1, lines // 8)
    with path.open("wb") as file:
        for number in range(lines):
            line = {
                "doc_id": doc_id(number % documents), "state": words[number // documents % len(words)],
                "timestamp": datetime.fromtimestamp(1.6e9 + number, UTC).isoformat(), "adapter": ADAPTER,
                "metadata": {"pages": number % 97, "source": "pmc"},
            }  # fmt: skip
            file.write(encode_json(line) + b"\n")


def migrated_s(scratch: Path, lines: int) -> tuple[float, dict[str, float]]:
    """CPU seconds a line: read, copied, written, read back, compared; and of that, in another run, each part."""
    source = scratch / "old" / "ledger.jsonl"
    source.parent.mkdir()
    an_old_ledger(source, lines)
    whole = min(
        cpu_s(lambda turn=turn: migrate(source, output=scratch / f"migrated-{turn}"))  # type: ignore[misc]
        for turn in range(MIGRATIONS)
    )
    with spent_in(MIGRATION_PARTS, time.process_time) as spent:
        migrate(source, output=scratch / "watched")
    return whole / lines, {part: taken / lines for part, taken in spent.items()}
