"""The child processes of a worker, and the work that each was given."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain

from stateward.core.model import Micros, Work
from stateward.telemetry import Log
from stateward.workers.confinement import Grants
from stateward.workers.prefetch import WAIT_S_MAX
from stateward.workers.sandbox import Child
from stateward.workers.worker_config import WorkerConfig, options_of, paths_in

# How long `close` waits for each supervisor to kill its processes and remove its scratch folder; what is left of
# the folder is then removed by the worker.
CLOSE_S = 2.0
# How long a worker waits before it tries again to start a child process where the machine has refused one.
SPAWN_PAUSE_S = 1.0


class ChildPool:
    """At most `processes` children, each with the grants of its work and, as the settings say, for one owner."""

    def __init__(
        self,
        config: WorkerConfig,
        *,
        runners: Iterable[str],
        clock: Callable[[], Micros],
        log: Log,
    ) -> None:
        self._config = config
        self._runners = runners
        self._clock = clock
        self._log = log
        self.given: dict[Child, deque[Work]] = {}
        """What each child was given and has not answered, in that order: the first one runs."""
        self.began: dict[Child, float] = {}
        """When each busy child began its current job."""
        self._spawn_at = 0.0
        self._known_grants: dict[tuple[bool, tuple[str, ...]], Grants] = {}

    @property
    def is_busy(self) -> bool:
        return any(self.given.values())

    def count(self) -> int:
        """How many jobs the children have."""
        return sum(map(len, self.given.values()))

    def watched(self) -> Iterable[tuple[int, int]]:
        """The descriptors of busy children."""
        return chain.from_iterable(child.watched() for child, given in self.given.items() if given)

    def due_at(self, now: float, *, has_queue: bool) -> float:
        """When a timeout, or work that waits for a child, wants a look without a notification."""
        due_at = math.inf
        for child, given in self.given.items():
            deadline = child.deadline if given else None
            if deadline is not None and deadline < due_at:
                due_at = deadline
        if has_queue and self.began:
            due_at = min(due_at, min(self.began.values()) + WAIT_S_MAX)
        if has_queue and now < self._spawn_at:
            due_at = min(due_at, self._spawn_at)
        return due_at

    def idle_child(self, work: Work) -> Child | None:
        """An idle child for a job, spawned if there may be another; None when all are busy.

        What it may do is a property of the process (what it gave up cannot be taken back), so stages with and without
        the network never share a child. Nor do documents of two owners: what the first one plants there would see the
        second.
        """
        grants, owner = self._grants(work), work.owner
        idle = [child for child, given in self.given.items() if not given]
        is_always = self._config.recycle == "always"
        for child in [
            each for each in idle if each.is_dead or (is_always and each.owner is not None)
        ]:
            idle.remove(child)
            self._dismiss(child)
        is_any = self._config.recycle != "owner"
        for child in idle:
            if child.grants is grants and (is_any or child.owner in (None, owner)):
                return child
        if len(self.given) >= self._config.processes:
            if not idle:
                return None
            self._dismiss(idle[0])  # of the other kind; `processes` bounds both kinds together
        if time.monotonic() < self._spawn_at:
            return None
        try:
            child = self._spawn(grants, work.runner)
        except (
            OSError
        ) as error:  # no descriptors, memory or processes: what runs goes on, and this may pass
            self._spawn_at = time.monotonic() + SPAWN_PAUSE_S
            self._log.warning(f"no child process can be started: {error}")
            return None
        self.given[child] = deque()
        return child

    def _spawn(self, grants: Grants, runner: str) -> Child:
        return Child.spawn(
            self._config.imports,
            limits=self._config.limits,
            scratch_root=self._config.scratch_root,
            now=self._clock,
            grants=grants,
            preload=self._config.preload.get(runner, ()),
        )

    def _dismiss(self, child: Child) -> None:
        child.close()
        del self.given[child]
        self.began.pop(child, None)

    def _grants(self, work: Work) -> Grants:
        """What the child of this work may do; remembered, because it is compared for every job."""
        may_connect = work.network and work.runner not in self._config.offline
        key = (may_connect, work.programs)
        if key not in self._known_grants:
            self._known_grants[key] = Grants(
                may_connect=may_connect,
                programs=work.programs,
                readable=(*self._config.readable, *self._named_in_options()),
                hidden=self._config.hidden,
            )
        return self._known_grants[key]

    def _named_in_options(self) -> list[str]:
        """The files and folders that the settings name to runners, such as a folder of templates."""
        found = [
            path
            for each in self._runners
            for path in paths_in(options_of(self._config.options, each))
        ]
        return list(dict.fromkeys(found))

    def is_for(self, child: Child, work: Work) -> bool:
        """Whether a child may run a job: it has the same grants, and has seen no document of another owner."""
        if child.grants is not self._grants(work):
            return False
        return self._config.recycle != "owner" or child.owner in (None, work.owner)

    def close(self) -> None:
        """End all children."""
        # Two passes: all get the signal to end before the first one is waited for, so that they end side by side.
        for child in list(self.given):
            child.close()
        for child in list(self.given):
            child.close(wait_s=CLOSE_S)
        self.given.clear()
