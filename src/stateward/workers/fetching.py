"""Brings the documents of waiting work to this machine, in threads: a worker's loop must not wait for object storage.

While one document is fetched, the loop gives others to its children, writes results and sends heartbeats. Documents in
a folder of this machine are there already: then nothing here starts a thread or takes time.
"""

import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from stateward.core.errors import ArtifactError, ArtifactsUnreachable
from stateward.telemetry import Log

THREADS = 4  # with eight requests for parts each at most: more would only share the same network
FETCH_PAUSE_S = 2.0  # between tries while object storage is away
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
        return bool(self._fetches) and not all(each.done() for each in self._fetches.values())

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
        if self._fetches:
            for digest in [each for each, fetch in self._fetches.items() if fetch.done()]:
                del self._fetches[digest]

    def close(self) -> None:
        """Begin no other fetch; those under way end by themselves, and leave a copy or nothing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


class Reach:
    """Whether documents can be read. While they cannot, the one that could not is tried again after a pause."""

    def __init__(self, fetcher: Fetcher, log: Log) -> None:
        self._fetcher = fetcher
        self._log = log
        self._digest: str | None = None
        self._try_at = math.inf
        self.is_lost = False
        """Whether nothing that needs a document can be started."""

    def lose(self, digest: str | None, error: ArtifactsUnreachable) -> None:
        """Object storage does not answer, or refuses us."""
        if not self.is_lost:
            self._log.warning(f"no work is started until documents can be read: {error}")
        self._digest, self._try_at = digest, time.monotonic() + FETCH_PAUSE_S
        self.is_lost = True

    def look(self) -> None:
        """Try again when it is time to; any answer about the document will do."""
        if not self.is_lost or time.monotonic() < self._try_at:
            return
        try:
            if self._digest is not None:
                if not self._fetcher.is_here(self._digest):
                    return
                self._fetcher.take(self._digest)
        except ArtifactsUnreachable as error:
            self.lose(self._digest, error)
            return
        except ArtifactError:
            pass
        self._try_at = math.inf
        self.is_lost = False
        self._log.warning("documents can be read again")

    def wake_in(self) -> float:
        """Seconds until the next look."""
        return max(LOOK_S, self._try_at - time.monotonic())
