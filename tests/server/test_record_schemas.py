"""The published JSON Schema of an upload: what the API answers is what it says, at every status."""

import json
from pathlib import Path

import jsonschema_rs

from stateward.definition import discovery
from stateward.server.record_schemas import record_schemas
from stateward.transport import WorkerInfo
from tests.server.api_client import ApiClient

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
HELPER = WorkerInfo(
    id="helper", host="elsewhere", pid=1, life="", runners=("upload.parse",), slots=9, inline_slots=9,
    started_at=0, seen_at=0,
)  # fmt: skip


def test_uploads_of_every_kind_are_as_the_schema_says(api: ApiClient) -> None:
    validator = jsonschema_rs.validator_for(api.get("/schemas/upload.json").json())
    queued = api.sent(priority="9", priority_reason="premium_user")
    shown = [api.get(f"/uploads/{queued}").json()]
    api.app.bus.heartbeat(HELPER)
    api.app.coordinator.turn()
    api.app.bus.remove_worker(HELPER.id)
    shown.append(api.get(f"/uploads/{queued}").json())
    api.sent(b"date;amount;text\nno date;no amount;x\n", name="broken.csv")
    ended = api.sent(b"date;amount;text\n2026-01-02;-12,50;Tea\n", name="tea.csv")
    api.work()
    shown += api.get("/uploads").json()["items"]

    assert {each["status"] for each in shown} >= {
        "queued_for_parse",
        "parsing",
        "normalized",
        "error",
    }
    for each in shown:
        assert list(validator.iter_errors(each)) == []
    assert shown[0]["priority_reason"] == "premium_user"
    assert shown[1]["parsing_timeout_seconds"] == 3600
    assert ended in {each["upload_id"] for each in shown}


def test_what_no_upload_can_be_is_refused(api: ApiClient) -> None:
    validator = jsonschema_rs.validator_for(api.get("/schemas/upload.json").json())
    sound = api.get(f"/uploads/{api.sent()}").json()

    assert validator.is_valid(sound)
    for wrong in (
        {"status": "uploading"},
        {"status": "parsing"},
        {"upload_id": "CT_1"},
        {"priority": 11},
        {"parsing_started_at": sound["created_at"]},
        {"observations_count": -1},
    ):
        assert not validator.is_valid({**sound, **wrong}), wrong
    assert api.get("/schemas/nothing.json").status_code == 404


def test_the_published_schemas_are_those_of_the_code() -> None:
    plugins = [each.plugin for each in discovery.installed_plugins()]

    published = {
        file.name.removesuffix(".schema.json"): json.loads(file.read_text("utf-8"))
        for file in PUBLISHED.glob("*.schema.json")
    }

    assert published == record_schemas(plugins), (
        "python -m stateward.server.reference docs/reference"
    )
