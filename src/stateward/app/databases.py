"""The database that the settings name: the only place that chooses an engine."""

import os
import time
from collections.abc import Callable
from functools import partial

from stateward.core.errors import (
    InvalidRequest,
    StoreError,
    StoreMismatch,
    StoreOutdated,
    StoreUnreachable,
)
from stateward.extras import missing_extra
from stateward.settings import Settings
from stateward.storage.database import Database
from stateward.storage.sqlite import MEMORY, SqliteDatabase

RUNNER_ROLE = "stateward_runner"
# What a server says that will soon take connections: it starts, recovers, or its port is not open yet.
REFUSED = "Connection refused"
STARTING = ("starting up", "recovery", "not yet accepting", "shutting down", REFUSED)
# A port that stays closed is a wrong address or a server that nothing starts; an old schema, no coordinator.
REFUSED_S_MAX = 120.0
PAUSE_S_MAX = 2.0


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

    from stateward.app.key_file import opened_store_url  # only a server has a password

    url = opened_store_url(settings)
    # A process that is stopped inside a transaction holds its row locks no longer than a silent worker holds its work.
    return PostgresDatabase(
        url,
        role=role,
        transaction_idle_s=settings.worker.lease_seconds,
        is_read_only=is_read_only,
        before_migration=partial(_dump_before, settings, url),
    )


SAME_UPGRADE_S = 3600.0
"""So long a dump counts: several processes begin an upgrade together, and one that fails is tried again."""


def _dump_before(settings: Settings, url: str, version: int) -> None:
    """Dump the database as the older version of Stateward left it, so that there is a way back."""
    from stateward.app.postgres_tools import (  # only where a schema is old
        POSTGRES_FILE,
        dump_postgres,
    )

    copy = settings.data_path / f"{POSTGRES_FILE}.before-schema-{version}"
    if not settings.store.dump_before_migration:
        return
    if copy.exists() and time.time() - copy.stat().st_mtime < SAME_UPGRADE_S:
        return  # an older one is of an upgrade from which someone went back: it lacks what came since
    settings.data_path.mkdir(parents=True, exist_ok=True)
    unfinished = copy.with_name(f"{copy.name}.{os.getpid()}")
    try:
        dump_postgres(url, unfinished)
    except (InvalidRequest, StoreError) as error:
        raise StoreMismatch(
            "the schema of the database is older than this Stateward, and was not changed, because no copy of it could "
            f"be made: {error}. Install pg_dump in the version of the server or newer; or make a backup in another way "
            "and set store.dump_before_migration: false"
        ) from error
    unfinished.rename(copy)


def wait_for_database(
    settings: Settings,
    *,
    say: Callable[[str], object],
    role: str | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Wait until a PostgreSQL that is starting or recovering takes connections; `say` is told once a while.

    For roles that stay: they may be started together with the server, or while it recovers from a crash. A port that
    stays closed is waited for two minutes, and so is a schema that the coordinator, started at the same time, brings up
    to date. Anything else that is wrong, such as a password, is raised at once.
    """
    pause_s = waited_s = 0.0
    while settings.store.url.startswith("postgresql:"):
        try:
            open_database(settings, role=role).close()
        except (StoreUnreachable, StoreOutdated) as error:
            is_old = isinstance(error, StoreOutdated)
            is_starting = is_old or any(words in str(error) for words in STARTING)
            is_limited = is_old or REFUSED in str(error)
            if not is_starting or (is_limited and waited_s >= REFUSED_S_MAX):
                raise
            if not pause_s:
                say(f"waiting for the database: {error}")
            pause_s = min(2 * pause_s + 0.1, PAUSE_S_MAX)
            sleep(pause_s)
            waited_s += pause_s
        else:
            if pause_s:
                say("the database takes connections")
            return
