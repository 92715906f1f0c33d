"""The command line: a protocol in, calls on the App, a protocol out.

A command is imported when it is called, and imports the App when it runs, so that none waits for the others. Data
goes to stdout and words go to stderr; `commands` says how commands are declared, `context` what each of them is given,
`exit_codes` how they end, `output` how things look.
"""

import gc
import os
import sys

import click

from stateward import __version__
from stateward.cli.commands import Root, hold_streams

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
HELP = """Run document pipelines as durable state machines.

Job queue, retries, human review and a tamper-evident history. The options below, and --json, work before and after the
command.
"""

# In the order in which people meet them, each with the module and the name of its code, and with what the help says of
# it: the first sentence of its own help (a test compares them), so that `--help` imports none of them.
COMMANDS: tuple[tuple[str, dict[str, tuple[str, str]]], ...] = (
    ("Documents", {
        "submit": ("submit:submit", "Submit documents, one record each."),
        "watch": ("watch:watch", "Submit every file that appears in a folder, once."),
        "status": ("records:status", "Show the status and details of records."),
        "list": ("records:list_", "List records, newest first."),
        "search": ("search:search", "Search the text of documents."),
        "history": ("records:history", "Show everything that happened to a record, oldest first."),
        "provenance": ("records:provenance", "Print the history of a record as W3C PROV or OpenLineage."),
        "explain": ("records:explain", "Explain why a record is where it is, and what to do."),
        "logs": ("records:logs", "Show the log lines of the stages of a record."),
        "items": ("records:items", "Print the items (rows) that a stage produced."),
        "files": ("files:files", "List the files that stages derived from a document."),
        "file": ("files:file", "Save a derived file."),
        "duplicates": ("duplicates:duplicates", "Show items that more than one record contains."),
        "errors": ("records:errors", "Show why records failed, grouped by cause."),
        "counts": ("records:counts", "Count records by machine and status."),
    }),
    ("Actions", {
        "retry": ("actions:retry", "Try failed records again from the step that failed."),
        "cancel": ("actions:cancel", "Cancel records; they end as failed."),
        "set-priority": ("actions:set_priority", "Set the priority of records."),
        "reprocess": ("reparse:reprocess", "Process the document of a record that has ended again."),
        "advance": ("actions:advance", "Let records continue with their next stage."),
        "review": ("review:review", "Decide reviews: approve, correct, reject."),
        "flag": ("flags:flag", "Confirm or reject flagged results."),
        "pause": ("actions:pause", "Pause a machine, or one of its stages."),
        "resume": ("actions:resume", "Resume a paused machine or stage."),
        "rebuild": ("rebuild:rebuild", "Compute the items of finished records again."),
        "reparse": ("reparse:reparse", "Read documents again, or retry them, with other options."),
    }),
    ("State machines", {
        "machine": ("machines:machine", "List, show, draw and check state machines."),
    }),
    ("Notifications", {
        "webhook": ("webhooks:webhook", "Notify other programs when records change."),
    }),
    ("Verification and evaluation", {
        "verify": ("verify:verify", "Verify the history of a store, an export or a ledger."),
        "export": ("verify:export", "Export items or the history to files."),
        "doctor": ("verify:doctor", "Check this installation, and say how to fix what is wrong."),
        "dead-letters": ("dead_letters:dead_letters", "List messages that could not be read; resend or drop them."),
        "bench": ("bench:bench", "Measure what a record costs on this machine."),
        "eval": ("evaluate:eval_", "Measure accuracy on documents whose content is known."),
    }),
    ("Ledgers", {
        "ledger": ("ledger:ledger", "Write, query, verify and maintain a ledger of documents."),
    }),
    ("Running", {
        "up": ("up:up", "Run coordinator, worker, notifier and HTTP in one process."),
        "api": ("up:api", "Run the HTTP API only."),
        "coordinator": ("up:coordinator", "Run a coordinator and its scheduler, without a worker."),
        "worker": ("up:worker", "Run a worker only."),
        "notifier": ("up:notifier", "Run the delivery of webhooks and email only."),
        "demo": ("demo:demo", "Process the sample documents of every pipeline."),
    }),
    ("Administration", {
        "key": ("keys:key", "Create, list and revoke keys of the HTTP API and console."),
        "feed": ("feed:feed", "Show the progress of the change feed, or send it again."),
        "clock": ("clock:clock", "Show or confirm the clock of this machine."),
        "secrets": ("secrets:secrets", "Manage the keys that encrypt secrets, and encrypt passwords."),
        "audit": ("audit:audit", "List and export the audit log: who did and read what."),
        "backup": ("backup:backup", "Back up database, documents, ledger and settings as one set."),
        "restore": ("backup:restore", "Restore a backup set into an empty data folder."),
        "erase": ("erasure:erase", "Erase the content of records, and keep the proof."),
        "hold": ("erasure:hold", "Protect records from deletion, or release them."),
        "retention": ("erasure:retention", "Delete old content by the retention rules of the settings."),
        "settings": ("config:settings", "Show the effective settings, or every key."),
        "completion": ("completion:completion", "Print the completion script for a shell."),
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
