"""Whole applications: real files, real children, each kind of database."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.settings import Settings

Maker = Callable[..., App]


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a fresh store."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite://{tmp_path}/app.db"


@pytest.fixture
def make_app(store_url: str, tmp_path: Path) -> Iterator[Maker]:
    """Apps on one store; more settings as YAML text."""
    made: list[App] = []

    def make(text: str = "", **parts: object) -> App:
        config = tmp_path / f"config-{len(made)}.yaml"
        config.write_text(f"data: {tmp_path}/data\nstore: {{url: '{store_url}'}}\n{text}")
        settings = Settings.load(config, environ={})
        made.append(App(settings, **parts))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for app in made:
        app.close()


@pytest.fixture
def app(make_app: Maker) -> App:
    """An app with the pipelines that ship."""
    return make_app()
