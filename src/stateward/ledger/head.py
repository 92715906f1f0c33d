"""`HEAD`: the last line that is known to be durable, two slots of 32 bytes that are written in turn.

A slot is u64 seq, u64 size of the delta, u64 generation of the manifest, u32 CRC, 4 bytes of padding. The writer
overwrites one slot after each sync of the log and does not sync `HEAD` itself, which would double the cost of a commit;
so `HEAD` may lag behind, but a slot with a valid CRC never names a line that was not durable; and while one slot is
being written the other one is whole.

It is synced when it is new, with both slots, and before each replacement of the manifest. So beside a manifest there
never is a `HEAD` that was written two replacements ago, nor one from before the last line of the files that the
manifest calls complete. One that is so old was put back from a backup, or belongs to another time in some other way,
and says no more than none about where the log ended.
"""

import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from stateward.ledger.manifest import HEAD, Manifest

_SLOT = struct.Struct("<QQQI4x")
_SLOT_FIELDS, _SLOT_CRC = struct.Struct("<QQQ"), struct.Struct("<I4x")
HEAD_BYTES_MAX = 2 * _SLOT.size


class HeadSeen(NamedTuple):
    """What `HEAD` says: the last seq and the last generation of the manifest that were durable; zeros if unknown.

    `is_whole`: both slots can be read, and are not older than the manifest. What the other one said is unknown: perhaps
    of a later group.
    """

    seq: int
    generation: int
    is_whole: bool

    @property
    def is_unknown(self) -> bool:
        """Whether nothing says which lines were acknowledged."""
        return self.seq == self.generation == 0

    def beside(self, manifest: Manifest, folder: Path) -> "HeadSeen":
        """The same, not whole if it is older than a manifest that was read later."""
        # A writer may have replaced the manifest between the two looks: it counts what `HEAD` says after both.
        if _is_older(self, manifest) and _is_older(read_head(folder), manifest):
            return self._replace(is_whole=False)
        return self


def read_head(folder: Path) -> HeadSeen:
    """What `HEAD` says; it may lag behind, it never runs ahead. Read twice where a writer may be at a slot."""
    path = folder / HEAD
    try:
        found = head_of_text(path.read_bytes())
        return found if found.is_whole else head_of_text(path.read_bytes())
    except FileNotFoundError:
        return HeadSeen(0, 0, is_whole=False)


def _is_older(head: HeadSeen, manifest: Manifest) -> bool:
    if head.generation >= manifest.generation:
        return False
    return head.generation < manifest.generation - 1 or head.seq < manifest.active.first_seq - 1


def head_of_text(text: bytes) -> HeadSeen:
    """The greatest seq and the greatest generation in the slots of `HEAD` that are as they were written."""
    slots = []
    for at in (0, _SLOT.size):
        if len(text) >= at + _SLOT.size:
            seq, _size, generation, crc = _SLOT.unpack_from(text, at)
            if zlib.crc32(text[at : at + 24]) == crc:
                slots.append((seq, generation))
    seq, generation = (max(each) for each in zip(*slots, strict=True)) if slots else (0, 0)
    return HeadSeen(seq, generation, is_whole=len(slots) == 2)


def head_slot(*, seq: int, size: int, generation: int) -> bytes:
    """One of the two slots of `HEAD`."""
    fields = _SLOT_FIELDS.pack(seq, size, generation)
    return fields + _SLOT_CRC.pack(zlib.crc32(fields))
