"""A job to run in this process, and ways to look at its result."""

import json
from typing import Any

from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    Runner,
    RunnerFunction,
    run_runner,
)

NOW = 1_700_000_000_000_000


def a_job(**facts: Any) -> Job:  # noqa: ANN401
    return Job(**{"record_id": "UL_1", "stage": "parse", **facts})


def run(function: RunnerFunction, job: Job | None = None, **limits: Any) -> Result:  # noqa: ANN401
    return run_runner(
        Runner("upload.parse", function),
        job or a_job(),
        limits=Limits(**limits),
        sleep=lambda seconds: None,
        now=lambda: NOW,
    )


def completed(function: RunnerFunction, **limits: Any) -> Completed:  # noqa: ANN401
    result = run(function, **limits)
    assert isinstance(result, Completed), result
    return result


def failed(function: RunnerFunction, **limits: Any) -> Failed:  # noqa: ANN401
    result = run(function, **limits)
    assert isinstance(result, Failed), result
    return result


def items(result: Result) -> list[dict[str, Any]]:
    assert isinstance(result, Completed), result
    return [item for chunk in result.chunks for item in json.loads(chunk.data)]


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.log.splitlines()]


def parse(job: Job) -> None: ...


class Odd(Exception):
    def __str__(self) -> str:
        raise KeyError

    @property
    def status_code(self) -> int:
        raise KeyError
