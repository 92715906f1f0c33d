"""The command line: a protocol in, calls on the App, a protocol out.

A command is imported when it is called, and imports the App when it runs, so that none waits for the others. Data
goes to stdout and words go to stderr; `context` holds what all commands share, `exit_codes` how they end, `output` how
things look.
"""

import gc
import os
import sys

import click

from stateward import __version__
from stateward.cli.context import Root, hold_streams

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
HELP = """Run document pipelines as durable state machines.

Job queue, retries, human review and a tamper-evident history. The options below, and --json, may stand before or
after the command.
"""

# In the order in which people meet them, each with the module and the name of its code, and with what the help says of
# it: the first sentence of its own help (a test compares them), so that `--help` imports none of them.
COMMANDS: tuple[tuple[str, dict[str, tuple[str, str]]], ...] = (
    ("Documents", {
        "submit": ("submit:submit", "Submit documents, one record each."),
        "watch": ("watch:watch", "Submit every file that appears in a folder, once."),
        "status": ("records:status", "Show where records are and what is known of them."),
        "list": ("records:list_", "List records, newest first."),
        "search": ("search:search", "Search what documents say."),
        "history": ("records:history", "Show everything that happened to a record, oldest first."),
        "provenance": ("records:provenance", "Print the history of a record in the format of other tools."),
        "explain": ("records:explain", "Say why a record is where it is, and what to do about it."),
        "logs": ("records:logs", "Show what runners wrote while they worked on a record."),
        "items": ("records:items", "Print the rows that a stage produced."),
        "files": ("files:files", "List the files that stages derived from a document."),
        "file": ("files:file", "Write a derived file."),
        "duplicates": ("duplicates:duplicates", "Show items that stand in more than one record."),
        "errors": ("records:errors", "Show why records failed, grouped by cause."),
        "counts": ("records:counts", "Count records by machine and status."),
    }),
    ("Actions", {
        "retry": ("actions:retry", "Try failed records again from the step that failed."),
        "cancel": ("actions:cancel", "Stop records where they are."),
        "set-priority": ("actions:set_priority", "Set the priority of records."),
        "reprocess": ("reparse:reprocess", "Process the document of a record that has ended again."),
        "advance": ("actions:advance", "Let records continue with their next stage."),
        "review": ("review:review", "Decide reviews: approve, correct, reject."),
        "flag": ("flags:flag", "Decide about results that are wrong or incomplete."),
        "pause": ("actions:pause", "Stop dispatching a machine, or one of its stages."),
        "resume": ("actions:resume", "Dispatch a paused machine or stage again."),
        "rebuild": ("rebuild:rebuild", "Make the rows of finished records anew, by today's rules."),
        "reparse": ("reparse:reparse", "Read documents again, or retry them, with other options."),
    }),
    ("State machines", {
        "machine": ("machines:machine", "Look at machines, draw them, check declarations."),
    }),
    ("Notifications", {
        "webhook": ("webhooks:webhook", "Notify other programs when records change."),
    }),
    ("Verification and evaluation", {
        "verify": ("verify:verify", "Check everything there is to check: a store, or a ledger."),
        "export": ("verify:export", "Write items or the history as plain files."),
        "doctor": ("verify:doctor", "Check this installation, and say how to fix what is wrong."),
        "dead-letters": ("dead_letters:dead_letters", "List what could not be read; resend or drop a broker's."),
        "bench": ("bench:bench", "Measure what a record costs on this machine."),
        "eval": ("evaluate:eval_", "Measure how well documents are read whose truth is known."),
    }),
    ("Ledgers", {
        "ledger": ("ledger:ledger", "Write, query, verify and maintain a ledger of documents."),
    }),
    ("Running", {
        "up": ("up:up", "Run coordinator, worker, notifier and HTTP in this process."),
        "api": ("up:api", "Run the HTTP API, and nothing else."),
        "coordinator": ("up:coordinator", "Run a coordinator and the clock, without a worker."),
        "worker": ("up:worker", "Run a worker, without a coordinator."),
        "notifier": ("up:notifier", "Run what delivers webhooks and mail, and nothing else."),
        "key": ("keys:key", "Create, list and revoke keys of the HTTP API and console."),
        "feed": ("feed:feed", "Look at the change feed, and have it sent again."),
        "clock": ("clock:clock", "Look at and confirm the clock of this machine."),
        "secrets": ("secrets:secrets", "Encrypt stored secrets: their keys, and passwords."),
        "audit": ("audit:audit", "Who did and read what: the audit log."),
        "backup": ("backup:backup", "Back up database, documents, ledger and settings as one set."),
        "restore": ("backup:restore", "Bring a backup set back into an empty data folder."),
        "erase": ("erasure:erase", "Delete what records held, and keep the proof."),
        "hold": ("erasure:hold", "Forbid the deletion of anything of a record."),
        "retention": ("erasure:retention", "Delete what is old, by the rules of the settings."),
        "demo": ("demo:demo", "Process the sample documents of every pipeline."),
        "settings": ("config:settings", "Show the settings that hold, and all that there are."),
        "completion": ("completion:completion", "Print the script for completion in a shell."),
    }),
)  # fmt: skip

cli = Root(
    "stateward",
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    sections=COMMANDS,
    aliases={"keys": "key"},
    examples=[
        "stateward demo",
        "stateward submit january.csv",
        "stateward up",
        "stateward list 'status:error'",
    ],
)
click.version_option(__version__, prog_name="stateward", message="%(prog)s %(version)s")(cli)


def main() -> None:
    """Run the command of this process's arguments, and end the process."""
    hold_streams()
    # Read by NumPy when it is loaded. Threads of its own would wait for each other by turning in circles: where every
    # core has work, the vector of one query took ten times the CPU time with two of them.
    os.environ.setdefault(BLAS_THREADS, "1")  # noqa: TID251 - no setting of ours: handed to a library
    try:
        cli.main(prog_name="stateward")
    finally:
        # The process ends, and Python would first look for garbage in all that was imported: a quarter of the time
        # of a short command. What is frozen is not looked at; exit handlers run as ever. The bindings of DuckDB would
        # print a report of what was not collected.
        if "duckdb" not in sys.modules:
            gc.freeze()
