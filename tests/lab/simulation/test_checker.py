"""The judge is judged: each law finds what breaks it, and says nothing of a sound history."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.checker import (
    LAWS,
    History,
    Line,
    check,
    read_export,
    read_lines,
)
from tests.lab.simulation import upkeep_plants
from tests.lab.simulation.histories import (
    a_history,
    entries,
    first,
    laws,
    record,
    resealed,
)


class Plant(NamedTuple):
    """A sound history, and what is done to it. `is_forged`: all hashes are made to fit again."""

    law: str
    do: Callable[[History], object]
    machine: str = "upload"
    is_forged: bool = True
    also: tuple[str, ...] = ()


def set_in(line: Line, **values: object) -> None:
    line.update({key.rstrip("_"): value for key, value in values.items()})


def drop_log(history: History, place: int) -> None:
    del history.transitions[place]


def drop_record(history: History) -> None:
    assert history.records is not None
    del history.records[0]


def next_place(history: History) -> Line:
    """The numbers of one more entry in a log with one lane."""
    return dict.fromkeys(("seq", "lane_seq"), len(history.transitions) + 1)


def delivered_too_often(history: History) -> None:
    assert history.seen.handed is not None
    one = history.seen.handed[0]
    history.seen.handed[:0] = [{**one, "delivery": number} for number in range(2, 7)]


def incurable(history: History) -> None:
    failed = first(history, "parse.failed")["event_id"]
    for event in history.seen.events or ():
        if event["id"] == failed:
            event["is_retryable"] = False


def a_decision(history: History, **parts: object) -> Line:
    """A decision about the review of a contract, which no person made."""
    ended = first(history, "review.timed_out")
    made = {"record_id": ended["record_id"], "version": ended["version"] - 1, "actor": "person:eve"}
    return {**made, "trigger": "review.approved", "is_undone": False, **parts}


def a_twin(history: History) -> None:
    """A second record of the same key, in the table and in the log."""
    assert history.records is not None
    old = record(history)["record_id"]
    history.records.append({**record(history), "record_id": "UL_twin"})
    for entry in entries(history, old):
        twin = {
            **entry,
            "record_id": "UL_twin",
            "event_id": entry["event_id"].replace(old, "UL_twin"),
        }
        history.transitions.append({**twin, **next_place(history)})
    history.seen.events = history.seen.marks = history.seen.handed = None


def an_end_reopened(history: History) -> None:
    last = entries(history)[-1]
    again = {**last, "from": "normalized", "to": "parsed", "trigger": "retry.due", "actor": "clock"}
    again |= {"version": last["version"] + 1, "event_id": "again", "attempt": None}
    again |= {**next_place(history), "metadata": {}}
    history.transitions.append(again)
    set_in(record(history), status="parsed", version=again["version"], due_at=None, rest="skipped")
    history.seen.is_healed = False


def too_many_retries(history: History) -> None:
    for machine in history.machines:
        machine["retry"]["max_retries"] = 0


def given_up_early(history: History) -> None:
    failed = first(history, "fetch.failed")
    for event in history.seen.events or ():
        if event["id"] == failed["event_id"]:
            event["is_retryable"] = True


def late(history: History) -> None:
    for entry in entries(history)[first(history, "review.timed_out")["version"] :]:
        set_in(entry, at="2027-03-15T08:00:00.000000Z")
    set_in(record(history), entered_at="2027-03-15T08:00:00.000000Z")


def backwards(history: History) -> None:
    entry = entries(history)[5]
    set_in(entry, at="2027-01-01T00:00:00.000000Z")


def out_of_turn(history: History) -> None:
    """The second record is started before the first, which is older."""
    one, other = (
        next(e for e in entries(history, each["record_id"]) if e["trigger"] == "parse.started")
        for each in history.records or ()
    )
    places = [history.transitions.index(each) for each in (one, other)]
    history.transitions[places[0]], history.transitions[places[1]] = other, one
    for number in ("seq", "lane_seq"):
        one[number], other[number] = other[number], one[number]


def forge_an_event(history: History) -> None:
    entry = first(history, "parse.completed")
    for event in history.seen.events or ():
        if event["id"] == entry["event_id"]:
            event["is_forged"] = True


def speak_of_another_version(history: History) -> None:
    entry = first(history, "parse.completed")
    for event in history.seen.events or ():
        if event["id"] == entry["event_id"]:
            event["version"] += 7


def a_zombie_wrote(history: History) -> None:
    assert history.seen.marks is not None
    history.seen.marks[0]["worker"] = "zombie"


def a_zombie_reported(history: History) -> None:
    first(history, "parse.completed")["actor"] = "runner:zombie"


def stuck(history: History) -> None:
    set_in(record(history), due_at=None, waiting="parse", status="queued_for_parse")
    last = entries(history)[-1]
    set_in(last, to="queued_for_parse", from_="error", trigger="retry.due", actor="clock")


def overdue(history: History) -> None:
    set_in(record(history), due_at="2026-01-15T08:00:00.000000Z")
    history.seen.is_healed = False


PLANTS = [
    Plant("F2", lambda h: set_in(entries(h)[1], version=True)),
    Plant("F2", lambda h: entries(h)[1].pop("actor")),
    Plant("F2", lambda h: set_in(entries(h)[1], at="2027-01-15 08:00")),
    Plant("F2", lambda h: set_in(record(h), labels=[])),
    Plant("F2", lambda h: set_in(record(h), due_at=5)),
    Plant("H1", lambda h: set_in(entries(h)[2], actor="runner:x"), is_forged=False, also=("E3",)),
    Plant("H1", lambda h: set_in(record(h), artifact="other"), is_forged=False),
    Plant("H2", lambda h: set_in(entries(h)[2], lane_prev="0" * 64), is_forged=False, also=("H1",)),
    Plant("H2", lambda h: set_in(record(h), head="0" * 64), is_forged=False),
    Plant("H2", lambda h: set_in(entries(h)[2], record_prev="0" * 64), is_forged=False, also=("H1",)),
    Plant("H3", lambda h: h.anchor and h.anchor["lanes"][0].update(count=99), is_forged=False),
    Plant("H3", lambda h: h.anchor and h.anchor["lanes"][0].update(head="0" * 64), is_forged=False),
    Plant("H3", lambda h: h.anchor and h.anchor.update(root="0" * 64), is_forged=False),
    Plant("H4", lambda h: set_in(h.transitions[3], seq=99)),
    Plant("H4", lambda h: set_in(h.transitions[3], lane_seq=99)),
    Plant("S1", lambda h: set_in(entries(h)[1], machine="nobody"), also=("S3", "S6", "P1", "E2")),
    Plant("S1", lambda h: set_in(entries(h)[1], to="nowhere"), also=("S2", "S3", "D1", "S10")),
    Plant("S1", lambda h: set_in(entries(h)[1], from_="nowhere"), also=("S2", "S3")),
    Plant("S2", lambda h: set_in(entries(h)[1], trigger="parse.failed"), also=("E2", "A2", "C1")),
    Plant("S2", lambda h: set_in(entries(h)[1], trigger="machine.upgraded"), also=("P1",)),
    Plant("S3", lambda h: set_in(entries(h)[4], from_="parsed"), also=("S2",)),
    Plant("S3", lambda h: set_in(entries(h)[0], to="parsed"), also=("P1", "S3")),
    Plant(
        "S3",
        lambda h: set_in(entries(h)[0], to="parsed", trigger="upload.imported"),
        also=("P1", "S3"),
    ),
    Plant("S4", lambda h: set_in(entries(h)[4], version=40), also=("E3", "O1", "L2")),
    Plant("S5", an_end_reopened, also=("S2", "S6", "S7", "S10", "E2", "L2", "V1", "P1")),
    Plant("S6", lambda h: set_in(first(h, "retry.due"), to="parsed"), also=("S3", "P1", "S2")),
    Plant("S7", too_many_retries, also=("S8",)),
    Plant("S7", lambda h: set_in(record(h), retry_count=5)),
    Plant("S8", given_up_early, machine="literature"),
    Plant("S9", lambda h: first(h, "validate.completed")["metadata"].update(final_confidence=95),
          machine="contract"),
    Plant("S10", lambda h: h.machines[0]["reviews"][0].update(timeout_s=10**6), machine="contract"),
    Plant("S10", late, machine="contract"),
    Plant("S10", overdue, also=("H1",)),
    Plant("S11", backwards),
    Plant("A1", lambda h: set_in(entries(h)[2], authority="runner")),
    Plant("A2", lambda h: set_in(first(h, "retry.due"), actor="runner:w1"), also=("E3",)),
    Plant("A2", lambda h: set_in(first(h, "parse.started"), actor="person:eve"), also=("E2",)),
    Plant("A2", lambda h: set_in(first(h, "retry.requested"), actor="sequencer:x"),
          machine="literature", also=("S5",)),
    Plant("A3", lambda h: set_in(h.transitions[-1], epoch=0)),
    Plant("E1", lambda h: set_in(entries(h)[5], event_id=entries(h)[2]["event_id"]), also=("E3", "E2")),
    Plant("E2", lambda h: (h.seen.events or []).append({**(h.seen.events or [])[0], "id": "x"})),
    Plant("E2", lambda h: h.seen.events and h.seen.events.pop(0)),
    Plant("E2", lambda h: h.seen.garbled.append("rubbish")),
    Plant("E2", lambda h: h.seen.inbox.append("{}")),
    Plant("E3", forge_an_event),
    Plant("E3", speak_of_another_version),
    Plant("E3", a_zombie_wrote),
    Plant("E3", a_zombie_reported),
    Plant("E3", lambda h: set_in(first(h, "parse.completed"), attempt=0)),
    Plant("E4", a_twin),
    Plant("E4", lambda h: h.seen.acks.append({**h.seen.acks[0], "record_id": "UL_0002"})),
    Plant("L1", lambda h: h.seen.acks.append({"record_id": "x", "machine": "upload", "dedupe": "x"})),
    Plant("L1", lambda h: set_in(h.seen.acks[0], machine="contract")),
    Plant("L2", lambda h: h.seen.moves.append(
        {"record_id": "UL_0001", "version": 99, "to": "parsed", "hash": None})),
    Plant("L2", lambda h: h.seen.moves.append(
        {"record_id": "UL_0001", "version": 1, "to": "parsed", "hash": None})),
    Plant("L2", lambda h: h.seen.moves.append(
        {"record_id": "UL_0001", "version": 1, "to": "parsing", "hash": "x"}), is_forged=False),
    Plant("L3", drop_record, also=("P1",)),
    Plant("L3", lambda h: (h.records or []).append({**record(h), "record_id": "x", "dedupe": "x"}),
          is_forged=False, also=("S7", "D1", "V1")),
    Plant("R1", lambda h: set_in(record(h), status="parsed"), also=("V1",)),
    Plant("R2", lambda h: set_in(record(h), version=3)),
    Plant("V1", stuck, also=("S2", "S3", "S6", "S7", "S10", "E2", "E3", "O1", "D1", "P1")),
    Plant("V1", lambda h: h.seen.work.append({"record_id": "UL_0001", "version": 1})),
    Plant("P1", out_of_turn, also=("H1", "H2")),
    Plant("D1", lambda h: record(h)["fields"].pop("observations_count")),
    Plant("D1", lambda h: record(h)["fields"].pop("upload_log_ref")),
    Plant("O1", lambda h: h.seen.marks and h.seen.marks[1].update(items=7)),
    Plant("O1", lambda h: h.seen.marks and h.seen.marks.pop(0)),
    Plant("O1", lambda h: h.seen.events and h.seen.events[0].update(is_blind=True)),
    Plant("B1", delivered_too_often),
    Plant("B1", lambda h: h.seen.begun.extend({**each, "delivery": each["delivery"] - n}
          for each in h.seen.handed or [] for n in (1, 2))),
    Plant("B1", lambda h: first(h, "parse.failed")["metadata"].update(error_code="WORKER_LOST"),
          also=("C1",)),
    Plant("C1", lambda h: first(h, "parse.failed")["metadata"].update(error_code="OTHER")),
    Plant("S12", incurable),
    Plant("P2", lambda h: h.seen.paused.append({"stage": "parse", "since": 0, "until": None})),
    Plant("U1", lambda h: h.seen.stale_work.append(
        {"record_id": "UL_0001", "version": 1, "worker": "w1"})),
    Plant("N1", lambda h: h.seen.decisions.append(a_decision(h, version=99)), machine="contract"),
    Plant("N1", lambda h: h.seen.decisions.append(a_decision(h, actor="clock", is_undone=True)),
          machine="contract"),
    Plant("N1", lambda h: h.seen.decisions.append(a_decision(h, actor="clock")), machine="contract"),
    Plant("W4", lambda h: (h.seen.effects or []).clear(), machine="contract"),
    Plant("W4", lambda h: (h.seen.effects or []).append(
        {"record_id": "CW_0001", "version": 99, "kind": "notify"}), machine="contract"),
    Plant("G1", upkeep_plants.remains),
    Plant("G1", upkeep_plants.said_only),
    Plant("G2", upkeep_plants.another_checkpoint),
    Plant("G2", upkeep_plants.shorter_than_before),
    Plant("G3", upkeep_plants.held_and_erased),
    Plant("G3", lambda h: upkeep_plants.held(h, "documents")),
    Plant("G4", lambda h: upkeep_plants.by_rule(h, statuses=["error"])),
    Plant("G4", lambda h: upkeep_plants.by_rule(h, older_than_s=60.0)),
    Plant("G4", lambda h: upkeep_plants.by_rule(h, delete=["items"])),
    Plant("G4", upkeep_plants.under_way),
    Plant("G4", lambda h: upkeep_plants.erased(h, to="parsing"), also=("R1",)),
    Plant("G4", upkeep_plants.lacking),
    Plant("M1", lambda h: upkeep_plants.accepted(h, approvals=2), machine="contract", also=("S2", "E2")),
    Plant("M1", lambda h: upkeep_plants.accepted(h, approvals=1, actor="person:ada"), machine="contract",
          also=("S2", "E2")),
]  # fmt: skip


@pytest.mark.parametrize("machine", ["upload", "contract", "literature"])
def test_a_sound_history_breaks_no_law(machine: str) -> None:
    assert check(a_history(machine)) == []
    assert check(resealed(a_history(machine))) == []


@pytest.mark.parametrize("plant", PLANTS, ids=[f"{each.law}-{n}" for n, each in enumerate(PLANTS)])
def test_a_planted_violation_is_found(plant: Plant) -> None:
    history = a_history(plant.machine)

    plant.do(history)
    if plant.is_forged and plant.law != "F2":
        resealed(history)

    found = check(history)
    assert plant.law in laws(found), [str(each) for each in found]
    assert laws(found) <= {plant.law, *plant.also}, [str(each) for each in found]
    assert all(each.where and each.sentence and str(each).startswith(each.law) for each in found)


def test_a_confidence_that_is_no_number_is_not_sure() -> None:
    history = a_history("contract")
    first(history, "validate.completed")["metadata"].update(final_confidence=True, valid=True)

    assert check(resealed(history)) == []


def test_every_law_has_a_plant() -> None:
    assert {plant.law for plant in PLANTS} == {*LAWS, "F2"}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"a": 1', "delimiter"),
        (b"[1]", "is not an object"),
        (b'{"a": 1, "a": 2}', "has a key twice: a, a"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": 1e999}', "1e999 is too large for a number"),
        (b'{"a": "\xff"}', "invalid start byte"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
    ],
)
def test_a_line_that_is_not_one_sound_object_is_found(line: bytes, sentence: str) -> None:
    lines, found = read_lines("x.jsonl", b'{"b": 1.5}\n' + line + b"\n")

    assert lines == [{"b": 1.5}]
    assert [(each.law, each.where) for each in found] == [("F1", "x.jsonl:2")]
    assert sentence in found[0].sentence


def test_a_cut_line_is_found_even_where_it_reads_as_json() -> None:
    lines, found = read_lines("x.jsonl", b'{"b": 1}\n{"b": 2}')

    assert lines == [{"b": 1}]
    assert [str(each) for each in found] == ["F1 x.jsonl: the last line has no end"]


def test_an_exported_folder_is_read_as_it_stands(tmp_path: Path) -> None:
    history = a_history()
    for name in ("transitions", "records", "dispositions", "dead_letters"):
        lines = [json.dumps(line) + "\n" for line in getattr(history, name)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "anchor.json").write_text(json.dumps(history.anchor) + "\n")

    read, malformed = read_export(tmp_path, machines=history.machines)

    assert malformed == []
    assert read.transitions == history.transitions
    assert check(read) == []


def test_without_outsiders_and_records_only_the_log_is_judged() -> None:
    history = a_history()

    bare = History(transitions=history.transitions, machines=history.machines)

    assert check(bare) == []
