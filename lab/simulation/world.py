"""One history under way: who is there, what they do next, and what they were told.

The world keeps time and order: every act of a process runs under `act`, which turns a crash into the end of that
process; what shall happen some steps later waits in a list. What becomes of work is drawn from the seed's generator,
or follows the route that a record is guided along. It decides nothing that the engine decides.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

import msgspec

from lab.checker import Line, Violation
from lab.simulation.plan import Plan
from lab.simulation.processes import (
    HEARTBEAT_S,
    LEASE_S,
    START,
    Arena,
    Crash,
    Process,
    WaitContext,
)
from lab.simulation.shapes import Hop
from lab.simulation.witness import Witness, event_line
from stateward.core.errors import (
    ConcurrentModification,
    InvalidTransition,
    ReviewRefused,
    ReviewTaken,
    StatewardError,
    UnknownName,
)
from stateward.core.failpoints import Point
from stateward.core.machine import (
    CANCEL_REQUESTED,
    RETRY_REQUESTED,
    Machine,
    Stage,
)
from stateward.core.model import (
    OUTSIDE,
    PERSON,
    SECOND,
    SEQUENCING,
    Applied,
    Event,
    Fields,
    Ignored,
    Micros,
    Work,
    event_id,
)
from stateward.engine.answers import ACTIONS, DecisionRequest
from stateward.engine.coordinator import Submission, Submitted
from stateward.storage.pauses import Pause
from stateward.workers.sdk import (
    Chunk,
    Completed,
    Died,
    Failed,
    Result,
)

TRACE_CHARS = 300
OUTSIDE_ENDS = frozenset("2345")  # the first two records go where the aim is, by themselves
DRIVE_STEPS = 7
DRIVES_MAX = 40
UNDO_SHARE = 0.4  # of decisions that are taken back in time
ANSWERED = ("approved", "rejected")
LANES = (1, 2, 5)
"""Into how many lanes a history is divided, by its seed."""
INBOX = "SELECT seq, body FROM events ORDER BY seq"
NEXT_DUE = "SELECT min(due_at) FROM records WHERE due_at IS NOT NULL"
NEXT_EFFECTIVE = "SELECT min(effective_at) FROM pending_decisions"
STALE_WORK = (
    "SELECT w.record_id, w.version, w.worker FROM work w JOIN records r ON r.id = w.record_id"
    " WHERE w.version < r.version"
)
SURE: Fields = {"final_confidence": 80, "valid": True}
UNSURE: tuple[Fields, ...] = (
    {"final_confidence": 79.9, "valid": True},
    {"final_confidence": 95, "valid": False},
    {"valid": True},
)

T = TypeVar("T")

_decode = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.encode


class World:
    """The actors of one history, and its random generator."""

    def __init__(self, plan: Plan, arena: Arena) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed)
        self.witness = Witness()
        self.around = WaitContext(
            database=arena.cleared(
                lanes=LANES[plan.seed % len(LANES)], has_round_trips=plan.foresees
            ),
            witness=self.witness,
            machine=plan.shape.machine,
            outcome=self.outcome,
            ageing_s=plan.shape.ageing_s,
            hands_over=plan.hands_over,
            is_local=plan.is_local,
            slots=plan.slots,
            self_approval="refuse" if plan.needs_several else "allow",
        )
        self.processes = [*self._people()]
        self.frontend = self.processes[0]
        self._notes: list[tuple[int, Micros, str]] = []
        self.violations: list[Violation] = []
        self.steps = 0
        self.crashes: list[Point] = []
        self.reached: list[Point] = []
        self.armed: Point | None = None
        self.countdown = 0
        self.is_healing = False
        self.jumped_s = 0.0
        self.looked_at: Micros = START
        self.unseen: Micros = 0
        self.forgeries = 0
        self.used = [plan.shape.machine]
        self.submitted: list[str] = []
        self.unanswered: list[str] = []
        self.bodies: list[str] = []
        self.routes: dict[str, list[Hop]] = {}
        self.held: list[str] = []
        self.is_hopeless = False
        self._later: list[tuple[int, Callable[[], None]]] = []
        # What those who take part in some histories only change: they are no part of the world.
        self.mark: Callable[[Work, Result | None], Result | None] = lambda _, result: result
        self.reason: Callable[[str], str] = lambda _: "because"
        self.told: Callable[[], dict[str, Any]] = dict
        self.sure_below = 0.75

    def _people(self) -> list[Process]:
        plan = self.plan
        frontend = Process(self.around, "frontend")
        if plan.is_together:
            names = range(max(plan.coordinators, plan.workers))
            both = [
                Process(self.around, f"up{n + 1}", is_coordinator=True, is_worker=True)
                for n in names
            ]
            return [frontend, *both]
        coordinators = [
            Process(self.around, f"c{n + 1}", is_coordinator=True) for n in range(plan.coordinators)
        ]
        workers = [Process(self.around, f"w{n + 1}", is_worker=True) for n in range(plan.workers)]
        return [frontend, *coordinators, *workers]

    @property
    def now(self) -> Micros:
        """The true time."""
        return self.around.now

    @property
    def machine(self) -> Machine:
        """The machine in force."""
        return self.around.machine

    def due_at(self) -> Micros | None:
        """When the next record's time comes."""
        ((at,),) = self.around.database.seen(NEXT_DUE)
        if not self.witness.decisions:
            return cast("int | None", at)
        ((effective,),) = self.around.database.seen(NEXT_EFFECTIVE)
        return min(
            (cast("int", each) for each in (at, effective) if each is not None), default=None
        )

    def is_manned(self) -> bool:
        """Whether every worker that announced itself is there, or is known not to be."""
        found = self.around.database.rows("SELECT id FROM workers ORDER BY id")
        return self.around.is_local or all(str(name) in self.around.living for (name,) in found)

    def running(self) -> list[Process]:
        """The processes that have a loop and can turn it."""
        return [each for each in self.processes if each.is_running and each is not self.frontend]

    def coordinators(self) -> list[Process]:
        """Those of them that decide."""
        return [each for each in self.running() if each.is_coordinator]

    # Acting

    def note(self, what: str) -> None:
        """A line of the trace."""
        self._notes.append((self.steps, self.around.now, what))

    def trace(self) -> list[str]:
        """What happened, a line each, with the step and the seconds since the beginning."""
        return [
            str(self.plan),
            *(
                f"{step:4} {(at - START) / SECOND:12.3f}  {what[:TRACE_CHARS]}"
                for step, at, what in self._notes
            ),
        ]

    def at_point(self, point: Point) -> None:
        """The hook of all crash points."""
        if point is Point.COMMIT_AFTER:
            self.witness.confirm()
        self.reached.append(point)
        if point is self.armed:
            self.countdown -= 1
            if self.countdown <= 0:
                self.armed = None
                raise Crash(point)

    def arm(self, point: Point, nth: int = 1) -> None:
        """The process that comes to this point for the n-th time from now on is killed there."""
        self.armed, self.countdown = point, nth

    def _lose_its_ring(self) -> None:
        """A process that dies after its commit rings no more, where that is not part of the commit."""
        for each in self.running():
            if each.worker is not None:
                each.worker.is_deaf = True

    def act(self, process: Process, what: str, do: Callable[[], T]) -> T | None:
        """Let a process do something; None if that killed it."""
        try:
            done = do()
        except Crash as crash:
            self.witness.forget()
            self.note(f"{process.alias} {what}, and is killed at {crash.point.label}")
            self.crashes.append(crash.point)
            process.die()
            self._lose_its_ring()
            return None
        except StatewardError as error:
            self.witness.forget()
            self._raised(process, what, error)
            return None
        self.note(f"{process.alias} {what}{_shown(done)}")
        self._look_for_stale_work()
        return done

    def _look_for_stale_work(self) -> None:
        """What ended an attempt from outside has also taken its work away."""
        ended, self.witness.ended = self.witness.ended, set()
        if not ended:
            return
        found = self.around.database.seen(STALE_WORK)
        lines = [dict(zip(("record_id", "version", "worker"), row, strict=True)) for row in found]
        self.witness.stale_work += [each for each in lines if each["record_id"] in ended]

    def _raised(self, process: Process, what: str, error: Exception) -> None:
        sentence = f"{process.alias} {what} and failed: {type(error).__name__}: {error}"
        self.violations.append(Violation(law="V1", where=f"step {self.steps}", sentence=sentence))
        self.note(sentence)
        process.die()

    def start(self, process: Process) -> None:
        """Bring a process up, if it is not; a crash on the way leaves it down."""
        if process.is_up:
            return
        self.act(process, "starts", process.start)
        if process.worker is not None:
            self.act(process, "says that it is there", process.settle)

    def later(self, steps: int, do: Callable[[], None]) -> None:
        """Have something happen some steps from now, or when all is healed."""
        self._later.append((self.steps + steps, do))

    def catch_up(self, *, is_last: bool = False) -> None:
        """Let happen what was due by now, or with `is_last` all that waits."""
        due = [do for step, do in self._later if is_last or step <= self.steps]
        self._later = [] if is_last else [each for each in self._later if each[0] > self.steps]
        for do in due:
            do()

    def leap(self, seconds: float) -> None:
        """Let time pass; workers that can, say that they are alive."""
        self.around.pass_s(seconds)
        self.note(f"{seconds:g} s pass")
        for process in self.running():
            if process.worker is not None and process.worker.is_beat_due:
                self.act(process, "beats", process.settle)

    def hurry(self) -> None:
        """Have coordinators look for lost workers within a second, as they do when turns are not counted."""
        for process in self.processes:
            process.recover_at = min(process.recover_at, self.now + SECOND)

    def outlast_lease(self) -> None:
        """Let so much time pass, with every process at work, that a silent worker is given up."""
        for _ in range(round(LEASE_S / HEARTBEAT_S) + 2):
            self.leap(HEARTBEAT_S)
            for process in self.coordinators()[:1]:
                self.act(process, "recovers", process.recover)

    def looked(self) -> None:
        """A process looks at the clock: how long none did bounds how late a timeout may be."""
        self.unseen = max(self.unseen, self.now - self.looked_at)
        self.looked_at = self.now

    # The inbox, to be tampered with

    def inbox(self) -> list[tuple[int, str]]:
        """The events that wait."""
        return cast("list[tuple[int, str]]", self.around.database.seen(INBOX))

    def take_out(self, seq: int) -> None:
        """An event is not there any more."""
        self.around.database.run("DELETE FROM events WHERE seq = :seq", seq=seq)

    def put_back(self, body: str) -> None:
        """An event is there (again)."""
        self.around.database.run("INSERT INTO events (body) VALUES (:body)", body=body)

    def put_in(self, body: str) -> None:
        """An event is there once more than it was sent."""
        self.put_back(body)
        if body in self.witness.garbled:
            self.witness.garbled.append(body)
        else:
            twin = next(each for each in self.witness.events if each["id"] == _decode(body).id)
            self.witness.events.append({**twin, "is_accepted": True, "is_lost": False})

    def remember_inbox(self) -> None:
        """Keep what passes through the inbox, to send it again one day."""
        for _, body in self.inbox():
            if body not in self.bodies and body not in self.witness.garbled:
                self.bodies.append(body)

    # People at the frontend

    def submit(self, names: Sequence[str]) -> None:
        """Documents come in; who gets no answer asks again."""
        openings = [self.opening(name) for name in names]
        self.submitted += [name for name in names if name not in self.submitted]
        self.start(self.frontend)
        if not self.frontend.is_up:
            self.unanswered += names
            return
        opened = self.act(
            self.frontend, f"opens {names}", lambda: self.frontend.coordinator.submit(openings)
        )
        if opened is None:
            self.unanswered += names
            return
        for name, each in zip(names, opened, strict=True):
            ack = {"record_id": each.record.id, "machine": each.record.machine, "dedupe": name}
            self.witness.acks.append(ack)
            if self.machine.is_externally_driven(each.record):
                self.drive(each.record.id)

    def drive(self, record_id: str, *, left: int = DRIVES_MAX) -> None:
        """The external driver of a record asks for its next step, now and again."""
        stage = self.machine.stage_entered_at.get(self.witness.status.get(record_id, ""))
        if stage is not None and stage.is_external:
            version = self.witness.version[record_id]
            self.ask(record_id, f"{stage.name}.requested", version=version)
        if left:
            self.later(DRIVE_STEPS, lambda: self.drive(record_id, left=left - 1))

    def opening(self, name: str) -> Submission:
        """A request for a record of a document; its priority is in its name, and whether it has an external driver."""
        priority = 1 + sum(name.encode()) % 10
        is_externally_driven = self.machine.has_external_stages and name[-1:] in OUTSIDE_ENDS
        return Submission(
            machine=self.machine.name,
            actor=f"{PERSON}ada",
            artifact=name,
            dedupe=name,
            priority=priority,
            labels={"filename": name, **({SEQUENCING: OUTSIDE} if is_externally_driven else {})},
            entry=self._entry(name),
        )

    def _entry(self, name: str) -> str | None:
        """A later state for some documents, which an import brings; the first ones go the whole way."""
        number = int(name[3:]) if name[3:].isdecimal() else 0
        later = sorted(self.machine.entries - {self.machine.initial})
        return later[number % len(later)] if later and number % 4 == 3 else None

    def ask(
        self, record_id: str, type_: str, *, version: int, is_passed_on: bool | None = None
    ) -> None:
        """A person asks for something, having seen the record at a version."""
        event = Event(
            id=event_id(record_id, makes=version + 1, type_=type_),
            type=type_,
            record_id=record_id,
            version=version,
            at=self.now,
            actor=f"{PERSON}eve",
            reason=self.reason(record_id),
            facts={"to": f"{PERSON}judge"} if type_.endswith(".referred") else {},
        )
        self.hear(event, is_passed_on=is_passed_on)

    def hear(self, event: Event, *, is_passed_on: bool | None = None) -> None:
        """An event from outside comes to the frontend, and is decided at once or put into the inbox."""
        self.start(self.frontend)
        if not self.frontend.is_up:
            return
        what = f"hears {event.type} of {event.record_id} version {event.version}"
        if self.rng.random() < 0.3 if is_passed_on is None else is_passed_on:
            self.act(
                self.frontend,
                f"{what}, and passes it on",
                lambda: self.frontend.bus.report([event]),
            )
            return
        line = event_line(event, is_accepted=False)
        self.witness.events.append(line)
        decisions = self.act(self.frontend, what, lambda: self.frontend.coordinator.handle([event]))
        line["is_accepted"] = decisions is not None
        for decision in decisions or ():
            if isinstance(decision, Applied) and decision.change.transition is not None:
                moved = decision.change.transition
                self.witness.moves.append(
                    {
                        "record_id": moved.record_id,
                        "version": moved.version,
                        "to": moved.target,
                        "hash": None,
                    }
                )

    def look(self) -> None:
        """A client reads the history of a record; the witness remembers it."""
        known = sorted(self.witness.status)
        if known and self.frontend.is_up:
            for each in self.frontend.store.history(self.rng.choice(known)):
                self.witness.moves.append(
                    {
                        "record_id": each.record_id,
                        "version": each.version,
                        "to": each.target,
                        "hash": each.hash,
                    }
                )

    def pause(self, stage: str) -> None:
        """A stage (or with '' the machine) is not handed out for a while."""
        self.start(self.frontend)
        pause = Pause(
            machine=self.machine.name, stage=stage, at=self.now, actor=f"{PERSON}op", reason=None
        )
        if not self.frontend.is_up:
            return
        what = f"pauses {stage!r}"
        is_told = self.act(self.frontend, what, lambda: self._stop(pause))
        if is_told:
            since = self.witness.commits
            self.witness.paused.append({"stage": stage, "since": since, "until": None})

    def resume(self, stage: str) -> None:
        """It is handed out again."""
        self.start(self.frontend)
        name = self.machine.name
        for each in self.witness.paused:
            if each["stage"] == stage and each["until"] is None:
                each["until"] = self.witness.commits
        if self.frontend.is_up:
            self.act(
                self.frontend,
                f"resumes {stage!r}",
                lambda: self.frontend.store.pauses.lift(name, stage, now=self.now),
            )

    def _stop(self, pause: Pause) -> bool:
        self.frontend.store.pauses.add(pause)
        return True

    # Decisions that can be undone for a while

    def hold(self, record_id: str, type_: str) -> None:
        """A person decides a review; the decision is stored, and made later."""
        self.start(self.frontend)
        if not self.frontend.is_up:
            return
        version = self.witness.version[record_id]
        event = Event(
            id=event_id(record_id, makes=version + 1, type_=type_), type=type_, record_id=record_id,
            version=version, at=self.now, actor=f"{PERSON}judge-{self.steps}",
        )  # fmt: skip
        self.witness.events.append(event_line(event, is_accepted=False))
        deciding = DecisionRequest(
            record_id=record_id, action=ACTIONS[type_.partition(".")[2]], actor=event.actor,
            notes=self.reason(record_id), version=version,
        )  # fmt: skip
        if not self.act(
            self.frontend, f"stores {type_} of {record_id}", lambda: self._held(deciding)
        ):
            return
        line: Line = {
            "record_id": record_id, "version": version, "actor": event.actor, "trigger": type_,
            "is_undone": False,
        }  # fmt: skip
        self.witness.decisions.append(line)
        if self.rng.random() < UNDO_SHARE:
            self.later(self.rng.randint(1, 4), lambda: self._undo(line))

    def _held(self, deciding: DecisionRequest) -> bool:
        with suppress(ReviewTaken, ReviewRefused, InvalidTransition, ConcurrentModification):
            self.frontend.reviews.hold(deciding)
            return True
        return False

    def _undo(self, line: Line) -> None:
        self.start(self.frontend)
        if not self.frontend.is_up:
            return
        what = f"takes back the decision of {line['record_id']}"
        line["is_undone"] = bool(self.act(self.frontend, what, lambda: self._undone(line)))

    def _undone(self, line: Line) -> bool:
        with suppress(ReviewTaken, InvalidTransition, ConcurrentModification, UnknownName):
            self.frontend.reviews.undo(line["record_id"], actor=line["actor"])
            return True
        return False

    # What becomes of work

    def wanted(self, record_id: str) -> Hop | None:
        """The next hop of the route that a record is guided along; None if it left it or has none."""
        route = self.routes.get(record_id)
        if not route or self.is_healing:
            return None
        return route[0] if route[0].source == self.witness.status[record_id] else None

    def outcome(self, work: Work) -> Result | None:
        """How an attempt ends; None while it is under way."""
        return self.mark(work, self._outcome(work))

    def _outcome(self, work: Work) -> Result | None:
        stage = self.machine.stage[work.stage]
        if self.is_healing:
            return self._at_last(stage)
        hop = self.wanted(work.record_id)
        if work.record_id in self.held:
            return None
        if hop is not None and work.version == self.witness.version[work.record_id]:
            return self._guided(stage, hop)
        return self._thrown(stage)

    def _at_last(self, stage: Stage) -> Result:
        """Once all is healed, every attempt ends; in most histories badly, so that they end soon."""
        if self.plan.seed % 4:
            return Failed(code="HOPELESS", message="in the end", is_retryable=False)
        return self._completed(stage, SURE, count=1)

    def _guided(self, stage: Stage, hop: Hop) -> Result | None:
        name, _, what = hop.cause.partition(".")
        if name != stage.name or what not in ("completed", "failed"):
            return None
        if what == "failed":
            is_retryable = hop.target == stage.on_error
            return Failed(code="BROKEN", message="as guided", is_retryable=is_retryable)
        is_sure = hop.target == stage.route("done", SURE)
        return self._completed(stage, SURE if is_sure else UNSURE[0], count=1)

    def _thrown(self, stage: Stage) -> Result | None:
        roll = self.rng.random()
        if self.is_hopeless:
            return Failed(code="HOPELESS", message="as provoked", is_retryable=False)
        if roll < 0.12:
            return None
        if roll < 0.15:
            return Died(code="RUNNER_DIED", message="as thrown", has_begun=roll < 0.14)
        if roll < 0.27:
            return Failed(code="BROKEN", message="as thrown", is_retryable=roll < 0.22)
        facts = SURE if roll < self.sure_below else self.rng.choice(UNSURE)
        return self._completed(stage, facts, count=0 if roll > 0.95 else self.rng.choice((1, 2)))

    def _completed(self, stage: Stage, facts: Fields, *, count: int) -> Result:
        has_choice = len(stage.outcomes["done"]) > 1
        data = "[" + ",".join(f'{{"n":{number}}}' for number in range(count)) + "]"
        chunks = (Chunk(count=count, data=data),) if count else ()
        return Completed(
            outcome="done", facts=facts if has_choice else {}, count=count, chunks=chunks
        )

    def wishes(self) -> list[tuple[str, str]]:
        """What people at the frontend would like to ask for now: (record, event)."""
        return [
            (record_id, hop.cause)
            for record_id in sorted(self.routes)
            if (hop := self.wanted(record_id)) is not None and self._is_asked(hop)
        ]

    def open_reviews(self) -> list[tuple[str, str]]:
        """Reviews that people could answer now: (record, event)."""
        reviews = {review.state: review.name for review in self.machine.reviews}
        if not reviews:
            return []
        held = {each["record_id"] for each in self.witness.decisions if not each["is_undone"]}
        return [
            (record_id, f"{reviews[status]}.{ANSWERED[self.steps % len(ANSWERED)]}")
            for record_id, status in self.witness.status.items()
            if status in reviews and record_id not in held
        ]

    def is_time_wanted(self) -> bool:
        """Whether a record is guided to where only time can bring it."""
        hops = [self.wanted(record_id) for record_id in self.routes]
        return any(hop is not None and hop.cause.endswith((".timed_out", ".due")) for hop in hops)

    def _is_asked(self, hop: Hop) -> bool:
        name, _, what = hop.cause.partition(".")
        if hop.cause in (CANCEL_REQUESTED, RETRY_REQUESTED) or name == "document":
            return True
        return any(review.name == name and what != "timed_out" for review in self.machine.reviews)


def _shown(done: object) -> str:
    """What an act gave, in a few words."""
    if done is None or done is False:
        return ""
    if not isinstance(done, list):
        return "" if done is True else f": {done}"
    return ": " + ", ".join(_shown_one(each) for each in done)


def _shown_one(each: object) -> str:
    match each:
        case Submitted(record=record, is_duplicate=is_duplicate):
            return f"{record.id} as before" if is_duplicate else record.id
        case Applied(change=change):
            return f"{change.record.id} is {change.record.status} at {change.record.version}"
        case Ignored(reason=reason):
            return f"ignored, {reason}"
    return str(each)
