"""Who and what a name stands for, by a table of aliases that is data: "Sam Altman" is @sama."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from stateward.core.model import Json
from stateward.pipelines.kit.dates import fold


class AliasTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Entities by their id, each with the names that it goes by."""

    version: int
    entities: dict[str, tuple[str, ...]]


@cache
def shipped_aliases() -> AliasTable:
    """The table that ships."""
    data = msgspec.yaml.decode((files(__package__) / "aliases.yaml").read_text("utf-8"))
    return msgspec.convert(data, AliasTable)


class EntityResolver:
    """Resolves names: by the own table, then by the one that ships; surnames by the full names of the same page."""

    def __init__(self, own: Mapping[str, Json]) -> None:
        given = [msgspec.convert(own, AliasTable)] if own else []
        tables = [*given, shipped_aliases()]
        self.version = ".".join(str(each.version) for each in tables)
        self._ids: dict[str, str] = {}
        for table in tables:
            for entity, names in table.entities.items():
                for name in (entity, *names):
                    self._ids.setdefault(simple_name(name), entity)

    def id_of(self, name: str) -> str:
        """The id of an entity; "" if no table has the name."""
        return self._ids.get(simple_name(name), "")


def simple_name(name: str) -> str:
    """A name as it is compared: without case, accents, possessive endings and articles."""
    text = fold(name).strip(" ,;:\"'“”„«»")
    for ending in ("'s", "\u2019s"):
        text = text.removesuffix(ending)
    for article in (
        "the ",
        "der ",
        "die ",
        "das ",
        "le ",
        "la ",
        "les ",
        "el ",
        "los ",
        "l'",
        "l\u2019",
    ):
        text = text.removeprefix(article)
    return " ".join(text.split())


def full_names(names: Iterable[str]) -> dict[str, str]:
    """Surnames that belong to exactly one full name of a page, with that name."""
    owners: dict[str, set[str]] = {}
    for name in names:
        words = name.split()
        if 2 <= len(words) <= 4:
            owners.setdefault(simple_name(words[-1]), set()).add(name)
    by_simple = {surname: {simple_name(each) for each in full} for surname, full in owners.items()}
    return {surname: min(full) for surname, full in owners.items() if len(by_simple[surname]) == 1}
