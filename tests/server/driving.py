"""Driving workflows over HTTP, as an external driver does."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from stateward.console import console
from stateward.core.model import Transition
from tests.server.api_client import ApiClient, serving, settings_at
from tests.server.contracts import DOUBTFUL, Fail, Player, playing

PDF = b"%PDF-1.7 a contract"
BUSY = Fail("MODEL_BUSY")


@contextmanager
def driven(folder: Path, url: str | None = None) -> Iterator[tuple[ApiClient, Player]]:
    settings = settings_at(folder, store_url=url)
    with serving(settings, extra_routes=console()) as api, playing(settings) as player:
        yield api, player


class Driver:
    """The external driver of one contract."""

    def __init__(self, api: ApiClient, name: str) -> None:
        self.api = api
        self.content = PDF + name.encode()
        self.id = ""

    def ingest(self, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        body = {"pdfBase64": b64encode(self.content).decode(), "filename": "a.pdf"}
        answer = self.api.post("/workflows/ingest", json={**body, **how.pop("json", {})}, **how)
        self.id = answer.json().get("workflowId") or answer.json().get("record_id") or self.id
        return answer

    def call(self, name: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        return self.api.post(f"/workflows/{self.id}/{name}", **how)

    def reviews(self, action: str, **more: object) -> httpx2.Response:
        return self.call("review", json={"action": action, **more})

    def history(self) -> list[Transition]:
        return self.api.app.records.history(self.id)

    def path(self) -> list[tuple[str | None, str, str]]:
        return [(each.source, each.target, each.trigger) for each in self.history()]


def told(player: Player, **script: Any) -> None:  # noqa: ANN401 - facts and failures
    player.script = {"validate": [{**DOUBTFUL, "final_confidence": 95}]} | {
        stage: list(each) for stage, each in script.items()
    }
    player.ran = []
