"""Traces: the header that a request brings goes with its document all the way, and spans tell of every attempt."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from stateward import telemetry
from stateward.app import App
from stateward.telemetry.tracing import (
    TracedAttempt,
    is_traceparent,
    new_traceparent,
    trace_id,
    trace_of,
)
from tests.apps import ENTERPRISE, Maker
from tests.notifications.conftest import deliver
from tests.notifications.receivers import receiving

STATEMENT = b"date;amount;text\n2026-01-02;-12,50;Coffee\n"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(autouse=True)
def _restored() -> object:
    yield
    telemetry.set_up(level="warning")


def submitted(app: App, trace: str | None) -> str:
    """A statement that came with a trace."""
    artifact = app.artifacts.put([STATEMENT], bytes_max=10_000)
    opening = app.submissions.prepare(
        artifact,
        machine="upload",
        name="a.csv",
        labels=None,
        priority=5,
        actor="person:ann",
        reason=None,
        trace=trace,
    )
    return app.submissions.create([opening])[0].record.id


def test_a_trace_goes_with_a_document_through_history_log_and_webhook(make_app: Maker) -> None:
    app = make_app(f"{ENTERPRISE}\nnotifications: {{webhook_allow: [127.0.0.1]}}")
    stream = io.StringIO()
    telemetry.set_up(format="json", level="info", stream=stream)
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=["upload.normalized"], actor="person:ann")
        record_id = submitted(app, TRACE)
        app.run_until_idle()
        deliver(app)

    assert {each.metadata["trace"] for each in app.records.history(record_id)} == {TRACE}
    assert receiver.posts[0].headers["traceparent"] == TRACE
    assert app.admin.verify().is_sound
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    moves = [line for line in lines if line.get("record_id") == record_id and "version" in line]
    assert {line["trace_id"] for line in moves} == {trace_id(TRACE)}
    parsed = next(line for line in moves if "parse.completed" in line["event"])
    assert (parsed["stage"], parsed["version"]) == ("parse", 2)
    assert parsed["actor"].startswith("runner:")
    assert "trace" not in str(app.records.view(app.record(record_id)))


def test_a_document_without_a_trace_gets_one_where_log_lines_want_it(make_app: Maker) -> None:
    with_traces, without = make_app(), make_app("profile: personal")

    own = with_traces.records.history(submitted(with_traces, None))[0].metadata
    with_traces.actions.act(
        "cancel", with_traces.store.log.read()[0].record_id, actor="person:a", reason=None
    )

    assert is_traceparent(str(own["trace"]))
    other = without.submit(b"date,amount,text\n2026-01-13,-1.00,another\n").record
    assert "trace" not in without.records.history(other.id)[0].metadata


def test_the_trace_of_a_request_comes_before_that_of_its_record(make_app: Maker) -> None:
    app = make_app()
    record_id = submitted(app, TRACE)
    other = new_traceparent(bytes(range(24)))

    from stateward.app.actions import Command

    app.actions.act_each(
        [Command(verb="cancel", record_id=record_id, actor="person:a", reason=None, trace=other)]
    )

    assert [each.metadata["trace"] for each in app.records.history(record_id)] == [TRACE, other]


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        (TRACE, True),
        (TRACE.replace("00-4", "01-4"), True),
        (TRACE.replace("00-4", "ff-4"), False),
        (TRACE.upper(), False),
        ("00-" + "0" * 32 + "-00f067aa0ba902b7-01", False),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01", False),
        (TRACE + "-x", False),
        (TRACE + "\n", False),
        ("", False),
    ],
)
def test_what_a_traceparent_is(text: str, *, is_right: bool) -> None:
    assert is_traceparent(text) == is_right


def test_a_record_without_a_trace_has_one_of_its_own() -> None:
    def attempt(record_id: str, trace: str | None) -> TracedAttempt:
        return TracedAttempt(
            name="a.b", record_id=record_id, began=0, ended=1, trace=trace, facts={}, error=None
        )

    assert trace_of(attempt("UL_1", None)) == trace_of(attempt("UL_1", "nonsense"))
    assert trace_of(attempt("UL_1", None)) != trace_of(attempt("UL_2", None))
    assert trace_of(attempt("UL_1", TRACE)) == (
        0x4BF92F3577B34DA6A3CE929D0E0E4736,
        0x00F067AA0BA902B7,
    )


@contextmanager
def collecting() -> Iterator[tuple[str, list[Span]]]:
    """A collector of spans: the real protocol, on a real port."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_every_attempt_is_a_span_of_the_documents_trace(make_app: Maker) -> None:
    with collecting() as (endpoint, spans):
        app = make_app(f"{ENTERPRISE}\ntelemetry: {{otlp_endpoint: '{endpoint}'}}")
        record_id = submitted(app, TRACE)
        app.run_until_idle()
        deliver(app)

    history = app.records.history(record_id)
    assert [span.name for span in spans] == ["upload.parse", "upload.normalize"]
    for span, (began, ended) in zip(spans, [(1, 2), (3, 4)], strict=True):
        assert span.trace_id.hex() == trace_id(TRACE)
        assert span.parent_span_id.hex() == "00f067aa0ba902b7"
        assert span.start_time_unix_nano == history[began].at * 1000
        assert span.end_time_unix_nano == history[ended].at * 1000
        assert any(each.value.string_value == record_id for each in span.attributes)
