"""Dates and amounts among the words of a line, by their shape alone; `columns` decides which of them count."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import msgspec

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.money import CURRENCY_CODES
from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.kit.pdf.pages import PdfWord

CACHE_MAX = 1 << 16
DATE_WORDS_MAX = 5
MONEY_WORDS_MAX = 5
WORD_GAP = 0.85  # of the height: the widest gap within one date
SIGN_GAP = 1.1  # the widest gap between an amount and its currency or mark
MARK_CHARS_MAX = 3  # longer marks are words of the next text
DAY_MONTH = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}", re.ASCII)
CHARS_MAX = 32
SIGNS = frozenset("€$£¥₹₽₩₺₫₪฿₱₦₴")  # of currencies
FOOTNOTES = "*†‡"  # behind an amount: marks of a footnote

_DIGIT = re.compile(r"[0-9]")
_GROUP = re.compile(r"[0-9]{3}(?:[^0-9]|$)")
_DECIMALS = re.compile(r"[.,][0-9]{2,3}[^0-9]*$")
_CENTS = re.compile(r"[.,][0-9]{2}[^0-9]*$")
_EDGES = money.MINUS + "+()"


class WordSpan(msgspec.Struct, gc=False):
    """The words from `start` up to `end` of a line, read as one date or amount."""

    text: str
    x0: float
    x1: float
    start: int
    end: int


class StatementLine(PdfLine):
    """A line of a statement, with its amounts and its dates, each looked for once.

    `shift` is how far its words were moved across the page (see `two_columns`).
    """

    shift: float = 0.0
    _money: list[WordSpan] | None = None
    _dates: list[WordSpan] | None = None
    _date_at: dict[int, WordSpan | None] | None = None

    @property
    def money(self) -> list[WordSpan]:
        """Every amount in it, found once."""
        if self._money is None:
            self._money = money_in(self.words)
        return self._money

    @property
    def dates(self) -> list[WordSpan]:
        """Every date in it, from left to right."""
        if self._dates is None:
            self._dates = _spans(len(self.words), self.date_at)
        return self._dates

    def date_at(self, start: int) -> WordSpan | None:
        """The longest date that starts with one of its words."""
        if not may_begin_date(self.words[start].text):
            return None
        known = self._date_at
        if known is None:
            known = self._date_at = {}
        if start not in known:
            known[start] = date_at(self.words, start)
        return known[start]

    def forget_words(self) -> None:
        """Look for its amounts, dates and cells again: one of its words was written otherwise."""
        self._money = self._dates = self._date_at = self._cells = None


@lru_cache(maxsize=CACHE_MAX)
def is_date(text: str) -> bool:
    """Whether a text is a date in a place for dates: there, `12.05` is one."""
    return len(text) <= CHARS_MAX and (
        bool(dates.possible_orders(text))
        or (_is_day_month(text) and bool(dates.possible_orders(text + ".")))
    )


@lru_cache(maxsize=CACHE_MAX)
def is_money(text: str) -> bool:
    """Whether a text is an amount by either decimal sign."""
    return len(text) <= CHARS_MAX and bool(_DIGIT.search(text)) and money.is_amount(text)


@lru_cache(maxsize=CACHE_MAX)
def has_decimals(text: str) -> bool:
    """Whether a number prints decimals, which few numbers other than amounts do."""
    return bool(_DECIMALS.search(text))


@lru_cache(maxsize=CACHE_MAX)
def has_cents(text: str) -> bool:
    """Whether a number prints two decimals, which cannot be a group of thousands."""
    return bool(_CENTS.search(text))


@lru_cache(maxsize=CACHE_MAX)
def has_currency(text: str) -> bool:
    """Whether the sign of a currency stands beside a number: then it is an amount, also without decimals."""
    return any(letter in SIGNS for letter in text) and is_money(text)


@lru_cache(maxsize=CACHE_MAX)
def is_beside_money(text: str) -> bool:
    """Whether a word can be part of an amount without digits: a sign, a currency, a mark."""
    bare = text.strip(_EDGES)
    low = bare.casefold()
    return (
        not low
        or low in money.SYMBOLS
        or (low.rstrip(".") in money.MARKS and len(low) <= MARK_CHARS_MAX)
        or bare in CURRENCY_CODES
    )


@lru_cache(maxsize=CACHE_MAX)
def may_begin_date(text: str) -> bool:
    """Whether a word can be the first of a date."""
    return bool(_DIGIT.search(text)) or dates.fold(text.strip(".,")) in _DATE_NAMES


def date_at(words: Sequence[PdfWord], start: int) -> WordSpan | None:
    """The longest date that starts with a word."""
    first = words[start]
    if not may_begin_date(first.text):
        return None
    best = None
    text = ""
    for end in range(start + 1, min(start + DATE_WORDS_MAX, len(words)) + 1):
        word = words[end - 1]
        if end > start + 1:
            last = words[end - 2]
            if word.x0 - last.x1 > WORD_GAP * (last.bottom - last.top):
                break
        text = f"{text} {word.text}" if text else word.text
        bare = text.rstrip(",:;)" + FOOTNOTES)
        if (
            best is not None
            and ":" not in word.text
            and dates.split_date(bare) == dates.split_date(best.text)
        ):
            break  # more words, but not more of a date
        if is_date(bare):
            best = WordSpan(bare, first.x0, word.x1, start, end)
        if text[-1] in ":;)" and best is not None and best.end == end:
            break
    return best


def dates_in(words: Sequence[PdfWord]) -> list[WordSpan]:
    """Every date among words, from left to right."""
    return _spans(len(words), partial(date_at, words))


def money_in(words: Sequence[PdfWord], start: int = 0) -> list[WordSpan]:
    """Every amount of a line, each of as many words as possible; numbers without decimals too."""
    return _spans(len(words), partial(_money_at, words), start)


def _spans(count: int, find: Callable[[int], WordSpan | None], start: int = 0) -> list[WordSpan]:
    """What is found from left to right, each behind the one before it."""
    found: list[WordSpan] = []
    at = start
    while at < count:
        token = find(at)
        if token is not None:
            found.append(token)
        at = token.end if token else at + 1
    return found


@lru_cache(maxsize=CACHE_MAX)
def _may_begin_money(text: str) -> bool:
    return bool(_DIGIT.search(text)) or is_beside_money(text)


def _money_at(words: Sequence[PdfWord], start: int) -> WordSpan | None:
    first = words[start]
    if not _may_begin_money(first.text):
        return None
    best = None
    text = ""
    for end in range(start + 1, min(start + MONEY_WORDS_MAX, len(words)) + 1):
        word = words[end - 1]
        if end > start + 1 and not _is_close(words[end - 2], word):
            break
        is_last = end == len(words) or not _is_close(word, words[end])
        if not _DIGIT.search(word.text) and not _may_follow(text, word.text, is_last=is_last):
            break
        figure = word.text.rstrip(FOOTNOTES)
        text = f"{text} {figure}" if text else figure
        if is_money(text) and _is_one_number(text, words, start, end):
            best = WordSpan(text, first.x0, word.x1, start, end)
    return best


def _may_follow(text: str, word: str, *, is_last: bool) -> bool:
    """Whether a word without digits can continue an amount: at most one sign, one currency, one mark.

    A sign with a currency, as in `-€`, begins the next amount if one follows.
    """
    if not is_beside_money(word):
        return False
    if not _DIGIT.search(text):
        return True
    bare = word.strip(_EDGES)
    is_currency = bare in CURRENCY_CODES or bare.casefold() in money.SYMBOLS
    has_currency = any(
        part.strip(_EDGES) in CURRENCY_CODES or part.strip(_EDGES).casefold() in money.SYMBOLS
        for part in text.split()
    )
    return not (is_currency and (has_currency or (word[0] in _EDGES and not is_last)))


def _is_one_number(text: str, words: Sequence[PdfWord], start: int, end: int) -> bool:
    """Whether digits in several words are groups of thousands: `1 234,56`, and not `4411 27.00`."""
    figures = [word.text for word in words[start:end] if _DIGIT.search(word.text)]
    return len(figures) == 1 or not (has_decimals(figures[0]) or len(figures[0].lstrip("-+(")) > 3)


def _is_close(last: PdfWord, word: PdfWord) -> bool:
    gap = word.x0 - last.x1
    height = last.bottom - last.top
    if _DIGIT.search(last.text) and _DIGIT.search(word.text):
        # In monospaced type a blank is as wide as a digit; only a whole group may stand that far away.
        digit = (word.x1 - word.x0) / len(word.text)
        return gap <= 0.5 * height or (gap <= 1.1 * digit and _GROUP.match(word.text) is not None)
    return gap <= SIGN_GAP * height


def _is_day_month(text: str) -> bool:
    return DAY_MONTH.fullmatch(text) is not None


_DATE_NAMES = frozenset(dates.MONTHS) | dates.WEEKDAYS | {"le", "el", "am", "den"}
