"""`stateward demo`: sample statements and contracts on their way through their machines, told to a person."""

from shlex import quote
from typing import TYPE_CHECKING

import click

from stateward.cli.context import CliContext, Command, pass_context
from stateward.cli.output import write, write_table
from stateward.cli.records import write_history

if TYPE_CHECKING:
    from pathlib import Path

    from stateward.app import App
    from stateward.core.model import Fields, Record
    from stateward.engine.coordinator import Submitted
    from stateward.settings import Settings

FOLDER = "stateward-demo"
STATEMENTS = "stateward.pipelines.statements"
CONTRACTS = "stateward.pipelines.contracts"
RULES = "contract-rules"
WATER = "wasser-talheim.txt"  # its vertical does not ship: it fails until a file of rules is there


@click.command(
    "demo", cls=Command, examples=["stateward demo", "stateward --data /tmp/demo demo --json"]
)
@pass_context
def demo(context: CliContext) -> None:
    """Show Stateward at work on sample documents.

    They are bank statements in every format that is read, two of them broken, and three contracts: one is accepted by
    itself, one waits for a person, one fails and is retried. Everything is kept in the folder stateward-demo, or where
    --data says, whatever the environment says. Run it again to see duplicates.
    """
    from pathlib import Path

    context.data = context.data or FOLDER
    rules = Path(context.data) / RULES
    with context.app(_settings(context, rules)) as app:
        opened, contracts = _submit(app), _submit_contracts(app)
        context.say(
            f"{len(opened)} sample documents were submitted to the machine 'upload', {len(contracts)} to the machine "
            "'contract'; now they are processed."
        )
        app.run_until_idle()
        failed = _retry_contract(app, contracts[WATER].record.id, rules)
        records = [app.record(each.record.id) for each in opened.values()]
        ended = [app.record(each.record.id) for each in contracts.values()]
        if context.json:
            context.emit(_answer(context, app, opened | contracts, records + ended))
        else:
            _tell(context, app, opened, records)
            _tell_contracts(context, app, contracts, ended)
            if failed is not None:
                _tell_retried(app, failed)
            _tell_next(context, next(each.id for each in records if each.error_code is None))


def _settings(context: CliContext, rules: "Path") -> "Settings":
    """Those of the demo: samples must not end in the database that people work with."""
    from msgspec.structs import replace

    from stateward.settings import Settings

    rules.mkdir(parents=True, exist_ok=True)
    own = {"STATEWARD_DATA": context.data or FOLDER}
    settings = Settings.load(context.config, profile=context.profile, environ=own)
    return replace(settings, contracts=replace(settings.contracts, rules=str(rules)))


def _submit(app: "App") -> dict[str, "Submitted"]:
    from importlib.resources import files

    samples = files(STATEMENTS) / "samples"
    return {
        sample.name: app.submit(
            sample.read_bytes(), name=sample.name, labels={"source_type": "sample"}
        )
        for sample in sorted(samples.iterdir(), key=lambda each: each.name)
    }


def _submit_contracts(app: "App") -> dict[str, "Submitted"]:
    from importlib.resources import files

    samples = [each for each in (files(CONTRACTS) / "samples").iterdir() if each.is_file()]
    return {
        sample.name: app.submit(
            sample.read_bytes(),
            machine="contract",
            name=sample.name,
            labels={"vertical": "water"} if sample.name == WATER else {},
        )
        for sample in sorted(samples, key=lambda each: each.name)
    }


def _retry_contract(app: "App", record_id: str, rules: "Path") -> "Record | None":
    """Give the rules what the failed contract lacked, and have it tried again; the record as it had failed."""
    from importlib.resources import files

    failed = app.record(record_id)
    if failed.status != "failed":  # an earlier run has done it
        return None
    lacking = files(CONTRACTS) / "samples" / "rules" / "water.yaml"
    (rules / lacking.name).write_text(lacking.read_text("utf-8"), "utf-8")
    app.actions.act("retry", record_id, actor="person:demo", reason=f"{lacking.name} was added")
    app.run_until_idle()
    return failed


def _answer(
    context: CliContext, app: "App", opened: dict[str, "Submitted"], records: list["Record"]
) -> "Fields":
    return {
        "data": context.data,
        "documents": [
            {"file": name, "is_duplicate": each.is_duplicate, "record": app.records.view(record)}
            for (name, each), record in zip(opened.items(), records, strict=True)
        ],
    }


def _tell(
    context: CliContext, app: "App", opened: dict[str, "Submitted"], records: list["Record"]
) -> None:
    _tell_statuses(app, opened, records)
    whole = next((record for record in records if record.error_code is None), None)
    broken = next((record for record in records if record.error_code is not None), None)
    if whole is not None:
        _head(f"What happened to {whole.labels.get('filename')}:")
        write_history(app, app.records.history(whole.id))
    if broken is not None:
        why = app.records.explain(broken.id)
        _head(f"Why {broken.labels.get('filename')} is in {broken.status}:")
        write(f"  {why.sentence}")
        write(f"  what to do: {_here(context, why.advice)}")


def _tell_contracts(
    context: CliContext, app: "App", opened: dict[str, "Submitted"], records: list["Record"]
) -> None:
    _head("The contracts:")
    rows = []
    for (name, each), record in zip(opened.items(), records, strict=True):
        came = "known from an earlier run" if each.is_duplicate else "new"
        shown = app.records.view(record)
        sure = shown.get("final_confidence", "")
        answer = app.records.about(record.id, "compare").get("sentence") or record.error_code
        rows.append((name, came, record.id, record.status, sure, answer or _first_note(shown)))
    write_table(("document", "came as", "id", "status", "confidence", "result"), rows)
    for record in records:
        if record.status == "review_required":
            why = app.records.explain(record.id)
            write()
            write(
                f"  {record.labels.get('filename')}: {why.sentence}; {_here(context, why.advice)}"
            )


def _first_note(view: "Fields") -> str:
    notes = view.get("notes")
    return str(notes[0]) if isinstance(notes, list) and notes else ""


def _tell_retried(app: "App", failed: "Record") -> None:
    _head(f"{failed.labels.get('filename')} failed, got what it lacked, and went on at that step:")
    write(f"  {failed.error_code}: {failed.error_message}")
    write()
    write_history(app, app.records.history(failed.id))


def _tell_statuses(app: "App", opened: dict[str, "Submitted"], records: list["Record"]) -> None:
    _head("Where they are now:")
    rows = []
    for (name, each), record in zip(opened.items(), records, strict=True):
        came = "known from an earlier run" if each.is_duplicate else "new"
        shown = app.records.view(record)
        notes = shown.get("notes")
        codes = [str(note).partition(":")[0] for note in notes] if isinstance(notes, list) else []
        result = record.error_code or _counted(shown)
        rows.append((name, came, record.id, record.status, result, ", ".join(codes)))
    write_table(("document", "came as", "id", "status", "result", "notes"), rows)


def _head(text: str) -> None:
    write()
    write(text)
    write()


def _counted(view: "Fields") -> str:
    ours = {"retry_count"}
    found = [key for key in view if key.endswith("_count") and key not in ours]
    return ", ".join(f"{view[key]} {key.removesuffix('_count')}" for key in found)


def _here(context: CliContext, command: str) -> str:
    """A command as it must be typed to find this data."""
    return command.replace("stateward ", f"stateward --data {quote(context.data or FOLDER)} ")


def _tell_next(context: CliContext, record_id: str) -> None:
    _head(f"All of it is kept in {context.data}. What to try next:")
    for command in (
        "stateward list",
        f"stateward items {record_id} --kind canonicals --format csv",
        f"stateward logs {record_id}",
        "stateward errors",
        "stateward list machine:contract",
        "stateward machine graph contract",
        "stateward verify",
        "stateward submit YOUR.pdf --wait",
        "stateward up",
    ):
        write(f"  {_here(context, command)}")
