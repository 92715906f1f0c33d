"""Whole applications with metrics on, on each kind of database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from tests.apps import ENTERPRISE, Maker, apps_on, fresh_store


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return fresh_store(request, tmp_path)


@pytest.fixture
def make_app(store_url: str, tmp_path: Path) -> Iterator[Maker]:
    """Apps on one store; more settings as YAML text."""
    with apps_on(store_url, tmp_path, default=ENTERPRISE) as make:
        yield make


@pytest.fixture
def app(make_app: Maker) -> App:
    """An app of the enterprise profile, which enables metrics."""
    return make_app()
