"""What outsiders see: a record, a transition and an attempt as the API and the command line show them."""

import msgspec

from stateward.app.views import attempt_view, record_view, transition_view
from stateward.core.model import SECOND, to_iso
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.outputs import AttemptResult
from stateward.testing.builders import NOW
from tests.core.builders import an_upload


def test_a_new_upload_shows_no_more_than_is_known() -> None:
    story = an_upload(artifact="sha-1", dedupe="sha-1", labels={"bank": "x"}, priority=7)

    assert msgspec.to_builtins(record_view(UPLOAD, story.record)) == {
        "id": "UL_1",
        "machine": "upload",
        "status": "queued_for_parse",
        "version": 0,
        "error_code": None,
        "error_message": None,
        "exposed": {"upload_log_ref": "/logs/upload/UL_1"},
        "priority": 7,
        "priority_reason": None,
        "is_priority_used": False,
        "retry_count": 0,
        "max_retries": 3,
        "last_retry_at": None,
        "rest": None,
        "is_at_rest": False,
        "notes": None,
        "flags": [],
        "flag_decision": None,
        "labels": {"bank": "x"},
        "replaces": None,
        "created_at": to_iso(NOW),
        "updated_at": to_iso(NOW),
        "status_metadata": {"started_at": to_iso(NOW), "worker_id": None, "retry_count": 0},
        "files": [],
    }


def test_internal_ids_never_leave() -> None:
    story = an_upload("normalized", artifact="sha-1", dedupe="d-1")

    shown = str(record_view(UPLOAD, story.record))

    assert "sha-1" not in shown
    assert "d-1" not in shown
    assert story.record.head not in shown


def test_a_running_upload_shows_who_has_it_and_since_when() -> None:
    story = an_upload()
    story.passes(5)
    story.starts(worker="parser-3")

    shown = record_view(UPLOAD, story.record).status_metadata

    assert (shown.started_at, shown.worker_id) == (to_iso(NOW + 5 * SECOND), "parser-3")


def test_an_error_shows_its_code_its_message_and_when_it_was_retried() -> None:
    story = an_upload("error")
    story.rings()
    story.starts()
    story.fails("BAD_PDF", "metadata corrupted")

    shown = record_view(UPLOAD, story.record)

    assert (shown.error_code, shown.error_message) == ("BAD_PDF", "metadata corrupted")
    assert (shown.retry_count, shown.last_retry_at) == (1, to_iso(NOW + 60 * SECOND))
    assert shown.exposed["parse_log_ref"] == "/logs/parse/UL_1"
    assert "observations_count" not in shown.exposed


def test_a_finished_upload_shows_its_counts_and_no_error() -> None:
    shown = record_view(UPLOAD, an_upload("normalized").record)

    assert (shown.exposed["observations_count"], shown.exposed["canonicals_count"]) == (42, 40)
    assert (shown.error_message, shown.is_at_rest) == (None, True)


def test_a_transition_names_its_states_and_says_itself_in_a_sentence() -> None:
    story = an_upload("parsed")

    shown = msgspec.to_builtins(transition_view(UPLOAD, story.last))

    assert (shown["from"], shown["to"]) == ("parsing", "parsed")
    assert shown["sentence"].startswith("UL_1: parsing → parsed (parse.completed")


def test_a_log_line_that_is_no_object_is_shown_as_a_message() -> None:
    log = '{"level": "info", "message": "read"}\nnot JSON\n[1]'
    result = AttemptResult(
        record_id="UL_1", version=1, stage="parse", worker="w", at=NOW, count=0, facts={}, log=log
    )

    assert attempt_view(result).log == [
        {"level": "info", "message": "read"},
        {"message": "not JSON"},
        {"message": "[1]"},
    ]
