"""What installed plug-ins add to the command line. Their code is imported when one of their commands is called."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from stateward.definition.display import ItemView
    from stateward.definition.plugin import Export, Plugin, PluginCommand
    from stateward.schemas import Record


@cache
def installed_plugins() -> tuple["Plugin", ...]:
    """The plug-ins of installed packages; none if one of them cannot be loaded, which every other command reports."""
    from stateward.core.errors import DeclarationError
    from stateward.definition.discovery import installed_plugins

    try:
        return tuple(each.plugin for each in installed_plugins())
    except DeclarationError:
        return ()


def offered_exports() -> dict[str, "Export"]:
    """The formats in which pipelines write items, by name."""
    return {each.name: each for plugin in installed_plugins() for each in plugin.exports}


def view_of(record: "Record", stage: str) -> "ItemView | None":
    """How its pipeline shows the items that a stage made of a record."""
    from stateward.definition.plugin import item_view

    source_type = record.labels.get("source_type")
    return item_view(installed_plugins(), record.machine, stage, source_type)


def plugin_commands() -> dict[str, "PluginCommand"]:
    """The commands of plug-ins by name."""
    return {each.name: each for plugin in installed_plugins() for each in plugin.commands}


def load_command(command: "PluginCommand") -> "click.Command":
    """The click command itself."""
    from stateward.definition.plugin import resolve

    loaded: click.Command = resolve(command.target)
    return loaded
