"""Traces: the W3C `traceparent`, and spans for OpenTelemetry where the settings name a collector.

All that happens to a record is one trace: that of the request that submitted it, or one of its own. A span is one
attempt at one stage; it is made afterwards, from the transitions that began and ended the attempt, so that tracing does
not slow down the work. OpenTelemetry is imported only where spans are sent (the extra `otel`).
"""

import re
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Micros

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

# Version, trace id, parent id, flags; `ff` and all zeros are invalid by https://www.w3.org/TR/trace-context/.
TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
TRACE_BYTES, SPAN_BYTES = 16, 8
FLUSH_S = 5.0  # the service must end in reasonable time, with or without its last spans


class TracedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a record, from the transition that began it to the one that ended it."""

    name: str
    record_id: str
    began: Micros
    ended: Micros
    trace: str | None
    facts: dict[str, str | int]
    error: str | None = None


def is_traceparent(text: str) -> bool:
    """Whether a header is valid and may be passed on."""
    return TRACEPARENT.fullmatch(text) is not None


def new_traceparent(random: bytes) -> str:
    """A new trace, from 24 random bytes."""
    trace, span = random[:TRACE_BYTES], random[TRACE_BYTES : TRACE_BYTES + SPAN_BYTES]
    return f"00-{trace.hex()}-{span.hex()}-01"


def trace_id(traceparent: str) -> str:
    """The trace id in it."""
    return traceparent.split("-")[1]


def trace_of(attempt: TracedAttempt) -> tuple[int, int]:
    """Trace id and parent id of a span; a record without a trace has one that is derived from its id."""
    if attempt.trace is not None and is_traceparent(attempt.trace):
        _, trace, span, _ = attempt.trace.split("-")
        return int(trace, 16), int(span, 16)
    digest = sha256(attempt.record_id.encode()).digest()
    return (
        int.from_bytes(digest[:TRACE_BYTES], "big"),
        int.from_bytes(digest[TRACE_BYTES : TRACE_BYTES + SPAN_BYTES], "big"),
    )


class Spans:
    """Sends spans to a collector in the background; what it does not accept is lost, and nothing waits for it."""

    def __init__(self, endpoint: str, *, service_name: str, version: str) -> None:
        self._provider = _provider(endpoint, service_name, version)
        self._tracer = self._provider.get_tracer("stateward", version)

    def record(self, attempt: TracedAttempt) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._tracer.start_span(
            attempt.name,
            context=_context(attempt),
            start_time=attempt.began * 1000,  # nanoseconds
            attributes={"stateward.record_id": attempt.record_id, **attempt.facts},
        )
        if attempt.error is not None:
            span.set_status(Status(StatusCode.ERROR, attempt.error))
        span.end(end_time=attempt.ended * 1000)

    def close(self) -> None:
        """Send what is left, for at most `FLUSH_S`."""
        self._provider.force_flush(round(FLUSH_S * 1000))
        self._provider.shutdown()


def _context(attempt: TracedAttempt) -> "Context":
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    trace, span = trace_of(attempt)
    parent = SpanContext(
        trace_id=trace, span_id=span, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    return set_span_in_context(NonRecordingSpan(parent))


def _provider(endpoint: str, service_name: str, version: str) -> "TracerProvider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise InvalidRequest(
            "telemetry.otlp_endpoint needs the extra `otel`: pip install 'stateward[otel]'"
        ) from error
    resource = Resource.create({"service.name": service_name, "service.version": version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=FLUSH_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
