"""Layouts that nobody drew before: every seed composes one of its own.

Which columns there are, in which order, how they are aligned and named, the language, where the unit and the flag
stand, how ranges are written, what is printed between the rows. No layout is made for the reader, and none is listed:
a figure of these says how structure is read, and not which laboratories are known.
"""

from dataclasses import dataclass
from random import Random

from lab.documents.lab_pdfs.mutated_words import COMMON, LANGUAGES, SIDES, Language, Test
from lab.documents.lab_pdfs.registry import MUTATED, laboratory
from lab.documents.lab_pdfs.report import Report
from lab.documents.statements.paper import width

__all__ = ["MUTATED"]

NOTES = ("Method: ECLIA", "Photometry, 37 C", "(HPLC)", "Ref. 2021", "Turbidimetry")
METHODS = ("ECLIA", "ISE", "Enz.", "HPLC")
HEADING_SIZE = 5.5  # of two tables side by side, which have no space for more
LEFT, RIGHT, NAME_WIDTH, GAP_MIN = 45.0, 555.0, 195.0, 5.5  # points
DASHES = (" - ", "-", "–", " – ", " to ", " a ", "..", " ... ")
SIGNS = {
    "letters": ("L", "H"), "arrows": ("↓", "↑"), "signs": ("-", "+"), "star": ("*", "*"),
    "doubled": ("LO", "HI"), "brackets": ("(L)", "(H)"), "triangles": ("▼", "▲"),
}  # fmt: skip


@dataclass
class Line:
    """What is printed of one test, part by part; "" where it has none."""

    name: str
    value: str
    unit: str
    ref: str
    flag: str
    previous: str
    low: str = ""
    high: str = ""


class Style:
    """The choices of one laboratory."""

    def __init__(self, random: Random) -> None:
        one = random.choice
        self.language: Language = one(LANGUAGES)
        self.point = self.language.point
        self.dash = one(DASHES)
        self.wrap = one(("", "", "", "()", "[]"))
        self.below, self.above = one((("< ", "> "), ("<", ">"), ("≤ ", "≥ "), self.language.bounds))
        self.signs = one([*SIGNS.values(), SIDES[self.language.key]])
        self.flag_place = one(("column", "column", "column", "glued", "before", "behind", "none"))
        self.unit_place = one(("column", "column", "column", "column", "value", "range", "name"))
        self.has_limits = random.random() < 0.12  # a column each
        self.has_previous = random.random() < 0.22
        self.is_dated = self.has_previous and random.random() < 0.5
        self.has_code = random.random() < 0.15
        self.has_method = random.random() < 0.15
        self.headings = one(("own", "own", "own", "invented", "none"))
        self.form = one(("table",) * 12 + ("twice", "text", "cards", "leaders", "panels", "stated"))
        self.value_align = one("llrc")
        self.range_align = one("lllrc")
        self.heading_align = one(("same", "same", "l", "c"))
        self.gap = random.uniform(7, 26)
        self.note_share = one((0.0, 0.0, 0.0, 0.15, 0.4))
        self.wrap_share = one((0.0, 0.0, 0.15))
        self.has_sections = random.random() < 0.7
        self.section_form = one(("bold", "upper", "plain", "large"))
        self.indent = one((0, 0, 6, 12))
        self.is_ruled = random.random() < 0.3
        self.has_limits &= self.form == "table"
        if self.flag_place == "glued" and len(self.signs[0]) > 1:
            self.flag_place = "behind"  # nobody prints `9.9HI`
        self.order = self._order(random)

    @property
    def is_latin(self) -> bool:
        """Whether all that is printed is in the fonts that every reader knows."""
        told = f"{self.language}{self.signs}{self.below}{self.above}{COMMON}"
        return told.encode("cp1252", "ignore").decode("cp1252") == told

    def _order(self, random: Random) -> list[str]:
        columns = ["value"]
        if self.unit_place == "column":
            columns.append("unit")
        columns += ["low", "high"] if self.has_limits else ["ref"]
        if self.flag_place == "column":
            columns.append("flag")
        if self.has_previous:
            columns.append("previous")
        if self.has_method:
            columns.append("method")
        if random.random() < 0.5:
            random.shuffle(columns)
            if self.has_limits:  # nobody prints the upper limit before the lower one
                columns.remove("high")
                columns.insert(columns.index("low") + 1, "high")
            if self.has_previous:  # nor an earlier result before the present one without saying so
                columns.remove("previous")
                columns.insert(columns.index("value") + 1, "previous")
        return [*(["code"] if self.has_code else []), "name", *columns]


@laboratory("mutant", "XX", "en", group="mutated")
def mutant(r: Report) -> None:
    """One laboratory of its own."""
    style = Style(r.random)
    r.look.text_size = r.random.choice((7.5, 8, 8.5, 9, 9.5, 10))
    # A glyph of a font that is not embedded has no extent by itself, and is not found.
    r.look.is_lettered &= style.is_latin
    r.look.leading = r.look.text_size * r.random.uniform(1.25, 1.9)
    _letterhead(r, style)
    lines = _results(r, style)
    {
        "table": _table, "twice": _twice, "text": _running_text, "cards": _cards, "leaders": _leaders,
        "panels": _panels, "stated": _stated,
    }[style.form](r, style, lines)  # fmt: skip
    r.gap(1.5)
    if r.random.random() < 0.6:
        r.line((45, r.random.choice(style.language.closings)), size=7)
    r.line((45, "Tel. +00 55 0100 200"), (480, "1 / 1"), size=7)


def _letterhead(r: Report, style: Style) -> None:
    words = style.language
    r.line((45, words.laboratory), is_bold=True, size=13)
    r.line((45, f"{words.patient}: Example, Alex"), (320, f"ID: {r.random.randint(10000, 99999)}"))
    r.line((45, f"{words.collected}: {r.day('%d.%m.%Y')} 08:10"), (320, f"{words.printed}: {r.day('%d.%m.%Y', back=-1)}"))  # fmt: skip
    r.gap()


# What is measured


def _results(r: Report, style: Style) -> list[tuple[str, list[Line]]]:
    tests = [*style.language.tests, *COMMON]
    chosen = r.random.sample(tests, k=r.random.randint(7, 20))
    parts = r.random.randint(1, 3) if style.has_sections else 1
    size = -(-len(chosen) // parts)
    titles = r.random.sample(style.language.sections, k=parts)
    return [
        (title if style.has_sections else "", [_measure(r, style, each) for each in chosen[at * size : (at + 1) * size]])
        for at, title in enumerate(titles)
    ]  # fmt: skip


def _measure(r: Report, style: Style, test: Test) -> Line:
    random = r.random
    if test.is_word:
        negative, positive = style.language.words
        value = negative if random.random() < 0.8 else positive
        ref = negative if random.random() < 0.7 else ""
        flag = _flag(style, "H") if value == positive and ref else ""
        return Line(test.name, value, "", "" if style.has_limits else ref, flag, "")
    low, high, places = test.low, test.high, test.places
    bottom, top = low if low is not None else 0.3 * (high or 1), high if high is not None else 3 * (low or 1)  # fmt: skip
    draws = random.random()
    number = random.uniform(bottom, top)
    side = ""
    if draws < 0.15 and high is not None:
        number, side = top * random.uniform(1.1, 1.8), "H"
    elif draws < 0.27 and low is not None:
        number, side = bottom * random.uniform(0.5, 0.9), "L"
    text = f"{number:.{places}f}"
    if low is None and not side and random.random() < 0.15:
        text = f"<{(high or 1) * 0.1:.{places}f}"
    side = _side(text, low, high, places)
    shown = [None if each is None else _number(style, f"{each:.{places}f}") for each in (low, high)]
    if low is not None and high is not None:
        ref = f"{shown[0]}{style.dash}{shown[1]}"
    else:
        ref = f"{style.below}{shown[1]}" if low is None else f"{style.above}{shown[0]}"
    if style.wrap:
        ref = f"{style.wrap[0]}{ref}{style.wrap[1]}"
    previous = _number(style, f"{random.uniform(bottom, top):.{places}f}") if random.random() < 0.7 else ""  # fmt: skip
    has_none = random.random() < 0.06
    return Line(
        test.name, _number(style, text), test.unit, "" if has_none else ref,
        "" if has_none else _flag(style, side), previous,
        low="" if has_none else shown[0] or "", high="" if has_none else shown[1] or "",
    )  # fmt: skip


def _side(text: str, low: float | None, high: float | None, places: int) -> str:
    """By what is printed."""
    if text.startswith("<"):
        return ""
    number = float(text)
    if high is not None and number > float(f"{high:.{places}f}"):
        return "H"
    return "L" if low is not None and number < float(f"{low:.{places}f}") else ""


def _flag(style: Style, side: str) -> str:
    return style.signs[side == "H"] if side and style.flag_place != "none" else ""


def _number(style: Style, text: str) -> str:
    return text.replace(".", style.point)


# How it is printed


def _cell(style: Style, line: Line, column: str) -> str:
    """The text of a line in a column."""
    if column == "value":
        unit = f" {line.unit}" if style.unit_place == "value" and line.unit else ""
        is_number = line.value[-1].isdigit()  # no sign is set right behind a word
        glued = {"glued": f"{line.value}{'' if is_number else ' '}{line.flag}".strip(), "before": f"{line.flag} {line.value}".strip(), "behind": f"{line.value} {line.flag}".strip()}  # fmt: skip
        return glued.get(style.flag_place, line.value) + unit
    if column == "ref" and style.unit_place == "range" and line.ref and line.unit:
        return f"{line.ref} {line.unit}"
    if column == "name" and style.unit_place == "name" and line.unit:
        return f"{line.name} ({line.unit})"
    return str(getattr(line, column, ""))


def _told(r: Report, style: Style, line: Line) -> None:
    bounds = ""
    if style.has_limits:
        both = line.low and line.high
        bounds = f"{line.low} - {line.high}" if both else f"<= {line.high}" if line.high else f">= {line.low}" if line.low else ""  # fmt: skip
    has_ref_unit = style.unit_place == "range" and line.ref and not style.has_limits
    r.results.append({
        "test": _cell(style, line, "name") if style.form == "table" or style.unit_place == "name" else line.name,
        "value_printed": line.value,
        "unit_printed": line.unit if style.unit_place != "range" or has_ref_unit else "",
        "ref": bounds if style.has_limits else line.ref,
        "flag": line.flag,
    })  # fmt: skip


def _section(r: Report, style: Style, title: str, x: float = 45) -> None:
    if not title:
        return
    r.ensure(3)
    shown = title.upper() if style.section_form == "upper" else title
    r.line((x, shown), is_bold=style.section_form != "plain", size=r.look.text_size + 2 if style.section_form == "large" else 0)  # fmt: skip


def _invented(random: Random) -> str:
    syllables = ("ka", "lo", "min", "ter", "su", "vor", "ni", "pel", "ra", "qui", "zet", "om")
    return "".join(random.choice(syllables) for _ in range(random.randint(2, 3))).capitalize()


def _heading_texts(r: Report, style: Style) -> dict[str, str]:
    random = r.random
    words = style.language.headings
    if style.headings == "none":
        return {}
    if style.headings == "invented":
        return {column: _invented(random) for column in style.order}
    texts = {column: words.get(column, _invented(random)) for column in style.order}
    if style.is_dated:
        texts["previous"] = r.day("%d.%m.%Y", back=90)
    return texts


class Grid:
    """The columns of one table and where they stand."""

    def __init__(self, r: Report, style: Style, lines: list[Line]) -> None:
        self._r, self._style = r, style
        self._headings = _heading_texts(r, style)
        self._codes = {id(line): str(r.random.randint(1000, 9999)) for line in lines}
        self._methods = {id(line): r.random.choice(METHODS) for line in lines}
        self._aligns = dict.fromkeys(style.order, "l") | {
            "value": style.value_align, "ref": style.range_align, "previous": style.value_align,
        }  # fmt: skip
        self._places = self._placed(lines)

    def _placed(self, lines: list[Line]) -> dict[str, tuple[float, float]]:
        size, look, order = self._r.look.text_size, self._r.look, self._style.order
        wide = {
            column: max([width(self._headings.get(column, ""), size, look.bold), *(width(self.text(line, column), size, look.font) + 1 for line in lines)])
            for column in order
        }  # fmt: skip
        wide["name"] = min(wide["name"], NAME_WIDTH + 5)
        free = RIGHT - LEFT - sum(wide.values())
        gap = max(min(self._style.gap, free / max(len(order) - 1, 1)), GAP_MIN)
        places, x = {}, LEFT
        for column in order:
            places[column] = (x, x + wide[column])
            x += wide[column] + gap
            if column == "name" and free > 120:
                x += self._r.random.uniform(0, 60)
        return places

    def text(self, line: Line, column: str) -> str:
        """What a line has in a column."""
        if column == "code":
            return self._codes[id(line)]
        return self._methods[id(line)] if column == "method" else _cell(self._style, line, column)

    def put_headings(self) -> None:
        """The headings, if there are any, and the rule below them."""
        style, r = self._style, self._r
        if not self._headings:
            return
        for column in style.order:
            align = self._aligns[column] if style.heading_align == "same" else style.heading_align
            self._put(column, self._headings[column], align, is_bold=True)
        r.y += r.look.leading * 1.1
        if style.is_ruled:
            r.paper.rule(r.y - r.look.leading + 2)

    def put_line(self, line: Line, indent: float) -> None:
        """One line, over two where its name is long or happens to be wrapped, and maybe a remark below it."""
        r, style = self._r, self._style
        size, font = r.look.text_size, r.look.font
        name, rest = self.text(line, "name"), ""
        left = self._places["name"][0] + indent
        is_long = width(name, size, font) > NAME_WIDTH
        if is_long or (" " in name and len(name) > 12 and r.random.random() < style.wrap_share):
            name, rest = _wrapped(name, NAME_WIDTH, size, font)
        for column in style.order:
            if column == "name":
                r.put(left, name)
            else:
                self._put(column, self.text(line, column), self._aligns[column])
        r.y += r.look.leading
        if rest:
            r.put(left, rest, y=r.y - r.look.leading * 0.15)
            r.y += r.look.leading * 0.85
        if r.random.random() < style.note_share:
            r.put(left + 4, r.random.choice(NOTES), size=size * 0.8)
            r.y += r.look.leading * 0.9

    def _put(self, column: str, text: str, align: str, *, is_bold: bool = False) -> None:
        r = self._r
        left, end = self._places[column]
        own = width(text, r.look.text_size, r.look.bold if is_bold else r.look.font)
        at = {"l": left, "r": end - own, "c": (left + end - own) / 2}[align]
        if text:
            r.put(at, text if text.isascii() or len(text) > 1 else f"{text} ", is_bold=is_bold)


def _table(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    grid = Grid(r, style, [line for _, lines in parts for line in lines])
    grid.put_headings()
    for title, lines in parts:
        _section(r, style, title)
        for line in lines:
            r.ensure(3)
            grid.put_line(line, style.indent if title else 0)
            _told(r, style, line)


def _wrapped(name: str, right: float, size: float, font: str) -> tuple[str, str]:
    words = name.split()
    at = len(words) - 1
    while at > 1 and width(" ".join(words[:at]), size, font) > right:
        at -= 1
    return " ".join(words[:at]), " ".join(words[at:])


def _twice(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """Two tables side by side: name, value, unit and range each."""
    style.has_previous, style.unit_place = False, "column"
    style.flag_place = "behind" if style.flag_place == "column" else style.flag_place
    r.look.text_size = min(r.look.text_size, 8)
    words = style.language.headings
    every = [line for _, lines in parts for line in lines]
    half = -(-len(every) // 2)
    for x in (40, 305):
        if style.headings == "own":
            for dx, column in ((0, "name"), (120, "value"), (165, "unit"), (205, "ref")):
                r.put(x + dx, words[column], is_bold=True, size=HEADING_SIZE)
    r.gap(1.1)
    for at in range(half):
        for x, line in zip((40, 305), (every[at], *every[at + half : at + half + 1]), strict=False):
            r.put(x, line.name[:26])
            r.put(x + 120, _cell(style, line, "value"))
            r.put(x + 165, line.unit)
            r.put(x + 205, line.ref)
        r.gap()
    for line in every:
        line.name = line.name[:26].strip()
        _told(r, style, line)


def _running_text(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """`Glucose: 5.4 mmol/L (ref: 3.9 - 5.6)`, one or two in a line."""
    style.unit_place = "value"
    joint = r.random.choice((": ", " = ", ": "))
    label = style.language.headings["ref"].split()[0]
    opened, closed = r.random.choice((("(", ")"), ("[", "]"), (" - " + label + ": ", "")))
    has_label = opened in "([" and r.random.random() < 0.6
    count = r.random.choice((1, 1, 2))
    style.wrap = ""
    for title, lines in parts:
        _section(r, style, title)
        for at in range(0, len(lines), count):
            texts = []
            for line in lines[at : at + count]:
                if line.ref[:1] in "([":
                    line.ref = line.ref[1:-1]
                flag = f" {line.flag}" if line.flag else ""
                unit = f" {line.unit}" if line.unit else ""
                ref = f" {opened}{label + ': ' if has_label else ''}{line.ref}{closed}" if line.ref else ""  # fmt: skip
                texts.append(f"{line.name}{joint}{line.value}{unit}{flag}{ref}")
                _told(r, style, line)
            r.line((45, "; ".join(texts)))


def _cards(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """The name, below it the value with its unit, below that the range after its label."""
    style.unit_place = "value"
    label = style.language.headings["ref"]
    for title, lines in parts:
        _section(r, style, title)
        for line in lines:
            r.ensure(4)
            r.line((45, line.name), is_bold=True)
            r.line((55, f"{line.value} {line.unit}".strip()), (200, f"{line.flag} " if line.flag else ""))  # fmt: skip
            if line.ref:
                r.line((55, f"{label}: {line.ref}"), size=r.look.text_size * 0.9)
            r.gap(0.5)
            _told(r, style, line)


def _leaders(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """Dots lead from the name to the value; no headings."""
    style.unit_place = "value"
    style.flag_place = "behind" if style.flag_place == "column" else style.flag_place
    dot = width(".", r.look.text_size, r.look.font)
    for title, lines in parts:
        _section(r, style, title)
        for line in lines:
            end = 50 + width(line.name, r.look.text_size, r.look.font)
            dots = "." * max(int((240 - end) / dot), 5)
            r.put(45, f"{line.name} {dots}")
            r.put(260, _cell(style, line, "value"))
            r.put(400, line.ref)
            r.y += r.look.leading
            _told(r, style, line)


def _panels(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """A table for each test, whose name stands above the same headings."""
    style.unit_place, style.flag_place = "column", "column"
    columns = ("value", "unit", "ref", "flag")
    for title, lines in parts:
        _section(r, style, title)
        for line in lines:
            r.ensure(6)
            r.line((45, line.name), is_bold=True)
            places = (45, 180, 300, 440)
            r.line(*zip(places, (style.language.headings[each] for each in columns), strict=True), size=7)  # fmt: skip
            texts = [line.value, line.unit, line.ref, f"{line.flag} " if line.flag else ""]
            r.line(*zip(places, texts, strict=True))
            r.gap(0.5)
            _told(r, style, line)


def _stated(r: Report, style: Style, parts: list[tuple[str, list[Line]]]) -> None:
    """`B-Hb 184 g/l high   (range 130 - 170)`: no sign between name and value."""
    style.unit_place = "value"
    label = style.language.headings["ref"].split()[0].lower()
    for title, lines in parts:
        _section(r, style, title)
        for line in lines:
            if line.ref[:1] in "([":
                line.ref = line.ref[1:-1]
            parts_of = (line.name, line.value, line.unit, line.flag)
            ref = f"({label} {line.ref})" if line.ref else ""
            r.line((45, " ".join(filter(None, parts_of))), (320, ref))
            _told(r, style, line)
