"""The copies of old ledgers that migrations leave beside them: `ledger.jsonl.2025-10-04.<sha256>.backup`."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.ledger.disk import Disk, wall_clock

BACKUP_DAYS = 30
"""Long enough that a monthly report has been made from the new ledger before the old one can go."""
_BACKUP = re.compile(r"(?P<name>.+)\.(?P<date>\d{4}-\d\d-\d\d)\.(?P<sha256>[0-9a-f]{64})\.backup")


class LedgerBackup(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of an old ledger that a migration made."""

    path: Path
    day: date
    sha256: str
    bytes: int


def backups(folder: Path, name: str | None = None) -> list[LedgerBackup]:
    """The copies that migrations made of files in a folder, or of the one with this name, newest first."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        named = _BACKUP.fullmatch(path.name)
        if named and path.is_file() and name in (None, named["name"]):
            day, size = date.fromisoformat(named["date"]), path.stat().st_size
            found.append(LedgerBackup(path=path, day=day, sha256=named["sha256"], bytes=size))
    return sorted(found, key=lambda each: (each.day, each.path.name), reverse=True)


def prune_backups(
    folder: Path, *, days: int = BACKUP_DAYS, execute: bool = False, clock: Callable[[], float] = wall_clock
) -> list[LedgerBackup]:  # fmt: skip
    """The backups that are older than so many days; with `execute` they are deleted. Nothing else ever deletes one."""
    if days < 1:
        raise InvalidRequest("backups are kept for at least one day")
    last = datetime.fromtimestamp(clock(), UTC).date() - timedelta(days=days)
    old = [each for each in backups(folder) if each.day < last]
    if execute:
        disk = Disk()
        for each in old:
            disk.unlink(each.path)
        disk.sync_dir(folder)
    return old
