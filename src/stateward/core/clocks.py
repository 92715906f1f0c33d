"""Whether the clock of a machine can be believed when a process starts. Pure.

A clock that is a day ahead would end every review that waits, for good. Three things tell the time besides it: the
clock of the database server, where that is another machine; the time that the kernel has counted since its boot; and,
weakest, what the installation has done last: no one says how long it was off.
"""

import msgspec

from stateward.core.model import SECOND, Micros, to_iso

HOUR_S = 3600.0


class ClockAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """A moment at which the clock was believed, and what the kernel had counted since its `boot`, if known."""

    wall: Micros
    boot: str = ""
    passed: Micros = 0


class ClockLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`ahead_s`: of what is known to have passed. `gap_s`: since the last sign of life, where nothing else is known."""

    ahead_s: float = 3600.0
    gap_s: float = 86_400.0


def clock_fault(
    anchor: ClockAnchor | None,
    now: ClockAnchor,
    limits: ClockLimits,
    *,
    server_ahead_s: float | None = None,
) -> str | None:
    """Why this clock is not trusted; None if it is.

    `server_ahead_s` is how far it is ahead of the clock of a database server on another machine. One that agrees
    settles it: two machines are not wrong by the same amount.
    """
    if server_ahead_s is not None:
        if server_ahead_s <= limits.ahead_s:
            return None
        return f"the clock is {_hours(server_ahead_s)} ahead of the clock of the database server"
    if anchor is None:
        return None
    ahead_s = (now.wall - anchor.wall) / SECOND
    since = to_iso(anchor.wall)
    if now.boot and now.boot == anchor.boot:
        ahead_s -= (now.passed - anchor.passed) / SECOND
        if ahead_s <= limits.ahead_s:
            return None
        return f"the clock is {_hours(ahead_s)} ahead of the time that has passed since {since}"
    if ahead_s <= limits.gap_s:
        return None
    return f"the clock is {_hours(ahead_s)} later than {since}, when this installation was last at work"


def _hours(seconds: float) -> str:
    return f"{seconds / HOUR_S:.1f} h"
