"""Running the two stages by themselves: no database, no coordinator, no child."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stateward.pipelines.statements.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.pipelines.statements.model import StatementReading
from stateward.pipelines.statements.readers import read_statement
from stateward.pipelines.statements.source import Bounds, Hints, Source
from stateward.workers.sdk import Failed, Result
from tests.pipelines import two_stages
from tests.pipelines.two_stages import JsonRow, a_job, about_of, rows_of


class Read(two_stages.Read):
    """What became of one file."""

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
    def amounts(self) -> list[str]:
        return [row["amount"] for row in self.canonicals]

    @property
    def dates(self) -> list[str | None]:
        return [row["date"] for row in self.canonicals]

    @property
    def flags(self) -> list[str]:
        """What says that something is wrong or incomplete."""
        assert self.normalized is not None
        return [*self.normalized.facts["flags"]]  # type: ignore[misc]

    @property
    def log(self) -> str:
        return self.parsed.log + ("" if self.normalized is None else self.normalized.log)


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
    return Read(parsed, run("upload.normalize", path, labels, options, parsed=parsed))


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
    parsed: Result | None = None,
    retry_count: int = 0,
) -> Result:
    stage = name.partition(".")[2]
    job = a_job(stage, path, labels=labels, options=options, parsed=parsed, retry_count=retry_count)
    return two_stages.run(name, job)


def reading_of(path: Path, **hints: Any) -> StatementReading:  # noqa: ANN401 - passed on
    """What a reader makes of a file, before any row is drawn."""
    return read_statement(Source(path, Hints(**hints), Bounds()))
