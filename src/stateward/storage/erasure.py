"""Deletes what records held, and holds that forbid it. Who may do it, and the transition that says so, is not here."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from stateward.core.chain import ERASED, commitment
from stateward.core.erasure import CONTENTS, DOCUMENTS, ITEMS, LOGS, RECORD_ERASED
from stateward.core.model import ERASED_REST, Fields, Micros
from stateward.storage.database import Database, Row, Table
from stateward.storage.mentions import ANSWERS, DEAD_LETTERS, rows_naming
from stateward.storage.outputs import ANNOUNCED_FILES
from stateward.storage.ranked import RankedIndex
from stateward.storage.row_seals import digests_of, lock_seals, reseal

HOLDS = Table(
    "holds",
    {"record_id": "text", "at": "bigint", "actor": "text", "reason": "text"},
    key=("record_id",),
)
# What of each kind is deleted by the id of its record.
_ROWS = {
    ITEMS: (
        "item_chunks", "item_keys", "derived_files", "saved_values", "search_texts", "search_documents",
        "search_names",
    ),
    CONTENTS: (
        "outputs", "effects", "dispositions", "deliveries", "alerts", "claims", "flag_decisions",
        "pending_decisions", "review_links", "search_texts", "search_documents", "search_names",
    ),
}  # fmt: skip
# By kind, whether a record still holds any of it.
_HOLDING = {
    DOCUMENTS: "artifact IS NOT NULL",
    ITEMS: "CAST(outputs AS text) <> '{}'",
    LOGS: "EXISTS (SELECT 1 FROM outputs o WHERE o.record_id = r.id AND o.log <> '')",
    CONTENTS: "CAST(labels AS text) <> '{}' OR CAST(fields AS text) <> '{}'",
}
_METADATA = Table(
    "transitions", {"seq": "bigint", "metadata": "json", "salt": "text"}, key=("seq",)
)

_decode = msgspec.json.Decoder(Fields).decode
_encode = msgspec.json.encode


ERASED_AT_ONCE = 1000
# When files of erased records count as announced: before any that an attempt announces.
ERASED_AT: Micros = 0
TRIED_AT: Micros = 1  # and when those do that could not be deleted
Named = tuple[str, str]
"""(artifact, record that names it)"""
NOTIFIER = "notifications"  # the follower that tells of transitions


def lock_follower(database: Database, name: str) -> int:
    """The last transition that a follower has processed; none of its kind goes on until this transaction ends."""
    ((seq,),) = database.rows(
        f"SELECT seq FROM followers WHERE name = :name{database.for_update}", name=name
    )
    return int(seq or 0)


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing of this record may be deleted."""

    record_id: str
    at: Micros
    actor: str
    reason: str


class Erasures:
    """Deletions and holds, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def delete(self, record_ids: Sequence[str], kinds: Collection[str], *, at: Micros) -> None:
        """Delete these kinds of what the records hold; inside the transaction that says so in their histories."""
        if CONTENTS in kinds:
            # As the notifier begins: it writes to the same tables in another order, and what it read before this
            # transaction would come back as a message or an alert.
            lock_follower(self._database, NOTIFIER)
        lock_seals(self._database)
        sealed = digests_of(self._database, record_ids)
        if ITEMS in kinds or CONTENTS in kinds:
            # Words and vectors that can be found: an entry of an index is text of a document as well.
            RankedIndex(self._database).forget(record_ids)
            self._run("UPDATE search_vectors SET record_id = '', vector = '' WHERE", record_ids)
        if CONTENTS in kinds:
            condition, params = self._database.among("record_id", list(record_ids))
            self._database.run(
                "DELETE FROM delivery_attempts WHERE (webhook_id, message_id) IN"
                f" (SELECT webhook_id, message_id FROM deliveries WHERE {condition})",
                **params,
            )
        for table in dict.fromkeys(name for kind in kinds for name in _ROWS.get(kind, ())):
            self._run(f"DELETE FROM {table} WHERE", record_ids)
        if CONTENTS in kinds:
            self._delete_mentions(record_ids)
            self._erase_metadata(record_ids)
            self._run(
                "UPDATE audit_log SET reason = NULL, salt = NULL WHERE reason_hash IS NOT NULL AND",
                record_ids,
            )
            self._run("UPDATE records SET labels = '{}', dedupe = NULL WHERE", record_ids, "id")
        if ITEMS in kinds:
            self._run("UPDATE outputs SET facts = '{}', error_message = NULL WHERE", record_ids)
        if LOGS in kinds:
            self._run("UPDATE outputs SET log = '' WHERE", record_ids)
        if DOCUMENTS in kinds:
            self._run("UPDATE records SET artifact = NULL, dedupe = NULL WHERE", record_ids, "id")
        reseal(self._database, sealed, record_ids, at=at)

    def _run(self, begin: str, record_ids: Sequence[str], column: str = "record_id") -> None:
        condition, params = self._database.among(column, list(record_ids))
        self._database.run(f"{begin} {condition}", **params)

    def _delete_mentions(self, record_ids: Sequence[str]) -> None:
        """Answers to requests and dead letters that name a record."""
        for table in (ANSWERS, DEAD_LETTERS):
            self._database.delete(table, rows_naming(self._database, table, record_ids))

    def _erase_metadata(self, record_ids: Sequence[str]) -> None:
        self._database.flush()
        condition, params = self._database.among("record_id", list(record_ids))
        found = self._database.rows(
            "SELECT seq, metadata, salt, record_id, version FROM transitions"
            f" WHERE {condition} ORDER BY seq",
            **params,
        )
        last = {row[3]: row[0] for row in found}  # the transition that says so itself stays
        rows: list[Row] = [
            (seq, _erased_text(str(metadata), None if salt is None else str(salt)), None)
            for seq, metadata, salt, record_id, _ in found
            if last[record_id] != seq
        ]
        seqs = [row[0] for row in rows]
        self._database.update(_METADATA, rows, expected="seq", column=seqs)

    # What still names an artifact

    def artifacts_of(self, record_ids: Sequence[str], kinds: Collection[str]) -> set[Named]:
        """What these kinds of the records name: documents, and derived files with the items."""
        found: set[Named] = set()
        if DOCUMENTS in kinds:
            found |= self._pairs("artifact, id", "records", "id", record_ids)
        if ITEMS in kinds:
            for table in ("derived_files", "announced_files"):
                found |= self._pairs("sha256, record_id", table, "record_id", record_ids)
        return found

    def note_erased(self, named: Iterable[Named]) -> None:
        """Announce artifacts of erased records, so that they are found and deleted after the transaction."""
        rows: list[Row] = [(*each, ERASED_AT) for each in sorted(named)]
        if rows:
            self._database.insert_new(ANNOUNCED_FILES, rows)

    def note_tried(self, rows: Sequence[Row]) -> None:
        """These cannot be deleted now; those of erased records are not tried again before the next sweep."""
        erased = [row for row in rows if row[2] == ERASED_AT]
        if erased:
            self._database.delete(ANNOUNCED_FILES, erased)
            self._database.insert_new(
                ANNOUNCED_FILES, [(digest, id_, TRIED_AT) for digest, id_, _ in erased]
            )

    def pending(self, record_ids: Sequence[str]) -> set[Named]:
        """Files of these erased records that are not deleted yet."""
        condition, params = self._database.among("record_id", list(record_ids))
        found = self._database.rows(
            f"SELECT sha256, record_id FROM announced_files WHERE at <= :tried AND {condition}",
            tried=TRIED_AT,
            **params,
        )
        return {(str(digest), str(record_id)) for digest, record_id in found}

    def undeletable(self) -> int:
        """How many files of erased records could not be deleted."""
        ((count,),) = self._database.rows(
            "SELECT count(*) FROM announced_files WHERE at = :tried", tried=TRIED_AT
        )
        return int(count or 0)

    def still_named(
        self, digests: Iterable[str], *, but: Collection[str], since: Micros | None
    ) -> set[str]:
        """Those of these artifacts that a record or a derived file names, or that were announced.

        Announcements of the records `but` do not count, unless they were made `since` that moment.
        """
        wanted = sorted(digests)
        if not wanted:
            return set()
        named = self._digests("artifact", "records", "artifact", wanted)
        named |= self._digests("sha256", "derived_files", "sha256", wanted)
        condition, params = self._database.among("sha256", wanted)
        announced = self._database.rows(
            f"SELECT sha256, record_id, at FROM announced_files WHERE {condition}", **params
        )
        return named | {
            str(digest)
            for digest, record_id, at in announced
            if record_id not in but or (since is not None and int(str(at)) >= since)
        }

    # What came too late

    def announced(self, *, before: Micros, after: Row, limit: int) -> list[Row]:
        """Files that were announced before that moment by attempts at records that have no work now.

        They are in the order of (at, artifact, record), and only those `after` one of these.
        """
        at, digest, record_id = after
        return self._database.rows(
            "SELECT sha256, record_id, at FROM announced_files f WHERE at < :before"
            " AND (at, sha256, record_id) > (:at, :digest, :record_id) AND NOT EXISTS"
            " (SELECT 1 FROM work w WHERE w.record_id = f.record_id)"
            " ORDER BY at, sha256, record_id LIMIT :limit",
            before=before,
            at=at,
            digest=digest,
            record_id=record_id,
            limit=limit,
        )

    def forget_announced(self, rows: Sequence[Row]) -> None:
        """These files are settled, or gone."""
        self._database.delete(ANNOUNCED_FILES, rows)

    def delete_late_values(self) -> None:
        """Delete values that an attempt saved when its record was erased already: attempts cannot see that."""
        self._database.run(
            "DELETE FROM saved_values WHERE record_id IN (SELECT s.record_id FROM saved_values s"
            " CROSS JOIN records r WHERE r.id = s.record_id AND r.rest = :rest"
            " AND CAST(r.outputs AS text) = '{}')",
            rest=ERASED_REST,
        )

    def _digests(self, what: str, table: str, column: str, among: Sequence[str]) -> set[str]:
        condition, params = self._database.among(column, list(among))
        found = self._database.rows(
            f"SELECT DISTINCT {what} FROM {table} WHERE {condition} AND {what} IS NOT NULL",
            **params,
        )
        return {str(digest) for (digest,) in found}

    def _pairs(
        self, what: str, table: str, column: str, among: Sequence[str]
    ) -> set[tuple[str, str]]:
        condition, params = self._database.among(column, list(among))
        found = self._database.rows(f"SELECT {what} FROM {table} WHERE {condition}", **params)
        return {(str(digest), str(id_)) for digest, id_ in found if digest is not None}

    # What was erased, for copies of this database that are older

    def erased(self) -> Iterator[tuple[str, set[str]]]:
        """Every record of which anything was erased, with the kinds, by id."""
        after = ""
        while found := self._database.rows(
            "SELECT id FROM records WHERE rest = :rest AND id > :after ORDER BY id LIMIT :limit",
            rest=ERASED_REST,
            after=after,
            limit=ERASED_AT_ONCE,
        ):
            ids = [str(record_id) for (record_id,) in found]
            condition, params = self._database.among("record_id", ids)
            kinds: dict[str, set[str]] = {each: set() for each in ids}
            for record_id, metadata in self._database.rows(
                f"SELECT record_id, metadata FROM transitions WHERE {condition} AND trigger = :trigger",
                trigger=RECORD_ERASED,
                **params,
            ):
                named = _decode(str(metadata)).get(
                    "kinds"
                )  # a later erasure may have taken the words of this one
                kinds[str(record_id)] |= set(map(str, named)) if isinstance(named, list) else set()
            yield from kinds.items()
            after = ids[-1]

    def not_erased(self, record_ids: Sequence[str]) -> list[str]:
        """Those of these records that are here, and nothing of them was erased."""
        condition, params = self._database.among("id", list(record_ids))
        found = self._database.rows(
            f"SELECT id FROM records WHERE {condition} AND coalesce(rest, '') <> :rest ORDER BY id",
            rest=ERASED_REST,
            **params,
        )
        return [str(record_id) for (record_id,) in found]

    # What is old

    def moved_at(self, record_ids: Sequence[str]) -> dict[str, Micros]:
        """When the last transition of each of these records was made."""
        condition, params = self._database.among("record_id", list(record_ids))
        found = self._database.rows(
            f"SELECT record_id, max(at) FROM transitions WHERE {condition} GROUP BY record_id",
            **params,
        )
        return {str(record_id): int(at or 0) for record_id, at in found}

    def old(
        self,
        *,
        machine: str,
        status: str,
        before: Micros,
        kinds: Collection[str],
        after: str,
        limit: int,
    ) -> list[str]:
        """Records in a status since before that moment that still hold any of these kinds, by id, from one on."""
        holding = " OR ".join(_HOLDING[kind] for kind in kinds)
        found = self._database.rows(
            "SELECT id FROM records r WHERE machine = :machine AND status = :status AND id > :after"
            " AND entered_at < :before AND waiting IS NULL AND due_at IS NULL AND worker IS NULL"
            f" AND ({holding}) AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.record_id = r.id)"
            " ORDER BY id LIMIT :limit",
            machine=machine,
            status=status,
            after=after,
            before=before,
            limit=limit,
        )
        return [str(record_id) for (record_id,) in found]

    # Holds

    def hold(self, hold: Hold) -> bool:
        """Forbid to delete anything of a record; False if it is held already."""
        (is_new,) = self._database.insert_new(HOLDS, [msgspec.structs.astuple(hold)])
        return is_new

    def release(self, record_id: str) -> bool:
        """Allow it again; whether it was held."""
        (was_held,) = self._database.delete(HOLDS, [(record_id,)])
        return was_held

    def holds(self, record_ids: Sequence[str] | None = None) -> dict[str, Hold]:
        condition, params = (
            ("TRUE", {})
            if record_ids is None
            else self._database.among("record_id", list(record_ids))
        )
        found = self._database.rows(
            f"SELECT record_id, at, actor, reason FROM holds WHERE {condition} ORDER BY record_id",
            **params,
        )
        return {
            str(record_id): Hold(
                record_id=str(record_id), at=int(at or 0), actor=str(actor), reason=str(reason)
            )
            for record_id, at, actor, reason in found
        }


def _erased_text(metadata: str, salt: str | None) -> str:
    return _encode({ERASED: commitment(_decode(metadata), salt)}).decode()
