"""Definitions that a store keeps under the field names of version 0.1 mean what they meant."""

import json
from pathlib import Path

import msgspec

from stateward.core.machine import load_machine
from stateward.core.model import SECOND
from stateward.definition.declare import from_yaml
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
