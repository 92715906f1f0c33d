"""Makes the lines of a group: each change is checked against the document's last line, numbered and chained.

Most changes are plain moves (document, state, adapter), and many documents make the same one at the same moment. So
there are three ways: for groups of plain moves, where what they have in common is checked and encoded once; for
lines of old ledgers, which a reader has looked at already; and for everything else, one entry at a time. All
three say the same. Whoever calls holds the writer's lock.

Nothing here touches a disk but to look up a document that was not seen lately.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import repeat

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Json, clean_text
from stateward.ledger.chain import DIGITS
from stateward.ledger.group import START, Group, are_plain
from stateward.ledger.record import (
    ADAPTER_CHARS_MAX,
    ERROR_MESSAGE_CHARS_MAX,
    ERROR_TYPE_CHARS_MAX,
    KNOWN,
    MAX_RETRIES_DEFAULT,
    METADATA_BYTES_MAX,
    TRACEBACK_CHARS_MAX,
    Entry,
    Line,
    PlainEntry,
    check_doc_id,
    check_metadata,
    check_text,
    encode_json,
    plain_number,
    to_microseconds,
)
from stateward.ledger.states import Graph

RECENT_MAX = 65_536
"""So many documents are remembered with their last line; others are looked up."""
ADAPTERS_KNOWN_MAX = 1024
MOVES_MIN = 8
"""A group of fewer is not worth looking at as columns."""
NUMBERS_TO_COME = '0,"n":0}'

Change = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, Mapping[str, Json]]
"""(document, state[, adapter[, metadata]])"""
Columns = tuple[Sequence[str], Iterable[str], Iterable[str]]


class Maker:
    """Knows the last line of every document: those it made lately itself, the others from `line_of`."""

    def __init__(
        self, graph: Graph | None, line_of: Callable[[str], Line | None], *, metadata_bytes_max: int
    ) -> None:
        self._graph = graph
        self._line_of = line_of
        self._metadata_bytes_max = metadata_bytes_max
        self._max_retries = graph.machine.retry.max_retries if graph else MAX_RETRIES_DEFAULT
        self._adapters: set[str] = set()
        self.recent: dict[str, Line] = {}

    def add(
        self,
        group: Group,
        entries: Sequence[Entry | Change],
        *,
        n: int,
        now: float,
        is_checked: bool = True,
        is_vetted: bool = False,
        source: str | None = None,
    ) -> None:
        """The lines that these entries become, after `n` others of the same commit. If one is wrong, call `forget`."""
        columns = None
        if is_checked and source is None and len(entries) >= MOVES_MIN:
            columns = self._columns(entries)
        if columns is not None:
            self._add_moves(group, columns, n=n, now=now)
        elif is_vetted and self._graph is not None:
            self._add_read(group, entries, self._graph, source, n=n, now=now)  # type: ignore[arg-type]
        else:
            for place, entry in enumerate(entries, n):
                self._add(group, entry, source, n=place, now=now, is_checked=is_checked)

    def forget(self, group: Group, *others: Group) -> None:
        """A wrong entry: what came before it in its group has not happened either; `others`, which wait, have."""
        for doc_id in group.ids:
            self.recent.pop(doc_id, None)
        for other in others:
            self.recent.update(zip(other.ids, other.lines, strict=True))

    def thin(self) -> None:
        """Remember fewer documents, if there are too many; only while no line waits to become durable."""
        if len(self.recent) > RECENT_MAX:
            self.recent = dict(list(self.recent.items())[-RECENT_MAX // 2 :])

    def _columns(self, entries: Sequence[Entry | Change]) -> Columns | None:
        """Ids, names of states and adapters, if the entries are plain moves of plainly named documents."""
        if self._graph is None or set(map(type, entries)) != {tuple}:
            return None
        columns = tuple(zip(*entries, strict=False))
        if len(columns) not in (2, 3) or set(map(len, entries)) != {len(columns)}:  # type: ignore[arg-type]
            return None
        ids, states, adapters = columns if len(columns) == 3 else (*columns, repeat(""))
        if not are_plain(ids) or (len(columns) == 3 and set(map(type, adapters)) != {str}):
            return None
        return ids, self._graph.names(states), adapters

    def _add_moves(self, group: Group, columns: Columns, *, n: int, now: float) -> None:
        """The quick way, for what most groups are made of: an id and a number go into a text made before."""
        group.ids = list(columns[0])
        recent, seq, chained = self.recent, group.seq, group.chain
        add_line, add_text = group.lines.append, group.texts.append
        shared: dict[tuple[Line | None, str, str], tuple[Line, str]] = {}
        for doc_id, state, adapter in zip(*columns, strict=False):
            before = recent.get(doc_id) or self._line_of(doc_id)
            move = shared.get((before, state, adapter))
            if move is None:
                line = self._plain_line(before, now, doc_id, state, adapter)
                text = encode_json(line).decode()
                middle = text[len(START) + len(doc_id) : -len(NUMBERS_TO_COME)]
                move = shared[before, state, adapter] = (line, middle)
            line, middle = move
            recent[doc_id] = line
            seq += 1
            n += 1
            body = f'{START}{doc_id}{middle}{seq},"n":{n}'
            chained = sha256((chained + body).encode()).hexdigest()[:DIGITS]
            add_text(f'{body},"h":"{chained}"}}\n')
            add_line(line)
        group.seq, group.chain = seq, chained

    def _add_read(
        self, group: Group, entries: Sequence[Entry], graph: Graph, source: str | None, *, n: int, now: float
    ) -> None:  # fmt: skip
        """The quick way for lines of old ledgers: no move is refused, and each has its own time."""
        recent, line_of, states = self.recent, self._line_of, graph.machine.state
        ids, texts, lines = group.ids, group.texts, group.lines
        seq, chained = group.seq, group.chain
        for entry in entries:
            doc_id, at, new = entry.doc_id, entry.timestamp, entry.state
            before = recent.get(doc_id) or line_of(doc_id)
            seq += 1
            n += 1
            if (
                type(entry) is not PlainEntry
                or before is None
                or at is None
                or new not in states
                or new in graph.waits
            ):
                line = self._line(entry, before, now, graph.worded(new), is_checked=False)
                line.source, line.source_seq, line.seq, line.n = source, entry.source_seq, seq, n
            else:
                stay = at - before.timestamp
                line = Line(
                    doc_id=doc_id,
                    old_state=before.new_state,
                    new_state=new,
                    timestamp=at,
                    adapter=entry.adapter,
                    retry_count=before.retry_count,
                    max_retries=before.max_retries,
                    duration_seconds=to_microseconds(stay) if stay >= 0 else None,
                    metadata=entry.metadata,
                    resume=graph.resume(before, new),
                    source=source,
                    source_seq=entry.source_seq,
                    seq=seq,
                    n=n,
                )
            body = encode_json(line)[:-1].decode()
            chained = sha256((chained + body).encode()).hexdigest()[:DIGITS]
            ids.append(doc_id)
            texts.append(f'{body},"h":"{chained}"}}\n')
            lines.append(line)
            recent[doc_id] = line
        group.seq, group.chain = seq, chained

    def _plain_line(
        self, before: Line | None, now: float, doc_id: str, new: str, adapter: str
    ) -> Line:
        """The same as `_line` for a change that is nothing but a move on the way: most are, so it is quick."""
        graph = self._graph
        if (
            before is None
            or graph is None
            or (before.new_state, new) not in graph.plain
            or type(adapter) is not str
            or adapter not in self._adapters
            or now < before.timestamp
        ):
            entry = Entry(doc_id=doc_id, state=new, adapter=adapter)
            return self._line(entry, before, now, new, is_checked=True)
        return Line(
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
        self, group: Group, given: Entry | Change, source: str | None, *, n: int, now: float, is_checked: bool
    ) -> None:  # fmt: skip
        """The way for everything else, one entry at a time."""
        extra: Fields = {}
        if type(given) is tuple and len(given) == 3 and self._graph is not None:
            doc_id, state, adapter = given
            check_doc_id(doc_id)
            before = self.recent.get(doc_id) or self._line_of(doc_id)
            line = self._plain_line(before, now, doc_id, self._graph.named(state), adapter)
        else:
            entry = given if isinstance(given, Entry) else _entry(given)
            doc_id, extra, new = entry.doc_id, entry.extra, entry.state
            check_doc_id(doc_id)
            if self._graph is not None:
                new = self._graph.named(new) if is_checked else self._graph.worded(new)
            before = self.recent.get(doc_id) or self._line_of(doc_id)
            line = self._line(entry, before, now, new, is_checked=is_checked)
            if source is not None:
                line.source, line.source_seq = source, entry.source_seq
        line.seq, line.n = group.seq + 1, n + 1
        body = encode_json(line)[:-1] if not extra else _with_extra(line, extra)
        group.add(line, body.decode())
        self.recent[doc_id] = line

    def _line(
        self, entry: Entry, before: Line | None, now: float, new: str, *, is_checked: bool
    ) -> Line:
        graph = self._graph
        if graph is not None and is_checked:
            graph.check(entry.doc_id, before, new, entry.actor)
        self._check_values(entry)
        line = Line(
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
            self._follow(line, before, is_clocked=entry.timestamp is None)
        elif graph is not None and new in graph.waits:
            line.retry_count = 1
        if entry.old_state is not None and entry.old_state != line.old_state:
            raise InvalidRequest(
                f"{entry.doc_id} is in {line.old_state or 'no state'}, not in {entry.old_state}, "
                "from where it should move"
            )
        _tell(line, entry)
        return line

    def _follow(self, line: Line, before: Line, *, is_clocked: bool) -> None:
        """What a line takes over from, or works out of, the document's line before it."""
        line.old_state = before.new_state
        if line.timestamp < before.timestamp and is_clocked:
            line.timestamp = before.timestamp  # the clock went back; time does not, in a document
        if line.timestamp >= before.timestamp:
            line.duration_seconds = to_microseconds(line.timestamp - before.timestamp)
        line.retry_count, line.max_retries = before.retry_count, before.max_retries
        if self._graph is not None:
            line.resume = self._graph.resume(before, line.new_state)
            if line.new_state in self._graph.waits:
                line.retry_count += 1

    def _check_values(self, entry: Entry) -> None:
        if type(entry.adapter) is not str or entry.adapter not in self._adapters:
            check_text(entry.adapter, what="adapter", chars_max=ADAPTER_CHARS_MAX)
            if len(self._adapters) < ADAPTERS_KNOWN_MAX:
                self._adapters.add(entry.adapter)
        if entry.metadata or type(entry.metadata) is not dict:
            check_metadata(entry.metadata, bytes_max=self._metadata_bytes_max)
        if entry.error_type is not None:
            check_text(entry.error_type, what="error_type", chars_max=ERROR_TYPE_CHARS_MAX)
        if entry.actor is not None:
            check_text(entry.actor, what="actor", chars_max=ADAPTER_CHARS_MAX)
        if entry.duration_seconds is not None:
            plain_number(entry.duration_seconds, what="duration_seconds")
        if entry.timestamp is not None:
            plain_number(entry.timestamp, what="timestamp")


def _entry(given: Entry | Change) -> Entry:
    if isinstance(given, Entry):
        return given
    doc_id, state, *rest = given
    adapter = rest[0] if rest else ""
    return Entry(doc_id=doc_id, state=state, adapter=adapter, metadata=dict(*rest[1:2]))  # type: ignore[arg-type]


def _tell(line: Line, entry: Entry) -> None:
    """What the caller said beyond document, state, adapter and metadata."""
    if entry.error_type is not None or entry.error_message is not None:
        line.error_type = entry.error_type
        line.error_message = _short(entry.error_message, ERROR_MESSAGE_CHARS_MAX)
    if entry.traceback is not None:
        line.traceback = _short(entry.traceback, TRACEBACK_CHARS_MAX)
    if entry.retry_count is not None:
        line.retry_count = entry.retry_count
    if entry.max_retries is not None:
        line.max_retries = entry.max_retries
    if entry.duration_seconds is not None:
        line.duration_seconds = entry.duration_seconds
    if entry.actor is not None:
        line.actor = entry.actor


def _short(text: str | None, chars_max: int) -> str | None:
    return None if text is None else clean_text(text, chars_max=chars_max)


def _with_extra(line: Line, extra: Fields) -> bytes:
    """The line with the fields of a newer version, which stand before `seq`."""
    clash = extra.keys() & KNOWN
    if clash:
        raise InvalidRequest(f"{', '.join(sorted(clash))} cannot be an extra field")
    check_metadata(extra, bytes_max=METADATA_BYTES_MAX)
    fields: dict[str, object] = msgspec.json.decode(encode_json(line))
    seq, n = fields.pop("seq"), fields.pop("n")
    return encode_json({**fields, **extra, "seq": seq, "n": n})[:-1]
