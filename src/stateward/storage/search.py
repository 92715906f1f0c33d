"""A query as one SQL condition over `records`, in the subset that SQLite and PostgreSQL both speak.

Every value is a named parameter (`:q0`, `:q1`, …); only our own column names and operators are written into the text,
so that no query can inject SQL. Conditions are written so that an index can serve them: a status comes with its
machine, the beginning of an id is a range. The range needs columns that sort by bytes: those of SQLite do, and those
of PostgreSQL have COLLATE "C".

Nothing here executes a statement.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import CANCELLED, Record, clean_text
from stateward.core.query import (
    META,
    WORD,
    Query,
    Term,
)

# The wildcards of LIKE are escaped with '!', because a backslash means different things to the two databases.
_LIKE_SIGNS = re.compile(r"([!%_])")
_JSON_SCALAR = re.compile(r"-?[0-9]+(\.[0-9]+)?|true|false")

_COLUMNS = {
    "machine": "machine",
    "priority": "priority",
    "retries": "retry_count",
    "created": "created_at",
    "entered": "entered_at",
    "rest": "rest",
    "worker": "worker",
    "replaces": "replaces",
}
# Codes as JSON. The text is that of a partial index, so that flagged records are found without reading the others.
_FLAGS = "(fields ->> 'flags')"
# Flagged, and no person has decided about this version.
FLAGGED = (
    f"{_FLAGS} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM flag_decisions d"
    " WHERE d.record_id = records.id AND d.version = records.version)"
)
_CLAIM_KINDS = {
    "waiting": "ready",
    "running": "running",
    "suspended": "suspended",
    "failed": "failed",
    "ended": "terminal",
}
# What the record itself adds to its kind of state. A stage without a separate waiting state has its records in the
# running state before they are dispatched; a record that rests waits for nothing.
_CLAIM_EXACTLY = {
    "waiting": "({kind} AND rest IS NULL OR waiting IS NOT NULL)",
    "running": "({kind} AND waiting IS NULL AND (rest IS NULL OR due_at IS NOT NULL))",
}


# What a list can be sorted by. Behind its prefix an id begins with the time of submission; ids make every order total.
_SORTED_BY = {
    "submitted": "id",
    "changed": "entered_at",
    "priority": "priority",
    "retries": "retry_count",
    "status": "status",
    "pipeline": "machine",
}
SORTS = tuple(_SORTED_BY)


class Order(msgspec.Struct, frozen=True):
    """The order of a list: by a column, falling or rising, and by id where that is the same."""

    by: str = "submitted"
    is_rising: bool = False

    @classmethod
    def parse(cls, text: str) -> "Order":
        """`changed` is falling, `+changed` rising; an unknown name is refused."""
        name = text.removeprefix("+")
        if name not in _SORTED_BY:
            raise UnknownName("column to sort by", clean_text(name, chars_max=40), SORTS)
        return cls(name, text.startswith("+"))

    @property
    def sql(self) -> str:
        """What follows ORDER BY."""
        way = "" if self.is_rising else " DESC"
        column = _SORTED_BY[self.by]
        return f"id{way}" if column == "id" else f"{column}{way}, id{way}"

    def place(self, record: Record) -> str:
        """Where a record stands in this order, as a text for `condition`."""
        column = _SORTED_BY[self.by]
        if column == "id":
            return record.id
        return msgspec.json.encode([getattr(record, column), record.id]).decode()

    def condition(self, after: str) -> tuple[str, dict[str, object]]:
        """What holds of the records behind a place; nothing at the beginning."""
        if not after:
            return "", {}
        sign = ">" if self.is_rising else "<"
        column = _SORTED_BY[self.by]
        if column == "id":
            return f" AND id {sign} :after", {"after": after}
        try:
            value, record_id = _decode_place(after)
        except msgspec.MsgspecError:
            raise InvalidRequest("the cursor is invalid; start the list again") from None
        pair: dict[str, object] = {"after_value": value, "after": record_id}
        return f" AND ({column}, id) {sign} (:after_value, :after)", pair


NEWEST = Order()


# Ids of one pipeline sort by their time, and its prefix comes before that: `UL_…` of last year sorts behind `IN_…` of
# today. So a list by time is made of one list for each prefix, which the index of ids gives without reading the rest.


def prefix_of(record_id: str) -> str:
    """What the ids of a pipeline begin with, such as `UL_`; nothing if an id has no such beginning."""
    prefix, underscore, _ = record_id.partition("_")
    return prefix + underscore if underscore else ""


def behind_prefix(prefix: str) -> str:
    """The least text that sorts behind everything that begins so."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def time_part(record_id: str) -> str:
    """The part of an id that sorts by time, whatever pipeline it is of."""
    return record_id.removeprefix(prefix_of(record_id))


def by_time(
    condition: str, prefixes: Sequence[str], *, after: str, is_rising: bool
) -> tuple[str, dict[str, object]]:
    """The condition for the first `:limit` ids of all prefixes in the order of time, behind the id `after`."""
    way, sign = ("", ">") if is_rising else (" DESC", "<")
    params: dict[str, object] = {}
    lists = []
    for n, prefix in enumerate(prefixes):
        params |= {f"from{n}": prefix, f"until{n}": behind_prefix(prefix)}
        place = ""
        if after:
            params[f"place{n}"] = prefix + time_part(after)
            place = f" AND id {sign} :place{n}"
        lists.append(
            f"SELECT * FROM (SELECT id, substr(id, {len(prefix) + 1}) AS born FROM records"
            f" WHERE {condition} AND id >= :from{n} AND id < :until{n}{place}"
            f" ORDER BY id{way} LIMIT :limit) AS of{n}"
        )
    merged = " UNION ALL ".join(lists)
    return f"id IN (SELECT id FROM ({merged}) AS merged ORDER BY born{way} LIMIT :limit)", params


_Number = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]  # what both databases can compare
_decode_place = msgspec.json.Decoder(tuple[_Number | str, str]).decode


def where(
    query: Query,
    *,
    kinds: Mapping[str, Mapping[str, str]],
    running: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[str, dict[str, object]]:
    """The condition and its parameters; an empty query is `TRUE`.

    Args:
        query: What is looked for.
        kinds: Machine → state → kind of state, for every machine that the store may hold: a term
            on `status:`, `error:`, `stage:` or `is:` finds records of these machines only.
        running: Machine → stage → the state it runs in, for `stage:`.
    """
    condition = _Condition(query, kinds, running or {})
    return " AND ".join(condition.of(term) for term in query.terms) or "TRUE", condition.params


class _Condition:
    """Writes conditions and collects their parameters."""

    def __init__(
        self,
        query: Query,
        kinds: Mapping[str, Mapping[str, str]],
        running: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.params: dict[str, object] = {}
        self._now = query.now
        self._kinds = kinds
        self._running = running
        self._machines = query.machines or tuple(kinds)

    def of(self, term: Term) -> str:
        """One term, in brackets. Where a value is NULL the term does not match, and its negation does."""
        positive = self._positive(term)
        return f"(({positive}) IS NOT TRUE)" if term.is_negated else f"({positive})"

    def _positive(self, term: Term) -> str:
        if term.key == WORD:
            return _any(self._word(text) for text in term.texts)
        if term.key.startswith(META):
            return self._label(term.key.removeprefix(META), term.texts)
        if term.op != ":":
            return f"{_COLUMNS[term.key]} {term.op} {self._bind(term.values[0])}"
        match term.key:
            case "status":
                return self._of_machine(self._in("status", term.texts))
            case "stage":
                return self._stage(term.texts)
            case "is":
                return _any(self._claim(claim) for claim in term.texts)
            case "id":
                return _any(self._ids(term.texts))
            case "error":
                codes = _any(self._codes(term.texts))
                return self._of_machine(f"error_code IS NOT NULL AND ({codes})")
            case "flag" | "document" | "message":
                return _any(self._text(term.key, text) for text in term.texts)
            case "artifact":
                # 'g' comes after every hexadecimal digit, in any collation.
                return _any(self._range("artifact", text, text + "g") for text in term.texts)
        return self._in(_COLUMNS[term.key], term.values)

    # Each kind of term

    def _word(self, word: str) -> str:
        return f"{self._range('id', word, _next_text(word))} OR {self._filename(word)}"

    def _text(self, key: str, text: str) -> str:
        if key == "flag":
            return f"{_FLAGS} IS NOT NULL AND {self._like(_FLAGS, _quote_code(text))}"
        if key == "message":
            return self._like("error_message", _part(text))
        return self._filename(text)

    def _filename(self, text: str) -> str:
        return self._like(f"labels ->> {self._key('filename')}", _part(text))

    def _codes(self, codes: Iterable[str]) -> Iterable[str]:
        """Whole codes in the spellings that people use, which an index serves; codes with a star as a pattern."""
        whole = [text for text in codes if "*" not in text]
        if whole:
            yield self._in(
                "error_code",
                dict.fromkeys(
                    form for text in whole for form in (text, text.upper(), text.lower())
                ),
            )
        for text in codes:
            if "*" in text:
                yield self._like("error_code", _glob(text))

    def _ids(self, ids: Iterable[str]) -> Iterable[str]:
        whole = [text for text in ids if not text.endswith("*")]
        if whole:
            yield self._in("id", whole)
        for prefix in (text[:-1] for text in ids if text.endswith("*")):
            yield self._range("id", prefix, _next_text(prefix))

    def _label(self, label: str, values: Iterable[str]) -> str:
        """A label that is a text, or a number or a boolean with this text.

        `->>` returns texts as they are, but that of SQLite returns numbers as numbers and true as 1, which equal no
        text. So a value that could be a number or a boolean is also compared with the JSON (`->`).
        """
        key = self._key(label)
        texts = self._in(f"(labels ->> {key})", values)
        scalars = [value for value in values if _JSON_SCALAR.fullmatch(value)]
        if not scalars:
            return texts
        return f"{texts} OR {self._in(f'CAST(labels -> {key} AS text)', scalars)}"

    def _stage(self, stages: tuple[str, ...]) -> str:
        waiting = self._of_machine(f"waiting IS NOT NULL AND {self._in('waiting', stages)}")
        states = {
            machine: [state for stage, state in known.items() if stage in stages]
            for machine, known in self._running.items()
        }
        return f"{waiting} OR {self._in_states(states)}"

    def _claim(self, claim: str) -> str:
        if claim == "skipped":
            return f"rest = {self._bind('skipped')}"
        if claim == "held":
            return f"rest = {self._bind('held')} AND waiting IS NULL AND due_at IS NULL"
        if claim == "flagged":
            return FLAGGED
        if claim == "overdue":
            return f"due_at < {self._bind(self._now)}"
        if claim == "cancelled":
            return self._of_machine(f"error_code = {self._bind(CANCELLED)}")
        if claim == "failed":
            # A record that a person stopped did not fail; to retry all that failed must not take it up again.
            return (
                f"({self._kind('failed')}) AND COALESCE(error_code, '') <> {self._bind(CANCELLED)}"
            )
        return _CLAIM_EXACTLY.get(claim, "{kind}").format(kind=f"({self._kind(claim)})")

    def _kind(self, claim: str) -> str:
        kind = _CLAIM_KINDS[claim]
        states = {
            machine: [state for state, found in known.items() if found == kind]
            for machine, known in self._kinds.items()
        }
        return self._in_states(states)

    # Pieces

    def _of_machine(self, condition: str) -> str:
        """The condition, together with the machine: the indexes begin with that column."""
        if not self._machines:
            return condition
        return f"{self._in('machine', self._machines)} AND {condition}"

    def _in_states(self, states: Mapping[str, Iterable[str]]) -> str:
        return _any(
            f"machine = {self._bind(machine)} AND {self._in('status', found)}"
            for machine, found in states.items()
            if found and machine in self._machines
        )

    def _in(self, column: str, values: Iterable[object]) -> str:
        return f"{column} IN ({', '.join(self._bind(value) for value in values)})"

    def _range(self, column: str, low: str, high: str) -> str:
        return f"({column} >= {self._bind(low)} AND {column} < {self._bind(high)})"

    def _like(self, column: str, pattern: str) -> str:
        # LIKE ignores case for ASCII in SQLite and for nothing in PostgreSQL; lower() makes them alike.
        return f"lower({column}) LIKE lower({self._bind(pattern)}) ESCAPE '!'"

    def _key(self, label: str) -> str:
        # Without a type PostgreSQL cannot tell the key of an object from the index of an array.
        return f"CAST({self._bind(label)} AS text)"

    def _bind(self, value: object) -> str:
        name = f"q{len(self.params)}"
        self.params[name] = value
        return f":{name}"


def _any(conditions: Iterable[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions) or "FALSE"


def _part(text: str) -> str:
    """What holds a text; with a star, what is wholly like it."""
    return _glob(text) if "*" in text else "%" + _LIKE_SIGNS.sub(r"!\1", text) + "%"


def _glob(text: str) -> str:
    return _LIKE_SIGNS.sub(r"!\1", text).replace("*", "%")


def _quote_code(text: str) -> str:
    """A code within a list of codes, whole or with a star for any end."""
    return f'%"{_glob(text)}"%'


def _next_text(prefix: str) -> str:
    """The first text, by bytes, after all those that begin with `prefix`."""
    last = ord(prefix[-1])
    if last == 0x10FFFF:
        return prefix + chr(last)  # no character is higher, and no id contains this one
    # The code points between are surrogates, which are no characters and cannot be encoded.
    return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
