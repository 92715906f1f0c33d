"""Who waits for something to happen: one thread listens to the database, the event loop tells everybody.

A waiter takes the present `turn` before it looks, and awaits that: whatever happens after it looked wakes it. So no
change is missed, and a thousand who wait cost one wakeup.
"""

import asyncio
from threading import Thread

from stateward.storage.database import Wakeup

LISTEN_S = 0.5
AT_LEAST_EVERY_S = 5.0


class Hub:
    """A wakeup of the database, as something that coroutines can await."""

    def __init__(self, wakeup: Wakeup) -> None:
        self._wakeup = wakeup
        self._loop = asyncio.get_running_loop()
        self._turn: asyncio.Future[None] = self._loop.create_future()
        self._is_ending = False
        self._is_told = False
        self._thread = Thread(target=self._listen, name="stateward-listener", daemon=True)
        self._thread.start()

    @property
    def is_ending(self) -> bool:
        """Whether the service is stopping, so that no request should wait any more."""
        return self._is_ending

    def turn(self) -> "asyncio.Future[None]":
        """What is done when something happens from now on."""
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
        self._thread.join()
        self._wakeup.close()

    def _listen(self) -> None:
        while not self._is_ending:
            if not self._wakeup.wait(LISTEN_S):
                continue
            self._wakeup.clear()
            if not self._is_told and not self._loop.is_closed():
                self._is_told = True
                self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        self._is_told = False
        turn, self._turn = self._turn, self._loop.create_future()
        if not turn.done():
            turn.set_result(None)
