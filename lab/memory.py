"""A place in memory for files that need not outlive the machine: there a sync to the disk costs nothing."""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108
# A whole run of the tests keeps below half of it, and its PostgreSQL too.
FREE_BYTES_MIN = 2 << 30


def memory_folder() -> Path | None:
    """The folder, if this machine has one with space in which programs may be started."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return None
    may_execute = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    has_space = shutil.disk_usage(MEMORY).free >= FREE_BYTES_MIN
    return MEMORY if may_execute and has_space else None
