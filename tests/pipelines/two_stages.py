"""Running the stages of a pipeline by themselves: no database, no coordinator, no child."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stateward.core.model import Json
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    SavedValues,
    registered_runners,
    run_runner,
)

JsonRow = dict[str, Any]


class Read:
    """What became of one file in `parse` and `normalize`."""

    def __init__(self, parsed: Result, normalized: Result | None) -> None:
        self.parsed = parsed
        self.normalized = normalized

    @property
    def error(self) -> Failed:
        """The failure of the first stage that failed."""
        for result in (self.parsed, self.normalized):
            if isinstance(result, Failed):
                return result
        raise AssertionError("nothing failed")

    @property
    def observations(self) -> list[JsonRow]:
        return rows_of(self.parsed)

    @property
    def notes(self) -> list[str]:
        """The codes of what a person is told to look at."""
        result = self.normalized if isinstance(self.normalized, Completed) else self.parsed
        assert isinstance(result, Completed), result
        notes = result.facts.get("notes") or []
        assert isinstance(notes, list)
        return [str(note).partition(":")[0] for note in notes]


def rows_of(result: Result | None) -> list[JsonRow]:
    assert isinstance(result, Completed), result
    return [row for chunk in result.chunks if chunk.count for row in json.loads(chunk.data)]


def about_of(result: Result | None) -> JsonRow:
    assert isinstance(result, Completed), result
    (about,) = [json.loads(chunk.data) for chunk in result.chunks if not chunk.count]
    assert isinstance(about, dict)
    return about


def a_job(
    stage: str,
    path: Path | None,
    *,
    labels: Mapping[str, Json] | None = None,
    options: Mapping[str, Json] | None = None,
    parsed: Result | None = None,
    retry_count: int = 0,
    saved: SavedValues | None = None,
) -> Job:
    """A job of one stage; `parsed` is what the stage before it gave."""
    chunks = [chunk.data for chunk in parsed.chunks] if isinstance(parsed, Completed) else None
    return Job(
        record_id="UL_1",
        stage=stage,
        labels=dict(labels or {}),
        path=path,
        items=None if chunks is None else {"parse": chunks},
        options=dict(options or {}),
        retry_count=retry_count,
        saved_values=saved,
    )


def run(runner: str, job: Job) -> Result:
    limits = Limits(transient_attempts=1)
    return run_runner(
        registered_runners()[runner], job, limits=limits, sleep=lambda _: None, now=lambda: 0
    )
