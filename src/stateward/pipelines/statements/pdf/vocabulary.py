"""The words of statements, looked up. They are data, in `vocabulary.yaml`.

Every word is compared without case, accents and punctuation. Scripts that put no blanks between words are looked
for inside a text; all others as whole words, the longest phrase first.
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

import msgspec

CACHE_MAX = 1 << 14
HEADING_WORDS_MAX = 6

# What a column can be.
DATE, VALUE_DATE, TEXT, PARTY, REFERENCE, KIND = (
    "date", "value_date", "text", "party", "reference", "kind",
)  # fmt: skip
DEBIT, CREDIT, AMOUNT, BALANCE, MARK, CURRENCY, OTHER = (
    "debit", "credit", "amount", "balance", "mark", "currency", "other",
)  # fmt: skip
CHECK = "check"  # the number of a cheque, where cheques have a table of their own
MONEY = frozenset({DEBIT, CREDIT, AMOUNT, BALANCE})
MOVES = frozenset({DEBIT, CREDIT, AMOUNT})
WORDY = frozenset({TEXT, PARTY, KIND, REFERENCE, CHECK})
DATED = frozenset({DATE, VALUE_DATE})
# What a line can print besides rows.
OPENING, CLOSING, CARRIED = "opening", "closing", "carried"
COUNT, DEBIT_COUNT, CREDIT_COUNT = "count", "debit_count", "credit_count"

_BARE = re.compile(r"[^\w\u0900-\u097f\u0e00-\u0e7f+#/-]+")  # vowel signs are no letters to \\w
_ASCII_BARE = re.compile(r"[^a-z0-9+#]+")
_SLASH = re.compile(r"[/_-]+")
_SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CODES = frozenset(
    "usd eur gbp chf sek nok dkk pln czk huf ron try rub uah inr cny rmb hkd sgd jpy krw thb idr myr vnd php twd aud"
    " nzd cad mxn brl ars clp cop pen zar ngn kes egp aed sar ils bgn isk rs us s hk kr kc kč zł zl ft lei tl rp rm"
    " euro euros dollars pounds rupees".split()
)


@lru_cache(maxsize=CACHE_MAX)
def plain(text: str) -> str:
    """A text without case, accents and punctuation, its words parted by single blanks."""
    if text.isascii():
        bare = text.lower().replace("&", " and ") if "&" in text else text.lower()
        return " ".join(_ASCII_BARE.sub(" ", bare).split())
    bare = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in bare if not "\u0300" <= c <= "\u036f")
    bare = unicodedata.normalize("NFC", bare).replace("&", " and ").replace("ı", "i")
    return " ".join(_SLASH.sub(" ", _BARE.sub(" ", bare)).split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(filter(None, (plain(phrase) for phrase in text.split(","))))


class Book:
    """Phrases to look for: those of spaced scripts as words, the others anywhere."""

    def __init__(self, text: str) -> None:
        phrases = _phrases(text)
        self.whole = frozenset(phrase for phrase in phrases if not _SPACELESS.search(phrase))
        self.inside = tuple(sorted(phrases - self.whole, key=len, reverse=True))
        spans = sorted((re.escape(phrase) for phrase in self.whole), key=len, reverse=True)
        self._spans = re.compile(rf"(?<!\w)(?:{'|'.join(spans)})(?!\w)") if spans else None

    def is_said(self, text: str) -> bool:
        """Whether a plain text is one of the phrases."""
        if text in self.whole:
            return True
        return not text.isascii() and any(phrase in text for phrase in self.inside)

    def begins(self, text: str) -> str:
        """The phrase that a plain text begins with, or ""."""
        if self._spans is not None and (found := self._spans.match(text)):
            return found[0]
        if text.isascii():
            return ""
        return next((phrase for phrase in self.inside if text.startswith(phrase)), "")

    def found(self, text: str) -> str:
        """The first phrase in a plain text, or ""."""
        if self._spans is not None and (found := self._spans.search(text)):
            return found[0]
        if text.isascii():
            return ""
        return next((phrase for phrase in self.inside if phrase in text), "")


class _Words(msgspec.Struct, forbid_unknown_fields=True):
    """The file, as it stands."""

    headings: dict[str, str]
    balances: dict[str, str]
    dated_balances: str
    totals: dict[str, str]
    sums: str
    titles: dict[str, str]
    not_booked: str
    periods: str
    statement_dates: str
    cards: str
    banks: str
    accounts: str
    continued: str
    owing: str
    from_words: str
    to_words: str


_DATA = msgspec.yaml.decode((files(__package__) / "vocabulary.yaml").read_bytes(), type=_Words)
# Where two roles claim the same words, the one that stands first here keeps them.
_ROLES = (
    VALUE_DATE, DATE, BALANCE, DEBIT, CREDIT, AMOUNT, MARK, CURRENCY, PARTY, TEXT, REFERENCE, KIND, OTHER, CHECK,
)  # fmt: skip
_HEADINGS = {role: Book(_DATA.headings[role]) for role in _ROLES}
_WHOLE = {phrase: role for role in reversed(_ROLES) for phrase in _HEADINGS[role].whole}
BALANCE_BOOKS = {kind: Book(text) for kind, text in _DATA.balances.items()}
TOTAL_BOOKS = {kind: Book(text) for kind, text in _DATA.totals.items()}
TITLE_BOOKS = {role: Book(text) for role, text in _DATA.titles.items()}
DATED_BALANCE_BOOK, SUM_BOOK = Book(_DATA.dated_balances), Book(_DATA.sums)
NOT_BOOKED_BOOK, CONTINUED_BOOK = Book(_DATA.not_booked), Book(_DATA.continued)
PERIOD_BOOK, STATEMENT_DATE_BOOK = Book(_DATA.periods), Book(_DATA.statement_dates)
CARD_BOOK, BANK_BOOK = Book(_DATA.cards), Book(_DATA.banks)
FROM, TO = _phrases(_DATA.from_words), _phrases(_DATA.to_words)
ACCOUNT_BOOK, OWING_BOOK = Book(_DATA.accounts), Book(_DATA.owing)


def heading_role(text: str) -> str:
    """What a column of this heading holds, or "" if no such heading is known."""
    return next(iter(heading_roles(text)), "")


@lru_cache(maxsize=CACHE_MAX)
def heading_roles(text: str) -> tuple[str, ...]:
    """What a column of this heading may hold, the likeliest first.

    The whole text first; then without currencies and signs; then by a phrase that it ends with or begins with.
    """
    bare_text = plain(text)
    words = bare_text.split()
    bare = [word for word in words if word not in _CODES and not set(word) <= set("+-/#")]
    if not 0 < len(bare) <= HEADING_WORDS_MAX:
        return ()
    for tried in (" ".join(words), " ".join(bare), " ".join(_unfilled(bare))):
        if tried in _WHOLE:
            return (_WHOLE[tried],)
    if not bare_text.isascii():
        inside = [r for r in _ROLES if any(phrase in bare_text for phrase in _HEADINGS[r].inside)]
        if inside:
            return tuple(inside)
    return _by_part(bare)


def _unfilled(words: list[str]) -> list[str]:
    """Words of a heading without "in" and the like: `amount in`, `debit in euro`."""
    return [word for word in words if word not in ("in", "en", "w", "i", "the", "your", "of")]


def _by_part(words: list[str]) -> tuple[str, ...]:
    for size in range(len(words) - 1, 0, -1):
        parts = (" ".join(words[-size:]), " ".join(words[:size]))
        roles = {_WHOLE[part] for part in parts if len(part) > 3 and part in _WHOLE}
        if roles:
            return tuple(sorted(roles, key=_ROLES.index))
    return ()


def is_maybe_amount(text: str) -> bool:
    """Whether a heading that can mean a value date can mean an amount as well."""
    return plain(text) in _EITHER


_EITHER = frozenset("valor value wert valeur valore varde vaerdi".split())


def is_exact_heading(text: str) -> bool:
    """Whether a text as it stands is the name of a column."""
    return plain(text) in _WHOLE
