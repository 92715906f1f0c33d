"""Waiting for a condition: tests never sleep for a fixed time as a way to synchronise."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

POLL_S = 0.01
# A machine that is busy with other things may need many times what a quiet one needs.
WAIT_S_MAX = 120.0


def wait_until(condition: Callable[[], Answer], *, timeout_s: float = WAIT_S_MAX) -> Answer:
    """Ask until the answer is true; the answer. AssertionError if it was not within `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not true within {timeout_s:g} s; last: {answer!r}"
        time.sleep(POLL_S)
    return answer
