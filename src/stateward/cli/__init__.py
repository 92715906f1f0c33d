"""The command line: a protocol in, calls on the App, a protocol out.

A command is imported when it is called, and imports the App when it runs, so that none waits for the others. Data
goes to stdout and words go to stderr; `context` holds what all commands share, `exits` how they end, `shown` how
things look.
"""

import click

from stateward import __version__
from stateward.cli.context import Root, hold_streams

HELP = """Run document pipelines as durable state machines.

Job queue, retries, human review and a tamper-evident history. The options below, and --json, may stand before or
after the command.
"""

# In the order in which people meet them, each with the module and the name of its code.
COMMANDS: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "Documents",
        {
            "submit": "submit:submit",
            "watch": "watch:watch",
            "status": "records:status",
            "list": "records:list_",
            "search": "search:search",
            "history": "records:history",
            "provenance": "records:provenance",
            "explain": "records:explain",
            "logs": "records:logs",
            "items": "records:items",
            "files": "files:files",
            "file": "files:file",
            "duplicates": "duplicates:duplicates",
            "errors": "records:errors",
            "counts": "records:counts",
        },
    ),
    (
        "Actions",
        {
            "retry": "actions:retry",
            "cancel": "actions:cancel",
            "set-priority": "actions:set_priority",
            "reprocess": "review:reprocess",
            "advance": "review:advance",
            "review": "review:review",
            "flag": "flags:flag",
            "pause": "actions:pause",
            "resume": "actions:resume",
            "rebuild": "rebuild:rebuild",
            "reparse": "reparse:reparse",
        },
    ),
    (
        "State machines",
        {
            "machine": "machines:machine",
        },
    ),
    (
        "Notifications",
        {
            "webhook": "webhooks:webhook",
        },
    ),
    (
        "Verification and evaluation",
        {
            "verify": "verify:verify",
            "export": "verify:export",
            "doctor": "verify:doctor",
            "bench": "bench:bench",
            "eval": "evaluate:eval_",
        },
    ),
    (
        "Ledgers",
        {
            "ledger": "ledger:ledger",
        },
    ),
    (
        "Running",
        {
            "up": "up:up",
            "api": "up:api",
            "coordinator": "up:coordinator",
            "worker": "up:worker",
            "notifier": "up:notifier",
            "key": "keys:key",
            "feed": "feed:feed",
            "clock": "clock:clock",
            "secrets": "secrets:secrets",
            "audit": "audit:audit",
            "backup": "backup:backup",
            "restore": "backup:restore",
            "erase": "erasure:erase",
            "hold": "erasure:hold",
            "retention": "erasure:retention",
            "demo": "demo:demo",
            "settings": "config:settings",
            "completion": "completion:completion",
        },
    ),
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
