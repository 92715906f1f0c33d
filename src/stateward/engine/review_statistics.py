"""Statistics of reviews: what people decided, how often they were overturned, and which fields they correct most.

Everything is read from the history, which alone has decisions; nothing is counted beside it. The pure part makes the
numbers of steps, `ReviewStatistics` finds the steps in the database.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median

import msgspec

from stateward.core.approvals import APPROVALS, CORRECTED, REVIEWER, person_of
from stateward.core.machine import ENDORSED
from stateward.core.model import SECOND, Fields, Micros
from stateward.engine.registry import MachineRegistry
from stateward.storage.database import Database, Row

STEPS_MAX = 100_000  # of one question; the oldest of more are left out, and the answer says so
REJECTED = "rejected"
# The order of the log is that of commits, and clocks of several machines differ by less than this.
SKEW: Micros = 3_600 * SECOND


class ReviewStep(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a person: the last one of a review, or one of several approvals."""

    record_id: str
    machine: str
    person: str
    answer: str
    wait_s: float
    worked_s: float | None = None
    corrected: tuple[str, ...] = ()
    reason_code: str | None = None
    is_last: bool = True


class PersonStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What one person decided. `overturned`: accepted by this person, then corrected or rejected by another."""

    person: str
    decided: int
    approved: int
    corrected: int
    rejected: int
    overturned: int
    worked_s: float | None
    wait_s: float | None


class FieldStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How often people corrected a field, of all records of its machine that they accepted."""

    machine: str
    field: str
    corrected: int
    accepted: int


class ReasonStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How often a reason code was given."""

    machine: str
    reason_code: str
    count: int


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of some time."""

    people: list[PersonStatistics]
    fields: list[FieldStatistics]
    reasons: list[ReasonStatistics]
    is_complete: bool = True


def statistics_of(steps: Sequence[ReviewStep], *, is_complete: bool = True) -> Statistics:
    """The numbers of these steps, which are in the order of records, and of each in the order of time."""
    overturned = Counter(
        person
        for _, group in groupby(steps, key=lambda step: step.record_id)
        for person in _overturned_by(list(group))
    )
    by_person: dict[str, list[ReviewStep]] = {}
    for step in steps:
        by_person.setdefault(step.person, []).append(step)
    people = [_person(name, own, overturned[name]) for name, own in by_person.items()]
    reasons = Counter((step.machine, step.reason_code) for step in steps if step.reason_code)
    return Statistics(
        people=sorted(people, key=lambda each: (-each.decided, each.person)),
        fields=_fields(steps),
        reasons=[
            ReasonStatistics(machine=machine, reason_code=str(code), count=count)
            for (machine, code), count in reasons.most_common()
        ],
        is_complete=is_complete,
    )


def _overturned_by(steps: Sequence[ReviewStep]) -> Iterator[str]:
    """Who accepted values of a record that another person then changed or refused."""
    accepted: list[str] = []
    for step in steps:
        if step.answer == REJECTED or step.corrected:
            yield from (person for person in accepted if person != step.person)
            accepted = []
        if step.answer != REJECTED:
            accepted.append(step.person)
        if step.is_last:
            accepted = []


def _person(name: str, steps: Sequence[ReviewStep], overturned: int) -> PersonStatistics:
    answers = Counter(step.answer for step in steps)
    worked = [step.worked_s for step in steps if step.worked_s is not None]
    return PersonStatistics(
        person=name,
        decided=len(steps),
        approved=len(steps) - answers[CORRECTED] - answers[REJECTED],
        corrected=answers[CORRECTED],
        rejected=answers[REJECTED],
        overturned=overturned,
        worked_s=median(worked) if worked else None,
        wait_s=median(step.wait_s for step in steps),
    )


def _fields(steps: Iterable[ReviewStep]) -> list[FieldStatistics]:
    corrected: Counter[tuple[str, str]] = Counter()
    accepted: dict[str, set[str]] = {}
    for step in steps:
        corrected.update((step.machine, name) for name in step.corrected)
        if step.answer != REJECTED:
            accepted.setdefault(step.machine, set()).add(step.record_id)
    return [
        FieldStatistics(
            machine=machine, field=name, corrected=count, accepted=len(accepted.get(machine, ()))
        )
        for (machine, name), count in sorted(
            corrected.items(), key=lambda each: (-each[1], each[0])
        )
    ]


class ReviewStatistics:
    """Finds the answers of people in the history of one database."""

    def __init__(self, database: Database, registry: MachineRegistry) -> None:
        self._database = database
        self._registry = registry

    def since(
        self, since: Micros, *, machines: Sequence[str] = (), person: str | None = None
    ) -> Statistics:
        """The statistics from a time on, of these machines, or of one person alone."""
        steps = self._steps(since, machines)
        is_complete = len(steps) < STEPS_MAX
        found = statistics_of(steps, is_complete=is_complete)
        if person is None:
            return found
        own = [each for each in found.people if each.person == person]
        return msgspec.structs.replace(found, people=own)

    def _steps(self, since: Micros, machines: Sequence[str]) -> list[ReviewStep]:
        answers = self._answers(machines)
        if not answers:
            return []
        condition, params = self._database.among("t.trigger", sorted(answers))
        found = self._database.rows(
            "SELECT t.record_id, t.machine, t.actor, t.trigger, t.at, t.metadata, p.at, t.version "
            "FROM transitions t JOIN transitions p "
            "ON p.record_id = t.record_id AND p.version = t.version - 1 "
            f"WHERE t.seq >= :first AND t.at >= :since AND {condition} "
            "ORDER BY t.seq DESC LIMIT :limit",
            first=self._first_seq(since),
            since=since,
            limit=STEPS_MAX,
            **params,
        )
        wanted = [row for row in found if not machines or str(row[1]) in machines]
        wanted.sort(key=lambda row: (str(row[0]), int(row[7] or 0)))
        return [_step(row, answers[str(row[3])]) for row in wanted]

    def _answers(self, machines: Sequence[str]) -> Mapping[str, str]:
        """The triggers by which people answer, and the answer of each. A deadline is no person's."""
        return {
            f"{review.name}.{answer}": answer
            for machine in self._registry.newest.values()
            if not machines or machine.name in machines
            for review in machine.reviews
            for answer in (*review.outcomes, ENDORSED)
        }

    def _first_seq(self, since: Micros) -> int:
        """About the first entry of the log of a time, by bisection: the log has no index on times."""
        ((last,),) = self._database.rows("SELECT max(seq) FROM transitions")
        low, high = 0, int(last or 0)
        while low < high:
            middle = (low + high) // 2
            found = self._database.rows(
                "SELECT seq, at FROM transitions WHERE seq >= :middle ORDER BY seq LIMIT 1",
                middle=middle,
            )
            if found and int(found[0][1] or 0) < since - SKEW:
                low = int(found[0][0] or 0) + 1
            else:
                high = middle
        return low


def _step(row: Row, answer: str) -> ReviewStep:
    record_id, machine, actor, _, at, metadata, before, _ = row
    facts: Fields = msgspec.json.decode(str(metadata))
    approvals = facts.get(APPROVALS)
    if isinstance(approvals, list) and approvals and isinstance(approvals[-1], dict):
        given = str(approvals[-1].get("answer"))  # what this person said, not how the review ended
    else:
        given = answer
    fields, worked, code = facts.get("corrected"), facts.get("worked_s"), facts.get("reason_code")
    return ReviewStep(
        record_id=str(record_id),
        machine=str(machine),
        person=person_of(str(actor), facts.get(REVIEWER)),
        answer=given,
        wait_s=(int(at or 0) - int(before or 0)) / SECOND,
        worked_s=worked if isinstance(worked, int | float) else None,
        corrected=tuple(map(str, fields)) if isinstance(fields, list) else (),
        reason_code=None if code is None else str(code),
        is_last=answer != ENDORSED,
    )
