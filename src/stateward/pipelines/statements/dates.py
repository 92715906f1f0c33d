"""Printed dates, read exactly, and `None` for whatever is not a date.

Whether 05/06/2024 is in May or in June cannot be seen from one date, so the order is voted over a whole column
(`vote_order`) and stays undecided where nothing decides it. A date that starts with its year is never re-ordered.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

CACHE_MAX = 1 << 16
TEXT_CHARS_MAX = 60
YEAR_MIN, YEAR_MAX = 1900, 2199
BUDDHIST = 543
BUDDHIST_FROM = 2400
CENTURY_PIVOT = 70  # 70..99 are of the last century, 00..69 of this one
DAYS_NEAR = 45

ORDERS = ("ymd", "dmy", "mdy")

# Twelve names each, full and short, as people print them; accents, dots and case do not matter.
MONTH_TABLE = """
en January February March April May June July August September October November December
en Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
en Jan Feb Mar Apr May June July Aug Sept Oct Nov Dec
de Januar Februar März April Mai Juni Juli August September Oktober November Dezember
de Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez
de Jänner Feber Maerz Apr Mai Jun Jul Aug Sept Okt Nov Dez
fr janvier février mars avril mai juin juillet août septembre octobre novembre décembre
fr janv févr mars avr mai juin juil août sept oct nov déc
fr jan fév mar avr mai jui jul aoû sep oct nov déc
es enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
es ene feb mar abr may jun jul ago sep oct nov dic
es ene febr mzo abr my jun jul agto setiembre oct nov dic
it gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
it gen feb mar apr mag giu lug ago set ott nov dic
nl januari februari maart april mei juni juli augustus september oktober november december
nl jan feb mrt apr mei jun jul aug sep okt nov dec
pt janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
pt jan fev mar abr mai jun jul ago set out nov dez
pl styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
pl stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
pl sty lut mar kwi maj cze lip sie wrz paź lis gru
sv januari februari mars april maj juni juli augusti september oktober november december
da januar februar marts april maj juni juli august september oktober november december
no januar februar mars april mai juni juli august september oktober november desember
no jan feb mars apr mai jun jul aug sep okt nov des
fi tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu
cs ledna února března dubna května června července srpna září října listopadu prosince
tr Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık
tr Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara
id Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember
th ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.
th มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
"""
FILLERS = frozenset("de del of the st nd rd th er e den am le el".split())
WEEKDAYS = frozenset(
    "mo tu we th fr sa su mon tue wed thu fri sat sun tues thur thurs di mi do so mon mar mer jeu ven sam dim lun "
    "mie jue vie sab dom gio ven ma wo vr za zo monday tuesday wednesday thursday friday saturday sunday montag "
    "dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes "
    "martes miercoles jueves viernes sabado domingo maandag dinsdag woensdag donderdag vrijdag zaterdag zondag".split()
)

_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ].{0,30})?", re.ASCII)
_NUMERIC = re.compile(
    r"([0-9]{1,4})\s?([./\-\u2010-\u2015])\s{0,2}([0-9]{1,2})(?:\s?[./\-\u2010-\u2015'\u2019]\s?([0-9]{4}|[0-9]{1,2}))?\.?"
    r"(?:,?[T ]+(?P<time>[0-9]{1,2}[:.h][0-9]{2}.{0,20}))?",
    re.ASCII,
)
_COMPACT = re.compile(r"([0-9]{8})(?:[0-9]{4}(?:[0-9]{2})?(?:\.[0-9]{1,6})?)?(?:\s*\[.{0,12}\])?Z?")
_SHORT = re.compile(r"[0-9]{6}", re.ASCII)
_TOKENS = re.compile(r"[0-9]+|[^\W\d_]+(?:[.\u0e00-\u0e7f]*[\u0e00-\u0e7f])?")
_TIME_TAIL = re.compile(
    r"[,T ]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?(?:\s?[ap]m)?$", re.IGNORECASE
)


class Parts(NamedTuple):
    """The numbers of a date in the order printed; `order` is set where the text itself says it."""

    numbers: tuple[int, ...]  # two (no year) or three
    order: str = ""  # "ymd", "dmy", "mdy"; "" = by the terms; "dm" and "md" have no year
    separator: str = ""
    year_digits: int = 4


class Vote(NamedTuple):
    """What a column says of the order of its dates. `order` "" is undecided."""

    order: str
    era: int
    why: str
    against: int = 0


def fold(text: str) -> str:
    """A name without case, dots and Latin accents."""
    bare = unicodedata.normalize("NFD", text.casefold().replace(".", "").replace("ı", "i"))
    return unicodedata.normalize("NFC", "".join(c for c in bare if not "\u0300" <= c <= "\u036f"))


MONTHS = {
    fold(name): number
    for line in MONTH_TABLE.strip().splitlines()
    for number, name in enumerate(line.split()[1:], start=1)
}


@lru_cache(maxsize=CACHE_MAX)
def parts(text: str) -> Parts | None:
    """A date in its parts; None if the text is not one, or holds more than one."""
    text = text.strip()
    if not text or len(text) > TEXT_CHARS_MAX:
        return None
    if found := _ISO.fullmatch(text):
        return Parts((int(found[1]), int(found[2]), int(found[3])), "ymd", "-")
    if found := _NUMERIC.fullmatch(text):
        return _numeric(found)
    if found := _COMPACT.fullmatch(text):
        return _compact(found[1])
    if _SHORT.fullmatch(text):
        return Parts((int(text[:2]), int(text[2:4]), int(text[4:])), "", "", 2)
    return _named(text)


@lru_cache(maxsize=CACHE_MAX)
def read(text: str, order: str, era: int = 0, year: int = 0) -> date | None:
    """The date that a text is in this order. `year` is used where none is printed."""
    found = parts(text)
    if found is None:
        return None
    if found.order in ("dm", "md") or len(found.numbers) == 2:
        return _without_year(found, order, year)
    return _made(found.numbers, found.order or order, era, found.year_digits)


def is_date(text: str) -> bool:
    """Whether a text is a date in any order."""
    return bool(orders(text))


@lru_cache(maxsize=CACHE_MAX)
def orders(text: str) -> frozenset[str]:
    """The orders in which a text is a date. One without a year is taken for a leap year."""
    found = parts(text)
    if found is None:
        return frozenset()
    if len(found.numbers) == 2:
        ways = {"dmy": _without_year(found, "dmy", 2024), "mdy": _without_year(found, "mdy", 2024)}
        if found.order:
            ways = dict.fromkeys(ORDERS, ways["dmy" if found.order == "dm" else "mdy"])
        return frozenset(name for name, day in ways.items() if day)
    names = (found.order,) if found.order else ORDERS
    return frozenset(
        name for name in names if _made(found.numbers, name, 0, found.year_digits) is not None
    )


def has_year(text: str) -> bool:
    """Whether a date prints its year."""
    found = parts(text)
    return found is not None and len(found.numbers) == 3


def vote_order(texts: Iterable[str], *, usual: str = "", why_usual: str = "") -> Vote:
    """The order of a column of dates, by those that can be read in one way only.

    `usual` decides where no date does, and only then: what the language of the headings or a setting says.
    """
    counts = dict.fromkeys(ORDERS, 0)
    sample: dict[str, str] = {}
    open_count, era, dots = 0, 0, 0
    for text in texts:
        found, ways = parts(text), orders(text)
        if found is None or not ways:
            continue
        era = era or _era(found)
        if found.order:  # it says its own order, and nothing of the others
            continue
        ways = _likely(ways, found)
        if len(ways) == 1:
            (way,) = ways
            counts[way] += 1
            sample.setdefault(way, text)
        elif found.numbers[0] != found.numbers[1]:
            open_count += 1
            dots += found.separator == "."
    return _verdict(
        counts, sample, open_count=open_count, dots=dots, usual=(usual, why_usual), era=era
    )


def complete(text: str, order: str, *, start: date, end: date) -> date | None:
    """A date that prints no year, in the year that puts it into (or nearest to) a period."""
    days = [read(text, order, 0, year) for year in range(start.year - 1, end.year + 2)]
    found = [day for day in days if day is not None]
    return min(found, key=lambda day: _distance(day, start, end)) if found else None


def is_near(day: date, start: date, end: date, *, days: int = DAYS_NEAR) -> bool:
    """Whether a day lies in a period, or so little outside that only its booking was late."""
    return start - timedelta(days=days) <= day <= end + timedelta(days=days)


def _distance(day: date, start: date, end: date) -> int:
    if day < start:
        return (start - day).days
    return (day - end).days if day > end else 0


def _verdict(
    counts: dict[str, int],
    sample: dict[str, str],
    *,
    open_count: int,
    dots: int,
    usual: tuple[str, str],
    era: int,
) -> Vote:
    if any(counts.values()):
        won = max(ORDERS, key=lambda name: counts[name])
        against = sum(counts.values()) - counts[won]
        if against >= counts[won]:
            names = " and ".join(repr(text) for text in sample.values())
            return Vote("", era, f"{names} contradict each other", against)
        many = f"{counts[won]} dates such as" if counts[won] > 1 else "one date,"
        why = f"{_said(won)}: {many} {sample[won]!r} can be read in no other way"
        return Vote(won, era, why, against)
    if open_count:
        return _fallback(open_count, dots, usual, era)
    return Vote(usual[0] or "ymd", era, "every date says its own order")


def _fallback(open_count: int, dots: int, usual: tuple[str, str], era: int) -> Vote:
    if dots == open_count:
        return Vote("dmy", era, "day first: the dates are written with points")
    if usual[0]:
        return Vote(usual[0], era, usual[1])
    return Vote("", era, "every date could be day first or month first")


def _said(order: str) -> str:
    return {"ymd": "year first", "dmy": "day first", "mdy": "month first"}[order]


def _likely(ways: frozenset[str], found: Parts | None) -> frozenset[str]:
    """Without the year-first reading of a short year, unless it is the only one."""
    if found is not None and found.year_digits == 2 and len(ways) > 1:
        return ways - {"ymd"}
    return ways


def _era(found: Parts) -> int:
    return BUDDHIST if any(BUDDHIST_FROM <= n < BUDDHIST_FROM + 300 for n in found.numbers) else 0


def _numeric(found: re.Match[str]) -> Parts | None:
    first, separator, second, third = found[1], found[2], found[3], found[4]
    separator = "-" if separator > "\u2000" else separator
    if len(first) == 3:
        return None
    if len(first) == 4:
        if third is None or len(third) > 2:
            return None
        return Parts((int(first), int(second), int(third)), "ymd", separator)
    if third is None:
        # 12.05 is a figure sooner than a date; only 12.05. or 12/05 is one.
        if found["time"] or (separator == "." and not found[0].endswith(".")):
            return None
        return Parts((int(first), int(second)), "", separator, 0)
    if len(third) == 1:
        return None
    return Parts((int(first), int(second), int(third)), "", separator, len(third))


def _compact(digits: str) -> Parts | None:
    if YEAR_MIN <= int(digits[:4]) <= YEAR_MAX or int(digits[:4]) >= BUDDHIST_FROM:
        return Parts((int(digits[:4]), int(digits[4:6]), int(digits[6:])), "ymd")
    return Parts((int(digits[:2]), int(digits[2:4]), int(digits[4:])), "", "")


def _named(text: str) -> Parts | None:
    """`5 janv. 2024`, `Jan 5, 2024`, `05-JAN-24`, `5. März`, `Mon 5 Jan`."""
    tokens = _TOKENS.findall(_TIME_TAIL.sub("", text))
    numbers: list[str] = []
    month = month_at = 0
    for token in tokens:
        if token.isdigit():
            if len(token) not in (1, 2, 4) or len(numbers) == 2:
                return None
            numbers.append(token)
            continue
        name = fold(token)
        if name in MONTHS and not (name in WEEKDAYS and _other_month(tokens, token)):
            if month:
                return None
            month, month_at = MONTHS[name], len(numbers)
        elif name not in FILLERS and name not in WEEKDAYS:
            return None
    return _named_parts(numbers, month, month_at) if month and numbers else None


def _other_month(tokens: Sequence[str], token: str) -> bool:
    return any(fold(other) in MONTHS for other in tokens if other != token and not other.isdigit())


def _named_parts(numbers: list[str], month: int, month_at: int) -> Parts | None:
    if len(numbers) == 1:
        return Parts((int(numbers[0]), month), "dm", " ", 0) if len(numbers[0]) < 3 else None
    first, second = numbers
    if len(first) == 4:
        return Parts((int(first), month, int(second)), "ymd", " ") if len(second) < 3 else None
    if len(second) not in (2, 4):
        return None
    day, year = int(first), int(second)
    return Parts((day, month, year), "dmy", " ", len(second)) if month_at < 2 else None


def _without_year(found: Parts, order: str, year: int) -> date | None:
    if not year or order not in ORDERS:
        return None
    first, second = found.numbers[:2]
    is_day_first = found.order == "dm" or (not found.order and order == "dmy")
    month, day = (second, first) if is_day_first else (first, second)
    return _date(year, month, day)


def _made(numbers: tuple[int, ...], order: str, era: int, year_digits: int) -> date | None:
    first, second, third = numbers
    if order == "ymd":
        year, month, day = first, second, third
        year_digits = 4 if first > 99 else 2
    elif order == "dmy":
        year, month, day = third, second, first
    elif order == "mdy":
        year, month, day = third, first, second
    else:
        return None
    if year_digits == 2 and year <= 99:
        # A short Buddhist year is counted in its own century (67 is 2567).
        year += 2500 if era else (1900 if year >= CENTURY_PIVOT else 2000)
    if year >= BUDDHIST_FROM:
        year -= BUDDHIST
    return _date(year, month, day)


def _date(year: int, month: int, day: int) -> date | None:
    if not YEAR_MIN <= year <= YEAR_MAX:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None
