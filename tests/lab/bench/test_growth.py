"""Growth: a history that the product goes on with, lines of the right shape, and what follows from them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.bench import pages
from lab.bench.fill import ORIGINALS, History
from lab.bench.growth import (
    Growth,
    Line,
    What,
    lines,
)
from lab.bench.runs import measured
from lab.bench.scale import (
    Capacity,
    Server,
    capacity,
    carries,
    growth,
)
from lab.bench.scale import ratio as ratio_of
from lab.postgres import MissingPostgres
from stateward.core.errors import InvalidRequest
from stateward.testing.bench.jobs import Job
from stateward.testing.bench.product import open_app, submit_records
from stateward.testing.bench.rows import Row, StoreName

pytestmark = pytest.mark.long  # whole measurements; the command itself is called in tests/cli

SIZE = 3 * ORIGINALS


@pytest.mark.slow
@pytest.mark.parametrize(
    "store", ["sqlite", pytest.param("postgres", marks=[pytest.mark.service, pytest.mark.long])]
)
def test_a_history_is_one_that_the_product_goes_on_with(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = "" if store == "sqlite" else request.getfixturevalue("postgres_url")
    job = Job("ours", store, "burst", 20, str(tmp_path), url=url)
    history = History(job)

    history.fill(2 * ORIGINALS)
    measured(job)
    history.fill(SIZE + 20)

    with open_app(job) as app:
        assert app.store.queries.counts() == {("bench_process", "finished"): SIZE + 20}
        assert app.store.log.end() == 5 * (SIZE + 20)
        ((chunks,),) = app.database.rows("SELECT count(*) FROM item_chunks")
        assert chunks == 2 * (SIZE + 20)
        oldest = app.database.rows("SELECT min(id) FROM records")[0][0]
        assert [each.target for each in app.records.history(str(oldest))][-1] == "finished"
        submit_records(app, 5, isolation="process")
        app.run_until_idle()
        assert app.store.queries.counts() == {("bench_process", "finished"): SIZE + 25}


@pytest.mark.slow
@pytest.mark.long
def test_everything_that_grows_is_measured() -> None:
    plan = Growth(
        stores=("sqlite",),
        sizes=(ORIGINALS + 500,),
        coordinators=(1, 2),
        depths=(5,),
        burst=30,
        idle=3,
        rounds=1,
    )
    told: list[str] = []

    found = list(lines(plan, tell=told.append))

    assert [(line.what, line.size) for line in found] == [
        ("history", ORIGINALS + 500),
        ("coordinators", 1),
        ("coordinators", 2),
        ("depth", 5),
    ]
    assert all(line.cpu_ms_per_record and line.records_per_s for line in found)
    assert found[0].opening_ms
    assert found[0].against_ms
    assert told


def a_line(what: What, size: int, store: StoreName = "postgres", **changes: object) -> Line:
    fields: dict[str, object] = {
        "what": what,
        "store": store,
        "size": size,
        "records_per_s": 1000.0,
        "cpu_ms_per_record": 0.55,
        "server_cpu_ms_per_record": 0.25,
        "against_ms": 0.5,
        "p50_ms": 9.0,
        "p95_ms": 12.0,
        "opening_ms": 50.0,
        "bytes_per_record": 5000.0,
        "log_bytes_per_record": 10_000.0,
    }
    return Line(**(fields | changes))  # type: ignore[arg-type]


LINES = [
    a_line("history", 10_000, bytes_per_record=9000.0),
    a_line("history", 1_000_000),
    a_line("coordinators", 1),
    a_line("coordinators", 4, records_per_s=2000.0),
    a_line("depth", 10),
]


def test_the_narrowest_part_is_the_limit() -> None:
    found = capacity(LINES, Server(cores=8, log_bytes_per_s=250e6, disk_bytes=1e12, share=0.5))

    assert found == Capacity(
        by_cores=16_000, by_log_bytes=12_500, by_anchor=1_000, records_max=100_000_000
    )
    assert found.records_per_s == 1_000


@pytest.mark.parametrize(
    "missing",
    [
        [],
        LINES[:2],
        LINES[2:],
        [a_line("history", 1, log_bytes_per_record=None), LINES[2]],
        [a_line("history", 1, server_cpu_ms_per_record=0.0), LINES[2]],
    ],
)
def test_nothing_is_computed_from_measurements_that_are_missing(missing: list[Line]) -> None:
    assert capacity(missing, Server()) is None
    assert carries(missing).startswith("Not computed")


def test_the_paper_says_when_a_second_shard_is_needed() -> None:
    text = carries(LINES)

    assert "8 cores" in text
    assert "it carries 1,200 records a second" in text
    assert "| 1,000 | 1 |" in text
    assert "| 10,000 | 9 |" in text


def test_the_tables_of_growth_say_what_stays_flat() -> None:
    slow = a_line("history", 1_000_000, store="sqlite", opening_ms=1500.0, against_ms=0.4)

    text = growth([*LINES, slow], facts=["2 cores"])

    assert "| PostgreSQL | 1,000,000 | 0.550 | 0.500 | 1.10 | 0.250 |" in text
    assert (
        "PostgreSQL with 1,000,000 finished records: it opens in 50 ms (aim: 100 ms): reached"
        in text
    )
    assert "SQLite with 1,000,000 finished records: it opens in 1,500 ms" in text
    assert text.count("**missed**") == 2
    assert "| PostgreSQL | 4 | 2,000 |" in text


def test_a_ratio_needs_both_sides() -> None:
    assert ratio_of(a_line("depth", 1, against_ms=None)) is None


# The commands of the Makefile


def a_page(folder: Path, *names: str) -> Path:
    page = folder / "page.md"
    page.write_text("".join(f"<!-- {name}: begin --><!-- {name}: end -->\n" for name in names))
    return page


def test_the_table_is_written_into_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Row(system="ours", store="sqlite", mode="burst", records=7, cpu_ms_per_record=0.2)
    monkeypatch.setattr(pages, "rows", lambda plan, tell: iter([row]))
    page, kept = a_page(tmp_path, "bench"), tmp_path / "rows.json"

    pages.main(["table", str(page), "--store", "sqlite", "--records", "7", "--json", str(kept)])

    assert "| ours | SQLite |  | burst | 7 |" in page.read_text("utf-8")
    assert '"records":7' in kept.read_text()


def test_growth_is_written_into_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Growth] = []

    def made_up(plan: Growth, tell: object) -> list[Line]:
        asked.append(plan)
        return LINES

    monkeypatch.setattr(pages, "lines", made_up)
    page = a_page(tmp_path, "growth", "carries")

    pages.main(["growth", str(page), "--sizes", "20000,1_000"])

    assert asked[0].sizes == (1_000, 20_000)
    text = page.read_text("utf-8")
    assert "Coordinators on one queue" in text
    assert "it carries 1,200 records a second" in text


def test_without_postgres_programs_no_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(folder: Path, account: object) -> Path:
        raise MissingPostgres("there are none")

    monkeypatch.setattr(pages, "find_programs", none)

    assert "PostgreSQL" not in "".join(pages.facts("make bench", ["postgres"]))


def test_a_page_without_a_place_for_the_tables_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object, **__: object) -> Iterator[Line]:
        raise AssertionError("it measured")

    monkeypatch.setattr(pages, "lines", nothing)
    page = tmp_path / "page.md"

    with pytest.raises(InvalidRequest, match="cannot read the page"):
        pages.main(["growth", str(page)])
    page.write_text("no markers here", "utf-8")
    with pytest.raises(InvalidRequest, match="has no place for 'growth'"):
        pages.main(["growth", str(page)])
