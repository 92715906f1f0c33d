"""Dates as contracts write them out: `August 3, 2004`, `the 3rd day of August, 2004`, `3. August 2004`, `8/3/04`."""

import re
from collections.abc import Iterator
from datetime import date

import msgspec

from stateward.pipelines.contracts.general.words import words

YEAR_MIN, YEAR_MAX = 1950, 2099
MONTHS = (
    ("january", "januar", "jan", "jänner"), ("february", "februar", "feb"), ("march", "märz", "mar", "maerz", "mrz"),
    ("april", "apr"), ("may", "mai"), ("june", "juni", "jun"), ("july", "juli", "jul"), ("august", "aug"),
    ("september", "sept", "sep"), ("october", "oktober", "oct", "okt"), ("november", "nov"),
    ("december", "dezember", "dec", "dez"),
)  # fmt: skip
ORDINALS = words("ordinals")

_MONTH = {name: number for number, names in enumerate(MONTHS, start=1) for name in names}
_DAY = {name: number for number, name in enumerate(ORDINALS, start=1)}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_WORDS = "|".join(sorted(_DAY, key=len, reverse=True)).replace("-", r"[-\s]\s?")
_SUFFIX = r"(?:\s?(?:st|nd|rd|th|t\sh)\b)?"
_YEAR = r"(?P<y>(?:19|20)\d\d)(?!\d)"
_PATTERNS = (
    re.compile(
        rf"\b(?P<m>{_NAMES})\.?\s+(?:the\s+)?(?P<d>\d{{1,2}}){_SUFFIX}\s*[,.]?\s*(?:of\s+)?{_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:(?P<d>\d{{1,2}}){_SUFFIX}|(?P<w>{_WORDS}))\s*[.,]?\s*(?:\(\d{{1,2}}{_SUFFIX}\)\s*)?(?:day\s*,?\s*)?"
        rf"(?:of\s+)?(?P<m>{_NAMES})\.?\s*,?\s*(?:in\s+the\s+year\s+|of\s+)?(?:the\s+year\s+)?{_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<m>{_NAMES})\s+(?P<w>{_WORDS})\s*,?\s*{_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\d/.-])(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)-(?P<d>\d\d)(?!\d)"),
    re.compile(r"(?<![\d/.-])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>(?:19|20)\d\d)(?!\d)"),
    re.compile(
        r"(?<![\d/.-])(?P<a>\d{1,2})(?P<s>[/-])(?P<b>\d{1,2})(?P=s)(?P<y>(?:19|20)?\d\d)(?![\d/])"
    ),
)


class Dated(msgspec.Struct, frozen=True, gc=False):
    """A date that stands in a text."""

    start: int
    end: int
    value: str  # ISO
    is_sure: bool = True  # False: day and month might be the other way round


def dates_in(text: str, start: int = 0, end: int | None = None) -> Iterator[Dated]:
    """Every date of a text, in its order."""
    found = [
        dated
        for pattern in _PATTERNS
        for match in pattern.finditer(text, start, len(text) if end is None else end)
        if (dated := _dated(match)) is not None
    ]
    last = -1
    for dated in sorted(found, key=lambda dated: (dated.start, -dated.end)):
        if dated.start >= last:
            last = dated.end
            yield dated


def _dated(match: re.Match[str]) -> Dated | None:
    parts = match.groupdict()
    year, is_sure = int(parts["y"]), True
    if parts.get("a"):
        first, second = int(parts["a"]), int(parts["b"])
        month, day = (first, second) if first <= 12 else (second, first)
        is_sure = first == second or max(first, second) > 12
    else:
        name = parts["m"].lower()
        month = int(name) if name.isdigit() else _MONTH[name]
        day = _day(parts)
    if year < 100:
        year += 2000 if year < 50 else 1900
    try:
        value = date(year, month, day)
    except ValueError:
        return None
    if not YEAR_MIN <= year <= YEAR_MAX:
        return None
    return Dated(match.start(), match.end(), value.isoformat(), is_sure)


def _day(parts: dict[str, str | None]) -> int:
    if number := parts.get("d"):
        return int(number)
    return _DAY["-".join((parts.get("w") or "").lower().replace("-", " ").split())]
