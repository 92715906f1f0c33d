"""The seal of a history: anyone can compute it again, and any change of it is seen."""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.core.chain import (
    GENESIS,
    record_hash,
    seal,
    transition_hash,
)
from stateward.core.decide import begin, upgrade
from stateward.core.lanes import extend, lane_of
from stateward.core.model import Fields, Record, Transition
from stateward.core.verify import (
    Finding,
    LogCheck,
    by_record,
    check_record,
)
from stateward.engine.history import record_line
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.proofs.history_file import TransitionLine, encode_line
from stateward.testing.builders import (
    ADA,
    NOW,
    a_machine,
    a_record,
    a_transition,
)
from tests.core.builders import MACHINES, Story, a_contract, an_upload, findings

SEALED = [
    "record_prev", "record_id", "machine", "machine_version", "from", "to", "version", "event_id", "at",
    "actor", "authority", "epoch", "attempt", "trigger", "metadata", "record_hash",
]  # fmt: skip
RECORD_SEALED = [
    "record_id", "machine", "machine_version", "status", "version", "created_at", "entered_at",
    "retry_count", "last_retry_at", "failed_from", "error_code", "error_message", "rest", "artifact",
    "dedupe", "replaces", "labels", "fields", "outputs",
]  # fmt: skip

# What facts can hold: everything that JSON can, with finite numbers of at most 64 bits.
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=8,
)
facts_of_any_kind = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=8), json_values, max_size=4
)


def hash_by_hand(line: str, keys: list[str]) -> str:
    """The documented hash of an exported line, with nothing but json and hashlib."""
    entry = json.loads(line)
    values = [entry[key] for key in keys]
    text = json.dumps(values, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def exported(line: Fields | TransitionLine) -> str:
    return encode_line(line).decode()


# The hash


def test_the_hash_of_an_exported_line_can_be_computed_by_hand() -> None:
    story = a_contract("completed")

    for transition in story.history:
        line = exported(TransitionLine.of(transition))
        assert hash_by_hand(line, SEALED) == transition.hash


def test_the_chain_of_an_exported_history_can_be_followed_by_hand() -> None:
    lines = [
        json.loads(exported(TransitionLine.of(each))) for each in an_upload("normalized").history
    ]

    assert [each["record_prev"] for each in lines] == [
        "0" * 64,
        *(each["seal"] for each in lines[:-1]),
    ]


def test_the_last_line_seals_the_record_too() -> None:
    story = an_upload("error", labels={"bank": "Ünïted"}, artifact="sha-1")

    line = exported(record_line(story.record))

    assert hash_by_hand(line, RECORD_SEALED) == story.last.record_hash
    assert json.loads(line)["head"] == story.last.hash


@given(facts_of_any_kind)
@example({"score": 1e16, "odds": 1e-7, "share": 0.00001, "word": "1e5"})
@example({"list": [1e16, -1.5e-9, 1e300], "deep": {"a": {"b": -2e22}}})
@example({"é": "\u2028\x7f\x07/", "b": {"z": 1, "a": [-0.0, 2**63 - 1]}})
def test_the_hash_can_be_computed_by_hand_whatever_the_facts_are(facts: Fields) -> None:
    record = a_record(UPLOAD, fields=facts, labels=facts)

    sealed, kept = seal(a_transition(record, metadata=facts), record, epoch=1)

    assert hash_by_hand(exported(TransitionLine.of(sealed)), SEALED) == sealed.hash
    assert hash_by_hand(exported(record_line(kept)), RECORD_SEALED) == sealed.record_hash


def test_a_first_transition_follows_nothing_but_zeros() -> None:
    sealed, record = seal(a_transition(), a_record(), epoch=3)

    assert sealed.prev_hash == GENESIS == "0" * 64
    assert sealed.epoch == 3
    assert sealed.hash == record.head == transition_hash(sealed)


def test_the_seal_of_a_record_leaves_out_what_dispatch_may_move() -> None:
    record = a_record(UPLOAD)

    moved = replace(
        record, priority=9, rank=-5, waiting="parse", due_at=NOW, worker="w1", head="f" * 64
    )

    assert record_hash(moved) == record_hash(record)


# Lanes


def head_by_hand(hashes: list[str]) -> str:
    head = "0" * 64
    for each in hashes:
        head = sha256((head + each).encode()).hexdigest()
    return head


@given(
    st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=6), st.integers(0, 6)
)
def test_the_head_is_the_same_however_the_log_was_batched(hashes: list[str], cut: int) -> None:
    in_two = extend(extend(GENESIS, hashes[:cut]), hashes[cut:])

    assert in_two == extend(GENESIS, hashes) == head_by_hand(hashes)


@given(st.text(max_size=40), st.integers(1, 256))
def test_a_record_has_one_lane_that_anyone_can_compute(record_id: str, lanes: int) -> None:
    assert lane_of(record_id, lanes) == crc32(record_id.encode()) % lanes


Plant = Callable[[list[Transition]], list[Transition]]


def renumbered(history: list[Transition]) -> list[Transition]:
    return [replace(each, seq=place) for place, each in enumerate(history, 1)]


PLANTS: dict[str, Plant] = {
    "the last entry is cut off": lambda log: log[:-1],
    "the first entry is cut off": lambda log: renumbered(log[1:]),
    "one in the middle is cut out": lambda log: renumbered(log[:2] + log[3:]),
    "everything is cut off": lambda log: [],
    "two are swapped": lambda log: renumbered([log[0], log[2], log[1], *log[3:]]),
    "two are swapped with their numbers": lambda log: [log[0], log[2], log[1], *log[3:]],
    "one is there twice": lambda log: renumbered([*log[:2], log[1], *log[2:]]),
    "one is put in": lambda log: renumbered([*log[:2], _forged(log[1]), *log[2:]]),
    "one is put at the end": lambda log: renumbered([*log, _forged(log[-1])]),
    "the tail is written anew": lambda log: [*log[:-1], _forged(log[-1])],
}


def _forged(transition: Transition) -> Transition:
    """An entry whose own hash is right: only its lane knows that it does not belong there."""
    forged = replace(transition, actor="person:eve")
    return replace(forged, hash=transition_hash(forged))


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_the_lane_sees_that(plant: Plant) -> None:
    story = an_upload("normalized")
    assert story.findings() == []
    log = LogCheck([story.lane])

    found = [*log.feed(plant(story.history)), *log.end([story.lane])]

    assert found != []


def test_a_log_may_be_fed_in_pieces() -> None:
    story = an_upload("normalized")
    log = LogCheck([story.lane])

    found = [*log.feed(story.history[:2]), *log.feed(story.history[2:]), *log.end([story.lane])]

    assert found == []


def test_an_epoch_never_falls_back() -> None:
    story = an_upload("normalized")
    epochs = [1, 2, 2, 1, 3]
    history = [
        replace(each, epoch=epoch) for each, epoch in zip(story.history, epochs, strict=True)
    ]

    found = list(LogCheck([story.lane]).feed(history))

    assert [str(each) for each in found] == ["entry 4: epoch: epoch 1 after 2"]


# One record against its history


def checks(record: Record | None, history: list[Transition]) -> list[str]:
    versions = {(each.name, each.version): each for each in MACHINES.values()}
    return sorted({each.check for each in check_record(record, history, versions)})


def resealed(history: list[Transition]) -> list[Transition]:
    """A history whose hashes a forger made right again, one after the other."""
    return list(_resealed(history))


def _resealed(history: list[Transition]) -> Iterator[Transition]:
    before = GENESIS
    for each in history:
        forged = replace(each, prev_hash=before)
        forged = replace(forged, hash=transition_hash(forged))
        yield forged
        before = forged.hash


def test_a_sound_history_is_found_sound() -> None:
    story = an_upload("normalized")

    assert checks(story.record, story.history) == []


def test_a_record_without_a_history_and_a_history_without_a_record_are_lost() -> None:
    story = an_upload("normalized")

    assert checks(story.record, []) == ["lost"]
    assert checks(None, story.history) == ["lost"]


def test_an_entry_that_was_taken_out_of_the_middle_is_missed_by_the_next_one() -> None:
    story = an_upload("normalized")

    found = checks(story.record, story.history[:2] + story.history[3:])

    assert found == ["chain", "replay", "version"]


def test_a_finding_says_where_and_what() -> None:
    story = an_upload("normalized")

    (found,) = check_record(None, story.history, {("upload", 1): UPLOAD})

    assert found == Finding(
        check="lost", where="UL_1", sentence="5 transitions, but no such record"
    )
    assert str(found) == "UL_1: lost: 5 transitions, but no such record"


@pytest.mark.parametrize(
    ("place", "changes", "check"),
    [
        (2, {"target": "normalized"}, "graph"),
        (2, {"source": "queued_for_parse"}, "replay"),
        (0, {"target": "parsed"}, "graph"),
        (0, {"source": "error"}, "replay"),
        (2, {"version": 7}, "version"),
        (2, {"at": 1}, "time"),
        (2, {"authority": "runner"}, "authority"),
        (2, {"machine_version": 9}, "machine"),
        (4, {"trigger": "machine.upgraded", "target": "nowhere"}, "graph"),
    ],
)
def test_even_a_forger_who_seals_again_is_found_by_the_machine(
    place: int, changes: dict[str, Any], check: str
) -> None:
    story = an_upload("normalized")
    history = list(story.history)
    history[place] = replace(history[place], **changes)

    assert check in checks(story.record, resealed(history))


def test_an_upgrade_may_leave_the_graph_but_not_the_machine() -> None:
    v2 = replace(UPLOAD, version=2, upgrades={1: {"queued_for_parse": "parsed"}})
    story = an_upload()
    applied = upgrade(v2, story.record, now=NOW)
    assert applied is not None
    story.commit(applied.change)

    assert findings(story.record, story.history, story.lane, UPLOAD, v2) == []


@pytest.mark.parametrize("status", ["legacy", "parsed"])
def test_a_record_may_begin_where_an_import_put_it(status: str) -> None:
    begun = begin(DOCUMENT_MACHINE, record_id="LT_1", now=NOW, actor=ADA, entry=status).change
    assert begun.transition is not None
    created = replace(begun.transition, trigger=DOCUMENT_MACHINE.created_by)

    sealed, record = seal(begun.transition, begun.record, epoch=1)
    forged, forged_record = seal(created, begun.record, epoch=1)

    assert checks(record, [sealed]) == []
    assert checks(forged_record, [forged]) == ["graph"]


@pytest.mark.parametrize(
    ("status", "changes", "check"),
    [
        ("queued_for_parse", {"priority": 0}, "priority"),
        ("queued_for_parse", {"priority": 11}, "priority"),
        ("queued_for_parse", {"waiting": None}, "stuck"),
        ("queued_for_parse", {"waiting": "normalize"}, "stuck"),
        ("parsing", {"due_at": None}, "stuck"),
        ("normalized", {"waiting": "parse"}, "stuck"),
        ("normalized", {"due_at": NOW}, "stuck"),
        ("error", {"waiting": "parse"}, "stuck"),
        ("parsing", {"head": "f" * 64}, "chain"),
        ("parsing", {"status": "parsed"}, "status"),
        ("parsing", {"retry_count": 1}, "record"),
    ],
)
def test_a_record_that_makes_no_sense_is_found(
    status: str, changes: dict[str, Any], check: str
) -> None:
    story = an_upload(status)

    assert check in checks(replace(story.record, **changes), story.history)


@pytest.mark.parametrize("priority", [1, 10])
def test_any_priority_from_one_to_ten_is_sound(priority: int) -> None:
    story = an_upload()

    assert checks(replace(story.record, priority=priority), story.history) == []


def test_what_rests_or_waits_for_a_person_is_not_stuck() -> None:
    skipped = an_upload("parsing")
    skipped.completes(count=0)
    draft = Story(
        a_machine(
            initial="draft",
            states={
                "draft": "ready",
                "new": "ready",
                "reading": "running",
                "read": "terminal",
                "broken": "failed",
            },
            moves=[{"from": "draft", "to": "new", "on": "note.sent"}],
        )
    )

    assert skipped.findings() == []
    assert draft.findings() == []


def test_a_record_of_an_unknown_machine_is_found() -> None:
    story = an_upload()

    assert checks(replace(story.record, machine_version=9), story.history) == ["record"]
    assert {each.check for each in check_record(story.record, story.history, {})} == {"machine"}


def test_a_stream_of_transitions_is_cut_into_records() -> None:
    one, two = an_upload("parsed", id_="UL_1"), an_upload("parsing", id_="UL_2")

    runs = list(by_record(iter(one.history + two.history)))

    assert runs == [one.history, two.history]
    assert list(by_record([])) == []


def test_a_time_that_no_calendar_has_is_found_and_breaks_nothing() -> None:
    story = an_upload("normalized")
    never = 10**18
    history = [*story.history[:-1], replace(story.last, at=never)]

    assert "hash" in checks(story.record, history)
    assert "record" in checks(replace(story.record, created_at=never), story.history)
