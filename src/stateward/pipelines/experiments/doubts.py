"""Values that fit their schema and may still be faults: nothing is left out for them, a person is told."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from heapq import nlargest, nsmallest
from itertools import pairwise

OUTLIER = "OUTLIER"
LEVEL_SHIFT = "LEVEL_SHIFT"
REPEATED_ROWS = "REPEATED_ROWS"
REPEATED_KEY = "REPEATED_KEY"
SUMMARY_ROWS = "SUMMARY_ROWS"
VALUES_MIN = 8  # with fewer, nothing is far from the others
DISTINCT_MIN = 4  # with fewer, as of a switch or a constant, there is no range that others could lie outside of
DILUTED = 2  # times the value before: such a series has no far end
# How many times the range of all others a value must lie outside of it. Once is enough of a share above the whole, and
# of the only negative number.
FAR, FAR_OF_PERCENT, FAR_OF_NEGATIVE = 3, 1, 1
# Two levels without anything between them, in rows one after the other: so many of each, and so few changes.
LEVEL_ROWS_MIN, LEVEL_CHANGES_MAX = 4, 2
KEYS_REPEATED_MAX = 2
PERCENT, WHOLE = "%", 100
NINES = re.compile(
    r"-?9{3,8}(?:\.[09]{1,4})?|-([6-9])\1"
)  # that instruments write for a missing value, and are told of apart
SENTINEL_FACTOR = 10  # of the largest other value
# What the first cell of a row of sums or means says; most other rows say something else.
_SUMMARY = re.compile(
    r"(?:grand |sub-?)?(?:totals?|totale|totaal|summe|sum|somme|suma|soma|gesamt(?:summe)?|insgesamt|mean|average|avg"
    r"|mittel(?:wert)?|durchschnitt|moyenne|m[eé]dia|promedio|gemiddelde?|median|sd|s\.d\.|std\.?"
    r"|st\.? ?dev\.?|stdev|sem|cv|min(?:imum)?|max(?:imum)?)[:.]?",
    re.IGNORECASE,
)
SUMMARY_SHARE = 0.5  # of the rows
_KEY = re.compile(r"[^\W\d_]{1,8}[-_ ]?[0-9]{1,8}[a-z]?")

_MEASURED = re.compile(
    r"[+-]?[0-9]+(?P<part>[.,][0-9]+)?\s*(?![eE][+-]?[0-9])(?P<unit>[^\d\s.,;+-][^\s.,;]{0,9})"
)
UNITS_MAX = 3  # different ones that are told of

Rows = Sequence[Mapping[str, str | None]]


def is_apart(value: Decimal, least: Decimal, most: Decimal) -> bool:
    """Whether nines are told of as a missing value: the only negative number, or far beyond all others."""
    is_only_negative = value < 0 <= least
    return is_only_negative or abs(value) > SENTINEL_FACTOR * max(abs(least), abs(most))


def outlier(texts: Sequence[str], unit: str) -> tuple[str, str, str] | None:
    """A single number far outside of all others, with their least and largest; None if there is none."""
    if len(texts) < VALUES_MIN:
        return None
    numbers = [float(text) for text in texts]
    distinct = sorted({*numbers})
    is_diluted = distinct[0] > 0 and all(two >= DILUTED * one for one, two in pairwise(distinct))
    if len(distinct) < DISTINCT_MIN or is_diluted:
        return None
    (low, next_low), (high, next_high) = nsmallest(2, numbers), nlargest(2, numbers)
    factor = FAR_OF_PERCENT if unit == PERCENT and high > WHOLE >= next_high else FAR
    factor_below = FAR_OF_NEGATIVE if low < 0 <= next_low else FAR
    ends = (
        (high, low, next_high, high - next_high, factor),
        (low, next_low, high, next_low - low, factor_below),
    )
    for value, least, most, distance, times in ends:
        if distance > times * (most - least):
            value_text, least_text, most_text = (
                texts[numbers.index(each)] for each in (value, least, most)
            )
            return value_text, least_text, most_text
    return None


def level_shift(
    column: str, rows: Rows, groups: Sequence[str]
) -> tuple[int, str, str, str, str] | None:
    """Where a column goes over to quite another level, as where its unit changed; None if it does not.

    It is told by the first such row, counted from 1, and the ends of the level before and after it. A group that
    changes with the level, in one of the columns `groups`, explains it.
    """
    found = [
        (at, text, float(text)) for at, row in enumerate(rows) if (text := row[column]) is not None
    ]
    if len(found) < 2 * LEVEL_ROWS_MIN:
        return None
    ordered = sorted(found, key=lambda each: each[2])
    cut = max(range(1, len(ordered)), key=lambda at: ordered[at][2] - ordered[at - 1][2])
    low, high = ordered[:cut], ordered[cut:]
    widest = max(low[-1][2] - low[0][2], high[-1][2] - high[0][2])
    if min(len(low), len(high)) < LEVEL_ROWS_MIN or not widest:
        return None
    is_high = [each[2] >= high[0][2] for each in found]
    changes = [at for at, (one, two) in enumerate(pairwise(is_high), start=1) if one != two]
    is_parted = high[0][2] - low[-1][2] > FAR * widest
    if not is_parted or len(changes) > LEVEL_CHANGES_MAX:
        return None
    if any(
        _explains(group, rows, [at for at, *_ in low], [at for at, *_ in high]) for group in groups
    ):
        return None
    before, after = (high, low) if is_high[0] else (low, high)
    ends = before[0][1], before[-1][1], after[0][1], after[-1][1]
    return found[changes[0]][0] + 1, *ends


def _explains(group: str, rows: Rows, low: Sequence[int], high: Sequence[int]) -> bool:
    """Whether a column has other values at one level than at the other, and few of them."""
    sides = [{rows[at][group] for at in side} for side in (low, high)]
    return sides[0].isdisjoint(sides[1]) and 2 * sum(map(len, sides)) <= len(low) + len(high)


def units_in_cells(texts: Sequence[str]) -> list[str]:
    """The units of a column whose cells are numbers with their units, as `12.1 mm`; none of one of codes, as `12B`."""
    found = [_MEASURED.fullmatch(text.strip()) for text in texts]
    told = [each for each in found if each is not None]
    if len(told) < max(len(texts), 2):
        return []
    units = [*dict.fromkeys(each["unit"] for each in told)]
    return units if any(each["part"] for each in told) and len(units) <= UNITS_MAX else []


def repeated_rows(rows: Rows) -> tuple[int, str]:
    """How many rows are the same as the one before, and a column whose values otherwise all differ; (0, "") if none."""
    same = sum(one == two for one, two in pairwise(rows))
    if not same:
        return 0, ""
    for name in rows[0]:
        texts = [row[name] for row in rows]
        if None not in texts and len({*texts}) == len(texts) - same:
            return same, name
    return 0, ""


def repeated_keys(rows: Rows) -> tuple[str, list[str]]:
    """The first column if it numbers the rows, as `P07` does, and the numbers that come again; ("", []) if none."""
    name = next(iter(rows[0]), "") if len(rows) >= VALUES_MIN else ""
    texts = [row[name] or "" for row in rows] if name else []
    repeated = [text for text, times in Counter(texts).items() if times > 1]
    is_key = all(map(_KEY.fullmatch, texts)) and len(repeated) <= KEYS_REPEATED_MAX
    is_rare = len(texts) - len({*texts}) <= KEYS_REPEATED_MAX
    return (name, repeated) if repeated and is_key and is_rare else ("", [])


def summary_rows(rows: Rows) -> tuple[str, list[str]]:
    """The first column, and the words by which rows say that they sum up others; ("", []) if none do."""
    name = next(iter(rows[0]), "") if rows else ""
    texts = [row[name] or "" for row in rows] if name else []
    found = [text for text in texts if _SUMMARY.fullmatch(text.strip())]
    is_some = found and len(found) < SUMMARY_SHARE * len(texts)
    return (name, [*dict.fromkeys(found)]) if is_some else ("", [])


def doubts_of(
    name: str, numeric: Sequence[tuple[str, str]], rows: Rows, groups: Sequence[str] = ()
) -> Iterator[str]:
    """What a person should look at in a table.

    `numeric` are its columns of numbers with their units, `groups` those that may say what a row belongs to.
    """
    for column, unit in numeric:
        texts = [text for row in rows if (text := row[column]) is not None]
        found = outlier(texts, unit)
        if found and not (NINES.fullmatch(found[0]) and is_apart(*map(Decimal, found))):
            value, least, most = found
            yield (
                f"{OUTLIER}: {name}, {column}: {value} lies far outside of all others ({least} to {most}), and is "
                "counted like them"
            )
        if shift := level_shift(column, rows, [group for group in groups if group != column]):
            row, *ends = shift
            yield (
                f"{LEVEL_SHIFT}: {name}, {column}: {ends[0]} to {ends[1]} before, {ends[2]} to {ends[3]} from row "
                f"{row} on, and nothing between; if the unit or the instrument changed, the statistics mix two things"
            )
    column, words = summary_rows(rows) if numeric else ("", [])
    if words:
        yield (
            f"{SUMMARY_ROWS}: {name}, {column}: {', '.join(words)} seems to sum up other rows, and is counted like "
            "them; leave such rows out"
        )
    count, key = repeated_rows(rows)
    if count:
        yield (
            f"{REPEATED_ROWS}: {name}: {count} rows are the same as the one before, also in {key}, which otherwise "
            "never repeats; they are counted"
        )
        return
    column, keys = repeated_keys(rows)
    if keys:
        yield (
            f"{REPEATED_KEY}: {name}, {column}: {', '.join(keys)} stands in several rows, and otherwise each row has "
            "its own; they are counted"
        )
