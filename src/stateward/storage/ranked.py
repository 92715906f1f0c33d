"""The index of ranked documents: which there are, and their terms in segments (see `core.ranking`).

The indexer adds a segment for what it indexed in one transaction, and joins segments when there are many: newer ones
are small, older ones are large, and no search reads more than some dozens of rows for a term. Segments are never
changed otherwise. A document that is gone or replaced leaves its number in them until the index is made anew; what has
no row in `search_documents` is not found.

A writer holds the lock of the full-text cursor. A reader takes none: joining changes no number and no length, and what
is added after a search began is left out of it.
"""

import sys
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from stateward.core.model import Fields
from stateward.core.ranking import (
    Lengths,
    Ranking,
    Segment,
    TermCounts,
    TermSource,
    segment,
)
from stateward.core.stemming import stem
from stateward.storage.database import Database, Row, Table
from stateward.storage.document_names import DocumentNames

JOINED = 8  # so many segments of about one size are joined
LARGEST = 4096  # documents of a segment that is joined with no other
ROWS_AT_ONCE = 4000
BEGUN_MAX = 20
DELETED_AT_ONCE = 5000

DOCUMENTS = Table(
    "search_documents",
    {
        "machine": "text", "number": "bigint", "record_id": "text", "stage": "text", "title": "text", "facts": "text",
    },
    key=("machine", "number"),
)  # fmt: skip
SEGMENTS = Table(
    "search_segments",
    {"machine": "text", "first": "bigint", "last": "bigint", "lengths": "text"},
    key=("machine", "first"),
)
POSTINGS = Table(
    "search_postings",
    {"machine": "text", "term": "text", "first": "bigint", "count": "bigint", "postings": "text"},
    key=("machine", "term", "first"),
)

_encode_facts = msgspec.json.Encoder(order="deterministic").encode
_decode_facts = msgspec.json.Decoder(Fields).decode


class DocumentToIndex(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a machine: its text by field, and what is shown of it."""

    record_id: str
    stage: str
    title: str
    facts: Fields
    texts: dict[str, str]
    names: tuple[str, ...] = ()


class IndexedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document as the index knows it."""

    number: int
    record_id: str
    stage: str
    title: str
    facts: Fields


class RankedIndex:
    """The ranked documents of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.names = DocumentNames(database)

    # Writing; the caller holds the lock of the cursor

    def add(self, machine: str, documents: Sequence[DocumentToIndex], ranking: Ranking) -> None:
        """Add documents; those that a record had from the same stage are replaced."""
        if not documents:
            return
        newest = {(each.record_id, each.stage): each for each in documents}
        documents = list(newest.values())
        for record_id, stage in newest:
            self.remove(record_id, stage)
        ((last,),) = self._database.rows(
            "SELECT max(last) FROM search_segments WHERE machine = :machine", machine=machine
        )
        first = 0 if last is None else int(last) + 1
        self._database.insert(
            DOCUMENTS,
            [
                (machine, number, each.record_id, each.stage, each.title, _json(each.facts))
                for number, each in enumerate(documents, first)
            ],
        )
        for each in documents:
            self.names.replace(machine, each.record_id, each.stage, each.names)
        made = segment((each.texts for each in documents), ranking, first=first)
        self._write(machine, made)
        self._join(machine)

    def _write(self, machine: str, made: Segment) -> None:
        own = made.lengths
        lengths = _text(own.lengths)
        self._database.insert(SEGMENTS, [(machine, own.first, own.last, lengths)])
        self._database.insert(
            POSTINGS,
            [
                (machine, term, own.first, len(each.numbers), _pack(each))
                for term, each in sorted(made.terms.items())
            ],
        )

    def remove(self, record_id: str, stage: str) -> int:
        """Forget the document that a record has from a stage; how many there were."""
        self.names.remove(record_id, stage)
        return self._database.run(
            "DELETE FROM search_documents WHERE record_id = :record_id AND stage = :stage",
            record_id=record_id,
            stage=stage,
        )

    def forget(self, record_ids: Sequence[str]) -> None:
        """Take documents out of the lists of all terms; a term that only they have is gone with them."""
        condition, params = self._database.among("record_id", list(record_ids))
        found = self._database.rows(
            f"SELECT machine, number FROM search_documents WHERE {condition}", **params
        )
        gone: dict[str, set[int]] = {}
        for machine, number in found:
            gone.setdefault(str(machine), set()).add(int(number or 0))
        for machine, numbers in gone.items():
            for first, last in self._segments(machine):
                own = {number for number in numbers if first <= number <= last}
                if own:
                    self._forget_in(machine, first, own)

    def _forget_in(self, machine: str, first: int, numbers: set[int]) -> None:
        after = ""
        while rows := self._database.rows(
            "SELECT term, postings FROM search_postings WHERE machine = :machine AND first = :first"
            f" AND term > :after ORDER BY term LIMIT {ROWS_AT_ONCE}",
            machine=machine,
            first=first,
            after=after,
        ):
            for term, postings in rows:
                counts = _unpack(str(postings))
                if numbers.isdisjoint(counts.numbers):
                    continue
                self._database.delete(POSTINGS, [(machine, term, first)])
                left = _without(counts, numbers)
                if left.numbers:
                    row = (machine, term, first, len(left.numbers), _pack(left))
                    self._database.insert(POSTINGS, [row])
            after = str(rows[-1][0])

    def clear_some(self) -> int:
        """Delete some rows; 0 when none is left."""
        for table, columns in (
            ("search_postings", "machine, term, first"),
            ("search_segments", "machine, first"),
            ("search_documents", "machine, number"),
            ("search_names", "machine, name, record_id, stage"),
        ):
            cleared = self._database.run(
                f"DELETE FROM {table} WHERE ({columns}) IN"
                f" (SELECT {columns} FROM {table} LIMIT {DELETED_AT_ONCE})"
            )
            if cleared:
                return cleared
        return 0

    # Joining segments

    def _join(self, machine: str) -> None:
        """Join the newest segments if there are many of their size."""
        while newest := joinable(self._segments(machine)):
            first, last = newest[0][0], newest[-1][1]
            joined = array("I")
            for each in self._lengths(machine, first=first):
                joined.extend(each.lengths)
            self._join_postings(machine, first)
            self._database.run(
                "DELETE FROM search_segments WHERE machine = :machine AND first >= :first",
                machine=machine,
                first=first,
            )
            self._database.insert(SEGMENTS, [(machine, first, last, _text(joined))])

    def _segments(self, machine: str) -> list[tuple[int, int]]:
        found = self._database.rows(
            "SELECT first, last FROM search_segments WHERE machine = :machine ORDER BY first",
            machine=machine,
        )
        return [(int(first or 0), int(last or 0)) for first, last in found]

    def _join_postings(self, machine: str, first: int) -> None:
        """In portions, so that the terms of many documents are never in memory at once."""
        after = ""
        while found := self._postings_from(machine, first, after):
            rows = [_join_lists(machine, first, term, parts) for term, parts in found.items()]
            after = max(found)
            self._database.run(
                "DELETE FROM search_postings WHERE machine = :machine AND first >= :first"
                " AND term >= :low AND term <= :high",
                machine=machine,
                first=first,
                low=min(found),
                high=after,
            )
            self._database.insert(POSTINGS, rows)

    def _postings_from(self, machine: str, first: int, after: str) -> dict[str, list[str]]:
        """The lists of the next terms, those of a segment behind those of an older one."""
        rows = self._database.rows(
            "SELECT term, postings FROM search_postings WHERE machine = :machine AND first >= :first"
            f" AND term > :after ORDER BY term, first LIMIT {ROWS_AT_ONCE}",
            machine=machine,
            first=first,
            after=after,
        )
        found: dict[str, list[str]] = {}
        for term, postings in rows:
            found.setdefault(str(term), []).append(str(postings))
        if len(rows) == ROWS_AT_ONCE and len(found) > 1:
            found.popitem()  # there may be more of the last one
        return found

    # Reading

    def source(self, machine: str, terms_of: Callable[[int], Mapping[str, int]]) -> TermSource:
        """The terms of a machine's documents for one search; `terms_of` reads those of one document."""
        lengths = self._lengths(machine)
        last = lengths[-1].last if lengths else -1
        return TermSource(
            lengths=lengths,
            counts=lambda terms: self._counts(machine, terms, last),
            frequencies=lambda terms: self.frequencies(machine, terms),
            terms_of=terms_of,
        )

    def _lengths(self, machine: str, *, first: int = 0) -> list[Lengths]:
        found = self._database.rows(
            "SELECT first, lengths FROM search_segments WHERE machine = :machine AND first >= :first"
            " ORDER BY first",
            machine=machine,
            first=first,
        )
        return [Lengths(int(at or 0), _array(str(lengths))) for at, lengths in found]

    def _counts(self, machine: str, terms: Sequence[str], last: int) -> dict[str, list[TermCounts]]:
        condition, params = self._database.among("term", terms)
        found: dict[str, list[TermCounts]] = {}
        for term, postings in self._database.rows(
            f"SELECT term, postings FROM search_postings WHERE machine = :machine AND {condition}"
            " ORDER BY term, first",
            machine=machine,
            **params,
        ):
            found.setdefault(str(term), []).append(_until(last, _unpack(str(postings))))
        return {term: found[term] for term in terms if term in found}

    def frequencies(self, machine: str, terms: Sequence[str]) -> dict[str, int]:
        """How many documents have each of these terms."""
        condition, params = self._database.among("term", terms)
        found = self._database.rows(
            "SELECT term, sum(count) FROM search_postings"
            f" WHERE machine = :machine AND {condition} GROUP BY term",
            machine=machine,
            **params,
        )
        return {str(term): int(count or 0) for term, count in found}

    def terms_beginning(self, machine: str, prefix: str) -> list[str]:
        """Terms of words that begin so, the most frequent first; not all, if there are many."""
        low = stem(prefix)
        found = self._database.rows(
            "SELECT term, sum(count) FROM search_postings WHERE machine = :machine"
            " AND term >= :low AND term < :high GROUP BY term ORDER BY sum(count) DESC, term"
            f" LIMIT {BEGUN_MAX}",
            machine=machine,
            low=low,
            high=low + chr(0x10FFFF),
        )
        return [str(term) for term, _ in found]

    def documents(
        self,
        machine: str,
        numbers: Collection[int],
        *,
        condition: str = "TRUE",
        params: Mapping[str, object] | None = None,
    ) -> dict[int, IndexedDocument]:
        """Those of these documents that are there; `condition` is over `records`, with its `params`."""
        wanted = ", ".join(str(int(each)) for each in numbers)
        if not wanted:
            return {}
        found = self._documents(machine, f"d.number IN ({wanted})", condition, params or {})
        return {each.number: each for each in found}

    def of_records(
        self,
        machine: str,
        record_ids: Sequence[str],
        *,
        condition: str = "TRUE",
        params: Mapping[str, object] | None = None,
    ) -> dict[str, IndexedDocument]:
        """The documents of these records; `condition` is over `records`, with its `params`."""
        among, given = self._database.among("d.record_id", record_ids)
        found = self._documents(machine, among, condition, {**given, **(params or {})})
        return {each.record_id: each for each in found}

    def _documents(
        self, machine: str, wanted: str, condition: str, params: Mapping[str, object]
    ) -> Iterator[IndexedDocument]:
        found = self._database.rows(
            "SELECT d.number, d.record_id, d.stage, d.title, d.facts FROM search_documents d"
            f" WHERE d.machine = :of_machine AND {wanted}"
            f" AND EXISTS (SELECT 1 FROM records WHERE records.id = d.record_id AND ({condition}))",
            of_machine=machine,
            **params,
        )
        return map(_document, found)

    def count(self) -> int:
        ((count,),) = self._database.rows("SELECT count(*) FROM search_documents")
        return int(count or 0)


def joinable(segments: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """The newest segments (first, last) that are to be joined: at least eight of a size or smaller ones; or none."""
    size = 1
    while size < LARGEST:
        size *= JOINED
        at = len(segments)
        while at and segments[at - 1][1] - segments[at - 1][0] + 1 < size:
            at -= 1
        if len(segments) - at >= JOINED:
            return segments[at:]
    return ()


def _join_lists(machine: str, first: int, term: str, parts: Sequence[str]) -> Row:
    """One list of several; numbers ascend from segment to segment."""
    each = TermCounts(array("I"), array("I"))
    for part in map(_unpack, parts):
        each.numbers.extend(part.numbers)
        each.counts.extend(part.counts)
    return (machine, term, first, len(each.numbers), _pack(each))


def _until(last: int, counts: TermCounts) -> TermCounts:
    """Without documents that were added after the search began: their lengths are not known."""
    if not counts.numbers or counts.numbers[-1] <= last:
        return counts
    end = bisect_right(counts.numbers, last)
    return TermCounts(counts.numbers[:end], counts.counts[:end])


def _without(counts: TermCounts, numbers: set[int]) -> TermCounts:
    stay = [place for place, each in enumerate(counts.numbers) if each not in numbers]
    return TermCounts(
        array("I", (counts.numbers[place] for place in stay)),
        array("I", (counts.counts[place] for place in stay)),
    )


def _document(row: Row) -> IndexedDocument:
    number, record_id, stage, title, facts = row
    return IndexedDocument(
        number=int(number or 0),
        record_id=str(record_id),
        stage=str(stage),
        title=str(title),
        facts=_decode_facts(str(facts)),
    )


def _json(facts: Fields) -> str:
    return _encode_facts(facts).decode()


# Arrays as text: little-endian, so that a database can be read on any machine.


def _text(numbers: "array[int]") -> str:
    if sys.byteorder == "big":
        numbers = array("I", numbers)
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()


def _array(text: str) -> "array[int]":
    numbers = array("I", b64decode(text))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _pack(counts: TermCounts) -> str:
    return _text(counts.numbers + counts.counts)


def _unpack(text: str) -> TermCounts:
    both = _array(text)
    half = len(both) // 2
    return TermCounts(both[:half], both[half:])
