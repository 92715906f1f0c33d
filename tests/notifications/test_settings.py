"""Settings of notifications: paths are relative to the file, impossible values are refused."""

from pathlib import Path

import pytest

from stateward.core.errors import DeclarationError
from stateward.settings import Settings


def load(tmp_path: Path, text: str) -> Settings:
    config = tmp_path / "own.yaml"
    config.write_text(text)
    return Settings.load(config, environ={})


def test_files_are_counted_from_the_file_that_names_them(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "notifications: {ca_file: ca.pem}\nupload_record: {webhooks: {endpoints: "
        "[{url: 'https://a.example/', events: [error], secret_file: keys/a.secret}]}}",
    )

    (endpoint,) = settings.machine("upload").webhooks
    assert settings.notifications.ca_file == str(tmp_path / "ca.pem")
    assert endpoint.secret_file == str(tmp_path / "keys" / "a.secret")


def test_the_waits_of_a_delivery_last_a_day() -> None:
    waits = Settings.load(environ={}).notifications.webhook_backoff_seconds

    assert 23 * 3600 < sum(waits) < 25 * 3600


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("notifications: {webhook_allow: ['10.0.0.1/8']}", "an entry must be a host"),
        ("notifications: {webhook_allow: ['http://a']}", "an entry must be a host"),
        ("notifications: {webhook_allow: ['*']}", "an entry must be a host"),
        ("notifications: {webhook_ports: [0]}", "webhook_ports"),
        ("notifications: {webhook_timeout_seconds: 0}", "webhook_timeout_seconds"),
        ("notifications: {email_on: [everything]}", "email_on"),
        ("notifications: {public_url: 'stateward.example.com'}", "public_url must be"),
        ("notifications: {admin_email: a@b.c}", "are needed together"),
        ("upload_record: {webhooks: {endpoints: [{url: x, events: [error]}]}}", "url must be"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(DeclarationError, match=sentence) as refusal:
        load(tmp_path, text)

    assert "own.yaml:1" in str(refusal.value)


@pytest.mark.parametrize("place", ["internal-api", "*.corp.example", "10.0.0.0/8", "::1", "A_b.c."])
def test_places_of_ones_own_can_be_allowed(tmp_path: Path, place: str) -> None:
    assert load(
        tmp_path, f"notifications: {{webhook_allow: ['{place}']}}"
    ).notifications.webhook_allow == (place,)


@pytest.mark.parametrize(
    ("feed", "transport", "is_refused"),
    [
        ("nats://a", "nats://me:secret@a:4222", True),
        ("nats://a", "{url: 'nats://b'}", False),
        ("redis://a", "{url: 'redis://a'}", False),
        ("{url: 'nats://a', topic: 'stateward.feed.{machine}'}", "{url: 'nats://a'}", False),
        ("nats://a", "{url: 'nats://a', prefix: other}", False),
    ],
)
def test_a_feed_that_takes_the_subjects_of_the_transport_is_refused(
    tmp_path: Path, feed: str, transport: str, *, is_refused: bool
) -> None:
    text = f"feed: {feed}\ntransport: {transport}\n"
    if not is_refused:
        load(tmp_path, text)
        return
    with pytest.raises(DeclarationError, match=r"such as stateward.feed.\{machine\}"):
        load(tmp_path, text)
