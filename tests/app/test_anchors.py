"""Checkpoints of the history are handed to other places, signed, and a rewritten history does not fit them."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.anchors import anchor_when_due, hand_over
from stateward.app.doctor import Check, checks
from stateward.ledger import generate_key, parse_verifier
from stateward.ledger.history_checkpoint import read_checkpoint
from stateward.settings import Settings

pytest.importorskip("cryptography")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def key(tmp_path: Path) -> str:
    """A key that signs is in a file; its public half."""
    private, public = generate_key("example.org/history")
    (tmp_path / "signing.key").write_text(private)
    return public


def loaded(tmp_path: Path, text: str) -> Settings:
    config = tmp_path / "settings.yaml"
    config.write_text(f"profile: business\ndata: {tmp_path}/data\n{text}")
    return Settings.load(config, environ={})


def anchors_of(app: App) -> Check:
    (found,) = [each for each in checks(app) if each.name == "anchors"]
    return found


FULL = "ledger: {signing_key: signing.key}\nanchors: {destinations: [elsewhere]}\n"


def test_a_signed_checkpoint_is_handed_over_and_binds_the_history(
    tmp_path: Path, elsewhere: Path, key: str
) -> None:
    settings = loaded(tmp_path, FULL)
    with App(settings) as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        before = anchors_of(app)

    assert anchor_when_due(settings) == 86_400
    assert 86_000 < anchor_when_due(settings) <= 86_400

    (file,) = elsewhere.rglob("*.txt")
    text = file.read_text("utf-8")
    assert parse_verifier(key).has_signed(text)
    with App(settings) as app:
        assert app.admin.verify(kept=read_checkpoint(text)).findings == ()
        assert (before.is_well, anchors_of(app).is_well) == (False, True)
        app.database.run("UPDATE audit_log SET actor = 'person:eve' WHERE seq = 1")
        assert not app.admin.verify(kept=read_checkpoint(text)).is_sound


def test_a_place_that_is_away_is_named_and_tried_again(tmp_path: Path, key: str) -> None:
    settings = loaded(tmp_path, FULL)
    with App(settings) as app:
        (reason,) = hand_over(app).values()
        assert reason
        assert app.audit.entries(verb="anchored") == []
    assert anchor_when_due(settings) < 3600

    (tmp_path / "elsewhere").mkdir()
    assert anchor_when_due(settings) == 86_400
    assert list((tmp_path / "elsewhere").rglob("*.txt"))


def test_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    with App(loaded(tmp_path, "")) as app:
        found = anchors_of(app)
    assert not found.is_well
    assert "anchors.destinations" in found.advice
