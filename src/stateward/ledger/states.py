"""The sixteen states of a document in the ledger, and what a machine says about moves between states.

The machine is the one truth: the enum only gives its states a type, and the questions that an operator asks are
answered from the machine's tables. Nothing here touches a disk.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from importlib.resources import files
from operator import attrgetter

from stateward.core.errors import InvalidRequest, InvalidTransition
from stateward.core.machine import RETRY_REQUESTED, Machine, Stage
from stateward.core.model import PERSON
from stateward.definition.declare import from_yaml
from stateward.ledger.record import Line

LITERATURE = from_yaml(
    (files(__package__) / "literature.yaml").read_text("utf-8"), source="literature.yaml"
)


class LedgerState(StrEnum):
    """Where a document is. What each state means stands beside it in `literature.yaml`; see `doc`."""

    PENDING = "pending"
    FETCHING = "fetching"
    FETCHED = "fetched"
    PARSING = "parsing"
    PARSED = "parsed"
    VALIDATING = "validating"
    VALIDATED = "validated"
    IR_BUILDING = "ir_building"
    IR_READY = "ir_ready"
    EMBEDDING = "embedding"
    INDEXED = "indexed"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    SKIPPED = "skipped"
    LEGACY = "legacy"

    @property
    def doc(self) -> str:
        """What the state means."""
        return LITERATURE.state[self.value].doc


def valid_next_states(state: str, *, machine: Machine = LITERATURE) -> tuple[str, ...]:
    """The states that may follow, in the machine's order; those of the literature machine are `LedgerState`s.

    From `retrying` only the running state of the step that failed is really possible: the ledger knows which.
    """
    names = machine.allowed_from(_known(state, machine))
    return tuple(LedgerState(name) for name in names) if machine is LITERATURE else names


def is_terminal(state: str, *, machine: Machine = LITERATURE) -> bool:
    """Whether the document's way ends here (a person may still reopen a failed one)."""
    return machine.kind[_known(state, machine)] == "terminal"


def is_retryable(state: str, *, machine: Machine = LITERATURE) -> bool:
    """Whether a retry can be asked for in this state."""
    return (_known(state, machine), RETRY_REQUESTED) in machine.rules


def _known(state: str, machine: Machine) -> str:
    if state not in machine.state:
        known = ", ".join(machine.state)
        raise InvalidRequest(f"{machine.name} has no state {state!r}; it has: {known}")
    return str(state)


_VALUE = attrgetter("_value_")


class Graph:
    """A machine's moves, compiled for the ledger's question: may this document go there now?"""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.name, self.version = machine.name, machine.version
        self.pairs = machine.pairs
        self.waits = frozenset(name for name, kind in machine.kind.items() if kind == "failed")
        self.imported = frozenset(state.name for state in machine.states if state.is_imported)
        self.terminal = frozenset(name for name, kind in machine.kind.items() if kind == "terminal")
        self._enum = LedgerState if machine.name == LITERATURE.name else None
        self._resumes = {
            (old, new): stage.resume for stage in machine.stages for old, new in _failures(stage)
        }
        self._resume_targets = frozenset(self._resumes.values())
        self._by_person = frozenset(
            (edge.source, edge.to)
            for edge in machine.edges
            if all(self._is_by_person(edge.source, event) for event in edge.on)
        )

        self.plain = frozenset(
            (old, new)
            for old, new in self.pairs - self._by_person - self._resumes.keys()
            if old not in self.waits and not {new} & (self.imported | self.waits | self.terminal)
        )
        """Moves that need no other look at the document than where it is."""

    def _is_by_person(self, source: str, event: str) -> bool:
        rule = self.machine.rules.get((source, event))
        return rule is not None and rule.is_by_person

    def state(self, name: str) -> str:
        """The state as its type, for the machine that has one."""
        return self._enum(name) if self._enum is not None else name

    def named(self, state: object) -> str:
        """The name of a state that a caller gave; words are not states where there is a type for them."""
        if self._enum is not None:
            if type(state) is self._enum:
                return state._value_
            raise InvalidRequest(
                f"{state!r} is not a LedgerState; states of old ledgers come in by migration alone"
            )
        return self.worded(state)

    def names(self, states: Sequence[object]) -> Iterable[str]:
        """The same for many."""
        if self._enum is not None and set(map(type, states)) == {self._enum}:
            return map(_VALUE, states)
        return map(self.named, states)

    def worded(self, state: object) -> str:
        """The name of a state that an import gave as a word."""
        if not isinstance(state, str) or state not in self.machine.state:
            known = ", ".join(self.machine.state)
            raise InvalidRequest(f"{self.name} has no state {state!r:.80}; it has: {known}")
        return str(state)

    def check(self, doc_id: str, before: Line | None, new: str, actor: str | None) -> None:
        """Raises `InvalidTransition` unless the document may go to `new` now."""
        if before is None:
            if new != self.machine.initial:
                raise InvalidTransition(
                    doc_id, expected=new, found="nothing", allowed=[self.machine.initial]
                )
            return
        old = before.new_state
        move = (old, new)
        is_wrong = move not in self.pairs or new in self.imported
        if old in self.waits and before.resume is not None and new in self._resume_targets:
            is_wrong = is_wrong or new != before.resume
        if is_wrong:
            raise InvalidTransition(doc_id, expected=new, found=old, allowed=self.next(before))
        if move in self._by_person and not (actor or "").startswith(PERSON):
            raise InvalidRequest(
                f"{doc_id}: only a person may move it from {old} to {new}; say who with actor='person:…'"
            )

    def next(self, before: Line) -> tuple[str, ...]:
        """Where this very document may go."""
        names = self.machine.allowed_from(before.new_state)
        if before.new_state in self.waits and before.resume is not None:
            names = tuple(
                name for name in names if name not in self._resume_targets or name == before.resume
            )
        return tuple(name for name in names if name not in self.imported)

    def resume(self, before: Line | None, new: str) -> str | None:
        """The state at which a retry of this document would go on, once it is in `new`."""
        if before is None:
            return None
        found = self._resumes.get((before.new_state, new))
        if found is None and (new in self.waits or new in self.terminal):
            return before.resume
        return found


def _failures(stage: Stage) -> list[tuple[str, str]]:
    targets = {stage.on_error, stage.on_fatal}
    moves = [(stage.running, to) for to in targets]
    if stage.on_error_waiting is not None:
        moves.append((stage.from_state, stage.on_error_waiting))
    return moves
