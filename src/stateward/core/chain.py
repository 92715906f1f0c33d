"""The hash chain: how a transition is sealed, and how anyone can verify it.

Per record, every transition carries the hash of the one before it. The text that is hashed is a
compact JSON array, UTF-8, keys of objects sorted, of these values in this order:

    [prev_hash, record_id, machine, machine_version, source, target, version, event_id, at, actor,
     authority, epoch, attempt, trigger, metadata, record_hash]

Only quotes, backslashes and control characters are escaped, and numbers are written as Python's `json` writes them:
`json.dumps(values, separators=(",", ":"), sort_keys=True, ensure_ascii=False)` gives the same text, so that an
auditor needs no code of ours. `at` is RFC 3339 with microseconds; `prev_hash` of the first transition is 64 zeros;
the hash is the SHA-256 of that text in lower-case hex. `record_hash` is the SHA-256 of the record as the transition
left it (see `record_hash`), so that the last transition of a record also seals its present row.

Where a transition has a salt, `metadata` stands in the text as a commitment, the SHA-256 of the salt and of its own
JSON, and `record_hash` covers the salt too. So both can be erased, the values with their salts, and the hash can still
be computed from what stays: `metadata` is then `{"erased": commitment}`. Without the salt it cannot be found out by
guessing what was there. Transitions of former versions have none; if they are erased, the commitment is empty, and
nothing but the chain vouches for them.

The hash of a transition binds its own record's past only. What binds all records is the chain of their lane
(`core.lanes`), whose next value is made of this hash and the value before it.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from stateward.core.model import (
    Fields,
    Json,
    Record,
    Transition,
    to_iso,
)

GENESIS = "0" * 64  # stands for the hash before the first one
ERASED = "erased"  # the only key of metadata that was erased; its value is the commitment

# msgspec sorts keys and writes compact UTF-8 several times as fast as `json`, on a path that every transition takes.
_encode = msgspec.json.Encoder(order="deterministic").encode
_PLAIN = frozenset({str, int, bool, type(None)})


def seal(
    transition: Transition,
    record: Record,
    *,
    epoch: int,
    head: str | None = None,
    salt: str | None = None,
) -> tuple[Transition, Record]:
    """Chain `transition` to the record it changes; returns both with their hashes filled in.

    `head` is the hash of the transition before it, where the record does not carry it yet.
    """
    prev_hash, sealed_record = head or record.head or GENESIS, record_hash(record, salt)
    hash_ = _hash(
        transition, epoch=epoch, prev_hash=prev_hash, record_hash=sealed_record, salt=salt
    )
    sealed = replace(
        transition,
        epoch=epoch,
        prev_hash=prev_hash,
        record_hash=sealed_record,
        hash=hash_,
        salt=salt,
    )
    return sealed, replace(record, head=hash_)


def transition_hash(transition: Transition) -> str:
    """The hash that an untouched transition must carry."""
    t = transition
    return _hash(t, epoch=t.epoch, prev_hash=t.prev_hash, record_hash=t.record_hash, salt=t.salt)


def commitment(metadata: Fields, salt: str | None) -> str:
    """What stays of metadata when it is erased; empty where it had no salt."""
    if salt is None:
        return str(metadata[ERASED]) if metadata.keys() == {ERASED} else ""
    return _commitment(metadata, salt)


def is_erased(transition: Transition) -> bool:
    return transition.salt is None and transition.metadata.keys() == {ERASED}


def _commitment(metadata: Fields, salt: str) -> str:
    return sha256(salt.encode() + _encode(_as_json_writes(metadata))).hexdigest()


def _sealed_metadata(metadata: Fields, salt: str | None) -> Json | msgspec.Raw:
    if salt is not None:
        return _commitment(metadata, salt)
    return metadata[ERASED] if metadata.keys() == {ERASED} else _as_json_writes(metadata)


def _hash(t: Transition, *, epoch: int, prev_hash: str, record_hash: str, salt: str | None) -> str:
    text = _encode(
        (
            prev_hash,
            t.record_id,
            t.machine,
            t.machine_version,
            t.source,
            t.target,
            t.version,
            t.event_id,
            to_iso(t.at),
            t.actor,
            t.authority,
            epoch,
            t.attempt,
            t.trigger,
            _sealed_metadata(t.metadata, salt),
            record_hash,
        )
    )
    return sha256(text).hexdigest()


def record_hash(record: Record, salt: str | None = None) -> str:
    """The hash of everything in a record that only a transition may change, and of the salt of that transition.

    Left out is what dispatch and operators change without a transition (priority, rank, waiting, due_at, worker,
    asked_by), and `head`, which is the hash of the transition that contains this one.
    """
    r = record
    text = _encode(
        (
            r.id,
            r.machine,
            r.machine_version,
            r.status,
            r.version,
            to_iso(r.created_at),
            to_iso(r.entered_at),
            r.retry_count,
            None if r.last_retry_at is None else to_iso(r.last_retry_at),
            r.failed_from,
            r.error_code,
            r.error_message,
            r.rest,
            r.artifact,
            r.dedupe,
            r.replaces,
            _as_json_writes(r.labels),
            _as_json_writes(r.fields),
            r.outputs,
            *(() if salt is None else (salt,)),
        )
    )
    return sha256(text).hexdigest()


def _as_json_writes(values: Fields) -> Fields | msgspec.Raw:
    # msgspec and `json` differ in one thing, how they write floats (1e16 and 0.00001, but 1e+16 and 1e-05), and the
    # documented format is that of `json`. Floats are rare, so only values that hold one take the slow encoder.
    # Mostly there are none, and nearly always they are plain.
    if not values or _PLAIN.issuperset(map(type, values.values())):
        return values
    return msgspec.Raw(_slow_encoder()(values).encode()) if _has_fraction(values) else values


@cache
def _slow_encoder() -> Callable[[object], str]:
    from json import JSONEncoder  # which a command that reads records does without

    return JSONEncoder(
        separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False
    ).encode


def _has_fraction(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_has_fraction, value.values()))
    if isinstance(value, list):
        return any(map(_has_fraction, value))
    return isinstance(value, float)
