"""YAML is read with the line of every value; what is doubtful is refused."""

import math
from types import MappingProxyType

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.core.errors import DeclarationError, Fault
from stateward.definition import plain_values
from stateward.definition.plain_values import read_python
from stateward.definition.yaml_text import read_yaml
from tests.definition.yaml_values import SOURCE, Colour, values

yaml_like = st.text(st.sampled_from("ab:- \n\t[]{},&*!|>'\"%#?@`<~.0123e+_\\Ux\u2028\ufeff\x85"))


def read(text: str) -> object:
    return read_yaml(text, source=SOURCE).value


def faults_of(text: str) -> list[str]:
    with pytest.raises(DeclarationError) as refused:
        read_yaml(text, source=SOURCE)
    return [str(fault) for fault in refused.value.faults]


# Reading YAML


@given(values)
def test_whatever_is_written_as_yaml_reads_back_equal(value: object) -> None:
    for flow in (True, False):
        text = yaml.safe_dump(value, default_flow_style=flow)

        assert repr(read(text)) == repr(_by_key(value))


def _by_key(value: object) -> object:
    """In the order in which PyYAML writes the keys."""
    if isinstance(value, list):
        return [_by_key(each) for each in value]
    if isinstance(value, dict):
        return {key: _by_key(value[key]) for key in sorted(value)}
    return value


@given(st.text() | yaml_like)
@example('"\\UFFFFFFFF"')
@example('"\\ud800"')
@example("%YAML " + "9" * 5000 + ".1\n---\n")
@example("[" * 5000)
@example("- " * 5000)
@example("? " * 5000)
@example("a: &a [*a]")
@example("\x00")
def test_arbitrary_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    value, faults = read_or_refused(text)

    assert all(fault.line >= 1 for fault in faults)
    assert faults or read_python(value, source=SOURCE).value == value


def read_or_refused(text: str) -> tuple[object, tuple[Fault, ...]]:
    try:
        return read(text), ()
    except DeclarationError as refused:
        return None, refused.faults


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("# nothing", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("0.5", 0.5),
        ("-1.5e+3", -1500.0),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ("!!seq [!!map {a: 1}]", [{"a": 1}]),
        ("&a x", "x"),
        ("[&a [1, 2], *a]", [[1, 2], [1, 2]]),
        ("'<<': 1", {"<<": 1}),
    ],
)
def test_what_is_plain_is_taken_as_it_stands(text: str, value: object) -> None:
    found = read(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "on", "off", "True", "FALSE", "Null", "012", "08", "0o17", "0x1F", "0b1"),
        *("1_000", "1:30", "190:20:30", "2024-01-31", "2024-01-31 08:30:00", "1 2", "1e3", "5."),
        *(".5", "1.5e3"),
    ],
)
def test_what_other_readers_would_guess_at_stays_text(text: str) -> None:
    assert read(text) == text


def test_every_part_remembers_its_line() -> None:
    document = read_yaml("a: 1\nb:\n  - x\n  - c: 2\n\n    d: 3\n", source=SOURCE)

    assert document.value == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert document.line() == 1
    assert document.line("a") == 1
    assert document.line("b") == 2
    assert document.line("b", 0) == 3
    assert document.line("b", 1, "d") == 6
    assert document.line("b", 1, "nowhere", 7) == 4
    assert document.line("nowhere") == 1


def test_a_document_knows_what_it_says() -> None:
    document = read_yaml("a:\n  - b: null\n", source=SOURCE)

    assert document.has()
    assert document.has("a", 0, "b")
    assert not document.has("a", 1)
    assert not document.has("a", 0, "b", "c")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a: 1\na: 2\n", ["machine.yaml:2: a: the key 'a' is already used on line 1"]),
        ("a:\n  1: x\n", ["machine.yaml:2: a: a key must be text, not 1; put it in quotes"]),
        ("true: x\n", ["machine.yaml:1: a key must be text, not true; put it in quotes"]),
        ("~: x\n", ["machine.yaml:1: a key must be text, not null; put it in quotes"]),
        ("? [a]\n: x\n", ["machine.yaml:1: a key must be text, not a list of 1 item"]),
        ("? {a: 1}\n: x\n", ["machine.yaml:1: a key must be text, not a mapping"]),
        (
            "x: {}\n<<: {a: 1}",
            ["machine.yaml:2: the merge key << is not supported; write the keys out"],
        ),
        (
            "a: &a [*a]",
            ["machine.yaml:1: a[0]: the alias *a is not defined before it is used"],
        ),
        (
            "a: !!python/object:os.system x",
            [
                "machine.yaml:1: a: the tag !!python/object:os.system is not supported; "
                "write the plain value"
            ],
        ),
        (
            "- !!set {a}\n- !mine [1]",
            [
                "machine.yaml:1: [0]: the tag !!set is not supported; write the plain value",
                "machine.yaml:2: [1]: the tag !mine is not supported; write the plain value",
            ],
        ),
        ("!!int five", ["machine.yaml:1: 'five' does not match its tag"]),
        (
            "a: 1\n---\nb: 2\n",
            ["machine.yaml:2: it contains several documents; keep one per file"],
        ),
        (
            "- .inf\n- -.INF\n- .nan\n- 1.0e+999",
            [f"machine.yaml:{n + 1}: [{n}]: the number must be finite" for n in range(4)],
        ),
        (
            "- 9223372036854775808\n- -99999999999999999999999",
            [
                f"machine.yaml:{n + 1}: [{n}]: the number is too large: it needs more than 64 bits"
                for n in range(2)
            ],
        ),
        (
            'a: "\\ud800"',
            ["machine.yaml:1: a: '\\ud800' contains a lone surrogate"],
        ),
        (
            'a: 1\nb: "\\UFFFFFFFF"',
            ["machine.yaml:2: it contains an invalid escape or version number"],
        ),
        ("a: 1\nb: \x07", ["machine.yaml:2: the character U+0007 may not be in YAML"]),
        (
            "a:\n\tb: 1\n",
            [
                "machine.yaml:2: this is not valid YAML: while scanning for the next token found "
                "character '\\t' that cannot start any token: indent with spaces, not with tabs"
            ],
        ),
        (
            "a: 1\nb: c: d\n",
            [
                "machine.yaml:2: this is not valid YAML: mapping values are not allowed here: "
                "text that holds a colon and a space needs quotes"
            ],
        ),
    ],
)
def test_what_has_no_plain_meaning_is_refused_with_its_line(text: str, faults: list[str]) -> None:
    assert faults_of(text) == faults


def test_one_reading_finds_many_faults() -> None:
    found = faults_of("a: 1\na: 2\n3: x\nb: .nan\nc: !x y\n")

    assert [fault.split(":")[1] for fault in found] == ["2", "3", "4", "5"]


def test_faults_before_a_syntax_error_are_kept() -> None:
    found = faults_of("a: 1\na: 2\nb: [\n")

    assert len(found) == 2
    assert "is already used" in found[0]
    assert "not valid YAML" in found[1]


def test_a_text_that_unfolds_without_end_is_refused_quickly() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )

    (fault,) = faults_of(bomb)

    assert f"more than {plain_values.NODES_MAX} values" in fault


def test_depth_is_limited_however_it_is_reached() -> None:
    levels = plain_values.DEPTH_MAX
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, levels + 5))

    assert read("[" * levels + "]" * levels)
    for text in ("[" * (levels + 2), chain):
        assert f"nested more than {levels} levels" in faults_of(text)[-1]


def test_length_and_the_number_of_faults_are_limited() -> None:
    assert "longer than" in faults_of("x" * (plain_values.TEXT_CHARS_MAX + 1))[0]
    assert len(faults_of("- .nan\n" * 1000)) == plain_values.FAULTS_MAX


# Values given in Python


def test_values_given_in_python_are_copied_plainly() -> None:
    value = {"a": (1, 2.5), Colour.RED: Colour.RED, "m": MappingProxyType({"x": None})}

    document = read_python(value, source="python")

    assert document.value == {"a": [1, 2.5], "red": "red", "m": {"x": None}}
    assert {type(each) for each in read_keys(document.value)} == {str}
    assert document.line("a", 0) == 0


def read_keys(value: object) -> list[object]:
    assert isinstance(value, dict)
    return [*value.keys(), value["red"]]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": {1, 2}}, "python: a: a Python set is not a plain value"),
        ({1: 2}, "python: a key must be text, not 1; put it in quotes"),
        ({(): 2}, "python: a key must be text, not a list of 0 items"),
        ([math.nan], "python: [0]: the number must be finite"),
        ([2**63], "python: [0]: the number is too large: it needs more than 64 bits"),
        ("\ud800", "python: '\\ud800' contains a lone surrogate"),
    ],
)
def test_values_given_in_python_meet_the_same_rules(value: object, fault: str) -> None:
    with pytest.raises(DeclarationError, match=r"^python") as refused:
        read_python(value, source="python")

    assert str(refused.value) == fault


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(DeclarationError, match="nested more than"):
        read_python(value, source="python")
