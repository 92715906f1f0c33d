"""The parts that a `Pipeline` is made of: stages, reviews and ends, and the exits that lead from one to the next.

Each part knows the file and line that declares it, what follows each of its exits, and how it is written in a
declaration. The checks that concern several parts are those of `Pipeline`.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import update_wrapper
from types import FrameType
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

from stateward.core.errors import DeclarationError, Fault
from stateward.core.machine import TIMEOUT_DEFAULT_S, Guard, all_of
from stateward.core.model import Json
from stateward.workers.results import DONE
from stateward.workers.sdk import Job
from stateward.workers.signature import StageSignature

Answer: TypeAlias = Literal["approved", "corrected", "rejected"]
ANSWERS: tuple[Answer, ...] = ("approved", "corrected", "rejected")
TIMED_OUT, FATAL, EXHAUSTED = "timed_out", "fatal", "exhausted"

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Place(NamedTuple):
    """Where something is declared."""

    file: str
    line: int

    @classmethod
    def of(cls, frame: FrameType) -> "Place":
        """The line that a frame is at: in the frame of a module, the line of the decorator."""
        return cls(frame.f_code.co_filename, frame.f_lineno)

    def fault(self, path: str, sentence: str) -> Fault:
        """What is wrong with what is declared here."""
        return Fault(source=self.file, line=self.line, path=path, sentence=sentence)

    def error(self, path: str, sentence: str) -> DeclarationError:
        """The same, to be raised."""
        return DeclarationError([self.fault(path, sentence)])


class PipelineNames:
    """What the parts of a pipeline know of it. All parts of one pipeline share the same object."""

    def __init__(self, name: str, *, completed: str, failed: str) -> None:
        self.name = name
        self.completed = completed
        self.failed = failed


class StageOptions(TypedDict, total=False):
    """What may be said of a stage besides what it follows.

    `name` is by default that of the function. `status` names the statuses of waiting and running, by default
    `<name>_queued` and `<name>_running`; a single name is for both. `outcomes` are the labels of a stage with several
    exits (`stage.on(label)`). `expose` are facts that a record shows once the stage is done. `produces` names the
    items for people: the record shows `<produces>_count`, and where there are none, the next stage is skipped.
    `resume` says at which of its statuses a retry starts; `cancellable`, whether a record can be cancelled while it
    waits. `external`: an external driver decides when the stage runs. `earlier` are items of other records that it
    reads (`job.earlier`), under the keys of YAML. The others are those of a declaration in YAML.
    """

    name: str
    status: str | tuple[str, str]
    outcomes: Iterable[str]
    timeout_s: float
    isolation: Literal["process", "inline"]
    network: bool
    exec: Iterable[str]
    external: bool
    earlier: Mapping[str, Json]
    produces: str
    log_field: str
    expose: Iterable[str]
    resume: Literal["queued", "running"]
    cancellable: bool


class Exit(Generic[R_co]):
    """One way out of a stage or a review: what `after=` takes.

    A stage with one outcome is its own exit; a review is the exit of what was approved or corrected.
    """

    def __init__(self, node: "Node", label: str, guard: Guard | None = None) -> None:
        self.node = node
        self.label = label
        self.guard = guard

    def when(self, guard: Guard, *more: Guard) -> "Exit[R_co]":
        """The same exit for records whose facts meet the guards; an exit without guard takes all others."""
        (exit_, *others) = self.exits()
        if others or not isinstance(exit_.node, PipelineStage) or exit_.label == FATAL:
            raise Place.of(sys._getframe(1)).error(
                self.node.path, "a guard tests the facts of one outcome of a stage"
            )
        guards = (*((exit_.guard,) if exit_.guard else ()), guard, *more)
        return Exit(exit_.node, exit_.label, guards[0] if len(guards) == 1 else all_of(*guards))

    def exits(self) -> "tuple[Exit[Any], ...]":
        """The single exits that this one stands for."""
        return (self,)

    def __repr__(self) -> str:
        return f"<{self.label} of {self.node.path}>"


After: TypeAlias = Exit[R] | Sequence[Exit[R]]


class Node:
    """What an exit comes from and leads to: a stage, a review or an end. Records enter it in `status`.

    `followers` are the nodes that its own exits lead to, by label and guard.
    """

    def __init__(
        self,
        pipeline: PipelineNames,
        name: str,
        *,
        status: str,
        place: Place,
        after: Iterable[Exit[Any]],
        doc: str = "",
    ) -> None:
        self.pipeline = pipeline
        self.name = name
        self.status = status
        self.place = place
        self.after = tuple(after)
        self.doc = doc
        self.followers: dict[tuple[str, Guard | None], Node] = {}

    @property
    def path(self) -> str:
        """What messages call it."""
        return f"{self.pipeline.name}.{self.name}"

    def statuses(self) -> dict[str, Json]:
        """The statuses that it adds, as a declaration has them."""
        return {self.status: {"kind": "terminal", "doc": self.doc}}

    def loose_ends(self) -> Iterator[Fault]:
        """Exits that lead nowhere."""
        return iter(())


class PipelineStage(Node, Exit[R_co]):
    """A stage of a pipeline: its function, still callable, and an exit that others can follow."""

    __name__: str

    def __init__(
        self,
        pipeline: PipelineNames,
        function: Callable[..., R_co],
        *,
        place: Place,
        after: Iterable[Exit[Any]],
        signature: StageSignature,
        options: StageOptions,
    ) -> None:
        name = options.get("name", function.__name__)
        given = options.get("status", (f"{name}_queued", f"{name}_running"))
        status, self.running = (given, given) if isinstance(given, str) else given
        Node.__init__(self, pipeline, name, status=status, place=place, after=after)
        Exit.__init__(self, self, DONE)
        update_wrapper(self, function)
        self.function = function
        self.signature = signature
        self.options = options
        self.outcomes = tuple(options.get("outcomes", (DONE,)))
        self.log_field = options.get("log_field", f"{name}_log_ref")

    def __call__(self, job: Job, items: Iterable[Any] = ()) -> R_co:
        """Call the function, as a test does; `items` only for a stage that takes them."""
        return self.function(job, items) if self.signature.parameter else self.function(job)

    def on(self, outcome: str) -> Exit[R_co]:
        """The exit of one of several outcomes; the labels are those given as `outcomes=`."""
        if outcome not in self.outcomes:
            known = ", ".join(self.outcomes)
            raise Place.of(sys._getframe(1)).error(
                self.path, f"there is no outcome {outcome!r}; there are: {known}"
            )
        return Exit(self, str(outcome))

    @property
    def fatal(self) -> Exit[R_co]:
        """Attempts that are not repeated: a fatal failure, a cancellation. Only an end can follow it."""
        return Exit(self, FATAL)

    def exits(self) -> tuple[Exit[Any], ...]:
        """One for each outcome."""
        return tuple(Exit(self, outcome) for outcome in self.outcomes)

    def statuses(self) -> dict[str, Json]:
        """Waiting (unless it has one status for both) and running."""
        doc = (inspect.getdoc(self.function) or f"{self.name} is running").partition("\n")[0]
        waiting: Json = {"kind": "ready", "doc": f"Waits for {self.name}"}
        return {self.status: waiting, self.running: {"kind": "running", "doc": doc}}

    def loose_ends(self) -> Iterator[Fault]:
        """Outcomes that nothing follows, or only guarded steps; an only outcome may simply be the end."""
        for outcome in self.outcomes:
            guards = [guard for label, guard in self.followers if label == outcome]
            if guards and None not in guards:
                yield self.place.fault(
                    self.path,
                    "only steps with a guard follow it: add one without .when(...) for all other records",
                )
            elif not guards and len(self.outcomes) > 1:
                yield self.place.fault(
                    self.path,
                    f"nothing follows its outcome {outcome!r}: add a stage or an end after .on({outcome!r})",
                )

    def declaration(self) -> dict[str, Json]:
        """The stage under the keys of a declaration in YAML."""
        options, pipeline = self.options, self.pipeline
        fatal = self.followers.get((FATAL, None))
        failed = pipeline.failed if fatal is None else fatal.status
        can_cancel = self.status != self.running and options.get("cancellable", True)
        return {
            "from": self.status,
            "running": self.running,
            "outcomes": {outcome: self._routes(outcome) for outcome in self.outcomes},
            "on_error": pipeline.failed,
            "on_fatal": failed,
            "on_error_waiting": failed if can_cancel else None,
            "resume": self.running if options.get("resume") == "running" else self.status,
            "timeout_s": options.get("timeout_s", TIMEOUT_DEFAULT_S),
            "isolation": options.get("isolation", "process"),
            "network": options.get("network", False),
            "exec": list(options.get("exec", ())),
            "external": options.get("external", False),
            "earlier": {**options["earlier"]} if "earlier" in options else None,
            "produces": options.get("produces"),
            "log": self.log_field,
        }

    def _routes(self, outcome: str) -> list[Json]:
        """The guarded followers as they are declared, then the one for all other records."""
        guarded: list[Json] = [
            {"to": node.status, "when": _declared_guard(guard)}
            for (label, guard), node in self.followers.items()
            if label == outcome and guard is not None
        ]
        return [*guarded, {"to": self.target(outcome)}]

    def target(self, outcome: str) -> str:
        """The status that an outcome leads to unless a guard holds."""
        node = self.followers.get((outcome, None))
        return self.pipeline.completed if node is None else node.status

    def exposes(self, order: Sequence[str]) -> dict[str, str]:
        """Field → the status from which on it is shown: the log while it runs, what it found once it is done."""
        ends = [node.status for (label, _), node in self.followers.items() if label != FATAL]
        since = min(ends or [self.pipeline.completed], key=order.index)
        produces = self.options.get("produces")
        found = [f"{produces}_count"] if produces else []
        return {
            self.log_field: self.running,
            **dict.fromkeys([*found, *self.options.get("expose", ())], since),
        }

    def __repr__(self) -> str:
        return f"<stage {self.path}>"


class PipelineReview(Node, Exit[R_co]):
    """A question to a person. As an exit it stands for records that were approved or corrected."""

    def __init__(
        self,
        pipeline: PipelineNames,
        name: str,
        *,
        status: str,
        place: Place,
        after: Iterable[Exit[Any]],
        of: PipelineStage[Any] | None,
        answers: tuple[Answer, ...],
        timeout_s: float,
        rules: Mapping[str, Json],
    ) -> None:
        Node.__init__(self, pipeline, name, status=status, place=place, after=after)
        Exit.__init__(self, self, "approved")
        self.of = of
        self.rules = rules
        self.answers = answers
        self.timeout_s = timeout_s

    @property
    def approved(self) -> Exit[R_co]:
        """The items are right as they are."""
        return self._exit("approved", Place.of(sys._getframe(1)))

    @property
    def corrected(self) -> Exit[R_co]:
        """A person corrected the items; later stages read the corrected ones."""
        return self._exit("corrected", Place.of(sys._getframe(1)))

    @property
    def rejected(self) -> Exit[R_co]:
        """A person refused the document."""
        return self._exit("rejected", Place.of(sys._getframe(1)))

    @property
    def timed_out(self) -> Exit[R_co]:
        """No answer came in time."""
        return Exit(self, TIMED_OUT)

    def _exit(self, answer: Answer, place: Place) -> Exit[R_co]:
        if answer not in self.answers:
            known = ", ".join(self.answers)
            raise place.error(self.path, f"there is no answer {answer!r}; there are: {known}")
        return Exit(self, answer)

    def exits(self) -> tuple[Exit[Any], ...]:
        """What was approved, and what was corrected."""
        return tuple(Exit(self, answer) for answer in self.answers if answer != "rejected")

    def statuses(self) -> dict[str, Json]:
        """The one in which it waits for the answer."""
        about = "" if self.of is None else f" about {self.of.name}"
        return {self.status: {"kind": "suspended", "doc": f"Waits for a decision{about}"}}

    def loose_ends(self) -> Iterator[Fault]:
        """Answers that nothing follows; a rejection and a missed deadline may simply be the end."""
        for exit_ in self.exits():
            if (exit_.label, None) not in self.followers:
                what = f"nothing follows the answer {exit_.label!r}: add a stage or an end after it"
                yield self.place.fault(self.path, what)

    def declaration(self) -> dict[str, Json]:
        """The review under the keys of a declaration in YAML."""
        return {
            "state": self.status,
            "outcomes": {answer: self.target(answer) for answer in self.answers},
            "timeout_s": self.timeout_s,
            **self.rules,
            "on_timeout": self.target(TIMED_OUT),
            "of": None if self.of is None else self.of.name,
        }

    def target(self, label: str) -> str:
        """The status that an answer leads to; where nothing follows it, records end in one of its name."""
        node = self.followers.get((label, None))
        return label if node is None else node.status

    def __repr__(self) -> str:
        return f"<review {self.path}>"


def producers_before(exits: Iterable[Exit[Any]]) -> list[PipelineStage[Any]]:
    """The nearest stages before these exits that produce items, each once."""
    found: dict[str, PipelineStage[Any]] = {}
    for exit_ in exits:
        node = exit_.node
        if isinstance(node, PipelineStage) and node.signature.produces is not None:
            found[node.name] = node
        elif isinstance(node, PipelineReview) and node.of is not None:
            found[node.of.name] = node.of
        else:
            found |= {each.name: each for each in producers_before(node.after)}
    return list(found.values())


def _declared_guard(guard: Guard) -> Json:
    if guard.op == "all_of":
        return {"all": [_declared_guard(each) for each in guard.of]}
    return {guard.op: guard.field if guard.op == "is_true" else [guard.field, guard.value]}
