"""Compares the rows that no transition binds with the audit log.

Most have seals there (`storage.row_seals`). Holds, decisions about flags and keys are compared with the acts that made
them: a hold that is gone, a decision or a key that is another than was made, is found so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import get_args

from stateward.core.chain import is_erased
from stateward.core.erasure import RECORD_ERASED
from stateward.core.model import (
    PRIORITY,
    PRIORITY_NORMAL,
    SECOND,
    Json,
    Micros,
    Record,
    Transition,
    plural,
)
from stateward.core.verify import Finding, lane_name
from stateward.engine.flags import FlagAction, FlagDecision, stored_decisions
from stateward.storage.audit import (
    ANCHORED,
    COORDINATOR_STARTED,
    FLAG_DECIDED,
    HELD,
    HOLD_RELEASED,
    KEY_CREATED,
    KEY_REVOKED,
    KEY_SEAL,
    PRIORITY_SET,
    SEALED,
    SEALING_BEGAN,
    AuditEntry,
    AuditLog,
)
from stateward.storage.database import Database
from stateward.storage.dead_letters import NUMBER_MAX
from stateward.storage.erasure import Erasures, Hold
from stateward.storage.keys import Keys
from stateward.storage.row_seals import (
    DEAD_LETTERS,
    DISPOSITIONS,
    EDITIONS,
    EPOCHS,
    ERASED,
    FORMER_ACTS,
    KINDS_OF_ROWS,
    PRIORITIES,
    began_at,
    sealing_began,
    stored_digests,
)
from stateward.storage.store import Store

Digests = Counter[tuple[str, str]]
ERASING_MAX: Micros = 3600 * SECOND  # the longest transaction of an erasure
_CHUNK = 1000  # acts of one look at their records
_NUMBERED = {
    "transitions": ("seq",),
    "audit_log": ("id", "seq"),
    "dispositions": ("id",),
    "dead_letters": ("id",),
}
"""Tables whose rows the database numbers from 1 on, and the columns with these numbers."""
NAMES = {
    DISPOSITIONS: "events that changed nothing",
    DEAD_LETTERS: "dead letters",
    EDITIONS: "editions",
    "acknowledged": "acknowledgements of errors",
    "api_keys": "keys",
    "lanes": "moments from which on there are lanes",
    "machines": "machines",
    "pauses": "pauses",
    "pending_decisions": "pending decisions",
    "review_links": "approver links",
    "webhooks": "webhooks",
    "worker_keys": "credentials of workers",
    FORMER_ACTS: "acts of a former version",
}


def check_rows(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """Rows that were changed, deleted or doubled. Work may go on meanwhile.

    The seals are read before the rows and once more behind them: what came or went in between is in the second part.
    """
    head = audit.head().count
    began = began_at(sealing_began(audit))
    entries = (each for each in audit.walk(verb=SEALED) if (each.seq or 0) <= head)
    written, erased = seals_of(entries, began)
    missing = written - erased
    unknown: list[tuple[str, str, str]] = []
    for kind, where, digest in stored_digests(store.database):
        if kind not in began:
            continue
        if missing[kind, digest] > 0:
            missing[kind, digest] -= 1
        else:
            unknown.append((kind, where, digest))
    written, erased = seals_of(audit.walk(verb=SEALED, after=head), began)
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


def check_erasures(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """Rows that the audit log calls erased where no record was erased then or later.

    Who can append to the log of acts could else delete such rows by saying so. An erasure is a transition of a record,
    in the transaction of that entry: its time is that of the entry or shortly before, or later if a clock went back.
    """
    kinds = {f"{ERASED}{kind}" for kind in KINDS_OF_ROWS}
    entries = [each for each in audit.walk(verb=SEALED) if kinds & each.detail.keys()]
    if not entries:
        return
    sql = "SELECT max(at) FROM transitions WHERE trigger = :trigger"
    ((newest,),) = store.database.rows(sql, trigger=RECORD_ERASED)
    for each in entries:
        if newest is None or int(newest) < each.at - ERASING_MAX:
            sentence = "it calls rows erased, and no record was erased then or since"
            yield Finding(check="sealed", where=f"audit log {each.seq}", sentence=sentence)


def check_numbers(database: Database) -> Iterator[Finding]:
    """Rows with numbers that come before all others. Readers begin at the first, and so would not see them."""
    for table, columns in _NUMBERED.items():
        for column in columns:
            ((count,),) = database.rows(f"SELECT count(*) FROM {table} WHERE {column} < 1")
            if count:
                sentence = f"{plural(int(count), 'row')} with a number below 1: they were planted"
                yield Finding(check="order", where=table, sentence=sentence)
    if database.rows("SELECT 1 FROM records WHERE id = ''"):
        yield Finding(check="order", where="records", sentence="a record without an id was planted")


def check_beginning(store: Store, audit: AuditLog) -> Iterator[Finding]:
    """An audit log that was deleted is begun anew at the next start, and would vouch for whatever was found then.

    Versions that salt transitions begin it before the first of these, and those before them left none with a salt.
    """
    first = next(iter(audit.walk(verb=SEALING_BEGAN)), None)
    sealed = next(iter(audit.walk(verb=SEALED)), None)
    if first is not None and sealed is not None and (sealed.seq or 0) < (first.seq or 0):
        return  # a version that sealed the first kinds did not say since when
    last = NUMBER_MAX if first is None else _number(first, "log", 0)
    salted = "SELECT 1 FROM transitions WHERE seq <= :last AND salt IS NOT NULL LIMIT 1"
    if store.database.rows(salted, last=last):
        anew = "" if first is None else f", and begun anew after transition {last}"
        sentence = f"its beginning is gone: it was deleted{anew}"
        yield Finding(check="audit", where="audit log", sentence=sentence)


def began_after(audit: AuditLog | None, kind: str) -> int:
    """The number of the last transition before rows of this kind were sealed; none has a higher one where none are."""
    entry = None if audit is None else sealing_began(audit).get(kind)
    return NUMBER_MAX if entry is None else _number(entry, "log", NUMBER_MAX)


def log_marks(audit: AuditLog, *, until: int) -> dict[int, str]:
    """Hashes that transitions had, by their numbers, as entries of the audit log up to this one say."""
    found: dict[int, str] = {}
    for verb in (SEALING_BEGAN, COORDINATOR_STARTED, ANCHORED):
        for entry in audit.walk(verb=verb):
            if "hash" in entry.detail and (entry.seq or 0) <= until:
                found[_number(entry, "log", 0)] = str(entry.detail["hash"])
    return found


def check_epochs(store: Store, audit: AuditLog, *, newest: int) -> Iterator[Finding]:
    """Each start of a coordinator is announced before it is counted, so there are no more than announcements.

    One that died in between is announced and not counted. `newest` is the highest epoch of a transition. Another may
    start meanwhile: the lanes are read before the last announcements, and after those that they must have counted.
    """
    began = sealing_began(audit).get(EPOCHS)
    if began is None:
        return
    head, lanes = audit.head().count, store.lanes.all()
    starts = list(audit.walk(verb=COORDINATOR_STARTED, after=began.seq or 0))
    before = [each for each in starts if (each.seq or 0) <= head]
    least = max(newest, *(_number(each, "epoch", 0) for each in (began, *before)))
    most = _number(began, "epoch", 0) + len(starts)
    for lane in lanes:
        if not least <= lane.epoch <= most or lane.epoch != lanes[0].epoch:
            sentence = f"it counts {lane.epoch} starts of coordinators, the audit log {most}"
            yield Finding(check="epoch", where=lane_name(lane.lane), sentence=sentence)


def _number(entry: AuditEntry, name: str, default: int) -> int:
    found = entry.detail.get(name, default)
    return (
        found if isinstance(found, int) else default
    )  # else it was changed, which the chain shows


class PriorityCheck:
    """Compares the priorities of records with the first transition of each, and with the acts that changed them since.

    Of a record that is older than these seals only the acts are known.
    """

    def __init__(self, store: Store, audit: AuditLog) -> None:
        self._store, self._audit = store, audit
        self._since = began_after(audit, PRIORITIES)

    def check(self, record: Record | None, history: Sequence[Transition]) -> Iterator[Finding]:
        """A record that has another priority than it began with must have got it by an act."""
        first = history[0] if history else None
        if record is None or first is None or first.seq <= self._since or is_erased(first):
            return
        initial = first.metadata.get(PRIORITY, PRIORITY_NORMAL)
        if record.priority != initial:
            yield from self._differences(record.id, initial)

    def of_acts(self) -> Iterator[Finding]:
        """A record whose priority was changed by acts must have that of the last one."""
        acts = self._audit.acts(PRIORITY_SET)
        while chunk := {each.record_id: each.detail.get("to") for each in islice(acts, _CHUNK)}:
            stored = self._store.load(chunk)
            for record_id in sorted(chunk):
                if record_id in stored and stored[record_id].priority != chunk[record_id]:
                    yield from self._differences(record_id, None)

    def _differences(self, record_id: str, initial: Json) -> Iterator[Finding]:
        # Row and entry are read one after the other: an act in between differs once, not twice.
        if self._is_other(record_id, initial) and self._is_other(record_id, initial):
            sentence = "its priority is not that of the last act, or of its submission"
            yield Finding(check="act", where=record_id, sentence=sentence)

    def _is_other(self, record_id: str, initial: Json) -> bool:
        record = self._store.load([record_id]).get(record_id)
        acts = self._audit.entries(record_id=record_id, verb=PRIORITY_SET, limit=1)
        wanted = acts[0].detail.get("to") if acts else initial
        return record is not None and wanted not in (None, record.priority)


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
    began, first = audit.chained_since(), store.log.read(limit=1)
    return began if began is not None and first and first[0].at < began else 0


def _differences(store: Store, audit: AuditLog) -> Iterator[Finding]:
    yield from _holds(store.database, audit)
    yield from _flag_decisions(store.database, audit)
    yield from _keys(store.database, audit, since=former_until(store, audit))


def _holds(database: Database, audit: AuditLog) -> Iterator[Finding]:
    holds: dict[str, Hold] = {}
    for each in audit.acts(HELD, HOLD_RELEASED):
        holds.pop(each.record_id, None)
        if each.verb == HELD:
            holds[each.record_id] = Hold(
                record_id=each.record_id, at=each.at, actor=each.actor, reason=each.reason or ""
            )
    yield from _compare("hold", holds, Erasures(database).holds())


def _flag_decisions(database: Database, audit: AuditLog) -> Iterator[Finding]:
    verbs = {f"{FLAG_DECIDED}{each}": each for each in get_args(FlagAction)}
    decisions = {
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
    gone = [each for each in decisions if each not in stored]
    erased = set(gone) - set(Erasures(database).not_erased(gone)) if gone else set()
    own = {record_id: each for record_id, each in decisions.items() if record_id not in erased}
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


def seals_of(entries: Iterable[AuditEntry], began: Mapping[str, int]) -> tuple[Digests, Digests]:
    """The digests that the audit log has of rows that were written, and of rows that are gone.

    What was written before its kind was sealed as a whole is in that seal once more, and counts there.
    """
    written, erased = Digests(), Digests()
    for entry in entries:
        for name, digests in entry.detail.items():
            kind = name.removeprefix(ERASED)
            if (entry.seq or 0) < began.get(kind, NUMBER_MAX):
                continue
            found = erased if name != kind else written
            found.update(
                (kind, str(each)) for each in (digests if isinstance(digests, list) else ())
            )
    return written, erased
