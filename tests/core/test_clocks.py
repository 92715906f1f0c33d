"""When the clock of a machine is believed: by a server elsewhere, by the kernel's count, by the last sign of life."""

from hypothesis import given
from hypothesis import strategies as st

from stateward.core.clocks import ClockAnchor, ClockLimits, clock_fault
from stateward.core.model import SECOND

START = 1_800_000_000 * SECOND
HOUR = 3600 * SECOND
LIMITS = ClockLimits()
BELIEVED = ClockAnchor(wall=START, boot="a", passed=7 * HOUR)


def later(hours: float, *, ahead: float = 0.0, boot: str = "a") -> ClockAnchor:
    passed = BELIEVED.passed + round(hours * HOUR)
    return ClockAnchor(wall=START + round((hours + ahead) * HOUR), boot=boot, passed=passed)


@given(hours=st.floats(0, 10_000))
def test_however_long_it_was_off_a_clock_that_agrees_with_the_kernel_is_believed(
    hours: float,
) -> None:
    assert clock_fault(BELIEVED, later(hours), LIMITS) is None


@given(hours=st.floats(0, 10_000), ahead=st.floats(1.01, 10_000))
def test_a_clock_that_was_set_ahead_is_not_believed(hours: float, ahead: float) -> None:
    assert clock_fault(BELIEVED, later(hours, ahead=ahead), LIMITS) is not None


def test_25_hours_ahead_is_said() -> None:
    assert clock_fault(BELIEVED, later(0.5, ahead=25), LIMITS) == (
        "the clock is 25.0 h ahead of the time that has passed since 2027-01-15T08:00:00.000000Z"
    )
    assert clock_fault(BELIEVED, later(25, boot="b"), LIMITS) == (
        "the clock is 25.0 h later than 2027-01-15T08:00:00.000000Z, when this installation was last at work"
    )
    assert clock_fault(BELIEVED, later(25, ahead=25), LIMITS, server_ahead_s=25 * 3600.0) == (
        "the clock is 25.0 h ahead of the clock of the database server"
    )


def test_after_a_new_start_of_the_machine_a_short_time_off_is_believed() -> None:
    assert clock_fault(BELIEVED, later(23, boot="b"), LIMITS) is None
    assert clock_fault(ClockAnchor(wall=START), later(23), LIMITS) is None
    assert clock_fault(ClockAnchor(wall=START), later(25), LIMITS) is not None


def test_a_server_elsewhere_that_agrees_settles_it() -> None:
    assert clock_fault(BELIEVED, later(500, boot="b"), LIMITS, server_ahead_s=2.0) is None


def test_without_a_history_there_is_nothing_to_compare() -> None:
    assert clock_fault(None, later(500), LIMITS) is None


def test_a_clock_that_is_behind_fires_no_deadline_too_early() -> None:
    assert clock_fault(BELIEVED, later(1, ahead=-25), LIMITS) is None
