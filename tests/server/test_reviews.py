"""Reviews over HTTP: what waits, taking it up, and the one decision."""

import pytest

from tests.server.api_client import ApiClient, problem
from tests.server.contracts import FOUND, PROBLEMS, WHY, waiting


@pytest.fixture
def reviewed(any_api: ApiClient) -> ApiClient:
    return any_api


def test_what_waits_is_listed_and_can_be_looked_at(reviewed: ApiClient) -> None:
    first, second = waiting(reviewed.app), waiting(reviewed.app)

    page = reviewed.get("/reviews/pending", params={"limit": 1}).json()
    rest = reviewed.get("/reviews/pending", params={"limit": 1, "cursor": page["next"]}).json()

    assert [page["items"][0]["record_id"], rest["items"][0]["record_id"]] == [
        first.id, second.id,
    ]  # fmt: skip
    assert rest["next"] is None
    task = page["items"][0]
    assert (task["actions"], task["claim"]) == (["approve", "correct", "reject"], None)
    assert (task["confidence"], task["filename"]) == (40, "a.pdf")
    assert (task["finalConfidence"], task["vertical"]) == (40, "energy")
    assert task["reviewTaskId"] == task["workflowId"] == task["record_id"]
    answer = reviewed.get(f"/reviews/{first.id}")
    detail = answer.json()
    assert (detail["fields"], detail["problems"]) == (FOUND, PROBLEMS)
    assert (detail["submitted_by"], answer.headers["etag"]) == ("person:ann", f'"{first.version}"')


def test_a_task_that_was_taken_up_is_refused_to_others_with_who_and_until_when(
    reviewed: ApiClient,
) -> None:
    record = waiting(reviewed.app)
    ada = reviewed.with_key(name="ada", role="reviewer")
    bob = reviewed.with_key(name="bob", role="reviewer")

    taken = ada.post(f"/reviews/{record.id}/claim")
    refused = bob.post(f"/reviews/{record.id}/claim")
    also = bob.post(f"/records/{record.id}/review", json={"action": "approve"})

    assert taken.json()["claim"]["is_mine"] is True
    assert [refused.status_code, problem(refused), problem(also)] == [
        409, "review-taken", "review-taken",
    ]  # fmt: skip
    assert refused.json()["by"].startswith("person:ada@")
    assert refused.json()["until"] == taken.json()["claim"]["until"]
    assert bob.get(f"/reviews/{record.id}").json()["claim"]["is_mine"] is False
    assert ada.post(f"/reviews/{record.id}/release").json()["claim"] is None
    assert bob.post(f"/records/{record.id}/review", json={"action": "approve"}).is_success


def test_the_first_decision_counts_and_a_second_hears_of_it(reviewed: ApiClient) -> None:
    record = waiting(reviewed.app)
    path = f"/records/{record.id}/review"

    first = reviewed.post(path, json={"action": "approve", "notes": "as printed"})
    second = reviewed.post(path, json={"action": "reject", "notes": "no"})

    assert (first.status_code, first.json()["status"]) == (200, "validated")
    assert (second.status_code, problem(second)) == (409, "review-taken")
    assert "decided it already" in second.json()["detail"]
    detail = reviewed.get(f"/reviews/{record.id}").json()
    assert (detail["decision"]["action"], detail["decision"]["notes"]) == ("approve", "as printed")
    assert reviewed.get("/reviews/pending").json()["items"] == []


def test_a_correction_stands_beside_the_original(reviewed: ApiClient) -> None:
    record = waiting(reviewed.app)
    names = ("tariff_name", "contract_start", "contract_end", "kwh_price", "cancellation_period")
    absent = dict.fromkeys(names)

    answer = reviewed.post(
        f"/records/{record.id}/review",
        json={"action": "correct", "corrected": {"monthly_rate": "56,90 EUR", **absent}},
        headers={"If-Match": f'"{record.version}"'},
    )

    assert answer.status_code == 200, answer.text
    kept = {
        stage: [item["value"] for item in reviewed.app.items(record.id, stage)]
        for stage in ("extract", "review")
    }
    assert kept == {"extract": ["E.ON", "65.90"], "review": ["E.ON", "56.90"]}
    assert reviewed.app.admin.verify().is_sound


def test_a_decision_on_an_old_sight_is_stale_and_an_unknown_action_is_named(
    shared: ApiClient,
) -> None:
    record = waiting(shared.app)
    path = f"/records/{record.id}/review"

    stale = shared.post(path, json={"action": "approve"}, headers={"If-Match": '"1"'})
    unknown = shared.post(path, json={"action": "forward"})
    no_reason = shared.post(path, json={"action": "reject"})
    early = shared.post(path, json={"action": "timeout"})

    assert [problem(each) for each in (stale, unknown, no_reason, early)] == [
        "stale", "unknown-value", "unprocessable", "unprocessable",
    ]  # fmt: skip
    assert unknown.json()["allowed"] == ["approve", "correct", "reject"]
    assert "give a reason (`notes`" in early.json()["detail"]


def test_open_reviews_are_chosen_by_a_fact_of_their_pipeline_and_say_why_they_wait(
    shared: ApiClient,
) -> None:
    record = waiting(shared.app)

    found = shared.get("/reviews/pending", params={"vertical": "energy", "limit": 1000}).json()
    none = shared.get("/reviews/pending", params={"vertical": "telco"}).json()
    unknown = shared.get("/reviews/pending", params={"vertikal": "energy"})

    task = next(each for each in found["items"] if each["record_id"] == record.id)
    assert {each["vertical"] for each in found["items"]} == {"energy"}
    assert task["reasons"] == [WHY]
    assert none["items"] == []
    assert (unknown.status_code, problem(unknown)) == (400, "invalid-request")
    assert "vertical" in unknown.json()["detail"]


def test_a_decision_without_a_body_is_told_what_is_missing(shared: ApiClient) -> None:
    record = waiting(shared.app)

    answer = shared.post(f"/records/{record.id}/review")

    assert "needs a JSON document" in answer.json()["detail"]


def test_the_same_decision_under_one_key_is_given_the_same_answer(shared: ApiClient) -> None:
    record = waiting(shared.app)
    path, headers = f"/records/{record.id}/review", {"Idempotency-Key": "once"}

    first, again = (
        shared.post(path, json={"action": "approve"}, headers=headers) for _ in range(2)
    )

    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_what_waits_for_no_review_is_not_decided(shared: ApiClient) -> None:
    upload = shared.sent()

    assert problem(shared.get(f"/reviews/{upload}")) == "not-found"
    assert problem(shared.post(f"/reviews/{upload}/claim")) == "impossible"
    refused = shared.post(f"/records/{upload}/review", json={"action": "approve"})
    assert problem(refused) == "impossible"


def test_roles_say_who_may_look_and_who_may_decide(api: ApiClient) -> None:
    record = waiting(api.app)
    viewer = api.with_key(name="vera", role="viewer")
    reviewer = api.with_key(name="rita", role="reviewer")
    elsewhere = api.with_key(name="nina", role="reviewer", pipelines=["upload"])

    assert viewer.get("/reviews/pending").json()["items"][0]["record_id"] == record.id
    assert problem(viewer.post(f"/reviews/{record.id}/claim")) == "forbidden"
    assert elsewhere.get("/reviews/pending").json()["items"] == []
    assert problem(elsewhere.post(f"/reviews/{record.id}/claim")) == "not-found"
    named = {"action": "approve", "reviewer": "somebody-else"}
    assert problem(reviewer.post(f"/workflows/{record.id}/review", json=named)) == "forbidden"
    assert reviewer.post(f"/reviews/{record.id}/claim").is_success


def test_with_keys_no_person_accepts_what_they_submitted(api: ApiClient) -> None:
    key, text = api.app.admin.new_key("olga", role="operator")
    own = ApiClient(api.url, api.app, text)
    record = waiting(api.app, actor=f"person:{key.name}@{key.id}")

    refused = own.post(f"/records/{record.id}/review", json={"action": "approve"})

    assert (refused.status_code, problem(refused)) == (403, "review-refused")
    other = api.with_key(name="rita", role="reviewer")
    assert other.post(f"/records/{record.id}/review", json={"action": "approve"}).is_success
    own.close()


def test_a_decision_can_be_held_and_undone(reviewed: ApiClient) -> None:
    record = waiting(reviewed.app)
    ada = reviewed.with_key(name="ada", role="reviewer")
    bob = reviewed.with_key(name="bob", role="reviewer")
    path = f"/reviews/{record.id}/decision"
    body = {"action": "reject", "notes": "not ours"}

    held = ada.http.put(path, json=body, headers={"If-Match": f'"{record.version}"'})
    seen = bob.get(f"/reviews/{record.id}").json()
    refused = bob.http.put(path, json=body)
    undone = ada.http.delete(path)

    pending = held.json()["pending"]
    assert (pending["action"], pending["is_mine"], pending["notes"]) == ("reject", True, "not ours")
    assert pending["at"] < pending["effective_at"]
    assert (seen["pending"]["is_mine"], seen["pending"]["notes"], seen["decision"]) == (
        False,
        None,
        None,
    )
    assert (refused.status_code, problem(refused)) == (409, "review-taken")
    assert (undone.status_code, undone.json()["notes"]) == (200, "not ours")
    assert ada.http.delete(path).status_code == 404
    assert reviewed.app.record(record.id).version == record.version


def test_a_key_of_a_decision_that_was_undone_does_not_say_that_it_is_stored(
    reviewed: ApiClient,
) -> None:
    record = waiting(reviewed.app)
    ada = reviewed.with_key(name="ada", role="reviewer")
    path = f"/reviews/{record.id}/decision"
    body = {"action": "reject", "notes": "not ours"}
    once = {"Idempotency-Key": "pressed-once"}

    held = ada.http.put(path, json=body, headers=once)
    repeated = ada.http.put(path, json=body, headers=once)
    ada.http.delete(path)
    after_undo = ada.http.put(path, json=body, headers=once)
    anew = ada.http.put(path, json=body, headers={"Idempotency-Key": "pressed-twice"})
    reviewed.app.database.run("UPDATE pending_decisions SET effective_at = 0")
    reviewed.app.reviews.apply_due()
    in_effect = ada.http.put(path, json=body, headers={"Idempotency-Key": "pressed-twice"})

    assert [each.status_code for each in (held, repeated, anew, in_effect)] == [200] * 4
    assert held.json() == repeated.json()
    assert problem(after_undo) == "key-reused"
    assert reviewed.app.record(record.id).status == "rejected"


def test_a_held_decision_is_refused_while_the_form_is_still_open(reviewed: ApiClient) -> None:
    record = waiting(reviewed.app)
    path = f"/reviews/{record.id}/decision"

    stale = reviewed.http.put(path, json={"action": "approve"}, headers={"If-Match": '"0"'})
    silent = reviewed.http.put(path, json={"action": "reject"})

    assert (stale.status_code, silent.status_code) == (412, 422)
    assert reviewed.get(f"/reviews/{record.id}").json()["pending"] is None


def test_many_are_decided_as_one_and_undone_as_one(reviewed: ApiClient) -> None:
    first, second = waiting(reviewed.app), waiting(reviewed.app)
    ada = reviewed.with_key(name="ada", role="reviewer")
    bob = reviewed.with_key(name="bob", role="reviewer")
    chosen = [
        {"record_id": first.id, "version": first.version},
        {"record_id": second.id, "version": 0},
        {"record_id": "CW_none", "version": 1},
    ]
    body = {"action": "reject", "notes": "not ours", "reviews": chosen}

    checked = ada.post("/reviews/batches", json={**body, "dry_run": True}).json()
    untouched = ada.get(f"/reviews/{first.id}").json()
    headers = {"Idempotency-Key": "once"}
    held = ada.post("/reviews/batches", json=body, headers=headers).json()
    again = ada.post("/reviews/batches", json=body, headers=headers).json()

    assert [each["problem"] for each in checked["results"]] == [None, "stale", "not-found"]
    assert (checked["id"], checked["applied"], checked["refused"]) == (None, 1, 2)
    assert untouched["pending"] is None
    assert again == held
    assert ada.get(f"/reviews/{first.id}").json()["pending"]["batch"] == held["id"]
    assert bob.get(f"/reviews/{first.id}").json()["pending"]["batch"] is None
    assert bob.http.delete(f"/reviews/batches/{held['id']}").status_code == 404
    assert ada.http.delete(f"/reviews/batches/{held['id']}").json()["undone"] == [first.id]
    assert ada.get(f"/reviews/{first.id}").json()["pending"] is None
    after_undo = ada.http.post("/reviews/batches", json=body, headers=headers)
    assert problem(after_undo) == "key-reused"
    assert ada.get(f"/reviews/{first.id}").json()["pending"] is None


def test_a_bulk_decision_names_each_review_once(shared: ApiClient) -> None:
    twice = [{"record_id": "CW_1", "version": 1}] * 2

    answer = shared.post("/reviews/batches", json={"action": "approve", "reviews": twice})

    assert (answer.status_code, problem(answer)) == (422, "unprocessable")


def test_a_second_opinion_is_asked_for_and_the_other_person_decides(reviewed: ApiClient) -> None:
    record = waiting(reviewed.app)
    ada = reviewed.with_key(name="ada", role="reviewer")
    bob = reviewed.with_key(name="bob", role="reviewer")
    asked = {
        "to": "bob",
        "corrected": {"provider": "Eon AG"},
        "is_blind": True,
        "notes": "who is it?",
    }
    stale = {"If-Match": '"1"'}

    late = ada.post(f"/reviews/{record.id}/opinion", json=asked, headers=stale)
    unknown = ada.post(f"/reviews/{record.id}/opinion", json={"to": "group:legal"})
    task = ada.post(f"/reviews/{record.id}/opinion", json=asked).json()
    seen = bob.get(f"/reviews/{record.id}").json()
    refused = ada.post(f"/records/{record.id}/review", json={"action": "approve"})
    code = bob.post(f"/records/{record.id}/review", json={"action": "reject", "reason_code": "x"})

    assert [problem(each) for each in (late, unknown, refused, code)] == [
        "stale", "unknown-value", "review-refused", "unknown-value",
    ]  # fmt: skip
    assert (task["referral"]["to"], task["may_decide"]) == ("person:bob", False)
    assert (seen["may_decide"], seen["opinions"][0]["values"]) == (True, {})
    assert bob.post(f"/records/{record.id}/review", json={"action": "approve"}).is_success
    (opinion,) = bob.get(f"/reviews/{record.id}").json()["opinions"]
    assert opinion["values"] == {"provider": ["Eon AG"]}
    seen = [each.get("/reviews/statistics").json()["people"] for each in (ada, bob)]
    assert [[(each["person"], each["approved"]) for each in people] for people in seen] == [
        [], [("bob", 1)],
    ]  # fmt: skip
    assert reviewed.app.admin.verify().is_sound
