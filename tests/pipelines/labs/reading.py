"""Running the stages of lab reports by themselves: no database, no coordinator, no child."""

from pathlib import Path

import stateward.pipelines.labs.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.workers.sdk import Completed, Failed, Result
from tests.pipelines.two_stages import JsonRow as Row
from tests.pipelines.two_stages import a_job, rows_of, run

KEY = "0123456789abcdef0123456789abcdef"


def parsed(folder: Path, data: str | bytes, *, retry_count: int = 0, **options: Json) -> Result:
    path = folder / "report"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    given: dict[str, Json] = {"patient_key": KEY, **options}
    return run("labs.parse", a_job("parse", path, options=given, retry_count=retry_count))


def normalized(result: Result) -> Result:
    assert isinstance(result, Completed), result
    return run("labs.normalize", a_job("normalize", None, parsed=result))


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
