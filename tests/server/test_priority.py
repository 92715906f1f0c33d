"""A record's priority can be changed until it ends; who did it and why is kept, and the history stays sound."""

from functools import partial
from pathlib import Path

import pytest

from stateward.app import App
from stateward.client import Client
from stateward.settings import Settings
from tests.server.api_client import ApiClient, problem, statement


def test_who_changed_it_and_why_is_kept_and_the_history_stays_sound(any_api: ApiClient) -> None:
    record_id = any_api.sent(statement(1))

    answer = any_api.post(
        f"/records/{record_id}/priority", json={"priority": 10, "reason": "a customer waits"}
    )

    assert answer.status_code == 200
    assert answer.json()["priority"] == 10
    (act,) = any_api.app.audit.entries(record_id=record_id)
    assert (act.verb, act.detail, act.reason) == (
        "priority",
        {"from": 5, "to": 10},
        "a customer waits",
    )
    any_api.work()
    assert any_api.app.admin.verify().is_sound


def test_who_gives_a_priority_that_does_not_count_is_told(api: ApiClient) -> None:
    send = partial(api.send, path="/records", pipeline="upload")
    sent = send(statement(1), priority="9").json()
    usual = send(statement(2)).json()
    upload = api.send(statement(3), priority="9").json()
    changed = api.post(f"/records/{sent['record']['id']}/priority", json={"priority": 8}).json()
    asked = {"action": "priority", "query": "is:waiting", "priority": 7}
    foreseen = api.post("/batches", json={**asked, "dry_run": True}).json()
    begun = api.post("/batches", json=asked).json()

    said = "a priority does not count for upload: first come, first served"
    assert sent["note"].startswith(said)
    assert upload["note"].startswith(said)
    assert usual["note"] == ""
    assert not sent["record"]["is_priority_used"]
    assert not changed["is_priority_used"]
    assert foreseen["note"].startswith(said)
    assert begun["note"].startswith(said)


def test_a_record_that_waits_goes_sooner(tmp_path: Path) -> None:
    environ = {"STATEWARD_DATA": str(tmp_path), "STATEWARD_STORE_URL": "sqlite:"}
    with App(Settings.load(profile="enterprise", environ=environ)) as app:
        first, second = (app.submit(statement(number)).record.id for number in range(2))

        app.actions.set_priority([second], "vip_customer", actor="person:anna", reason=None)

        waiting = app.store.waiting("upload", "parse", limit=10)
        assert [each.id for each in waiting] == [second, first]


def test_a_record_that_has_ended_keeps_its_priority(api: ApiClient) -> None:
    record_id = api.sent()
    api.work()

    answer = api.post(f"/records/{record_id}/priority", json={"priority": 1})

    assert (answer.status_code, problem(answer)) == (409, "impossible")


@pytest.mark.parametrize("priority", [0, 11, "high"])
def test_a_priority_is_1_to_10(api: ApiClient, priority: object) -> None:
    answer = api.post(f"/records/{api.sent()}/priority", json={"priority": priority})

    assert answer.status_code == 400


def test_many_get_another_priority_at_once(api: ApiClient) -> None:
    ids = [api.sent(statement(number)) for number in range(3)]
    with Client(api.url) as client:
        foreseen = client.batch("priority", query="is:waiting", priority=8, dry_run=True)
        begun = client.batch("priority", query="is:waiting", priority=8, reason="audit")
        assert begun.id is not None
        while client.get_batch(begun.id).status == "running":
            pass
        changed = [client.record(each).priority for each in ids]

    assert (foreseen.action, foreseen.applied) == ("priority 8", 3)
    assert changed == [8, 8, 8]


@pytest.mark.parametrize(
    "asked", [{"action": "retry", "priority": 3}, {"action": "priority"}], ids=str
)
def test_a_priority_goes_with_its_action_alone(api: ApiClient, asked: dict[str, object]) -> None:
    answer = api.post("/batches", json={"ids": [api.sent()], "dry_run": True, **asked})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_the_client_changes_one(api: ApiClient) -> None:
    record_id = api.sent()
    with Client(api.url) as client:
        assert client.set_priority(record_id, 7, reason="soon").priority == 7
