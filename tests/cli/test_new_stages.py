"""`stateward advance --to-new-stages`: what had ended goes on when its machine has grown, after a look."""

from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.cli.shell import Shell
from tests.engine.test_extend import GROWN


@pytest.fixture
def grown(demo: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The demo under a version of its machine that has stages after the one that was the last."""
    (tmp_path / "grown.yaml").write_text(GROWN)
    config = tmp_path / "stateward.yaml"
    config.write_text("pipelines: [grown.yaml]\n")
    monkeypatch.setenv("STATEWARD_CONFIG", str(config))
    return demo


def test_a_dry_run_says_how_many_and_changes_nothing(grown: Shell) -> None:
    would = grown.json("advance", "--to-new-stages", "machine:upload", "--dry-run")

    assert (would["matched"], would["applied"], would["is_dry_run"]) == (3, 2, True)
    assert grown.ids("stage:categorize") == []


def test_nothing_happens_to_many_without_a_yes(grown: Shell) -> None:
    refused = grown("advance", "--to-new-stages", "status:normalized")
    empty = grown("advance", "--to-new-stages", "", "--yes")
    both = grown("advance", "UL_1", "--to-new-stages", "status:normalized")
    one = grown("advance", "UL_1", "--dry-run")

    assert (refused.exit_code, empty.exit_code) == (Exit.REFUSED, Exit.REFUSED)
    assert "2 records" in refused.stderr
    assert both.exit_code == one.exit_code == Exit.USAGE
    assert grown.ids("stage:categorize") == []


def test_what_had_ended_waits_for_the_new_stage_and_keeps_who_asked(grown: Shell) -> None:
    done = grown(
        "advance", "--to-new-stages", "status:normalized", "--yes", "--reason", "categories at last"
    )

    assert done.exit_code == 0
    assert "2 go on with a new stage" in done.stdout
    assert len(grown.ids("stage:categorize")) == 2
    again = grown.json("advance", "--to-new-stages", "status:normalized", "--dry-run")
    assert again["applied"] == 0
