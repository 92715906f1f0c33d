"""Several people who decide the same reviews: few of them, some twice, and one who submitted the record."""

import random
from collections.abc import Set as AbstractSet
from contextlib import suppress

from lab.simulation.witness import event_line
from lab.simulation.world import World
from stateward.core.errors import (
    ConcurrentModification,
    InvalidTransition,
    ReviewRefused,
    ReviewTaken,
)
from stateward.core.model import PERSON, Event, event_id
from stateward.engine.answers import APPROVE, REJECT, DecisionRequest

JUDGES = ("ada", "bea", "cem", "dora")
"""Who decides; ada submits."""
STEP_SHARE = 0.5
SURE_BELOW = 0.45  # more than elsewhere is left to people
SITTING_MAX = 8
TYPES = {APPROVE: "approved", REJECT: "rejected"}


class Bench:
    """The people of one history whose reviews need several, with a generator of their own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = random.Random(f"bench {world.plan.seed}")
        world.sure_below = SURE_BELOW

    def step(self, guided: AbstractSet[str]) -> None:
        """Now and then one of them decides, but not of a record that is still guided to where the fault strikes."""
        if self._rng.random() < STEP_SHARE:
            self._decide(guided)

    def sit(self) -> None:
        """They decide what they can before the others go on without them."""
        for _ in range(SITTING_MAX):
            self._decide()

    def _open(self) -> list[tuple[str, str]]:
        """Reviews that wait for a person and have no decision that is stored: (record, name of the review)."""
        witness = self._world.witness
        reviews = {review.state: review.name for review in self._world.machine.reviews}
        stored = {
            (each["record_id"], each["version"])
            for each in witness.decisions
            if not each["is_undone"]
        }
        return [
            (record_id, reviews[status])
            for record_id, status in sorted(witness.status.items())
            if status in reviews and (record_id, witness.version[record_id]) not in stored
        ]

    def _decide(self, spared: AbstractSet[str] = frozenset()) -> None:
        world = self._world
        found = [each for each in self._open() if each[0] not in spared]
        if not found:
            return
        record_id, review = self._rng.choice(found)
        action = self._rng.choice((APPROVE, APPROVE, APPROVE, APPROVE, REJECT))
        actor, version = f"{PERSON}{self._rng.choice(JUDGES)}", world.witness.version[record_id]
        world.start(world.frontend)
        if not world.frontend.is_up:
            return
        type_ = f"{review}.{TYPES[action]}"
        event = Event(
            id=event_id(record_id, makes=version + 1, type_=type_), type=type_, record_id=record_id,
            version=version, at=world.now, actor=actor,
        )  # fmt: skip
        world.witness.events.append(event_line(event, is_accepted=False))
        deciding = DecisionRequest(
            record_id=record_id, action=action, actor=actor, notes="seen", version=version
        )
        what = f"hears {type_} of {record_id} from {actor}"
        world.act(world.frontend, what, lambda: self._is_made(deciding))

    def _is_made(self, deciding: DecisionRequest) -> bool:
        with suppress(ReviewTaken, ReviewRefused, InvalidTransition, ConcurrentModification):
            self._world.frontend.reviews.decide(deciding)
            return True
        self._world.witness.forget()
        return False
