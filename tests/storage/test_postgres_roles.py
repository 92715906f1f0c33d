"""A runner's login can do a worker's work, and can touch no status."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import product
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from lab.postgres import Server
from stateward.core.errors import StoreError, StoreOutdated
from stateward.core.model import Event as Fact
from stateward.core.model import Work
from stateward.storage.database import TOPIC_EVENTS, work_topic
from stateward.storage.outputs import AttemptResult, Output, Outputs
from stateward.storage.postgres import RUNNER_ROLE, PostgresDatabase, migrate
from stateward.transport import Bus, WorkerInfo
from tests.storage.postgres_databases import applied, empty_database, runner_role
from tests.storage.suite.helpers import WAIT_S, all_work


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
        ("records", "transitions", "lanes", "effects", "dispositions", "dead_letters", "pauses"),
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
        "UPDATE lanes SET count = 0",
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
    wakeup = runner.wakeup(work_topic("w1"))

    bus.heartbeat(a_worker())
    Bus(database).send([work])
    assert wakeup.wait(WAIT_S)
    assert bus.assigned_work("w1", limit=10) == [work]
    with runner.transaction():
        assert bus.finish([work]) == [True]
        assert all(outputs.write([Output(mark, ((1, '[{"n":1}]'),))]))
        bus.report([fact])
        bus.request_work()
    outputs.save_value("R1", "parse", "answer", b"dear", at=1)

    assert outputs.load_value("R1", "parse", "answer") == b"dear"
    assert heard.wait(WAIT_S)
    assert [each.event for each in Bus(database).next_events(limit=10)] == [fact]
    assert outputs.item_chunks("R1", 1) == ['[{"n":1}]']
    assert runner.rows("SELECT count(*) FROM machines") == [(0,)]
    bus.remove_worker("w1")
    assert bus.workers() == []


def test_a_handle_with_a_role_does_not_migrate(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with pytest.raises(StoreOutdated, match="start the coordinator first"):
            PostgresDatabase(dsn, role=RUNNER_ROLE)

        assert applied(dsn) == []


def test_a_role_that_does_not_exist_is_named(postgres_dsn: str) -> None:
    with pytest.raises(StoreError, match="cannot act as the role 'no\"body'"):
        PostgresDatabase(postgres_dsn, role='no"body')


def test_two_databases_may_create_the_role_at_once(fresh_cluster: Server) -> None:
    dsns = [fresh_cluster.dsn(fresh_cluster.create_database()) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, dsns))

    for dsn in dsns:
        with closing(PostgresDatabase(dsn, role=RUNNER_ROLE)) as database:
            assert all_work(database) == []


def test_an_owner_who_may_not_create_roles_can_do_without(fresh_cluster: Server) -> None:
    with owned_database(fresh_cluster, "owner", "NOCREATEROLE") as (dsn, admin):
        migrate(dsn)
        with pytest.raises(StoreError, match="cannot act as the role"):
            PostgresDatabase(dsn, role=RUNNER_ROLE)

        for found in ("missing", "not granted to this login"):
            answer, remedy = runner_role(dsn).split("; an administrator must run: ")
            assert answer == found
            admin.execute(remedy)
            assert runner_role(dsn) == RUNNER_ROLE
            assert_is_limited(dsn)
            admin.execute(f"REVOKE {RUNNER_ROLE} FROM owner")


def test_an_owner_who_may_create_roles_needs_no_administrator(fresh_cluster: Server) -> None:
    with owned_database(fresh_cluster, "owner", "CREATEROLE") as (dsn, _):
        migrate(dsn)

        assert runner_role(dsn) == RUNNER_ROLE
        assert_is_limited(dsn)


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


def assert_is_limited(dsn: str) -> None:
    """The owner's login as a runner: it sees work, and no status."""
    with closing(PostgresDatabase(dsn, role=RUNNER_ROLE)) as database:
        assert all_work(database) == []
        with pytest.raises(StoreError, match="may not do that"):
            database.rows("SELECT status FROM records")


@pytest.mark.usefixtures("runner")
def test_in_a_transaction_of_the_owner_a_worker_has_only_its_own_rights(
    database: PostgresDatabase,
) -> None:
    def who() -> object:
        return database.rows("SELECT CAST(current_user AS text)")[0][0]

    owner = who()
    with (
        pytest.raises(StoreError, match="may not do that"),
        database.transaction(),
        database.as_worker(),
    ):
        database.run("UPDATE records SET status = 'done'")
    assert who() == owner

    with database.transaction():
        with database.as_worker():
            assert who() == "stateward_runner"
            Bus(database).heartbeat(a_worker())
        assert who() == owner
        database.run("UPDATE records SET status = 'done' WHERE id = 'none'")
    assert [each.id for each in Bus(database).workers()] == [a_worker().id]
