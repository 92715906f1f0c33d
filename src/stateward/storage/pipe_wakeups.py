"""Wake-ups between processes that share a file: named pipes in a folder beside it, one name for each topic.

SQLite has no LISTEN/NOTIFY. Pipes need no server, work between unrelated processes, can be put into a selector, and
disappear with their reader.
"""

import errno
import os
import select
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from stateward.storage.database import TOPICS

# Which topic a byte in a pipe stands for. Bytes that stand for none are those of another version: they mean any.
TOPIC_OF = dict(enumerate(TOPICS, ord("a")))
BYTE_OF = {topic: bytes([number]) for number, topic in TOPIC_OF.items()}
PIPE_BYTES = 65_536  # the capacity of a pipe
# Longer than a tick of the clock of any file system: what changes so long after a change has another time.
TICK_S = 0.1


def is_readable(descriptor: int, *, timeout_s: float) -> bool:
    """Sleep until something can be read; False when the time was up first.

    Not by `select`, which takes no descriptor above 1,023: a service with many connections has them.
    """
    polled = select.poll()
    polled.register(descriptor, select.POLLIN)
    return bool(polled.poll(timeout_s * 1000))


class PipeWakeup:
    """A wake-up made of one named pipe per listener; notifiers write a byte to the pipes of all listeners.

    In memory (`folder` None) an anonymous pipe does the same between threads.
    """

    def __init__(
        self,
        folder: Path | None,
        topics: Sequence[str],
        *,
        on_close: Callable[["PipeWakeup"], None],
    ) -> None:
        self._topics = frozenset(topics)
        self._on_close = on_close
        self._names: list[Path] = []
        if folder is None:
            self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        else:
            self._reader = self._writer = self._listen(folder)

    def _listen(self, folder: Path) -> int:
        # One pipe with a name in the folder of each topic: notifications of all topics arrive at one descriptor. It
        # is opened under a hidden name first, or a notifier could take it for the pipe of a dead listener and remove
        # it.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = f"{os.getpid()}-{id(self):x}"
        hidden = folder / f".{own}"
        hidden.unlink(missing_ok=True)
        os.mkfifo(hidden, 0o600)
        # O_RDWR, although it only reads: with a writer of its own the pipe never reaches end-of-file between
        # notifications, which a selector would report as readable for ever.
        reader = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        for topic in sorted(self._topics):
            (folder / topic).mkdir(exist_ok=True, mode=0o700)
            name = folder / topic / own
            name.unlink(missing_ok=True)
            os.link(hidden, name)
            self._names.append(name)
        hidden.unlink()
        return reader

    def notify(self, topics: Iterable[str]) -> None:
        """Wake this listener from inside the process."""
        for topic in self._topics.intersection(topics):
            with suppress(BlockingIOError):  # the pipe is full of notifications already
                os.write(self._writer, BYTE_OF[topic])

    def fileno(self) -> int:
        """The reading end."""
        return self._reader

    def clear(self) -> frozenset[str]:
        notified: set[int] = set()
        is_flooded = False
        with suppress(BlockingIOError):
            while data := os.read(self._reader, PIPE_BYTES):
                notified.update(data)
                if len(data) < PIPE_BYTES:
                    break
                is_flooded = True
        if is_flooded or not notified <= TOPIC_OF.keys():
            return self._topics  # a full pipe takes no byte of another topic
        return frozenset([TOPIC_OF[number] for number in notified])

    def wait(self, timeout_s: float) -> bool:
        return is_readable(self._reader, timeout_s=max(timeout_s, 0.0))

    def close(self) -> None:
        """Stop listening and remove the pipe."""
        for name in self._names:
            name.unlink(missing_ok=True)
        if self._reader >= 0:
            os.close(self._reader)
            if self._writer != self._reader:
                os.close(self._writer)
            self._reader = self._writer = -1
            self._on_close(self)


class TopicPipes:
    """The pipes of all that listen, by topic; kept open as long as the folder in which listeners begin does not change.

    A listener that comes makes its pipe there first, and under its topics after (`PipeWakeup`). It looks for what there
    is to do only then, so that one who notifies earlier need not know of it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._changed_at = -1
        self._seen_at = 0.0
        self._is_current = False
        self._pipes: dict[str, dict[str, int]] = {}

    def notify(self, topics: Iterable[str]) -> None:
        """Write a byte to each pipe of these topics; names whose listener died are removed."""
        try:
            self._follow()
        except FileNotFoundError:  # nothing has listened yet
            with suppress(OSError):  # found the next time, which costs less than not to find it
                Path(self._folder).mkdir(mode=0o700, exist_ok=True)
            return
        for topic in topics:
            pipes = self._pipes.get(topic)
            if pipes is None:
                pipes = self._pipes[topic] = self._open(topic)
            if pipes:
                self._write(topic, pipes)

    def _write(self, topic: str, pipes: dict[str, int]) -> None:
        for name, pipe in list(pipes.items()):
            try:
                os.write(pipe, BYTE_OF[topic])
            except BlockingIOError:
                pass  # full of notifications already
            except BrokenPipeError:
                os.close(pipes.pop(name))
                self._remove(topic, name)

    def _follow(self) -> None:
        """Forget the pipes if there may be others."""
        changed_at = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - this is the hot path
        if changed_at != self._changed_at:
            self._changed_at, self._seen_at, self._is_current = changed_at, time.monotonic(), False
        if not self._is_current:
            # Decided before the folders are read: within a tick another name may appear, and the time not tell it.
            self._is_current = time.monotonic() - self._seen_at > TICK_S
            self.close()

    def _open(self, topic: str) -> dict[str, int]:
        """The pipes under a topic, by their names."""
        pipes: dict[str, int] = {}
        with suppress(FileNotFoundError):  # nothing has listened to it yet
            for name in os.listdir(f"{self._folder}/{topic}"):  # noqa: PTH208
                try:
                    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
                    pipes[name] = os.open(f"{self._folder}/{topic}/{name}", flags)
                except OSError as error:
                    if error.errno == errno.ENXIO:  # no process has it open for reading any more
                        self._remove(topic, name)
                    else:
                        # It has just left, or there are too many open files.
                        self._is_current = False
        return pipes

    def _remove(self, topic: str, name: str) -> None:
        with suppress(OSError):
            os.unlink(f"{self._folder}/{topic}/{name}")  # noqa: PTH108

    def close(self) -> None:
        for pipes in self._pipes.values():
            for pipe in pipes.values():
                os.close(pipe)
        self._pipes.clear()
