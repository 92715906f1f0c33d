"""How commands open a ledger: for reading, or as its one writer, with the machine that it was made for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stateward.cli.door import Door

if TYPE_CHECKING:
    from stateward.core.machine import Machine
    from stateward.ledger import Ledger


def machine_of(door: Door, path: Path) -> "Machine | None":
    """The machine that the ledger was made for; None for a ledger that mirrors another log."""
    from stateward.core.errors import UnknownName
    from stateward.ledger import LITERATURE
    from stateward.ledger.manifest import read_manifest
    from stateward.ledger.writer import ANY_MACHINE

    manifest = read_manifest(path) if path.is_dir() else None
    name = manifest.machine if manifest is not None and manifest.machine else LITERATURE.name
    if name == ANY_MACHINE:
        return None
    if name == LITERATURE.name:
        return LITERATURE
    from stateward.app import declared_machines

    machines = {each.name: each for each in declared_machines(door.settings())}
    if name not in machines:
        raise UnknownName("machine", name, machines)
    return machines[name]


@contextmanager
def reading(door: Door, path: Path) -> Iterator["Ledger"]:
    """A ledger to ask. What had to be used instead of what is said."""
    from stateward.ledger import Ledger

    with Ledger.open(path, read_only=True, machine=machine_of(door, path)) as found:
        yield found
        _say_notes(door, found)


@contextmanager
def writing(door: Door, path: Path, *, is_new: bool = False) -> Iterator["Ledger"]:
    """A ledger to write to; the only writer there is."""
    from stateward.ledger import Ledger, LedgerMismatch
    from stateward.ledger.rebuild import is_ledger

    if not is_new and not (path.is_dir() and is_ledger(path)):
        raise LedgerMismatch(f"{path} is not a ledger; make one with: stateward ledger init {path}")
    with Ledger.open(path, machine=machine_of(door, path)) as found:
        _say_notes(door, found)
        yield found


def _say_notes(door: Door, found: "Ledger") -> None:
    for note in found.notes:
        door.say(f"note: {note}")
