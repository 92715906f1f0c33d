"""Every exception that Stateward raises on purpose, in one tree.

    StatewardError
    ├── DeclarationError         a machine or a settings file is wrong; holds every fault found
    ├── UnknownName              a machine, record, state, stage, priority or event type that does not exist
    ├── InvalidRequest           a value given to the API, CLI or Python interface that cannot be right
    │   └── MissingLabels        a document needs labels that were not given; holds them
    ├── InvalidTransition        the machine has no such transition from here; nothing was written
    ├── ConcurrentModification   another writer changed the record first; nothing was written
    ├── ReviewTaken              another person has claimed the review, or has decided it
    ├── ReviewRefused            this person may not give this answer to the review
    ├── InvalidCorrection        a reviewer's values that cannot be right; holds a sentence for each field
    ├── StoreError               the database cannot be used
    │   ├── StoreUnreachable     it does not answer, or cannot be opened
    │   │   ├── StoreOvertaken   another writer changed what was relied on; nothing was written
    │   │   └── ArtifactsUnreachable   object storage does not answer, or refuses its credentials or bucket
    │   ├── StoreFull            the disk is full; nothing half-written, and waiting may help
    │   │   └── StoreBroken      a write or sync failed: what the disk holds is unknown until the store is reopened
    │   ├── StoreMismatch        a newer Stateward made it, or another program did
    │   │   └── StoreOutdated    an older version made it, and this login may not migrate it
    │   └── SecretUnreadable     a sealed secret was changed, or its key is not here
    ├── TransportError           messages between coordinators and workers cannot be carried
    │   ├── TransportUnreachable its server does not answer
    │   └── TransportFull        a stream has its most unsettled messages: what publishes has to wait
    ├── MissingExtra             an optional dependency is not installed; names the command that installs it
    ├── ArtifactError            bytes that cannot be stored or found
    │   └── ArtifactChanged      bytes that are not those that were stored under their name
    ├── LedgerError              the ledger cannot be used as it is
    │   ├── LedgerLocked         another process writes to it; holds its pid
    │   ├── LedgerDamaged        acknowledged bytes are gone or changed; holds every finding
    │   ├── LedgerMismatch       not a ledger, one of a newer version, or one of another machine
    │   └── LedgerPoisoned       a write or a sync failed; close it and reopen it
    └── StageFailure             raised by runners: the attempt failed
        ├── TransientFailure     worth another try right away (I/O, network, 429, 5xx)
        └── FatalFailure         no retry can cure it

Expected outcomes are values (`Applied`, `Ignored`), never exceptions. A message says what is wrong, with which thing,
and what to do next.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial

import msgspec

NAMES_SHOWN_MAX = 12
"""Of more names than that, a message shows only those that a misspelt one is near to, if there are any."""


def near_names(name: str, known: Iterable[str]) -> str:
    """The end of a message: which names that exist a misspelt one may mean; empty if it is near to none."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), list(known), n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def known_names(name: str, known: Iterable[str]) -> str:
    """The end of a message: what an unknown name may mean, and what there is unless that would be a long list."""
    there = sorted(known)
    if not there:
        return ""
    near = near_names(name, there)
    if near and len(there) > NAMES_SHOWN_MAX:
        return near
    return f"{near}{'' if near else ';'} there are: {', '.join(there)}"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake in a declaration: where it is and what must be true there."""

    source: str
    line: int
    path: str
    sentence: str

    def __str__(self) -> str:
        """`file:line: path: sentence`, as compilers print it; line 0 is a value that comes from no file."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        return ": ".join(part for part in (place, self.path, self.sentence) if part)


class StatewardError(Exception):
    """The root: anything this package raises on purpose."""


class DeclarationError(StatewardError):
    """A declaration was refused; `faults` holds every reason, each with its file and line."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        """Every fault on a line of its own."""
        return "\n".join(str(fault) for fault in self.faults)


class UnknownName(StatewardError):
    """Nothing has this name; the message says what was probably meant, or lists what exists."""

    def __init__(self, what: str, name: str, known: Iterable[str] = ()) -> None:
        self.what = what
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f"there is no {what} {name!r}{known_names(name, self.known)}")


class InvalidRequest(StatewardError):
    """A request holds a value that cannot be right."""


class MissingLabels(InvalidRequest):
    """A document of this kind cannot be processed without labels that were not given; `labels` says which and why."""

    def __init__(self, title: str, labels: Mapping[str, str]) -> None:
        self.labels = dict(labels)
        reasons = "; ".join(f"{name} ({why})" for name, why in self.labels.items())
        super().__init__(f"{title}: give the label {reasons}")


class InvalidTransition(StatewardError):
    """The machine has no such transition from where the record is; nothing was written."""

    def __init__(
        self, record_id: str, *, expected: str, found: str, allowed: Iterable[str]
    ) -> None:
        self.record_id = record_id
        self.expected = expected
        self.found = found
        self.allowed = tuple(allowed)
        ways = ", ".join(self.allowed) or "nothing"
        super().__init__(
            f"{record_id}: {expected} is not possible from {found!r}; possible from there: {ways}"
        )


class ConcurrentModification(StatewardError):
    """Another writer changed the record first; nothing was written. Read it again and retry."""

    def __init__(self, record_id: str, *, expected: int | None) -> None:
        self.record_id = record_id
        self.expected = expected
        super().__init__(
            f"{record_id} is no longer at version {expected}: it was changed meanwhile; "
            "read it again and repeat the request if it still makes sense"
        )


class ReviewTaken(StatewardError):
    """Another person has claimed the review (until `until`) or decided it (`until` is None)."""

    def __init__(self, record_id: str, *, by: str, sentence: str, until: str | None) -> None:
        self.record_id = record_id
        self.by = by
        self.until = until
        super().__init__(f"{record_id}: {sentence}")


class ReviewRefused(StatewardError):
    """This person may not give this answer to the review."""


class InvalidCorrection(StatewardError):
    """A reviewer's values that cannot be right; `faults` holds (field, sentence), one each."""

    def __init__(self, record_id: str, faults: Iterable[tuple[str, str]]) -> None:
        self.record_id = record_id
        self.faults = tuple(faults)
        # A sentence of a pipeline may begin with the field already.
        sentences = "; ".join(
            sentence if re.match(rf"{re.escape(field)}\b", sentence) else f"{field}: {sentence}"
            for field, sentence in self.faults
        )
        super().__init__(f"{record_id} cannot be accepted like this: {sentences}")


class MissingExtra(StatewardError, ImportError):
    """A module of an optional dependency is not installed; `extras` are those of ours that bring it."""

    def __init__(self, module: str, extras: Iterable[str]) -> None:
        self.module = module
        self.extras = tuple(extras)
        first, *others = self.extras
        also = f" (or: {', '.join(others)})" if others else ""
        super().__init__(
            f"the package {module!r} is not installed; install it with: pip install 'stateward[{first}]'{also}"
        )


class StoreError(StatewardError):
    """The database cannot be used as it is."""


class StoreUnreachable(StoreError):
    """The database does not answer or cannot be opened."""


class StoreOvertaken(StoreUnreachable):
    """Another writer changed what was relied on; nothing is written, and it may be done again at once."""


class ArtifactsUnreachable(StoreUnreachable):
    """Object storage does not answer, or refuses the credentials or the bucket; waiting or an operator may help."""


class StoreFull(StoreError):
    """The disk is full; what was not acknowledged is not written."""


class StoreBroken(StoreFull):
    """The disk failed during a write or a sync.

    After a failed fsync the kernel may have dropped the dirty pages, so a later success proves nothing: the process
    must end, and the next one finds out what the disk really holds.
    """


class StoreMismatch(StoreError):
    """The file or database is not one that this version can use."""


class StoreOutdated(StoreMismatch):
    """The database is of an older version, or still empty, and this connection may not migrate it."""


class SecretUnreadable(StoreError):
    """A secret that is stored encrypted was changed, or the key that it was sealed with is not here."""


class TransportError(StatewardError):
    """Messages between coordinators and workers cannot be carried."""


class TransportUnreachable(TransportError):
    """Its server does not answer. Nothing is lost: what was not published is published later."""


class TransportFull(TransportError):
    """A stream holds as many unsettled messages as it may; its consumers have to catch up first."""


class ArtifactError(StatewardError):
    """Bytes that cannot be stored, or are not where they should be."""


class ArtifactChanged(ArtifactError):
    """Bytes that are not those that were stored under their name."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"artifact {digest} was changed since it was stored: its bytes have another SHA-256; restore it"
        )


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong in a ledger: the file, the byte, the record it concerns, and what it means."""

    file: str
    sentence: str
    byte: int | None = None
    seq: int | None = None

    def __str__(self) -> str:
        """Like `delta-2025-10-04.jsonl, byte 812, seq 4: the line does not match its hash`."""
        place = [self.file]
        if self.byte is not None:
            place.append(f"byte {self.byte}")
        if self.seq is not None:
            place.append(f"seq {self.seq}")
        return f"{', '.join(place)}: {self.sentence}"


class LedgerError(StatewardError):
    """The ledger cannot be used as it is."""


class LedgerLocked(LedgerError):
    """Another process is the writer; `pid` is None when the lock file does not say who."""

    def __init__(self, path: str, *, pid: int | None, host: str = "") -> None:
        self.pid = pid
        who = f"process {pid}" + (f" on {host}" if host else "") if pid else "another process"
        self._said = (path, pid, host)
        super().__init__(f"{path} is being written by {who}; it can be read meanwhile")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by arguments: an exception with keyword arguments is otherwise lost between processes."""
        path, pid, host = self._said
        return partial(LedgerLocked, pid=pid, host=host), (path,)


class LedgerDamaged(LedgerError):
    """Acknowledged bytes are gone or changed; `findings` says which, `advice` what can be done."""

    def __init__(
        self, findings: Iterable[Damage], advice: str = "`ledger repair` shows what can be done"
    ) -> None:
        self.findings, self.advice = tuple(findings), advice
        sentences = "; ".join(str(finding) for finding in self.findings)
        super().__init__(f"{sentences}. Nothing was changed; {advice}")

    @classmethod
    def at(
        cls, file: str, sentence: str, *, byte: int | None = None, seq: int | None = None
    ) -> "LedgerDamaged":
        """One damage, in one place."""
        return cls([Damage(file=file, sentence=sentence, byte=byte, seq=seq)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by arguments: an exception with keyword arguments is otherwise lost between processes."""
        return type(self), (self.findings, self.advice)


class LedgerMismatch(LedgerError):
    """The directory is not a ledger that this version can use, opened in this way."""


class LedgerPoisoned(LedgerError):
    """A write or a sync failed, so what the disk holds is unknown until the ledger is reopened."""


class StageFailure(StatewardError):
    """An attempt at a stage failed; the machine's retry rule says what comes next.

    `retry_after_s`: how long the outside world asks to wait; no retry by itself comes earlier.
    """

    is_retryable = True

    def __init__(
        self, message: str, *, code: str = "STAGE_FAILED", retry_after_s: float = 0.0
    ) -> None:
        self.code = code
        self.retry_after_s = retry_after_s
        self.message = message
        super().__init__(message)


class TransientFailure(StageFailure):
    """Worth another try at once, inside the runner's own attempts."""


class FatalFailure(StageFailure):
    """The same input will fail again; only a person can help."""

    is_retryable = False
