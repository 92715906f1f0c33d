"""`HEAD`: the last line that is known to be durable, two slots of 32 bytes that are written in turn.

A slot is u64 seq, u64 size of the delta, u64 generation of the manifest, u32 CRC, 4 bytes of padding. The writer
overwrites one slot after each sync of the log and does not sync `HEAD` itself, which would double the cost of a commit;
only a new `HEAD` is synced, once, with both slots. So `HEAD` may lag behind, but a slot with a valid CRC never names a
line that was not durable; and while one slot is being written the other one is whole.
"""

import struct
import zlib
from pathlib import Path

from stateward.ledger.manifest import HEAD

_SLOT = struct.Struct("<QQQI4x")
_SLOT_FIELDS, _SLOT_CRC = struct.Struct("<QQQ"), struct.Struct("<I4x")
HEAD_BYTES_MAX = 2 * _SLOT.size


UNKNOWN = (0, 0)
"""What `read_slots` says of a `HEAD` that is missing or damaged: then nothing says which lines were acknowledged."""


def read_head(folder: Path) -> int:
    """The last seq that the writer is known to have made durable; it may lag behind, it never runs ahead."""
    return read_slots(folder)[0]


def read_slots(folder: Path) -> tuple[int, int]:
    """The last seq and the last generation of the manifest that `HEAD` has seen; zeros if it is of no use."""
    try:
        return newest_slot((folder / HEAD).read_bytes())
    except FileNotFoundError:
        return UNKNOWN


def newest_slot(text: bytes) -> tuple[int, int]:
    """The greatest seq and the greatest generation in the whole slots of `HEAD`; zeros if neither is whole."""
    newest = newest_generation = 0
    for at in (0, _SLOT.size):
        if len(text) >= at + _SLOT.size:
            seq, _size, generation, crc = _SLOT.unpack_from(text, at)
            if zlib.crc32(text[at : at + 24]) == crc:
                newest = max(newest, seq)
                newest_generation = max(newest_generation, generation)
    return newest, newest_generation


def head_slot(*, seq: int, size: int, generation: int) -> bytes:
    """One of the two slots of `HEAD`."""
    fields = _SLOT_FIELDS.pack(seq, size, generation)
    return fields + _SLOT_CRC.pack(zlib.crc32(fields))
