"""The text of a page of HTML as a person sees it: blocks as lines, the cells of a row parted by tabs.

What is not seen is no text: comments, scripts, drawings, and words that are hidden, of the colour behind them, or too
small to be read (`html_styles`). Of these the caller hears, and of words that are struck through. What only some
programs show is told like what is hidden: drawings, and the comments that are written for Outlook. Nothing is fetched,
and no style sheet but those in the page itself is looked at.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree, html

from stateward.core.text_search import words
from stateward.pipelines.kit.html_styles import Look, Style, StyleSheets, is_left_out, look_of
from stateward.pipelines.kit.html_tables import CellSpans, parse_html

DEPTH_MAX = (
    200  # elements within elements: a parser that follows more of them would end with the stack
)
SKIPPED = frozenset({"head", "script", "style", "title", "template", "select"})
# One program shows what is in them, another does not.
SHOWN_BY_SOME = frozenset(
    {"svg", "object", "canvas", "video", "audio", "iframe", "noframes", "datalist"}
)
CONDITION, CONDITION_END = "<!--[if", "<![endif]-->"
CONDITIONS_MAX = 1000
BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure",
        "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section",
        "table", "tbody", "tfoot", "thead", "tr", "ul", "caption",
    }
)  # fmt: skip
# A cell goes on over rows of its group only.
ROW_GROUPS = frozenset({"table", "thead", "tbody", "tfoot"})
STRUCK = frozenset({"del", "s", "strike"})
_BLANK = re.compile(r"[ \t\r\n\f\u00a0]+")
_TEXTS = etree.XPath("descendant-or-self::*[not(self::script or self::style)]/text()")
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
    page = _Page(StyleSheets(root))
    text = _join_lines(page.lines(root, Look(), depth=0))
    page.end_unseen()
    page.unseen.extend(_conditional_lines(markup))
    known = set(words(text))
    # What is shown as well may be hidden: the first words of a mail are, for the list of mails.
    unseen = [line for line in page.unseen if not known.issuperset(words(line))]
    return SeenText(text, "\n".join(unseen), "\n".join(page.struck))


def _conditional_lines(markup: str) -> Iterator[str]:
    """What comments for one program say with figures: the rest of them only lays out what others show too.

    Those that others read as well (`<!--[if !mso]><!-->`) end at once.
    """
    for part in markup.split(CONDITION)[1 : CONDITIONS_MAX + 1]:
        said = part.partition("]>")[2].partition(CONDITION_END)[0]
        if said.strip() and "-->" not in said:
            root = parse_html(f"<p>{said}")
            for settings in [*root.iter("xml")]:  # of the program, and not shown by it
                settings.drop_tree()
            lines = _kept_lines(_Page(StyleSheets(root)).lines(root, Look(), depth=0))
            yield from (line for line in lines if any(map(str.isdigit, line)))


class _Page:
    def __init__(self, sheets: StyleSheets) -> None:
        self._sheets = sheets
        self._spans = [CellSpans()]  # of each group of rows that is being read
        self._unseen_parts: list[str] = []  # of the block that is being read
        self.unseen: list[str] = []
        self.struck: list[str] = []

    def end_unseen(self) -> None:
        """End the line of what is not seen, where a block of the page ends."""
        if text := _clean(" ".join(self._unseen_parts)):
            self.unseen.append(text)
        self._unseen_parts.clear()

    def lines(self, element: html.HtmlElement, around: Look, *, depth: int) -> list[str]:
        """The lines of an element: a block ends a line before it and after it."""
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in SKIPPED:
            return []
        if tag in SHOWN_BY_SOME:
            self.unseen.extend(filter(None, [_clean(_all_text(element))]))
            return []
        if tag == "br":
            return ["", ""]
        style = self._sheets.enter(element)
        if tag in ROW_GROUPS:
            self._spans.append(CellSpans())
        try:
            return self._lines(element, tag, style, around, depth=depth)
        finally:
            self._sheets.leave()
            if tag in ROW_GROUPS:
                self._spans.pop()

    def _lines(
        self, element: html.HtmlElement, tag: str, style: Style, around: Look, *, depth: int
    ) -> list[str]:
        aside = self._aside(element, tag, style, depth=depth)
        if aside is not None:
            aside.extend(filter(None, [_clean(_all_text(element))]))
            return []
        look = look_of(element, style, around)
        if tag == "tr":
            return ["", *self._row(element, look, depth=depth), ""]
        if tag in BLOCKS:
            self.end_unseen()
        found = [self._read(element.text, look)]
        number = _first_number(element) if tag == "ol" else 0
        for child in element:
            inner = self.lines(child, look, depth=depth + 1)
            if tag == "ol" and child.tag == "li" and inner:
                inner = _with_number(inner, number)
                number += 1
            _extend(found, inner)
            found[-1] += self._read(child.tail, look)
        if tag in BLOCKS:
            self.end_unseen()
        return ["", *found, ""] if tag in BLOCKS else found

    def _row(self, row: html.HtmlElement, around: Look, *, depth: int) -> list[str]:
        """The lines of a row: a cell over several columns or rows leaves the others in their columns."""
        found: list[tuple[html.HtmlElement, list[str]]] = []
        for cell in row:
            if cell.tag in ("td", "th"):
                own = self.lines(cell, around, depth=depth + 1)
                found.append((cell, [line for each in own if (line := _clean(each))]))
                self.end_unseen()
        cells = self._spans[-1].columns(found, empty=[])
        if all(len(cell) <= 1 for cell in cells):
            return ["\t".join(cell[0] if cell else "" for cell in cells).rstrip()]
        # Cells with several lines are a layout, and are read one after the other.
        return [line for cell in cells for line in cell]

    def _read(self, text: str | None, look: Look) -> str:
        """A text as it is read; nothing if it looks so that no person sees it."""
        if not text or look.is_seen:
            return _inline(text)
        if text.strip():
            self._unseen_parts.append(text)
        return " "

    def _aside(
        self, element: html.HtmlElement, tag: str, style: Style, *, depth: int
    ) -> list[str] | None:
        """Where the words of an element go that are no text; None for those that are."""
        decoration = style.get("text-decoration", "") + style.get("text-decoration-line", "")
        if tag in STRUCK or "line-through" in decoration:
            return self.struck
        return self.unseen if depth > DEPTH_MAX or is_left_out(element, style) else None


def _all_text(element: html.HtmlElement) -> str:
    """All words in an element but those of scripts and style sheets."""
    return " ".join(map(str, _TEXTS(element)))


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
