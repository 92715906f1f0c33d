"""What several files of tests about transports ask for."""

from collections.abc import Iterator
from io import StringIO

import pytest

from stateward import telemetry


@pytest.fixture
def log_lines() -> Iterator[StringIO]:
    """The log of this process, wherever an earlier test had it written to."""
    lines = StringIO()
    telemetry.set_up(level="warning", stream=lines)
    yield lines
    telemetry.set_up(level="warning")
