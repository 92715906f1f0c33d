"""Running the two stages by themselves: no database, no coordinator, no child."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stateward.pipelines.statements.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.pipelines.statements.model import StatementReading
from stateward.pipelines.statements.readers import read_statement
from stateward.pipelines.statements.source import Bounds, Hints, Source
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    registered,
    run_runner,
)

JsonRow = dict[str, Any]


class Read:
    """What became of one file."""

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
    def canonicals(self) -> list[JsonRow]:
        return rows_of(self.normalized)

    @property
    def about(self) -> JsonRow:
        return about_of(self.parsed)

    @property
    def checks(self) -> list[JsonRow]:
        checks: list[JsonRow] = about_of(self.normalized)["checks"]
        return checks

    @property
    def notes(self) -> list[str]:
        """The codes of what a person is told to look at."""
        result = self.normalized if isinstance(self.normalized, Completed) else self.parsed
        assert isinstance(result, Completed), result
        notes = result.facts.get("notes") or []
        assert isinstance(notes, list)
        return [str(note).partition(":")[0] for note in notes]

    @property
    def amounts(self) -> list[str]:
        return [row["amount"] for row in self.canonicals]

    @property
    def dates(self) -> list[str | None]:
        return [row["date"] for row in self.canonicals]

    @property
    def log(self) -> str:
        return self.parsed.log + ("" if self.normalized is None else self.normalized.log)


def rows_of(result: Result | None) -> list[JsonRow]:
    assert isinstance(result, Completed), result
    return [row for chunk in result.chunks if chunk.count for row in json.loads(chunk.data)]


def about_of(result: Result | None) -> JsonRow:
    assert isinstance(result, Completed), result
    (about,) = [json.loads(chunk.data) for chunk in result.chunks if not chunk.count]
    assert isinstance(about, dict)
    return about


def read_file(
    path: Path,
    *,
    labels: Mapping[str, Json] | None = None,
    options: Mapping[str, Json] | None = None,
) -> Read:
    """Both stages over a file."""
    parsed = run("upload.parse", path, labels, options)
    if isinstance(parsed, Failed):
        return Read(parsed, None)
    chunks = [chunk.data for chunk in parsed.chunks]
    return Read(parsed, run("upload.normalize", path, labels, options, items={"parse": chunks}))


def read_bytes(folder: Path, data: bytes | str, **how: Any) -> Read:  # noqa: ANN401 - passed on
    """Both stages over some bytes."""
    path = folder / "statement"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_file(path, **how)


def run(
    name: str,
    path: Path,
    labels: Mapping[str, Json] | None = None,
    options: Mapping[str, Json] | None = None,
    *,
    items: Mapping[str, list[str]] | None = None,
    retry_count: int = 0,
) -> Result:
    job = Job(
        record_id="UL_1",
        stage=name.partition(".")[2],
        labels=dict(labels or {}),
        path=path,
        items=items,
        options=dict(options or {}),
        retry_count=retry_count,
    )
    return run_runner(registered()[name], job, limits=Limits(), sleep=lambda _: None, now=lambda: 0)


def reading_of(path: Path, **hints: Any) -> StatementReading:  # noqa: ANN401 - passed on
    """What a reader makes of a file, before any row is drawn."""
    return read_statement(Source(path, Hints(**hints), Bounds()))
