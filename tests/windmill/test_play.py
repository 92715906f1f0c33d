"""The flow, played module by module against the running service: every way that a contract can take."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.api_client import ApiClient, serving, settings_at
from tests.server.contracts import DOUBTFUL, GOOD, Fail, playing
from tests.server.contracts import Player as Workers
from tests.windmill.player import APPROVER, DISAPPROVED, TIMED_OUT, Player

SHIPPED = Path(__file__).parent.parent.parent / "deploy" / "windmill" / "contract.flow"
BUSY = Fail("MODEL_BUSY")
BROKEN = Fail("CORRUPT_FILE", is_retryable=False)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiClient, Workers]]:
    """A service over HTTP, with workers that do as they are told."""
    settings = settings_at(tmp_path_factory.mktemp("windmill"))
    with serving(settings) as api, playing(settings) as workers:
        yield api, workers


class Flow:
    """A run of the flow with a contract of its own."""

    def __init__(
        self,
        service: tuple[ApiClient, Workers],
        name: str,
        *,
        said: dict[str, Any] | list[dict[str, Any]] | None = None,
        **script: list[Any],
    ) -> None:
        self.api, workers = service
        workers.script = {"validate": [GOOD], **script}
        self.asked: list[dict[str, Any]] = []

        def person(shown: dict[str, Any]) -> dict[str, Any] | None:
            self.asked.append(shown)
            return said[len(self.asked) - 1] if isinstance(said, list) else said

        document = b64encode(b"%PDF-1.7 " + name.encode()).decode()
        given = {
            "server": str(self.api.url),
            "key": "",
            "document": document,
            "vertical": "",
            "filename": f"{name}.pdf",
        }
        self.player = Player(SHIPPED, given, person=person)

    def play(self) -> dict[str, Any]:
        return self.player.play()

    def path(self) -> list[str]:
        return [each.target for each in self.api.app.records.history(self.id)]

    @property
    def id(self) -> str:
        return str(self.player.results["ingest"]["workflowId"])


def test_a_contract_that_is_sure_needs_no_person(service: tuple[ApiClient, Workers]) -> None:
    flow = Flow(service, "sure")

    results = flow.play()

    assert flow.player.calls == ["ingest", "extract", "compare"]
    assert results["compare"]["status"] == "completed"
    assert flow.asked == []


def test_a_person_approves_and_the_flow_goes_on(
    service: tuple[ApiClient, Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WM_ROOT_FLOW_JOB_ID", "run-7")
    flow = Flow(service, "approved", said={"action": "approve"}, validate=[DOUBTFUL])

    results = flow.play()

    assert flow.player.calls == ["ingest", "extract", "ask", "review", "decided", "compare"]
    assert flow.asked[0]["extracted"]["needsReview"]
    assert "default_args" not in flow.asked[0]
    assert results["gate"]["status"] == "validated"
    assert results["compare"]["status"] == "completed"
    assert "review_required" in flow.path()
    assert results["review"]["jobId"] == "run-7"
    assert APPROVER in str(flow.api.app.records.history(flow.id))


def test_a_refused_correction_comes_back_as_a_second_form(
    service: tuple[ApiClient, Workers],
) -> None:
    wrong = {"action": "correct", "correctedData": {"no_such_field": "1"}}
    flow = Flow(service, "twice", said=[wrong, {"action": "approve"}], validate=[DOUBTFUL])

    results = flow.play()

    steps = ["ask", "review", "ask_again", "review_again", "compare"]
    assert flow.player.calls == ["ingest", "extract", *steps]
    assert flow.asked[1]["default_args"]["correctedData"] == wrong["correctedData"]
    assert "no_such_field" in str(flow.asked[1]["refused"])
    assert results["gate"]["status"] == "validated"
    assert results["compare"]["status"] == "completed"


def test_a_correction_that_is_refused_twice_fails_the_flow_and_waits_on(
    service: tuple[ApiClient, Workers],
) -> None:
    wrong = {"action": "correct", "correctedData": {"no_such_field": "1"}}
    flow = Flow(service, "three", said=[wrong, wrong], validate=[DOUBTFUL])

    with pytest.raises(Exception, match="no_such_field"):
        flow.play()

    assert flow.path()[-1] == "review_required"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"action": "reject", "notes": "not ours"}, "rejected"),
        (DISAPPROVED, "rejected"),
        (TIMED_OUT, "timed_out"),
        (None, "timed_out"),
    ],
    ids=["rejected in the form", "disapproved", "timed out", "silence"],
)
def test_what_no_person_accepts_is_not_compared(
    service: tuple[ApiClient, Workers], said: dict[str, Any] | None, status: str
) -> None:
    flow = Flow(service, f"{status} {said}", said=said, validate=[DOUBTFUL])

    results = flow.play()

    assert flow.player.calls == ["ingest", "extract", "ask", "review", "decided"]
    assert results["gate"]["status"] == status
    assert flow.path()[-1] == status
    assert "compare" not in results


def test_what_may_pass_is_tried_again_by_windmill(service: tuple[ApiClient, Workers]) -> None:
    flow = Flow(service, "busy", extract=[BUSY, BUSY, {}], compare=[BUSY, {}])

    results = flow.play()

    assert flow.player.calls == ["ingest", "extract", "extract", "extract", "compare", "compare"]
    assert results["compare"]["status"] == "completed"


def test_what_cannot_pass_ends_the_flow_at_once(service: tuple[ApiClient, Workers]) -> None:
    flow = Flow(service, "broken", parse=[BROKEN])

    with pytest.raises(Exception, match="CORRUPT_FILE"):
        flow.play()

    assert flow.player.calls == ["ingest"]
