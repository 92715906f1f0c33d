"""The client of a chat endpoint: what is tried again, what is not, how long it waits, and what it never says."""

import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure, StageFailure
from stateward.pipelines.contracts import chat
from stateward.pipelines.contracts.chat import Endpoint, ask
from tests.notifications.certificates import Authority
from tests.pipelines.contracts.endpoint import (
    Reply,
    answers_raw,
    drips,
    hangs_up,
    refuses,
    serving,
    stalls,
    tears_off,
)

KEY = "sk-proj-0123456789abcdef"


class Waits:
    """Sleeps that take no time, remembered."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.warnings: list[str] = []

    def ask(self, url: str, *, left_s: float | None = None, **changes: object) -> bytes:
        given = {"base_url": url, "name": "stub", "key": KEY, "timeout_s": 20.0, "retries": 3}
        return ask(
            Endpoint(**(given | changes)),  # type: ignore[arg-type]
            b'{"model": "stub"}',
            left_s=lambda: left_s,
            sleep=self.waited.append,
            warn=self.warnings.append,
        )


@pytest.mark.parametrize(
    "trouble",
    [refuses(429), refuses(500), refuses(502), refuses(503), refuses(529), refuses(408), hangs_up, tears_off],
)  # fmt: skip
def test_what_passes_by_itself_is_tried_again(trouble: Reply) -> None:
    waits = Waits()
    with serving(trouble, trouble, answers_raw(b"here")) as endpoint:
        answer = waits.ask(endpoint.url)

    assert answer == b"here"
    assert endpoint.count == 3
    assert waits.waited == [1.0, 2.0]


def test_the_wait_that_an_endpoint_asks_for_is_kept() -> None:
    waits = Waits()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    with serving(
        refuses(429, Retry_After="7"),
        refuses(503, Retry_After="0.5"),
        refuses(429, Retry_After=later),
        answers_raw(b"here"),
    ) as endpoint:
        waits.ask(endpoint.url)

    assert waits.waited[:2] == [7.0, 2.0]
    assert 50.0 <= waits.waited[2] <= 101.0
    assert waits.warnings[0] == "it answered 429 and asked to wait 7 s; next try in 7 s"


@pytest.mark.parametrize("asked", ["3600", "999999999"])
def test_a_wait_that_is_too_long_fails_the_attempt_at_once(asked: str) -> None:
    waits = Waits()
    with (
        serving(refuses(429, Retry_After=asked)) as endpoint,
        pytest.raises(StageFailure) as failed,
    ):
        waits.ask(endpoint.url)

    assert (failed.value.code, failed.value.is_retryable) == ("MODEL_BUSY", True)
    assert (endpoint.count, waits.waited) == (1, [])


def test_no_wait_outlasts_the_attempt() -> None:
    waits = Waits()
    with (
        serving(refuses(429, Retry_After="30")) as endpoint,
        pytest.raises(StageFailure, match="asked to wait 30 s"),
    ):
        waits.ask(endpoint.url, left_s=20.0)

    assert waits.waited == []


def test_tries_are_counted() -> None:
    waits = Waits()
    with serving(refuses(503)) as endpoint, pytest.raises(StageFailure) as failed:
        waits.ask(endpoint.url, retries=2)

    assert (failed.value.code, failed.value.is_retryable) == ("MODEL_UNAVAILABLE", True)
    assert not isinstance(failed.value, FatalFailure)
    assert (endpoint.count, waits.waited) == (3, [1.0, 2.0])


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "MODEL_BAD_REQUEST"),
        (401, "MODEL_KEY_REFUSED"),
        (402, "MODEL_KEY_REFUSED"),
        (403, "MODEL_KEY_REFUSED"),
        (404, "MODEL_NOT_FOUND"),
        (413, "MODEL_BAD_REQUEST"),
        (422, "MODEL_BAD_REQUEST"),
        (307, "MODEL_BAD_REQUEST"),
    ],
)
def test_what_no_try_can_cure_fails_at_once(status: int, code: str) -> None:
    waits = Waits()
    with serving(refuses(status, "no")) as endpoint, pytest.raises(FatalFailure) as failed:
        waits.ask(endpoint.url)

    assert failed.value.code == code
    assert (endpoint.count, waits.waited) == (1, [])


@pytest.mark.parametrize("key", [KEY, "Geheim-0123"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_the_key_is_never_repeated(status: int, key: str) -> None:
    body = f"Incorrect API key provided: {key}, see sk-proj-0123****cdef"
    waits = Waits()
    with serving(refuses(status, body)) as endpoint, pytest.raises(StageFailure) as failed:
        waits.ask(endpoint.url, key=key)

    held = Endpoint(base_url="x", name="y", key=key)
    said = f"{failed.value} {failed.value!r} {waits.warnings} {held}"
    assert "0123" not in said.replace(endpoint.url, "an address whose port may hold them too")
    assert endpoint.headers[0]["Authorization"] == f"Bearer {key}"


def test_a_redirect_does_not_carry_the_key_elsewhere() -> None:
    with serving(answers_raw(b"stolen")) as other:
        away = refuses(302, Location=f"{other.url}/chat/completions")
        with serving(away) as endpoint, pytest.raises(FatalFailure):
            Waits().ask(endpoint.url)

    assert other.count == 0


@pytest.mark.parametrize("silent", [stalls, drips])
def test_an_endpoint_that_does_not_come_to_an_end_is_left(silent: Reply) -> None:
    with (
        serving(silent) as endpoint,
        pytest.raises(StageFailure, match="did not answer within 1 s") as failed,
    ):
        Waits().ask(endpoint.url, timeout_s=1.0, retries=0)

    assert failed.value.code == "MODEL_UNAVAILABLE"


def test_an_address_without_a_server_is_a_failure_that_may_pass() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]  # bound, and not listening

        with pytest.raises(StageFailure, match="ConnectionRefusedError") as failed:
            Waits().ask(f"http://127.0.0.1:{port}/v1", retries=1)

    assert failed.value.is_retryable


def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "ANSWER_BYTES_MAX", 1000)

    with (
        serving(answers_raw(b"x" * 5000)) as endpoint,
        pytest.raises(FatalFailure) as failed,
    ):
        Waits().ask(endpoint.url)

    assert failed.value.code == "MODEL_ANSWER_TOO_LARGE"


def test_only_a_trusted_certificate_is_shown_the_key(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certify("127.0.0.1"))
    with serving(answers_raw(b"here")) as endpoint:
        endpoint.socket = context.wrap_socket(endpoint.socket, server_side=True)
        url = endpoint.url.replace("http://", "https://")

        with pytest.raises(FatalFailure) as failed:
            Waits().ask(url)
        answer = Waits().ask(url, ca_file=str(authority.file))

    assert failed.value.code == "MODEL_TLS"
    assert answer == b"here"
    assert endpoint.count == 1
