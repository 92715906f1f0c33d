"""The life of a record in each bundled state machine, from creation to its end."""

import pytest
from msgspec.structs import replace

from stateward.core.decide import begin, decide, start
from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine
from stateward.core.model import Applied, Fields
from stateward.core.timers import due_event
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import ADA, NOW, a_machine, a_record, an_event
from tests.core.builders import HOUR_S, Story, a_contract, a_paper, after, an_upload, refusal

# A record is opened


def test_a_record_is_opened_at_version_zero_in_the_initial_state() -> None:
    applied = begin(
        UPLOAD,
        record_id="UL_7",
        now=NOW,
        actor=ADA,
        artifact="sha-1",
        dedupe="d1",
        labels={"bank": "x"},
        reason="again",
        replaces="UL_6",
    )

    record, transition = applied.change.record, applied.change.transition
    assert applied.change.expected is None
    assert (record.status, record.version, record.waiting) == ("queued_for_parse", 0, "parse")
    assert (record.artifact, record.dedupe, record.labels) == ("sha-1", "d1", {"bank": "x"})
    assert record.replaces == "UL_6"
    assert record.fields == {"upload_log_ref": "/logs/upload/UL_7"}
    assert transition is not None
    assert (transition.source, transition.target) == (None, "queued_for_parse")
    assert (transition.record_id, transition.version, transition.at) == ("UL_7", 0, NOW)
    assert (transition.actor, transition.trigger) == (ADA, "upload.created")
    assert transition.event_id == "UL_7:0:upload.created"
    assert transition.metadata == {"reason": "again", "replaces": "UL_6"}


def test_a_record_is_opened_with_nothing_but_an_id() -> None:
    applied = begin(UPLOAD, record_id="UL_7", now=NOW, actor=ADA)

    assert applied.change.transition is not None
    assert applied.change.transition.metadata == {}
    assert applied.change.record.replaces is None


# The life of an upload


def test_an_import_begins_where_work_waits_and_says_so() -> None:
    opened = begin(
        DOCUMENT_MACHINE, record_id="LT_7", now=NOW, actor=ADA, entry="parsed", reason="moved"
    ).change

    assert opened.transition is not None
    assert (opened.record.status, opened.record.waiting) == ("parsed", "validate")
    assert (opened.transition.source, opened.transition.target) == (None, "parsed")
    assert (opened.transition.actor, opened.transition.trigger) == (ADA, "literature.imported")
    assert opened.transition.metadata == {"reason": "moved"}


@pytest.mark.parametrize(
    ("machine", "entry"),
    [
        (DOCUMENT_MACHINE, "parsing"),
        (DOCUMENT_MACHINE, "completed"),
        (DOCUMENT_MACHINE, "retrying"),
        (DOCUMENT_MACHINE, "nowhere"),
        (UPLOAD, "parsed"),  # its records show what the stages before have reported
    ],
)
def test_no_import_begins_where_something_would_be_missing(machine: Machine, entry: str) -> None:
    with pytest.raises(InvalidRequest, match=f"no import begins in '{entry}'"):
        begin(machine, record_id="LT_7", now=NOW, actor=ADA, entry=entry)


def test_an_upload_goes_from_the_queue_to_normalized() -> None:
    story = Story(UPLOAD)

    story.tries(count=42)
    story.tries(count=40)

    assert story.path == ["queued_for_parse", "parsing", "parsed", "normalizing", "normalized"]
    assert [each.version for each in story.history] == [0, 1, 2, 3, 4]
    assert [each.trigger for each in story.history] == [
        "upload.created",
        "parse.started",
        "parse.completed",
        "normalize.started",
        "normalize.completed",
    ]
    assert [each.event_id for each in story.history[1:3]] == [
        "UL_1:1:parse.started",
        "UL_1:2:parse.completed",
    ]
    assert [each.attempt for each in story.history] == [None, 1, 1, 3, 3]
    assert story.record.outputs == {"parse": 1, "normalize": 3}
    assert story.told == []
    assert story.findings() == []


def test_a_worker_is_named_with_the_attempt_that_it_was_given() -> None:
    story = an_upload()

    story.starts(worker="parser-3")

    assert story.record.worker == "parser-3"
    assert story.record.waiting is None
    assert story.last.actor == "coordinator"
    assert story.last.attempt == story.record.version == 1
    assert story.last.metadata == {"worker": "parser-3", "retry_count": 0}


def test_a_change_says_which_version_it_expects_to_find() -> None:
    queued, extracting = an_upload(), a_contract("extracting")
    running = an_upload("parsing").record

    moved = start(UPLOAD, queued.record, worker="w1", now=NOW).change
    handed = start(CONTRACT, extracting.record, worker="w1", now=NOW).change
    decided = decide(UPLOAD, running, an_event(running, "parse.failed"), now=NOW)

    assert isinstance(decided, Applied)
    assert (moved.expected, handed.expected, decided.change.expected) == (0, 2, 1)


def test_a_running_record_is_due_when_its_timeout_comes() -> None:
    story = Story(UPLOAD.tuned(timeouts_s={"parsing": 120.0}))

    story.starts()

    assert story.record.due_at == after(120)


def test_what_has_ended_takes_no_more_events() -> None:
    story = an_upload("normalized")

    reasons = [
        refusal(story.asks(type_))
        for type_ in ("retry.requested", "cancel.requested", "normalize.completed")
    ]

    assert reasons == ["impossible"] * 3
    assert story.record.version == 4


# The life of a contract


def test_a_contract_that_passes_every_check_needs_no_person() -> None:
    story = a_contract("completed", confidence=80)

    assert story.path == [
        "pending",
        "parsing_pdf",
        "extracting",
        "validating",
        "validated",
        "comparing",
        "completed",
    ]
    assert story.asked == []
    assert story.findings() == []


def test_a_stage_without_a_state_for_waiting_starts_without_a_transition() -> None:
    story = a_contract("extracting")
    before = story.record

    story.starts()

    assert before.waiting == "extract"
    assert len(story.history) == 3
    assert story.record.version == before.version
    assert story.record == replace(before, waiting=None, worker="w1", due_at=after(600))


def test_work_of_a_lost_worker_starts_anew_under_the_same_version() -> None:
    story = an_upload("parsing")
    story.passes(60)

    story.starts(worker="w2")

    assert story.record.worker == "w2"
    assert story.record.version == 1
    assert story.record.due_at == after(HOUR_S, story.now)


@pytest.mark.parametrize(
    ("facts", "to"),
    [
        ({"final_confidence": 80, "valid": True}, "validated"),
        ({"final_confidence": 100.0, "valid": True}, "validated"),
        ({"final_confidence": 79.999, "valid": True}, "review_required"),
        ({"final_confidence": 100, "valid": False}, "review_required"),
        ({"final_confidence": "100", "valid": True}, "review_required"),
        ({"final_confidence": 100}, "review_required"),
        ({"valid": True}, "review_required"),
        ({}, "review_required"),
    ],
)
def test_only_a_sure_and_valid_contract_gets_past_the_person(facts: Fields, to: str) -> None:
    story = a_contract("validating")

    story.tries(facts=facts)

    assert story.status == to
    assert story.last.metadata == facts


# The life of a paper


def test_a_paper_goes_through_all_its_steps() -> None:
    story = a_paper("completed")

    assert story.path == [
        "pending",
        "fetching",
        "fetched",
        "parsing",
        "parsed",
        "validating",
        "validated",
        "ir_building",
        "ir_ready",
        "embedding",
        "indexed",
        "completed",
    ]
    assert story.findings() == []


@pytest.mark.parametrize(
    ("status", "type_", "to"),
    [
        ("pending", "document.skipped", "skipped"),
        ("ir_ready", "document.completed", "completed"),
    ],
)
def test_a_paper_can_be_moved_by_name(status: str, type_: str, to: str) -> None:
    by_person, by_driver = a_paper(status), a_paper(status)

    by_person.asks(type_)
    by_driver.asks(type_, by="sequencer:windmill")

    assert by_person.status == by_driver.status == to
    assert refusal(a_paper(status).happens(type_)) == "not_allowed"


@pytest.mark.parametrize(
    ("type_", "to", "waiting"),
    [("document.adopted", "pending", "fetch"), ("document.skipped", "skipped", None)],
)
def test_an_imported_paper_is_adopted_or_skipped(type_: str, to: str, waiting: str | None) -> None:
    imported = a_record(DOCUMENT_MACHINE, status="legacy")

    decision = decide(DOCUMENT_MACHINE, imported, an_event(imported, type_, actor=ADA), now=NOW)

    assert isinstance(decision, Applied)
    assert (decision.change.record.status, decision.change.record.waiting) == (to, waiting)


def test_a_suspended_state_without_a_review_asks_no_person_and_has_no_deadline() -> None:
    machine = a_machine(
        states={
            "new": "ready",
            "reading": "running",
            "held": "suspended",
            "read": "terminal",
            "broken": "failed",
        },
        moves=[
            {"from": "new", "to": "held", "on": "note.held"},
            {"from": "held", "to": "read", "on": "note.closed"},
        ],
    )
    story = Story(machine)

    story.asks("note.held")

    assert story.record.due_at is None
    assert story.effects == []
    assert due_event(machine, story.record, now=NOW) is None


def test_a_state_that_no_stage_takes_from_waits_for_nothing() -> None:
    machine = a_machine(
        initial="draft",
        states={
            "draft": "ready",
            "new": "ready",
            "reading": "running",
            "read": "terminal",
            "broken": "failed",
        },
        moves=[{"from": "draft", "to": "new", "on": "note.sent"}],
    )
    story = Story(machine)
    assert story.record.waiting is None

    story.asks("note.sent")

    assert story.record.waiting == "read"


# A stage that found nothing


def test_nothing_found_means_that_the_next_stage_is_skipped() -> None:
    story = an_upload("parsing")

    story.completes(count=0)

    assert (story.status, story.record.rest, story.record.waiting) == ("parsed", "skipped", None)
    assert story.last.metadata == {"count": 0, "rest": "skipped"}
    assert story.findings() == [], "it rests, it is not stuck"


def test_a_count_that_was_not_given_is_nothing_found() -> None:
    story = an_upload("parsing")

    story.completes(count=None)

    assert story.record.fields["observations_count"] == 0
    assert story.record.rest == "skipped"


def test_nothing_found_by_the_last_stage_is_an_end_like_any_other() -> None:
    story = an_upload("normalizing")

    story.completes(count=0)

    assert (story.status, story.record.rest) == ("normalized", None)


def test_a_stage_that_makes_no_items_skips_nothing() -> None:
    story = a_paper("fetching")

    story.completes()

    assert (story.status, story.record.rest, story.record.waiting) == ("fetched", None, "parse")


UPLOAD_LOG = {"upload_log_ref": "/logs/upload/UL_1"}
PARSE_LOG = {**UPLOAD_LOG, "parse_log_ref": "/logs/parse/UL_1"}
PARSED: dict[str, object] = {**PARSE_LOG, "observations_count": 42}
NORMALIZE_LOG = {**PARSED, "normalizer_log_ref": "/logs/normalize/UL_1"}
NORMALIZED = {**NORMALIZE_LOG, "canonicals_count": 40}


# Progressive disclosure


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("queued_for_parse", UPLOAD_LOG),
        ("parsing", PARSE_LOG),
        ("parsed", PARSED),
        ("normalizing", NORMALIZE_LOG),
        ("normalized", NORMALIZED),
    ],
)
def test_an_upload_discloses_exactly_what_is_due(status: str, fields: Fields) -> None:
    assert UPLOAD.exposed(an_upload(status).record) == fields


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("queued_for_parse", UPLOAD_LOG),
        ("parsing", PARSE_LOG),
        ("parsed", PARSED),
        ("normalizing", NORMALIZE_LOG),
    ],
)
def test_an_error_discloses_what_was_reached_before_it(status: str, fields: Fields) -> None:
    story = an_upload(status)

    story.asks("cancel.requested")

    assert story.status == "error"
    assert UPLOAD.exposed(story.record) == fields


def test_a_retry_hides_again_what_is_not_reached() -> None:
    story = an_upload("normalizing")

    story.fails()
    story.rings()

    assert UPLOAD.exposed(story.record) == PARSED


def test_the_log_of_a_step_can_be_asked_for_as_soon_as_it_is_entered() -> None:
    story = a_contract("extracting")

    assert CONTRACT.exposed(story.record) == {
        "parse_log_ref": "/logs/parse/CW_1",
        "extract_log_ref": "/logs/extract/CW_1",
    }


def test_a_failed_state_that_was_imported_discloses_what_every_failed_one_may() -> None:
    imported = a_record(UPLOAD, status="error")

    assert set(UPLOAD.exposed(imported)) == set(UPLOAD.expose)
