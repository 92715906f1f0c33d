"""A few threads that wait for the network, so that nobody else has to.

Jobs touch no database and never raise; what they return is fetched by the thread that drives the notifier. The
threads start with the first job and end with the process: one that hangs in a socket keeps nobody from leaving.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadPool(Generic[T]):
    """At most `most` jobs at once."""

    def __init__(self, most: int, *, wake: Callable[[], None]) -> None:
        self._most = most
        self._wake = wake
        self._jobs: SimpleQueue[Callable[[], T] | None] = SimpleQueue()
        self._ended: SimpleQueue[T | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._out = 0
        self._lock = threading.Lock()
        self._is_closed = False

    def give(self, job: Callable[[], T]) -> None:
        """Have a job done."""
        self._out += 1
        if len(self._threads) < min(self._out, self._most):
            thread = threading.Thread(
                target=self._work, name=f"notices-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def ended(self) -> list[T]:
        """What came of the jobs that ended since; a job that raised is a fault of ours, and is raised here."""
        found: list[T] = []
        while True:
            try:
                each = self._ended.get_nowait()
            except Empty:
                return found
            self._out -= 1
            if isinstance(each, BaseException):
                raise each
            found.append(each)

    def close(self) -> None:
        """Let the threads go; who is under way is not waited for."""
        with (
            self._lock
        ):  # whom they woke is gone then, and what it was woken by may be somebody else's
            self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._ended.put(job())
            except BaseException as error:  # noqa: BLE001 - it is raised again where it can be acted on
                self._ended.put(error)
            with self._lock:
                if not self._is_closed:
                    self._wake()
