"""The types of clauses by a model: of those alone of which the rules are not sure, and only one of the known types.

The clauses are sent as a text that is only to be read, each with its number, and the answer must have a type for each
number and nothing else. A type that the rules had guessed as well is surer than one that the model alone names.
"""

from collections.abc import Mapping, Sequence

import msgspec

from stateward.core.model import Fields, Json
from stateward.pipelines.clauses.items import clauses_of
from stateward.pipelines.clauses.types import type_titles
from stateward.pipelines.contracts.chat import UnusableAnswer
from stateward.pipelines.kit.documents import TextDocument

PROMPT = "clauses"  # in place of a vertical, among the prompts
BOTH, ALONE = (
    85,
    70,
)  # confidence of a type that the rules had guessed too, and of one of the model alone
CLAUSES_MAX = 80  # of one request
BETWEEN = "\n\n"
TEXT_CHARS_MAX = 900  # of each: what it is about is said at its beginning


def unsure_clauses(document: TextDocument, *, chars_max: int) -> dict[str, Fields]:
    """The clauses of which the rules are not sure, by their places among all, as far as one request may have them."""
    unsure: dict[str, Fields] = {}
    chars = 0
    for at, clause in enumerate(clauses_of(document)):
        if clause["is_sure"]:
            continue
        chars += len(_clause_text(str(at), clause)) + len(BETWEEN)
        if chars > chars_max or len(unsure) == CLAUSES_MAX:
            break
        unsure[str(at)] = clause
    return unsure


def type_list() -> str:
    """All types, as a prompt lists them."""
    return "\n".join(f"- {name}: {title}" for name, title in type_titles().items())


def clauses_text(clauses: Mapping[str, Fields]) -> str:
    """The clauses as a text."""
    return BETWEEN.join(_clause_text(at, clause) for at, clause in clauses.items())


def _clause_text(at: str, clause: Fields) -> str:
    text = str(clause["text"])[:TEXT_CHARS_MAX]
    return f"[clause {at}] {clause['number']} {clause['heading']}\n{text}"


def schema_of(clauses: Mapping[str, Fields]) -> Fields:
    """A type for each clause. The types are listed once: an API limits how many values a schema may list in all."""
    names: list[Json] = [*type_titles()]
    numbers: list[Json] = [*clauses]
    return {
        "type": "object",
        "properties": {at: {"$ref": "#/$defs/type"} for at in clauses},
        "required": numbers,
        "additionalProperties": False,
        "$defs": {"type": {"type": "string", "enum": names}},
    }


def read_types(content: str, clauses: Mapping[str, Fields]) -> Fields:
    """The types by the places of their clauses, or `UnusableAnswer`."""
    try:
        types = msgspec.json.decode(content, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise UnusableAnswer(f"it is not an object of types: {error}") from None
    if types.keys() != clauses.keys():
        raise UnusableAnswer("it does not have one type for each clause")
    if unknown := set(types.values()) - type_titles().keys():
        raise UnusableAnswer(f"there is no type {min(unknown)[:60]!r}")
    return {**types}


def with_model_types(clauses: Sequence[Fields], given: Mapping[str, Json]) -> list[Fields]:
    """Clauses with the types that a model gave, by their places."""
    titles = type_titles()
    return [
        clause if (kind := given.get(str(at))) is None else _apply_type(clause, str(kind), titles)
        for at, clause in enumerate(clauses)
    ]


def _apply_type(clause: Fields, kind: str, titles: Mapping[str, str]) -> Fields:
    confidence = BOTH if kind == clause["type"] else ALONE
    found: Fields = {"type": kind, "title": titles[kind], "confidence": confidence}
    return {**clause, **found, "is_sure": True, "matched": [], "flags": [], "by": "model"}
