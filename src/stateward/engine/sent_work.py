"""Work that a relay has published: how much of it there may be, and what of it its stream has lost.

Pure: values and decisions about them.
"""

import math
from collections.abc import Callable, Sequence

import msgspec

from stateward.core.model import Work
from stateward.transport import VIA_TRANSPORT, WorkerInfo
from stateward.workers.routes import Routes, is_of_one_machine

Attempt = tuple[str, int]


class Sent(msgspec.Struct, kw_only=True, gc=False):
    """Work that the store has assigned to this relay.

    `number` is its place among all that was published here; 0: not published yet. `heard_at` is when a worker last
    said that it has it; 0: never.
    """

    work: Work
    stream: str
    number: int = 0
    sent_at: float = 0.0
    heard_at: float = 0.0
    losses: int = 0


def publishable(sent: Sequence[Sent], routes: Routes) -> list[Sent]:
    """All of it, but of the work that one machine at a time may do only one at a time.

    Nothing is known of the machines of workers behind a transport, and a stream gives its work to any of them. While
    it is held back its time does not run.
    """
    alone = [
        each
        for each in sent
        if is_of_one_machine(routes, each.work.machine, each.work.stage, each.work.labels)
    ]
    first = min(alone, key=lambda each: (not each.number, each.work.rank), default=None)
    held = {id(each) for each in alone if not each.number and each is not first}
    return [each for each in sent if id(each) not in held]


def lost_work(
    sent: Sequence[Sent],
    *,
    now: float,
    lease_s: float,
    is_empty: Callable[[str], bool],
    gone_at: float = -math.inf,
) -> list[Sent]:
    """Published work that its stream no longer has, as far as can be told.

    No worker has said for a lease that it has it, and its stream is empty, or it was published before `gone_at`, when
    the engine was found to have lost a stream; or none has for two, and workers had later
    work of the same stream: an engine that still has it would have delivered it to another by then. Wrong at worst: the
    attempt runs twice, and one result is dropped.
    """
    silent = [
        each for each in sent if each.number and max(each.sent_at, each.heard_at) <= now - lease_s
    ]
    if not silent:
        return []
    newest: dict[str, int] = {}
    for each in sent:
        if each.heard_at:
            newest[each.stream] = max(newest.get(each.stream, 0), each.number)
    empty = {stream: is_empty(stream) for stream in dict.fromkeys(each.stream for each in silent)}
    return [
        each
        for each in silent
        if empty[each.stream]
        or each.sent_at < gone_at <= now - lease_s
        or (
            max(each.sent_at, each.heard_at) <= now - 2 * lease_s
            and newest.get(each.stream, 0) > each.number
        )
    ]


def window(workers: Sequence[WorkerInfo]) -> tuple[int, int]:
    """How much work one relay may have under way, in processes and inline.

    It is what the workers behind the transport announce, shared among all relays; where jobs are quick they announce
    more than they can run at once. No more than that is sent: the timeout of a stage counts while its work waits.
    """
    relays = max(1, sum(each.is_relay for each in workers))
    able = [each for each in workers if each.via == VIA_TRANSPORT and not each.is_draining]
    slots = sum(each.slots for each in able)
    inline = sum(each.inline_slots for each in able)
    return -(-slots // relays), -(-inline // relays)
