r"""The streams of a Rich Text Format: its text, headers, footers, notes, and what a person does not see.

The library that turns RTF into text knows no hidden text, drops headers, notes and boxes of text, and parts the cells
of a table by bars wherever their paragraphs end. So its source is parted first: each stream is a source of its own,
with the fonts of the document, and the ends of cells and rows are marks that no document has.
"""

import re
from typing import NamedTuple

from stateward.pipelines.kit.contrast import BLACK, WHITE, Color, blend, is_lost

CELL, ROW, ROW_START = "\ufdd0", "\ufdd1", "\ufdd2"  # no characters, so in no document
HALF_POINTS_MIN = 6  # three points; the smallest print is four
FONT_SIZE = 24
HEAD_CHARS = 2000
BODY, SKIPPED = "body", "skipped"
# Groups that are shown somewhere else than where they stand, or not at all.
STREAMS = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "headers"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footers"),
    "footnote": "notes",
    "annotation": "hidden",
    "shptxt": "boxes",
    "info": "aside",
}
# Groups that hold no text of the document, beside those that begin with `\*`.
NO_TEXT = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "pict", "object", "fldinst", "shprslt", "nonesttables", "themedata",
     "listtable", "listoverridetable", "revtbl", "rsidtbl", "generator", "datastore", "xe", "tc", "txe",
     "creatim", "revtim", "printim", "buptim", "panose", "falt", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc"}
)  # fmt: skip
# Words that are signs, as the library writes them.
_SIGNS = frozenset(
    {"tab", "emdash", "endash", "emspace", "enspace", "qmspace", "bullet", "lquote", "rquote", "ldblquote", "rdblquote"}
)  # fmt: skip
BREAKS = frozenset({"par", "line", "cell", "nestcell", "row", "sect", "page"})
_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|(\\'[0-9a-fA-F]{2}|\\[^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)"
)
_PREAMBLE = re.compile(r"\\(?:ansicpg|deff)\d+")
_DEFAULT_FONT = re.compile(r"\\deff(\d+)")
_COLOURS = re.compile(r"\{\\colortbl\b([^{}]*)\}")
_COLOUR = re.compile(r"\\red(\d{1,3})\s*\\green(\d{1,3})\s*\\blue(\d{1,3})\b")
# Words of the shading of a cell or a row: its ground, the marks on it, and their share in hundredths of a percent.
_SHADING = {
    "clcbpat": ("cell", "back"), "clcfpat": ("cell", "front"), "clshdng": ("cell", "share"),
    "trcbpat": ("row", "back"), "trcfpat": ("row", "front"), "trshdng": ("row", "share"),
}  # fmt: skip
CELLS_MAX = 200  # of a row


class _State(NamedTuple):
    """What a group inherits from the one around it."""

    stream: str = BODY
    is_struck: bool = False
    is_hidden: bool = False
    ground: int = 0  # a colour by its number, behind letters; 0 is none
    paragraph_ground: int = 0
    is_in_table: bool = False
    colour: int = 0
    half_points: int = FONT_SIZE
    font: str = "0"
    skipped: str = "1"  # how many characters stand in for one of Unicode


class _Grounds:
    """What lies behind the cells of a row: its definition comes before its text, and holds until the next one."""

    def __init__(self, colours: dict[int, Color]) -> None:
        self._colours = colours
        self._shadings: dict[str, dict[str, int]] = {"cell": {}, "row": {}}
        self._cells: list[Color | None] = []
        self._at = 0

    def word(self, word: str, number: str) -> None:
        """A word that may say how a row looks."""
        if word == "trowd":
            self._shadings = {"cell": {}, "row": {}}
            self._cells = []
        elif word == "cellx":
            if len(self._cells) < CELLS_MAX:
                self._cells.append(self._ground_of(self._shadings["cell"]))
            self._shadings["cell"] = {}
        elif word in _SHADING:
            of, part = _SHADING[word]
            self._shadings[of][part] = int(number or 0)
        elif word == "cell":
            self._at += 1
        elif word == "row":
            self._at = 0

    def color(self) -> Color:
        """What lies behind the cell whose text is read."""
        own = self._cells[self._at] if self._at < len(self._cells) else None
        return own or self._ground_of(self._shadings["row"]) or WHITE

    def _ground_of(self, said: dict[str, int]) -> Color | None:
        back = self._colours.get(said.get("back", 0))
        share = min(max(said.get("share", 0), 0), 10_000) / 10_000
        if not share:
            return back
        return blend(self._colours.get(said.get("front", 0), BLACK), back or WHITE, share)


class RtfStreams:
    """The sources of what an RTF holds, each to be turned into text for itself."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._colours = _colours(source)
        self._grounds = _Grounds(self._colours)
        self._stack: list[_State] = []
        default = _DEFAULT_FONT.search(source[:HEAD_CHARS])
        self._state = _State(font=default[1] if default else "0")
        self._is_row = False
        self._streams: dict[str, list[str]] = {}
        self._fonts: dict[str, tuple[str, str]] = {}
        self._fill()

    def of(self, stream: str) -> str:
        """The source of a stream; "" if the document has none."""
        parts = self._streams.get(stream)
        if parts is None:
            return ""
        return f"{{\\rtf1{self._preamble()}{{{''.join(parts)}}}}}"

    def _preamble(self) -> str:
        fonts = re.search(r"\{\\fonttbl", self._source)
        said = "".join(dict.fromkeys(_PREAMBLE.findall(self._source[:HEAD_CHARS])))
        return f"\\ansi{said}{_group(self._source, fonts.start())}" if fonts else f"\\ansi{said} "

    def _fill(self) -> None:
        at, is_first = 0, False
        while found := _TOKEN.match(self._source, at):
            at = found.end()
            word, number, letter, brace, text = found.groups()
            if brace == "{":
                self._stack.append(self._state)
                is_first = True
                continue
            if brace:
                if not self._stack:
                    break
                self._leave()
            elif letter == "\\*":
                if is_first:
                    self._state = self._state._replace(stream=SKIPPED)
                continue  # the word behind it may name a stream
            elif word == "bin":
                at += max(0, int(number or 0))
            elif word:
                self._word(word, number or "", is_first=is_first)
            elif letter or text:
                self._text(letter or text)
            is_first = False
            if at >= len(self._source):
                break

    def _leave(self) -> None:
        inner, self._state = self._state, self._stack.pop()
        if inner.stream not in (self._state.stream, SKIPPED):
            self._put(r"\par ", inner.stream)

    def _word(self, word: str, number: str, *, is_first: bool) -> None:
        state = self._state
        if (
            state.stream != SKIPPED
        ):  # where rows of tables within cells are defined, after their text
            self._grounds.word(word, number)
        if word in STREAMS and (is_first or state.stream == SKIPPED):
            self._state = state._replace(stream=STREAMS[word])
        elif word in NO_TEXT:
            self._state = state._replace(stream=SKIPPED)
        elif word == "nestrow":  # it stands in a group of its own, which holds no text
            self._put(r"\line ", self._stack[-1].stream if self._stack else BODY)
        elif word in BREAKS:
            self._break(word)
        elif word == "u" or word in _SIGNS:
            self._text(f"\\{word}{number} ")
        else:
            self._state = _after_word(state, word, number)

    def _break(self, word: str) -> None:
        state = self._state
        for why in ("hidden", "struck"):
            if self._streams.get(why):
                self._put(r"\line ", why)
        if word == "row":
            if self._is_row:
                self._put(f"{{}}{ROW}", state.stream)
            self._is_row = False
            self._state = state._replace(is_in_table=False)
        elif word == "cell":
            self._open_row(state)
            self._put(f"{{}}{CELL}", state.stream)
        else:
            self._put(r"\tab " if word == "nestcell" else f"\\{word} ", state.stream)

    def _open_row(self, state: _State) -> None:
        if not self._is_row and state.stream == BODY:
            self._put(f"{{}}{ROW_START}", BODY)
            self._is_row = True

    def _text(self, text: str) -> None:
        """A run of text, put where it belongs."""
        state = self._state
        if state.stream == SKIPPED:
            return
        if state.is_in_table:
            self._open_row(state)
        self._put(text, self._reason(state) or state.stream)

    def _reason(self, state: _State) -> str:
        """Why a person does not take a run of text for text: `hidden`, `struck`, or ""."""
        if state.is_hidden or self._is_lost(state) or state.half_points < HALF_POINTS_MIN:
            return "hidden"
        return "struck" if state.is_struck else ""

    def _is_lost(self, state: _State) -> bool:
        """Whether letters cannot be read on what lies behind them; those of the automatic colour always can."""
        colour = self._colours.get(state.colour)
        if colour is None:
            return False
        own = self._colours.get(state.ground) or self._colours.get(state.paragraph_ground)
        return is_lost(colour, own or (self._grounds.color() if state.is_in_table else WHITE))

    def _put(self, part: str, stream: str) -> None:
        if stream == SKIPPED:
            return
        parts = self._streams.setdefault(stream, [])
        fonts = self._state.font, self._state.skipped
        if self._fonts.get(stream) != fonts:
            self._fonts[stream] = fonts
            parts.append(rf"\f{fonts[0]}\uc{fonts[1]} ")
        parts.append(part)


def _after_word(state: _State, word: str, number: str) -> _State:
    """The state after a word that changes how text looks."""
    is_on = number != "0"
    match word:
        case "plain":
            return state._replace(
                is_struck=False,
                is_hidden=False,
                ground=0,
                colour=0,
                half_points=FONT_SIZE,
            )
        case "pard":
            return state._replace(is_in_table=False, paragraph_ground=0)
        case "intbl" | "trowd":
            return state._replace(is_in_table=True)
        case "v":
            return state._replace(is_hidden=is_on)
        case "strike" | "striked" | "deleted":
            return state._replace(is_struck=is_on)
        case "cf":
            return state._replace(colour=int(number or 0))
        case "cb" | "highlight" | "chcbpat":
            return state._replace(ground=int(number or 0))
        case "cbpat":
            return state._replace(paragraph_ground=int(number or 0))
        case "fs":
            return state._replace(half_points=int(number or FONT_SIZE))
        case "f":
            return state._replace(font=number)
        case "uc":
            return state._replace(skipped=number or "1")
    return state


def _colours(source: str) -> dict[int, Color]:
    """The colours of a document by number; that without one is the colour of ordinary letters."""
    table = _COLOURS.search(source)
    entries = enumerate(map(_COLOUR.search, table[1].split(";") if table else []))
    return {at: _color_of(found) for at, found in entries if found is not None}


def _color_of(found: re.Match[str]) -> Color:
    red, green, blue = (min(int(part), 255) for part in found.groups())
    return red, green, blue


def _group(source: str, start: int) -> str:
    """The group that begins at a place."""
    depth = 0
    for brace in re.finditer(r"(?<!\\)[{}]", source[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return source[start : start + brace.end()]
    return ""
