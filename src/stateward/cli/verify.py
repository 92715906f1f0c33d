"""Proof and health: `verify` checks the history, `export` writes it out, `doctor` looks at the installation."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.context import (
    CliContext,
    Command,
    Group,
    pass_context,
)
from stateward.cli.exit_codes import Exit
from stateward.cli.output import plural, write, write_table

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.engine.history import Verdict


@click.command(
    "verify",
    cls=Command,
    examples=["stateward verify", "stateward verify --json", "stateward verify --ledger ledger/"],
)
@click.option(
    "--ledger",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Also verify the ledger that mirrors the history, and compare the two.",
)
@pass_context
def verify(context: CliContext, folder: Path | None) -> Exit:
    """Replay the whole history and check it against the records.

    Checks the hash chain and its anchor, versions, order, the graph of each machine and where each record stands; a
    change of any single field is found. Prints each finding. Work may go on meanwhile.
    """
    with context.local_app() as app:
        verdict = app.admin.verify(
            progress=lambda what, count: context.progress(f"{what}: {count:,}")
        )
        mirrored = None if folder is None else _mirrored(context, app, folder)
    is_sound = verdict.is_sound and (mirrored is None or mirrored["is_sound"] is True)
    if context.json:
        plain = {**_plain(verdict), "is_sound": is_sound}
        context.emit(plain if mirrored is None else {**plain, "ledger": mirrored})
    else:
        for finding in verdict.findings:
            write(finding)
        context.say(_judgement(verdict))
        if mirrored is not None:
            _tell_mirrored(context, mirrored)
    return Exit.OK if is_sound else Exit.FOUND_PROBLEMS


def _mirrored(context: CliContext, app: "App", folder: Path) -> dict[str, object]:
    """What is wrong with the ledger by itself, and where it differs first from the history."""
    from stateward.ledger import LedgerError
    from stateward.ledger import verify as verify_ledger

    findings = [str(each) for each in verify_ledger(folder).findings]
    answer: dict[str, object] = {"folder": str(folder), "findings": findings}
    try:
        found = app.admin.compare(
            folder, progress=lambda what, count: context.progress(f"{what}: {count:,}")
        )
    except LedgerError as error:
        return {**answer, "is_sound": False, "difference": str(error)}
    return {
        **answer,
        "is_sound": found.is_same and not findings,
        "compared": found.compared,
        "behind": found.behind,
        "difference": found.difference,
    }


def _tell_mirrored(context: CliContext, mirrored: dict[str, object]) -> None:
    findings = mirrored["findings"]
    for finding in findings if isinstance(findings, list) else ():
        write(finding)
    if mirrored["difference"] is not None:
        write(f"first difference: {mirrored['difference']}")
        context.say("the ledger is not that of this history")
    elif mirrored["is_sound"]:
        behind = f"; {mirrored['behind']} are not mirrored yet" if mirrored["behind"] else ""
        context.say(f"the ledger has the same {mirrored['compared']} transitions{behind}")


def _plain(verdict: "Verdict") -> dict[str, object]:
    from msgspec.structs import asdict

    return {"is_sound": verdict.is_sound, **asdict(verdict)}


def _judgement(verdict: "Verdict") -> str:
    seen = f"{plural(verdict.records, 'record')} and {plural(verdict.transitions, 'transition')}"
    if verdict.is_sound:
        return f"{seen} are sound; the head of the history is {verdict.anchor_head or 'empty'}"
    return f"{plural(len(verdict.findings), 'finding')} in {seen}"


@click.group("export", cls=Group, examples=["stateward export history --out history/"])
def export() -> None:
    """Write the history as plain files."""


@export.command(
    "history",
    examples=["stateward export history --out history/", "stateward export history --out h --json"],
)
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="A new or empty folder.",
)
@pass_context
def export_history(context: CliContext, folder: Path) -> None:
    """Write the whole history as JSON lines into a new folder.

    transitions.jsonl, records.jsonl, dispositions.jsonl (events that changed nothing, and why), dead_letters.jsonl
    and anchor.json (how many transitions there are, and the hash of the last).
    """
    with context.local_app() as app:
        counts = app.admin.export(
            folder, progress=lambda what, count: context.progress(f"{what}: {count:,}")
        )
    if context.json:
        context.emit({"folder": str(folder), "counts": counts})
    else:
        write_table(("file", "lines"), counts.items())
        context.say(f"written to {folder}")


@click.command("doctor", cls=Command, examples=["stateward doctor", "stateward doctor --json"])
@pass_context
def doctor(context: CliContext) -> Exit:
    """Look for what is wrong with this installation.

    Says what to do about it. Looks at the database and whether it is durable, the free disk space, the
    clock, workers, overdue records, pauses, and the walls around runners.
    """
    from stateward.app.doctor import checks as all_checks

    with context.local_app() as app:
        checks = [*all_checks(app)]
    is_well = all(check.is_well for check in checks)
    if context.json:
        context.emit({"is_well": is_well, "checks": checks})
    else:
        for check in checks:
            write(f"{'well' if check.is_well else 'NOT WELL':<8}  {check.name}: {check.sentence}")
            if check.advice:
                write(f"{'':<8}  what to do: {check.advice}")
        context.say("all is well" if is_well else "something is not well")
    return Exit.OK if is_well else Exit.FOUND_PROBLEMS
