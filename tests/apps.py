"""Whole applications for tests: on one store, each kind of database where a test asks for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings

Maker = Callable[..., App]

# The profile starts no runner where the kernel cannot confine it; what else it sets is tested on any machine.
ENTERPRISE = "profile: enterprise\nworker: {confinement: available}"

# For tests whose subject is what the database does: locks, cursors, races.
on_each_store = pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
# For tests whose subject minds no database: PostgreSQL is left to `make test-long`.
on_postgres_if_long = pytest.mark.parametrize(
    "store_url", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)], indirect=True
)


def fresh_store(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a fresh store: SQLite, unless a test asks for each."""
    if getattr(request, "param", "sqlite") == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite://{folder}/app.db"


@contextmanager
def apps_on(store_url: str, folder: Path, *, default: str) -> Iterator[Maker]:
    """Make apps on one store; more settings as YAML text, which are `default` where none are given."""
    made: list[App] = []

    def make(text: str = default, **parts: object) -> App:
        config = folder / f"config-{len(made)}.yaml"
        config.write_text(f"data: {folder}/data\nstore: {{url: '{store_url}'}}\n{text}\n")
        made.append(App(Settings.load(config, environ={}), **parts))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for app in made:
        app.close()
