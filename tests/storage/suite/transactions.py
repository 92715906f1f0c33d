"""Transactions: written whole or not at all, nested, seen by others when over."""

from contextlib import suppress
from threading import Event

from stateward.core.errors import StoreError
from tests.storage.suite.helpers import (
    PAUSES,
    QUIET_S,
    WAIT_S,
    Opener,
    a_pause,
    ends_with,
    in_thread,
    stages,
    two,
)


class Transactions:
    """A unit of work is written whole or leaves nothing."""

    def test_a_transaction_that_ends_well_is_written(self, open_database: Opener) -> None:
        database = open_database()

        with database.transaction():
            database.insert(PAUSES, [a_pause("a")])
            database.insert(PAUSES, [a_pause("b")])

        assert stages(database) == ["a", "b"]

    def test_a_transaction_that_fails_leaves_nothing(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("before")])

        with ends_with(ZeroDivisionError), database.transaction():
            database.insert(PAUSES, [a_pause("a")])
            database.run("DELETE FROM pauses WHERE stage = :stage", stage="before")
            raise ZeroDivisionError

        assert stages(database) == ["before"]

    def test_an_inner_transaction_is_written_with_the_outer_one(
        self, open_database: Opener
    ) -> None:
        database = open_database()

        with ends_with(ZeroDivisionError), database.transaction():
            with database.transaction():
                database.insert(PAUSES, [a_pause("inner")])
            raise ZeroDivisionError

        assert stages(database) == []

    def test_a_failed_inner_transaction_dooms_the_outer_one(self, open_database: Opener) -> None:
        database = open_database()

        with ends_with(StoreError, "a part of this transaction failed"), database.transaction():
            database.insert(PAUSES, [a_pause("before")])
            with suppress(ZeroDivisionError), database.transaction():
                raise ZeroDivisionError

        assert stages(database) == []

    def test_a_failed_batch_dooms_its_transaction(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("taken")])

        # At the insert, or at the commit where inserts travel with later statements.
        with (
            ends_with(StoreError, "a part of this transaction failed|refused a row"),
            database.transaction(),
        ):
            database.insert(PAUSES, [a_pause("before")])
            with suppress(StoreError):
                database.insert(PAUSES, [a_pause("half"), a_pause("taken")])

        assert stages(database) == ["taken"]

    def test_a_failed_statement_dooms_its_transaction(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("taken")])

        with ends_with(StoreError, "a part of this transaction failed"), database.transaction():
            database.insert(PAUSES, [a_pause("before")])
            with suppress(StoreError):
                database.run("INSERT INTO pauses VALUES ('m', 'taken', 1, 'person:a', NULL)")

        assert stages(database) == ["taken"]

    def test_a_handle_works_on_after_a_failure(self, open_database: Opener) -> None:
        database = open_database()
        with suppress(ZeroDivisionError), database.transaction():
            raise ZeroDivisionError
        with (
            suppress(StoreError),
            database.transaction(),
            suppress(ZeroDivisionError),
            database.transaction(),
        ):
            raise ZeroDivisionError

        with database.transaction():
            database.insert(PAUSES, [a_pause("a")])

        assert stages(database) == ["a"]

    def test_others_see_a_transaction_only_when_it_is_over(self, open_database: Opener) -> None:
        ours, theirs = two(open_database)

        with ours.transaction():
            ours.insert(PAUSES, [a_pause("a")])
            seen_before = stages(theirs)

        assert seen_before == []
        assert stages(theirs) == ["a"]

    def test_a_transaction_sees_what_it_wrote(self, open_database: Opener) -> None:
        database = open_database()

        with database.transaction():
            database.insert(PAUSES, [a_pause("a")])
            seen = stages(database)

        assert seen == ["a"]

    def test_threads_that_share_a_handle_take_turns(self, open_database: Opener) -> None:
        database = open_database()
        entered = Event()

        def write() -> None:
            entered.wait(WAIT_S)
            database.insert(PAUSES, [a_pause("theirs")])

        with in_thread(write), suppress(ZeroDivisionError), database.transaction():
            entered.set()
            Event().wait(QUIET_S)
            database.insert(PAUSES, [a_pause("ours")])
            raise ZeroDivisionError

        assert stages(database) == ["theirs"]
