"""Looking: versions as ETags, waiting, lists with cursors, histories, items, logs, pictures."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.server.api_client import ApiClient, problem, serving, settings_at
from tests.waiting import WAIT_S_MAX, wait_until


def newest(api: ApiClient) -> str:
    return str(api.get("/uploads?status=normalized&limit=1").json()["items"][0]["upload_id"])


def test_a_version_is_an_etag_and_is_not_sent_twice(worked: ApiClient) -> None:
    upload_id = newest(worked)

    first = worked.get(f"/uploads/{upload_id}")
    again = worked.get(f"/uploads/{upload_id}", headers={"If-None-Match": first.headers["etag"]})
    other = worked.get(f"/uploads/{upload_id}", headers={"If-None-Match": '"999"'})

    assert first.headers["etag"] == f'"{first.json()["version"]}"'
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert other.status_code == 200


def test_a_list_is_walked_with_cursors_and_each_is_met_once(worked: ApiClient) -> None:
    found: list[str] = []
    path = "/uploads?limit=3&status=normalized,error"
    pages = 0
    while path:
        answer = worked.get(path)
        assert answer.status_code == 200, answer.text
        found += [each["upload_id"] for each in answer.json()["items"]]
        following = answer.json()["next"]
        assert ("link" in answer.headers) == (following is not None)
        path = answer.headers["link"][1:].partition(">")[0] if following else ""
        pages += 1

    assert (pages, len(found)) == (3, 8)
    assert found == sorted(set(found), reverse=True)


@pytest.mark.parametrize("cursor", ["", "x", "!!!!", "W10=", "bm8gY3Vyc29y", "ünïcode"])
def test_a_cursor_that_is_none_is_refused(worked: ApiClient, cursor: str) -> None:
    answer = worked.get("/uploads", params={"cursor": cursor})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_a_cursor_of_another_list_is_refused(worked: ApiClient) -> None:
    cursor = worked.get("/uploads?limit=1").json()["next"]

    answer = worked.get("/uploads", params={"limit": 1, "cursor": cursor, "status": "error"})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_a_list_is_filtered_by_status_type_and_query(worked: ApiClient) -> None:
    names = {
        text: [each["filename"] for each in worked.get(f"/uploads?{text}").json()["items"]]
        for text in (
            "status=error",
            "q=file-3",
            "source_type=bank_pdf",
            "source_type=bank_csv&q=file-2,file-4",
            "q=age>1h",
        )
    }

    assert names == {
        "status=error": ["broken.csv"],
        "q=file-3": ["file-3.csv"],
        "source_type=bank_pdf": [],
        "source_type=bank_csv&q=file-2,file-4": ["file-4.csv", "file-2.csv"],
        "q=age>1h": [],
    }


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("q=status:parsnig", (422, "unprocessable")),
        ("q=state:error", (422, "unprocessable")),
        ("status=nowhere", (422, "unprocessable")),
        ("q=%00", (422, "unprocessable")),
        ("limit=0", (400, "invalid-request")),
        ("limit=many", (400, "invalid-request")),
    ],
)
def test_a_query_that_cannot_be_right_is_refused(
    worked: ApiClient, parameters: str, expected: tuple[int, str]
) -> None:
    answer = worked.get(f"/uploads?{parameters}")

    assert (answer.status_code, problem(answer)) == expected


def test_the_rows_of_a_stage_come_in_pages(worked: ApiClient) -> None:
    upload_id = newest(worked)

    first = worked.get(f"/uploads/{upload_id}/items?kind=canonicals&limit=2").json()
    rest = worked.get(
        f"/uploads/{upload_id}/items",
        params={"kind": "canonicals", "limit": 2, "cursor": first["next"]},
    ).json()

    assert (first["kind"], first["stage"], len(first["items"])) == ("canonicals", "normalize", 2)
    assert [each["description"] for each in first["items"] + rest["items"]] == [
        "Coffee",
        "Bread",
        "Tram",
    ]
    assert rest["next"] is None
    wrong = worked.get(f"/records/{upload_id}/items?kind=clauses")
    assert (wrong.status_code, problem(wrong)) == (422, "unknown-value")
    assert wrong.json()["allowed"] == ["canonicals", "observations"]


def test_a_history_says_who_what_and_its_hash(worked: ApiClient) -> None:
    upload_id = newest(worked)

    history = worked.get(f"/uploads/{upload_id}/history").json()["items"]
    pages = [worked.get(f"/uploads/{upload_id}/history?limit=2").json()]
    while pages[-1]["next"]:
        cursor = pages[-1]["next"]
        pages.append(
            worked.get(
                f"/uploads/{upload_id}/history", params={"limit": 2, "cursor": cursor}
            ).json()
        )

    assert [each["to"] for each in history] == [
        "queued_for_parse", "parsing", "parsed", "normalizing", "normalized",
    ]  # fmt: skip
    assert [each["version"] for each in history] == [0, 1, 2, 3, 4]
    assert all(later["prev_hash"] == earlier["hash"] for earlier, later in pairwise(history))
    assert [each for page in pages for each in page["items"]] == history


def test_logs_are_found_by_stage_and_by_reference(worked: ApiClient) -> None:
    upload_id = newest(worked)

    log = worked.get(f"/uploads/{upload_id}/logs/parse").json()
    arrival = worked.get(f"/uploads/{upload_id}/logs/upload").json()
    unknown = worked.get(f"/uploads/{upload_id}/logs/nothing")

    assert log["attempts"][0]["stage"] == "parse"
    assert worked.get(f"/logs/parse/{upload_id}").json() == log
    assert arrival["attempts"][0]["log"][0]["message"] == "submitted by anonymous"
    assert (unknown.status_code, problem(unknown)) == (422, "unknown-value")


def test_a_record_of_any_machine_is_seen_as_a_record(worked: ApiClient) -> None:
    upload_id = newest(worked)

    record = worked.get(f"/records/{upload_id}").json()
    why = worked.get(f"/records/{upload_id}/explain").json()

    assert (record["id"], record["machine"], record["is_at_rest"]) == (upload_id, "upload", True)
    assert record["exposed"]["canonicals_count"] == 3
    assert (why["code"], why["sentence"]) == ("ended", "finished: normalized")


def test_counts_and_errors_are_grouped(worked: ApiClient) -> None:
    counts = worked.get("/counts").json()["items"]
    some = worked.get("/counts?q=status:error").json()["items"]
    errors = worked.get("/errors").json()["items"]

    assert [(each["status"], each["count"]) for each in counts] == [("normalized", 7), ("error", 1)]
    assert [(each["status"], each["count"]) for each in some] == [("error", 1)]
    assert [each["count"] for each in errors] == [1]


def test_machines_are_listed_shown_and_drawn(worked: ApiClient) -> None:
    names = [each["name"] for each in worked.get("/machines").json()["items"]]
    shown = worked.get("/machines/upload").json()
    drawn = worked.get("/machines/upload/graph.svg")

    assert {"upload", "contract", "literature"} <= set(names)
    assert shown["declaration"]["initial"] == "queued_for_parse"
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert drawn.text.lstrip().startswith("<svg")
    assert (worked.get("/machines/nothing").status_code) == 404


@pytest.mark.parametrize(
    "path",
    [
        "/uploads/UL_nothing", "/records/UL_nothing", "/uploads/UL_nothing/history", "/records/x/items",
        "/uploads/x/logs/parse", "/records/x/explain", "/batches/BA_nothing", "/nowhere", "/uploads/../../etc/passwd",
        "/uploads/%00", "/healthz/", "/x/healthz",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(worked: ApiClient, path: str) -> None:
    answer = worked.http.get(path)

    assert answer.status_code in (404, 200 if path == "/healthz/" else 404)
    if answer.status_code == 404:
        assert problem(answer) == "not-found"


def test_a_method_that_is_not_there_is_named_with_those_that_are(worked: ApiClient) -> None:
    answer = worked.http.put("/uploads")
    asked = worked.http.request("OPTIONS", "/uploads")

    assert (answer.status_code, problem(answer)) == (405, "method-not-allowed")
    assert {"GET", "POST"} <= {each.strip() for each in answer.headers["allow"].split(",")}
    assert asked.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_waiting_ends_when_the_record_has_ended(any_api: ApiClient) -> None:
    upload_id = any_api.sent()
    any_api.until_quiet()
    seen: list[Any] = []
    waiting = threading.Thread(
        target=lambda: seen.append(any_api.get(f"/uploads/{upload_id}?wait=60s").json())
    )
    waiting.start()
    wait_until(lambda: any_api.service.requests)
    assert seen == []

    any_api.work()
    waiting.join(WAIT_S_MAX)

    assert seen[0]["status"] == "normalized"


def test_waiting_with_an_etag_ends_at_the_next_change_or_with_304(api: ApiClient) -> None:
    upload_id = api.sent()
    known = {"If-None-Match": '"0"'}

    quiet = api.get(f"/uploads/{upload_id}?wait=0.2s", headers=known)
    api.until_quiet()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api.get, f"/uploads/{upload_id}?wait=60", headers=known)
        wait_until(lambda: api.service.requests)
        api.post(f"/uploads/{upload_id}/cancel")
        changed = waiting.result(WAIT_S_MAX)

    assert quiet.status_code == 304
    assert (changed.status_code, changed.json()["version"]) == (200, 1)


@pytest.mark.parametrize(
    ("wait", "status"), [("-1", 400), ("soon", 400), ("61s", 422), ("1e9", 400), ("", 400)]
)
def test_a_wait_that_is_none_is_refused(worked: ApiClient, wait: str, status: int) -> None:
    answer = worked.get(f"/uploads/{newest(worked)}", params={"wait": wait})

    assert answer.status_code == status


def test_the_service_says_whether_it_is_ready(worked: ApiClient) -> None:
    alive = worked.get("/healthz")
    not_ready = worked.get("/readyz")
    with worked.app.node(is_coordinator=False):
        pass
    with worked.app.node() as node:
        node.turn()
        ready = worked.get("/readyz")

    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (not_ready.status_code, not_ready.json()["status"]) == (503, "not_ready")
    assert [each["name"] for each in not_ready.json()["checks"] if not each["is_well"]] == [
        "workers"
    ]
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


def test_pages_are_no_longer_than_the_settings_say(tmp_path: Path) -> None:
    from msgspec.structs import replace

    settings = settings_at(tmp_path / "data")
    settings = replace(settings, limits=replace(settings.limits, page_rows_max=2))
    with serving(settings) as api:
        for number in range(3):
            api.sent(b"a;b\n1;%d\n" % number)

        assert len(api.get("/uploads?limit=100").json()["items"]) == 2


def test_no_more_is_under_way_than_the_settings_say(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data", requests_max=1)) as api:
        upload_id = api.sent()
        api.until_quiet()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(api.get, f"/uploads/{upload_id}?wait=60s")
            wait_until(lambda: api.service.requests)
            busy = api.get("/uploads")
            api.work()
            waiting.result(WAIT_S_MAX)
        api.until_quiet()
        later = api.get("/uploads")

    assert (busy.status_code, problem(busy)) == (503, "unavailable")
    assert busy.headers["retry-after"] == "1"
    assert later.status_code == 200


def test_the_beginning_of_an_id_is_enough_where_it_is_one(worked: ApiClient) -> None:
    ids = [each["id"] for each in worked.get("/records").json()["items"]]
    whole = ids[0]
    rest = [each for each in ids if each != whole]
    same = max(n for n in range(len(whole)) if any(each.startswith(whole[:n]) for each in rest))
    prefix, _, _ = whole.partition("_")

    answers = [worked.get(f"/{path}/{whole[: same + 1]}") for path in ("records", "uploads")]
    several = worked.get(f"/records/{whole[:same]}")
    none = worked.get(f"/records/{prefix}_zzzz")

    assert [each.json().get("id", each.json().get("upload_id")) for each in answers] == [whole] * 2
    assert (several.status_code, problem(several)) == (422, "unprocessable")
    assert none.status_code == 404
