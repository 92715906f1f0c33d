"""Ledgers in the old form, to be migrated."""

from pathlib import Path
from typing import Any

from stateward.ledger.disk import Disk
from stateward.ledger.migrate import migrate
from stateward.ledger.migration_report import MigrationReport
from tests.ledger.builders import Clock, QuickDisk

OLD = [
    '{"doc_id":"doc:1","state":"pending","timestamp":1700000000.5,"metadata":{"run":1}}',
    '{"doc_id":"doc:1","old_state":"pending","new_state":"FETCHING","timestamp":"1700000001","adapter":"pubmed"}',
    "",
    '{"id":"doc:2","status":"auto_done","ts":1700000002000,"pages":12}',
    '{"document":"doc:1","state":"pdf_ir_ready","timestamp":"2023-11-14T22:13:23Z","metadata":{"run":2},"run":7}',
    '{"doc_id":"doc:3","state":"weird thing","retry_count":"3","duration":"1.5"}',
    '{"doc_id":"doc:2","state":"auto_done","error":{"type":"Timeout","message":"too slow"}}',
    '{"doc_id":"doc:4"',
    '["doc:4"]',
    '{"state":"pending"}',
    '{"doc_id":"doc:5","timestamp":1}',
    '{"doc_id":"doc:1","old_state":"parsing","state":"completed","timestamp":"yesterday"}',
]


def an_old_ledger(folder: Path, lines: list[str] = OLD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ledger.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n")
    return path


def moved(path: Path, **how: Any) -> MigrationReport:  # noqa: ANN401 - migrate's own words
    return migrate(path, clock=how.pop("clock", Clock()), disk=how.pop("disk", QuickDisk()), **how)


class Killed(BaseException):
    """The process is gone."""


class DyingDisk(QuickDisk):
    """Works so many times and never again, as a process that is killed."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any method
        if not name.startswith("_") and callable(getattr(Disk, name, None)) and name != "close":
            self._left -= 1
            if self._left < 0:
                raise Killed
        return super().__getattribute__(name)
