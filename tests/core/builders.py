"""A story: one record, and all that happens to it, committed by hand as a store would do it."""

from collections.abc import Callable

from msgspec.structs import replace

from stateward.core.chain import GENESIS, seal
from stateward.core.decide import GRACE_S, begin, decide, start
from stateward.core.lanes import Lane, extend
from stateward.core.machine import Machine, Stage
from stateward.core.model import (
    SECOND,
    Applied,
    Ask,
    Change,
    Decision,
    Effect,
    Event,
    Fields,
    Ignored,
    Micros,
    Notify,
    Record,
    Transition,
)
from stateward.core.timers import due_event
from stateward.core.verify import Finding, LogCheck, check_record
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.testing.builders import ADA, NOW, WORKER, an_event

MACHINES: dict[str, Machine] = {each.name: each for each in (UPLOAD, CONTRACT, DOCUMENT_MACHINE)}
HOUR_S = 3600


class Story:
    """One record of one machine, its history, and a clock that moves only when told to.

    Nothing else here decides anything: every method makes an event (or a dispatch), asks the core
    what it does, and keeps what the core answers.
    """

    def __init__(
        self, machine: Machine, *, id_: str | None = None, now: Micros = NOW, **opening: object
    ) -> None:
        self.machine = machine
        self.now = now
        self.history: list[Transition] = []
        self.effects: list[Effect] = []
        begun = begin(
            machine,
            record_id=id_ or f"{machine.prefix}_1",
            now=now,
            actor=ADA,
            **opening,  # type: ignore[arg-type]
        )
        self.record = begun.change.record
        self.commit(begun.change)

    # What was written

    @property
    def status(self) -> str:
        return self.record.status

    @property
    def last(self) -> Transition:
        return self.history[-1]

    @property
    def path(self) -> list[str]:
        """Every state it was in, in order."""
        return [each.target for each in self.history]

    @property
    def told(self) -> list[str]:
        """The topics of all news, in order."""
        return [each.topic for each in self.effects if isinstance(each, Notify)]

    @property
    def asked(self) -> list[Ask]:
        return [each for each in self.effects if isinstance(each, Ask)]

    @property
    def lane(self) -> Lane:
        head = extend(GENESIS, (each.hash for each in self.history))
        return Lane(lane=0, count=len(self.history), head=head)

    def findings(self) -> list[Finding]:
        """What verification finds in it: nothing, if all is well."""
        return findings(self.record, self.history, self.lane, self.machine)

    def commit(self, change: Change) -> None:
        """Write a change as a store does: seal the transition, number it, keep record and effects."""
        self.record = change.record
        self.effects += change.effects
        if change.transition is not None:
            sealed, self.record = seal(change.transition, change.record, epoch=1)
            self.history.append(replace(sealed, seq=len(self.history) + 1))

    # What happens

    def hear(self, event: Event) -> Decision:
        """Decide an event, whatever it is, and keep what it changes."""
        decision = decide(self.machine, self.record, event, now=self.now)
        if isinstance(decision, Applied):
            self.commit(decision.change)
        return decision

    def happens(self, type_: str, **parts: object) -> Decision:
        """An event of this kind about the record as it stands, reported by a runner."""
        return self.hear(an_event(self.record, type_, at=self.now, **parts))

    def asks(self, type_: str, *, by: str = ADA, **parts: object) -> Decision:
        """A person asks for something."""
        return self.happens(type_, actor=by, **parts)

    def starts(self, worker: str = WORKER) -> None:
        """The coordinator hands the record to a worker."""
        self.commit(start(self.machine, self.record, worker=worker, now=self.now).change)

    def completes(self, *, count: int | None = None, facts: Fields | None = None) -> Decision:
        """The runner that has the record did its work well."""
        return self.happens(f"{self.stage.name}.completed", count=count, facts=facts or {})

    def fails(
        self, code: str = "BROKEN", message: str = "it broke", *, is_fatal: bool = False
    ) -> Decision:
        """The runner that has the record could not do its work."""
        return self.happens(
            f"{self.stage.name}.failed",
            error_code=code,
            error_message=message,
            is_retryable=not is_fatal,
        )

    def passes(self, seconds: float) -> None:
        """Time passes; below zero, the clock is set back."""
        self.now += round(seconds * SECOND)

    def rings(self) -> Decision:
        """Time passes until the record is due, and the clock says so."""
        assert self.record.due_at is not None, f"nothing is due in {self.status}"
        self.now = max(self.now, self.record.due_at)
        event = due_event(self.machine, self.record, now=self.now)
        assert event is not None
        return self.hear(event)

    def tries(self, *, count: int | None = None, facts: Fields | None = None) -> None:
        """A worker is given the record and does its work well."""
        self.starts()
        self.completes(count=count, facts=facts)

    def tries_in_vain(self, *, is_fatal: bool = False) -> None:
        """A worker is given the record and fails."""
        self.starts()
        self.fails(is_fatal=is_fatal)

    @property
    def stage(self) -> Stage:
        return self.machine.stage_running_in[self.status]


def findings(
    record: Record, history: list[Transition], lane: Lane, *machines: Machine
) -> list[Finding]:
    """What verification finds in a log that holds one record."""
    log = LogCheck([lane])
    found = list(log.feed(history))
    found += log.end([lane])
    found += check_record(record, history, {(each.name, each.version): each for each in machines})
    return found


def an_upload(status: str = "queued_for_parse", **opening: object) -> Story:
    """An upload that came to this state without a fault, but for `error`: there its parser failed."""
    story = Story(UPLOAD, **opening)  # type: ignore[arg-type]
    return _until(
        story,
        status,
        [
            story.starts,
            story.fails if status == "error" else lambda: story.completes(count=42),
            story.starts,
            lambda: story.completes(count=40),
        ],
    )


def a_contract(status: str = "pending", *, confidence: int = 95, **opening: object) -> Story:
    """A contract that came to this state; a confidence below 80 takes it past a person."""
    story = Story(CONTRACT, **opening)  # type: ignore[arg-type]
    facts: Fields = {
        "final_confidence": 0 if status == "review_required" else confidence,
        "valid": True,
    }
    return _until(
        story,
        status,
        [
            story.starts,
            story.completes,
            story.tries,
            lambda: story.tries(facts=facts),
            story.starts,
            story.completes,
        ],
    )


def a_paper(status: str = "pending") -> Story:
    """A paper that came to this state; `failed` and `retrying` are reached from `fetching`."""
    story = Story(DOCUMENT_MACHINE)
    if status in ("failed", "retrying"):
        story.tries_in_vain(is_fatal=status == "failed")
        return story
    steps: list[Callable[[], object]] = []
    for _ in DOCUMENT_MACHINE.stages[:-1]:
        steps += [story.starts, story.completes]
    return _until(story, status, [*steps, story.tries])


def _until(story: Story, status: str, steps: list[Callable[[], object]]) -> Story:
    for step in steps:
        if story.status == status:
            break
        step()
    assert story.status == status, f"no way to {status}: {story.path}"
    return story


def refusal(decision: Decision) -> str:
    """Why an event changed nothing."""
    assert isinstance(decision, Ignored), f"it was applied: {decision}"
    return decision.reason


StoryTo = Callable[[str], Story]
"""A record's history up to a status, such as `an_upload` gives."""


def after(timeout_s: float, now: Micros = NOW) -> Micros:
    """When the coordinator gives an attempt up: its worker gets a little time to do so first."""
    return now + round((timeout_s + GRACE_S) * SECOND)
