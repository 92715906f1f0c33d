"""A key that covers some pipelines learns nothing of the others, whatever it asks: every path of API and console."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.console import console
from stateward.server.asgi import describe_api
from stateward.server.pages import operations
from stateward.settings import Settings
from tests.server.api_client import ApiClient, serving, statement

STREAM = "/events/stream"  # `test_events.py` follows it
MARK = "quarterly-secret"
COLOUR = "ultramarine"


class Walk:
    """A service with documents of one pipeline, and keys that cover another."""

    def __init__(self, api: ApiClient) -> None:
        self.owner = api.with_key(name="owner-of-all", role="admin")
        self.upload = self.owner.sent(statement(1), name=f"{MARK}.csv")
        self.failed = self.owner.sent(b"date;amount;text\nno;no;x\n", name=f"{MARK}-bad.csv")
        api.work()
        reason = {"reason": COLOUR}
        batch = {"action": "cancel", "query": "machine:upload", **reason}
        hook = {"url": "https://example.org/hook", "events": ["upload.normalized"]}
        self.ids = {
            "record_id": self.upload,
            "batch_id": self.owner.post("/batches", json=batch).json()["id"],
            "webhook_id": self.owner.post("/webhooks", json=hook).json()["id"],
            "key_id": api.app.keys.all()[0].id,
            "name": "upload",
            "stage": "parse",
            "version": "1",
            "form": "csv",
            "format": "csv",
            "rest": "nowhere",
        }
        assert self.owner.post("/machines/upload/pause", json=reason).is_success
        held = self.owner.post(f"/records/{self.upload}/hold", json={"is_held": True, **reason})
        assert held.is_success
        self.told = (
            self.upload, self.failed, self.ids["batch_id"], self.ids["webhook_id"], MARK, COLOUR, "owner-of-all",
            'machine="upload"', "upload.normalized",
        )  # fmt: skip

    def addresses(self) -> Iterator[str]:
        """Every path that can be looked at, about what the caller must not see."""
        pages = (
            route.path
            for handler in console().load().handlers
            for route in getattr(handler, "routes", ())
            if "GET" in route.methods
        )
        paths = [path for path, method, _ in operations(describe_api()) if method.upper() == "GET"]
        for path in (*paths, *pages):
            if path != STREAM:
                yield re.sub(r"\{(\w+)(:\w+)?\}", self._fill, path)
        for query in ("machine:upload", "id:UL_*", "-machine:contract", "machine:contract,upload"):
            for path in ("/records", "/counts", "/console/records", "/console/records/count"):
                yield f"{path}?q={query}"
        yield f"/console/ledger?record={self.upload}"
        yield f"/console/ledger/export?record={self.upload}"
        yield f"/audit?record_id={self.upload}"
        yield f"/deliveries?record_id={self.upload}"
        yield "/search?q=Coffee"
        yield "/search?q=Coffee+machine:upload&pipeline=upload"
        yield "/console/search?q=Coffee"

    def _fill(self, found: re.Match[str]) -> str:
        return str(self.ids.get(found[1], self.upload))


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiClient]:
    """A service of the profile with metrics and notes of what is read."""
    settings = Settings.load(
        environ={"STATEWARD_DATA": str(tmp_path), "STATEWARD_PROFILE": "enterprise"}
    )
    # The walk is the same on a machine whose kernel cannot confine runners.
    worker = replace(settings.worker, confinement="available")
    with serving(
        replace(settings, api=replace(settings.api, port=0), worker=worker), extra_routes=console()
    ) as found:
        yield found


def test_what_is_of_other_pipelines_is_told_nowhere(api: ApiClient) -> None:
    walk = Walk(api)
    limited = api.with_key(name="limited", role="admin", pipelines=["contract"])
    headers = {"Accept": "text/html"}

    seen: dict[str, list[str]] = {}
    for address in walk.addresses():
        answer = limited.get(address, headers=headers if "/console" in address else {})
        assert answer.status_code != 500, address
        # An answer may repeat what it was asked for.
        text = answer.text.replace(walk.upload, "") if walk.upload in address else answer.text
        if found := [each for each in walk.told if each in text and each not in address]:
            seen[address] = found

    assert seen == {}
