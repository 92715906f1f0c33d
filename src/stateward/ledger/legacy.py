"""Reads lines of old ledgers: free-form JSON that programs wrote over the years. Nothing here touches a disk.

Names of fields and states differ from program to program, values are numbers or the text of numbers, times are
seconds, milliseconds or ISO, and the rest is in `metadata` or loose beside it. Everything that is there is used, and
nothing is made up: a word for a state that no table maps becomes `legacy`, and whatever had to be changed to fit is
preserved in the metadata as `legacy_…`. A line that cannot be used is refused with a reason.

Old files are also read more leniently than JSON allows: Python's own `json` writes `NaN` and `Infinity`, numbers of
any length, and lone surrogates; editors put a byte order mark before the first line. Such values are kept as text.
Bytes that are no UTF-8 are refused, as guessing at them could make two documents one.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from stateward.core.errors import DeclarationError, Fault, InvalidRequest
from stateward.core.model import Fields, Json, clean_text
from stateward.definition.yaml_source import convert
from stateward.definition.yaml_text import read_yaml
from stateward.ledger.record import (
    ADAPTER_CHARS_MAX,
    COUNT_MAX,
    DURATION_S_MAX,
    ERROR_TYPE_CHARS_MAX,
    INT_MAX,
    INT_MIN,
    METADATA_BYTES_MAX,
    TIMESTAMP_END,
    LedgerEntry,
    OldRow,
    check_doc_id,
    check_metadata,
)
from stateward.ledger.states import LedgerState

WORD_CHARS_MAX = 200
"""A longer state is text that went into the wrong field; its start is enough to tell it by."""
WORDS_CACHED_MAX = 100_000
SHAPES_CACHED_MAX = 1000
"""Programs write a few shapes; a file whose every line has names of its own is read line by line."""
SECONDS_MAX = 25_000_000_000.0
"""The year 2762: a greater number is one of milliseconds, microseconds or nanoseconds."""
INT_DIGITS_MAX = 18
"""A number of so many digits surely fits into 64 bits."""
ANYTHING_ELSE = "*"
BYTE_ORDER_MARK = "\ufeff"

_RARE_FIELDS = frozenset(
    [
        "error_type",
        "error_message",
        "traceback",
        "retry_count",
        "max_retries",
        "duration_seconds",
        "actor",
    ]
)
_ERROR_PARTS = (
    ("error_type", ("type", "error_type", "class")),
    ("error_message", ("message", "error_message", "msg")),
)
"""Some programs wrote an error as an object; these are its parts."""
# A line that is short, shallow and without long numbers cannot have metadata that the ledger refuses. Looking at the
# raw text for that is several times as fast as walking through the decoded values.
_SAFE_BYTES_MAX = METADATA_BYTES_MAX // 4
_SAFE_BRACKETS_MAX = 40
_MANY_DIGITS = b"0" * INT_DIGITS_MAX
_DIGITS_AS_ZEROS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
_GAPS = re.compile(r"[\s.\-/]+")
_decode = msgspec.json.Decoder().decode

STATES: dict[str, tuple[str, ...]] = {
    "pending": ("new", "queued", "todo", "to_do", "waiting", "created", "init", "initial", "registered", "discovered",
                "scheduled", "received", "submitted", "not_started", "auto_pending"),
    "fetching": ("fetch", "download", "downloading", "fetch_started", "download_started", "retrieving",
                 "auto_inflight"),
    "fetched": ("downloaded", "retrieved", "fetch_done", "fetch_completed", "pdf_downloaded", "auto_fetched"),
    "parsing": ("parse", "extracting", "parse_started", "pdf_parsing"),
    "parsed": ("extracted", "parse_done", "parse_completed", "pdf_parsed", "auto_parsed"),
    "validating": ("validate", "checking", "validation_started"),
    "validated": ("valid", "checked", "validation_done", "validation_passed"),
    "ir_building": ("building_ir", "ir_build", "ir_started", "pdf_ir_building", "mineru_inflight"),
    "ir_ready": ("ir_built", "ir_done", "ir_completed", "ir_written", "ir_exists", "pdf_ir_ready"),
    "embedding": ("embed", "embedding_started", "vectorizing", "postpdf_started"),
    "indexed": ("embedded", "index_done", "embedding_done"),
    "completed": ("complete", "done", "finished", "success", "succeeded", "successful", "ok", "processed", "auto_done",
                  "manual_done"),
    "failed": ("fail", "failure", "error", "errored", "exception", "dead", "aborted", "auto_failed", "pdf_failed",
               "mineru_failed", "fetch_failed", "parse_failed"),
    "retrying": ("retry", "retry_scheduled", "will_retry", "retry_pending"),
    "skipped": ("skip", "ignored", "duplicate", "excluded", "cancelled", "canceled"),
    "legacy": (),
}  # fmt: skip
"""What old ledgers call the states. Each state is also called by its own name."""

FIELDS: dict[str, tuple[str, ...]] = {
    "doc_id": ("doc_id", "document_id", "docid", "doc", "document", "record_id", "id"),
    "state": ("new_state", "to_state", "state", "status", "to"),
    "old_state": ("old_state", "from_state", "previous_state", "prev_state", "from"),
    "timestamp": ("timestamp", "ts", "time", "at", "updated_at", "datetime", "date", "created_at"),
    "adapter": ("adapter", "adapter_name", "source"),
    "error_type": ("error_type", "error_class", "exception_type"),
    "error_message": ("error_message", "error", "error_msg", "exception_message"),
    "traceback": ("traceback", "stack_trace", "stacktrace"),
    "retry_count": ("retry_count", "retries"),
    "max_retries": ("max_retries", "retries_max"),
    "duration_seconds": ("duration_seconds", "duration", "elapsed"),
    "metadata": ("metadata", "meta", "extra", "details"),
    "actor": ("actor", "user"),
}
"""What old ledgers call the fields; the earlier name counts where a line has several."""

FieldName: TypeAlias = Literal[
    "doc_id", "state", "old_state", "timestamp", "adapter", "error_type", "error_message", "traceback",
    "retry_count", "max_retries", "duration_seconds", "metadata", "actor",
]  # fmt: skip


class MappingDeclared(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a mapping file."""

    states: Annotated[
        dict[str, LedgerState],
        Meta(description="A word of the old ledger and the state that it means; * is the rest."),
    ] = {}
    fields: Annotated[
        dict[str, FieldName],
        Meta(description="A name of a field in the old ledger and the field that it means."),
    ] = {}


class LegacyMapping:
    """Which words mean which states and which names mean which fields: the built-in tables and one's own."""

    def __init__(self, declared: MappingDeclared | None = None) -> None:
        own = declared or MappingDeclared()
        self._states: dict[str, str] = {}
        for state, words in STATES.items():
            self._states.update(dict.fromkeys((state, *words), state))
        self.default = str(own.states.get(ANYTHING_ELSE, LedgerState.LEGACY))
        for word, state in own.states.items():
            if word != ANYTHING_ELSE:
                self._states[normalized_word(word)] = str(state)
        ranked = [
            (alias, (name, rank))
            for name, aliases in FIELDS.items()
            for rank, alias in enumerate(aliases)
        ]
        # A name that the user gave wins over every built-in one of the same field.
        ranked += [(alias.lower(), (str(name), -1)) for alias, name in own.fields.items()]
        self.fields: Mapping[str, tuple[str, int]] = _FieldNames(dict(ranked))
        """The field that a name means, and its rank among the names for that field."""
        # Goes into the first line of the new ledger: with other tables the same file is another migration.
        text = repr((sorted(self._states.items()), self.default, sorted(ranked)))
        self.digest = sha256(text.encode()).hexdigest()

    def state(self, word: str) -> str | None:
        """The state that a word means, or None if no table has it: then it is `default`."""
        return self._states.get(normalized_word(word))


def read_mapping(text: str, *, source: str) -> LegacyMapping:
    """The built-in tables and on top of them a YAML file's; raises `DeclarationError` with every fault and its line."""
    document = read_yaml(text, source=source)
    declared, faults = convert(document, MappingDeclared)
    if declared is None:
        raise DeclarationError(faults)
    seen: dict[str, str] = {}
    duplicates: list[Fault] = []
    for word in declared.states:
        first = seen.setdefault(normalized_word(word), word)
        if first != word:
            message = f"{word!r} and {first!r} are the same word; keep one"
            duplicates.append(document.fault(("states", word), message))
    if duplicates:
        raise DeclarationError(duplicates)
    return LegacyMapping(declared)


def normalized_word(word: str) -> str:
    """A word for a state as the table has it: lower case, underscores for gaps."""
    return _GAPS.sub("_", word.strip().casefold())


class _FieldNames(dict[str, tuple[str, int]]):
    """Names of fields in any case; a name that means nothing is cached as such."""

    def __missing__(self, name: str) -> tuple[str, int]:
        found = self.get(name.strip().lower(), ("", 0))
        if len(self) < WORDS_CACHED_MAX:
            self[name] = found
        return found


Scalar: TypeAlias = str | int | float | bool | None
ROW_TYPES: dict[str, Any] = {
    "doc_id": str, "state": str, "timestamp": str | float, "adapter": str, "metadata": dict[str, Scalar],
    "old_state": str | msgspec.UnsetType,
}  # fmt: skip
"""What the fields of a line with nothing unusual in it are, before its time and its state are ours."""
ROW_DEFAULTS: dict[str, dict[str, Any]] = {
    "adapter": {"default": ""}, "metadata": {"default_factory": dict}, "old_state": {"default": msgspec.UNSET}
}  # fmt: skip


class LegacyLine(msgspec.Struct, gc=False):
    """What one usable line says: `word` is the state as the old ledger wrote it, `said_before` the one it left."""

    entry: LedgerEntry
    word: str
    said_before: str | None
    is_time_assumed: bool


class RowShape(NamedTuple):
    """How lines with some names of fields are read; `loose` are names that mean nothing, and their attributes."""

    decode: Callable[[bytes], list[OldRow]]
    loose: tuple[tuple[str, str], ...]


class LegacyReader:
    """Reads the lines of one old ledger in order; a line without a time gets that of the line before it."""

    def __init__(self, mapping: LegacyMapping, *, first_at: float) -> None:
        self._mapping = mapping
        self.last_at = first_at
        self._words: dict[str, tuple[str, bool]] = {}
        self._shapes: dict[tuple[str, ...], RowShape | None] = {}

    def line(self, text: bytes, number: int) -> LegacyLine:
        """What a line says. Raises `InvalidRequest` with the reason if it cannot be used."""
        try:
            fields = _decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            fields = decode_lenient(text)
        return self._line(_as_object(fields), text, number)

    def rows(self, texts: list[bytes]) -> tuple[list[OldRow], RowShape] | None:
        """Many lines at once, if all look alike and none is unusual; None if they must be read one by one.

        Programs write lines of a few shapes. What the names of the first line mean holds for the others too, or the
        decoder refuses them.
        """
        text = b"".join(texts)
        # The values of metadata need not be looked at one by one: they are scalars, and no number is too long.
        if max(map(len, texts)) > _SAFE_BYTES_MAX or _MANY_DIGITS in text.translate(
            _DIGITS_AS_ZEROS
        ):
            return None
        try:
            names = tuple(_as_object(_decode(texts[0])))
            shape = self._shapes[names] if names in self._shapes else self._shape(names)
            rows = shape.decode(text) if shape is not None else []
        except (msgspec.MsgspecError, InvalidRequest, RecursionError, ValueError):
            # A `ValueError`, too, is a name that no decoder can be made for.
            return None
        return (rows, shape) if shape is not None and len(rows) == len(texts) else None

    def _shape(self, names: tuple[str, ...]) -> RowShape | None:
        """A decoder for lines with just these names; None if they say something that needs a look at each line.

        It is built at run time because the names are those of the file. A value of another type than expected makes
        the decoder refuse the whole group, which is then read line by line: nothing is guessed here.
        """
        known, loose = self._split_fields(dict(zip(names, names, strict=True)))
        shape = None
        if {"doc_id", "state", "timestamp"} <= known.keys() and _RARE_FIELDS.isdisjoint(known):
            fields: list[tuple[str, Any, Any]] = [
                (meaning, ROW_TYPES[meaning], msgspec.field(name=str(name), **ROW_DEFAULTS.get(meaning, {})))
                for meaning, name in known.items()
            ]  # fmt: skip
            named = tuple((name, f"loose_{place}") for place, name in enumerate(loose))
            fields += [
                (
                    attribute,
                    Scalar | msgspec.UnsetType,
                    msgspec.field(name=name, default=msgspec.UNSET),
                )
                for name, attribute in named
            ]
            row = msgspec.defstruct("Row", fields, bases=(OldRow,), gc=False, kw_only=True)
            shape = RowShape(msgspec.json.Decoder(row).decode_lines, named)  # type: ignore[arg-type]
        if len(self._shapes) < SHAPES_CACHED_MAX:
            self._shapes[names] = shape
        return shape

    def _line(self, fields: dict[str, Json], text: bytes, number: int) -> LegacyLine:
        """A line with anything unusual in it. What has no place of its own goes to the metadata: nothing is dropped."""
        may_exceed = _may_exceed_limits(text)
        if may_exceed:
            fields = _as_object(decode_lenient(text))  # numbers of more than 64 bits become text
        known, loose = self._split_fields(fields)
        doc_id, word = _doc_id(known), _word(known)
        state, is_mapped = self.state(word)
        metadata = _metadata(known, loose)
        if not is_mapped or state != word:
            metadata["legacy_state"] = word
        given = known.get("timestamp")
        at = seconds(given)
        if type(given) is float and 0.0 <= given < SECONDS_MAX:
            at = given  # as it is: `seconds` would round it
        if at is not None:
            self.last_at = at
        elif given is not None:
            metadata["legacy_timestamp"] = given
        entry = LedgerEntry(
            doc_id=doc_id,
            state=state,
            adapter=_short_text(known, metadata, "adapter", ADAPTER_CHARS_MAX) or "",
            timestamp=self.last_at,
            metadata=metadata,
            source_seq=number,
        )
        if not _RARE_FIELDS.isdisjoint(known):
            entry = replace(entry, **_details(known, metadata))
        before = known.get("old_state")
        if may_exceed:
            check_metadata(metadata, bytes_max=METADATA_BYTES_MAX)
        return LegacyLine(entry, word, None if before is None else str(before), at is None)

    def state(self, word: str) -> tuple[str, bool]:
        """The state that a word means here, and whether a table says so."""
        found = self._words.get(word)
        if found is None:
            state = self._mapping.state(word)
            found = (self._mapping.default, False) if state is None else (state, True)
            if len(self._words) < WORDS_CACHED_MAX:
                self._words[word] = found
        return found

    def _split_fields(self, fields: dict[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
        """The fields that mean something, under our names, and the others; of two that mean one, the better name."""
        names = self._mapping.fields
        known: dict[str, Json] = {}
        loose: dict[str, Json] = {}
        taken: dict[str, tuple[int, str]] = {}
        for key, value in fields.items():
            name, rank = names[key]
            if not name:
                loose[key] = value
            elif value is None:
                continue
            elif name in known and rank >= taken[name][0]:
                loose[key] = value
            else:
                if name in known:
                    loose[taken[name][1]] = known[name]
                known[name], taken[name] = value, (rank, key)
        return known, loose


def _as_object(value: Json) -> dict[str, Json]:
    if type(value) is not dict:
        kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
        raise InvalidRequest(f"this is {kinds.get(type(value), 'a number')}, not a JSON object")
    return value


def decode_lenient(text: bytes) -> Json:
    """The value of a line that strict JSON refuses. Raises `InvalidRequest` with the reason if it has none."""
    try:
        plain = text.decode("utf-8").removeprefix(BYTE_ORDER_MARK).rstrip()
        found: Json = json.loads(
            plain, parse_constant=str, parse_float=_finite_float, parse_int=_short_int
        )
        return _escape_surrogates(found)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"this is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"this is not JSON: {error.msg} (character {error.pos + 1})"
        ) from error
    except RecursionError as error:
        raise InvalidRequest("this is nested too deeply") from error


def _finite_float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _short_int(text: str) -> int | str:
    """A number as text where 64 bits do not hold it."""
    if len(text) <= INT_DIGITS_MAX:
        return int(text)
    return found if len(text) < 32 and INT_MIN <= (found := int(text)) <= INT_MAX else text


def _escape_surrogates(value: Json) -> Json:
    """Lone surrogates as the escapes that stand for them in JSON."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_escape_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {
            str(_escape_surrogates(key)): _escape_surrogates(each) for key, each in value.items()
        }
    return value


def _may_exceed_limits(text: bytes) -> bool:
    """Whether the metadata of a line may be too long, too deep or hold too large a number; most lines cannot."""
    if len(text) > _SAFE_BYTES_MAX or _MANY_DIGITS in text.translate(_DIGITS_AS_ZEROS):
        return True
    return text.count(b"[") + text.count(b"{") > _SAFE_BRACKETS_MAX


def seconds(value: Json) -> float | None:
    """Seconds since 1970, from a number, the text of one, or ISO 8601; None if it is none of these."""
    if isinstance(value, str):
        text = value.strip()
        if not text.isascii():
            return None
        try:
            value = float(text)
        except ValueError:
            return iso_seconds(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or value < 0:
        return None
    for _ in range(3):  # it may be in milliseconds, microseconds or nanoseconds
        if value < SECONDS_MAX:
            break
        value /= 1000
    return round(float(value), 6) if value < SECONDS_MAX else None


def iso_seconds(text: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is taken for UTC, as the old ledgers wrote it."""
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        at = aware.timestamp()
    except (OverflowError, ValueError):
        return None
    return at if 0 <= at < TIMESTAMP_END else None


def _doc_id(known: dict[str, Json]) -> str:
    """The document: a text, a number, or an object that has its id."""
    found = known.get("doc_id")
    if type(found) is dict:
        found = found.get("doc_id") or found.get("id")
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    if found is None:
        raise InvalidRequest("it names no document")
    check_doc_id(found)
    return str(found)


def _word(known: dict[str, Json]) -> str:
    """The state as it was written; some programs wrote numbers of an enumeration."""
    found = known.get("state")
    if type(found) is str:
        word = found[:WORD_CHARS_MAX]
        if word and not word.isspace():
            return word
    elif isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    raise InvalidRequest("it names no state")


def _metadata(known: dict[str, Json], loose: dict[str, Json]) -> Fields:
    """What the line holds besides; a loose field never replaces one of the metadata."""
    nested = known.get("metadata")
    if nested is None:
        return loose
    if type(nested) is not dict:
        nested = {"legacy_metadata": nested}
    for key, value in loose.items():
        nested["legacy_" + key if key in nested else key] = value
    return nested


def _details(known: dict[str, Json], metadata: Fields) -> dict[str, object]:
    """The rarer fields, as far as they are what they should be; what is not stays in the metadata."""
    found: dict[str, object] = {}
    error = known.get("error_message")
    if type(error) is dict:
        for key, aliases in _ERROR_PARTS:
            value = next((error[alias] for alias in aliases if type(error.get(alias)) is str), None)
            if value is not None:
                known[key] = value
        if type(known["error_message"]) is dict:
            metadata["legacy_error"] = known.pop("error_message")
    for key in ("error_message", "traceback"):
        if key in known:
            text = known[key]
            found[key] = text if type(text) is str else msgspec.json.encode(text).decode()
    for key, chars_max in (("error_type", ERROR_TYPE_CHARS_MAX), ("actor", ADAPTER_CHARS_MAX)):
        if key in known:
            found[key] = _short_text(known, metadata, key, chars_max)
    for key in ("retry_count", "max_retries", "duration_seconds"):
        if key in known:
            number = _number(known[key], is_whole=key != "duration_seconds")
            if number is None:
                metadata["legacy_" + key] = known[key]
            else:
                found[key] = number
    return found


def _short_text(known: dict[str, Json], metadata: Fields, key: str, chars_max: int) -> str | None:
    """A short text; what was no text or too long is kept whole in the metadata."""
    value = known.get(key)
    if value is None or (type(value) is str and len(value) <= chars_max):
        return value
    metadata["legacy_" + key] = value
    if isinstance(value, str):
        return clean_text(value, chars_max=chars_max)
    return str(value)[:chars_max]


def _number(value: Json, *, is_whole: bool) -> int | float | None:
    """A number that is not negative, also one that was written as text."""
    if isinstance(value, str) and value.isascii():
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if (
        value < 0
        or value > (COUNT_MAX if is_whole else DURATION_S_MAX)
        or (is_whole and value != int(value))
    ):
        return None
    return int(value) if is_whole else float(value)
