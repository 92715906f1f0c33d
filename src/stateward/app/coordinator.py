"""The coordinator of an app, with the limits of its settings."""

import time
from collections.abc import Sequence

from stateward.app import App
from stateward.app.transition_log import TransitionLog
from stateward.engine.coordinator import Coordinator
from stateward.engine.coordinator_config import CoordinatorConfig
from stateward.engine.system import is_alive


def build_coordinator(app: App, machines: Sequence[str]) -> Coordinator:
    settings = app.settings
    ageing_s = settings.coordinator.ageing_seconds
    return Coordinator(
        store=app.store,
        bus=app.bus,
        registry=app.registry,
        clock=app.clock,
        new_id=app.new_id,
        is_alive=is_alive,
        on_transitions=TransitionLog(settings, app.registry),
        config=CoordinatorConfig(
            batch_max=settings.coordinator.batch_max,
            lease_s=settings.worker.lease_seconds,
            redelivery=settings.worker.redelivery,
            ageing_s={
                each: 0.0 if settings.machine(each).is_fifo else ageing_s for each in machines
            },
            automatic_moves=app.plugins.automatic_moves,
            engine_stages=app.plugins.engine_stages,
            tells_owners=settings.worker.recycle == "owner",
            routes=app.plugins.routes,
        ),
        ticks=time.monotonic,
    )
