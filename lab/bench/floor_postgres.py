"""The floor's rows into PostgreSQL: a COPY for new rows, and arrays for what changes or goes.

The lines of a COPY and the texts of the arrays are put together by hand, which is the quickest way there is from
Python; all texts are our own, and none needs more escaping than is done here.
"""

from functools import cache

import psycopg

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

# As the product's session: every statement has its index, whatever the statistics say.
SETUP = """
SET search_path = stateward; SET jit = off;
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off
"""


class PostgresWriter:
    """One connection to the database that the product made."""

    has_inbox = True

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._cursor = self._connection.cursor()
        self._cursor.execute(SETUP)

    def begin(self) -> None:
        """Begin a transaction."""
        self._cursor.execute("BEGIN")

    def end(self, count: int, head: str) -> None:
        """Set the head of the lane, and make the transaction durable."""
        self._cursor.execute(
            "UPDATE lanes SET count = %s, head = %s WHERE lane = 0", (count, head), prepare=True
        )
        self._cursor.execute("COMMIT")

    def queue(self, stage: Name, limit: int) -> list[Live]:
        """Who waits for a stage; locked, as for another coordinator it would have to be."""
        self._cursor.execute(
            f"SELECT id, created_at, head FROM records WHERE machine = '{MACHINE}' AND waiting = %s"
            " ORDER BY rank LIMIT %s FOR UPDATE SKIP LOCKED",
            (stage, limit),
            prepare=True,
        )
        return [Live(*row) for row in self._cursor.fetchall()]

    def open(self, records: Cells) -> None:
        """Write new records."""
        self._copy(
            "records (id, created_at, entered_at, rank, head, machine, machine_version, status, version,"
            " priority, waiting, retry_count, labels, fields, outputs)",
            [
                f"{id_}\t{created}\t{entered}\t{rank}\t{head}\t{MACHINE}\t1\tqueued\t0\t5\tfirst\t0\t{{}}\t{{}}\t{{}}\n"
                for id_, created, entered, rank, head in records
            ],
        )

    def move(self, step: Step, records: Cells, *, expected: int) -> None:
        """Compare-and-set, in the order of the keys as everybody who writes them."""
        ordered = sorted(records, key=lambda row: row[4])
        heads, fields, (now, *_), (due_at, *_), ids = zip(*ordered, strict=True)
        params = {
            "heads": array(heads),
            "fields": array_of_json(fields),
            "ids": array(ids),
            "now": now,
            "due_at": due_at if step.is_running else None,
        }
        self._cursor.execute(_move_sql(step, expected), params, prepare=True)
        if self._cursor.rowcount != len(records):
            raise RuntimeError("a record was not at the version it should be at")

    def append(self, transitions: Cells, step: Step) -> None:
        """Write transitions."""
        source, attempt = step.source or "\\N", "\\N" if step.attempt is None else step.attempt
        same = (
            f"{step.version}\t{MACHINE}\t1\t{source}\t{step.target}\t{step.actor}\t{step.trigger}\t{attempt}\t"
            f"{step.metadata}\tcoordinator\t{EPOCH}\n"
        )
        self._copy(
            "transitions (seq, record_id, at, record_hash, prev_hash, hash, version, machine,"
            " machine_version, source, target, actor, trigger, attempt, metadata, authority, epoch)",
            [
                f"{seq}\t{id_}\t{at}\t{sealed}\t{before}\t{hash_}\t{same}"
                for seq, id_, at, sealed, before, hash_ in transitions
            ],
        )

    def send(self, work: Cells) -> None:
        """Write work."""
        self._copy(
            "work (record_id, version, rank, body, worker, delivery, is_inline)",
            [
                f"{id_}\t{version}\t{rank}\t{body}\t{WORKER}\t1\tt\n"
                for id_, version, rank, body in work
            ],
        )

    def finish(self, work: Cells, outputs: Cells, items: Cells, events: Cells) -> None:
        """Delete work; write outputs, items and events."""
        self._cursor.execute(
            "DELETE FROM work AS t USING (SELECT unnest(%s::text[]) AS id) AS v"
            f" WHERE t.record_id = v.id AND t.version = %s AND t.worker = '{WORKER}' AND t.delivery = 1",
            (array([row[0] for row in work]), work[0][1]),
            prepare=True,
        )
        self._copy(
            "outputs (record_id, version, stage, at, outcome, count, facts, is_retryable, worker, log)",
            [
                f"{id_}\t{version}\t{stage}\t{at}\tdone\t1\t{{}}\tt\t{WORKER}\t\n"
                for id_, version, stage, at in outputs
            ],
        )
        self._copy(
            "item_chunks (record_id, version, chunk, count, data)",
            [f'{id_}\t{version}\t0\t1\t[{{"n":1}}]\n' for id_, version in items],
        )
        self._copy("events (body)", [f"{body}\n" for (body,) in events])

    def settle(self, events: int) -> None:
        """Delete the events that were written last: in here there are no others."""
        self._cursor.execute("DELETE FROM events", prepare=True)
        if self._cursor.rowcount != events:
            raise RuntimeError("events were lost")

    def _copy(self, where: str, lines: list[str]) -> None:
        with self._cursor.copy(f"COPY {where} FROM STDIN") as copy:
            copy.write("".join(lines))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def array(texts: tuple[str | int, ...] | list[str | int]) -> str:
    """An array of texts that need no quotes."""
    return "{" + ",".join(map(str, texts)) + "}"


def array_of_json(texts: tuple[str | int, ...]) -> str:
    """An array of JSON texts without backslashes."""
    return '{"' + "\0".join(map(str, texts)).replace('"', '\\"').replace("\0", '","') + '"}'


@cache
def _move_sql(step: Step, expected: int) -> str:
    worker = f"'{WORKER}'" if step.is_running else "NULL"
    return (
        f"UPDATE records AS t SET head = v.head, fields = v.fields::json, status = '{step.target}',"
        f" version = {step.version}, waiting = {quoted(step.waiting)}, worker = {worker},"
        f" outputs = '{step.outputs}', entered_at = %(now)s, due_at = %(due_at)s"
        " FROM (SELECT unnest(%(heads)s::text[]) AS head, unnest(%(fields)s::text[]) AS fields,"
        " unnest(%(ids)s::text[]) AS id) AS v"
        f" WHERE t.id = v.id AND t.version = {expected}"
    )
