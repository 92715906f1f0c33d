"""The documents at one place of the log: one snapshot, or a small one above the large one that it was made on.

A compaction that copied every document for the sake of a few would cost as much as the ledger is large. So it writes
a snapshot of what has changed since the one below, and nothing else, until that would be an eighth of it; then all
documents are written into one again. Copying the upper one and now and then all cost least together about there, if
one document in a hundred changes from one compaction to the next. There are never more than two layers: each one
that does not have a document makes a look-up longer, as "not there" has to be checked too. A process that looks up many
documents therefore makes a filter of the ids of the upper layer, once that costs less than the look-ups did.

Documents are never deleted, so the upper layer hides lines of the lower one and takes none away. Each layer has its own
checksum, and the upper one's covers the root of the lower one: the root of the upper one stands for all documents.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from stateward.ledger.disk import Disk
from stateward.ledger.record import encode_json
from stateward.ledger.snapshot import SEPARATOR, Header, LayerBelow, Snapshot

LAYER_BYTES_MIN = 4 << 20
"""A smaller snapshot is written anew each time: that takes milliseconds, and one file is simpler than two."""
LAYER_SHARE = 8
"""The upper layer is at most this part of the lower one."""
LINES_AT_ONCE = 1024
"""Merged changes are handed on in groups: a call for each line would cost more than the line."""
LOOK_UP_BYTES = 1024
"""Reading through so much of the upper layer costs as much as finding that it does not have a document."""
FILTER_SHARE = 32
"""The upper layer is so many times as large as the filter of its ids, or fewer; a line is 100 bytes or more."""

SnapshotLines = Iterator[tuple[bytes, bytes]]
"""(quoted id, what is kept) of documents, sorted by id."""


class Layers:
    """A snapshot that is open for look-ups, with the one below it if it has one."""

    def __init__(self, top: Snapshot, below: Snapshot | None = None) -> None:
        self.top = top
        self.below = below
        self.header: Header = top.header
        self._misses = 0
        self._filter: bytearray | None = None

    @property
    def bottom(self) -> Snapshot:
        """The layer that holds most documents."""
        return self.below or self.top

    @property
    def paths(self) -> list[Path]:
        """The files, as they are open."""
        return [each.path for each in (self.top, self.below) if each is not None]

    def layer_below_next(self, changed: int) -> LayerBelow | None:
        """What the next snapshot, in which so many documents are new or changed, stands on; None: on nothing."""
        bottom = self.bottom
        bytes_each = bottom.size // max(bottom.header.document_count, 1)
        upper = changed * bytes_each + (self.top.size if self.below else 0)
        if bottom.size < LAYER_BYTES_MIN or upper * LAYER_SHARE > bottom.size:
            return None
        return LayerBelow(bottom.path.name, bottom.checksum.root)

    def get(self, key: bytes) -> bytes | None:
        """What is kept of the document with this quoted id, as JSON, or None."""
        if self.below is None:
            return self.top.get(key)
        bits = self._filter
        if bits is not None:
            hashed = hash(key)
            if not bits[hashed >> 3 & len(bits) - 1] >> (hashed & 7) & 1:
                return self.below.get(key)
        kept = self.top.get(key)
        if kept is not None:
            return kept
        self._misses += 1
        if bits is None and self._misses * LOOK_UP_BYTES > self.top.size:
            self._filter = self._filter_of_ids()
        return self.below.get(key)

    def _filter_of_ids(self) -> bytearray:
        """A Bloom filter with one hash function; it is wrong about one id in thirty that is not there, or fewer."""
        bits = bytearray(1 << (self.top.size // FILTER_SHARE).bit_length())
        mask = len(bits) - 1
        for key, _ in self.top.lines():
            hashed = hash(key)
            bits[hashed >> 3 & mask] |= 1 << (hashed & 7)
        return bits

    def lines(self) -> SnapshotLines:
        """Every document, checked."""
        if self.below is None:
            return self.top.lines()
        return overlaid(self.below.lines(), self.top.lines())

    def in_state(self, state: str) -> SnapshotLines:
        if self.below is None:
            yield from self.top.in_state(state)
            return
        start = b'{"state":%b,' % encode_json(state)
        for key, kept in overlaid(self.below.in_state(state), self.top.lines()):
            if kept.startswith(start):
                yield key, kept

    def verify(self) -> None:
        """Read all of it against the roots."""
        for layer in (self.top, self.below):
            if layer is not None:
                layer.verify()

    def write_missing_indexes(self, disk: Disk) -> None:
        """Write the indexes that had to be made at opening."""
        for layer in (self.top, self.below):
            if layer is not None and not layer.has_index:
                layer.write_index(disk)


def overlaid(lower: SnapshotLines, upper: SnapshotLines) -> SnapshotLines:
    """Both, in the order of their ids; of a document that both have, the upper line."""
    above = next(upper, None)
    for line in lower:
        while above is not None and above[0] < line[0]:
            yield above
            above = next(upper, None)
        if above is None or above[0] != line[0]:
            yield line
    while above is not None:
        yield above
        above = next(upper, None)


def merge_lines(pieces: Iterator[bytes], changes: SnapshotLines) -> Iterator[bytes]:
    """The lines of a snapshot with some changed and some new ones, in pieces of many.

    Lines that stay are split and joined, never looked at: an id ends in a quote, and no other quote in it stands
    alone, so whole lines sort as their ids do.
    """
    change = next(changes, None)
    for piece in pieces:
        last = piece[piece.rfind(b"\n") + 1 :]
        if change is None or change[0] > last:
            yield piece
            continue
        lines, at = piece.split(SEPARATOR), 0
        while change is not None and change[0] <= last:
            key, kept = change
            at = bisect_left(lines, key, at)
            is_new = not lines[at].startswith(key + b":")
            lines[at : at if is_new else at + 1] = [b"%b:%b" % (key, kept)]
            at += 1
            change = next(changes, None)
        yield SEPARATOR.join(lines)
    while change is not None:
        rest = chain((change,), islice(changes, LINES_AT_ONCE - 1))
        yield SEPARATOR.join([b"%b:%b" % each for each in rest])
        change = next(changes, None)
