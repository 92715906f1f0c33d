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
    tree 0 c41b…
    tree 1 02e7…
    tree audit 9d50…

A line is the number of a lane, how many transitions it has, and its head; `lane -1` is what was written before the
store had lanes. `audit` is the same of the audit log. A line `tree` is the root of the Merkle tree over the hashes of
the transitions of a lane, or of the entries of the audit log, as text in their order: by them it can be proved that
one history has grown from another without reading either (`history_proof`). The root is that of the Merkle
tree (RFC 6962) whose leaves are the lines of the lanes in their order, and the signature covers all.

Nothing here touches a disk.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.lanes import Lane
from stateward.proofs.checkpoints import CheckpointSigner, checkpoint_text, parse_checkpoint
from stateward.proofs.merkle import MerkleSpan, leaf_hash

HISTORY_ORIGIN = "stateward.local/history"
"""The name of a history that was not given one."""
AUDIT = -2
"""The audit log among the trees, whose others are numbered as their lanes."""
_AUDIT = re.compile("audit (0|[1-9][0-9]{0,18}) ([0-9a-f]{64})")
_LANE = re.compile("lane (-1|0|[1-9][0-9]{0,8}) (0|[1-9][0-9]{0,18}) ([0-9a-f]{64})")
_TREE = re.compile("tree (audit|-1|0|[1-9][0-9]{0,8}) ([0-9a-f]{64})")
_AUDIT_NAME = "audit"


class HistoryCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was read: the lanes with their counts and heads, and the root over them in hex.

    `audit` is count and head of the audit log, None where none was read; `trees` are the roots of the trees over the
    lanes and the audit log, in hex.
    """

    origin: str
    count: int
    root: str
    lanes: tuple[Lane, ...]
    audit: tuple[int, str] | None = None
    trees: Mapping[int, str]

    @property
    def sizes(self) -> dict[int, int]:
        """How long each lane is, and the audit log."""
        sizes = {each.lane: each.count for each in self.lanes}
        return sizes if self.audit is None else {**sizes, AUDIT: self.audit[0]}

    @property
    def heads(self) -> dict[int, str]:
        """How each lane ends, and the audit log."""
        heads = {each.lane: each.head for each in self.lanes}
        return heads if self.audit is None else {**heads, AUDIT: self.audit[1]}


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
    trees: Mapping[int, str],
    signer: CheckpointSigner | None = None,
) -> str:
    """The text of a checkpoint of these lanes, of an audit log with this count and head, and of the trees over both."""
    count = sum(each.count for each in lanes)
    text = checkpoint_text(HISTORY_ORIGIN, size=count, root=lanes_root(lanes))
    text += "".join(f"{_lane_line(each)}\n" for each in lanes)
    if audit is not None:
        text += f"audit {audit[0]} {audit[1]}\n"
    text += "".join(f"tree {log_name(log)} {root}\n" for log, root in trees.items())
    return text if signer is None else signer.sign(text)


def read_checkpoint(text: str) -> HistoryCheckpoint:
    """A checkpoint from its text; refused if its lines do not fit its root. Signatures are not checked."""
    origin, count, root = parse_checkpoint(text)
    lines = text.partition("\n\n")[0].rstrip("\n").split("\n")[3:]
    lanes = [
        Lane(lane=int(each[1]), count=int(each[2]), head=each[3])
        for each in map(_LANE.fullmatch, lines)
        if each is not None
    ]
    audit = _AUDIT.fullmatch(lines[len(lanes)]) if len(lines) > len(lanes) else None
    further = list(map(_TREE.fullmatch, lines[len(lanes) + (audit is not None) :]))
    trees = {_log_number(each[1]): each[2] for each in further if each is not None}
    if not lanes or len(trees) < len(further):
        raise InvalidRequest("this is no checkpoint of a history: it does not name its lanes")
    if lanes_root(lanes) != root or sum(each.count for each in lanes) != count:
        raise InvalidRequest("this checkpoint was changed: its lanes do not give its root")
    found = HistoryCheckpoint(
        origin=origin,
        count=count,
        root=root.hex(),
        lanes=tuple(lanes),
        audit=None if audit is None else (int(audit[1]), audit[2]),
        trees=trees,
    )
    if found.trees.keys() != found.sizes.keys():
        raise InvalidRequest("this checkpoint was changed: it has not a tree for each of its logs")
    return found


def log_name(log: int) -> str:
    """The number of a lane, or `audit`."""
    return _AUDIT_NAME if log == AUDIT else f"{log}"


def _log_number(name: str) -> int:
    return AUDIT if name == _AUDIT_NAME else int(name)


def _lane_line(lane: Lane) -> str:
    return f"lane {lane.lane} {lane.count} {lane.head}"
