"""The pipelines that ship, and the loading of one's own: machines, and the runners that do their work.

A pipeline is a Python module that registers runners and holds machines at its top level, or a YAML file that
declares a machine. Which ones are loaded stands in the settings, never in data.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import yaml

from stateward.core.errors import DeclarationError, Fault
from stateward.core.machine import Machine
from stateward.core.model import Fields, Json
from stateward.definition.declare import from_yaml
from stateward.workers.pipeline import Pipeline

BUNDLED = (
    "stateward.pipelines.statements",
    "stateward.pipelines.contracts",
    "stateward.pipelines.literature",
)


def shipped(package: str, file: str) -> Machine:
    """A machine declared in a YAML file of this package."""
    text = (files(package) / file).read_text("utf-8")
    return from_yaml(text, source=f"{package}/{file}")


def load(names: Iterable[str]) -> list[Machine]:
    """Load pipelines by module name or by path of a .py or .yaml file; the machines they declare."""
    machines: list[Machine] = []
    for name in names:
        machines += _load(name)
    return machines


def read_rules(path: Path) -> Fields:
    """A file of rules, for a pipeline to make sense of; refused if it is no YAML mapping."""
    try:
        rules = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise _refused(str(path), f"is no YAML: {error}") from error
    if not isinstance(rules, dict):
        raise _refused(str(path), "must be a mapping with a version")
    return rules


def read_lines(path: Path) -> list[Json]:
    """The lines of a text file that are not empty."""
    return [line for line in _text(path).splitlines() if line.strip()]


def _load(name: str) -> list[Machine]:
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return [from_yaml(_text(path), source=name)]
    module = _file_module(path) if path.suffix == ".py" else _module(name)
    values = vars(module).values()
    return [
        each.machine if isinstance(each, Pipeline) else each
        for each in values
        if isinstance(each, Machine | Pipeline)
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(str(path), f"cannot be read: {error}") from error


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _refused(name, f"cannot be imported: {error}") from error


def _file_module(path: Path) -> ModuleType:
    name = f"stateward_pipeline_{path.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise _refused(str(path), "there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except DeclarationError:
        raise
    except Exception as error:  # foreign code: whatever it raises is a fault of that file
        del sys.modules[name]
        raise _refused(str(path), f"cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _refused(source: str, sentence: str) -> DeclarationError:
    return DeclarationError([Fault(source=source, line=0, path="pipelines", sentence=sentence)])
