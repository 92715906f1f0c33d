"""A store can be verified without writing: a file on a read-only medium, a login that may only read."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.core.chain import GENESIS
from stateward.core.errors import StoreError, StoreMismatch, StoreUnreachable
from stateward.settings import Settings
from stateward.storage.amcheck import index_damage
from stateward.storage.postgres import PostgresDatabase
from stateward.storage.sqlite import SqliteDatabase
from tests.apps import Maker


def test_nothing_is_written_by_an_app_that_only_reads(make_app: Maker) -> None:
    writing = make_app("")
    writing.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")

    reading = make_app("", is_read_only=True)

    assert reading.admin.verify().is_sound
    assert reading.admin.verify().transitions == 1
    with pytest.raises(StoreError):
        reading.submit(b"c;d\n1;2\n", machine="upload", name="b.csv")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of a store with one record, in a folder of its own."""
    with App.embedded(tmp_path / "data") as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
    (tmp_path / "copy").mkdir()
    return Path(shutil.copy(tmp_path / "data" / "stateward.db", tmp_path / "copy"))


def test_an_audit_log_that_was_deleted_is_found_before_it_is_begun_anew_and_after(
    make_app: Maker,
) -> None:
    app = make_app("")
    app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
    app.database.run("DELETE FROM audit_log")
    app.database.run("UPDATE audit_head SET count = 0, hash = :none", none=GENESIS)

    (before,) = make_app("", is_read_only=True).admin.verify().findings
    (after,) = make_app("").admin.verify().findings

    assert before.sentence == "its beginning is gone: it was deleted"
    assert after.sentence == f"{before.sentence}, and begun anew after transition 1"


def test_an_older_store_is_not_migrated_but_named(copied: Path) -> None:
    with apsw.Connection(str(copied)) as connection:
        connection.execute("PRAGMA user_version = 3")

    with pytest.raises(StoreMismatch, match="was written by an older Stateward"):
        SqliteDatabase(copied, is_read_only=True)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="cannot read"):
        SqliteDatabase(tmp_path / "none.db", is_read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_still_in_the_log_of_writes_is_read(tmp_path: Path) -> None:
    with App.embedded(tmp_path / "data") as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path / "data")})
        with App(settings, is_read_only=True) as reading:
            assert reading.admin.verify().transitions == 1


def test_damage_of_the_file_itself_is_found(copied: Path) -> None:
    connection = apsw.Connection(str(copied))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_schema WHERE name = 'transitions_record'")
    connection.close()

    database = SqliteDatabase(copied, is_read_only=True)
    try:
        assert any("never used" in each for each in database.damage())
    finally:
        database.close()


def test_an_empty_history_beside_the_ledger_of_a_full_one_is_found(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\nledger: {{mirror: '{ledger}'}}\n")
    settings = Settings.load(config, environ={})
    with App(settings) as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        app.run_until_idle()

    with App(replace(settings, data=str(tmp_path / "new"))) as app:
        (finding,) = app.admin.verify().findings

    assert finding.check == "empty"
    assert "the history ends before" in finding.sentence


@pytest.fixture
def postgres_app(postgres_url: str, tmp_path: Path) -> Iterator[App]:
    """An app with one record, on PostgreSQL."""
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\nstore: {{url: '{postgres_url}'}}\n")
    with App(Settings.load(config, environ={})) as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        yield app


def test_a_login_that_may_only_read_can_verify(postgres_app: App, postgres_url: str) -> None:
    app, role = postgres_app, f"auditor_{postgres_app.clock()}"
    for statement in (
        f"CREATE ROLE {role} NOLOGIN",
        f"GRANT USAGE ON SCHEMA stateward TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA stateward TO {role}",
        f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA stateward TO {role}",
    ):
        app.database.run(statement)
    try:
        auditor = PostgresDatabase(postgres_url, role=role, is_read_only=True)
        with App(app.settings, database=auditor, is_read_only=True) as reading:
            verdict = reading.admin.verify()
        assert (verdict.findings, verdict.transitions) == ((), 1)
    finally:
        app.database.run(f"DROP OWNED BY {role}")
        app.database.run(f"DROP ROLE {role}")


def test_amcheck_names_the_index_that_is_damaged(postgres_app: App) -> None:
    database = postgres_app.database
    assert database.damage() == []  # it is not installed
    database.run("CREATE SCHEMA fake")
    database.run(
        "CREATE FUNCTION fake.bt_index_check(oid) RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
        " IF $1 = 'stateward.records_status'::regclass THEN RAISE 'item order invariant violated';"
        " END IF; END $$"
    )

    (found,) = index_damage(database, "fake")

    assert found.startswith("index records_status: item order invariant violated")
