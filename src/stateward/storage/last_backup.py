"""When the last backup was completed: a small file in the data folder, for `doctor`, the metrics and the schedule."""

from pathlib import Path

import msgspec

from stateward.core.model import Micros
from stateward.regular_files import read_regular

LAST_BACKUP = "last-backup.json"


class LastBackup(msgspec.Struct, frozen=True, kw_only=True):
    """The last set that was completed, and where."""

    folder: str
    name: str
    at: Micros


def last_backup(data: Path) -> LastBackup | None:
    """The last set that was completed; None if none is known here."""
    try:
        return msgspec.json.decode(read_regular(data / LAST_BACKUP), type=LastBackup)
    except (OSError, msgspec.MsgspecError):
        return None
