"""Lines of a kept text that look like rows of bookings, results or prices, of which nothing was read.

A list that was typed or copied has no table by which another pipeline would know it. That it is only kept must be told.
"""

import re
from collections.abc import Sequence

ROWS_MIN, NEIGHBOURS = (
    3,
    8,
)  # so many rows among so many lines: sentences name an amount here and there
LINE_CHARS_MAX = 160
WORDS_BEFORE_MAX, WORDS_AFTER_MAX, WORDS_BEHIND_BARE_MAX = 8, 3, 1

_NUMBER = re.compile(
    r"(?<![\w.,:/-])[-+\u2212<>≤≥~]{0,2}\s?[$€£¥]?\s?[-+\u2212]?"
    r"(?P<figure>\d{1,3}(?:[.,' \u00a0]\d{3})+(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,4})?)"
    r"(?![\w:/]|[.,-]\d|\.\s?[^\W\d_])"
)
_DECIMALS = re.compile(r"[.,]\d{1,4}$")
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
    r"[:.\t ]\s*(?:(?:non[- ]?|not )?reacti[vf]e?|(?:not )?detected|n[eé]gati[vf][eoa]?|positi[vf][eoa]?"
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
    return bool(_ORDINAL.search(bare) and len(_WORD.findall(bare)) <= WORDS_BEFORE_MAX) or any(
        _is_value(bare, found) for found in _NUMBER.finditer(bare)
    )


def _is_value(line: str, found: re.Match[str]) -> bool:
    """Whether a number is what its line is for: a name before it, its unit or currency beside it, and little behind."""
    before, behind = line[: found.start()], line[found.end() :]
    unit = _POWER.match(behind) or _UNIT.match(behind)
    beside = (behind[unit.end() :] if unit else behind)[:8]
    is_money = bool(_CURRENCY.search(found[0] + beside) or _CURRENCY.search(before[-4:]))
    is_decimal = _DECIMALS.search(found["figure"]) is not None
    named, after = len(_words(before)), len(_words(behind[unit.end() :] if unit else behind))
    if not named:
        return not after and (is_money or unit is not None) and is_decimal
    allowed = WORDS_AFTER_MAX if is_money or unit else WORDS_BEHIND_BARE_MAX
    return named <= WORDS_BEFORE_MAX and after <= allowed and (is_money or bool(unit) or is_decimal)


def _words(text: str) -> list[str]:
    return _WORD.findall(_CURRENCY.sub(" ", text))
