"""The ledger's benchmark as a trial: every table has its rivals, every goal a verdict, and what is lacking is said."""

import sys
from pathlib import Path

import pytest

from lab.bench.ledger import (
    GROUPS,
    Result,
    Run,
    page,
    tables,
    verdict,
)

pytestmark = pytest.mark.long  # whole measurements; the command itself is called in tests/cli

MEASURED = ("append", "open", "get", "memory", "replay", "migration", "parts")


def a_trial(peers: Path) -> tuple[Result, list[str]]:
    told: list[str] = []
    return Run([30], tell=told.append, peers=peers).result(), told


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[str]]:
    """One for all tests: it takes seconds."""
    return a_trial(tmp_path_factory.mktemp("peers") / "none")


def test_a_trial_measures_every_table_and_every_goal(trial: tuple[Result, list[str]]) -> None:
    result, told = trial

    systems = {(each.table, each.system) for each in result.figures}
    assert {table for table, _ in systems} == set(MEASURED)
    assert {("append", "SQLite, in order"), ("get", "SQLite"), ("replay", "plain, json")} <= systems
    names = " ".join(goal.name for goal in result.goals)
    for word in ("append", "open", "get", "memory", "compaction", "verify", "replay", "migration"):
        assert word in names
    appends = [goal for goal in result.goals if goal.name.startswith("durable append")]
    assert len(appends) == 2 * len(GROUPS)
    assert len(told) > 5


def test_without_the_peers_it_says_so_and_goes_on(trial: tuple[Result, list[str]]) -> None:
    result, _ = trial

    lmdb = [each.text for each in result.figures if each.system == "LMDB"]
    chained = [goal for goal in result.goals if "tamper-evident" in goal.name]
    assert len(lmdb) == 1
    assert "not installed" in lmdb[0]
    assert [verdict(goal) for goal in chained] == ["not measured"]


def test_a_python_without_the_packages_is_the_same_as_none() -> None:
    result, _ = a_trial(Path(sys.executable))

    assert "not installed" in next(each.text for each in result.figures if each.system == "LMDB")


def test_the_page_holds_all_of_it(trial: tuple[Result, list[str]]) -> None:
    result, _ = trial

    text = page(result)

    assert result.machine in text
    assert all(goal.name in text and goal.measured in text for goal in result.goals)
    assert all(heading in text for heading, _, _ in tables(result))
