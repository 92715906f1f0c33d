"""What one consumer knows of a partition of Kafka: which messages are settled, which are out, how often each was.

Kafka remembers one position for a partition. Messages are finished in any order, so what is finished above the position
travels as text in its metadata, with what is under way and how often that was delivered: the member that gets the
partition next skips the one and counts the other. Pure: nothing here talks to a broker.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Annotated

import msgspec

# Between the position and the highest message that is out. Two bits for each must fit into the 4096 bytes that a broker
# takes as metadata (`offset.metadata.max.bytes`).
WINDOW = 4096
METADATA_BYTES_MAX = 4000


class _Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bit n stands for the message n places above the position. `n`: deliveries, where they are more than one."""

    d: str = ""
    out: str = ""
    n: dict[str, Annotated[int, msgspec.Meta(ge=2, le=1_000_000)]] = {}


class PartitionOffsets:
    """The messages of a partition from its position on. `position` is None until the first message is seen."""

    def __init__(self, position: int | None = None, metadata: str | None = None) -> None:
        self.position = position
        self._settled = 0
        self._counts: dict[int, int] = {}
        self._next = position
        if position is not None and metadata:
            self._read(position, metadata)

    def _read(self, position: int, metadata: str) -> None:
        try:
            found = msgspec.json.decode(metadata, type=_Metadata)
            settled, out = _bits(found.d), _bits(found.out)
            counts = {int(key): count for key, count in found.n.items()}
        except (ValueError, NotBase64):
            return  # of another program, or another version: then all above the position comes again
        self._settled = settled
        self._counts = {
            position + place: counts.get(place, 1)
            for place in range(out.bit_length())
            if out >> place & 1
        }
        self._advance()

    def arrive(self, offset: int) -> bool:
        """A message has been fetched; whether it is to be delivered."""
        if self.position is None or self._next is None:
            self.position = self._next = offset
        if offset < self._next:
            return False  # fetched again
        if offset > self._next:  # the log has no such messages, or no longer
            self._settled |= ((1 << offset - self._next) - 1) << self._next - self.position
            self._advance()
        self._next = offset + 1
        return not self._is_settled(offset)

    def deliver(self, offset: int) -> int:
        """A message goes out; how often it has, this time included."""
        self._counts[offset] = self._counts.get(offset, 0) + 1
        return self._counts[offset]

    def withhold(self, offset: int) -> None:
        """A message that was about to go out did not."""
        self._counts[offset] -= 1
        if not self._counts[offset]:
            del self._counts[offset]

    def settle(self, offset: int) -> None:
        """A message is finished with."""
        self._counts.pop(offset, None)
        if self.position is None or offset < self.position:
            return
        self._settled |= 1 << offset - self.position
        self._advance()

    def is_beyond_window(self, offset: int) -> bool:
        """Whether so much is unfinished below this message that it has to wait."""
        return self.position is not None and offset - self.position >= WINDOW

    def metadata(self) -> str:
        """What is known above the position."""
        base = self.position or 0
        out, many = 0, {}
        for offset, count in self._counts.items():
            out |= 1 << offset - base
            if count > 1:
                many[str(offset - base)] = count
        text = _encode(_Metadata(d=_text(self._settled), out=_text(out), n=many))
        if (
            len(text) > METADATA_BYTES_MAX
        ):  # counts of poison can wait; what is finished must not be forgotten
            text = _encode(_Metadata(d=_text(self._settled), out=_text(out)))
        return text

    def _is_settled(self, offset: int) -> bool:
        base = self.position or 0
        return offset < base or bool(self._settled >> offset - base & 1)

    def _advance(self) -> None:
        """Move the position over what is settled without a gap."""
        if self.position is None:
            return
        # The lowest zero bit: adding one carries through all ones below it.
        count = (self._settled + 1 & ~self._settled).bit_length() - 1
        self._settled >>= count
        self.position += count


def settled_above(metadata: str | None) -> int:
    """How many messages above a committed position are settled."""
    try:
        return _bits(msgspec.json.decode(metadata or "{}", type=_Metadata).d).bit_count()
    except (ValueError, NotBase64):
        return 0


def _bits(text: str) -> int:
    return int.from_bytes(b64decode(text, validate=True), "little")


def _text(bits: int) -> str:
    return b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()


def _encode(found: _Metadata) -> str:
    return msgspec.json.encode(found).decode()
