"""Printed values: numbers with comparators and either decimal sign, titres, intervals, ordinals and text.

Every number is a Decimal. `1,234` alone may be 1.234 or 1234: the decimal sign is voted over the whole report
(`vote_decimal`), and where nothing decides it the value is ambiguous and says so.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

import msgspec

from stateward.pipelines.labs.words import ordinal_of

TEXT_CHARS_MAX = 4000
DIGITS_MAX = 30
SPACES = "\u00a0\u2007\u2009\u202f"

_COMPARATORS = {
    "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=<": "<=", "=>": ">=", "≤": "<=", "≥": ">=", "< =": "<=",
    "> =": ">=", "kleiner": "<", "grosser": ">", "größer": ">", "under": "<", "over": ">", "unter": "<",
    "über": ">", "less than": "<", "greater than": ">", "inf. à": "<", "inf à": "<", "sup. à": ">",
    "sup à": ">", "inférieur à": "<", "supérieur à": ">", "menor de": "<", "mayor de": ">", "more than": ">",
    "inferior a": "<", "superior a": ">", "bis": "<=", "ab": ">=", "up to": "<=", "~": "", "ca.": "",
}  # fmt: skip
# In groups of three; as in India, where 3,36,000 is 336 thousand; or without groups.
_NUMBER = (
    r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?"
    r"|[0-9]{1,3}(?:[ '’.,][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+"
)
NUMBER = re.compile(rf"[+\-−–]?\s?(?:{_NUMBER})(?:[eE][+\-]?[0-9]{{1,2}})?")
_COMPARED = re.compile(
    r"(?P<comparator>" + "|".join(re.escape(c) for c in sorted(_COMPARATORS, key=len, reverse=True)) + r")\s*"
    rf"(?P<number>{NUMBER.pattern})",
    re.IGNORECASE,
)  # fmt: skip
_TITRE = re.compile(
    r"(?P<comparator>[<>]=?|≤|≥)?\s*1\s?[:/]\s?(?P<number>[0-9]{1,3}(?:[., ']?[0-9]{3})*|[0-9]+)(?P<rest>\s.*)?"
)
_INTERVAL = re.compile(rf"(?P<low>{_NUMBER})\s*(?:-|–|—|bis|to|à)\s*(?P<high>{_NUMBER})")
_POWER = re.compile(
    r"(?P<number>[0-9.,]+)\s*[x×*]\s*10\s*(?:\^|\*\*?|[eE])?\s*(?P<power>[+-]?[0-9]{1,2})"
)
# As bacteria are counted: `> 10^5`, `10*4`, `< 10³`, `>= 1,5 x 10⁵`. Without a factor only a sign tells a power.
_COUNT = re.compile(
    r"(?P<comparator>[<>]=?|≤|≥)?\s*(?:(?P<number>[0-9]+(?:[.,][0-9]+)?)\s*[x×·*]\s*)?"
    r"10\s?(?:(?:\^|\*\*?)\s?(?P<power>[0-9]{1,2})|(?P<raised>[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,2}))"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?)?")
_DIGITS = re.compile(r"[0-9]")
_NO_NUMBER = re.compile(
    r"[+-]?(?:nan|inf|infinity)|#(?:VALUE|REF|DIV/0|NUM|NAME\?|N/A)!?", re.IGNORECASE
)


class PrintedValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value: `kind` is quantity, interval, titre, ordinal, text, unread or none."""

    kind: str
    number: Decimal | None = None
    high: Decimal | None = None  # of an interval
    comparator: str = ""
    text: str = ""
    is_ambiguous: bool = False


@lru_cache(maxsize=4096)
def read_value(text: str, decimal: str = "") -> PrintedValue:
    """A printed value; `decimal` is the decimal sign of the report, "" where that is unknown."""
    original, text = text.strip(), tidy(text)
    if not text:
        return PrintedValue(kind="none")
    if "\n" in original and not re.search(r"[^\W\d]", original):
        return PrintedValue(
            kind="unread", text=original
        )  # several numbers are not one with a blank in it
    if _DAY.fullmatch(text):
        return PrintedValue(kind="text", text=text)
    # What programs write for no number, and one that would have to be cut, as no laboratory measures.
    if _NO_NUMBER.fullmatch(text) or _is_too_long(text):
        return PrintedValue(kind="unread", text=original[:TEXT_CHARS_MAX])
    if found := _TITRE.fullmatch(text):
        digits = re.sub(r"\D", "", found["number"])
        comparator = _COMPARATORS.get((found["comparator"] or "").lower(), "")
        return PrintedValue(
            kind="titre", number=Decimal(digits[:DIGITS_MAX]), comparator=comparator, text=text
        )
    if (found := _COMPARED.fullmatch(text)) is not None:
        number, is_ambiguous = read_number(found["number"], decimal)
        return PrintedValue(
            kind="quantity", number=number, is_ambiguous=is_ambiguous, text=text,
            comparator=_COMPARATORS[found["comparator"].lower()],
        )  # fmt: skip
    if NUMBER.fullmatch(text.rstrip("* ")):
        text = text.rstrip("* ")
        number, is_ambiguous = read_number(text, decimal)
        return PrintedValue(kind="quantity", number=number, is_ambiguous=is_ambiguous, text=text)
    found_other = _other(text, decimal)
    if found_other.kind == "text":  # its lines stay lines
        return PrintedValue(kind="text", text=original[:TEXT_CHARS_MAX])
    return found_other


def _is_too_long(text: str) -> bool:
    """Whether a text of figures and signs has more figures than a number may have."""
    return (
        len(text) > DIGITS_MAX
        and len(_DIGITS.findall(text)) > DIGITS_MAX
        and not re.search(r"[^\W\d_]", text)
    )


def _other(text: str, decimal: str) -> PrintedValue:
    if found := _POWER.fullmatch(text):
        number, is_ambiguous = read_number(found["number"], decimal)
        scaled = number.scaleb(int(found["power"]))
        return PrintedValue(kind="quantity", number=scaled, is_ambiguous=is_ambiguous, text=text)
    if found := _COUNT.fullmatch(text):
        number, is_ambiguous = read_number(found["number"] or "1", decimal)
        power = int(found["power"] or found["raised"].translate(_RAISED))
        comparator = _COMPARATORS.get(found["comparator"] or "", "")
        return PrintedValue(
            kind="quantity", number=number.scaleb(power), is_ambiguous=is_ambiguous, text=text,
            comparator=comparator,
        )  # fmt: skip
    if found := _INTERVAL.fullmatch(text):
        low, is_ambiguous = read_number(found["low"], decimal)
        high, _ = read_number(found["high"], decimal)
        if low <= high:
            return PrintedValue(
                kind="interval", number=low, high=high, text=text, is_ambiguous=is_ambiguous
            )
    if ordinal := ordinal_of(text):
        return PrintedValue(kind="ordinal", text=ordinal)
    if not any(map(str.isalnum, text)):
        return PrintedValue(kind="none", text=text)  # a dash for a test that was not done
    return PrintedValue(kind="text" if _is_text(text) else "unread", text=text[:TEXT_CHARS_MAX])


def _is_text(text: str) -> bool:
    """Whether a value that is no number was meant to be a text: words, not digits with something unreadable."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    return bool(words) and sum(map(len, words)) >= len(_DIGITS.findall(text))


def read_number(text: str, decimal: str = "") -> tuple[Decimal, bool]:
    """A printed number, and whether another reading of it would be as good."""
    sign = "-" if text.lstrip().startswith(("-", "−", "–")) else ""
    bare = text.strip().lstrip("+-−– ")
    bare, _, exponent = bare.lower().partition("e")
    is_ambiguous = False
    bare = re.sub(rf"[ '’{SPACES}]", "", bare)
    points, commas = bare.count("."), bare.count(",")
    if points and commas:
        mark = "." if bare.rfind(".") > bare.rfind(",") else ","
    elif points > 1 or commas > 1:
        mark = ""  # only thousands are separated more than once
    elif points or commas:
        own = "." if points else ","
        is_grouped = re.fullmatch(r"[1-9][0-9]{0,2}[.,][0-9]{3}", bare) is not None
        # 10,000 is ten thousand: no laboratory measures tens to three zeros behind the comma.
        is_round = is_grouped and re.fullmatch(r"[1-9][0-9]{1,2}[.,]000", bare) is not None
        mark = own if not is_grouped or decimal == own or (not decimal and not is_round) else ""
        is_ambiguous = is_grouped and not decimal and not is_round
    else:
        mark = ""
    whole, _, part = bare.rpartition(mark) if mark else (bare, "", "")
    digits = re.sub(r"\D", "", whole if mark else bare) or "0"
    number = Decimal(f"{sign}{digits[:DIGITS_MAX]}" + (f".{part[:DIGITS_MAX]}" if mark else ""))
    return (number.scaleb(int(exponent)) if exponent else number), is_ambiguous


def vote_decimal(texts: Iterable[str]) -> str:
    """The decimal sign of a report: the one that its unambiguous numbers use; "" if they do not say or contradict."""
    votes = {".": 0, ",": 0}
    for text in texts:
        for number in re.findall(r"[0-9]+(?:[.,][0-9]+)+", text):
            marks = re.findall(r"[.,]", number)
            if len(set(marks)) == 2:
                votes[marks[-1]] += 1
            elif len(marks) == 1 and not re.fullmatch(r"[1-9][0-9]{0,2}[.,][0-9]{3}", number):
                votes[marks[0]] += 1
    if votes["."] and votes[","]:
        least, most = sorted(votes.values())
        return max(votes, key=lambda mark: votes[mark]) if most >= 5 * least else ""
    return max(votes, key=lambda mark: votes[mark]) if any(votes.values()) else ""


def tidy(text: str) -> str:
    """A text with single blanks, and without the sign of a footnote behind it."""
    return re.sub(rf"[\s{SPACES}]+", " ", text).strip().rstrip("†‡").rstrip()


def is_number_like(text: str) -> bool:
    """Whether a text reads as a value with a number in it: a quantity, a titre or an interval."""
    return read_value(text).kind in ("quantity", "titre", "interval")


def plain(number: Decimal) -> str:
    """A decimal without an exponent, its trailing zeros as they are."""
    return f"{number:f}"
