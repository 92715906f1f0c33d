"""The words that banks print, by meaning. They are data, in `vocabulary.yaml`.

Words are compared without case, accents and punctuation. Phrases of scripts without blanks between words are looked for
anywhere in a text; all others as whole words, the longest phrase first.
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.heading_parts import (
    day_role,
    is_of_transaction,
    role_by_parts,
)
from stateward.pipelines.statements.headings import simplify as simplify_heading

CACHE_MAX = 1 << 14
BROKEN_CHARS_MIN = 3  # of the first part of a name that is broken over two lines
HEADING_WORDS_MAX = 6
NAME_WORDS_MAX = 7  # of a balance
_OF = frozenset("of on at as per the from to vom am zum per".split())
SQUEEZED_CHARS_MIN = 10  # a shorter word without blanks may be any word

# The roles of columns.
DATE, VALUE_DATE, TEXT, PARTY, REFERENCE, KIND = (
    "date", "value_date", "text", "party", "reference", "kind",
)  # fmt: skip
DEBIT, CREDIT, AMOUNT, BALANCE, MARK, CURRENCY, OTHER = (
    "debit", "credit", "amount", "balance", "mark", "currency", "other",
)  # fmt: skip
CHECK = "check"  # the number of a cheque, where cheques have their own table
MONEY_ROLES = frozenset({DEBIT, CREDIT, AMOUNT, BALANCE})
AMOUNT_ROLES = frozenset({DEBIT, CREDIT, AMOUNT})
TEXT_ROLES = frozenset({TEXT, PARTY, KIND, REFERENCE, CHECK})
DATE_ROLES = frozenset({DATE, VALUE_DATE})
# What a line can print that is not a row.
WORD_ROLES = frozenset({TEXT, PARTY, KIND})  # columns with words, which rows of all but checks have
NUMBER_ROLES = frozenset({CHECK, REFERENCE})
OPENING, CLOSING, CARRIED = "opening", "closing", "carried"
COUNT, DEBIT_COUNT, CREDIT_COUNT = "count", "debit_count", "credit_count"

# Vowel signs of Devanagari and Thai are not word characters for \\w.
_PUNCTUATION = re.compile(r"[^\w\u0900-\u097f\u0e00-\u0e7f+#/-]+")
_ASCII_PUNCTUATION = re.compile(r"[^a-z0-9+#]+")
_SLASH = re.compile(r"[/_-]+")
_SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Words in a heading that only name the currency of the column: "Amount in EUR".
_CURRENCY_WORDS = frozenset(
    "usd eur gbp chf sek nok dkk pln czk huf ron try rub uah inr cny rmb hkd sgd jpy krw thb idr myr vnd php twd aud"
    " r nzd cad mxn brl ars clp cop pen zar ngn kes egp aed sar ils bgn isk rs us s hk kr kc kč zł zl ft lei tl rp rm"
    " euro euros dollars pounds rupees".split()
)


@lru_cache(maxsize=CACHE_MAX)
def simplify(text: str) -> str:
    """A text without case, accents and punctuation, its words separated by single blanks."""
    if text.isascii():
        bare = text.lower().replace("&", " and ") if "&" in text else text.lower()
        return " ".join(_ASCII_PUNCTUATION.sub(" ", bare).split())
    bare = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in bare if not "\u0300" <= c <= "\u036f")
    bare = unicodedata.normalize("NFC", bare).replace("&", " and ").replace("ı", "i")
    return " ".join(_SLASH.sub(" ", _PUNCTUATION.sub(" ", bare)).split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(filter(None, (simplify(phrase) for phrase in text.split(","))))


class PhraseSet:
    """Phrases of one meaning. Texts must be simplified before they are looked up."""

    def __init__(self, text: str) -> None:
        phrases = _phrases(text)
        self.whole = frozenset(phrase for phrase in phrases if not _SPACELESS.search(phrase))
        self.inside = tuple(sorted(phrases - self.whole, key=len, reverse=True))
        # By their first word, the longest first: one pattern of all would try each of them at each place.
        self._by_word: dict[str, list[list[str]]] = {}
        for words in sorted(map(str.split, self.whole), key=len, reverse=True):
            self._by_word.setdefault(words[0], []).append(words)
        # Where letters are placed one by one, the blanks between words may be lost.
        self._squeezed = frozenset(
            word
            for phrase in self.whole
            if " " in phrase and len(word := phrase.replace(" ", "")) >= SQUEEZED_CHARS_MIN
        )

    def matches(self, text: str) -> bool:
        """Whether a whole text is one of the phrases."""
        if text in self.whole:
            return True
        return not text.isascii() and any(phrase in text for phrase in self.inside)

    def prefix(self, text: str) -> str:
        """The phrase that a text begins with, or ""."""
        words = text.split()
        if words and words[0] in self._squeezed:
            return words[0]
        if words and (found := self._starting(words, 0)):
            return found
        if text.isascii():
            return ""
        return next((phrase for phrase in self.inside if text.startswith(phrase)), "")

    def find(self, text: str) -> str:
        """The first phrase in a text, or ""."""
        words = text.split()
        if not self._squeezed.isdisjoint(words):
            return next(word for word in words if word in self._squeezed)
        for at, word in enumerate(words):
            if word in self._by_word and (found := self._starting(words, at)):
                return found
        if text.isascii():
            return ""
        return next((phrase for phrase in self.inside if phrase in text), "")

    def _starting(self, words: list[str], at: int) -> str:
        for phrase in self._by_word.get(words[at], ()):
            if words[at : at + len(phrase)] == phrase:
                return " ".join(phrase)
        return ""


class _VocabularyFile(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of `vocabulary.yaml`; phrases are separated by commas."""

    headings: dict[str, str]
    balances: dict[str, str]
    dated_balances: str
    totals: dict[str, str]
    sums: str
    titles: dict[str, str]
    title_words: dict[str, str]
    not_booked: str
    invalid: str
    pending: str
    balance_words: dict[str, str]
    periods: str
    statement_dates: str
    cards: str
    banks: str
    accounts: str
    continued: str
    owing: str
    from_words: str
    to_words: str


_DATA = msgspec.yaml.decode(
    (files(__package__) / "vocabulary.yaml").read_bytes(), type=_VocabularyFile
)
# Where two roles have the same words, the first one here gets them.
_ROLES = (
    VALUE_DATE, DATE, BALANCE, DEBIT, CREDIT, AMOUNT, MARK, CURRENCY, PARTY, TEXT, REFERENCE, KIND, OTHER, CHECK,
)  # fmt: skip
_HEADINGS = {role: PhraseSet(_DATA.headings[role]) for role in _ROLES}
_WHOLE = {phrase: role for role in reversed(_ROLES) for phrase in _HEADINGS[role].whole}
BALANCE_LABELS = {kind: PhraseSet(text) for kind, text in _DATA.balances.items()}
TOTAL_LABELS = {kind: PhraseSet(text) for kind, text in _DATA.totals.items()}
TITLES = {role: PhraseSet(text) for role, text in _DATA.titles.items()}
TITLE_WORDS = {role: _phrases(text) for role, text in _DATA.title_words.items()}
_BALANCE_WORDS = {kind: _phrases(text) for kind, text in _DATA.balance_words.items()}
DATED_BALANCES, SUMS = PhraseSet(_DATA.dated_balances), PhraseSet(_DATA.sums)
INVALID = PhraseSet(_DATA.invalid)
PENDING, CONTINUED = PhraseSet(_DATA.pending), PhraseSet(_DATA.continued)
NOT_BOOKED = PhraseSet(f"{_DATA.not_booked}, {_DATA.pending}")
PERIODS, STATEMENT_DATES = PhraseSet(_DATA.periods), PhraseSet(_DATA.statement_dates)
CARDS, BANKS = PhraseSet(_DATA.cards), PhraseSet(_DATA.banks)
FROM_WORDS, TO_WORDS = _phrases(_DATA.from_words), _phrases(_DATA.to_words)
# Every word of a heading, a label or a title, by itself.
WORDS = frozenset(
    word
    for each in (
        *_HEADINGS.values(),
        *BALANCE_LABELS.values(),
        *TOTAL_LABELS.values(),
        DATED_BALANCES,
        SUMS,
    )
    for phrase in each.whole
    for word in phrase.split()
)
ACCOUNTS, OWING = PhraseSet(_DATA.accounts), PhraseSet(_DATA.owing)


def made_balance(text: str) -> str:
    """OPENING or CLOSING by the words of a simplified name that is not listed: `saldo ihrer letzten abrechnung`."""
    words = {word for word in text.split() if word.isalpha() and word not in dates.MONTHS}
    if not words & _BALANCE_WORDS["balance"] or len(words) > NAME_WORDS_MAX:
        return ""
    found = [kind for kind in (OPENING, CLOSING) if words & _BALANCE_WORDS[kind]]
    known = frozenset[str]().union(*_BALANCE_WORDS.values(), FROM_WORDS, TO_WORDS, _OF)
    return found[0] if len(found) == 1 and words <= known else ""


def heading_role(text: str) -> str:
    """The role of a column with this heading, or "" if the heading is unknown."""
    return next(iter(heading_roles(text)), "")


_SIGN_TOLD = re.compile(r"\([-+−–]\)")


@lru_cache(maxsize=CACHE_MAX)
def heading_roles(text: str) -> tuple[str, ...]:
    """The possible roles of a column with this heading, the most likely first."""
    roles = _roles_by_words(text)
    # `Debits/Credits(-)`: what has a sign is an amount, and no mark beside one.
    if roles[:1] == (MARK,) and _SIGN_TOLD.search(text):
        return (AMOUNT,)
    left, slash, right = text.partition("/")
    if slash and {DEBIT, CREDIT} == {
        next(iter(_roles_by_words(each)), "") for each in (left, right)
    }:
        return roles if roles[:1] == (MARK,) else (AMOUNT,)  # `Withdrawal (Dr)/ Deposit (Cr)`
    return roles


def _roles_by_words(text: str) -> tuple[str, ...]:
    """The possible roles by words alone.

    Looked up are the whole text, then the text without currencies and signs, then a phrase at its end or beginning.
    """
    bare_text = simplify(text)
    words = bare_text.split()
    bare = [word for word in words if word not in _CURRENCY_WORDS and not set(word) <= set("+-/#")]
    if not 0 < len(bare) <= HEADING_WORDS_MAX:
        return ()
    if any(a == "in" and b in _CURRENCY_WORDS for a, b in pairwise(words)):
        # `Amount in euro` says in what, not that money comes in.
        bare = [word for word in bare if word != "in"]
    if not bare:
        return ()
    # `Valor em R$` names a currency, and a value date has none.
    if len(bare) < len(words) and [w for w in bare if w not in ("em", "en", "i")] in _VALUES:
        return (AMOUNT,)
    unbroken = simplify(text.replace("- ", ""))  # `Beleg-` over `datum`
    for tried in (" ".join(words), unbroken, " ".join(bare), " ".join(_without_fillers(bare))):
        if tried in _WHOLE:
            return (_WHOLE[tried],)
    if not bare_text.isascii():
        inside = [r for r in _ROLES if any(phrase in bare_text for phrase in _HEADINGS[r].inside)]
        if inside:
            return tuple(inside)
    if len(bare) > 1 and (told := role_by_parts(simplify_heading(text))):
        return (_OF_PARTS.get(told, told),)
    return _by_part(bare)


# The roles of tables under the names that they have here.
_OF_PARTS = {
    "date_plain": DATE, "description": TEXT, "counterparty": PARTY, "fee": OTHER, "before": OTHER,
}  # fmt: skip


def _without_fillers(words: list[str]) -> list[str]:
    """Words of a heading without "in" and the like: `debit in`, `your balance`."""
    return [word for word in words if word not in ("in", "en", "w", "i", "the", "your", "of")]


def _by_part(words: list[str]) -> tuple[str, ...]:
    for size in range(len(words) - 1, 0, -1):
        parts = (" ".join(words[-size:]), " ".join(words[:size]))
        roles = {_WHOLE[part] for part in parts if len(part) > 3 and part in _WHOLE}
        if roles:
            return tuple(sorted(roles, key=_ROLES.index))
    return ()


# Closing balances that may be those of a page only, as the balance that it carries to the next.
_CARRYING = re.compile(
    r"\b(?:carried|c f|c fwd|a reporter|hadapan)\b|结转|过次|過次|繰越|이월|ยกไป"
)


def is_carrying(kind: str, label: str) -> bool:
    """Whether a balance goes on to the next page, by its kind or its label."""
    return kind == CARRIED or bool(_CARRYING.search(label))


# Of those, the ones that are never the last of a statement, as a balance carried to the next month is.
_PASSED_ON = re.compile(
    r"\bubertrag\b(?! von)|\bnext page\b|\b(?:a reporter|suma y sigue|a riportare|do przeniesienia|att overfora)\b"
    r"|\b(?:overføres|transporteren|over te brengen|over te dragen|siirretaan)\b"
    r"|接下|次頁繰越"
)


def is_passed_on(label: str) -> bool:
    """Whether the label of a balance says that the next page goes on with it."""
    return bool(_PASSED_ON.search(label))


def is_maybe_amount(text: str) -> bool:
    """Whether a heading can mean a value date as well as an amount."""
    words = [word for word in simplify(text).split() if word not in _CURRENCY_WORDS]
    return len(words) == 1 and words[0] in _VALUE_WORDS


def is_currency_alone(text: str) -> bool:
    """Whether a heading is nothing but a currency: of amounts in it, or a column of currencies."""
    words = simplify(text).split()
    return bool(words) and _CURRENCY_WORDS.issuperset(words)


def currency_alone(text: str) -> str:
    """The code of the currency that a heading is nothing but the name of; "" for any other, or for several."""
    code = money.currency_code(text) if is_currency_alone(text) else ""
    return code if code in money.CURRENCY_CODES else ""


_VALUE_WORDS = frozenset("valor value wert valeur valore varde vaerdi".split())
_VALUES = [[word] for word in sorted(_VALUE_WORDS)]


def is_booking_date(text: str) -> bool:
    """Whether a heading names the day of a booking, and not that on which something was bought."""
    return day_role(simplify(text.replace("- ", ""))) == "date"


def is_purchase_date(text: str) -> bool:
    """Whether a heading names the day on which something was bought, and not that of its booking."""
    return is_of_transaction(simplify(text.replace("- ", "")))


def begins_heading(text: str) -> bool:
    """Whether a text is the first part of a name that is broken over two lines: `Buchungs-` over `datum`."""
    start = simplify(text[:-1]) if text.endswith("-") else ""
    return len(start) >= BROKEN_CHARS_MIN and any(name.startswith(start) for name in _WHOLE)


def is_exact_heading(text: str) -> bool:
    """Whether a whole text is the name of a column."""
    return simplify(text) in _WHOLE


def is_heading_in_currency(text: str) -> bool:
    """Whether a text is the name of a column of money with its one currency behind it: `Betrag Soll EUR`."""
    *name, last = simplify(text).split() or [""]
    if last not in _CURRENCY_WORDS or not name or not _CURRENCY_WORDS.isdisjoint(name):
        return False
    return heading_role(text) in MONEY_ROLES
