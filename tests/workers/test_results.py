"""What a runner gives back becomes items; what no store can hold is refused or cleaned."""

import math
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.model import Fields
from stateward.workers import json_values
from stateward.workers.results import CHUNK_BYTES_MAX, CHUNK_ITEMS_MAX
from stateward.workers.sdk import Completed, Job, Outcome, RunnerFunction
from tests.workers.jobs import completed, failed, items, lines, run


def nothing(job: Job) -> None:
    return None


def one(job: Job) -> Fields:
    return {"a": 1}


def several(job: Job) -> list[Fields]:
    return [{"a": 1}, {"a": 2}]


def iterator(job: Job) -> Iterator[Fields]:
    return iter([{"a": 1}, {"a": 2}])


def generator(job: Job) -> Iterator[Fields]:
    yield {"a": 1}
    yield {"a": 2}


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (nothing, []),
        (one, [{"a": 1}]),
        (several, [{"a": 1}, {"a": 2}]),
        (iterator, [{"a": 1}, {"a": 2}]),
        (generator, [{"a": 1}, {"a": 2}]),
    ],
)
def test_items_may_be_yielded_or_returned(
    function: RunnerFunction, found: list[dict[str, int]]
) -> None:
    result = completed(function)

    assert items(result) == found
    assert (result.outcome, result.facts, result.count) == ("done", {}, len(found))


def test_an_outcome_names_where_it_leads() -> None:
    result = completed(lambda job: Outcome("review", facts={"score": 71}, items=[{"a": 1}]))

    assert (result.outcome, result.facts) == ("review", {"score": 71})
    assert items(result) == [{"a": 1}]


def test_a_generator_may_end_with_an_outcome() -> None:
    def function(job: Job) -> Generator[Fields, None, Outcome]:
        yield {"a": 1}
        return Outcome(label="review", items=({"a": number} for number in (2, 3)))

    result = completed(function)

    assert result.outcome == "review"
    assert items(result) == [{"a": 1}, {"a": 2}, {"a": 3}]


def an_outcome(**parts: Any) -> Outcome:  # noqa: ANN401
    return Outcome(**parts)


async def waiting(job: Job) -> None: ...


def generator_of_number(job: Job) -> Generator[Fields, None, int]:
    yield {}
    return 5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda job: 5, "what the runner gave is of type int; a runner is a plain function"),
        (lambda job: "text", "what the runner gave is of type str"),
        (lambda job: an_outcome(items=5), "what the runner gave is of type int"),
        (
            generator_of_number,
            "what the generator returned is of type int; it may return an Outcome",
        ),
        (lambda job: Outcome(""), "its label must be 1 to 100 printable characters"),
        (lambda job: Outcome("x" * 101), "its label must be"),
        (lambda job: Outcome("a\x00"), "its label must be"),
        (lambda job: an_outcome(label=5), "its label must be"),
        (lambda job: an_outcome(facts=[1]), "facts is of type list, not a dict"),
        (lambda job: Outcome(facts={"a": {"b": math.nan}}), "facts.a.b is nan"),
        (lambda job: Outcome(facts={"a": "x" * 70_000}), "its facts have more than 65536 bytes"),
    ],
)
def test_what_is_no_outcome_is_refused(function: Any, message: str) -> None:  # noqa: ANN401
    result = failed(function)

    assert result.code == "BAD_OUTCOME"
    assert message in result.message
    assert not result.is_retryable


@pytest.mark.filterwarnings("ignore:coroutine")
def test_an_async_function_is_not_a_runner() -> None:
    assert "is of type coroutine; a runner is a plain function" in failed(waiting).message


class Colour(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Real(float):
    pass


def test_relatives_of_json_values_are_taken_for_what_they_are() -> None:
    item = {
        "enum": Colour.RED, "number": Number.ONE, "text": Text("t"), "real": Real(1.5),
        "ordered": OrderedDict(a=1), "counter": Counter("aa"), "tuple": (1, [2]), "none": None,
        "big": 2**70, Text("key"): True,
    }  # fmt: skip

    result = completed(lambda job: item)

    assert items(result) == [{
        "enum": "red", "number": 1, "text": "t", "real": 1.5, "ordered": {"a": 1},
        "counter": {"a": 2}, "tuple": [1, [2]], "none": None, "big": 2**70, "key": True,
    }]  # fmt: skip


def test_a_number_without_end_is_refused() -> None:
    result = failed(lambda job: {"number": 10**5000})

    assert result.code == "BAD_ITEM"
    assert result.message.startswith("item 1 cannot be written as JSON: ValueError")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": b"x"}, "item 1.a is of type bytes, which JSON has no form for"),
        ({"a": {1, 2}}, "item 1.a is of type set"),
        ({"a": [{"b": object()}]}, "item 1.a[0].b is of type object"),
        ({None: 1}, "item 1 has a key that is of type NoneType; keys are text"),
        ({"k" * 500: math.inf}, "item 1." + "k" * 60 + " is inf"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(item: object, message: str) -> None:
    result = failed(lambda job: [item])

    assert result.code == "BAD_ITEM"
    assert message in result.message


def test_the_limits_of_items_hold() -> None:
    many = failed(lambda job: ({} for _ in range(11)), items_max=10)
    large = failed(lambda job: [{}, {"a": "x" * 100}], item_bytes_max=100)
    all_of_them = failed(lambda job: [{"a": "x" * 90}] * 11, items_bytes_max=1000)

    assert (many.code, many.message) == (
        "TOO_MANY_ITEMS",
        "more than 10 items; produce less, or raise the setting worker.items_max",
    )
    assert large.code == "ITEM_TOO_LARGE"
    assert large.message.startswith("item 2 has more than 100 bytes; ")
    assert all_of_them.code == "OUTPUT_TOO_LARGE"
    assert all_of_them.message.startswith("all items have more than 1000 bytes; ")


def test_exactly_the_limit_is_allowed() -> None:
    assert completed(lambda job: [{}] * 10, items_max=10, item_bytes_max=2).count == 10


def test_chunks_are_bounded() -> None:
    small = completed(lambda job: ({"n": n} for n in range(1201)))
    large = completed(lambda job: [{"a": "x" * 100_000}] * 7)

    assert [chunk.count for chunk in small.chunks] == [CHUNK_ITEMS_MAX, CHUNK_ITEMS_MAX, 201]
    assert [chunk.count for chunk in large.chunks] == [2, 2, 2, 1]
    assert max(len(chunk.data) for chunk in large.chunks) <= CHUNK_BYTES_MAX


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.long
@given(st.lists(st.dictionaries(st.text(), JSON_VALUES, max_size=5), max_size=10))
def test_items_come_out_as_they_went_in(given_items: list[dict[str, Any]]) -> None:
    result = completed(lambda job: given_items)

    assert items(result) == json_values.clean_value(given_items)
    assert result.count == len(given_items)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.binary() | st.complex_numbers()
    | st.text(st.characters(exclude_categories=())) | st.dates(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(ANYTHING)
def test_whatever_a_runner_gives_back_there_is_one_result(value: object) -> None:
    result = run(lambda job: value)

    if isinstance(result, Completed):
        assert len(items(result)) == result.count
    else:
        assert result.code in {"BAD_ITEM", "BAD_OUTCOME"}
    result.log.encode()


@given(ANYTHING, st.text(st.characters(exclude_categories=())))
def test_whatever_is_logged_there_are_lines(value: object, message: str) -> None:
    def function(job: Job) -> None:
        job.log(message, value=value, message=value, at=value)
        raise ValueError(message)

    result = run(function)

    assert [line["level"] for line in lines(result)] == ["info", "error"]
    assert "\x00" not in result.log
    result.log.encode()
