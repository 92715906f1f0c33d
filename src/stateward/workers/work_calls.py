"""How a worker hears that it has other work: by a wake-up of its own, or from the loop of its process.

A loop with a coordinator listens for that itself. On PostgreSQL each wake-up is a connection, and the server wakes all
of them with every commit that notifies anything.
"""

from collections.abc import Set as AbstractSet

from stateward.storage.database import TOPIC_WORK, Database, Wakeup, work_topic


class WorkCalls:
    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self.topics = (TOPIC_WORK, work_topic(worker))
        self._own: Wakeup | None = None
        self._is_left = False
        self._is_called = False

    def leave_to_loop(self) -> None:
        """From now on `tell` is called; must be called before anything else here."""
        self._is_left = True

    def tell(self) -> None:
        """The loop has heard of work."""
        self._is_called = True

    def take(self, ready: AbstractSet[int] | None) -> bool:
        """Whether there was a call, which is forgotten. `ready` are the descriptors that are; None if any may be."""
        if self._is_left:
            is_called, self._is_called = self._is_called, False
            return is_called
        own = self._listen()
        return (ready is None or own.fileno() in ready) and bool(own.clear())

    def filenos(self) -> tuple[int, ...]:
        """The descriptors to sleep on."""
        return () if self._is_left else (self._listen().fileno(),)

    def close(self) -> None:
        """Stop listening."""
        if self._own is not None:
            self._own.close()

    def _listen(self) -> Wakeup:
        if self._own is None:
            self._own = self._database.wakeup(*self.topics)
        return self._own
