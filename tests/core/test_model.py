"""The plain values: time as text, text that every engine can keep, ids that only one fact can have."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.core import errors
from stateward.core.errors import (
    ConcurrentModification,
    DeclarationError,
    FatalFailure,
    Fault,
    InvalidTransition,
    StageFailure,
    StatewardError,
    TransientFailure,
    UnknownName,
)
from stateward.core.model import (
    SECOND,
    Micros,
    clean_text,
    event_id,
    from_iso,
    log_ref,
    timeout_message,
    to_iso,
)

LAST: Micros = 253_402_300_800 * SECOND - 1  # the last microsecond of the year 9999
instants = st.integers(0, LAST)


# Time


@given(instants)
@example(0)
@example(LAST)
def test_an_instant_survives_being_written_and_read(at: Micros) -> None:
    assert from_iso(to_iso(at)) == at


@given(instants, instants)
def test_text_sorts_as_time_does(one: Micros, other: Micros) -> None:
    assert (to_iso(one) < to_iso(other)) == (one < other)
    assert len(to_iso(one)) == len("2026-03-01T12:00:00.000000Z")


def test_an_instant_is_written_in_utc_with_microseconds() -> None:
    assert to_iso(0) == "1970-01-01T00:00:00.000000Z"
    assert to_iso(1_772_366_400_000_001) == "2026-03-01T12:00:00.000001Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00+00:00",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01T06:30:00.000000-05:30",
        "2026-03-01 12:00:00Z",
    ],
)
def test_an_instant_is_read_in_any_zone(text: str) -> None:
    assert to_iso(from_iso(text)) == "2026-03-01T12:00:00.000000Z"


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00", "2026-03-01"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="has no time zone; end it with Z for UTC"):
        from_iso(text)


@pytest.mark.parametrize("text", ["", "yesterday", "1772366400", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        from_iso(text)


# Text


@given(st.text(st.characters(exclude_categories=[])), st.integers(1, 50))
@example("a\x00b\ud800c", 50)
def test_clean_text_can_be_kept_by_every_engine(text: str, chars_max: int) -> None:
    clean = clean_text(text, chars_max=chars_max)

    assert "\x00" not in clean
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert len(clean) <= chars_max


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=50))
def test_text_that_is_clean_stays_as_it_is(text: str) -> None:
    assert clean_text(text, chars_max=50) == text


def test_text_that_was_cut_says_so() -> None:
    assert clean_text("too long a text", chars_max=9) == "too long…"
    assert clean_text("as it is", chars_max=8) == "as it is"


# Names


def test_an_event_id_names_the_record_the_version_it_makes_and_the_kind() -> None:
    assert event_id("UL_1", makes=3, type_="parse.completed") == "UL_1:3:parse.completed"


def test_a_log_is_named_by_stage_and_record() -> None:
    assert log_ref("UL_1", "parse") == "/logs/parse/UL_1"


@pytest.mark.parametrize(
    ("timeout_s", "message"),
    [(120.0, "Parsing timeout (120s)"), (0.5, "Parsing timeout (0.5s)")],
)
def test_a_timeout_is_worded_with_its_limit(timeout_s: float, message: str) -> None:
    assert timeout_message("parsing", timeout_s) == message


# Errors


def test_every_error_that_is_raised_on_purpose_is_in_the_tree() -> None:
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    raised = [each for each in classes if issubclass(each, Exception)]

    assert all(issubclass(each, StatewardError) for each in raised)
    assert errors.__doc__ is not None
    assert all(each.__name__ in errors.__doc__ for each in raised)


def test_a_fault_reads_like_a_compiler_message() -> None:
    in_file = Fault(source="m.yaml", line=3, path="prefix", sentence="is wrong")
    in_python = Fault(source="<python>", line=0, path="", sentence="is wrong")

    assert str(DeclarationError([in_file, in_python])) == (
        "m.yaml:3: prefix: is wrong\n<python>: is wrong"
    )


def test_an_unknown_name_lists_what_there_is() -> None:
    assert str(UnknownName("machine", "x", ["b", "a"])) == (
        "there is no machine 'x'; there are: a, b"
    )
    assert str(UnknownName("machine", "invoice", ["upload", "invoices"])) == (
        "there is no machine 'invoice'; did you mean invoices? there are: invoices, upload"
    )
    assert str(UnknownName("status", "eror", ["error", *(f"s{each}" for each in range(20))])) == (
        "there is no status 'eror'; did you mean error?"
    )
    assert str(UnknownName("record", "UL_1")) == "there is no record 'UL_1'"


def test_an_invalid_transition_says_what_was_expected_found_and_allowed() -> None:
    error = InvalidTransition(
        "UL_1", expected="parsed", found="queued_for_parse", allowed=["parsing", "error"]
    )
    at_its_end = InvalidTransition("UL_1", expected="parsed", found="normalized", allowed=[])

    assert str(error) == (
        "UL_1: parsed is not possible from 'queued_for_parse'; possible from there: parsing, error"
    )
    assert (error.expected, error.found, error.allowed) == (
        "parsed",
        "queued_for_parse",
        ("parsing", "error"),
    )
    assert str(at_its_end).endswith("possible from there: nothing")


def test_a_conflict_says_what_to_do() -> None:
    error = ConcurrentModification("UL_1", expected=7)

    assert (error.record_id, error.expected) == ("UL_1", 7)
    assert str(error) == (
        "UL_1 is no longer at version 7: it was changed meanwhile; "
        "read it again and repeat the request if it still makes sense"
    )


def test_a_runner_says_whether_another_try_makes_sense() -> None:
    assert StageFailure("no answer").is_retryable
    assert TransientFailure("no answer", code="HTTP_503").code == "HTTP_503"
    assert not FatalFailure("not a PDF").is_retryable
    assert StageFailure("no answer").code == "STAGE_FAILED"
