"""What a layout is: a function from a month of an account to the export of a bank."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from lab.documents.banks.account import Entry
from lab.documents.banks.table import Export


@dataclass(frozen=True)
class Layout:
    """A bank's export. `balances`: whether it prints the balance after each row."""

    name: str
    country: str
    currency: str
    language: str
    write: Callable[[Decimal, list[Entry], Random], Export]
    balances: bool = False
    places: int = 2
    is_structured: bool = False  # a format with its own grammar: it is not mutated
    scale: int = 1


LAYOUTS: list[Layout] = []
FURTHER: list[Layout] = []  # a second set, written later and by another author
THIRD: list[Layout] = []  # by a third author, who had not read the reader either
FOURTH: list[
    Layout
] = []  # of the same author and hour, and not measured before the reader was mended after the third
SETS = {"first": LAYOUTS, "further": FURTHER, "third": THIRD, "fourth": FOURTH}
Writer = Callable[[Decimal, list[Entry], Random], Export]


def bank(
    name: str,
    country: str,
    currency: str,
    language: str,
    *,
    balances: bool = False,
    places: int = 2,
) -> Callable[[Writer], Writer]:
    """Register a layout."""

    def register(write: Writer) -> Writer:
        LAYOUTS.append(Layout(name, country, currency, language, write, balances, places))
        return write

    return register


def further(
    name: str,
    country: str,
    currency: str,
    language: str,
    *,
    balances: bool = False,
    places: int = 2,
    is_structured: bool = False,
) -> Callable[[Writer], Writer]:
    """Register a layout of the second set."""

    def register(write: Writer) -> Writer:
        FURTHER.append(
            Layout(name, country, currency, language, write, balances, places, is_structured)
        )
        return write

    return register


def late(
    layouts: list[Layout], name: str, country: str, currency: str, language: str, *,
    balances: bool = False, places: int = 2, scale: int = 1,
) -> Callable[[Writer], Writer]:  # fmt: skip
    """Register a layout of the third or the fourth set."""

    def register(write: Writer) -> Writer:
        layouts.append(
            Layout(name, country, currency, language, write, balances, places, scale=scale)
        )
        return write

    return register


def split(text: str, amount: Decimal, *, is_unsigned: bool = True) -> tuple[str, str]:
    """The cells of a debit and a credit column for one amount that is written as `text`."""
    shown = text.lstrip("-") if is_unsigned else text
    return (shown, "") if amount < 0 else ("", shown)


def comma(amount: Decimal, *, thousands: str = "", plus: str = "") -> str:
    """As written in most of Europe."""
    text = f"{amount:,.2f}".replace(",", "\0").replace(".", ",").replace("\0", thousands)
    return text if amount < 0 else plus + text


def point(amount: Decimal, *, thousands: str = "", plus: str = "") -> str:
    """As written in English."""
    text = f"{amount:,.2f}".replace(",", thousands)
    return text if amount < 0 else plus + text


def iban(random: Random, country: str) -> str:
    return f"{country}{random.randint(10, 99)}{random.randint(10**9, 10**10)}{random.randint(10**7, 10**8)}"
