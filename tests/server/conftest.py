"""Services to ask: one for a whole file where nothing is changed that others see, and one for a test alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.api_client import ApiClient, serving, settings_at, statement
from tests.server.contracts import Player
from tests.server.driving import driven


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiClient]:
    """A service on SQLite, for one test."""
    with serving(settings_at(tmp_path / "data")) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service for all tests of a file that leave nothing in it."""
    with serving(settings_at(tmp_path_factory.mktemp("shared"))) as found:
        yield found


# Routes mind no database: PostgreSQL is left to `make test-long`, and to the suites of storage, engine and app.
@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def any_api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiClient]:
    """A service on each kind of database."""
    url = str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None
    with serving(settings_at(tmp_path / "data", store_url=url)) as found:
        yield found


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service with some uploads that have ended; tests only look at it."""
    with serving(settings_at(tmp_path_factory.mktemp("worked"))) as found:
        for number in range(7):
            found.sent(statement(number), name=f"file-{number}.csv")
        found.sent(b"date;amount;text\nno date;no amount;x\n", name="broken.csv")
        found.work()
        yield found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiClient, Player]]:
    """A service and a worker for all tests of a file; each takes a contract of its own."""
    with driven(tmp_path_factory.mktemp("driven")) as found:
        yield found
