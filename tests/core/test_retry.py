"""Retry arithmetic: whether there is another try, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.model import SECOND
from stateward.core.retry import Retry, spread
from stateward.testing.builders import NOW

ENTERPRISE = Retry(max_retries=5, backoff_s=(10, 30, 60, 300, 900), jitter_s=1.0)

rules = st.builds(
    Retry,
    max_retries=st.integers(0, 20),
    backoff_s=st.lists(st.floats(0, 1e6), min_size=1, max_size=8).map(tuple),
    jitter_s=st.floats(0, 1e6),
)


def waits_s(rule: Retry, *, of: str = "UL_1:3") -> list[float | None]:
    times = [rule.next_at(retry_count=count, token=of, now=NOW) for count in range(7)]
    return [None if at is None else (at - NOW) / SECOND for at in times]


def test_each_wait_is_taken_from_the_list() -> None:
    assert waits_s(Retry()) == [60, 300, 900, None, None, None, None]


def test_the_last_wait_repeats_when_there_are_more_retries_than_waits() -> None:
    assert waits_s(Retry(max_retries=5, backoff_s=(1, 2))) == [1, 2, 2, 2, 2, None, None]


def test_no_retries_means_none() -> None:
    assert waits_s(Retry(max_retries=0)) == [None] * 7


def test_jitter_moves_a_wait_by_less_than_it_says() -> None:
    waits = [wait for wait in waits_s(ENTERPRISE) if wait is not None]

    assert len(waits) == 5
    for wait, least in zip(waits, ENTERPRISE.backoff_s, strict=True):
        assert least <= wait < least + 1


def test_jitter_differs_from_record_to_record_and_from_try_to_try() -> None:
    tokens = [f"UL_{number}:{version}" for number in range(50) for version in range(4)]

    first = {waits_s(ENTERPRISE, of=token)[0] for token in tokens}

    assert len(first) > 190


def test_jitter_is_the_same_each_time_it_is_asked_for() -> None:
    assert waits_s(ENTERPRISE) == waits_s(ENTERPRISE)


@given(st.text(st.characters(codec="utf-8")))
def test_a_spread_lies_between_nothing_and_one(token: str) -> None:
    assert 0 <= spread(token) < 1


def test_spreads_are_spread_evenly() -> None:
    tenths = [int(spread(f"UL_{number}:1") * 10) for number in range(10_000)]

    assert all(tenths.count(tenth) == pytest.approx(1000, rel=0.15) for tenth in range(10))


@given(rules, st.integers(0, 30), st.text(st.characters(codec="utf-8"), max_size=20))
def test_a_retry_is_due_in_time_if_there_is_one_left(rule: Retry, count: int, token: str) -> None:
    at = rule.next_at(retry_count=count, token=token, now=NOW)

    if count >= rule.max_retries:
        assert at is None
    else:
        assert at is not None
        assert NOW <= at <= NOW + round((max(rule.backoff_s) + rule.jitter_s) * SECOND)
