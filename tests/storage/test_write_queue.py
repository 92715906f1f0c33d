"""Who waits for the write lock of an SQLite file gets it before who comes later."""

import fcntl
import os
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


def test_a_file_that_no_process_listens_to_needs_no_queue(path: Path) -> None:
    with closing(SqliteDatabase(path)) as database:
        write(database, "alone")

        assert bodies(database) == ["alone"]
    assert not WriteQueue(folder(path) / "that is not there").enter()
