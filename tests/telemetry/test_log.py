"""Log lines: on stderr, in one shape, unforgeable, and free until one is written."""

import io
import json
import subprocess
import sys

import pytest

from stateward import telemetry


@pytest.fixture(autouse=True)
def _restored() -> object:
    yield
    telemetry.set_up(level="warning")


def test_a_json_line_has_its_time_level_role_and_facts() -> None:
    stream = io.StringIO()
    telemetry.set_up(format="json", level="info", stream=stream)

    telemetry.log("worker").info("stopped", record_id="UL_1")

    line = json.loads(stream.getvalue())
    assert line.pop("at").endswith("Z")
    assert line == {"event": "stopped", "level": "info", "role": "worker", "record_id": "UL_1"}


@pytest.mark.parametrize("is_structured", [False, True])
@pytest.mark.parametrize("format_", ["text", "json"])
def test_no_fact_can_forge_a_second_line(format_: telemetry.Format, *, is_structured: bool) -> None:
    stream = io.StringIO()
    telemetry.set_up(format=format_, level="info", stream=stream, is_structured=is_structured)

    telemetry.log("worker").info("a\nb", name="x\nlevel=error\x1b[31m")

    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_quieter_levels_are_not_written_and_a_new_choice_holds_at_once() -> None:
    first, second = io.StringIO(), io.StringIO()
    log = telemetry.log("coordinator")
    telemetry.set_up(level="error", stream=first)
    log.debug("d")
    log.warning("w")
    log.error("e")
    telemetry.set_up(level="debug", stream=second)
    log.debug("d")

    assert first.getvalue().count("\n") == 1
    assert "event='d'" in second.getvalue()


def test_a_machine_and_the_process_must_both_want_a_line() -> None:
    telemetry.set_up(level="warning")
    assert not telemetry.is_written("info", at="info")
    telemetry.set_up(level="info")
    assert telemetry.is_written("info", at="debug")
    assert not telemetry.is_written("info", at="warning")


def test_a_program_that_logs_nothing_does_not_load_the_logging_library() -> None:
    code = "import sys, stateward.app; sys.exit('structlog' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0
