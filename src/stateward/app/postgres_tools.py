"""PostgreSQL's own programs: `pg_dump` and `pg_restore`. The password of a URL is never among their arguments."""

import os
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from stateward.core.errors import InvalidRequest, StoreError, StoreFull

POSTGRES_FILE = "stateward.pgdump"


def dump_postgres(url: str, to: Path) -> None:
    """Write the schema of Stateward by `pg_dump`, which sees one moment of a running database."""
    from stateward.storage.postgres_sql import SCHEMA

    command = ["pg_dump", "--format=custom", "--no-owner", f"--schema={SCHEMA}", f"--file={to}"]
    run_postgres_tool([*command, without_password(url)], url)
    to.chmod(0o600)


def run_postgres_tool(command: list[str], url: str) -> None:
    """Run a program of PostgreSQL; the password travels in its environment, where `ps` does not show it."""
    parts = urlsplit(url)
    environ = {**os.environ, "LC_ALL": "C"}  # in English, by which a full disk is recognised
    if parts.password is not None:
        environ["PGPASSWORD"] = unquote(parts.password)
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise InvalidRequest(
            f"{command[0]} is needed and not installed: it comes with PostgreSQL's client programs, in the version "
            "of the server or newer"
        ) from error
    if done.returncode != 0:
        message = f"{command[0]} failed: {' '.join(done.stderr.split())[:1000]}"
        raise StoreFull(message) if "No space left on device" in message else StoreError(message)


def without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{host}"))
