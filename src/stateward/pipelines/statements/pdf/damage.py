"""Whether the packed parts of a PDF are whole.

A reader of PDFs shows what it can unpack and says nothing of the rest, so a page of a damaged file may come out
short. Every packed part ends with a sum over what it holds; here that sum is checked.
"""

import re
import zlib
from pathlib import Path

INFLATED_MAX = 64 * 1024 * 1024
PIECE_MAX = 1 << 20
FILE_MAX = 64 * 1024 * 1024
HEAD_MAX = 400  # bytes before a stream that may be its dictionary

_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_SKIPPED = (b"ASCII85", b"ASCIIHex", b"LZW", b"/Image", b"/Crypt", b"RunLength")


def damaged_parts(path: Path) -> int:
    """How many packed parts of a file cannot be unpacked; 0 for a locked or very large one, which cannot be seen."""
    if path.stat().st_size > FILE_MAX:
        return 0
    data = path.read_bytes()
    if b"/Encrypt" in data:
        return 0
    budget = INFLATED_MAX
    damaged = 0
    for found in _STREAM.finditer(data):
        head = data[max(0, found.start() - HEAD_MAX) : found.start()]
        head = head[head.rfind(b"obj") :]
        if b"/FlateDecode" not in head or any(word in head for word in _SKIPPED):
            continue
        size = _inflated(data, found.end(), budget)
        damaged += size < 0
        budget -= max(size, 0)
        if budget <= 0:
            break
    return damaged


def _inflated(data: bytes, start: int, budget: int) -> int:
    """How large a part is unpacked; -1 if it cannot be."""
    unpack = zlib.decompressobj()
    size = 0
    at = start
    try:
        while not unpack.eof and at < len(data) and size < budget:
            piece = unpack.unconsumed_tail or data[at : at + PIECE_MAX]
            at += 0 if unpack.unconsumed_tail else PIECE_MAX
            size += len(unpack.decompress(piece, PIECE_MAX))
    except zlib.error:
        return -1
    return size
