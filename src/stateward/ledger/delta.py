"""One delta: a stretch of the log, `delta-<date>.jsonl`, lines only, and its derived index.

The first part of a delta is *covered* by its index (see `index`); the rest, its *tail*, is read at opening,
line by line, each checked against the chain. So opening costs at most the tail. A line that the index leads to
is checked too, against the 32 digits before it, before anything in it is believed: also its id, for a flipped
bit in an id would otherwise hide the line and bring an older state back.

Recovery (`classify`). Bytes after the last good line are a *torn tail*, and cut off, only if nothing says that
they had ever been durable. Three witnesses can say so: a later line that is consistent with its predecessor
and whose group began after the bad one (`seq - n` >= the bad seq), `HEAD`, and the index, which is written from
durable lines alone. Then the ledger refuses to open and says where: `repair` decides with a person, never this.
"""

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import accumulate, count, takewhile
from pathlib import Path
from struct import iter_unpack

import msgspec

from stateward.ledger import chain
from stateward.ledger.disk import Disk
from stateward.ledger.errors import Finding, LedgerDamaged
from stateward.ledger.index import (
    SUFFIX,
    Footer,
    Index,
    IndexDamaged,
    short_hash,
)
from stateward.ledger.manifest import GZ, DeltaPart
from stateward.ledger.record import (
    KEY_START,
    Line,
    decode_line,
    decode_lines,
    quoted,
)
from stateward.ledger.summary import Summary

FOLD_LINES = 512
HASHES_MAX = 65_536
READ_BYTES = 1 << 20
LINE_BYTES_FIRST = 4096
LINE_BYTES_MAX = 1 << 30


class Delta:
    """A delta that is open for reading, and knows its end; the writer appends through `append`."""

    def __init__(self, folder: Path, part: DeltaPart, *, salt: str, head_seq: int = 0) -> None:
        """Open it and read its tail. Raises `LedgerDamaged`."""
        self.part = part
        self.path = folder / part.file
        self._salt = salt
        self._salt_bytes = salt.encode()
        self._hashes: dict[str, bytes] = {}
        self.fd = self._index_fd = -1
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise self._damaged("the manifest names it, but it is not there") from error
        self._reset()
        indexed = self._load_index()
        self.refresh()
        self._check_end(max(indexed, head_seq))

    def _reset(self) -> None:
        self.index = Index()
        self.summary = Summary()
        self.tail: dict[str, int] = {}
        self.pending: list[tuple[str, int]] = []
        self.covered = self.end = 0
        self.chain = self.part.chain.encode()
        self.seq = self.part.first_seq - 1

    def _damaged(
        self, sentence: str, byte: int | None = None, seq: int | None = None
    ) -> LedgerDamaged:
        name = self.path.name
        return LedgerDamaged([Finding(file=name, byte=byte, seq=seq, sentence=sentence)])

    def _load_index(self) -> int:
        """Begin where the index ends, if it is of use; the seq that it has seen durable."""
        loaded = Index.load(self.path.with_name(self.path.name + SUFFIX), salt=self._salt)
        if loaded is None:
            return 0
        index, footer = loaded
        if footer.covered:
            before = os.pread(self.fd, chain.PREVIOUS_BYTES, footer.covered - chain.PREVIOUS_BYTES)
            if before != footer.chain.encode() + chain.SEAL_END:
                return footer.seq
        self.index, self.summary = index, footer.summary
        self.covered = self.end = footer.covered
        self.chain, self.seq = footer.chain.encode(), footer.seq
        return footer.seq

    def _check_end(self, durable_seq: int) -> None:
        part, size = self.part, os.fstat(self.fd).st_size
        if part.last_seq is not None:
            if size != part.bytes or self.seq != part.last_seq:
                raise self._damaged(
                    f"it should end after seq {part.last_seq} at byte {part.bytes}, but is good only up to "
                    f"seq {self.seq} of {size} bytes",
                    self.end,
                    self.seq + 1,
                )
        elif durable_seq > self.seq or size > self.end:
            self.torn_bytes(durable_seq)

    def torn_bytes(self, durable_seq: int) -> bytes:
        """What stands behind the last good line. Raises `LedgerDamaged` if it had ever been durable."""
        while True:
            size = os.fstat(self.fd).st_size
            tail = os.pread(self.fd, max(0, size - self.end), self.end)
            proof = classify(tail, first_bad=self.seq + 1, durable_seq=durable_seq)
            if not proof:
                return tail
            seq = self.seq
            self.refresh()  # a writer at work may have added good lines since we looked: those are no proof
            if self.seq == seq:
                raise self._damaged(proof, self.end, self.seq + 1)

    # Reading on

    def refresh(self) -> list[Line]:
        """Read the complete, sound lines that have been added; returns those of the ledger itself."""
        control: list[Line] = []
        limit = self.part.last_seq
        while limit is None or self.seq < limit:
            texts = chain.sound(self._chunk(), self.chain)
            lines = decode_lines(b"".join(texts))
            if [line.seq for line in lines] != list(range(self.seq + 1, self.seq + 1 + len(lines))):
                lines = _numbered(lines, self.seq)
            if not lines:
                break
            ids = [line.doc_id for line in lines]
            head = texts[len(lines) - 1][-chain.PREVIOUS_BYTES : -3].decode()
            self.take(ids, list(map(len, texts[: len(lines)])), lines, seq=lines[-1].seq, head=head)
            if "" in ids:
                control += [line for line in lines if not line.doc_id]
            if len(self.pending) >= 8 * FOLD_LINES:
                self.fold(None)
        return control

    def _chunk(self) -> bytes:
        size = READ_BYTES
        while True:
            data = os.pread(self.fd, size, self.end)
            if len(data) < size or b"\n" in data or size >= LINE_BYTES_MAX:
                return data
            size *= 8

    def take(
        self, ids: list[str], sizes: list[int], lines: Sequence[Line], *, seq: int, head: str
    ) -> None:
        """Count lines that are durable: their documents, their bytes, what they say; `head` is that of the chain."""
        end = self.end
        if len(ids) == 1:
            self.tail[ids[0]] = end
            self.pending.append((ids[0], end))
            self.end = end + sizes[0]
        else:
            ends = list(accumulate(sizes, initial=end))
            self.end = ends.pop()
            self.tail.update(zip(ids, ends, strict=True))
            self.pending += zip(ids, ends, strict=True)
        self.summary.add(lines)
        self.chain, self.seq = head.encode(), seq

    @property
    def last(self) -> Line | None:
        """The last line, or None if there is none."""
        if not self.end:
            return None
        return decode_line(self.line_at(self._break_before(self.end - 1, 0)))

    def fold(self, disk: Disk | None) -> None:
        """Make a table of the tail; with a `disk`, keep it beside the delta."""
        if not self.pending:
            return
        hashes, offsets = self._hashed(), [offset for _, offset in self.pending]
        footer = Footer(
            covered=self.end,
            seq=self.seq,
            chain=self.chain.decode(),
            salt=self._salt,
            summary=self.summary,
            tables=[],
        )
        is_kept = disk is not None and all(place >= 0 for place, _ in self.index.places)
        try:
            written = self.index.add(hashes, offsets, footer, is_kept=is_kept)
        except IndexDamaged:
            self.rebuild()
            return
        self.covered = self.end
        self.tail, self.pending = {}, []
        if disk is not None and is_kept:
            self._append_index(disk, written)
        elif disk is not None:
            self._keep(disk, footer)

    def _hashed(self) -> list[bytes]:
        """The hashes of the tail's documents, line by line; one is worked out only once in a while."""
        known, salt = self._hashes, self._salt_bytes
        if len(known) > HASHES_MAX:
            known.clear()
        ids = [doc_id for doc_id, _ in self.pending]
        found = list(map(known.get, ids))
        if None in found:
            for doc_id in self.tail:
                if doc_id not in known:
                    known[doc_id] = short_hash(quoted(doc_id), salt)
            found = list(map(known.get, ids))
        return found  # type: ignore[return-value]

    def _keep(self, disk: Disk, footer: Footer) -> None:
        """Write an index anew whose tables were made in memory, because the file was of no use."""
        pairs = sorted(
            each for table in self.index.tables for each in iter_unpack(">8sQ", table.pairs())
        )
        hashes, offsets = [each[0] for each in pairs], [each[1] for each in pairs]
        self.index = Index()
        self._append_index(disk, self.index.add(hashes, offsets, footer, is_kept=True))

    def _append_index(self, disk: Disk, written: bytes) -> None:
        if self._index_fd < 0:
            path = self.path.with_name(self.path.name + SUFFIX)
            start = self.index.file_size - len(written)
            if path.exists() and start == 0:
                disk.unlink(path)  # it was of no use
            self._index_fd = disk.open_append(path) if path.exists() else disk.create(path)
            if self.index.is_torn:
                disk.truncate(self._index_fd, start)
                self.index.is_torn = False
        disk.write(self._index_fd, written)

    def rebuild(self) -> None:
        """Forget the index and read the whole delta; for an index that turned out to be damaged."""
        seq = self.seq
        self._reset()
        self.refresh()
        if self.seq < seq:
            raise self._damaged("the line is not as it was sealed", self.end, self.seq + 1)

    # Look-ups

    def latest(self, doc_id: str, key: bytes, hashed: int) -> Line | None:
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
            self.rebuild()
            return self.latest(doc_id, key, hashed)
        return None

    def history(self, doc_id: str, key: bytes, hashed: int) -> list[bytes]:
        """Every line of the document, oldest first."""
        try:
            offsets = sorted(self.index.find(hashed))
        except IndexDamaged:
            self.rebuild()
            return self.history(doc_id, key, hashed)
        offsets += [offset for each, offset in self.pending if each == doc_id]
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
        previous = data[: before - 3] if before else self.part.chain.encode()
        if chain.check(line, previous) is None:
            raise self._damaged("the line is not as it was sealed", offset)
        return line

    def lines(self, *, after: int = 0) -> Iterator[bytes]:
        """Every line with a greater seq, checked, up to where the delta is known to go."""
        start, previous = self._start_after(after)
        yield from checked_lines(
            self._stretch(start), previous=previous, name=self.path.name, start=start,
            seq=max(after + 1, self.part.first_seq),
        )  # fmt: skip

    def _start_after(self, after: int) -> tuple[int, bytes]:
        """Where the first line with a greater seq starts, by bisection over the bytes."""
        low, high = 0, self.end
        while low < high:
            middle = (low + high) // 2
            start = self._break_before(middle, low)
            line = self.line_at(start)
            place = chain.place_of(line)
            if place is not None and place[0] <= after:
                low = start + len(line)
            else:
                high = start
        if not low:
            return 0, self.part.chain.encode()
        return low, os.pread(self.fd, chain.DIGITS, low - chain.PREVIOUS_BYTES)

    def _break_before(self, at: int, low: int) -> int:
        step = LINE_BYTES_FIRST
        while True:
            start = max(low, at - step)
            found = os.pread(self.fd, at - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            if start == low:
                return low
            step *= 8

    def _stretch(self, start: int) -> Iterator[bytes]:
        end = self.end
        while start < end:
            data = os.pread(self.fd, min(READ_BYTES, end - start), start)
            if not data:
                return
            yield data
            start += len(data)

    def close(self) -> None:
        """Give the descriptors back."""
        for fd in (self.fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self._index_fd = -1

    def __del__(self) -> None:
        """A reader may still walk through a delta that is off the list, so nobody closes it in between."""
        self.close()


def _numbered(lines: list[Line], seq: int) -> list[Line]:
    """Those at the start whose numbers go on after `seq`."""
    return [
        line
        for line, _ in takewhile(lambda each: each[0].seq == each[1], zip(lines, count(seq + 1)))
    ]


def classify(tail: bytes, *, first_bad: int, durable_seq: int) -> str | None:
    """Why the bad bytes were once durable, as a sentence; None: nothing says so, it is a torn tail."""
    if durable_seq >= first_bad:
        return (
            f"everything up to seq {durable_seq} was acknowledged, but the log is good only up to "
            f"seq {first_bad - 1}"
        )
    for _, seq, n in chain.consistent_after(tail, first_bad=first_bad):
        if seq - n >= first_bad:
            return f"the line is not as it was sealed, and seq {seq} proves that it was durable"
    return None


def plain_chunks(path: Path) -> Iterator[bytes]:
    """The text of a delta, plain or compressed, in pieces."""
    try:
        with gzip.open(path, "rb") if path.suffix == GZ else path.open("rb") as file:
            while data := file.read(READ_BYTES):
                yield data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        finding = Finding(file=path.name, sentence=f"it cannot be read: {error}")
        raise LedgerDamaged([finding]) from error


def checked_lines(
    chunks: Iterator[bytes], *, previous: bytes, name: str, start: int = 0, seq: int | None = None
) -> Iterator[bytes]:
    """The lines of a text, each checked against the chain. Raises `LedgerDamaged` at the first bad one."""
    rest = b""
    for data in chunks:
        text = rest + data if rest else data
        end = text.rfind(b"\n") + 1
        lines = chain.sound(text[:end] if end < len(text) else text, previous)
        if seq is not None:
            lines = chain.numbered(lines, seq)
            seq += len(lines)
        if lines:
            size = sum(map(len, lines))
            previous = lines[-1][-chain.PREVIOUS_BYTES : -3]
            start, end = start + size, end - size
        yield from lines
        if end:
            sentence = "the line is not as it was sealed"
            raise LedgerDamaged([Finding(file=name, byte=start, seq=seq, sentence=sentence)])
        rest = text[text.rfind(b"\n") + 1 :]
    if rest:
        raise LedgerDamaged(
            [Finding(file=name, byte=start, seq=seq, sentence="the last line is not complete")]
        )


def ends_of(path: Path) -> tuple[bytes, bytes, int, str] | None:
    """The first line, the last complete line, the bytes and the SHA-256 of a delta; None if it has none."""
    first = last = rest = b""
    size, digest = 0, sha256()
    for data in plain_chunks(path):
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        digest.update(data)
        size += len(data)
        if lines:
            first = first or lines[0] + b"\n"
            last = lines[-1] + b"\n"
    return (first, last, size, digest.hexdigest()) if first else None


def decoded(text: bytes) -> Line | None:
    """The line, or None if it is none."""
    try:
        return decode_line(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
