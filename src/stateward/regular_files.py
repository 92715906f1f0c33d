"""Opens files that are expected to be regular ones: anything else under their name is an error at once.

A named pipe waits for a writer that never comes, a device may have no end, and anyone with the right to write in a
folder can put one there. So what Stateward wrote itself, and reads again to check it, is opened by these functions.
What a person names on the command line may be a pipe, and is not.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "not a regular file"


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises `OSError`, also for a named pipe, a socket or a device; a link is followed."""
    # Without O_NONBLOCK the opening of a pipe waits; reading a regular file is the same with it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            what = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else NOT_REGULAR
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, what, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path) -> bytes:
    """The bytes of a file. Raises `OSError` as `open_regular` does."""
    with open_regular(path) as file:
        return file.read()


def special_files(folder: Path) -> Iterator[str]:
    """The names in a folder that are neither files nor folders; of a link what it leads to counts."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for each in entries:
            # Most entries say of themselves what they are, without a call for each; a dangling link is nothing.
            if not each.is_file() and not each.is_dir() and Path(each.path).exists():
                yield each.name
