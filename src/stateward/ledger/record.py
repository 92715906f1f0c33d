"""One line of the log, and the two values that people get from it.

A line is a JSON object with the fields of the audit record, then always, in this order and last,

    ,"seq":17,"n":2,"h":"5f0c…"}⏎

`seq` counts the lines of the whole log from 1. `n` is the place of the line in its commit group, from 1:
when it was written, everything up to `seq - n` was already durable. `h` chains it (see `chain`).
`doc_id`, `old_state`, `new_state`, `timestamp` and `adapter` are always there; a field that has its
default is left out. A document's first line has a null `old_state`.

Lines of the ledger itself (a rollback, the opening of the import door) have an empty `doc_id`, which no
document can have; `new_state` names what happened and `metadata` tells the rest.

Nothing here touches a disk.
"""

import math
from typing import Final

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json

DOC_ID_BYTES_MAX = 4096
IDS_SHORT_MAX = DOC_ID_BYTES_MAX // 4
ADAPTER_CHARS_MAX = 256
METADATA_BYTES_MAX = 1 << 20
METADATA_DEPTH_MAX = 50
ERROR_TYPE_CHARS_MAX = 256
ERROR_MESSAGE_CHARS_MAX = 8192
TRACEBACK_CHARS_MAX = 65_536
MAX_RETRIES_DEFAULT = 3
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

CONTROL: Final = ""
"""The document id of the ledger's own lines."""
ROLLED_BACK = "ledger.rolled_back"
IMPORT_OPENED = "ledger.import_opened"
IMPORT_CLOSED = "ledger.import_closed"

KEY_START = b'{"doc_id":'
KEY_END = b'","old_state":'

encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.decode


class Line(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False, eq=False):
    """A line as it is written and read, in the order of its fields on disk. Never change one.

    Two are the same only if they are one object: so lines can be counted without a look at what they say.
    """

    doc_id: str
    old_state: str | None
    new_state: str
    timestamp: float
    adapter: str
    error_type: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    retry_count: int = 0
    max_retries: int = MAX_RETRIES_DEFAULT
    duration_seconds: float | None = None
    metadata: Fields = {}
    resume: str | None = None
    actor: str | None = None
    source: str | None = None
    source_seq: int | None = None
    seq: int
    n: int


class LedgerAuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One change of state, as the ledger keeps it for ever.

    `resume` is the state that a retry goes on at, `actor` who asked for it, `source` and `source_seq`
    the log it was mirrored from. `extra` holds the fields of newer versions: kept, not understood.
    """

    doc_id: str
    old_state: str | None
    new_state: str
    timestamp: float
    adapter: str = ""
    error_type: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    retry_count: int = 0
    max_retries: int = MAX_RETRIES_DEFAULT
    duration_seconds: float | None = None
    metadata: Fields = {}
    resume: str | None = None
    actor: str | None = None
    source: str | None = None
    source_seq: int | None = None
    seq: int = 0
    n: int = 1
    h: str = ""
    extra: Fields = {}

    def to_dict(self) -> Fields:
        """As a plain mapping, the unknown fields among the known ones."""
        fields: Fields = msgspec.to_builtins(self)
        extra = fields.pop("extra")
        return {**fields, **extra}  # type: ignore[dict-item]

    @property
    def is_control(self) -> bool:
        """Whether this is a line of the ledger itself, not of a document."""
        return self.doc_id == CONTROL


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Where a document is now. `is_partial`: the ledger was opened without its base."""

    doc_id: str
    state: str
    updated_at: float
    adapter: str
    seq: int
    metadata: Fields = {}
    retry_count: int = 0
    max_retries: int = MAX_RETRIES_DEFAULT
    resume: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    is_partial: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of state that somebody asks for: what `record` takes, as a value.

    `old_state` is a claim that is checked when it is given. `timestamp` is the ledger's clock if not.
    """

    doc_id: str
    state: str
    adapter: str = ""
    error_type: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    retry_count: int | None = None
    max_retries: int | None = None
    duration_seconds: float | None = None
    metadata: Fields = {}
    actor: str | None = None
    timestamp: float | None = None
    old_state: str | None = None
    source_seq: int | None = None
    extra: Fields = {}


class PlainEntry(Entry, frozen=True, kw_only=True, gc=False):
    """One that says no more than document, state, adapter, metadata, time and where it comes from."""


class Kept(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What a snapshot keeps of a document: `"doc:1":{"state":"parsed",…}`."""

    state: str
    updated_at: float
    adapter: str
    metadata: Fields
    seq: int = 0
    retry_count: int = 0
    max_retries: int = MAX_RETRIES_DEFAULT
    resume: str | None = None
    error_type: str | None = None
    error_message: str | None = None


KNOWN = frozenset(Line.__struct_fields__) | {"h"}
_line_decoder = msgspec.json.Decoder(Line)
decode_line = _line_decoder.decode
decode_lines = _line_decoder.decode_lines


class _KeptLine(Line, kw_only=True):
    """A line as a snapshot spells it: the same fields as `Kept`, under the names of a line."""

    doc_id: str = ""
    old_state: str | None = None
    new_state: str = msgspec.field(name="state")
    timestamp: float = msgspec.field(name="updated_at")
    seq: int = 0
    n: int = 1


_decode_kept = msgspec.json.Decoder(_KeptLine).decode


def audit_record(text: bytes | str) -> LedgerAuditRecord:
    """The record that a line holds, with the fields that this version does not know."""
    fields: Fields = decode_json(text)
    extra = {name: fields.pop(name) for name in fields.keys() - KNOWN}
    return msgspec.convert({**fields, "extra": extra}, LedgerAuditRecord)


def quoted(doc_id: str) -> bytes:
    """A document id as it stands in the files: a JSON string, never with a raw newline in it."""
    return encode_json(doc_id)


def key_of(text: bytes) -> bytes:
    """The quoted document id of a line; inside a quoted id every quote is escaped, so this is exact."""
    return text[len(KEY_START) : text.index(KEY_END) + 1]


def kept(line: Line) -> bytes:
    """The line's outcome as a snapshot writes it."""
    return encode_json(
        Kept(
            state=line.new_state,
            updated_at=line.timestamp,
            adapter=line.adapter,
            metadata=line.metadata,
            seq=line.seq,
            retry_count=line.retry_count,
            max_retries=line.max_retries,
            resume=line.resume,
            error_type=line.error_type,
            error_message=line.error_message,
        )
    )


def from_kept(doc_id: str, text: bytes) -> Line:
    """The last line of a document, as far as a snapshot keeps it."""
    line = _decode_kept(text)
    line.doc_id = doc_id
    return line


def document(line: Line, *, is_partial: bool = False) -> Document:
    """The document as its last line left it."""
    return Document(
        doc_id=line.doc_id,
        state=line.new_state,
        updated_at=line.timestamp,
        adapter=line.adapter,
        seq=line.seq,
        metadata=line.metadata,
        retry_count=line.retry_count,
        max_retries=line.max_retries,
        resume=line.resume,
        error_type=line.error_type,
        error_message=line.error_message,
        is_partial=is_partial,
    )


def check_doc_id(doc_id: object) -> None:
    """Refuse what cannot be the id of a document."""
    if type(doc_id) is not str:
        raise InvalidRequest(f"a document id is text, not {type(doc_id).__name__}: {doc_id!r:.60}")
    if not doc_id:
        raise InvalidRequest("a document id must not be empty")
    if len(doc_id) * 4 > DOC_ID_BYTES_MAX:
        _check_long_id(doc_id)
    _check_unicode(doc_id, "a document id")


def _check_long_id(doc_id: str) -> None:
    size = len(doc_id.encode("utf-8", "surrogatepass"))
    if size > DOC_ID_BYTES_MAX:
        raise InvalidRequest(
            f"a document id has at most {DOC_ID_BYTES_MAX} bytes; {doc_id[:40]!r}… has {size}"
        )


def check_text(value: object, *, what: str, chars_max: int) -> None:
    """Refuse what is no short text that every tool can read."""
    if type(value) is not str:
        raise InvalidRequest(f"{what} is text, not {type(value).__name__}")
    if len(value) > chars_max:
        raise InvalidRequest(f"{what} has at most {chars_max} characters, not {len(value)}")
    _check_unicode(value, what)


def check_metadata(metadata: object, *, bytes_max: int) -> None:
    """Refuse what JSON cannot say exactly: NaN, infinities, lone surrogates, huge numbers, deep nesting."""
    if not isinstance(metadata, dict):
        raise InvalidRequest(f"metadata is a mapping, not {type(metadata).__name__}")
    _check_json(metadata, 0)
    size = len(encode_json(metadata))
    if size > bytes_max:
        raise InvalidRequest(
            f"metadata has at most {bytes_max} bytes as JSON, not {size}; keep the rest elsewhere and "
            "name it here, or open the ledger with a larger metadata_bytes_max"
        )


def _check_json(value: object, depth: int) -> None:
    if depth > METADATA_DEPTH_MAX:
        raise InvalidRequest(f"metadata is nested deeper than {METADATA_DEPTH_MAX} levels")
    if isinstance(value, dict):
        for key, each in value.items():
            if type(key) is not str:
                raise InvalidRequest(f"a key of metadata is text, not {type(key).__name__}")
            _check_unicode(key, "metadata")
            _check_json(each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_json(each, depth + 1)
    else:
        _check_scalar(value)


def _check_scalar(value: object) -> None:
    match value:
        case None | bool():
            pass
        case str():
            _check_unicode(value, "metadata")
        case int():
            if not INT_MIN <= value <= INT_MAX:
                raise InvalidRequest(
                    "metadata holds a number of more than 64 bits; write it as text"
                )
        case float():
            if not math.isfinite(value):
                raise InvalidRequest(f"metadata holds {value}, which JSON has no word for")
        case _:
            raise InvalidRequest(f"metadata holds a {type(value).__name__}, which is no JSON value")


def _check_unicode(text: str, what: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"{what} holds half a character (a lone surrogate)") from error


def to_microseconds(seconds: float) -> float:
    """Seconds to six places. The same as `round(seconds, 6)` for all that a clock says, and four times as quick."""
    return int(seconds * 1e6 + 0.5) / 1e6 if seconds >= 0 else round(seconds, 6)


def plain_number(value: Json, *, what: str) -> float:
    """A finite number of seconds, not negative; True is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidRequest(f"{what} is a finite number, not {value!r:.60}")
    return float(value)
