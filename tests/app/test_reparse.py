"""A document is read again with what a person says: a new edition, the old one stays, and a flag is answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.documents.contracts.blocks import Lines, Table, pdf
from stateward.app import App
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.schemas import RereadAnswer, RereadRequest
from stateward.settings import Settings
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
        seen = reread(app, record_id, hints={"date_order": "dmy"}, is_preview=True)
        before = [row["date"] for row in app.records.items(record_id)]

        found = reread(app, record_id, hints={"date_order": "dmy"})

        assert (seen.is_stored, seen.is_changed, before) == (False, True, [None, None])
        assert found.is_stored
        assert len(found.added) == len(found.removed) == 2
        assert [row["date"] for row in app.records.items(record_id)] == ["2026-02-01", "2026-04-03"]
        assert [row["date"] for row in app.records.items(record_id, edition=0)] == [None, None]
        assert app.flags.counts() == {}
        assert app.flags.decisions([app.record(record_id)])[record_id].action == "correct"
        stored = app.records.attempts(record_id)[-1].facts
        assert stored["hints"] == {"date_order": "dmy"}
        again = reread(app, record_id, hints={"date_order": "dmy"})
        assert not again.is_changed


def test_what_cannot_be_read_so_is_refused_and_changes_nothing(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        for hints in (
            {"map": "date=9,amount=1"},
            {"map": "when=1"},
            {"encoding": "no-such"},
            {"currency": "Euro Cent"},
        ):
            with pytest.raises(InvalidRequest, match="BAD_HINT"):
                reread(app, record_id, hints=hints)
        with pytest.raises(UnknownName, match="nonsense"):
            reread(app, record_id, hints={"source_type": "nonsense"})

        assert [row["date"] for row in app.records.items(record_id)] == [None, None]


@pytest.mark.long
def test_nothing_is_read_again_without_the_protection_that_the_settings_require(
    flagged: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, record_id = flagged
    (folder / "own.yaml").write_text("data: .\nworker:\n  confinement: required\n")
    monkeypatch.setattr("stateward.app.runtime.missing_protection", lambda: "nothing is hidden")

    with (
        App(Settings.load(folder / "own.yaml", environ={})) as app,
        pytest.raises(InvalidRequest, match="nothing is hidden"),
    ):
        reread(app, record_id, hints={"date_order": "dmy"})


def test_columns_and_signs_can_be_said(tmp_path: Path) -> None:
    text = b"a,b,c,d\n2026-01-05,7.00,Shop,1.00\n2026-01-06,7.00,Shop,2.00\n"
    with App.embedded(tmp_path) as app:
        record_id = app.submit(text).record.id
        app.run_until_idle()

        hints = {"map": "date=1,amount=4,description=3", "sign": "flipped"}
        reread(app, record_id, hints=hints)

        rows = list(app.records.items(record_id))
        assert [row["amount"] for row in rows] == ["-1.00", "-2.00"]
        assert rows[0]["description"] == "Shop"


def test_the_command_shows_what_changes_and_never_opens_a_document_itself(
    flagged: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, record_id = flagged
    shell = Shell(folder)
    for name in ("parse.read_statement", "raw_table.raw_table", "unlocking.unlock"):
        monkeypatch.delattr(f"stateward.pipelines.statements.{name}")

    seen = shell("reparse", record_id, "--date-order", "mdy", "--dry-run")
    done = shell("reparse", record_id, "--date-order", "mdy", "--remember")

    assert seen.exit_code == done.exit_code == 0, done.stderr
    assert f"{record_id} would change: 2 rows now, 2 after it" in seen.stderr
    assert "nothing was stored: 1 record would change" in seen.stderr
    assert "read again" not in seen.stderr
    assert "+ 2026-01-02" in done.stdout
    assert "stored" in done.stderr
    assert "1 record read again" in done.stderr
    assert "learned from unclear.csv" in done.stderr
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


def reread(app: App, record_id: str, **asked: Any) -> RereadAnswer:  # noqa: ANN401 - its fields
    return app.editions.reread(record_id, RereadRequest(**asked), actor="person:anna")


@pytest.mark.long
def test_a_later_correction_keeps_what_an_earlier_one_said(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        reread(app, record_id, hints={"date_order": "dmy"})
        reread(app, record_id, hints={"sign": "flipped"}, accept_flags=True)

        rows = list(app.records.items(record_id))
        assert [row["date"] for row in rows] == ["2026-02-01", "2026-04-03"]
        assert [row["amount"] for row in rows] == ["1.00", "-2.00"]
        assert not reread(app, record_id).is_changed  # as `--outdated` reads it

        reread(app, record_id, hints={"sign": ""})
        assert [row["amount"] for row in app.records.items(record_id)] == ["-1.00", "2.00"]
        back = reread(app, record_id, is_reset=True, is_preview=True)
        assert back.flags == ["AMBIGUOUS_DATES"]


def test_a_flagged_result_never_replaces_one_that_is_not_by_itself(tmp_path: Path) -> None:
    text = (
        b"Date,Description,Amount,Balance\n2026-01-05,Shop,-1.50,8.50\n2026-01-06,Pay,2.00,10.50\n"
    )
    with App.embedded(tmp_path) as app:
        record_id = app.submit(text).record.id
        app.run_until_idle()

        with pytest.raises(InvalidRequest, match="flagged"):
            reread(app, record_id, hints={"sign": "flipped"})

        assert [row["amount"] for row in app.records.items(record_id)] == ["-1.50", "2.00"]
        assert reread(app, record_id, hints={"sign": "flipped"}, accept_flags=True).is_stored


def test_hints_that_no_pipeline_of_the_machine_knows_are_refused(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        for hints in ({"colour": "red"}, {"sign": "maybe"}):
            with pytest.raises(UnknownName):
                reread(app, record_id, hints=hints)


def test_known_bytes_with_other_hints_make_a_new_edition(flagged: tuple[Path, str]) -> None:
    folder, record_id = flagged
    with App.embedded(folder) as app:
        found = app.submit(AMBIGUOUS, labels={"date_order": "mdy", "client": "42"})
        again = app.submit(AMBIGUOUS, labels={"date_order": "mdy"})
        plain = app.submit(AMBIGUOUS, labels={"source_type": "auto"})

        assert (found.record.id, found.is_duplicate, found.edition) == (record_id, True, 1)
        assert "date_order=mdy" in found.note
        assert (again.edition, again.note, plain.note) == (None, "", "")
        assert [row["date"] for row in app.records.items(record_id)] == ["2026-01-02", "2026-03-04"]
        assert app.records.attempts(record_id)[-1].facts["hints"] == {"date_order": "mdy"}


def test_known_bytes_with_other_hints_say_so_where_nothing_can_be_done_yet(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        app.submit(AMBIGUOUS)

        found = app.submit(AMBIGUOUS, labels={"date_order": "mdy"})

        assert (found.is_duplicate, found.edition) == (True, None)
        assert "being read without date_order=mdy" in found.note


def test_known_bytes_that_failed_are_processed_again_with_other_hints(tmp_path: Path) -> None:
    text = b"x;y\nno date;no amount\n"
    with App.embedded(tmp_path) as app:
        failed = app.submit(text, labels={"encoding": "no-such"}).record.id
        app.run_until_idle()
        assert app.record(failed).error_code

        found = app.submit(text, labels={"encoding": "cp1252"})
        again = app.submit(text, labels={"encoding": "cp1252"})

        assert found.record.id == again.record.id != failed
        assert found.record.replaces == failed
        assert found.record.labels["encoding"] == "cp1252"
        assert f"replaces {failed}" in found.note


def test_a_locked_document_is_opened_with_a_password_that_is_stored_nowhere(tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    secret = "s3cr3t-of-anna"
    plain = tmp_path / "plain.pdf"
    plain.write_bytes(statement_pdf())
    with pikepdf.open(plain) as document:
        document.save(
            tmp_path / "locked.pdf", encryption=pikepdf.Encryption(owner="o", user=secret)
        )
    data = tmp_path / "data"
    with App.embedded(data) as app:
        record_id = app.submit(tmp_path / "locked.pdf").record.id
        app.run_until_idle()
        assert app.record(record_id).error_code == "PDF_ENCRYPTED"
    shell = Shell(data)
    (tmp_path / "wrong").write_text("no\n")

    assert shell("reparse", record_id, "--password-file", str(tmp_path / "wrong")).exit_code == 4
    done = shell("reparse", record_id, "--ask-password", "--json", stdin=f"{secret}\n".encode())

    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)
    with App.embedded(data) as app:
        app.run_until_idle()
        made = app.record(row["successor"])
        assert (made.status, made.replaces) == ("normalized", record_id)
        assert made.labels["unlocked_from"] == app.record(record_id).artifact
        assert len(list(app.items(made.id))) == 2
    assert secret not in done.stdout + done.stderr
    assert not [
        each for each in data.rglob("*") if each.is_file() and secret.encode() in each.read_bytes()
    ]


def statement_pdf() -> bytes:
    """One page of a statement that adds up."""
    return pdf(
        [
            Lines(["Account 12345678, EUR", "Period 01.01.2026 to 31.01.2026"]),
            Table(
                [
                    ["Date", "Description", "Amount", "Balance"],
                    ["2026-01-05", "Corner shop purchase", "-20.00", "80.00"],
                    ["2026-01-06", "Salary of January", "50.00", "130.00"],
                ]
            ),
        ]
    )
