"""The two ends of a transport as the settings name it: the relay of a coordinator, the courier of a worker."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stateward import telemetry
from stateward.engine.system import process_life, process_place
from stateward.storage.outputs import Outputs
from stateward.transport import WorkerInfo
from stateward.transport.channel import Channel
from stateward.transport.connect import connect
from stateward.transport.credentials import WorkerCredential, allows, read_credential
from stateward.transport.inbox import open_inbox
from stateward.transport.messages import CLASSES, results_stream, work_stream

if TYPE_CHECKING:
    from stateward.app.plugins import Plugins
    from stateward.blobs import ArtifactStore
    from stateward.core.model import Micros
    from stateward.engine.relay import Relay
    from stateward.settings import Settings
    from stateward.storage.database import Database
    from stateward.storage.worker_keys import WorkerKeys
    from stateward.transport.engine import Engine
    from stateward.workers.courier import Courier
    from stateward.workers.remote_outputs import RemoteOutputs, Reporter
    from stateward.workers.worker import Worker


def open_engine(settings: Settings, consumer: str) -> Engine:
    """A connection to the engine that the settings name."""
    own = settings.transport
    return connect(
        own.url,
        consumer=consumer,
        lease_s=settings.worker.lease_seconds,
        depth_max=own.depth_max,
    )


def build_relay(
    settings: Settings,
    *,
    database: Database,
    artifacts: ArtifactStore,
    plugins: Plugins,
    worker_keys: WorkerKeys,
    clock: Callable[[], Micros],
) -> Relay:
    """What gives the work of this coordinator to workers behind the transport."""
    from stateward.app.runtime import runner_limits
    from stateward.engine.admission import Admission
    from stateward.engine.relay import Relay, RelayConfig
    from stateward.engine.remote_results import ResultChecker
    from stateward.storage.audit import AuditLog
    from stateward.transport import RELAY

    own, log = settings.transport, telemetry.log("transport")
    pid = os.getpid()
    life = process_life(pid)
    name = f"{RELAY}{socket.gethostname()}-{pid}-{life[-6:]}"
    channel = Channel(
        open_engine(settings, name),
        clock=clock,
        blobs=artifacts,
        prefix=own.prefix,
        deliveries_max=settings.worker.deliveries_max,
    )
    now = clock()
    return Relay(
        WorkerInfo(
            id=name,
            host=process_place(),
            pid=pid,
            life=life,
            runners=(),
            slots=0,
            inline_slots=0,
            started_at=now,
            seen_at=now,
        ),
        RelayConfig(
            heartbeat_s=settings.worker.heartbeat_seconds,
            lease_s=settings.worker.lease_seconds,
            deliveries_max=settings.worker.deliveries_max,
            prefix=own.prefix,
            inline_bytes_max=own.inline_bytes_max,
            ageing_s={
                each: 0.0 if settings.machine(each).is_fifo else settings.coordinator.ageing_seconds
                for each in plugins.machines
            },
            runners={
                **{
                    (machine.name, stage.name, ""): stage.runner
                    for machine in plugins.machines.values()
                    for stage in machine.stages
                },
                **{place: route.runner for place, route in plugins.routes.items()},
            },
            routes=plugins.routes,
        ),
        channel=channel,
        inbox=open_inbox(channel, [results_stream(own.prefix)], log),
        database=database,
        checker=ResultChecker(
            limits=runner_limits(settings),
            runners=plugins.runners,
            routes=plugins.routes,
            artifacts=artifacts,
            clock=clock,
            outputs=Outputs(database),
        ),
        artifacts=artifacts,
        clock=clock,
        log=log,
        admission=Admission(worker_keys, AuditLog(database), clock=clock),
    )


class RemoteEnd:
    """The connection of a worker without a database, made before the worker: its outputs are sent over it."""

    def __init__(
        self,
        settings: Settings,
        *,
        name: str,
        database: Database,
        artifacts: ArtifactStore,
        shares_blobs: bool,
        clock: Callable[[], Micros],
    ) -> None:
        from stateward.workers.remote_outputs import RemoteOutputs, Reporter

        own = settings.transport
        self._settings = settings
        self._credential = None if own.credential is None else read_credential(Path(own.credential))
        self._database = database
        self._artifacts = artifacts
        self._shares_blobs = shares_blobs
        self._clock = clock
        self._channel = Channel(
            open_engine(settings, name),
            clock=clock,
            blobs=artifacts if shares_blobs else None,
            prefix=own.prefix,
            deliveries_max=settings.worker.deliveries_max,
        )
        self._reporter: Reporter = Reporter(
            self._channel,
            worker=name,
            prefix=own.prefix,
            clock=clock,
            credential=self._credential,
        )
        self.outputs: RemoteOutputs = RemoteOutputs(
            database, self._reporter, shared=artifacts if shares_blobs else None
        )

    def courier(self, worker: Worker, plugins: Plugins) -> Courier:
        """What brings this worker its work."""
        from stateward.workers.courier import Courier, CourierConfig

        settings, log = self._settings, telemetry.log("transport")
        return Courier(
            self._channel,
            open_inbox(
                self._channel,
                work_streams(settings, plugins, self._credential),
                log,
                listens=True,
            ),
            CourierConfig(
                heartbeat_s=settings.worker.heartbeat_seconds,
                lease_s=settings.worker.lease_seconds,
                shares_blobs=self._shares_blobs,
            ),
            database=self._database,
            outputs=self.outputs,
            reporter=self._reporter,
            artifacts=self._artifacts,
            worker=worker,
        )


def work_streams(
    settings: Settings, plugins: Plugins, credential: WorkerCredential | None = None
) -> list[str]:
    """The streams of all stages that the runners of this process can do, and its credential is for."""
    known = plugins.runners
    return [
        work_stream(machine.name, stage.name, each, prefix=settings.transport.prefix)
        for machine in plugins.machines.values()
        for stage in machine.stages
        if stage.runner in known
        and (credential is None or allows(credential.stages, machine.name, stage.name))
        for each in CLASSES
    ]
