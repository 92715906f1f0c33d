"""Single jobs in a sandboxed child, for a caller that waits for the result: documents that are read again.

A document is as hostile the second time. So what a person asks for by hand (`stateward reparse`, the correction screen)
is read behind the same limits as the work of a worker, and never in the process of a command or of the server.
"""

import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json, Micros
from stateward.workers.child_attempt import AttemptFiles, JobOrder
from stateward.workers.confinement import Grants
from stateward.workers.sandbox import Child
from stateward.workers.sdk import Completed, Failed, Limits, Result, SavedValues
from stateward.workers.worker_config import paths_in

LOOK = "stateward.look"
LOOK_MODULE = "stateward.workers.look"
LOOK_S_MAX = 60.0
CLOSE_S_MAX = 5.0


class SingleJobConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How single jobs are run; the names are those of `WorkerConfig`. `refusal` is why none may be run here."""

    limits: Limits
    scratch_root: Path
    imports: tuple[str, ...]
    offline: frozenset[str] = frozenset()
    recycle: Literal["always", "owner", "jobs"] = "owner"
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    refusal: str | None = None


class SingleJobs:
    """Runs one job after another and waits for each. The child stays warm until `close`.

    It must be used by one thread: a child dies with the thread that spawned it.
    """

    def __init__(self, config: SingleJobConfig, *, now: Callable[[], Micros]) -> None:
        self._config = config
        self._now = now
        self._child: Child | None = None

    def run(
        self,
        order: JobOrder,
        *,
        owner: str,
        network: bool = False,
        programs: tuple[str, ...] = (),
        saved_values: SavedValues | None = None,
        files: AttemptFiles | None = None,
    ) -> Result:
        """Run one job to its end, within its time; `owner` is who submitted its document."""
        config = self._config
        if config.refusal is not None:
            raise InvalidRequest(config.refusal)
        child = self._fit_child(
            owner,
            Grants(
                may_connect=network and order.runner not in config.offline,
                programs=programs,
                readable=(*config.readable, *paths_in(order.options)),
                hidden=config.hidden,
            ),
        )
        child.start(child.staged(order), saved_values=saved_values, files=files)
        return _wait(child)

    def look(
        self, target: str, path: Path, given: Mapping[str, str], *, owner: str
    ) -> Json | bytes:
        """What a function of a pipeline (`module:name`) returns for a document; `InvalidRequest` if it fails."""
        files = _FilesInMemory()
        order = JobOrder(
            runner=LOOK,
            record_id="",
            stage=LOOK,
            attempt=0,
            timeout_s=LOOK_S_MAX,
            artifact_path=str(path),
            options={"target": target, "given": dict(given)},
        )
        result = self.run(order, owner=owner, files=files)
        if isinstance(result, Failed):
            raise InvalidRequest(result.message)
        return files.data if files.data is not None else _about(result).get("found")

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.close(wait_s=CLOSE_S_MAX)
            self._child = None

    def _fit_child(self, owner: str, grants: Grants) -> Child:
        """The child there is, if it may run a job of this owner with these grants; else another."""
        config, child = self._config, self._child
        if child is not None:
            is_shared = config.recycle == "jobs" or (
                config.recycle == "owner" and child.owner == owner
            )
            if child.is_idle and child.grants == grants and is_shared:
                return child
            self.close()
        child = self._child = Child.spawn(
            (*config.imports, LOOK_MODULE),
            limits=config.limits,
            scratch_root=config.scratch_root,
            now=self._now,
            grants=grants,
        )
        child.owner = owner
        return child


def _wait(child: Child) -> Result:
    """Sleep on what the child says until its job has ended; every job has a deadline."""
    while True:
        result = child.on_ready() or child.expire()
        if result is not None:
            return result
        deadline = child.deadline
        left_s = 0.0 if deadline is None else max(0.0, deadline - time.monotonic())
        with selectors.DefaultSelector() as selector:
            for descriptor, events in child.watched():
                selector.register(descriptor, events)
            selector.select(left_s)


def _about(result: Completed) -> Fields:
    """What the result of a look says besides items."""
    found: Fields = {}
    for chunk in result.chunks:
        if not chunk.count:
            found = msgspec.json.decode(chunk.data)
    return found


class _FilesInMemory:
    """Takes the one file that a look may save."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def announce(self, digests: Sequence[str]) -> None:
        """Nothing: it is not stored."""

    def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
        from hashlib import sha256

        data = b"".join(pieces)
        if sha256(data).hexdigest() != digest:
            return None
        self.data = data
        return len(data)

    def find(self, stage: str, name: str) -> Path | None:
        return None
