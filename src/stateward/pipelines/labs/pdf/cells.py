"""What one printed cell holds: a value with its flag and unit, a unit with a range."""

import re
from collections.abc import Sequence

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit, is_measure
from stateward.pipelines.labs.values import read_value, tidy
from stateward.pipelines.labs.words import flag_of_words, ordinal_of

NUMERIC = frozenset({"quantity", "titre", "interval"})
UNIT_WORDS_MAX = 4
LETTERS = frozenset({"H", "L", "HH", "LL"})  # of flags; as units they are henry and litre
_NO_RANGES = LETTERS | {"*", "**", "↑", "↓"}  # but flags of rows without a range
WORD_FLAGS = LETTERS | {"A"}  # of results in words: abnormal
CELL_GAP = 0.62  # of the height: a wider gap starts a new cell
OPEN_GAP = 2.5  # of the height, inside of a range in brackets whose numbers are set flush: `[  0.5 -   1.5]`
_OPEN_RANGE = re.compile(r"[(\[][0-9.,<>≤≥ ]*(?:[-–—]|to|à|a|bis)?$")
# Signs that can only be a flag in front of a number; letters there could be anything.
_LEADING = frozenset(
    {
        "*",
        "**",
        "***",
        "!",
        "!!",
        "↑",
        "↓",
        "↑↑",
        "↓↓",
        "▲",
        "▼",
        "h",
        "l",
        "hh",
        "ll",
        "+",
        "++",
        "-",
        "--",
        "−",
        "–",
        "(h)",
        "(l)",
        "⇑",
        "⇓",
        "•",
        "#",
        "<<",
        ">>",
    }
)
_MARKS = frozenset({"*", "**", "***", "!", "!!", "↑", "↓", "↑↑", "↓↓", "▲", "▼", "⇑", "⇓"})
_WORDS = re.compile(r"[^\W\d_]{3,}(?: [^\W\d_]+){0,2}")  # of a result: a longer text is a remark
_GLUED = re.compile(
    r"(?P<value>.*[0-9])\s?(?P<flag>\*{1,3}|!{1,2}|[↑↓▲▼⇑⇓]+|\+{1,3}|-{1,3}|[HL]{1,2}|[(\[](?:[HLA]{1,2})[)\]])"
)
_GLUED_BEFORE = re.compile(r"(?:[*!↑↓▲▼]|[HL]{1,2})(?=[<>≤≥]?[0-9.,])")
_NOTE = re.compile(r"[#§†‡^][A-Za-z0-9]")  # behind a number: a mark that the laboratory explains
_NOTE_BEFORE = re.compile(r"\[[A-Za-z]\]")  # the same before it
_SIGN_BEHIND = re.compile(r"[*!↑↓▲▼⇑⇓]{1,3}|[HL]{1,2}")  # a word: no part of it, as a plus may be
SIGN_APART = re.compile(r"[+\-−–]{1,2} [0-9]")
_COLON = re.compile(r"^[:=]\s*(?=\S)")  # what joins a value to its name
SECOND = "s"
_LEADERS = re.compile(r"(?:\s?\.){4,}|_{4,}|…+")
_DECORATION = re.compile(r"^\s*[-=*~]{2,}\s+|\s+[-=*~]{2,}\s*$")
_DRAWN = re.compile(r"\s*[*xXo•]?[\[|][\s*|.xXo•\-–_=]*[\]|][*xXo•]?$")
_GRAPH = re.compile(r"[\[\]|()*xXo•.\-–—_=<>oO■□▪●○│┃]{3,}")


_BAR = re.compile(
    r"(?P<low>[0-9][0-9.,]*)?\s*[\[\]|()*xXoO•.\-–—_=<>■□▪●○│┃ ]{3,}\s*(?P<high>[0-9][0-9.,]*)?"
)


class Parts:
    """A cell taken apart."""

    __slots__ = ("flag", "range", "unit", "value")

    def __init__(self, value: str, flag: str = "", unit: str = "", range_: str = "") -> None:
        self.value, self.flag, self.unit, self.range = value, flag, unit, range_


def is_flag(text: str) -> bool:
    """Whether a text is a flag."""
    return bool(flag_of_words(text))


def is_graph(text: str) -> bool:
    """Whether a text draws where in its range a value lies: `[ * ]`, `|--x-|`."""
    bare = text.replace(" ", "")
    is_drawn = _GRAPH.fullmatch(bare) is not None and not ordinal_of(text)  # `(-)` is negative
    return is_drawn and read_range(text).kind != "interval"


def drawn_limits(text: str) -> tuple[str, str]:
    """The limits at the ends of a drawn bar: `135 |--x---| 146`; empty where there is no bar."""
    found = _BAR.fullmatch(text.strip())
    if found is None or not (found["low"] or found["high"]):
        return "", ""
    return found["low"] or "", found["high"] or ""


def is_result(text: str) -> bool:
    """Whether a text is a value by itself: a number, a titre, an interval or a known ordinal."""
    return read_value(text).kind in (*NUMERIC, "ordinal")


def split_value(text: str) -> Parts:
    """A value cell: `* 5.4`, `5.4 H`, `5,4+`, `14,2 g/dl`, `5.4 mmol/L (3.5-5.1)`, `: 5.4`."""
    text = _COLON.sub("", tidy(text))
    if marked := _marked_word(text.split()):
        return marked
    if ordinal_of(text):  # 3+ is a value, not a flagged 3
        return Parts(text)
    if read_value(text).kind in NUMERIC and not _is_flagged_number(text):
        return Parts(text)
    words = text.split()
    if len(words) > 2 and words[0] in ("+", "-") and _starts_number(words[1]):
        rest = split_value(" ".join(words[1:]))
        if rest.unit and rest.range and not rest.flag:  # `+ 0,71 Giga/L 0,02 à 0,50`
            rest.flag = words[0]
            return rest
    told = parts_in_any_order(words) if len(words) > 2 and _starts_number(words[0]) else None
    is_touching = (
        told is not None
        and (
            told.range[:1].isdigit()  # `55 + 10-50 U/l`: cells that touch
            or (bool(told.unit) and told.range[:1].isalpha())  # `6,0 mg/L inf. à 5,0`
            or bool(told.unit and told.flag and not told.range)  # `5,30 HI ng/mL`
        )
    )
    if told is not None and is_touching:
        return told
    flags: list[str] = []
    is_mark = bool(words) and (_is_leading(words[0]) or _NOTE_BEFORE.fullmatch(words[0]))
    if is_mark and len(words) > 1 and _starts_number(words[1]):
        flags.append(words.pop(0))
    elif words and (found := _GLUED_BEFORE.match(words[0])):
        flags.append(found[0])
        words[0] = words[0][found.end() :]
    range_ = _taken_range(words)
    while (
        len(words) > 1 and is_flag(words[-1]) and is_result_start(words) and not _in_seconds(words)
    ):
        flags.insert(0, words.pop())
    if not flags and len(words) > 1 and _NOTE.fullmatch(words[-1]) and _starts_number(words[0]):
        flags.append(words.pop())
    value, unit = _taken_unit(words)
    if (found := _GLUED.fullmatch(value)) and read_value(found["value"]).kind in NUMERIC:
        value = found["value"]
        flags.append(found["flag"])
    flag = " ".join(flags)
    return Parts(value, flag if is_flag(flag) else flags[0] if flags else "", unit, range_)


def _in_seconds(words: Sequence[str]) -> bool:
    """Whether a small s behind a number is its unit: `31.4 s`; letters of susceptibility are capitals."""
    return words[-1] == SECOND and read_value(words[-2]).kind in NUMERIC


def _is_leading(word: str) -> bool:
    """Whether a word before a number can only be its flag: a sign, or letters that say a side."""
    return word.casefold() in _LEADING or (len(word) > 1 and _is_side(word))


def _is_side(word: str) -> bool:
    return flag_of_words(word) in ("H", "HH", "L", "LL")


def _marked_word(words: list[str]) -> Parts | None:
    """A word as a value with its flag: `1+ A`, `2+ (!)`, `* Positivo`; not the blood group `A positive`."""
    if len(words) < 2:
        return None
    first, *rest = words
    *before, last = words
    if is_flag(last) and ordinal_of(" ".join(before)):
        return Parts(" ".join(before), last)
    at = len(words)
    while at > 1 and _SIGN_BEHIND.fullmatch(words[at - 1]):
        at -= 1
    flag = " ".join(words[at:])
    is_worded = all(re.fullmatch(r"[^\W\d_]{3,}", word) for word in words[:at])
    if flag and is_flag(flag) and (is_worded or ordinal_of(" ".join(words[:at]))):
        return Parts(" ".join(words[:at]), flag)
    is_sign = is_flag(first) and (not any(map(str.isalnum, first)) or _is_side(first))
    is_word = bool(ordinal_of(" ".join(rest))) or (
        first in _MARKS and _WORDS.fullmatch(" ".join(rest))
    )
    return Parts(" ".join(rest), first) if is_sign and is_word else None


def is_bracketed_range(text: str) -> bool:
    """Whether a text is a range in brackets and nothing else."""
    is_wrapped = (text[:1], text[-1:]) in (("[", "]"), ("(", ")"))
    return is_wrapped and read_range(text).kind == "interval"


def is_result_start(words: list[str]) -> bool:
    """Whether words begin with a value, so that a flag may follow."""
    return _starts_number(words[0]) or bool(ordinal_of(" ".join(words[:-1])))


def _starts_number(word: str) -> bool:
    return re.match(r"[<>≤≥=~]{0,2}\s?[+\-−]?[0-9.,]", word) is not None or word in (
        "<",
        ">",
        "≤",
        "≥",
        "<=",
        ">=",
    )


def _is_flagged_number(text: str) -> bool:
    if SIGN_APART.match(text):  # a sign of its own: only one without a blank belongs to the number
        return True
    if re.fullmatch(r".*[0-9]\s?[*!↑↓▲▼+]+", text) is not None:
        return True
    head, _, last = text.rpartition(" ")  # a titre may end in words, but `1:160 H` ends in a flag
    return is_flag(last) and read_value(head).kind == "titre"


def _taken_range(words: list[str]) -> str:
    """A range in brackets at the end of a value cell, taken off it."""
    for at in range(1, len(words)):
        tail = " ".join(words[at:])
        if tail[:1] in "([" and tail[-1:] in ")]" and read_range(tail).kind == "interval":
            del words[at:]
            return tail
    return ""


def _taken_unit(words: list[str]) -> tuple[str, str]:
    """A unit behind a number."""
    for count in range(min(UNIT_WORDS_MAX, len(words) - 1), 0, -1):
        unit = " ".join(words[-count:])
        value = " ".join(words[:-count])
        if is_known_unit(unit) and read_value(value).kind in NUMERIC:
            return value, unit
        if _GLUED.fullmatch(value) and is_known_unit(unit):
            return value, unit
        if is_measure(unit) and value[:1].isdigit():  # `71# pg/mL`: a number that is damaged
            return value, unit
    text = " ".join(words)
    found = re.fullmatch(r"([<>≤≥]?\s?[0-9][0-9.,]*)([^\W\d].*|%|‰)", text)
    if found is not None and is_known_unit(found[2]) and found[2] not in LETTERS:
        return found[1], found[2]
    return text, ""


def parts_in_any_order(words: list[str]) -> Parts | None:
    """Value, flag, unit and range in any order behind the value; None if anything is left."""
    size = 2 if words[0] in ("<", ">", "≤", "≥") and len(words) > 1 else 1
    parts = Parts(" ".join(words[:size]))
    words = words[size:]
    if read_value(parts.value).kind not in NUMERIC:
        return None
    while words:
        if not parts.flag and is_flag(words[0]):
            parts.flag, words = words[0], words[1:]
        elif not parts.unit and (count := _unit_words(words)):
            parts.unit, words = " ".join(words[:count]), words[count:]
        elif not parts.range and read_range(" ".join(words)).kind in ("interval", "titre"):
            parts.range, words = " ".join(words), []
        else:
            return None
    return parts if is_measure(parts.unit) or parts.range else None


def _unit_words(words: Sequence[str]) -> int:
    """How many words at the beginning are a unit."""
    counts = range(min(UNIT_WORDS_MAX, len(words)), 0, -1)
    return next((count for count in counts if is_known_unit(" ".join(words[:count]))), 0)


def split_unit_and_range(unit: str, range_: str) -> tuple[str, str, str]:
    """Unit, range and flag, where one cell may hold parts of another."""
    range_ = tidy(_COLON.sub("", range_.lstrip()))
    if unit and not range_ and not is_known_unit(unit) and _is_limit(unit):
        unit, range_ = "", unit  # a test without a unit, whose range slipped into its column
    if (drawn := _DRAWN.search(range_)) and _is_limit(range_[: drawn.start()]):
        range_ = range_[: drawn.start()]
    if range_ in _NO_RANGES:
        return unit, "", range_
    range_, flag = _without_arrow(range_)
    own = read_range(range_).unit
    is_whole = _is_limit(range_) and not is_flag(own.split()[-1] if own else "")
    words = [] if is_whole else range_.split()
    is_behind_unit = is_known_unit(" ".join(words[:-1]))
    if len(words) > 1 and is_flag(words[-1]) and (is_behind_unit or _ends_before(words)):
        flag = words.pop()
        range_ = " ".join(words)
    if (
        len(words) > 1
        and is_flag(words[0])
        and words[0] not in "-+<>"
        and _is_limit(" ".join(words[1:]))
    ):
        flag = flag or words.pop(0)
        range_ = " ".join(words)
    unit, range_ = _part_touching(unit, range_)
    if unit and not is_known_unit(unit):
        moved, rest = _split_unit(unit) or ("", "")
        if moved and read_range(rest).kind == "interval" and not range_:
            unit, range_ = moved, rest
        elif moved and is_flag(rest):
            unit, flag = moved, flag or rest
        elif moved and range_ and read_range(f"{rest} {range_}").kind == "interval":
            unit, range_ = moved, f"{rest} {range_}"
    if not unit and range_:
        if is_known_unit(range_):
            return range_, "", flag
        unit, range_ = _unit_before_range(range_)
    return unit, range_, flag


def _part_touching(unit: str, range_: str) -> tuple[str, str]:
    """A unit and a range of cells that touch, so that the sign of the one stands in the other: `ml/min>` and `90`."""
    is_glued = unit[-1:] in ("<", ">", "≤", "≥") and is_known_unit(unit[:-1])
    return (unit[:-1], f"{unit[-1]} {range_}".strip()) if is_glued else (unit, range_)


def _without_arrow(range_: str) -> tuple[str, str]:
    """A range, and the arrow behind it: in a column without a heading, behind that of the ranges."""
    head, _, last = range_.rpartition(" ")
    is_arrow = bool(last) and set(last) <= ARROWS and _is_limit(head)
    return (head, last) if is_arrow else (range_, "")


def _ends_before(words: Sequence[str]) -> bool:
    """Whether a range ends before the last word; a plus or minus goes on, unless both limits stand before it."""
    told = read_range(" ".join(words[:-1]))
    if words[-1] in "-+":
        return told.kind == "interval" and None not in (told.low, told.high)
    return told.kind in ("interval", "titre")


def _is_limit(text: str) -> bool:
    """Whether a text is a range of numbers or of titres."""
    return read_range(text).kind in ("interval", "titre")


def _split_unit(text: str) -> tuple[str, str] | None:
    """A known unit at either end of a text, and the rest."""
    words = text.split()
    for count in range(len(words) - 1, 0, -1):
        head, tail = " ".join(words[:count]), " ".join(words[count:])
        if is_known_unit(head) and not is_known_unit(text):
            return head, tail
        if is_known_unit(tail):
            return tail, head
    return None


def _unit_before_range(range_: str) -> tuple[str, str]:
    """`mmol/L 3.5 - 5.1`: the unit stands before its range; behind it, `read_range` finds it."""
    words = range_.split()
    for count in range(1, min(UNIT_WORDS_MAX, len(words))):
        head, tail = " ".join(words[:count]), " ".join(words[count:])
        if is_known_unit(head) and read_range(tail).kind in ("interval", "ordinal"):
            return head, tail
    return "", range_


ARROWS = frozenset("↑↓▲▼⬆⬇⇑⇓⇈⇊↗↘")  # no name of a test ends with one
DOTS_MIN = 3  # that lead from a name to its value
_DOTS = re.compile(r"[._…]{3,}$")
_GLUED_TO_DOTS = re.compile(r"(?P<dots>.*[._…]{3,})(?P<sign>[^\w\s._…]{1,3})")


def split_mark(text: str) -> tuple[str, str]:
    """A name, and the flag behind it: an arrow, or a sign behind dots that lead to the value, `Gamma GT ........ *`."""
    head, _, last = text.rpartition(" ")
    if (glued := _GLUED_TO_DOTS.fullmatch(last)) and is_flag(glued["sign"]):
        return f"{head} {glued['dots']}".strip(), glued["sign"]
    is_sign = is_flag(last) and not any(map(str.isalnum, last))
    is_arrow = set(last) <= ARROWS
    return (head, last) if head and is_sign and (is_arrow or _DOTS.search(head)) else (text, "")


def has_leaders(text: str) -> bool:
    """Whether dots or a line lead from a name to what stands behind it."""
    return _LEADERS.search(text) is not None


def without_leaders(text: str) -> str:
    """A name without the dots that lead to its value."""
    text = _DECORATION.sub("", text)
    return (
        tidy(_LEADERS.sub(" ", text)).rstrip(" .:")
        if _LEADERS.search(text)
        else tidy(text).rstrip(":").rstrip()
    )


def cells(words: Sequence[PdfWord]) -> list[list[PdfWord]]:
    """Words in groups that stand close together."""
    found: list[list[PdfWord]] = []
    for word in words:
        if found and _goes_on(found[-1], word):
            found[-1].append(word)
        else:
            found.append([word])
    return found


def _goes_on(cell: Sequence[PdfWord], word: PdfWord) -> bool:
    """Whether a word is of the cell before it; asked for every word, so that the gap decides before any pattern."""
    last = cell[-1]
    gap, height = word.x0 - last.x1, last.bottom - last.top
    if word.begins_cell or gap > OPEN_GAP * height:
        return False
    if gap > CELL_GAP * height and not _OPEN_RANGE.search(" ".join(each.text for each in cell)):
        return False
    return not (len(last.text) > DOTS_MIN and _DOTS.search(last.text))
