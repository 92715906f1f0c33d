"""Turns of strangers: in each round of the event loop one of them is served, however many wait.

What a round does, all who are served in the next one wait for. Thousands of strangers who ask at once would otherwise
have each request of a known caller wait for all of their answers, in every round that it needs.
"""

import asyncio
from collections import deque
from collections.abc import MutableMapping
from typing import Any

TURN = "turn"
"""In the state of a request that waits for its turn: what ends the wait."""


class Turns:
    """First come, first served. It belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[bool]] = deque()

    async def next(self, state: MutableMapping[str, Any]) -> bool:
        """Wait for the next turn of the request with this state; False if its client has gone meanwhile."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._give, loop)
        self._waiting.append(turn)
        state[TURN] = turn
        return await turn

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(True)
                break
        if self._waiting:
            loop.call_soon(self._give, loop)


def leave(state: MutableMapping[str, Any]) -> None:
    """The client of a request has gone: it waits for no turn any more."""
    turn: asyncio.Future[bool] | None = state.get(TURN)
    if turn is not None and not turn.done():
        turn.set_result(False)
