"""Running the two stages of catalogues by themselves: no database, no coordinator, no child."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stateward.pipelines.catalogs.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.workers.sdk import Completed, Failed
from tests.pipelines import two_stages
from tests.pipelines.two_stages import JsonRow, a_job, about_of, rows_of, run


class Read(two_stages.Read):
    """What became of one catalogue."""

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


def read_file(
    path: Path,
    *,
    labels: Mapping[str, Json] | None = None,
    options: Mapping[str, Json] | None = None,
    retry_count: int = 0,
) -> Read:
    job = a_job("parse", path, labels=labels, options=options, retry_count=retry_count)
    parsed = run("catalog.parse", job)
    if isinstance(parsed, Failed):
        return Read(parsed, None)
    job = a_job("normalize", path, labels=labels, options=options, parsed=parsed)
    return Read(parsed, run("catalog.normalize", job))


def read(folder: Path, data: bytes | str, **how: Any) -> Read:  # noqa: ANN401 - passed on
    """Both stages over some bytes."""
    path = folder / "catalog"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_file(path, **how)
