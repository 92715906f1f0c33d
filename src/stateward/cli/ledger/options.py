"""What the commands of `stateward ledger` share: arguments, how a ledger is opened, and how JSON input is read.

JSON that was typed or generated is read strictly: nothing of it may be dropped silently.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, flag_option
from stateward.cli.context import CliContext

execute = flag_option("--yes", "Do it; otherwise only print what would be done.", to="execute")
accept_loss = flag_option("--accept-loss", "Continue even if records are lost.")
ledger_argument = click.argument("ledger_path", metavar="DIR", type=A_FILE)

if TYPE_CHECKING:
    from stateward.core.machine import Machine
    from stateward.ledger import Ledger


def machine_of(context: CliContext, path: Path) -> "Machine | None":
    """The state machine that the ledger was made for; None for a ledger that mirrors another log."""
    from stateward.app.machines import declared_machines
    from stateward.core.errors import UnknownName
    from stateward.ledger import DOCUMENT_MACHINE
    from stateward.ledger.disk import refuse_special_files
    from stateward.ledger.manifest import read_manifest
    from stateward.ledger.writer import ANY_MACHINE

    refuse_special_files(path)
    manifest = read_manifest(path) if path.is_dir() else None
    name = manifest.machine if manifest is not None and manifest.machine else DOCUMENT_MACHINE.name
    if name == ANY_MACHINE:
        return None
    if name == DOCUMENT_MACHINE.name:
        return DOCUMENT_MACHINE
    machines = {each.name: each for each in declared_machines(context.settings())}
    if name not in machines:
        raise UnknownName("machine", name, machines)
    return machines[name]


@contextmanager
def reading(context: CliContext, path: Path, *, with_machines: bool = False) -> Iterator["Ledger"]:
    """A ledger, open for reading. What was used in place of something damaged is printed.

    `with_machines`: a mirror is to know the machines of this installation, all of which are loaded for that.
    """
    from stateward.app.machines import declared_machines
    from stateward.ledger import Ledger

    machine = machine_of(context, path)
    is_wanted = machine is None and with_machines
    machines = declared_machines(context.settings()) if is_wanted else ()
    with Ledger.open(path, read_only=True, machine=machine, machines=machines) as found:
        yield found
        _say_notes(context, found)


@contextmanager
def writing(context: CliContext, path: Path, *, is_new: bool = False) -> Iterator["Ledger"]:
    """A ledger, open as its single writer."""
    from stateward.ledger import Ledger, LedgerMismatch
    from stateward.ledger.manifest import is_ledger

    if not is_new and not is_ledger(path):
        raise LedgerMismatch(f"{path} is not a ledger; make one with: stateward ledger init {path}")
    with Ledger.open(path, machine=machine_of(context, path)) as found:
        _say_notes(context, found)
        notes = len(found.notes)
        yield found
        _say_notes(context, found, notes)


def _say_notes(context: CliContext, found: "Ledger", skip: int = 0) -> None:
    for note in found.notes[skip:]:
        context.say(f"note: {note}")


def json_object(text: str | bytes) -> dict[str, object]:
    """One JSON object. A key that stands twice and bytes that are no UTF-8 are refused; the ledger checks values."""
    import json

    from stateward.core.errors import InvalidRequest

    def without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, value in pairs:
            if name in found:
                sentence = f"the key {name!r} stands twice in one object; which one counts?"
                raise InvalidRequest(sentence)
            found[name] = value
        return found

    try:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        found = json.loads(plain, object_pairs_hook=without_doubles)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"byte {error.start} is no UTF-8") from error
    except RecursionError as error:
        raise InvalidRequest("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        sentence = f"this is not JSON: {error.msg} (character {error.pos + 1})"
        raise InvalidRequest(sentence) from error
    except ValueError as error:  # Python reads no number of thousands of digits
        raise InvalidRequest("a number in it is too large; write it as text") from error
    if not isinstance(found, dict):
        raise InvalidRequest("this is no JSON object")
    return found


class PublicKey(click.ParamType[str]):
    """The public half of a key that signs checkpoints, or the file that it is in, such as `signing.key.pub`."""

    name = "key"

    def convert(self, value: str, *_: object) -> str:
        """The key itself; no key is the name of a file."""
        with suppress(OSError):  # a text may be too long for a name
            if (path := Path(value)).is_file():
                return path.read_text("utf-8", "replace").strip()
        return value
