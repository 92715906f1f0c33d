"""Finding plug-ins: by entry point, and by the modules and files that the setting `pipelines` names.

Entry points of the group `stateward.pipelines` are those of installed distributions, ours and a stranger's alike. A
module or file may hold plug-ins, pipelines or bare state machines at its top level; a YAML file declares one machine.
Whatever cannot be loaded is refused with its name, and nothing of it is left behind.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType

import msgspec

from stateward.core.errors import DeclarationError, Fault
from stateward.core.machine import Machine
from stateward.definition import compiled
from stateward.definition.entry_points import EntryPoint, entry_points
from stateward.definition.plugin import ENTRY_POINTS, Plugin, ProvidesPlugin, resolve

NAME = re.compile(r"[a-z][a-z0-9_]*")
YAML = (".yaml", ".yml")
OWN = "stateward.pipelines."
MAIN = "__main__"  # its runners are imported by the process that starts the child


class LoadedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plug-in and where it came from; `imports` are the modules and files that register its runners."""

    plugin: Plugin
    origin: str
    imports: tuple[str, ...] = ()


def plugins(
    names: Iterable[str] = (), given: Iterable[Plugin | Machine | ProvidesPlugin] = ()
) -> tuple[LoadedPlugin, ...]:
    """All plug-ins that are installed, those of these modules and files, and those that are given as values.

    Each name once; the last one counts.
    """
    found = {each.plugin.name: each for each in installed_plugins()}
    for name in names:
        for each in load_plugins(name):
            found[each.plugin.name] = each
    for value in given:
        for plugin in _offered_plugins(value, "<python>"):
            imports = tuple(each for each in plugin.runners if each != MAIN)
            found[plugin.name] = LoadedPlugin(plugin=plugin, origin="<python>", imports=imports)
    return tuple(found.values())


@cache
def installed_plugins() -> tuple[LoadedPlugin, ...]:
    """The plug-ins of installed distributions, in the order of their names."""
    return tuple(
        LoadedPlugin(plugin=plugin, origin=entry.origin, imports=plugin.runners or (entry.module,))
        for entry in sorted(entry_points(ENTRY_POINTS), key=lambda each: each.name)
        for plugin in _offered_plugins(_entry_object(entry), entry.module)
    )


def load_plugins(name: str) -> list[LoadedPlugin]:
    """The plug-ins of a module, a .py file or a .yaml file."""
    path = Path(name)
    if path.suffix in YAML:
        machine = _machine_text(_text(path), source=name)
        return [LoadedPlugin(plugin=_bare(machine), origin=name)]
    module = _file_module(path) if path.suffix == ".py" else _module(name)
    return [
        LoadedPlugin(plugin=plugin, origin=name, imports=_imports(plugin, module, name))
        for plugin in _offered_plugins(module, module.__name__)
    ]


def _imports(plugin: Plugin, module: ModuleType, name: str) -> tuple[str, ...]:
    """What registers the runners; a module that was loaded from a file is imported by its file elsewhere too."""
    names = plugin.runners or (name,)
    return tuple(name if each == module.__name__ else each for each in names)


@lru_cache(maxsize=256)
def machines(plugin: Plugin) -> tuple[Machine, ...]:
    """The state machines of a plug-in."""
    return tuple(
        machine_file(plugin.package, each)
        if isinstance(each, str) and each.endswith(YAML)
        else resolve(each)
        for each in plugin.machines
    )


@lru_cache(maxsize=256)
def machine_file(package: str, file: str) -> Machine:
    """The state machine that a YAML file of a package declares."""
    return compiled.machine_file(package, file, source=f"{package}/{file}")


def load_runners(found: Sequence[LoadedPlugin]) -> None:
    """Import whatever registers runners."""
    for each in found:
        for name in each.imports:
            _file_module(Path(name)) if name.endswith(".py") else _module(name)


def _offered_plugins(value: object, module: str) -> list[Plugin]:
    """The plug-ins that an object stands for; of a module, those at its top level."""
    if isinstance(value, Plugin):
        return [_check(value)]
    if isinstance(value, Machine):
        return [_bare(value)]
    if isinstance(getattr(value, "plugin", None), Plugin):
        return [_check(value.plugin)]  # type: ignore[attr-defined]
    if not isinstance(value, ModuleType):
        raise _refusal(module, f"offers a {type(value).__name__}, which is no plug-in")
    found = [each for name in vars(value) for each in _offered_as(vars(value)[name], value)]
    known = {machine.name for plugin in found if plugin.package for machine in machines(plugin)}
    # A machine that stands beside the plug-in that names it is no pipeline of its own.
    return [each for each in dict.fromkeys(found) if each.package or each.name not in known]


def _offered_as(value: object, module: ModuleType) -> list[Plugin]:
    is_offer = isinstance(value, Plugin | Machine) or isinstance(
        getattr(value, "plugin", None), Plugin
    )
    return (
        _offered_plugins(value, module.__name__)
        if is_offer and not isinstance(value, ModuleType)
        else []
    )


def _bare(machine: Machine) -> Plugin:
    """The plug-in of a state machine that comes alone."""
    return Plugin(name=machine.name, doc=machine.doc, machines=(machine,))


def _check(plugin: Plugin) -> Plugin:
    if not NAME.fullmatch(plugin.name):
        raise _refusal(
            plugin.package or plugin.name,
            f"has the name {plugin.name!r}; it must match {NAME.pattern}",
        )
    if (
        any(isinstance(each, str) and each.endswith(YAML) for each in plugin.machines)
        and not plugin.package
    ):
        raise _refusal(plugin.name, "names files, so it must say in which `package` they are")
    if any(not each.startswith(OWN) for each in plugin.preload):
        raise _refusal(
            plugin.package or plugin.name,
            "has `preload`, which only pipelines that come with Stateward have; leave it out",
        )
    return plugin


def _machine_text(text: str, *, source: str) -> Machine:
    from stateward.definition.declare import (
        from_yaml,  # with YAML, which help texts need not wait for
    )

    return from_yaml(text, source=source)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise _refusal(str(path), "there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(str(path), f"cannot be read: {error}") from error


def _entry_object(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except DeclarationError:
        raise
    except Exception as error:  # foreign code: whatever it raises is a fault of that package
        message = (
            f"cannot be loaded: {type(error).__name__}: {error}; mend or uninstall {entry.origin}"
        )
        raise _refusal(f"{ENTRY_POINTS}: {entry.name}", message) from error


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _refusal(name, f"cannot be imported: {error}") from error


def _file_module(path: Path) -> ModuleType:
    name = f"stateward_pipeline_{path.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise _refusal(str(path), "there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except DeclarationError:
        del sys.modules[name]
        raise
    except Exception as error:  # foreign code: whatever it raises is a fault of that file
        del sys.modules[name]
        what = f"cannot be loaded: {type(error).__name__}: {error}"
        raise _refusal(str(path), what, line=_line_of(error, f"{spec.origin}")) from error
    return module


def _line_of(error: Exception, file: str) -> int:
    """The line of a file that an error comes from; 0 if it comes from elsewhere."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == file), 0)


def _refusal(source: str, sentence: str, *, line: int = 0) -> DeclarationError:
    return DeclarationError([Fault(source=source, line=line, path="pipelines", sentence=sentence)])
