"""What the commands of a plug-in are written with: the public part of this package, and no other.

A plug-in's `commands` module may import from here; the names below keep their meaning within a version. Data goes to
stdout (`write`, `write_table`, `context.emit`), words to stderr (`context.say`); a command returns an `Exit`.
"""

from typing import TYPE_CHECKING

from stateward.cli.context import CliContext, Command, Group, pass_context
from stateward.cli.evaluate import evaluate
from stateward.cli.exit_codes import Exit
from stateward.cli.output import cut, plural, write, write_lines, write_table

if TYPE_CHECKING:  # for annotations: commands get one from `context.local_app()` or `context.app()`
    from stateward.app import App as App
    from stateward.cli.apps import AppProtocol as AppProtocol

__all__ = [
    "CliContext",
    "Command",
    "Exit",
    "Group",
    "cut",
    "evaluate",
    "pass_context",
    "plural",
    "write",
    "write_lines",
    "write_table",
]
