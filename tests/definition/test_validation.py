"""What validation refuses: names, shapes, reviews, moves, and graphs without an end."""

from typing import Any

import pytest

from stateward.core.retry import Retry
from stateward.definition.declare import declare, from_yaml
from stateward.testing.builders import a_declaration, a_machine
from tests.definition.letter import LETTER, SOURCE, a_stage, faults_of, sentences_of


def a_stage_without(key: str) -> dict[str, Any]:
    stage = a_declaration()["stages"]["read"]
    return {"read": {name: value for name, value in stage.items() if name != key}}


def some_states(**more: object) -> dict[str, Any]:
    return {**a_declaration()["states"], **more}


# Names


@pytest.mark.parametrize("name", ["", "Read", "1st", "a-b", "a b", "read\n", "é", "a" * 65])
def test_a_name_is_short_and_plain(name: str) -> None:
    sentence = (
        f"a machine is written in lower-case letters, digits and _, like 'parsed', not {name!r}"
    )

    assert sentences_of(machine=name) == [f"machine: {sentence}"]


def test_states_stages_and_reviews_are_named_plainly_too() -> None:
    sentences = sentences_of(
        states=some_states(Odd="terminal"),
        stages={**a_stage(), "Read": a_stage()["read"]},
        reviews={"Ask": {"state": "new", "outcomes": {}, "timeout_s": 1, "on_timeout": "read"}},
    )

    named = [each for each in sentences if "is written in lower-case letters" in each]
    assert [each.partition(":")[0] for each in named] == [
        "reviews.Ask",
        "stages.Read",
        "states.Odd",
    ]


@pytest.mark.parametrize("prefix", ["", "ul", "U_L", "UL1", "ABCDEFGHI", "ÜL"])
def test_a_prefix_is_a_few_capital_letters(prefix: str) -> None:
    assert sentences_of(prefix=prefix) == [
        f"prefix: {prefix!r} must be 1 to 8 capital letters, like UL"
    ]


def test_versions_start_at_one() -> None:
    assert sentences_of(version=0) == ["version: versions start at 1, not 0"]


@pytest.mark.parametrize("word", ["retry", "retries", "cancel", "machine"])
def test_a_stage_may_not_be_called_like_our_own_events(word: str) -> None:
    assert sentences_of(stages={word: a_stage()["read"]}) == [
        f"stages.{word}: {word!r} is reserved for Stateward's own events"
    ]


def test_a_review_may_not_be_called_like_a_stage() -> None:
    review = {"state": "asking", "outcomes": {"yes": "read"}, "timeout_s": 1, "on_timeout": "read"}

    sentences = sentences_of(states=some_states(asking="suspended"), reviews={"read": review})

    assert sentences == ["reviews.read: there is a stage called 'read' already"]


@pytest.mark.parametrize("version", ["0", "2", "3", "-1", "01", "one", "1.0", "\uff11"])
def test_an_upgrade_is_from_an_earlier_version(version: str) -> None:
    assert sentences_of(version=2, upgrades={version: {}}) == [
        f"upgrades.{version}: must be an earlier version of this machine"
    ]


# Shapes


def test_a_machine_has_states_and_something_that_moves_them() -> None:
    assert sentences_of(states={}, stages={}, initial="new") == [
        "initial: there is no state 'new'; there are: ",
        "stages: a machine has at least one stage or move",
        "states: a machine has at least one state",
    ]


def test_a_stage_must_say_where_it_leads_when_it_is_done() -> None:
    assert sentences_of(stages=a_stage(outcomes={})) == [
        "stages.read.outcomes: 'read' has no outcomes: say where it leads when it is done"
    ]


def test_a_stage_must_say_where_it_is_entered_and_how_it_fails() -> None:
    assert sentences_of(stages=a_stage_without("from")) == [
        "stages.read.from: from is missing; it must be text"
    ]
    assert sentences_of(stages=a_stage_without("on_error")) == [
        "stages.read.on_error: on_error is missing; it must be text"
    ]
    assert sentences_of(stages=a_stage_without("outcomes")) == [
        "stages.read.outcomes: outcomes is missing; it must be a mapping"
    ]


@pytest.mark.parametrize("routes", [[], [{"to": "read", "when": {"is_true": "valid"}}]])
def test_an_outcome_leads_somewhere_whatever_the_facts(routes: list[dict[str, Any]]) -> None:
    assert sentences_of(stages=a_stage(outcomes={"done": routes})) == [
        "stages.read.outcomes.done: the last route must have no 'when': it takes every record that no guard took"
    ]


def test_a_route_without_a_guard_may_not_hide_others() -> None:
    assert sentences_of(stages=a_stage(outcomes={"done": [{"to": "read"}, {"to": "read"}]})) == [
        "stages.read.outcomes.done[0]: a route without 'when' hides the routes after it"
    ]


@pytest.mark.parametrize("key", ["on_error", "on_fatal", "on_error_waiting"])
def test_a_failed_attempt_goes_to_a_failed_or_terminal_state(key: str) -> None:
    assert f"stages.read.{key}: 'new' is ready, but must be failed or terminal" in sentences_of(
        stages=a_stage(**{key: "new"})
    )


def test_a_retry_resumes_at_its_own_stage() -> None:
    assert sentences_of(stages=a_stage(resume="read")) == [
        "stages.read.resume: a retry of 'read' resumes at 'new' or 'reading'"
    ]


def test_only_a_stage_that_is_waited_for_can_be_cancelled_while_it_waits() -> None:
    stage = {
        "from": "reading",
        "outcomes": {"done": "read"},
        "on_error": "broken",
        "on_error_waiting": "broken",
    }

    assert sentences_of(initial="reading", stages={"read": stage})[0] == (
        "stages.read.on_error_waiting: 'read' has no separate state for waiting"
    )


@pytest.mark.parametrize("timeout_s", [None, 0, -1, 366 * 86_400 + 1])
def test_a_running_state_needs_a_timeout(timeout_s: float | None) -> None:
    assert sentences_of(stages=a_stage(timeout_s=timeout_s)) == [
        "stages.read.timeout_s: 'reading' needs a timeout of more than 0 s and at most a year"
    ]


@pytest.mark.parametrize("max_retries", [None, -1, 1001])
def test_a_retry_loop_needs_a_bound(max_retries: int | None) -> None:
    assert sentences_of(retry={"max_retries": max_retries}) == [
        "retry.max_retries: retries need a limit, from 0 to 1000 retries"
    ]


@pytest.mark.parametrize("backoff_s", [[], [1, -1], [1e300]])
def test_a_retry_waits_for_some_bounded_time(backoff_s: list[float]) -> None:
    assert sentences_of(retry={"backoff_s": backoff_s}) == [
        "retry.backoff_s: needs at least one wait, each from 0 s to a year"
    ]


@pytest.mark.parametrize("jitter_s", [-0.1, 1e300])
def test_jitter_is_bounded(jitter_s: float) -> None:
    assert sentences_of(retry={"jitter_s": jitter_s}) == [
        "retry.jitter_s: must be from 0 s to a year"
    ]


def test_the_limits_themselves_are_allowed() -> None:
    year_s = 366 * 86_400
    retry = {"max_retries": 1000, "backoff_s": [0, year_s], "jitter_s": year_s}

    longest = a_machine(
        machine="a" * 64, prefix="ABCDEFGH", stages=a_stage(timeout_s=year_s), retry=retry
    )
    shortest = a_machine(retry={"max_retries": 0, "jitter_s": 0})

    assert longest.retry == Retry(max_retries=1000, backoff_s=(0, year_s), jitter_s=year_s)
    assert longest.stages[0].timeout_s == year_s
    assert shortest.retry.max_retries == 0
    assert a_machine(**a_review(timeout_s=year_s)).reviews[0].timeout_s == year_s


def test_a_stage_may_only_name_a_runner_that_is_there() -> None:
    assert (
        from_yaml(LETTER, source=SOURCE, runners=["letter.read"]).stages[0].runner == "letter.read"
    )

    assert faults_of(LETTER, runners=["b", "a"]) == [
        "letter.yaml:14: stages.read.runner: there is no runner 'letter.read'; there are: a, b"
    ]
    assert faults_of(LETTER, runners=[]) == [
        "letter.yaml:14: stages.read.runner: there is no runner 'letter.read'; there are: none"
    ]


def test_a_state_belongs_to_one_stage() -> None:
    stages = {**a_stage(), "reread": a_stage()["read"]}

    assert sentences_of(stages=stages) == [
        "stages.reread: 'new' belongs to stage 'read' already",
        "stages.reread: 'reading' belongs to stage 'read' already",
    ]


@pytest.mark.parametrize("kind", ["ready", "running"])
def test_a_waiting_state_needs_a_stage_that_takes_from_it(kind: str) -> None:
    assert sentences_of(states=some_states(lounge=kind)) == [
        "states.lounge: no stage takes records from 'lounge': they would wait for ever"
    ]


def test_a_suspended_state_needs_a_review_or_a_move() -> None:
    assert sentences_of(states=some_states(asking="suspended")) == [
        "states.asking: nothing leads out of 'asking': give it a review or a move"
    ]


def a_review(**changes: object) -> dict[str, Any]:
    """The smallest machine with a person to ask before it is read."""
    review = {"state": "asking", "outcomes": {"yes": "read"}, "timeout_s": 60, "on_timeout": "read"}
    return {
        "states": some_states(asking="suspended"),
        "stages": a_stage(outcomes={"done": "asking"}),
        "reviews": {"check": {**review, **changes}},
    }


# Reviews and moves


def test_a_review_has_answers_and_a_deadline() -> None:
    assert a_machine(**a_review()).review_in["asking"].name == "check"

    assert sentences_of(**a_review(outcomes={}, timeout_s=0)) == [
        "reviews.check.outcomes: a review has at least one answer",
        "reviews.check.timeout_s: a deadline is more than 0 s and at most a year",
    ]
    assert sentences_of(**a_review(outcomes={"yes": "somewhere"})) == [
        "reviews.check.outcomes.yes: there is no state 'somewhere'; "
        "there are: new, reading, read, broken, asking"
    ]


def test_silence_is_not_an_answer() -> None:
    assert sentences_of(**a_review(outcomes={"yes": "read", "timed_out": "broken"})) == [
        "reviews.check.outcomes.timed_out: this is not an answer: say 'on_timeout'"
    ]


def test_a_state_waits_for_one_review() -> None:
    parts = a_review()
    parts["reviews"]["recheck"] = parts["reviews"]["check"]

    assert sentences_of(**parts) == [
        "reviews.recheck.state: 'asking' waits for review 'check' already"
    ]


def test_only_a_person_takes_a_record_out_of_an_end() -> None:
    move = {"from": "read", "to": "new", "on": "note.reread"}

    assert sentences_of(moves=[move]) == [
        "moves[0].by: only a person may move a record out of the terminal state 'read'"
    ]
    assert ("read", "new") in a_machine(moves=[{**move, "by": "person"}]).pairs


@pytest.mark.parametrize(
    ("moves", "fault"),
    [
        (
            [{"from": "reading", "to": "broken", "on": "read.completed"}],
            "moves[0]: read.completed already has another meaning in 'reading'",
        ),
        (
            [{"from": "broken", "to": "read", "on": "retry.requested"}],
            "moves[0]: retry.requested already has another meaning in 'broken'",
        ),
        (
            [
                {"from": "new", "to": "read", "on": "note.dropped"},
                {"from": "new", "to": "broken", "on": "note.dropped"},
            ],
            "moves[1]: note.dropped already has another meaning in 'new'",
        ),
    ],
)
def test_an_event_means_one_thing_in_a_state(moves: list[dict[str, Any]], fault: str) -> None:
    assert sentences_of(moves=moves) == [fault]


def test_a_machine_may_be_moved_by_people_alone() -> None:
    machine = declare(
        machine="ticket",
        version=1,
        prefix="TK",
        initial="open",
        states={"open": "ready", "held": "suspended", "closed": "terminal"},
        stages={},
        moves=[
            {"from": "open", "to": "held", "on": "ticket.held"},
            {"from": "held", "to": "open", "on": "ticket.released"},
            {"from": "open", "to": "closed", "on": "ticket.closed"},
        ],
    )

    assert machine.event_types == {"ticket.held", "ticket.released", "ticket.closed"}
    assert machine.allowed_from("open") == ("held", "closed")


# The graph


def test_a_state_that_nothing_leads_to_is_refused() -> None:
    assert sentences_of(states=some_states(attic="terminal")) == [
        "states.attic: nothing leads to 'attic'"
    ]


def test_a_state_that_only_an_import_enters_counts_as_reached() -> None:
    machine = a_machine(
        states=some_states(old={"kind": "suspended", "imported": True}),
        moves=[{"from": "old", "to": "new", "on": "note.adopted"}],
    )

    assert machine.state["old"].is_imported


def test_a_state_with_no_way_to_an_end_is_refused() -> None:
    assert sentences_of(
        states=some_states(limbo="suspended", waiting="suspended"),
        moves=[
            {"from": "new", "to": "limbo", "on": "note.lost"},
            {"from": "limbo", "to": "waiting", "on": "note.sought"},
            {"from": "waiting", "to": "limbo", "on": "note.missed"},
        ],
    ) == [
        "states.limbo: no path leads from 'limbo' to a terminal state",
        "states.waiting: no path leads from 'waiting' to a terminal state",
    ]


def test_a_machine_without_an_end_is_refused() -> None:
    states = {"new": "ready", "reading": "running", "broken": "failed"}

    sentences = sentences_of(states=states, stages=a_stage(outcomes={"done": "new"}))

    assert "states: no state is terminal: records would never end" in sentences


def test_a_ring_of_stages_that_nothing_stops_is_refused() -> None:
    again = [{"to": "read", "when": {"is_true": "is_done"}}, {"to": "new"}]

    assert sentences_of(stages=a_stage(outcomes={"done": again})) == [
        "stages.read: 'reading' leads back to itself, and neither a person nor a retry limit ends the loop"
    ]


def test_a_ring_of_missed_deadlines_is_refused() -> None:
    assert sentences_of(**a_review(on_timeout="new")) == [
        "reviews.check: 'asking' leads back to itself, and neither a person nor a retry limit ends the loop",
        "stages.read: 'reading' leads back to itself, and neither a person nor a retry limit ends the loop",
    ]


def test_a_ring_that_a_person_turns_is_allowed() -> None:
    machine = a_machine(**a_review(outcomes={"yes": "read", "again": "new"}))

    assert ("asking", "new") in machine.pairs


def test_a_ring_of_retries_is_allowed_because_it_is_bounded() -> None:
    assert ("broken", "new") in a_machine(retry={"max_retries": 1000}).pairs


def test_the_graph_of_a_machine_with_wrong_names_is_not_looked_at() -> None:
    sentences = sentences_of(initial="nowhere", states=some_states(attic="terminal"))

    assert all("nothing leads to" not in each for each in sentences)
