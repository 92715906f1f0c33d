"""How many jobs a worker takes ahead: many where they are quick, none where they are slow."""

import pytest

from stateward.workers.prefetch import AHEAD_MAX, Prefetch, is_to_announce


def after(*seconds: float, at_least: int = 0) -> int:
    ahead = Prefetch(at_least)
    for each in seconds:
        ahead.note(each)
    return ahead.jobs


@pytest.mark.parametrize(
    ("seconds", "jobs"),
    [
        ([], 0),
        ([0.0], AHEAD_MAX),
        ([0.0003], AHEAD_MAX),
        ([0.001], 100),
        ([0.025], 4),
        ([0.06], 1),
        ([2.0], 0),
    ],
)
def test_what_can_be_done_in_a_tenth_of_a_second_is_taken_ahead(
    seconds: list[float], jobs: int
) -> None:
    assert after(*seconds) == jobs


def test_one_slow_start_is_soon_forgotten() -> None:
    assert after(0.5) == 0
    assert after(0.5, *[0.001] * 30) > 10


def test_the_settings_say_the_least() -> None:
    assert after(60.0, at_least=3) == 3


def test_a_job_that_takes_long_counts_before_it_is_over() -> None:
    ahead = Prefetch()
    for _ in range(100):
        ahead.note(0.001)

    ahead.fall_behind(1.2)

    assert ahead.jobs == 0


@pytest.mark.parametrize(
    ("slots", "announced", "is_told"),
    [
        (40, 40, False),
        (39, 40, False),
        (21, 40, False),
        (20, 40, True),
        (79, 40, False),
        (80, 40, True),
        (0, 0, False),
        (0, 2, True),
        (2, 0, True),
    ],
)
def test_slots_are_announced_when_they_have_doubled_or_halved(
    slots: int, announced: int, *, is_told: bool
) -> None:
    assert is_to_announce(slots, announced) == is_told
