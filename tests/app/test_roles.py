"""Who may do what on PostgreSQL: a worker works with a login that sees no record (G8)."""

from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stateward.app import App
from stateward.settings import Settings
from tests.waiting import wait_until


@pytest.fixture
def runner_url(postgres_dsn: str, postgres_url: str) -> str:
    """The address of the same database for a login that was granted the runners' role alone."""
    name = f"runner_{conninfo_to_dict(postgres_dsn)['dbname']}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN IN ROLE stateward_runner").format(sql.Identifier(name))
        )
    user = conninfo_to_dict(postgres_dsn)["user"]
    return postgres_url.replace(f"postgresql://{user}@", f"postgresql://{name}@")


def app_at(url: str, folder: Path, *, is_runner: bool = False) -> App:
    environ = {"STATEWARD_STORE_URL": url, "STATEWARD_DATA": str(folder)}
    return App(Settings.load(environ=environ), is_runner=is_runner)


def test_a_worker_needs_no_more_than_the_runners_role(
    postgres_url: str, runner_url: str, tmp_path: Path
) -> None:
    with (
        app_at(postgres_url, tmp_path) as app,
        app_at(runner_url, tmp_path, is_runner=True) as runner,
    ):
        record = app.submit(b"Date;Text;Amount\n2026-01-05;a;-1,00\n").record
        with (
            app.node(is_worker=False) as coordinator,
            runner.node(is_coordinator=False) as worker,
        ):

            def is_at_rest() -> bool:
                coordinator.turn()
                worker.turn()
                return app.records.is_at_rest(app.record(record.id))

            wait_until(is_at_rest)

        assert app.record(record.id).status == "normalized"


@pytest.mark.parametrize(
    "verb", ["SELECT * FROM {}", "UPDATE {} SET status = 'x'", "DELETE FROM {}"]
)
def test_the_runners_login_cannot_touch_a_record(runner_url: str, verb: str) -> None:
    with psycopg.connect(make_conninfo(runner_url)) as connection:
        statement = verb.format("stateward.records")

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
