"""A contract that was taken for the wrong kind is a dead end nowhere: a person says which it is, in every way in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.console.correct import form_of
from stateward.core.errors import InvalidRequest, UnknownName
from tests.cli.shell import Shell
from tests.pipelines.contracts.example import LEASE, STROM


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App.embedded(tmp_path / "data") as app:
        yield app


def submitted(app: App, text: str, **labels: str) -> str:
    record_id = app.submit(text.encode(), machine="contract", name="a.txt", labels=labels).record.id
    app.run_until_idle()
    return record_id


def test_known_bytes_in_review_are_read_as_the_kind_that_a_person_names_now(app: App) -> None:
    first = submitted(app, LEASE)
    assert (app.record(first).status, app.record(first).fields["vertical"]) == (
        "review_required",
        "general",
    )

    found = app.submit(LEASE.encode(), machine="contract", labels={"vertical": "insurance"})
    again = app.submit(LEASE.encode(), machine="contract", labels={"vertical": "insurance"})
    app.run_until_idle()

    anew = app.record(found.record.id)
    assert (anew.replaces, anew.fields["vertical"], found.is_duplicate) == (
        first,
        "insurance",
        False,
    )
    assert f"{first} is still in review" in found.note
    assert (again.record.id, again.is_duplicate) == (anew.id, True)
    assert app.record(first).status == "review_required"


def test_known_bytes_under_way_are_read_as_the_kind_that_a_person_names_now(app: App) -> None:
    first = app.submit(STROM.encode(), machine="contract").record.id

    found = app.submit(STROM.encode(), machine="contract", labels={"vertical": "telco"})

    assert (found.record.replaces, found.record.labels["vertical"]) == (first, "telco")
    assert f"{first} goes on as it was" in found.note


def test_known_bytes_that_name_the_kind_that_was_found_are_the_same_record(app: App) -> None:
    first = submitted(app, STROM)

    found = app.submit(STROM.encode(), machine="contract", labels={"vertical": "energy"})

    assert (found.record.id, found.is_duplicate, found.note) == (first, True, "")


def test_known_bytes_with_a_kind_that_has_no_rules_are_refused(app: App) -> None:
    submitted(app, LEASE)

    with pytest.raises(UnknownName, match="no vertical 'water'"):
        app.submit(LEASE.encode(), machine="contract", labels={"vertical": "water"})


def test_a_contract_that_has_ended_is_processed_again_as_another_kind(app: App) -> None:
    first = submitted(app, STROM)
    shell = Shell(app.settings.data_path)

    refused = shell("reprocess", first, "--vertical", "water")
    anew = shell.json("reprocess", first, "--vertical", "telco", "--reason", "it is a phone")
    app.run_until_idle()

    assert refused.exit_code != 0
    assert "there is no vertical 'water'" in refused.stderr
    assert anew["replaces"] == first
    assert app.record(anew["id"]).fields["vertical"] == "telco"
    assert app.store.history(anew["id"])[0].metadata["reason"] == "it is a phone"
    with pytest.raises(UnknownName):
        app.editions.reprocess(first, {"colour": "red"}, actor="person:ann")


def test_a_secret_is_not_kept_with_the_record_that_is_processed_again(app: App) -> None:
    record_id = app.submit(b"date,amount\n2026-01-05,1.00\n", machine="upload").record.id
    app.run_until_idle()

    with pytest.raises(InvalidRequest, match="reparse"):
        app.editions.reprocess(record_id, {"password": "secret"}, actor="person:ann")


def test_the_console_lists_the_kinds_that_have_rules(app: App) -> None:
    record = app.record(submitted(app, LEASE))

    (field,) = [each for each in form_of(app, record).fields if each.name == "vertical"]

    assert field.choices == ("energy", "general", "insurance", "telco")


def test_a_reviewer_sees_what_speaks_for_each_kind(app: App) -> None:
    record_id = submitted(app, LEASE)
    shell = Shell(app.settings.data_path)

    shown = shell("review", "show", record_id).stdout
    (table,) = shell.json("review", "show", record_id)["evidence"]

    assert "What speaks for each kind of contract" in shown
    assert table["columns"][0] == "vertical"
    assert table["rows"][0][0] == "general"
    assert table["rows"][0][2], "the words that were found"
    assert {row[0] for row in table["rows"]} == {"energy", "general", "insurance", "telco"}
