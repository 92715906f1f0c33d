"""Whether a person sees the words of an element of HTML: by its style, the style sheets and its surroundings.

Colour, size of letters and visibility are inherited, and each element may set them anew: programs that write mails put
columns into cells with letters of no size. What is not displayed, has no height or lies off the page hides all that it
contains. Of the rules of style sheets those for elements, classes and ids count, also within others; none for some
screens alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lxml import html

from stateward.pipelines.kit.contrast import Color, is_lost

RULES_MAX = 2000
NESTED_MAX = 100  # rules for elements within others: each is looked for above every element
TINY_PT = 2.6  # as in a PDF
PT_OF = {"pt": 1.0, "px": 0.75, "in": 72.0, "cm": 28.3, "mm": 2.83}
NORMAL_PT = 12.0
OFF_PAGE_PT = 300.0  # a list of Word begins 18 to 36 points left of its paragraph
FLAT_PT = 1.5
FAINT = 0.06  # opacity
ANY = "*"
ALIKE = 20  # of 255, between two colours: letters that no person finds
# Black, and the names of all colours that are lost on white.
NAMED = {
    name: (number >> 16, number >> 8 & 255, number & 255)
    for name, number in {
        "black": 0x000000, "white": 0xFFFFFF, "snow": 0xFFFAFA, "ivory": 0xFFFFF0, "yellow": 0xFFFF00,
        "lightyellow": 0xFFFFE0, "lemonchiffon": 0xFFFACD, "lightgoldenrodyellow": 0xFAFAD2, "cornsilk": 0xFFF8DC,
        "beige": 0xF5F5DC, "honeydew": 0xF0FFF0, "mintcream": 0xF5FFFA, "azure": 0xF0FFFF, "lightcyan": 0xE0FFFF,
        "aliceblue": 0xF0F8FF, "ghostwhite": 0xF8F8FF, "whitesmoke": 0xF5F5F5, "floralwhite": 0xFFFAF0,
        "oldlace": 0xFDF5E6, "linen": 0xFAF0E6, "seashell": 0xFFF5EE, "lavenderblush": 0xFFF0F5,
        "papayawhip": 0xFFEFD5, "blanchedalmond": 0xFFEBCD, "antiquewhite": 0xFAEBD7, "lavender": 0xE6E6FA,
    }.items()
}  # fmt: skip
_IMPORTANT = re.compile(r"\s*!\s*important\s*$")
_BRACE = re.compile("([{}])")
_REMARK = re.compile(r"(?s)/\*(?:.*?\*/|.*)")
_COMPOUND = re.compile(r"(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+)*")
_LENGTH = re.compile(r"(-?[0-9]*\.?[0-9]+)\s*(pt|px|em|rem|ex|in|cm|mm|vw|vh|%)?")
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_FUNCTION = re.compile(r"(rgba?|hsla?)\(([^()]*)\)")

Style = Mapping[str, str]  # values by property
Compound = frozenset[str]  # a tag, .classes and #ids that one element has


class Look(NamedTuple):
    """How the words of an element look. `back` is None where nothing tells what lies behind them."""

    color: Color | None = (0, 0, 0)
    back: Color | None = (255, 255, 255)
    points: float = NORMAL_PT
    is_visible: bool = True
    is_clear: bool = False  # letters of no colour at all

    @property
    def is_seen(self) -> bool:
        """Whether a person can read words that look so."""
        is_lost = _is_alike(self.color, self.back)
        return self.is_visible and not self.is_clear and not is_lost and self.points >= TINY_PT


class StyleSheets:
    """What the style sheets of a page say, asked from the outermost element on: each is entered and left."""

    def __init__(self, root: html.HtmlElement) -> None:
        # By one of the names that an element must have: most rules are for others.
        self._rules: dict[str, list[_Rule]] = {}
        self._above: list[Compound] = []
        self._known: list[dict[Compound, Style]] = [{}]  # of elements beside each other
        count = nested = 0
        for selector, said in _rules(root):
            parts = [_compound(part) for part in selector.replace(">", " ").split()]
            if not parts or None in parts or count >= RULES_MAX:
                continue
            *above, last = [part for part in parts if part is not None]
            nested += bool(above)
            if above and nested > NESTED_MAX:
                continue
            count += 1
            self._rules.setdefault(max(last, default=ANY), []).append(_Rule(above, last, said))

    def enter(self, element: html.HtmlElement) -> Style:
        """The properties of an element, its own after those of rules; what is important counts most."""
        names = _names(element)
        known = self._known[-1]
        if names not in known:
            known[names] = self._said_of(names)
        self._above.append(names)
        self._known.append({})
        found = dict(known[names])
        _add(found, _declarations(element.get("style") or ""))
        return {name: _IMPORTANT.sub("", value) for name, value in found.items()}

    def leave(self) -> None:
        """Back to what is around the element that was entered last."""
        self._above.pop()
        self._known.pop()

    def _said_of(self, names: Compound) -> Style:
        rules = [
            rule
            for name in (ANY, *names)
            for rule in self._rules.get(name, ())
            if rule.last <= names and self._is_within(rule.above)
        ]
        found: dict[str, str] = {}
        for rule in sorted(rules, key=_weight):
            _add(found, rule.said)
        return found

    def _is_within(self, above: Sequence[Compound]) -> bool:
        """Whether elements around fit the parts of a selector, the innermost last."""
        wanted = [*above]
        for names in reversed(self._above):
            if not wanted:
                break
            if wanted[-1] <= names:
                wanted.pop()
        return not wanted


class _Rule(NamedTuple):
    above: Sequence[Compound]  # elements around
    last: Compound
    said: Style


def _weight(rule: _Rule) -> tuple[int, int, int]:
    """What counts more where rules differ: ids before classes before tags."""
    names = [name for part in (*rule.above, rule.last) for name in part]
    ids, classes = (sum(name.startswith(sign) for name in names) for sign in "#.")
    return ids, classes, len(names)


def _add(found: dict[str, str], more: Style) -> None:
    """Go on with what counts more, unless what was said before is important."""
    for name, value in more.items():
        if not _IMPORTANT.search(found.get(name, "")) or _IMPORTANT.search(value):
            found[name] = value


def _names(element: html.HtmlElement) -> Compound:
    """The tag, classes and ids of an element, by which rules find it."""
    names = {
        str(element.tag),
        *(f".{each.lower()}" for each in (element.get("class") or "").split()),
    }
    if element.get("id"):
        names.add(f"#{element.get('id').lower()}")
    return frozenset(names)


def _rules(root: html.HtmlElement) -> Iterator[tuple[str, dict[str, str]]]:
    """Each selector with what is said of it, outside of blocks for some screens."""
    for sheet in root.iter("style"):
        text = _REMARK.sub("", sheet.text or "").replace("<!--", "").replace("-->", "")
        # Parts between braces, not one pattern for a rule: a sheet of a megabyte without a brace must not take minutes.
        depth, selectors, body, has_inner = 0, "", "", False
        for part in _BRACE.split(text):
            if part == "{":
                depth += 1
                has_inner |= depth > 1
            elif part == "}":
                if depth == 1 and not has_inner:
                    said = _declarations(body)
                    yield from ((each, said) for each in selectors.lower().split(","))
                depth = max(depth - 1, 0)
                has_inner = has_inner and depth > 0
            elif depth == 0:
                selectors = part.rpartition(";")[2]
            elif depth == 1:
                body = part


def _compound(text: str) -> Compound | None:
    """One part of a selector; None for what looks at more than names, such as the place among others."""
    if not _COMPOUND.fullmatch(text):
        return None
    return frozenset(part for part in re.split(r"(?=[.#])", text) if part not in ("", "*"))


def _declarations(text: str) -> dict[str, str]:
    """Values by property; the last one counts, and an important one before others."""
    found: dict[str, str] = {}
    for part in _REMARK.sub("", text).lower().split(";"):
        name, _, value = part.partition(":")
        name, value = name.strip(), " ".join(value.split())
        if value and not (_IMPORTANT.search(found.get(name, "")) and not _IMPORTANT.search(value)):
            found[name] = value
    return found


def look_of(element: html.HtmlElement, style: Style, around: Look) -> Look:
    """How the words of an element look, by its style and by what it inherits."""
    tag = element.tag
    color = style.get("color") or (element.get("color") if tag == "font" else None)
    color = color or (element.get("text") if tag == "body" else None)
    value, is_clear = _read_color(color) if color else (around.color, around.is_clear)
    back = around.back
    for said in (element.get("bgcolor"), style.get("background"), style.get("background-color")):
        back = _back(said, back) if said else back
    if element.get("background") or style.get("background-image", "none") != "none":
        back = None
    seen = style.get("visibility")
    is_visible = around.is_visible if seen is None else seen not in ("hidden", "collapse")
    return Look(value, back, _points(style, around.points), is_visible, is_clear)


def is_left_out(element: html.HtmlElement, style: Style) -> bool:
    """Whether an element is not shown, and nothing in it is."""
    if element.get("hidden") is not None or style.get("display") == "none":
        return True
    if style.get("mso-hide") == "all" or (_length(style.get("opacity")) or 1.0) < FAINT:
        return True
    if "opacity" in style and _length(style["opacity"]) == 0:
        return True
    if _length(style.get("zoom")) == 0 or re.search(
        r"scale[xy]?\(\s*0(?:\.0*)?\s*[,)]|translate[xy]?\(\s*-\d{3,}", style.get("transform", "")
    ):
        return True
    if "inset(100%" in style.get("clip-path", "") or re.search(
        r"rect\((?:[01](?:px)?[ ,]*){4}\)", style.get("clip", "")
    ):
        return True
    is_cut = "hidden" in (style.get("overflow"), style.get("overflow-x"), style.get("overflow-y"))
    sizes = [_length(style.get(name)) for name in ("height", "max-height", "width", "max-width")]
    if is_cut and any(size is not None and size < FLAT_PT for size in sizes):
        return True
    places = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
    return any((_length(style.get(name)) or 0.0) < -OFF_PAGE_PT for name in places)


def _points(style: Style, around: float) -> float:
    """The size of letters; of `font` the first length, which comes before the name of the font."""
    said = style.get("font-size")
    if said is None:
        sizes = (word.partition("/")[0] for word in style.get("font", "").split())
        said = next(
            (
                size
                for size in sizes
                if _LENGTH.fullmatch(size) and (size == "0" or not size.isdigit())
            ),
            None,
        )
    size = _length(said, of=around)
    return around if size is None else size


def _length(text: str | None, *, of: float = NORMAL_PT) -> float | None:
    """A length in points; a number without a unit is of pixels, and parts are of `of`."""
    found = _LENGTH.fullmatch(text or "")
    if found is None:
        return None
    value, unit = float(found[1]), found[2] or "px"
    if unit in PT_OF:
        return value * PT_OF[unit]
    if unit == "rem":
        return value * NORMAL_PT
    return value * of * (0.5 if unit == "ex" else 0.01 if unit == "%" else 1.0)


def _back(text: str, around: Color | None) -> Color | None:
    """What lies behind words by a background; None for a picture, or what is half of a colour."""
    text = text.strip().lower()
    if "url(" in text or "gradient" in text:
        return None
    for word in (text, *text.split()):
        color, is_clear = _read_color(word)
        if color is not None or is_clear:
            return around if is_clear else color
    return around if text in ("none", "inherit", "initial", "unset") else None


def _read_color(text: str) -> tuple[Color | None, bool]:
    """A colour, and whether it is none at all; a name that is not known is some colour that is seen."""
    text = "".join(text.lower().split())
    if text == "transparent":
        return None, True
    if text in NAMED:
        return NAMED[text], False
    if _HEX.fullmatch(text):
        digits = [each * 2 for each in text[1:]] if len(text) < 6 else re.findall("..", text[1:])
        red, green, blue, *alpha = (int(each, 16) for each in digits)
        return (red, green, blue), bool(alpha) and alpha[0] < 255 * FAINT
    found = _FUNCTION.fullmatch(text)
    values = [_LENGTH.fullmatch(part) for part in re.split("[,/]", found[2])] if found else []
    if found is None or len(values) < 3 or None in values:
        return None, False
    numbers = [(float(each[1]), each[2] == "%") for each in values if each]
    is_clear = len(numbers) > 3 and numbers[3][0] * (0.01 if numbers[3][1] else 1) < FAINT
    if found[1].startswith("hsl"):
        light = numbers[2][0]
        return ((255, 255, 255) if light > 96 else (0, 0, 0) if light < 4 else None), is_clear
    red, green, blue = (int(value * 2.55 if part else value) for value, part in numbers[:3])
    return (red, green, blue), is_clear


def _is_alike(color: Color | None, back: Color | None) -> bool:
    if color is None or back is None:
        return False
    is_close = all(abs(one - other) <= ALIKE for one, other in zip(color, back, strict=True))
    return is_close or is_lost(color, back)
