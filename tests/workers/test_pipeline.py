"""A pipeline in Python: what it declares."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import pytest

from stateward import Job, Outcome, Pipeline, Retry, at_least
from stateward.core.machine import Route, all_of, is_true
from stateward.workers import sdk


class Word(msgspec.Struct):
    text: str


@dataclass
class Line:
    text: str


@pytest.fixture(autouse=True)
def _own_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_RUNNERS", {})


def test_states_and_edges_follow_from_the_stages() -> None:
    words = Pipeline("words", retry=Retry(max_retries=1, backoff_s=(5,)))

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        """The words of the document."""
        yield Word("")

    @words.stage(after=split)
    def count(job: Job) -> None: ...

    machine = words.machine
    assert (machine.name, machine.version, machine.prefix) == ("words", 1, "WORDS")
    assert [(state.name, state.kind) for state in machine.states] == [
        ("split_queued", "ready"),
        ("split_running", "running"),
        ("count_queued", "ready"),
        ("count_running", "running"),
        ("completed", "terminal"),
        ("failed", "failed"),
    ]
    assert machine.state["split_running"].doc == "The words of the document."
    assert machine.allowed_from("split_running") == ("count_queued", "failed")
    assert machine.allowed_from("failed") == ("split_queued", "count_queued")
    assert machine.retry == Retry(max_retries=1, backoff_s=(5,))
    assert machine.expose == {"split_log_ref": "split_running", "count_log_ref": "count_running"}
    assert [stage.runner for stage in machine.stages] == ["words.split", "words.count"]


def test_a_stage_is_still_its_function() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        """The words of the document."""
        yield from map(Word, job.record_id.split("_"))

    @words.stage(after=split)
    def join(job: Job, words: Iterable[Word]) -> Line:
        return Line(" ".join(word.text for word in words))

    job = Job(record_id="WD_1", stage="split")
    assert list(split(job)) == [Word("WD"), Word("1")]
    assert join(job, [Word("to"), Word("be")]) == Line("to be")
    assert (split.__name__, split.__doc__) == ("split", "The words of the document.")


def test_outcomes_and_guards_become_routes() -> None:
    class Size(StrEnum):
        FEW = "few"
        MANY = "many"

    words = Pipeline("words")

    @words.stage(outcomes=Size)
    def count(job: Job) -> Outcome:
        return Outcome(Size.FEW)

    @words.stage(after=count.on(Size.FEW))
    def rest(job: Job) -> None: ...

    @words.stage(after=count.on(Size.FEW).when(at_least("words", 3)).when(is_true("valid")))
    def index(job: Job) -> None: ...

    words.end("too_many", after=count.on(Size.MANY))

    assert words.machine.stage["count"].outcomes == {
        "few": (
            Route(to="index_queued", when=all_of(at_least("words", 3), is_true("valid"))),
            Route(to="rest_queued"),
        ),
        "many": (Route(to="too_many"),),
    }


def test_a_review_ends_what_is_rejected_or_not_answered_unless_something_follows() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> Iterator[Word]:
        yield Word("")

    check = words.review("check", after=split, timeout_s=60)

    @words.stage(after=check)
    def index(job: Job, words: Iterable[Word]) -> None: ...

    (review,) = words.machine.reviews
    assert (review.name, review.state, review.of) == ("check", "check_required", "split")
    assert review.outcomes == {
        "approved": "index_queued",
        "corrected": "index_queued",
        "rejected": "rejected",
    }
    assert (review.on_timeout, review.timeout_s) == ("timed_out", 60)


def test_where_used_up_retries_and_fatal_failures_lead_can_be_said() -> None:
    words = Pipeline("words")

    @words.stage
    def split(job: Job) -> None: ...

    words.end("dead", after=[words.exhausted, split.fatal])

    assert words.machine.on_exhausted == "dead"
    stage = words.machine.stage["split"]
    assert (stage.on_error, stage.on_fatal, stage.on_error_waiting) == ("failed", "dead", "dead")


def test_a_new_version_says_what_became_of_statuses() -> None:
    words = Pipeline("words", version=2, upgrades={1: {"waiting": "split_queued"}})

    @words.stage
    def split(job: Job) -> None: ...

    assert words.machine.version == 2
    assert words.machine.upgrades == {1: {"waiting": "split_queued"}}
