"""Running the stages of lab reports by themselves: no database, no coordinator, no child."""

from pathlib import Path
from typing import Any

import msgspec

import stateward.pipelines.labs.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.workers.sdk import Completed, Failed, Job, Limits, Result, registered, run_runner

KEY = "0123456789abcdef0123456789abcdef"
Row = dict[str, Any]


def run(runner: str, job: Job) -> Result:
    return run_runner(
        registered()[runner],
        job,
        limits=Limits(transient_attempts=1),
        sleep=lambda _: None,
        now=lambda: 0,
    )


def parsed(folder: Path, data: str | bytes, *, retry_count: int = 0, **options: Json) -> Result:
    path = folder / "report"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    given: dict[str, Json] = {"patient_key": KEY, **options}
    return run(
        "labs.parse",
        Job(record_id="T_1", stage="parse", path=path, options=given, retry_count=retry_count),
    )


def normalized(result: Result) -> Result:
    assert isinstance(result, Completed), result
    items = {"parse": [chunk.data for chunk in result.chunks]}
    return run("labs.normalize", Job(record_id="T_1", stage="normalize", items=items))


def rows_of(result: Result) -> list[Row]:
    assert isinstance(result, Completed), result
    found: list[Row] = []
    for chunk in result.chunks:
        value = msgspec.json.decode(chunk.data)
        found += value if isinstance(value, list) else []
    return found


def results(folder: Path, data: str | bytes, *, date_order: str = "") -> list[Row]:
    return rows_of(normalized(parsed(folder, data, date_order=date_order)))


def one(folder: Path, data: str | bytes) -> Row:
    (row,) = results(folder, data)
    return row


def failure(result: Result) -> Failed:
    assert isinstance(result, Failed), result
    return result


def hl7(*segments: str, header: str = r"MSH|^~\&|LAB||EHR||20260309||ORU^R01|1|P|2.5.1") -> str:
    return "\r".join((header, *segments)) + "\r"


def csv(*rows: str, heading: str = "Test;Result;Units;Reference Range;Flag") -> str:
    return "\n".join((heading, *rows)) + "\n"
