"""Structs are made from YAML values; every fault is a sentence with its place."""

from copy import deepcopy
from datetime import date
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from msgspec import Meta
from msgspec import inspect as kinds

from stateward.core.errors import DeclarationError, Fault
from stateward.definition import plain_values, yaml_source
from stateward.definition.plain_values import Document, read_python
from stateward.definition.yaml_source import convert
from stateward.definition.yaml_text import read_yaml
from tests.definition.yaml_values import SOURCE, Colour, values


def converted(text: str, type_: type[Any]) -> tuple[Any, list[str]]:
    value, faults = convert(read_yaml(text, source=SOURCE), type_)
    return value, [str(fault) for fault in faults]


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 3
    waits: Annotated[tuple[Annotated[float, Meta(gt=0)], ...], Meta(min_length=1)] = (1.0,)

    def __post_init__(self) -> None:
        if self.max_retries > len(self.waits) * 5:
            raise ValueError("there are too few waits for so many retries")


class Fixed(msgspec.Struct, frozen=True, tag="fixed"):
    target: str


class Chosen(msgspec.Struct, frozen=True, tag="chosen"):
    targets: dict[Annotated[str, Meta(max_length=5)], str]


class Stage(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    kind: Literal["ready", "running"] = "ready"
    retry: bool | Retry = False
    limit: Annotated[int, Meta(ge=1)] | None = None
    routes: list[Fixed | Chosen] = []
    span: tuple[int, int] = (0, 1)
    since: date | None = None
    code: Annotated[str, Meta(pattern=r"\A[A-Z]+\Z", title="capital letters")] = "A"
    colour: Colour = Colour.RED
    anything: Any = None
    timeouts_s: Annotated[dict[str, float], Meta(extra={"keys": "<state>_timeout_seconds"})] = {}


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    stages: dict[str, Stage] = {}


def stage(text: str) -> tuple[Any, list[str]]:
    return converted("from: a\n" + text, Stage)


# Making Structs


def test_a_declaration_becomes_a_frozen_value() -> None:
    text = """
stages:
  parse:
    from: queued
    kind: running
    retry: {max_retries: 2, waits: [1, 2.5]}
    limit: 5
    routes:
      - {type: fixed, target: done}
      - {type: chosen, targets: {a: b}}
    span: [1, 2]
    since: 2024-01-31
    anything: [1, {x: y}]
    parsing_timeout_seconds: 30
    checking_timeout_seconds: 2.5
"""

    value, faults = converted(text, Machine)

    assert faults == []
    assert value.stages["parse"] == Stage(
        from_="queued",
        kind="running",
        retry=Retry(max_retries=2, waits=(1.0, 2.5)),
        limit=5,
        routes=[Fixed("done"), Chosen({"a": "b"})],
        span=(1, 2),
        since=date(2024, 1, 31),
        anything=[1, {"x": "y"}],
        timeouts_s={"parsing": 30.0, "checking": 2.5},
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("retry:\n  max_retrys: 1", "3: retry.max_retrys: max_retrys is not a known key; "
         "did you mean max_retries?"),
        ("retry: {x: 1}", "2: retry.x: x is not a known key; known are max_retries, waits"),
        ("retry:\n  max_retries: three",
         "3: retry.max_retries: max_retries must be a whole number from 0 to 10, not 'three'"),
        ("retry: {max_retries: '5'}", "2: retry.max_retries: max_retries must be a whole number "
         "from 0 to 10, not the text '5'"),
        ("retry: {max_retries: true}", "2: retry.max_retries: max_retries must be a whole number "
         "from 0 to 10, not true"),
        ("retry: {max_retries: 2.0}", "2: retry.max_retries: max_retries must be a whole number "
         "from 0 to 10, not 2.0"),
        ("retry: {waits: []}", "2: retry.waits: waits must be a list of at least 1 item, "
         "each item a number above 0, not a list of 0 items"),
        ("retry:\n  waits:\n    - 1\n    - -1",
         "5: retry.waits[1]: item 2 of waits must be a number above 0, not -1"),
        ("retry: {max_retries: 9}", "2: retry: there are too few waits for so many retries"),
        ("retry: yes", "2: retry: retry must be true or false or a mapping, not 'yes'"),
        ("retry: [1]", "2: retry: retry must be true or false or a mapping, not a list of 1 item"),
        ("kind: idle", "2: kind: kind must be ready or running, not 'idle'"),
        ("limit: 0", "2: limit: limit must be a whole number of at least 1 or null, not 0"),
        ("limit: {a: 1}",
         "2: limit: limit must be a whole number of at least 1 or null, not a mapping"),
        ("routes: {a: 1}", "2: routes: routes must be a list, each item a mapping, not a mapping"),
        ("routes:\n- {type: other}",
         "3: routes[0].type: type must be fixed or chosen, not 'other'"),
        ("routes:\n- {target: x}",
         "3: routes[0].type: type must be fixed or chosen, and is missing"),
        ("routes:\n- {type: fixed}", "3: routes[0].target: target is missing; it must be text"),
        ("routes:\n- {type: chosen, targets: {abcdef: x}}",
         "3: routes[0].targets.abcdef: the key 'abcdef' must be text of at most 5 characters"),
        ("span: [1]", "2: span: span must be a list of exactly 2 items, not a list of 1 item"),
        ("span: [1, x]", "2: span[1]: item 2 of span must be a whole number, not 'x'"),
        ("since: soon", "2: since: Invalid RFC3339 encoded date"),
        ("code: a1", "2: code: code must be capital letters, not 'a1'"),
        ("colour: blue", "2: colour: colour must be red, not 'blue'"),
        ("parsing_timeout_seconds: '30'",
         "2: parsing_timeout_seconds: parsing_timeout_seconds must be a number, not the text '30'"),
        ("Parsing_timeout_seconds: 30", "2: Parsing_timeout_seconds: Parsing_timeout_seconds is "
         "not a known key; did you mean <state>_timeout_seconds?"),
        ("timeouts_s: {a: 1}", "2: timeouts_s: timeouts_s is not a known key; known are from, "
         "kind, retry, limit, routes, span, since, code, colour, anything, "
         "<state>_timeout_seconds"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_words(text: str, fault: str) -> None:
    value, faults = stage(text)

    assert value is None
    assert faults == [f"machine.yaml:{fault}"]


def test_every_fault_is_found_at_once_in_the_order_of_the_file() -> None:
    text = """
stages:
  parse:
    kind: idle
    limit: -1
    retry: {waits: [0, x], max: 1}
  check:
    from: 5
    retry: {max_retries: 9}
"""

    value, faults = converted(text, Machine)

    assert value is None
    assert [fault.split(": ")[0].split(":")[1] for fault in faults] == list("34566689")
    assert "machine.yaml:3: stages.parse.from: from is missing; it must be text" in faults


def test_a_document_that_is_not_a_mapping_is_refused() -> None:
    _, faults = converted("[1]", Machine)

    assert faults == ["machine.yaml:1: the whole document must be a mapping, not a list of 1 item"]


def test_part_of_a_document_can_be_converted_alone() -> None:
    document = read_yaml("a:\n  - b:\n      max_retries: 1\n      waits: x\n", source=SOURCE)

    found, none = convert(document, int, at=("a", 0, "b", "max_retries"))
    nothing, faults = convert(document, Retry, at=("a", 0, "b"))
    _, missing = convert(document, Retry, at=("a", 1))

    assert (found, none) == (1, [])
    assert nothing is None
    assert str(faults[0]).startswith("machine.yaml:4: a[0].b.waits: ")
    assert [str(fault) for fault in missing] == ["machine.yaml:1: a[1]: item 2 of a is missing"]


def test_the_number_of_faults_is_limited_here_too() -> None:
    document = read_python({"stages": {f"s{n}": {} for n in range(1000)}}, source="python")

    value, faults = convert(document, Machine)

    assert value is None
    assert len(faults) == plain_values.FAULTS_MAX


def test_a_value_that_only_msgspec_understands_is_judged_by_it() -> None:
    days, faults = converted("[2024-01-31, soon]", list[date])

    assert days is None
    assert faults == ["machine.yaml:1: [1]: Invalid RFC3339 encoded date"]


@given(values)
def test_a_struct_is_made_or_refused_and_nothing_else(value: object) -> None:
    document = read_python(
        {"from": "a", "retry": value, "limit": value, "routes": value}, source="x"
    )

    made, faults = convert(document, Stage)

    assert (made is None) == bool(faults)


# Sentences


def test_a_fault_reads_like_that_of_a_compiler() -> None:
    fault = Fault(source="f.yaml", line=12, path="retry.max_retries", sentence="it is wrong")

    assert str(fault) == "f.yaml:12: retry.max_retries: it is wrong"


def test_a_refusal_can_be_copied_whole() -> None:
    refused = DeclarationError(
        [Fault(source="f", line=n, path="", sentence="wrong") for n in (1, 2)]
    )

    twin = deepcopy(refused)

    assert twin.faults == refused.faults
    assert str(twin) == "f:1: wrong\nf:2: wrong"


def test_no_sentence_repeats_a_password_or_fills_the_screen() -> None:
    document = read_python(
        {"retry": "db://u:se@cret@host", "from": "a", "x" * 500: "\n" * 500}, source="x"
    )

    _, faults = convert(document, Stage)

    said = "\n".join(map(str, faults))
    assert "cret" not in said
    assert all(len(line) < 400 for line in said.splitlines())


def test_odd_keys_are_shown_on_one_line() -> None:
    assert plain_values.format_path(("a", 0, "b\nc", 1, 2)) == "a[0].'b\\nc'[1][2]"


def test_types_are_described_in_plain_english() -> None:
    described = {
        yaml_source.describe_type(kinds.type_info(type_))
        for type_ in (
            Annotated[int, Meta(gt=0, lt=9)],
            Annotated[float, Meta(le=5)],
            Annotated[int, Meta(multiple_of=5)],
            Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")],
            Annotated[list[Any], Meta(max_length=1)],
            Literal["x"],
            Literal["a", "b", "c"],
            bytes,
        )
    }

    assert described == {
        "a whole number above 0 and below 9",
        "a number of at most 5",
        "a whole number in steps of 5",
        "text of 1 to 9 characters of the form ^a",
        "a list of at most 1 item",
        "x",
        "a, b or c",
        "a value",
    }


def test_a_document_of_ones_own_making_works_too() -> None:
    document = Document(source="x", value={"max_retries": 11}, lines={(): 4})

    _, (fault,) = convert(document, Retry)

    assert (fault.line, fault.path) == (4, "max_retries")
