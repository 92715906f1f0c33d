"""What the commands of a plug-in are written with: the public part of this package, and no other.

A plug-in's `commands` module may import from here; the names below keep their meaning within a version. Data goes to
stdout (`write`, `write_table`, `context.emit`), words to stderr (`context.say`); a command returns an `Exit`.
"""

from typing import TYPE_CHECKING

from stateward.cli.commands import Command as Command
from stateward.cli.commands import Group as Group
from stateward.cli.context import CliContext as CliContext
from stateward.cli.context import pass_context as pass_context
from stateward.cli.evaluate import evaluate as evaluate
from stateward.cli.exit_codes import Exit as Exit
from stateward.cli.output import cut as cut
from stateward.cli.output import plural as plural
from stateward.cli.output import write as write
from stateward.cli.output import write_lines as write_lines
from stateward.cli.output import write_table as write_table

if TYPE_CHECKING:  # for annotations: commands get one from `context.local_app()` or `context.app()`
    from stateward.app import App as App
    from stateward.cli.apps import AppProtocol as AppProtocol
