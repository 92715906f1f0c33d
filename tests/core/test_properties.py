"""Whatever happens, in whatever order, and whichever actor says so: what must hold of every record does.

A walk hears a list of steps: events that make sense and events that make none, from those who may
send them and from those who may not, right, late, early and twice, while the clock goes on and back.
After every step it looks at all that must be true; at its end its history is verified.
"""

from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.core.chain import GENESIS, record_hash, transition_hash
from stateward.core.machine import Machine, Rule
from stateward.core.model import (
    AUTO,
    OUTSIDE,
    SEQUENCING,
    Applied,
    Event,
    Fields,
    Json,
    Record,
    Transition,
    is_held,
)
from stateward.testing.builders import an_event
from tests.core.builders import MACHINES, Story, findings

STEPS_MAX = 30
ACTORS = [
    "runner:w1", "runner:w2", "person:ada", "sequencer:windmill", "clock", "coordinator", "", "person",
]  # fmt: skip
EVENT_TYPES = sorted({type_ for machine in MACHINES.values() for type_ in machine.event_types})
FACTS: list[Fields] = [
    {},
    {"final_confidence": 80, "valid": True},
    {"final_confidence": 79, "valid": True},
    {"final_confidence": 99.5, "valid": False},
]


class Go(NamedTuple):
    """The next thing happens: it is started, completed, retried or answered; or its attempt fails."""

    is_well: bool = True
    facts: Fields = FACTS[1]


class Ring(NamedTuple):
    """Time passes until the record is due, if it is ever due, and the clock says so."""


class Wait(NamedTuple):
    """The clock is set on, or back."""

    seconds: int


class Hear(NamedTuple):
    """An event, be it one that means something where the record is by then, or any whatever."""

    is_fitting: bool
    choice: int
    actor: str | None
    lag: int | None
    items: int | None
    outcome: str
    facts: Fields
    is_retryable: bool


Step: TypeAlias = Go | Ring | Wait | Hear

hearsay = st.builds(
    Hear,
    is_fitting=st.sampled_from([True, True, False]),
    choice=st.integers(0, 60),
    actor=st.none() | st.none() | st.sampled_from(ACTORS),
    lag=st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, -1, None]),
    items=st.sampled_from([None, 0, 1, 42]),
    outcome=st.sampled_from(["done", "done", "done", "done", "maybe"]),
    facts=st.sampled_from(FACTS),
    is_retryable=st.sampled_from([True, True, True, False]),
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Go, st.sampled_from([True, False, False]), st.sampled_from(FACTS)),
    st.builds(Go, st.sampled_from([True, False, False]), st.sampled_from(FACTS)),
    st.just(Ring()),
    st.builds(Wait, st.integers(-4000, 100_000)),
    hearsay,
    hearsay,
)


class Walk:
    """A story that is looked at after every step."""

    def __init__(self, machine: Machine, *, sequencing: str = AUTO) -> None:
        self.story = Story(machine, labels={SEQUENCING: sequencing})
        self.machine = machine

    def take(self, step: Step) -> None:
        match step:
            case Go() if self.machine.kind[self.story.status] != "terminal":
                self._go(step)
            case Ring() if self.story.record.due_at is not None:
                self.story.rings()
            case Wait(seconds):
                self.story.passes(seconds)
            case Hear():
                self._hear(self._event(step))
        self._look()

    def _go(self, step: Go) -> None:
        record = self.story.record
        if is_held(record):
            stage = self.machine.stage_entered_at[record.status]
            self.story.asks(f"{stage.name}.requested", by="sequencer:windmill")
        elif record.waiting is not None:
            self.story.starts()
        elif self.machine.kind[record.status] == "running" and step.is_well:
            self.story.completes(count=42, facts=step.facts)
        elif self.machine.kind[record.status] == "running":
            self.story.fails()
        elif self.machine.kind[record.status] == "suspended":
            self.story.asks("review.approved")
        else:
            self.story.asks("retry.requested")

    def _event(self, step: Hear) -> Event:
        record = self.story.record
        fitting = sorted(type_ for status, type_ in self.machine.rules if status == record.status)
        types = fitting if step.is_fitting and fitting else [*EVENT_TYPES, "no.such", ""]
        type_ = types[step.choice % len(types)]
        return an_event(
            record,
            type_,
            version=None if step.lag is None else record.version - step.lag,
            actor=step.actor if step.actor is not None else self._natural_actor(type_),
            count=step.items,
            outcome=step.outcome,
            facts=step.facts,
            is_retryable=step.is_retryable,
        )

    def _natural_actor(self, type_: str) -> str:
        rule = self.machine.rules.get((self.story.status, type_))
        if type_ in ("retry.due", "retries.exhausted") or type_.endswith(".timed_out"):
            return "clock"
        is_report = rule is not None and rule.verb in ("complete", "fail")
        return "runner:w1" if is_report else "person:ada"

    def _hear(self, event: Event) -> None:
        before, image = self.story.record, msgspec.json.encode(self.story.record)

        decision = self.story.hear(event)

        assert msgspec.json.encode(before) == image, "nothing is changed in place"
        if isinstance(decision, Applied):
            self._look_at_change(before, event, self.machine.rules[before.status, event.type])
            if event.version is not None:
                again = self.story.hear(event)
                assert not isinstance(again, Applied), "no event is applied twice"
        else:
            assert self.story.record is before

    def _look_at_change(self, before: Record, event: Event, rule: Rule) -> None:
        assert event.version in (None, before.version)
        assert event.version is not None or event.actor.startswith(("person:", "sequencer:"))
        if self.machine.kind[before.status] == "terminal":
            assert rule.is_by_person
            assert event.actor.startswith("person:")
        if event.type == "retries.exhausted":
            assert before.retry_count >= self.machine.retry.max_retries
        is_accepted = self.story.status == "validated" != before.status
        if self.story.record.machine == "contract" and is_accepted:
            assert before.status == "review_required" or event.facts == FACTS[1]

    def _look(self) -> None:
        record, last = self.story.record, self.story.last
        assert (record.status, record.version, record.head) == (
            last.target,
            last.version,
            last.hash,
        )
        assert record.entered_at == last.at
        assert last.at >= record.created_at
        self._look_at_what_moves_it(record)
        if self.machine.name == "upload":
            assert_discloses_what_is_due(self.machine, self.story)

    def _look_at_what_moves_it(self, record: Record) -> None:
        kind = self.machine.kind[record.status]
        is_moving = record.waiting is not None or record.due_at is not None
        match kind:
            case "terminal":
                assert not is_moving
            case "ready" | "running":
                assert is_moving or record.rest in ("skipped", "held"), "nothing is stuck"
            case "suspended":
                assert record.due_at is not None, "a question has a deadline"
            case "failed":
                assert record.waiting is None
        assert record.waiting is None or record.due_at is None

    def end(self) -> None:
        """What must be true of the whole history."""
        history = self.story.history
        assert [each.version for each in history] == list(range(len(history)))
        assert [each.source for each in history] == [None, *(each.target for each in history[:-1])]
        assert {(each.source, each.target) for each in history[1:]} <= self.machine.pairs
        assert len({each.event_id for each in history}) == len(history)
        assert [each.at for each in history] == sorted(each.at for each in history)
        assert automatic_retries(history) <= self.machine.retry.max_retries
        if self.machine.name == "contract":
            assert self.story.record.retry_count <= 3
        assert_chained(self.story)
        assert self.story.findings() == []


def automatic_retries(history: list[Transition]) -> int:
    """How often the clock alone retried; the try that follows a person's reopening is the person's."""
    return sum(
        each.trigger == "retry.due" and before.trigger != "retry.requested"
        for before, each in pairwise(history)
    )


def assert_chained(story: Story) -> None:
    hashes = [each.hash for each in story.history]
    assert [each.prev_hash for each in story.history] == [GENESIS, *hashes[:-1]]
    assert hashes == [transition_hash(each) for each in story.history]
    assert story.last.record_hash == record_hash(story.record)


# Requirement U3, in its own words.
DISCLOSED_SINCE = {
    "upload_log_ref": "queued_for_parse",
    "parse_log_ref": "parsing",
    "observations_count": "parsed",
    "normalizer_log_ref": "normalizing",
    "canonicals_count": "normalized",
}
ORDER = ["queued_for_parse", "parsing", "parsed", "normalizing", "normalized"]


def assert_discloses_what_is_due(machine: Machine, story: Story) -> None:
    record = story.record
    is_error = record.status == "error"
    reached = ORDER.index(story.path[-2] if is_error else record.status)
    disclosed = machine.exposed(record)
    assert set(disclosed) == {
        field for field, since in DISCLOSED_SINCE.items() if ORDER.index(since) <= reached
    }
    assert None not in disclosed.values()
    assert (record.error_message is not None) == (record.error_code is not None) == is_error


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@given(headstart=st.integers(0, 10), walk=st.lists(steps, min_size=5, max_size=STEPS_MAX))
def test_whatever_happens_the_record_stays_sound(
    machine: Machine, headstart: int, walk: list[Step]
) -> None:
    walked = Walk(machine)

    for step in [Go()] * headstart + walk:
        walked.take(step)

    walked.end()


@given(headstart=st.integers(0, 14), walk=st.lists(steps, min_size=5, max_size=STEPS_MAX))
def test_an_external_driver_cannot_make_it_unsound(headstart: int, walk: list[Step]) -> None:
    walked = Walk(MACHINES["contract"], sequencing=OUTSIDE)

    for step in [Go()] * headstart + walk:
        walked.take(step)

    walked.end()
    history = walked.story.history
    assert not any(each.trigger == "retry.due" for each in history), "the clock retries nothing"
    for each in history[1:]:
        is_first = each.trigger == "parse.started" or each.trigger == "compare.started"
        assert not is_first or "asked_by" in each.metadata, "nothing begins unasked"


# A change of any single field is found


def a_long_upload() -> Story:
    story = Story(MACHINES["upload"], labels={"bank": "x"}, artifact="sha-1", dedupe="d")
    story.tries_in_vain()
    story.rings()
    story.tries(count=42)
    story.tries_in_vain()
    story.asks("retry.requested", reason="mended")
    story.tries(count=40)
    return story


def a_long_contract() -> Story:
    story = Story(MACHINES["contract"])
    story.tries()
    story.tries_in_vain()
    story.rings()
    story.tries()
    story.tries(facts={"final_confidence": 12.5, "valid": False})
    story.asks("review.corrected", facts={"reviewer": "ada"})
    story.starts()
    return story


def a_long_paper() -> Story:
    story = Story(MACHINES["literature"], replaces="LT_0", reason="again")
    story.tries()
    for _ in range(3):
        story.starts()
        story.rings()
        story.rings()
    story.tries_in_vain()
    story.asks("retry.requested")
    story.rings()
    story.tries_in_vain()
    return story


STORIES = [a_long_upload(), a_long_contract(), a_long_paper()]

# What dispatch and operators move without a transition; nonsense in them is found all the same (test_chain).
MOVED_BY_DISPATCH = {"priority", "rank", "waiting", "due_at", "worker", "asked_by"}

texts = st.text(st.characters(codec="utf-8"), max_size=12)
numbers = st.integers(-(2**62), 2**62)
fields_of_any_kind = st.dictionaries(texts, texts | numbers | st.booleans(), max_size=3)
ANY: dict[TypeAlias, st.SearchStrategy[Any]] = {
    str: texts,
    int: numbers,
    str | None: st.none() | texts,
    int | None: st.none() | numbers,
    dict[str, Json]: fields_of_any_kind,
    dict[str, int]: st.dictionaries(texts, numbers, max_size=3),
}


def any_value(struct: type[msgspec.Struct], field: str) -> st.SearchStrategy[Any]:
    """Any value that this field could hold; a field of a new type must be given one in `ANY`."""
    return ANY[get_type_hints(struct)[field]]


def test_the_stories_are_worth_changing() -> None:
    for story in STORIES:
        assert story.findings() == []
    seen = {each.trigger for story in STORIES for each in story.history}
    assert {"retry.due", "retry.requested", "review.corrected", "parse.timed_out"} <= seen


@pytest.mark.parametrize("field", Transition.__struct_fields__)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_change_of_any_field_of_any_transition_is_found(field: str, data: st.DataObject) -> None:
    story = data.draw(st.sampled_from(STORIES))
    place = data.draw(st.integers(0, len(story.history) - 1))
    value = data.draw(any_value(Transition, field))
    assume(value != getattr(story.history[place], field))

    history = list(story.history)
    history[place] = replace(history[place], **{field: value})

    assert findings(story.record, history, story.lane, story.machine) != []


@pytest.mark.parametrize(
    "field", [each for each in Record.__struct_fields__ if each not in MOVED_BY_DISPATCH]
)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_change_of_any_field_of_the_record_is_found(field: str, data: st.DataObject) -> None:
    story = data.draw(st.sampled_from(STORIES))
    value = data.draw(any_value(Record, field))
    assume(value != getattr(story.record, field))

    changed = replace(story.record, **{field: value})

    assert findings(changed, story.history, story.lane, story.machine) != []
