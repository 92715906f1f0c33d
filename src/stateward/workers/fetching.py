"""Brings the documents of waiting work to this machine, in threads: a worker's loop must not wait for object storage.

While one document is fetched, the loop gives others to its children, writes results and sends heartbeats. Documents in
a folder of this machine are there already: then nothing here starts a thread or takes time.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

THREADS = 4  # with eight requests for parts each at most: more would only share the same network
LOOK_S = 0.01  # how soon the loop looks again for what is being fetched


class Fetchable(Protocol):
    """Blob storage, as far as it is fetched from."""

    @property
    def is_local(self) -> bool:
        """Whether every artifact is a file of this machine already."""

    def has_copy(self, digest: str) -> bool:
        """Whether an artifact can be read without the network."""

    def checked_path(self, digest: str) -> Path:
        """The file of an artifact, hashed."""


class Fetcher:
    """Fetches under way, by digest. For one thread, that of the worker's loop."""

    def __init__(self, artifacts: Fetchable) -> None:
        self._artifacts = artifacts
        self._fetches: dict[str, Future[Path]] = {}
        self._pool: ThreadPoolExecutor | None = None

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return any(not each.done() for each in self._fetches.values())

    def is_here(self, digest: str | None) -> bool:
        """Whether `take` would not wait; if it would, the document is fetched from now on."""
        if digest is None or self._artifacts.is_local:
            return True
        fetch = self._fetches.get(digest)
        if fetch is None:
            if self._artifacts.has_copy(digest):
                return True
            self._pool = self._pool or ThreadPoolExecutor(THREADS, thread_name_prefix="fetch")
            fetch = self._fetches[digest] = self._pool.submit(self._artifacts.checked_path, digest)
        return fetch.done()

    def take(self, digest: str) -> Path:
        """The file, hashed now; what went wrong while it was fetched is raised here."""
        fetch = self._fetches.pop(digest, None)
        if fetch is not None:
            fetch.result()
        return self._artifacts.checked_path(digest)

    def forget_done(self) -> None:
        """Forget what was fetched for work that was withdrawn since."""
        for digest in [each for each, fetch in self._fetches.items() if fetch.done()]:
            del self._fetches[digest]

    def close(self) -> None:
        """Begin no other fetch; those under way end by themselves, and leave a copy or nothing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
