"""A lost connection or a server that restarts loses nothing and doubles nothing."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import NoReturn

import psycopg
import pytest

from lab.postgres import Cluster
from stateward.core.errors import StoreError, StoreUnreachable
from stateward.storage import libpq
from stateward.storage.database import TOPIC_EVENTS, TOPIC_WORK
from stateward.storage.libpq import Queued
from stateward.storage.postgres import PostgresDatabase
from stateward.transport import EVENTS
from tests.storage.suite.helpers import (
    PAUSES,
    QUIET_S,
    WAIT_S,
    a_pause,
    ends_with,
    settle,
    stages,
)
from tests.waiting import wait_until


def test_a_connection_lost_while_idle_is_opened_anew(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    for use in (
        lambda: database.insert(PAUSES, [a_pause("a")]),
        lambda: database.run("UPDATE pauses SET actor = 'b'"),
        lambda: database.notify([TOPIC_WORK]),
        lambda: stages(database),
    ):
        cut(postgres_dsn)
        use()

    cut(postgres_dsn)
    with database.transaction():
        database.insert(PAUSES, [a_pause("b")])
    assert stages(database) == ["a", "b"]


def test_a_transaction_begins_over_a_new_connection_if_the_loss_shows_only_then(
    database: PostgresDatabase, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([True])  # once it looks well when it is not: the news is still on the way
    is_idle = libpq.Session.is_idle
    cut(postgres_dsn)
    monkeypatch.setattr(libpq.Session, "is_idle", lambda self: next(answers, None) or is_idle(self))

    with database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]

    assert stages(database) == ["a"]


def test_a_connection_lost_inside_a_transaction_undoes_it(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]  # what was queued is sent
        cut(postgres_dsn)
        database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_a_transaction_never_goes_on_over_another_connection(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable, "lost inside a transaction"), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]  # what was queued is sent
        cut(postgres_dsn)
        with suppress(StoreUnreachable):
            database.rows("SELECT 1")
        with ends_with(StoreUnreachable, "lost inside a transaction"):
            database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_what_was_not_sent_yet_is_sent_over_a_new_connection(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        cut(postgres_dsn)
        database.insert(PAUSES, [a_pause("b")])
        assert stages(database) == ["a", "b"]

    assert stages(database) == ["a", "b"]


def test_what_may_have_been_committed_is_never_sent_twice(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = libpq.Session._piped_results

    def lose(session: libpq.Session, count: int) -> NoReturn:
        sync(session, count)
        session.close()
        raise psycopg.OperationalError("gone")

    with ends_with(StoreUnreachable, "check before you repeat it"), database.transaction():
        database.insert(EVENTS, [('{"n":1}',)])
        monkeypatch.setattr(libpq.Session, "_piped_results", lose)
    monkeypatch.undo()

    ((count,),) = database.rows("SELECT count(*) FROM events")
    assert count in (0, 1)


def test_a_transaction_without_a_statement_sends_nothing(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        libpq.Session, "_pipeline", lambda _, queued: sent.extend(each.sql for each in queued)
    )

    with database.transaction():
        pass
    with database.transaction(), database.transaction():
        database.notify(["work"])

    assert sent == ["SELECT pg_notify('stateward_work', '')"]


def test_a_connection_lost_during_a_commit_says_so(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable, "check before you repeat it"), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]  # what was queued is sent
        cut(postgres_dsn)

    assert stages(database) == []


def test_a_transaction_that_does_nothing_for_too_long_is_undone(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    database.run("SET idle_in_transaction_session_timeout = '100ms'")
    ((pid,),) = database.rows("SELECT pg_backend_pid()")

    with ends_with(StoreUnreachable), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        assert stages(database) == ["a"]  # what was queued is sent
        wait_until(lambda: not activity(other, pid))
        database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_what_was_sent_ahead_does_not_hold_its_locks_for_ever(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    database.run("SET idle_in_transaction_session_timeout = '100ms'")
    ((pid,),) = database.rows("SELECT pg_backend_pid()")

    with ends_with(StoreUnreachable), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        database.push()
        wait_until(lambda: not activity(other, pid))
        database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_what_follows_on_what_was_sent_ahead_is_not_done_if_the_transaction_did_not_begin(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with closing(libpq.Session(postgres_dsn)) as session:
        session.later(Queued("SELECT 1 / 0", ()), Queued("BEGIN", ()))
        session.push()

        with pytest.raises(psycopg.errors.DivisionByZero):
            session.now(Queued("CREATE TABLE left_over ()"), Queued("COMMIT"))

        assert session.query("SELECT to_regclass('left_over') IS NULL") == [(True,)]


def test_an_interrupt_is_noticed_while_the_server_works(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    ((pid,),) = database.rows("SELECT pg_backend_pid()")

    def interrupt() -> None:
        wait_until(lambda: "pg_sleep" in activity(other, pid))
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(interrupt)
            with ends_with(KeyboardInterrupt), database.transaction():
                database.rows("SELECT pg_sleep(100)")
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert stages(database) == []


def test_other_threads_run_while_the_server_works(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    other.rows("SELECT pg_advisory_lock(1)::text")
    database.run(f"SET lock_timeout = '{WAIT_S:g}s'")

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(database.rows, "SELECT pg_advisory_lock(1)::text")
        # Only another thread can end this wait.
        other.rows("SELECT pg_advisory_unlock(1)")

        assert waiting.result(WAIT_S) == [("",)]


def test_a_server_that_comes_back_is_used_again(postgres_cluster: Cluster) -> None:
    with closing(PostgresDatabase(postgres_cluster.dsn("postgres"), connect_s=2)) as database:
        wakeup = database.wakeup(TOPIC_WORK)
        number = wakeup.fileno()

        postgres_cluster.stop()
        with pytest.raises(StoreUnreachable, match="check that the server runs"):
            database.rows("SELECT 1")
        with pytest.raises(StoreUnreachable, match="check that the server runs"):
            database.wakeup(TOPIC_WORK)
        assert wakeup.wait(WAIT_S)
        wakeup.clear()
        started = time.monotonic()
        assert not wakeup.wait(0.7)
        assert time.monotonic() - started > 0.6

        postgres_cluster.start()
        assert wakeup.wait(WAIT_S)
        settle(wakeup)
        database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)
        assert wakeup.fileno() == number


def test_a_wakeup_that_lost_its_connection_wakes_its_listener_and_listens_again(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    wakeup = database.wakeup(TOPIC_EVENTS, TOPIC_WORK)

    cut(postgres_dsn)

    assert wakeup.wait(WAIT_S)
    settle(wakeup)
    assert not wakeup.wait(QUIET_S)
    database.notify([TOPIC_EVENTS])
    assert wakeup.wait(WAIT_S)


def test_a_closed_handle_stays_closed(postgres_dsn: str) -> None:
    database = PostgresDatabase(postgres_dsn)

    database.close()

    with pytest.raises(StoreError, match="was closed"):
        database.rows("SELECT 1")


def test_reading_leaves_no_transaction_open(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    ((pid,),) = database.rows("SELECT pg_backend_pid()")
    stages(database)

    state = other.rows("SELECT state FROM pg_stat_activity WHERE pid = :pid", pid=pid)

    assert state == [("idle",)]


def activity(database: PostgresDatabase, pid: object) -> str:
    """What a connection is doing or did last; nothing if it is gone."""
    rows = database.rows("SELECT query FROM pg_stat_activity WHERE pid = :pid", pid=pid)
    return str(rows[0][0]) if rows else ""


def cut(dsn: str) -> None:
    """End every other connection to the database, as an administrator or a crash would."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        wait_until(lambda: connection.execute(f"SELECT count(*) {others}").fetchone() == (0,))
