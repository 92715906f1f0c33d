"""The index of a delta: where the lines of a document stand, as sorted tables of (hash of the id, offset).

    delta-2025-10-04.jsonl.idx  =  table … table footer  table footer  …      appended to, never rewritten

A table has one entry for *every* line of a stretch of the delta, so two ids with one hash hide nothing: a look-up
reads the candidates, newest first, and compares the ids. Entries are sorted and cut into pages of 1024; a page is 1024
hashes, then 1024 offsets. Before the pages stand the first hash and the CRC-32 of each page, and the CRC-32 in the
head of the table covers those two lists. A look-up is two bisections in C over the memory map and touches one page,
whose checksum is verified the first time.

    u64 magic, entries, pages, filter words, crc | filter | u64 first hash x pages | u64 crc x pages | pages

The filter (of tables with more than one page) is a Bloom filter with one hash function and at least 16 bits an entry:
for an id that is not in the table it says so 15 times in 16 or better, and most tables do not have most ids.

A footer is JSON: how many bytes of the delta are covered, the head of the chain and the summary there, and which tables
are current; then u64 length, crc, magic. Every `INDEX_EVERY_LINES` lines the unindexed tail of the delta becomes a
table; sixteen tables of a size are merged into one of the next, as in a log-structured merge tree, so a line is
rewritten a few times and not once per table. Merged tables stay in the file until the delta is archived.

All of this is derived: a file that is missing, cut, stale or of another byte order is not used, and the delta is
read instead. So nothing here is ever synced, and nothing here is trusted without its checksum. Numbers are in the
byte order of the machine, because `array` and `memoryview.cast` are; the magic number tells a foreign one.
"""

import mmap
import struct
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import add
from pathlib import Path

import msgspec

from stateward.ledger.chain import head_of
from stateward.ledger.disk import map_file
from stateward.ledger.record import LedgerLine, quoted_id_of
from stateward.ledger.summary import Summary

PAGE_ENTRIES = 1024
LEVEL_BITS = 4
"""Tables whose sizes have the same number of bits, divided by 4, are of one level: 16 of them are merged."""
MERGE_ENTRIES_MAX = 1 << 15
"""A larger merge would hold up an append for too long; the next compaction makes the tables needless anyway."""
FOOTERS_TRIED_MAX = 64
INDEX_SUFFIX = ".idx"
_MAGIC = int.from_bytes(b"SWTABL01", sys.byteorder)
_FOOT_MAGIC = b"SWFOOT01"
_TRAILER = struct.Struct("=QQ8s")
_HEAD_WORDS = 5
FILTER_BITS = 16
SHARED_FILTER_BYTES = 1 << 21
SHARED_FILTER_MASK = SHARED_FILTER_BYTES - 1
"""The filter over all tables that this process made spends a byte on a bit: it is written for every line, and setting
a byte is cheaper in Python than setting a bit."""


class IndexDamaged(Exception):
    """A page of the index is not as it was written; the delta must be read instead."""


class IndexFooter(msgspec.Struct, kw_only=True):
    """How far the index reaches, and the state of the log there."""

    covered: int
    seq: int
    chain: str
    salt: str
    summary: Summary
    tables: list[tuple[int, int]]
    """(offset in the file, bytes), oldest first."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(IndexFooter).decode


def key_hash(key: bytes, salt: bytes) -> int:
    """64 bits that stand for a quoted id; the salt keeps strangers from choosing ids that collide."""
    return int.from_bytes(key_hash_bytes(key, salt), "big")


def key_hash_bytes(key: bytes, salt: bytes) -> bytes:
    """The same, big-endian: with the eight bytes of an offset behind them, bytes sort as (hash, offset) do."""
    return sha256(salt + key).digest()[:8]


class IndexTable:
    """One table, in memory or in a memory map."""

    def __init__(self, words: memoryview, *, start: int = 0) -> None:
        """`words` is the file as u64; the table starts at word `start`. Raises `IndexDamaged`."""
        self._words = words
        magic, self.entries, pages, filter_words, crc = words[start : start + _HEAD_WORDS]
        self._directory = start + _HEAD_WORDS + filter_words
        self._crcs = self._directory + pages
        self._pages = self._crcs + pages
        self.end = self._pages + 2 * self.entries
        if magic != _MAGIC or self.end > len(words) or pages != -(-self.entries // PAGE_ENTRIES):
            raise IndexDamaged
        lists = words[start + _HEAD_WORDS : self._pages]
        # The filter is masked, so its size must be a power of two.
        is_masked = filter_words & (filter_words - 1) == 0
        if zlib.crc32(lists, self.entries & 0xFFFFFFFF) != crc or not is_masked:
            raise IndexDamaged
        self._filter = lists[:filter_words].cast("B")
        self._filter_mask = len(self._filter) - 1
        self._checked = bytearray(pages)

    def find(self, hashed: int) -> Iterator[int]:
        """The offsets of the lines whose ids have this hash, newest first; ask `may_hold` before."""
        words = self._words
        page = bisect_right(words, hashed, self._directory, self._crcs) - self._directory - 1
        while page >= 0:
            low, count = self._page(page)
            at = bisect_right(words, hashed, low, low + count) - 1
            while at >= low and words[at] == hashed:
                yield words[at + count]
                at -= 1
            if at >= low:
                return
            page -= 1  # the same hash may continue at the end of the page before

    def may_hold(self, hashed: int) -> bool:
        """False if no line has this hash; a table of one page has no filter and may hold any."""
        mask = self._filter_mask
        return mask < 0 or bool(self._filter[hashed >> 3 & mask] >> (hashed & 7) & 1)

    def pairs(self) -> bytes:
        """Every entry as 16 bytes that sort as (hash, offset) do, checked."""
        mixed = array("Q", bytes(16 * self.entries))
        for page in range(len(self._checked)):
            low, count = self._page(page)
            first, end = page * PAGE_ENTRIES * 2, page * PAGE_ENTRIES * 2 + 2 * count
            mixed[first:end:2] = array("Q", self._words[low : low + count])
            mixed[first + 1 : end : 2] = array("Q", self._words[low + count : low + 2 * count])
        return _big_endian(mixed).tobytes()

    def _page(self, page: int) -> tuple[int, int]:
        low = self._pages + 2 * PAGE_ENTRIES * page
        count = min(PAGE_ENTRIES, self.entries - page * PAGE_ENTRIES)
        if not self._checked[page]:
            if zlib.crc32(self._words[low : low + 2 * count]) != self._words[self._crcs + page]:
                raise IndexDamaged
            self._checked[page] = 1
        return low, count


def table_bytes(hashes: "array[int]", offsets: "array[int]", shared: bytearray) -> bytes:
    """A table of these entries, sorted by hash and offset; the hashes are also set in the `shared` filter."""
    pages = [
        (hashes[at : at + PAGE_ENTRIES] + offsets[at : at + PAGE_ENTRIES]).tobytes()
        for at in range(0, len(hashes), PAGE_ENTRIES)
    ]
    for hashed in hashes:
        shared[hashed & SHARED_FILTER_MASK] = 1
    bits = bytearray()
    if len(pages) > 1:
        bits = bytearray(1 << (len(hashes) * FILTER_BITS // 8 - 1).bit_length())
        mask = len(bits) - 1
        for hashed in hashes:
            bits[hashed >> 3 & mask] |= 1 << (hashed & 7)
    lists = bits + (hashes[::PAGE_ENTRIES] + array("Q", map(zlib.crc32, pages))).tobytes()
    # The CRC starts from the number of entries, so that the head is covered too.
    crc = zlib.crc32(lists, len(hashes))
    head = array("Q", [_MAGIC, len(hashes), len(pages), len(bits) // 8, crc]).tobytes()
    return b"".join((head, lists, *pages))


def _big_endian(words: "array[int]") -> "array[int]":
    """The same array, its words turned from the machine's byte order to big-endian or back."""
    if sys.byteorder == "little":
        words.byteswap()
    return words


class DeltaIndex:
    """The tables of one delta, oldest first, and where each stands in the file.

    The first `_loaded` tables were read from the file and have only their own filters; those that were made since share
    one. `is_torn`: the file has a bad end.
    """

    def __init__(self) -> None:
        self.tables: list[IndexTable] = []
        self.positions: list[tuple[int, int]] = []
        self.file_size = 0
        self.is_torn = False
        self._loaded = 0
        self._shared_filter = bytearray()
        self._map: mmap.mmap | None = None

    @classmethod
    def load(cls, path: Path, *, salt: str | None) -> "tuple[DeltaIndex, IndexFooter] | None":
        """What a file holds, up to its last intact footer; None if it is of no use."""
        mapped = map_file(path, bytes_min=_TRAILER.size)
        found = None if mapped is None else _last_footer(mapped)
        if mapped is None or found is None or (salt is not None and found[0].salt != salt):
            return None
        footer, end = found
        index = cls()
        index._map = mapped
        words = memoryview(mapped)[: end // 8 * 8].cast("Q")
        try:
            index.tables = [IndexTable(words, start=offset // 8) for offset, _ in footer.tables]
        except (IndexDamaged, ValueError):
            return None
        index.positions = list(footer.tables)
        index._loaded = len(index.tables)
        index.file_size, index.is_torn = end, end != len(mapped)
        return index, footer

    def find(self, hashed: int) -> Iterator[int]:
        """The offsets of all lines with this hash, newest first."""
        tables, loaded = self.tables, self._loaded
        is_new = len(tables) > loaded and self._shared_filter[hashed & SHARED_FILTER_MASK]
        for table in reversed(tables if is_new else tables[:loaded]):
            if table.may_hold(hashed):
                yield from table.find(hashed)

    def add(
        self, hashes: Sequence[bytes], offsets: Sequence[int], footer: IndexFooter, *, is_kept: bool
    ) -> bytes:
        """Add the entries of newer lines; the bytes to append to the file, if the index is kept in one."""
        tables, positions = list(self.tables), list(self.positions)
        pairs: list[bytes] = []
        entries = len(hashes)
        while len(run := _mergeable(tables, entries)) >= (1 << LEVEL_BITS) - 1:
            if entries + sum(table.entries for table in run) > MERGE_ENTRIES_MAX:
                break
            for table in run:
                pairs += _pairs_of(table)
                entries += table.entries
            del tables[-len(run) :], positions[-len(run) :]
        if pairs:
            pairs += map(add, hashes, (offset.to_bytes(8, "big") for offset in offsets))
            mixed = _big_endian(array("Q", b"".join(sorted(pairs))))
            columns = mixed[0::2], mixed[1::2]
        else:
            # Offsets come in rising, and a stable sort leaves them so where hashes are equal.
            order = sorted(range(len(hashes)), key=hashes.__getitem__)
            sorted_hashes = array("Q", b"".join(map(hashes.__getitem__, order)))
            columns = _big_endian(sorted_hashes), array("Q", map(offsets.__getitem__, order))
        self._shared_filter = self._shared_filter or bytearray(SHARED_FILTER_BYTES)
        data = table_bytes(*columns, self._shared_filter)
        self._loaded = min(self._loaded, len(tables))
        tables.append(IndexTable(memoryview(data).cast("Q")))
        positions.append((self.file_size if is_kept else -1, len(data)))
        self.tables, self.positions = tables, positions
        if not is_kept:
            return b""
        footer.tables = positions
        text = _encode(footer)
        text += b" " * (-len(text) % 8)  # tables are read as u64, so all is aligned to 8 bytes
        written = data + text + _TRAILER.pack(len(text), zlib.crc32(text), _FOOT_MAGIC)
        self.file_size += len(written)
        return written


class IndexCheck:
    """Whether the index beside a delta has exactly its lines: one that leaves a line out shows an older state.

    A checksum finds damage, not a table or totals that someone made anew with it. Entries and lines are compared by a
    sum of hashes, which does not depend on their order, so that no delta has to be in memory; totals are counted again.
    """

    def __init__(self, path: Path, *, salt: str) -> None:
        self._loaded = DeltaIndex.load(path, salt=salt)
        self._covered = self._loaded[1].covered if self._loaded else 0
        self._salt, self._lines, self._chain = salt.encode(), 0, ""
        self._seq, self._summary = 0, Summary()

    def add(self, lines: Sequence[bytes], decoded: Sequence[LedgerLine], *, byte: int) -> None:
        """Take note of the next lines of the delta; the first of them begins at this byte.

        None are `decoded` if one cannot be: that is a finding of its own.
        """
        count = 0
        for line in lines:
            if byte >= self._covered:
                break
            key = key_hash_bytes(quoted_id_of(line), self._salt)
            self._lines += _number_of(key + byte.to_bytes(8, "big"))
            byte += len(line)
            count += 1
            if byte == self._covered:
                self._chain = head_of(line).decode()
        if counted := decoded[:count]:
            self._summary.add(counted)
            self._seq = counted[-1].seq

    @property
    def _is_used(self) -> bool:
        """An index of other content is not."""
        return self._loaded is not None and self._loaded[1].chain == self._chain

    @property
    def is_other(self) -> bool:
        """Whether look-ups would use it, and it does not have the lines that there are."""
        if self._loaded is None or not self._is_used:
            return False
        try:
            pairs = [each for table in self._loaded[0].tables for each in _pairs_of(table)]
        except IndexDamaged:
            return False  # the delta is read instead
        return (sum(map(_number_of, pairs)) - self._lines) % (1 << 256) != 0

    @property
    def counts_otherwise(self) -> bool:
        """Whether its totals, of which `stats` and a mirror that goes on make use, are not those of the lines."""
        if self._loaded is None or not self._is_used:
            return False
        footer = self._loaded[1]
        return footer.seq != self._seq or not footer.summary.is_same(self._summary)


def _pairs_of(table: IndexTable) -> Sequence[bytes]:
    return struct.unpack("16s" * table.entries, table.pairs())


def _number_of(pair: bytes) -> int:
    return int.from_bytes(sha256(pair).digest(), "big")


def _mergeable(tables: list[IndexTable], entries: int) -> list[IndexTable]:
    """The newest tables that are of the level of a table with so many entries, or below."""
    level = (entries.bit_length() - 1) // LEVEL_BITS
    run: list[IndexTable] = []
    for table in reversed(tables):
        if (table.entries.bit_length() - 1) // LEVEL_BITS > level:
            break
        run.append(table)
    return run


def _last_footer(mapped: mmap.mmap) -> tuple[IndexFooter, int] | None:
    """The last intact footer and where it ends; a crash may have left half a table behind it."""
    end = len(mapped)
    for _ in range(FOOTERS_TRIED_MAX):
        at = mapped.rfind(_FOOT_MAGIC, 0, end)
        if at < 16:
            return None
        length, crc, _magic = _TRAILER.unpack_from(mapped, at - 16)
        text = mapped[max(0, at - 16 - length) : at - 16]
        if at % 8 == 0 and len(text) == length and zlib.crc32(text) == crc:
            try:
                return _decode(text), at + 8
            except msgspec.DecodeError:
                return None
        end = at
    return None
