"""`make scale` fills a store as the product would have, and nothing that is asked often reads all of it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from lab.scale.fill import Plan, fill
from lab.scale.pipeline import LAST, MACHINE
from stateward.app import App
from stateward.app.backup import document_digests
from stateward.app.doctor import checks
from stateward.core.erasure import KINDS
from stateward.settings import Settings
from stateward.storage.database import Cell, Row
from stateward.storage.sqlite import SqliteDatabase

Params: TypeAlias = Sequence[Cell] | dict[str, Cell]

RECORDS = 201
# Tables that grow with the history, and the indexes of them that do not.
LONG = "records|transitions|outputs|item_chunks|deliveries|delivery_attempts|audit_log"
SHORT = "records_waiting|records_due|records_errors|records_flagged|outputs_editions|deliveries_next|deliveries_dead"
NEWEST = "ORDER BY seq DESC LIMIT"  # it begins at the end of the log, and stops
SCAN = re.compile(rf"SCAN ({LONG})(?! USING (COVERING )?INDEX ({SHORT})\b)")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path)})
    with App(replace(settings, pipelines=("lab.scale.pipeline",))) as opened:
        fill(Plan(RECORDS, opened.clock()), opened, opened.database)
        yield opened


def test_a_filled_history_is_sound_and_its_records_are_finished(app: App) -> None:
    verdict = app.admin.verify()

    assert (verdict.findings, verdict.records, verdict.transitions) == ((), RECORDS, 3 * RECORDS)
    assert app.dashboard.counts() == app.store.queries.counts() == {(MACHINE.name, LAST): RECORDS}
    assert len(list(document_digests(app.database))) == 3
    assert not app.admin.verify_documents()


def test_opening_metrics_doctor_board_and_erasure_read_no_whole_table(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = _plans(monkeypatch)
    oldest = next(app.store.walk())

    App(app.settings).close()
    app.monitor.text()
    list(checks(app))
    app.records.count(app.records.query(""))
    app.dashboard.counts()
    app.dashboard.queues()
    app.dashboard.recent(machines=(), limit=20)
    app.dashboard.activity()
    app.eraser.erase([oldest.id], actor="person:ada", reason="a request", kinds=KINDS)

    assert len(plans) > 50
    plans = {sql: plan for sql, plan in plans.items() if NEWEST not in sql}
    assert {sql: plan for sql, plan in plans.items() if SCAN.search(plan)} == {}
    assert not app.admin.verify().findings


def _plans(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """How each statement is carried out from now on, by its text."""
    plans: dict[str, str] = {}
    execute = SqliteDatabase._try

    def explained(self: SqliteDatabase, sql: str, params: Params = ()) -> list[Row]:
        if sql.split()[0] in ("SELECT", "DELETE", "UPDATE") and sql not in plans:
            plan = execute(self, f"EXPLAIN QUERY PLAN {sql}", params)
            plans[sql] = "; ".join(str(row[3]) for row in plan)
        return execute(self, sql, params)

    monkeypatch.setattr(SqliteDatabase, "_try", explained)
    return plans
