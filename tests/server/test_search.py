"""`GET /search`: typed results, pages, and nothing that the caller may not see."""

import pytest

from tests.server.api_client import ApiClient


@pytest.fixture(scope="module")
def filled(worked: ApiClient) -> ApiClient:
    return worked


def test_a_search_answers_with_marked_snippets_and_places(filled: ApiClient) -> None:
    answer = filled.get("/search", params={"q": "coffee", "limit": 3})

    assert answer.status_code == 200
    hit = answer.json()["items"][0]
    assert hit["snippet"] == [{"text": "Coffee", "is_match": True}]
    assert (hit["machine"], hit["status"], hit["stage"]) == ("upload", "normalized", "normalize")
    assert hit["where"] == {"line": 2}
    assert hit["title"].startswith("file-")


def test_pages_lead_on_until_all_was_seen(filled: ApiClient) -> None:
    seen: list[str] = []
    parameters: dict[str, str | int] = {"q": "coffee", "limit": 3}
    while True:
        answer = filled.get("/search", params=parameters)
        seen += [hit["record_id"] for hit in answer.json()["items"]]
        assert ('rel="next"' in answer.headers.get("link", "")) == (
            answer.json()["next"] is not None
        )
        if answer.json()["next"] is None:
            break
        parameters["cursor"] = answer.json()["next"]

    assert len(seen) == len(set(seen)) == 7
    other = filled.get("/search", params={"q": "bread", "cursor": parameters["cursor"]})
    assert other.status_code == 422


@pytest.mark.parametrize(
    ("q", "status"),
    [("", 422), ("-coffee", 422), ("coffee status:nonsense", 422), ("x" * 1001, 400)],
)
def test_what_cannot_be_searched_for_is_a_problem(filled: ApiClient, q: str, status: int) -> None:
    answer = filled.get("/search", params={"q": q})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_key_finds_nothing_outside_its_pipelines(api: ApiClient) -> None:
    api.sent(name="one.csv")
    api.work()
    _, blind = api.app.admin.new_key("blind", role="viewer", pipelines=["contract"])
    _, seeing = api.app.admin.new_key("seeing", role="viewer", pipelines=["upload"])

    found = {
        key: api.get(
            "/search", params={"q": "coffee"}, headers={"Authorization": f"Bearer {key}"}
        ).json()["items"]
        for key in (blind, seeing)
    }

    assert (len(found[blind]), len(found[seeing])) == (0, 1)
    assert api.get("/search", params={"q": "coffee"}).status_code == 401
