"""Chores beside the loop."""

from io import StringIO
from threading import Event, Thread

import pytest

from stateward import telemetry
from stateward.app import repeating
from stateward.app.repeating import FINISH_S, Chore, repeat_in_background
from stateward.core.errors import StoreUnreachable
from stateward.settings import Settings
from tests.waiting import WAIT_S_MAX


def test_a_chore_that_has_begun_is_finished_before_the_service_ends() -> None:
    """A checkpoint that was handed over and not noted would be handed over again."""
    begun, is_ending = Event(), Event()
    noted: list[str] = []

    def hand_over(settings: Settings) -> float:
        begun.set()
        is_ending.wait(WAIT_S_MAX)
        noted.append("handed over")
        return WAIT_S_MAX

    with repeat_in_background([Chore("anchors", hand_over)], Settings()):
        assert begun.wait(WAIT_S_MAX)
        is_ending.set()

    assert noted == ["handed over"]


def test_chores_that_a_network_holds_up_do_not_wait_for_each_other_as_the_service_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pod of a coordinator is killed thirty seconds after it was told to end."""
    now, waited = 100.0, list[float]()

    def join(_: Thread, timeout: float) -> None:
        nonlocal now
        waited.append(timeout)
        now += timeout

    chores = [Chore(name, lambda _: WAIT_S_MAX, WAIT_S_MAX) for name in ("erasure", "anchors")]
    monkeypatch.setattr(repeating, "monotonic", lambda: now)
    monkeypatch.setattr(Thread, "join", join)
    with repeat_in_background(chores, Settings()):
        pass

    assert waited == [FINISH_S, 0.0]


def test_a_chore_that_fails_says_when_it_is_tried_again() -> None:
    stream = StringIO()
    telemetry.set_up(level="error", stream=stream)
    failed = Event()

    def fail(settings: Settings) -> float:
        failed.set()
        raise StoreUnreachable("the database is away")

    with repeat_in_background([Chore("erasure", fail)], Settings()):
        assert failed.wait(WAIT_S_MAX)

    assert "is tried again in 15 minutes: the database is away" in stream.getvalue()
