"""The n-th call of each kind fails: the ledger stops, says so, and is whole when it is opened again."""

import errno
import os
import shutil
from pathlib import Path
from unittest.mock import patch

import msgspec

from stateward.ledger import Ledger, LedgerError, LedgerState
from stateward.ledger.disk import Disk
from tests.ledger.builders import Clock, QuickDisk, in_layers

KINDS = (
    "create",
    "write",
    "write_at",
    "pwrite",
    "fdatasync",
    "fsync",
    "sync_dir",
    "rename",
    "unlink",
    "truncate",
    "open_append",
    "open_log",
)


FAULTS = [
    (code, is_persistent) for code in (errno.ENOSPC, errno.EIO) for is_persistent in (False, True)
]
"""Which error, and whether it stays."""


class FailingDisk(QuickDisk):
    """Fails at the n-th call of one kind, once or from then on; half of a failing write arrives."""

    def __init__(self, kind: str, nth: int, code: int, *, is_persistent: bool) -> None:
        self.kind, self.nth, self.code, self.is_persistent = kind, nth, code, is_persistent
        self.calls = 0

    def fails(self, kind: str) -> bool:
        if kind != self.kind:
            return False
        self.calls += 1
        return self.calls == self.nth or (self.is_persistent and self.calls > self.nth)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> None:
        if self.fails("write"):
            super().write(fd, memoryview(data)[: len(data) // 2])
            raise OSError(self.code, os.strerror(self.code))
        super().write(fd, data)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        if self.fails("write_at"):
            super().write_at(fd, data[: len(data) // 2], offset)
            raise OSError(self.code, os.strerror(self.code))
        super().write_at(fd, data, offset)


def _method(kind: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def method(self, *args):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        if self.fails(kind):
            raise OSError(self.code, os.strerror(self.code))
        return getattr(QuickDisk, kind)(self, *args)

    return method


for _kind in KINDS:
    if _kind not in ("write", "write_at"):
        setattr(FailingDisk, _kind, _method(_kind))


class Report(msgspec.Struct, kw_only=True):
    """How many faults were tried, how many were noticed, and what went wrong."""

    tried: int = 0
    noticed: int = 0
    failures: list[str] = []

    def __str__(self) -> str:
        return f"{self.tried} faults, {self.noticed} noticed, {len(self.failures)} failures"


def explore(
    scratch: Path, *, nth_max: int = 60, step: int = 1, kinds: tuple[str, ...] = KINDS, is_every: bool = False
) -> Report:  # fmt: skip
    """ENOSPC and EIO at the first calls of every kind, once and for good: in turn, or each at `is_every` call."""
    report = Report()
    with patch("stateward.ledger.writer.INDEX_EVERY_LINES", 5), in_layers():
        for kind in kinds:
            for nth in range(1, nth_max + 1, step):
                calls = 0
                for code, is_persistent in FAULTS if is_every else [FAULTS[nth % len(FAULTS)]]:
                    disk = FailingDisk(kind, nth, code, is_persistent=is_persistent)
                    fault = _tried(scratch / "faulty", disk, report)
                    report.tried += 1
                    calls = disk.calls
                    if fault is not None:
                        name = errno.errorcode[code]
                        report.failures.append(f"{kind} {nth}, {name}, {is_persistent}: {fault}")
                if calls < nth:
                    break
    return report


def _tried(folder: Path, disk: Disk, report: Report) -> str | None:
    shutil.rmtree(folder, ignore_errors=True)
    acked: dict[str, str] = {}
    tried: dict[str, str] = {}
    try:
        _work(folder, disk, acked, tried)
    except (LedgerError, OSError):
        report.noticed += 1
    try:
        with Ledger.open(folder, clock=Clock(), disk=QuickDisk()) as ledger:
            for doc_id, state in acked.items():
                if ledger.state(doc_id) not in (state, tried.get(doc_id)):
                    return f"{doc_id} was acknowledged as {state} and is {ledger.state(doc_id)}"
            if not ledger.verify().is_sound:
                return f"verify: {ledger.verify().findings}"
            ledger.record("doc:after", LedgerState.PENDING)
    except (LedgerError, OSError) as error:
        return repr(error)
    return None


def _work(folder: Path, disk: Disk, acked: dict[str, str], tried: dict[str, str]) -> None:
    with Ledger.open(folder, clock=Clock(), disk=disk, snapshots_kept=2) as ledger:
        for turn in range(4):
            for number in range(6):
                doc_id = f"doc:{turn}:{number}"
                tried[doc_id] = "pending"
                ledger.record(doc_id, LedgerState.PENDING)
                acked[doc_id] = "pending"
            try:
                ledger.compact()
            except LedgerError as error:
                if "compaction" not in str(error):
                    raise
