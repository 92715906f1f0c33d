"""Running the two stages of catalogues by themselves: no database, no coordinator, no child."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stateward.pipelines.catalogs.runners  # noqa: F401 - registers them
from stateward.core.model import Json
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
    """What became of one catalogue."""

    def __init__(self, parsed: Result, normalized: Result | None) -> None:
        self.parsed = parsed
        self.normalized = normalized

    @property
    def error(self) -> Failed:
        for result in (self.parsed, self.normalized):
            if isinstance(result, Failed):
                return result
        raise AssertionError("nothing failed")

    @property
    def observations(self) -> list[JsonRow]:
        return rows_of(self.parsed)

    @property
    def products(self) -> list[JsonRow]:
        return rows_of(self.normalized)

    @property
    def product(self) -> JsonRow:
        (only,) = self.products
        return only

    @property
    def about(self) -> JsonRow:
        return about_of(self.normalized)

    @property
    def rejected(self) -> dict[int, str]:
        return {each["where"]["row"]: each["code"] for each in self.about["rejected"]}

    @property
    def facts(self) -> Mapping[str, Any]:
        assert isinstance(self.normalized, Completed), self.normalized
        return self.normalized.facts

    @property
    def log(self) -> list[JsonRow]:
        assert self.normalized is not None
        return [json.loads(line) for line in self.normalized.log.splitlines()]


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
    parsed = _run("parse", path, labels, options)
    if isinstance(parsed, Failed):
        return Read(parsed, None)
    chunks = [chunk.data for chunk in parsed.chunks]
    return Read(parsed, _run("normalize", path, labels, options, {"parse": chunks}))


def read(folder: Path, data: bytes | str, **how: Any) -> Read:  # noqa: ANN401 - passed on
    """Both stages over some bytes."""
    path = folder / "catalog"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_file(path, **how)


def _run(
    stage: str,
    path: Path,
    labels: Mapping[str, Json] | None,
    options: Mapping[str, Json] | None,
    items: Mapping[str, list[str]] | None = None,
) -> Result:
    job = Job(
        record_id="UL_1",
        stage=stage,
        labels=dict(labels or {}),
        path=path,
        items=items,
        options=dict(options or {}),
    )
    return run_runner(
        registered()[f"catalog.{stage}"],
        job,
        limits=Limits(),
        sleep=lambda _: None,
        now=lambda: 0,
    )
