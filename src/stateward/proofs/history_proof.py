"""The proof that one checkpoint's history has grown from another's: checked with the two checkpoints and nothing else.

It is a JSON object: `format`, and `logs`, where each lane and the audit log (`audit`) has a consistency proof of
RFC 9162, 2.1.4, between the two roots that the checkpoints name as its `tree`:

    {"format": "stateward.consistency/1",
     "logs": {"0": {"old": 12, "new": 1712, "path": ["base64", …]}, "audit": {"old": 3, "new": 9, "path": […]}}}

It has a few dozen hashes, however long the history is. Nothing here touches a disk.
"""

import base64
from collections.abc import Iterator, Mapping

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.lanes import FORMER
from stateward.proofs.history_checkpoint import HistoryCheckpoint, log_name
from stateward.proofs.merkle import HASH_BYTES, ConsistencyProof, is_consistent

FORMAT = "stateward.consistency/1"
_PATH_MAX = 128
"""A tree of 2**64 leaves has no longer path."""


class HistoryProof(msgspec.Struct, frozen=True, kw_only=True):
    """A consistency proof for each log, by its name."""

    format: str = FORMAT
    logs: Mapping[str, ConsistencyProof]


def proof_text(proof: HistoryProof) -> str:
    """The proof as a file."""
    return msgspec.json.format(msgspec.json.encode(proof), indent=1).decode() + "\n"


def read_proof(text: str) -> HistoryProof:
    """A proof from its text; refused if it has not the form of one."""
    try:
        found = msgspec.json.decode(text, type=HistoryProof, strict=True)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidRequest(f"this is no proof of consistency: {error}") from error
    if found.format != FORMAT:
        raise InvalidRequest(f"this is no proof of consistency: its format is not {FORMAT}")
    for name, each in found.logs.items():
        if len(each.path) > _PATH_MAX or not all(map(_is_hash, each.path)):
            raise InvalidRequest(
                f"this is no proof of consistency: the path of {name!r:.40} is not made of hashes"
            )
    return found


def _is_hash(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == HASH_BYTES
    except ValueError:
        return False


def inconsistencies(
    old: HistoryCheckpoint, new: HistoryCheckpoint, proof: HistoryProof
) -> Iterator[str]:
    """Why the proof does not show that the history of `new` has grown from that of `old`; nothing if it does."""
    if old.origin != new.origin:
        yield f"the checkpoints are of two histories: {old.origin} and {new.origin}"
    if old.sizes.keys() != new.sizes.keys():
        yield "the checkpoints are of histories with other lanes"
        return
    for log, count in old.sizes.items():
        name = log_name(log)
        given, size = proof.logs.get(name), new.sizes[log]
        if given is None or (given.old, given.new) != (count, size):
            yield f"log {name}: the proof is not about {count} and {size} entries"
        elif log == FORMER and count != size:
            yield f"log {name}: it is closed, and has grown"
        elif count == size and old.heads[log] != new.heads[log]:
            # The trees alone are proved. A lane that has not grown must also end as it did.
            yield f"log {name}: it has as many entries as then, and another head"
        elif not is_consistent(
            given,
            old_root=bytes.fromhex(old.trees[log]),
            new_root=bytes.fromhex(new.trees[log]),
        ):
            yield f"log {name}: its first {count} entries are not those of the old checkpoint"
