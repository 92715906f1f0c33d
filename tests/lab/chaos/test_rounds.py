"""A few rounds of chaos, so that the rounds themselves keep working; `make chaos` runs them by the dozen."""

from pathlib import Path

import pytest

from lab.chaos.__main__ import main
from lab.chaos.faults import FAULTS, POSTGRES, SQLITE
from lab.chaos.report import (
    BEGIN,
    END,
    line,
    page,
    table,
)
from lab.chaos.rounds import Outcome, plan, run_round
from lab.postgres import Cluster


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_stopped_worker_loses_its_work_and_writes_nothing_when_it_wakes() -> None:
    outcome = run_round("stop-worker", SQLITE, seed=11, cluster=None)

    assert outcome.violations == []
    assert outcome.records > 5
    assert outcome.affected > 0


@pytest.mark.chaos
@pytest.mark.service
@pytest.mark.long
@pytest.mark.timeout(240)
def test_processes_that_are_cut_off_from_their_database_go_on_afterwards(
    postgres_cluster: Cluster,
) -> None:
    outcome = run_round("cut", POSTGRES, seed=12, cluster=postgres_cluster)

    assert outcome.violations == []
    assert outcome.records > 5


def test_every_pair_of_fault_and_store_has_its_turn() -> None:
    possible = {
        (kind, store)
        for kind, fault in FAULTS.items()
        for store in fault.stores
        if not fault.lacks()
    }

    assert set(plan(50, only=[], stores=[SQLITE, POSTGRES])) == possible
    assert {store for _, store in plan(9, only=["kill-worker"], stores=[SQLITE])} == {SQLITE}
    assert plan(9, only=["cut"], stores=[SQLITE]) == []


def test_an_unknown_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "earthquake"]) == 2

    assert "no such kind: earthquake" in capsys.readouterr().out


def an_outcome(kind: str = "cut", *, recovery_s: float | None = 2.0, **parts: object) -> Outcome:
    return Outcome(
        kind=kind, store=POSTGRES, seed=7, records=40, transitions=200, recovery_s=recovery_s,
        bound_s=9.0, **parts,  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_table_has_a_row_for_each_pair() -> None:
    outcomes = [an_outcome(), an_outcome(recovery_s=4.0), an_outcome("latency", recovery_s=None)]

    rows = table(outcomes).splitlines()

    assert rows[2:] == [
        "| cut | postgres | 2 | 0 | 80 | 0 | 3.0 s | 4.0 s | 9 s |",
        "| latency | postgres | 1 | 0 | 40 | 0 | - | - | 9 s |",
    ]


def test_a_round_that_found_something_says_what_and_where() -> None:
    found = line(an_outcome(violations=["S4 x: version 3 was due"], folder="/tmp/kept"))

    assert found.startswith("BAD cut")
    assert "S4 x: version 3 was due" in found
    assert "/tmp/kept" in found


def test_results_replace_what_stood_between_the_marks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    page(path, [an_outcome()], command="make chaos")

    text = path.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "**1 rounds, 0 violations**" in text
