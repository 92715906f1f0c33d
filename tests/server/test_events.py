"""The stream of events: in order, none missed, none twice, and only what a key may see."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.server.api_client import ApiClient, problem, serving, settings_at, statement
from tests.waiting import WAIT_S_MAX


@contextmanager
def stream(
    api: ApiClient, *, after: int | None = None, query: str = ""
) -> Iterator[Iterator[dict[str, object]]]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with api.http.stream(
        "GET", f"/events/stream{query}", headers=headers, timeout=WAIT_S_MAX
    ) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.iter_lines())


def events(lines: Iterator[str]) -> Iterator[dict[str, object]]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            key, _, value = line.partition(": ")
            fields[key] = value
        elif "data" in fields:
            event = json.loads(fields["data"])
            assert (fields["event"], int(fields["id"])) == ("transition", event["seq"])
            yield event
            fields = {}


def test_what_happens_is_told_as_it_happens(any_api: ApiClient) -> None:
    any_api.sent(statement(0))
    with stream(any_api) as told:
        sender = threading.Timer(0.1, lambda: any_api.sent(statement(1)))
        sender.start()
        first = next(told)
        sender.join()

    assert (first["seq"], first["to"], first["version"]) == (2, "queued_for_parse", 0)


def test_a_stream_goes_on_where_it_was_cut(api: ApiClient) -> None:
    ids = [api.sent(statement(number)) for number in range(6)]

    with stream(api, query="?after=0") as told:
        first = [next(told) for _ in range(2)]
    with stream(api, after=int(str(first[-1]["seq"]))) as told:
        rest = [next(told) for _ in range(4)]

    assert [each["seq"] for each in first + rest] == [1, 2, 3, 4, 5, 6]
    assert [each["record_id"] for each in first + rest] == ids


def test_a_stream_tells_only_of_what_the_key_may_see(api: ApiClient) -> None:
    everything = api.with_key(name="all", role="operator")
    contracts = api.with_key(name="contracts", role="viewer", pipelines=["contract"])
    everything.sent()
    everything.send(statement(1), path="/records", pipeline="contract")

    with stream(contracts, after=0) as told:
        first = next(told)
    with stream(everything, after=0, query="?machine=contract") as told:
        same = next(told)

    assert (first["seq"], first["machine"]) == (2, "contract")
    assert same == first


def test_a_stream_ends_with_its_key(api: ApiClient) -> None:
    own = api.with_key(name="all", role="operator")
    other = api.with_key(name="other", role="operator")
    own.sent(statement(0))

    with stream(own, after=0) as told:
        next(told)
        api.app.admin.revoke_key(api.app.keys.all()[0].id)
        other.sent(statement(1))
        rest = list(told)

    assert rest == []


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 30, ""])
def test_a_place_that_is_none_is_refused(shared: ApiClient, given: str) -> None:
    answer = shared.get("/events/stream", headers={"Last-Event-ID": given})

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


def test_there_are_no_more_streams_than_the_settings_say(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data", streams_max=1)) as api:
        api.sent()
        with stream(api, after=0) as told:
            next(told)
            second = api.get("/events/stream")

    assert (second.status_code, problem(second)) == (503, "unavailable")
    assert second.headers["retry-after"] == "1"


def test_a_stream_ends_when_the_service_does(tmp_path: Path) -> None:
    seen: list[object] = []
    began = threading.Event()

    def follow(url: str) -> None:
        with (
            httpx2.Client(base_url=url, timeout=WAIT_S_MAX) as http,
            http.stream("GET", "/events/stream?after=0") as answer,
        ):
            for event in events(answer.iter_lines()):
                seen.append(event)
                began.set()

    with serving(settings_at(tmp_path / "data")) as api:
        api.sent()
        follower = threading.Thread(target=follow, args=(api.url,))
        follower.start()
        assert began.wait(WAIT_S_MAX)
    follower.join(WAIT_S_MAX)

    assert not follower.is_alive()
    assert len(seen) == 1
