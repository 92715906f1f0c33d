"""Whole applications with metrics on, on each kind of database."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings

Maker = Callable[..., App]

on_each_store = pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a fresh store: SQLite, unless a test asks for each."""
    if getattr(request, "param", "sqlite") == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite://{tmp_path}/app.db"


@pytest.fixture
def make_app(store_url: str, tmp_path: Path) -> Iterator[Maker]:
    """Apps on one store; more settings as YAML text."""
    made: list[App] = []

    def make(text: str = "profile: enterprise", **parts: object) -> App:
        config = tmp_path / f"config-{len(made)}.yaml"
        config.write_text(f"data: {tmp_path}/data\nstore: {{url: '{store_url}'}}\n{text}\n")
        made.append(App(Settings.load(config, environ={}), **parts))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for app in made:
        app.close()


@pytest.fixture
def app(make_app: Maker) -> App:
    """An app of the enterprise profile, which enables metrics."""
    return make_app()
