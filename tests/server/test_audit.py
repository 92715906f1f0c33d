"""The audit log over HTTP: who may look, what is noted, and that limited administrators see their own."""

from pathlib import Path

import pytest

from stateward.app.settings_audit import note_settings
from stateward.client import Client
from stateward.settings import Settings
from stateward.storage.audit import AuditEntry
from tests.server.api_client import ApiClient, problem, serving, settings_at
from tests.server.contracts import waiting


def note(api: ApiClient, verb: str, *, actor: str = "person:ann", record_id: str = "") -> None:
    entry = AuditEntry(at=api.app.clock(), actor=actor, verb=verb, record_id=record_id)
    api.app.audit.add([entry])


def verbs(answer: object) -> list[str]:
    return [each["verb"] for each in answer["items"]]  # type: ignore[index]


def test_entries_are_listed_by_pages_and_chosen_by_actor_kind_record_and_time(
    any_api: ApiClient,
) -> None:
    for number in range(5):
        note(any_api, f"act_{number}", actor=f"person:{'ab'[number % 2]}")
    note(any_api, "read", record_id="UL_1")
    root = any_api.with_key(name="root", role="admin")

    first = root.get("/audit", params={"limit": 2, "actor": "person:a"}).json()
    second = root.get(
        "/audit", params={"limit": 2, "actor": "person:a", "cursor": first["next"]}
    ).json()
    start = root.get("/audit", params={"verb": "act_0"}).json()["items"][0]["number"] - 1
    rising = root.get("/audit", params={"after": start, "limit": 3}).json()
    about = root.get("/audit", params={"record_id": "UL_1"}).json()
    later = root.get("/audit", params={"since": "2100-01-01T00:00:00Z"}).json()

    assert verbs(first) + verbs(second) == ["act_4", "act_2", "act_0"]
    assert second["next"] is None
    assert verbs(rising) == ["act_0", "act_1", "act_2"]
    assert verbs(about) == ["read"]
    assert later["items"] == []
    assert [each["seq"] - start for each in rising["items"]] == [1, 2, 3]
    assert problem(root.get("/audit", params={"since": "yesterday"})) == "unprocessable"


def test_only_administrators_look_and_a_limited_one_sees_their_own(api: ApiClient) -> None:
    record = waiting(api.app)
    note(api, "read", record_id=record.id)
    note(api, "read", record_id="UL_other")
    root = api.with_key(name="root", role="admin")
    limited = api.with_key(name="lena", role="admin", pipelines=["contract"])
    elsewhere = api.with_key(name="ute", role="admin", pipelines=["upload"])
    operator = api.with_key(name="otto", role="operator")

    assert problem(operator.get("/audit")) == "forbidden"
    assert verbs(root.get("/audit", params={"verb": "read"}).json()) == ["read", "read"]
    assert [each["record_id"] for each in limited.get("/audit").json()["items"]] == [record.id]
    assert elsewhere.get("/audit").json()["items"] == []


def test_decisions_and_their_undoing_are_noted_without_notes(api: ApiClient) -> None:
    record = waiting(api.app)
    ada = api.with_key(name="ada", role="reviewer")
    path = f"/reviews/{record.id}/decision"
    ada.http.put(path, json={"action": "reject", "notes": "SECRET"})
    ada.http.delete(path)
    ada.post(f"/records/{record.id}/review", json={"action": "reject", "notes": "SECRET"})

    entries = api.app.audit.entries(record_id=record.id)

    assert [each.verb for each in entries] == ["review_decided", "decision_undone"]
    assert entries[0].actor.startswith("person:ada@")
    assert entries[0].detail == {"action": "reject", "version": record.version}
    assert "SECRET" not in repr(entries)


def test_the_use_of_a_key_is_noted_once_an_hour(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with serving(settings) as api:
        root = api.with_key(name="root", role="admin")
        root.get("/records")
        root.get("/records")
    with serving(settings) as api:
        (used,) = api.app.audit.entries(verb="key_used")

    assert used.actor.startswith("person:root@")
    assert used.detail["role"] == "admin"


def test_the_client_reads_all_pages(api: ApiClient) -> None:
    for number in range(5):
        note(api, f"act_{number}")

    with Client(api.url) as client:
        found = [each.verb for each in client.audit(after=0, actor="person:ann")]

    assert found == [f"act_{number}" for number in range(5)]


def test_changed_settings_are_noted_with_what_they_were(api: ApiClient) -> None:
    first = note_settings(api.app, actor="person:ann")
    again = note_settings(api.app, actor="person:ann")
    api.app.settings = settings_at(api.app.settings.data_path, rate_per_minute=77)
    changed = note_settings(api.app, actor="person:bob")

    assert "api.rate_per_minute" in first
    assert again == {}
    assert changed == {"api.rate_per_minute": [first["api.rate_per_minute"][1], 77]}  # type: ignore[index]
    assert api.app.audit.entries(verb="settings_changed")[0].actor == "person:bob"


@pytest.mark.parametrize(("profile", "expected"), [("personal", False), ("enterprise", True)])
def test_reads_are_noted_in_the_enterprise_profile(profile: str, expected: bool) -> None:
    settings = Settings.load(profile=profile, environ={})

    assert settings.api.audit_reads is expected


def test_who_asks_for_the_head_of_an_export_has_exported_nothing(api: ApiClient) -> None:
    root = api.with_key(name="root", role="admin")

    for path in ("/history/export", "/reviews/gold"):
        assert root.http.head(path).status_code == 200
    assert root.get("/audit", params={"verb": "exported"}).json()["items"] == []

    root.get("/history/export")
    assert verbs(root.get("/audit", params={"verb": "exported"}).json()) == ["exported"]
