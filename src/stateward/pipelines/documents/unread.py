"""Lines of a kept text that look like rows of bookings, results or prices, of which nothing was read.

A list that was typed or copied has no table by which another pipeline would know it. That it is only kept must be told.
"""

import re
from collections.abc import Sequence
from itertools import islice

ROWS_MIN, NEIGHBOURS = (
    3,
    8,
)  # so many rows among so many lines: sentences name an amount here and there
LINE_CHARS_MAX = 160
NUMBERS_MAX = 8  # of a line that are looked at
WORDS_BEFORE_MAX, WORDS_AFTER_MAX, WORDS_BEHIND_BARE_MAX = 8, 3, 1

_NUMBER = re.compile(
    r"(?<![\w.,:/-])[-+\u2212<>≤≥~]{0,2}\s?[$€£¥]?\s?[-+\u2212]?"
    r"(?P<figure>\d{1,3}(?:[.,' \u00a0]\d{3})+(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,4})?)"
    r"(?![\w:/]|[.,-]\d|\.\s?[^\W\d_]|\.$|\s?km/h|\s?m/s)"
)
_CENTS = re.compile(r"[.,]\d\d$")
_DECIMALS = re.compile(r"[.,]\d{1,4}$")
# Before an amount without a currency: a day, a colon, dots that lead to it, or its sign.
_DAY = re.compile(
    r"\W{0,3}(?:\d{1,4}[./-]\d{1,2}\b|\d{1,2}\.? [^\W\d_]{3,9}\b|[^\W\d_]{3,9}\.? \d{1,2}\b)"
)
_LEADER = re.compile(r"(?::|\.{3}|…)\s*$")
_CURRENCY = re.compile(
    r"[$€£¥]|\b(?:EUR|USD|GBP|CHF|euros?|dollars?|pounds?|z[lł]|kr|K[cč])\b", re.IGNORECASE
)
# Two parts around a slash, or one of the units that laboratories and instruments print alone.
_UNIT = re.compile(
    r"\s?(?:[^\W\d]{0,4}\d?\d?[\^*]?\d{0,2}[^\W\d]{0,8}/\s?[^\W\d]\w{0,6}|%|‰|[fp][lLg]\b|[mk]?Pa\b|[mµn]?mol\b)"
)
_POWER = re.compile(r"\s?(?:[x\u00d7*]\s?)?10[\^*]?[⁰-⁹\d]{1,2}\s?/")
_CLOCK = re.compile(
    r"\d{1,2}[.:]\d\d\s?(?:h|Uhr|am|pm|a\.m\.|p\.m\.|[-\u2013]\s?\d{1,2}[.:]\d\d)(?!\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_BRACKETS = re.compile(r"\([^()]{0,60}\)|\[[^\[\]]{0,60}\]")
_ORDINAL = re.compile(
    r"[:\t]\s*(?:(?:non[- ]?|not )?reacti[vf]e?|(?:not )?detected|n[eé]gati[vf][eoa]?|positi[vf][eoa]?"
    r"|nicht nachweisbar)\W*$",
    re.IGNORECASE,
)  # fmt: skip


def unread_lines(lines: Sequence[str]) -> list[int]:
    """The numbers, from 1, of the lines that look like rows; none if there are too few of them together."""
    rows = [number for number, line in enumerate(lines, start=1) if _is_row(line)]
    found = dict[int, None]()
    for first in range(len(rows) - ROWS_MIN + 1):
        together = rows[first : first + ROWS_MIN]
        if together[-1] - together[0] < NEIGHBOURS:
            found |= dict.fromkeys(together)
    return list(found)


def _is_row(line: str) -> bool:
    if len(line) > LINE_CHARS_MAX:
        return False
    bare = _CLOCK.sub(" ", _BRACKETS.sub(" ", line)).strip()
    if _ORDINAL.search(bare) and len(_WORD.findall(bare)) <= WORDS_BEFORE_MAX:
        return True
    numbers = list(islice(_NUMBER.finditer(bare), NUMBERS_MAX))
    is_column = sum(bool(_DECIMALS.search(each["figure"])) for each in numbers) > 1
    return any(_is_value(bare, each, is_column=is_column) for each in numbers)


def _is_value(line: str, found: re.Match[str], *, is_column: bool) -> bool:
    """Whether a number is what its line is for: a name before it, its unit or currency beside it, and little behind.

    One without either is a value only with cents behind a day, a colon or its sign, or beside others with decimals:
    versions and chapters have decimals, too.
    """
    before, behind = line[: found.start()], line[found.end() :]
    unit = _POWER.match(behind) or _UNIT.match(behind)
    rest = behind[unit.end() :] if unit else behind
    is_money = bool(_CURRENCY.search(found[0] + rest[:8]) or _CURRENCY.search(before[-4:]))
    is_told = is_money or unit is not None
    if not is_told and not (
        is_column or (_CENTS.search(found["figure"]) and _leads(before, found[0]))
    ):
        return False
    if not is_told and not _DECIMALS.search(found["figure"]):
        return False
    named, after = len(_words(before)), len(_words(rest))
    if not named:
        return not after and is_told and _DECIMALS.search(found["figure"]) is not None
    allowed = WORDS_AFTER_MAX if is_told else WORDS_BEHIND_BARE_MAX
    return named <= WORDS_BEFORE_MAX and after <= allowed


def _leads(before: str, number: str) -> bool:
    return bool(_DAY.match(before) or _LEADER.search(before)) or number.lstrip()[:1] in "+-\u2212"


def _words(text: str) -> list[str]:
    return _WORD.findall(_CURRENCY.sub(" ", text))
