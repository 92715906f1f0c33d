"""Approver links: one named person, one review, some hours, and nothing else."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.client.steps import tls_context
from stateward.console import console
from stateward.core.model import SECOND
from stateward.server.auth import csrf_token
from stateward.server.http_server import Server
from stateward.storage.row_seals import sealed_change
from tests.server.api_client import ApiClient, problem, settings_at
from tests.server.contracts import waiting
from tests.waiting import WAIT_S_MAX


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service with a console and a key, so that no one is let in without one; each test has its own record."""
    own = settings_at(tmp_path_factory.mktemp("links"))
    own = replace(own, reviews=replace(own.reviews, groups={"lawyers": ("lena", "rita")}))
    with (
        Server(own, open_app=lambda: App(own), extra_routes=console()) as server,
        App(own) as app,
    ):
        found = ApiClient(server.url, app, service=server.service)
        yield found
        found.close()


@pytest.fixture
def opened(api: ApiClient) -> Iterator[Callable[[str], "Browser"]]:
    """Opens a link in a browser of its own."""
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(closing(Browser(api, url)))


class Browser:
    """A browser that opened a link."""

    def __init__(self, api: ApiClient, url: str) -> None:
        self.path = urlsplit(url).path
        self.http = httpx2.Client(base_url=api.url, timeout=WAIT_S_MAX, verify=tls_context(api.url))
        self.looked = self.http.get(self.path)
        self.entered = self.http.post(self.path)
        token = self.http.cookies.get("stateward_session") or ""
        self.http.headers["x-csrf-token"] = csrf_token(token)

    def close(self) -> None:
        self.http.close()

    def hold(self, record_id: str, version: int, **how: object) -> httpx2.Response:
        headers = {"If-Match": f'"{version}"'}
        return self.http.put(f"/reviews/{record_id}/decision", json=how, headers=headers)


def link_to(
    reviewer: ApiClient, record_id: str, person: str = "anna@example.org"
) -> dict[str, str]:
    answer = reviewer.post(f"/reviews/{record_id}/links", json={"person": person})
    assert answer.status_code == 201, answer.text
    made: dict[str, str] = answer.json()
    return made


def path_of(link: Mapping[str, str]) -> str:
    return urlsplit(link["url"]).path


def apply_pending(app: App) -> None:
    """Have the pending decisions made now, as if their time to undo them were over."""
    with sealed_change(app.database, "pending_decisions", at=0):
        app.database.run("UPDATE pending_decisions SET effective_at = 0")
    app.reviews.apply_due()


def test_a_link_lets_its_person_decide_one_review_and_do_nothing_else(
    api: ApiClient, opened: Callable[[str], Browser]
) -> None:
    record, other = waiting(api.app), waiting(api.app)
    rita = api.with_key(name="rita", role="reviewer")
    rita.post(f"/reviews/{record.id}/claim")
    made = link_to(rita, record.id)

    anna = opened(made["url"])
    page = anna.http.get(f"/console/review/{record.id}")
    claimed = anna.http.post(f"/reviews/{record.id}/claim")
    refused = {
        path: anna.http.get(path).status_code
        for path in (
            "/records", f"/records/{record.id}", f"/records/{record.id}/history", f"/reviews/{other.id}",
            "/reviews/pending", f"/reviews/{record.id}/links", "/events/stream", "/keys", "/console",
            f"/console/review/{other.id}", f"/console/records/{record.id}", f"/console/records/{other.id}/content",
            "/console/review-queue", "/console/badges",
        )
    }  # fmt: skip
    acts = [
        anna.http.post(f"/reviews/{record.id}/links", json={"person": "eve"}),
        anna.http.post(f"/reviews/{record.id}/opinion", json={"to": "eve"}),
        anna.http.post(f"/records/{record.id}/review", json={"action": "approve"}),
        anna.http.put(f"/reviews/{other.id}/decision", json={"action": "approve"}),
    ]

    assert (anna.looked.status_code, anna.entered.status_code, page.status_code) == (200, 303, 200)
    assert "anna@example.org" in anna.looked.text
    assert "65.90" in page.text
    assert 'id="queue"' not in page.text
    assert "/console/operations" not in page.text
    assert other.id not in page.text
    assert claimed.json()["claim"]["is_mine"] is True  # who made the link has left it to its person
    assert set(refused.values()) == {403}, refused
    assert [problem(each) for each in acts] == ["forbidden"] * 4


def test_a_decision_by_link_is_that_persons_and_ends_the_link(
    api: ApiClient, opened: Callable[[str], Browser]
) -> None:
    record = waiting(api.app)
    rita = api.with_key(name="rita", role="reviewer")
    made = link_to(rita, record.id)
    anna = opened(made["url"])

    unexplained = anna.hold(record.id, record.version, action="reject")
    held = anna.hold(record.id, record.version, action="reject", notes="page 2 is missing")
    undone = anna.http.delete(f"/reviews/{record.id}/decision")
    anna.hold(record.id, record.version, action="approve")
    apply_pending(api.app)
    again = anna.http.get(f"/reviews/{record.id}")
    page = anna.http.get(f"/console/review/{record.id}")
    reopened = anna.http.get(anna.path)

    assert problem(unexplained) == "unprocessable"
    assert held.json()["pending"]["is_mine"] is True
    assert undone.json()["notes"] == "page 2 is missing"
    decided = [
        each for each in api.app.store.history(record.id) if each.trigger == "review.approved"
    ]
    assert [each.actor for each in decided] == [f"person:anna@example.org@{made['id']}"]
    assert decided[0].metadata["link"] == made["id"]
    assert str(decided[0].metadata["link_by"]).startswith("person:rita@")
    assert (again.status_code, problem(again), page.status_code) == (410, "link-over", 410)
    assert "you have answered" in page.text
    assert reopened.status_code == 410
    listed = rita.get(f"/reviews/{record.id}/links").json()["items"]
    assert [(each["id"], each["state"], "url" in each) for each in listed] == [
        (made["id"], "used", False)
    ]
    told = api.app.audit.entries(record_id=record.id)
    assert {"review_link_created", "review_link_opened", "review_decided"} <= {
        each.verb for each in told
    }
    assert api.app.admin.verify().is_sound


def test_a_link_that_was_opened_revoked_or_decided_or_has_expired_says_so(
    api: ApiClient, opened: Callable[[str], Browser]
) -> None:
    record = waiting(api.app)
    rita = api.with_key(name="rita", role="reviewer")
    seen, revoked, expired, left = (link_to(rita, record.id, f"anna{n}") for n in range(4))
    first = opened(seen["url"])
    revoking = rita.http.delete(f"/reviews/{record.id}/links/{revoked['id']}")
    with sealed_change(api.app.database, "review_links", at=0):
        api.app.database.run(
            "UPDATE review_links SET expires_at = :now WHERE id = :id",
            now=api.app.clock() - SECOND,
            id=expired["id"],
        )

    second = opened(seen["url"])
    again = first.http.post(first.path)
    answers = [first.http.get(path_of(each)) for each in (revoked, expired)]
    unknown = first.http.get(f"{first.path}x")
    rita.post(f"/records/{record.id}/review", json={"action": "approve"})
    decided = [first.http.get(path_of(left)), first.http.get(f"/console/review/{record.id}")]

    assert (second.entered.status_code, again.status_code) == (410, 303)
    assert "another browser" in second.entered.text
    assert revoking.json() == {"id": revoked["id"], "was_open": True}
    assert [each.status_code for each in answers] == [410, 410]
    assert "revoked" in answers[0].text
    assert "time of this link is over" in answers[1].text
    assert unknown.status_code == 404
    assert [each.status_code for each in decided] == [410, 410]
    assert all("approved by rita" in each.text for each in decided)
    refused = [
        each
        for each in api.app.audit.entries(limit=50)
        if each.verb == "review_link_refused" and each.record_id in (record.id, "")
    ]
    whose = {str(each.detail.get("link", each.actor)) for each in refused}
    assert whose >= {seen["id"], revoked["id"], expired["id"], left["id"], "anonymous"}
    assert all(each.detail["address"] and each.detail["why"] for each in refused)
    assert path_of(left).rpartition("_")[2] not in repr(refused)
    stored = str(api.app.database.rows("SELECT * FROM review_links"))
    assert path_of(left).rpartition("_")[2] not in stored


@pytest.mark.long
def test_a_link_gives_no_more_than_its_maker_has(
    api: ApiClient, opened: Callable[[str], Browser]
) -> None:
    otto = api.with_key(name="otto", role="operator")
    own = waiting(api.app, actor=f"person:otto@{api.app.keys.all()[-1].id}")
    record = waiting(api.app)
    viewer = api.with_key(name="vera", role="viewer")
    rita = api.with_key(name="rita", role="reviewer")
    rita_id = api.app.keys.all()[-1].id
    boss = api.with_key(name="boss", role="admin")
    path = f"/reviews/{record.id}/links"

    answers = {
        "viewer": viewer.post(path, json={"person": "anna"}),
        "submitter": rita.post(path, json={"person": "ann@example.org"}),
        "no name": rita.post(path, json={"person": "@example.org"}),
        "too long": rita.post(path, json={"person": "anna", "hours": 200}),
        "own": otto.post(f"/reviews/{own.id}/links", json={"person": "anna"}),
        "no review": rita.post("/reviews/CW_none/links", json={"person": "anna"}),
    }
    made = link_to(rita, record.id)
    boss.http.delete(f"/keys/{rita_id}")

    assert {name: problem(each) for name, each in answers.items()} == {
        "viewer": "forbidden",
        "submitter": "review-refused",
        "no name": "unprocessable",
        "too long": "invalid-request",
        "own": "review-refused",
        "no review": "not-found",
    }
    assert opened(made["url"]).looked.status_code == 410
