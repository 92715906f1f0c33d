"""Changing: guarded by versions, done once, kept with who and why; and many at once."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stateward.server import bulk
from tests.server.api_client import STATEMENT, ApiClient, problem, serving, settings_at, statement
from tests.waiting import WAIT_S_MAX, wait_until


def test_a_retry_and_a_cancel_are_kept_with_who_and_why(any_api: ApiClient) -> None:
    api = any_api.with_key(name="anna", role="operator")
    upload_id = api.sent()

    cancelled = api.post(f"/uploads/{upload_id}/cancel", json={"reason": "sent by mistake"})
    retried = api.post(f"/records/{upload_id}/retry", json={"reason": "it was none"})

    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "error")
    assert (retried.status_code, retried.json()["status"]) == (200, "queued_for_parse")
    assert retried.headers["etag"] == '"2"'
    (key,) = any_api.app.keys.all()
    history = api.get(f"/uploads/{upload_id}/history").json()["items"]
    assert [each["actor"] for each in history] == [f"person:anna@{key.id}"] * 3
    assert [each["metadata"].get("reason") for each in history] == [
        None,
        "sent by mistake",
        "it was none",
    ]
    assert any_api.app.admin.verify().is_sound


def test_a_change_of_another_version_is_refused_with_the_present_one(any_api: ApiClient) -> None:
    upload_id = any_api.sent()

    stale = any_api.post(f"/uploads/{upload_id}/cancel", headers={"If-Match": '"3"'})
    fitting = any_api.post(f"/uploads/{upload_id}/cancel", headers={"If-Match": '"0"'})
    any_version = any_api.post(f"/uploads/{upload_id}/retry", headers={"If-Match": "*"})

    assert (stale.status_code, problem(stale)) == (412, "stale")
    assert (stale.headers["etag"], stale.json()["version"]) == ('"0"', 0)
    assert (fitting.status_code, any_version.status_code) == (200, 200)


def test_a_version_must_be_named_where_the_settings_say_so(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data", require_if_match=True)) as api:
        upload_id = api.sent()

        without = api.post(f"/uploads/{upload_id}/cancel")
        with_it = api.post(f"/uploads/{upload_id}/cancel", headers={"If-Match": '"0"'})

    assert (without.status_code, problem(without)) == (428, "if-match-required")
    assert with_it.status_code == 200


@pytest.mark.parametrize("given", ['W/"0"', "0", '"0", "1"', "", '"a"'])
def test_an_if_match_that_is_none_of_ours_is_refused(shared: ApiClient, given: str) -> None:
    answer = shared.post("/uploads/UL_x/cancel", headers={"If-Match": given})

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


def test_a_move_that_the_machine_lacks_is_refused_with_those_it_has(api: ApiClient) -> None:
    upload_id = api.sent()

    answer = api.post(f"/uploads/{upload_id}/retry")

    assert (answer.status_code, problem(answer)) == (409, "impossible")
    assert (answer.json()["found"], answer.json()["allowed"]) == (
        "queued_for_parse",
        ["parsing", "error"],
    )
    assert api.get(f"/uploads/{upload_id}").json()["version"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"reason": 1}',
        b'{"raison": "x"}',
        b"\xff",
        b'{"reason":"' + b"x" * 2001 + b'"}',
    ],
)
def test_a_document_that_cannot_be_right_is_refused(shared: ApiClient, body: bytes) -> None:
    answer = shared.post("/uploads/UL_x/cancel", content=body)

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


def test_a_document_that_is_too_large_is_refused(shared: ApiClient) -> None:
    answer = shared.post("/batches", content=b'{"query":"' + b"x" * 1_100_000 + b'"}')

    assert (answer.status_code, problem(answer)) == (413, "too-large")


# Once


def test_a_request_that_is_sent_again_gets_the_same_answer(any_api: ApiClient) -> None:
    once = {"Idempotency-Key": "monthly-2026-01"}

    first = any_api.send(headers=once)
    again = any_api.send(headers=once)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["location"] == first.headers["location"]


def test_a_refusal_is_given_again_too(api: ApiClient) -> None:
    upload_id = api.sent()
    once = {"Idempotency-Key": "k"}

    refused = api.post(f"/uploads/{upload_id}/retry", headers=once)
    api.post(f"/uploads/{upload_id}/cancel")
    again = api.post(f"/uploads/{upload_id}/retry", headers=once)
    quoted = api.post(f"/uploads/{upload_id}/retry", headers={"Idempotency-Key": '"k"'})
    bare = api.post(f"/uploads/{upload_id}/cancel", headers={"Idempotency-Key": '"'})

    assert (refused.status_code, again.status_code) == (409, 409)
    assert quoted.content == refused.content, "quotes around a key are none of it"
    assert problem(bare) == "impossible", "one quote alone is a key"
    assert again.content == refused.content
    assert api.get(f"/uploads/{upload_id}").json()["status"] == "error"


@pytest.mark.parametrize("other", ["content", "field", "path", "if-match"])
def test_a_key_that_was_used_for_another_request_is_refused(api: ApiClient, other: str) -> None:
    once = {"Idempotency-Key": "k"}
    upload_id = api.sent()
    if other in ("content", "field"):
        api.send(statement(1), headers=once)
        answer = (
            api.send(statement(2), headers=once)
            if other == "content"
            else api.send(statement(1), headers=once, priority="9")
        )
    else:
        api.post(f"/uploads/{upload_id}/cancel", headers=once)
        path = f"/records/{upload_id}/cancel" if other == "path" else f"/uploads/{upload_id}/cancel"
        answer = api.post(
            path, headers={**once, **({"If-Match": '"1"'} if other == "if-match" else {})}
        )

    assert (answer.status_code, problem(answer)) == (422, "key-reused")


def test_the_same_key_means_another_request_for_another_caller(api: ApiClient) -> None:
    anna = api.with_key(name="anna", role="submitter")
    bert = api.with_key(name="bert", role="submitter")

    first = anna.send(statement(1), headers={"Idempotency-Key": "k"})
    other = bert.send(statement(2), headers={"Idempotency-Key": "k"})

    assert (first.status_code, other.status_code) == (201, 201)


def test_the_same_request_while_the_first_still_runs_is_told_to_come_back(api: ApiClient) -> None:
    import socket

    host, port = api.url.removeprefix("http://").split(":")
    head = (
        f"POST /uploads HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\nIdempotency-Key: k\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode())
        wait_until(lambda: api.service.writer._under_way)
        meanwhile = api.send(headers={"Idempotency-Key": "k"})
    wait_until(lambda: not api.service.writer._under_way)
    later = api.send(headers={"Idempotency-Key": "k"})

    assert (meanwhile.status_code, problem(meanwhile)) == (409, "in-progress")
    assert meanwhile.headers["retry-after"] == "1"
    assert later.status_code == 201


def test_an_answer_is_given_again_by_a_service_that_was_started_anew(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    once = {"Idempotency-Key": "k"}
    with serving(settings) as api:
        first = api.send(headers=once)
    with serving(settings) as api:
        again = api.send(headers=once)

    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("key", ["", "x" * 256, "with space"])
def test_a_key_of_a_request_that_cannot_be_one_is_refused(shared: ApiClient, key: str) -> None:
    answer = shared.send(headers={"Idempotency-Key": key})

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


def test_many_at_once_make_one_record_each(api: ApiClient) -> None:
    before = api.app.store.lanes.count_transitions()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: api.send(statement(n % 20)).status_code, range(40)))

    assert sorted(answers) == [201] * 20 + [409] * 20
    assert api.app.store.lanes.count_transitions() == before + 20
    assert api.app.admin.verify().is_sound


def test_what_comes_while_the_writer_waits_is_committed_together(api: ApiClient) -> None:
    writer, is_busy, may_go_on = api.service.writer, threading.Event(), threading.Event()

    def occupy(_: object) -> None:
        is_busy.set()
        may_go_on.wait(WAIT_S_MAX)

    asyncio.run_coroutine_threadsafe(writer.ask(occupy), writer._loop)
    # Only a writer that is at work takes none of the uploads along with this call.
    assert is_busy.wait(WAIT_S_MAX)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(api.sent, statement(number)) for number in range(8)]
        wait_until(lambda: writer._queue.qsize() >= 8)
        may_go_on.set()
        ids = [answer.result() for answer in answers]

    # A transaction gives all of its records one time.
    assert len({api.app.record(each).created_at for each in ids}) == 1


# Bulk


def until_done(api: ApiClient, batch_id: str) -> dict[str, object]:
    def batch() -> dict[str, object] | None:
        found: dict[str, object] = api.get(f"/batches/{batch_id}").json()
        return None if found["status"] == "running" else found

    done = wait_until(batch)
    assert done is not None
    return done


def test_a_bulk_action_is_foreseen_done_and_counted(any_api: ApiClient) -> None:
    api = any_api
    ids = [api.sent(statement(number)) for number in range(5)]
    api.post(f"/uploads/{ids[0]}/cancel")
    asked = {"action": "cancel", "query": "machine:upload", "reason": "all of it"}

    foreseen = api.post("/batches", json={**asked, "dry_run": True})
    begun = api.post("/batches", json=asked)
    done = until_done(api, begun.json()["id"])

    assert foreseen.status_code == 200
    assert foreseen.json()["by_status"] == {"queued_for_parse": 4, "error": 1}
    assert (foreseen.json()["matched"], foreseen.json()["applied"]) == (5, 4)
    assert foreseen.json()["refused"] == {"impossible": 1}
    assert begun.status_code == 202
    assert begun.headers["location"] == f"/batches/{begun.json()['id']}"
    assert (done["status"], done["expected"], done["matched"], done["applied"]) == ("done", 5, 5, 4)
    assert done["refused"] == {"impossible": 1}
    assert api.get("/batches").json()["items"][0] == done
    history = api.get(f"/uploads/{ids[4]}/history").json()["items"]
    assert history[-1]["metadata"]["reason"] == "all of it"


def test_records_can_be_named_for_a_bulk_action(api: ApiClient) -> None:
    ids = [api.sent(statement(number)) for number in range(3)]

    begun = api.post("/batches", json={"action": "cancel", "ids": ids[:2]})
    done = until_done(api, begun.json()["id"])
    unknown = api.post("/batches", json={"action": "cancel", "ids": [ids[0], "UL_nothing"]})

    assert (done["matched"], done["applied"]) == (2, 2)
    assert api.get(f"/uploads/{ids[2]}").json()["status"] == "queued_for_parse"
    assert (unknown.status_code, problem(unknown)) == (404, "not-found")


@pytest.mark.parametrize(
    "asked",
    [
        {"action": "cancel"},
        {"action": "cancel", "query": ""},
        {"action": "cancel", "query": "   "},
        {"action": "cancel", "query": "", "dry_run": True},
        {"action": "cancel", "query": "status:error", "ids": ["UL_x"]},
    ],
)
def test_a_bulk_action_on_nothing_in_particular_is_refused(
    shared: ApiClient, asked: dict[str, object]
) -> None:
    answer = shared.post("/batches", json=asked)

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


@pytest.mark.parametrize(
    "asked", [{"action": "destroy", "query": "status:error"}, {"query": "status:error"}]
)
def test_a_bulk_action_that_there_is_not_is_refused(
    shared: ApiClient, asked: dict[str, object]
) -> None:
    answer = shared.post("/batches", json=asked)

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")


def test_a_bulk_action_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    with serving(settings) as api:
        for number in range(4):
            api.sent(statement(number))
        with api.app.database.transaction():
            batch = bulk.begin(
                api.app,
                "cancel",
                text="machine:upload",
                ids=(),
                machines=(),
                actor="person:x",
                reason=None,
            )

    with serving(settings) as api:
        done = until_done(api, batch.id)

    assert (done["status"], done["applied"]) == ("done", 4)


def test_a_bulk_action_can_be_aborted(api: ApiClient) -> None:
    ids = [api.sent(statement(number)) for number in range(3)]
    with (
        api.app.database.transaction()
    ):  # begun and not carried out, so that it can be met in the middle
        batch = bulk.begin(
            api.app,
            "cancel",
            text="machine:upload",
            ids=(),
            machines=(),
            actor="person:x",
            reason=None,
        )

    stale = api.post(f"/batches/{batch.id}/abort", headers={"If-Match": '"7"'})
    aborted = api.post(f"/batches/{batch.id}/abort")
    again = api.post(f"/batches/{batch.id}/abort")
    bulk.step(api.app, batch.id)

    assert (stale.status_code, problem(stale), stale.headers["etag"]) == (412, "stale", '"0"')
    assert (aborted.status_code, aborted.json()["status"]) == (200, "aborted")
    assert (again.status_code, problem(again)) == (409, "impossible")
    assert api.get(f"/uploads/{ids[0]}").json()["status"] == "queued_for_parse"


def test_two_who_carry_out_one_bulk_action_act_on_each_record_once(any_api: ApiClient) -> None:
    for number in range(6):
        any_api.sent(statement(number))
    app = any_api.app
    with app.database.transaction():
        batch = bulk.begin(
            app, "cancel", text="machine:upload", ids=(), machines=(), actor="person:x", reason=None
        )
    from stateward.app import App

    def carry_out() -> None:
        with App(app.settings) as own:
            while bulk.step(own, batch.id).status == "running":
                pass

    several = [threading.Thread(target=carry_out) for _ in range(2)]
    for each in several:
        each.start()
    for each in several:
        each.join(WAIT_S_MAX)

    done = any_api.get(f"/batches/{batch.id}").json()
    assert (done["status"], done["matched"], done["applied"], done["refused"]) == ("done", 6, 6, {})


# Pauses


def test_a_stage_is_paused_and_resumed(api: ApiClient) -> None:
    paused = api.post("/machines/upload/pause", json={"stage": "parse", "reason": "mending"})
    listed = api.get("/pauses").json()["items"]
    resumed = api.post("/machines/upload/resume", json={"stage": "parse"})
    unknown = api.post("/machines/upload/pause", json={"stage": "prase"})

    assert paused.json() == {
        "machine": "upload",
        "stage": "parse",
        "is_paused": True,
        "was_paused": False,
    }
    assert [(each["stage"], each["reason"]) for each in listed] == [("parse", "mending")]
    assert resumed.json()["was_paused"] is True
    assert (unknown.status_code, problem(unknown)) == (422, "unknown-value")
    assert api.get("/pauses").json()["items"] == []


def test_what_was_promised_is_kept_when_the_service_is_stopped(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    taken: list[str] = []
    with serving(settings) as api:
        taken += [api.sent(STATEMENT + b"x;%d\n" % number) for number in range(5)]
    with serving(settings) as api:
        assert {each["upload_id"] for each in api.get("/uploads").json()["items"]} == set(taken)
