"""Looks up what a stage reads of other records: items with the same key, as its machine declares under `earlier`.

The coordinator indexes the keys of an attempt in the transaction that completes it, and resolves a look-up in the one
that dispatches the reader. What was found travels with the work; the transition says from which attempts it was
taken and what its digest is, so that it can be found again and compared as long as those attempts are there.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter

import msgspec

from stateward.core.machine import Earlier, Machine, Stage
from stateward.core.model import EarlierItems, Fields, Json, Micros, Record
from stateward.storage.database import Database
from stateward.storage.item_keys import ItemKeys
from stateward.storage.outputs import Outputs

EARLIER = "earlier"  # in the metadata of the transition that starts an attempt
RECORD_ID = "record_id"
# All of it is read while a transaction is open, and goes into one message.
RECORDS_MAX = 100
ITEMS_READ_MAX = 20_000
ITEMS_MAX = 2_000
BYTES_MAX = 192 * 1024

_encode = msgspec.json.Encoder(order="deterministic").encode
Load = Callable[[Sequence[str]], Mapping[str, Record]]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a look-up found, and from which attempts: record to version."""

    given: EarlierItems
    attempts: dict[str, int]

    def metadata(self) -> Fields:
        """What the history says of it: no item and no key."""
        attempts: dict[str, Json] = {**self.attempts}
        given: dict[str, Json] = {
            "records": attempts,
            "items": len(self.given.items),
            "sha256": digest(self.given),
        }
        return {EARLIER: {**given, "is_cut": True} if self.given.is_cut else given}


class EarlierIndex:
    """Indexes attempts by their keys, and looks up those of others."""

    def __init__(self, database: Database) -> None:
        self._keys = ItemKeys(database)
        self._outputs = Outputs(database)

    def add(
        self, machine: Machine, record_id: str, stage: str, version: int, *, at: Micros
    ) -> None:
        """Index the items of a completed attempt under the keys that stages of its machine look up by."""
        for field in {
            each.earlier.key
            for each in machine.stages
            if each.earlier is not None and stage in each.earlier.of
        }:
            values = (item.get(field) for item in self._outputs.items(record_id, version))
            keys = {self._keys.digest(machine.name, field, value) for value in values}
            self._keys.add(record_id, version, keys - {""}, at=at)

    def find(self, machine: Machine, stage: Stage, record: Record, load: Load) -> Found | None:
        """What a stage of this record is to be given; None if it declares no look-up."""
        earlier = stage.earlier
        if earlier is None:
            return None
        own = self._own_keys(earlier, record)
        ids = self._keys.others(own, than=record.id, limit=RECORDS_MAX + 1)
        records = load(ids[:RECORDS_MAX])
        attempts = {
            id_: version
            for id_ in ids[:RECORDS_MAX]
            if id_ in records
            and _counts(machine, earlier, records[id_])
            and (version := self._attempt(earlier, records[id_])) is not None
        }
        items, is_cut = self._items(machine, earlier, own, attempts)
        return Found(
            given=EarlierItems(items=items, is_cut=is_cut or len(ids) > RECORDS_MAX),
            attempts=dict(sorted(attempts.items())),
        )

    def again(self, machine: Machine, stage: Stage, record: Record, metadata: Json) -> EarlierItems:
        """What an attempt was given, by what its transition says; what was erased since is missing."""
        if stage.earlier is None or not isinstance(metadata, dict):
            return EarlierItems()
        attempts = metadata.get("records")
        known = (
            {id_: version for id_, version in attempts.items() if isinstance(version, int)}
            if isinstance(attempts, dict)
            else {}
        )
        own = self._own_keys(stage.earlier, record)
        items, _ = self._items(machine, stage.earlier, own, known)
        return EarlierItems(items=items, is_cut=metadata.get("is_cut") is True)

    def _own_keys(self, earlier: Earlier, record: Record) -> set[str]:
        found: set[str] = set()
        for name in earlier.of:
            if name in record.outputs:
                found |= self._keys.of(record.id, record.outputs[name])
        return found

    def _attempt(self, earlier: Earlier, record: Record) -> int | None:
        """The version whose items count: of the first of the declared names, in its newest edition."""
        for name in earlier.of:
            if name in record.outputs:
                made = record.outputs[name]
                return self._outputs.newest_edition(record.id, stage=name, made=made)
        return None

    def _items(
        self, machine: Machine, earlier: Earlier, own: set[str], attempts: Mapping[str, int]
    ) -> tuple[tuple[Fields, ...], bool]:
        """Their items with one of these keys, the oldest first; and whether some had to be left out."""
        found: list[tuple[str, str, int, Fields]] = []
        read = 0
        for id_, version in attempts.items():
            for number, item in enumerate(self._outputs.items(id_, version)):
                read += 1
                if self._keys.digest(machine.name, earlier.key, item.get(earlier.key)) in own:
                    at = item.get(earlier.at)
                    chosen = {name: item[name] for name in earlier.fields if name in item}
                    row = {**chosen, earlier.at: at, RECORD_ID: id_}
                    found.append((str(at or ""), id_, number, row))
            if read >= ITEMS_READ_MAX:
                break
        found.sort(key=itemgetter(0, 1, 2))
        rows = _bound([row for *_, row in found])
        return tuple(rows), len(rows) < len(found) or read >= ITEMS_READ_MAX


def digest(given: EarlierItems) -> str:
    """The SHA-256 of the items as compact JSON with sorted keys: what seals the input of an attempt."""
    return sha256(_encode(given.items)).hexdigest()


def _counts(machine: Machine, earlier: Earlier, record: Record) -> bool:
    """Whether the results of a record count: it did not fail, and no person rejected it."""
    if record.machine != machine.name:
        return False
    if earlier.states:
        return record.status in earlier.states
    return machine.kind.get(record.status) != "failed"


def _bound(rows: list[Fields]) -> list[Fields]:
    """The newest of these rows that fit into one message."""
    size = 0
    for count, row in enumerate(reversed(rows)):
        size += len(_encode(row)) + 1
        if count == ITEMS_MAX or size > BYTES_MAX:
            return rows[len(rows) - count :]
    return rows
