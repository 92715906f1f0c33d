"""Declarations and stored definitions under the keys of before mean what they meant."""

import json
from pathlib import Path

import msgspec
import pytest

from stateward.core.errors import DeclarationError
from stateward.core.machine import load_machine
from stateward.core.model import SECOND
from stateward.definition.declare import declare, from_yaml
from stateward.engine.registry import graph_digest, register
from stateward.storage.machine_versions import MACHINES
from stateward.storage.sqlite import SqliteDatabase
from stateward.storage.store import Store

CURRENT = """\
machine: letter
version: 2
prefix: LR
initial: new
states: {new: ready, reading: running, read: terminal, lost: terminal, broken: failed}
stages:
  read: {from: new, running: reading, outcomes: {done: read}, on_error: broken, external: true}
on_exhausted: lost
expose: {read_log_ref: reading}
upgrades: {"1": {fresh: new}}
"""
FORMER = """\
machine: letter
version: 2
prefix: LR
initial: new
states: {new: ready, reading: running, read: terminal, lost: terminal, broken: failed}
stages:
  read:
    enter: new
    running: reading
    outcomes: {done: read}
    on_error: broken
    gate: true
exhausted: lost
disclose:
  read_log_ref: reading
upgrades: {"1": {fresh: new}}
"""
# As version 0.1 wrote it into its database.
STORED = """\
{"name":"letter","version":2,"prefix":"LR","initial":"new","states":[{"name":"new","kind":"ready","doc":"",\
"is_imported":false},{"name":"reading","kind":"running","doc":"","is_imported":false},{"name":"read","kind":\
"terminal","doc":"","is_imported":false},{"name":"lost","kind":"terminal","doc":"","is_imported":false},{"name":\
"broken","kind":"failed","doc":"","is_imported":false}],"stages":[{"name":"read","enter":"new","running":"reading",\
"outcomes":{"done":[{"to":"read","when":null}]},"on_error":"broken","on_fatal":"broken","on_error_waiting":null,\
"resume":"new","timeout_s":3600.0,"runner":"letter.read","isolation":"process","produces":null,"log_field":\
"read_log_ref","network":false,"is_gated":true}],"exhausted":"lost","doc":"","reviews":[],"moves":[],"retry":\
{"max_retries":3,"backoff_s":[60.0,300.0,900.0],"jitter_s":0.0},"disclose":{"read_log_ref":"reading"},"upgrades":\
{"1":{"fresh":"new"}}}"""
STORED_DIGEST = "c65d476fe05654c79b0b9f45e0ffc7327c38634ce9c7f2ad5e722ae5c44bbb95"


def test_former_keys_are_accepted_and_the_warning_names_the_new_key_and_the_line() -> None:
    with pytest.warns(FutureWarning) as warned:
        machine = from_yaml(FORMER, source="letter.yaml")

    assert machine == from_yaml(CURRENT, source="letter.yaml")
    assert [
        (each.filename, each.lineno, str(each.message).partition(";")[0]) for each in warned
    ] == [
        ("letter.yaml", 13, "exhausted: this key is now called 'on_exhausted'"),
        ("letter.yaml", 14, "disclose: this key is now called 'expose'"),
        ("letter.yaml", 8, "stages.read.enter: this key is now called 'from'"),
        ("letter.yaml", 12, "stages.read.gate: this key is now called 'external'"),
    ]


def test_former_keys_in_python_point_at_the_caller() -> None:
    stage = {"enter": "new", "running": "reading", "outcomes": {"done": "read"}, "on_error": "read"}

    with pytest.warns(FutureWarning, match=r"stages.read.enter: .* 'from'") as warned:
        declare(
            machine="letter",
            version=1,
            prefix="LR",
            initial="new",
            states={"new": "ready", "reading": "running", "read": "terminal"},
            stages={"read": stage},
        )

    assert [each.filename for each in warned] == [__file__]


def test_a_fault_under_a_former_key_still_names_its_line() -> None:
    text = FORMER.replace("read_log_ref: reading", "read_log_ref: nowhere")

    with pytest.warns(FutureWarning), pytest.raises(DeclarationError) as refused:
        from_yaml(text, source="letter.yaml")

    assert str(refused.value).startswith("letter.yaml:15: expose.read_log_ref: there is no state")


def test_a_key_under_both_names_is_refused() -> None:
    with pytest.raises(DeclarationError) as refused:
        from_yaml(CURRENT + "exhausted: lost\n", source="letter.yaml")

    assert "letter.yaml:11: exhausted: exhausted is not a known key" in str(refused.value)


def test_a_definition_stored_under_former_field_names_loads() -> None:
    machine = load_machine(json.loads(STORED))

    assert machine == from_yaml(CURRENT, source="letter.yaml")
    assert graph_digest(machine) == STORED_DIGEST


def test_a_definition_stored_today_loads() -> None:
    machine = from_yaml(CURRENT, source="letter.yaml")

    assert load_machine(msgspec.json.decode(msgspec.json.encode(machine))) == machine


def test_a_store_of_before_accepts_the_same_machine_without_a_new_version(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "store.db")
    machine = from_yaml(CURRENT, source="letter.yaml")
    with database.transaction():
        database.insert(MACHINES, [("letter", 2, STORED_DIGEST, STORED, SECOND)])

    registry = register(Store(database), [machine], now=2 * SECOND)

    assert registry.named("letter") == machine
    database.close()
