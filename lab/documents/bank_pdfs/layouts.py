"""The list of layouts, how one is drawn, and how it is changed into one that no bank ever used."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from lab.documents.bank_pdfs.sheet import Sheet, Style
from lab.documents.bank_pdfs.words import SYNONYMS
from lab.documents.statements.paper import A4, LETTER

Draw = Callable[[Sheet], None]


@dataclass(frozen=True)
class Layout:
    """A bank's statement. `family` is what is difficult about it; `fixed` are changes that would make it unreadable."""

    name: str
    country: str
    currency: str
    language: str
    family: str
    draw: Draw
    look: dict[str, object] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()


LAYOUTS: list[Layout] = []
FURTHER: list[Layout] = []  # drawn after the first contact of the others
THIRD: list[Layout] = []  # by another author, who had not read the reader either
SETS = {"first": LAYOUTS, "further": FURTHER, "third": THIRD}


def bank(
    name: str, country: str, currency: str, language: str, family: str, *, fixed: str = "", **look: object
) -> Callable[[Draw], Draw]:  # fmt: skip
    """Register a layout; `look` is its style."""
    return _register(LAYOUTS, name, country, currency, language, family, fixed, look)


def further_bank(
    name: str, country: str, currency: str, language: str, family: str, *, fixed: str = "", **look: object
) -> Callable[[Draw], Draw]:  # fmt: skip
    """Register a layout of the second set."""
    return _register(FURTHER, name, country, currency, language, family, fixed, look)


def third_bank(
    name: str, country: str, currency: str, language: str, family: str, *, fixed: str = "", **look: object
) -> Callable[[Draw], Draw]:  # fmt: skip
    """Register a layout of the third set."""
    return _register(THIRD, name, country, currency, language, family, fixed, look)


def _register(
    layouts: list[Layout], name: str, country: str, currency: str, language: str, family: str, fixed: str, look: dict[str, object]
) -> Callable[[Draw], Draw]:  # fmt: skip
    def register(draw: Draw) -> Draw:
        own = Layout(
            name, country, currency, language, family, draw, look, frozenset(fixed.split())
        )
        layouts.append(own)
        return draw

    return register


def draw(layout: Layout, seed: int, *, is_mutated: bool) -> tuple[bytes, dict[str, object]]:
    """One statement and its truth; the same seed gives the same."""
    style = Style(**layout.look)  # type: ignore[arg-type]
    changes = mutate(layout, style, Random(f"change {layout.name} {seed}")) if is_mutated else []
    sheet = Sheet(Random(f"{layout.name} {seed}"), layout.language, style)
    layout.draw(sheet)
    truth: dict[str, object] = {
        "currency": layout.currency, "transactions": sheet.rows, "family": layout.family, "layout": layout.name,
        "accounts": sheet.balances, "changes": changes,
    }  # fmt: skip
    if len(sheet.balances) == 1:
        truth |= {key: sheet.balances[0][key] for key in ("opening", "closing")}
    return sheet.paper.pdf(), truth


def mutate(layout: Layout, style: Style, random: Random) -> list[str]:
    """Change a layout so that a person would still read it in the same way; gives what was changed."""
    known = [name for name in MUTATIONS if name not in layout.fixed]
    chosen = random.sample(known, k=random.randint(2, 4))
    for name in chosen:
        MUTATIONS[name](layout, style, random)
    return sorted(chosen)


def _font(_: Layout, style: Style, random: Random) -> None:
    style.font, style.bold = random.choice(
        (
            ("times", "times"),
            ("mapped", "mapped"),
            ("courier", "courier"),
            ("bold", "bold"),
            ("", ""),
        )
    )
    if style.font == "courier":
        style.text_size = min(style.text_size, 7.0)


def _page(_: Layout, style: Style, random: Random) -> None:
    style.size = random.choice((A4, LETTER, (612.0, 1008.0), (841.89, 595.28), (728.0, 1031.0)))


def _geometry(_: Layout, style: Style, random: Random) -> None:
    style.margin = random.uniform(28, 62)
    style.leading = style.text_size * random.uniform(1.2, 1.8)
    style.has_rules = random.random() < 0.5


def _size(_: Layout, style: Style, random: Random) -> None:
    style.text_size = random.uniform(6.4, 8.8)
    style.leading = max(style.leading, style.text_size * 1.2)


def _letters(_: Layout, style: Style, __: Random) -> None:
    style.is_lettered = True


def _rename(layout: Layout, style: Style, random: Random) -> None:
    words = SYNONYMS.get(layout.language, {})
    for role in random.sample(sorted(words), k=min(len(words), 2)):
        style.renamed[role] = random.choice(words[role])


def _unhead(_: Layout, style: Style, random: Random) -> None:
    style.unheaded = random.choice(("text", "spare", "date", "balance"))


def _swap(_: Layout, style: Style, random: Random) -> None:
    style.swapped = random.choice(
        (
            ("debit", "credit"),
            ("text", "spare"),
            ("balance", "text"),
            ("amount", "balance"),
            ("text", "amount"),
            ("date", "text"),
        )
    )


def _separator(_: Layout, style: Style, random: Random) -> None:
    forms = (
        ((" ", ","), (".", ","), ("\u00a0", ","))
        if style.point == ","
        else (("", "."), (" ", "."), (",", "."))
    )
    style.thousands, style.point = random.choice(forms)


def _blank(_: Layout, style: Style, random: Random) -> None:
    style.blanked = random.uniform(0.2, 0.7)


def _balances(_: Layout, style: Style, __: Random) -> None:
    style.has_balances = False


MUTATIONS = {
    "font": _font, "page": _page, "geometry": _geometry, "size": _size, "letters": _letters, "rename": _rename, "unhead": _unhead,
    "swap": _swap, "separator": _separator, "blank": _blank, "no-balances": _balances,
}  # fmt: skip
