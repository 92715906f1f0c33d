"""Texts, JSON and numbers come back as they were written, however hostile."""

from contextlib import suppress

from stateward.core.errors import StoreError
from stateward.storage.database import (
    Row,
)
from stateward.transport import WORK
from tests.storage.suite.helpers import (
    BATCH,
    BIG_NUMBERS,
    HOSTILE_JSON,
    HOSTILE_TEXTS,
    PAUSES,
    Opener,
    a_pause,
    all_pauses,
    all_work,
    assert_is_a_key,
    assert_survives,
    some_work,
)


class Values:
    """Whatever is written comes back."""

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
