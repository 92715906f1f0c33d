"""The floor's rows into SQLite: one prepared statement a kind of row, carried out for a whole batch.

Durable as the product is: a write-ahead log with synchronous=FULL.
"""

from functools import cache
from typing import cast

import apsw

from lab.bench.steps import (
    EPOCH,
    MACHINE,
    WORKER,
    Cells,
    Live,
    Name,
    Step,
    quoted,
)


class SqliteWriter:
    """One connection to the file that the product made."""

    has_inbox = False

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path, statementcachesize=100)
        self._execute = self._connection.execute
        self._many = self._connection.executemany
        for pragma in ("synchronous = FULL", "wal_autocheckpoint = 4000", "cache_size = -65536"):
            self._execute(f"PRAGMA {pragma}")

    def begin(self) -> None:
        """Begin a transaction."""
        self._execute("BEGIN IMMEDIATE")

    def end(self, count: int, head: str) -> None:
        """Set the head of the lane, and make the transaction durable."""
        self._execute("UPDATE lanes SET count = ?, head = ? WHERE lane = 0", (count, head))
        self._execute("COMMIT")

    def queue(self, stage: Name, limit: int) -> list[Live]:
        """Who waits for a stage."""
        found = self._execute(
            f"SELECT id, created_at, head FROM records WHERE machine = '{MACHINE}' AND waiting = ?"
            " ORDER BY rank LIMIT ?",
            (stage, limit),
        )
        return [Live(*row) for row in cast("list[tuple[str, int, str]]", found.fetchall())]

    def open(self, records: Cells) -> None:
        """Write new records."""
        self._many(
            "INSERT INTO records (id, machine, machine_version, status, version, created_at, entered_at,"
            " priority, rank, waiting, retry_count, labels, fields, outputs, head)"
            f" VALUES (?, '{MACHINE}', 1, 'queued', 0, ?, ?, 5, ?, 'first', 0, '{{}}', '{{}}', '{{}}', ?)",
            records,
        )

    def move(self, step: Step, records: Cells, *, expected: int) -> None:
        """Compare-and-set."""
        before = self._connection.total_changes()
        self._many(_move_sql(step, expected), records)
        if self._connection.total_changes() - before != len(records):
            raise RuntimeError("a record was not at the version it should be at")

    def append(self, transitions: Cells, step: Step) -> None:
        """Write transitions."""
        self._many(_append_sql(step), transitions)

    def send(self, work: Cells) -> None:
        """Write work."""
        self._many(
            "INSERT INTO work (record_id, version, worker, delivery, rank, is_inline, body)"
            f" VALUES (?, ?, '{WORKER}', 1, ?, 1, ?)",
            work,
        )

    def finish(self, work: Cells, outputs: Cells, items: Cells, events: Cells) -> None:
        """Delete work; write outputs and items."""
        self._many(
            "DELETE FROM work WHERE record_id = ? AND version = ?"
            f" AND worker = '{WORKER}' AND delivery = 1",
            work,
        )
        self._many(
            "INSERT INTO outputs (record_id, version, stage, outcome, count, facts, is_retryable, worker,"
            f" at, log) VALUES (?, ?, ?, 'done', 1, '{{}}', 1, '{WORKER}', ?, '')",
            outputs,
        )
        self._many(
            "INSERT INTO item_chunks (record_id, version, chunk, count, data)"
            " VALUES (?, ?, 0, 1, '[{\"n\":1}]')",
            items,
        )

    def settle(self, events: int) -> None:
        """There are no events."""

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


@cache
def _move_sql(step: Step, expected: int) -> str:
    due_at, worker = ("?4", f"'{WORKER}'") if step.is_running else ("NULL", "NULL")
    return (
        f"UPDATE records SET head = ?1, fields = ?2, entered_at = ?3, due_at = {due_at}, worker = {worker},"
        f" waiting = {quoted(step.waiting)}, status = '{step.target}', version = {step.version},"
        f" outputs = '{step.outputs}' WHERE id = ?5 AND version = {expected}"
    )


@cache
def _append_sql(step: Step) -> str:
    attempt = "NULL" if step.attempt is None else step.attempt
    return (
        "INSERT INTO transitions (seq, record_id, version, machine, machine_version, source, target, at,"
        " actor, trigger, attempt, metadata, authority, epoch, record_hash, prev_hash, hash)"
        f" VALUES (?1, ?2, {step.version}, '{MACHINE}', 1, {quoted(step.source)}, '{step.target}', ?3,"
        f" '{step.actor}', '{step.trigger}', {attempt}, '{step.metadata}', 'coordinator', {EPOCH}, ?4, ?5, ?6)"
    )
