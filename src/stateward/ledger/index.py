"""Where the lines of a document stand in a delta: sorted tables of (hash of the id, offset).

    delta-2025-10-04.jsonl.idx  =  table … table footer  table footer  …      appended, never rewritten

A table holds one entry for *every* line of a stretch of the delta, so two ids with one hash hide nothing:
a look-up reads the candidates, newest first, and compares the ids. Entries are sorted and cut into pages
of 1024; a page is 1024 hashes, then 1024 offsets. Before the pages stand the first hash of each page and
the CRC-32 of each page, and those two lists are covered by the CRC-32 in the table's head. A look-up is
two bisections in C over the memory map and touches one page; its checksum is looked at once.

    u64 magic, entries, pages, sieve words, crc | sieve | u64 first hash x pages | u64 crc x pages | pages

The sieve (of tables of more than one page) is a bit per hash, at least 16 bits an entry: for an id that is not
in the table it nearly always says so at once, and most tables do not have most ids.

A footer is JSON: how many bytes of the delta are covered, the chain and the summary there, and which tables
are the living ones; then u64 length, crc, magic. Every 512 lines the tail of the delta becomes a table;
sixteen tables of a size become one of the next. Old ones stay in the file until it is archived.

All of this is derived: a file that is missing, cut, stale or of another byte order is simply not used, and the
delta is read instead. So nothing here is ever synced, and nothing here is ever trusted without its checksum.
"""

import mmap
import os
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

from stateward.ledger.summary import Summary

PAGE_ENTRIES = 1024
LEVEL_BITS = 4
MERGE_ENTRIES_MAX = 1 << 15
"""A merge of more would hold up an append for too long; the compaction makes tables needless anyway."""
FOOTERS_TRIED_MAX = 64
SUFFIX = ".idx"
_MAGIC = int.from_bytes(b"SWTABL01", sys.byteorder)
_FOOT_MAGIC = b"SWFOOT01"
_TRAILER = struct.Struct("=QQ8s")
_HEAD_WORDS = 5
SIEVE_BITS = 16
WIDE_SIEVE_BYTES = 1 << 21
WIDE_MASK = WIDE_SIEVE_BYTES - 1
"""The sieve over all tables that this process made is one byte a hash, for it is written for every line."""


class IndexDamaged(Exception):
    """A page of the index is not as it was written; the delta must be read instead."""


class Footer(msgspec.Struct, kw_only=True):
    """How far the index reaches, and what the log was like there."""

    covered: int
    seq: int
    chain: str
    salt: str
    summary: Summary
    tables: list[tuple[int, int]]
    """(place in the file, bytes), oldest first."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Footer).decode


def hash_of(key: bytes, salt: bytes) -> int:
    """64 bits that stand for a quoted id; the salt keeps strangers from choosing ids that collide."""
    return int.from_bytes(sha256(salt + key).digest()[:8], "big")


class Table:
    """One table, in memory or in a memory map."""

    def __init__(self, words: memoryview, *, start: int = 0) -> None:
        """`words` is the file as u64; the table starts at word `start`. Raises `IndexDamaged`."""
        self._words = words
        magic, self.entries, pages, sieve, crc = words[start : start + _HEAD_WORDS]
        self._directory = start + _HEAD_WORDS + sieve
        self._crcs = self._directory + pages
        self._pages = self._crcs + pages
        self.end = self._pages + 2 * self.entries
        if magic != _MAGIC or self.end > len(words) or pages != -(-self.entries // PAGE_ENTRIES):
            raise IndexDamaged
        lists = words[start + _HEAD_WORDS : self._pages]
        if zlib.crc32(lists, self.entries & 0xFFFFFFFF) != crc or sieve & (sieve - 1):
            raise IndexDamaged
        self.sieve = lists[:sieve].cast("B")
        self.sieve_mask = len(self.sieve) - 1
        self._checked = bytearray(pages)

    def find(self, hashed: int) -> Iterator[int]:
        """The offsets of the lines whose ids have this hash, newest first; ask `may_hold` first."""
        words = self._words
        page = bisect_right(words, hashed, self._directory, self._crcs) - self._directory - 1
        while page >= 0:
            low, count = self._page(page)
            place = bisect_right(words, hashed, low, low + count) - 1
            while place >= low and words[place] == hashed:
                yield words[place + count]
                place -= 1
            if place >= low:
                return
            page -= 1  # the same hash may go on at the end of the page before

    def may_hold(self, hashed: int) -> bool:
        """Whether the sieve lets the hash through."""
        mask = self.sieve_mask
        return mask < 0 or bool(self.sieve[hashed >> 3 & mask] >> (hashed & 7) & 1)

    def pairs(self) -> bytes:
        """Every entry as 16 bytes that sort as (hash, offset) do, checked."""
        mixed = array("Q", bytes(16 * self.entries))
        for page in range(len(self._checked)):
            low, count = self._page(page)
            first = page * PAGE_ENTRIES * 2
            mixed[first : first + 2 * count : 2] = array("Q", self._words[low : low + count])
            mixed[first + 1 : first + 2 * count : 2] = array(
                "Q", self._words[low + count : low + 2 * count]
            )
        return _big_endian(mixed)

    def _page(self, page: int) -> tuple[int, int]:
        low = self._pages + 2 * PAGE_ENTRIES * page
        count = min(PAGE_ENTRIES, self.entries - page * PAGE_ENTRIES)
        if not self._checked[page]:
            if zlib.crc32(self._words[low : low + 2 * count]) != self._words[self._crcs + page]:
                raise IndexDamaged
            self._checked[page] = 1
        return low, count


def table_bytes(hashes: "array[int]", offsets: "array[int]", wide: bytearray) -> bytes:
    """A table of these entries, sorted by hash and offset; the hashes are noted in the `wide` sieve too."""
    pages = [
        (hashes[at : at + PAGE_ENTRIES] + offsets[at : at + PAGE_ENTRIES]).tobytes()
        for at in range(0, len(hashes), PAGE_ENTRIES)
    ]
    sieve = _sieve(hashes, wide)
    lists = sieve + (hashes[::PAGE_ENTRIES] + array("Q", map(zlib.crc32, pages))).tobytes()
    crc = zlib.crc32(lists, len(hashes))
    head = array("Q", [_MAGIC, len(hashes), len(pages), len(sieve) // 8, crc]).tobytes()
    return b"".join((head, lists, *pages))


def _sorted(hashes: Sequence[bytes], offsets: Sequence[int]) -> "tuple[array[int], array[int]]":
    """Both columns in the order of the hashes; offsets come in rising, and stay so where hashes are equal."""
    order = sorted(range(len(hashes)), key=hashes.__getitem__)
    words = array("Q", b"".join(map(hashes.__getitem__, order)))
    if sys.byteorder == "little":
        words.byteswap()
    return words, array("Q", map(offsets.__getitem__, order))


def _split(pairs: list[bytes]) -> "tuple[array[int], array[int]]":
    """Both columns of these 16-byte entries, sorted."""
    mixed = array("Q", b"".join(sorted(pairs)))
    if sys.byteorder == "little":
        mixed.byteswap()
    return mixed[0::2], mixed[1::2]


def _sieve(hashes: "array[int]", wide: bytearray) -> bytes:
    for hashed in hashes:
        wide[hashed & WIDE_MASK] = 1
    if len(hashes) <= PAGE_ENTRIES:
        return b""
    size = 1 << (len(hashes) * SIEVE_BITS // 8 - 1).bit_length()
    sieve, mask = bytearray(size), size - 1
    for hashed in hashes:
        sieve[hashed >> 3 & mask] |= 1 << (hashed & 7)
    return bytes(sieve)


def short_hash(key: bytes, salt: bytes) -> bytes:
    """The same as bytes; with the eight of an offset behind them, bytes sort as (hash, offset) do."""
    return sha256(salt + key).digest()[:8]


def _big_endian(words: "array[int]") -> bytes:
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


class Index:
    """The tables of one delta, oldest first, and where each stands in the file.

    Those that were made since it was opened share one wide sieve; the first `_read` ones have only their own.
    `is_torn`: the file has a bad end.
    """

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.places: list[tuple[int, int]] = []
        self.file_size = 0
        self.is_torn = False
        self._read = 0
        self._wide = bytearray()
        self._map: mmap.mmap | None = None

    @classmethod
    def load(cls, path: Path, *, salt: str | None) -> "tuple[Index, Footer] | None":
        """What a file holds, up to its last sound footer; None if it is of no use."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            size = os.fstat(fd).st_size
            if size < _TRAILER.size:
                return None
            mapped = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)
        found = _last_footer(mapped)
        if found is None or (salt is not None and found[0].salt != salt):
            return None
        footer, end = found
        index = cls()
        index._map = mapped
        words = memoryview(mapped)[: end // 8 * 8].cast("Q")
        try:
            index.tables = [Table(words, start=place // 8) for place, _ in footer.tables]
        except (IndexDamaged, ValueError):
            return None
        index.places = list(footer.tables)
        index._read = len(index.tables)
        index.file_size, index.is_torn = end, end != size
        return index, footer

    def find(self, hashed: int) -> Iterator[int]:
        """The offsets of all lines with this hash, newest first."""
        tables, read = self.tables, self._read
        is_new = len(tables) > read and self._wide[hashed & WIDE_MASK]
        for table in reversed(tables if is_new else tables[:read]):
            if table.may_hold(hashed):
                yield from table.find(hashed)

    def add(
        self, hashes: Sequence[bytes], offsets: Sequence[int], footer: Footer, *, is_kept: bool
    ) -> bytes:
        """Take in the entries of newer lines; the bytes to append to the file, if it is to be kept."""
        tables, places = list(self.tables), list(self.places)
        pairs: list[bytes] = []
        entries = len(hashes)
        while len(run := _run(tables, entries)) >= (1 << LEVEL_BITS) - 1:
            if entries + sum(table.entries for table in run) > MERGE_ENTRIES_MAX:
                break
            for table in run:
                pairs.extend(each for (each,) in struct.iter_unpack("16s", table.pairs()))
                entries += table.entries
            del tables[-len(run) :], places[-len(run) :]
        if pairs:
            pairs += map(add, hashes, (offset.to_bytes(8, "big") for offset in offsets))
            columns = _split(pairs)
        else:
            columns = _sorted(hashes, offsets)
        self._wide = self._wide or bytearray(WIDE_SIEVE_BYTES)
        data = table_bytes(*columns, self._wide)
        self._read = min(self._read, len(tables))
        tables.append(Table(memoryview(data).cast("Q")))
        places.append((self.file_size if is_kept else -1, len(data)))
        self.tables, self.places = tables, places
        if not is_kept:
            return b""
        footer.tables = places
        written = data + _footer_bytes(footer)
        self.file_size += len(written)
        return written


def _run(tables: list[Table], entries: int) -> list[Table]:
    """The newest tables that are at most of about that size."""
    level = (entries.bit_length() - 1) // LEVEL_BITS
    run: list[Table] = []
    for table in reversed(tables):
        if (table.entries.bit_length() - 1) // LEVEL_BITS > level:
            break
        run.append(table)
    return run


def _footer_bytes(footer: Footer) -> bytes:
    text = _encode(footer)
    text += b" " * (-len(text) % 8)
    return text + _TRAILER.pack(len(text), zlib.crc32(text), _FOOT_MAGIC)


def _last_footer(mapped: mmap.mmap) -> tuple[Footer, int] | None:
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
