"""Who may do what on PostgreSQL: a worker works with a login that sees no record (G8)."""

from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stateward.app import App
from stateward.core.machine import Machine
from stateward.core.model import Work
from stateward.settings import Settings
from stateward.testing.bench.product import INLINE, LAST, submit_records
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


def app_at(
    url: str, folder: Path, *, is_runner: bool = False, machines: Sequence[Machine] = ()
) -> App:
    environ = {"STATEWARD_STORE_URL": url, "STATEWARD_DATA": str(folder)}
    return App(Settings.load(environ=environ), is_runner=is_runner, machines=machines)


def assigned(app: App) -> list[Work]:
    """All work that is assigned."""
    names = {str(worker) for (worker,) in app.database.rows("SELECT worker FROM work")}
    return [each for name in names for each in app.bus.assigned_work(name, limit=10)]


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


def test_a_worker_that_lost_one_attempt_still_reports_the_others(
    postgres_url: str, runner_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes without waiting for whether its work is still its own: that it was not is found with the commit."""
    with (
        app_at(postgres_url, tmp_path, machines=[INLINE]) as app,
        app_at(runner_url, tmp_path, is_runner=True, machines=[INLINE]) as runner,
        runner.node(is_coordinator=False) as worker,
        app.node(is_worker=False) as coordinator,
    ):
        worker.turn()  # it announces itself
        lost, kept = submit_records(app, 2, isolation="inline")
        wait_until(lambda: coordinator.turn() or len(assigned(app)) == 2)
        assert worker._worker is not None
        perform = worker._worker.prepare

        def prepare(*ready: frozenset[int] | None) -> bool:
            is_busy = perform(*ready)
            (work,) = (each for each in assigned(app) if each.record_id == lost)
            app.bus.reassign([replace(work, worker="another", delivery=2)])
            return is_busy

        monkeypatch.setattr(worker._worker, "prepare", prepare)
        worker.turn()

        found = {record_id: app.outputs.result(record_id, 1) for record_id in (lost, kept)}
        assert found[lost] is None
        assert found[kept] is not None
        assert [(each.record_id, each.worker) for each in assigned(app)] == [(lost, "another")]


def test_a_turn_that_foresaw_another_epoch_is_decided_again(
    postgres_url: str, tmp_path: Path
) -> None:
    with (
        app_at(postgres_url, tmp_path, machines=[INLINE]) as app,
        app_at(postgres_url, tmp_path, machines=[INLINE]) as other,
        other.node(is_coordinator=False) as worker,
        app.node(is_worker=False) as coordinator,
    ):
        worker.turn()
        (first,) = submit_records(app, 1, isolation="inline")

        def is_done(record_id: str) -> bool:
            worker.turn()
            coordinator.turn()
            return app.record(record_id).status == LAST

        wait_until(lambda: is_done(first))  # the coordinator knows the epoch now
        before = app.coordinator.foresight._epoch
        epoch = app.store.lanes.begin_epoch(now=app.clock())  # another coordinator has started
        (second,) = submit_records(app, 1, isolation="inline")
        wait_until(lambda: is_done(second))

        assert before is not None
        assert before < epoch
        made = [each for each in app.store.log.read() if each.record_id == second]
        assert {each.epoch for each in made} == {epoch}


@pytest.mark.parametrize(
    "verb", ["SELECT * FROM {}", "UPDATE {} SET status = 'x'", "DELETE FROM {}"]
)
def test_the_runners_login_cannot_touch_a_record(runner_url: str, verb: str) -> None:
    with psycopg.connect(make_conninfo(runner_url)) as connection:
        statement = verb.format("stateward.records")

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
