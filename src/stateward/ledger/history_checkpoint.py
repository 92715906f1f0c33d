"""The checkpoint of a history: one root over the heads of all lanes, as a few lines of text, signed or not.

It is text in the form of C2SP tlog-checkpoint, like that of a ledger: origin, number of transitions, root in base64.
Below stand, as extension lines, the lanes that the root is made of, so that a history which has grown since can be
checked against it:

    stateward.local/history
    17
    8bIj4iFtmQ7CkR9Srrd4oz66w4KL3mGl3b8gw10DJS4=
    lane 0 12 5f0c…
    lane 1 5 9a31…
    audit 3 77c2…

A line is the number of a lane, how many transitions it has, and its head; `lane -1` is what was written before the
store had lanes. The last one is the same of the audit log; checkpoints of former versions have none. The root is that
of the Merkle tree (RFC 6962) whose leaves are the lines of the lanes in their order, and the signature covers all.

Nothing here touches a disk.
"""

import re
from collections.abc import Sequence

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.lanes import Lane
from stateward.ledger.checkpoints import CheckpointSigner, checkpoint_text, parse_checkpoint
from stateward.ledger.merkle import MerkleSpan, leaf_hash

HISTORY_ORIGIN = "stateward.local/history"
"""The name of a history that was not given one."""
_AUDIT = re.compile("audit (0|[1-9][0-9]{0,18}) ([0-9a-f]{64})")
_LANE = re.compile("lane (-1|0|[1-9][0-9]{0,8}) (0|[1-9][0-9]{0,18}) ([0-9a-f]{64})")


class HistoryCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was read: the lanes with their counts and heads, and the root over them in hex.

    `audit` is count and head of the audit log; None in a checkpoint of a former version.
    """

    origin: str
    count: int
    root: str
    lanes: tuple[Lane, ...]
    audit: tuple[int, str] | None = None


def lanes_root(lanes: Sequence[Lane]) -> bytes:
    """The root over the heads of these lanes, in their order."""
    span = MerkleSpan()
    for each in lanes:
        span.add(leaf_hash(_lane_line(each).encode()))
    return span.root()


def make_checkpoint(
    lanes: Sequence[Lane],
    *,
    audit: tuple[int, str] | None = None,
    origin: str = HISTORY_ORIGIN,
    signer: CheckpointSigner | None = None,
) -> str:
    """The text of a checkpoint of these lanes, and of an audit log with this count and head."""
    count = sum(each.count for each in lanes)
    text = checkpoint_text(origin, size=count, root=lanes_root(lanes))
    text += "".join(f"{_lane_line(each)}\n" for each in lanes)
    if audit is not None:
        text += f"audit {audit[0]} {audit[1]}\n"
    return text if signer is None else signer.sign(text)


def read_checkpoint(text: str) -> HistoryCheckpoint:
    """A checkpoint from its text; refused if its lines do not fit its root. Signatures are not checked."""
    origin, count, root = parse_checkpoint(text)
    lines = text.partition("\n\n")[0].rstrip("\n").split("\n")[3:]
    audit = _AUDIT.fullmatch(lines[-1]) if lines else None
    found = [_LANE.fullmatch(line) for line in (lines[:-1] if audit else lines)]
    lanes = tuple(
        Lane(lane=int(each[1]), count=int(each[2]), head=each[3])
        for each in found
        if each is not None
    )
    if not lanes or len(lanes) < len(found):
        raise InvalidRequest("this is no checkpoint of a history: it does not name its lanes")
    if lanes_root(lanes) != root or sum(each.count for each in lanes) != count:
        raise InvalidRequest("this checkpoint was changed: its lanes do not give its root")
    return HistoryCheckpoint(
        origin=origin,
        count=count,
        root=root.hex(),
        lanes=lanes,
        audit=None if audit is None else (int(audit[1]), audit[2]),
    )


def _lane_line(lane: Lane) -> str:
    return f"lane {lane.lane} {lane.count} {lane.head}"
