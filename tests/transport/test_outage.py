"""What the log says of an engine that is away, or refuses something again and again."""

import pytest

from stateward.telemetry import Log
from stateward.transport.inbox import REMIND_EVERY_S, Outage

REFUSED = OSError("this user has no permissions to run the 'xack' command")
AWAY = OSError("no answer")


class Lines(Log):
    """A log that keeps its lines."""

    def __init__(self) -> None:
        super().__init__("transport")
        self.said: list[str] = []

    def _write(self, level: str, event: str, facts: object) -> None:
        self.said.append(event.partition(":")[0])


@pytest.fixture
def lines() -> Lines:
    return Lines()


def test_what_is_refused_again_and_again_among_other_things_is_told_once_a_minute(
    lines: Lines,
) -> None:
    now = 100.0
    outage = Outage(lines, ticks=lambda: now)
    for _ in range(2 * 600):
        now += REMIND_EVERY_S / 600
        outage.note(REFUSED)
        outage.end()

    begun, ended = "cannot go on, trying again until it passes", "going on after 0.0 s"
    assert lines.said == [begun, ended, begun, ended]


def test_another_reason_is_told_at_once(lines: Lines) -> None:
    outage = Outage(lines, ticks=lambda: 100.0)
    for error in (REFUSED, AWAY):
        outage.note(error)
        outage.note(error)
        outage.end()

    assert len(lines.said) == 4


def test_an_outage_that_lasts_is_told_when_it_ends_too(lines: Lines) -> None:
    """Also one that began less than a minute after another, and was not told then."""
    now = 100.0
    outage = Outage(lines, ticks=lambda: now)
    outage.note(AWAY)
    outage.end()
    now += REMIND_EVERY_S / 2
    outage.note(AWAY)
    assert len(lines.said) == 2

    now += REMIND_EVERY_S / 2
    outage.note(AWAY)
    outage.end()

    assert lines.said[2:] == ["cannot go on, trying again until it passes", "going on after 30.0 s"]


def test_two_reasons_that_alternate_are_each_told_once_a_minute(lines: Lines) -> None:
    now = 100.0
    outage = Outage(lines, ticks=lambda: now)
    for number in range(100):
        now += REMIND_EVERY_S / 200
        outage.note((REFUSED, AWAY)[number % 2])
        outage.end()

    assert len(lines.said) == 4
