"""Checkpoints of the history are handed to other places, signed, and a rewritten history does not fit them."""

import os
from email.message import EmailMessage
from email.policy import SMTP
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from lab.s3 import ENVIRONMENT, S3Server
from stateward import telemetry
from stateward.app import App
from stateward.app.anchors import anchor_when_due, hand_over
from stateward.app.doctor import Check, checks
from stateward.cli.exit_codes import Exit
from stateward.core.errors import DeclarationError
from stateward.core.model import COORDINATOR, SECOND
from stateward.ledger import generate_key, parse_verifier
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings
from stateward.storage.audit import ANCHORED, AuditEntry
from stateward.storage.sqlite import SqliteDatabase
from tests.cli.shell import Shell
from tests.notifications.smtp_server import mail_server
from tests.timestamp_authority import timestamp_authority

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


def test_a_handover_by_a_clock_that_was_ahead_puts_no_other_one_off(
    tmp_path: Path, elsewhere: Path, key: str
) -> None:
    settings = loaded(tmp_path, FULL)
    with App(settings) as app:
        ahead = AuditEntry(
            at=app.clock() + 400 * 86_400 * SECOND, actor=COORDINATOR, verb=ANCHORED,
            detail={"destinations": list(settings.anchors.destinations)},
        )  # fmt: skip
        app.audit.add([ahead])
        assert not anchors_of(app).is_well

    anchor_when_due(settings)

    assert len(list(elsewhere.iterdir())) == 1
    with App(settings) as app:
        assert anchors_of(app).is_well


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


def test_a_checkpoint_goes_by_mail_and_into_a_bucket(tmp_path: Path, key: str) -> None:
    places = "anchors: {destinations: ['mailto:auditor@example.org', 's3://proofs/of/us']}\n"
    sign = "ledger: {signing_key: signing.key}\n"
    with mail_server() as server, S3Server("proofs") as s3, patch.dict(os.environ, ENVIRONMENT):
        smtp = f"notifications: {{admin_email: a@example.org, smtp_url: 'smtp://127.0.0.1:{server.port}'}}\n"
        bucket = f"artifacts: {{url: 's3://proofs/documents', endpoint: '{s3.endpoint}'}}\n"
        with App(loaded(tmp_path, places + sign + smtp + bucket)) as app:
            assert hand_over(app) == {}
        with App(loaded(tmp_path, places + bucket)) as app:
            assert hand_over(app).keys() == {"mailto:auditor@example.org"}
        s3_objects = s3.objects.pop("proofs")
        with App(loaded(tmp_path, places + sign + smtp + bucket)) as app:
            assert hand_over(app).keys() == {"s3://proofs/of/us"}

    (name, data), *_ = s3_objects.items()
    assert name.startswith("of/us/checkpoint-stateward.local-history-")
    assert parse_verifier(key).has_signed(data.decode())
    assert server.recipients == ["auditor@example.org"] * 2
    assert parse_verifier(key).has_signed(server.texts[0].replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "wrong", ["mailto:", "mailto:a b@c", "ftp://x/y", "s3://", "s3://a:b@c/d", "rfc3161+ftp://x"]
)
def test_what_is_no_destination_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(DeclarationError, match="a destination must be"):
        loaded(tmp_path, f"anchors: {{destinations: ['{wrong}']}}\n")


def test_without_settings_a_business_mails_signed_checkpoints_to_its_administrator(
    tmp_path: Path,
) -> None:
    with mail_server() as server:
        mail = f"notifications: {{admin_email: a@example.org, smtp_url: 'smtp://127.0.0.1:{server.port}'}}\n"
        with App(loaded(tmp_path, mail)) as app:
            assert hand_over(app) == {}
            assert hand_over(app) == {}
            found = anchors_of(app)

    public = (tmp_path / "data" / "signing.key.pub").read_text("utf-8").strip()
    assert (found.is_well, server.recipients) == (True, ["a@example.org"] * 2)
    assert all(
        parse_verifier(public).has_signed(each.replace("\r\n", "\n")) for each in server.texts
    )
    assert (tmp_path / "data" / "signing.key").stat().st_mode & 0o077 == 0


def test_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    with App(loaded(tmp_path, "")) as app:
        found = anchors_of(app)
    assert not found.is_well
    assert "anchors.destinations" in found.advice


def test_an_authority_stamps_the_time_of_a_checkpoint(tmp_path: Path, key: str) -> None:
    pytest.importorskip("rfc3161_client")
    with timestamp_authority(tmp_path / "tsa") as tsa:
        text = (
            "ledger: {{signing_key: signing.key}}\n"
            "anchors: {{destinations: ['rfc3161+{url}'], timestamp_roots: {roots}}}\n"
        )
        settings = loaded(tmp_path, text.format(url=tsa.url, roots=tsa.roots))
        for url, roots, reason in (
            (f"{tsa.url}/away", tsa.roots, "it answered 503"),
            (f"{tsa.url}/broken", tsa.roots, "it is not in the form of RFC 3161"),
            (tsa.url, tsa.strangers, "it does not prove this"),
        ):
            with App(loaded(tmp_path, text.format(url=url, roots=roots))) as app:
                (said,) = hand_over(app).values()
            assert reason in said
        assert not (tmp_path / "data" / "timestamps").exists()

        with App(settings) as app:
            assert hand_over(app) == {}
            assert app.audit.entries(verb="anchored")

    stamped, token = sorted((tmp_path / "data" / "timestamps").iterdir(), reverse=True)
    assert parse_verifier(key).has_signed(stamped.read_text("utf-8"))
    shell = Shell(tmp_path / "data")
    asked = ("verify", "--checkpoint", str(stamped), "--timestamp", str(token))
    good = shell(*asked, "--timestamp-roots", str(tsa.roots))
    forged = shell(*asked, "--timestamp-roots", str(tsa.strangers))
    other = tmp_path / "other.txt"
    other.write_text(stamped.read_text("utf-8") + "\n")
    moved = shell(*asked[:2], str(other), *asked[3:], "--timestamp-roots", str(tsa.roots))
    assert (good.exit_code, f"an authority saw {stamped} at 20" in good.stderr) == (0, True)
    assert forged.exit_code == moved.exit_code == Exit.REFUSED
    assert "is no good time stamp of" in forged.stderr
    assert shell(*asked).exit_code == Exit.USAGE
    assert shell("verify", "--timestamp", str(token)).exit_code == Exit.USAGE


def test_of_two_places_the_one_that_is_away_is_named_and_tried_again_alone(
    tmp_path: Path, elsewhere: Path, key: str
) -> None:
    text = "ledger: {signing_key: signing.key}\nanchors: {destinations: [elsewhere, away]}\n"
    settings, stream = loaded(tmp_path, text), StringIO()

    telemetry.set_up(level="warning", stream=stream)
    waits = [anchor_when_due(settings) for _ in range(2)]
    telemetry.set_up(level="warning")
    with App(settings) as app:
        found = anchors_of(app)

    away = tmp_path / "away"
    assert all(each < 3600 for each in waits)
    assert (found.is_well, found.sentence.endswith(f"and none to {away}")) == (False, True)
    assert stream.getvalue().count(f"not handed to {away}: the folder {away} is not there") == 2
    away.mkdir()
    assert 86_000 < anchor_when_due(settings) < 86_400
    assert [len(list(each.iterdir())) for each in (elsewhere, away)] == [1, 1]
    with App(settings) as app:
        assert anchors_of(app).is_well


@pytest.mark.parametrize("form", ["8bit", "base64", "quoted-printable"])
def test_a_mail_that_was_saved_is_taken_for_its_checkpoint(
    tmp_path: Path, key: str, form: str
) -> None:
    with App(loaded(tmp_path, "ledger: {signing_key: signing.key}\n")) as app:
        text = app.admin.checkpoint()
    mail = EmailMessage()
    mail["Subject"] = "checkpoint"
    mail.set_content(text, cte=form)
    saved = tmp_path / "saved.eml"
    saved.write_bytes(b"Return-Path: <a@example.org>\r\n" + mail.as_bytes(policy=SMTP))
    shell = Shell(tmp_path / "data")

    good = shell("verify", "--checkpoint", str(saved), "--signed-by", key)
    saved.write_bytes(saved.read_bytes()[:-40])
    cut = shell("verify", "--checkpoint", str(saved), "--signed-by", key)

    assert (good.exit_code, cut.exit_code) == (0, Exit.REFUSED)


def test_a_handover_binds_the_numbers_of_the_log(
    tmp_path: Path, elsewhere: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL they may have gaps, so that only entries of the audit log can bind them."""
    monkeypatch.setattr(SqliteDatabase, "is_gapless", False)
    with App(loaded(tmp_path, FULL)) as app:
        app.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        assert hand_over(app) == {}
        assert app.admin.verify().is_sound

        app.database.run("UPDATE transitions SET seq = seq + 1000")

        assert {each.check for each in app.admin.verify().findings} == {"order"}
