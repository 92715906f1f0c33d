"""Messages as they come, so that the loop of a process can sleep on a descriptor as for everything else.

They are leased only as many as the loop asked for: what lies here could run elsewhere. Redis and NATS send them to a
descriptor of theirs (`AskedInbox`). Kafka's client has none, so that a thread waits for it (`Inbox`).
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Condition, Thread
from typing import Protocol

from stateward.core.errors import TransportError
from stateward.telemetry import Log
from stateward.transport.channel import Channel, Received
from stateward.transport.messages import Envelope

WAIT_S = 0.5  # of one call: `close` waits at most so long for it
PAUSE_MIN_S, PAUSE_MAX_S = 0.1, 1.0  # between tries while the engine is away
REMIND_EVERY_S = 60.0
TOLD_MAX = 1000
LISTEN_AGAIN_S = 10.0  # after what is told to all could not be heard
LOOK_EVERY_S = 1.0  # for an answer that is overdue
TRY_LOOK_S = 0.05  # for the end of a try while the engine is away
CLOSE_S = 15.0
# After which a loop that wants nothing more gives back what was leased ahead for it: its leases are extended, so that
# others would wait for as long as it works on what it has.
GIVE_BACK_S = 1.0


class MessageSource(Protocol):
    """Where a loop gets the messages that came for it."""

    def fileno(self) -> int:
        """Becomes readable when there are messages; -1 while there is nothing to watch."""

    def wake_in(self) -> float:
        """Seconds until a turn can do something for it although the descriptor is silent."""

    def want(self, count: int) -> None:
        """How many messages may be leased, once."""

    def take(self, ready: AbstractSet[int] | None = None) -> list[Received]:
        """The messages that came; they are the caller's now. `ready`: what is readable; None if anything may be."""

    def close(self) -> None:
        """Lease nothing more, and give back what was not taken."""


class ToldSource(MessageSource, Protocol):
    """The same where a worker is told, besides, what its attempts are to know."""

    def take_told(self) -> list[Envelope]:
        """What was told to all workers since the last call."""

    def stop(self) -> None:
        """Lease nothing more; what came and was not taken is given back."""


def open_inbox(
    channel: Channel, streams: Sequence[str], log: Log, *, listens: bool = False
) -> ToldSource:
    """The messages of these streams, in the way that their engine has."""
    if channel.can_ask:
        return AskedInbox(channel, streams, log, listens=listens)
    return Inbox(channel, streams, log, listens=listens)


class AskedInbox:
    """Messages of some streams, sent to a descriptor that the loop itself watches: none waits for another thread.

    Only while the engine is away a thread asks: one that is silent would hold the loop up with each try, and with it
    whatever else the process does.
    """

    def __init__(
        self,
        channel: Channel,
        streams: Sequence[str],
        log: Log,
        *,
        listens: bool = False,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._channel = channel
        self._streams = tuple(streams)
        self._listens = listens
        self._ticks = ticks
        self._outage = Outage(log, ticks=ticks)
        self._asked = 0  # how many were asked for
        self._is_ready = False
        """Whether some are here that were not taken."""
        self._is_asking = self._is_wanted = False
        self._is_given_back = self._is_stopped = False
        self._wanted_at = ticks()
        self._try_at = self._listen_at = self._look_at = 0.0
        self._told: deque[Envelope] = deque(maxlen=TOLD_MAX)
        self._try: Future[None] | None = None

    def fileno(self) -> int:
        """Becomes readable when there are messages; -1 while none were asked for, or there is no connection."""
        return self._channel.fileno() if self._asked else -1

    def wake_in(self) -> float:
        """Seconds until messages are here, the next try is due, or what is told to all is to be heard."""
        if self._is_stopped:
            return math.inf
        if self._is_ready:
            return 0.0
        if self._try is not None:
            return TRY_LOOK_S
        # Where nothing is wanted, the next turn would not try either, and each would be followed by another at once.
        due = [self._try_at] if self._outage.is_on and self._is_wanted else []
        due += [self._listen_at] if self._listens else []
        return max(0.0, min(due, default=math.inf) - self._ticks())

    def want(self, count: int) -> None:
        """How many messages may be leased from now on; while some were asked for, no more are."""
        self._is_wanted = count > 0
        if count > 0:
            self._wanted_at, self._is_given_back = self._ticks(), False
            if self._outage.is_on:
                self._ask_apart(count)
            elif not self._is_asking:
                self._attempt(lambda: self._ask(count))
        elif not self._is_given_back and self._ticks() >= self._wanted_at + GIVE_BACK_S:
            self._attempt(self._give_back)

    def take(self, ready: AbstractSet[int] | None = None) -> list[Received]:
        found: list[Received] = []
        self._is_wanted = False  # until this turn says so
        # First: it may read from the same descriptor, which is silent then.
        if (self._listen() or self._may_have_come(ready)) and self._asked and self._try is None:
            self._attempt(lambda: found.extend(self._collect()))
        return found

    def _may_have_come(self, ready: AbstractSet[int] | None) -> bool:
        is_told = ready is None or self._is_ready or self.fileno() in ready
        # An answer that is overdue is told by nothing.
        return is_told or self._ticks() >= self._look_at

    def take_told(self) -> list[Envelope]:
        return [self._told.popleft() for _ in range(len(self._told))]

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            if self._try is not None:
                wait([self._try], CLOSE_S)
            self._forget()
            with suppress(
                TransportError
            ):  # then their leases run out, with the same effect but later
                self._channel.drain()

    def close(self) -> None:
        """Stop; the descriptor is that of the channel."""
        self.stop()

    def _ask(self, count: int) -> None:
        self._is_ready = self._channel.ask(self._streams, limit=count)
        self._asked, self._is_asking = count, True
        self._look_at = self._ticks() + LOOK_EVERY_S

    def _ask_apart(self, count: int) -> None:
        """Have a thread ask; with a later call, take over what came of it."""
        if self._try is None and not self._is_stopped and self._ticks() >= self._try_at:
            pool = ThreadPoolExecutor(1, thread_name_prefix="transport-try")
            self._try = pool.submit(self._ask, count)
            pool.shutdown(wait=False)  # its thread ends with the try
        elif self._try is not None and self._try.done():
            own, self._try = self._try, None
            self._attempt(own.result)

    def _collect(self) -> list[Received]:
        # Whatever came, some of it may have ended what was asked for.
        self._is_ready = self._is_asking = False
        return self._channel.collect(self._streams, limit=self._asked)

    def _give_back(self) -> None:
        self._channel.give_back()
        self._is_given_back = True
        self._forget()

    def _forget(self) -> None:
        self._asked, self._is_ready, self._is_asking = 0, False, False

    def _attempt(self, do: Callable[[], None]) -> None:
        """Do something unless the engine is away; if it is, again after a pause."""
        if self._is_stopped or self._try is not None or self._ticks() < self._try_at:
            return
        try:
            do()
        except TransportError as error:
            self._outage.note(error)
            self._try_at = self._ticks() + self._outage.pause_s
            self._forget()
        else:
            self._outage.end()

    def _listen(self) -> bool:
        """Take in what was told to all workers; whether it was time for that."""
        is_time = self._ticks() >= self._listen_at and self._try is None
        if not self._listens or self._is_stopped or not is_time:
            return False
        self._listen_at = self._ticks() + WAIT_S
        try:
            self._told.extend(self._channel.broadcasts())
        except TransportError:  # away, which `want` finds out too; or not allowed to this worker
            self._listen_at = self._ticks() + LISTEN_AGAIN_S
        return True


class Inbox:
    """Messages of some streams, for which a thread waits."""

    def __init__(
        self, channel: Channel, streams: Sequence[str], log: Log, *, listens: bool = False
    ) -> None:
        self._channel = channel
        self._streams = tuple(streams)
        self._log = log
        self._wanted = 0
        self._found: deque[Received] = deque()
        self._listens = listens
        self._listen_at = 0.0
        self._told: deque[Envelope] = deque(maxlen=TOLD_MAX)
        self._changed = Condition()
        self._is_closed = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = Thread(target=self._run, name="transport", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        return self._reader

    def wake_in(self) -> float:
        """Its thread tells whatever happens."""
        return math.inf

    def want(self, count: int) -> None:
        """How many messages may be leased from now on, besides those that `take` has not returned yet.

        Once: after some came, nothing more is asked for until this is called again. The thread would be in the way of
        the loop while that works on what came, for one of them runs at a time.
        """
        with self._changed:
            if self._wanted != count:
                self._wanted = count
                self._changed.notify()

    def take(self, ready: AbstractSet[int] | None = None) -> list[Received]:
        with suppress(BlockingIOError):
            os.read(self._reader, 4096)
        with self._changed:
            found = list(self._found)
            self._found.clear()
            return found

    def take_told(self) -> list[Envelope]:
        return [self._told.popleft() for _ in range(len(self._told))]

    def stop(self) -> None:
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            self._changed.notify()
        self._thread.join(CLOSE_S)
        with suppress(TransportError):  # then their leases run out, with the same effect but later
            self._channel.release(self.take())
            self._channel.drain()

    def close(self) -> None:
        """Stop, and close the descriptors."""
        self.stop()
        os.close(self._reader)
        os.close(self._writer)

    def _run(self) -> None:
        outage = Outage(self._log)
        wanted_at = time.monotonic()
        while (limit := self._next()) is not None:
            try:
                is_told = self._listen()
                found = []
                if limit:
                    found = self._channel.receive(self._streams, limit=limit, wait_s=WAIT_S)
                    wanted_at = time.monotonic()
                elif time.monotonic() >= wanted_at + GIVE_BACK_S:
                    self._channel.give_back()
            except TransportError as error:
                outage.note(error)
                time.sleep(outage.pause_s)
                continue
            outage.end()
            if found:
                with self._changed:
                    self._found += found
                    self._wanted = 0
            if found or is_told:
                with suppress(BlockingIOError):  # full: a wake-up is pending already
                    os.write(self._writer, b"!")

    def _listen(self) -> bool:
        """Take in what was told to all workers; whether there was any."""
        if not self._listens or time.monotonic() < self._listen_at:
            return False
        try:
            topics = self._channel.broadcasts()
        except TransportError:  # away, which `receive` finds out too; or not allowed to this worker
            self._listen_at = time.monotonic() + LISTEN_AGAIN_S
            return False
        self._told.extend(topics)
        return bool(topics)

    def _next(self) -> int | None:
        """How many to lease now, 0 where only what is told to all is to be heard; None when it is closed."""
        with self._changed:
            if self._wanted <= 0 and not self._is_closed:
                self._changed.wait(WAIT_S if self._listens else None)
            return None if self._is_closed else max(0, self._wanted)


class Outage:
    """While an engine is away: growing pauses, and a line in the log when it begins, once a minute, and at its end.

    What comes and goes for the same reason, such as a request that is refused each time among others that are not, is
    told once a minute, too.
    """

    def __init__(self, log: Log, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._ticks = ticks
        self._since: float | None = None
        self._remind_at = 0.0
        self._told_at: dict[str, float] = {}  # by reason, of the last minute
        self._is_told = False
        self.pause_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether the last try failed."""
        return self._since is not None

    def note(self, error: Exception) -> None:
        """A try has failed."""
        now, reason = self._ticks(), str(error)
        is_news = now >= self._told_at.get(reason, -math.inf) + REMIND_EVERY_S
        if is_news and (self._since is None or now >= self._remind_at):
            self._remind_at, self._is_told = now + REMIND_EVERY_S, True
            recent = {key: at for key, at in self._told_at.items() if now < at + REMIND_EVERY_S}
            self._told_at = {**recent, reason: now}
            self._log.warning(f"cannot go on, trying again until it passes: {reason}")
        self._since = now if self._since is None else self._since
        self.pause_s = min(max(PAUSE_MIN_S, 2 * self.pause_s), PAUSE_MAX_S)

    def end(self) -> None:
        """A try has succeeded."""
        if self._since is None:
            return
        if self._is_told:
            self._log.warning(f"going on after {self._ticks() - self._since:.1f} s")
        self._since, self.pause_s, self._is_told = None, 0.0, False
