"""What the suite writes, and what its tests are built from."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from stateward.storage.database import (
    TOPIC_EVENTS,
    Database,
    Row,
    Table,
    Wakeup,
)
from stateward.transport import EVENTS

WAIT_S = 60.0
QUIET_S = 0.15
BATCH = 10_000

PAUSES = Table(
    "pauses",
    {"machine": "text", "stage": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "stage"),
)
ATTEMPTED = Table(  # records by what the store needs to open one
    "records",
    {
        "id": "text",
        "machine": "text",
        "machine_version": "bigint",
        "status": "text",
        "version": "bigint",
        "created_at": "bigint",
        "entered_at": "bigint",
        "priority": "bigint",
        "rank": "bigint",
        "retry_count": "bigint",
        "dedupe": "text",
        "labels": "json",
        "fields": "json",
        "outputs": "json",
        "head": "text",
    },
    key=("id",),
)

HOSTILE_TEXTS = (
    "",
    " ",
    "NULL",
    "null",
    "\\N",
    "\\.",
    "'; DROP TABLE records; --",
    'a "quoted" word',
    "back\\slash",
    "\\\\",
    '\\"',
    "\\",
    '"',
    '""',
    "{braces}",
    "{}",
    "{a,b}",
    "a,b",
    ",",
    "(a,b)",
    "tab\there",
    "line\nbreak",
    "\n",
    "\r\n",
    "\r",
    "\x01\x02\x1f\x7f",
    "\v\f\b",
    "100% %s %(x)s :name $1 ?",
    "ä ö ü ß é",
    "漢字かな",
    "e\u0301",
    "😀👩‍👩‍👧",
    "\u2028\u2029\ufeff",
    "\U0010ffff",
    "x" * 100_000,
    '"\\\n' * 5_000,
)
HOSTILE_JSON = (
    "{}",
    "null",
    '"NULL"',
    '  { "b" : 1,\t"a" : [ 1.0, 1e5, -0 ],\n "b" : 2 }  ',
    '{"text":"\\u00e9 \\" \\\\ \\n / \\/ 😀"}',
    '{"zero":"\\u0000","half":"\\ud800"}',
    "12345678901234567890123456789012345678901234567890.10",
    "[" * 50 + "]" * 50,
)
BIG_NUMBERS = (0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))


class Opener:
    """Opens the same database as often as it is called, and closes all handles at the end.

    It can be sent to other processes, unless the database is in the memory of this one: then there
    is one handle, which every call returns.
    """

    def __init__(self, open_: Callable[[], Database], *, is_in_memory: bool = False) -> None:
        self._open = open_
        self.is_in_memory = is_in_memory
        self._opened: list[Database] = []

    def __call__(self) -> Database:
        """A handle."""
        if not (self.is_in_memory and self._opened):
            self._opened.append(self._open())
        return self._opened[-1]

    def close(self) -> None:
        """Close every handle that was opened here."""
        for database in self._opened:
            database.close()

    def __getstate__(self) -> dict[str, Any]:
        """What travels: how to open it, not what is open."""
        return {"_open": self._open, "is_in_memory": self.is_in_memory, "_opened": []}


def assert_survives(database: Database, text: str) -> None:
    """A text comes back unchanged whichever way it is written, and finds its rows."""
    database.run("DELETE FROM pauses")
    by_insert, by_new = a_pause("i", actor=text, reason=text), a_pause("n", actor=text)
    bystander, by_update = a_pause("z", reason=None), a_pause("u", actor="w", reason=text)

    database.insert(PAUSES, [by_insert, bystander, a_pause("u")])
    database.insert_new(PAUSES, [by_new, a_pause("n2", reason=text)])
    database.update(PAUSES, [by_update], expected="actor", column=["person:a"])

    written = [by_insert, by_new, a_pause("n2", reason=text), by_update, bystander]
    assert all_pauses(database) == written
    found = database.rows("SELECT stage FROM pauses WHERE actor = :text", text=text)
    assert sorted(found) == [("i",), ("n",)]
    assert database.delete(PAUSES, [(text,)], by=("actor",)) == [True]
    assert stages(database) == ["n2", "u", "z"]


def assert_is_a_key(database: Database, text: str) -> None:
    """A row whose key is this text is distinguished from others by every operation."""
    database.run("DELETE FROM pauses")
    changed = a_pause(text, actor="person:b")

    assert database.insert_new(PAUSES, [a_pause(text), a_pause("other")]) == [True, True]
    assert database.insert_new(PAUSES, [a_pause("new"), a_pause(text)]) == [True, False]
    assert database.update(PAUSES, [changed], expected="actor", column=["person:a"]) == [True]
    assert database.delete(PAUSES, [("m", "none"), ("m", text)]) == [False, True]
    assert stages(database) == ["new", "other"]


def a_pause(stage: str, *, actor: str = "person:a", reason: str | None = None) -> Row:
    """A row of `pauses`."""
    return ("m", stage, 1, actor, reason)


def some_work(
    record_id: str,
    *,
    worker: str = "w",
    rank: int = 0,
    is_inline: bool = False,
    body: str = "{}",
) -> Row:
    """A row of `work`."""
    return (record_id, 1, worker, 1, rank, is_inline, body)


def an_output(record_id: str) -> Row:
    """A row of `outputs`, for the attempt of `some_work`."""
    return (record_id, 1, "parse", "done", 0, "{}", None, None, False, "w", 0, "")


def a_record(record_id: str, *, dedupe: str | None) -> Row:
    """A row of `records`."""
    head = "0" * 64
    return (record_id, "m", 1, "new", 0, 1, 1, 5, 0, 0, dedupe, "{}", "{}", "{}", head)


def stages(database: Database) -> list[str]:
    """The stages that are paused."""
    return [str(row[1]) for row in all_pauses(database)]


def all_pauses(database: Database) -> list[Row]:
    """Every row of `pauses`."""
    return database.rows("SELECT machine, stage, at, actor, reason FROM pauses ORDER BY stage")


def all_work(database: Database) -> list[Row]:
    """Every row of `work`."""
    return database.rows(
        "SELECT record_id, version, worker, delivery, rank, is_inline, body FROM work"
        " ORDER BY record_id"
    )


def reason_of(database: Database, stage: str) -> object:
    """Why a stage is paused."""
    ((reason,),) = database.rows("SELECT reason FROM pauses WHERE stage = :stage", stage=stage)
    return reason


def two(open_database: Opener) -> tuple[Database, Database]:
    """Two handles; a test that needs them is skipped where there can only be one."""
    skip_in_memory(open_database)
    return open_database(), open_database()


def skip_in_memory(open_database: Opener) -> None:
    """Skip what needs a second handle or process."""
    if open_database.is_in_memory:
        pytest.skip("a database in memory has one handle in one process")


def ends_with(kind: type[BaseException], words: str = ".*") -> AbstractContextManager[object, bool]:
    """The block must end with this exception."""
    return pytest.raises(kind, match=words)


def settle(wakeup: Wakeup) -> None:
    """Clear a wake-up until nothing more arrives; notifications travel through a server."""
    wakeup.clear()
    while wakeup.wait(QUIET_S):
        wakeup.clear()


@contextmanager
def in_thread(work: Callable[[], None]) -> Iterator[None]:
    """Do this in another thread meanwhile; it must have ended well."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        yield
        future.result(WAIT_S)


@contextmanager
def in_process(work: Callable[[Opener], None], open_database: Opener) -> Iterator[None]:
    """Do this in another process meanwhile; it must have ended well."""
    child: BaseProcess = multiprocessing.get_context("spawn").Process(
        target=work, args=(open_database,)
    )
    child.start()
    try:
        yield
    finally:
        child.join(WAIT_S)
    assert child.exitcode == 0


def notify_in_a_transaction(open_database: Opener) -> None:
    """What the other process does: an event, and a notification."""
    database = open_database()
    with database.transaction():
        database.insert(EVENTS, [("1",)])
        database.notify([TOPIC_EVENTS])
    open_database.close()


def open_at_once(open_database: Opener, barrier: Barrier) -> None:
    """What each of several processes does: open a new database when all are ready to, and write."""
    barrier.wait(WAIT_S)
    database = open_database()
    database.insert(PAUSES, [a_pause(multiprocessing.current_process().name)])
    open_database.close()
