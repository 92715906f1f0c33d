"""Whether results of one document are of one person. What identifies a person stays in memory: only counts go on."""

from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from stateward.pipelines.labs.words import PERSON_COLUMNS, fold

SEVERAL_PATIENTS = "SEVERAL_PATIENTS"
PATIENTS_UNTOLD = "PATIENTS_UNTOLD"
SEVERAL = (
    f"{SEVERAL_PATIENTS}: one report holds results of several patients; submit those of each alone"
)
UNTOLD = (
    f"{PATIENTS_UNTOLD}: the file holds reports of several patients, and only the places of results tell whose they "
    "are; set labs.patient_key_file, or submit the reports of each alone"
)


class Person(msgspec.Struct, frozen=True):
    """What a document says of a person; each part may be empty."""

    numbers: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()  # words, so that their order does not matter
    birth: str = ""

    @classmethod
    def of(cls, *, numbers: Iterable[str] = (), names: Iterable[str] = (), birth: str = "") -> Self:
        """A person by texts of a document."""
        words = (word for name in names for word in fold(name).split() if len(word) > 1)
        told = (fold(number).replace(" ", "").lstrip("0") for number in numbers)
        return cls(frozenset(filter(None, told)), frozenset(words), fold(birth))

    def is_other(self, other: "Person") -> bool:
        """Whether two are surely not one: a part that both have differs. A married name keeps a word of the former."""
        return (
            bool(self.birth and other.birth and self.birth != other.birth)
            or bool(self.numbers and other.numbers and self.numbers.isdisjoint(other.numbers))
            or bool(self.names and other.names and self.names.isdisjoint(other.names))
        )


def are_several(persons: Iterable[Person]) -> bool:
    """Whether any is another than the first of whom something is told."""
    told = iter(persons)
    first = next((each for each in told if each != Person()), Person())
    return any(map(first.is_other, told))


def persons_in(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[Person]]:
    """The persons of each report by its number; those of rows without a number under ""."""
    roles = [PERSON_COLUMNS.get(fold(each), "") for each in headings]
    found: dict[str, dict[Person, None]] = {}
    for cells in rows:
        told: dict[str, list[str]] = {}
        for role, cell in zip(roles, cells, strict=False):
            if role and cell.strip():
                told.setdefault(role, []).append(cell)
        births = told.get("birth", [""])
        person = Person.of(
            numbers=told.get("number", ()), names=told.get("name", ()), birth=births[0]
        )
        found.setdefault(fold(" ".join(told.get("report", ()))), {})[person] = None
    return {number: list(persons) for number, persons in found.items()}
