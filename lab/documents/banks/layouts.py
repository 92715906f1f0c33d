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


LAYOUTS: list[Layout] = []
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
