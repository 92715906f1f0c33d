"""How a worker hears that it has other work: by a wake-up of its own, or from the loop of its process.

A loop with a coordinator listens for that itself. On PostgreSQL each wake-up is a connection, and the server wakes all
of them with every commit that notifies anything. What is said with a wake-up is mostly the work itself: then the store
is not asked for it (docs/decisions/0056).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from stateward.core.model import Work
from stateward.storage.database import TOPIC_WORK, Database, Wakeup, work_topic
from stateward.transport import said_work

Key = tuple[str, int, int]
FOUND_MAX = 4096  # attempts that were read from the store, and whose notification may still come


class WorkCalls:
    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self.topics = (TOPIC_WORK, work_topic(worker))
        self._own: Wakeup | None = None
        self._is_left = False
        self._is_called = False
        self._said: list[str] = []
        self._found: dict[Key, None] = {}

    def leave_to_loop(self) -> None:
        """From now on `tell` is called; must be called before anything else here."""
        self._is_left = True

    def tell(self, wakeup: Wakeup, topics: AbstractSet[str]) -> None:
        """A wake-up was cleared, which has heard of these topics."""
        own = [topic for topic in self.topics if topic in topics]
        said = wakeup.said() if own else {}
        if all(topic in said for topic in own):
            self._said += [body for topic in own for body in said[topic]]
        else:
            self._is_called = True

    def take(self, ready: AbstractSet[int] | None) -> bool:
        """Whether the store is to be asked for work. `ready` are the descriptors that are; None if any may be."""
        if not self._is_left:
            own = self._listen()
            if ready is None or own.fileno() in ready:
                self.tell(own, own.clear())
        is_called, self._is_called = self._is_called, False
        return is_called

    def take_said(self) -> list[Work]:
        """Work that was said, but for what was found before it was heard of: that may be done by now."""
        bodies, self._said = self._said, []
        return [each for each in said_work(bodies) if _key(each) not in self._found]

    def found(self, work: Sequence[Work]) -> None:
        """This was read from the store."""
        if len(self._found) > FOUND_MAX:
            self._found.clear()
        self._found.update(dict.fromkeys(map(_key, work)))

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


def _key(work: Work) -> Key:
    return work.record_id, work.version, work.delivery
