"""What one record alone costs on PostgreSQL, counted: statements, round trips, commits. No clock decides here."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings
from stateward.storage import libpq
from stateward.storage.libpq import Param, Queued, Session
from stateward.testing.bench.product import INLINE, LAST, submit_records

ROUND_TRIPS_MAX = 5
STATEMENTS_MAX = 24
COMMITS_MAX = 3  # submit and first stage out, first stage in and second out, second stage in


class Counter:
    """Counts what is sent to the server while it is on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.round_trips = 0
        self.is_on = False
        pipeline, result = Session._pipeline, Session._result
        command, prepared, push = Session.command, Session.statement, Session.push

        def piped(session: Session, queued: Sequence[Queued]) -> object:
            self._sent(*(each.sql for each in queued))
            self.round_trips += self.is_on
            return pipeline(session, queued)

        def pushed(session: Session) -> None:
            self._sent(*(each.sql for each in session.queued))
            push(session)

        def commanded(session: Session, sql: str) -> None:
            self._sent(*sql.split(";"))
            command(session, sql)

        def stated(
            session: Session, sql: str, params: Sequence[Param] = (), types: tuple[int, ...] = ()
        ) -> object:
            if not session.queued:
                self._sent(sql)
            return prepared(session, sql, params, types)

        def answered(session: Session) -> object:
            self.round_trips += self.is_on
            return result(session)

        for name, counted in (
            ("_pipeline", piped), ("command", commanded), ("statement", stated), ("_result", answered),
            ("push", pushed),
        ):  # fmt: skip
            monkeypatch.setattr(libpq.Session, name, counted)

    def aside(self, look: Callable[[], bool]) -> bool:
        """Look at something without counting it."""
        was_on, self.is_on = self.is_on, False
        try:
            return look()
        finally:
            self.is_on = was_on

    def _sent(self, *statements: str) -> None:
        if self.is_on:
            self.statements += statements

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")


@pytest.fixture
def app(tmp_path: Path, postgres_url: str) -> Iterator[App]:
    variables = {"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": postgres_url}
    with App(Settings.load(environ=variables), machines=[INLINE]) as app:
        yield app


def test_one_record_alone_costs_few_statements_and_commits(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    # On a busy machine a record may take longer than a second.
    monkeypatch.setattr("stateward.workers.worker.LOOK_EVERY_S", 3600.0)
    with app.node() as node:
        for is_counted in (False, False, True):  # the first ones prepare the statements
            # What is done once a second has nothing to do with the record.
            while node.turn():
                pass
            monkeypatch.setattr(node, "_recover_at", float("inf"))
            for role in ("_indexer", "_confirmation"):
                monkeypatch.setattr(node, role, None)
            for beat in ("_beat_at", "_next_beat_at"):
                monkeypatch.setattr(node._worker, beat, float("inf"))
            counter.is_on = is_counted
            (record_id,) = submit_records(app, 1, isolation="inline")
            node.work_while(lambda: not counter.aside(lambda: is_finished(app, record_id)))  # noqa: B023
            counter.is_on = False

    assert counter.commits <= COMMITS_MAX, counter.statements
    assert counter.round_trips <= ROUND_TRIPS_MAX, counter.statements
    assert len(counter.statements) <= STATEMENTS_MAX, counter.statements


def test_a_turn_of_processes_apart_takes_few_round_trips(
    app: App, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the coordinator: the inbox, what else is read, what is written. Of the worker: its work, its result."""
    monkeypatch.setattr("stateward.workers.worker.LOOK_EVERY_S", 3600.0)
    counter = Counter(monkeypatch)
    variables = {"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": postgres_url}
    most: dict[str, int] = {}
    with (
        App(Settings.load(environ=variables), machines=[INLINE]) as other,
        other.node(is_coordinator=False) as worker,
        app.node(is_worker=False) as coordinator,
    ):
        worker.turn()
        nodes = {"worker": worker, "coordinator": coordinator}
        for is_counted in (False, False, True):  # the first ones prepare the statements
            while coordinator.turn():
                pass
            monkeypatch.setattr(coordinator, "_recover_at", float("inf"))
            for role in ("_indexer", "_confirmation"):
                monkeypatch.setattr(coordinator, role, None)
            for beat in ("_beat_at", "_next_beat_at"):
                monkeypatch.setattr(worker._worker, beat, float("inf"))
            (record_id,) = submit_records(app, 1, isolation="inline")
            while not is_finished(app, record_id):
                for name, node in nodes.items():
                    before, counter.is_on = counter.round_trips, is_counted
                    node.turn()
                    counter.is_on = False
                    most[name] = max(most.get(name, 0), counter.round_trips - before)

    assert most["coordinator"] <= 3, counter.statements
    assert most["worker"] <= 2, counter.statements


def is_finished(app: App, record_id: str) -> bool:
    return app.record(record_id).status == LAST


def test_coordinator_and_worker_of_a_process_listen_on_one_connection(app: App) -> None:
    with app.node() as node:
        node.turn()
        ((listening,),) = app.database.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND query LIKE 'LISTEN%'"
        )

    assert listening == 1
