"""What an external driver may hand in, and how often."""

from pathlib import Path

import pytest

from tests.server.api_client import ApiClient, problem
from tests.server.contracts import CALL, DOUBTFUL, Player
from tests.server.driving import BUSY, PDF, Driver, driven, told


def test_a_contract_may_come_as_a_form(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player)

    answer = api.post(
        "/workflows/ingest",
        files={"file": ("b.pdf", PDF + b"form")},
        data={"verticalSlug": "telco", "filename": "named.pdf"},
    )

    assert (answer.json()["vertical"], answer.json()["filename"]) == ("telco", "named.pdf")


def test_with_auto_all_steps_run_by_themselves(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "auto")

    taken = driver.ingest(params={"sequencing": "auto"})
    ended = api.get(f"/workflows/{driver.id}", params={"wait": "30s"}).json()

    assert (taken.json()["sequencing"], ended["status"]) == ("auto", "completed")
    assert driver.call("extract").json() == ended


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"pdfBase64": "%%%"}, "unprocessable"),
        ({"pdfBase64": ""}, "invalid-request"),
        ({}, "invalid-request"),
        ({"pdfBase64": "QQ==", "colour": "red"}, "invalid-request"),
        ({"pdfBase64": "QQ==", "verticalSlug": "cheese"}, "unknown-value"),
    ],
)
def test_what_cannot_be_a_contract_is_refused_over_http(
    stage: tuple[ApiClient, Player], body: dict[str, str], word: str
) -> None:
    api, _ = stage

    assert problem(api.post("/workflows/ingest", json=body)) == word


def test_the_same_document_under_another_vertical_is_a_workflow_of_its_own_linked_both_ways(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "vertical")
    first = driver.ingest(json={"verticalSlug": "energy"}).json()

    other = driver.ingest(json={"verticalSlug": "telco"}).json()
    again = driver.ingest(json={"verticalSlug": "telco"}).json()
    same = driver.ingest(json={"verticalSlug": "energy"}).json()

    assert (other["vertical"], other["replaces"]) == ("telco", first["workflowId"])
    assert again["workflowId"] == other["workflowId"]
    assert (same["workflowId"], same["replacedBy"]) == (first["workflowId"], [other["workflowId"]])


def test_the_text_the_run_and_the_calls_of_the_model_are_in_the_answers(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "text")

    taken = driver.ingest(params={"returnText": "true"}, json={"jobId": "run-7"}).json()
    extracted = driver.call("extract").json()

    assert (taken["text"], taken["jobId"], taken["modelCalls"]) == ("a contract", "run-7", [])
    assert (extracted["text"], extracted["jobId"], extracted["modelCalls"]) == (
        None,
        "run-7",
        [CALL],
    )
    page = api.get(f"/console/records/{driver.id}/items?stage=extract").text
    cells = [text for row in page.split("Model calls</caption>")[1:] for text in row.split("<")]
    assert {
        'td class=" short">stub-1',
        'td class="num short">1200',
        'td class="num short">250',
    } <= set(cells)


def test_other_records_are_no_workflows(stage: tuple[ApiClient, Player]) -> None:
    api, _ = stage
    upload = api.sent()

    answers = [
        api.get(f"/workflows/{upload}"),
        *(api.post(f"/workflows/{upload}/{each}") for each in ("extract", "retry", "reprocess")),
        api.post(f"/workflows/{upload}/review", json={"action": "approve"}),
    ]

    assert [problem(each) for each in answers] == ["not-found"] * 5


def test_a_key_makes_the_answer_one_that_is_given_again_but_not_a_failure_that_may_pass(
    stage: tuple[ApiClient, Player],
) -> None:
    api, player = stage
    told(player, extract=[BUSY, {}])
    driver = Driver(api, "keyed")
    driver.ingest()
    headers = {"Idempotency-Key": "extract-1"}

    busy, done, replayed = (driver.call("extract", headers=headers) for _ in range(3))

    assert [each.status_code for each in (busy, done, replayed)] == [503, 200, 200]
    assert replayed.json() == done.json()
    assert replayed.headers["idempotency-replayed"] == "true"
    reused = api.post("/workflows/ingest", json={"pdfBase64": "QQ=="}, headers=headers)
    assert problem(reused) == "key-reused"


def test_a_step_meant_for_another_version_is_not_run(stage: tuple[ApiClient, Player]) -> None:
    api, player = stage
    told(player)
    driver = Driver(api, "version")
    driver.ingest()

    stale = driver.call("extract", headers={"If-Match": '"0"'})

    assert (stale.status_code, problem(stale)) == (412, "stale")
    assert [name for _, name in player.ran] == ["parse"]


def test_roles_say_who_ingests_decides_and_retries(tmp_path: Path) -> None:
    with driven(tmp_path / "data") as (api, player):
        told(player, validate=[DOUBTFUL])
        submitter = Driver(api.with_key(name="sue", role="submitter"), "roles")
        reviewer = api.with_key(name="rita", role="reviewer")
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
