"""Printed dates as days: one text, one date, or None if the text is not a date.

Whether 05/06/2024 is in May or in June cannot be seen from one date, so the order is voted over a whole column
(`vote_order`) and stays undecided where nothing decides it. A date that starts with its year is never reordered.
Dates inside running text are found by `date_finder`.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from stateward.pipelines.kit.money import western_digits

CACHE_MAX = 1 << 16
TEXT_CHARS_MAX = 60
YEAR_MIN, YEAR_MAX = 1900, 2199
BUDDHIST = 543  # years that the Thai calendar is ahead
REIWA = 2018  # the year before the first of the Japanese emperor
BUDDHIST_FROM = 2400  # a printed year from here on is Buddhist
BUDDHIST_SHORT_FROM = 50  # a short year beside a Thai month: 69 is 2569, which is 2026
CENTURY_PIVOT = 70  # of two-digit years, 70..99 are of the last century, 00..69 of this one
DAYS_NEAR = 45  # outside of a period: a card payment is booked late, but not a month and a half
SAME_DAY_YEARS = 3  # years with a booking on the same day, before the day is rather the year
LEAP_YEAR = 2024  # stands in for a year that is not printed, so that 29 February is a date

ORDER_NAMES = {"ymd": "year first", "dmy": "day first", "mdy": "month first"}
ORDERS = tuple(ORDER_NAMES)

# A language code and twelve names, full or short, as they are printed; accents, dots and case do not matter.
MONTH_TABLE = """
en January February March April May June July August September October November December
en Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
en Jan Feb Mar Apr May June July Aug Sept Oct Nov Dec
de Januar Februar März April Mai Juni Juli August September Oktober November Dezember
de Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez
de Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez
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
sv jan feb mars apr maj juni juli aug sept okt nov dec
is janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember
et jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
lv janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris decembris
lt sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio
hu január február március április május június július augusztus szeptember október november december
hu jan febr márc ápr máj jún júl aug szept okt nov dec
ro ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
ro ian feb mar apr mai iun iul aug sept oct noi dec
sk januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
sr januar februar mart april maj jun jul avgust septembar oktobar novembar decembar
ca gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
el Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου Νοεμβρίου Δεκεμβρίου
el Ιαν Φεβ Μαρ Απρ Μαϊ Ιουν Ιουλ Αυγ Σεπ Οκτ Νοε Δεκ
ru января февраля марта апреля мая июня июля августа сентября октября ноября декабря
ru янв фев мар апр май июн июл авг сен окт ноя дек
uk січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
uk січ лют бер кві тра чер лип сер вер жов лис гру
bg януари февруари март април май юни юли август септември октомври ноември декември
he ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר
ar يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
cs ledna února března dubna května června července srpna září října listopadu prosince
cs leden únor březen duben květen červen červenec srpen září říjen listopad prosinec
tr Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık
tr Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara
id Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember
id Jan Feb Mar Apr Mei Jun Jul Agu Sep Okt Nov Des
id Jan Feb Mar Apr Mei Jun Jul Agt Sep Okt Nop Des
af Januarie Februarie Maart April Mei Junie Julie Augustus September Oktober November Desember
af Jan Feb Mrt Apr Mei Jun Jul Aug Sep Okt Nov Des
ms Januari Februari Mac April Mei Jun Julai Ogos September Oktober November Disember
th ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.
th มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
"""
FILLERS = frozenset("de del of the st nd rd th er e den am le el г года р року".split())
WEEKDAYS = frozenset(
    "mo tu we th fr sa su mon tue wed thu fri sat sun tues thur thurs di mi do so mon mar mer jeu ven sam dim lun "
    "mie jue vie sab dom gio ven ma wo vr za zo monday tuesday wednesday thursday friday saturday sunday montag "
    "dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes "
    "martes miercoles jueves viernes sabado domingo maandag dinsdag woensdag donderdag vrijdag zaterdag zondag".split()
)

# A day of XML may carry its time zone: 2017-04-01+02:00.
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ].{0,30}|Z|[+-][0-9]{2}:[0-9]{2})?", re.ASCII
)
_NUMERIC = re.compile(
    r"([0-9]{1,4})\s?([./\-\u2010-\u2015])\s{0,2}([0-9]{1,2})(?:\s?[./\-\u2010-\u2015'\u2019]\s?([0-9]{4}|[0-9]{1,2}))?\.?"
    r"(?:(?:,?[T ]+|-)(?P<time>[0-9]{1,2}[:.h][0-9]{2}.{0,20}))?"
    r"(?: as of [0-9./-]{6,10})?",  # brokers: booked on one day, and as of another
    re.ASCII,
)
# Years of an emperor, as Japanese banks count them: the year 1 of Reiwa is 2019.
ERAS = {"令和": REIWA, "平成": 1988, "昭和": 1925, "R": REIWA, "H": 1988}
_ERA = re.compile(
    r"(?P<era>令和|平成|昭和|[RH](?=[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{1,2}$))\.?\s?(?P<year>[0-9]{1,2}|元)\s?[年./-]\s?(?P<month>[0-9]{1,2})\s?[月./-]\s?(?P<day>[0-9]{1,2})日?"
)
_CJK = re.compile(
    r"([0-9]{4})\s?[年년]\s?([0-9]{1,2})\s?[月월]\s?([0-9]{1,2})\s?[日일]?(?:\s[0-9]{1,2}[:時时시].{0,12})?"
)
# Years of the Republic of China, as Taiwanese banks count them: 113 is 2024. No other calendar prints three digits.
REPUBLIC = 1911
_REPUBLIC = re.compile(
    r"(?:民國\s?)?(1[0-4][0-9])\s?[年./-]\s?([0-9]{1,2})\s?[月./-]\s?([0-9]{1,2})日?(?:[T ][0-9]{1,2}:.{0,12})?"
)
_COMPACT = re.compile(
    r"([0-9]{8})(?:(?:[01][0-9]|2[0-4])[0-5][0-9](?:[0-6][0-9])?(?:\.[0-9]{1,6})?)?(?:\s*\[.{0,12}\])?Z?"
)
_ASCII_LETTER = re.compile("[A-Za-z]")
_GLUED = re.compile(r"([^\W\d_]{3})([0-9]{2})")  # MAR01
_SHORT = re.compile(r"[0-9]{6}", re.ASCII)
_TOKENS = re.compile(r"[0-9]+|[^\W\d_]+(?:[.\u0e00-\u0e7f]*[\u0e00-\u0e7f])?")
_TIME_TAIL = re.compile(
    r"[,T ]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?(?:\s?[ap]m)?$", re.IGNORECASE
)


class DateParts(NamedTuple):
    """The numbers of a date in the order printed; `order` is set where the text itself shows it."""

    numbers: tuple[int, ...]  # two (no year) or three
    order: str = ""  # "ymd", "dmy", "mdy", "dm" without a year; "" where the reader must know it
    separator: str = ""
    year_digits: int = 4


class OrderVote(NamedTuple):
    """The order in which a column prints its dates; "" is undecided. `against` counts dates that contradict it."""

    order: str
    era: int
    why: str
    against: int = 0
    is_custom: bool = False  # no date shows it: it is what people do who write dates like these


# Letters that Unicode does not take apart, as they are written without their keys; dots mean nothing.
_WHOLE_LETTERS = str.maketrans({".": "", "ı": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae"})


@lru_cache(maxsize=CACHE_MAX)
def fold(text: str) -> str:
    """A name without case, dots and Latin accents."""
    bare = unicodedata.normalize("NFD", text.casefold().translate(_WHOLE_LETTERS))
    return unicodedata.normalize("NFC", "".join(c for c in bare if not "\u0300" <= c <= "\u036f"))


MONTHS = {
    fold(name): number
    for line in MONTH_TABLE.strip().splitlines()
    for number, name in enumerate(line.split()[1:], start=1)
}


def month_names(*languages: str) -> dict[str, int]:
    """The months of some languages by their names in small letters, with and without accents."""
    names: dict[str, int] = {}
    for language, *months in map(str.split, MONTH_TABLE.strip().splitlines()):
        if language in languages:
            for number, name in enumerate(months, start=1):
                names |= {name.casefold(): number, fold(name): number}
    return names


@lru_cache(maxsize=CACHE_MAX)
def split_date(text: str) -> DateParts | None:
    """The parts of a date; None if the text is not one, or contains more than one."""
    text = text.strip().removeprefix("'")  # which keeps a sheet from reading it as a number
    if not text or len(text) > TEXT_CHARS_MAX:
        return None
    if not text.isascii():
        text = western_digits(text)
    if found := _ISO.fullmatch(
        text
    ):  # first, because it is the most frequent, and nothing else is of its form
        return DateParts((int(found[1]), int(found[2]), int(found[3])), "ymd", "-")
    if found := _ERA.fullmatch(text):
        year = int(found["year"].replace("元", "1")) + ERAS[found["era"].upper()]
        return DateParts((year, int(found["month"]), int(found["day"])), "ymd", "-")
    if found := _REPUBLIC.fullmatch(text):
        return DateParts((int(found[1]) + REPUBLIC, int(found[2]), int(found[3])), "ymd", "-")
    if found := _CJK.fullmatch(text):
        return DateParts((int(found[1]), int(found[2]), int(found[3])), "ymd", "-")
    if found := _NUMERIC.fullmatch(text):
        return _numeric(found)
    if found := _COMPACT.fullmatch(text):
        return _compact(found[1])
    if _SHORT.fullmatch(text):
        return DateParts((int(text[:2]), int(text[2:4]), int(text[4:])), "", "", 2)
    if text.isascii() and not _ASCII_LETTER.search(text):
        return None  # it names no month; most amounts end here
    if found := _GLUED.fullmatch(text):
        return _parse_named_month(f"{found[1]} {found[2]}")
    return _parse_named_month(text)


@lru_cache(maxsize=CACHE_MAX)
def read_date(text: str, order: str, era: int = 0, year: int = 0) -> date | None:
    """The day that a text prints, read in this order; `year` is used where none is printed."""
    found = split_date(text)
    if found is None:
        return None
    if found.order in ("dm", "md") or len(found.numbers) == 2:
        return _without_year(found, order, year)
    return _build(found.numbers, found.order or order, era, found.year_digits)


@lru_cache(maxsize=CACHE_MAX)  # each cell is asked a dozen times
def is_date(text: str) -> bool:
    """Whether a text is a date in any order."""
    return bool(possible_orders(text))


@lru_cache(maxsize=CACHE_MAX)
def possible_orders(text: str) -> frozenset[str]:
    """The orders in which a text is a date; none if it is no date at all."""
    found = split_date(text)
    if found is None:
        return frozenset()
    if len(found.numbers) == 2:
        if found.order:
            return frozenset(ORDERS) if _without_year(found, "dmy", LEAP_YEAR) else frozenset()
        return frozenset(
            order for order in ("dmy", "mdy") if _without_year(found, order, LEAP_YEAR)
        )
    names = (found.order,) if found.order else ORDERS
    return frozenset(
        order for order in names if _build(found.numbers, order, 0, found.year_digits) is not None
    )


def has_year(text: str) -> bool:
    """Whether a date prints its year."""
    found = split_date(text)
    return found is not None and len(found.numbers) == 3


def vote_order(texts: Iterable[str], *, usual: str = "", why_usual: str = "") -> OrderVote:
    """The order of a column of dates, by the dates that are valid in one order only.

    `usual` decides where no date does, and only then: what the language of the headings or a setting suggests.
    """
    counts = dict.fromkeys(ORDERS, 0)
    sample: dict[str, str] = {}
    open_count, era, dots, same = 0, 0, 0, 0
    short: set[tuple[int, ...]] = set()  # dates whose year has two digits, wherever that stands
    for text in texts:
        found, orders = split_date(text), possible_orders(text)
        if found is None or not orders:
            continue
        era = _printed_era(found.numbers) or era
        if found.order:  # it shows its own order, which says nothing about the others
            continue
        if found.year_digits == 2 and "ymd" in orders and len(orders) > 1:
            short.add(found.numbers)
            orders = orders - {"ymd"}  # 01/02/03: hardly anyone puts a short year first
        if len(orders) == 1:
            (order,) = orders
            counts[order] += 1
            sample.setdefault(order, text)
        else:
            is_open = found.numbers[0] != found.numbers[1]
            open_count += is_open
            dots += is_open and found.separator == "."
            same += not is_open  # 10.10.2017: either order reads it
    if _may_begin_with_year(short) and not counts["ymd"]:
        why = "the first number is the same in all dates, and the last is not: it may be the year"
        return OrderVote(usual, era, why_usual if usual else why)
    if any(counts.values()):
        return _elect(counts, sample, era)
    if not open_count:
        own = "dmy" if same else "ymd"
        return OrderVote(usual or own, era, "every date shows its own order")
    if dots == open_count:
        return OrderVote("dmy", era, "day first: the dates are written with points", is_custom=True)
    if usual:
        return OrderVote(usual, era, why_usual)
    return OrderVote("", era, "every date could be day first or month first")


def _printed_era(numbers: Sequence[int]) -> int:
    return BUDDHIST if any(BUDDHIST_FROM <= n < BUDDHIST_FROM + 300 for n in numbers) else 0


def _may_begin_with_year(numbers: Set[tuple[int, ...]]) -> bool:
    """Whether dates would be of one day in several years, where year first they are of one year."""
    lasts = {each[2] for each in numbers}
    return len(lasts) >= SAME_DAY_YEARS and len({each[0] for each in numbers}) == 1


def _elect(counts: dict[str, int], sample: dict[str, str], era: int) -> OrderVote:
    won = max(ORDERS, key=lambda order: counts[order])
    against = sum(counts.values()) - counts[won]
    if against >= counts[won]:
        names = " and ".join(repr(text) for text in sample.values())
        return OrderVote("", era, f"{names} contradict each other", against)
    many = f"{counts[won]} dates such as" if counts[won] > 1 else "one date,"
    why = f"{ORDER_NAMES[won]}: {many} {sample[won]!r} cannot be read in another order"
    return OrderVote(won, era, why, against)


def nearest_date(text: str, order: str, *, start: date, end: date) -> date | None:
    """A date printed without a year, in the year that puts it into (or nearest to) a period."""
    days = [read_date(text, order, 0, year) for year in range(start.year - 1, end.year + 2)]
    found = [day for day in days if day is not None]
    return min(found, key=lambda day: _distance(day, start, end)) if found else None


def is_near(day: date, start: date, end: date, *, days: int = DAYS_NEAR) -> bool:
    """Whether a day lies in a period, or so little outside of it that only its booking was late."""
    return start - timedelta(days=days) <= day <= end + timedelta(days=days)


def _distance(day: date, start: date, end: date) -> int:
    if day < start:
        return (start - day).days
    return (day - end).days if day > end else 0


def _numeric(found: re.Match[str]) -> DateParts | None:
    first, separator, second, third = found[1], found[2], found[3], found[4]
    separator = "-" if separator > "\u2000" else separator
    if len(first) == 3:
        return None
    if len(first) == 4:
        if third is None or len(third) > 2:
            return None
        return DateParts((int(first), int(second), int(third)), "ymd", separator)
    if third is None:
        # 12.05 is rather a number than a date; only 12.05. and 12/05 are dates.
        if found["time"] or (separator == "." and not found[0].endswith(".")):
            return None
        return DateParts((int(first), int(second)), "", separator, 0)
    if len(third) == 1:
        return None
    return DateParts((int(first), int(second), int(third)), "", separator, len(third))


def _compact(digits: str) -> DateParts | None:
    parts = (int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    # 20092026 is no day of the year 2009, so it begins with the day.
    if parts[0] >= YEAR_MIN and _build(parts, "ymd", 0, 4) is not None:
        return DateParts(parts, "ymd")
    return DateParts((int(digits[:2]), int(digits[2:4]), int(digits[4:])), "", "")


def _parse_named_month(text: str) -> DateParts | None:
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
    if not (month and numbers):
        return None
    if len(numbers) == 2 and len(numbers[1]) == 2 and _is_thai(text):
        numbers[1] = _buddhist(numbers[1])
    return _named_parts(numbers, month, month_at)


def _is_thai(text: str) -> bool:
    return any("\u0e00" <= c <= "\u0e7f" for c in text)


def _buddhist(year: str) -> str:
    """The whole of a short year that stands beside a Thai month."""
    return f"25{year}" if int(year) >= BUDDHIST_SHORT_FROM else year


def _other_month(tokens: Sequence[str], token: str) -> bool:
    return any(fold(other) in MONTHS for other in tokens if other != token and not other.isdigit())


def _named_parts(numbers: list[str], month: int, month_at: int) -> DateParts | None:
    if len(numbers) == 1:
        return DateParts((int(numbers[0]), month), "dm", " ", 0) if len(numbers[0]) < 3 else None
    first, second = numbers
    if len(first) == 4:
        return DateParts((int(first), month, int(second)), "ymd", " ") if len(second) < 3 else None
    if len(second) not in (2, 4):
        return None
    day, year = int(first), int(second)
    return DateParts((day, month, year), "dmy", " ", len(second)) if month_at < 2 else None


def _without_year(found: DateParts, order: str, year: int) -> date | None:
    if not year or order not in ORDERS:
        return None
    first, second = found.numbers[:2]
    is_day_first = found.order == "dm" or (not found.order and order == "dmy")
    month, day = (second, first) if is_day_first else (first, second)
    return _date(year, month, day)


def _build(numbers: tuple[int, ...], order: str, era: int, year_digits: int) -> date | None:
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
        # A short Buddhist year is counted in its own century (67 is 2567), one of an emperor from his first.
        century = 1900 if year >= CENTURY_PIVOT else 2000
        year += {BUDDHIST: 2500, REIWA: REIWA}.get(era, century)
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
