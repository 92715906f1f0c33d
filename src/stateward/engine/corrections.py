"""What a reviewer's values make of the values that a stage found. Pure.

The items of a stage are objects with `field` and `value`; a field may have several. A correction names fields: a text
replaces all values that the field had, a list replaces them with several, null removes them. Fields that are not named
stay as they were found.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from stateward.core.model import Fields, Json

Values: TypeAlias = Mapping[str, str | Sequence[str] | None]

VALUES_MAX = 100  # fields in one correction: their names become part of the transition, which is stored for ever
CERTAIN = 100  # percent
REVIEWED = "review"  # the `source` of a corrected item, where extractors name themselves


def corrected_items(items: Iterable[Fields], values: Values) -> list[Fields]:
    """The items after the correction, in the order they had; new fields come last.

    All values of a corrected field stand where its first one stood, so that what a reviewer sees keeps its order.
    Every item says whether it was corrected and what its value was: the found items stay stored, but a reader of the
    corrected ones should not need them.
    """
    kept: list[Fields] = []
    found: dict[str, list[Fields]] = {}
    for item in items:
        name = str(item.get("field"))
        if name in values and name not in found:
            kept += _replace(name, values, item)
        if name in values:
            found.setdefault(name, []).append(item)
        else:
            kept.append({**item, "is_corrected": False})
    for name in values:
        if name not in found:
            kept += _replace(name, values, {})
    return kept


def _replace(name: str, values: Values, item: Fields) -> list[Fields]:
    return [
        {
            "field": name,
            "value": value,
            "raw": value,
            "unit": item.get("unit", ""),
            "confidence": CERTAIN,
            "source": REVIEWED,
            "was": item.get("value"),
            "is_corrected": True,
        }
        for value in texts(values[name])
    ]


def are_rows(items: Sequence[Fields]) -> bool:
    """Whether what was found has no field names, by which alone a correction can say what it replaces."""
    return bool(items) and not any("field" in item for item in items)


def with_moves(items: Iterable[Fields], values: Values, moves: Mapping[str, str]) -> Values:
    """The correction that assigns what was found for a field to another one, besides what a correction names itself."""
    if not moves:
        return values
    found = values_of(items)
    moved: dict[str, str | Sequence[str] | None] = dict.fromkeys(moves)
    for source, to in moves.items():
        own = [*texts(moved.get(to)), *found.get(source, [])]
        moved[to] = own[0] if len(own) == 1 else own or None
    return {**moved, **values}


def texts(value: Json | Sequence[str]) -> list[str]:
    """The values that a text, a list or null stand for."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def values_of(items: Iterable[Fields]) -> dict[str, list[str]]:
    """The values of items by field; a field whose value is null has none."""
    values: dict[str, list[str]] = {}
    for item in items:
        own = values.setdefault(str(item.get("field")), [])
        own += texts(item.get("value"))
    return values


def changed_fields(items: Iterable[Fields], values: Values) -> list[str]:
    """The fields whose values a correction changes: it may also name fields with the values that they had."""
    before = values_of(items)
    return sorted(name for name in values if texts(values[name]) != before.get(name, []))
