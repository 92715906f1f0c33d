"""Sending documents: what is taken, what is refused and with which words, and that nothing is left behind."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.server import executors, upload_stream
from tests.server.api_client import (
    PDF,
    PNG,
    STATEMENT,
    ApiClient,
    problem,
    serving,
    settings_at,
    statement,
)
from tests.waiting import WAIT_S_MAX, wait_until

ALWAYS = {
    "upload_id", "status", "version", "source_type", "filename", "size", "error_code", "error_message",
    "upload_log_ref", "priority", "is_priority_used", "priority_reason", "files", "retry_count", "max_retries",
    "last_retry_at", "rest", "is_at_rest", "notes", "flags", "flag_decision", "created_at", "updated_at",
    "status_metadata",
}  # fmt: skip


def test_an_upload_is_kept_and_disclosed_step_by_step(any_api: ApiClient) -> None:
    api = any_api

    answer = api.send(priority="9")

    assert answer.status_code == 201
    told = answer.json()
    upload_id = told["upload_id"]
    assert told.pop("note").startswith("a priority does not count for upload")
    assert told == {
        "upload_id": upload_id,
        "status": "queued_for_parse",
        "version": 0,
        "upload_log_ref": f"/logs/upload/{upload_id}",
        "is_duplicate": False,
    }
    assert answer.headers["location"] == f"/uploads/{upload_id}"
    queued = api.get(f"/uploads/{upload_id}").json()
    assert queued.keys() == ALWAYS
    assert (queued["filename"], queued["size"], queued["priority"]) == (
        "january.csv",
        len(STATEMENT),
        9,
    )
    assert queued["status_metadata"].keys() == {"started_at", "worker_id", "retry_count"}

    api.work()

    ended = api.get(f"/uploads/{upload_id}").json()
    assert ended["status"] == "normalized"
    assert ended.keys() - ALWAYS == {
        "parse_log_ref",
        "observations_count",
        "normalizer_log_ref",
        "canonicals_count",
    }
    assert (ended["observations_count"], ended["canonicals_count"]) == (2, 2)
    assert api.get(ended["parse_log_ref"]).json()["attempts"][0]["outcome"] == "done"
    assert api.app.admin.verify().is_sound


def test_an_error_shows_what_was_reached_before_it(api: ApiClient) -> None:
    upload_id = api.sent()
    api.post(f"/uploads/{upload_id}/cancel", json={"reason": "sent by mistake"})

    shown = api.get(f"/uploads/{upload_id}").json()

    assert shown["status"] == "error"
    assert (shown["error_code"], shown["error_message"]) == ("CANCELLED", "sent by mistake")
    assert shown.keys() == ALWAYS


def test_the_same_bytes_are_refused_with_the_id_of_the_first(any_api: ApiClient) -> None:
    first = any_api.sent()

    again = any_api.send(name="other name.csv")
    returned = any_api.send(path="/uploads?on_duplicate=return")

    assert (again.status_code, problem(again)) == (409, "duplicate")
    assert again.json()["upload_id"] == first
    assert again.headers["location"] == f"/uploads/{first}"
    assert returned.status_code == 200
    assert returned.json()["upload_id"] == first
    assert returned.json()["is_duplicate"] is True
    assert again.json()["detail"] == f"duplicate: the same bytes are stored as {first}"
    any_api.post(f"/uploads/{first}/cancel")
    advice = f", which is in 'error'; to try again: POST /uploads/{first}/retry"
    assert any_api.send().json()["detail"].endswith(advice)


def test_missing_fields_are_named(shared: ApiClient) -> None:
    nothing = shared.post("/uploads", files={"reason": (None, b"why")})
    no_type = shared.post("/uploads", files={"file": ("a.csv", STATEMENT)})

    assert (nothing.status_code, problem(nothing)) == (400, "missing-fields")
    assert [each["field"] for each in nothing.json()["errors"]] == ["file", "source_type"]
    assert [each["field"] for each in no_type.json()["errors"]] == ["source_type"]


@pytest.mark.parametrize(
    ("field", "value", "among"),
    [
        ("source_type", "bank_cvs", "bank_csv"),
        ("pipeline", "uplaod", "upload"),
        ("priority", "11", "1 to 10"),
    ],
)
def test_an_unknown_value_is_refused_with_those_that_there_are(
    shared: ApiClient, field: str, value: str, among: str
) -> None:
    fields: dict[str, Any] = {field: value}

    answer = shared.send(**fields)

    assert (answer.status_code, problem(answer)) == (422, "unknown-value")
    assert among in answer.json()["allowed"]
    assert value in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "source_type", "expected", "found"),
    [
        (PNG, "bank_csv", ["csv"], "picture"),
        (PDF, "bank_csv", ["csv"], "pdf"),
        (STATEMENT, "bank_pdf", ["pdf"], "csv"),
        (b"PK\x03\x04 this is no zip", "bank_xlsx", ["sheet"], "unknown"),
    ],
)
def test_content_decides_what_a_document_is_and_not_its_name(
    shared: ApiClient, content: bytes, source_type: str, expected: list[str], found: str
) -> None:
    answer = shared.send(content, name="statement.csv", source_type=source_type)

    assert (answer.status_code, problem(answer)) == (415, "unsupported-content")
    assert (answer.json()["expected"], answer.json()["found"]) == (expected, found)
    assert left_behind(shared) == []


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"Content-Type": "application/json"}, b"{}", 415),
        ({"Content-Type": "text/csv"}, STATEMENT, 415),
        ({}, b"", 415),
        ({"Content-Type": "multipart/form-data"}, b"--x\r\n", 415),
        (
            {"Content-Type": "multipart/form-data; boundary=x"},
            b"no boundary here, none at all",
            400,
        ),
        (
            {"Content-Type": "multipart/form-data; boundary=x"},
            b"--x\r\nContent-Disposition: form-data\r\n",
            400,
        ),
        (
            {"Content-Type": "multipart/form-data; boundary=x"},
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="\xff\xfe.csv"\r\n\r\na\r\n--x--\r\n',
            400,
        ),
    ],
)
def test_what_is_no_form_is_refused(
    shared: ApiClient, headers: dict[str, str], content: bytes, status: int
) -> None:
    answer = shared.post("/uploads", content=content, headers=headers)

    assert answer.status_code == status
    assert problem(answer) in ("unsupported-content", "invalid-request")
    assert "Error(" not in answer.json()["detail"]
    assert left_behind(shared) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "blue"},
        {"reason": "x" * 5000},
        {"source_type": "\udcff"},
    ],
)
def test_fields_that_are_unknown_or_too_long_are_refused(
    shared: ApiClient, fields: dict[str, str]
) -> None:
    parts = {
        name: (None, value.encode("utf-8", "surrogateescape")) for name, value in fields.items()
    }

    answer = shared.post("/uploads", files={"file": ("a.csv", STATEMENT), **parts})

    assert (answer.status_code, problem(answer)) == (400, "invalid-request")
    assert left_behind(shared) == []


def test_an_empty_document_is_refused(shared: ApiClient) -> None:
    answer = shared.send(b"")

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")
    assert answer.json()["errors"] == [{"field": "file", "sentence": "the document is empty"}]


def test_what_was_refused_stays_with_its_reason_until_its_sender_dismisses_it(
    any_api: ApiClient,
) -> None:
    ann, bob = any_api.with_key(name="ann", role="submitter"), any_api.with_key(role="submitter")
    ann.send(b"", name="empty.csv")
    ann.send(bytes(range(256)), name="noise.csv")
    ann.sent()
    assert problem(ann.send()) == "duplicate"

    newest, first = ann.get("/refused-uploads").json()["items"]

    assert (first["name"], first["reason"]) == ("empty.csv", "the document is empty")
    assert (newest["name"], newest["problem"]) == ("noise.csv", "unsupported-content")
    assert bob.get("/refused-uploads").json()["items"] == []
    path = f"/refused-uploads/{first['id']}"
    assert problem(bob.http.delete(path)) == "not-found"
    assert ann.http.delete(path).status_code == 204
    assert [each["id"] for each in ann.get("/refused-uploads").json()["items"]] == [newest["id"]]
    assert ann.http.delete("/refused-uploads").status_code == 204
    assert ann.get("/refused-uploads").json()["items"] == []


@pytest.mark.parametrize("is_announced", [True, False])
def test_too_much_is_refused_whatever_was_announced(tmp_path: Path, *, is_announced: bool) -> None:
    settings = settings_at(tmp_path / "data")
    settings = replace(settings, limits=replace(settings.limits, upload_bytes_max=3_000_000))
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        + STATEMENT * 100_000
        + b"\r\n--x--\r\n"
    )
    pieces = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
    with serving(settings) as api:
        answer = api.post(
            "/uploads",
            content=body if is_announced else iter(pieces),
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        )

        assert (answer.status_code, problem(answer)) == (413, "too-large")
        assert answer.json()["limit"] == 3_000_000
        assert left_behind(api) == []


PATHS = (
    "../../etc/pass\u202ewd.csv", "..\\..\\windows\\win.ini", "/etc/passwd", "C:\\boot.ini", "..", ".", "~/.bashrc",
    "%2e%2e%2fescaped.csv", "....//....//x.csv", "CON", "a" * 200 + ".csv", "-rf", "$(id).csv", "x;y|z.csv",
)  # fmt: skip


def test_a_name_is_a_label_and_never_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "inside" / "data"
    with serving(settings_at(folder)) as api:
        ids = [api.sent(STATEMENT + b"%d" % at, name=name) for at, name in enumerate(PATHS)]
        filenames = [api.get(f"/uploads/{each}").json()["filename"] for each in ids]
        api.work()

    assert filenames[0] == PATHS[0]
    assert not any(each == "" for each in filenames)
    kept = [each.name for each in (folder / "artifacts").rglob("*") if each.is_file()]
    assert [len(each) for each in kept] == [64] * len(PATHS)
    beside = {each for each in tmp_path.rglob("*") if not each.is_relative_to(folder)}
    assert beside == {tmp_path / "deep", tmp_path / "deep" / "inside"}


def test_labels_and_reason_reach_the_record_and_its_history(api: ApiClient) -> None:
    fields: dict[str, Any] = {"label.client": "42", "reason": "monthly"}
    upload_id = api.sent(**fields)

    record = api.get(f"/records/{upload_id}").json()
    (first,) = api.get(f"/uploads/{upload_id}/history").json()["items"]

    assert record["labels"]["client"] == "42"
    assert first["metadata"]["reason"] == "monthly"
    assert first["actor"] == "person:anonymous@local"


def test_a_client_that_goes_away_leaves_nothing(api: ApiClient) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    head = (
        f"POST /uploads HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 10000000\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + b"x" * 2_000_000)
        wait_until(lambda: left_behind(api))

    wait_until(lambda: left_behind(api) == [])
    assert api.get("/uploads").json()["items"] == []


def test_silence_in_the_middle_of_a_document_is_not_waited_for(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path / "data", idle_seconds=0.2)) as api:
        host, port = api.url.removeprefix("http://").split(":")
        head = (
            f"POST /uploads HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=WAIT_S_MAX) as connection:
            connection.sendall(head.encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"urn:stateward:problem:timed-out" in answer


def test_any_machine_takes_documents(api: ApiClient) -> None:
    answer = api.send(path="/records", pipeline="contract")

    assert answer.status_code == 201, answer.text
    record = answer.json()["record"]
    assert record["machine"] == "contract"
    assert answer.headers["location"] == f"/records/{record['id']}"
    assert api.get(f"/uploads/{record['id']}").status_code == 404
    assert api.get(f"/records/{record['id']}").json() == {**record, "replaced_by": []}


def data(api: ApiClient) -> Path:
    return api.app.settings.data_path


def left_behind(api: ApiClient) -> list[str]:
    incoming = data(api) / "artifacts" / "incoming"
    return [each.name for each in incoming.iterdir()] if incoming.is_dir() else []


def test_a_document_without_a_pipeline_goes_where_its_content_belongs(shared: ApiClient) -> None:
    found = shared.post("/detect", files={"file": ("a.csv", statement(77))})
    sent = shared.post("/records", files={"file": ("a.csv", statement(77))})
    picture = shared.post("/records", files={"file": ("a.png", PNG)}, data={"pipeline": "auto"})
    nothing = shared.post("/detect", files={"name": (None, b"why")})

    assert found.status_code == 200, found.text
    best = found.json()["items"][0]
    assert (best["machine"], best["source_type"], best["evidence"]) == ("upload", "bank_csv", [])
    assert sent.status_code == 201, sent.text
    assert sent.json()["record"]["machine"] == "upload"
    assert picture.json()["record"]["machine"] == "images"
    assert problem(nothing) == "missing-fields"


def test_a_source_type_that_no_pipeline_has_is_refused(shared: ApiClient) -> None:
    answer = shared.post(
        "/records", files={"file": ("a.csv", STATEMENT)}, data={"source_type": "bank_cvs"}
    )

    assert problem(answer) == "unknown-value"


def test_documents_that_are_stored_at_the_same_moment_share_a_commit(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, groups = api.service.writer, list[int]()
    second_begun, first_taken = Event(), Event()
    gather, commit, keep = writer._gather, writer._commit_all, upload_stream._keep

    def gather_slowly(first: Any) -> Any:  # noqa: ANN401 - as it is
        first_taken.set()
        return gather(first)

    def commit_noted(app: App, group: Any) -> None:  # noqa: ANN401 - as it is
        if opened := sum(isinstance(each.intent, executors.Open) for each in group):
            groups.append(opened)
        commit(app, group)

    def keep_in_turn(*how: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is
        if b"second" in how[2]:
            second_begun.set()
            first_taken.wait(WAIT_S_MAX)
        else:
            second_begun.wait(WAIT_S_MAX)
        return keep(*how, **more)

    monkeypatch.setattr(executors, "GATHER_S", WAIT_S_MAX)
    monkeypatch.setattr(upload_stream, "_keep", keep_in_turn)
    monkeypatch.setattr(writer, "_gather", gather_slowly)
    monkeypatch.setattr(writer, "_commit_all", commit_noted)
    with ThreadPoolExecutor(2) as clients:
        answers = list(clients.map(api.send, [STATEMENT, STATEMENT + b"2026-01-05;-1;second\n"]))

    assert [each.status_code for each in answers] == [201, 201]
    assert groups == [2]
