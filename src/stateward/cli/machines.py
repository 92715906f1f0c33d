"""`stateward machine`: what may happen, as a list, as data, as a picture, or as a list of faults. No database."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.commands import A_FILE, Group, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.extensions import installed_plugins
from stateward.cli.output import plural, write, write_table, write_text

if TYPE_CHECKING:
    from stateward.core.errors import Fault
    from stateward.core.machine import Machine

PICTURES = ("mermaid", "dot", "svg")
OPENFLOW = "openflow"


@click.group(
    "machine", cls=Group, examples=["stateward machine list", "stateward machine graph invoices"]
)
def machine() -> None:
    """List, show, draw and check state machines."""


@machine.command(
    "list",
    "stateward machine list",
    "stateward machine list --jsonl",
    is_listing=True,
    is_reading=True,
)
@pass_context
def list_(context: CliContext) -> None:
    """List the installed machines."""
    machines = _declared_machines(context)
    if context.is_for_programs:
        context.emit_rows(_summary(each) for each in machines)
    else:
        rows = [
            (
                each.name,
                each.version,
                each.prefix,
                ", ".join(stage.name for stage in each.stages),
                each.doc,
            )
            for each in machines
        ]
        write_table(("name", "version", "prefix", "stages", "about"), rows)


def _declared_machines(context: CliContext) -> list["Machine"]:
    from stateward.app.machines import declared_machines

    return declared_machines(context.settings())


def _summary(each: "Machine") -> dict[str, object]:
    return {
        "name": each.name,
        "version": each.version,
        "prefix": each.prefix,
        "doc": each.doc,
        "states": len(each.states),
        "stages": [stage.name for stage in each.stages],
    }


@machine.command(
    "show",
    "stateward machine show invoices",
    "stateward machine show invoices --json",
    is_reading=True,
)
@click.argument("name")
@pass_context
def show(context: CliContext, name: str) -> None:
    """Show the states and transitions of a machine."""
    from stateward.definition.draw import machine_json

    found = _machine_named(context, name)
    if context.json:
        context.emit(machine_json(found))
        return
    write(f"{found.name}, version {found.version}: {found.doc}")
    write()
    states = [
        (f"{state.name}{' (initial)' * (state.name == found.initial)}", state.kind, state.doc)
        for state in found.states
    ]
    write_table(("state", "kind", "about"), states)
    write()
    write_table(
        ("from", "to", "on"), [(edge.source, edge.to, ", ".join(edge.on)) for edge in found.edges]
    )


def _machine_named(context: CliContext, name: str) -> "Machine":
    from stateward.core.errors import UnknownName

    machines = {each.name: each for each in _declared_machines(context)}
    if name not in machines:
        raise UnknownName("machine", name, machines)
    return machines[name]


@machine.command(
    "check", "stateward machine check invoices.yaml", "stateward machine check *.yaml --json"
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@pass_context
def check(context: CliContext, files: tuple[str, ...]) -> Exit:
    """Check declarations of machines in YAML or Python files.

    Prints every fault as file:line: path: sentence. Python files are executed to see what they declare.
    """
    found: list[Machine] = []
    faults: list[Fault] = []
    for file in files:
        _check_one(context, file, found, faults)
    if context.json:
        context.emit({"machines": [_summary(each) for each in found], "faults": faults})
    else:
        for fault in faults:
            write(fault)
        for each in found:
            states, edges = plural(len(each.states), "state"), plural(len(each.edges), "transition")
            context.say(f"{each.name}, version {each.version}: {states}, {edges}")
        if faults:
            context.say(f"{plural(len(faults), 'fault')} found")
    return Exit.FOUND_PROBLEMS if faults else Exit.OK


def _check_one(
    context: CliContext, file: str, found: list["Machine"], faults: list["Fault"]
) -> None:
    from stateward.app.machines import read_machines
    from stateward.core.errors import DeclarationError

    try:
        machines, missing = read_machines(file)
    except DeclarationError as error:
        faults += error.faults
        return
    found += machines
    if not machines:
        context.say(f"{file} declares no machine")
    if missing:
        context.say(
            f"{file}: no runner of these names is loaded, so their stages wait for one: {', '.join(missing)}"
        )


@machine.command(
    "graph",
    "stateward machine graph invoices",
    "stateward machine graph invoices --format svg --out invoices.svg",
    "stateward machine graph invoices --format openflow",
    is_reading=True,
)
@click.argument("name")
@option(
    "--format",
    "The kind of picture, or a flow for Windmill.",
    to="format_",
    type=click.Choice((*PICTURES, OPENFLOW)),
    default="mermaid",
    show_default=True,
)
@option(
    "--out PATH",
    "Write it there instead of to stdout; a flow becomes a folder, with its scripts as files.",
    type=A_FILE,
)
@pass_context
def graph(context: CliContext, *, name: str, format_: str, out: Path | None) -> None:
    """Draw a machine, or write it as a Windmill flow.

    Pictures are Mermaid, Graphviz DOT or SVG. A flow calls the service step by step, in Windmill's order; it needs a
    machine with external stages.
    """
    own = _machine_named(context, name)
    text = _flow(own, out) if format_ == OPENFLOW else _draw(own, format_, out)
    if out is not None:
        context.say(f"{name} is {'written' if format_ == OPENFLOW else 'drawn'} in {out}")
    if context.json:
        answer = {"machine": name, "format": format_}
        context.emit({**answer, "graph": text} if out is None else {**answer, "out": str(out)})
    elif out is None:
        write_text(text)


def _draw(own: "Machine", format_: str, out: Path | None) -> str:
    from stateward.definition import draw

    text = {"mermaid": draw.to_mermaid, "dot": draw.to_dot, "svg": draw.to_svg}[format_](own)
    if out is not None:
        out.write_text(text, "utf-8")
    return text


def _flow(own: "Machine", out: Path | None) -> str:
    """The flow as one document; in a folder, as Windmill's own tool lays it out, its scripts are files."""
    from stateward.definition.openflow import FLOW_FILE, inline_scripts, to_openflow

    declared = [each for plugin in installed_plugins() for each in plugin.flows]
    calls_at = next((each for each in declared if each.machine == own.name), None)
    flow, scripts = to_openflow(own, calls_at)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in {FLOW_FILE: yaml_text(flow), **scripts}.items():
            (out / name).write_text(text, "utf-8")
    return yaml_text(inline_scripts(flow, scripts))


def yaml_text(document: object) -> str:
    """YAML in the order in which things were put in, long texts as blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
