"""Which errors of a runner are final, and which pass by themselves and are retried."""

import errno
import io
import urllib.error
from collections.abc import Iterator
from email.message import Message

import pytest

from stateward.core.errors import FatalFailure, StageFailure, TransientFailure
from stateward.core.model import Fields
from stateward.workers import failures
from stateward.workers.sdk import Failed, Job, Limits, Runner, RunnerFunction, run_runner
from tests.workers.jobs import NOW, Odd, a_job, failed, items, lines, run


def raising(error: BaseException) -> RunnerFunction:
    def function(job: Job) -> None:
        raise error

    return function


# Errors


@pytest.mark.parametrize(
    ("error", "code", "message", "is_retryable"),
    [
        (StageFailure("no table", code="NO_TABLE"), "NO_TABLE", "no table", True),
        (FatalFailure("encrypted"), "STAGE_FAILED", "encrypted", False),
        (TransientFailure("busy", code="BUSY"), "BUSY", "busy", True),
        (TypeError("a\x00b"), "EXCEPTION", "TypeError: a\ufffdb", True),
        (KeyError(), "EXCEPTION", "KeyError", True),
        (Odd(), "EXCEPTION", "Odd: (its text cannot be shown)", True),
        (MemoryError(), "MEMORY_LIMIT", "ran out of memory; the limit is 7 bytes", True),
        (OSError(errno.ENOMEM, "x"), "MEMORY_LIMIT", "ran out of memory", True),
        (OSError(errno.EFBIG, "x"), "FILE_LIMIT", "wrote a file of more than 8 bytes", True),
        (
            SystemExit(3),
            "RUNNER_EXITED",
            "the runner left with SystemExit: 3; it must return",
            True,
        ),
        (KeyboardInterrupt(), "RUNNER_EXITED", "the runner left with KeyboardInterrupt; it", True),
    ],
)
def test_an_error_becomes_a_failure(
    error: BaseException, code: str, message: str, *, is_retryable: bool
) -> None:
    result = failed(raising(error), memory_bytes=7, file_bytes=8, transient_attempts=1)

    assert result.code == code
    assert result.message.startswith(message)
    assert result.is_retryable == is_retryable
    last = lines(result)[-1]
    assert (last["level"], last["code"]) == ("error", code)
    assert "in function" in last["traceback"]
    assert "stateward/workers/" not in last["traceback"]
    assert 'File "/' not in last["traceback"], "where files lie on this machine is not told"


def test_a_message_and_a_traceback_are_bounded() -> None:
    def deep(depth: int) -> None:
        if depth == 0:
            raise ValueError("x" * 100_000)
        deep(depth - 1)

    result = failed(lambda job: deep(300), message_chars_max=50)

    assert len(result.message) == 50
    assert result.message.endswith("…")
    assert len(lines(result)[-1]["traceback"]) <= failures.TRACEBACK_CHARS_MAX + 1


def test_an_error_after_some_items_leaves_none() -> None:
    def function(job: Job) -> Iterator[Fields]:
        yield {"a": 1}
        raise ValueError("page 2")

    assert failed(function).message == "ValueError: page 2"


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    def __init__(self, status_code: int) -> None:
        self.response = Response(status_code)


class APIError(Exception):
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class TransportError(Exception):
    """As httpx has one."""


class ConnectTimeout(TransportError): ...


class Throttled(FatalFailure):
    status_code = 429


def url_error(status: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://x", status, "x", Message(), io.BytesIO())


# Errors that pass by themselves


@pytest.mark.parametrize(
    ("error", "is_transient"),
    [
        (TransientFailure("busy"), True),
        (ConnectionResetError(), True),
        (BrokenPipeError(), True),
        (TimeoutError(), True),
        (OSError(errno.EIO, "x"), True),
        (OSError(errno.EAGAIN, "x"), True),
        (OSError(errno.EHOSTUNREACH, "x"), True),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (urllib.error.URLError(OSError(errno.ENETUNREACH, "x")), True),
        (url_error(503), True),
        (HTTPStatusError(429), True),
        (HTTPStatusError(500), True),
        (APIError(599), True),
        (ConnectTimeout(), True),
        (url_error(404), False),
        (urllib.error.URLError("unknown url type"), False),
        (HTTPStatusError(404), False),
        (APIError(400), False),
        (FileNotFoundError(errno.ENOENT, "x"), False),
        (PermissionError(errno.EACCES, "x"), False),
        (StageFailure("no table"), False),
        (Throttled("used up"), False),
        (ValueError("x"), False),
        (Odd(), False),
        (MemoryError(), False),
        (SystemExit(), False),
    ],
)
def test_only_what_passes_by_itself_is_tried_again(
    error: BaseException, *, is_transient: bool
) -> None:
    tries = []

    def function(job: Job) -> None:
        tries.append(1)
        raise error

    failed(function)

    assert len(tries) == (3 if is_transient else 1)


def test_a_retry_waits_longer_each_time_and_drops_what_came_before() -> None:
    waits: list[float] = []
    job = a_job()

    def function(job: Job) -> Iterator[Fields]:
        assert not list(job.scratch.iterdir())
        (job.scratch / "half").write_text("x")
        yield {"try": len(waits) + 1}
        if len(waits) < 2:
            raise ConnectionError("reset")

    result = run_runner(
        Runner("upload.parse", function),
        job,
        limits=Limits(transient_backoff_s=0.5),
        sleep=waits.append,
        now=lambda: NOW,
    )

    assert items(result) == [{"try": 3}]
    assert waits == [0.5, 1.0]
    assert [(line["level"], line["message"]) for line in lines(result)] == [
        ("warning", "try 1 of 3 failed, the next one is in 0.5 s: ConnectionError: reset"),
        ("warning", "try 2 of 3 failed, the next one is in 1 s: ConnectionError: reset"),
    ]


def test_no_retry_is_begun_that_the_deadline_would_cut_off() -> None:
    job = a_job(deadline=0.0)

    result = run(raising(ConnectionError("reset")), job)

    assert isinstance(result, Failed)
    assert result.message == "ConnectionError: reset"
    assert len(lines(result)) == 1
    assert job.remaining_s is not None
    assert job.remaining_s < 0


def test_a_single_attempt_may_be_all_there_is() -> None:
    result = failed(raising(ConnectionError("reset")), transient_attempts=1)

    assert len(lines(result)) == 1
