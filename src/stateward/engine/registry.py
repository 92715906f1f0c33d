"""The state machines in force: which versions there are, and which one applies to a record."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from operator import itemgetter

import msgspec

from stateward.core.decide import can_continue
from stateward.core.errors import DeclarationError, Fault, UnknownName
from stateward.core.machine import Machine
from stateward.core.model import Micros, Record
from stateward.storage.record_queries import QueryNames
from stateward.storage.store import Store


class MachineRegistry:
    """The state machines in use: the newest version of each, and every older one that records still follow.

    `kept` reads the registered versions from the store again: during a rolling deployment a newer process registers
    versions that this one has never seen.
    """

    def __init__(
        self,
        newest: Sequence[Machine],
        older: Sequence[Machine] = (),
        *,
        kept: Callable[[], Sequence[Machine]] = lambda: (),
    ) -> None:
        self._kept = kept
        self.newest: dict[str, Machine] = {machine.name: machine for machine in newest}
        self._versions = {(machine.name, machine.version): machine for machine in (*older, *newest)}

    def named(self, name: str) -> Machine:
        """The newest version of a machine."""
        try:
            return self.newest[name]
        except KeyError:
            raise UnknownName("machine", name, self.newest) from None

    def of(self, record: Record) -> Machine:
        """The state machine that applies to a record: the newest if it can continue the record, else its own version.

        A record in a renamed state keeps to its own version until `upgrade_records` has moved it.
        """
        newest = self.newest.get(record.machine)
        if newest is not None and can_continue(newest, record):
            return newest
        return self.exactly(record.machine, record.machine_version)

    def exactly(self, name: str, version: int) -> Machine:
        """One version of a state machine; read from the store if a newer process registered it after our start."""
        if (name, version) not in self._versions:
            for machine in self._kept():
                self._versions.setdefault((machine.name, machine.version), machine)
        try:
            return self._versions[name, version]
        except KeyError:
            raise UnknownName("machine", f"{name} version {version}", self.newest) from None

    @cached_property
    def query_names(self) -> QueryNames:
        """What the names in queries mean, over all versions: a query also has to find records of older versions."""
        kinds: dict[str, dict[str, str]] = {}
        running: dict[str, dict[str, str]] = {}
        for machine in self._versions.values():
            kinds.setdefault(machine.name, {}).update(machine.kind)
            stages = {stage.name: stage.running for stage in machine.stages}
            running.setdefault(machine.name, {}).update(stages)
        return QueryNames(kinds=kinds, running=running)


def register(
    store: Store, machines: Sequence[Machine], *, now: Micros, saves: bool = True
) -> MachineRegistry:
    """Store these state machines as the newest ones, unless nothing is saved; returns the registry of all versions.

    Refused: a machine that changed without a new version, an older version than the newest stored one, and a new
    version that would strand records, with their count. All are checked before any is stored.
    """
    kept = {
        (machine.name, machine.version): (machine, digest)
        for machine, digest in store.machine_versions.all()
    }
    faults: list[Fault] = []
    for machine in machines:
        faults += _registration_faults(store, machine, kept)
    if faults:
        raise DeclarationError(faults)
    new = [each for each in machines if (each.name, each.version) not in kept]
    if new and saves:  # every command registers; most write nothing
        store.machine_versions.save([(each, graph_digest(each)) for each in new], now=now)
    given = {(machine.name, machine.version) for machine in machines}
    older = [machine for key, (machine, _) in kept.items() if key not in given]
    return MachineRegistry(
        machines, older, kept=lambda: [machine for machine, _ in store.machine_versions.all()]
    )


def graph_digest(machine: Machine) -> str:
    """The SHA-256 of what may not change without a new version: the graph.

    Timeouts and retries are left out, because a profile may change them (`Machine.tuned`). The digest is stored: a
    change of this format would make every registered machine look changed.
    """
    shape = (
        machine.name,
        machine.initial,
        [(state.name, state.kind) for state in machine.states],
        [(edge.source, edge.to, edge.on) for edge in machine.edges],
    )
    return sha256(msgspec.json.encode(shape)).hexdigest()


def _registration_faults(
    store: Store, machine: Machine, kept: Mapping[tuple[str, int], tuple[Machine, str]]
) -> list[Fault]:
    known = kept.get((machine.name, machine.version))
    if known is not None and known[1] != graph_digest(machine):
        return [_fault(machine, "version", "its graph changed: give it the next version number")]
    newer = max((version for name, version in kept if name == machine.name), default=0)
    if newer > machine.version:
        return [_fault(machine, "version", f"version {newer} is already in force")]
    stranded = [
        f"{count} in {status!r} of version {version}"
        for version, status in _strandable(machine, kept)
        if (count := store.count_on_version(machine.name, version, status))
    ]
    if not stranded:
        return []
    sentence = f"would strand {', '.join(stranded)}: say under 'upgrades' where they go"
    return [_fault(machine, "upgrades", sentence)]


def _strandable(
    machine: Machine, kept: Mapping[tuple[str, int], tuple[Machine, str]]
) -> list[tuple[int, str]]:
    """The states of older versions that this one leaves no way out of. Only these are counted: mostly none."""
    return [
        (version, status)
        for (name, version), (own, _) in sorted(kept.items(), key=itemgetter(0))
        if name == machine.name and version != machine.version
        for status, kind in own.kind.items()
        if kind != "terminal" and _would_strand(machine, own, status)
    ]


def _would_strand(machine: Machine, own: Machine, status: str) -> bool:
    mapping = machine.upgrades.get(own.version)
    if mapping is None or mapping.get(status, status) not in machine.kind:
        return True
    if status in mapping:
        return False
    # A record that waits for a stage finds it by name: the same state must belong to the same stage.
    old, new = own.stage_of(status), machine.stage_of(status)
    return old is not None and (new is None or old.name != new.name)


def _fault(machine: Machine, path: str, sentence: str) -> Fault:
    return Fault(source=f"machine {machine.name}", line=0, path=path, sentence=sentence)
