"""A restore writes over nothing: no journal of another database, and no store that was made meanwhile."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.restore import restore
from stateward.core.errors import InvalidRequest
from stateward.settings import Settings
from tests.app.backups import backed_up, settings_at, submitted


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "own")


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_journal_without_its_database_is_not_applied_to_a_set(
    own: Settings, tmp_path: Path, end: str
) -> None:
    """A store was killed, its database moved away and its journal forgotten: SQLite would write it over the set."""
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, tmp_path / "sound")
    elsewhere = settings_at(tmp_path / "new")
    elsewhere.data_path.mkdir(parents=True)
    left = Path(f"{elsewhere.store_path}{end}")
    left.write_bytes(b"pages")

    with pytest.raises(InvalidRequest, match=rf"there is {left} without its database"):
        restore(tmp_path / "sound/sets" / made.name, elsewhere)
    assert left.read_bytes() == b"pages"

    left.unlink()
    assert restore(tmp_path / "sound/sets" / made.name, elsewhere).set == made


def test_a_store_that_a_service_makes_meanwhile_is_not_overwritten(
    own: Settings, tmp_path: Path
) -> None:
    with App(own) as app:
        submitted(app, 1)
        made = backed_up(app, tmp_path / "sound")
    elsewhere = settings_at(tmp_path / "new")

    def begin(what: str, _: int) -> None:
        if what == "documents":
            with App(elsewhere) as app:
                submitted(app, 2)

    with pytest.raises(InvalidRequest, match="there is a store at"):
        restore(tmp_path / "sound/sets" / made.name, elsewhere, progress=begin)
    with App(elsewhere) as app:
        assert app.admin.verify().records == 1
