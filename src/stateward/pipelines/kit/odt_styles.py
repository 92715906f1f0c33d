"""Whether a style of OpenDocument hides its text: not displayed, struck through, too light, or smaller than print.

What a style says of itself comes first, then what it inherits: from its parents, from the default of its family, and
from the elements around it.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lxml import etree

from stateward.pipelines.kit.contrast import WHITE, Color, color_of, is_lost
from stateward.pipelines.kit.xml import local_name

POINTS_MIN = 3.0  # the smallest print is four
PARENTS_MAX = 20
# The family of the style that an element names.
FAMILIES = {
    "p": "paragraph",
    "h": "paragraph",
    "section": "section",
    "table": "table",
    "table-row": "table-row",
    "table-cell": "table-cell",
    "frame": "graphic",
    "custom-shape": "graphic",
}
NO_GROUND = frozenset({"transparent", "none", ""})
_LENGTH = re.compile(r"([\d.]+)(pt|mm|cm|in|px|%)")
_POINTS = {"pt": 1.0, "mm": 2.835, "cm": 28.35, "in": 72.0, "px": 0.75}


class Appearance(NamedTuple):
    """How the text of an element looks, as far as it decides whether a person sees it."""

    is_hidden: bool = False
    is_struck: bool = False
    color: Color | None = None  # automatic: it is seen on every ground
    ground: Color | None = WHITE  # None where something else than one colour lies behind it
    points: float = 12.0

    @property
    def unseen_reason(self) -> str:
        """Why text of this appearance is none that counts: `hidden`, `struck`, or "" if it counts."""
        is_lost_there = (
            self.color is not None and self.ground is not None and is_lost(self.color, self.ground)
        )
        if self.is_hidden or self.points < POINTS_MIN or is_lost_there:
            return "hidden"
        return "struck" if self.is_struck else ""


class OdtStyles:
    """The styles of a document, by family and name; "" is the default of a family."""

    def __init__(self, trees: Iterable[etree._Element]) -> None:
        self._parents: dict[tuple[str, str], str] = {}
        self._said: dict[tuple[str, str], dict[str, str]] = {}
        for tree in trees:
            for style in tree.iter():
                if local_name(style) in ("style", "default-style"):
                    key = attribute(style, "family"), attribute(style, "name")
                    self._parents[key] = attribute(style, "parent-style-name")
                    self._said[key] = {
                        name.rpartition("}")[2]: str(value)
                        for properties in style
                        for name, value in properties.items()
                    }

    def appearance(self, element: etree._Element, around: Appearance) -> Appearance:
        """How the text of an element looks that stands in one of another appearance."""
        family = FAMILIES.get(local_name(element), "text")
        name = attribute(element, "style-name")
        return _with_properties(around, self._properties(family, name)) if name else around

    def _properties(self, family: str, name: str) -> dict[str, str]:
        chain = [self._said.get((family, name), {})]
        for _ in range(PARENTS_MAX):
            name = self._parents.get((family, name), "")
            if not name:
                break
            chain.append(self._said.get((family, name), {}))
        if (
            family == "paragraph"
        ):  # a span does not fall back to a default: its paragraph has done so
            chain.append(self._said.get((family, ""), {}))
        merged: dict[str, str] = {}
        for said in reversed(chain):
            if (
                "color" in said
            ):  # a colour of its own takes the place of the inherited automatic one
                merged.pop("use-window-font-color", None)
            merged |= said
        return merged


def _with_properties(around: Appearance, said: dict[str, str]) -> Appearance:
    """The appearance of text in an element whose style says that."""
    is_hidden, is_struck, color, ground, points = around
    if "display" in said:
        is_hidden = is_hidden or said["display"] in ("none", "false")
    line = said.get("text-line-through-type") or said.get("text-line-through-style")
    if line is not None:
        is_struck = line != "none"
    if said.get("use-window-font-color") == "true":
        color = None
    elif "color" in said:
        color = color_of(said["color"].removeprefix("#"))
    if size := _LENGTH.fullmatch(said.get("font-size", "")):
        points = float(size[1]) * (points / 100 if size[2] == "%" else _POINTS[size[2]])
    return Appearance(is_hidden, is_struck, color, _ground(said, ground), points)


def _ground(said: dict[str, str], around: Color | None) -> Color | None:
    """What lies behind text by a style: what is around it shines through what has no colour."""
    fill = said.get("fill", "solid" if "fill-color" in said else "none")
    if fill not in ("solid", "none"):  # a picture, or several colours
        return None
    drawn = said.get("fill-color", "") if fill == "solid" else ""
    for color in (drawn, said.get("background-color", "")):
        if color not in NO_GROUND:
            return color_of(color.removeprefix("#"))
    return around


def attribute(element: etree._Element, name: str) -> str:
    """The value of an attribute, whatever its namespace."""
    values = (str(value) for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(values, "")
