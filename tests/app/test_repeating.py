"""Chores beside the loop."""

from threading import Event

from stateward.app.repeating import repeat_in_background
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

    with repeat_in_background("anchors", hand_over, Settings()):
        assert begun.wait(WAIT_S_MAX)
        is_ending.set()

    assert noted == ["handed over"]
