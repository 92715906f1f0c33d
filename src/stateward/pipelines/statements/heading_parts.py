"""The role of a column by the words that its heading is made of, where the heading as a whole is not known.

Banks name the same few things in ever other ways: "Datum der Buchung", "Booked on (date)", "Importo dell'operazione".
A heading is understood only if each of its words is: "Credit limit" is no credit, because a limit is none of these
things. The words are data in `headings.yaml`, below `parts`; `-datum` is the end of a compound, `buchung-` the start.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import takewhile

import msgspec

WORDS_MAX = 6
CHARS_MIN = 3  # of a compound's other part
# The first of these sets that a heading contains tells its role.
MEANINGS: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(words.split()), role)
    for words, role in (
        ("other money", "other"),
        ("other balance", "other"),
        ("fee net", "amount"),
        ("fee", "fee"),
        ("balance before", "before"),
        ("balance", "balance"),
        ("date value", "value_date"),
        ("date booked", "date"),
        ("date", "date_plain"),
        ("debit credit", "mark"),
        ("debit", "debit"),
        ("credit", "credit"),
        ("money", "amount"),
        ("currency", "currency"),
        ("party", "counterparty"),
        ("said", "description"),
        ("booked", "date"),
    )
)
# What else a heading of each role may say; "bank" is the account or the card that it is about.
ANYWHERE = frozenset({"filler", "code"})
BESIDE: dict[str, frozenset[str]] = {
    role: ANYWHERE | frozenset(words.split())
    for role, words in {
        "before": "bank booked currency money",
        # `Saldi Dare`, `Debit balance`: still no booking.
        "balance": "bank booked currency money value after transaction debit credit",
        "value_date": "bank booked money transaction",
        "date": "bank money transaction",
        "date_plain": "bank transaction",
        "mark": "money transaction",
        "debit": "money transaction booked currency sum net",
        "credit": "money transaction booked currency sum net",
        "amount": "bank booked currency money net value transaction",
        "currency": "bank transaction booked",
        "counterparty": "said transaction name",
        "description": "transaction booked",
    }.items()
}
# In a name of a day alone: in one of an amount or of a person they say something else.
RECEIVED = frozenset(
    "received recu recue recibido recebido ricevuto erhalten empfangen eingegangen ontvangen mottagen modtaget mottatt"
    " otrzymano prijato entered recorded registered".split()
)
LABELS = frozenset({"balance", "before", "after", "sum", "debit", "credit"})


class _Parts(msgspec.Struct, frozen=True):
    whole: dict[str, frozenset[str]]
    starts: tuple[tuple[str, str], ...]
    ends: tuple[tuple[str, str], ...]


@cache
def _parts() -> _Parts:
    data = msgspec.yaml.decode((files(__package__) / "headings.yaml").read_text("utf-8"))
    return _read_parts(data["parts"])


def _read_parts(meanings: Mapping[str, str]) -> _Parts:
    whole: dict[str, set[str]] = {}
    starts: list[tuple[str, str]] = []
    ends: list[tuple[str, str]] = []
    for meaning, words in meanings.items():
        for word in words.split():
            if word.startswith("-"):
                ends.append((word[1:], meaning))
            elif word.endswith("-"):
                starts.append((word[:-1], meaning))
            else:
                whole.setdefault(word, set()).add(meaning)
    return _Parts({word: frozenset(found) for word, found in whole.items()}, (*starts,), (*ends,))


@lru_cache(maxsize=4096)
def role_by_parts(heading: str) -> str:
    """The role of a heading that is simplified; "" if one of its words is not understood."""
    words = heading.split()
    if not 0 < len(words) <= WORDS_MAX:
        return ""
    meanings = list(takewhile(bool, map(_meanings, words)))
    if len(meanings) < len(words):
        return ""
    found = frozenset[str]().union(*meanings)
    # Twice a date is two columns, and so is a purchase beside its booking.
    is_double = sum("date" in each for each in meanings) > 1
    is_double |= {"transaction", "booked"} <= found and not found & {
        "money",
        "balance",
        "said",
        "date",
    }
    if is_double:
        return ""
    for wanted, role in MEANINGS:
        if wanted <= found:
            return role if role not in BESIDE or found - wanted <= BESIDE[role] else ""
    return ""


def is_label_start(text: str) -> bool:
    """Whether the first word of a simplified text is that of a balance or a sum."""
    return bool(_meanings(text.partition(" ")[0]) & {"balance", "sum"})


def label_words() -> list[str]:
    """The words that labels of balances and totals begin with."""
    parts = _parts()
    found = [word for word, meanings in parts.whole.items() if meanings & LABELS]
    return found + [start for start, meaning in parts.starts if meaning in LABELS]


@lru_cache(maxsize=4096)
def label_by_parts(label: str) -> str:
    """The fact that a simplified label names with all of its words: a balance, or a total; "" for any other text."""
    words = label.split()
    meanings = [_meanings(word) for word in words]
    if not 1 < len(words) <= WORDS_MAX or not all(meanings):
        return ""
    found = frozenset[str]().union(*meanings)
    if "balance" in found:
        return "opening" if "before" in found else "closing"
    if "sum" not in found or found & {"said", "party", "other"}:
        return ""
    sides = found & {"debit", "credit"}
    return "total" if len(sides) != 1 else f"{next(iter(sides))}s"


def day_role(heading: str) -> str:
    """Which day stands below a simplified heading that may name it in other words than those of dates."""
    found = {meaning for word in heading.split() for meaning in _meanings(word)}
    # A day on which something was credited or received is that of its booking: `Received by us`.
    if found & {"booked", "debit", "credit"} or RECEIVED & {*heading.split()}:
        return "date"
    return "date_plain" if "transaction" in found else "value_date"


def is_of_transaction(heading: str) -> bool:
    """Whether a simplified heading is about what was bought or ordered, not about its booking."""
    found = {meaning for word in heading.split() for meaning in _meanings(word)}
    return "transaction" in found and day_role(heading) != "date"


@lru_cache(maxsize=4096)
def _meanings(word: str) -> frozenset[str]:
    parts = _parts()
    if found := parts.whole.get(word):
        return found
    told = {m for start, m in parts.starts if word.startswith(start)}
    told |= {m for end, m in parts.ends if word.endswith(end) and len(word) - len(end) >= CHARS_MIN}
    return frozenset(told)
