"""The Merkle tree over all lines (RFC 6962), and proofs that a line is in it, or that a tree has grown from another.

Leaf i is the line with seq i + 1, without its newline: leaf = SHA-256(0x00 ‖ text), node = SHA-256(0x01 ‖ left ‖
right). The two prefixes keep a node from being passed off as a leaf. The tree has nothing to do with the chain `h`
inside the lines, and no proof here mixes the two: doing so made forgery possible elsewhere (GHSA-672p-m5jq-mrh8,
immudb).

A *span* is the part of the tree over some stretch of lines: the largest complete, aligned subtrees in it, left to
right. Adjacent spans join. So a sealed delta leaves a few dozen hashes behind (`DeltaInfo.span`: base64, 32 bytes
each; their sizes follow from the first and the last seq), and neither a checkpoint nor a proof ever needs a file that
was removed on purpose.

*Tiles* are the same part of the tree in more detail: one hash for each complete aligned block of 256 lines, and the
leaves of the lines before the first and after the last block. A compressed delta has them beside it
(`delta-….jsonl.tree`, 32 bytes each, derived), so that a proof reads one block of lines and not the whole delta.

Nothing here touches a disk.
"""

import base64
from collections.abc import Iterable, Iterator
from hashlib import sha256

import msgspec

from stateward.core.errors import InvalidRequest

HASH_BYTES = 32
BLOCK_LEVEL = 8
"""A tile stands for 2⁸ lines: small beside the log, and a proof reads one block of lines at most."""
GATHERED_MAX = 65_536
"""Leaves hashed together: 2 MB of them, whatever the size of the log."""
BLOCK_LEAVES = 1 << BLOCK_LEVEL
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(text: bytes) -> bytes:
    return sha256(b"\x00" + text.removesuffix(b"\n")).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The node above two."""
    return sha256(b"\x01" + left + right).digest()


def subtree_root(hashes: list[bytes]) -> bytes:
    """The root over a power of two of leaves, or of subtrees of one size."""
    while len(hashes) > 1:
        pairs = zip(hashes[::2], hashes[1::2], strict=True)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    return hashes[0]


class MerkleSpan:
    """The tree over leaves `start` to `end`: complete aligned subtrees, as (level, hash)."""

    def __init__(self, start: int = 0) -> None:
        self.start = self.end = start
        self._nodes: list[tuple[int, bytes]] = []

    def add(self, hashed: bytes, level: int = 0) -> None:
        """Append a leaf, or a complete subtree of that level."""
        at = self.end
        self.end += 1 << level
        # Two neighbours of one size become one if the left one starts where such a pair may start.
        while self._nodes and self._nodes[-1][0] == level and (at >> level) & 1:
            _, left = self._nodes.pop()
            hashed = node_hash(left, hashed)
            at -= 1 << level
            level += 1
        self._nodes.append((level, hashed))

    def add_leaves(self, leaves: list[bytes]) -> None:
        """Append many leaves: whole blocks are hashed level by level, which is several times as fast."""
        at = 0
        while at < len(leaves):
            if self.end % BLOCK_LEAVES == 0 and len(leaves) - at >= BLOCK_LEAVES:
                self.add(subtree_root(leaves[at : at + BLOCK_LEAVES]), BLOCK_LEVEL)
                at += BLOCK_LEAVES
            else:
                self.add(leaves[at])
                at += 1

    def extend(self, other: "MerkleSpan") -> None:
        """Append what `other` covers, which begins where this one ends."""
        if other.start != self.end:
            raise InvalidRequest(f"a span that starts at {other.start} cannot follow {self.end}")
        for _, level, hashed in other.subtrees():
            self.add(hashed, level)

    def subtrees(self) -> Iterator[tuple[int, int, bytes]]:
        """(first leaf, level, hash) of each subtree, left to right."""
        at = self.start
        for level, hashed in self._nodes:
            yield at, level, hashed
            at += 1 << level

    def root(self) -> bytes:
        """The root of the tree; only for a span from the first leaf."""
        if not self._nodes:
            return EMPTY_ROOT
        hashed = self._nodes[-1][1]
        for _, left in reversed(self._nodes[:-1]):
            hashed = node_hash(left, hashed)
        return hashed

    def packed(self) -> str:
        """The hashes, as base64."""
        return base64.b64encode(b"".join(hashed for _, hashed in self._nodes)).decode()

    @classmethod
    def unpacked(cls, text: str, *, start: int, end: int) -> "MerkleSpan":
        data, span = base64.b64decode(text), cls(start)
        at = 0
        for _, level in subtrees_in(start, end):
            span._nodes.append((level, data[at : at + HASH_BYTES]))
            span.end += 1 << level
            at += HASH_BYTES
        if len(data) != at:
            raise InvalidRequest(f"a span over {start} to {end} has other hashes than these")
        return span


def subtrees_in(start: int, end: int) -> Iterator[tuple[int, int]]:
    """(first leaf, level) of the largest complete, aligned subtrees over leaves `start` to `end`, left to right."""
    while start < end:
        # The largest subtree that may start here (its size divides the position) and does not reach too far.
        level = ((start & -start) or (end - start)).bit_length() - 1
        level = min(level, (end - start).bit_length() - 1)
        yield start, level
        start += 1 << level


class TileBuilder:
    """The tiles and the span over lines from `start` on."""

    def __init__(self, start: int) -> None:
        self.span = MerkleSpan(start)
        self.tiles: list[bytes] = []
        self._at = start
        self._leaves: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        self._leaves.append(leaf)
        self._at += 1
        if self._at % BLOCK_LEAVES == 0:
            self._flush()

    def _flush(self) -> None:
        """A whole block becomes one tile; leaves of a begun one are tiles of their own until the next delta ends it."""
        is_block = len(self._leaves) == BLOCK_LEAVES
        found = [subtree_root(self._leaves)] if is_block else self._leaves
        for hashed in found:
            self.span.add(hashed, BLOCK_LEVEL if is_block else 0)
        self.tiles += found
        self._leaves = []

    def finish(self) -> None:
        """The last line was added."""
        self._flush()


def tiles_in(data: bytes, span: MerkleSpan) -> list[MerkleSpan]:
    """The tiles of a file, each a span of its own; none if they are not those that `span` is made of."""
    found: list[MerkleSpan] = []
    whole = MerkleSpan(span.start)
    for offset in range(0, len(data), HASH_BYTES):
        at = whole.end
        is_block = at % BLOCK_LEAVES == 0 and at + BLOCK_LEAVES <= span.end
        tile = MerkleSpan(at)
        tile.add(data[offset : offset + HASH_BYTES], BLOCK_LEVEL if is_block else 0)
        whole.extend(tile)
        found.append(tile)
    is_same = whole.end == span.end and list(whole.subtrees()) == list(span.subtrees())
    return found if is_same else []


def span_over(pieces: Iterable[MerkleSpan | bytes], *, size: int) -> MerkleSpan:
    """The tree over the first `size` lines, or fewer if there are fewer, from lines and spans in order."""
    span = MerkleSpan()
    for piece in _in_blocks(pieces, size=size):
        span.extend(piece)
    return span


def _in_blocks(
    pieces: Iterable[MerkleSpan | bytes], *, size: int, seq: int = 0
) -> Iterator[MerkleSpan]:
    """The same as spans up to `size`, lines gathered to blocks; the line `seq` is a span of its own."""
    leaves: list[bytes] = []
    at = 0  # where the gathered leaves end

    def gathered() -> Iterator[MerkleSpan]:
        if leaves:
            span = MerkleSpan(at - len(leaves))
            span.add_leaves(leaves)
            leaves.clear()
            yield span

    for piece in pieces:
        if at >= size:
            break
        if isinstance(piece, MerkleSpan):
            yield from gathered()
            yield piece
            at = piece.end
            continue
        if at == seq - 1:
            yield from gathered()
        leaves.append(leaf_hash(piece))
        at += 1
        if at == seq or len(leaves) >= GATHERED_MAX:
            yield from gathered()
    yield from gathered()


class InclusionProof(msgspec.Struct, frozen=True, kw_only=True):
    """That a line is leaf `seq - 1` of the tree over `size` lines: the sibling hashes, from the leaf upwards."""

    seq: int
    size: int
    line: str
    path: tuple[str, ...]


def _siblings(index: int, size: int) -> list[tuple[int, int]]:
    """The stretches [start, end) whose roots prove leaf `index` in a tree of `size`, from the leaf upwards."""
    found: list[tuple[int, int]] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if index < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    return found[::-1]


def prove(pieces: Iterable[MerkleSpan | bytes], *, seq: int, size: int) -> InclusionProof:
    """The proof for one line, in one pass over all lines (and the spans of segments that were removed)."""
    stretches = _siblings(seq - 1, size)
    siblings = {start: MerkleSpan(start) for start, _ in stretches}

    def sibling_of(first: int, leaves: int = 1) -> MerkleSpan:
        for start, end in stretches:
            if start <= first and first + leaves <= end:
                return siblings[start]
        raise InvalidRequest(f"line {seq} was removed; it cannot be proved any more")

    line = b""

    def watched() -> Iterator[MerkleSpan | bytes]:
        nonlocal line
        at = 0
        for piece in pieces:
            if isinstance(piece, MerkleSpan):
                at = piece.end
            else:
                at += 1
                if at == seq:
                    line = piece
            yield piece

    for span in _in_blocks(watched(), size=size, seq=seq):
        for first, level, hashed in span.subtrees():
            if (first, level) != (seq - 1, 0):
                sibling_of(first, 1 << level).add(hashed, level)
    if not line:  # a segment of this line alone was removed: its span is the leaf
        raise InvalidRequest(f"line {seq} was removed; it cannot be proved any more")
    path = tuple(base64.b64encode(siblings[start].root()).decode() for start, _ in stretches)
    return InclusionProof(seq=seq, size=size, line=line.decode().removesuffix("\n"), path=path)


def proof_root(proof: InclusionProof) -> bytes | None:
    """The root that the proof leads to from its line; None if it has not the form of a proof."""
    if not 1 <= proof.seq <= proof.size:
        return None
    stretches = _siblings(proof.seq - 1, proof.size)
    try:
        others = [base64.b64decode(text, validate=True) for text in proof.path]
        hashed = leaf_hash(proof.line.encode())
    except ValueError:
        return None
    if len(stretches) != len(others) or any(len(other) != HASH_BYTES for other in others):
        return None
    for (start, _), other in zip(stretches, others, strict=True):
        is_left = start <= proof.seq - 1
        hashed = node_hash(other, hashed) if is_left else node_hash(hashed, other)
    return hashed


class ConsistencyProof(msgspec.Struct, frozen=True, kw_only=True):
    """That the tree over `old` leaves is the beginning of the one over `new`: hashes of RFC 9162, 2.1.4, in base64."""

    old: int
    new: int
    path: tuple[str, ...] = ()


def consistency_stretches(old: int, new: int) -> list[tuple[int, int]]:
    """The stretches [start, end) of leaves whose roots are the proof, in its order."""
    found: list[tuple[int, int]] = []
    start, end = 0, new
    is_old_root = True  # what is left is the old tree itself, whose root who checks the proof has
    while 0 < old < end:
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if old <= middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start, is_old_root = middle, False
    if old > 0 and not is_old_root:
        found.append((start, end))
    return found[::-1]


def is_consistent(proof: ConsistencyProof, *, old_root: bytes, new_root: bytes) -> bool:
    """Whether the proof leads to both roots (RFC 9162, 2.1.4.2). An empty tree is the beginning of each."""
    if not 0 <= proof.old <= proof.new:
        return False
    if proof.old in (0, proof.new):
        is_start = old_root == EMPTY_ROOT if proof.old == 0 else old_root == new_root
        return is_start and not proof.path
    path = [base64.b64decode(each) for each in proof.path]
    if proof.old & (proof.old - 1) == 0:
        path.insert(0, old_root)
    if not path:
        return False
    node, last = proof.old - 1, proof.new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    before = after = path[0]
    for each in path[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            before, after = node_hash(each, before), node_hash(each, after)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            after = node_hash(after, each)
        node, last = node >> 1, last >> 1
    return last == 0 and (before, after) == (old_root, new_root)
