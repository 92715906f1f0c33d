"""The pipelines that ship, and the loading of one's own: machines, and the runners that do their work.

A pipeline is a Python module that registers runners and holds machines at its top level, or a YAML file that
declares a machine. Which ones are loaded stands in the settings, never in data.
"""

import importlib
import importlib.util
import sys
import traceback
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
        del sys.modules[name]
        raise
    except Exception as error:  # foreign code: whatever it raises is a fault of that file
        del sys.modules[name]
        what = f"cannot be loaded: {type(error).__name__}: {error}"
        raise _refused(str(path), what, line=_line_of(error, f"{spec.origin}")) from error
    return module


def _line_of(error: Exception, file: str) -> int:
    """The line of a file that an error comes from; 0 if it comes from elsewhere."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == file), 0)


def _refused(source: str, sentence: str, *, line: int = 0) -> DeclarationError:
    return DeclarationError([Fault(source=source, line=line, path="pipelines", sentence=sentence)])
