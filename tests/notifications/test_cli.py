"""The command line of webhooks: from an empty folder to a message received and verified."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from tests.cli.shell import Shell, arguments
from tests.notifications.receivers import receiving
from tests.waiting import WAIT_S_MAX

ALLOWED = "data: data\nnotifications: {webhook_allow: [127.0.0.1], webhook_backoff_seconds: [0]}\n"


class Own(Shell):
    """A command line whose settings let it tell this machine."""

    def __call__(self, *args: str, stdin: bytes | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN204
        config = str(self.data.parent / "own.yaml")
        return super().__call__("--config", config, *args, stdin=stdin)


@pytest.fixture
def shell(tmp_path: Path) -> Own:
    (tmp_path / "own.yaml").write_text(ALLOWED)
    return Own(tmp_path / "data")


@contextmanager
def listening(*args: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`stateward webhook listen` in a process of its own, and where it listens."""
    process = subprocess.Popen(
        arguments("webhook", "listen", "--port", "0", *args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        (url,) = re.findall(r"http://\S+", process.stderr.readline())
        yield url, process
    finally:
        process.kill()
        process.communicate()


def test_a_message_reaches_the_receiver_that_ships(shell: Own) -> None:
    secret = "whsec_" + "QUJD" * 8
    with listening("--secret", secret, "--count", "1") as (url, receiver):
        made = shell.json("webhook", "add", url, "--event", "upload.normalized")
        shell("webhook", "rotate", made["id"])
        set_secret(shell, made["id"], secret)

        pinged = shell("webhook", "ping", made["id"])

        output, _ = receiver.communicate(timeout=WAIT_S_MAX)
    assert pinged.exit_code == 0, pinged.stderr
    assert ": delivered" in pinged.stdout
    assert "signature right" in output
    assert '"type": "ping"' in output


def set_secret(shell: Own, webhook_id: str, secret: str) -> None:
    from stateward.storage.sqlite import SqliteDatabase

    database = SqliteDatabase(shell.data / "stateward.db")
    database.run(
        "UPDATE webhooks SET secret = :secret WHERE id = :id", secret=secret, id=webhook_id
    )
    database.close()


def test_the_receiver_says_when_a_signature_is_wrong(shell: Own) -> None:
    with listening("--secret", "whsec_" + "QUJD" * 8, "--count", "1") as (url, receiver):
        made = shell.json("webhook", "add", url, "--event", "*")
        shell("webhook", "ping", made["id"])
        output, _ = receiver.communicate(timeout=WAIT_S_MAX)

    assert "SIGNATURE WRONG" in output


def test_a_ping_that_fails_says_why_and_can_be_seen_in_the_log(shell: Own) -> None:
    with receiving(then=500) as receiver:
        made = shell.json("webhook", "add", receiver.url, "--event", "*")

        pinged = shell("webhook", "ping", made["id"])

    assert pinged.exit_code == Exit.FOUND_PROBLEMS
    assert "answered 500" in pinged.stdout
    (delivery,) = shell.json("webhook", "log", made["id"])
    shown = shell.json("webhook", "log", made["id"], "--message", delivery["message_id"])
    assert shown["body"]["type"] == "ping"
    assert [each["status"] for each in shown["log"]][:1] == [500]
    assert made["secret"] not in str(shown)


def test_a_secret_is_shown_by_who_asks_for_it_alone(shell: Own) -> None:
    made = shell.json("webhook", "add", "https://example.com/", "--event", "upload.error")

    assert made["secret"] not in shell("webhook", "list").stdout
    assert made["secret"] not in shell("webhook", "disable", made["id"]).stdout
    assert made["secret"] in shell("webhook", "show", made["id"]).stdout
    assert shell.json("webhook", "rotate", made["id"])["secret"] != made["secret"]


def test_what_is_asked_for_wrongly_is_refused(shell: Own) -> None:
    assert shell("webhook", "add", "http://10.0.0.1/", "--event", "*").exit_code == Exit.REFUSED
    assert shell("webhook", "add", "https://a.example/", "--event", "x").exit_code == Exit.UNKNOWN
    assert shell("webhook", "ping", "WH_none").exit_code == Exit.UNKNOWN
    assert shell("webhook", "replay").exit_code == Exit.REFUSED
    assert shell("webhook", "replay", "--since", "today").exit_code == Exit.USAGE
    assert shell("webhook", "log", "--message", "msg_1").exit_code == Exit.USAGE


def test_the_dead_are_listed_and_replayed(shell: Own) -> None:
    with receiving(500, 500) as receiver:
        shell("webhook", "add", receiver.url, "--event", "upload.queued_for_parse")
        shell("submit", "-", stdin=b"date;amount\n2026-01-02;2.00\n")
        shell("up", "--until-idle")
        (dead,) = shell.json("webhook", "dead")
        assert dead["error"] == "it answered 500"

        assert shell.json("webhook", "replay", "--dead") == {"replayed": 1}
        shell("up", "--until-idle")

    assert shell.json("webhook", "dead") == []
    assert len(receiver.posts) == 3
    assert len(set(receiver.ids)) == 1
