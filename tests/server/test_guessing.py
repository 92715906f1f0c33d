"""Who guesses keys is held up; whose address is believed, and whose cookie."""

from contextlib import nullcontext
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import pytest
from litestar.connection import ASGIConnection
from litestar.datastructures import Headers

from stateward import telemetry
from stateward.server import throttle
from stateward.server.auth import check_origin, session_cookie
from stateward.server.problems import Refusal
from stateward.server.throttle import (
    LIMITS,
    WINDOW_S,
    Failures,
    account_of,
    address_of,
    network_of,
)
from stateward.settings.server import ApiSettings
from tests.server.api_client import ApiClient


def test_who_shows_wrong_keys_must_wait_and_a_right_one_works_elsewhere(
    api: ApiClient,
) -> None:
    own = api.with_key(role="viewer")
    api.service.failures = Failures()
    wrong = {"Authorization": "Bearer sw_nobodysid_wrong"}
    statuses = [api.get("/records", headers=wrong).status_code for _ in range(LIMITS["both"])]

    assert statuses == [401] * (LIMITS["both"] - 1) + [429]
    held_up = api.get("/records", headers=wrong)
    assert held_up.status_code == 429
    assert int(held_up.headers["retry-after"]) <= WINDOW_S + 1
    assert own.get("/records").status_code == 200
    api.service.failures = Failures()


def test_failures_count_by_address_account_and_both() -> None:
    now = 0.0
    failures = Failures(ticks=lambda: now)
    key, other = "sw_abc_secret", "sw_def_secret"
    for _ in range(LIMITS["both"]):
        failures.add("1.1.1.1", key)

    assert failures.wait_s("1.1.1.1", key) == WINDOW_S
    assert failures.wait_s("1.1.1.1", other) == 0.0
    assert failures.wait_s("2.2.2.2", key) == 0.0
    for number in range(LIMITS["address"]):
        failures.add("1.1.1.1", f"sw_k{number}_secret")
    assert failures.wait_s("1.1.1.1", other) == WINDOW_S
    waits = [failures.add(f"3.3.3.{number}", key)[1] for number in range(LIMITS["account"])]
    assert waits[-1] == WINDOW_S
    now = WINDOW_S
    assert failures.wait_s("1.1.1.1", key) == 0.0


def test_who_guesses_now_is_counted_however_many_others_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throttle, "REMEMBERED_MAX", 30)
    failures = Failures(ticks=lambda: 0.0)
    for number in range(100):
        failures.add(f"1.1.1.{number}", f"sw_k{number}_secret")

    for _ in range(LIMITS["both"]):
        failures.add("2.2.2.2", "sw_abc_secret")

    assert failures.wait_s("2.2.2.2", "sw_abc_secret") == WINDOW_S
    assert len(failures._counts) == 30


def test_who_has_a_network_of_addresses_is_held_up_as_one() -> None:
    failures = Failures(ticks=lambda: 0.0)
    for number in range(LIMITS["both"]):
        failures.add(f"2001:db8:1:2::{number:x}", "sw_abc_secret")

    assert failures.wait_s("2001:db8:1:2:ffff::1", "sw_abc_secret") == WINDOW_S
    assert failures.wait_s("2001:db8:1:3::1", "sw_abc_secret") == 0.0
    assert network_of("::ffff:1.2.3.4") == network_of("1.2.3.4")


@pytest.mark.parametrize(
    ("is_behind_tls", "origin", "is_ours"),
    [
        (False, "http://localhost", True),
        (True, "https://localhost", True),
        (True, "http://localhost", False),
        (True, "null", False),
        (False, "http://[", False),
        (True, "https://localhost.elsewhere", False),
    ],
)
def test_with_tls_a_page_that_came_without_it_is_not_ours(
    *, is_behind_tls: bool, origin: str, is_ours: bool
) -> None:
    service = SimpleNamespace(
        settings=SimpleNamespace(api=ApiSettings(behind_tls_proxy=is_behind_tls))
    )
    asked = SimpleNamespace(
        app=SimpleNamespace(state=SimpleNamespace(service=service)),
        headers={"host": "localhost", "origin": origin},
    )

    with nullcontext() if is_ours else pytest.raises(Refusal):
        check_origin(cast("ASGIConnection[Any, Any, Any, Any]", asked))


@pytest.mark.parametrize(
    ("shown", "account"),
    [("sw_abc_secret", "abc"), ("my password", ""), ("sw_abc", ""), ("sw_a b_c", ""), ("", "")],
)
def test_what_is_no_key_names_no_account(shown: str, account: str) -> None:
    assert account_of(shown) == account


def test_what_is_no_key_leaves_nothing_of_itself_in_the_log(api: ApiClient) -> None:
    api.with_key(name="ann", role="admin")
    log = StringIO()
    telemetry.set_up(level="warning", stream=log)
    try:
        api.get("/uploads", headers={"Authorization": "Bearer my-own-password"})
    finally:
        telemetry.set_up(level="warning")

    assert "a key was refused" in log.getvalue()
    assert "my-own-password" not in log.getvalue()
    assert "my-own-password" not in repr(api.app.audit.entries())


@pytest.mark.parametrize(
    ("peer", "heard", "address"),
    [
        ("9.9.9.9", "1.1.1.1", "9.9.9.9"),
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, nonsense", "10.0.0.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1:5123, 10.0.0.2:80", "1.1.1.1"),
        ("10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6\n1.1.1.1", "1.1.1.1"),  # a proxy that appends a line of its own
    ],
)
def test_an_address_is_believed_from_trusted_proxies_only(
    peer: str, heard: str, address: str
) -> None:
    lines = [(b"x-forwarded-for", line.encode()) for line in heard.splitlines()]
    asked = SimpleNamespace(client=SimpleNamespace(host=peer), headers=Headers(lines))
    settings = ApiSettings(trusted_proxies=("10.0.0.0/8",))

    assert address_of(cast("ASGIConnection[Any, Any, Any, Any]", asked), settings) == address


def test_with_tls_the_cookie_belongs_to_this_host_alone() -> None:
    assert session_cookie(ApiSettings(behind_tls_proxy=True)) == "__Host-stateward_session"
    assert session_cookie(ApiSettings()) == "stateward_session"
