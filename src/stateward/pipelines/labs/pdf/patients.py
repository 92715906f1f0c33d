"""How many patients the pages of a report name: by names, numbers and dates of birth behind their labels."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from stateward.pipelines.kit.dates import read_date
from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.words import fold

NAME_WORDS = 2
LINES_OF_PERSON = 3  # a bare `Name:` and what tells that it is that of a person
_NAME = re.compile(
    r"^\W*(?:(?P<bare>name)|(?:patient(?:in|en)?|paciente|paziente|pasient|patiënt|pacjent)(?:'?s? ?name)?)"
    r"\s*:\s*(?P<name>[^\d:]{5,60})",
    re.IGNORECASE,
)
_NAME_WORD = re.compile(r"[^\W\d_]{2,}")
_NO_NAMES = frozenset(
    "mr mrs ms miss herr frau mme mlle sr sra srta dob born sex gender age mrn male female hospital patient no".split()
)
_DOCTOR = re.compile(r"\b(?:dr|prof|md|dra)\b", re.IGNORECASE)
_OF_PERSON = re.compile(
    r"\b(?:d\.?o\.?b|birth|born|sex|gender|age|mrn|geb|geburtsdatum|geschlecht|alter|naissance|sexe|nacimiento|sexo|edad)\b",
    re.IGNORECASE,
)
_BIRTH = re.compile(
    r"(?<!\w)(?:d\.?o\.?b\.?|date of birth|birth ?date|born|geburtsdatum|geb\.|geboren(?: am)?|date de naissance"
    r"|née? le|né\(e\) le|fecha de nacimiento|data di nascita|data de nascimento|geboortedatum|data urodzenia)"
    r"\W{0,4}(?P<date>[0-9]{1,4}[./ -](?:[0-9]{1,2}|[^\W\d]{3,9})\.?[./ -][0-9]{2,4})(?!\w)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<!\w)(?P<label>mrn|medical record (?:no|number)|patient(?:en)?[- ]?(?:id|nr|no|number|nummer)"
    r"|pat\.?[- ]?(?:id|nr)|hospital (?:no|number|id)|nhs (?:no|number))\W{1,4}(?P<number>(?=[\w-]*[0-9])[\w-]{3,30})",
    re.IGNORECASE,
)
# Reports tell the births of others too: of a newborn's mother, of who is insured.
_OF_OTHERS = re.compile(
    r"\b(?:mother|father|partner|spouse|husband|wife|insured|subscriber|guarantor|donor|newborn|baby|mutter|vater"
    r"|versichert\w*|mère|père|madre|padre)\b",
    re.IGNORECASE,
)


def count_patients(pages: Sequence[Sequence[PdfLine]], order: str) -> int:
    """How many there surely are: as many as there are different texts behind labels of one kind."""
    texts = [[line.text for line in page if not _OF_OTHERS.search(line.text)] for page in pages]
    lines = [text for page in texts for text in page]
    births = {key for text in lines for key in _births_in(text, order)}
    return max(1, len(births), _count_numbers(lines), _count_names(texts))


def _births_in(text: str, order: str) -> Iterator[tuple[int, ...]]:
    """Days of birth, without the order of day and month, which one report may print in two ways."""
    for found in _BIRTH.finditer(text):
        orders = (order or "dmy", "dmy", "mdy")
        day = next((day for each in orders if (day := read_date(found["date"], each))), None)
        if day is not None:
            yield tuple(sorted((day.year % 100, day.month, day.day)))


def _count_numbers(lines: Iterable[str]) -> int:
    """The most that one label has: a patient may have a number of the hospital and one of the laboratory."""
    told: dict[str, list[str]] = {}
    for text in lines:
        for found in _NUMBER.finditer(text):
            number = fold(found["number"]).replace(" ", "").lstrip("0")
            known = told.setdefault(fold(found["label"]), [])
            if not any(number.startswith(each) or each.startswith(number) for each in known):
                known.append(number)
    return max(map(len, told.values()), default=0)


def _count_names(pages: Iterable[Sequence[str]]) -> int:
    """Names are told apart where no word of one is in the other."""
    found: list[frozenset[str]] = []
    for page in pages:
        for at, text in enumerate(page):
            named = _name_in(text, islice(page, at, at + LINES_OF_PERSON))
            if named and not any(named & each for each in found):
                found.append(named)
    return len(found)


def _name_in(text: str, near: Iterable[str]) -> frozenset[str]:
    """The first two words of a name behind its label; none where a number, a label or a sentence follows."""
    label = _NAME.search(text)
    if label is None or _DOCTOR.search(label["name"]):
        return frozenset()
    if label["bare"] and not any(map(_OF_PERSON.search, near)):
        return frozenset()
    words = [
        word.casefold()
        for word in _NAME_WORD.findall(label["name"])
        if word[0].isupper() and word.casefold() not in _NO_NAMES
    ][:NAME_WORDS]
    return frozenset(words) if len(words) == NAME_WORDS else frozenset()
