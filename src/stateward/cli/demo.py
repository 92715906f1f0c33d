"""`stateward demo`: sample statements on their way through the `upload` machine, told to a person."""

from shlex import quote
from typing import TYPE_CHECKING

import click

from stateward.cli.door import Command, Door, pass_door
from stateward.cli.records import write_history
from stateward.cli.shown import write, write_table

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.coordinator import Opened
    from stateward.core.model import Fields, Record

FOLDER = "stateward-demo"
SAMPLES = "stateward.pipelines.statements"


@click.command(
    "demo", cls=Command, examples=["stateward demo", "stateward --data /tmp/demo demo --json"]
)
@pass_door
def demo(door: Door) -> None:
    """Show Stateward at work on sample documents.

    They are bank statements in every format that is read, and two of them are broken. Everything is kept in the
    folder stateward-demo, or where --data says, whatever the environment says. Run it again to see duplicates.
    """
    from stateward.settings import Settings

    door.data = door.data or FOLDER
    own = {
        "STATEWARD_DATA": door.data
    }  # samples must not end in the database that people work with
    with door.app(Settings.load(door.config, profile=door.profile, environ=own)) as app:
        opened = _submit(app)
        door.say(
            f"{len(opened)} sample documents were submitted to the machine 'upload'; now they are processed."
        )
        app.run_until_idle()
        records = [app.record(each.record.id) for each in opened.values()]
        if door.json:
            door.emit(_answer(door, app, opened, records))
        else:
            _tell(door, app, opened, records)


def _submit(app: "App") -> dict[str, "Opened"]:
    from importlib.resources import files

    samples = files(SAMPLES) / "samples"
    return {
        sample.name: app.submit(
            sample.read_bytes(), name=sample.name, labels={"source_type": "sample"}
        )
        for sample in sorted(samples.iterdir(), key=lambda each: each.name)
    }


def _answer(
    door: Door, app: "App", opened: dict[str, "Opened"], records: list["Record"]
) -> "Fields":
    return {
        "data": door.data,
        "documents": [
            {"file": name, "is_duplicate": each.is_duplicate, "record": app.view(record)}
            for (name, each), record in zip(opened.items(), records, strict=True)
        ],
    }


def _tell(door: Door, app: "App", opened: dict[str, "Opened"], records: list["Record"]) -> None:
    _tell_statuses(app, opened, records)
    whole = next((record for record in records if record.error_code is None), None)
    broken = next((record for record in records if record.error_code is not None), None)
    if whole is not None:
        _head(f"What happened to {whole.labels.get('filename')}:")
        write_history(app, app.history(whole.id))
    if broken is not None:
        why = app.explain(broken.id)
        _head(f"Why {broken.labels.get('filename')} is in {broken.status}:")
        write(f"  {why.sentence}")
        write(f"  what to do: {_here(door, why.advice)}")
    _tell_next(door, (whole or records[0]).id)


def _tell_statuses(app: "App", opened: dict[str, "Opened"], records: list["Record"]) -> None:
    _head("Where they are now:")
    rows = []
    for (name, each), record in zip(opened.items(), records, strict=True):
        came = "known from an earlier run" if each.is_duplicate else "new"
        shown = app.view(record)
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


def _here(door: Door, command: str) -> str:
    """A command as it must be typed to find this data."""
    return command.replace("stateward ", f"stateward --data {quote(door.data or FOLDER)} ")


def _tell_next(door: Door, record_id: str) -> None:
    _head(f"All of it is kept in {door.data}. What to try next:")
    for command in (
        "stateward list",
        f"stateward items {record_id} --kind canonicals --format csv",
        f"stateward logs {record_id}",
        "stateward errors",
        "stateward machine graph upload",
        "stateward verify",
        "stateward submit YOUR.pdf --wait",
        "stateward up",
    ):
        write(f"  {_here(door, command)}")
