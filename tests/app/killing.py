"""Something that is done in a child, which is killed at one step of it after the other."""

import os
import sys
from collections.abc import Callable

from stateward.core.failpoints import install

KILLED = 9
# What changes a folder; opening a file counts where it may be written.
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.chmod"})


def is_killed(act: Callable[[], object], *, step: int) -> bool:
    """Do it in a child that dies before its so many-th change of the disk, or failpoint; whether it came to that."""
    child = os.fork()
    if not child:
        _die_at(step)
        try:
            act()
        except BaseException:  # noqa: BLE001 - a child must never go on with the tests of its parent
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED)
    return code == KILLED


def _die_at(step: int) -> None:
    left = [step]

    def hook(event: str, args: tuple[object, ...]) -> None:
        is_change = event in CHANGES
        if event == "open" and isinstance(args[2], int):
            is_change = bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if is_change:
            left[0] -= 1
            if not left[0]:
                os._exit(KILLED)

    sys.addaudithook(hook)
    install(lambda _: hook("os.rename", ()))
