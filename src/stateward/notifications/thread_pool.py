"""Threads that wait for the network, so that the notifier's own thread never does.

Not `concurrent.futures`: its threads are joined when the process ends, and one that hangs in a socket would hold up
the end of the service. These are daemons; what they had not finished is tried again by another process.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadPool(Generic[T]):
    """Runs up to `size` jobs at once; threads start when they are first needed. Jobs touch no database.

    One thread calls `submit`, `results` and `close`; `wake` is called from the pool's threads after each job.
    """

    def __init__(self, size: int, *, wake: Callable[[], None]) -> None:
        self._size = size
        self._wake = wake
        self._jobs: SimpleQueue[Callable[[], T] | None] = SimpleQueue()
        self._results: SimpleQueue[T | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, job: Callable[[], T]) -> None:
        """Run a job when a thread is free."""
        self._unfinished += 1
        if len(self._threads) < min(self._unfinished, self._size):
            thread = threading.Thread(
                target=self._run_jobs, name=f"notifications-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def results(self) -> list[T]:
        """The results of jobs that ended since the last call; what a job raised is raised here."""
        found: list[T] = []
        while True:
            try:
                each = self._results.get_nowait()
            except Empty:
                return found
            self._unfinished -= 1
            if isinstance(each, BaseException):
                raise each
            found.append(each)

    def close(self) -> None:
        """Let the threads end after their present job, without waiting for them."""
        # Under the lock, so that no thread calls `wake` once this has returned: the file descriptor behind it is
        # closed next, and its number may soon belong to something else.
        with self._lock:
            self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._results.put(job())
            except BaseException as error:  # noqa: BLE001 - raised again by `results`
                self._results.put(error)
            with self._lock:
                if not self._is_closed:
                    self._wake()
