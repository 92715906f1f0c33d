"""The verb by which the history grows: its rows, the lanes that they extend, and what is written with them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from stateward.core.chain import GENESIS
from stateward.core.errors import StoreError, StoreMismatch
from stateward.core.lanes import extend
from stateward.storage.audit import AuditEntry, AuditLog
from stateward.storage.database import Database, Row
from stateward.storage.record_rows import APPENDED, transition_row
from stateward.testing.builders import a_transition
from stateward.transport import WORK
from tests.storage.suite.helpers import (
    WAIT_S,
    Opener,
    all_work,
    some_work,
    two,
)

HASHES = [f"{number:064x}" for number in range(1, 6)]


class History:
    """Rows of the history and the ends of its lanes are written together, with all else or not at all."""

    @pytest.mark.parametrize("count", [1, 2, 3, 5])
    def test_a_lane_is_extended_by_the_hashes_in_their_order(
        self, open_database: Opener, count: int
    ) -> None:
        database = open_database()

        with database.transaction():
            database.append(APPENDED, some_history(count), {0: HASHES[:count]})
        with database.transaction():
            database.append(APPENDED, some_history(1, start=count), {0: HASHES[:1]})

        ends = extend(extend(GENESIS, HASHES[:count]), HASHES[:1])
        assert lane(database) == (count + 1, ends)
        assert versions(database) == [*range(count + 1)]

    @pytest.mark.parametrize("rank", [1, 5])
    def test_what_is_written_with_the_history_is_written_with_it_or_not_at_all(
        self, open_database: Opener, rank: int
    ) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a", rank=1)])

        def write() -> None:
            with database.transaction():
                database.overwrite(WORK, [some_work("a", rank=7)], expected="rank", column=[rank])
                database.insert(WORK, [some_work("b", rank=2)])
                database.append(APPENDED, some_history(2), {0: HASHES[:2]})

        if rank == 1:  # which is the one that it has
            write()
            assert [(row[0], row[4]) for row in all_work(database)] == [("a", 7), ("b", 2)]
            assert lane(database) == (2, extend(GENESIS, HASHES[:2]))
        else:
            with pytest.raises(StoreError, match="try again"):
                write()
            assert [(row[0], row[4]) for row in all_work(database)] == [("a", 1)]
            assert lane(database) == (0, GENESIS)
            assert versions(database) == []

    def test_a_key_that_exists_takes_the_history_back(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a")])

        def write() -> None:
            with database.transaction():
                database.insert(WORK, [some_work("a")])
                database.append(APPENDED, some_history(1), {0: HASHES[:1]})

        with pytest.raises(StoreError):
            write()

        assert lane(database) == (0, GENESIS)
        assert versions(database) == []

    def test_rows_that_are_written_twice_with_the_history_are_written_in_their_order(
        self, open_database: Opener
    ) -> None:
        database = open_database()

        with database.transaction():
            database.insert(WORK, [some_work("a", rank=1)])
            for rank in (2, 3):
                database.overwrite(
                    WORK, [some_work("a", rank=rank)], expected="rank", column=[rank - 1]
                )
            database.append(APPENDED, some_history(1), {0: HASHES[:1]})

        assert all_work(database) == [some_work("a", rank=3)]
        assert lane(database) == (1, extend(GENESIS, HASHES[:1]))

    @pytest.mark.parametrize("count", [1, 5])
    def test_a_history_without_its_lane_is_not_written(
        self, open_database: Opener, count: int
    ) -> None:
        database = open_database()
        database.run("DELETE FROM lanes WHERE lane = 0")

        with pytest.raises(StoreMismatch, match="restore"), database.transaction():
            database.append(APPENDED, some_history(count), {0: HASHES[:count]})

        assert versions(database) == []

    def test_acts_that_two_processes_add_at_once_are_one_chain(self, open_database: Opener) -> None:
        logs = [AuditLog(database) for database in two(open_database)]

        def add(log: AuditLog, actor: str) -> None:
            for number in range(20):
                acts = [AuditEntry(at=number, actor=actor, verb="key.created")] * (1 + number % 2)
                log.add(acts)

        with ThreadPoolExecutor(2) as pool:
            added = [pool.submit(add, log, actor) for log, actor in zip(logs, "ab", strict=True)]
            for each in added:
                each.result(WAIT_S)

        head, entries = logs[0].head(), list(logs[1].walk())
        assert [each.seq for each in entries] == [*range(1, 61)]
        assert (head.count, head.hash) == (60, entries[-1].hash)
        assert logs[0].faults() == []


def some_history(count: int, *, start: int = 0) -> list[Row]:
    """Transitions of one record, from a version on."""
    return [
        transition_row(a_transition(version=version, event_id=f"event {version}"))
        for version in range(start, start + count)
    ]


def lane(database: Database) -> Row:
    """How long the first lane is, and what it ends with."""
    (found,) = database.rows("SELECT count, head FROM lanes WHERE lane = 0")
    return found


def versions(database: Database) -> list[object]:
    """The versions in the history, in the order of their numbers."""
    return [version for (version,) in database.rows("SELECT version FROM transitions ORDER BY seq")]
