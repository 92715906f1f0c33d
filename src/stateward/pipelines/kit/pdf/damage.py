"""Whether the compressed streams of a PDF are intact.

pdfium shows what it can decompress and reports nothing about the rest, so a page of a damaged file may lack text
without an error. Every Flate stream ends with a checksum; it is verified here.
"""

import re
import zlib
from pathlib import Path

INFLATED_BYTES_MAX = 64 * 1024 * 1024
CHUNK_BYTES = 1 << 20
FILE_BYTES_MAX = 64 * 1024 * 1024
DICTIONARY_BYTES_MAX = 400  # before a stream: its dictionary, which names the compression

_STREAM = re.compile(rb"(?<!end)stream\r?\n")
# Other filters, and images: their damage loses no text.
_SKIPPED = (b"ASCII85", b"ASCIIHex", b"LZW", b"/Image", b"/Crypt", b"RunLength")


def count_damaged_streams(path: Path) -> int:
    """How many compressed streams fail their checksum; 0 for an encrypted or very large file, which is not checked."""
    if path.stat().st_size > FILE_BYTES_MAX:
        return 0
    data = path.read_bytes()
    if b"/Encrypt" in data:
        return 0
    budget = INFLATED_BYTES_MAX
    damaged = 0
    for found in _STREAM.finditer(data):
        head = data[max(0, found.start() - DICTIONARY_BYTES_MAX) : found.start()]
        head = head[head.rfind(b"obj") :]
        if b"/FlateDecode" not in head or any(word in head for word in _SKIPPED):
            continue
        size = _inflated_size(data, found.end(), budget)
        damaged += size < 0
        budget -= max(size, 0)
        if budget <= 0:
            break
    return damaged


def _inflated_size(data: bytes, start: int, budget: int) -> int:
    """The decompressed size of a stream, counted up to `budget`; -1 if it is damaged."""
    inflater = zlib.decompressobj()
    size, at = 0, start
    try:
        while not inflater.eof and at < len(data) and size < budget:
            piece = inflater.unconsumed_tail or data[at : at + CHUNK_BYTES]
            at += 0 if inflater.unconsumed_tail else CHUNK_BYTES
            size += len(inflater.decompress(piece, CHUNK_BYTES))
    except zlib.error:
        return -1
    return size
