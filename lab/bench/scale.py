"""The tables of growth, and what follows from them: how much one PostgreSQL carries, and when a second is needed.

The sizes of the server are assumed and said; everything else comes from the measurements.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from lab.bench.growth import Line, What
from lab.bench.report import (
    NAMES,
    TIMES,
    bullets,
    markdown,
    number,
)

FLAT_MAX = 1.15
OPENING_MAX_MS = 100.0
A_DAY_S = 86_400


class Server(NamedTuple):
    """A PostgreSQL of a stated size, and how much of each part is used before it counts as full."""

    cores: int = 8
    log_bytes_per_s: float = 250e6
    disk_bytes: float = 1e12
    share: float = 0.6

    @property
    def words(self) -> str:
        """As a sentence has it."""
        return (
            f"{self.cores} cores, a log disk of {self.log_bytes_per_s / 1e6:.0f} MB/s and"
            f" {self.disk_bytes / 1e12:g} TB, of each of which {100 * self.share:.0f} % may be used"
        )


def growth(lines: Sequence[Line], *, facts: Iterable[str]) -> str:
    """Everything that stands between the markers of the tables."""
    parts = [
        bullets(facts),
        "### Finished records in the store",
        _history(lines),
        bullets(_verdicts(lines)),
        "### Coordinators on one queue",
        _plain(lines, "coordinators", "coordinators"),
        "### Records that wait",
        _plain(lines, "depth", "waiting"),
    ]
    return "\n\n".join(part for part in parts if part)


def _of(lines: Sequence[Line], what: What) -> list[Line]:
    return [line for line in lines if line.what == what]


def _history(lines: Sequence[Line]) -> str:
    head = (
        "store", "finished", "CPU ms/record", "empty store, in turns", "ratio", "of it server", "p50 ms",
        "p95 ms", "opening ms", "bytes/record",
    )  # fmt: skip
    return markdown(
        head,
        [
            (
                NAMES[line.store],
                f"{line.size:,}",
                number(line.cpu_ms_per_record, "{:.3f}"),
                number(line.against_ms, "{:.3f}"),
                number(ratio(line), "{:.2f}"),
                number(line.server_cpu_ms_per_record or None, "{:.3f}"),
                number(line.p50_ms, "{:.1f}"),
                number(line.p95_ms, "{:.1f}"),
                number(line.opening_ms, "{:,.1f}"),
                number(line.bytes_per_record, "{:,.0f}"),
            )
            for line in _of(lines, "history")
        ],
    )


def _plain(lines: Sequence[Line], what: What, word: str) -> str:
    head = ("store", word, "records/s", "CPU ms/record", "of it server", "p95 ms of a burst")
    return markdown(
        head,
        [
            (
                NAMES[line.store],
                f"{line.size:,}",
                number(line.records_per_s, "{:,.0f}"),
                number(line.cpu_ms_per_record, "{:.3f}"),
                number(line.server_cpu_ms_per_record or None, "{:.3f}"),
                number(line.p95_ms, "{:,.0f}"),
            )
            for line in _of(lines, what)
        ],
    )


def ratio(line: Line) -> float | None:
    """What a record costs here over what it cost in an empty store in the same minutes."""
    if line.cpu_ms_per_record is None or not line.against_ms:
        return None
    return line.cpu_ms_per_record / line.against_ms


def _verdicts(lines: Sequence[Line]) -> list[str]:
    """The aims at the longest history of each store."""
    said = []
    for line in _longest(lines):
        where = f"{NAMES[line.store]} with {line.size:,} finished records"
        grown = ratio(line)
        if grown is not None:
            word = "reached" if grown <= FLAT_MAX else "**missed**"
            said.append(
                f"{where}: a record costs {grown:.2f} {TIMES} what it costs without"
                f" (aim: {FLAT_MAX} {TIMES}): {word}"
            )
        if line.opening_ms is not None:
            word = "reached" if line.opening_ms <= OPENING_MAX_MS else "**missed**"
            said.append(
                f"{where}: it opens in {line.opening_ms:,.0f} ms (aim: {OPENING_MAX_MS:.0f} ms): {word}"
            )
    return said


def _longest(lines: Sequence[Line]) -> list[Line]:
    longest: dict[str, Line] = {}
    for line in _of(lines, "history"):
        if line.store not in longest or longest[line.store].size < line.size:
            longest[line.store] = line
    return list(longest.values())


# What one PostgreSQL carries


class Capacity(NamedTuple):
    """Records a second that each part carries before it is full, and how many records fit on the disk."""

    by_cores: float
    by_log_bytes: float
    by_anchor: float
    records_max: float

    @property
    def records_per_s(self) -> float:
        """What the narrowest part lets through."""
        return min(self.by_cores, self.by_log_bytes, self.by_anchor)


def capacity(lines: Sequence[Line], server: Server) -> Capacity | None:
    """What follows from the measurements on PostgreSQL; None where they are missing."""
    longest = next((line for line in _longest(lines) if line.store == "postgres"), None)
    shared = [line for line in _of(lines, "coordinators") if line.store == "postgres"]
    if longest is None or not shared or not longest.server_cpu_ms_per_record:
        return None
    if not longest.log_bytes_per_record or not longest.bytes_per_record:
        return None
    return Capacity(
        by_cores=server.share * server.cores * 1000 / longest.server_cpu_ms_per_record,
        by_log_bytes=server.share * server.log_bytes_per_s / longest.log_bytes_per_record,
        by_anchor=server.share * max(line.records_per_s or 0.0 for line in shared),
        records_max=server.share * server.disk_bytes / longest.bytes_per_record,
    )


def carries(lines: Sequence[Line], server: Server | None = None) -> str:
    """Everything that stands between the markers of the paper."""
    size = server or Server()
    found = capacity(lines, size)
    if found is None:
        return "Not computed: PostgreSQL was not measured."
    longest = next(line for line in _longest(lines) if line.store == "postgres")
    rows = [
        (
            "cores of the server",
            f"{longest.server_cpu_ms_per_record:.3f} ms",
            f"{found.by_cores:,.0f}",
        ),
        (
            "write-ahead log",
            f"{longest.log_bytes_per_record:,.0f} bytes",
            f"{found.by_log_bytes:,.0f}",
        ),
        ("the one log and its anchor", "one commit after the other", f"{found.by_anchor:,.0f}"),
    ]
    days = found.records_max / (found.records_per_s * A_DAY_S)
    return "\n\n".join(
        [
            f"A server with {size.words}:",
            markdown(("what is used up", "by a record", "records/s"), rows),
            bullets(
                [
                    f"it carries {found.records_per_s:,.0f} records a second,"
                    f" {found.records_per_s * A_DAY_S / 1e6:,.0f} million a day",
                    f"a finished record takes {longest.bytes_per_record:,.0f} bytes:"
                    f" {found.records_max / 1e6:,.0f} million fit, {days:,.0f} days at full speed,"
                    f" {found.records_max / 10_000 / 365:,.0f} years at 10,000 a day",
                ]
            ),
            markdown(
                ("records/s wanted", "shards"),
                [
                    (f"{wanted:,}", f"{ceil(wanted / found.records_per_s):,}")
                    for wanted in (100, 1_000, 10_000, 100_000)
                ],
            ),
        ]
    )
