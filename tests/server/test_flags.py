"""A result that a stage calls wrong or incomplete waits for a person: found, counted, told of, and decided once."""

from pathlib import Path
from typing import Any

import pytest

from stateward.app import App
from stateward.client import Client
from stateward.console import console
from stateward.notifications.outbox import Outbox
from stateward.server.http_server import Server
from tests.cli.shell import Shell
from tests.server.api_client import ApiClient, problem, serving, settings_at
from tests.server.contracts import waiting

GOOD = b"Date,Description,Amount,Balance\n2026-01-05,Shop,-1.50,8.50\n2026-01-06,Pay,2.00,10.50\n"
WRONG = GOOD.replace(b"10.50", b"99.00")


@pytest.fixture
def flagged(any_api: ApiClient) -> tuple[ApiClient, str]:
    any_api.sent(GOOD, name="good.csv")
    record_id = any_api.sent(WRONG, name="wrong.csv")
    any_api.work()
    return any_api, record_id


def test_it_is_found_counted_and_decided(flagged: tuple[ApiClient, str]) -> None:
    api, record_id = flagged

    def found(query: str) -> list[str]:
        return [each["id"] for each in api.get("/records", params={"q": query}).json()["items"]]

    assert (
        found("is:flagged") == found("flag:NOT_REC*") == found("flag:not_reconciled") == [record_id]
    )
    assert record_id not in found("-is:flagged")
    assert api.app.flags.counts() == {"upload": 1}
    assert "stateward_flagged_records" in api.app.monitor.text()
    assert "NOT_RECONCILED" in api.get(f"/records/{record_id}/explain").json()["sentence"]

    answer = api.post(f"/records/{record_id}/flags", json={"action": "confirm", "reason": "paper"})

    assert answer.status_code == 200
    assert answer.json()["flags"] == ["NOT_RECONCILED"]
    assert answer.json()["flag_decision"]["action"] == "confirm"
    assert found("is:flagged") == []
    assert found("flag:NOT_RECONCILED") == [record_id]
    (act,) = api.app.audit.entries(record_id=record_id)
    assert (act.verb, act.reason) == ("flag.confirm", "paper")
    assert api.app.admin.verify().is_sound


def test_what_cannot_be_decided_is_refused(api: ApiClient) -> None:
    good, wrong = api.sent(GOOD), api.sent(WRONG)
    api.work()
    path = f"/records/{wrong}/flags"

    assert api.post(f"/records/{good}/flags", json={"action": "confirm"}).status_code == 422
    assert api.post(path, json={"action": "reject"}).status_code == 422
    assert api.post(path, json={"action": "forget"}).status_code == 400
    stale = api.post(path, json={"action": "confirm"}, headers={"If-Match": '"1"'})
    assert stale.status_code == 412
    assert api.post("/records/UL_none/flags", json={"action": "confirm"}).status_code == 404
    assert api.app.flags.counts() == {"upload": 1}


def test_the_queue_of_the_console_shows_it_beside_its_document(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    with (
        Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server,
        App(settings) as app,
    ):
        record_id = app.submit(WRONG, name="wrong.csv").record.id
        app.run_until_idle()
        api = ApiClient(server.url, app)

        shown = api.get("/console/flags").text

        assert "NOT_RECONCILED" in shown
        assert f"/console/records/{record_id}" in shown
        assert "8.50" in shown
        assert "1 flagged" in api.get("/console/board/live").text
        api.post(f"/records/{record_id}/flags", json={"action": "reject", "reason": "no"})
        assert "Nothing is flagged" in api.get("/console/flags").text
        assert "decided it: reject" in api.get(f"/console/flags/{record_id}").text
        api.close()


def test_a_machine_may_be_subscribed_to_for_flags_alone(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        hook = app.notifications.add(
            "https://example.org/hook", events=["upload.flagged"], actor="person:anna"
        )
        app.submit(GOOD)
        record_id = app.submit(WRONG).record.id
        app.run_until_idle()
        outbox = Outbox(app.database, backoff_s=(1.0,))

        made = outbox.fan_out(outbox.transitions(after=0), [hook], now=0)

        assert made == 1
        (delivery,) = outbox.find(webhook_id=hook.id)
        assert (delivery.type, delivery.record_id) == ("upload.flagged", record_id)
        assert '"flags":["NOT_RECONCILED"]' in delivery.body


def test_the_command_line_lists_and_decides(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("flags")
    with App.embedded(folder) as app:
        record_id = app.submit(WRONG, name="wrong.csv").record.id
        app.run_until_idle()
    shell = Shell(folder)

    assert shell.ids("is:flagged") == [record_id]
    assert "NOT_RECONCILED" in shell("list").stdout
    assert "flagged as wrong or incomplete" in shell("explain", record_id).stdout
    exported = shell("items", record_id, "--format", "beancount")
    assert f"; {record_id} is flagged as wrong or incomplete: NOT_RECONCILED" in exported.stdout
    assert shell("flag", "reject", record_id).exit_code == 2
    assert shell("flag", "confirm", record_id).exit_code == 0
    assert shell.ids("is:flagged") == []
    assert "NOT_RECONCILED (confirm)" in shell("list").stdout


def test_a_submission_that_is_waited_for_ends_with_a_code_of_its_own(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("exit")
    (folder / "wrong.csv").write_bytes(WRONG)
    shell = Shell(folder / "data")

    done = shell("submit", str(folder / "wrong.csv"), "--wait")

    assert done.exit_code == 9
    assert "flagged as wrong or incomplete: NOT_RECONCILED" in done.stderr


def test_the_client_decides(api: ApiClient) -> None:
    record_id = api.sent(WRONG)
    api.work()

    with Client(api.url) as client:
        decided = client.decide_flags(record_id, "reject", reason="a page is missing")

    assert decided.flag_decision is not None
    assert decided.flag_decision.action == "reject"


def test_a_document_is_read_again_with_hints(api: ApiClient, tmp_path: Path) -> None:
    text = b"Date,Description,Amount\n01/02/2026,Shop purchase,-1.00\n03/04/2026,Salary,2.00\n"
    record_id = api.sent(text)
    api.work()

    with Client(api.url) as client:
        seen = client.reparse(record_id, {"date_order": "mdy"}, is_preview=True)
        done = client.reparse(record_id, {"date_order": "mdy"})
    far = ("--server", api.url)
    shell = Shell(tmp_path)
    again = shell.json(*far, "reparse", record_id, "--date-order", "mdy")

    assert (seen.is_stored, done.is_stored) == (False, True)
    assert [row["outcome"] for row in again] == ["unchanged"]
    assert shell.json(*far, "reparse", "--outdated") == []
    assert [row["date"] for row in done.added] == ["2026-01-02", "2026-03-04"]
    assert api.app.flags.counts() == {}
    unknown = api.post(f"/records/{record_id}/reparse", json={"hints": {"colour": "red"}})
    assert unknown.status_code == 422


def test_a_record_in_review_is_retried_with_other_options(api: ApiClient) -> None:
    record = waiting(api.app, vertical="energy")
    taken = waiting(api.app, vertical="energy", actor="person:bea")
    otto = api.with_key(name="otto", role="operator")
    reviewer = api.with_key(name="rita", role="reviewer")
    path = f"/records/{record.id}/reparse"
    reviewer.post(f"/reviews/{taken.id}/claim")

    refused = [
        reviewer.post(path, json={"hints": {"vertical": "telco"}}),
        otto.post(path, json={"hints": {"vertical": "water"}}),
        otto.post(path, json={"hints": {"consumption": "much"}}),
        otto.post(path, json={"hints": {"vertical": "energy"}}),
        otto.post(f"/records/{taken.id}/reparse", json={"hints": {"vertical": "telco"}}),
    ]
    preview = otto.post(path, json={"hints": {"vertical": "telco"}, "is_preview": True}).json()
    asked = {"hints": {"vertical": "telco"}, "reason": "it is about mobile phones"}
    done = otto.post(path, json=asked).json()

    kinds = ["forbidden", "unknown-value", "unprocessable", "unprocessable", "review-taken"]
    assert [problem(each) for each in refused] == kinds
    assert (preview["successor"], preview["is_stored"]) == (None, False)
    made, old = api.app.record(done["successor"]), api.app.record(record.id)
    assert (made.replaces, made.labels["vertical"], old.status) == (record.id, "telco", "rejected")
    first, last = api.app.store.history(made.id)[0], api.app.store.history(record.id)[-1]
    said = "vertical telco instead of energy"
    assert first.metadata["reason"] == f"it is about mobile phones: {said}"
    assert last.metadata["reason"] == f"processed again as {made.id}: {said}"
    assert [each.actor.partition("@")[0] for each in (first, last)] == ["person:otto"] * 2
    (noted,) = [each for each in api.app.audit.entries(record_id=old.id) if each.verb == "reread"]
    assert noted.detail == {
        "options": {"vertical": {"from": "energy", "to": "telco"}},
        "successor": made.id,
    }
    assert api.app.record(taken.id).status == "review_required"

    shell = Shell(api.app.settings.data_path)
    (row,) = shell.json("reparse", old.id, "--consumption", "3500")  # where a review has ended it
    assert (row["outcome"], api.app.record(row["successor"]).replaces) == ("replaced", old.id)


MDY: dict[str, Any] = {"label.date_order": "mdy"}
SIDEWAYS: dict[str, Any] = {"label.date_order": "sideways"}
AMBIGUOUS = b"Date,Description,Amount\n01/02/2026,Shop purchase,-1.00\n03/04/2026,Salary,2.00\n"


@pytest.mark.long
def test_known_bytes_with_other_hints_are_read_again_and_never_refused_in_silence(
    api: ApiClient,
) -> None:
    record_id = api.sent(AMBIGUOUS)
    assert "being read without" in api.send(AMBIGUOUS, **MDY).json()["note"]
    api.work()
    submitter = api.with_key(name="bert", role="submitter")
    api = api.with_key(name="anna", role="operator")

    same = api.send(AMBIGUOUS)
    forbidden = submitter.send(AMBIGUOUS, **MDY)
    wrong = api.send(AMBIGUOUS, **SIDEWAYS)
    made = api.send(AMBIGUOUS, path="/records", **MDY)

    assert (same.status_code, forbidden.status_code, wrong.status_code) == (409, 409, 422)
    assert "right to act" in forbidden.json()["detail"]
    assert made.status_code == 200
    assert (made.json()["record"]["id"], made.json()["edition"]) == (record_id, 1)
    rows = api.get(f"/records/{record_id}/items").json()["items"]
    assert [row["date"] for row in rows] == ["2026-01-02", "2026-03-04"]
    assert api.send(AMBIGUOUS, **MDY).status_code == 409


@pytest.mark.long
def test_hints_of_another_kind_or_a_flagged_result_are_refused(api: ApiClient) -> None:
    record_id = api.sent(GOOD)
    api.work()
    path = f"/records/{record_id}/reparse"

    assert api.post(path, json={"hints": {"sign": "maybe"}}).status_code == 422
    refused = api.post(path, json={"hints": {"sign": "flipped"}})
    assert (refused.status_code, "Accept" in refused.json()["detail"]) == (422, True)
    done = api.post(path, json={"hints": {"sign": "flipped"}, "accept_flags": True})
    assert done.json()["is_stored"]


def test_lists_of_the_console_say_flagged_until_it_is_decided(tmp_path: Path) -> None:
    with serving(settings_at(tmp_path), extra_routes=console()) as api:
        record_id = api.sent(WRONG, name="wrong.csv")
        api.work()
        stopped = api.sent(GOOD, name="good.csv")
        api.app.actions.act("cancel", stopped, actor="person:anna", reason="by mistake")
        lists = ("/console/records", "/console/board/live")
        mark = f'/console/flags/{record_id}">flagged</a>'
        own = f"/console/records/{record_id}"

        assert [mark in api.get(each).text for each in lists] == [True, True]
        assert '<span class="pill k-failed">flagged</span>' in api.get(own).text
        queue = api.get(f"/console/flag-queue?of={record_id}").text
        assert f'id="flag-{record_id}" class="on"' in queue
        # What a person stopped is counted beside what failed, and each count keeps the query.
        counted = api.get("/console/records/count?q=machine:upload").text
        assert "<b>1</b> cancelled" in counted
        assert "q=machine%3Aupload%20machine%3Aupload%20status%3Anormalized" in counted

        api.post(f"/records/{record_id}/flags", json={"action": "confirm"})

        assert [mark in api.get(each).text for each in lists] == [False, False]
        assert '<span class="pill k-failed">flagged</span>' not in api.get(own).text
        assert record_id not in api.get("/console/flag-queue").text
