"""What a ledger raises on purpose: the branch of the tree in `core.errors` that belongs to this room.

    StatewardError
    └── LedgerError           the ledger cannot be used as it is
        ├── LedgerLocked      another process writes here; holds its pid
        ├── LedgerDamaged     bytes that were once acknowledged are gone or changed; holds the findings
        ├── LedgerMismatch    not a ledger, one of a newer version, or one of another machine
        └── LedgerPoisoned    a write or a sync failed; close it and open it again

A wrong move is `core.errors.InvalidTransition`, a wrong value `core.errors.InvalidRequest`: those are
the caller's, and nothing was written.
"""

from collections.abc import Iterable

import msgspec

from stateward.core.errors import StatewardError


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong in a ledger: the file, the byte, the record it concerns, and what it means."""

    file: str
    sentence: str
    byte: int | None = None
    seq: int | None = None

    def __str__(self) -> str:
        """As `delta-2025-10-04.jsonl, byte 812, seq 4: the line does not match its hash`."""
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
        super().__init__(f"{path} is being written by {who}; open it with read_only=True to read")


class LedgerDamaged(LedgerError):
    """Acknowledged bytes are gone or changed; `findings` says which."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        said = "; ".join(str(finding) for finding in self.findings)
        super().__init__(f"{said}. Nothing was changed; `ledger repair` shows what can be done")


class LedgerMismatch(LedgerError):
    """The directory is no ledger that this version, opened this way, can use."""


class LedgerPoisoned(LedgerError):
    """A write or a sync failed, so what the disk holds is unknown until the ledger is opened again."""
