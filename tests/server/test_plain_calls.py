"""A request without parameters takes a shorter way through the framework, to the same answer."""

from collections.abc import Mapping
from pathlib import Path

from litestar.routes import HTTPRoute

from stateward.server.asgi import make_app
from stateward.server.plain_calls import PlainCalls
from tests.server.api_client import ApiClient, settings_at, statement


def plain_routes(folder: Path) -> dict[str, frozenset[bytes]]:
    """The routes that may be called with a request alone, as `GET /path`, and the headers that they declare."""
    app = make_app(settings_at(folder), open_app=lambda: None)  # type: ignore[arg-type, return-value]
    known: PlainCalls = app.state.plain_calls
    return {
        f"{method} {route.path}": known[handler.fn]
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for method, (handler, _) in route.route_handler_map.items()
        if handler.fn in known
    }


def test_uploads_and_looks_at_them_need_no_search_for_parameters(tmp_path: Path) -> None:
    found = plain_routes(tmp_path)

    assert found["POST /uploads"] == {b"idempotency-key"}
    assert found["GET /uploads/{upload_id:str}"] == {b"if-none-match"}


def test_a_route_with_a_body_or_an_id_among_its_arguments_is_called_by_the_framework(
    tmp_path: Path,
) -> None:
    found = plain_routes(tmp_path)

    assert "POST /uploads/{upload_id:str}/cancel" not in found  # it has a document
    assert "GET /machines/{name:str}" not in found
    assert not any("OPTIONS" in each for each in found)


def shown(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "date"}


def test_a_record_is_shown_alike_with_and_without_a_declared_header(worked: ApiClient) -> None:
    upload_id = worked.get("/uploads").json()["items"][0]["upload_id"]
    path = f"/uploads/{upload_id}"

    plain = worked.get(path)
    other = worked.get(path, headers={"If-None-Match": '"999"'})
    waited = worked.get(f"{path}?wait=1s")

    assert plain.status_code == other.status_code == waited.status_code == 200
    assert plain.content == other.content == waited.content
    assert shown(plain.headers) == shown(other.headers) == shown(waited.headers)
    assert plain.headers["content-length"] == str(len(plain.content))


def test_an_answer_without_a_body_names_no_type_and_no_length(worked: ApiClient) -> None:
    upload_id = worked.get("/uploads").json()["items"][0]["upload_id"]
    tag = worked.get(f"/uploads/{upload_id}").headers["etag"]

    same = worked.get(f"/uploads/{upload_id}", headers={"If-None-Match": tag})

    assert (same.status_code, same.content) == (304, b"")
    assert not {"content-type", "content-length"} & {*same.headers}


def test_an_upload_is_answered_alike_with_and_without_a_key(api: ApiClient) -> None:
    given = {"source_type": "bank_csv"}

    plain = api.post("/uploads", data=given, files={"file": ("a.csv", statement(1))})
    keyed = api.post(
        "/uploads",
        data=given,
        files={"file": ("b.csv", statement(2))},
        headers={"Idempotency-Key": "k1"},
    )

    assert plain.status_code == keyed.status_code == 201
    assert {*plain.headers} == {*keyed.headers}
    assert plain.json().keys() == keyed.json().keys()
