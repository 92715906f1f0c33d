"""Fills a store with finished records, fast, whose whole history is genuine: `verify` accepts it.

The rows are those that the product writes for a record of `lab.scale.pipeline`: record, three transitions, output and
items. They are made by text templates of the documented formats (`core.chain`, `core.output_seal`), three times as fast
as by the functions that decide and seal, and go into the database by its own methods, thousands in one transaction.
What is left out is what lies between processes, and every sync. Records are dated in the past and spread evenly, so
that rules of retention find some of them.
"""

import gc
import json
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from os import urandom
from pathlib import Path
from typing import NamedTuple

from lab.scale.pipeline import FIRST, LAST, MACHINE, RUNNING, STAGE
from stateward.app import App
from stateward.app.artifacts import FOLDER
from stateward.app.identity import EPOCH_NS, TICKS_PER_SECOND
from stateward.core.chain import GENESIS
from stateward.core.lanes import lane_of
from stateward.core.model import AUTHORITY, COORDINATOR, PERSON, RUNNER, SECOND, Micros
from stateward.core.output_seal import chunk_digest
from stateward.storage.counters import TRANSITIONS, CounterDeltas, Counters
from stateward.storage.database import Database, Row, log_end
from stateward.storage.outputs import ITEM_CHUNKS, OUTPUTS
from stateward.storage.record_rows import APPENDED, RECORDS
from stateward.storage.row_seals import SALT_BYTES

BATCH = 5000
DAYS = 1000  # over which the records are spread
DAY: Micros = 86_400 * SECOND
DOCUMENT_EACH = 100  # a file for each record would take more of the disk than the database does
STEP: Micros = SECOND // 10  # between two transitions of a record
WORKER, ACTOR = "scale-1", f"{PERSON}scale"
ITEMS = '[{"n":1}]'
LABELS = '{"filename":"scale.txt"}'
STARTED = f'{{"retry_count":0,"worker":"{WORKER}"}}'
TRIGGERS = (MACHINE.created_by, f"{STAGE}.started", f"{STAGE}.completed")
STATUSES = (FIRST, RUNNING, LAST)
ACTORS = (ACTOR, COORDINATOR, f"{RUNNER}{WORKER}")
MOVES = tuple(
    (
        STATUSES[version - 1] if version else None,
        status,
        ACTORS[version],
        TRIGGERS[version],
        1 if version else None,
    )
    for version, status in enumerate(STATUSES)
)
DONE = f'{{"{STAGE}":1}}'
RAW = '"RAW"'  # stands for a value that is not quoted
HASH = tuple(APPENDED.columns).index("hash")
EPOCH_S = EPOCH_NS // 10**9
CHANCE = 26  # characters of an id that come from chance alone
ALPHABET = b"0123456789abcdefghijklmnopqrstuv"
PAIRS = [chr(a) + chr(b) for a in ALPHABET for b in ALPHABET]
TIMES = [f"T{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in range(86_400)]


class Plan(NamedTuple):
    """How many records, and when the newest of them was submitted."""

    records: int
    until: Micros

    def submitted_at(self, number: int) -> Micros:
        """When a record was submitted: at a whole second."""
        at = self.until - DAYS * DAY + number * DAYS * DAY // self.records
        return at - at % SECOND


def fill(
    plan: Plan, app: App, database: Database, *, tell: Callable[[int], None] = lambda _: None
) -> None:
    """Write the records that are not there yet; `database` need not be durable."""
    done = sum(app.dashboard.counts().values())
    lanes = sum(each.lane >= 0 for each in app.store.lanes.all())
    folder = app.settings.data_path / FOLDER
    gc.disable()  # nothing here is a circle, and looking for circles takes a tenth of the time
    for first in range(done, plan.records, BATCH):
        numbers = range(first, min(first + BATCH, plan.records))
        documents = {each: _document(folder, each) for each in numbers if each % DOCUMENT_EACH == 0}
        with database.transaction():
            _write(plan, database, numbers, documents, lanes)
            _count(database, len(numbers))
        tell(numbers[-1] + 1)
    gc.enable()


def _document(folder: Path, number: int) -> str:
    """Where the product stores it, without its syncs."""
    data = b"document %d of a measurement\n" % number
    digest = sha256(data).hexdigest()
    path = folder / digest[:2] / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest


def _write(
    plan: Plan, database: Database, numbers: range, documents: dict[int, str], lanes: int
) -> None:
    records: list[Row] = []
    transitions: list[Row] = []
    outputs: list[Row] = []
    chunks: list[Row] = []
    hashes: dict[int, list[str]] = {}
    salts = urandom(3 * SALT_BYTES * len(numbers)).hex()
    chances = urandom(CHANCE * len(numbers)).translate(ALPHABET * 8).decode()
    for place, number in enumerate(numbers):
        at, document = plan.submitted_at(number), documents.get(number)
        id_ = _record_id(at, chances[CHANCE * place : CHANCE * (place + 1)])
        of = Of(
            id_,
            at,
            document,
            [salts[32 * n : 32 * n + 32] for n in range(3 * place, 3 * place + 3)],
        )
        rows = _sealed(of)
        transitions += rows
        own = [str(row[HASH]) for row in rows]
        hashes.setdefault(lane_of(id_, lanes), []).extend(own)
        records.append(_record(of, own[-1]))
        outputs.append(
            (id_, 1, STAGE, "done", 1, "{}", None, None, True, WORKER, at + 2 * STEP, "")
        )
        chunks.append((id_, 1, 0, 1, ITEMS))
    database.insert(RECORDS, records)
    database.insert(OUTPUTS, outputs)
    database.insert(ITEM_CHUNKS, chunks)
    database.append(APPENDED, transitions, hashes)


class Of(NamedTuple):
    """What differs between two records."""

    id: str
    at: Micros
    document: str | None
    salts: list[str]


def _record_id(at: Micros, chance: str) -> str:
    """As `new_record_id` makes it at that time: 48 bits of time, two and 26 times five of chance."""
    bits = ((at // SECOND - EPOCH_S) * TICKS_PER_SECOND << 2) + ord(chance[0]) % 4
    return (
        f"{MACHINE.prefix}_{PAIRS[bits >> 40]}{PAIRS[bits >> 30 & 1023]}{PAIRS[bits >> 20 & 1023]}"
        f"{PAIRS[bits >> 10 & 1023]}{PAIRS[bits & 1023]}{chance}"
    )


# The documented texts that are hashed; what differs between two records is %s.


def _template(values: list[object]) -> str:
    text = json.dumps(values, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.replace(RAW, "%s")


def _iso(step: int) -> str:
    return f"%s.{step * STEP:06d}Z"


def _record_template(version: int) -> str:
    """Of id, second, second, document, document, id (not at first), salt."""
    fields = {} if version == 0 else {f"{STAGE}_log_ref": f"/logs/{STAGE}/%s"}
    return _template(
        [
            "%s", MACHINE.name, MACHINE.version, STATUSES[version], version, _iso(0), _iso(version), 0, None, None,
            None, None, None, json.loads(RAW), json.loads(RAW), None, json.loads(LABELS),
            {**fields, **({"items_count": 1} if version == 2 else {})}, {STAGE: 1} if version == 2 else {}, "%s",
        ]
    )  # fmt: skip


def _transition_template(version: int) -> str:
    """Of the hash before, id, id, second, commitment of the metadata, hash of the record."""
    return _template(
        [
            "%s", "%s", MACHINE.name, MACHINE.version, STATUSES[version - 1] if version else None, STATUSES[version],
            version, f"%s:{version}:{TRIGGERS[version]}", _iso(version), ACTORS[version], AUTHORITY, 0,
            1 if version else None, TRIGGERS[version], "%s", "%s",
        ]
    )  # fmt: skip


RECORD_TEXTS = tuple(map(_record_template, range(3)))
TRANSITION_TEXTS = tuple(map(_transition_template, range(3)))
OUTPUT_TEXT = _template(
    [
        STAGE,
        "done",
        1,
        "{}",
        None,
        None,
        True,
        WORKER,
        json.loads(RAW),
        [chunk_digest(1, ITEMS)],
        [],
    ]
)
COMPLETED = '{"count":1,"output_digest":"%s"}'


def _sealed(of: Of) -> list[Row]:
    """The transitions of a record, chained."""
    id_, at, document, salts = of
    second = _second(at)
    quoted = "null" if document is None else f'"{document}"'
    metadata = ("{}", STARTED, COMPLETED % _hex(OUTPUT_TEXT % (at + 2 * STEP)))
    rows: list[Row] = []
    before = GENESIS
    for version, salt in enumerate(salts):
        ids = (id_,) if version else ()
        record = _hex(RECORD_TEXTS[version] % (id_, second, second, quoted, quoted, *ids, salt))
        commitment = _hex(salt + metadata[version])
        own = _hex(TRANSITION_TEXTS[version] % (before, id_, id_, second, commitment, record))
        source, target, actor, trigger, attempt = MOVES[version]
        rows.append(
            (
                id_, version, MACHINE.name, MACHINE.version, source, target, None, at + version * STEP, actor, trigger,
                attempt, metadata[version], AUTHORITY, 0, record, before, own, salt,
            )
        )  # fmt: skip
        before = own
    return rows


def _second(at: Micros) -> str:
    days, seconds = divmod(at // SECOND, 86_400)
    return _day(days) + TIMES[seconds]


@lru_cache
def _day(days: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(86_400 * days))


def _hex(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _record(of: Of, head: str) -> Row:
    fields = f'{{"items_count":1,"{STAGE}_log_ref":"/logs/{STAGE}/{of.id}"}}'
    return (
        of.id, MACHINE.name, MACHINE.version, LAST, 2, of.at, of.at + 2 * STEP, 5, of.at, None, None, None, None, 0,
        None, None, None, None, None, of.document, of.document, None, LABELS, fields, DONE, head,
    )  # fmt: skip


def _count(database: Database, records: int) -> None:
    """As the follower that counts for the metrics leaves it; the other readers of the log are at its end as well."""
    deltas = CounterDeltas()
    for version, status in enumerate(STATUSES):
        source = STATUSES[version - 1] if version else ""
        deltas.count(TRANSITIONS, MACHINE.name, source, status, by=records)
    Counters(database).add(deltas)
    end = log_end(database)
    database.run("UPDATE followers SET seq = :seq", seq=end)
    database.run("UPDATE search_cursor SET seq = :seq", seq=end)
