"""The tree over all lines (RFC 6962), checkpoints of it, and proofs that a line is in it.

Leaf i is the line with seq i + 1, without its newline: leaf = SHA-256(0x00 ‖ text), node = SHA-256(0x01 ‖ left
‖ right). The tree has nothing to do with the chain `h` inside the lines: no proof here mixes the two.

A *span* is the tree's part over some stretch of lines: the largest complete, aligned subtrees in it, left to
right. Spans of neighbours join. So a sealed delta leaves a few dozen hashes behind (`DeltaPart.span`, base64, 32
bytes each; their sizes follow from the first and the last seq), and neither a checkpoint nor a proof ever needs
a file that was removed on purpose.

A checkpoint is text in the form of C2SP tlog-checkpoint: origin, number of lines, root in base64, an empty line;
then, if it is signed, a signature line of the signed-note form: `— name base64(4-byte key id ‖ Ed25519 signature)`.
Only a checkpoint kept *elsewhere* proves anything against somebody who owns this disk.
Nothing here touches a disk.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec

from stateward.core.errors import InvalidRequest

ED25519 = b"\x01"
KEY_ID_BYTES = 4
HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(text: bytes) -> bytes:
    """The leaf of a line."""
    return sha256(b"\x00" + text.removesuffix(b"\n")).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The node above two."""
    return sha256(b"\x01" + left + right).digest()


class Span:
    """The tree over leaves `start` to `end`: complete aligned subtrees, as (level, hash)."""

    def __init__(self, start: int = 0) -> None:
        self.start = self.end = start
        self._nodes: list[tuple[int, bytes]] = []

    def add(self, leaf: bytes) -> None:
        """One more leaf."""
        self._join(0, leaf)

    def extend(self, other: "Span") -> None:
        """All that `other` covers, which begins where this one ends."""
        if other.start != self.end:
            raise InvalidRequest(f"a span that starts at {other.start} cannot follow {self.end}")
        for level, hashed in other._nodes:
            self._join(level, hashed)

    def _join(self, level: int, hashed: bytes) -> None:
        place = self.end
        self.end += 1 << level
        # Two neighbours of a size become one if the left one starts where such a pair may start.
        while self._nodes and self._nodes[-1][0] == level and (place >> level) & 1:
            _, left = self._nodes.pop()
            hashed = node_hash(left, hashed)
            place -= 1 << level
            level += 1
        self._nodes.append((level, hashed))

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
    def unpacked(cls, text: str, *, start: int, end: int) -> "Span":
        """A span from its hashes and its ends."""
        data = base64.b64decode(text)
        span = cls(start)
        for place, level in enumerate(_levels(start, end)):
            hashed = data[place * HASH_BYTES : (place + 1) * HASH_BYTES]
            span._nodes.append((level, hashed))
            span.end += 1 << level
        if len(data) != len(span._nodes) * HASH_BYTES:
            raise InvalidRequest(f"a span over {start} to {end} has other hashes than these")
        return span


def _levels(start: int, end: int) -> Iterator[int]:
    """The sizes of the largest complete aligned subtrees that make up [start, end)."""
    while start < end:
        level = (start & -start).bit_length() - 1 if start else (end - start).bit_length() - 1
        while start + (1 << level) > end:
            level -= 1
        yield level
        start += 1 << level


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """That a line is leaf `seq - 1` of the tree over `size` lines: the siblings, from the leaf upwards."""

    seq: int
    size: int
    line: str
    path: tuple[str, ...]


def siblings(index: int, size: int) -> list[tuple[int, int]]:
    """The stretches [start, end) whose roots prove leaf `index` in a tree of `size`, from the leaf upwards."""
    found: list[tuple[int, int]] = []
    start, end = 0, size
    while end - start > 1:
        half = 1 << (end - start - 1).bit_length() - 1
        middle = start + half
        if index < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    return found[::-1]


def prove(pieces: Iterable[Span | bytes], *, seq: int, size: int) -> Proof:
    """The proof for one line, in one walk over all lines (and the spans of stretches that were removed)."""
    wanted = siblings(seq - 1, size)
    spans = {start: Span(start) for start, _ in wanted}
    ends = sorted((start, end) for start, end in wanted)
    line, at = b"", 0
    for piece in pieces:
        if at >= size:
            break
        if isinstance(piece, Span):
            for part in _split(piece, ends):
                spans[_owner(ends, part.start)].extend(part)
            at = piece.end
            continue
        if at == seq - 1:
            line = piece
        else:
            spans[_owner(ends, at)].add(leaf_hash(piece))
        at += 1
    path = tuple(base64.b64encode(spans[start].root()).decode() for start, _ in wanted)
    return Proof(seq=seq, size=size, line=line.decode().removesuffix("\n"), path=path)


def _owner(ends: list[tuple[int, int]], at: int) -> int:
    for start, end in ends:
        if start <= at < end:
            return start
    raise InvalidRequest(f"line {at + 1} was removed; it cannot be proved any more")


def _split(span: Span, ends: list[tuple[int, int]]) -> Iterator[Span]:
    place = span.start
    for level, hashed in span._nodes:
        part = Span(place)
        part._nodes.append((level, hashed))
        part.end = place = place + (1 << level)
        _owner(ends, part.start)
        yield part


def verify_proof(proof: Proof, checkpoint: str) -> bool:
    """Whether the proof leads from its line to the root of the checkpoint."""
    _, size, root = parse_checkpoint(checkpoint)
    if size != proof.size or not 1 <= proof.seq <= size:
        return False
    wanted = siblings(proof.seq - 1, size)
    if len(wanted) != len(proof.path):
        return False
    hashed = leaf_hash(proof.line.encode())
    for (start, _), text in zip(wanted, proof.path, strict=True):
        other = base64.b64decode(text)
        is_left = start <= proof.seq - 1
        hashed = node_hash(other, hashed) if is_left else node_hash(hashed, other)
    return hashed == root


def checkpoint_text(origin: str, *, size: int, root: bytes) -> str:
    """The text that is signed."""
    if not origin or any(char.isspace() or char == "+" for char in origin):
        raise InvalidRequest(
            f"an origin is one word without '+', like example.org/ledger, not {origin!r}"
        )
    return f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"


def parse_checkpoint(text: str) -> tuple[str, int, bytes]:
    """Origin, number of lines and root of a checkpoint; signatures are not looked at."""
    lines = text.split("\n")
    if len(lines) < 4 or not re.fullmatch("0|[1-9][0-9]{0,18}", lines[1]):
        raise InvalidRequest("this is no checkpoint: it has no origin, size and root")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except ValueError as error:
        raise InvalidRequest("this is no checkpoint: its root is not base64") from error
    if len(root) != HASH_BYTES:
        raise InvalidRequest("this is no checkpoint: its root has not 32 bytes")
    return lines[0], int(lines[1]), root


def signed(text: str, *, name: str, private_key: bytes) -> str:
    """The checkpoint with an Ed25519 signature line; `private_key` is the 32-byte seed."""
    key = ed25519_module().Ed25519PrivateKey.from_private_bytes(private_key)
    public = key.public_key().public_bytes_raw()
    blob = key_id(name, public) + key.sign(text.encode())
    return f"{text}\n\u2014 {name} {base64.b64encode(blob).decode()}\n"


def is_signed_by(checkpoint: str, *, name: str, public_key: bytes) -> bool:
    """Whether the checkpoint carries a good signature of this key."""
    text, separator, notes = checkpoint.partition("\n\n")
    module = ed25519_module()
    key = module.Ed25519PublicKey.from_public_bytes(public_key)
    for line in notes.splitlines() if separator else ():
        words = line.split(" ")
        if len(words) == 3 and words[0] == "\u2014" and words[1] == name:
            blob = base64.b64decode(words[2])
            if blob[:KEY_ID_BYTES] == key_id(name, public_key):
                return _verifies(key, blob[KEY_ID_BYTES:], (text + "\n").encode())
    return False


def _verifies(key: Any, signature: bytes, text: bytes) -> bool:  # noqa: ANN401
    from cryptography.exceptions import InvalidSignature  # type: ignore[import-not-found,unused-ignore]

    try:
        key.verify(signature, text)
    except InvalidSignature:
        return False
    return True


def key_id(name: str, public: bytes) -> bytes:
    """The four bytes by which the signed-note form knows a key."""
    return sha256(name.encode() + b"\n" + ED25519 + public).digest()[:KEY_ID_BYTES]


def ed25519_module() -> Any:  # noqa: ANN401 - the package may not be there
    """The optional package, or a sentence that says how to get it."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise InvalidRequest(
            "signed checkpoints need the package `cryptography`; install stateward[signing]"
        ) from error
    return ed25519
