"""The exports of banks that the readers are measured with."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.documents.banks.__main__ import draw, main
from lab.documents.banks.layouts import LAYOUTS
from stateward.cli import cli


def test_there_are_layouts_of_thirty_banks_in_twelve_countries() -> None:
    assert len({each.name for each in LAYOUTS}) >= 30
    assert len({each.country for each in LAYOUTS}) >= 12


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: each.name)
def test_a_seed_gives_the_same_export_and_a_mutated_one_another(layout: object) -> None:
    first, truth = draw(layout, 7, is_mutated=False)  # type: ignore[arg-type]
    again, _ = draw(layout, 7, is_mutated=False)  # type: ignore[arg-type]
    _, changed = draw(layout, 7, is_mutated=True)  # type: ignore[arg-type]

    assert first == again
    assert truth["changes"] == []
    assert changed["transactions"] == truth["transactions"]


def test_exports_are_written_with_truth_that_eval_understands(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, [str(tmp_path), "--count", "3"]).exit_code == 0

    done = CliRunner().invoke(cli, ["eval", "statements", str(tmp_path), "--json"])

    assert json.loads(done.stdout)["total"]["documents"] == 3
