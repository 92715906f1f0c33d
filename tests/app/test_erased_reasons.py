"""What a person gave as the reason of an act about a record is erased with it, and the audit log still holds."""

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from stateward.app import App
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings
from tests.app.erasing import ANNA, submitted
from tests.apps import Maker, on_each_store

WHY = "steinpilz"


class Undo(Exception):
    """Nothing of it is to stay."""


def act(app: App, record_id: str) -> None:
    """Every kind of act about a record that a person gives a reason for."""
    app.eraser.hold(record_id, actor=ANNA, reason=f"{WHY} hold")
    app.eraser.release(record_id, actor=ANNA, reason=f"{WHY} release")
    app.flags.decide(record_id, "confirm", actor=ANNA, reason=f"{WHY} flag")


def flagged(app: App) -> str:
    text = b"Date;Text;Amount\n01/02/2026;Bakery;-1,00\n03/04/2026;Shop;-2,00\n"
    record_id = app.submit(text, name="a.csv").record.id
    app.run_until_idle()
    return record_id


@on_each_store
def test_reasons_go_with_their_record_and_the_chain_of_acts_holds(make_app: Maker) -> None:
    app = make_app("")
    record_id, other = flagged(app), submitted(app, 2).id
    act(app, record_id)
    app.eraser.hold(other, actor=ANNA, reason="case 12")
    kept = read_checkpoint(app.admin.verify().checkpoint)
    assert (
        len(app.database.rows("SELECT 1 FROM audit_log WHERE reason LIKE :why", why=f"{WHY}%")) == 3
    )

    app.eraser.erase([record_id], actor=ANNA, reason="request 17")

    assert app.database.rows("SELECT 1 FROM audit_log WHERE reason LIKE :why", why=f"{WHY}%") == []
    acts = app.audit.entries(record_id=record_id)
    assert {(each.reason, each.salt, each.reason_hash is not None) for each in acts} == {
        (None, None, True)
    }
    assert [each.reason for each in app.audit.entries(record_id=other)] == ["case 12"]
    assert app.admin.verify(kept=kept).findings == ()


@on_each_store
@pytest.mark.parametrize(
    ("edit", "check"),
    [
        ("reason = 'another'", "audit"),
        ("salt = 'another'", "audit"),
        ("reason_hash = 'another'", "audit"),
        ("reason = NULL", "audit"),
        ("salt = NULL", "audit"),
        ("salt = NULL, reason = NULL", "erased"),
        ("salt = NULL, reason_hash = NULL", "audit"),
    ],
)
def test_a_reason_that_was_changed_or_erased_by_no_one_is_found(
    make_app: Maker, edit: str, check: str
) -> None:
    app = make_app("")
    app.eraser.hold(submitted(app).id, actor=ANNA, reason="case 12")
    found = set()

    with suppress(Undo), app.database.transaction():
        app.database.run(f"UPDATE audit_log SET {edit} WHERE verb = 'hold'")  # noqa: S608
        found = {each.check for each in app.admin.verify().findings}
        raise Undo

    assert check in found
    assert app.admin.verify().findings == ()


def test_the_hash_of_an_act_can_be_computed_from_its_line(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\n")
    with App(Settings.load(config, environ={})) as app:
        record_id = flagged(app)
        act(app, record_id)
        app.eraser.erase([record_id], actor=ANNA, reason="request 17")
        app.eraser.hold(submitted(app).id, actor=ANNA, reason="case 12")
        app.admin.export(tmp_path / "export")
        stored = app.database.rows("SELECT seq, at, detail FROM audit_log ORDER BY seq")
    lines = (tmp_path / "export/audit.jsonl").read_text("utf-8").splitlines()
    before = "0" * 64

    for line, (_, at, detail) in zip(map(json.loads, lines), stored, strict=True):
        if line["salt"] is not None:
            said = sha256((line["salt"] + line["reason"]).encode()).hexdigest()
            assert line["reason_hash"] == said
        reason = line["reason_hash"] or line["reason"]
        values = [
            before,
            line["seq"],
            at,
            line["actor"],
            line["verb"],
            line["record_id"],
            detail,
            reason,
        ]
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        before = sha256(text.encode()).hexdigest()
        assert line["hash"] == before
