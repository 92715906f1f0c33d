"""The secrets of webhooks are not in the database: neither new ones nor those of former versions."""

import errno
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest

from stateward import telemetry
from stateward.app import App
from stateward.app.doctor import checks
from stateward.app.secrets import rotate, seal_stored
from stateward.core.errors import SecretUnreadable
from tests.apps import Maker
from tests.notifications.conftest import LOOPBACK, STATEMENT, deliver
from tests.notifications.receivers import receiving
from tests.server.api_client import serving, settings_at

URL = "https://93.184.215.14/hook"
PLAIN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def database_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*.db*") if path.is_file())


def add(app: App, url: str = URL, secret: str | None = None) -> str:
    return app.notifications.add(url, events=["*"], actor="person:a", secret=secret).id


def secrets_line(app: App) -> tuple[bool, str]:
    (found,) = [each for each in checks(app) if each.name == "secrets"]
    return found.is_well, found.sentence


def test_a_secret_is_not_in_the_database_file(make_app: Maker, tmp_path: Path) -> None:
    app = make_app()
    webhook = app.notifications.add(URL, events=["*"], actor="person:a")
    again = app.notifications.rotate(webhook.id, actor="person:a")
    app.close()

    content = database_bytes(tmp_path)
    assert webhook.id.encode() in content
    for secret in (webhook.secret, again.secret):
        assert secret.startswith("whsec_")
        assert secret.removeprefix("whsec_").encode() not in content


def test_a_secret_that_the_api_answers_is_not_in_the_database_file_either(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data")) as api:
        sent = {"json": {"url": URL, "events": ["*"]}, "headers": {"Idempotency-Key": "one"}}
        first = api.post("/webhooks", **sent).json()
        again = api.post("/webhooks", **sent).json()

    assert first == again
    assert first["secret"].removeprefix("whsec_").encode() not in database_bytes(tmp_path)


def test_secrets_of_a_former_version_are_sealed_without_a_trace(
    make_app: Maker, tmp_path: Path
) -> None:
    app = make_app()
    webhook_id = add(app)
    app.database.run("UPDATE webhooks SET secret = :plain", plain=PLAIN)
    assert secrets_line(app) == (False, "1 secret of webhooks and workers stored in plain text")
    assert PLAIN.encode() in database_bytes(tmp_path)

    assert (seal_stored(app), seal_stored(app)) == (1, 0)

    assert PLAIN.encode() not in database_bytes(tmp_path)
    app.notifications.check_secret(app.notifications.webhook(webhook_id))
    assert secrets_line(app) == (True, "1 secret of webhooks and workers encrypted")


def test_messages_are_signed_with_the_same_secret_after_a_rotation_of_the_key(
    make_app: Maker,
) -> None:
    app = make_app(LOOPBACK)
    with receiving() as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:a")
        sealed = app.notifications.webhook(webhook.id).secret

        done = rotate(app, actor="person:a")
        app.submit(STATEMENT, machine="upload", name="a.csv", labels={"source_type": "bank_csv"})
        deliver(app)

        assert receiver.verified(webhook.secret) == len(receiver.posts) > 0
    assert (done.webhooks, done.workers) == (1, 0)
    assert app.notifications.webhook(webhook.id).secret != sealed
    assert app.secrets.ids()[0] == done.key_id
    assert app.audit.entries(verb="secrets_rotated")[0].detail["key_id"] == done.key_id


def test_a_key_file_that_cannot_be_written_is_not_rotated(
    make_app: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    add(app)
    keys = app.secrets.ids()
    read_only = OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr(Path, "replace", Mock(side_effect=read_only))

    with pytest.raises(SecretUnreadable, match=r"Read-only file system.*nothing was changed"):
        rotate(app, actor="person:a")

    assert app.secrets.ids() == keys


def test_without_its_key_nothing_is_signed_and_doctor_says_so(
    make_app: Maker, tmp_path: Path
) -> None:
    app = make_app()
    add(app)
    app.secrets.path.unlink()

    other = make_app()
    is_well, said = secrets_line(other)
    stream = StringIO()
    telemetry.set_up(level="warning", stream=stream)
    seal_stored(other)  # as a service does when it starts
    telemetry.set_up(level="warning")

    assert (is_well, "do not open 1 secret" in said) == (False, True)
    assert "do not open 1 secret of webhooks and workers" in stream.getvalue()
    assert "name it in store.secret_key_file" in stream.getvalue()
    with pytest.raises(SecretUnreadable, match="is not here"):
        add(other, "https://93.184.215.14/other")
