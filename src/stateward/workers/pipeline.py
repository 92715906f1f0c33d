"""Pipelines in Python: the stages of a state machine and their functions, written as one.

    words = Pipeline("words", retry=Retry(max_retries=2))

    @words.stage
    def split(job: Job) -> Iterator[Word]: ...

    @words.stage(after=split)
    def count(job: Job, words: Iterable[Word]) -> Count: ...

A decorator registers its function as a runner and notes the file and line it stands on. `Pipeline.machine` compiles
the notes to the `Machine` that the same graph in YAML gives, through the same checks. What is wrong is a
`DeclarationError` with file and line: raised by the decorator where it can be known there, else by `machine`, which
the loader of a pipeline asks for at once. Nothing here opens a file or a database.

Every edge is declared where it leads to (`after=`): what it leads from is defined above it, so it can be named by the
function itself, and a pipeline has neither loops nor stages that nothing leads to.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import (
    Any,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from msgspec.structs import replace

from stateward.core.errors import DeclarationError, Fault
from stateward.core.machine import Machine
from stateward.core.model import Fields, Json
from stateward.core.retry import Retry
from stateward.definition.declare import NAME, build
from stateward.definition.plain_values import Document
from stateward.definition.plugin import Plugin
from stateward.workers.items import PLAIN, ItemType, Model
from stateward.workers.pipeline_parts import (
    ANSWERS,
    EXHAUSTED,
    FATAL,
    TIMED_OUT,
    After,
    Answer,
    Exit,
    Node,
    PipelineNames,
    PipelineReview,
    PipelineStage,
    Place,
    StageOptions,
    producers_before,
)
from stateward.workers.results import Outcome
from stateward.workers.sdk import Inputs, Job, Runner, register, registered_runners
from stateward.workers.signature import read_signature

PREFIX_CHARS_MAX = 8
REVIEW_TIMEOUT_DEFAULT_S = 7 * 86_400.0
MAIN = "__main__"

T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M", bound=Model)


class StageDecorator(Protocol[T]):
    """What `Pipeline.stage(after=...)` gives: it takes a function of the job, or of the job and the items before it."""

    def __call__(
        self,
        function: Callable[[Job], R]
        | Callable[[Job, Iterator[T]], R]
        | Callable[[Job, list[T]], R],
        /,
    ) -> PipelineStage[R]: ...


class FirstStageDecorator(Protocol):
    """What `Pipeline.stage()` gives for the first stage: there are no items before it."""

    def __call__(self, function: Callable[[Job], R], /) -> PipelineStage[R]: ...


class Pipeline:
    """A document pipeline in Python; see the module. `App.embedded(folder, pipelines=[...])` runs it.

    Ids of its records begin with `prefix`, by default the capital letters of its name. `completed` and `failed` name
    the status of records that have ended and of those whose attempt failed. `expose` are fields that are shown from
    the start. `version` grows whenever the graph changes; `upgrades` then says for an earlier version what its
    statuses are called now, where a name is gone. `plugin` says what else it brings: source types, options, samples,
    how its items are shown; its machine and its runners are added to that.
    """

    def __init__(
        self,
        name: str,
        *,
        version: int = 1,
        prefix: str | None = None,
        doc: str = "",
        retry: Retry = Retry(),  # noqa: B008 - a frozen value
        completed: str = "completed",
        failed: str = "failed",
        expose: Iterable[str] = (),
        upgrades: Mapping[int, Mapping[str, str]] | None = None,
        plugin: Plugin | None = None,
    ) -> None:
        self.name = name
        self._plugin = Plugin(name=name) if plugin is None else plugin
        self.place = Place.of(sys._getframe(1))
        self.version = version
        letters = "".join(letter for letter in name if letter.isalpha())
        self.prefix = letters.upper()[:PREFIX_CHARS_MAX] if prefix is None else prefix
        self.doc = doc
        self.retry = retry
        self._names = PipelineNames(name, completed=completed, failed=failed)
        self._expose = tuple(expose)
        self._upgrades = upgrades or {}
        self._nodes: dict[str, Node] = {}
        self._root = Node(self._names, "", status="", place=self.place, after=())
        if not NAME.fullmatch(name):
            raise self.place.error("Pipeline", _bad_name(name))

    # Declaring

    @overload
    def stage(self, function: Callable[[Job], R], /) -> PipelineStage[R]: ...

    @overload
    def stage(self, **options: Unpack[StageOptions]) -> FirstStageDecorator: ...

    # What a stage returns says what its items are: nothing, one item, an outcome with items, or many items.

    @overload
    def stage(
        self, *, after: After[None], **options: Unpack[StageOptions]
    ) -> StageDecorator[Any]: ...

    @overload
    def stage(
        self, *, after: After[Mapping[str, Any]], **options: Unpack[StageOptions]
    ) -> StageDecorator[Fields]: ...

    @overload
    def stage(self, *, after: After[M], **options: Unpack[StageOptions]) -> StageDecorator[M]: ...

    @overload
    def stage(
        self, *, after: After[Outcome[T]], **options: Unpack[StageOptions]
    ) -> StageDecorator[T]: ...

    @overload
    def stage(
        self, *, after: After[Iterable[T]], **options: Unpack[StageOptions]
    ) -> StageDecorator[T]: ...

    @overload
    def stage(self, *, after: Exit[T], **options: Unpack[StageOptions]) -> StageDecorator[T]: ...

    @overload
    def stage(
        self, *, after: Sequence[Exit[object]], **options: Unpack[StageOptions]
    ) -> StageDecorator[Any]: ...

    def stage(  # type: ignore[misc] # mypy does not match `**options` with unpacked ones
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        after: After[Any] | None = None,
        **options: Any,
    ) -> Any:
        """Declare a stage by its function: `@pipeline.stage` for the first, `@pipeline.stage(after=...)` for others.

        The function takes the `Job`, and as a second argument, if it has one, the items that came before: those of the
        stage it follows, or of the nearest stage before that which produces any. It yields items, returns one, or
        returns an `Outcome`. Annotated item types are checked when items are produced, and given back as such.
        """
        place = Place.of(sys._getframe(1))

        def decorate(function: Callable[..., Any], /) -> PipelineStage[Any]:
            frame = sys._getframe(1 if is_called else 2)
            return self._add_stage(function, place, after, options, frame.f_locals)  # type: ignore[arg-type]

        is_called = function is None
        return decorate if function is None else decorate(function)

    def review(
        self,
        name: str = "review",
        *,
        after: After[R],
        of: PipelineStage[Any] | None = None,
        status: str | None = None,
        answers: Iterable[Answer] = ANSWERS,
        timeout_s: float = REVIEW_TIMEOUT_DEFAULT_S,
        approvals: int = 1,
        group: str | None = None,
        reason_codes: Mapping[str, str] | None = None,
    ) -> PipelineReview[R]:
        """Declare a question to a person about the items of a stage: `of`, or the nearest one before that has any.

        `approvals` is how many different people must accept them, `group` who may answer at all, and `reason_codes`
        are what a rejection can be for, with a text each; where there are some, a rejection names one. Where nothing
        follows a rejection or a missed deadline, records end as `rejected` or `timed_out`.
        """
        place = Place.of(sys._getframe(1))
        exits = self._exits(name, after, place)
        review: PipelineReview[R] = PipelineReview(
            self._names,
            name,
            status=status or f"{name}_required",
            place=place,
            after=exits,
            of=of or next(iter(producers_before(exits)), None),
            answers=tuple(answers),
            timeout_s=timeout_s,
            rules={
                "approvals": approvals,
                "group": group,
                "reason_codes": {**(reason_codes or {})},
            },
        )
        self._add(review)
        return review

    def end(self, status: str, *, after: After[object], doc: str = "") -> None:
        """Declare a status that records end in."""
        place = Place.of(sys._getframe(1))
        exits = self._exits(status, after, place)
        self._add(Node(self._names, status, status=status, place=place, after=exits, doc=doc))

    @property
    def exhausted(self) -> Exit[Any]:
        """Records whose retries are used up. Only an end can follow it; else they stay failed until a person acts."""
        return Exit(self._root, EXHAUSTED)

    # Checks of a decorator

    def _add_stage(
        self,
        function: Callable[..., R],
        place: Place,
        after: After[Any] | None,
        options: StageOptions,
        names: Mapping[str, object],
    ) -> PipelineStage[R]:
        name = options.get("name", getattr(function, "__name__", "?"))
        path = f"{self.name}.{name}"
        if unknown := options.keys() - StageOptions.__annotations__.keys():
            raise place.error(path, f"there is no option {', '.join(sorted(unknown))}")
        first = next(iter(self._nodes.values()), None)
        if after is None and first is not None:
            where = f"{first.name!r} (line {first.place.line})"
            raise place.error(path, f"nothing leads to it: {where} is first, so say after=...")
        exits = () if after is None else self._exits(name, after, place)
        try:
            signature = read_signature(function, names)
            stage = PipelineStage(
                self._names,
                function,
                place=place,
                after=exits,
                signature=signature,
                options=options,
            )
            runner = Runner(
                path,
                function,
                produces=signature.produces,
                reads=self._inputs(stage),
                outcomes=frozenset(stage.outcomes),
            )
            self._add(stage)
            register(runner)
        except (TypeError, ValueError) as error:
            raise place.error(path, str(error)) from None
        return stage

    def _exits(self, name: str, after: After[Any], place: Place) -> tuple[Exit[Any], ...]:
        """The exits that `after=` names, each of this pipeline."""
        path = f"{self.name}.{name}"
        found: list[Exit[Any]] = []
        for each in after if isinstance(after, list | tuple) else [after]:
            if not isinstance(each, Exit):
                known = ", ".join(self._nodes) or "none yet"
                raise place.error(
                    path, f"after= takes stages of this pipeline, not {each!r}; there are: {known}"
                )
            if each.node.pipeline is not self._names:
                raise place.error(path, f"cannot follow {each!r}, which is of another pipeline")
            exits = each.exits()
            if isinstance(each, PipelineStage) and len(exits) > 1:
                labels = ", ".join(f".on({label!r})" for label in each.outcomes)
                raise place.error(
                    path, f"{each.name!r} has several outcomes; say which one: {labels}"
                )
            found += exits
        return tuple(found)

    def _add(self, node: Node) -> None:
        """Enter a node, as what follows its exits; refused if another one follows them already."""
        refuse = node.place.error
        if "machine" in self.__dict__:
            raise refuse(node.path, "the pipeline is in use and can no longer be changed")
        if not NAME.fullmatch(node.name):
            raise refuse(node.path, _bad_name(node.name))
        if node.name in self._nodes:
            line = self._nodes[node.name].place.line
            raise refuse(node.path, f"there is a {node.name!r} already, on line {line}")
        for exit_ in node.after:
            if exit_.label in (FATAL, EXHAUSTED) and isinstance(node, Exit):
                raise refuse(node.path, f"only an end can follow {exit_!r}")
            other = exit_.node.followers.get((exit_.label, exit_.guard))
            if other is not None:
                where = f"{other.name!r} (line {other.place.line})"
                raise refuse(
                    node.path,
                    f"{where} follows {exit_.node.name!r} already; tell them apart by outcomes (.on) or guards (.when)",
                )
        for exit_ in node.after:
            exit_.node.followers[exit_.label, exit_.guard] = node
        self._nodes[node.name] = node

    def _inputs(self, stage: PipelineStage[Any]) -> Inputs | None:
        """What the stage is given as its second argument, if it has one; TypeError if nothing fits it."""
        _, parameter, takes, as_list = stage.signature
        if parameter is None:
            return None
        producers = producers_before(stage.after)
        if not producers:
            raise TypeError(f"it takes {parameter!r}, but no stage before it produces items")
        produced = {each.name: each.signature.produces or PLAIN for each in producers}
        for each in producers:
            if takes is not None and not takes.accepts(produced[each.name]):
                raise TypeError(
                    f"it takes items of type {takes.name}, but {each.name!r} (line {each.place.line}) produces "
                    f"{produced[each.name].name}"
                )
        kinds = {kind for kind in produced.values() if kind is not PLAIN}
        kind: ItemType[Any] = kinds.pop() if len(kinds) == 1 else takes or PLAIN
        if takes is not None and PLAIN in produced.values():
            kind = takes
        # A correction is an output of the review; it stands for the items that it corrects.
        reviews = [each.name for each in self._of(PipelineReview) if each.of in producers]
        return Inputs(kind, (*produced, *reviews), as_list)

    # Compiling

    @cached_property
    def machine(self) -> Machine:
        """The state machine that is declared; raises `DeclarationError` with everything that is wrong."""
        faults = [fault for node in self._nodes.values() for fault in node.loose_ends()]
        if not self._nodes:
            faults = [self.place.fault(self.name, "a pipeline has at least one stage")]
        if faults:
            raise DeclarationError(faults)
        document = Document(source=self.place.file, value=self._declaration(), lines={})
        try:
            return build(document, registered_runners())
        except DeclarationError as error:
            raise DeclarationError(map(self._at_its_line, error.faults)) from None

    @property
    def modules(self) -> tuple[str, ...]:
        """What a child process imports to have the runners: module names, or files that have no such name."""
        return tuple(
            dict.fromkeys(_import_target(each.function) for each in self._of(PipelineStage))
        )

    @property
    def plugin(self) -> Plugin:
        """What it offers to an installation: the plug-in it was given, with its machine and its runners."""
        own = self._plugin
        return replace(
            own,
            doc=own.doc or self.doc,
            machines=(*own.machines, self.machine),
            runners=(*own.runners, *self.modules),
        )

    def _of(self, kind: type[R]) -> list[R]:
        return [node for node in self._nodes.values() if isinstance(node, kind)]

    def _declaration(self) -> dict[str, Json]:
        """The pipeline under the keys of a declaration in YAML."""
        stages, reviews = self._of(PipelineStage), self._of(PipelineReview)
        states = self._states(stages, reviews)
        expose = dict.fromkeys(self._expose, stages[0].status)
        for stage in stages:
            expose |= stage.exposes([*states])
        exhausted = self._root.followers.get((EXHAUSTED, None))
        return {
            "machine": self.name,
            "version": self.version,
            "prefix": self.prefix,
            "doc": self.doc,
            "initial": stages[0].status,
            "states": states,
            "stages": {stage.name: stage.declaration() for stage in stages},
            "reviews": {review.name: review.declaration() for review in reviews},
            "retry": {
                "max_retries": self.retry.max_retries,
                "backoff_s": [*self.retry.backoff_s],
                "jitter_s": self.retry.jitter_s,
                "fatal_after_s": self.retry.fatal_after_s,
            },
            "on_exhausted": None if exhausted is None else exhausted.status,
            "expose": {**expose},
            "upgrades": {str(version): {**names} for version, names in self._upgrades.items()},
        }

    def _states(
        self, stages: list[PipelineStage[Any]], reviews: list[PipelineReview[Any]]
    ) -> dict[str, Json]:
        """All statuses in the order in which records meet them: stages and reviews, ends, the failed one."""
        ends = [node for node in self._nodes.values() if not isinstance(node, Exit)]
        declared = {end.status for end in ends}
        states: dict[str, Json] = {}
        for node in self._nodes.values():
            if node not in ends:
                states |= node.statuses()
        # Ends that go without saying: of the last stages before, of reviews after those that are declared.
        targets = [stage.target(outcome) for stage in stages for outcome in stage.outcomes]
        if self._names.completed in targets and self._names.completed not in declared:
            states[self._names.completed] = {"kind": "terminal", "doc": "Every stage is done"}
        for node in ends:
            states |= node.statuses()
        for review in reviews:
            for label in (*review.answers, TIMED_OUT):
                doc = f"Ended by {review.name}: {label}"
                states.setdefault(review.target(label), {"kind": "terminal", "doc": doc})
        return {**states, self._names.failed: {"kind": "failed", "doc": "An attempt failed"}}

    def _at_its_line(self, fault: Fault) -> Fault:
        """A fault of the compiled declaration, with the place of what it is about."""
        section, _, rest = fault.path.partition(".")
        name = rest.partition(".")[0]
        found = [
            node.place
            for node in self._nodes.values()
            if name == node.name or (section == "states" and name in node.statuses())
        ]
        return (found or [self.place])[0].fault(f"{self.name}.{fault.path}", fault.sentence)

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {', '.join(self._nodes)}>"


def _bad_name(name: str) -> str:
    return f"a name is written in lower-case letters, digits and _, like 'parse', not {name!r}"


def _import_target(function: Callable[..., Any]) -> str:
    """How a child process can import the module of a function: by name, else by file."""
    name = function.__module__
    try:
        is_known = name == MAIN or find_spec(name) is not None
    except (ImportError, ValueError):
        is_known = False
    return name if is_known else getattr(sys.modules.get(name), "__file__", None) or name
