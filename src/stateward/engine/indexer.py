"""The indexer: follows the history and puts the text of completed stages into the full-text index.

It reads what was committed, in the order of the history, and notes how far it came in the transaction that writes the
text. So it loses nothing when the process is killed, indexes nothing twice, and any number of coordinators may run one.
A large output is indexed in several steps. While there is other work it takes a small share of the time
(`BUSY_SHARE`); what is left is indexed when there is none.

It changes no record, and nothing waits for it but searches.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from itertools import count

import msgspec
from msgspec.structs import replace

from stateward.core.machine import SOURCE_TYPE
from stateward.core.model import Fields, Json
from stateward.core.text_search import TYPE, passages, tag
from stateward.definition.display import SearchableText, Where, cell_text
from stateward.engine.ranked_indexer import RankedIndexer
from stateward.storage.full_text import (
    FullTextIndex,
    IndexCursor,
    IndexedTransition,
    Passage,
)
from stateward.storage.outputs import Outputs, items_in

TRANSITIONS_MAX = 200
PASSAGES_MAX = 500  # of a step, about: a transaction of some milliseconds
CHUNKS_MAX = 4  # that are read at once, each up to 256 KiB of items
AHEAD_MAX = 16  # outputs of which so many are read at once
BUSY_SHARE = 0.05
# A step has a cost of its own, as much as that of four outputs of ten lines: under load one serves what came meanwhile.
PACE_S = 0.2
# How often it looks although no record of a machine with searchable text moved here: other processes write too.
LOOK_EVERY_S = 1.0
FIELD_SEPARATOR = " · "


class Searchable:
    """Which text of which stage people search for, as the pipelines declare it."""

    def __init__(self, declared: Iterable[SearchableText], *, ranked: Iterable[bytes] = ()) -> None:
        self._ranked = sorted(ranked)
        self._by_stage: dict[tuple[str, str], list[SearchableText]] = {}
        for each in declared:
            self._by_stage.setdefault((each.machine, each.stage), []).append(each)
        self.machines = tuple(sorted({machine for machine, _ in self._by_stage}))

    def __bool__(self) -> bool:
        return bool(self._by_stage)

    @property
    def digest(self) -> str:
        """Changes when pipelines declare something else."""
        document = sorted(
            msgspec.json.encode(each) for known in self._by_stage.values() for each in known
        )
        return blake2b(b"\n".join([*document, *self._ranked]), digest_size=12).hexdigest()

    def of(self, output: IndexedTransition) -> list[SearchableText]:
        """What is declared for an output; a declaration for its source type goes before one for all."""
        known = self._by_stage.get((output.machine, output.stage), [])
        source_type = output.labels.get(SOURCE_TYPE)
        own = [each for each in known if source_type in each.source_types]
        return own or [each for each in known if not each.source_types]


class Indexer:
    """Indexes what is new, a step at a time."""

    def __init__(
        self,
        searchable: Searchable,
        *,
        index: FullTextIndex,
        outputs: Outputs,
        ticks: Callable[[], float],
        ranked: RankedIndexer | None = None,
    ) -> None:
        self._searchable = searchable
        self._ranked = ranked
        self._index = index
        self._outputs = outputs
        self._ticks = ticks
        self._pace_at = 0.0
        self._look_at = 0.0
        self._is_told = False
        self._is_caught_up = False
        self._is_at_end = False  # of the log as it was when the last step began
        self._done = -1  # the last transition that is known to be indexed

    # For the loop that drives it

    def step(
        self,
        *,
        is_busy: bool,
        is_waited_for: bool = True,
        changed: AbstractSet[str] | None = None,
    ) -> bool:
        """Index some of what is new; whether there was anything.

        `changed` are the machines whose records moved since the last step, if that is known: where none of them has
        searchable text, the database is asked once in LOOK_EVERY_S only.

        While others are busy it holds itself back. It also does so when it has caught up and nothing waits for it: then
        one commit serves the records of a moment, and not each of them.
        """
        begun = self._ticks()
        self._is_told |= changed is None or not changed.isdisjoint(self._searchable.machines)
        if not self._is_told and begun < self._look_at:
            return False
        is_patient = is_busy or (self._is_caught_up and not is_waited_for)
        if is_patient and begun < self._pace_at:
            return False
        is_new = self._index.last_transition() != self._done and self._index_some()
        self._is_told = is_new and not self._is_at_end  # there is more
        self._is_caught_up = not self._is_told
        self._look_at = begun + LOOK_EVERY_S
        self._pace_at = begun + max(PACE_S, (self._ticks() - begun) / BUSY_SHARE)
        return is_new

    @property
    def wakes_in(self) -> float:
        """Seconds until the next step, if there is something new; else the loop need not wake for it."""
        return max(0.0, self._pace_at - self._ticks()) if self._is_told else math.inf

    def is_done(self) -> bool:
        """Whether everything that was committed is indexed; if not, the next step does some of it."""
        cursor = self._index.cursor()
        is_done = not cursor.record_id and cursor.seq >= self._index.last_transition()
        self._is_told |= not is_done
        return is_done

    # One step

    def _index_some(self) -> bool:
        self._is_at_end = False
        with self._index.transaction():
            cursor = self._index.lock()
            if cursor is None:  # another process indexes
                return False
            after = self._continue(cursor) if cursor.record_id else self._follow(cursor)
            if after == cursor:
                self._done = cursor.seq
                return False
            self._index.move(after)
        # Only now that it is committed. Otherwise the next step would look for what is left in another transaction.
        if not after.record_id:
            self._done = after.seq
        return True

    def _follow(self, cursor: IndexCursor) -> IndexCursor:
        """Index the outputs of the next transitions, until there is enough for one step."""
        if not cursor.declared:
            cursor = replace(cursor, declared=self._searchable.digest)
        last = self._index.last_transition()
        fresh = self._index.transitions(
            self._searchable.machines, after=cursor.seq, until=last, limit=TRANSITIONS_MAX
        )
        found: list[Passage] = []
        begun: set[tuple[str, str]] = set()
        whole: list[tuple[str, IndexCursor]] = []
        ahead = ReadAhead(self._outputs, [each for each in fresh if self._has_text(each)])
        for each in fresh:
            cursor = replace(cursor, seq=each.seq)
            if (
                each.stage
                and self._ranked is not None
                and self._ranked.has_vectors(each.machine, each.stage)
            ):
                whole.append((each.machine, self._cursor_at(each, cursor)))
                continue
            if not self._has_text(each):
                continue
            own = (each.record_id, each.stage)
            if (
                own in begun
            ):  # its stage ran twice, and the second output takes the place of the first
                found = [other for other in found if (other.record_id, other.stage) != own]
            begun.add(own)
            version, chunks = ahead.take(each)
            start = _cursor_of(each, cursor, version)
            part, cursor = self._read(each, start, chunks)
            found += part
            if cursor.record_id:
                break
            whole.append((each.machine, start))
            if len(found) >= PASSAGES_MAX:
                break
        else:
            if len(fresh) < TRANSITIONS_MAX:  # up to the last one there is nothing else to index
                cursor = replace(cursor, seq=max(cursor.seq, last))
                self._is_at_end = True
        self._index.remove_all(begun)
        self._index.add(found)
        self._rank(whole)
        return cursor

    def _has_text(self, transition: IndexedTransition) -> bool:
        """Whether a transition applied an output whose text people search for."""
        if not transition.stage or not self._searchable.of(transition):
            return False
        return self._ranked is None or not self._ranked.has_vectors(
            transition.machine, transition.stage
        )

    def _begin(self, output: IndexedTransition, cursor: IndexCursor) -> IndexCursor:
        self._index.remove(output.record_id, output.stage)
        return self._cursor_at(output, cursor)

    def _cursor_at(self, output: IndexedTransition, cursor: IndexCursor) -> IndexCursor:
        """The cursor at the beginning of an output, in its newest edition."""
        version = self._outputs.newest_edition(
            output.record_id, stage=output.stage, made=output.version
        )
        return _cursor_of(output, cursor, version)

    def _continue(self, cursor: IndexCursor) -> IndexCursor:
        output = self._index.output(cursor.record_id, cursor.version, cursor.stage)
        if output is None:
            return _end_cursor(cursor)
        found, after = self._read(output, cursor)
        self._index.add(found)
        if not after.record_id:
            self._rank([(output.machine, cursor)])
        return after

    def _rank(self, outputs: Sequence[tuple[str, IndexCursor]]) -> None:
        """Add outputs that are indexed wholly to the ranked index."""
        if self._ranked is not None:
            self._ranked.add(outputs)

    def _read(
        self,
        output: IndexedTransition,
        cursor: IndexCursor,
        chunks: Sequence[Sequence[Fields]] | None = None,
    ) -> tuple[list[Passage], IndexCursor]:
        """The passages of the next chunks of an output, enough for one step, and where they end.

        `chunks` are those from the cursor on, CHUNKS_MAX at most, where they were read already.
        """
        if chunks is None:
            chunks = self._outputs.some_chunks(
                cursor.record_id, cursor.version, start=cursor.chunk, limit=CHUNKS_MAX
            )
        declared, tags = self._searchable.of(output), tags_of(output)
        found: list[Passage] = []
        number = cursor.item
        for chunk, items in enumerate(chunks, cursor.chunk + 1):
            for item in items:
                found += _passages(output, declared, item, number, tags)
                number += 1
            if len(found) >= PASSAGES_MAX:
                return found, replace(cursor, chunk=chunk, item=number)
        if len(chunks) < CHUNKS_MAX:
            return found, _end_cursor(cursor)
        return found, replace(cursor, chunk=cursor.chunk + CHUNKS_MAX, item=number)

    # By command

    def replace(self, output: IndexedTransition) -> None:
        """Index one output again, at once: its items were made anew without a transition."""
        has_vectors = self._ranked is not None and self._ranked.has_vectors(
            output.machine, output.stage
        )
        if not has_vectors and not self._searchable.of(output):
            return
        with self._index.transaction():
            self._index.lock(is_patient=True)
            if has_vectors:
                self._rank([(output.machine, self._cursor_at(output, IndexCursor(seq=0)))])
                return
            begun = cursor = self._begin(output, IndexCursor(seq=0))
            while cursor.record_id:
                found, cursor = self._read(output, cursor)
                self._index.add(found)
            self._rank([(output.machine, begun)])

    def clear(self) -> Iterator[int]:
        """Empty the index and begin with the first transition again; gives how many passages went, step by step."""
        for _ in count():
            with self._index.transaction():
                cleared = self._index.clear_some() or (
                    0 if self._ranked is None else self._ranked.clear_some()
                )
            if not cleared:
                break
            yield cleared
        self._index.move(IndexCursor(seq=0, declared=self._searchable.digest))
        self._done = -1

    def is_declared_alike(self) -> bool:
        """Whether the index holds what pipelines declare now; one that was never begun does."""
        return self._index.cursor().declared in ("", self._searchable.digest)


class ReadAhead:
    """Outputs with what is read of them first, several in one query: a query for each took longer than all else.

    They are taken in their order; some may be passed over.
    """

    def __init__(self, outputs: Outputs, wanted: Sequence[IndexedTransition]) -> None:
        self._outputs = outputs
        self._left = deque(wanted)
        self._editions: dict[tuple[str, str, int], int] = {}
        # As text, which takes a third of what its items take: large outputs may follow each other.
        self._chunks: dict[int, list[str]] = {}

    def take(self, output: IndexedTransition) -> tuple[int, Sequence[Sequence[Fields]] | None]:
        """The version of its newest edition, and its first chunks, CHUNKS_MAX at most; None if they are to be read."""
        if output.seq not in self._chunks:
            self._read_more(output)
        version = self._editions.get((output.record_id, output.stage, output.version))
        chunks = self._chunks.pop(output.seq)
        if version is not None:
            return version, None
        return output.version, [items_in(chunk) for chunk in chunks]

    def _read_more(self, output: IndexedTransition) -> None:
        while self._left and self._left[0].seq < output.seq:
            self._left.popleft()
        some = [self._left.popleft() for _ in range(min(len(self._left), AHEAD_MAX))]
        seqs = [each.seq for each in some]
        self._editions = self._outputs.newest_editions(sorted({each.record_id for each in some}))
        found = self._outputs.first_chunks(seqs, limit=CHUNKS_MAX)
        self._chunks = {seq: found.get(seq, []) for seq in seqs}


def tags_of(output: IndexedTransition) -> tuple[str, ...]:
    """What a record is, as words: its machine and its labels, which never change."""
    return (
        tag("machine", output.machine),
        *(tag(f"meta.{name}", label_text(value)) for name, value in output.labels.items()),
    )


def label_text(value: Json) -> str:
    """A label as a query writes it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cursor_of(output: IndexedTransition, cursor: IndexCursor, version: int) -> IndexCursor:
    return replace(
        cursor,
        record_id=output.record_id,
        stage=output.stage,
        version=version,
        chunk=0,
        item=0,
    )


def _end_cursor(cursor: IndexCursor) -> IndexCursor:
    return IndexCursor(seq=cursor.seq, declared=cursor.declared)


def _passages(
    output: IndexedTransition,
    declared: Sequence[SearchableText],
    item: Fields,
    number: int,
    tags: tuple[str, ...],
) -> Iterator[Passage]:
    for each in declared:
        text = _join(_text(item.get(name)) for name in each.fields)
        where = Where.read(item.get(each.where))
        type_ = item.get(each.type) if each.type else None
        own = (*tags, tag(TYPE, type_)) if isinstance(type_, str) else tags
        for start, piece in passages(text) if text else ():
            place = _place_within(where, start, whole=len(text))
            yield Passage(
                record_id=output.record_id,
                stage=output.stage,
                item=number,
                title=each.title,
                place="" if place is None else msgspec.json.encode(place).decode(),
                text=piece,
                tags=own,
            )


def _join(texts: Iterable[str]) -> str:
    """The texts of several fields as one; what another one says already is left out."""
    found: list[str] = []
    for text in texts:
        if text and not any(text.casefold() in each.casefold() for each in found):
            found.append(text)
    return FIELD_SEPARATOR.join(found)


def _text(value: Json) -> str:
    """A value as text that every database can store."""
    text = cell_text(value).replace("\x00", " ").strip()
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _place_within(where: Where | None, start: int, *, whole: int) -> Where | None:
    """The place of a piece of an item's text, where that is the same text as in the document."""
    if where is None or where.start is None or where.end is None or not start:
        return where
    is_same = where.end - where.start == whole
    return replace(where, start=where.start + start) if is_same else where
