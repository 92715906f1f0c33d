"""The page: ratios, aims, notes, and nothing outside of its markers."""

from pathlib import Path

import pytest

from lab.bench.report import (
    Table,
    benchmark,
    between_markers,
    machine,
    write_between,
)
from stateward.core.errors import InvalidRequest
from stateward.testing.bench.rows import Row

PAGE = "# Title\n\n<!-- bench: begin -->\nold\n<!-- bench: end -->\n\nThe rest.\n"


def a_row(system: str, cpu_ms: float | None, **changes: object) -> Row:
    fields: dict[str, object] = {
        "system": system,
        "store": "sqlite",
        "mode": "burst",
        "records": 20_000,
        "records_per_s": 1234.5,
        "cpu_ms_per_record": cpu_ms,
        "server_cpu_ms_per_record": 0.0,
        "p50_ms": 10.0,
        "p95_ms": 19.0,
        "durability": "synchronous FULL",
        "version": "1.0",
        "load": 0.5,
    }
    return Row(**(fields | changes))  # type: ignore[arg-type]


def verdicts(rows: list[Row], name: str = "SQLite, process") -> list[bool | None]:
    return [aim.is_reached for aim in Table(rows).aims() if aim.sentence.startswith(name)]


def test_ratios_are_of_one_mode_and_one_store() -> None:
    table = Table(
        [
            a_row("ours", 0.2, isolation="process"),
            a_row("ours", 0.05, isolation="inline"),
            a_row("floor", 0.1),
            a_row("floor", 5.0, mode="idle"),
            a_row("floor", 9.0, store="postgres"),
        ]
    )

    assert table.ratio(table.find("ours", "sqlite", "burst"), to="floor") == 2.0
    assert table.ratio(table.find("ours", "sqlite", "burst", "inline"), to="floor") == 0.5
    assert table.ratio(table.find("ours", "sqlite", "idle"), to="floor") is None
    assert table.ratio(table.find("floor", "postgres", "burst"), to="ours") is None


def test_aims_are_reached_missed_or_not_measured() -> None:
    ours = {"isolation": "process"}
    good = [
        a_row("ours", 0.2, records_per_s=5000.0, **ours),
        a_row("floor", 0.1),
        a_row("DBOS", 10.0),
        a_row("Huey", 1.0),
        a_row("ours", 2.0, mode="idle", p50_ms=1.0, **ours),
        a_row("DBOS", 10.0, mode="idle"),
        a_row("Huey", 3.0, mode="idle"),
    ]
    bad = [
        a_row("ours", 0.8, records_per_s=10.0, **ours),
        a_row("floor", 0.1),
        a_row("DBOS", 0.7),
        a_row("Huey", 0.7),
        a_row("ours", 9.0, mode="idle", p50_ms=21.0, **ours),
        a_row("DBOS", 8.0, mode="idle"),
        a_row("Huey", 8.0, mode="idle"),
    ]

    assert verdicts(good) == [True] * 10
    assert verdicts(bad) == [False] * 10
    assert verdicts(good, "SQLite, inline") == [None] * 10
    assert verdicts(good, "PostgreSQL, process") == [None] * 10


def test_workers_over_an_engine_are_compared_with_workers_over_the_database() -> None:
    over = {"store": "postgres", "isolation": "process"}
    rows = [
        a_row("ours, 2 workers", 2.0, **over),
        a_row("ours, 2 workers over Redis", 2.5, **over),
        a_row("ours, 2 workers over Redis", 9.0, mode="idle", p50_ms=11.0, **over),
    ]

    assert verdicts(rows, "PostgreSQL, ours, 2 workers over Redis") == [True, False]
    assert verdicts(rows, "PostgreSQL, ours, 2 workers over NATS") == [None, None]


def test_the_table_has_a_line_for_each_row() -> None:
    failed = Row(system="DBOS", store="sqlite", mode="burst", records=300, note="failed: a | b")
    inline = a_row("ours", 0.2, isolation="inline", settings="isolation: inline")

    text = benchmark([inline, a_row("floor", 0.1), failed], facts=["2 cores"])

    assert "- 2 cores\n" in text
    assert (
        "| ours 1.0 | SQLite | inline | burst | 20,000 | 1,234 | 0.200 |  | 10.0 | 19.0 | 2.0 |  | 0.5 |"
        in text
    )
    assert "| DBOS | SQLite |  | burst | 300 |  |  |  |  |  |  |  | 0 |" in text
    assert "- ours on SQLite: synchronous FULL; isolation: inline" in text
    assert "- floor on SQLite: synchronous FULL" in text
    assert "- DBOS on SQLite (burst): failed: a | b" in text
    assert (
        "| SQLite, inline: at most 0.25 ms of CPU a record in a burst | 0.200 ms | reached |"
        in text
    )
    assert (
        "| SQLite, inline: at least 50 \N{MULTIPLICATION SIGN} less CPU than DBOS in a burst |  | not measured |"
        in text
    )


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")

    for _ in range(2):
        write_between(page, "bench", "new")

    text = page.read_text("utf-8")
    assert text == "# Title\n\n<!-- bench: begin -->\n\nnew\n\n<!-- bench: end -->\n\nThe rest.\n"


@pytest.mark.parametrize("page", ["", "<!-- bench: begin -->", "<!-- bench: end -->"])
def test_a_page_without_markers_is_refused(page: str) -> None:
    with pytest.raises(InvalidRequest, match="no place for 'bench'"):
        between_markers(page, "bench", "new")


def test_the_machine_is_named() -> None:
    text = "\n".join(machine(command="make bench", postgres="16.1"))

    assert "`make bench`" in text
    assert "PostgreSQL 16.1" in text
    assert "SQLite 3." in text
    assert "cores" in text
    assert "fsync" in text
