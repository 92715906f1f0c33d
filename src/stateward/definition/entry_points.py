"""The entry points of installed distributions, read from their files.

`importlib.metadata` does the same, but it brings the standard library's mail parser and ZIP reader with it, which were
a sixth of what a short command cost. It is asked only where a path is an archive, which this module does not look into.
"""

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".dist-info", ".egg-info")
FILE = "entry_points.txt"
# name = module:attribute [extras]; the extras of an entry point are long deprecated and mean nothing here.
LINE = re.compile(r"([^=#;\s][^=]*?)\s*=\s*([\w.]+)\s*(?::\s*([\w.]+))?\s*(?:\[.*\])?\s*")


class EntryPoint(NamedTuple):
    """An object of an installed module, by name; `origin` is the distribution that offers it."""

    name: str
    module: str
    attribute: str
    origin: str

    def load(self) -> object:
        """The object; raises whatever its module raises."""
        found: object = importlib.import_module(self.module)
        for name in filter(None, self.attribute.split(".")):
            found = getattr(found, name)
        return found


def entry_points(group: str, paths: Iterable[str] | None = None) -> list[EntryPoint]:
    """The entry points of a group, in the order of the paths; of two distributions of one name the first counts."""
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for path in sys.path if paths is None else paths:
        is_archive = Path(path).is_file()
        for name, points in (_of_archive if is_archive else _of_installed)(path, group):
            if name not in seen:
                seen.add(name)
                found.extend(points)
    return found


def _of_installed(folder: str, group: str) -> Iterator[tuple[str, list[EntryPoint]]]:
    # No `Path` for each: an environment has hundreds of distributions, and every command looks at all of them.
    try:
        with os.scandir(folder or ".") as entries:
            found = sorted(
                (each.name, each.path) for each in entries if each.name.endswith(SUFFIXES)
            )
    except OSError:  # a path that is not there is no fault: Python's own list has some
        return
    for full_name, place in found:
        name, _, version = full_name.rpartition(".")[0].partition("-")
        text = _text(f"{place}/{FILE}")
        version = version.partition("-")[0]  # an .egg-info may name the Python version as well
        yield _normal(name), list(_points(text, group, f"{name} {version}".strip()))


def _text(place: str) -> str:
    try:
        with open(place, encoding="utf-8") as file:  # noqa: PTH123 - see above
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _of_archive(path: str, group: str) -> Iterator[tuple[str, list[EntryPoint]]]:
    from importlib.metadata import distributions  # see above: slow to import

    for each in distributions(path=[path]):
        name = each.metadata["Name"]
        points = each.entry_points.select(group=group)
        origin = f"{name} {each.version}"
        yield (
            _normal(name),
            [EntryPoint(p.name, p.module, p.attr or "", origin) for p in points],
        )


def _points(text: str, group: str, origin: str) -> Iterator[EntryPoint]:
    if group not in text:
        return
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif section == group and line and line[0] not in "#;":
            match = LINE.fullmatch(line)
            # A line that cannot be read is passed on as it is, so that loading it says what is wrong.
            name, module, attribute = match.groups("") if match else (line, line, "")
            yield EntryPoint(name, module, attribute, origin)


def _normal(name: str) -> str:
    """Names of distributions are equal whatever their case and separators."""
    return re.sub(r"[-_.]+", "-", name).lower()
