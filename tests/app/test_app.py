"""The application as the CLI and the API use it."""

from functools import partial
from io import StringIO
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from stateward import telemetry
from stateward.app import App
from stateward.app.actions import Verb
from stateward.app.doctor import checks as checks_of
from stateward.app.identity import new_record_id
from stateward.app.transition_log import TransitionLog
from stateward.core.errors import (
    ConcurrentModification,
    DeclarationError,
    InvalidRequest,
    InvalidTransition,
    UnknownName,
)
from stateward.engine.coordinator import Submission
from stateward.settings import Settings
from tests.apps import Maker, on_postgres_if_long
from tests.waiting import WAIT_S_MAX

STATEMENT = b"date;amount;text\n2026-01-02;-12,50;Coffee\n2026-01-03;-3,00; Bread  roll\n"


def test_a_statement_becomes_observations_and_then_canonicals(app: App, tmp_path: Path) -> None:
    file = tmp_path / "january.csv"
    file.write_bytes(STATEMENT)
    record = app.submit(file, labels={"source_type": "bank_csv"}).record

    app.run_until_idle()

    ended = app.record(record.id)
    shown = app.records.view(ended)
    assert shown.status == "normalized"
    assert (shown.exposed["observations_count"], shown.exposed["canonicals_count"]) == (2, 2)
    assert shown.labels == {
        "filename": "january.csv",
        "size": len(STATEMENT),
        "source_type": "bank_csv",
    }
    last = list(app.items(record.id))[-1]
    assert (last["date"], last["amount"], last["description"], last["place"]) == (
        "2026-01-03", "-3.00", "Bread roll", {"line": 3},
    )  # fmt: skip
    assert [
        app.records.transition_view(each).sentence.partition(": ")[2]
        for each in app.records.history(record.id)
    ][2] == ("parsing → parsed (parse.completed, 2 observations)")
    assert app.admin.verify().is_sound


def test_the_same_bytes_are_one_record(app: App) -> None:
    first = app.submit(STATEMENT)
    again = app.submit(STATEMENT, priority=9)

    assert not first.is_duplicate
    assert again.is_duplicate
    assert again.record.id == first.record.id


def test_ids_are_unguessable_and_sort_by_time() -> None:
    ids = [new_record_id("UL") for _ in range(1000)]

    assert len({each[-26:] for each in ids}) == 1000  # 26 characters of five random bits each
    assert all(len(each) == len("UL_") + 36 for each in ids)
    times = [each[: len("UL_") + 9] for each in ids]
    assert times == sorted(times)
    assert len(set(times)) > 1  # much finer than a second


@on_postgres_if_long
def test_a_statement_without_rows_is_kept_and_its_next_stage_skipped(app: App) -> None:
    record = app.submit(b"date;amount;text\n").record

    app.run_until_idle()

    assert app.records.view(app.record(record.id)).rest == "skipped"
    assert app.records.explain(record.id).code == "skipped"


@on_postgres_if_long
def test_a_file_that_is_no_statement_fails_with_its_own_code(app: App) -> None:
    record = app.submit(b"\x1f\x8b\x08\x00\x01\x02").record

    app.run_until_idle()

    failed = app.record(record.id)
    assert (failed.status, failed.error_code) == ("error", "UNKNOWN_FORMAT")
    assert app.records.explain(record.id).code == "failed"


def test_a_failed_record_is_retried_by_a_person_who_says_why(app: App) -> None:
    record = app.submit(b"\x00").record
    app.run_until_idle()

    app.actions.act("retry", record.id, actor="person:ann", reason="mended the reader")
    app.run_until_idle()

    history = app.records.history(record.id)
    retry = next(each for each in history if each.trigger == "retry.requested")
    assert (retry.actor, retry.metadata["reason"]) == ("person:ann", "mended the reader")
    assert app.record(record.id).retry_count == 1


@on_postgres_if_long
def test_what_the_machine_does_not_allow_is_refused_and_nothing_is_written(app: App) -> None:
    record = app.submit(STATEMENT).record

    with pytest.raises(InvalidTransition) as refusal:
        app.actions.act("retry", record.id, actor="person:ann", reason=None)

    assert refusal.value.found == "queued_for_parse"
    assert refusal.value.allowed == ("parsing", "error")
    assert app.record(record.id) == record


def test_a_request_made_of_an_old_sight_is_refused(app: App) -> None:
    record = app.submit(STATEMENT).record
    app.run_until_idle()

    with pytest.raises(ConcurrentModification):
        app.actions.act("cancel", record.id, actor="person:ann", reason=None, version=0)


@on_postgres_if_long
def test_unknown_things_are_refused_by_name(app: App) -> None:
    with pytest.raises(UnknownName, match="no record 'UL_nobody'"):
        app.record("UL_nobody")
    with pytest.raises(UnknownName, match="no machine 'invoice'"):
        app.submit(b"x", machine="invoice")
    with pytest.raises(UnknownName, match="no priority 'urgent'"):
        app.submit(b"x", priority="urgent")
    with pytest.raises(UnknownName, match="no stage 'print'"):
        app.actions.pause("upload", "print", actor="person:a", reason=None)


def test_bulk_actions_count_first_and_refuse_to_mean_everything(app: App) -> None:
    for number in range(3):
        app.submit(b"\x00" + bytes([number]))
    app.submit(STATEMENT)
    app.run_until_idle()

    with pytest.raises(InvalidRequest, match="empty query"):
        app.actions.bulk("retry", query=app.records.query(""), actor="person:a", reason=None)
    query = app.records.query("machine:upload")
    dry = app.actions.bulk("retry", query=query, actor="person:a", reason="x", is_dry_run=True)
    done = app.actions.bulk("retry", query=query, actor="person:a", reason="x")

    assert (dry.matched, dry.applied, dry.refused) == (4, 3, {"impossible": 1})
    assert dry.by_status == {"error": 3, "normalized": 1}
    assert (done.matched, done.applied, done.refused) == (4, 3, {"impossible": 1})
    assert app.store.queries.counts()["upload", "queued_for_parse"] == 3


@on_postgres_if_long
def test_too_large_a_document_is_refused_and_leaves_nothing(
    make_app: Maker, tmp_path: Path
) -> None:
    app = make_app("limits: {upload_bytes_max: 10}\n")

    with pytest.raises(InvalidRequest, match="more than 10 bytes"):
        app.submit(b"x" * 11)

    assert app.store.queries.counts() == {}
    assert not [file for file in (tmp_path / "data" / "artifacts").rglob("*") if file.is_file()]


def test_explain_says_why_a_record_waits(app: App) -> None:
    record = app.submit(STATEMENT).record
    assert app.records.explain(record.id).code == "no_worker"

    with app.node(is_coordinator=False) as node:
        node.turn()
        assert app.records.explain(record.id).code == "about_to_start"
        app.actions.pause("upload", "parse", actor="person:op", reason="bad deploy")
        assert "bad deploy" in app.records.explain(record.id).sentence
    app.actions.resume("upload", "parse", actor="person:a")
    app.run_until_idle()

    assert app.records.explain(record.id).code == "ended"


def test_explain_knows_a_pause_of_the_whole_machine_and_a_lost_worker(app: App) -> None:
    record = app.submit(STATEMENT).record
    with app.node() as node:
        app.actions.pause("upload", "", actor="person:op", reason=None)
        node.turn()
        assert app.records.explain(record.id).advice == "stateward resume upload"
        app.actions.resume("upload", "", actor="person:a")
        node.turn()
        assert app.records.explain(record.id).code == "running"
        app.bus.remove_worker(app.bus.workers()[0].id)

        assert app.records.explain(record.id).code == "worker_lost"


@on_postgres_if_long
def test_settings_for_what_is_not_declared_are_refused(make_app: Maker) -> None:
    with pytest.raises(DeclarationError, match="there is no machine 'invoice'"):
        make_app("invoice_record: {retry: false}\n")
    with pytest.raises(DeclarationError, match="there is no source type 'bank_cvs'"):
        make_app(
            "upload_record: {retry: {backoff_seconds: [1], source_types: [{source_type: bank_cvs, max_retries: 1}]}}\n"
        )


def test_a_detected_source_type_is_retried_as_the_settings_say_of_it(make_app: Maker) -> None:
    rule = "source_types: [{source_type: bank_csv, max_retries: 7}]"
    app = make_app(f"upload_record: {{retry: {{backoff_seconds: [1], {rule}}}}}\n")

    record = app.submit(b"Date,Text,Amount\n2024-03-01,Baker,-4.20\n", name="a.csv").record

    assert record.labels["source_type"] == "bank_csv"
    assert app.registry.named("upload").retry_of(record).max_retries == 7


@on_postgres_if_long
def test_a_pipeline_that_cannot_be_loaded_is_refused(make_app: Maker, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")

    with pytest.raises(DeclarationError, match="ZeroDivisionError"):
        make_app(f"pipelines: ['{broken}']\n")
    with pytest.raises(DeclarationError, match="cannot be imported"):
        make_app("pipelines: [no_such_module]\n")
    with pytest.raises(DeclarationError, match="there is no such file"):
        make_app(f"pipelines: ['{tmp_path}/none.yaml']\n")


def test_doctor_looks_at_everything(app: App) -> None:
    checks = {check.name: check for check in checks_of(app)}

    is_durable = "fsync off" not in checks["database"].sentence  # the tests' PostgreSQL may not be
    assert checks["database"].is_well == is_durable
    assert checks["disk"].is_well
    assert checks["workers"].is_well, "nothing waits for one"
    assert checks["dead letters"].is_well


@on_postgres_if_long
def test_doctor_misses_a_worker_where_records_wait(app: App) -> None:
    app.submit(STATEMENT)

    checks = {check.name: check for check in checks_of(app)}

    assert not checks["workers"].is_well
    assert "stateward up" in checks["workers"].advice


def test_doctor_tells_of_events_that_could_not_be_read_and_after_a_week_only_counts_them(
    app: App,
) -> None:
    insert = (
        "INSERT INTO dead_letters (kind, body, reason, at) VALUES ('event', '{', 'no JSON', :at)"
    )
    app.database.run(insert, at=1)
    (old,) = (check for check in checks_of(app) if check.name == "dead letters")
    app.database.run(insert, at=app.clock())
    (new,) = (check for check in checks_of(app) if check.name == "dead letters")

    assert old.is_well
    assert old.sentence == "1 could not be read (event: no JSON)"
    assert not new.is_well
    assert new.sentence == "2 could not be read (event: no JSON; event: no JSON)"


@on_postgres_if_long
@pytest.mark.parametrize("verb", ["cancel", "retry"])  # the second is not possible from its state
def test_a_malformed_actor_is_told_so(app: App, verb: Verb) -> None:
    record = app.submit(STATEMENT).record

    for actor in ("ann", "person:", "person: ", "runner:x", ""):
        with pytest.raises(
            InvalidRequest, match=rf"the actor '{actor}' .* name a person, as person:anna"
        ):
            app.actions.act(verb, record.id, actor=actor, reason=None)
    assert app.record(record.id) == record


def test_a_malformed_actor_neither_pauses_nor_sets_a_priority(app: App) -> None:
    record = app.submit(STATEMENT).record
    own = app.actions

    for actor in ("ann", "person:", ""):
        for request in (
            partial(own.set_priority, [record.id], 9, reason=None),
            partial(own.pause, "upload", "", reason=None),
            partial(own.resume, "upload", ""),
        ):
            with pytest.raises(InvalidRequest, match="name a person, as person:anna"):
                request(actor=actor)

    assert app.record(record.id) == record
    assert app.store.pauses.all() == []


@on_postgres_if_long
def test_a_skipped_stage_is_logged_as_a_warning(app: App) -> None:
    record = app.submit(STATEMENT).record
    (created,) = app.records.history(record.id)
    log = TransitionLog(app.settings, app.registry)

    stream = StringIO()
    telemetry.set_up(level="warning", stream=stream)
    log([created, replace(created, metadata={"rest": "skipped"})], [record, record])
    telemetry.set_up(level="warning")

    (line,) = stream.getvalue().splitlines()
    assert "skipped: nothing for the next stage to do" in line


@on_postgres_if_long
def test_what_people_write_and_what_runners_quote_stays_out_of_the_log(app: App) -> None:
    record = app.submit(STATEMENT).record
    (created,) = app.records.history(record.id)
    told = {
        "error_code": "BAD_ROW",
        "error_message": "no amount: 'rent, J. Doe'",
        "reason": "a note",
    }
    log = TransitionLog(app.settings, app.registry)

    stream = StringIO()
    telemetry.set_up(level="info", stream=stream)
    log([replace(created, metadata=told)], [record])
    telemetry.set_up(level="warning")

    (line,) = stream.getvalue().splitlines()
    assert "BAD_ROW" in line
    assert not any(private in line for private in ("rent", "Doe", "note"))


@on_postgres_if_long
def test_waiting_for_a_record_ends_when_it_rests(app: App) -> None:
    record = app.submit(STATEMENT).record
    assert app.records.wait(record.id, timeout_s=0.05).status == "queued_for_parse"
    app.run_until_idle()

    assert app.records.wait(record.id, timeout_s=WAIT_S_MAX).status == "normalized"


def test_an_export_is_complete_and_checks_out_by_hand(app: App, tmp_path: Path) -> None:
    app.submit(STATEMENT)
    app.run_until_idle()

    counts = app.admin.export(tmp_path / "out")

    assert counts["transitions.jsonl"] == 5
    assert counts["records.jsonl"] == 1
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "transitions.jsonl", "records.jsonl", "dispositions.jsonl", "dead_letters.jsonl", "audit.jsonl",
        "checkpoints.jsonl",
        "anchor.json",
    }  # fmt: skip
    with pytest.raises(InvalidRequest, match="not an empty folder"):
        app.admin.export(tmp_path / "out")


@on_postgres_if_long
def test_scratch_folders_of_dead_processes_are_swept_and_ones_own_goes_with_it(
    app: App, tmp_path: Path
) -> None:
    left = tmp_path / "data" / "scratch" / "999999999-1"
    left.mkdir(parents=True)
    app.submit(STATEMENT)

    app.run_until_idle()

    assert list((tmp_path / "data" / "scratch").iterdir()) == []


def test_opening_a_store_costs_the_same_however_many_records_it_holds(tmp_path: Path) -> None:
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path)})
    with App(settings) as app:
        few = steps_of_opening(settings)
        opening = Submission(machine="upload", actor="person:test")
        app.coordinator.submit([opening] * 2000)

    assert steps_of_opening(settings) < few + 1000


def steps_of_opening(settings: Settings) -> int:
    """How many instructions SQLite carries out while an app opens its store."""
    steps = 0

    def count(connection: apsw.Connection) -> None:
        def step() -> bool:
            nonlocal steps
            steps += 10
            return False

        connection.set_progress_handler(step, 10)

    apsw.connection_hooks.append(count)
    try:
        App(settings).close()
    finally:
        apsw.connection_hooks.remove(count)
    return steps


@on_postgres_if_long
def test_a_document_that_was_changed_is_an_error_and_never_a_result(app: App) -> None:
    record = app.submit(STATEMENT).record
    path = app.artifacts.path(record.artifact or "")
    path.chmod(0o600)
    path.write_bytes(b"date;amount\n2026-01-02;9999,00\n")

    app.run_until_idle()

    ended = app.record(record.id)
    assert (ended.status, ended.error_code, ended.outputs) == ("error", "ARTIFACT_CHANGED", {})
