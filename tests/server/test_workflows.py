"""An external driver takes documents through their stages over HTTP: success, failure and review."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server.api_client import ApiClient, problem, serving, settings_at
from tests.server.contracts import BETTER, DOUBTFUL, FOUND, Fail, Player, playing
from tests.server.driving import BUSY, Driver, told

BROKEN = Fail("CORRUPT_FILE", is_retryable=False)


# One way through


def test_each_call_runs_its_own_step_and_says_what_comes_next(
    any_api: ApiClient, tmp_path: Path
) -> None:
    with playing(any_api.app.settings) as player:
        driver = Driver(any_api, "through")

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
    assert any_api.app.admin.verify().is_sound


def test_the_same_call_twice_gives_the_same_answer_and_runs_nothing_again(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "twice")

    answers = [
        (driver.ingest(), driver.ingest()),
        (driver.call("extract"), driver.call("extract")),
        (driver.call("compare"), driver.call("compare")),
    ]

    for first, second in answers:
        assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert [stage for _, stage in player.ran] == ["parse", "extract", "validate", "compare"]


def test_many_who_call_at_once_get_one_step_and_one_answer(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "many")
    driver.ingest()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: driver.call("extract").json(), range(6)))

    assert all(each == answers[0] for each in answers)
    assert [name for _, name in player.ran] == ["parse", "extract", "validate"]


def test_a_call_out_of_order_is_refused_with_those_that_are_possible(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(api, "order")
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
    api, player = stage
    told(player, extract=[BUSY, BUSY, {}])
    driver = Driver(api, "busy")
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
    api, player = stage
    told(player, parse=[BROKEN])
    driver = Driver(api, "broken")

    answers = [driver.ingest(), driver.ingest()]

    for each in answers:
        assert (each.status_code, problem(each)) == (422, "step-failed")
        assert (each.json()["retryable"], each.json()["error_code"]) == (False, "CORRUPT_FILE")
    assert len(player.ran) == 1
    state = api.get(f"/workflows/{driver.id}").json()
    assert state["error"]["failedAtStep"] == "parsing_pdf"
    assert state["retryable"] is False


def test_a_retry_resumes_the_failed_step_and_waits_for_it(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player, compare=[Fail("BROKEN", is_retryable=False), {}])
    driver = Driver(api, "retry")
    driver.ingest()
    driver.call("extract")
    assert driver.call("compare").status_code == 422

    retried, again = driver.call("retry", json={"reason": "mended"}), driver.call("retry")

    assert (retried.status_code, retried.json()["status"]) == (200, "completed")
    assert again.json() == retried.json()
    assert [name for _, name in player.ran].count("extract") == 1
    assert driver.history()[-2].metadata["reason"] == "mended"


def test_used_up_retries_reject_it_and_the_answer_is_final(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player, extract=[BUSY])
    driver = Driver(api, "spent")
    driver.ingest()

    answers = [driver.call("extract") for _ in range(5)]

    assert [each.status_code for each in answers] == [503, 503, 503, 422, 422]
    assert answers[-1].json()["found"] == "rejected"
    assert len([name for _, name in player.ran if name == "extract"]) == 4


def test_a_step_that_takes_longer_than_the_call_is_503_and_waited_for_again(
    tmp_path: Path,
) -> None:
    settings = settings_at(tmp_path / "data", step_seconds_max=0.05)
    with serving(settings) as api:
        driver = Driver(api, "slow")
        late = driver.ingest()
        assert (late.status_code, problem(late)) == (503, "step-unfinished")
        assert late.json()["retryable"] is True
        with playing(settings):
            api.app.records.wait(driver.id, timeout_s=30)
        done = driver.ingest()

    assert (done.status_code, done.json()["status"]) == (200, "extracting")


# Reviews


def test_a_doubtful_contract_waits_for_a_person_whose_answer_is_brought(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(api, "review")
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
    assert api.get(f"/workflows/{driver.id[:-4]}").json()["workflowId"] == driver.id


def test_a_correction_is_held_to_the_rules_and_kept_in_canonical_form(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(api, "correct")
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


def test_a_second_different_correction_is_refused_and_the_same_one_again_is_not(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(api, "second")
    driver.ingest(json={"verticalSlug": "energy"})
    driver.call("extract")
    right = {
        "tariff_name": "Easy Strom", "monthly_rate": "56,90 EUR", "contract_start": "1. März 2026",
        "contract_end": "28.02.2027", "kwh_price": "31,2 ct/kWh", "cancellation_period": None,
    }  # fmt: skip

    first = driver.reviews("correct", correctedData=right)
    again = driver.reviews("correct", correctedData={**right, "monthly_rate": "56.90"})
    other = driver.reviews("correct", correctedData={**right, "monthly_rate": "99.00"})

    assert (first.status_code, again.status_code) == (200, 200)
    assert (other.status_code, problem(other)) == (409, "review-taken")
    values = {
        each["field"]: each["value"] for each in api.get(f"/workflows/{driver.id}").json()["fields"]
    }
    assert values["monthly_rate"] == "56.90"


def test_a_reviewer_or_a_later_caller_chooses_another_vertical(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL, DOUBTFUL])
    driver = Driver(api, "vertical chosen")
    driver.ingest()
    driver.call("extract")

    unknown = driver.reviews("reject", notes="no", verticalSlug="water")
    wrong = driver.reviews("approve", verticalSlug="telco")
    rejected = driver.reviews("reject", notes="this is telco", verticalSlug="telco").json()
    other = driver.call("reprocess", json={"verticalSlug": "insurance"}).json()

    assert (unknown.status_code, wrong.status_code) == (422, 422)
    (successor,) = rejected["replacedBy"]
    shown = api.get(f"/workflows/{successor}").json()
    assert (rejected["status"], shown["vertical"], shown["replaces"]) == (
        "rejected", "telco", driver.id,
    )  # fmt: skip
    assert (other["vertical"], other["replaces"]) == ("insurance", driver.id)
    assert len(api.get(f"/workflows/{driver.id}").json()["replacedBy"]) == 2


@pytest.mark.parametrize("first", [{}, {"verticalSlug": "insurance"}])
def test_a_vertical_that_a_rejection_did_not_choose_is_not_dropped_without_a_word(
    stage: tuple[ApiClient, Player], first: dict[str, str]
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL])
    driver = Driver(api, f"vertical later {len(first)}")
    driver.ingest()
    driver.call("extract")

    driver.reviews("reject", notes="no", **first)
    again = driver.reviews("reject", notes="no", **first)
    other = driver.reviews("reject", notes="no", verticalSlug="telco")

    assert again.status_code == 200, again.text
    assert (other.status_code, problem(other)) == (409, "review-taken")
    assert len(api.get(f"/workflows/{driver.id}").json()["replacedBy"]) == len(first)


def test_a_parameter_that_a_route_does_not_have_is_refused(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "parameters")
    driver.ingest()

    answers = [
        api.get(f"/workflows/{driver.id}", params={"verbose": "1"}),
        driver.call("extract", params={"vertical": "telco"}),
        driver.ingest(params={"vertical": "telco"}),
    ]

    assert [each.status_code for each in answers] == [400, 400, 400]
    assert "vertical" in answers[1].json()["detail"]


def test_a_timeout_may_be_brought_and_the_contract_processed_again(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, validate=[DOUBTFUL, DOUBTFUL])
    driver = Driver(api, "timeout")
    driver.ingest()
    driver.call("extract")

    early = driver.reviews("timeout")
    ended, again = driver.reviews("timeout", notes="no one is left"), driver.reviews("timeout")
    anew, same = (driver.call("reprocess", json={"reason": "ask again"}) for _ in range(2))

    assert (early.status_code, problem(early)) == (422, "unprocessable")
    assert (ended.json()["status"], ended.json()) == ("timed_out", again.json())
    listed = api.get("/records", params={"q": "machine:contract status:timed_out"}).json()["items"]
    assert driver.id in [each["id"] for each in listed]
    assert anew.json() == same.json()
    assert anew.json()["replaces"] == driver.id
    assert "document" not in anew.json(), "a SHA-256 is an internal name"
    old, new = (api.app.record(each.json()["workflowId"]) for each in (ended, anew))
    assert new.artifact == old.artifact
    assert anew.json()["status"] == "extracting"
    assert len(driver.history()) == 6, "the old one keeps its history"
