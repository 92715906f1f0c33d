"""The database that the settings name: the only place that chooses an engine."""

from stateward.extras import missing_extra
from stateward.settings import Settings
from stateward.storage.database import Database
from stateward.storage.sqlite import MEMORY, SqliteDatabase

RUNNER_ROLE = "stateward_runner"


def open_memory() -> Database:
    """A database of this process alone, for a worker whose work comes over a transport."""
    return SqliteDatabase(MEMORY)


def open_database(
    settings: Settings, *, role: str | None = None, is_read_only: bool = False
) -> Database:
    """The database that the settings name; `role` is the PostgreSQL role of its connections."""
    url = settings.store.url
    if url.startswith("memory:"):
        return SqliteDatabase(MEMORY)
    if settings.store_path is not None:
        return SqliteDatabase(settings.store_path, is_read_only=is_read_only)
    try:
        from stateward.storage.postgres import PostgresDatabase
    except ModuleNotFoundError as error:
        raise (missing_extra(error) or error) from error

    # A process that is stopped inside a transaction holds its row locks no longer than a silent worker holds its work.
    return PostgresDatabase(
        url,
        role=role,
        transaction_idle_s=settings.worker.lease_seconds,
        is_read_only=is_read_only,
    )
