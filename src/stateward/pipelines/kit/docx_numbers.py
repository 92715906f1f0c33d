"""The numbers that Word prints before paragraphs of its automatic lists: 1., 1.1, (a), § 3, Article IV.

They are in no paragraph: `numbering.xml` has the levels of each list, paragraphs or their styles name list and level,
and the numbers follow from counting. Bullets and formats that are no numbers give no text.
"""

import re
from collections.abc import Iterator

import msgspec
from lxml import etree

from stateward.pipelines.kit.xml import local_name

LEVELS = 9  # that Word has
STYLES_DEEP = 20  # styles that are based on each other; more is a circle
NUMBER_MAX = 10_000
_PLACE = re.compile(r"%([1-9])")
_ROMANS = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
           (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class _Level(msgspec.Struct):
    start: int = 1
    format: str = "decimal"
    text: str = ""
    is_legal: bool = False  # all numbers in it are Arabic


class _List(msgspec.Struct):
    """A list: which counters it shares with others, and its levels."""

    counters: str
    levels: dict[int, _Level]


class ListNumbers:
    """Counts the paragraphs of a document as Word does; `label` is asked once for each, in order."""

    def __init__(self, numbering: etree._Element | None, styles: etree._Element | None) -> None:
        self._lists = {} if numbering is None else dict(_lists(numbering))
        self._styles = {} if styles is None else dict(_styles(styles))
        self._counts: dict[str, list[int]] = {}

    def label(self, paragraph: etree._Element) -> str:
        """What stands before a paragraph; "" if it is in no list, or if a tracked change deletes it."""
        if _is_deleted(paragraph):
            return ""
        list_id, depth = self._place(paragraph)
        found = self._lists.get(list_id)
        level = None if found is None else found.levels.get(depth)
        if found is None or level is None:
            return ""
        counts = self._counts.setdefault(found.counters, [0] * LEVELS)
        for above in range(depth):
            counts[above] = counts[above] or found.levels.get(above, _Level()).start
        counts[depth] = counts[depth] + 1 if counts[depth] else level.start
        counts[depth + 1 :] = [0] * (LEVELS - depth - 1)
        if level.format in ("bullet", "none"):
            return ""
        return _PLACE.sub(
            lambda match: _printed_number(found, counts, int(match[1]) - 1, level), level.text
        )

    def _place(self, paragraph: etree._Element) -> tuple[str, int]:
        """The list and the level of a paragraph: its own, or those of its style."""
        properties = _child(paragraph, "pPr")
        list_id, depth = _number_of(properties)
        style = _value(_child(properties, "pStyle"))
        for _ in range(STYLES_DEEP):
            if list_id is not None and depth is not None:
                break
            if style not in self._styles:
                break
            base, of_style, level_of_style = self._styles[style]
            list_id = of_style if list_id is None else list_id
            depth = level_of_style if depth is None and level_of_style is not None else depth
            style = base
        return list_id or "", min(max(depth or 0, 0), LEVELS - 1)


def _printed_number(found: _List, counts: list[int], depth: int, level: _Level) -> str:
    own = found.levels.get(depth, _Level())
    return _number(counts[depth] or own.start, "decimal" if level.is_legal else own.format)


def _number(number: int, format_: str) -> str:
    number = min(max(number, 0), NUMBER_MAX)
    if format_ in ("lowerLetter", "upperLetter"):
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number else ""
    elif format_ in ("lowerRoman", "upperRoman"):
        text, rest = "", number
        for value, letters in _ROMANS:
            count, rest = divmod(rest, value)
            text += letters * count
    else:
        text = f"{number:02d}" if format_ == "decimalZero" else str(number)
    return text.upper() if format_.startswith("upper") else text


def _lists(numbering: etree._Element) -> Iterator[tuple[str, _List]]:
    shared: dict[str, dict[int, _Level]] = {}
    for element in numbering:
        if local_name(element) == "abstractNum":
            shared[_attribute(element, "abstractNumId")] = dict(_levels(element))
    for element in numbering:
        if local_name(element) == "num":
            list_id, base = _attribute(element, "numId"), _value(_child(element, "abstractNumId"))
            overridden = dict(_overrides(element, shared.get(base, {})))
            levels = shared.get(base, {}) | overridden
            # A list that starts anew counts for itself, the others of its kind go on with each other.
            yield list_id, _List(f"num {list_id}" if overridden else f"abstract {base}", levels)


def _levels(abstract: etree._Element) -> Iterator[tuple[int, _Level]]:
    for element in abstract:
        if local_name(element) == "lvl":
            yield _integer(_attribute(element, "ilvl")), _level(element)


def _overrides(num: etree._Element, levels: dict[int, _Level]) -> Iterator[tuple[int, _Level]]:
    for element in num:
        if local_name(element) != "lvlOverride":
            continue
        depth = _integer(_attribute(element, "ilvl"))
        own, start = _child(element, "lvl"), _child(element, "startOverride")
        level = levels.get(depth, _Level()) if own is None else _level(own)
        if start is not None:
            level = msgspec.structs.replace(level, start=_integer(_value(start)))
        yield depth, level


def _level(element: etree._Element) -> _Level:
    start = _child(element, "start")
    return _Level(
        start=1 if start is None else _integer(_value(start)),
        format=_value(_child(element, "numFmt")) or "decimal",
        text=_value(_child(element, "lvlText")),
        is_legal=_child(element, "isLgl") is not None,
    )


def _styles(styles: etree._Element) -> Iterator[tuple[str, tuple[str, str | None, int | None]]]:
    """By name: the style that it is based on, its list, and its level."""
    for element in styles:
        if local_name(element) == "style":
            list_id, depth = _number_of(_child(element, "pPr"))
            yield (
                _attribute(element, "styleId"),
                (_value(_child(element, "basedOn")), list_id, depth),
            )


def _number_of(properties: etree._Element | None) -> tuple[str | None, int | None]:
    numbered = None if properties is None else _child(properties, "numPr")
    if numbered is None:
        return None, None
    list_id, depth = _child(numbered, "numId"), _child(numbered, "ilvl")
    return (
        None if list_id is None else _value(list_id),
        None if depth is None else _integer(_value(depth)),
    )


def _is_deleted(paragraph: etree._Element) -> bool:
    """Whether the end of a paragraph is deleted: then it is none, and is not counted."""
    mark = _child(_child(paragraph, "pPr"), "rPr")
    return _child(mark, "del") is not None or _child(mark, "moveFrom") is not None


def _child(element: etree._Element | None, name: str) -> etree._Element | None:
    if element is None:
        return None
    return next((each for each in element if local_name(each) == name), None)


def _value(element: etree._Element | None) -> str:
    return "" if element is None else _attribute(element, "val")


def _attribute(element: etree._Element, name: str) -> str:
    values = (str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name)
    return next(values, "")


def _integer(text: str) -> int:
    return min(int(text), NUMBER_MAX) if text.isdecimal() and len(text) < 9 else 0
