"""What the styles of a DOCX say of how text looks, written into the runs that have them.

Only what decides whether a person sees a run counts: hidden, struck through, too light for paper, tiny, and a colour
behind it. What a run says itself comes first, then its own style, then that of its paragraph, then that of its table,
each with those it is based on.
"""

from collections.abc import Iterator
from copy import copy

from lxml import etree

from stateward.pipelines.kit.contrast import color_of, is_lost
from stateward.pipelines.kit.docx_tables import BASES_MAX, LOOKS, Looks, TableStyles, attribute
from stateward.pipelines.kit.xml import local_name

HALF_POINTS_MIN = 6  # three points; the smallest print is four


class DocxStyles:
    """The looks of the styles of a document, by kind and name; "" is the default of a kind."""

    def __init__(self, styles: etree._Element | None) -> None:
        self._tables = TableStyles(styles)
        self._own: dict[tuple[str, str], Looks] = {}
        self._based: dict[tuple[str, str], str] = {}
        self._resolved: dict[tuple[str, str], Looks] = {}
        for style in styles if styles is not None else ():
            if local_name(style) != "style":
                continue
            key = attribute(style, "type"), attribute(style, "styleId")
            self._own[key] = _looks_of(style)
            self._based[key] = next(
                (attribute(each, "val") for each in style if local_name(each) == "basedOn"), ""
            )
            if attribute(style, "default") in ("1", "true", "on"):
                self._own[key[0], ""], self._based[key[0], ""] = self._own[key], self._based[key]
        self._hiding = {key for key in self._own if any(map(_may_hide, self._looks(*key).items()))}
        self._hides_runs = any(kind == "character" for kind, _ in self._hiding)

    def write_into(self, tree: etree._Element) -> etree._Element:
        """The tree, in which every run says itself what its styles say of it."""
        cells = self._tables.write_into(tree)
        for paragraph in tree.iter("{*}p"):
            cell = next(paragraph.iterancestors("{*}tc"), None) if cells else None
            of_table = cells.get(cell) if cell is not None else None
            name = _style_of(paragraph, "pPr", "pStyle")
            ground = [each for each in _parts(paragraph, "pPr") if local_name(each) == "shd"]
            is_ordinary = not self._hides_runs and ("paragraph", name) not in self._hiding
            if not ground and of_table is None and is_ordinary:
                continue  # as nearly all are
            below = (of_table or {}) | self._looks("paragraph", name)
            below |= {local_name(each): each for each in ground}
            for run in paragraph.iter("{*}r"):
                if next(run.iterancestors("{*}p")) is paragraph:
                    own = _style_of(run, "rPr", "rStyle")
                    _add(run, below | (self._looks("character", own) if own else {}))
        return tree

    def _looks(self, kind: str, name: str) -> Looks:
        if (kind, name) not in self._resolved:
            found: Looks = {}
            at = name
            for _ in range(BASES_MAX):
                found = self._own.get((kind, at), {}) | found
                at = self._based.get((kind, at), "")
                if not at:
                    break
            self._resolved[kind, name] = found
        return self._resolved[kind, name]


def _may_hide(look: tuple[str, etree._Element]) -> bool:
    """Whether a look hides text, or is a colour behind it: a dark letter of ordinary size does neither."""
    name, element = look
    value = attribute(element, "val").lower()
    if name == "color":
        color = color_of(value)
        return color is not None and is_lost(color)
    return name != "sz" or (value.isdecimal() and int(value) < HALF_POINTS_MIN)


def _looks_of(style: etree._Element) -> Looks:
    parts = [part for part in style if local_name(part) in ("rPr", "pPr")]
    return {local_name(each): each for part in parts for each in part if local_name(each) in LOOKS}


def _style_of(element: etree._Element, part: str, name: str) -> str:
    named = (each for each in _parts(element, part) if local_name(each) == name)
    return next((attribute(each, "val") for each in named), "")


def _parts(element: etree._Element, name: str) -> Iterator[etree._Element]:
    for part in element:
        if local_name(part) == name:
            yield from part


def _add(run: etree._Element, looks: Looks) -> None:
    """Write into a run what it does not say itself."""
    if not looks:
        return
    properties = next((each for each in run if local_name(each) == "rPr"), None)
    if properties is None:
        properties = etree.Element(str(run.tag).removesuffix("}r") + "}rPr")
        run.insert(0, properties)
    said = {local_name(each) for each in properties}
    properties.extend(copy(each) for name, each in looks.items() if name not in said)
