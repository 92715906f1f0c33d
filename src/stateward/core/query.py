"""The query language of the console, the API and the command line: a line of text becomes a frozen `Query`.

    status:error,parsing  -source:scan  error:PDF_*  age>2h  meta.client=42  "annual report"

All terms must match. Values after a comma, and the same key written again, widen a term (any of them matches); a
leading `-` or `not:` negates it. A word without a key is the beginning of an id, or a part of the label `filename`.
Relative times (`age>2h`) become absolute when they are parsed, so a stored query keeps its meaning, and `str(query)`
is its one canonical spelling: two queries are equal when their texts are.

The parser never guesses: what it does not understand is refused with a sentence, because bulk actions run on whatever
a query matches. It knows no database; `storage.search` turns a query into SQL.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, NoReturn, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, known_names, near_names
from stateward.core.model import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    SECOND,
    Micros,
    from_iso,
    to_iso,
)

TEXT_MAX = 8_000  # fits into the URL that a browser and a proxy still accept
TERMS_MAX = 40
VALUES_MAX = 200  # each is a parameter of one SQL statement, and SQLite allows a limited number
NUMBER_DIGITS_MAX = 9  # fits into 32 bits
SHOWN_CHARS_MAX = 60  # of the user's text in an error message

Op: TypeAlias = Literal[":", ">", ">=", "<", "<="]
WORD = ""
META = "meta."
SOURCE_LABEL = "meta.source_type"
PRIORITY_CLASSES = {"vip_customer": 10, "regulatory_filing": 7, "normal": 5, "batch_import": 1}
CLAIMS = (
    "waiting", "running", "suspended", "failed", "cancelled", "ended", "skipped", "held", "overdue", "flagged",
)  # fmt: skip
WITH_STAR = ("error", "flag", "document", "message", "id")
# What these hold never has a star in it, so that one would silently match nothing. A label may have one.
WITHOUT_STAR = frozenset({"status", "machine", "stage", "rest", "worker", "replaces"})
CLAIM_NAMES = {"stuck": "overdue"}  # the word of alerts and metrics for the same
UNITS: dict[str, Micros] = {
    "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "w": 604_800 * SECOND,
}  # fmt: skip

# Keys of other tools; a comparison of spelling would not suggest our word for them.
ELSEWHERE = {
    "state": "status", "pipeline": "machine", "workflow": "machine", "step": "stage",
    "code": "error", "text": "message", "prio": "priority", "attempts": "retries",
    "label": "meta.<label>", "tag": "meta.<label>", "meta": "meta.<label>",
    "filename": "document", "file": "document", "name": "document",
    "sha256": "artifact", "since": "created", "updated": "entered",
}  # fmt: skip

NEGATED: dict[Op, Op] = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
MIRRORED: dict[Op, Op] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}

# Compiled when a query is read, which most commands never do.
_HEAD = r"(?a:(?P<sign>-|not:)?(?:(?P<key>[A-Za-z][\w.-]*)(?P<op>>=|<=|!=|[:=<>]))?)"
_VALUE = r'"(?P<quoted>(?:[^"\\]|\\(?s:.))*)"|(?P<plain>[^\s",]+)'
_LABEL = r"[A-Za-z0-9_.-]{1,64}"
_SPAN = r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhdw])"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HEX = r"[0-9a-f]{4,64}"


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One condition: any of the values, or one comparison. Times are `Micros`, numbers are numbers.

    `key` is one of `KEYS`, `meta.<label>`, or `WORD`. A comparison is never negated: its operator is reversed.
    """

    key: str
    op: Op = ":"
    values: tuple[str | int, ...]
    is_negated: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.values)

    def __str__(self) -> str:
        """The canonical text of the term."""
        key = "source" if self.key == SOURCE_LABEL else self.key
        head = f"{key}{self.op}" if key else ""
        values = (_value_text(self.key, value) for value in self.values)
        return f"{'-' if self.is_negated else ''}{head}{','.join(values)}"


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed query. `now` is when it was parsed: `is:overdue` means overdue then."""

    now: Micros
    terms: tuple[Term, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it has no condition, so that every record matches."""
        return not self.terms

    @property
    def statuses(self) -> tuple[str, ...]:
        return self._texts_of("status")

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines to match."""
        return self._texts_of("machine")

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages to match; machines know in which states they wait and run."""
        return self._texts_of("stage")

    @property
    def claims(self) -> tuple[str, ...]:
        """The values of `is:`."""
        return self._texts_of("is")

    def _texts_of(self, key: str) -> tuple[str, ...]:
        found = (term.texts for term in self.terms if term.key == key and not term.is_negated)
        return next(found, ())

    def __str__(self) -> str:
        """The canonical text: it parses, at the same moment, to this same query."""
        return " ".join(str(term) for term in self.terms)


def parse_query(text: str, *, now: Micros) -> Query:
    """Parse a query; `InvalidRequest` says what is wrong with it and how to write it."""
    if len(text) > TEXT_MAX:
        raise InvalidRequest(
            f"a query may have at most {TEXT_MAX} characters; this has {len(text)}"
        )
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidRequest("the query contains a NUL or half of a surrogate pair; remove it")
    terms = [_term(raw) for raw in _scan(text, now)]
    query = Query(now=now, terms=tuple(sorted(_merge(terms), key=_order)))
    if max((len(term.values) for term in query.terms), default=0) > VALUES_MAX:
        raise InvalidRequest(f"a term may have at most {VALUES_MAX} values; use several queries")
    if len(str(query)) > TEXT_MAX:
        raise InvalidRequest(f"written out, the query has more than {TEXT_MAX} characters")
    return query


def check_names(
    query: Query, *, kinds: Mapping[str, Mapping[str, str]], stages: Collection[str]
) -> None:
    """Refuse machines, statuses and stages that do not exist.

    A misspelt name matches nothing, but a negated misspelt name matches everything. So call this before acting on all
    that a query matches. `kinds` is machine → state → kind of state.
    """
    states = {state for known in kinds.values() for state in known}
    for key, known in (("machine", set(kinds)), ("status", states), ("stage", set(stages))):
        for name in (text for term in query.terms if term.key == key for text in term.texts):
            if name not in known:
                raise InvalidRequest(f"there is no {key} {name!r}{known_names(name, known)}")


# From text to raw terms


class _Raw(msgspec.Struct, frozen=True, kw_only=True):
    """A term as it was written; `text` is what error messages show of it."""

    now: Micros
    text: str
    key: str
    op: Op
    values: tuple[str, ...]
    is_negated: bool


def _scan(text: str, now: Micros) -> Iterator[_Raw]:
    position = count = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text):
            return
        count += 1
        if count > TERMS_MAX:
            raise InvalidRequest(f"a query may have at most {TERMS_MAX} terms")
        raw, position = _raw(text, position, now)
        yield raw


def _raw(text: str, start: int, now: Micros) -> tuple[_Raw, int]:
    head = re.compile(_HEAD).match(text, start)
    assert head is not None  # noqa: S101 - every part of the pattern may be absent
    values, end = _values(text, start, head.end())
    key, op, written = head["key"] or WORD, head["op"] or ":", text[start:end]
    if op == "!=":
        _refuse(written, f"write -{key}:{','.join(values)} for 'not'")
    if head["sign"] and key == WORD and text.startswith(("-", "not:"), head.end()):
        _refuse(written, "it is negated twice; a word that begins with '-' needs quotes")
    raw = _Raw(
        now=now,
        text=written,
        key=key,
        op=":" if op == "=" else cast("Op", op),
        values=values,
        is_negated=head["sign"] is not None,
    )
    return raw, end


def _values(text: str, start: int, position: int) -> tuple[tuple[str, ...], int]:
    values: list[str] = []
    while True:
        found = re.compile(_VALUE).match(text, position)
        if found is None:
            _refuse_value(text, start, position)
        quoted = found["quoted"]
        values.append(found["plain"] if quoted is None else re.sub(r'\\(["\\])', r"\1", quoted))
        position = found.end()
        if not text.startswith(",", position):
            break
        position += 1
    if position < len(text) and not text[position].isspace():
        _refuse(text[start : position + 1], 'quotes must enclose the whole value: message:"a b"')
    return tuple(values), position


def _refuse_value(text: str, start: int, position: int) -> NoReturn:
    written = text[start:position] or text[start : start + SHOWN_CHARS_MAX]
    if text.startswith('"', position):
        _refuse(text[start:], 'its quote is not closed (inside quotes, write \\" for a quote)')
    if written.endswith(","):
        _refuse(written, "a comma must be followed by another value, without a space")
    _refuse(written, "it needs a value, without a space before it, like status:error")


# From raw terms to terms


def _term(raw: _Raw) -> Term:
    key = _key(raw)
    if key == WORD or key.startswith(META):
        return _texts(raw, key)
    return _READERS[key](raw, key)


def _key(raw: _Raw) -> str:
    folded = raw.key.lower()
    if folded == "source":
        return SOURCE_LABEL
    if folded.startswith(META):
        label = raw.key[len(META) :]
        if not re.fullmatch(_LABEL, label):
            _refuse(raw.text, "a label has 1 to 64 letters, digits, '_', '.' or '-'")
        return META + label
    if folded == WORD or folded in _READERS:
        return folded
    meant = ELSEWHERE.get(folded)
    near = f"; did you mean {meant}?" if meant else near_names(folded, KEYS)
    raise InvalidRequest(
        f"there is no key {_cut(raw.key)!r}{near or ';'} "
        f"the keys are: {', '.join(KEYS)}; to look for the text itself, put it in quotes"
    )


def _texts(raw: _Raw, key: str) -> Term:
    """Any of these texts; only a label may be empty."""
    if raw.op != ":":
        _refuse(raw.text, f"{raw.key} is not a number: use ':'")
    if not key.startswith(META) and "" in raw.values:
        _refuse(raw.text, "a value cannot be empty")
    if key in WITHOUT_STAR and any("*" in value for value in raw.values):
        _refuse(raw.text, f"{key} takes whole values; '*' is for {', '.join(WITH_STAR)}")
    return Term(key=key, values=raw.values, is_negated=raw.is_negated)


def _read_names(raw: _Raw, key: str) -> Term:
    """Names that are always declared in lower case."""
    term = _texts(raw, key)
    return replace(term, values=tuple(text.lower() for text in term.texts))


def _read_ids(raw: _Raw, key: str) -> Term:
    if any("*" in value[:-1] or value == "*" for value in raw.values):
        _refuse(raw.text, "an id may end with one '*', after its first characters: id:UL_01*")
    return _texts(raw, key)


def _read_claims(raw: _Raw, key: str) -> Term:
    term = _read_names(raw, key)
    term = replace(term, values=tuple(CLAIM_NAMES.get(text, text) for text in term.texts))
    for claim in term.texts:
        if claim not in CLAIMS:
            near = near_names(claim, CLAIMS)
            _refuse(raw.text, f"{claim!r} is unknown{near or ';'} is: takes {', '.join(CLAIMS)}")
    return term


def _read_hashes(raw: _Raw, key: str) -> Term:
    term = _read_names(raw, key)
    if not all(re.fullmatch(_HEX, text) for text in term.texts):
        _refuse(
            raw.text, "an artifact is given by the first 4 to 64 digits (0-9, a-f) of its SHA-256"
        )
    return term


def _read_priority(raw: _Raw, key: str) -> Term:
    def number(value: str) -> int:
        if value.lower() in PRIORITY_CLASSES:
            return PRIORITY_CLASSES[value.lower()]
        found = _whole(value)
        if found is None or not PRIORITY_MIN <= found <= PRIORITY_MAX:
            known = ", ".join(f"{name} ({at})" for name, at in PRIORITY_CLASSES.items())
            near = near_names(value, PRIORITY_CLASSES)
            _refuse(raw.text, f"a priority is {PRIORITY_MIN} to {PRIORITY_MAX} or {known}{near}")
        return found

    return _numbers(raw, key, number)


def _read_count(raw: _Raw, key: str) -> Term:
    def number(value: str) -> int:
        found = _whole(value)
        if found is None:
            _refuse(raw.text, f"{_cut(value)!r} is not a whole number: {key}>2")
        return found

    return _numbers(raw, key, number)


def _numbers(raw: _Raw, key: str, number: Callable[[str], int]) -> Term:
    if raw.op == ":":
        found = tuple(number(value) for value in raw.values)
        return Term(key=key, values=found, is_negated=raw.is_negated)
    return _comparison(raw, key, raw.op, number(_only(raw)))


def _read_moment(raw: _Raw, key: str) -> Term:
    if raw.op == ":":
        _refuse(raw.text, f"compare it: {key}>=2026-01-01 {key}<2026-02-01")
    value = _only(raw)
    try:
        at = from_iso(f"{value}T00:00:00Z" if re.fullmatch(_DATE, value) else value)
        to_iso(at)
    except (ValueError, OverflowError, OSError):
        at = -1
    if at < 0:  # all times are stored as microseconds since 1970
        form = "2026-01-31 (midnight in UTC) or 2026-01-31T10:00:00Z, from 1970 on"
        _refuse(raw.text, f"{_cut(value)!r} is not a time: write {form}")
    return _comparison(raw, key, raw.op, at)


def _read_span(raw: _Raw, key: str) -> Term:
    """`age>2h` means created before two hours ago: a greater age is an earlier time, so the operator is mirrored."""
    value = _only(raw) if raw.op != ":" else ""
    found = re.fullmatch(_SPAN, value)
    if found is None:
        _refuse(raw.text, f"write {key}>2h or {key}<10m; the units are {', '.join(UNITS)}")
    ago = round(float(found[1]) * UNITS[found[2]])
    return _comparison(raw, SPANS[key], MIRRORED[raw.op], max(raw.now - ago, 0))


def _comparison(raw: _Raw, key: str, op: Op, value: int) -> Term:
    return Term(key=key, op=NEGATED[op] if raw.is_negated else op, values=(value,))


def _only(raw: _Raw) -> str:
    if len(raw.values) != 1:
        _refuse(raw.text, f"{raw.op} compares with one value")
    return raw.values[0]


def _whole(value: str) -> int | None:
    if not (value.isascii() and value.isdecimal() and len(value) <= NUMBER_DIGITS_MAX):
        return None
    return int(value)


SPANS = {"age": "created", "idle": "entered"}
_READERS: dict[str, Callable[[_Raw, str], Term]] = {
    "status": _read_names,
    "machine": _read_names,
    "stage": _read_names,
    "is": _read_claims,
    "id": _read_ids,
    "document": _texts,
    "error": _texts,
    "flag": _texts,
    "message": _texts,
    "priority": _read_priority,
    "retries": _read_count,
    "age": _read_span,
    "idle": _read_span,
    "created": _read_moment,
    "entered": _read_moment,
    "rest": _texts,
    "worker": _texts,
    "replaces": _texts,
    "artifact": _read_hashes,
}
KEYS = (*_READERS, "source", "meta.<label>")


# One spelling


def _merge(terms: Iterable[Term]) -> set[Term]:
    """One term per key: the same key again widens it. Words and comparisons stay apart, they all must match."""
    merged: set[Term] = set()
    widened: dict[tuple[str, bool], set[str | int]] = {}
    for term in terms:
        if term.key == WORD or term.op != ":":
            merged.add(_sorted_values(term, term.values))
        else:
            widened.setdefault((term.key, term.is_negated), set()).update(term.values)
    for (key, is_negated), values in widened.items():
        merged.add(_sorted_values(Term(key=key, values=(), is_negated=is_negated), values))
    return merged


def _sorted_values(term: Term, values: Iterable[str | int]) -> Term:
    return replace(term, values=tuple(sorted(set(values), key=_by_type)))


def _by_type(value: str | int) -> tuple[bool, int, str]:
    return (isinstance(value, str), *((0, value) if isinstance(value, str) else (value, "")))


def _order(term: Term) -> tuple[int, str, bool, str, list[tuple[bool, int, str]]]:
    # As the keys are documented, then labels, then words.
    order = KEYS.index(term.key) if term.key in KEYS else len(KEYS) + (term.key == WORD)
    return order, term.key, term.is_negated, term.op, [_by_type(value) for value in term.values]


def _value_text(key: str, value: str | int) -> str:
    if isinstance(value, int):
        return to_iso(value) if key in SPANS.values() else str(value)
    plain = re.fullmatch(_VALUE, value)
    head = re.match(_HEAD, value)
    is_word = key != WORD or (head is not None and head.end() == 0)
    if plain is not None and plain["plain"] is not None and is_word:
        return value
    return quote_text(value)


def quote_text(value: str) -> str:
    """A value in quotes, as a query has one that holds spaces, commas or signs of the grammar."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Refusals


def _refuse(written: str, sentence: str) -> NoReturn:
    raise InvalidRequest(f"cannot read {_cut(written)!r}: {sentence}")


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
