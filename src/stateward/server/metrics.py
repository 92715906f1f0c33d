"""`/metrics`: what Prometheus reads."""

from typing import Any

from litestar import Response

from stateward.app import App
from stateward.server import route
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer
from stateward.telemetry.metrics import CONTENT_TYPE


@route.get(
    "/metrics",
    "observe",
    "getMetrics",
    "Numbers for Prometheus",
    media_type="text/plain",
    tags=["service"],
)
async def metrics(request: Asked) -> Response[str]:
    """In the text format. Every process gives the same numbers: they come from the database.

    A key that covers some pipelines gets theirs, without those of the installation.
    """
    machines = caller_of(request).machines

    def look(app: App) -> Answer:
        if not app.monitor.is_enabled:
            raise Refusal(
                "not-found",
                "metrics are off: set metrics.enabled in the section of a machine, or take the profile enterprise",
            )
        headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
        return Answer(status=200, headers=headers, body=app.monitor.text(machines).encode())

    return reply(await service_of(request).broad.ask(look))


HANDLERS: list[Any] = [metrics]
