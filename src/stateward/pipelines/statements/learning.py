"""Column profiles that are learned from confirmed corrections: a YAML file in the data folder, to be read and shared.

What a person said about one file is remembered for all files with the same headings, or without headings of the same
shape. It has the form of every other file of profiles (`statements.column_profiles`).
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.columns import column_map, find_layout, mapped_layout
from stateward.pipelines.statements.layout import ColumnLayout
from stateward.pipelines.statements.profiles import ColumnProfile, ProfileFile
from stateward.pipelines.statements.table_cells import TableHead

PROFILES_MAX = 500
LEARNED = ("map", "sign", "date_order", "decimal")
HEAD = (
    "# Column profiles that were learned from confirmed corrections. To share them, name this file, or a copy of\n"
    "# it, in the setting statements.column_profiles.\n"
)


def learn(file: Path, rows: Sequence[Sequence[str]], hints: Mapping[str, str], *, name: str) -> str:
    """Remember what the hints say about a table, given by its first rows; the name of the profile, or ""."""
    said = {key: hints[key] for key in LEARNED if hints.get(key)}
    if not said or not rows:
        return ""
    layout = mapped_layout(rows, said["map"]) if "map" in said else find_layout(TableHead.of(rows))
    if layout is None:
        return ""
    profile = _profile(layout, rows, said, name=name)
    others = [each for each in _read(file) if not _is_same(each, profile)]
    _write(file, [profile, *others][:PROFILES_MAX])
    return profile.name


def learned_profiles(path: Path) -> Fields:
    """The file of what was learned, as settings give a file of profiles; empty without one."""
    profiles = _read(path)
    found: Fields = msgspec.to_builtins(ProfileFile(version=1, profiles=profiles))
    return found


def _profile(
    layout: ColumnLayout, rows: Sequence[Sequence[str]], said: Mapping[str, str], *, name: str
) -> ColumnProfile:
    above = rows[layout.body_at - 1] if layout.body_at else ()
    headings = [cell.strip() for cell in above] if len(above) == layout.width else []
    is_headed = sum(any(c.isalpha() for c in cell) for cell in headings) > 1
    return ColumnProfile(
        name=f"learned from {name}",
        headings=headings if is_headed else [],
        shape="" if is_headed else _shape(rows[layout.body_at :], layout.width),
        columns=column_map(said["map"]) if "map" in said else {},
        sign=said.get("sign", ""),
        date_order=said.get("date_order", ""),
        decimal=said.get("decimal", ""),
    )


def _shape(body: Sequence[Sequence[str]], width: int) -> str:
    """One letter a column, by what all rows of that width hold there."""
    rows = [cells for cells in body if len(cells) == width]
    return "".join(_kind([cells[i].strip() for cells in rows]) for i in range(width))


def _kind(cells: Sequence[str]) -> str:
    if cells and all(map(dates.is_date, cells)):
        return "d"
    if cells and all(money.is_amount(cell) and ("." in cell or "," in cell) for cell in cells):
        return "a"
    return "t" if cells and all(any(c.isalpha() for c in cell) for cell in cells) else "."


def _is_same(one: ColumnProfile, other: ColumnProfile) -> bool:
    return (one.headings, one.shape) == (other.headings, other.shape)


def _read(path: Path) -> list[ColumnProfile]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        return msgspec.convert(yaml.safe_load(text), ProfileFile).profiles
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        fault = Fault(
            source=str(path), line=0, path="", sentence=f"is no file of profiles: {error}"
        )
        raise DeclarationError([fault]) from error


def _write(path: Path, profiles: Sequence[ColumnProfile]) -> None:
    """Replace the file as a whole: a worker may read it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [_plain(each) for each in profiles]
    text = yaml.safe_dump({"version": 1, "profiles": listed}, sort_keys=False, allow_unicode=True)
    made = path.with_suffix(f".{os.getpid()}.tmp")
    made.write_text(HEAD + text, "utf-8")
    made.replace(path)


def _plain(profile: ColumnProfile) -> Fields:
    """What is said, without what is not."""
    found: Fields = msgspec.to_builtins(profile)
    return {key: value for key, value in found.items() if value}
