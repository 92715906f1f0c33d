"""PostgreSQL keeps what every engine promises; its errors, values and statements."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from threading import Event

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.postgres import Server
from stateward.core.errors import StoreError, StoreFull, StoreMismatch, StoreUnreachable
from stateward.storage import libpq
from stateward.storage.postgres import PostgresDatabase
from stateward.transport import WORK
from tests.storage.postgres_databases import empty_database
from tests.storage.suite import DatabaseSuite
from tests.storage.suite.helpers import (
    PAUSES,
    WAIT_S,
    Opener,
    a_pause,
    all_pauses,
    some_work,
    stages,
)
from tests.waiting import wait_until

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


class TestPostgres(DatabaseSuite):
    @pytest.fixture
    def open_database(self, postgres_dsn: str) -> Iterator[Opener]:
        opener = Opener(partial(PostgresDatabase, postgres_dsn))
        yield opener
        opener.close()

    @pytest.fixture
    def open_empty_database(self, postgres_server: Server) -> Iterator[Opener]:
        with empty_database(postgres_server) as dsn:
            opener = Opener(partial(PostgresDatabase, dsn))
            yield opener
            opener.close()


# Errors


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    url = "postgresql://me:topsecret@127.0.0.1:1/papers"

    with pytest.raises(StoreUnreachable) as raised:
        PostgresDatabase(url, connect_s=2)

    sentence = str(raised.value)
    assert "database papers at 127.0.0.1, port 1" in sentence
    assert "check that the server runs" in sentence
    assert "topsecret" not in sentence


def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(StoreUnreachable, match="write postgresql://user:password@host") as raised:
        PostgresDatabase("host=here password=topsecret nonsense")

    assert "topsecret" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("53100", StoreFull, "free some space"),
        ("58030", StoreFull, "full or failing"),
        ("40001", StoreUnreachable, "try again"),
        ("40P01", StoreUnreachable, "try again"),
        ("55P03", StoreUnreachable, "look for a process that hangs"),
        ("57014", StoreUnreachable, "look for a process that hangs"),
        ("25006", StoreUnreachable, "use the primary"),
        ("23505", StoreError, "refused a row"),
        ("42501", StoreError, "may not do that"),
        ("42P01", StoreMismatch, "bring the database back"),
        ("3F000", StoreMismatch, "bring the database back"),
        ("57P01", StoreUnreachable, "check that the server runs"),
    ],
)
def test_errors_of_the_server_become_ours(
    database: PostgresDatabase, code: str, kind: type[Exception], words: str
) -> None:
    sql = f"DO $$ BEGIN RAISE EXCEPTION 'it broke' USING ERRCODE = '{code}'; END $$"

    with pytest.raises(kind, match=words) as raised:
        database.run(sql)

    assert type(raised.value) is kind
    assert "it broke" in str(raised.value)
    assert stages(database) == []


def test_a_mistake_in_a_statement_is_shown_as_it_is(database: PostgresDatabase) -> None:
    with pytest.raises(psycopg.errors.SyntaxError):
        database.run("NONSENSE 1")
    with pytest.raises(KeyError, match="missing"):
        database.run("SELECT :missing")
    with pytest.raises(TypeError, match="a set cannot be a parameter"):
        database.run("SELECT :it", it={1})
    with pytest.raises(ValueError, match="2 cells for 5 columns"):
        database.insert(PAUSES, [("too", "short")])


def test_of_two_transactions_in_a_deadlock_one_is_rolled_back(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    database.insert(PAUSES, [a_pause("a"), a_pause("b")])
    both_hold = [Event(), Event()]

    def take(handle: PostgresDatabase, first: str, second: str, turn: int) -> str:
        sql = "UPDATE pauses SET reason = 'r' WHERE stage = :stage"
        try:
            with handle.transaction():
                handle.run(sql, stage=first)
                both_hold[turn].set()
                both_hold[1 - turn].wait(WAIT_S)
                handle.run(sql, stage=second)
        except StoreUnreachable as error:
            return str(error)
        return "well"

    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(take, database, "a", "b", 0), pool.submit(take, other, "b", "a", 1)]
        outcomes = sorted(end.result(WAIT_S) for end in ends)

    assert "try again" in outcomes[0]
    assert outcomes[1] == "well"


def test_a_row_that_is_held_too_long_is_reported(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    database.insert(PAUSES, [a_pause("a")])
    other.run("SET lock_timeout = '100ms'")

    sql = "SELECT 1 FROM pauses"
    with database.transaction():
        database.rows(sql + database.for_update)
        skipped = other.rows(sql + other.skip_locked)
        with pytest.raises(StoreUnreachable, match="locked by another writer"):
            other.run("UPDATE pauses SET actor = 'b'")

    assert skipped == []


# Values and statements


@given(st.lists(st.tuples(TEXTS, TEXTS | st.none()), min_size=1, max_size=30))
def test_no_text_breaks_a_batch(
    database: PostgresDatabase, cells: list[tuple[str, str | None]]
) -> None:
    rows = [a_pause(f"{n:02}", actor=a, reason=b) for n, (a, b) in enumerate(cells)]
    database.run("DELETE FROM pauses")

    database.insert(PAUSES, rows[::2])
    database.insert_new(PAUSES, rows[1::2])
    database.update(PAUSES, rows, expected="at", column=[1] * len(rows))

    assert all_pauses(database) == rows


def test_rows_larger_than_every_buffer_survive(database: PostgresDatabase) -> None:
    large = 'ä"\\\n' * 1_000_000

    database.insert(PAUSES, [a_pause("a", reason=large)])
    database.insert_new(PAUSES, [a_pause("b", reason=large)])
    database.update(PAUSES, [a_pause("a", reason=large + "!")], expected="at", column=[1])

    assert [row[4] for row in all_pauses(database)] == [large + "!", large]


def test_parameters_of_every_kind(database: PostgresDatabase) -> None:
    assert database.rows("SELECT :a, :b, :c", a=True, b=1.5, c=b"\0\xff") == [
        (True, 1.5, b"\0\xff")
    ]
    assert database.rows("SELECT :a::text = ANY(:texts), 3 = ANY(:numbers)", a="{", texts=['"', "{"],
                         numbers=(1, 3)) == [(True, True)]  # fmt: skip
    assert database.rows("SELECT 1 WHERE 'a' = ANY(:none)", none=[]) == []


def test_a_handle_may_meet_more_statements_than_it_keeps(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libpq, "PREPARED_MAX", 3)

    for _ in range(2):
        for number in range(10):
            assert database.rows(f"SELECT {number}, :x::text", x="a") == [(number, "a")]


def test_statements_that_travel_together_keep_their_names_when_others_are_forgotten(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libpq, "PREPARED_MAX", 4)

    for first in range(0, 20, 2):
        numbers = [0, first, first + 1, 1]  # two that are known by now, around new ones
        with database.transaction():
            asked = [database.ask(f"SELECT {number}") for number in numbers]

        assert [each.rows() for each in asked] == [[(number,)] for number in numbers]


def test_hot_statements_use_an_index_before_there_are_statistics(postgres_dsn: str) -> None:
    with closing(PostgresDatabase(postgres_dsn)) as database:
        for batch in range(20):
            names = [f"{batch:03}-{number:03}" for number in range(100)]
            database.insert(WORK, [some_work(name) for name in names])
            database.update(
                WORK, [some_work(name, rank=1) for name in names], expected="rank", column=[0] * 100
            )
            database.delete(WORK, [(name, 1) for name in names[::2]])
            database.rows("SELECT body FROM work WHERE worker = :w ORDER BY rank LIMIT 50", w="w")

    with closing(PostgresDatabase(postgres_dsn)) as database:
        scans = "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'work'"
        wait_until(lambda: database.rows(scans) and database.rows(scans)[0][1])
        ((by_table, by_index),) = database.rows(scans)

    assert by_table == 0
    assert int(by_index or 0) > 0
