"""One line of the log, what a snapshot keeps of it, and the values that callers get from both.

A line is a JSON object with the fields of the audit record and then always, in this order and last,

    ,"seq":17,"n":2,"h":"5f0c…"}⏎

`seq` numbers the lines of the whole log from 1. `n` is the position in the commit group, from 1: when the line was
written, everything up to `seq - n` was already durable. `h` chains it (see `chain`). `doc_id`, `old_state`,
`new_state`, `timestamp` and `adapter` are always there; other fields are left out where they have their default. The
first line of a document has a null `old_state`.

Control lines are about the ledger itself (a rollback, a snapshot, the start and end of an import). They have an empty
`doc_id`, which no document can have; `new_state` names what happened and `metadata` holds the details.

`doc_id` comes first and `old_state` second, so that the id of a line can be compared as bytes without decoding the
line. Therefore the order of the fields below is part of the format.

Nothing here touches a disk.
"""

import math
from typing import Final

import msgspec

from stateward.core.errors import InvalidRequest, LedgerDamaged
from stateward.core.json_keys import names_a_key_twice
from stateward.core.model import Fields
from stateward.ledger.chain import SEAL_BYTES

DOC_ID_BYTES_MAX = 4096
"""Paths and URLs fit, and an id is in memory for every document of a look-up table."""
SHORT_ID_CHARS_MAX = DOC_ID_BYTES_MAX // 4
"""UTF-8 takes at most 4 bytes a character: a shorter id need not be encoded to know that it is short enough."""
ADAPTER_CHARS_MAX = 256
STATE_CHARS_MAX = 256
METADATA_BYTES_MAX = 1 << 20
"""The metadata of a document's last line is stored in each snapshot again: it is for facts, not for content."""
METADATA_DEPTH_MAX = 50
"""Well below the depth at which common decoders give up (Ruby: 100, jq 1.6: 256)."""
ERROR_TYPE_CHARS_MAX = 256
ERROR_MESSAGE_CHARS_MAX = 8192
TRACEBACK_CHARS_MAX = 65_536
"""Its end says what happened; a recursion without end makes megabytes of the same two lines."""
MAX_RETRIES_DEFAULT = 3
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""What other tools read exactly: DuckDB's BIGINT, Go's int64, msgspec without big integers."""

COUNT_MAX = 2**31 - 1
"""Of retries: far more than ever happen, and one more never leaves 64 bits."""
DURATION_S_MAX = 10**10
"""300 years; longer ones would not be told apart in the totals either (see `summary`)."""
TIMESTAMP_MIN, TIMESTAMP_END = -62_135_596_800, 253_402_300_800
"""The years 1 to 9999: what a date can be made of."""

CONTROL_DOC_ID: Final = ""
ROLLED_BACK = "ledger.rolled_back"
IMPORT_OPENED = "ledger.import_opened"
IMPORT_CLOSED = "ledger.import_closed"
COMPACTED = "ledger.compacted"
"""Names the root of a snapshot (`last_seq`, `root`): so the chain and every later checkpoint cover the states too."""

KEY_START = b'{"doc_id":'
KEY_END = b'","old_state":'

encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.decode


class LedgerLine(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False, eq=False):
    """A line as it is written and read, its fields in their order on disk.

    Not frozen, because the builder fills in the numbers, but never changed once it is written: one object stands for
    every document that made the same move in a group. `eq=False`: two lines are equal only if they are one object, so
    that a group can be counted by identity without comparing fields.
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

    @property
    def is_rollback(self) -> bool:
        """Whether this control line records a rollback; it is then the last one of its delta."""
        return not self.doc_id and self.new_state == ROLLED_BACK

    @property
    def state(self) -> str:
        """The state that the document is in after it, as a snapshot and its readers call it."""
        return self.new_state

    @property
    def updated_at(self) -> float:
        """When, as a snapshot and its readers call it."""
        return self.timestamp


class LedgerAuditRecord(  # type: ignore[misc] # the lines that the builder fills in are not frozen
    LedgerLine, frozen=True, kw_only=True, omit_defaults=False, gc=True, eq=True
):
    """One change of state, as the log holds it.

    `resume` is the state at which a retry continues, `actor` who asked for the change, `source` and `source_seq` the
    log that it was mirrored from. `extra` holds the fields of newer versions, which are preserved but not understood.
    """

    h: str = ""
    extra: Fields = {}

    def to_dict(self) -> Fields:
        """As a plain mapping; unknown fields stand beside the known ones, as in the file."""
        fields: Fields = msgspec.to_builtins(self)
        extra = fields.pop("extra")
        return {**fields, **extra}  # type: ignore[dict-item]

    @property
    def is_control(self) -> bool:
        """Whether this line is about the ledger itself, not about a document."""
        return self.doc_id == CONTROL_DOC_ID


class LedgerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The current state of a document. `is_partial`: the ledger was opened without its base snapshot."""

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


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A requested change of state: the arguments of `Ledger.record` as a value.

    `old_state`, when given, must be the document's present state. Without a `timestamp` the ledger's clock is used.
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


class OldRow(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A line of an old ledger with nothing unusual in it (see `legacy`), which becomes the entry to import itself.

    A subclass for each shape of lines says what the fields are called. `old_state` is what the line says.
    """

    doc_id: str
    state: str
    timestamp: float
    adapter: str = ""
    metadata: Fields = {}
    old_state: str | msgspec.UnsetType = msgspec.UNSET
    source_seq: int = msgspec.field(default=0, name="(number of the line)")


class SnapshotDocument(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What a snapshot keeps of a document: `"doc:1":{"state":"parsed",…}`. Field order is part of the format."""

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


class _SnapshotLine(LedgerLine, kw_only=True):
    """A `SnapshotDocument` decoded straight into a line, which is what the rest of the code works with."""

    doc_id: str = ""
    old_state: str | None = None
    new_state: str = msgspec.field(name="state")
    timestamp: float = msgspec.field(name="updated_at")
    seq: int = 0
    n: int = 1


KNOWN_FIELDS = frozenset(LedgerLine.__struct_fields__) | {"h"}
_line_decoder = msgspec.json.Decoder(LedgerLine)
decode_line = _line_decoder.decode
decode_lines = _line_decoder.decode_lines
_decode_snapshot_line = msgspec.json.Decoder(_SnapshotLine).decode


def audit_record(text: bytes | str) -> LedgerAuditRecord:
    """The record in a line, with the fields that this version does not know."""
    fields: Fields = decode_json(text)
    extra = {name: fields.pop(name) for name in fields.keys() - KNOWN_FIELDS}
    return msgspec.convert({**fields, "extra": extra}, LedgerAuditRecord)


def is_ambiguous(text: bytes) -> bool:
    """Whether a line has an object with two values for one key."""
    # Nearly always a line is as this version would write it, which costs a fifth of the other look.
    is_as_written = encode_json(decode_line(text))[:-1] == text[:-SEAL_BYTES]
    return not is_as_written and names_a_key_twice(text)


def audit_record_of(line: LedgerLine, h: str) -> LedgerAuditRecord:
    """The record of a line that was just written, without decoding it again."""
    fields = msgspec.structs.asdict(line)
    if line.metadata:
        # A copy as a reader gets it: the caller may go on to use what was given.
        fields["metadata"] = decode_json(encode_json(line.metadata))
    return LedgerAuditRecord(**fields, h=h)


def quoted_id(doc_id: str) -> bytes:
    """A document id as it stands in the files: a JSON string, which never holds a raw newline."""
    return encode_json(doc_id)


def quoted_id_of(text: bytes) -> bytes:
    """The quoted document id of a line. Quotes inside an id are escaped, so the first match is its end."""
    return text[len(KEY_START) : text.index(KEY_END) + 1]


def snapshot_document(line: LedgerLine) -> bytes:
    """The outcome of a line as a snapshot writes it."""
    return encode_json(msgspec.convert(line, SnapshotDocument, from_attributes=True))


def line_from_snapshot(doc_id: str, text: bytes) -> LedgerLine:
    """The last line of a document, as far as a snapshot keeps it. Raises `LedgerDamaged` for what none can keep."""
    try:
        line = _decode_snapshot_line(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        sentence = f"{doc_id} is kept, but cannot be read: {error}"
        raise LedgerDamaged.at("snapshot", sentence) from error
    line.doc_id = doc_id
    return line


def rollback_of(line: LedgerLine) -> tuple[int, int]:
    """The seq of a rollback and the seq that it went back to, as the manifest lists them. Raises `LedgerDamaged`."""
    to = line.metadata.get("to_seq")
    if type(to) is not int or not 0 <= to < line.seq:
        raise LedgerDamaged.at("log", "the rollback does not name an earlier line", seq=line.seq)
    return line.seq, to


def check_doc_id(doc_id: object) -> None:
    """Refuse what cannot be the id of a document."""
    if type(doc_id) is not str:
        raise InvalidRequest(f"a document id is text, not {type(doc_id).__name__}: {doc_id!r:.60}")
    if not doc_id:
        raise InvalidRequest("a document id must not be empty")
    if len(doc_id) > SHORT_ID_CHARS_MAX:
        size = len(doc_id.encode("utf-8", "surrogatepass"))
        if size > DOC_ID_BYTES_MAX:
            raise InvalidRequest(
                f"a document id has at most {DOC_ID_BYTES_MAX} bytes; {doc_id[:40]!r}… has {size}"
            )
    _check_unicode(doc_id, "a document id")


def check_is_text(value: object, *, what: str) -> str:
    """The text; what is not text is refused."""
    if type(value) is not str:
        raise InvalidRequest(f"{what} is text, not {type(value).__name__}")
    return value


def check_text(value: object, *, what: str, chars_max: int) -> None:
    """Refuse what is not text, too long, or not encodable as UTF-8."""
    text = check_is_text(value, what=what)
    if len(text) > chars_max:
        raise InvalidRequest(f"{what} has at most {chars_max} characters, not {len(text)}")
    _check_unicode(text, what)


def check_metadata(metadata: object, *, bytes_max: int) -> None:
    """Refuse what JSON cannot represent exactly: NaN, infinities, lone surrogates, huge numbers, deep nesting."""
    if not isinstance(metadata, dict):
        raise InvalidRequest(f"metadata is a mapping, not {type(metadata).__name__}")
    _check_json(metadata, 0)
    try:
        size = len(encode_json(metadata))
    except TypeError as error:  # a subclass of a number or a text
        raise InvalidRequest(f"metadata holds what is no JSON value: {error}") from error
    if size > bytes_max:
        raise InvalidRequest(
            f"metadata has at most {bytes_max} bytes as JSON, not {size}; keep the rest elsewhere and "
            "name it here"
        )


def _check_json(value: object, depth: int) -> None:
    if depth > METADATA_DEPTH_MAX:
        raise InvalidRequest(f"metadata is nested deeper than {METADATA_DEPTH_MAX} levels")
    match value:
        case None | bool():
            pass
        case dict():
            for key, each in value.items():
                if type(key) is not str:
                    raise InvalidRequest(f"a key of metadata is text, not {type(key).__name__}")
                _check_unicode(key, "metadata")
                _check_json(each, depth + 1)
        case list() | tuple():
            for each in value:
                _check_json(each, depth + 1)
        case str():
            _check_unicode(value, "metadata")
        case int() if not INT_MIN <= value <= INT_MAX:
            raise InvalidRequest("metadata holds a number of more than 64 bits; write it as text")
        case float() if not math.isfinite(value):
            raise InvalidRequest(f"metadata holds {value}, which JSON cannot represent")
        case int() | float():
            pass
        case _:
            raise InvalidRequest(f"metadata holds a {type(value).__name__}, which is no JSON value")


def _check_unicode(text: str, what: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"{what} holds half a character (a lone surrogate)") from error


def check_duration(value: object) -> None:
    """Refuse what is no number of seconds that passed, and what would make a sum of such numbers infinite."""
    if type(value) not in (int, float) or not 0 <= value <= DURATION_S_MAX:  # type: ignore[operator]
        raise InvalidRequest(
            f"duration_seconds is a number from 0 to {DURATION_S_MAX}, not {value!r:.60}"
        )


def check_timestamp(value: object) -> None:
    """Refuse what is no moment between the years 1 and 9999, in seconds."""
    if type(value) not in (int, float) or not TIMESTAMP_MIN <= value < TIMESTAMP_END:  # type: ignore[operator]
        raise InvalidRequest(
            f"timestamp is in seconds since 1970 and within the years 1 to 9999, not {value!r:.60}"
        )


def check_count(value: object, *, what: str, most: int = COUNT_MAX) -> None:
    """Refuse what is not a whole number from 0 on; 1.0 and True are none."""
    if type(value) is not int or not 0 <= value <= most:
        raise InvalidRequest(f"{what} is a whole number from 0 to {most}, not {value!r:.60}")


def to_microseconds(seconds: float) -> float:
    """Seconds to six places: `round(seconds, 6)` for every value of a clock, in a quarter of its time."""
    return int(seconds * 1e6 + 0.5) / 1e6 if seconds >= 0 else round(seconds, 6)
