"""The process of a measurement: it runs as a service does, or the figures are those of something else."""

from stateward import __main__ as command
from stateward.testing.bench import child


def test_what_is_measured_looks_for_garbage_as_seldom_as_a_service() -> None:
    assert child.GARBAGE_FROM == command.GARBAGE_FROM
