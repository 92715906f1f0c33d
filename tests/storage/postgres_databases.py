"""Databases of PostgreSQL to break, and ways to look at them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from lab.postgres import Server
from stateward.storage.postgres import PostgresDatabase


@contextmanager
def empty_database(server: Server) -> Iterator[str]:
    name = server.create_database()
    yield server.dsn(name)
    server.drop_database(name)


def applied(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        if connection.execute("SELECT to_regnamespace('stateward')").fetchone() == (None,):
            return []
        return connection.execute("SELECT * FROM stateward.schema_migrations").fetchall()


def runner_role(dsn: str) -> str:
    with closing(PostgresDatabase(dsn)) as database:
        return database.check()["runner_role"]
