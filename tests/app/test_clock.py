"""The clock of a process: it is right at the start, follows slowly, and cannot be set."""

from hypothesis import given
from hypothesis import strategies as st

from stateward.core.model import SECOND, Micros
from stateward.engine.system import SteadyClock

START: Micros = 1_800_000_000 * SECOND
HOUR = 3600 * SECOND


class World:
    """Time that passes, and a wall clock that can be set."""

    def __init__(self) -> None:
        self.passed: Micros = 7 * HOUR
        self.set_by: Micros = 0

    def wall(self) -> Micros:
        return START + self.passed + self.set_by

    def clock(self) -> SteadyClock:
        return SteadyClock(self.wall, lambda: self.passed)

    def run(self, clock: SteadyClock, *, seconds: float, step_s: float = 0.5) -> Micros:
        """Let time pass, looking at the clock every now and then; how far it went."""
        before = clock()
        for _ in range(round(seconds / step_s)):
            self.passed += round(step_s * SECOND)
            clock()
        return clock() - before


def test_it_starts_with_the_wall_clock() -> None:
    world = World()

    assert world.clock()() == world.wall()


def test_a_clock_that_is_set_ahead_by_a_day_moves_no_deadline() -> None:
    world = World()
    clock = world.clock()

    world.set_by = 25 * HOUR

    assert abs(world.run(clock, seconds=300) - 300 * SECOND) <= 0.3 * SECOND


def test_a_clock_that_is_set_back_by_an_hour_puts_no_deadline_off() -> None:
    world = World()
    clock = world.clock()

    world.set_by = -HOUR

    assert abs(world.run(clock, seconds=300) - 300 * SECOND) <= 0.3 * SECOND


def test_a_small_difference_is_made_up() -> None:
    world = World()
    clock = world.clock()
    world.set_by = round(0.5 * SECOND)

    world.run(clock, seconds=600)

    assert abs(clock() - world.wall()) < 0.001 * SECOND


def test_it_says_how_far_the_wall_clock_is_ahead() -> None:
    world = World()
    clock = world.clock()

    world.set_by = -HOUR

    assert round(clock.off_s) == -3600


@given(
    jumps=st.lists(
        st.tuples(st.floats(0.000_001, 7200.0), st.integers(-100 * HOUR, 100 * HOUR)), max_size=30
    )
)
def test_it_never_goes_back_and_never_hurries(jumps: list[tuple[float, int]]) -> None:
    world = World()
    clock = world.clock()
    start, passed = clock(), world.passed

    for seconds, set_by in jumps:
        before = clock()
        world.passed += round(seconds * SECOND)
        world.set_by = set_by
        assert clock() >= before

    real = world.passed - passed
    assert abs(clock() - start - real) <= real // 1000 + 1
