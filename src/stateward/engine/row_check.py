"""Compares the rows that no transition binds with the audit log.

Some have seals there (`storage.row_seals`). Holds, decisions about flags and keys are compared with the acts that made
them: a hold that is gone, a decision or a key that is another than was made, is found so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from stateward.core.model import Micros
from stateward.core.verify import Finding
from stateward.engine.flags import FlagAction, FlagDecision, stored_decisions
from stateward.storage.audit import (
    FLAG_DECIDED,
    HELD,
    HOLD_RELEASED,
    KEY_CREATED,
    KEY_REVOKED,
    KEY_SEAL,
    SEALED,
    AuditEntry,
    AuditLog,
)
from stateward.storage.database import Database
from stateward.storage.erasure import Erasures, Hold
from stateward.storage.keys import Keys
from stateward.storage.row_seals import DEAD_LETTERS, DISPOSITIONS, EDITIONS, ERASED
from stateward.storage.store import Store

Digests = Counter[tuple[str, str]]
NAMES = {
    DISPOSITIONS: "events that changed nothing",
    DEAD_LETTERS: "dead letters",
    EDITIONS: "editions",
}


def check_rows(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """Rows that were changed, deleted or doubled. Work may go on meanwhile.

    The seals are read before the rows and once more behind them: what came or went in between is in the second part.
    """
    head = audit.head().count
    written, erased = _seals(each for each in audit.walk(verb=SEALED) if (each.seq or 0) <= head)
    missing = written - erased
    unknown: list[tuple[str, str, str]] = []
    for kind, where, digest in store.row_digests():
        if missing[kind, digest] > 0:
            missing[kind, digest] -= 1
        else:
            unknown.append((kind, where, digest))
    written, erased = _seals(audit.walk(verb=SEALED, after=head))
    for kind, where, digest in unknown:
        if written[kind, digest] > 0:
            written[kind, digest] -= 1
        else:
            yield Finding(
                check="sealed", where=where, sentence="it was changed, doubled or invented"
            )
    for kind, name in NAMES.items():
        count = sum(number for (own, _), number in (missing - erased).items() if own == kind)
        if count:
            yield Finding(check="sealed", where=name, sentence=f"{count} were changed or deleted")


def check_acts(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """Holds, decisions about flags and keys that are not what the audit log says of them. Work may go on meanwhile.

    Row and entry are written together but read one after the other: what was done in between differs once, not twice.
    """
    found = list(_differences(store, audit))
    if found:
        again = set(_differences(store, audit))
        yield from (each for each in found if each in again)


def former_until(store: Store, audit: AuditLog) -> Micros:
    """Until when a version without a chained audit log may have written here; 0 if the store was made by a later one.

    With access to the database a row can be dated back, but no transition: their chain is that of checkpoints.
    """
    began, first = audit.chained_since(), store.log(limit=1)
    return began if began is not None and first and first[0].at < began else 0


def _differences(store: Store, audit: AuditLog) -> Iterator[Finding]:
    yield from _holds(store.database, audit)
    yield from _flag_decisions(store.database, audit)
    yield from _keys(store.database, audit, since=former_until(store, audit))


def _holds(database: Database, audit: AuditLog) -> Iterator[Finding]:
    said: dict[str, Hold] = {}
    for each in audit.acts(HELD, HOLD_RELEASED):
        said.pop(each.record_id, None)
        if each.verb == HELD:
            said[each.record_id] = Hold(
                record_id=each.record_id, at=each.at, actor=each.actor, reason=each.reason or ""
            )
    yield from _compare("hold", said, Erasures(database).holds())


def _flag_decisions(database: Database, audit: AuditLog) -> Iterator[Finding]:
    verbs = {f"{FLAG_DECIDED}{each}": each for each in get_args(FlagAction)}
    said = {
        each.record_id: FlagDecision(
            record_id=each.record_id,
            version=int(str(each.detail.get("version", 0))),
            actor=each.actor,
            action=verbs[each.verb],
            reason=each.reason,
            at=each.at,
        )
        for each in audit.acts(*verbs)
    }
    stored = {each.record_id: each for each in stored_decisions(database)}
    gone = [each for each in said if each not in stored]
    erased = set(gone) - set(Erasures(database).not_erased(gone)) if gone else set()
    own = {record_id: each for record_id, each in said.items() if record_id not in erased}
    yield from _compare("decision about its flags", own, stored)


def _keys(database: Database, audit: AuditLog, *, since: Micros) -> Iterator[Finding]:
    """Keys of the API. One that a version without an audit log made is in no entry of it."""
    made = {str(each.detail.get("key_id")): each for each in audit.acts(KEY_CREATED)}
    revoked = {str(each.detail.get("key_id")) for each in audit.acts(KEY_REVOKED)}
    stored = Keys(database).stored()
    for key, seal in stored:
        where, entry = f"key {key.id}", made.pop(key.id, None)
        if entry is None:
            if key.created_at >= since:
                yield Finding(
                    check="act", where=where, sentence="the audit log has no one who made it"
                )
            continue
        if entry.detail.get(KEY_SEAL, seal) != seal or entry.detail.get("role") != key.role:
            yield Finding(check="act", where=where, sentence="it is not the key that was made")
        if key.id in revoked and key.revoked_at is None:
            yield Finding(check="act", where=where, sentence="it was revoked, and is valid again")
    for key_id, entry in made.items():
        if "role" in entry.detail:  # else it is a credential of a worker
            yield Finding(check="act", where=f"key {key_id}", sentence="it was deleted")


def _compare(
    what: str, said: Mapping[str, object], stored: Mapping[str, object]
) -> Iterator[Finding]:
    for record_id in sorted({*said, *stored}):
        own, found = said.get(record_id), stored.get(record_id)
        if own == found:
            continue
        sentence = f"the {what} was changed"
        if found is None:
            sentence = f"the {what} was deleted"
        elif own is None:
            sentence = f"a {what} was invented"
        yield Finding(check="act", where=record_id, sentence=sentence)


def _seals(entries: Iterable[AuditEntry]) -> tuple[Digests, Digests]:
    """The digests that the audit log has of rows that were written, and of rows that were erased."""
    written, erased = Digests(), Digests()
    for entry in entries:
        for name, digests in entry.detail.items():
            kind = name.removeprefix(ERASED)
            found = erased if name != kind else written
            found.update(
                (kind, str(each)) for each in (digests if isinstance(digests, list) else ())
            )
    return written, erased
