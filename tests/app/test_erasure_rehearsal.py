"""An erasure and a run of retention that are killed at every step: it is made or not, and the next one ends it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stateward.app import App
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings
from tests.app.erasing import ANNA, CELL, LABEL, NAME, NOTE, submitted
from tests.app.killing import is_killed

RULE = "{pipeline: upload, older_than_days: 0.0000001, delete: [documents, items, logs, contents]}"


def settings_at(folder: Path) -> Settings:
    config = folder / "settings.yaml"
    config.write_text(f"data: {folder}/data\nretention: {{rules: [{RULE}]}}\n")
    return Settings.load(config, environ={})


def erase_all(settings: Settings) -> None:
    """What is erased already is refused, and keeps no other."""
    with App(settings) as app:
        ids = [each.id for each in app.store.walk() if each.rest != "erased"]
        if ids:
            app.eraser.erase(ids, actor=ANNA, reason="request 17")


def apply_rules(settings: Settings) -> None:
    with App(settings) as app:
        app.retention.run(actor=ANNA)


@pytest.mark.long
@pytest.mark.parametrize("act", [erase_all, apply_rules])
def test_what_is_killed_at_any_step_is_whole_or_not_there_and_the_next_ends_it(
    act: Callable[[Settings], None], tmp_path: Path
) -> None:
    first = tmp_path / "first"
    first.mkdir()
    with App(settings_at(first)) as app:
        for number in range(2):
            record = submitted(app, number + 1)
            app.eraser.hold(record.id, actor=ANNA, reason=NOTE)
            app.eraser.release(record.id, actor=ANNA, reason=NOTE)
        kept = read_checkpoint(app.admin.verify().checkpoint)
    step, was_killed = 1, True
    while was_killed:
        folder = tmp_path / str(step)
        shutil.copytree(first, folder)
        settings = settings_at(folder)

        was_killed = is_killed(lambda own=settings: act(own), step=step)  # type: ignore[misc]

        with App(settings) as app:
            assert app.admin.verify(kept=kept).findings == ()
            assert [each.check for each in app.admin.verify_documents()] == []
        act(settings)
        with App(settings) as app:
            app.eraser.remove_erased()
            app.database.compact()
            assert app.admin.verify(kept=kept).findings == ()
        left = b"".join(
            each.read_bytes() for each in (folder / "data").rglob("*") if each.is_file()
        )
        assert [each for each in (NAME, LABEL, NOTE, CELL) if each.encode() in left] == []
        shutil.rmtree(folder)
        step += 1
    assert step > 10
