"""The verbs by which rows are inserted, replaced, updated, deleted and asked for."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from stateward.core.errors import StoreError
from stateward.storage.database import (
    Database,
    Keys,
)
from stateward.storage.outputs import OUTPUTS
from stateward.transport import EVENTS, WORK
from tests.storage.suite.helpers import (
    ATTEMPTED,
    HOSTILE_TEXTS,
    PAUSES,
    WAIT_S,
    Opener,
    a_pause,
    a_record,
    all_work,
    an_output,
    reason_of,
    some_work,
    stages,
    two,
)


class Verbs:
    """Each verb does what its name says, for one row and for many."""

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

    @pytest.mark.parametrize("count", [1, 3, 20])
    def test_rows_are_exchanged_for_others(self, open_database: Opener, count: int) -> None:
        database = open_database()
        names = [f"R{number:02}" for number in range(count)]
        database.insert(WORK, [some_work(name) for name in names])
        database.insert(OUTPUTS, [an_output("R02")])
        by = ("record_id", "version", "worker", "delivery")
        keys = [some_work(name)[:4] for name in names]
        keys[0] = (*keys[0][:3], 9)  # another delivery

        for _ in range(2):  # the second time nothing is left of the others
            found = database.exchange(Keys(WORK, by, keys), OUTPUTS, [*map(an_output, names)])
            there = [name != "R00" for name in names]
            assert found == (there, [name not in ("R00", "R02") for name in names])
            database.insert(WORK, [some_work(name) for name in names[1:]])
            database.run("DELETE FROM outputs WHERE record_id <> 'R02'")

        assert [row[0] for row in all_work(database)] == names
        assert database.exchange(Keys(WORK, by, []), OUTPUTS, []) == ([], [])

    @pytest.mark.parametrize("count", [1, 3, 20])
    def test_rows_that_are_expected_are_exchanged_all_or_none(
        self, open_database: Opener, count: int
    ) -> None:
        database = open_database()
        names = [f"R{number:02}" for number in range(count)]
        by = ("record_id", "version", "worker", "delivery")
        old = Keys(WORK, by, [some_work(name)[:4] for name in names])
        new = [*map(an_output, names)]
        database.insert(WORK, [some_work(name) for name in names[1:]])

        with pytest.raises(StoreError, match="try again"), database.transaction():  # noqa: PT012
            database.exchange(old, OUTPUTS, new, is_expected=True)
            database.insert(WORK, [some_work("later")])

        assert [row[0] for row in all_work(database)] == names[1:]
        database.insert(WORK, [some_work(names[0])])
        with database.transaction():
            found = database.exchange(old, OUTPUTS, new, is_expected=True)
        assert found == ([True] * count, [True] * count)
        assert all_work(database) == []
        assert len(database.rows("SELECT 1 FROM outputs")) == count

    def test_what_is_required_and_does_not_hold_undoes_the_transaction(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        with database.transaction():
            database.require("NOT EXISTS (SELECT 1 FROM work WHERE rank = :rank)", rank=7)
            database.insert(WORK, [some_work("a", rank=7)])

        with pytest.raises(StoreError, match="try again"), database.transaction():  # noqa: PT012
            database.require("NOT EXISTS (SELECT 1 FROM work WHERE rank = :rank)", rank=7)
            database.insert(WORK, [some_work("b")])

        assert [row[0] for row in all_work(database)] == ["a"]

    def test_a_transaction_goes_on_while_its_beginning_is_done(self, open_database: Opener) -> None:
        database = open_database()
        for number in range(3):  # the first time the statements after it are not prepared
            with database.transaction():
                asked = database.ask("SELECT count(*) FROM work")
                database.insert(WORK, [some_work(f"a{number}")])
                database.push()
                database.insert(WORK, [some_work(f"b{number}")])
                database.push()
                assert database.rows("SELECT count(*) FROM work") == [(2 * number + 2,)]
                assert len(asked.rows()) == 1
                database.insert(WORK, [some_work(f"c{number}")])
                database.push()
                database.delete(WORK, [(f"c{number}", 1)])

        names = [row[0] for row in all_work(database)]
        assert names == ["a0", "a1", "a2", "b0", "b1", "b2"]

    def test_what_fails_after_the_transaction_went_on_undoes_all_of_it(
        self, open_database: Opener
    ) -> None:
        database = open_database()

        def fail() -> None:
            with database.transaction():
                database.insert(WORK, [some_work("a")])
                database.require("1 = :one", one=2)
                database.push()
                database.insert(WORK, [some_work("b")])

        def stop() -> None:
            with database.transaction():
                database.insert(WORK, [some_work("c")])
                database.push()
                raise KeyError

        with pytest.raises(StoreError, match="try again"):
            fail()
        with pytest.raises(KeyError):
            stop()

        assert all_work(database) == []
        database.insert(WORK, [some_work("d")])
        assert [row[0] for row in all_work(database)] == ["d"]

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

    def test_what_is_asked_ahead_travels_with_the_next_statement_and_outlives_it(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        database.insert(WORK, [some_work("a"), some_work("b")])
        count = "SELECT count(*) FROM work WHERE record_id >= :name"

        alone = database.ask_ahead(count, name="a").rows()
        with_another = database.ask_ahead(count, name="b")
        seen, told = all_work(database), with_another.rows()
        with_a_failure = database.ask_ahead(count, name="x")
        with pytest.raises(Exception, match="no_such_table"):
            database.rows("SELECT * FROM no_such_table")
        with_a_transaction = database.ask_ahead(count, name="a")
        with database.transaction():
            database.insert(WORK, [some_work("c")])

        assert (alone, len(seen), told) == ([(2,)], 2, [(1,)])
        assert with_a_failure.rows() == [(0,)]
        assert with_a_transaction.rows() in ([(2,)], [(3,)])
        assert len(all_work(database)) == 3

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

    def test_rows_are_discarded_with_the_transaction(self, open_database: Opener) -> None:
        database = open_database()
        database.insert(PAUSES, [a_pause("a"), a_pause("b"), a_pause("c"), a_pause("d")])

        database.discard(PAUSES, [("m", "a")])
        with suppress(LookupError), database.transaction():
            database.discard(PAUSES, [("m", "b")])
            raise LookupError
        with database.transaction():
            database.discard(PAUSES, [("m", "c"), ("m", "x")])
            assert stages(database) == ["b", "d"]
            database.discard(PAUSES, [("m", "d")])
            database.discard(PAUSES, [])

        assert stages(database) == ["b"]

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
