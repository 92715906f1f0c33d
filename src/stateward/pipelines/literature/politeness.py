"""At most one request to a host at a time, and a pause between two: for all workers of this machine together.

A runner may write nowhere but into its scratch folder, so there is no file in which workers could note when they last
asked. They lock instead: a worker that asks a host holds the lock of that host while it pauses, and the pause after
`429` is held the same way, so that the others wait as well. The locked files ship with the package and are only read.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from stateward.core.errors import StageFailure

FOLDER = Path(__file__).parent / "hosts"
POLL_S = 0.02
RATE_LIMITED = "RATE_LIMITED"


@contextmanager
def turn(
    host: str,
    *,
    pause_s: float,
    left_s: Callable[[], float | None],
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[None]:
    """Wait for this worker's turn to ask a host; the turn lasts as long as the block."""
    # Hosts that share a file wait for each other: that is slower than need be, and never impolite.
    name = sha256(host.lower().encode()).hexdigest()[0]
    with (FOLDER / name).open("rb") as file:
        while not _is_locked(file.fileno()):
            left = left_s()
            if left is not None and left < pause_s + 1:
                raise StageFailure(
                    f"other workers are asking {host}, and the time for this attempt is over",
                    code=RATE_LIMITED,
                )
            sleep(POLL_S)
        sleep(pause_s)
        yield  # closing the file gives the lock up, also when the process dies


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
