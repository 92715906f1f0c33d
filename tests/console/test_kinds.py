"""What the colours of a status say: not every end is a success."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.console.kinds import SETBACK, state_kinds
from tests.server.api_client import settings_at


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App(settings_at(tmp_path / "data")) as found:
        yield found


def test_an_end_that_only_misfortune_leads_to_is_no_success(app: App) -> None:
    found = {
        (machine, status)
        for machine, kinds in state_kinds(app).items()
        for status, kind in kinds.items()
        if kind == SETBACK
    }

    assert found == {
        ("contract", "rejected"),
        ("contract", "timed_out"),
        ("inspection", "failed"),
        ("literature", "failed"),
        ("literature", "skipped"),
    }


def test_every_machine_has_an_end_that_is_a_success(app: App) -> None:
    kinds = state_kinds(app)

    assert [name for name, own in kinds.items() if "terminal" not in own.values()] == []
