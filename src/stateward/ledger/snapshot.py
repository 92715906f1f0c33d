r"""A snapshot: the state of every document at one place of the log, as one JSON document, one line per document.

    {"version":"1.0","created_at":"2025-10-04T00:00:00.000000Z","document_count":2,"last_seq":7,
     "chain":"5f0c…","machine":"…","machine_version":1,"state_counts":{…},"summary":{…},"states":{⏎
    "doc:1":{"state":"parsed","updated_at":1728043200.0,"adapter":"pubmed","metadata":{},"seq":6},⏎
    "doc:2":{"state":"failed","updated_at":1728043201.5,"adapter":"pubmed","metadata":{},"seq":7}⏎
    },"checksum":{"algorithm":"sha256-tree","block_size":16384,"fanout":256,"bytes":412,"root":"9a3e…"}}⏎

(The header is one line.) Lines are sorted by the bytes of the quoted id. `bytes` is where `,"checksum"` begins; up to
there the text is cut into blocks of 16 KiB. The digest of a block is the first half of its SHA-256; 256 consecutive
digests are hashed to one digest of the level above, until 256 or fewer are left; the `root` is the SHA-256 of those.
The manifest holds the root too, so a forger has to change both.

Beside it stands `snapshot-….json.idx`, derived and disposable: a search tree with the same fan-out. A leaf holds, for
256 blocks, their digests and the first id that starts in each 2048 bytes; a node above holds the digest and the first
id of each of its children.

    node    u32 crc, digests, keys, bytes of keys | 16-byte digests | u64 offsets, one more than keys | keys, ⏎ between
    tail    8-byte magic, 32-byte root, u64 size, offset of the top node, height, u32 crc

Opening reads the header, the footer and the top node, however many documents there are. A look-up walks down, checks
the digests on its way once, and searches one stride of one block. Every answer, also "not there", has been checked
against the root: no damage can hide a document or show an old state.

A snapshot may hold only what has changed since another one, which its header names as `base`: {"file", "root"}; all
other documents are found there, and the counts are those of both together. Its algorithm is called
`sha256-tree-over-base`, so that versions that do not know this refuse it. See `layers`.
"""

import mmap
import os
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from stateward.core.errors import LedgerDamaged
from stateward.ledger.disk import (
    TEMPORARY_SUFFIX,
    Disk,
    map_file,
    unlink_if_exists,
    write_atomically,
)
from stateward.ledger.manifest import SnapshotInfo
from stateward.ledger.record import encode_json
from stateward.ledger.summary import Summary

VERSION = "1.0"
ALGORITHM, LAYERED_ALGORITHM = "sha256-tree", "sha256-tree-over-base"
BLOCK = 16_384
"""What is hashed for one answer, about 12 µs. Smaller blocks need a larger index, larger ones slow answers down."""
STRIDE = 2048
"""The index knows the first id of every stride: a look-up searches that much text."""
FANOUT = 256
"""Three levels reach 2⁴⁰ bytes of text, and a node of digests is one page of 4 KiB."""
DIGEST = 16
"""Half a SHA-256, in the index and inside the tree; the root is a whole one."""
HEADER_BYTES_MAX = 1 << 20
FOOTER_BYTES_MAX = 1024
"""Where the two ends are looked for: counts by state and adapter are bounded (see `summary`), the footer is fixed."""
STATES_START = b',"states":{\n'
FOOTER_START = b'\n},"checksum":'
KEY_END = b'":{"state":'
"""Follows every quoted id. Inside an id the quote would be escaped, so the first match is the end of the id."""
FLUSH_BLOCKS = 16
FLUSH_BYTES = 2 * FLUSH_BLOCKS * BLOCK
"""Memory of a writer: large enough that a write costs little, small beside any snapshot worth a thought."""
NODES_CACHED_MAX = 4096
"""Then all are forgotten: the top of the tree is back after one look-up, and nothing has to be counted."""
NODE_BYTES = 1 << 16
"""Most nodes are smaller: this much is requested at once, before its pages are touched one by one."""
QUOTE, COMMA, NEWLINE = b'",\n'
SEPARATOR = b",\n"
"""Between two lines; in a line there is no newline, as JSON escapes it."""
INDEX_SUFFIX = ".idx"
INDEX_MAGIC = b"SWSNAP01"
_NODE = struct.Struct("<IIII")
_TAIL = struct.Struct("<8s32sQQQI")
_NO_KEY = b"\xff"
"""Greater than any quoted id: the key of a child in which no document starts."""
_BAD_INDEX = "the index leads to a wrong place; delete the .idx file"
_FOREIGN_INDEX = "its index does not belong to it; delete the .idx file"


class LayerBelow(msgspec.Struct, frozen=True):
    """The snapshot that holds the documents that have not changed since; `file` is for people."""

    file: str
    root: str


class Header(msgspec.Struct, kw_only=True):
    """The first line of a snapshot."""

    version: str
    created_at: str
    document_count: int
    last_seq: int
    chain: str
    machine: str
    machine_version: int
    state_counts: dict[str, int]
    summary: Summary
    rolled_back_to: int | None = None
    base: LayerBelow | None = None

    @property
    def algorithm(self) -> str:
        """How the checksum of this snapshot is called."""
        return ALGORITHM if self.base is None else LAYERED_ALGORITHM


class Checksum(msgspec.Struct, kw_only=True):
    """The last line of a snapshot."""

    algorithm: str
    block_size: int
    fanout: int
    bytes: int
    root: str


_decode_header = msgspec.json.Decoder(Header).decode
_decode_checksum = msgspec.json.Decoder(Checksum).decode


def snapshot_info(file: str, header: Header, *, root: str, size: int) -> SnapshotInfo:
    """The entry of the manifest for a snapshot."""
    return SnapshotInfo(
        file=file,
        last_seq=header.last_seq,
        chain=header.chain,
        root=root,
        bytes=size,
        documents=header.document_count,
        created_at=header.created_at,
        rolled_back_to=header.rolled_back_to,
        base=header.base.root if header.base else None,
    )


class _IndexNode:
    """One node of the search tree: digests, first ids, and where each begins.

    Ids and offsets are unpacked when they are first used: checking a block needs the digests of all nodes on the way,
    but the ids of none.
    """

    __slots__ = ("_body", "_counts", "digests", "keys", "offsets")

    def __init__(self, body: bytes, digests: int, keys: int) -> None:
        self.digests = body[: digests * DIGEST]
        self._body, self._counts = body, (digests * DIGEST, keys)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - only for the two slots that are not filled yet
        start, keys = self._counts
        end = start + 8 * (keys + 1)
        self.offsets = array("Q", self._body[start:end])
        self.keys = self._body[end:].split(b"\n") if keys else []
        self._body = b""
        return getattr(self, name)


class Snapshot:
    """A snapshot that is open for look-ups. It never changes; a newer one is another file."""

    def __init__(self, path: Path, *, root: str | None = None) -> None:
        """Open it; with `root`, refuse any other content. Raises `LedgerDamaged`."""
        self.path = path
        self._advice = mmap.MADV_NORMAL
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.size = os.fstat(fd).st_size
            if not self.size:
                raise self._damage_error("the file is empty")
            self._text = mmap.mmap(fd, self.size, prot=mmap.PROT_READ)
            self._advise(mmap.MADV_RANDOM)
        finally:
            os.close(fd)
        self._read_ends(root)
        self._nodes: dict[int, _IndexNode] = {}
        self._index: mmap.mmap | bytes = b""
        self._leaf, self._leaf_checked = -1, b""
        self._checked = bytearray((self.end + BLOCK - 1) // BLOCK)
        index = map_file(self._index_path, bytes_min=_TAIL.size)
        if index is not None:
            index.madvise(mmap.MADV_RANDOM)
        self.has_index = index is not None and self._use_index(index)
        if not self.has_index:  # it can be made from the text
            self._use_index(self._rebuild_index())
        self._check(0, self.start)

    def _advise(self, advice: int) -> None:
        """Tell the kernel what comes: single look-ups, where reading ahead is a waste, or everything in order."""
        if advice != self._advice:
            self._text.madvise(advice)
            self._advice = advice

    def _read_ends(self, root: str | None) -> None:
        """Header and checksum, which are small: opening a snapshot of any size reads two pages of it."""
        header_end = self._text.find(STATES_START, 0, HEADER_BYTES_MAX)
        self.start = header_end + len(STATES_START)
        foot = self._text.rfind(FOOTER_START, max(0, self.size - FOOTER_BYTES_MAX))
        if header_end < 0 or foot < 0:
            raise self._damage_error(
                "it has no header or no checksum; it was not written to its end"
            )
        try:
            self.header = _decode_header(self._text[:header_end] + b"}")
            self.checksum = check = _decode_checksum(
                self._text[foot + len(FOOTER_START) : self.size].rstrip(b"\n")[:-1]
            )
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._damage_error(
                f"its header or its checksum cannot be read: {error}"
            ) from error
        self.end = foot + 2
        self.last_line_end = foot
        if (check.algorithm, check.block_size, check.fanout) != (
            self.header.algorithm, BLOCK, FANOUT,
        ):  # fmt: skip
            raise self._damage_error("its checksum is of a kind that this version does not know")
        footer = _footer(check.algorithm, self.end, check.root)
        if check.bytes != self.end or self.size != self.end + len(footer):
            raise self._damage_error("its length is not the one that its checksum names")
        # No block covers the footer, so it must be, byte for byte, what would be written.
        if self._text[self.end : self.size] != footer:
            raise self._damage_error("its last line is not as it was written")
        if root is not None and check.root != root:
            raise self._damage_error("its checksum is not the one that the manifest names")

    def _damage_error(self, sentence: str, byte: int | None = None) -> LedgerDamaged:
        return LedgerDamaged.at(self.path.name, sentence, byte=byte)

    # Look-ups

    def get(self, key: bytes) -> bytes | None:
        """What the snapshot keeps of the document with this quoted id, as JSON, or None."""
        stride = self._stride_of(key)
        if stride is None:
            if self.start < self.last_line_end and self._key_at(self.start) <= key:
                raise self._damage_error(_BAD_INDEX)
            return None
        start, limit = stride
        first, last = (start - 1) // BLOCK, limit // BLOCK
        if first != last or not self._checked[first]:
            self._check(start - 1, min(limit + 1, self.end))
        # A copy, because searching in one is ten times as fast as searching in a memory map.
        text = self._text[start - 1 : limit]
        at = text.find(b"\n" + key + b":")
        if at < 0:
            # The index is not covered by the root. So "not there" counts only if the ids on both sides, which are,
            # show that the index led to the right stride.
            if self._key_at(start) > key or (
                limit < self.last_line_end and self._key_at(limit) <= key
            ):
                raise self._damage_error(_BAD_INDEX, start)
            return None
        at += len(key) + 2
        end = text.find(b"\n", at)
        if end > 0:
            return text[at : end - (text[end - 1] == COMMA)]
        end = self._text.find(b"\n", limit)  # the line goes on behind the stride in which it starts
        self._check(limit, end)
        return self._text[start - 1 + at : end - (self._text[end - 1] == COMMA)]

    def _key_at(self, at: int) -> bytes:
        """The quoted id of the line that starts there, checked against the root as every byte that is used."""
        end = self._text.find(KEY_END, at) + 1
        self._check(at, end)
        return self._text[at:end]

    def _stride_of(self, key: bytes) -> tuple[int, int] | None:
        """The stretch of text in which a line with this id would start; None: before the first one."""
        at = self._top_at
        nodes, level = self._nodes, self._height
        while True:
            node = nodes.get(at) or self._node(at)
            child = bisect_right(node.keys, key) - 1
            if child < 0:
                return None
            at = node.offsets[child]
            if level == 0:
                return at, node.offsets[child + 1]
            level -= 1

    def _node(self, at: int) -> _IndexNode:
        """A node of the index. Its CRC finds damage; that it belongs to this text is shown by its digests alone."""
        node = self._nodes.get(at)
        if node is not None:
            return node
        index = self._index
        if isinstance(index, mmap.mmap):
            page = at // mmap.PAGESIZE * mmap.PAGESIZE
            index.madvise(mmap.MADV_WILLNEED, page, min(NODE_BYTES, len(index) - page))
        crc, digests, keys, length = _NODE.unpack_from(index, at)
        first = at + _NODE.size
        body = bytes(index[first : first + digests * DIGEST + 8 * (keys + 1) + length])
        if zlib.crc32(body, zlib.crc32(index[at + 4 : first])) != crc:
            raise self._damage_error("its index is damaged; delete the .idx file", at)
        if len(self._nodes) >= NODES_CACHED_MAX:
            self._nodes.clear()
        node = self._nodes[at] = _IndexNode(body, digests, keys)
        return node

    # Checking

    def _check(self, start: int, end: int) -> None:
        """Raise unless every block that holds a byte of [start, end) is as it was written."""
        first, last = start // BLOCK, (end - 1) // BLOCK
        checked = self._checked
        if first == last and checked[first]:
            return
        for block in range(first, min(last + 1, len(checked))):
            if not checked[block]:
                self._check_block(block)

    def _check_block(self, block: int) -> None:
        """A block against its digest, once: a file that changes while it is mapped is not defended against."""
        leaf = self._leaf_digests(block // FANOUT)
        at = block * BLOCK
        if self._advice == mmap.MADV_RANDOM:
            self._text.madvise(mmap.MADV_WILLNEED, at, min(BLOCK, self.size - at))
        with memoryview(self._text) as text, text[at : min(at + BLOCK, self.end)] as part:
            found = sha256(part).digest()[:DIGEST]
        digest_at = block % FANOUT * DIGEST
        if found != leaf[digest_at : digest_at + DIGEST]:
            raise self._damage_error("the text is not as it was written", at)
        self._checked[block] = 1

    def _leaf_digests(self, leaf: int) -> bytes:
        """The digests of a leaf, checked from the root down. The last leaf is remembered: walks stay in one."""
        if leaf == self._leaf:
            return self._leaf_checked
        digests = self._node(self._top_at).digests
        if sha256(digests).hexdigest() != self.checksum.root:
            raise self._damage_error(_FOREIGN_INDEX)
        at = self._top_at
        for level in range(self._height, 0, -1):
            child = leaf // FANOUT ** (level - 1) % FANOUT
            at = self._node(at).offsets[child]
            expected = digests[child * DIGEST : (child + 1) * DIGEST]
            digests = self._node(at).digests
            if sha256(digests).digest()[:DIGEST] != expected:
                raise self._damage_error(_FOREIGN_INDEX, at)
        self._leaf_checked, self._leaf = digests, leaf
        return digests

    def verify(self) -> None:
        """Read all of it against its root, without the index."""
        self._advise(mmap.MADV_NORMAL)
        with memoryview(self._text) as view, view[: self.end] as text:
            digests = [
                sha256(text[at : at + BLOCK]).digest()[:DIGEST] for at in range(0, self.end, BLOCK)
            ]
        if _root(b"".join(digests)) != self.checksum.root:
            raise self._damage_error("its text does not match its checksum")

    # Everything

    def pieces(self) -> Iterator[bytes]:
        """All lines, checked, in pieces of many: between them and at the end without a separator."""
        self._advise(mmap.MADV_NORMAL)
        at, text = self.start, self._text
        while at < self.last_line_end:
            line_end = text.find(b"\n", min(at + FLUSH_BLOCKS * BLOCK, self.last_line_end) - 1)
            self._check(at, line_end)
            yield text[at : line_end - (text[line_end - 1] == COMMA)]
            at = line_end + 1

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        """(quoted id, what is kept) of every document, checked, in order."""
        for piece in self.pieces():
            for line in piece.split(SEPARATOR):
                split = line.index(KEY_END) + 1
                yield line[:split], line[split + 1 :]

    def in_state(self, state: str) -> Iterator[tuple[bytes, bytes]]:
        """The same for the documents in one state: found by searching the text, not by reading every line."""
        self._advise(mmap.MADV_NORMAL)
        needle = KEY_END + encode_json(state)
        text, at = self._text, self.start
        while (hit := text.find(needle, at, self.last_line_end)) >= 0:
            start = text.rfind(b"\n", at - 1, hit) + 1
            at = text.find(b"\n", hit) + 1
            self._check(start, at)
            line = text[start : at - 1]
            split = line.index(KEY_END) + 1
            if start + split - 1 == hit:  # else the same bytes stand in the metadata of a document
                yield line[:split], line[split + 1 :].removesuffix(b",")

    # The index

    @property
    def _index_path(self) -> Path:
        return self.path.with_name(self.path.name + INDEX_SUFFIX)

    def _use_index(self, index: mmap.mmap | bytes) -> bool:
        """Whether the index belongs to this text and its first leaf is intact; then look-ups go through it."""
        tail_at = len(index) - _TAIL.size
        magic, root, size, top_at, height, crc = _TAIL.unpack_from(index, tail_at)
        is_ours = magic == INDEX_MAGIC and root.hex() == self.checksum.root and size == len(index)
        if not is_ours or crc != zlib.crc32(index[tail_at : len(index) - 4]):
            return False
        self._index, self._top_at, self._height = index, top_at, height
        try:
            self._leaf_digests(0)
        except LedgerDamaged:
            return False
        return True

    def _rebuild_index(self) -> bytes:
        """The index made from the text, all of which is read and checked for that."""
        self.verify()
        builder = SnapshotIndexBuilder()
        text = self._text
        for at in range(0, self.end, FLUSH_BLOCKS * BLOCK):
            upto = min(at + FLUSH_BLOCKS * BLOCK, self.end)
            # An id may begin just before the cut: the builder needs all of what ends it, too.
            cut_end = text.find(KEY_END, upto - len(KEY_END) + 1, self.last_line_end)
            reach = upto if cut_end < 0 else max(upto, cut_end + len(KEY_END))
            builder.feed(text[at:reach], upto - at)
        return builder.finish(self.last_line_end)

    def write_index(self, disk: Disk) -> None:
        """Write the index that was made at opening."""
        write_atomically(disk, self._index_path, bytes(self._index), durable=False)
        self.has_index = True


class SnapshotIndexBuilder:
    """Gathers, block by block, what the index of a snapshot holds."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._keys: list[tuple[int, bytes]] = []
        self._at = 0
        self._ends_in_newline = False

    def feed(self, text: bytes, size: int) -> None:
        """The next `size` bytes of the file; `text` reaches to the end of the id that begins last in them."""
        view = memoryview(text)
        for at in range(0, size, BLOCK):
            self._digests += sha256(view[at : min(at + BLOCK, size)]).digest()[:DIGEST]
        view.release()
        find, keys, base = text.find, self._keys, self._at
        for at in range(0, size, STRIDE):
            if at == 0:
                start = 0 if self._ends_in_newline else find(b"\n", 0, STRIDE - 1) + 1 or -1
            else:
                start = find(b"\n", at - 1, at + STRIDE - 1) + 1 or -1
            if 0 <= start < size and text[start] == QUOTE:
                keys.append((base + start, text[start : find(KEY_END, start) + 1]))
        self._ends_in_newline = text[size - 1] == NEWLINE
        self._at += size

    @property
    def root(self) -> str:
        """The root over all blocks so far."""
        return _root(self._digests)

    def finish(self, last_line_end: int) -> bytes:
        """The whole index; `last_line_end` is where the last document's line ends."""
        out = bytearray()
        level, keys = bytes(self._digests), self._keys
        starts = [at for at, _ in keys]
        children: list[tuple[bytes, int]] = []
        """First id and offset in the index, of each node below."""
        for at in range(0, len(level), FANOUT * DIGEST):
            first = at // DIGEST * BLOCK
            low, high = bisect_left(starts, first), bisect_left(starts, first + FANOUT * BLOCK)
            inside = keys[low:high]
            offsets = [offset for offset, _ in inside]
            offsets.append(starts[high] if high < len(starts) else last_line_end + 1)
            children.append((inside[0][1] if inside else _NO_KEY, len(out)))
            out += _node_bytes(
                level[at : at + FANOUT * DIGEST], [key for _, key in inside], offsets
            )
        height = 0
        while len(children) > 1:
            level = _level_above(level)
            height += 1
            children = _add_parents(out, level, children)
        root, size = sha256(level).digest(), len(out) + _TAIL.size
        tail = _TAIL.pack(INDEX_MAGIC, root, size, children[0][1], height, 0)[:-4]
        return bytes(out) + tail + struct.pack("<I", zlib.crc32(tail))


def _root(digests: bytes | bytearray) -> str:
    """The root of a tree whose nodes have `FANOUT` children, so wide that a million documents make two levels."""
    level = bytes(digests)
    while len(level) > FANOUT * DIGEST:
        level = _level_above(level)
    return sha256(level).hexdigest()


def _level_above(level: bytes) -> bytes:
    step = FANOUT * DIGEST
    return b"".join(
        sha256(level[at : at + step]).digest()[:DIGEST] for at in range(0, len(level), step)
    )


def _add_parents(
    out: bytearray, level: bytes, children: list[tuple[bytes, int]]
) -> list[tuple[bytes, int]]:
    """Append the nodes above these to the index; their first ids and offsets."""
    # A child in which no document starts takes the id of the next one that has any: keys must not decrease.
    for at in range(len(children) - 2, -1, -1):
        if children[at][0] == _NO_KEY:
            children[at] = (children[at + 1][0], children[at][1])
    parents = []
    for at in range(0, len(children), FANOUT):
        group = children[at : at + FANOUT]
        parents.append((group[0][0], len(out)))
        digests = level[at * DIGEST : (at + len(group)) * DIGEST]
        out += _node_bytes(
            digests, [key for key, _ in group], [*(offset for _, offset in group), 0]
        )
    return parents


def _node_bytes(digests: bytes, keys: list[bytes], offsets: list[int]) -> bytes:
    """A node as it is stored. Digests come first: a check of text needs them alone."""
    names = b"\n".join(keys)
    body = digests + array("Q", offsets).tobytes() + names
    head = struct.pack("<III", len(digests) // DIGEST, len(keys), len(names))
    return struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + head + body


class SnapshotWriter:
    """Writes a snapshot from sorted lines: `add` them, one or many at once, then `finish`."""

    def __init__(self, disk: Disk, path: Path, header: Header) -> None:
        self._disk = disk
        self.path = path
        self._temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
        unlink_if_exists(disk, self._temporary)
        self._fd = disk.create(self._temporary)
        self._parts: list[bytes] = [encode_json(header)[:-1] + STATES_START]
        self._size = len(self._parts[0])
        self._written = 0
        self._builder = SnapshotIndexBuilder()
        self._separator = b""
        self._algorithm = header.algorithm

    def add(self, lines: bytes) -> None:
        """The next lines, as they stand in a snapshot, without a separator after the last one."""
        text = self._separator + lines
        self._separator = SEPARATOR
        self._parts.append(text)
        self._size += len(text)
        if self._size > FLUSH_BYTES:
            # The last line may be unfinished and its id cut off: only blocks whose ids are whole are written.
            whole = b"".join(self._parts)
            self._emit(whole, max(whole.rfind(b"\n") // BLOCK * BLOCK, 0))

    def _emit(self, text: bytes, size: int) -> None:
        """Write the first `size` bytes of the text, which are whole blocks except at the end; keep the rest."""
        if size:
            self._builder.feed(text, size)
            with memoryview(text) as view, view[:size] as part:
                self._disk.write(self._fd, part)
            self._written += size
        self._parts = [text[size:]]
        self._size = len(text) - size

    def finish(self) -> str:
        """Durable under its name when this returns; the root.

        The index gets its name first: a snapshot without one would have to be read as a whole at opening. It is not
        synced, as its checksum shows whether it survived.
        """
        text = b"".join((*self._parts, b"\n}"))
        end = self._written + len(text)
        self._emit(text, len(text))
        root = self._builder.root
        self._disk.write(self._fd, _footer(self._algorithm, end, root))
        self._disk.fsync(self._fd)
        self._disk.close(self._fd)
        self._fd = -1
        index_path = self.path.with_name(self.path.name + INDEX_SUFFIX)
        write_atomically(self._disk, index_path, self._builder.finish(end - 2), durable=False)
        self._disk.rename(self._temporary, self.path)
        self._disk.sync_dir(self.path.parent)
        return root

    def abandon(self) -> None:
        """Delete what was written so far."""
        self._parts.clear()
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
        unlink_if_exists(self._disk, self._temporary)


def _footer(algorithm: str, end: int, root: str) -> bytes:
    return (
        b',"checksum":{"algorithm":"%b","block_size":%d,"fanout":%d,"bytes":%d,"root":"%b"}}\n'
        % (algorithm.encode(), BLOCK, FANOUT, end, root.encode())
    )
