"""What a pipeline declares about searching its documents as a whole: fields, filters, and formats of results.

Text that is only to be found, item by item, is a `SearchableText` (`definition.display`). A pipeline that also declares
a `RankedText` has its documents ranked: a search of its machine gives documents, the best first, each with the passages
that match and why it was found.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json

if TYPE_CHECKING:
    from stateward.core.ranking import Ranking

FactType: TypeAlias = Literal["number", "text"]
Test: TypeAlias = Callable[[Mapping[str, Json]], bool]

FILTER_CHARS_MAX = 200
_FILTER = r"\s*([a-z_]+)\s*(>=|<=|!=|=|>|<)\s*(\S.*?)\s*"
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda own, asked: own == asked,
    "!=": lambda own, asked: own != asked,
    ">=": lambda own, asked: own >= asked,
    "<=": lambda own, asked: own <= asked,
    ">": lambda own, asked: own > asked,
    "<": lambda own, asked: own < asked,
}


class RankedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document for the index: how it is called, its text by field, and what results can be filtered by.

    `names` are `scheme:value`: identifiers, and `title:` with what else tells it from others of that title. Documents
    that share one are the same, and a search shows one of them.
    """

    title: str
    texts: dict[str, str]
    facts: dict[str, Json] = {}
    names: tuple[str, ...] = ()


class ResultFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format of results for other programs. `write` makes it from what the stage said about each document.

    `suffix` is the ending of a file of it, by which those programs know it: "bib"; "" is its name.
    """

    name: str
    media_type: str
    write: "Callable[[Iterable[Fields]], str] | str"
    suffix: str = ""


class RankedText(msgspec.Struct, frozen=True, kw_only=True):
    """The documents of a machine as they are after `stage`, ranked.

    `document` makes one from what the stage said about its items and from the items; `text` gives the text of one item
    that passages are shown of ("": none). Both are called where records are indexed and searched. `version` changes
    when they give something else for the same items, so that the index is known to be of another one. What takes long
    to import is named as "module:attribute", as everywhere in a plug-in.
    """

    machine: str
    stage: str
    document: "Callable[[Fields, Iterable[Fields]], RankedDocument] | str"
    text: "Callable[[Fields], str] | str"
    ranking: "Ranking | str"
    version: int = 1
    vectors: str = ""
    """The stage whose items have a `vector` and the number of the `item` that it is of, and say their `model`."""
    confirm: str = ""
    """The stage that needs no runner: the engine completes it when a search finds the document."""
    filters: dict[str, FactType] = {}
    formats: tuple[ResultFormat, ...] = ()


def fact_test(text: str, filters: Mapping[str, FactType]) -> Test:
    """A filter such as `year>=2020` or `journal=eLife` as a test; a document that does not say it does not pass."""
    found = re.fullmatch(_FILTER, text) if len(text) <= FILTER_CHARS_MAX else None
    if found is None or found[1] not in filters:
        names = ", ".join(filters) or "nothing here"
        raise InvalidRequest(
            f"{text[:FILTER_CHARS_MAX]!r} is no filter; compare one of {names} with =, != or (numbers) >=, <=, >, <,"
            " such as year>=2020"
        )
    name, sign, value = found[1], found[2], found[3]
    if filters[name] == "number":
        return _number_test(name, sign, value)
    if sign not in ("=", "!="):
        raise InvalidRequest(f"{name} is compared with = or !=, not with {sign}")
    wanted = value.casefold()
    return lambda facts: (str(facts.get(name, "")).casefold() == wanted) == (sign == "=")


def _number_test(name: str, sign: str, value: str) -> Test:
    try:
        wanted = float(value)
    except ValueError:
        raise InvalidRequest(f"{value!r} is no number; write it as {name}{sign}2020") from None
    compare = _COMPARE[sign]

    def test(facts: Mapping[str, Json]) -> bool:
        own = facts.get(name)
        return isinstance(own, int | float) and compare(own, wanted)

    return test
