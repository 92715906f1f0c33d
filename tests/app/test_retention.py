"""Rules of retention delete what is old, and leave a history that verifies."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from stateward.app import App, retention
from stateward.app.doctor import checks
from stateward.app.retention import DOUBTED_AGAIN_S, ClockDoubted, apply_when_due
from stateward.core.clocks import ClockAnchor
from stateward.core.errors import ArtifactError, InvalidRequest
from stateward.core.model import SECOND, Micros
from stateward.engine.clock_guard import ANCHOR
from stateward.engine.system import steady_clock
from stateward.settings import Settings
from stateward.storage.audit import AuditEntry
from tests.apps import Maker

DAY: Micros = 86_400 * SECOND
RULES = """
retention:
  rules:
    - {pipeline: upload, older_than_days: 30, delete: [logs]}
    - {pipeline: upload, status: normalized, older_than_days: 90, delete: [documents, items]}
"""


class Later:
    """A clock that can be set ahead."""

    def __init__(self) -> None:
        self.days = 0

    def __call__(self) -> Micros:
        return steady_clock() + self.days * DAY


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def make_old(make_app: Maker, later: Later) -> Callable[[str], App]:
    return lambda text: make_app(text, clock=later)


def submitted(app: App, number: int) -> str:
    text = f"date;amount;text\n2026-01-0{number};12,50;coffee\n".encode()
    record = app.submit(text, machine="upload", name="a.csv").record
    app.run_until_idle()
    return record.id


def test_each_rule_deletes_its_kinds_when_its_time_has_come(
    make_old: Callable[[str], App], later: Later
) -> None:
    app = make_old(RULES)
    first = submitted(app, 1)
    assert [each.records for each in app.retention.run()] == [0, 0]

    later.days = 31
    assert [each.records for each in app.retention.run(is_dry_run=True)] == [1, 0]
    assert [each.records for each in app.retention.run()] == [1, 0]
    assert [each.records for each in app.retention.run()] == [0, 0]
    assert {each.log for each in app.outputs.attempts(first)} == {""}
    assert list(app.items(first))
    assert app.admin.verify().findings == ()

    later.days = 91
    assert [each.records for each in app.retention.run()] == [0, 1]
    record = app.record(first)
    assert (record.artifact, record.outputs, record.labels["filename"]) == (None, {}, "a.csv")

    later.days = 0  # the clock was ahead, and is set right
    app.eraser.erase([first], actor="person:anna", reason="asked")
    times = [each.at for each in app.store.history(first)]
    assert times == sorted(times), "time runs backwards in the history"
    assert app.admin.verify().findings == ()


def test_items_that_are_left_are_still_verified_after_logs_are_gone(
    make_old: Callable[[str], App], later: Later
) -> None:
    app = make_old(RULES)
    submitted(app, 1)
    later.days = 31
    app.retention.run()

    app.database.run("UPDATE item_chunks SET data = '[]'")

    assert {each.check for each in app.admin.verify().findings} == {"output"}


def test_what_is_held_stays(make_old: Callable[[str], App], later: Later) -> None:
    app = make_old(RULES)
    held = submitted(app, 1)
    submitted(app, 2)
    app.eraser.hold(held, actor="person:anna", reason="case 12")
    later.days = 31

    assert [each.records for each in app.retention.run()] == [1, 0]
    assert any(each.log for each in app.outputs.attempts(held))


def test_a_file_that_cannot_be_deleted_stops_no_rule(
    make_old: Callable[[str], App], later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_old(RULES)
    documents = [app.record(submitted(app, each)).artifact for each in (1, 2, 3)]
    locked = min(map(str, documents))
    remove = app.artifacts.remove

    def refuse(digest: str) -> bool:
        if digest == locked:
            raise ArtifactError("it is locked")
        return remove(digest)

    monkeypatch.setattr(app.artifacts, "remove", refuse)
    monkeypatch.setattr(retention, "BATCH", 1)
    later.days = 91

    _, done = app.retention.run()

    assert (done.records, done.documents, done.left, done.fault) == (3, 2, 1, "it is locked")
    (entry,) = app.audit.entries(verb="retention")
    assert "it is locked" in str(entry.detail)
    assert "stateward_erased_files_left 1" in app.monitor.text()


def test_a_rule_about_a_status_that_is_not_final_is_refused(make_old: Callable[[str], App]) -> None:
    app = make_old(RULES.replace("normalized", "parsing"))

    with pytest.raises(InvalidRequest, match="no final status 'parsing'"):
        app.retention.run()


def test_rules_that_a_clock_ahead_applied_are_applied_again(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\n{RULES}")
    settings = Settings.load(config, environ={})
    with App(settings) as app:
        ahead = AuditEntry(at=app.clock() + 400 * DAY, actor="system:coordinator", verb="retention")
        app.audit.add([ahead])
        (said,) = [each for each in checks(app) if each.name == "retention"]

    assert not said.is_well
    assert apply_when_due(settings) == 86_400
    with App(settings) as app:
        assert len(app.audit.entries(verb="retention")) == 2


def test_the_service_applies_them_when_it_is_time(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\n{RULES}")
    settings = Settings.load(config, environ={})
    with App(settings) as app:
        (before,) = [each for each in checks(app) if each.name == "retention"]

    long_ago = ClockAnchor(wall=steady_clock() - 400 * DAY)
    (settings.data_path / ANCHOR).write_bytes(msgspec.json.encode(long_ago))
    assert apply_when_due(settings) == DOUBTED_AGAIN_S, "it deletes by a clock that is not trusted"
    with App(settings) as app:  # nor by hand
        assert app.retention.run(is_dry_run=True)
        with pytest.raises(ClockDoubted, match="nothing is deleted until it is trusted"):
            app.retention.run()
    (settings.data_path / ANCHOR).unlink()
    assert apply_when_due(settings) == 86_400
    assert 86_000 < apply_when_due(settings) <= 86_400

    with App(settings) as app:
        (after,) = [each for each in checks(app) if each.name == "retention"]
        assert len(app.audit.entries(verb="retention")) == 1
    assert (before.is_well, after.is_well) == (False, True)
