"""A run in several processes has the same tests in each, whichever folder it began with."""

import sys
from pathlib import Path

import pytest

from tests.scheduling import (
    FIRST,
    SPREAD,
    TESTS,
    TOGETHER,
    Numbered,
    is_mere_progress,
    stagger,
)


def test_each_process_begins_with_another_folder_and_collects_all() -> None:
    begun = [stagger([str(TESTS)], number=number, count=3) for number in range(3)]

    assert len({folders[0] for folders in begun}) == 3
    assert {tuple(sorted(folders)) for folders in begun} == {
        tuple(
            sorted(
                {str(TESTS / file.relative_to(TESTS).parts[0]) for file in TESTS.rglob("test_*.py")}
            )
        )
    }


def test_what_was_named_is_collected_as_it_was_named() -> None:
    named = [str(TESTS / "core"), str(TESTS / "app")]

    assert stagger(named, number=1, count=2) == named


def test_what_is_put_in_order_is_there() -> None:
    assert [name for name in FIRST + SPREAD + TOGETHER if not (TESTS.parent / name).exists()] == []


def test_no_test_asks_again_for_the_health_checks_that_a_busy_machine_fails() -> None:
    """A list of its own replaces that of the profile: drawing slowly was a failure then, at a high load alone."""
    asking = [
        file.name
        for file in TESTS.rglob("*.py")
        if "suppress_health_check=[" in file.read_text() and file != Path(__file__)
    ]

    assert asking == []


@pytest.mark.parametrize(
    ("when", "outcome", "is_told"),
    [
        ("setup", "passed", False),
        ("setup", "skipped", True),
        ("setup", "failed", True),
        ("call", "passed", True),
        ("call", "failed", True),
        ("teardown", "passed", False),
        ("teardown", "failed", True),
    ],
)
def test_a_process_of_a_run_tells_all_that_counts(when: str, outcome: str, is_told: bool) -> None:
    assert is_mere_progress({"when": when, "outcome": outcome}) is not is_told


def test_messages_without_a_report_are_told() -> None:
    assert not is_mere_progress(None)


def test_a_test_is_found_in_its_place() -> None:
    assert [Numbered(["one", "other"]).index(each) for each in ("other", "one")] == [1, 0]


def test_the_plugin_that_shuffles_seeds_no_generators_that_no_test_draws_from(
    pytestconfig: pytest.Config,
) -> None:
    shuffling = pytestconfig.pluginmanager.get_plugin("shuffling")

    assert shuffling is sys.modules["pytest_randomly"]
    assert not shuffling.have_faker
    assert not shuffling.have_polyfactory
