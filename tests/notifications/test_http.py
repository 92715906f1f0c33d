"""Webhooks and metrics over HTTP."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from stateward.settings import Settings
from tests.notifications.conftest import deliver
from tests.notifications.receivers import receiving
from tests.server.api_client import ApiClient, serving, settings_at

URL = "http://127.0.0.1:9/hook"


def settings(folder: Path, *, profile: str = "personal") -> Settings:
    own = settings_at(folder)
    enterprise = Settings.load(profile=profile, environ={}).records
    return replace(
        own,
        records=enterprise,
        notifications=replace(own.notifications, webhook_allow=("127.0.0.1",)),
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    with serving(settings(tmp_path_factory.mktemp("service"))) as found:
        yield found


@pytest.fixture
def api(service: ApiClient) -> Iterator[ApiClient]:
    """A service without webhooks."""
    yield service
    for each in service.app.notifications.webhooks():
        service.app.notifications.remove(each.id, actor="person:a")


class Keyring(ExitStack):
    """Clients with keys of their own, closed at the end."""

    def client(self, api: ApiClient, **how: Any) -> ApiClient:  # noqa: ANN401 - the words of `new_key`
        found = api.with_key(**how)
        self.callback(found.http.close)
        return found


def test_a_webhook_is_made_pinged_looked_at_and_forgotten(api: ApiClient) -> None:
    with receiving() as receiver:
        made = api.post("/webhooks", json={"url": receiver.url, "events": ["upload.*"]})
        assert made.status_code == 201
        where, webhook = made.headers["Location"], made.json()
        assert webhook["secret"].startswith("whsec_")

        pinged = api.post(f"{where}/ping")
        assert pinged.status_code == 202
        deliver(api.app)
        found = api.get(pinged.headers["Location"]).json()

    assert receiver.verified(webhook["secret"]) == 1
    assert found["state"] == "delivered"
    assert found["body"]["type"] == "ping"
    assert [each["status"] for each in found["log"]] == [204]
    assert found["log"][0]["request_headers"]["webhook-signature"] == "(hidden)"
    listed = api.get("/webhooks")
    assert [each["id"] for each in listed.json()["items"]] == [webhook["id"]]
    assert "secret" not in listed.text + api.get(where).text
    assert api.http.delete(where).status_code == 204
    assert api.get(where).status_code == 404
    assert api.http.delete(where).status_code == 404


def test_a_webhook_is_made_once_for_one_key(api: ApiClient) -> None:
    sent = {"json": {"url": URL, "events": ["*"]}, "headers": {"Idempotency-Key": "one"}}

    first, again = api.post("/webhooks", **sent), api.post("/webhooks", **sent)

    assert first.json() == again.json()
    assert len(api.get("/webhooks").json()["items"]) == 1


def test_secrets_change_and_addresses_rest(api: ApiClient) -> None:
    where = api.post("/webhooks", json={"url": URL, "events": ["*"]}).headers["Location"]
    before = api.app.notifications.webhooks()[0].secret

    rotated = api.post(f"{where}/rotate").json()["secret"]
    disabled = api.post(f"{where}/disable", json={"reason": "moving"}).json()
    refused = api.post(f"{where}/ping")
    enabled = api.post(f"{where}/enable").json()

    assert rotated != before
    assert disabled["disabled_reason"].endswith(": moving")
    assert refused.status_code == 422
    assert enabled["is_enabled"]


def test_the_dead_are_listed_by_pages_and_replayed(api: ApiClient) -> None:
    with receiving(then=410) as receiver:
        made = api.post("/webhooks", json={"url": receiver.url, "events": ["*"]}).json()
        for number in range(5):
            api.sent(b"date;amount;text\n2026-01-02;-%d,00;x\n" % number)
        deliver(api.app)

    first = api.get("/deliveries?state=dead&limit=3").json()
    second = api.get(f"/deliveries?state=dead&limit=3&cursor={first['next']}").json()
    seen = [each["message_id"] for each in first["items"] + second["items"]]
    assert len(set(seen)) == 5
    assert second["next"] is None
    api.post(f"/webhooks/{made['id']}/enable")
    replayed = api.post("/deliveries/replay", json={"state": "dead"})
    assert (replayed.status_code, replayed.json()) == (202, {"replayed": 5})
    assert api.post("/deliveries/replay", json={}).status_code == 422
    assert api.post("/deliveries/replay", json={"since": "yesterday"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"url": "https://10.0.0.1/", "events": ["*"]}, 422),
        ({"url": URL, "events": ["upload.gone"]}, 422),
        ({"url": URL, "events": ["nope.*"]}, 422),
        ({"url": URL, "events": []}, 400),
        ({"url": URL, "events": ["*"], "secret": "short"}, 422),
        ({"url": URL, "events": ["*"], "content": "xml"}, 400),
        ({"url": URL}, 400),
        ({"url": URL, "events": ["*"], "what": 1}, 400),
    ],
)
def test_what_cannot_be_is_a_problem(api: ApiClient, body: dict[str, object], status: int) -> None:
    answer = api.post("/webhooks", json=body)

    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert api.app.notifications.webhooks() == []


def test_roles_and_scopes_hold_for_webhooks(tmp_path: Path) -> None:
    body = {"url": URL, "events": ["upload.*"]}
    with serving(settings(tmp_path / "data")) as api, Keyring() as keys:
        admin = keys.client(api, name="admin", role="admin")
        operator = keys.client(api, name="op", role="operator")
        viewer = keys.client(api, name="view", role="viewer")
        scoped = keys.client(api, name="scoped", role="admin", pipelines=["contract"])

        where = admin.post("/webhooks", json=body).headers["Location"]

        assert operator.post("/webhooks", json=body).status_code == 403
        assert operator.post(f"{where}/ping").status_code == 202
        assert operator.get("/webhooks").status_code == 200
        assert viewer.get("/webhooks").status_code == 403
        assert scoped.get(where).status_code == 404
        assert scoped.get("/webhooks").json()["items"] == []
        assert scoped.get("/deliveries").json()["items"] == []
        assert scoped.post("/webhooks", json=body).status_code == 403
        assert scoped.post("/webhooks", json=body | {"events": ["*"]}).status_code == 403
        assert scoped.post("/deliveries/replay", json={"state": "dead"}).status_code == 403
        assert len(api.app.notifications.webhooks()) == 1
        assert api.get("/webhooks").status_code == 401


def test_metrics_are_served_to_who_may_observe_where_they_are_wanted(
    api: ApiClient, tmp_path: Path
) -> None:
    assert api.get("/metrics").status_code == 404
    with serving(settings(tmp_path / "on", profile="enterprise")) as on, Keyring() as keys:
        on.sent()
        answer = on.get("/metrics")
        assert keys.client(on, role="operator").get("/metrics").status_code == 200
        assert keys.client(on, name="v", role="viewer").get("/metrics").status_code == 403
        assert on.get("/metrics").status_code == 401

    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    (sample,) = families["stateward_transitions"].samples
    assert sample.labels["target"] == "queued_for_parse"
