"""The loop of a process and what runs in it, as the settings and its roles say."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from stateward import __version__, telemetry
from stateward.app import App
from stateward.app.artifacts import SWEEP_AGE_S, check_artifacts
from stateward.app.runtime import build_mirror, build_worker, worker_name
from stateward.engine.node import Node, Roles

# A process in one database needs no transport, and one without webhooks no senders.
if TYPE_CHECKING:
    from stateward.app.remote import RemoteEnd
    from stateward.notifications import Notifier


def build_node(app: App, *, is_coordinator: bool, is_worker: bool, is_notifier: bool) -> Node:
    """The loop of this process, in these roles."""
    settings = app.settings
    is_remote = app.is_runner and not settings.transport.is_database
    check_artifacts(settings, is_remote=is_remote)
    app.artifacts.sweep(older_than=time.time() - SWEEP_AGE_S)
    worker = mirror = relay = remote = None
    if is_coordinator:
        app.store.lanes.begin_epoch(now=app.clock())
        if settings.ledger.mirror is not None:
            mirror = build_mirror(settings.ledger, app.store, app.clock)
        if not settings.transport.is_database:
            from stateward.app.remote import build_relay

            relay = build_relay(
                settings,
                database=app.database,
                artifacts=app.artifacts,
                plugins=app.plugins,
                worker_keys=app.worker_keys,
                clock=app.clock,
            )
    elif is_worker and not settings.transport.is_database:
        remote = remote_end(app)
    if is_worker:
        worker = build_worker(
            settings,
            database=app.database,
            is_runner=app.is_runner,
            artifacts=app.artifacts,
            plugins=app.plugins,
            clock=app.clock,
            outputs=None if remote is None else remote.outputs,
        )
    courier = None
    if remote is not None and worker is not None:
        courier = remote.courier(worker, app.plugins)
    roles = Roles(
        worker=worker,
        relay=relay,
        courier=courier,
        coordinator=app.coordinator if is_coordinator else None,
        scheduler=app.scheduler if is_coordinator else None,
        mirror=mirror,
        indexer=app.indexer if is_coordinator else None,
        confirmation=app.search_confirmation if is_coordinator else None,
        notifier=partial(_notifier, app) if is_notifier else None,
        decisions=app.reviews.apply_due if is_coordinator else None,
    )
    return Node(
        roles,
        database=app.database,
        bus=app.bus,
        clock=app.clock,
        idle_s=settings.coordinator.idle_seconds,
    )


def remote_end(app: App) -> RemoteEnd:
    """The connection of a worker that has no store: its database is in memory, and holds what is under way."""
    from stateward.app.remote import RemoteEnd

    return RemoteEnd(
        app.settings,
        name=worker_name(),
        database=app.database,
        artifacts=app.artifacts,
        shares_blobs=app.shares_blobs,
        clock=app.clock,
    )


def _notifier(app: App, wake: Callable[[], None]) -> Notifier:
    """What delivers webhooks and email; `wake` ends the sleep of the loop that drives it."""
    from stateward.app.secrets import seal_stored
    from stateward.telemetry.tracing import Spans

    seal_stored(app)
    own = app.settings.telemetry
    spans = None
    if own.otlp_endpoint is not None:
        spans = Spans(own.otlp_endpoint, service_name=own.service_name, version=__version__)
    return app.notifications.notifier(
        ticks=time.monotonic, wake=wake, log=telemetry.log("notifier"), spans=spans
    )
