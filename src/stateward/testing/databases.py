"""The suite that every database engine passes.

Inherit `DatabaseSuite` in a test module and give it two fixtures, `open_database` and
`open_empty_database`, each an `Opener`: the first for a database that has our tables, the second for
one that has nothing. The suite knows the tables of the schema, but only to have something to write.
"""

import multiprocessing
import select
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from threading import Event
from typing import Any

import pytest

from stateward.core.errors import StoreError
from stateward.storage.database import (
    TOPIC_EVENTS,
    TOPIC_READY,
    TOPIC_WORK,
    TOPICS,
    Database,
    Row,
    Table,
    Wakeup,
)

WAIT_S = 60.0
QUIET_S = 0.15
BATCH = 10_000

PAUSES = Table(
    "pauses",
    {"machine": "text", "stage": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("machine", "stage"),
)
WORK = Table(
    "work",
    {
        "record_id": "text",
        "version": "bigint",
        "worker": "text",
        "delivery": "bigint",
        "rank": "bigint",
        "is_inline": "boolean",
        "body": "json",
    },
    key=("record_id", "version"),
)
EVENTS = Table("events", {"body": "json"}, key=())
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


class DatabaseSuite:
    """What the packages above may rely on."""

    # Units

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

    # Verbs

    def test_rows_come_back_as_they_were_written(self, open_database: Opener) -> None:
        database = open_database()
        rows = [some_work("a", is_inline=True), some_work("b", is_inline=False)]

        database.insert(WORK, rows)

        assert all_work(database) == rows

    def test_an_existing_key_is_an_error_and_nothing_is_written(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("taken")])

        with pytest.raises(StoreError):
            database.insert(PAUSES, [a_pause("a"), a_pause("taken"), a_pause("b")])

        assert stages(database) == ["taken"]

    def test_rows_that_the_database_numbers_keep_their_order(self, open_database: Opener) -> None:
        database = open_database()
        bodies = [f'{{"n":{number}}}' for number in range(500)]

        database.insert(EVENTS, [(body,) for body in bodies[:300]])
        database.insert(EVENTS, [(body,) for body in bodies[300:]])

        assert [body for (body,) in database.rows("SELECT body FROM events ORDER BY seq")] == bodies

    def test_new_rows_are_written_and_known_ones_left(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("b", reason="first")])

        written = database.insert_new(PAUSES, [a_pause("a"), a_pause("b"), a_pause("c")])

        assert written == [True, False, True]
        assert stages(database) == ["a", "b", "c"]
        assert reason_of(database, "b") == "first"

    def test_of_equal_new_rows_the_first_is_written(self, open_database: Opener) -> None:
        database = open_database()
        rows = [a_pause("a", reason=f"{number}") for number in range(3)]

        written = database.insert_new(PAUSES, [rows[0], a_pause("b"), *rows[1:], a_pause("b")])

        assert written == [True, True, False, False, False]
        assert reason_of(database, "a") == "0"

    def test_a_new_row_may_break_no_other_unique_rule(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(ATTEMPTED, [a_record("R0", dedupe="known")])

        written = database.insert_new(
            ATTEMPTED,
            [
                a_record("R1", dedupe="known"),
                a_record("R1", dedupe="new"),
                a_record("R2", dedupe="new"),
                a_record("R3", dedupe=None),
                a_record("R4", dedupe=None),
            ],
        )

        assert written == [False, True, False, True, True]
        found = database.rows("SELECT id, dedupe FROM records ORDER BY id")
        assert found == [("R0", "known"), ("R1", "new"), ("R3", None), ("R4", None)]

    def test_new_rows_without_a_key_are_all_written(self, open_database: Opener) -> None:
        database = open_database()

        assert database.insert_new(EVENTS, [("1",), ("1",)]) == [True, True]

    def test_an_update_needs_the_old_value(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a", rank=1), some_work("b", rank=1), some_work("c")])

        changed = database.update(
            WORK,
            [
                some_work("c", rank=7),
                some_work("b", rank=7),
                some_work("x"),
                some_work("a", rank=7),
            ],
            expected="rank",
            column=[0, 5, 0, 1],
        )

        assert changed == [True, False, False, True]
        assert [(row[0], row[4]) for row in all_work(database)] == [("a", 7), ("b", 1), ("c", 7)]

    @pytest.mark.parametrize("count", [1, 3])
    def test_rows_are_overwritten_all_or_none(self, open_database: Opener, count: int) -> None:
        database = open_database()
        names = ["a", "b", "c"][:count]
        database.insert(WORK, [some_work(name, rank=1) for name in names])
        rows = [some_work(name, rank=7) for name in reversed(names)]

        def overwrite(ranks: list[int]) -> None:
            with database.transaction():
                database.overwrite(WORK, rows, expected="rank", column=ranks)

        overwrite([1] * count)
        with pytest.raises(StoreError, match="try again"):
            overwrite([7] * (count - 1) + [1])

        assert [(row[0], row[4]) for row in all_work(database)] == [(name, 7) for name in names]

    def test_what_is_asked_is_answered_when_it_is_read(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a"), some_work("b")])
        count = "SELECT count(*) FROM work WHERE record_id >= :name"

        alone = database.ask(count, name="b")
        with database.transaction():
            first, second = database.ask(count, name="a"), database.ask(count, name="x")
            (was_there,) = database.delete(PAUSES, [("m", "s")])
            last = database.ask(count, name="b")
            answers = [asked.rows() for asked in (last, second, first)]

        assert alone.rows() == [(1,)]
        assert answers == [[(1,)], [(0,)], [(2,)]]
        assert not was_there

    def test_a_query_that_fails_dooms_its_transaction(self, open_database: Opener) -> None:
        database = open_database()

        def ask() -> None:
            with database.transaction():
                asked = database.ask("SELECT * FROM no_such_table")
                database.insert(WORK, [some_work("a")])
                asked.rows()

        with pytest.raises(Exception, match="no_such_table"):
            ask()

        assert all_work(database) == []

    def test_a_stale_update_changes_nothing(self, open_database: Opener) -> None:
        database = open_database()
        before = [some_work("a", worker="w1", rank=2)]
        database.insert(WORK, before)

        changed = database.update(
            WORK, [some_work("a", worker="w2", rank=2)], expected="rank", column=[1]
        )

        assert changed == [False]
        assert all_work(database) == before

    def test_an_update_writes_every_column(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a"), some_work("b")])
        after = [
            ("a", 1, "other", 2, 99, True, '{"a":1}'),
            ("b", 1, "", -(2**63), 2**63 - 1, False, "[]"),
        ]

        database.update(WORK, after, expected="delivery", column=[1, 1])

        assert all_work(database) == after

    def test_of_two_writers_one_wins_each_row(self, open_database: Opener) -> None:
        ours, theirs = two(open_database)
        names = [f"{number:03}" for number in range(200)]
        ours.insert(WORK, [some_work(name, rank=0) for name in names])

        def claim(database: Database, worker: str, order: list[str]) -> list[str]:
            rows = [some_work(name, worker=worker, rank=1) for name in order]
            won = database.update(WORK, rows, expected="rank", column=[0] * len(rows))
            return [name for name, is_won in zip(order, won, strict=True) if is_won]

        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(claim, ours, "one", names)
            second = pool.submit(claim, theirs, "two", names[::-1])
            won = {"one": first.result(WAIT_S), "two": second.result(WAIT_S)}

        assert sorted(won["one"] + won["two"]) == names
        assert {str(row[0]): row[2] for row in all_work(ours)} == {
            name: worker for worker, claimed in won.items() for name in claimed
        }

    def test_a_delete_tells_what_was_there(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("a"), a_pause("b"), a_pause("c")])

        gone = database.delete(PAUSES, [("m", "c"), ("m", "x"), ("m", "a"), ("m", "a")])

        assert gone == [True, False, True, False]
        assert stages(database) == ["b"]

    def test_rows_are_deleted_by_other_columns(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(
            WORK,
            [some_work("a", worker="w1"), some_work("b", worker="w1"), some_work("c", worker="w2")],
        )

        gone = database.delete(WORK, [("w1", 1), ("w3", 1), ("w2", 2)], by=("worker", "delivery"))

        assert gone == [True, False, False]
        assert [row[0] for row in all_work(database)] == ["c"]

    def test_numbered_rows_are_deleted_by_their_number(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(EVENTS, [("1",), ("2",), ("3",)])
        ((first,), _, (third,)) = database.rows("SELECT seq FROM events ORDER BY seq")

        assert database.delete(EVENTS, [(first,), (third,)], by=("seq",)) == [True, True]
        assert database.rows("SELECT body FROM events") == [("2",)]

    def test_nothing_to_write_is_nothing_written(self, open_database: Opener) -> None:
        database = open_database()

        database.insert(PAUSES, [])

        assert database.insert_new(PAUSES, []) == []
        assert database.update(PAUSES, [], expected="at", column=[]) == []
        assert database.delete(PAUSES, []) == []

    def test_a_statement_tells_how_many_rows_it_changed(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("a"), a_pause("b"), a_pause("c")])
        sql = "UPDATE pauses SET actor = :actor WHERE stage <> :stage"

        assert database.run(sql, actor="person:b", stage="a") == 2
        assert database.run("DELETE FROM pauses WHERE stage = :stage", stage="none") == 0

    def test_a_parameter_is_distinguished_from_what_looks_like_one(
        self, open_database: Opener
    ) -> None:
        database = open_database()

        found = database.rows(
            "SELECT ':x', 'it''s :x', '%s 5%', CAST(:x AS text), :n + 1, CAST(:x AS text) -- :y\n"
            " /* :z */ FROM pauses WHERE :n > 1 UNION ALL "
            "SELECT ':x', 'it''s :x', '%s 5%', CAST(:x AS text), :n + 1, CAST(:x AS text)",
            x="%s",
            n=2**40,
        )

        assert found == [(":x", "it's :x", "%s 5%", "%s", 2**40 + 1, "%s")]

    def test_a_list_of_parameters_may_have_any_length(self, open_database: Opener) -> None:
        database = open_database()
        names = [f"{number:04}" for number in range(1000)]
        database.insert(PAUSES, [a_pause(name) for name in names])

        for length in (1, 2, 3, 500, 999):
            params = {f"p{place}": name for place, name in enumerate(names[:length])}
            marks = ", ".join(f":{name}" for name in params)
            sql = "SELECT stage FROM pauses WHERE stage"
            within = database.rows(f"{sql} IN ({marks})", **params)
            beyond = database.rows(f"{sql} NOT IN ({marks})", **params)
            assert sorted(within) == [(name,) for name in names[:length]]
            assert sorted(beyond) == [(name,) for name in names[length:]]

    def test_a_column_is_compared_with_any_number_of_texts(self, open_database: Opener) -> None:
        database = open_database()
        names = sorted({text[:1000] for text in HOSTILE_TEXTS} | {f"{n}" for n in range(2000)})
        database.insert(PAUSES, [a_pause(name) for name in names])
        sql = "SELECT stage FROM pauses WHERE machine = :machine AND "

        for wanted in ([], ["none"], names[:1], names[::7], names):
            condition, params = database.among("stage", [*wanted, *wanted[:3]])
            found = database.rows(sql + condition, machine="m", **params)
            assert sorted(found) == [(name,) for name in wanted if name != "none"]

    # Values

    def test_any_text_survives_every_verb(self, open_database: Opener) -> None:
        database = open_database()

        for text in HOSTILE_TEXTS:
            assert_survives(database, text)

    def test_any_text_may_be_a_key(self, open_database: Opener) -> None:
        database = open_database()

        for text in HOSTILE_TEXTS:
            assert_is_a_key(database, text[:1000])

    def test_all_texts_survive_in_one_batch(self, open_database: Opener) -> None:
        database = open_database()
        rows = [
            a_pause(f"{number:02}", actor=text, reason=None if number % 3 == 0 else text)
            for number, text in enumerate(HOSTILE_TEXTS)
        ]

        database.insert(PAUSES, rows[::2])
        database.insert_new(PAUSES, rows[1::2])

        assert all_pauses(database) == rows

    def test_text_with_nul_is_kept_whole_or_refused(self, open_database: Opener) -> None:
        database = open_database()
        row = a_pause("a", reason="before\0after")

        for write in (
            lambda: database.insert(PAUSES, [row, a_pause("b")]),
            lambda: database.insert_new(PAUSES, [row, a_pause("b")]),
            lambda: database.run("UPDATE pauses SET reason = :text", text="before\0after"),
        ):
            with suppress(StoreError):
                write()

        assert {reason for (reason,) in database.rows("SELECT reason FROM pauses")} <= {row[4]}

    def test_json_comes_back_byte_for_byte(self, open_database: Opener) -> None:
        database = open_database()
        rows = [some_work(f"{place}", body=text) for place, text in enumerate(HOSTILE_JSON)]

        database.insert(WORK, rows[:3])
        database.insert_new(WORK, rows[3:6])
        database.insert(WORK, [some_work(str(row[0])) for row in rows[6:]])
        database.update(WORK, rows[6:], expected="rank", column=[0] * len(rows[6:]))
        assert all_work(database) == rows

        database.update(WORK, rows, expected="rank", column=[0] * len(rows))
        assert all_work(database) == rows

    def test_big_numbers_are_exact(self, open_database: Opener) -> None:
        database = open_database()
        rows = [some_work(f"{place}", rank=number) for place, number in enumerate(BIG_NUMBERS)]

        database.insert(WORK, rows[:4])
        database.insert_new(WORK, rows[4:])

        assert all_work(database) == rows
        for number in BIG_NUMBERS:
            found = database.rows("SELECT rank FROM work WHERE rank = :rank", rank=number)
            assert found == [(number,)]
            raised = [(row[0], 1, "w", 1, 5, False, "{}") for row in rows if row[4] == number]
            assert database.update(WORK, raised, expected="rank", column=[number]) == [True]

    def test_sums_are_numbers(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a", rank=2), some_work("b", rank=3)])

        assert database.rows("SELECT sum(rank), avg(rank), max(rank) FROM work") == [(5, 2.5, 3)]

    def test_large_batches_are_one_call(self, open_database: Opener) -> None:
        database = open_database()
        names = [f"{number:05}" for number in range(BATCH)]
        keys: list[Row] = [(name, 1) for name in names]

        with database.transaction():
            database.insert(WORK, [some_work(name) for name in names[: BATCH // 2]])
            written = database.insert_new(WORK, [some_work(name) for name in names])
            changed = database.update(
                WORK,
                [some_work(name, rank=1) for name in names],
                expected="rank",
                column=[0] * BATCH,
            )
            gone = database.delete(WORK, keys[::2])

        assert written == [False] * (BATCH // 2) + [True] * (BATCH // 2)
        assert changed == [True] * BATCH
        assert gone == [True] * (BATCH // 2)
        assert database.rows("SELECT count(*), sum(rank) FROM work") == [(BATCH // 2, BATCH // 2)]

    # Wake-ups

    def test_a_notification_wakes_a_listener_of_another_connection(
        self, open_database: Opener
    ) -> None:
        notifying, listening = open_database(), open_database()
        wakeup = listening.wakeup(TOPIC_WORK)

        notifying.notify([TOPIC_WORK])

        assert wakeup.wait(WAIT_S)

    def test_a_notification_from_another_process_wakes_a_listener(
        self, open_database: Opener
    ) -> None:
        skip_in_memory(open_database)
        wakeup = open_database().wakeup(TOPIC_EVENTS, TOPIC_WORK)

        with in_process(notify_in_a_transaction, open_database):
            assert wakeup.wait(WAIT_S)

        assert open_database().rows("SELECT body FROM events") == [("1",)]

    def test_a_wakeup_hears_its_own_topics_only(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK, TOPIC_READY)

        database.notify([TOPIC_EVENTS])
        assert not wakeup.wait(QUIET_S)

        database.notify([TOPIC_EVENTS, TOPIC_READY])
        assert wakeup.wait(WAIT_S)

    def test_a_wakeup_says_what_it_is_about(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK, TOPIC_READY)
        database.notify([TOPIC_READY, TOPIC_EVENTS])
        assert wakeup.wait(WAIT_S)

        assert wakeup.clear() == {TOPIC_READY}

    def test_a_cleared_wakeup_is_quiet_until_the_next_notification(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        for _ in range(3):
            database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)

        settle(wakeup)
        assert not wakeup.wait(QUIET_S)

        database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)

    def test_listeners_are_woken_only_when_the_transaction_is_written(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)

        with database.transaction():
            with database.transaction():
                database.notify([TOPIC_WORK])
            assert not wakeup.wait(QUIET_S)

        assert wakeup.wait(WAIT_S)

    def test_a_transaction_that_fails_notifies_no_one_then_or_later(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(*TOPICS)
        with suppress(ZeroDivisionError), database.transaction():
            database.notify([TOPIC_WORK])
            raise ZeroDivisionError
        with suppress(StoreError), database.transaction():
            database.notify([TOPIC_WORK])
            with suppress(ZeroDivisionError), database.transaction():
                raise ZeroDivisionError

        with database.transaction():
            database.insert(PAUSES, [a_pause("a")])

        assert not wakeup.wait(QUIET_S)

    def test_a_notification_of_one_thread_outlives_the_failure_of_another(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        entered = Event()

        def notify() -> None:
            entered.wait(WAIT_S)
            database.notify([TOPIC_WORK])

        with in_thread(notify), suppress(ZeroDivisionError), database.transaction():
            entered.set()
            Event().wait(QUIET_S)
            raise ZeroDivisionError

        assert wakeup.wait(WAIT_S)

    def test_who_clears_before_looking_misses_nothing(self, open_database: Opener) -> None:
        writing, reading = open_database(), open_database()
        wakeup = reading.wakeup(TOPIC_EVENTS)
        count, seen = 200, 0

        def write() -> None:
            for number in range(count):
                with writing.transaction():
                    writing.insert(EVENTS, [(f"{number}",)])
                    writing.notify([TOPIC_EVENTS])

        with in_thread(write):
            while seen < count:
                wakeup.clear()
                found = reading.rows("SELECT seq FROM events")
                seen += sum(reading.delete(EVENTS, found, by=("seq",)))
                assert found or seen == count or wakeup.wait(WAIT_S), "a notification was lost"

    def test_a_wakeup_may_stand_in_a_selector(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        quiet = select.select([wakeup.fileno()], [], [], QUIET_S)

        database.notify([TOPIC_WORK])

        assert quiet == ([], [], [])
        assert select.select([wakeup.fileno()], [], [], WAIT_S)[0] == [wakeup.fileno()]

    def test_a_closed_wakeup_disturbs_no_other(self, open_database: Opener) -> None:
        database = open_database()
        closed, other = database.wakeup(TOPIC_WORK), database.wakeup(TOPIC_WORK)

        closed.close()
        closed.close()
        database.notify([TOPIC_WORK])

        assert other.wait(WAIT_S)

    def test_a_wakeup_needs_a_topic_that_exists(self, open_database: Opener) -> None:
        database = open_database()

        with pytest.raises(StoreError, match="no such topic: nonsense"):
            database.wakeup("nonsense")
        with pytest.raises(StoreError, match="needs a topic"):
            database.wakeup()

    # Schema

    def test_opening_again_changes_nothing(self, open_database: Opener) -> None:
        first = open_database()
        first.insert(PAUSES, [a_pause("a")])
        schema = first.check()["schema"]

        again = open_database()

        assert again.check()["schema"] == schema
        assert stages(again) == ["a"]

    def test_processes_may_migrate_at_once(self, open_empty_database: Opener) -> None:
        skip_in_memory(open_empty_database)
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(3)
        arguments = (open_empty_database, barrier)
        children = [context.Process(target=open_at_once, args=arguments) for _ in range(3)]

        for child in children:
            child.start()
        for child in children:
            child.join(WAIT_S)

        assert [child.exitcode for child in children] == [0, 0, 0]
        database = open_empty_database()
        assert len(stages(database)) == 3
        lanes = database.rows("SELECT count, epoch, length(head) FROM lanes")
        assert set(lanes) == {(0, 0, 64)}
        assert database.rows("SELECT seq FROM log_end") == [(0,)]

    def test_it_tells_about_itself(self, open_database: Opener) -> None:
        facts = open_database().check()

        assert {"engine", "where", "bytes", "schema"} <= facts.keys()
        assert int(facts["bytes"]) > 0
        assert int(facts["schema"]) >= 1


# What the suite is built from


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
