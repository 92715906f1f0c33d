"""Lists of due dates that are not those of every month: an amount that is due six times a year is not one of a month.

Nothing here changes a value. A list counts where words of payment stand before it or in its line.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

PAYMENT_CHARS = 100  # before a list
TEXT_CHARS_MAX = 200_000
FULL_DATES_MIN = 3  # two dates with a year may be a start and an end

_NAMES = (
    "jan jän feb mar mär apr mai may jun jul aug sep okt oct nov dez dec".split(),
    (1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12, 12),
)
_NUMBER_OF = dict(zip(*_NAMES, strict=True))
_MONTH = (
    r"(?:Jan(?:uar|uary)?|Jänner|Feb(?:ruar|ruary)?|März|Mar(?:ch)?|Apr(?:il)?|Mai|May|Jun[ei]?|Jul[iy]?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|O[kc]t(?:ober)?|Nov(?:ember)?|De[zc](?:ember)?)\b\.?"
)
_ITEM = (
    rf"(?:\d{{1,2}}\.\s?\d{{1,2}}\.(?:\s?(?:19|20)\d\d)?|\d{{1,2}}/\d{{1,2}}\b|(?:\d{{1,2}}(?:\.|st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH}"
    rf"(?:\s+\d{{1,2}}\b(?!\.))?(?:,?\s(?:19|20)\d\d)?)"
)
_NEXT = (
    r"(?:\s*[,;|]\s*|\s+/\s+|\s*(?:,\s*)?\b(?:und|u\.|sowie|and)\s+|\s*&\s*|[ \t]*\n[ \t]*|\t+)"
    r"(?:(?:am|zum|dem|den|im|on|in|the|jeweils|and|[^\W\d]\w{2,20}\s\d{1,2}:)\s+){0,3}"
)
_LIST = re.compile(rf"(?<![\d.]){_ITEM}(?:{_NEXT}{_ITEM})+", re.IGNORECASE)
_PAYMENT = re.compile(
    r"fällig|zahl|abschl[aä]g|abbuch|abgebucht|buchen|einzug|eingezogen|einziehen|rate|beitr[aä]g|prämie|lastschrift|"
    r"\bdue\b|pay|collect|debit|instalment|installment|premium|charge",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"\d{1,2}[./]\s?(\d{1,2})\b")
_NAMED = re.compile(_MONTH, re.IGNORECASE)
_FULL = re.compile(r"(?:19|20)\d\d")


def uneven_due_dates(text: str) -> str:
    """The first list of due dates that leaves out months, as it is printed; empty if there is none."""
    for found in _LIST.finditer(text[:TEXT_CHARS_MAX]):
        items = re.findall(_ITEM, found[0], re.IGNORECASE)
        if len(items) < FULL_DATES_MIN and any(_FULL.search(each) for each in items):
            continue
        months = list(_months(items))
        if len(months) == len(items) and _leaves_out(months) and _is_payment(text, found):
            return " ".join(found[0].split())
    return ""


def _months(items: list[str]) -> Iterator[int]:
    for each in items:
        if named := _NAMED.search(each):
            yield _NUMBER_OF[named[0][:3].lower()]
        elif numeric := _NUMERIC.match(each):
            yield int(numeric[1])


def _leaves_out(months: list[int]) -> bool:
    """Whether two neighbours are more than a month apart: those of a monthly payment follow each other."""
    return any((second - first) % 12 > 1 for first, second in pairwise(months))


def _is_payment(text: str, found: re.Match[str]) -> bool:
    end = text.find("\n", found.end())
    line = text[found.end() : end if end >= 0 else len(text)]
    before = text[max(0, found.start() - PAYMENT_CHARS) : found.start()]
    before = re.split(r"\n[ \t]*\n", before)[-1]
    # Only the line above belongs to a list, and only where nothing stands before the list in its own line.
    above, newline, own = before.rpartition("\n")
    if newline and not own.strip():
        own = above.rpartition("\n")[2]
    return bool(_PAYMENT.search(f"{own} {found[0]} {line}"))
