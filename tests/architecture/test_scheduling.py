"""A run in several processes has the same tests in each, whichever folder it began with."""

from pathlib import Path

from tests.scheduling import FIRST, SPREAD, TESTS, TOGETHER, stagger


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
