"""A document is read again with what a person says: a new edition, the old one stays, and a flag is answered."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import InvalidRequest
from tests.cli.shell import Shell

AMBIGUOUS = b"Date,Description,Amount\n01/02/2026,Shop purchase,-1.00\n03/04/2026,Salary,2.00\n"


@pytest.fixture
def flagged(tmp_path: Path) -> tuple[Path, str]:
    with App.embedded(tmp_path) as app:
        record_id = app.submit(AMBIGUOUS, name="unclear.csv").record.id
        app.run_until_idle()
    return tmp_path, record_id


def test_hints_make_a_new_edition_and_the_old_one_stays(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        seen = app.editions.reread(
            record_id, hints={"date_order": "dmy"}, secrets={}, actor="person:anna", is_preview=True
        )
        before = [row["date"] for row in app.records.items(record_id)]

        found = app.editions.reread(
            record_id, hints={"date_order": "dmy"}, secrets={}, actor="person:anna"
        )

        assert (seen.is_stored, seen.is_changed, before) == (False, True, [None, None])
        assert found.is_stored
        assert len(found.added) == len(found.removed) == 2
        assert [row["date"] for row in app.records.items(record_id)] == ["2026-02-01", "2026-04-03"]
        assert [row["date"] for row in app.records.items(record_id, edition=0)] == [None, None]
        assert app.flags.counts() == {}
        assert app.flags.decisions([app.record(record_id)])[record_id].action == "correct"
        stored = app.records.attempts(record_id)[-1].facts
        assert stored["hints"] == {"date_order": "dmy"}
        again = app.editions.reread(
            record_id, hints={"date_order": "dmy"}, secrets={}, actor="person:anna"
        )
        assert not again.is_changed


def test_what_cannot_be_read_so_is_refused_and_changes_nothing(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        for hints in ({"map": "date=9,amount=1"}, {"map": "when=1"}, {"encoding": "no-such"}):
            with pytest.raises(InvalidRequest, match="BAD_HINT"):
                app.editions.reread(record_id, hints=dict(hints), secrets={}, actor="person:anna")

        assert [row["date"] for row in app.records.items(record_id)] == [None, None]


def test_columns_and_signs_can_be_said(tmp_path: Path) -> None:
    text = b"a,b,c,d\n2026-01-05,7.00,Shop,1.00\n2026-01-06,7.00,Shop,2.00\n"
    with App.embedded(tmp_path) as app:
        record_id = app.submit(text).record.id
        app.run_until_idle()

        hints = {"map": "date=1,amount=4,description=3", "sign": "flipped"}
        app.editions.reread(record_id, hints=dict(hints), secrets={}, actor="person:anna")

        rows = list(app.records.items(record_id))
        assert [row["amount"] for row in rows] == ["-1.00", "-2.00"]
        assert rows[0]["description"] == "Shop"


def test_the_command_shows_what_changes(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    shell = Shell(folder)

    seen = shell("reparse", record_id, "--date-order", "mdy", "--dry-run")
    done = shell("reparse", record_id, "--date-order", "mdy")

    assert seen.exit_code == done.exit_code == 0, done.stderr
    assert "+ 2026-01-02" in done.stdout
    assert "stored" in done.stderr
    assert shell.ids("is:flagged") == []
    assert shell.json("reparse", "--outdated") == []
    assert shell("reparse", record_id, "--sign", "maybe").exit_code == 2
    assert shell("reparse").exit_code == 2


def test_what_an_older_reader_read_is_outdated(
    flagged: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        assert not app.editions.is_outdated(app.record(record_id))
        monkeypatch.setitem(app.editions._readers, "upload.parse", 99)
        assert app.editions.is_outdated(app.record(record_id))
