"""Every column of every table that is proved: changed in one row, it is found, or there is a reason why not.

The columns are those of the schema, so that a new one fails here until `verify` finds its changes or a reason is given.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import pytest

from stateward.core.errors import StoreError
from stateward.core.files import DerivedFile
from stateward.engine.history import checkpoint_of
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.proofs.merkle import BLOCK_LEAVES
from stateward.storage.acknowledgements import Acknowledgement, Acknowledgements
from stateward.storage.audit import FLAG_DECIDED, HELD, KEY_CREATED, AuditEntry, AuditLog
from stateward.storage.database import Cell
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.outputs import AttemptResult, Output, result_event
from stateward.storage.pauses import Pause
from stateward.storage.row_seals import sealed_change
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.rig import START, Rig
from tests.docs.pages import DOCS

# ruff: noqa: S608 - the statements are made of names of the schema
ANN = "person:ann"
NUMBER = "only the order of a list: what was sealed is the row"
DISPATCH = "dispatch moves it without a transition"
UNBOUND = {
    ("records", "rank"): DISPATCH,
    ("records", "worker"): DISPATCH,
    ("records", "asked_by"): DISPATCH,
    ("dispositions", "id"): NUMBER,
    ("dead_letters", "id"): NUMBER,
    ("api_keys", "used_at"): "written at each use, which is an entry of the audit log",
    ("webhooks", "rests_until"): "until when an endpoint asked for rest: no act of a person",
}
PAGE = (DOCS / "how-to" / "prove-what-happened.md").read_text("utf-8")
_, _, _TABLES = PAGE.partition("### Table by table")
_BOUND, _, _ = _TABLES.partition("| tables outside | why |")
BOUND = sorted(re.findall(r"`([a-z_]+)`", _BOUND))
STANDING = {
    "api_keys": "(id, name, role, pipelines, secret_hash, created_at, created_by)"
    " VALUES ('k', 'bob', 'viewer', '[]', 'x', 9, 'person:ann')",
    "webhooks": "VALUES ('w', 'https://example.org', '[\"*\"]', 'standard', 's', NULL, NULL, 1, NULL, 'person:ann',"
    " 9, 0, 0)",
    "worker_keys": "VALUES ('w', 'far', '[]', 's', 9, 'person:ann', NULL)",
    "pending_decisions": "VALUES ('UL_000001', 3, 'person:ann', 'approve', '{}', 9, 9)",
    "review_links": "VALUES ('l', 's', 'UL_000001', 'upload', 3, 'eve', 9, 'person:ann', '', 9, NULL, NULL)",
}


class Undo(Exception):
    """Nothing of it is to stay."""


class Column(NamedTuple):
    name: str
    is_key: bool


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A store with rows in each table that is proved."""
    database = SqliteDatabase(MEMORY)
    made = Rig(database, [UPLOAD])
    made.store.lanes.make(2, now=1)
    made.store.seal_former_rows(now=1)
    made.store.lanes.begin_epoch(now=START)
    made.worker()
    opened = made.open(labels={"n": 1}, artifact="a" * 64)
    _complete_with_files(made)
    made.run()
    made.store.lanes.begin_epoch(now=START)
    made.ask("retry.requested", opened)  # nothing failed, so it changes nothing
    made.store.dead_letters.add([DeadLetter(kind="event", body="?", reason="not an event", at=7)])
    result = AttemptResult(
        record_id=opened.id, version=-1, stage="parse", worker="w", at=8, count=1
    )
    made.outputs.write([Output(result, [(1, '[{"n":1}]')])])
    _act(made, opened.id)
    yield made
    database.close()


def _complete_with_files(rig: Rig) -> None:
    """The first attempt, of two chunks and two files, with a log."""
    rig.settle()
    (work,) = rig.work()
    result = AttemptResult(
        record_id=work.record_id, version=work.version, stage=work.stage, worker=work.worker, at=START,
        count=2, facts={"kind": "x"}, log="all was well",
    )  # fmt: skip
    files = [
        DerivedFile(name=each, media_type="text/plain", size=1, sha256=each * 64) for each in "bc"
    ]
    with rig.database.transaction():
        rig.bus.finish([work])
        (seal,) = rig.outputs.write([Output(result, [(1, '[{"n":1}]'), (1, '[{"n":2}]')], files)])
        assert seal is not None
        rig.bus.report([result_event(result, seal)])


def _act(rig: Rig, record_id: str) -> None:
    database, audit = rig.database, AuditLog(rig.database)
    rig.store.pauses.add(Pause(machine="upload", stage="parse", at=9, actor=ANN, reason=None))
    given = Acknowledgement(machine="upload", cause="X", at=9, actor=ANN, reason="seen")
    Acknowledgements(database, audit).add(given)
    for table, row in STANDING.items():
        with sealed_change(database, table, at=9):
            database.run(f"INSERT INTO {table} {row}")
    database.run("INSERT INTO holds VALUES (:id, 9, :ann, 'case 12')", id=record_id, ann=ANN)
    database.run(
        "INSERT INTO flag_decisions VALUES (:id, 5, :ann, 'confirm', 'seen', 9)",
        id=record_id,
        ann=ANN,
    )
    said = {"key_id": "k", "role": "viewer"}
    audit.add(
        [
            AuditEntry(at=9, actor=ANN, verb=HELD, record_id=record_id, reason="case 12"),
            AuditEntry(
                at=9, actor=ANN, verb=f"{FLAG_DECIDED}confirm", record_id=record_id,
                detail={"version": 5}, reason="seen",
            ),
            AuditEntry(at=9, actor=ANN, verb=KEY_CREATED, detail={**said}),
            *(AuditEntry(at=9, actor=ANN, verb="exported") for _ in range(BLOCK_LEAVES)),
        ]
    )  # fmt: skip
    checkpoint_of(rig.store, audit, signer=None, is_stored=True)


@pytest.mark.long  # a verification for each of some two hundred columns
def test_a_change_of_any_column_is_found_or_has_a_reason(rig: Rig) -> None:
    assert rig.verify().findings == ()

    unseen = {
        (table, column.name)
        for table in BOUND
        for column in _columns(rig, table)
        if not _is_found(rig, table, *_changing(rig, table, column.name))
    }

    assert unseen == UNBOUND.keys()
    assert rig.verify().findings == ()


def test_a_deleted_row_is_found_in_any_table(rig: Rig) -> None:
    unseen = {
        table
        for table in BOUND
        if not _is_found(rig, table, "DELETE FROM {table}", _first(rig, table))
    }

    assert unseen == {"history_tree"}  # which can be deleted, and is computed anew


def test_an_added_row_is_found_in_any_table(rig: Rig) -> None:
    """A copy of the first one under another key."""
    unseen: set[str] = set()
    for table in BOUND:
        first, columns = _first(rig, table), _columns(rig, table)
        keys = [each.name for each in columns if each.is_key]
        copied = ", ".join(
            f"{each.name} || 'x'"
            if each.name == keys[-1] and isinstance(first[each.name], str)
            else f"{each.name} + 1000"
            if each.name in (keys[-1], "seq")
            else each.name
            for each in columns
        )
        if not _is_found(
            rig, table, f"INSERT INTO {{table}} SELECT {copied} FROM {{table}}", first
        ):
            unseen.add(table)

    assert unseen == set()


def test_the_page_names_each_column_that_is_not_bound() -> None:
    named = [f"`{table}.{column}`" for table, column in UNBOUND]

    assert [each for each in named if each not in PAGE] == []


def _columns(rig: Rig, table: str) -> list[Column]:
    found = rig.database.rows("SELECT name, pk FROM pragma_table_info(:table)", table=table)
    return [Column(str(name), bool(key)) for name, key in found]


def _first(rig: Rig, table: str) -> dict[str, Cell]:
    (row, *_) = rig.database.rows(f"SELECT * FROM {table} ORDER BY 1, 2 LIMIT 1")
    return dict(zip([each.name for each in _columns(rig, table)], row, strict=True))


def _changing(rig: Rig, table: str, column: str) -> tuple[str, dict[str, Cell]]:
    """A statement that gives the first row another value that a reader of this column could take, and that row."""
    first = _first(rig, table)
    change = {
        "NULL": "7" if column.endswith(("_at", "until", "minute", "max")) else "'7'",
        "int": f"1 - {column}" if column.startswith("is_") else f"{column} + 1000",
        "{": """'{"x":1}'""",
        "[": """'["x"]'""",
    }
    value = first[column]
    kind = "NULL" if value is None else "int" if isinstance(value, int) else str(value)[:1]
    return f"UPDATE {{table}} SET {column} = {change.get(kind, f'''{column} || 'x' ''')}", first


def _is_found(rig: Rig, table: str, statement: str, row: dict[str, Cell]) -> bool:
    """Whether this, done to one row, is found; what the database itself refuses cannot be done."""
    keys = [each.name for each in _columns(rig, table) if each.is_key]
    where = " AND ".join(f"{key} = :{key}" for key in keys)
    is_found = True
    with suppress(Undo, StoreError), rig.database.transaction():
        sql = f"{statement.replace('{table}', table)} WHERE {where}"
        assert rig.database.run(sql, **{key: row[key] for key in keys}) == 1, sql
        is_found = not rig.verify().is_sound
        raise Undo
    return is_found
