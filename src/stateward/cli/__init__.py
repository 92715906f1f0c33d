"""The command line: a protocol in, calls on the App, a protocol out.

Commands import the App when they run, so that `stateward --help` costs nothing but click. Data goes to stdout and
words go to stderr; `context` holds what all commands share, `exits` how they end, `shown` how things look.
"""

import click

from stateward import __version__
from stateward.cli.actions import (
    cancel,
    pause,
    resume,
    retry,
    set_priority,
)
from stateward.cli.bench import bench
from stateward.cli.config import settings
from stateward.cli.context import Root, hold_streams
from stateward.cli.demo import demo
from stateward.cli.duplicates import duplicates
from stateward.cli.evaluate import eval_
from stateward.cli.files import file, files
from stateward.cli.keys import key
from stateward.cli.ledger import ledger
from stateward.cli.machines import machine
from stateward.cli.rebuild import rebuild
from stateward.cli.records import (
    counts,
    errors,
    explain,
    history,
    items,
    list_,
    logs,
    status,
)
from stateward.cli.review import advance, reprocess, review
from stateward.cli.search import search
from stateward.cli.submit import submit
from stateward.cli.up import (
    api,
    coordinator,
    notifier,
    up,
    worker,
)
from stateward.cli.verify import doctor, export, verify
from stateward.cli.watch import watch
from stateward.cli.webhooks import webhook

HELP = """Run document pipelines as durable state machines.

Job queue, retries, human review and a tamper-evident history. The options below, and --json, may stand before or
after the command.
"""

# In the order in which people meet them.
COMMANDS: tuple[tuple[str, tuple[click.Command, ...]], ...] = (
    (
        "Documents",
        (
            submit,
            watch,
            status,
            list_,
            search,
            history,
            explain,
            logs,
            items,
            files,
            file,
            duplicates,
            errors,
            counts,
        ),
    ),
    ("Actions", (retry, cancel, set_priority, reprocess, advance, review, pause, resume, rebuild)),
    ("State machines", (machine,)),
    ("Notifications", (webhook,)),
    ("Verification and evaluation", (verify, export, doctor, bench, eval_)),
    ("Ledgers", (ledger,)),
    ("Running", (up, api, coordinator, worker, notifier, key, demo, settings)),
)

cli = Root(
    "stateward",
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    sections=COMMANDS,
    renamed={"prioritise": "set-priority", "release": "advance"},
    examples=[
        "stateward demo",
        "stateward submit january.csv",
        "stateward up",
        "stateward list 'status:error'",
    ],
)
click.version_option(__version__, prog_name="stateward", message="%(prog)s %(version)s")(cli)


def main() -> None:
    """The `stateward` command."""
    hold_streams()
    cli.main(prog_name="stateward")
