"""A report being drawn: results from a seed, a page with a cursor, and the truth of what was printed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

from lab.documents.lab_pdfs.analytes import ANALYTES, TITRE, Analyte, section
from lab.documents.statements.paper import A4, Paper, width


@dataclass
class Result:
    """One test as it is: the value as text with a decimal point, and where it lies."""

    analyte: Analyte
    name: str
    value: str
    unit: str
    low: str
    high: str
    side: str  # "", "H" or "L"

    @property
    def is_bounded(self) -> bool:
        return bool(self.low and self.high)


@dataclass
class Look:
    """How a laboratory prints."""

    size: tuple[float, float] = A4
    font: str = ""
    bold: str = "bold"
    text_size: float = 9.0
    leading: float = 13.0
    margin: float = 45.0
    point: str = "."
    is_lettered: bool = False
    is_si: bool = True
    units: dict[str, str] = field(default_factory=dict)


class Report:
    """What a laboratory's layout draws on."""

    def __init__(self, random: Random, language: str, look: Look) -> None:
        self.random = random
        self.language = language
        self.look = look
        self.paper = Paper(look.size)
        self.y = 60.0
        self.results: list[dict[str, str]] = []
        self.collected = date(2025, random.randint(1, 12), random.randint(1, 28))
        self.head: Callable[[], None] = lambda: None
        self.has_titres = True
        self.paper.page()

    # What was measured.

    def panel(self, count: tuple[int, int] = (8, 24)) -> list[tuple[str, list[Result]]]:
        """Some tests by section, in the order of the table."""
        chosen = set(self.random.sample(range(len(ANALYTES)), k=self.random.randint(*count)))
        tests = [each for at, each in enumerate(ANALYTES) if at in chosen]
        names = list(dict.fromkeys(each.section for each in tests))
        found = [
            (
                section(name, self.language),
                [self.measure(each) for each in tests if each.section == name],
            )
            for name in names
        ]
        if self.random.random() < 0.3 and self.has_titres:
            found.append((section("serology", self.language), [self._titre()]))
        return found

    def _titre(self) -> Result:
        value = self.random.choice((40, 80, 160, 320, 640))
        side = "H" if value > 80 else ""
        return Result(TITRE, TITRE.name(self.language), f"1:{value}", "", "", "1:80", side)

    def measure(self, analyte: Analyte) -> Result:
        if analyte is TITRE:
            return self._titre()
        unit, low, high, places = analyte.si if self.look.is_si else analyte.us
        random = self.random
        bottom = float(low) if low else float(high) * 0.25
        top = float(high) if high else float(low) * 2
        place = random.random()
        if place < 0.14:
            number = top + (top - bottom) * random.uniform(0.05, 1.5)
        elif place < 0.26 and low:
            number = bottom * random.uniform(0.6, 0.97)
        else:
            number = random.uniform(bottom, top)
        value = f"{number:.{places}f}"
        if not low and random.random() < 0.25:
            value = "<" + f"{float(high) * 0.1:.{places}f}"
        return Result(
            analyte,
            analyte.name(self.language),
            value,
            self.look.units.get(unit, unit),
            low,
            high,
            self._side(value, low, high),
        )

    @staticmethod
    def _side(value: str, low: str, high: str) -> str:
        number = float(value.lstrip("<"))
        if value.startswith("<"):
            return ""
        if low and number < float(low):
            return "L"
        return "H" if high and number > float(high) else ""

    # How it is written.

    def num(self, value: str) -> str:
        return value.replace(".", self.look.point)

    def range(
        self, result: Result, *, dash: str = " - ", below: str = "< ", above: str = "> "
    ) -> str:
        if result.is_bounded:
            return self.num(result.low) + dash + self.num(result.high)
        return below + self.num(result.high) if result.high else above + self.num(result.low)

    def before(self, days: int) -> date:
        return self.collected - timedelta(days=days)

    def day(self, form: str, *, back: int = 0) -> str:
        return self.before(back).strftime(form)

    def put(
        self,
        x: float,
        text: str,
        *,
        y: float = 0,
        is_bold: bool = False,
        size: float = 0,
        align: str = "l",
    ) -> float:
        """Text on the cursor's line; gives where it ends."""
        look = self.look
        size, font = size or look.text_size, look.bold if is_bold else look.font
        x = x - width(text, size, font) if align == "r" else x
        draw = self.paper.letters if look.is_lettered else self.paper.text
        return draw(x, y or self.y, text, size=size, font=font)

    def line(self, *cells: tuple[float, str], is_bold: bool = False, size: float = 0) -> None:
        """Texts at their places (negative: they end there), and on to the next line."""
        self.ensure(1)
        for x, text in cells:
            if text:
                self.put(abs(x), text, is_bold=is_bold, size=size, align="r" if x < 0 else "l")
        self.y += max(self.look.leading, size * 1.3)

    def ensure(self, lines: float) -> None:
        if self.y + lines * self.look.leading > self.look.size[1] - 60:
            self.paper.page()
            self.y = 60.0
            self.head()

    def gap(self, lines: float = 1) -> None:
        self.y += lines * self.look.leading

    def told(
        self,
        result: Result,
        *,
        value: str,
        unit: str,
        ref: str,
        flag: str,
        name: str = "",
        collected: str = "",
    ) -> None:
        """Say what was printed."""
        row = {
            "test": name or result.name,
            "value_printed": value,
            "unit_printed": unit,
            "ref": ref,
            "flag": flag,
        }
        if result.analyte.loinc:
            row["loinc"] = result.analyte.loinc
        self.results.append({**row, "collected": collected} if collected else row)

    def truth(self, layout: str) -> dict[str, object]:
        truth: dict[str, object] = {"layout": layout, "results": self.results}
        if not any("collected" in each for each in self.results):
            truth["collected"] = str(self.collected)
        return truth
