"""Erasure, holds and retention over HTTP and in the client: for administrators, and the history still verifies."""

from stateward.client import Client
from stateward.proofs.history_checkpoint import read_checkpoint
from tests.server.api_client import ApiClient, problem, statement

WHY = {"reason": "request 17"}


def test_an_administrator_erases_holds_and_applies_rules(api: ApiClient) -> None:
    first, other, held = (
        api.sent(statement(number), **{"label.customer": f"{number}"}) for number in range(3)
    )
    api.work()
    kept = read_checkpoint(api.app.admin.verify().checkpoint)
    root = api.with_key(name="root", role="admin")

    api.app.eraser.hold(held, actor="person:a", reason="case 12")
    shown = root.post("/erasures", json={**WHY, "record_ids": [first, held], "is_dry_run": True})
    before = api.app.record(first).artifact
    done = root.post("/erasures", json={**WHY, "record_ids": [first, held]}).json()
    by_label = root.post("/erasures", json={**WHY, "subject": "customer=1"}).json()

    assert (shown.json()["erased"], before is not None) == ([first], True)
    assert (done["erased"], list(done["refused"]), done["documents"]) == ([first], [held], 1)
    assert by_label["erased"] == [other]
    assert api.app.record(first).labels == {}
    last = api.app.store.history(first)[-1]
    assert last.actor.startswith("person:root@")
    assert last.metadata["reason"] == "request 17"
    assert api.app.admin.verify(kept=kept).findings == ()
    rules = root.post("/retention", json={"is_dry_run": True}).json()
    assert rules == {"is_dry_run": True, "rules": []}


def test_the_client_holds_and_releases(api: ApiClient) -> None:
    record_id = api.sent()
    api.work()
    with Client(api.url) as client:
        assert client.hold(record_id, reason="case 12").is_held
        (held,) = client.holds()
        refused = client.erase([record_id], reason="request 17").refused
        client.hold(record_id, reason="it is closed", is_held=False)
        erased = client.erase([record_id], reason="request 17").erased
        assert client.apply_retention(is_dry_run=True).rules == []

    assert (held.record_id, held.reason) == (record_id, "case 12")
    assert (list(refused), erased) == ([record_id], [record_id])


def test_others_may_not_and_what_is_meant_must_be_said(api: ApiClient) -> None:
    operator = api.with_key(name="anna", role="operator")
    limited = api.with_key(name="part", role="admin", pipelines=["upload"])
    root = api.with_key(name="root", role="admin")

    assert problem(operator.post("/erasures", json={**WHY, "record_ids": ["x"]})) == "forbidden"
    assert problem(limited.post("/erasures", json={**WHY, "record_ids": ["x"]})) == "forbidden"
    assert problem(operator.get("/holds")) == "forbidden"
    for body in ({}, {"record_ids": ["x"], "subject": "a=b"}, {"subject": "a"}):
        assert root.post("/erasures", json={**WHY, **body}).status_code == 422
    nothing = root.post("/erasures", json={**WHY, "record_ids": ["UL_none"]}).json()
    assert nothing["refused"] == {"UL_none": "there is no record UL_none"}
