"""The truth of CUAD contracts in our fields: parties, effective date, governing law.

CUAD's answers are notes of people: `X, Inc. ("Seller"); Y LLC ("Buyer"); X and Y (collectively the "Parties")`. What is
no name of a party (what both are called together, a role whose name was left blank) is left out here; nothing is
corrected: a misspelt name or a wrong date of the corpus counts against the extractor.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from stateward.pipelines.contracts.general.law import NAMES
from stateward.pipelines.contracts.general.names import ROLES, key

PARTIES = "Parties-Answer"
DATES = ("Effective Date-Answer", "Agreement Date-Answer")
LAW = "Governing Law-Answer"
FIELDS = ("party", "effective_date", "governing_law")
CENTURY_FROM = 50  # a year of two digits from here on belongs to the last century

_BRACKET = re.compile(r"\((?:[^()]|\([^()]*\))*\)?")
# A bracket that says what a party is called; `(USA)` and `(Bermuda)` are parts of a name.
_CALLED = re.compile(
    r"[\"“”'‘’]|\b(?:the|formerly|dba|d/b/a|each|collectively|together|individually|jointly|sometimes|referred)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\b(?:individually|collectively|singularly|separately|jointly|together|referred\s+to|each\s+of)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",?\s+(?:on\s+behalf\s+of|and\s+(?:its|their|all)\b|together\s+with|doing\s+business\s+as|d\.?/?b\.?/?a\b\.?|"
    r"formerly|acting|an?\s+affiliate\s+of)\s.*$",
    re.IGNORECASE | re.DOTALL,
)
_AND = re.compile(r"\s+and\s+|\s*,\s*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”]([^\"“”]{2,60})[\"“”]")
_SEPARATE_LAWS = re.compile(r"\s*;\s*|\s+and\s+(?!Wales)")
_OF_A_COUNTRY = re.compile(
    r",\s*(?:USA|U\.S\.A?\.?|United\s+States(?:\s+of\s+America)?|Canada|United\s+Kingdom|UK|Australia)\s*$",
    re.IGNORECASE,
)
_FULL_DATE = re.compile(r"\d{1,2}/\d{1,2}/(?:\d\d|\d{4})")


def is_cuad(told: Mapping[str, object]) -> bool:
    """Whether a truth has the columns of CUAD."""
    return PARTIES in told


def fields_of(told: Mapping[str, object]) -> dict[str, list[str]]:
    """The values of our fields in one row of CUAD; fields without a value are left out."""
    dates = [str(told.get(column) or "").strip() for column in DATES]
    date = next((_iso(text) for text in dates if _FULL_DATE.fullmatch(text)), "")
    fields = {
        "party": list(_parties(str(told.get(PARTIES) or ""))),
        "effective_date": [date] if date else [],
        "governing_law": list(_laws(str(told.get(LAW) or ""))),
    }
    return {name: values for name, values in fields.items() if values}


def _parties(text: str) -> Iterator[str]:
    known: set[str] = set()  # keys of the names and short names so far
    for part in _split(text.strip(" (")):
        brackets = [found[0] for found in _BRACKET.finditer(part) if _CALLED.search(found[0])]
        name = _BRACKET.sub(lambda found: " " if _CALLED.search(found[0]) else found[0], part)
        name = re.split(r"[\"“”]", name.strip(' "“”'))[0]
        name = " ".join(_ASIDE.sub("", name).split()).strip(" ,;()'")
        if _is_name(name) and key(name) not in known and not _is_both(name, known):
            yield name
        known |= {key(name), *(key(one) for each in brackets for one in _QUOTED.findall(each))}


def _split(text: str) -> Iterator[str]:
    """The parts between semicolons outside of brackets."""
    start = depth = 0
    for at, char in enumerate(text):
        depth = max(0, depth + (char == "(" and at > 0) - (char == ")"))
        if char == ";" and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _is_name(text: str) -> bool:
    if not re.search(r"[A-Za-z]{2}", text) or _TOGETHER.search(text):
        return False
    words = re.findall(r"[a-z]+", text.casefold())
    return text != text.lower() and not all(word in ROLES for word in words)


def _is_both(text: str, known: Iterable[str]) -> bool:
    """`Sutro and SutroVax`: names and short names that are known, joined."""
    parts = [key(part) for part in _AND.split(text) if key(part)]
    return len(parts) > 1 and all(
        part in ROLES or any(one.startswith(part) for one in known) for part in parts
    )


def _laws(text: str) -> Iterator[str]:
    seen: set[str] = set()
    for part in _SEPARATE_LAWS.split(text):
        place = _OF_A_COUNTRY.sub("", part).strip(" .")
        place = NAMES.get(place.casefold(), place)
        if place == "Wales" and "England" in seen:
            continue  # one law: `is_same` takes it for that of England
        if place and place not in seen:
            seen.add(place)
            yield place


def _iso(text: str) -> str:
    month, day, year = (int(part) for part in text.split("/"))
    year += 0 if year > 99 else 2000 if year < CENTURY_FROM else 1900
    return f"{year:04}-{month:02}-{day:02}"
