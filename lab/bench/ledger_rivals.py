"""What the ledger is measured against, in the same process: SQLite, a plain load of all documents, a plain replay.

SQLite gets the same work in the way that a program would really choose: through apsw, with typed columns. It looks up
where the document is, writes the line and the new state, and syncs each commit. It does not check the move, chain the
lines, or keep the duration.
"""

import gc
import importlib
import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import msgspec

from lab.bench.ledger_work import Move, cpu, cpu_s, doc_id
from stateward.cli.ledger.query import COLUMNS

METADATA = '{"source":"pmc","pages":3}'


class Sqlite:
    """A log and a state table, WAL, `synchronous=FULL`."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path))
        statements = (
            "pragma journal_mode=wal; pragma synchronous=full;"
            "create table log(seq integer primary key, doc_id text, old_state text, new_state text, at real,"
            " adapter text);"
            "create table state(k text primary key, state text, at real, adapter text) without rowid;"
        )
        for _ in self._db.execute(statements):  # a statement that answers must be read to its end
            pass

    def write(self, group: Sequence[Move]) -> None:
        """One commit."""
        execute, at = self._db.execute, 1759536000.25
        execute("begin immediate")
        for name, state, adapter in group:
            new = state.value
            old = next(execute("select state from state where k=?", (name,)), (None,))[0]
            line = (name, old, new, at, adapter)
            execute(
                "insert into log(doc_id,old_state,new_state,at,adapter) values(?,?,?,?,?)", line
            )
            execute("insert or replace into state values(?,?,?,?)", (name, new, at, adapter))
        execute("commit")

    def close(self) -> None:
        """Done."""
        self._db.close()


def sqlite_opened_and_got_s(path: Path, documents: int, ids: Sequence[str]) -> tuple[float, float]:
    """Seconds of opening a database of that many documents with one answer, and of one more answer."""
    db = apsw.Connection(str(path))
    db.execute(
        "create table s(k text primary key, state text, at real, adapter text, metadata text, seq integer)"
        " without rowid"
    )
    with db:
        db.executemany(
            "insert into s values(?,'parsed',1759536000.25,'pubmed',?,?)",
            ((doc_id(number), METADATA, number) for number in range(documents)),
        )
    ask = "select state, at, adapter, metadata, seq from s where k=?"

    def got(each: str) -> tuple[object, ...]:
        state, at, adapter, metadata, seq = next(db.execute(ask, (each,)))
        return state, at, adapter, msgspec.json.decode(str(metadata)), seq

    def opened() -> None:
        other = apsw.Connection(str(path))
        next(other.execute(ask, (ids[0],)))
        other.close()

    taken = cpu_s(lambda: [got(each) for each in ids], 5)
    db.close()
    return cpu_s(opened, 20), taken / len(ids)


def loaded_and_dumped_s(path: Path) -> tuple[float, float]:
    """Seconds of reading a whole snapshot into a dict, and of writing it back."""
    text = path.read_bytes()
    gc.disable()
    try:
        with cpu() as loading:
            value = msgspec.json.decode(text)
        with cpu() as dumping:
            msgspec.json.encode(value)
    finally:
        gc.enable()
    return loading[0], dumping[0]


def replayed_plainly_s(path: Path) -> tuple[float, float]:
    """Seconds of reading a log line by line into a dict, nothing checked: with `json`, and with `msgspec`."""

    def replay(read: Callable[[bytes], Any]) -> None:
        states: dict[str, Any] = {}
        with path.open("rb") as file:
            for text in file:
                line = read(text)
                states[line["doc_id"]] = line

    return cpu_s(lambda: replay(json.loads)), cpu_s(lambda: replay(msgspec.json.decode))


def duckdb_p95_s(path: Path) -> float | None:
    """The 95th percentile of the stays per state, asked as `ledger query` asks; on the wall; None without DuckDB."""
    if not importlib.util.find_spec("duckdb"):
        return None
    duckdb: Any = importlib.import_module("duckdb")
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    table = f"read_json('{path}', format = 'newline_delimited', columns = {{{columns}}})"
    ask = f"select old_state, quantile_cont(duration_seconds, 0.95) from {table} group by 1"
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        duckdb.sql(ask).fetchall()
        taken.append(time.perf_counter() - start)
    return median(taken)
