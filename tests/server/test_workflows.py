"""Contracts that are driven from outside over HTTP: each call runs its step, and both ways make the same moves."""

from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stateward.core.model import Transition
from stateward.pipelines.contracts import CONTRACT
from tests.definition.test_graphs import CONTRACT_ROWS
from tests.server.api_client import ApiClient, problem, serving, settings_at
from tests.server.contracts import BETTER, DOUBTFUL, FOUND, Fail, Player, playing

PDF = b"%PDF-1.7 a contract"
BUSY = Fail("MODEL_BUSY")
BROKEN = Fail("CORRUPT_FILE", is_retryable=False)


@contextmanager
def driven(folder: Path, url: str | None = None) -> Iterator[tuple[ApiClient, Player]]:
    settings = settings_at(folder, store_url=url)
    with serving(settings) as door, playing(settings) as player:
        yield door, player


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiClient, Player]]:
    """A service and a worker for all tests of this file; each takes a contract of its own."""
    with driven(tmp_path_factory.mktemp("driven")) as found:
        yield found


class Driver:
    """Whoever sequences one contract from outside."""

    def __init__(self, door: ApiClient, name: str) -> None:
        self.door = door
        self.content = PDF + name.encode()
        self.id = ""

    def ingest(self, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        body = {"pdfBase64": b64encode(self.content).decode(), "filename": "a.pdf"}
        answer = self.door.post("/workflows/ingest", json={**body, **how.pop("json", {})}, **how)
        self.id = answer.json().get("workflowId") or answer.json().get("record_id") or self.id
        return answer

    def call(self, name: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
        return self.door.post(f"/workflows/{self.id}/{name}", **how)

    def reviews(self, action: str, **more: object) -> httpx2.Response:
        return self.call("review", json={"action": action, **more})

    def history(self) -> list[Transition]:
        return self.door.app.history(self.id)

    def path(self) -> list[tuple[str | None, str, str]]:
        return [(each.source, each.target, each.trigger) for each in self.history()]


def told(player: Player, **script: Any) -> None:  # noqa: ANN401 - facts and failures
    player.script = {"validate": [{**DOUBTFUL, "final_confidence": 95}]} | {
        stage: list(each) for stage, each in script.items()
    }
    player.ran = []


# One way through


def test_each_call_runs_its_own_step_and_says_what_comes_next(
    any_door: ApiClient, tmp_path: Path
) -> None:
    with playing(any_door.app.settings) as player:
        driver = Driver(any_door, "through")

        taken = driver.ingest()
        extracted = driver.call("extract")
        compared = driver.call("compare")

    assert [each.status_code for each in (taken, extracted, compared)] == [200, 200, 200]
    first, second, third = (each.json() for each in (taken, extracted, compared))
    assert (first["status"], first["nextCalls"], first["sequencing"]) == (
        "extracting", ["extract"], "outside",
    )  # fmt: skip
    assert (second["status"], second["needsReview"], second["nextCalls"]) == (
        "validated", False, ["compare"],
    )  # fmt: skip
    assert (second["finalConfidence"], second["fields"]) == (95, FOUND)
    assert (third["status"], third["nextCalls"]) == ("completed", ["reprocess"])
    assert third["comparison"] == {"is_better": True, "offers": BETTER}
    assert [stage for _, stage in player.ran] == ["parse", "extract", "validate", "compare"]
    asked = [each.metadata.get("asked_by") for each in driver.history() if each.metadata]
    assert set(asked) - {None} == {"sequencer:anonymous@local"}
    assert any_door.app.verify().is_sound


def test_the_same_call_twice_gives_the_same_answer_and_runs_nothing_again(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player)
    driver = Driver(door, "twice")

    answers = [
        (driver.ingest(), driver.ingest()),
        (driver.call("extract"), driver.call("extract")),
        (driver.call("compare"), driver.call("compare")),
    ]

    for first, second in answers:
        assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert [stage for _, stage in player.ran] == ["parse", "extract", "validate", "compare"]


def test_many_who_call_at_once_get_one_step_and_one_answer(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player)
    driver = Driver(door, "many")
    driver.ingest()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: driver.call("extract").json(), range(6)))

    assert all(each == answers[0] for each in answers)
    assert [name for _, name in player.ran] == ["parse", "extract", "validate"]


def test_a_call_out_of_order_is_refused_with_those_that_are_possible(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(door, "order")
    driver.ingest()

    early = [driver.call("compare"), driver.reviews("approve"), driver.call("retry")]
    driver.call("extract")
    later = driver.call("compare")

    assert [(each.status_code, problem(each)) for each in early] == [(409, "out-of-order")] * 3
    assert [each.json()["allowed"] for each in early] == [["extract"]] * 3
    assert (problem(later), later.json()["allowed"]) == ("out-of-order", ["review"])
    driver.reviews("reject", notes="not ours")
    over = driver.call("compare")
    assert (problem(over), over.json()["found"], over.json()["allowed"]) == (
        "out-of-order", "rejected", ["reprocess"],
    )  # fmt: skip


# Failures


def test_what_may_pass_is_503_and_the_same_call_tries_it_again(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, extract=[BUSY, BUSY, {}])
    driver = Driver(door, "busy")
    driver.ingest()

    first, second, third = (driver.call("extract") for _ in range(3))

    assert [(each.status_code, problem(each)) for each in (first, second)] == [
        (503, "step-retryable")
    ] * 2
    assert (first.json()["retryable"], first.json()["error_code"]) == (True, "MODEL_BUSY")
    assert first.headers["retry-after"] == "1"
    assert third.json()["status"] == "validated"
    assert [name for _, name in player.ran] == [
        "parse",
        "extract",
        "extract",
        "extract",
        "validate",
    ]


def test_what_no_retry_can_cure_is_422_and_is_not_tried_again(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, parse=[BROKEN])
    driver = Driver(door, "broken")

    answers = [driver.ingest(), driver.ingest()]

    for each in answers:
        assert (each.status_code, problem(each)) == (422, "step-failed")
        assert (each.json()["retryable"], each.json()["error_code"]) == (False, "CORRUPT_FILE")
    assert len(player.ran) == 1
    state = door.get(f"/workflows/{driver.id}").json()
    assert state["error"]["failedAtStep"] == "parsing_pdf"
    assert state["retryable"] is False


def test_a_retry_resumes_the_failed_step_and_waits_for_it(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player, compare=[Fail("BROKEN", is_retryable=False), {}])
    driver = Driver(door, "retry")
    driver.ingest()
    driver.call("extract")
    assert driver.call("compare").status_code == 422

    retried, again = driver.call("retry", json={"reason": "mended"}), driver.call("retry")

    assert (retried.status_code, retried.json()["status"]) == (200, "completed")
    assert again.json() == retried.json()
    assert [name for _, name in player.ran].count("extract") == 1
    assert driver.history()[-2].metadata["reason"] == "mended"


def test_used_up_retries_reject_it_and_the_answer_is_final(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player, extract=[BUSY])
    driver = Driver(door, "spent")
    driver.ingest()

    answers = [driver.call("extract") for _ in range(5)]

    assert [each.status_code for each in answers] == [503, 503, 503, 422, 422]
    assert answers[-1].json()["found"] == "rejected"
    assert len([name for _, name in player.ran if name == "extract"]) == 4


def test_a_step_that_takes_longer_than_the_call_is_503_and_waited_for_again(
    tmp_path: Path,
) -> None:
    settings = settings_at(tmp_path / "data", step_seconds_max=0.05)
    with serving(settings) as door:
        driver = Driver(door, "slow")
        late = driver.ingest()
        assert (late.status_code, problem(late)) == (503, "step-unfinished")
        assert late.json()["retryable"] is True
        with playing(settings):
            door.app.wait(driver.id, timeout_s=30)
        done = driver.ingest()

    assert (done.status_code, done.json()["status"]) == (200, "extracting")


# Reviews


def test_a_doubtful_contract_waits_for_a_person_whose_answer_is_brought(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(door, "review")
    driver.ingest()

    asked = driver.call("extract").json()
    answer = driver.reviews(
        "correct", correctedData={"monthly_rate": "56,90 EUR"}, reviewer="Ada", notes="blurred"
    )
    compared = driver.call("compare").json()

    assert (asked["needsReview"], asked["reviewTaskId"], asked["nextCalls"]) == (
        True, driver.id, ["review"],
    )  # fmt: skip
    assert answer.status_code == 422, "the rules of the vertical ask for more than was found"
    assert {each["field"] for each in answer.json()["errors"]} >= {"contract_start"}
    assert compared["status"] == 409
    approved, again = driver.reviews("approve", reviewer="Ada"), driver.reviews("approve")
    assert (approved.json()["status"], approved.json()) == ("validated", again.json())
    second = driver.reviews("reject", notes="no")
    assert (second.status_code, problem(second)) == (409, "review-taken")
    assert driver.history()[-1].metadata["reviewer"] == "Ada"


def test_a_correction_is_held_to_the_rules_and_kept_in_canonical_form(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(door, "correct")
    driver.ingest(json={"verticalSlug": "energy"})
    driver.call("extract")
    right = {
        "tariff_name": "Easy Strom", "monthly_rate": "56,90 EUR", "contract_start": "1. März 2026",
        "contract_end": "28.02.2027", "kwh_price": "31,2 ct/kWh", "cancellation_period": None,
    }  # fmt: skip

    wrong = driver.reviews("correct", correctedData={**right, "contract_start": "soon"})
    unknown = driver.reviews("correct", correctedData={**right, "colour": "red"})
    corrected = driver.reviews("correct", correctedData=right)

    assert (wrong.status_code, problem(wrong)) == (422, "invalid-correction")
    assert [each["field"] for each in wrong.json()["errors"]] == ["contract_start"]
    assert [each["field"] for each in unknown.json()["errors"]] == ["colour"]
    assert corrected.status_code == 200, corrected.text
    values = {each["field"]: each["value"] for each in corrected.json()["fields"]}
    assert (values["monthly_rate"], values["contract_start"]) == ("56.90", "2026-03-01")
    assert "cancellation_period" not in values


def test_a_timeout_may_be_brought_and_the_contract_processed_again(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, validate=[DOUBTFUL, DOUBTFUL])
    driver = Driver(door, "timeout")
    driver.ingest()
    driver.call("extract")

    ended, again = driver.reviews("timeout"), driver.reviews("timeout")
    anew, same = (driver.call("reprocess", json={"reason": "ask again"}) for _ in range(2))

    assert (ended.json()["status"], ended.json()) == ("timed_out", again.json())
    listed = door.get("/records", params={"q": "machine:contract status:timed_out"}).json()["items"]
    assert driver.id in [each["id"] for each in listed]
    assert anew.json() == same.json()
    assert anew.json()["replaces"] == driver.id
    assert anew.json()["document"] == ended.json()["document"]
    assert anew.json()["status"] == "extracting"
    assert len(driver.history()) == 6, "the old one keeps its history"


# Taking in


def test_a_contract_may_come_as_a_form(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player)

    answer = door.post(
        "/workflows/ingest",
        files={"file": ("b.pdf", PDF + b"form")},
        data={"verticalSlug": "telco", "filename": "named.pdf"},
    )

    assert (answer.json()["vertical"], answer.json()["filename"]) == ("telco", "named.pdf")


def test_with_auto_all_steps_run_by_themselves(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player)
    driver = Driver(door, "auto")

    taken = driver.ingest(params={"sequencing": "auto"})
    ended = door.get(f"/workflows/{driver.id}", params={"wait": "30s"}).json()

    assert (taken.json()["sequencing"], ended["status"]) == ("auto", "completed")
    assert driver.call("extract").json() == ended


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"pdfBase64": "%%%"}, "invalid-request"),
        ({"pdfBase64": ""}, "invalid-request"),
        ({}, "invalid-request"),
        ({"pdfBase64": "QQ==", "colour": "red"}, "invalid-request"),
        ({"pdfBase64": "QQ==", "verticalSlug": "cheese"}, "unknown-value"),
    ],
)
def test_what_cannot_be_a_contract_is_refused_at_the_door(
    stage: tuple[ApiClient, Player], body: dict[str, str], word: str
) -> None:
    door, _ = stage

    assert problem(door.post("/workflows/ingest", json=body)) == word


def test_the_same_document_under_another_vertical_is_refused(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player)
    driver = Driver(door, "vertical")
    driver.ingest(json={"verticalSlug": "energy"})

    refused = driver.ingest(json={"verticalSlug": "telco"})

    assert (problem(refused), refused.json()["record_id"]) == ("duplicate", driver.id)


def test_other_records_are_no_workflows(stage: tuple[ApiClient, Player]) -> None:
    door, _ = stage
    upload = door.sent()

    answers = [
        door.get(f"/workflows/{upload}"),
        *(door.post(f"/workflows/{upload}/{each}") for each in ("extract", "retry", "reprocess")),
        door.post(f"/workflows/{upload}/review", json={"action": "approve"}),
    ]

    assert [problem(each) for each in answers] == ["not-found"] * 5


def test_a_key_makes_the_answer_one_that_is_given_again_but_not_a_failure_that_may_pass(
    stage: tuple[ApiClient, Player],
) -> None:
    door, player = stage
    told(player, extract=[BUSY, {}])
    driver = Driver(door, "keyed")
    driver.ingest()
    headers = {"Idempotency-Key": "extract-1"}

    busy, done, replayed = (driver.call("extract", headers=headers) for _ in range(3))

    assert [each.status_code for each in (busy, done, replayed)] == [503, 200, 200]
    assert replayed.json() == done.json()
    assert replayed.headers["idempotency-replayed"] == "true"
    reused = door.post("/workflows/ingest", json={"pdfBase64": "QQ=="}, headers=headers)
    assert problem(reused) == "key-reused"


def test_a_step_meant_for_another_version_is_not_run(stage: tuple[ApiClient, Player]) -> None:
    door, player = stage
    told(player)
    driver = Driver(door, "version")
    driver.ingest()

    stale = driver.call("extract", headers={"If-Match": '"0"'})

    assert (stale.status_code, problem(stale)) == (412, "stale")
    assert [name for _, name in player.ran] == ["parse"]


def test_roles_say_who_ingests_decides_and_retries(tmp_path: Path) -> None:
    with driven(tmp_path / "data") as (door, player):
        told(player, validate=[DOUBTFUL])
        submitter = Driver(door.with_key(name="sue", role="submitter"), "roles")
        reviewer = door.with_key(name="rita", role="reviewer")
        submitter.ingest()
        submitter.call("extract")

        refused = [
            submitter.reviews("approve"),
            submitter.call("retry"),
            reviewer.post("/workflows/ingest", json={"pdfBase64": "QQ=="}),
        ]
        decided = reviewer.post(f"/workflows/{submitter.id}/review", json={"action": "approve"})

    assert [problem(each) for each in refused] == ["forbidden"] * 3
    assert decided.json()["status"] == "validated"


# All sixteen, both ways


def walks(
    door: ApiClient, player: Player, way: str
) -> dict[str, list[tuple[str | None, str, str]]]:
    """What happens to eight contracts, each another way, driven by calls or by the coordinator alone."""
    is_outside = way == "outside"
    plans: dict[str, tuple[dict[str, list[Any]], str]] = {
        "through": ({}, ""),
        "approved": ({"validate": [DOUBTFUL]}, "approve"),
        "corrected": ({"validate": [DOUBTFUL]}, "correct"),
        "rejected": ({"validate": [DOUBTFUL]}, "reject"),
        "timed out": ({"validate": [DOUBTFUL]}, "timeout"),
        "failed once everywhere": (
            {"parse": [BUSY, {}], "extract": [BUSY, {}], "validate": [BUSY, *GOOD_ONCE]}, "",
        ),
        "compare failed": ({"compare": [BUSY, {}]}, ""),
        "given up": ({"extract": [BUSY]}, ""),
    }  # fmt: skip
    paths = {}
    for name, (script, action) in plans.items():
        told(player, **script)
        driver = Driver(door, f"{way} {name}")
        driver.ingest(params={"sequencing": way})
        if is_outside:
            _drive(driver)
        _settle(door, driver, is_outside=is_outside)
        if action:
            _answer(door, driver, action, is_outside=is_outside)
            _settle(door, driver, is_outside=is_outside)
        paths[name] = driver.path()
    return paths


GOOD_ONCE: list[Any] = [{**DOUBTFUL, "final_confidence": 95}]


def _drive(driver: Driver) -> None:
    """Call what is possible until nothing is, or a person is asked."""
    for _ in range(20):
        state = driver.door.get(f"/workflows/{driver.id}").json()
        calls = [
            each for each in state["nextCalls"] if each not in ("review", "reprocess", "retry")
        ]
        if not calls:
            return
        answer = driver.ingest() if calls[0] == "ingest" else driver.call(calls[0])
        assert answer.status_code in (200, 503, 422), answer.text


def _settle(door: ApiClient, driver: Driver, *, is_outside: bool) -> None:
    """Until it rests. Without a driver the waits of retries are cut short by asking for them."""
    for _ in range(40):
        record = door.app.wait(driver.id, timeout_s=0.3)
        machine = door.app.registry.of(record)
        if machine.kind[record.status] in ("terminal", "suspended"):
            return
        if is_outside:
            _drive(driver)
        elif record.status == "failed" and not machine.is_spent(record):
            driver.call("retry")


def _answer(door: ApiClient, driver: Driver, action: str, *, is_outside: bool) -> None:
    body: dict[str, Any] = {"action": action}
    if action == "correct":
        body["correctedData"] = {
            "tariff_name": "Easy", "monthly_rate": "56.90", "contract_start": "2026-03-01",
            "contract_end": "2027-02-28", "kwh_price": "0.312", "cancellation_period": "1 month",
        }  # fmt: skip
    if action == "reject":
        body["notes"] = "no"
    if action == "timeout" and not is_outside:
        door.app.database.run(
            "UPDATE records SET due_at = :now WHERE id = :id", id=driver.id, now=door.app.clock()
        )
        known = {"If-None-Match": f'"{door.app.record(driver.id).version}"'}
        door.get(f"/workflows/{driver.id}", params={"wait": "20s"}, headers=known)
        return
    answer = driver.call("review", json=body)
    assert answer.status_code == 200, answer.text


def test_all_sixteen_transitions_are_walked_both_ways_and_are_the_same(tmp_path: Path) -> None:
    walked = {}
    for way in ("outside", "auto"):
        with driven(tmp_path / way) as (door, player):
            walked[way] = walks(door, player, way)
            assert door.app.verify().is_sound

    assert walked["outside"] == walked["auto"]
    pairs = {
        (source, to) for path in walked["outside"].values() for source, to, _ in path if source
    }
    rows = {
        (source, "(step that failed)" if source == "failed" and to != "rejected" else to)
        for source, to in pairs
    }
    assert rows == set(CONTRACT_ROWS)
    assert pairs == set(CONTRACT.pairs)
