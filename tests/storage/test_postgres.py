"""PostgreSQL keeps what every engine promises, and what only a server can promise or break."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import product
from threading import Event, Timer
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from lab.postgres import (
    Cluster,
    MissingPostgres,
    Server,
    cluster,
)
from stateward.core.errors import (
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreUnreachable,
)
from stateward.core.model import Event as Fact
from stateward.core.model import Work
from stateward.storage import libpq, postgres
from stateward.storage.database import TOPIC_EVENTS, TOPIC_WORK
from stateward.storage.migrations import Migration, migrations
from stateward.storage.outputs import AttemptResult, Output, Outputs
from stateward.storage.postgres import RUNNER_ROLE, PostgresDatabase, migrate
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.databases import (
    PAUSES,
    QUIET_S,
    WAIT_S,
    WORK,
    DatabaseSuite,
    Opener,
    a_pause,
    all_pauses,
    all_work,
    ends_with,
    settle,
    some_work,
    stages,
)
from stateward.transport import Bus, WorkerInfo

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


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def other(postgres_dsn: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def own_server(postgres_server: Server) -> Iterator[Cluster]:
    """A server to stop and start; asks for the shared one first, to be skipped with it."""
    try:
        with cluster() as made:
            yield made
    except MissingPostgres as missing:
        pytest.skip(f"TEST_PG_DSN is no server of ours to break, and {missing}")


# Connections that are lost


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


def test_a_unit_begins_over_a_new_connection_if_the_loss_shows_only_then(
    database: PostgresDatabase, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([True])  # once it looks well when it is not: the news is still on the way
    is_idle = libpq.Session.is_idle
    cut(postgres_dsn)
    monkeypatch.setattr(libpq.Session, "is_idle", lambda self: next(answers, None) or is_idle(self))

    with database.transaction():
        database.insert(PAUSES, [a_pause("a")])

    assert stages(database) == ["a"]


def test_a_connection_lost_inside_a_unit_undoes_it(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        cut(postgres_dsn)
        database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_a_unit_never_goes_on_over_another_connection(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable, "lost inside a unit"), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        cut(postgres_dsn)
        with suppress(StoreUnreachable):
            database.rows("SELECT 1")
        with ends_with(StoreUnreachable, "lost inside a unit"):
            database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_a_connection_lost_during_a_commit_says_so(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with ends_with(StoreUnreachable, "look before you repeat it"), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        cut(postgres_dsn)

    assert stages(database) == []


def test_a_unit_that_does_nothing_for_too_long_is_undone(database: PostgresDatabase) -> None:
    database.run("SET idle_in_transaction_session_timeout = '100ms'")

    with ends_with(StoreUnreachable), database.transaction():
        database.insert(PAUSES, [a_pause("a")])
        time.sleep(0.5)
        database.insert(PAUSES, [a_pause("b")])

    assert stages(database) == []


def test_an_interrupt_is_heard_while_the_server_works(database: PostgresDatabase) -> None:
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    started = time.monotonic()
    try:
        Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with ends_with(KeyboardInterrupt), database.transaction():
            database.rows("SELECT pg_sleep(30)")
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert time.monotonic() - started < 10
    assert stages(database) == []


def test_other_threads_run_while_the_server_works(database: PostgresDatabase) -> None:
    ticks = 0
    is_over = Event()

    def sleep() -> None:
        database.rows("SELECT pg_sleep(0.5)")
        is_over.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(sleep)
        while not is_over.wait(0.01):
            ticks += 1

    assert ticks > 10


def test_a_server_that_comes_back_is_used_again(own_server: Cluster) -> None:
    with closing(PostgresDatabase(own_server.dsn("postgres"), connect_s=2)) as database:
        wakeup = database.wakeup(TOPIC_WORK)
        number = wakeup.fileno()

        own_server.stop()
        with pytest.raises(StoreUnreachable, match="check that the server runs"):
            database.rows("SELECT 1")
        with pytest.raises(StoreUnreachable, match="check that the server runs"):
            database.wakeup(TOPIC_WORK)
        assert wakeup.wait(WAIT_S)
        wakeup.clear()
        started = time.monotonic()
        assert not wakeup.wait(0.7)
        assert time.monotonic() - started > 0.6

        own_server.start()
        assert wakeup.wait(WAIT_S)
        settle(wakeup)
        database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)
        assert wakeup.fileno() == number


def test_a_bell_that_lost_its_connection_rings_and_listens_again(
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

    with pytest.raises(StoreError, match="is closed"):
        database.rows("SELECT 1")


def test_reading_leaves_no_transaction_open(
    database: PostgresDatabase, other: PostgresDatabase
) -> None:
    ((pid,),) = database.rows("SELECT pg_backend_pid()")
    stages(database)

    state = other.rows("SELECT state FROM pg_stat_activity WHERE pid = :pid", pid=pid)

    assert state == [("idle",)]


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
        ("25006", StoreUnreachable, "name the primary"),
        ("23505", StoreError, "refused a row"),
        ("42501", StoreError, "may not do that"),
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
    with pytest.raises(ValueError, match="zip"):
        database.insert(PAUSES, [("too", "short")])


def test_of_two_units_in_a_circle_one_is_undone(
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
        database.rows(sql + database.locking)
        skipped = other.rows(sql + other.skipping)
        with pytest.raises(StoreUnreachable, match="held by another writer"):
            other.run("UPDATE pauses SET actor = 'b'")

    assert skipped == []


# Values and statements


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
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
        wait_for(lambda: database.rows(scans) and database.rows(scans)[0][1])
        ((by_table, by_index),) = database.rows(scans)

    assert by_table == 0
    assert int(by_index or 0) > 0


# Schema


def test_migrating_twice_changes_nothing(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        migrate(dsn)
        before = applied(dsn)

        migrate(dsn)

        assert applied(dsn) == before
        assert [row[:2] for row in before] == [(m.number, m.name) for m in migrations("postgres")]


def test_an_edited_migration_is_refused(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("UPDATE stateward.schema_migrations SET digest = 'x' WHERE number = 1")

    with pytest.raises(StoreMismatch, match=r"migration 1 \(engine\) is not the one that made"):
        PostgresDatabase(postgres_dsn)


def test_a_newer_schema_is_refused(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("INSERT INTO stateward.schema_migrations VALUES (999, 'future', 'x', 1)")

    with pytest.raises(StoreMismatch, match="newer Stateward"):
        PostgresDatabase(postgres_dsn)


def test_a_migration_that_fails_leaves_nothing(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(number=len(migrations("postgres")) + 1, name="broken", sql="NONSENSE")
    steps = [*migrations("postgres"), broken]
    with empty_database(postgres_server) as dsn:
        with monkeypatch.context() as patch:
            patch.setattr(postgres, "migrations", lambda _: steps)
            with pytest.raises(psycopg.errors.SyntaxError):
                migrate(dsn)

        with psycopg.connect(dsn) as connection:
            found = connection.execute("SELECT to_regnamespace('stateward')").fetchone()
        assert found == (None,)
        migrate(dsn)


def test_a_schema_of_another_program_is_left_alone(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE SCHEMA stateward; CREATE TABLE stateward.records (x int)")

        with pytest.raises(StoreMismatch, match="tables of another program"):
            migrate(dsn)


def test_an_empty_schema_that_an_administrator_made_is_used(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE SCHEMA stateward")

        migrate(dsn)

        assert len(applied(dsn)) == len(migrations("postgres"))


def test_an_old_server_is_refused(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "VERSION_MIN", 990_000)

    with pytest.raises(StoreMismatch, match="needs 99 or newer"):
        PostgresDatabase(postgres_dsn)


def test_a_database_that_cannot_keep_every_text_is_refused(postgres_server: Server) -> None:
    name = f"stateward_{uuid4().hex[:16]}"
    with psycopg.connect(postgres_server.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
        )
    try:
        with pytest.raises(StoreMismatch, match="keeps text as SQL_ASCII"):
            PostgresDatabase(postgres_server.dsn(name))
    finally:
        postgres_server.drop_database(name)


def test_it_has_the_tables_and_indexes_of_the_other_engine(database: PostgresDatabase) -> None:
    columns = (
        "SELECT table_name::text, column_name::text, is_nullable = 'NO' "
        "FROM information_schema.columns "
        "WHERE table_schema = 'stateward' AND table_name <> 'schema_migrations'"
    )
    indexes = "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'stateward'"
    with closing(SqliteDatabase(MEMORY)) as sqlite:
        tables = 'SELECT t.name, c.name, c."notnull" OR c.pk > 0 FROM pragma_table_list t, '
        theirs = sqlite.rows(
            tables
            + "pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
        )
        their_indexes = sqlite.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite%'"
        )

    assert sorted(database.rows(columns)) == sorted(theirs)
    ours = [row for row in database.rows(indexes) if not str(row[0]).endswith("_pkey")]
    assert sorted(ours) == sorted(their_indexes)


def test_it_tells_how_durable_it_is(database: PostgresDatabase) -> None:
    facts = database.check()

    assert facts["engine"].startswith("PostgreSQL ")
    assert facts["fsync"] in {"on", "off"}
    assert facts["synchronous_commit"] in {"on", "off", "local", "remote_write", "remote_apply"}
    assert facts["runner_role"] == RUNNER_ROLE


# Roles: a runner's login can do a worker's work, and can touch no status (G8)


@pytest.fixture
def runner_dsn(postgres_dsn: str, database: PostgresDatabase) -> Iterator[str]:
    """A real login that was granted the role of runners and nothing else."""
    login = f"runner_{uuid4().hex[:12]}"
    database.run(f"CREATE ROLE {login} LOGIN IN ROLE {RUNNER_ROLE}")
    yield make_conninfo(postgres_dsn, user=login)
    database.run(f"DROP ROLE {login}")


@pytest.fixture(params=[None, RUNNER_ROLE], ids=["by login", "by role"])
def runner(request: pytest.FixtureRequest, runner_dsn: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(runner_dsn, role=request.param)) as opened:
        yield opened


def test_a_runner_can_neither_read_nor_write_what_is_not_its_own(runner: PostgresDatabase) -> None:
    for table, sql in product(
        ("records", "transitions", "anchor", "effects", "dispositions", "dead_letters", "pauses"),
        (
            "SELECT 1 FROM {}",
            "SELECT 1 FROM {} FOR UPDATE",
            "INSERT INTO {} DEFAULT VALUES",
            "DELETE FROM {}",
            "TRUNCATE {}",
            "ALTER TABLE {} DISABLE TRIGGER ALL",
            "DROP TABLE {}",
        ),
    ):
        with pytest.raises(StoreError, match="may not do that"):
            runner.run(sql.format(table))


def test_a_runner_has_no_way_to_a_status(runner: PostgresDatabase) -> None:
    for sql in (
        "UPDATE records SET status = 'done'",
        "UPDATE records SET version = version + 1",
        "UPDATE transitions SET target = 'done'",
        "UPDATE anchor SET count = 0",
        "UPDATE work SET version = 9",
        "UPDATE outputs SET outcome = 'done'",
        "UPDATE events SET body = '{}'",
        "UPDATE machines SET document = '{}'",
        "UPDATE schema_migrations SET digest = ''",
        "DELETE FROM events",
        "DELETE FROM outputs",
        "DELETE FROM item_chunks",
        "INSERT INTO work VALUES ('r', 1, 'w', 1, 1, false, '{}')",
        "INSERT INTO machines VALUES ('m', 1, '', '{}', 1)",
        "CREATE TABLE mine (x int)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
    ):
        with pytest.raises(StoreError, match="may not do that"):
            runner.run(sql)


def test_a_runner_that_resets_its_role_gains_nothing(runner: PostgresDatabase) -> None:
    runner.run("RESET ROLE")

    with pytest.raises(StoreError, match="may not do that"):
        runner.run("UPDATE records SET status = 'done'")


def test_a_runner_can_do_what_a_worker_does(
    runner: PostgresDatabase, database: PostgresDatabase
) -> None:
    work = Work(
        record_id="R1", version=1, machine="m", stage="parse", runner="r", running="parsing",
        worker="w1", created_at=1, rank=1, timeout_s=1.0,
    )  # fmt: skip
    fact = Fact(id="E1", type="parse.completed", record_id="R1", version=1, at=1, actor="runner:r")
    mark = AttemptResult(record_id="R1", version=1, stage="parse", worker="w1", at=1, count=1)
    bus, outputs = Bus(runner), Outputs(runner)
    heard = database.wakeup(TOPIC_EVENTS)
    wakeup = runner.wakeup(TOPIC_WORK)

    bus.announce(a_worker())
    Bus(database).send([work])
    assert wakeup.wait(WAIT_S)
    assert bus.assigned("w1", limit=10) == [work]
    with runner.transaction():
        assert bus.finish([work]) == [True]
        assert outputs.write([Output(mark, ((1, '[{"n":1}]'),))]) == [True]
        bus.report([fact])
        bus.call_for_work()
    outputs.keep("R1", "parse", "answer", b"dear", at=1)

    assert outputs.kept("R1", "parse", "answer") == b"dear"
    assert heard.wait(WAIT_S)
    assert [each.event for each in Bus(database).reported(limit=10)] == [fact]
    assert outputs.chunks("R1", 1) == ['[{"n":1}]']
    assert runner.rows("SELECT count(*) FROM machines") == [(0,)]
    bus.leave("w1")
    assert bus.workers() == []


def test_a_handle_with_a_role_does_not_migrate(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with pytest.raises(StoreMismatch, match="start the coordinator first"):
            PostgresDatabase(dsn, role=RUNNER_ROLE)

        assert applied(dsn) == []


def test_a_role_that_does_not_exist_is_named(postgres_dsn: str) -> None:
    with pytest.raises(StoreError, match="cannot act as the role 'no\"body'"):
        PostgresDatabase(postgres_dsn, role='no"body')


def test_two_databases_may_create_the_role_at_once(own_server: Server) -> None:
    dsns = [own_server.dsn(own_server.create_database()) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, dsns))

    for dsn in dsns:
        with closing(PostgresDatabase(dsn, role=RUNNER_ROLE)) as database:
            assert all_work(database) == []


def test_an_owner_who_may_not_create_roles_can_do_without(own_server: Server) -> None:
    with owned_database(own_server, "owner", "NOCREATEROLE") as (dsn, admin):
        migrate(dsn)
        with pytest.raises(StoreError, match="cannot act as the role"):
            PostgresDatabase(dsn, role=RUNNER_ROLE)

        for found in ("missing", "not granted to this login"):
            answer, remedy = runner_role(dsn).split("; an administrator runs: ")
            assert answer == found
            admin.execute(remedy)
            assert runner_role(dsn) == RUNNER_ROLE
            assert_is_limited(dsn)
            admin.execute(f"REVOKE {RUNNER_ROLE} FROM owner")


def test_an_owner_who_may_create_roles_needs_nobody_else(own_server: Server) -> None:
    with owned_database(own_server, "owner", "CREATEROLE") as (dsn, _):
        migrate(dsn)

        assert runner_role(dsn) == RUNNER_ROLE
        assert_is_limited(dsn)


# What these tests are built from


@contextmanager
def empty_database(server: Server) -> Iterator[str]:
    name = server.create_database()
    yield server.dsn(name)
    server.drop_database(name)


def cut(dsn: str) -> None:
    """End every other connection to the database, as an administrator or a crash would."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        wait_for(lambda: connection.execute(f"SELECT count(*) {others}").fetchone() == (0,))


def wait_for(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def applied(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        if connection.execute("SELECT to_regnamespace('stateward')").fetchone() == (None,):
            return []
        return connection.execute("SELECT * FROM stateward.schema_migrations").fetchall()


def a_worker() -> WorkerInfo:
    return WorkerInfo(
        id="w1", host="h", pid=1, life="", runners=("r",), slots=1, inline_slots=1,
        started_at=1, seen_at=1,
    )  # fmt: skip


@contextmanager
def owned_database(
    server: Server, owner: str, right: str
) -> Iterator[tuple[str, psycopg.Connection]]:
    """A database that belongs to a login of its own, and a connection of an administrator."""
    name = server.create_database()
    with psycopg.connect(server.dsn(name), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {owner} LOGIN {right}")
        admin.execute(f"ALTER DATABASE {name} OWNER TO {owner}")
        yield make_conninfo(server.dsn(name), user=owner), admin


def runner_role(dsn: str) -> str:
    with closing(PostgresDatabase(dsn)) as database:
        return database.check()["runner_role"]


def assert_is_limited(dsn: str) -> None:
    """The owner's login as a runner: it sees work, and no status."""
    with closing(PostgresDatabase(dsn, role=RUNNER_ROLE)) as database:
        assert all_work(database) == []
        with pytest.raises(StoreError, match="may not do that"):
            database.rows("SELECT status FROM records")
