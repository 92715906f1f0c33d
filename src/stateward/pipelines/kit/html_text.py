"""The text of a page of HTML as a person sees it: blocks as lines, the cells of a row parted by tabs.

What is not seen is no text: comments, scripts, and words that are hidden, white on nothing, or too small to be read. Of
these the caller hears, and of words that are struck through. Nothing is fetched, and no style sheet but those in the
page itself is looked at; of their rules the ones for a class, an id or an element alone.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lxml import html

from stateward.core.text_search import words
from stateward.pipelines.kit.html_tables import parse_html

DEPTH_MAX = (
    200  # elements within elements: a parser that follows more of them would end with the stack
)
STYLES_MAX = 2000
TINY_PT = 2.6  # as in a PDF
PT_OF = {"pt": 1.0, "px": 0.75, "em": 11.0, "rem": 11.0, "%": 0.11}
SKIPPED = frozenset(
    {"head", "script", "style", "title", "template", "noscript", "object", "svg", "select"}
)
BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure",
        "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section",
        "table", "tbody", "tfoot", "thead", "tr", "ul", "caption",
    }
)  # fmt: skip
STRUCK = frozenset({"del", "s", "strike"})
WHITE = frozenset({"#fff", "#ffffff", "white", "rgb(255,255,255)"})
_RULE = re.compile(r"([^{}]{1,500})\{([^{}]{0,2000})\}")
_REMARK = re.compile(r"(?s)/\*.*?\*/")
_SIMPLE = re.compile(r"[a-z][a-z0-9]*|(?:[a-z][a-z0-9]*)?[.#][\w-]+")
_SIZE = re.compile(r"([0-9]*\.?[0-9]+)\s*(pt|px|em|rem|%)?")
_BLANK = re.compile(r"[ \t\r\n\f\u00a0]+")
_INVISIBLE = re.compile("[\u00ad\u034f\u200b-\u200f\u2060\ufeff]")


class SeenText(NamedTuple):
    """What a person reads, what the page holds besides, and what is struck through."""

    text: str
    unseen: str = ""
    struck: str = ""


def seen_text(markup: str) -> SeenText:
    """The text of a page, and what of it a person does not see or sees struck through."""
    if not markup.strip():
        return SeenText("")
    root = parse_html(markup)
    page = _Page(_style_rules(root))
    text = _join_lines(page.lines(root, depth=0))
    known = set(words(text))
    # What is shown as well may be hidden: the first words of a mail are, for the list of mails.
    unseen = [line for line in page.unseen if not known.issuperset(words(line))]
    return SeenText(text, "\n".join(unseen), "\n".join(page.struck))


class _Page:
    def __init__(self, rules: dict[str, str]) -> None:
        self._rules = rules
        self.unseen: list[str] = []
        self.struck: list[str] = []

    def lines(
        self, element: html.HtmlElement, *, depth: int, is_painted: bool = False
    ) -> list[str]:
        """The lines of an element: a block ends a line before it and after it."""
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in SKIPPED or depth > DEPTH_MAX:
            return []
        style = self._style(element, tag)
        is_painted = is_painted or _is_painted(element, style)
        aside = self._aside(element, tag, style, is_painted=is_painted)
        if aside is not None:
            if text := _clean(" ".join(map(str, element.itertext()))):
                aside.append(text)
            return []
        if tag == "br":
            return ["", ""]
        if tag == "tr":
            return ["", *self._row(element, depth=depth, is_painted=is_painted), ""]
        found = [_inline(element.text)]
        number = _first_number(element) if tag == "ol" else 0
        for child in element:
            inner = self.lines(child, depth=depth + 1, is_painted=is_painted)
            if tag == "ol" and child.tag == "li" and inner:
                inner = _with_number(inner, number)
                number += 1
            _extend(found, inner)
            _extend(found, [_inline(child.tail)])
        return ["", *found, ""] if tag in BLOCKS else found

    def _row(self, row: html.HtmlElement, *, depth: int, is_painted: bool) -> list[str]:
        cells = []
        for cell in row:
            if cell.tag in ("td", "th"):
                own = self.lines(cell, depth=depth + 1, is_painted=is_painted)
                cells.append([line for each in own if (line := _clean(each))])
        if all(len(cell) <= 1 for cell in cells):
            return ["\t".join(cell[0] if cell else "" for cell in cells).rstrip()]
        # Cells with several lines are a layout, and are read one after the other.
        return [line for cell in cells for line in cell]

    def _style(self, element: html.HtmlElement, tag: str) -> str:
        names = [tag, *(f".{each}" for each in (element.get("class") or "").split())]
        names += [f"#{element.get('id')}"] if element.get("id") else []
        named = [*names, *(f"{tag}{each}" for each in names[1:])]
        own = "".join(self._rules.get(each, "") for each in named)
        return (own + (element.get("style") or "")).lower().replace(" ", "")

    def _aside(
        self, element: html.HtmlElement, tag: str, style: str, *, is_painted: bool
    ) -> list[str] | None:
        """Where the words of an element go that are no text; None for those that are."""
        if tag in STRUCK or "line-through" in style:
            return self.struck
        is_hidden = element.get("hidden") is not None or _is_hidden(style)
        color = (element.get("color") or "").lower() if tag == "font" else ""
        is_white = not is_painted and (color or _value(style, "color")) in WHITE
        return self.unseen if is_hidden or is_white else None


def _is_hidden(style: str) -> bool:
    if any(
        each in style
        for each in ("display:none", "visibility:hidden", "mso-hide:all", "opacity:0;")
    ) or style.endswith("opacity:0"):
        return True
    size = _SIZE.fullmatch(_value(style, "font-size"))
    if size is not None and float(size[1]) * PT_OF.get(size[2] or "px", 1.0) < TINY_PT:
        return True
    is_cut = "overflow:hidden" in style
    flat = [_value(style, name) for name in ("max-height", "height", "width", "max-width")]
    if is_cut and any(each in ("0", "0px", "0pt") for each in flat):
        return True
    return any(
        _value(style, name).startswith("-") and len(_value(style, name)) > len("-99px")
        for name in ("left", "top", "text-indent", "margin-left")
    )


def _is_painted(element: html.HtmlElement, style: str) -> bool:
    """Whether something may stand behind its words, so that white ones are seen."""
    back = (element.get("bgcolor") or "").lower() or _value(style, "background-color")
    back = back or _value(style, "background") or (element.get("background") or "")
    return bool(back) and back not in WHITE and back not in ("transparent", "none", "inherit")


def _value(style: str, name: str) -> str:
    """The value of a property of a style; the last one counts."""
    found = ""
    for part in style.split(";"):
        key, _, value = part.partition(":")
        found = value.removesuffix("!important") if key == name else found
    return found


def _style_rules(root: html.HtmlElement) -> dict[str, str]:
    """What the style sheets of the page say of a class, an id or an element, outside of what is for some screens."""
    rules: dict[str, str] = {}
    for sheet in root.iter("style"):
        text = re.sub(
            r"@media[^{]{0,500}\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}",
            "",
            _REMARK.sub("", sheet.text or ""),
        )
        for found in _RULE.finditer(text):
            for name in found[1].lower().split(","):
                if len(rules) < STYLES_MAX and _SIMPLE.fullmatch(name.strip()):
                    rules[name.strip()] = rules.get(name.strip(), "") + found[2] + ";"
    return rules


def _first_number(element: html.HtmlElement) -> int:
    start = str(element.get("start") or "1")
    return int(start) if start.isdecimal() and len(start) < 6 else 1


def _with_number(lines: list[str], number: int) -> list[str]:
    """The lines of an item of a list, its number before the first one that has words."""
    for at, line in enumerate(lines):
        if line.strip():
            return [*lines[:at], f"{number}. {line.lstrip()}", *lines[at + 1 :]]
    return lines


def _extend(found: list[str], more: list[str]) -> None:
    """Go on with the last line."""
    found[-1] += more[0] if more else ""
    found.extend(more[1:])


def _inline(text: str | None) -> str:
    return _BLANK.sub(" ", text or "")


def _clean(text: str) -> str:
    return " ".join(
        _INVISIBLE.sub("", part).strip(" \u00a0") for part in text.split(" ") if part.strip()
    ).strip(" ")


def _join_lines(lines: list[str]) -> str:
    return "\n".join(_kept_lines(lines))


def _kept_lines(lines: list[str]) -> Iterator[str]:
    for line in lines:
        cells = [_clean(cell) for cell in line.split("\t")]
        if any(cells):
            yield "\t".join(cells).rstrip()
