"""What a process is built from: its database, its worker, its ledger mirror, as the settings say."""

import datetime as dt
import math
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from stateward import telemetry
from stateward.app.databases import RUNNER_ROLE, open_database
from stateward.app.plugins import Plugins
from stateward.blobs import ArtifactStore
from stateward.core.clocks import ClockAnchor, ClockLimits
from stateward.core.errors import InvalidRequest
from stateward.core.failpoints import CrashAt, Point, install
from stateward.core.model import SECOND, Micros
from stateward.engine.clock_guard import ClockGuard
from stateward.engine.mirror import Mirror
from stateward.engine.mirror_upkeep import UpkeepOptions
from stateward.engine.system import (
    SteadyClock,
    host_name,
    own_scratch,
    process_life,
    process_place,
    time_passed,
)
from stateward.settings import LedgerSettings, Settings
from stateward.storage.database import Database
from stateward.storage.outputs import Outputs
from stateward.storage.sqlite import SqliteDatabase
from stateward.storage.store import Store
from stateward.transport import Bus
from stateward.workers.layers import missing_protection
from stateward.workers.pipeline import MAIN
from stateward.workers.results import Limits
from stateward.workers.single_jobs import SingleJobConfig, SingleJobs
from stateward.workers.worker import Worker
from stateward.workers.worker_config import WorkerConfig, WorkerIdentity

SERVER_CLOCK = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"


def build_worker(
    settings: Settings,
    *,
    database: Database,
    is_runner: bool,
    artifacts: ArtifactStore,
    plugins: Plugins,
    clock: Callable[[], Micros],
    outputs: Outputs | None = None,
) -> Worker:
    """A worker of this process, with the limits of the settings. `outputs` is where jobs read and save, if given."""
    own = settings.worker
    log = telemetry.log("worker")
    if (refusal := _confinement_refusal(settings)) is not None:
        raise InvalidRequest(refusal)
    if (missing := missing_protection()) is not None:
        log.warning(missing)
    pid = os.getpid()
    life = process_life(pid)
    name = worker_name()
    # On PostgreSQL a worker has a connection of its own, whose role cannot touch a record. Its results join the
    # transaction of the coordinator here, with the rights of that role.
    is_apart = not (is_runner or isinstance(database, SqliteDatabase))
    settling = database if is_apart else None
    if is_apart:
        database = open_database(settings, role=RUNNER_ROLE)
    return Worker(
        WorkerIdentity(name=name, host=process_place(), pid=pid, life=life),
        WorkerConfig(
            limits=runner_limits(settings),
            processes=own.processes,
            prefetch=own.prefetch,
            inline_window=own.inline_window,
            heartbeat_s=own.heartbeat_seconds,
            scratch_root=own_scratch(settings.data_path.absolute() / "scratch", life=life),
            imports=_imports(plugins),
            preload=plugins.preload,
            options=plugins.runner_options,
            routes=plugins.routes,
            offline=frozenset(plugins.offline_runners),
            owns_database=is_apart,
            recycle=own.recycle,
            readable=own.readable,
            hidden=hidden_paths(settings),
            redelivery=own.redelivery,
        ),
        database=database,
        bus=Bus(database),
        runners=plugins.runners,
        artifacts=artifacts,
        clock=clock,
        sleep=time.sleep,
        log=log,
        settling=settling,
        outputs=outputs,
    )


def build_single_jobs(
    settings: Settings, plugins: Plugins, clock: Callable[[], Micros]
) -> SingleJobs:
    """What runs single jobs of this process, with the limits of a worker."""
    life = process_life(os.getpid())
    config = SingleJobConfig(
        limits=runner_limits(settings),
        scratch_root=own_scratch(settings.data_path.absolute() / "scratch", life=life),
        imports=_imports(plugins),
        offline=frozenset(plugins.offline_runners),
        recycle=settings.worker.recycle,
        readable=settings.worker.readable,
        hidden=hidden_paths(settings),
        refusal=_confinement_refusal(settings),
    )
    return SingleJobs(config, now=clock)


def _confinement_refusal(settings: Settings) -> str | None:
    """Why runners may not run here: they cannot be confined, and the settings require it."""
    missing = missing_protection()
    if missing is None or settings.worker.confinement != "required":
        return None
    return (
        f"{missing}. No runner is started here, because worker.confinement is `required`, as in the enterprise "
        "profile; `available` starts them all the same"
    )


def _imports(plugins: Plugins) -> tuple[str, ...]:
    """What child processes import to find runners: the pipelines, and the script itself if it has any."""
    has_own = any(each.function.__module__ == MAIN for each in plugins.runners.values())
    return (*plugins.imports, *([MAIN] if has_own else []))


def worker_name() -> str:
    """The name of a worker in this process: no other process has it, now or later."""
    pid = os.getpid()
    return f"{socket.gethostname()}-{pid}-{process_life(pid)[-6:]}"


def hidden_paths(settings: Settings) -> tuple[str, ...]:
    """What no runner reads, whatever folder it lies in: all data, and the files of the settings, which name secrets."""
    files = [layer.source for layer in settings.layers[settings.profile_layers :]]
    places = [settings.data_path, *(Path(each) for each in files if Path(each).is_file())]
    return tuple(str(each.absolute()) for each in places)


def build_clock_guard(
    settings: Settings, database: Database, store: Store, clock: Callable[[], Micros]
) -> ClockGuard:
    """What judges the clock of this machine. A clock that is not the machine's own, as tests have it, is trusted."""
    is_own = isinstance(clock, SteadyClock)

    def server_ahead_s() -> float | None:
        if not (is_own and settings.store.is_elsewhere):
            return None
        ((server,),) = database.rows(SERVER_CLOCK)
        return (clock() - int(server or 0)) / SECOND

    def newest() -> Micros | None:
        last = store.log.last_seq()
        found = store.log.between(last - 1, last, limit=1)
        return found[0].at if found and is_own else None

    def present() -> ClockAnchor:
        return ClockAnchor(
            wall=clock(),
            boot=host_name() if is_own else "",
            passed=time_passed() if is_own else 0,
        )

    return ClockGuard(
        settings.data_path,
        present=present,
        newest=newest,
        server_ahead_s=server_ahead_s,
        limits=settings.coordinator.clock_limits
        if is_own
        else ClockLimits(ahead_s=math.inf, gap_s=math.inf),
        log=telemetry.log("process"),
    )


def runner_limits(settings: Settings) -> Limits:
    """What one attempt of a runner may use."""
    own = settings.worker
    return Limits(
        cpu_s=own.cpu_seconds,
        memory_bytes=own.memory_bytes,
        file_bytes=own.file_bytes,
        scratch_bytes_max=own.scratch_bytes_max,
        open_files=own.open_files,
        processes_max=own.processes_max,
        items_max=own.items_max,
        item_bytes_max=own.item_bytes_max,
        items_bytes_max=own.items_bytes_max,
        files_max=own.files_max,
        files_bytes_max=own.files_bytes_max,
        log_bytes_max=own.log_bytes_max,
        message_chars_max=settings.limits.message_chars_max,
        jobs_per_child=own.jobs_per_child,
        transient_attempts=own.transient_attempts,
        transient_backoff_s=own.transient_backoff_seconds,
    )


def build_mirror(settings: LedgerSettings, store: Store, clock: Callable[[], Micros]) -> Mirror:
    """What copies the history into the ledger directory `settings.mirror`."""
    return Mirror(
        store,
        Path(settings.mirror or ""),
        clock=clock,
        ticks=time.monotonic,
        warn=telemetry.log("ledger").warning,
        batch_max=settings.batch_max,
        upkeep=_upkeep(settings),
    )


def _upkeep(own: LedgerSettings) -> UpkeepOptions | None:
    """What is done for the mirror each night; None if the settings ask for nothing."""
    if not own.compact and not own.checkpoint_destinations:
        return None
    from stateward.ledger import parse_signer

    key, secret = (
        None if name is None else Path(name).read_text("utf-8").strip()
        for name in (own.signing_key, own.webhook_secret)
    )
    return UpkeepOptions(
        at=dt.time.fromisoformat(own.compact_at),
        is_compacted=own.compact,
        destinations=own.checkpoint_destinations,
        origin=own.origin,
        signer=None if key is None else parse_signer(key),
        webhook_secret=secret,
        warn=telemetry.log("ledger").warning,
    )


def crash_at(where: CrashAt) -> None:
    """Let this process be killed, as a power cut would, the n-th time it reaches a failpoint."""
    left = where.nth

    def hook(here: Point) -> None:
        nonlocal left
        if here is where.point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    install(hook)
