"""One delta: a segment of the log, `delta-<date>.jsonl`, lines only, and its derived index.

The first part of a delta is *covered* by its index (see `delta_index`); the rest, its *tail*, is read at opening, line
by line, each checked against the chain. So opening costs at most the tail. A line that the index leads to is checked
as well, against the 32 digits before it, before anything in it is believed, even its id: a flipped bit in an id would
otherwise hide the line and bring back an older state.

Padding. The active delta may end in empty lines, up to `PADDING`: the writer fills the file ahead and then writes its
lines over them. A sync that changes neither the size of a file nor where its bytes lie takes a third less time, as the
file system need not write its own journal. Readers of JSON lines skip empty ones. A sealed delta has none, nor has the
one of a ledger that was closed.

Recovery. Bytes after the last good line, other than padding, are a *torn tail*, and may be cut off, only if nothing
says that they had ever been durable, nor that another process wrote them. Three witnesses can say that they were
durable: a later line that matches its predecessor and whose group began after the bad one (`seq - n` >= the bad seq),
`HEAD`, and the index, which is written from durable lines alone. A whole line that is sealed as the successor of a line
further up was written by another process than the line that stands there. Then the ledger refuses to open and says
where: what to give up is for a person to decide, with `repair`, never for this code.
"""

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, takewhile
from pathlib import Path
from struct import iter_unpack

import msgspec

from stateward.core.errors import LedgerDamaged
from stateward.ledger import chain
from stateward.ledger.delta_index import (
    INDEX_SUFFIX,
    DeltaIndex,
    IndexDamaged,
    IndexFooter,
    key_hash_bytes,
)
from stateward.ledger.disk import Disk
from stateward.ledger.manifest import GZIP_SUFFIX, MISSING, DeltaInfo
from stateward.ledger.record import KEY_START, LedgerLine, decode_line, decode_lines, quoted_id
from stateward.ledger.summary import Summary

INDEX_EVERY_LINES = 512
"""An opening reads at most so many lines, and the group that was being written when the process ended."""
HASHES_CACHED_MAX = 65_536
"""As many as the documents that a builder remembers: those are the ones that come again."""
READ_BYTES = 32 << 10
"""The lines of a piece are hashed, read and handed on while they are in the cache: a tenth quicker than a megabyte."""
LINE_BYTES_FIRST = 4096
"""Most lines are shorter: one pread gets a line and the digits before it."""
LINE_BYTES_MAX = 1 << 30
"""No line that was accepted is near this. What is longer has lost its newlines: damage, not a line."""
PADDING = b"\n" * 65_536
"""Two hundred lines or so: extending the file more rarely saves nothing more, and this is written in no time."""


_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Delta:
    """A delta that is open for reading and knows where it ends; the writer tells it of appended lines."""

    def __init__(self, folder: Path, info: DeltaInfo, *, salt: str, head_seq: int = 0) -> None:
        """Open it and read its tail; everything up to `head_seq` is known to have been durable.

        Raises `LedgerDamaged`.
        """
        self.info = info
        self.path = folder / info.file
        self._salt = salt
        self._hashes: dict[str, bytes] = {}
        self.fd = self._index_fd = -1
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise self._damage_error(MISSING) from error
        self._reset()
        indexed_seq = self._load_index()
        self.refresh()
        self._check_end(max(indexed_seq, head_seq))

    def _reset(self) -> None:
        self.index = DeltaIndex()
        self.summary = Summary()
        self.tail: dict[str, int] = {}
        """Document id → offset of its last line, for lines that the index does not cover."""
        self.pending: list[str] = []
        """The document of every such line, in order; and in `_offsets`, where each begins."""
        self._offsets: list[int] = []
        self.end = 0
        self.chain = self.info.chain.encode()
        self.seq = self.info.first_seq - 1

    def _damage_error(
        self, sentence: str, byte: int | None = None, seq: int | None = None
    ) -> LedgerDamaged:
        return LedgerDamaged.at(self.path.name, sentence, byte=byte, seq=seq)

    def _load_index(self) -> int:
        """Start where the index ends, if it belongs to this file; the seq that it has seen durable.

        An index whose head of the chain is not found in the file belongs to other content, but it is still a witness:
        so many lines were durable here once.
        """
        path = self.path.with_name(self.path.name + INDEX_SUFFIX)
        loaded = DeltaIndex.load(path, salt=self._salt)
        if loaded is None:
            return 0
        index, footer = loaded
        if footer.covered:
            before = os.pread(self.fd, chain.PREVIOUS_BYTES, footer.covered - chain.PREVIOUS_BYTES)
            if before != footer.chain.encode() + chain.SEAL_END:
                return footer.seq
        self.index, self.summary = index, footer.summary
        self.end = footer.covered
        self.chain, self.seq = footer.chain.encode(), footer.seq
        return footer.seq

    def _check_end(self, durable_seq: int) -> None:
        """A sealed delta ends where the manifest says. The active one may be torn, but not where it was durable."""
        info, size = self.info, os.fstat(self.fd).st_size
        if info.last_seq is not None:
            if size != info.bytes or self.seq != info.last_seq:
                raise self._damage_error(
                    f"it should end after seq {info.last_seq} at byte {info.bytes}, but is good only up to "
                    f"seq {self.seq} of {size} bytes",
                    self.end,
                    self.seq + 1,
                )
            if self.chain.decode() != info.head:
                sentence = "its lines are sealed, but are not those that the manifest recorded"
                raise self._damage_error(sentence, 0, info.first_seq)
        elif durable_seq > self.seq or size > self.end:
            self.torn_bytes(durable_seq)

    def torn_bytes(self, durable_seq: int) -> bytes:
        """What stands behind the last good line. Raises `LedgerDamaged` if it had ever been durable."""
        while True:
            size = os.fstat(self.fd).st_size
            tail = without_padding(os.pread(self.fd, max(0, size - self.end), self.end))
            proof = durability_proof(tail, first_bad=self.seq + 1, durable_seq=durable_seq)
            if not proof and tail:
                good = os.pread(self.fd, self.end, 0)
                proof = proof_of_another_writer(tail, good, self.info.chain)
            if not proof:
                return tail
            seq = self.seq
            # A writer at work may have added good lines since we looked. They prove nothing about damage.
            self.refresh()
            if self.seq == seq:
                raise self._damage_error(proof, self.end, self.seq + 1)

    # Reading on

    @property
    def has_more(self) -> bool:
        """Whether something other than padding follows where this delta is known to reach."""
        return os.pread(self.fd, 1, self.end) not in (b"", b"\n")

    def refresh(self) -> list[LedgerLine]:
        """Read the complete, valid lines that were appended; returns the control lines among them."""
        control: list[LedgerLine] = []
        limit = self.info.last_seq
        while limit is None or self.seq < limit:
            texts = chain.valid_prefix(self._next_chunk(), self.chain)
            lines, why = readable_prefix(texts, self.seq + 1)
            if not lines:
                if why is not None:
                    raise self._damage_error(why, self.end, self.seq + 1)
                break
            ids, sizes = [line.doc_id for line in lines], list(map(len, texts[: len(lines)]))
            head = chain.head_of(texts[len(lines) - 1])
            self.add_lines(ids, sizes, lines, seq=lines[-1].seq, head=head)
            if "" in ids:
                control += [line for line in lines if not line.doc_id]
            if len(self.pending) >= 8 * INDEX_EVERY_LINES:
                # A reader cannot write the index file, but a long tail must not be searched line by line either.
                self.index_tail(None)
        return control

    def _next_chunk(self) -> bytes:
        """What follows, up to the padding: at least one whole line, however long that is."""
        size = READ_BYTES
        while True:
            data = os.pread(self.fd, size, self.end)
            if len(data) < size or b"\n" in data or size >= LINE_BYTES_MAX:
                return before_padding(data)
            size *= 8

    def add_lines(
        self,
        ids: list[str],
        sizes: list[int],
        lines: Sequence[LedgerLine],
        *,
        seq: int,
        head: bytes,
    ) -> None:
        """Take note of lines that are in the file now; `seq` and `head` are those after the last of them."""
        end = self.end
        if len(ids) == 1:  # the common case of `record`, without the lists
            self.tail[ids[0]] = end
            self.pending.append(ids[0])
            self._offsets.append(end)
            self.end = end + sizes[0]
            self.summary.add_line(lines[0])
        else:
            ends = list(accumulate(sizes, initial=end))
            self.end = ends.pop()
            self.tail.update(zip(ids, ends, strict=True))
            self.pending += ids
            self._offsets += ends
            self.summary.add(lines)
        self.chain, self.seq = head, seq

    @property
    def last(self) -> LedgerLine | None:
        if not self.end:
            return None
        return decode_line(self.line_at(self._line_start(self.end - 1, 0)))

    # The index

    def index_tail(self, disk: Disk | None) -> None:
        """Move the tail into the index; with a `disk`, append that to the index file."""
        if not self.pending:
            return
        hashes, offsets = self._tail_hashes(), self._offsets
        footer = IndexFooter(
            covered=self.end,
            seq=self.seq,
            chain=self.chain.decode(),
            salt=self._salt,
            summary=self.summary,
            tables=[],
        )
        is_kept = disk is not None and all(offset >= 0 for offset, _ in self.index.positions)
        try:
            written = self.index.add(hashes, offsets, footer, is_kept=is_kept)
            if disk is not None and not is_kept:
                # Some tables are in memory only, because the file was of no use: write all of them anew.
                tables = self.index.tables
                pairs = sorted(
                    each for table in tables for each in iter_unpack(">8sQ", table.pairs())
                )
                self.index = DeltaIndex()
                hashes, offsets = [each[0] for each in pairs], [each[1] for each in pairs]
                written = self.index.add(hashes, offsets, footer, is_kept=True)
        except IndexDamaged:
            self._reread()
            return
        self.tail, self.pending, self._offsets = {}, [], []
        if disk is not None:
            self._append_index(disk, written)

    def _tail_hashes(self) -> list[bytes]:
        """The hash of the document of each line of the tail. The same documents come again and again: cached."""
        known, salt = self._hashes, self._salt.encode()
        if len(known) > HASHES_CACHED_MAX:
            known.clear()
        for doc_id in self.tail:
            if doc_id not in known:
                known[doc_id] = key_hash_bytes(quoted_id(doc_id), salt)
        return list(map(known.__getitem__, self.pending))

    def _append_index(self, disk: Disk, written: bytes) -> None:
        """Add to the index file, unsynced: its footer has a checksum, and what is lost of it is read from the lines."""
        if self._index_fd < 0:
            path = self.path.with_name(self.path.name + INDEX_SUFFIX)
            start = self.index.file_size - len(written)
            if path.exists() and start == 0:
                disk.unlink(path)  # it was of no use
            self._index_fd = disk.open_append(path) if path.exists() else disk.create(path)
            if self.index.is_torn:
                disk.truncate(self._index_fd, start)
                self.index.is_torn = False
        disk.write(self._index_fd, written)

    def _reread(self) -> None:
        """Forget the index, which turned out to be damaged, and read the whole delta."""
        seq = self.seq
        self._reset()
        self.refresh()
        if self.seq < seq:
            raise self._damage_error("the line is not as it was sealed", self.end, self.seq + 1)

    # Look-ups

    def latest(self, doc_id: str, key: bytes, hashed: int) -> LedgerLine | None:
        """The document's last line here, or None."""
        tail_at = self.tail.get(doc_id)
        if tail_at is not None:
            return decode_line(self.line_at(tail_at))
        try:
            for offset in self.index.find(hashed):
                text = self.line_at(offset)
                if text.startswith(KEY_START + key + b","):
                    return decode_line(text)
        except IndexDamaged:
            self._reread()
            return self.latest(doc_id, key, hashed)
        return None

    def history(self, doc_id: str, key: bytes, hashed: int) -> list[bytes]:
        """Every line of the document, oldest first."""
        try:
            offsets = sorted(self.index.find(hashed))
        except IndexDamaged:
            self._reread()
            return self.history(doc_id, key, hashed)
        pending = zip(self.pending, self._offsets, strict=True)
        offsets += [offset for each, offset in pending if each == doc_id]
        start = KEY_START + key + b","
        return [text for text in map(self.line_at, offsets) if text.startswith(start)]

    def line_at(self, offset: int) -> bytes:
        """The line that starts there, checked. Raises `LedgerDamaged`."""
        before = min(offset, chain.PREVIOUS_BYTES)
        size = LINE_BYTES_FIRST
        while True:
            data = os.pread(self.fd, size, offset - before)
            end = data.find(b"\n", before) + 1
            if end or len(data) < size or size >= LINE_BYTES_MAX:
                break
            size *= 8
        line = data[before:end]
        previous = data[: before - len(chain.SEAL_END)] if before else self.info.chain.encode()
        if chain.check(line, previous) is None:
            raise self._damage_error("the line is not as it was sealed", offset)
        return line

    def lines(self, *, after: int = 0) -> Iterator[tuple[bytes, LedgerLine]]:
        """Every line with a greater seq, checked, up to where the delta is known to reach."""
        start, previous = self._start_after(after)
        first_seq, end = max(after + 1, self.info.first_seq), self.end

        def chunks() -> Iterator[bytes]:
            at = start
            while at < end and (data := os.pread(self.fd, min(READ_BYTES, end - at), at)):
                yield data
                at += len(data)

        yield from checked_lines(
            chunks(), previous=previous, name=self.path.name, start=start, seq=first_seq
        )

    def _start_after(self, after: int) -> tuple[int, bytes]:
        """Where the first line with a greater seq starts, by bisection over the bytes; the chain before it."""
        low, high = 0, self.end
        while low < high:
            start = self._line_start((low + high) // 2, low)
            line = self.line_at(start)
            position = chain.position_of(line)
            if position is not None and position[0] <= after:
                low = start + len(line)
            else:
                high = start
        if not low:
            return 0, self.info.chain.encode()
        return low, os.pread(self.fd, chain.DIGITS, low - chain.PREVIOUS_BYTES)

    def _line_start(self, at: int, low: int) -> int:
        """The start of the line that holds the byte `at`; no line before `low` is looked at."""
        step = LINE_BYTES_FIRST
        while True:
            start = max(low, at - step)
            found = os.pread(self.fd, at - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            if start == low:
                return low
            step *= 8

    def close(self) -> None:
        for fd in (self.fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self._index_fd = -1

    def __del__(self) -> None:
        """Deltas that leave the list are not closed but dropped: an iterator may still be reading one."""
        self.close()


def readable_prefix(texts: list[bytes], seq: int) -> tuple[list[LedgerLine], str | None]:
    """The lines at the start that can be read and are numbered `seq`, `seq + 1` and so on; why the next one is not.

    A seal says that a line is what was written after its predecessor, not that it makes sense.
    """
    why = None
    try:
        lines = decode_lines(b"".join(texts))
    except _UNREADABLE:
        lines = []
        for text in texts:
            try:
                lines.append(decode_line(text))
            except _UNREADABLE as error:
                why = f"the line is sealed, but cannot be read: {error}"
                break
    if [line.seq for line in lines] != list(range(seq, seq + len(lines))):
        numbered = takewhile(lambda each: each[0].seq == each[1], zip(lines, count(seq)))
        return [line for line, _ in numbered], None
    return lines, why


def durability_proof(tail: bytes, *, first_bad: int, durable_seq: int) -> str | None:
    """Why the bad bytes in `tail` were once durable, as a sentence; None if nothing says so: a torn tail."""
    if durable_seq >= first_bad:
        return (
            f"everything up to seq {durable_seq} was acknowledged, but the log is good only up to "
            f"seq {first_bad - 1}"
        )
    for seq, n in chain.consistent_lines_after(tail, first_bad=first_bad):
        if seq - n >= first_bad:
            return f"the line is not as it was sealed, and seq {seq} proves that it was durable"
    return None


def proof_of_another_writer(tail: bytes, good: bytes, before: str) -> str | None:
    """Why `tail` holds lines of a second writer, as a sentence; None if nothing says so.

    A torn write of one writer leaves whole lines behind only where the lines before them are lost, so none of them
    follows a line of the good part. A line that does was written, and perhaps acknowledged, by another process that
    took the same end for its own. `before` is the head of the chain before the good part.
    """
    heads: dict[int, list[bytes]] = {}
    previous = before.encode()
    for line in good.splitlines(keepends=True):
        position = chain.position_of(line)
        if position is not None:
            heads.setdefault(position[0] - 1, []).append(previous)
            previous = chain.head_of(line)
            heads.setdefault(position[0], []).append(previous)
    if not heads:
        return None
    for line in tail.splitlines(keepends=True):
        position = chain.position_of(line) if line.endswith(b"\n") else None
        known = heads.get(position[0] - 1, ()) if position is not None else ()
        if position is not None and any(chain.check(line, head) for head in known):
            return (
                f"seq {position[0]} was written by another process, which had the ledger open at the same time; "
                "both may have been acknowledged"
            )
    return None


def without_padding(tail: bytes) -> bytes:
    """What follows the last good line, without the empty lines at its end; the newline of a last line stays."""
    size = len(tail.rstrip(b"\n"))
    return tail[: size + 1] if size else b""


def before_padding(data: bytes) -> bytes:
    """The lines up to the first empty one. `data` starts where a line starts."""
    if data.startswith(b"\n"):
        return b""
    found = data.find(b"\n\n")
    return data if found < 0 else data[: found + 1]


def read_chunks(path: Path) -> Iterator[bytes]:
    """The text of a file, plain or compressed, in pieces. Raises `LedgerDamaged`."""
    try:
        with gzip.open(path, "rb") if path.suffix == GZIP_SUFFIX else path.open("rb") as file:
            while data := file.read(READ_BYTES):
                yield data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LedgerDamaged.at(path.name, f"it cannot be read: {error}") from error


def sealed_lines(chunks: Iterator[bytes], info: DeltaInfo) -> Iterator[tuple[bytes, LedgerLine]]:
    """The lines of a sealed delta, checked to its end. Raises `LedgerDamaged`."""
    text, before = b"", info.chain.encode()
    for text, line in checked_lines(chunks, previous=before, name=info.file, seq=info.first_seq):
        yield text, line
    if chain.head_of(text).decode() != info.head:
        sentence = f"it should end after seq {info.last_seq}, but ends before"
        raise LedgerDamaged.at(info.file, sentence, seq=info.last_seq)


def checked_lines(
    chunks: Iterator[bytes], *, previous: bytes, name: str, seq: int, start: int = 0
) -> Iterator[tuple[bytes, LedgerLine]]:
    """The lines of a text, each checked and read. Raises `LedgerDamaged` at the first bad one.

    `seq`, `start` and `previous` are the number, the offset and the chain before the first line.
    """
    found = CheckedText(chunks, head=previous, seq=seq - 1, byte=start)
    for texts, lines in found:
        yield from zip(texts, lines, strict=True)
    if found.rest:
        raise LedgerDamaged.at(name, found.why, byte=found.byte, seq=found.seq + 1)


class CheckedText:
    """The lines of a text in lists, each checked against the chain and read, up to the first bad one.

    `seq`, `byte` and `head` are those before the lists that are handed out, and in the end where the good lines end;
    `rest` is then what follows them, and `why` says what is wrong with it. `is_sealed`: only that it cannot be read.
    """

    def __init__(
        self, chunks: Iterator[bytes], *, head: bytes, seq: int = 0, byte: int = 0
    ) -> None:
        self._chunks = chunks
        self.head, self.seq, self.byte, self.rest = head, seq, byte, b""
        self.why, self.is_sealed = "the last line is not complete", False

    def __iter__(self) -> Iterator[tuple[list[bytes], list[LedgerLine]]]:
        """Read on."""
        for data in self._chunks:
            text = self.rest + data if self.rest else data
            end = text.rfind(b"\n") + 1
            self.rest = text[end:]
            texts = chain.valid_prefix(text[:end] if self.rest else text, self.head)
            lines, why = readable_prefix(texts, self.seq + 1)
            del texts[len(lines) :]
            good = sum(map(len, texts))
            if texts:
                yield texts, lines
                self.seq, self.byte = self.seq + len(texts), self.byte + good
                self.head = chain.head_of(texts[-1])
            if good < end:
                self.why = why or "the line is not as it was sealed"
                self.is_sealed = why is not None
                self.rest = text[good:] + b"".join(self._chunks)
