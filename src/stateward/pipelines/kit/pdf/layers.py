"""Whether a PDF has layers (optional content), which may be switched off: then words on them are in the file, unseen.

pdfium knows which layers are off only when it renders. So a file is asked first whether it has any: its catalog says
so, in plain or within a stream of objects.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

KEY = b"/OCProperties"
FILE_BYTES_MAX = 64 * 1024 * 1024
PACKED_BYTES_MAX = 16 * 1024 * 1024  # of a stream of objects, inflated
DICTIONARY_BYTES_MAX = 400
_STREAM = re.compile(rb"(?<!end)stream\r?\n")


def may_have_layers(path: Path) -> bool:
    """No only if nothing in the file declares any; of a file that cannot be looked through, yes."""
    if path.stat().st_size > FILE_BYTES_MAX:
        return True
    data = path.read_bytes()
    return KEY in data or any(map(_declares, _packed_objects(data)))


def _packed_objects(data: bytes) -> Iterator[memoryview]:
    """The streams of objects of a file, as they are stored, each with what follows it."""
    for found in _STREAM.finditer(data):
        if b"/ObjStm" in data[max(0, found.start() - DICTIONARY_BYTES_MAX) : found.start()]:
            yield memoryview(data)[found.end() :]


def _declares(stored: memoryview) -> bool:
    try:
        return KEY in zlib.decompressobj().decompress(stored, PACKED_BYTES_MAX)
    except zlib.error:  # encrypted, damaged, or of another filter
        return True
