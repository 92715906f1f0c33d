"""The sixteen states of a document in the ledger, and which transitions a state machine allows between states.

The state machine defines both; the enum only gives its states a type. Nothing here touches a disk.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from operator import attrgetter

from stateward.core.errors import InvalidRequest, InvalidTransition
from stateward.core.machine import RETRY_REQUESTED, Machine, Stage
from stateward.core.model import PERSON
from stateward.definition.compiled import machine_file
from stateward.ledger.record import LedgerLine

DOCUMENT_MACHINE = machine_file(__package__, "document.yaml", source="document.yaml")


class LedgerState(StrEnum):
    """The state of a document; `doc` is its description in `document.yaml`."""

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
        return DOCUMENT_MACHINE.state[self.value].doc


def valid_next_states(state: str, *, machine: Machine = DOCUMENT_MACHINE) -> tuple[str, ...]:
    """The states that may follow, in the machine's order; for the machine of `LedgerState` as its members.

    From `retrying` a document can really go only to the running state of the step that failed; `Ledger.next_states`
    knows which one that is.
    """
    names = machine.allowed_from(_known_state(state, machine))
    return tuple(LedgerState(name) for name in names) if machine is DOCUMENT_MACHINE else names


def is_terminal(state: str, *, machine: Machine = DOCUMENT_MACHINE) -> bool:
    """Whether no further work follows (a person may still reopen a failed document)."""
    return machine.kind[_known_state(state, machine)] == "terminal"


def is_retryable(state: str, *, machine: Machine = DOCUMENT_MACHINE) -> bool:
    """Whether a retry can be asked for in this state."""
    return (_known_state(state, machine), RETRY_REQUESTED) in machine.rules


def _known_state(state: object, machine: Machine) -> str:
    if not isinstance(state, str) or state not in machine.state:
        known = ", ".join(machine.state)
        raise InvalidRequest(f"{machine.name} has no state {state!r:.80}; it has: {known}")
    return str(state)


_VALUE = attrgetter("_value_")


class TransitionTable:
    """The transitions of a state machine, compiled for one question: may this document go there now?"""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.name, self.version = machine.name, machine.version
        self.pairs = machine.pairs
        self.retry_states = frozenset(
            name for name, kind in machine.kind.items() if kind == "failed"
        )
        """Where a document waits for its next attempt; entering one counts as a retry."""
        self.imported = frozenset(state.name for state in machine.states if state.is_imported)
        """States that only an import may use."""
        self.terminal = frozenset(name for name, kind in machine.kind.items() if kind == "terminal")
        self._enum = LedgerState if machine.name == DOCUMENT_MACHINE.name else None
        self._resumes = {
            (old, new): stage.resume for stage in machine.stages for old, new in _failures(stage)
        }
        self._resume_targets = frozenset(self._resumes.values())
        # A move that every event leaves to a person needs an actor who is one.
        self._by_person = frozenset(
            (edge.source, edge.to)
            for edge in machine.edges
            if all(
                (rule := machine.rules.get((edge.source, event))) is not None and rule.is_by_person
                for event in edge.on
            )
        )
        special = self.imported | self.retry_states | self.terminal
        self.plain = frozenset(
            (old, new)
            for old, new in self.pairs - self._by_person - self._resumes.keys()
            if old not in self.retry_states and new not in special
        )
        """Transitions that depend on nothing but the present state: most of them, so they have a fast path."""

    def typed(self, name: str) -> str:
        """The state as a member of its enum, for the machine that has one."""
        return self._enum(name) if self._enum is not None else name

    def require_typed(self, state: object) -> str:
        """The name of a state that a caller gave; where there is an enum, plain text is refused.

        Text is how free-form words of old ledgers would slip in; they come in by migration, which maps them.
        """
        if self._enum is None:
            return self.require_known(state)
        if type(state) is self._enum:
            return state._value_
        raise InvalidRequest(
            f"{state!r} is not a LedgerState; states of old ledgers come in by migration alone"
        )

    def require_all_typed(self, states: Sequence[object]) -> Iterable[str]:
        """The same for many."""
        if self._enum is not None and set(map(type, states)) == {self._enum}:
            return map(_VALUE, states)
        return map(self.require_typed, states)

    def require_known(self, state: object) -> str:
        """The name of a state that an import gave as text."""
        return _known_state(state, self.machine)

    def check(self, doc_id: str, before: LedgerLine | None, new: str, actor: str | None) -> None:
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
        if old in self.retry_states and before.resume is not None and new in self._resume_targets:
            is_wrong = is_wrong or new != before.resume
        if is_wrong:
            raise InvalidTransition(doc_id, expected=new, found=old, allowed=self.next(before))
        if move in self._by_person and not (actor or "").startswith(PERSON):
            raise InvalidRequest(
                f"{doc_id}: only a person may move it from {old} to {new}; say which, as the actor person:NAME"
            )

    def next(self, before: LedgerLine) -> tuple[str, ...]:
        """Where this document may go: after a failure only back to the step that failed."""
        names = self.machine.allowed_from(before.new_state)
        if before.new_state in self.retry_states and before.resume is not None:
            names = tuple(
                name for name in names if name not in self._resume_targets or name == before.resume
            )
        return tuple(name for name in names if name not in self.imported)

    def resume_state(self, before: LedgerLine | None, new: str) -> str | None:
        """The state at which a retry of this document would continue, once it is in `new`."""
        if before is None:
            return None
        found = self._resumes.get((before.new_state, new))
        if found is None and (new in self.retry_states or new in self.terminal):
            return before.resume
        return found


def _failures(stage: Stage) -> list[tuple[str, str]]:
    moves = [(stage.running, to) for to in {stage.on_error, stage.on_fatal}]
    if stage.on_error_waiting is not None:
        moves.append((stage.from_state, stage.on_error_waiting))
    return moves
