"""Metrics: what Prometheus reads is what the log says, whichever process is asked and however often."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric as Parsed
from prometheus_client.parser import text_string_to_metric_families

from stateward.app import App
from stateward.core.model import SECOND, Event, event_id
from stateward.engine.coordinator import Submission
from stateward.engine.system import wall_clock
from stateward.storage.counters import BUCKETS_S, SOURCE_TYPES_MAX
from stateward.telemetry import metrics
from stateward.telemetry.metrics import (
    METRICS,
    Family,
    Histogram,
    exposition,
)
from stateward.transport import WorkerInfo
from tests.apps import ENTERPRISE, Maker, on_each_store

STATEMENT = b"date;amount;text\n2026-01-02;-12,50;Coffee\n"
Samples = dict[tuple[str, ...], float]


def scraped(app: App) -> dict[str, Parsed]:
    return {each.name: each for each in text_string_to_metric_families(app.monitor.text())}


def samples(family: Parsed, name: str, *labels: str) -> Samples:
    """The values of one series of a family, by these labels."""
    return {
        tuple(each.labels[label] for label in labels): each.value
        for each in family.samples
        if each.name == name
    }


def opened(app: App, count: int = 1, **how: object) -> list[str]:
    openings = [Submission(machine="upload", actor="person:ann", **how)] * count  # type: ignore[arg-type]
    return [each.record.id for each in app.coordinator.submit(openings)]


@on_each_store
def test_a_statement_is_told_of_from_its_upload_to_its_end(app: App) -> None:
    app.submit(STATEMENT, labels={"source_type": "bank_csv"})
    app.run_until_idle()

    families = scraped(app)

    processing = families["upload_processing_duration_seconds"]
    counts = samples(processing, f"{processing.name}_count", "source_type", "status")
    assert counts == {
        ("bank_csv", status): 1
        for status in ("queued_for_parse", "parsing", "parsed", "normalizing")
    }
    whole = families["upload_end_to_end_duration_seconds"]
    assert samples(whole, f"{whole.name}_count", "source_type", "status") == {
        ("bank_csv", "normalized"): 1
    }
    latency = families["stateward_transition_latency_seconds"]
    assert samples(latency, f"{latency.name}_count", "machine") == {("upload",): 2}
    records = samples(families["stateward_records"], "stateward_records", "machine", "status")
    assert records["upload", "normalized"] == 1
    assert records["upload", "error"] == 0
    assert not any(machine != "upload" for machine, _ in records)


@on_each_store
def test_counts_are_those_of_the_log_however_often_and_by_whom_they_are_asked_for(
    make_app: Maker,
) -> None:
    one, other = make_app(), make_app()
    opened(one, 700)

    threads = [Thread(target=each.monitor.text) for each in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened(other, 10)

    expected = Counter(
        (each.source or "", each.target) for each in one.store.log.read(limit=10_000)
    )
    for app in (one, other):
        families = scraped(app)["stateward_transitions"]
        found = samples(families, "stateward_transitions_total", "source", "target")
        assert found == expected
    assert sum(expected.values()) == 710


def test_the_buckets_of_a_histogram_add_up(app: App) -> None:
    app.submit(STATEMENT)
    app.run_until_idle()

    histograms = [family for family in scraped(app).values() if family.type == "histogram"]

    assert histograms
    for family in histograms:
        by_labels: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for each in family.samples:
            if each.name.endswith("_bucket"):
                key = tuple(sorted((k, v) for k, v in each.labels.items() if k != "le"))
                by_labels.setdefault(key, []).append(each.value)
        ends = {
            tuple(sorted(each.labels.items())): each.value
            for each in family.samples
            if each.name.endswith("_count")
        }
        for key, values in by_labels.items():
            assert len(values) == len(BUCKETS_S) + 1
            assert values == sorted(values)
            assert values[-1] == ends[key]


def test_retries_timeouts_and_errors_are_counted(make_app: Maker) -> None:
    at = [wall_clock()]
    app = make_app(clock=lambda: at[0])
    (record_id,) = opened(app)
    for version in (1, 4):
        announce(app)
        app.coordinator.turn()
        app.bus.remove_worker("helper")
        fail(app, record_id, version, "TIMEOUT")
        at[0] += 3600 * SECOND
        app.scheduler.tick()
        app.coordinator.turn()

    families = scraped(app)

    retries = samples(families["upload_retries"], "upload_retries_total", "status", "retry_count")
    assert retries == {("queued_for_parse", "1"): 1, ("queued_for_parse", "2"): 1}
    assert samples(families["upload_timeouts"], "upload_timeouts_total", "status") == {
        ("parsing",): 2
    }
    errors = samples(families["stateward_errors"], "stateward_errors_total", "status", "error_code")
    assert errors == {("error", "TIMEOUT"): 2}
    took = families["upload_processing_duration_seconds"]
    waits = samples(took, f"{took.name}_sum", "status")
    assert waits["error",] == pytest.approx(2 * 3600)


def test_what_ends_without_a_retry_is_counted_with_retry_count_0(make_app: Maker) -> None:
    app = make_app()
    app.submit(STATEMENT)
    app.run_until_idle()

    retries = samples(
        scraped(app)["upload_retries"], "upload_retries_total", "status", "retry_count"
    )

    assert retries == {("normalized", "0"): 1}


def announce(app: App) -> None:
    app.bus.heartbeat(
        WorkerInfo(
            id="helper",
            host="elsewhere",
            pid=1,
            life="",
            runners=("upload.parse",),
            slots=100,
            inline_slots=100,
            started_at=0,
            seen_at=app.clock(),
        )
    )


def fail(app: App, record_id: str, version: int, code: str) -> None:
    event = Event(
        id=event_id(record_id, makes=version + 1, type_="parse.failed"),
        type="parse.failed",
        record_id=record_id,
        version=version,
        at=app.clock(),
        actor="sequencer:test",
        error_code=code,
    )
    app.coordinator.handle([event])


def test_depth_and_age_of_the_queue_are_told_by_priority(make_app: Maker) -> None:
    at = [wall_clock()]
    app = make_app(clock=lambda: at[0])
    opened(app, 3, priority=5)
    at[0] += 40 * SECOND
    opened(app, 2, priority=10)
    at[0] += 2 * SECOND

    families = scraped(app)

    depth = samples(families["stateward_queue_depth"], "stateward_queue_depth", "priority")
    assert depth == {("5",): 3, ("10",): 2}
    name = "stateward_queue_oldest_seconds"
    assert samples(families[name], name, "priority") == {("5",): 42, ("10",): 2}


def test_a_machine_is_told_of_where_its_settings_say_so_with_the_labels_they_choose(
    make_app: Maker,
) -> None:
    assert not make_app("profile: personal").monitor.is_enabled
    app = make_app(f"{ENTERPRISE}\nupload_record: {{metrics: {{labels: [status]}}}}")
    assert app.monitor.is_enabled
    for kind in ("a", "b"):
        app.submit(STATEMENT + kind.encode(), labels={"source_type": kind})
    app.run_until_idle()

    families = scraped(app)["upload_processing_duration_seconds"]

    assert samples(families, f"{families.name}_count", "status")["parsing",] == 2
    assert not any("source_type" in each.labels for each in families.samples)


def test_source_types_that_people_make_up_do_not_make_series_without_end(app: App) -> None:
    for number in range(SOURCE_TYPES_MAX + 20):
        (record_id,) = opened(app, labels={"source_type": f"kind {number}"})
        app.actions.act("cancel", record_id, actor="person:ann", reason=None)
        if number % 40 == 0:
            app.monitor.update_counters()

    families = scraped(app)["upload_processing_duration_seconds"]
    counts = samples(families, f"{families.name}_count", "source_type")

    assert len(counts) == SOURCE_TYPES_MAX + 1
    assert counts["other",] == 20


def test_outcomes_of_webhooks_and_mails_are_there_from_the_beginning(app: App) -> None:
    families = scraped(app)

    outcomes = samples(
        families["stateward_webhook_attempts"], "stateward_webhook_attempts_total", "outcome"
    )
    assert outcomes == {("delivered",): 0, ("failed",): 0, ("dead",): 0}
    assert samples(families["stateward_mails"], "stateward_mails_total", "outcome")["sent",] == 0


def test_every_declared_metric_is_told_and_nothing_else(app: App) -> None:
    app.submit(STATEMENT)
    app.run_until_idle()

    kinds = {each.name: each.type for each in scraped(app).values()}

    declared = {metric.name_for("upload").removesuffix("_total"): metric.kind for metric in METRICS}
    assert kinds == declared


def test_names_follow_the_rules_of_prometheus() -> None:
    for metric in METRICS:
        name = metric.name_for("upload")
        assert (metric.kind == "counter") == name.endswith("_total")
        if "duration" in name or "latency" in name or "oldest" in name:
            assert name.endswith("_seconds")
        assert metric.help.endswith(".")


PROMTOOL = shutil.which("promtool") or shutil.which("promtool", path=Path(sys.executable).parent)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_finds_nothing_to_complain_about(app: App) -> None:
    app.submit(STATEMENT)
    app.run_until_idle()

    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"],
        input=app.monitor.text(),
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


hostile = st.text(max_size=30)


@given(hostile, hostile)
def test_no_label_can_forge_a_line(one: str, other: str) -> None:
    family = Family(metric=metrics.RECORDS, samples={(one, other): 3})

    text = exposition([family])

    (parsed,) = text_string_to_metric_families(text)
    (sample,) = parsed.samples
    assert sample.labels == {"machine": one, "status": other}
    assert text.count("\n") == 3


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1))
def test_a_histogram_is_read_back_as_it_was(found: list[tuple[int, int]]) -> None:
    histogram = Histogram((0.1, 1.0, 60.0))
    for bucket, count in found:
        histogram.add(bucket, count=count, total=count / 4)

    text = exposition([Family(metric=metrics.ATTEMPT_TIME, samples={(): histogram})])

    (parsed,) = text_string_to_metric_families(text)
    values = {(each.name, each.labels.get("le")): each.value for each in parsed.samples}
    total = sum(count for _, count in found)
    name = metrics.ATTEMPT_TIME.name
    assert values[f"{name}_bucket", "0.1"] == sum(count for bucket, count in found if bucket == 0)
    assert values[f"{name}_bucket", "+Inf"] == values[f"{name}_count", None] == total
    assert values[f"{name}_sum", None] == total / 4
