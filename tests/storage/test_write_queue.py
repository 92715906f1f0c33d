"""Who waits for the write lock of an SQLite file gets it before who comes later."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from stateward.storage import write_queue
from stateward.storage.database import TOPIC_EVENTS
from stateward.storage.sqlite import SqliteDatabase
from stateward.storage.write_queue import WriteQueue
from tests.waiting import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def listening(path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(path)) as database:
        database.wakeup(TOPIC_EVENTS)
        yield database


def folder(path: Path) -> Path:
    return Path(f"{path}-wake")


def is_waited(path: Path) -> bool:
    """Whether another one waits for the write lock."""
    descriptor = os.open(folder(path), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def write(database: SqliteDatabase, body: str) -> None:
    with database.transaction():
        database.run("INSERT INTO events (body) VALUES (:body)", body=body)


def bodies(database: SqliteDatabase) -> list[object]:
    return [body for (body,) in database.rows("SELECT body FROM events ORDER BY seq")]


def test_a_writer_that_goes_on_at_once_lets_the_one_that_waits_go_first(
    path: Path, listening: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "PATIENCE_S", 60.0)
    with closing(SqliteDatabase(path)) as other:
        waiting = Thread(target=write, args=(other, "the one that waited"))
        with listening.transaction():
            listening.run("INSERT INTO events (body) VALUES ('first')")
            waiting.start()
            wait_until(lambda: is_waited(path))
        write(listening, "second")
        waiting.join()

    assert bodies(listening) == ["first", "the one that waited", "second"]


def test_one_that_waits_for_ever_holds_no_other_up(
    path: Path, listening: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "PATIENCE_S", 0.01)
    stopped = WriteQueue(folder(path))
    assert stopped.enter()

    write(listening, "all the same")

    stopped.close()
    assert bodies(listening) == ["all the same"]
    assert not is_waited(path)


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it slept each time while it waited for its turn; it does not take that long."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def test_one_that_waits_for_ever_is_waited_for_once(
    path: Path, listening: SqliteDatabase, sleeps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "PATIENCE_S", 0.01)
    monkeypatch.setattr(write_queue, "HEEDLESS_S", 3600.0)
    with closing(WriteQueue(folder(path))) as stopped:
        assert stopped.enter()
        write(listening, "after a wait")
        waited = len(sleeps)

        write(listening, "at once")

        assert waited
        assert len(sleeps) == waited
    assert bodies(listening) == ["after a wait", "at once"]


@pytest.mark.parametrize("is_seen_free", [False, True], ids=["after a while", "seen free"])
def test_the_queue_is_heeded_again(
    path: Path, listening: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, *, is_seen_free: bool
) -> None:
    monkeypatch.setattr(write_queue, "PATIENCE_S", 0.0)
    monkeypatch.setattr(write_queue, "HEEDLESS_S", 3600.0 if is_seen_free else 0.0)
    with closing(WriteQueue(folder(path))) as other, closing(WriteQueue(folder(path))) as own:
        assert other.enter()
        assert not own.enter()
        if is_seen_free:
            other.leave()
            assert own.enter()
            own.leave()
            assert other.enter()
        monkeypatch.setattr(write_queue, "PATIENCE_S", 3600.0)
        monkeypatch.setattr(time, "sleep", lambda _: other.leave())

        assert own.enter()


def test_a_queue_that_cannot_be_left_leaves_no_transaction_open(
    path: Path, listening: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def without_unlocking(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:
            raise OSError(errno.ENOLCK, "No locks available")
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", without_unlocking)

    write(listening, "first")
    write(listening, "second")

    assert bodies(listening) == ["first", "second"]
    assert not is_waited(path)


def test_a_file_that_no_process_listens_to_needs_no_queue(path: Path) -> None:
    with closing(SqliteDatabase(path)) as database:
        write(database, "alone")

        assert bodies(database) == ["alone"]
    assert not WriteQueue(folder(path) / "that is not there").enter()
