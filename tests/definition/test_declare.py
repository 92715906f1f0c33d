"""A declaration in YAML or Python becomes a Machine; both build the same value."""

from enum import StrEnum
from importlib.resources import files

import msgspec
import pytest

from stateward.core.errors import DeclarationError
from stateward.core.machine import Machine, Move, Review, Route, at_least
from stateward.core.retry import Retry
from stateward.definition.declare import declare, from_yaml
from stateward.ledger import DOCUMENT_MACHINE, LedgerState
from stateward.testing.builders import a_declaration, a_machine
from tests.definition.letter import LETTER, SOURCE

# What a declaration says


def test_a_yaml_text_becomes_a_machine() -> None:
    machine = from_yaml(LETTER, source=SOURCE)

    assert (machine.name, machine.version, machine.prefix) == ("letter", 2, "LR")
    assert machine.doc == "A letter is read, checked by a person if need be, and filed."
    assert machine.kind["asking"] == "suspended"
    assert machine.state["reading"].doc == "Somebody reads it"
    assert machine.stage["read"].outcomes == {
        "done": (Route(to="filed", when=at_least("clarity", 0.5)), Route(to="asking"))
    }
    assert machine.reviews == (
        Review(
            name="check",
            state="asking",
            outcomes={"kept": "filed"},
            timeout_s=3600,
            on_timeout="lost",
        ),
    )
    assert machine.moves == (Move(on="letter.dropped", source="new", to="lost"),)
    assert machine.retry == Retry(max_retries=2, backoff_s=(1, 2), jitter_s=0.5)
    assert machine.on_exhausted == "lost"
    assert machine.expose == {"read_log_ref": "reading"}
    assert machine.upgrades == {1: {"fresh": "new"}}


def test_what_is_left_out_has_a_default() -> None:
    machine = a_machine()

    (stage,) = machine.stages
    assert stage.resume == stage.from_state == "new"
    assert stage.on_fatal == stage.on_error == "broken"
    assert stage.on_error_waiting is None
    assert stage.timeout_s == 3600
    assert stage.runner == "note.read"
    assert stage.isolation == "process"
    assert stage.log_field == "read_log_ref"
    assert machine.retry == Retry(max_retries=3, backoff_s=(60, 300, 900), jitter_s=0)
    assert machine.on_exhausted is None


def test_a_stage_without_a_running_state_runs_where_it_is_entered() -> None:
    machine = a_machine(
        initial="reading",
        states={"reading": "running", "read": "terminal", "broken": "failed"},
        stages={"read": {"from": "reading", "outcomes": {"done": "read"}, "on_error": "broken"}},
    )

    (stage,) = machine.stages
    assert stage.running == stage.from_state == stage.resume == "reading"
    assert set(machine.pairs) == {
        ("reading", "read"),
        ("reading", "broken"),
        ("broken", "reading"),
    }


class Email(StrEnum):
    NEW = "new"
    READING = "reading"
    ASKING = "asking"
    FILED = "filed"
    LOST = "lost"
    BROKEN = "broken"


# YAML and Python


def test_yaml_and_python_build_the_same_value() -> None:
    in_python = declare(
        machine="letter",
        version=2,
        prefix="LR",
        doc="A letter is read, checked by a person if need be, and filed.",
        initial=Email.NEW,
        states={
            Email.NEW: "ready",
            Email.READING: {"kind": "running", "doc": "Somebody reads it"},
            Email.ASKING: "suspended",
            Email.FILED: "terminal",
            Email.LOST: "terminal",
            Email.BROKEN: "failed",
        },
        stages={
            "read": {
                "from": Email.NEW,
                "running": Email.READING,
                "outcomes": {
                    "done": [
                        {"to": Email.FILED, "when": {"at_least": ("clarity", 0.5)}},
                        {"to": Email.ASKING},
                    ]
                },
                "on_error": Email.BROKEN,
                "timeout_s": 60,
            }
        },
        reviews={
            "check": {
                "state": Email.ASKING,
                "outcomes": {"kept": Email.FILED},
                "timeout_s": 3600,
                "on_timeout": Email.LOST,
            }
        },
        moves=[{"from": Email.NEW, "to": Email.LOST, "on": "letter.dropped"}],
        retry={"max_retries": 2, "backoff_s": (1, 2), "jitter_s": 0.5},
        on_exhausted=Email.LOST,
        expose={"read_log_ref": Email.READING},
        upgrades={"1": {"fresh": Email.NEW}},
    )

    assert in_python == from_yaml(LETTER, source=SOURCE)
    assert in_python.edges == from_yaml(LETTER, source=SOURCE).edges


def test_a_declaration_is_given_as_a_mapping_or_by_keyword() -> None:
    assert declare(a_declaration()) == declare(**a_declaration())
    assert declare(a_declaration(), version=2) == a_machine(version=2)


def test_the_ledger_enum_can_declare_its_machine_in_python() -> None:
    text = (files("stateward.ledger") / "document.yaml").read_text("utf-8")
    states = {LedgerState(state.name): state.kind for state in DOCUMENT_MACHINE.states}

    machine = declare(
        machine="literature",
        version=1,
        prefix="LT",
        initial=LedgerState.PENDING,
        states={**states, LedgerState.LEGACY: {"kind": "suspended", "imported": True}},
        stages={
            stage.name: {
                "from": LedgerState(stage.from_state),
                "running": LedgerState(stage.running),
                "resume": LedgerState(stage.resume),
                "outcomes": {"done": LedgerState(stage.outcomes["done"][0].to)},
                "on_error": LedgerState(stage.on_error),
                "on_fatal": LedgerState(stage.on_fatal),
                "on_error_waiting": stage.on_error_waiting,
            }
            for stage in DOCUMENT_MACHINE.stages
        },
        moves=[
            {
                "from": m.source,
                "to": m.to,
                "on": m.on,
                "by": "person" if m.is_by_person else "anyone",
            }
            for m in DOCUMENT_MACHINE.moves
        ],
        on_exhausted=LedgerState.FAILED,
    )

    assert machine.edges == from_yaml(text, source="document.yaml").edges


def test_a_fault_in_python_stands_on_no_line() -> None:
    with pytest.raises(DeclarationError) as refused:
        declare(a_declaration(initial="nowhere"), source="notes.py")

    assert str(refused.value) == (
        "notes.py: initial: there is no state 'nowhere'; there are: new, reading, read, broken"
    )


# A machine is a value


def test_a_machine_can_be_compared_and_kept() -> None:
    machine = from_yaml(LETTER, source=SOURCE)

    kept = msgspec.json.decode(msgspec.json.encode(machine), type=Machine)

    assert kept == machine
    assert kept.edges == machine.edges
