"""Who waits for something to happen: one thread listens to the database, the event loop tells everybody.

A waiter takes the present `turn` before it looks, and awaits that: whatever happens after it looked wakes it. So no
change is missed, and a thousand who wait cost one wakeup. Where none has taken the turn, the event loop is not woken.
"""

import asyncio
import os
import selectors
import time
from threading import Thread

from stateward.storage.database import Wakeup

LISTEN_S = 0.5
"""How long a lost connection to the database may go unnoticed."""
AT_LEAST_EVERY_S = 5.0
PAUSE_S = 0.02
"""Changes come in bursts: the first is told at once, and what follows within this time is told together."""


class Hub:
    """A wakeup of the database, as something that coroutines can await."""

    def __init__(self, wakeup: Wakeup) -> None:
        self._wakeup = wakeup
        self._loop = asyncio.get_running_loop()
        self._turn: asyncio.Future[None] = self._loop.create_future()
        self._is_ending = False
        self._is_taken = False
        self._is_told = False
        self._ended, self._end = os.pipe()  # the thread sleeps on the database and on this
        self._thread = Thread(target=self._listen, name="stateward-listener", daemon=True)
        self._thread.start()

    @property
    def is_ending(self) -> bool:
        """Whether the service is stopping, so that no request should wait any more."""
        return self._is_ending

    def turn(self) -> "asyncio.Future[None]":
        """What is done when something happens from now on."""
        self._is_taken = True
        return self._turn

    async def wait(self, turn: "asyncio.Future[None]", *, timeout_s: float) -> None:
        """Sleep until the turn is over, the time is up, or it is worth looking anyway."""
        done = asyncio.shield(turn)
        try:
            async with asyncio.timeout(min(timeout_s, AT_LEAST_EVERY_S)):
                await done
        except TimeoutError:
            return

    def close(self) -> None:
        """Wake everybody for the last time."""
        if self._is_ending:
            return
        self._is_ending = True
        self._ring()
        os.close(self._end)
        self._thread.join()
        os.close(self._ended)
        self._wakeup.close()

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for each in (self._wakeup, self._ended):
                selector.register(each, selectors.EVENT_READ)
            self._tell(selector)

    def _tell(self, selector: selectors.BaseSelector) -> None:
        while not self._is_ending:
            selector.select(LISTEN_S)
            if not self._wakeup.wait(0):  # where the connection was lost, that makes another
                continue
            self._wakeup.clear()
            # What was committed before a turn was taken is seen by who took it.
            if self._is_taken and not self._is_told and not self._loop.is_closed():
                self._is_told = True
                self._loop.call_soon_threadsafe(self._ring)
            time.sleep(PAUSE_S)

    def _ring(self) -> None:
        self._is_told = self._is_taken = False
        turn, self._turn = self._turn, self._loop.create_future()
        if not turn.done():
            turn.set_result(None)
