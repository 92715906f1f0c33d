"""What is no proper request is refused as such: addresses, JSON, queries, flags and versions."""

import json
from base64 import urlsafe_b64encode
from itertools import count
from typing import Any

import pytest

from stateward.server.paging import list_name
from stateward.server.strict import DEPTH_MAX
from tests.server.api_client import ApiClient, problem, statement
from tests.server.raw_http import ask

NUMBERS = count(2000)
R1 = {"record_id": "R1", "version": 1}


@pytest.mark.parametrize("address", ["/records/%ff", "/records?q=%ff%fe", "/machines?%ff=1"])
def test_an_address_that_is_no_utf_8_is_400(shared: ApiClient, address: str) -> None:
    head = f"GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    assert ask(shared, head.encode()).startswith(b"HTTP/1.1 400 ")


def test_an_upload_that_offers_another_protocol_is_read_whole(shared: ApiClient) -> None:
    # As curl --http2 sends it. The parser alone would take the form for the other protocol, and drop it.
    form = (
        b'--b\r\nContent-Disposition: form-data; name="source_type"\r\n\r\nbank_csv\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n%b\r\n--b--\r\n'
    ) % statement(next(NUMBERS))
    head = (
        b"POST /uploads HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"
    ) % len(form)
    after = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    said = ask(shared, head, form, after)

    assert said.startswith(b"HTTP/1.1 201 ")
    assert b"HTTP/1.1 200 " in said  # and the connection goes on as it was


DEEP = DEPTH_MAX + 1


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"priority": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"priority": 5, "priority": 6}',
        b'{"priority": 5, "reason": "\xff\xfe"}',
        b'{"priority": 5, "reason": "\\ud800"}',
        b'{"priority": NaN}',
        b'{"priority": 1e999}',
        b'{"priority": ' + b"1" * 5000 + b"}",
        b'{"priority": 5, "colour": "red"}',
        b'{"priority": true}',
        b'{"priority": "5"}',
        b'{"priority": 5.5}',
        b"{",
        b"",
        b"null",
    ],
)
def test_json_that_is_not_what_it_should_be_is_400(shared: ApiClient, body: bytes) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    answer = shared.post(
        f"/records/{record}/priority", content=body, headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


@pytest.mark.parametrize(
    ("at", "after", "numbers"),
    [(0, "", [10**30] * 3), (0, "", [-1] * 3), (2**63, "", []), (0, "\x00", [])],
)
def test_a_cursor_that_a_client_made_up_is_refused(
    shared: ApiClient, at: int, after: str, numbers: list[int]
) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    of = list_name("items", record, None, None, None)
    cursor = urlsafe_b64encode(json.dumps([of, at, after, numbers]).encode()).decode()

    answer = shared.get(f"/records/{record}/items", params={"cursor": cursor})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_a_whole_number_may_have_a_point(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))

    answer = shared.post(f"/records/{record}/priority", content=b'{"priority": 7.0}')

    assert answer.json()["priority"] == 7


def test_names_that_a_path_does_not_know_are_refused_in_a_query(shared: ApiClient) -> None:
    answer = shared.get("/records?staus=done&limit=3")

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert "staus" in answer.text
    assert shared.get("/records?status=parsed&limit=3").status_code == 200
    assert shared.get("/healthz?x=1").status_code == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/erasures", {"record_ids": ["R1"], "reason": "asked", "is_dry_run": 0}),
        ("/retention", {"is_dry_run": 1}),
        ("/records/R1/hold", {"is_held": "true", "reason": "a suit"}),
        ("/batches", {"action": "cancel", "query": "status:parsed", "dry_run": 1}),
        ("/reviews/batches", {"action": "approve", "reviews": [R1], "dry_run": "true"}),
        ("/records/R1/reparse", {"is_preview": 1}),
    ],
)
def test_a_flag_is_true_or_false_and_no_number(
    shared: ApiClient, path: str, body: dict[str, Any]
) -> None:
    answer = shared.post(path, json=body)

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert answer.json()["errors"][0]["sentence"].startswith("Expected `bool`")


@pytest.mark.parametrize(
    "query",
    ["limit=1.0", "limit=1e2", "limit=null", "limit=+1", "limit=2&limit=3", "cursor=a&cursor=b"],
)
def test_a_query_says_one_thing_and_plainly(shared: ApiClient, query: str) -> None:
    answer = shared.get(f"/records?{query}")

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert shared.get("/deliveries?state=null").status_code == 400
    assert shared.get("/records?status=parsed&status=failed&limit=2").status_code == 200


def test_head_is_get_without_a_body(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    for path in ("/records", f"/records/{record}", "/healthz", "/openapi.json"):
        got, asked = shared.get(path), shared.http.head(path)

        assert asked.status_code == got.status_code == 200
        assert asked.content == b""
        assert asked.headers["content-type"] == got.headers["content-type"]
    assert shared.http.head("/events/stream").status_code == 200
    assert shared.http.head("/nowhere").status_code == 404
    assert "HEAD" in shared.http.delete(f"/records/{record}").headers["allow"]


def test_answers_are_not_stored_and_their_type_is_not_guessed(shared: ApiClient) -> None:
    one = f"/records/{shared.sent(statement(next(NUMBERS)))}"
    for path in ("/records", one, "/healthz", "/nowhere", "/openapi.json"):
        headers = shared.get(path).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_priority_is_changed_for_the_version_that_is_meant(shared: ApiClient) -> None:
    record = shared.sent(statement(next(NUMBERS)))
    path, tag = f"/records/{record}/priority", shared.get(f"/records/{record}").headers["etag"]

    stale = shared.post(path, json={"priority": 9}, headers={"If-Match": '"17"'})
    fresh = shared.post(path, json={"priority": 9}, headers={"If-Match": tag})

    assert (stale.status_code, fresh.status_code) == (412, 200)
    assert fresh.json()["priority"] == 9
