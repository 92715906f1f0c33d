"""Builds the lines of a commit group: each change is checked against the document's last line, numbered and chained.

Most changes are plain moves (document, state, adapter), and many documents make the same one at the same moment. They
then differ in their ids and numbers alone. So there are three paths: for groups of plain moves, where everything that
they share is checked and encoded once; for lines of old ledgers, whose values `legacy` has checked already; and for
everything else, one entry at a time. All three produce the same lines, and a test compares them.

A group is kept as columns (ids, texts, lines) and not as objects, because an object per line would cost as much as
hashing it. In the first path one `LedgerLine` stands for all documents that made the same move: its `doc_id`, `seq` and
`n` are those of the first. The line of one document is read from the log.

The caller holds the writer's `state_lock`. Nothing here touches a disk, except to look up a document that was not
changed lately.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import repeat

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json, clean_text
from stateward.ledger.chain import DIGITS, SEAL_END, SEAL_START, seal
from stateward.ledger.record import (
    ADAPTER_CHARS_MAX,
    ERROR_MESSAGE_CHARS_MAX,
    ERROR_TYPE_CHARS_MAX,
    INT_MAX,
    KNOWN_FIELDS,
    MAX_RETRIES_DEFAULT,
    METADATA_BYTES_MAX,
    SHORT_ID_CHARS_MAX,
    STATE_CHARS_MAX,
    TRACEBACK_CHARS_MAX,
    LedgerEntry,
    LedgerLine,
    OldRow,
    check_count,
    check_doc_id,
    check_duration,
    check_is_text,
    check_metadata,
    check_text,
    check_timestamp,
    encode_json,
    to_microseconds,
)
from stateward.ledger.states import TransitionTable

RECENT_MAX = 65_536
"""So many documents are remembered with their last line; others are looked up in the files."""
ADAPTERS_KNOWN_MAX = 1024
"""Far more than a ledger has; a caller who puts ids there must not fill the memory."""
MOVES_MIN = 8
"""The fast path for plain moves costs some set-up: a smaller group is not worth it."""
LINE_START = '{"doc_id":"'
NUMBERS_PLACEHOLDER = '0,"n":0}'
"""How a line ends that was encoded before its numbers were known: they replace this."""
UNESCAPED = bytes(char for char in range(32, 127) if char not in b'"\\')
"""The characters that JSON writes as they are."""

Change = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, Mapping[str, Json]]
"""(document, state[, adapter[, metadata]])"""
_VALUE_CHECKS: dict[str, Callable[[object], object]] = {
    "error_type": partial(check_text, what="error_type", chars_max=ERROR_TYPE_CHARS_MAX),
    "error_message": partial(check_is_text, what="error_message"),
    "traceback": partial(check_is_text, what="traceback"),
    "actor": partial(check_text, what="actor", chars_max=ADAPTER_CHARS_MAX),
    "duration_seconds": check_duration,
    "timestamp": check_timestamp,
    "retry_count": partial(check_count, what="retry_count"),
    "max_retries": partial(check_count, what="max_retries"),
    "source_seq": partial(check_count, what="source_seq", most=INT_MAX),
}
"""What a line may say that need not be there; too long messages are cut, not refused."""
Columns = tuple[Sequence[str], Iterable[str], Iterable[str]]


class CommitGroup:
    """Lines in order that are written together. `seq` and `chain` are those after the last one.

    `appends` counts the calls that added lines: more than one means that several threads share the group.
    """

    __slots__ = ("appends", "chain", "ids", "lines", "seq", "texts")

    def __init__(self, seq: int, chain: bytes) -> None:
        self.seq = seq
        self.chain = chain
        self.appends = 0
        self.ids: list[str] = []
        self.texts: list[bytes] = []
        self.lines: list[LedgerLine] = []

    def add(self, line: LedgerLine, body: bytes) -> None:
        """Append a line; `body` is its JSON object without the closing brace, its seq is the next one."""
        text, self.chain = seal(body, self.chain)
        self.ids.append(line.doc_id)
        self.texts.append(text)
        self.lines.append(line)
        self.seq += 1

    def cut(self, size: int, seq: int, chain: bytes) -> list[str]:
        """Go back to the first `size` lines, after which `seq` and `chain` were these; the ids of the others."""
        gone = self.ids[size:]
        for column in (self.ids, self.texts, self.lines):
            del column[size:]
        self.seq, self.chain = seq, chain
        return gone

    def after(self, seq: int) -> "CommitGroup":
        """The lines with a greater seq."""
        rest = CommitGroup(self.seq, self.chain)
        first = max(0, seq - (self.seq - len(self.ids)))
        rest.ids, rest.texts, rest.lines = self.ids[first:], self.texts[first:], self.lines[first:]
        return rest


def are_plain(ids: Sequence[object]) -> bool:
    """Whether all of these are valid ids that JSON writes as they are, between two quotes."""
    # One pass in C over all ids together: asked one by one, this would cost as much as encoding them.
    if set(map(type, ids)) != {str}:
        return False
    texts: Sequence[str] = ids  # type: ignore[assignment]
    lengths = set(map(len, texts))
    if 0 in lengths or max(lengths) >= SHORT_ID_CHARS_MAX:
        return False
    return not "".join(texts).encode("utf-8", "surrogatepass").translate(None, UNESCAPED)


class LineBuilder:
    """Knows the last line of every document: recent ones from memory, the others from `line_of`."""

    def __init__(
        self,
        table: TransitionTable | None,
        line_of: Callable[[str], LedgerLine | None],
        *,
        metadata_bytes_max: int,
    ) -> None:
        self._table = table
        self._line_of = line_of
        self._metadata_bytes_max = metadata_bytes_max
        self._max_retries = table.machine.retry.max_retries if table else MAX_RETRIES_DEFAULT
        self._adapters: set[str] = set()
        """Adapters that have passed `check_text` before."""
        self.recent: dict[str, LedgerLine] = {}

    def add(
        self,
        group: CommitGroup,
        entries: Sequence[LedgerEntry | OldRow | Change],
        *,
        now: float,
        is_checked: bool = True,
        is_vetted: bool = False,
        source: str | None = None,
    ) -> None:
        """Append the lines of these entries to `group`.

        If one of them is wrong this raises, and the caller must cut the group and `forget`: lines before it were
        remembered.
        """
        columns = None
        if len(entries) >= MOVES_MIN and is_checked and source is None:
            columns = self._columns(entries)
        if columns is not None:
            self._add_moves(group, columns, now=now)
        elif is_vetted and self._table is not None:
            self._add_vetted(group, entries, self._table, source, now=now)  # type: ignore[arg-type]
        else:
            for entry in entries:
                self._add(group, entry, source, now, is_checked)  # type: ignore[arg-type]

    def forget(self, ids: Iterable[str], *others: CommitGroup) -> None:
        """Undo what refused lines changed in memory; `others` are gathered or being written, so they count."""
        for doc_id in ids:
            self.recent.pop(doc_id, None)
        for other in others:
            self.recent.update(zip(other.ids, other.lines, strict=True))

    def trim(self) -> None:
        """Forget the older half if too many are remembered.

        Only while no line waits to become durable: such a line is in memory alone and could not be looked up.
        """
        if len(self.recent) > RECENT_MAX:
            self.recent = dict(list(self.recent.items())[-RECENT_MAX // 2 :])

    def _columns(self, entries: Sequence[LedgerEntry | OldRow | Change]) -> Columns | None:
        """Ids, names of states and adapters, if all entries are plain moves of plainly named documents."""
        if self._table is None or set(map(type, entries)) != {tuple}:
            return None
        columns = tuple(zip(*entries, strict=False))
        if len(columns) not in (2, 3) or set(map(len, entries)) != {len(columns)}:  # type: ignore[arg-type]
            return None
        ids, states, adapters = columns if len(columns) == 3 else (*columns, repeat(""))
        if not are_plain(ids) or (len(columns) == 3 and set(map(type, adapters)) != {str}):
            return None
        return ids, self._table.require_all_typed(states), adapters

    def _add_moves(self, group: CommitGroup, columns: Columns, *, now: float) -> None:
        """The fast path for plain moves: an id and two numbers are put into a text that was encoded before."""
        n = len(group.ids)
        group.ids += columns[0]
        recent, seq, chained = self.recent, group.seq, group.chain
        add_line, add_text = group.lines.append, group.texts.append
        every: dict[tuple[str, str], dict[LedgerLine | None, tuple[LedgerLine, str]]] = {}
        shared: dict[LedgerLine | None, tuple[LedgerLine, str]] = {}
        target: tuple[str | None, str] = (None, "")
        for doc_id, state, adapter in zip(*columns, strict=False):
            # Most groups have one target, so that one key is looked up less.
            if (state, adapter) != target:
                target = state, adapter
                shared = every.setdefault(target, {})
            before = recent.get(doc_id) or self._line_of(doc_id)
            move = shared.get(before)
            if move is None:
                line = self._plain_line(before, now, doc_id, state, adapter)
                text = encode_json(line).decode()
                middle = text[len(LINE_START) + len(doc_id) : -len(NUMBERS_PLACEHOLDER)]
                move = shared[before] = (line, middle)
            line, middle = move
            recent[doc_id] = line
            seq += 1
            n += 1
            # As `chain.seal` does it, without the call.
            body = f'{LINE_START}{doc_id}{middle}{seq},"n":{n}'.encode()
            chained = sha256(chained + body).hexdigest()[:DIGITS].encode()
            add_text(body + SEAL_START + chained + SEAL_END)
            add_line(line)
        group.seq, group.chain = seq, chained

    def _add_vetted(
        self, group: CommitGroup, entries: Sequence[LedgerEntry | OldRow], table: TransitionTable, source: str | None,
        *, now: float,
    ) -> None:  # fmt: skip
        """The fast path for lines of old ledgers: no transition is refused, and each has its own time."""
        recent, line_of, retry_states = self.recent, self._line_of, table.retry_states
        seq, chained, n = group.seq, group.chain, len(group.ids)
        add_id, add_text, add_line = group.ids.append, group.texts.append, group.lines.append
        for entry in entries:
            doc_id, new = entry.doc_id, entry.state
            before = recent.get(doc_id) or line_of(doc_id)
            seq += 1
            n += 1
            if not isinstance(entry, OldRow) or new in retry_states:
                given = _entry_of(entry) if isinstance(entry, OldRow) else entry
                line = self._line(given, before, now, table.require_known(new), is_checked=False)
                line.source, line.source_seq, line.seq, line.n = source, entry.source_seq, seq, n
            elif before is None:
                line = LedgerLine(
                    doc_id=doc_id, old_state=None, new_state=new, timestamp=entry.timestamp,
                    adapter=entry.adapter, max_retries=self._max_retries, metadata=entry.metadata,
                    source=source, source_seq=entry.source_seq, seq=seq, n=n,
                )  # fmt: skip
            else:
                stayed = entry.timestamp - before.timestamp
                line = LedgerLine(
                    doc_id=doc_id, old_state=before.new_state, new_state=new, timestamp=entry.timestamp,
                    adapter=entry.adapter, retry_count=before.retry_count, max_retries=before.max_retries,
                    duration_seconds=to_microseconds(stayed) if stayed >= 0 else None,
                    metadata=entry.metadata, resume=table.resume_state(before, new),
                    source=source, source_seq=entry.source_seq, seq=seq, n=n,
                )  # fmt: skip
            text, chained = seal(encode_json(line)[:-1], chained)
            add_id(doc_id)
            add_text(text)
            add_line(line)
            recent[doc_id] = line
        group.seq, group.chain = seq, chained

    def _plain_line(
        self, before: LedgerLine | None, now: float, doc_id: str, new: str, adapter: str
    ) -> LedgerLine:
        """The same as `_line` for a change that only moves the document on; numbers are filled in later."""
        table = self._table
        if (
            before is None
            or table is None
            or (before.new_state, new) not in table.plain
            or type(adapter) is not str
            or adapter not in self._adapters
            or now < before.timestamp
        ):
            entry = LedgerEntry(doc_id=doc_id, state=new, adapter=adapter)
            return self._line(entry, before, now, new, is_checked=True)
        return LedgerLine(
            doc_id=doc_id,
            old_state=before.new_state,
            new_state=new,
            timestamp=now,
            adapter=adapter,
            retry_count=before.retry_count,
            max_retries=before.max_retries,
            duration_seconds=to_microseconds(now - before.timestamp),
            seq=0,
            n=0,
        )

    def _add(
        self, group: CommitGroup, given: LedgerEntry | Change, source: str | None, now: float, is_checked: bool
    ) -> None:  # fmt: skip
        """The general path, one entry at a time."""
        table, extra = self._table, dict[str, Json]()
        if type(given) is tuple and len(given) == 3 and table is not None:
            doc_id, state, adapter = given
            check_doc_id(doc_id)
            before = self.recent.get(doc_id) or self._line_of(doc_id)
            line = self._plain_line(before, now, doc_id, table.require_typed(state), adapter)
        else:
            entry = given if isinstance(given, LedgerEntry) else _entry(given)
            doc_id, extra, new = entry.doc_id, entry.extra, entry.state
            check_doc_id(doc_id)
            if table is None:
                check_text(new, what="state", chars_max=STATE_CHARS_MAX)
            else:
                new = table.require_typed(new) if is_checked else table.require_known(new)
            before = self.recent.get(doc_id) or self._line_of(doc_id)
            line = self._line(entry, before, now, new, is_checked=is_checked)
            if source is not None:
                line.source, line.source_seq = source, entry.source_seq
        line.seq, line.n = group.seq + 1, len(group.ids) + 1
        body = encode_json(line)[:-1] if not extra else _with_extra(line, extra)
        group.add(line, body)
        self.recent[doc_id] = line

    def _line(
        self,
        entry: LedgerEntry,
        before: LedgerLine | None,
        now: float,
        new: str,
        *,
        is_checked: bool,
    ) -> LedgerLine:
        """The line for an entry with more than a document, a state and an adapter: the slow path, where all is asked.

        What the caller leaves out is taken from the document's last line, so that a line can be read by itself.
        """
        table = self._table
        if table is not None and is_checked:
            table.check(entry.doc_id, before, new, entry.actor)
        self._check_values(entry)
        line = LedgerLine(
            doc_id=entry.doc_id,
            old_state=None,
            new_state=new,
            timestamp=now if entry.timestamp is None else entry.timestamp,
            adapter=entry.adapter,
            max_retries=self._max_retries,
            metadata=entry.metadata,
            seq=0,
            n=0,
        )
        if before is not None:
            line.old_state = before.new_state
            if line.timestamp < before.timestamp and entry.timestamp is None:
                # The clock was set back; a document's time never goes back.
                line.timestamp = before.timestamp
            if line.timestamp >= before.timestamp:
                line.duration_seconds = to_microseconds(line.timestamp - before.timestamp)
            line.retry_count, line.max_retries = before.retry_count, before.max_retries
            line.resume = None if table is None else table.resume_state(before, new)
        if table is not None and new in table.retry_states:
            line.retry_count += 1
        if entry.old_state is not None and entry.old_state != line.old_state:
            raise InvalidRequest(
                f"{entry.doc_id} is in {line.old_state or 'no state'}, not in {entry.old_state}, "
                "from where it should move"
            )
        _apply_details(line, entry)
        return line

    def _check_values(self, entry: LedgerEntry) -> None:
        """Before anything is written: a durable line that cannot be read would make the whole ledger unreadable."""
        if type(entry.adapter) is not str or entry.adapter not in self._adapters:
            check_text(entry.adapter, what="adapter", chars_max=ADAPTER_CHARS_MAX)
            if len(self._adapters) < ADAPTERS_KNOWN_MAX:
                self._adapters.add(entry.adapter)
        if entry.metadata or type(entry.metadata) is not dict:
            check_metadata(entry.metadata, bytes_max=self._metadata_bytes_max)
        for name, check in _VALUE_CHECKS.items():
            if (value := getattr(entry, name)) is not None:
                check(value)


def _entry_of(row: OldRow) -> LedgerEntry:
    return LedgerEntry(
        doc_id=row.doc_id, state=row.state, adapter=row.adapter, timestamp=row.timestamp,
        metadata=row.metadata, source_seq=row.source_seq,
    )  # fmt: skip


def _entry(change: Change) -> LedgerEntry:
    given: object = change
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise InvalidRequest(
            f"a change is (document, state[, adapter[, metadata]]), not {given!r:.80}"
        )
    adapter = given[2] if len(given) > 2 else ""
    metadata = given[3] if len(given) > 3 else {}
    if isinstance(metadata, Mapping):
        metadata = dict(metadata)
    return LedgerEntry(doc_id=given[0], state=given[1], adapter=adapter, metadata=metadata)


def _apply_details(line: LedgerLine, entry: LedgerEntry) -> None:
    """What the caller gave beyond document, state, adapter and metadata; it wins over what was derived."""
    line.error_type = entry.error_type
    if entry.error_message is not None:
        line.error_message = clean_text(entry.error_message, chars_max=ERROR_MESSAGE_CHARS_MAX)
    if entry.traceback is not None:
        line.traceback = clean_text(entry.traceback, chars_max=TRACEBACK_CHARS_MAX)
    if entry.retry_count is not None:
        line.retry_count = entry.retry_count
    if entry.max_retries is not None:
        line.max_retries = entry.max_retries
    if entry.duration_seconds is not None:
        line.duration_seconds = entry.duration_seconds
    line.actor = entry.actor


def _with_extra(line: LedgerLine, extra: Fields) -> bytes:
    """The line with fields of a newer version, which stand before `seq`."""
    check_metadata(extra, bytes_max=METADATA_BYTES_MAX)
    clash = extra.keys() & KNOWN_FIELDS
    if clash:
        raise InvalidRequest(f"{', '.join(sorted(clash))} cannot be an extra field")
    fields: dict[str, object] = msgspec.json.decode(encode_json(line))
    seq, n = fields.pop("seq"), fields.pop("n")
    return encode_json({**fields, **extra, "seq": seq, "n": n})[:-1]
