"""`stateward review`, `advance` and `eval contracts`: what waits is listed, claimed, decided, exported, measured."""

import json
from collections.abc import Iterator
from getpass import getuser
from pathlib import Path

import pytest
from click.testing import Result

from stateward.app import App
from stateward.cli.exit_codes import Exit
from stateward.core.model import OUTSIDE, SEQUENCING
from stateward.engine.coordinator import Submission
from stateward.settings import Settings
from tests.cli.shell import Shell
from tests.server.contracts import WHY, waiting

RIGHT = {
    "tariff_name": "Easy Strom", "monthly_rate": "56,90 EUR", "contract_start": "1. März 2026",
    "contract_end": "28.02.2027", "kwh_price": "31,2 ct/kWh", "cancellation_period": "1 month",
}  # fmt: skip
CONTRACT = """Stromliefervertrag

Anbieter: Vattenfall
Tarif: Easy Strom
Monatlicher Abschlag: 56,90 EUR
Vertragsbeginn: 01.03.2026
Vertragsende: 28.02.2027
Arbeitspreis: 31,20 ct/kWh
Kündigungsfrist: 1 Monat
"""

ORDERS = """
from stateward import Pipeline

orders = Pipeline("order")


@orders.stage
def read(job):
    return [{"sku": "A", "quantity": 2}, {"sku": "B", "quantity": 3}]


orders.end("accepted", after=orders.review(after=read))
"""


@pytest.fixture
def app(shell: Shell) -> Iterator[App]:
    with App(Settings.load(environ={"STATEWARD_DATA": str(shell.data)})) as app:
        yield app


def settings(*args: str) -> list[str]:
    return [item for field, value in RIGHT.items() for item in ("--set", f"{field}={value}")] + [
        *args
    ]


def said(done: Result, exit_code: Exit) -> str:
    assert done.exit_code == exit_code, done.output
    return done.stderr


def test_what_waits_is_listed_and_shown(shell: Shell, app: App) -> None:
    record = waiting(app)

    (row,) = shell.json("review", "list")
    shown = shell("review", "show", record.id)

    assert (row["record_id"], row["confidence"], row["facts"]["vertical"]) == (
        record.id,
        40,
        "energy",
    )
    assert row["actions"] == ["approve", "correct", "reject"]
    assert shown.exit_code == 0
    assert "monthly_rate" in shown.stdout
    assert "is blurred" in shown.stdout
    listed = shell("review", "list").stdout
    assert record.id in listed
    assert (row["reasons"], "DOUBTFUL" in listed) == ([WHY], True)


def test_rows_of_any_shape_are_shown(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders.py").write_text(ORDERS)
    (tmp_path / "own.yaml").write_text("pipelines: [orders.py]\n")
    (tmp_path / "order.txt").write_text("two rows")
    monkeypatch.setenv("STATEWARD_CONFIG", str(tmp_path / "own.yaml"))
    shell("submit", str(tmp_path / "order.txt"), "--machine", "order")
    shell("up", "--until-idle")

    (record_id,) = shell.ids()
    shown = shell("review", "show", record_id)

    assert shown.stdout.splitlines()[-3:] == ["sku  quantity", "A    2", "B    3"]


def test_an_explanation_says_what_made_a_record_wait(shell: Shell, app: App) -> None:
    record = waiting(app)

    text = shell("explain", record.id).stdout

    assert text.splitlines()[1] == f"  {WHY}"
    assert shell.json("explain", record.id)["reasons"] == [WHY]


def test_an_empty_list_says_so(shell: Shell) -> None:
    done = shell("review", "list")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "no review is pending" in done.stderr


def test_a_review_is_taken_up_left_and_decided_once(shell: Shell, app: App) -> None:
    record = waiting(app)
    app.reviews.claim(record.id, actor="person:bob")

    listed = shell("review", "list").stdout
    shown = shell("review", "show", record.id).stdout
    taken = said(shell("review", "approve", record.id), Exit.CONFLICT)
    app.reviews.unclaim(record.id, actor="person:bob")
    assert "is yours until" in said(shell("review", "claim", record.id), Exit.OK)
    assert "is free" in said(shell("review", "unclaim", record.id), Exit.OK)
    done = shell("review", "approve", record.id, "--reason", "as printed")
    again = shell("review", "approve", record.id, "--json")

    assert listed.rstrip().endswith("  bob")
    assert "claimed by: bob\n" in shown
    assert "bob has claimed this review until" in taken
    assert done.stdout.split() == [record.id, "validated"]
    assert again.exit_code == Exit.CONFLICT
    assert json.loads(again.stderr)["error"]["until"] is None
    history = shell("history", record.id).stdout
    assert f"reason: as printed), by {getuser()}" in history


def test_a_correction_is_held_to_the_rules(shell: Shell, app: App) -> None:
    record = waiting(app)

    twice = shell("review", "correct", record.id, *settings("--set", "contract_start=2026-01-01"))
    wrong = shell("review", "correct", record.id, "--set", "contract_start=soon")
    right = shell("review", "correct", record.id, *settings())

    assert "contract_start has one value, not 2" in said(twice, Exit.REFUSED)
    assert "'soon' is not a date" in said(wrong, Exit.REFUSED)
    assert right.exit_code == 0, right.stderr
    values = {item["field"]: item["value"] for item in app.items(record.id, "review")}
    assert (values["monthly_rate"], values["provider"]) == ("56.90", "E.ON")


def test_values_may_come_from_a_file_and_fields_may_be_absent(
    shell: Shell, app: App, tmp_path: Path
) -> None:
    record = waiting(app)
    file = tmp_path / "values.json"
    file.write_text(json.dumps({**RIGHT, "cancellation_period": None}))

    done = shell("review", "correct", record.id, "--values", str(file), "--none", "tariff_name")

    assert done.exit_code == 0, done.stderr
    fields = {item["field"] for item in app.items(record.id, "review")}
    assert "cancellation_period" not in fields
    assert "tariff_name" not in fields


@pytest.mark.parametrize(
    ("content", "word"), [("[1]", "JSON object"), ("{", "no JSON"), ('{"a": 1}', "JSON object")]
)
def test_a_file_that_holds_no_values_is_refused(
    shell: Shell, app: App, tmp_path: Path, content: str, word: str
) -> None:
    file = tmp_path / "values.json"
    file.write_text(content)

    done = shell("review", "correct", "CW_1", "--values", str(file))

    assert word in said(done, Exit.REFUSED)


def test_a_rejection_needs_its_reason_and_what_ended_is_processed_again(
    shell: Shell, app: App
) -> None:
    record = waiting(app)

    assert shell("review", "reject", record.id).exit_code == Exit.USAGE
    assert shell("review", "reject", record.id, "--reason", "no contract").exit_code == 0
    anew = shell.json("reprocess", record.id)

    assert (anew["replaces"], anew["status"]) == (record.id, "pending")
    assert shell.json("reprocess", record.id)["id"] == anew["id"]
    assert shell.json("status", record.id)["replaced_by"] == [anew["id"]]
    assert app.record(record.id).status == "rejected"


def test_what_is_held_is_let_through_by_hand(shell: Shell, app: App) -> None:
    opening = Submission(machine="contract", actor="person:ann", labels={SEQUENCING: OUTSIDE})
    (opened,) = app.submissions.create([opening])
    held = opened.record

    assert "is driven externally" in shell("explain", held.id).stdout
    assert shell.ids("is:held") == [held.id]
    assert "goes on from pending" in said(shell("advance", held.id), Exit.OK)
    assert "is not held" in said(shell("advance", held.id), Exit.REFUSED)
    assert shell.ids("is:held") == []


# Gold data


def test_decisions_are_exported_as_gold_data(shell: Shell, app: App, tmp_path: Path) -> None:
    approved, corrected, rejected, _ = (waiting(app) for _ in range(4))
    shell("review", "approve", approved.id)
    shell("review", "correct", corrected.id, *settings())
    shell("review", "reject", rejected.id, "--reason", "no")
    file = tmp_path / "gold.jsonl"

    done = shell("review", "export", "--gold", str(file))

    lines = {each["record"]: each for each in map(json.loads, file.read_text().splitlines())}
    assert "3 decisions written" in done.stderr
    assert lines.keys() == {approved.id, corrected.id, rejected.id}
    assert lines[approved.id]["values"] == {"provider": ["E.ON"], "monthly_rate": ["65.90"]}
    assert lines[corrected.id]["values"]["monthly_rate"] == ["56.90"]
    assert lines[corrected.id]["original"][1] == {
        "field": "monthly_rate", "value": "65.90", "confidence": 40,
    }  # fmt: skip
    assert lines[rejected.id]["values"] is None
    assert {each["decision"] for each in lines.values()} == {"approve", "correct", "reject"}


def test_the_present_extractor_is_measured_by_gold_data(
    shell: Shell, app: App, tmp_path: Path
) -> None:
    artifact = app.artifacts.put((CONTRACT.encode(),), bytes_max=10_000)
    values = {"provider": ["Vattenfall"], "monthly_rate": ["56.90"], "contract_end": ["2027-02-28"]}
    line = {
        "document": artifact.sha256, "record": "CW_1", "machine": "contract", "vertical": "energy",
        "filename": "a.txt", "decision": "approve", "by": "person:ada", "at": "2026-01-01T00:00:00Z",
        "original": [], "values": values,
    }  # fmt: skip
    gone = {**line, "document": "00" * 32, "filename": "gone.txt"}
    file = tmp_path / "gold.jsonl"
    file.write_text(f"{json.dumps(line)}\n\n{json.dumps(gone)}\n")

    found = shell.json("eval", "contracts", str(file))

    fields = found["fields"]["energy"]
    assert (fields["provider"]["right"], fields["provider"]["true"]) == (1, 1)
    assert fields["monthly_rate"]["right"] == 1
    assert fields["kwh_price"]["true"] == 0
    assert sum(band["found"] for band in fields["provider"]["calibration"]) == 1
    assert found["no_truth"] == ["gone.txt"]
    assert "energy.provider" in shell("eval", "contracts", str(file)).stdout


def test_a_file_that_is_no_gold_data_is_refused_with_its_line(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text('{"document": 7}\n')

    assert "gold.jsonl:1" in said(shell("eval", "contracts", str(file)), Exit.REFUSED)
    assert "no file of decisions" in said(shell("eval", "contracts", "nowhere"), Exit.REFUSED)


def test_several_are_decided_at_once_and_a_refusal_does_not_stop_the_others(
    shell: Shell, app: App
) -> None:
    first, second, taken = waiting(app), waiting(app), waiting(app)
    app.reviews.claim(taken.id, actor="person:bob")

    done = shell("review", "reject", first.id, taken.id, second.id, "--reason", "sent twice")
    silent = shell("review", "reject", taken.id)
    coded = shell("review", "reject", "--code", "illegible", taken.id)

    assert (done.exit_code, done.stdout.splitlines()) == (
        Exit.REFUSED, [f"{first.id} rejected", f"{second.id} rejected"],
    )  # fmt: skip
    assert "has claimed this review" in done.stderr
    assert "--reason TEXT" in said(silent, Exit.USAGE)
    assert coded.exit_code == Exit.CONFLICT
    assert "rejected" in shell("review", "statistics").stdout
    (person,) = shell.json("review", "statistics")["people"]
    assert (person["decided"], person["rejected"]) == (2, 2)


def test_a_second_opinion_is_asked_for_and_a_value_moved(shell: Shell, app: App) -> None:
    record = waiting(app)

    asked = shell.json("review", "ask", record.id, "--to", "bob", "--reason", "who is it?")
    shown = shell("review", "show", record.id)
    moved = shell("review", "correct", record.id, "--move", "monthly_rate=kwh_price")

    assert (asked["referral"]["to"], asked["version"]) == ("person:bob", record.version + 1)
    assert "asked bob: who is it?" in shown.stdout
    assert "kwh_price is 65.90, which is outside" in said(moved, Exit.REFUSED)


def test_links_say_who_made_them_by_their_name(shell: Shell, app: App) -> None:
    record = waiting(app)
    app.admin.new_key("root", role="admin")
    shell("review", "link", record.id, "--for", "anna@example.org")

    table = shell("review", "links", record.id).stdout

    assert "anna@example.org" in table
    assert getuser() in table
    assert "person:" not in table
