"""Dates as contracts write them out: `August 3, 2004`, `the 3rd day of August, 2004`, `3. August 2004`, `8/3/04`."""

import re

from stateward.pipelines.contracts.general.word_lists import words
from stateward.pipelines.kit.date_finder import DateFinder, FoundDate
from stateward.pipelines.kit.dates import month_names

YEARS = (1950, 2099)
# Contracts of the fifties and sixties are among the samples, none of the fifties to come.
CENTURY_PIVOT = 50
ORDINALS = words("ordinals")

_MONTHS = month_names("de", "en")
_DAY_WORDS = {name: number for number, name in enumerate(ORDINALS, start=1)}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WORDS = "|".join(sorted(_DAY_WORDS, key=len, reverse=True)).replace("-", r"[-\s]\s?")
_SUFFIX = r"(?:\s?(?:st|nd|rd|th|t\sh)\b)?"
_YEAR = r"(?P<y>(?:19|20)\d\d)(?!\d)"
_FINDER = DateFinder(
    (
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
    ),
    months=_MONTHS,
    day_words=_DAY_WORDS,
    years=YEARS,
    century_pivot=CENTURY_PIVOT,
    anchor=re.compile(r"(?:19|20)\d\d|[/-]\d{1,2}[/-]\d\d"),
)


def dates_in(text: str, start: int = 0, end: int | None = None) -> list[FoundDate]:
    """Every date of a text, in its order; dates with slashes or dashes are month first, as in American contracts."""
    found = _FINDER.find(text, order="mdy", start=start, end=end)
    return sorted(found, key=lambda dated: dated.start)
