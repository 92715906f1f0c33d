"""The quick ways must say what the slow ones say: groups of moves, lines in bulk, lines of old ledgers."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.errors import InvalidRequest, InvalidTransition
from stateward.ledger import Ledger, LedgerEntry, LedgerState, chain
from stateward.ledger.builder import are_plain
from stateward.ledger.delta import readable_prefix
from stateward.ledger.legacy import LegacyMapping, LegacyReader
from stateward.ledger.migration_report import MigrationCounts
from stateward.ledger.record import encode_json, to_microseconds
from tests.ledger.builders import START, Clock, a_ledger, moves, states_of

PENDING, FETCHING, FETCHED = LedgerState.PENDING, LedgerState.FETCHING, LedgerState.FETCHED


def texts(ledger: Ledger) -> list[dict[str, Any]]:
    """Every line of the log without its place in a group and its hash."""
    found = [json.loads(text) for text in ledger.lines()]
    return [{k: v for k, v in line.items() if k not in ("n", "h")} for line in found]


def known(ledger: Ledger) -> object:
    """The summary, without the last bits of its sums."""
    found = ledger.summary()
    stays = {
        state: (each.count, round(each.total_s, 6), each.max_s, each.buckets)
        for state, each in found.durations.items()
    }
    return stays, found.counts, found.adapters, found.errors, found.records, found.last_at


@pytest.mark.parametrize("seed", range(5))
def test_a_group_says_what_its_moves_say_one_by_one(tmp_path: Path, seed: int) -> None:
    rng, clock, states = random.Random(seed), Clock(), dict[str, str]()
    with (
        a_ledger(tmp_path / "many", clock=clock) as many,
        a_ledger(tmp_path / "one", clock=clock) as one,
    ):
        for _ in range(8):
            group = []
            for doc_id, state in moves(rng, 12, states):
                states[doc_id] = state
                group.append((doc_id, state, rng.choice(["pubmed", "arχiv"])))
                if len(group) == 20:
                    break
            many.record_many(group)
            for each in group:
                one.record_many([each])
            clock.tick(rng.random())

        assert texts(many) == texts(one)
        assert known(many) == known(one)
        assert states_of(many) == states_of(one) == states
        assert many.verify().is_sound


IDS = [
    f"doc:{number}" for number in range(8)
] + ['a "quoted" one', "back\\slash", "new\nline", "nul\0", "\x7f", "ümläut", "emoji 🦉"]  # fmt: skip


def test_ids_that_json_spells_otherwise_come_back_as_they_were(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([(each, PENDING, "x") for each in IDS])
        ledger.record_many([(each, FETCHING, "x") for each in IDS])

        assert {each: ledger.state(each) for each in IDS} == dict.fromkeys(IDS, FETCHING)
        assert ledger.verify().is_sound


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_plain_ids_are_those_that_json_leaves_alone(ids: list[str]) -> None:
    is_plain = all(each and encode_json(each) == b'"%b"' % each.encode() for each in ids)

    assert not are_plain(ids) or is_plain
    assert are_plain(ids) or not all(each and each.isalnum() and each.isascii() for each in ids)


WRONG: list[tuple[Sequence[Any], type[Exception]]] = [
    (("doc:1", FETCHED, "x"), InvalidTransition),
    (("doc:1", "fetching", "x"), InvalidRequest),
    (("", PENDING, "x"), InvalidRequest),
    ((7, PENDING, "x"), InvalidRequest),
    (("doc:99", PENDING, ["x"]), InvalidRequest),
    (("doc:99", PENDING, "x" * 1000), InvalidRequest),
]


@pytest.mark.parametrize(("wrong", "error"), WRONG)
def test_a_wrong_move_in_a_group_leaves_nothing_behind(
    tmp_path: Path, wrong: tuple[Any, ...], error: type[Exception]
) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([(f"doc:{number}", PENDING, "x") for number in range(20)])
        size = ledger.last_seq
        group: list[Any] = [(f"doc:{number}", FETCHING, "x") for number in range(2, 20)]

        with pytest.raises(error):
            ledger.record_many([*group, ("doc:50", PENDING, "x"), wrong])

        assert ledger.last_seq == size
        assert ledger.state("doc:50") is None
        assert ledger.record_many(group) == len(group)
        assert ledger.state("doc:2") == FETCHING
        assert ledger.verify().is_sound


def test_a_document_may_move_twice_in_one_group(tmp_path: Path) -> None:
    others = [(f"doc:{number}", PENDING, "x") for number in range(10)]
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([("it", PENDING, "x"), *others, ("it", FETCHING, "x")])

        assert [each.new_state for each in ledger.history("it")] == ["pending", "fetching"]
        assert ledger.counts() == {PENDING: 10, FETCHING: 1}


def sealed(count: int) -> list[bytes]:
    lines, head = [], chain.GENESIS
    for number in range(count):
        body = (
            b'{"doc_id":"doc:%d","old_state":null,"new_state":"pending","timestamp":1.0,"adapter":"",'
            b'"seq":%d,"n":1' % (number, number + 1)
        )
        line, head = chain.seal(body, head)
        lines.append(line)
    return lines


@given(
    st.integers(0, 6), st.integers(0, 10_000), st.sampled_from(["flip", "cut", "drop", "double"])
)
def test_lines_checked_in_bulk_are_those_that_are_good_one_by_one(
    count: int, place: int, damage: str
) -> None:
    lines = sealed(count)
    data = bytearray(b"".join(lines))
    at = place % (len(data) + 1)
    if damage == "flip" and at < len(data):
        data[at] ^= 1
    elif damage == "cut":
        del data[at:]
    elif damage == "drop":
        del data[at : at + 1]
    else:
        data[at:at] = data[at : at + 7]

    good: list[bytes] = []
    head, rest = chain.GENESIS, bytes(data)
    while (end := rest.find(b"\n") + 1) and (after := chain.check(rest[:end], head)) is not None:
        good.append(rest[:end])
        head, rest = after, rest[end:]

    assert chain.valid_prefix(bytes(data), chain.GENESIS) == good


def test_numbers_are_checked_line_by_line() -> None:
    lines = sealed(5)

    def numbers(texts: list[bytes], seq: int) -> list[int]:
        return [line.seq for line in readable_prefix(texts, seq)[0]]

    assert numbers(lines, 1) == [1, 2, 3, 4, 5]
    assert numbers(lines, 2) == []
    assert numbers([*lines[:2], lines[3]], 1) == [1, 2]
    assert "cannot be read" in (readable_prefix([*lines[:2], b'{"seq":3}\n'], 1)[1] or "")


OLD_LINES = st.fixed_dictionaries(
    {},
    optional={
        "doc_id": st.sampled_from(["doc:1", "", "ümläut", 7]),
        "id": st.just("doc:2"),
        "state": st.sampled_from(["pending", "DONE", "odd", "", None]),
        "old_state": st.sampled_from(["pending", None]),
        "timestamp": st.sampled_from([1.7e9, 1, "yesterday", None, -1.0]),
        "adapter": st.sampled_from(["pubmed", "x" * 300, 5]),
        "metadata": st.sampled_from(
            [{}, {"pages": 3}, {"n": 2**70}, {"deep": [1, {"er": 2}]}, "text"]
        ),
        "": st.just(1),
        "pages": st.just(4),
        "error": st.just("late"),
    },
)


USUAL_LINES = st.fixed_dictionaries(
    {
        "doc_id": st.sampled_from(["doc:1", "doc:2", "ümläut"]),
        "state": st.sampled_from(["pending", "fetching", "DONE", "odd", "Retry"]),
        "timestamp": st.sampled_from(
            [1.7e9, 1, "2023-11-14T22:13:20+01:00", "2023-11-14 22:13", "yesterday", -1.0]
        ),
    },
    optional={
        "old_state": st.sampled_from(["pending", "DONE"]),
        "adapter": st.sampled_from(["pubmed", "x" * 300]),
        "metadata": st.sampled_from([{}, {"pages": 3}, {"pages": True, "x": None}, {"deep": [1]}]),
        "pages": st.sampled_from([4, 1.5, None, "many"]),
    },
)


@given(
    lines=st.lists(OLD_LINES, max_size=4) | st.lists(USUAL_LINES, min_size=1, max_size=8),
    known=st.booleans(),
)
def test_many_old_lines_at_once_say_what_they_say_one_by_one(
    lines: list[Any], *, known: bool
) -> None:
    texts = [json.dumps(line).encode() + b"\n" for line in lines]
    words = [
        b'{"doc_id":"doc:9","state":"%b","timestamp":1.5}\n' % word
        for word in (b"DONE", b"odd", b"pending")
    ]
    texts = [*(words if known else []), *texts]
    if not texts:
        return
    together, apart = outcomes(texts, len(texts)), outcomes(texts, 1)

    assert together == outcomes(texts, 2) == apart


def outcomes(texts: list[bytes], at_once: int) -> object:
    """What is to be imported, and what is reported; one by one each line is read the general way."""
    mapping = LegacyMapping()
    reader, counts = LegacyReader(mapping, first_at=START), MigrationCounts(mapping)
    if at_once == 1:
        reader.rows = lambda _: None  # type: ignore[method-assign, assignment]
    found: list[object] = []
    for at in range(0, len(texts), at_once):
        for each in counts.add_many(reader, texts[at : at + at_once], at + 1):
            fields = (
                each.doc_id,
                each.state,
                each.timestamp,
                each.adapter,
                each.metadata,
                each.source_seq,
            )
            rare = (
                msgspec.structs.replace(each, doc_id="", metadata={})
                if isinstance(each, LedgerEntry)
                else None
            )
            found.append((fields, rare if rare and rare.error_message else None))
    return found, counts.report()


@given(st.integers(0, 2 * 10**15))
def test_microseconds_are_those_of_round(micros: int) -> None:
    assert to_microseconds(micros / 1e6) == round(micros / 1e6, 6)
