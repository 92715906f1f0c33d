"""`stateward settings`: what holds, with passwords masked, and every key that there is."""

import click

from stateward.cli.commands import Group
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import write_text


@click.group(
    "settings", cls=Group, examples=["stateward settings show", "stateward settings reference"]
)
def settings() -> None:
    """Show the effective settings, or every key."""


@settings.command(
    "show", "stateward settings show", "stateward --profile enterprise settings show --json"
)
@pass_context
def show(context: CliContext) -> None:
    """Show the effective settings.

    Merged from profile, file, environment and options, and printed as a settings file, with *** for passwords.
    """
    shown = context.settings().as_mapping()
    if context.json:
        context.emit(shown)
        return
    import yaml

    text = yaml.safe_dump(
        shown, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )
    write_text(text)


@settings.command(
    "reference", "stateward settings reference", "stateward settings reference --json"
)
@pass_context
def reference(context: CliContext) -> None:
    """List every key of a settings file."""
    from stateward.cli.reference import settings_page
    from stateward.settings import describe_settings

    if context.json:
        context.emit([each._asdict() for each in describe_settings()])
    else:
        write_text(settings_page())
