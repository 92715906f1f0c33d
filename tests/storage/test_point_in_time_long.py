"""PostgreSQL's point-in-time recovery: what comes back verifies, and what is lost is named."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from lab.postgres import Cluster, MissingPostgres
from stateward.app import App
from stateward.app.anchors import hand_over
from stateward.cli import cli
from stateward.cli.exit_codes import Exit
from stateward.settings import Settings


@pytest.fixture
def server() -> Iterator[Cluster]:
    try:
        cluster = Cluster.create()
    except MissingPostgres as error:
        pytest.skip(str(error))
    yield cluster
    cluster.remove()


def submitted(app: App, number: int) -> str:
    done = app.submit(f"Date;Amount\n2026-01-0{number};1,00\n".encode(), machine="upload")
    app.run_until_idle()
    return done.record.id


def stateward(config: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--config", str(config), *args])


def test_a_recovery_to_a_moment_verifies_and_names_what_came_after_it(
    server: Cluster, tmp_path: Path
) -> None:
    server.archive()
    dsn = server.dsn(server.create_database())
    config = tmp_path / "settings.yaml"
    (tmp_path / "elsewhere").mkdir()
    config.write_text(
        f"data: {tmp_path}/data\nstore: {{url: '{dsn}'}}\nanchors: {{destinations: [elsewhere]}}\n"
    )
    settings = Settings.load(config, environ={})
    with App(settings) as app:
        first = submitted(app, 1)
        server.base_backup()
        second = submitted(app, 2)
        (tmp_path / "before.txt").write_text(app.admin.checkpoint())
        with psycopg.connect(dsn, autocommit=True) as connection:
            ((moment,),) = connection.execute("SELECT clock_timestamp()::text").fetchall()
        third = submitted(app, 3)
        lost = len(app.store.history(third))
        document = app.record(third).artifact
        assert hand_over(app) == {}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA stateward CASCADE")  # what the recovery undoes
    server.end_archive()

    server.recover(until=str(moment))

    (after,) = (tmp_path / "elsewhere").rglob("*.txt")
    before = str(tmp_path / "before.txt")
    sound = stateward(config, "verify", "--documents", "--checkpoint", before)
    cut = stateward(config, "verify", "--checkpoint", str(after))
    assert (sound.exit_code, cut.exit_code) == (Exit.OK, Exit.FOUND_PROBLEMS), sound.output
    compared = stateward(config, "restore", "--compare", "--json")
    known = json.loads(compared.stdout)
    assert compared.exit_code == Exit.FOUND_PROBLEMS
    assert (known["checkpoint"], known["checkpoint_ahead"]) == (str(after), lost)
    assert (known["unknown_documents"], known["missing"]) == ([document], [])
    with App(settings) as app:
        found = [app.store.get(each) is not None for each in (first, second, third)]
        assert found == [True, True, False]
        assert document is not None
        again = app.submit(app.artifacts.path(document), machine="upload").record
        app.run_until_idle()
        assert app.record(again.id).artifact == document
        assert app.admin.verify().is_sound
