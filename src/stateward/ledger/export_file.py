"""A ledger as one file: everything that the log says, in order, and at its end an anchor that says that this is all.

    {"doc_id":…,"seq":1,"n":1,"h":…}⏎ … {"anchor":{"count":17,"head":"5f0c…","root":"…"}}⏎

The lines are those of the deltas, byte for byte, so every check of the chain holds here too. The anchor is what a
delta alone lacks: a file that was cut between two lines looks whole without it. A delta of a ledger directory can be
checked as well, with the manifest beside it for an anchor, and so can the history that the service exports (see
`history_file`). Reads only, but for `export`, which writes a new file.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.ledger import chain
from stateward.ledger.delta import checked_lines, classify, plain_chunks
from stateward.ledger.disk import Disk
from stateward.ledger.errors import Finding, LedgerDamaged
from stateward.ledger.history_file import HistoryWalk, is_history
from stateward.ledger.ledger import Ledger
from stateward.ledger.manifest import (
    GZ,
    DeltaPart,
    read_archive,
    read_manifest,
)
from stateward.ledger.merkle import Span, leaf_hash
from stateward.ledger.record import ROLLED_BACK, decode_line
from stateward.ledger.verify import Verdict
from stateward.ledger.view import read_head

WRITE_LINES = 4096
ANCHOR_START = b'{"anchor":'
ANCHOR_BYTES_MAX = 1024


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines there are, the head of the chain after them, and the RFC 6962 root over them."""

    count: int
    head: str
    root: str


class _AnchorLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    anchor: Anchor


def export(
    ledger: Ledger, path: Path, *, progress: Callable[[str, int], None] = lambda *_: None
) -> Anchor:
    """Write the whole log and its anchor to a new file. Refused if a stretch of the log was removed."""
    disk = Disk()
    try:
        fd = disk.create(path)
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already; name a new file") from None
    try:
        anchor = _write_all(ledger, disk, fd, progress)
        disk.write(fd, msgspec.json.encode(_AnchorLine(anchor)) + b"\n")
        disk.fsync(fd)
    except BaseException:
        disk.unlink(path)
        raise
    finally:
        disk.close(fd)
    disk.sync_dir(path.absolute().parent)
    return anchor


def _write_all(ledger: Ledger, disk: Disk, fd: int, progress: Callable[[str, int], None]) -> Anchor:
    span, head, group = Span(), chain.GENESIS, list[bytes]()
    for text in ledger.lines():
        place = chain.place_of(text)
        if place is None or place[0] != span.end + 1:
            raise InvalidRequest(
                f"the lines after seq {span.end} were removed on purpose; the log cannot be exported as a whole"
            )
        span.add(leaf_hash(text))
        head = text[-chain.PREVIOUS_BYTES : -3]
        group.append(text)
        if len(group) >= WRITE_LINES:
            disk.write(fd, b"".join(group))
            group.clear()
            progress("export", span.end)
    disk.write(fd, b"".join(group))
    return Anchor(count=span.end, head=head.decode(), root=span.root().hex())


def verify_file(path: Path, *, progress: Callable[[str, int], None] = lambda *_: None) -> Verdict:
    """Check one file: an export against its anchor, a delta against the manifest beside it, or an exported history."""
    _check_is_file(path)
    if is_history(path):
        history = HistoryWalk(path, progress)
        history.run()
        return Verdict(
            lines=history.count,
            snapshots=0,
            head=history.head,
            root="",
            findings=tuple(history.findings),
        )
    walk = _Walk(path, progress)
    try:
        for _ in walk.lines():
            pass
    except LedgerDamaged as error:
        walk.findings += error.findings
    root = walk.span.root().hex() if walk.span.start == 0 else ""
    return Verdict(
        lines=walk.count, snapshots=0, head=walk.head.decode(), root=root,
        findings=tuple(walk.findings), notes=tuple(walk.notes),
    )  # fmt: skip


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidRequest(f"{path} is neither a ledger directory nor a file of one")


def file_states(path: Path) -> dict[str, str]:
    """Where each document is at the end of a file. Raises `LedgerDamaged` if anything is wrong with it."""
    _check_is_file(path)
    if is_history(path):
        history = HistoryWalk(path, lambda *_: None)
        history.run()
        if history.findings:
            raise LedgerDamaged(history.findings)
        return history.states
    walk = _Walk(path, lambda *_: None)
    rollbacks: list[tuple[int, int]] = []
    for text in walk.lines():
        if text.startswith(b'{"doc_id":"",'):
            line = decode_line(text)
            if line.new_state == ROLLED_BACK and isinstance(to := line.metadata["to_seq"], int):
                rollbacks.append((line.seq, to))
    if walk.findings:
        raise LedgerDamaged(walk.findings)
    ranges = effective(rollbacks, last_seq=walk.first_seq + walk.count - 1)
    states: dict[str, str] = {}
    for text in _Walk(path, lambda *_: None).lines():
        line = decode_line(text)
        if line.doc_id and any(low < line.seq <= up for low, up in ranges):
            states[line.doc_id] = line.new_state
    return states


def effective(rollbacks: list[tuple[int, int]], *, last_seq: int) -> list[tuple[int, int]]:
    """Which lines count after these rollbacks (at, to): ranges (after, up to)."""
    ranges, cursor = [], last_seq
    for at, to in reversed(rollbacks):
        if at <= cursor:  # else it was itself rolled back
            ranges.append((at, cursor))
            cursor = to
    return [*ranges, (0, cursor)]


class _Walk:
    """One walk over a file; what is wrong with it is gathered, or raised where nothing more can be read."""

    def __init__(self, path: Path, progress: Callable[[str, int], None]) -> None:
        self._path, self._progress = path, progress
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.count = 0
        self.head = chain.GENESIS
        self._head_seq = read_head(path.parent)  # before the lines are read: a writer may go on
        self._part, self._is_last = _listed(path)
        self.first_seq = self._part.first_seq if self._part else 1
        self.span = Span(self.first_seq - 1)

    def lines(self) -> Iterator[bytes]:
        return self._of_delta(self._part) if self._part is not None else self._of_export()

    def _of_export(self) -> Iterator[bytes]:
        yield from self._checked(_without_anchor(self._path), previous=chain.GENESIS)
        anchor = _anchor(self._path)
        if anchor is None:
            self._say(
                "it does not end with its anchor, so nothing says that this is all; it was cut or never finished"
            )
        elif (anchor.count, anchor.head, anchor.root) != (
            self.count,
            self.head.decode(),
            self.span.root().hex(),
        ):
            self._say(
                f"it has {self.count} lines, but its anchor is of {anchor.count}, or of others"
            )

    def _of_delta(self, part: DeltaPart) -> Iterator[bytes]:
        """A delta of a directory: its manifest says where it begins, and where it ends unless it is written to."""
        self.head = part.chain.encode()
        text = b"".join(plain_chunks(self._path)) if self._is_last else b""
        whole = text.rfind(b"\n") + 1
        chunks = iter([text[:whole]]) if self._is_last else plain_chunks(self._path)
        yield from self._checked(chunks, previous=self.head)
        last = self.first_seq + self.count - 1
        if self._is_last:
            self._end_of_log(text[whole:], last)
        elif (last, self.head.decode()) != (part.last_seq, part.head):
            self._say(
                f"it should end after seq {part.last_seq}, but ends after {last}", seq=last + 1
            )

    def _end_of_log(self, rest: bytes, last: int) -> None:
        why = classify(rest, first_bad=last + 1, durable_seq=self._head_seq)
        if why is not None:
            self._say(why, seq=last + 1)
        elif rest:
            sentence = f"{len(rest)} bytes of a line that was never acknowledged; the next writer cuts them off"
            self.notes.append(Finding(file=self._path.name, seq=last + 1, sentence=sentence))

    def _checked(self, chunks: Iterator[bytes], *, previous: bytes) -> Iterator[bytes]:
        name = self._path.name
        for text in checked_lines(chunks, previous=previous, name=name, seq=self.first_seq):
            self.count += 1
            self.head = text[-chain.PREVIOUS_BYTES : -3]
            self.span.add(leaf_hash(text))
            if self.count % WRITE_LINES == 0:
                self._progress(name, self.count)
            yield text

    def _say(self, sentence: str, *, seq: int | None = None) -> None:
        self.findings.append(Finding(file=self._path.name, seq=seq, sentence=sentence))


def _listed(path: Path) -> tuple[DeltaPart | None, bool]:
    """The file as the manifest beside it names it, and whether it is the one that is written to."""
    manifest = read_manifest(path.parent)
    if manifest is None:
        return None, False
    for part in (*read_archive(path.parent, manifest), *manifest.deltas):
        if part.file.removesuffix(GZ) == path.name.removesuffix(GZ) and not part.is_removed:
            return part, part.last_seq is None
    return None, False


def _anchor(path: Path) -> Anchor | None:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - ANCHOR_BYTES_MAX))
        end = file.read()
    if not end.endswith(b"}\n"):
        return None
    last = end[end.rfind(b"\n", 0, -1) + 1 :]
    if not last.startswith(ANCHOR_START):
        return None
    try:
        found = msgspec.json.decode(last, type=_AnchorLine).anchor
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if msgspec.json.encode(_AnchorLine(found)) + b"\n" == last else None


def _without_anchor(path: Path) -> Iterator[bytes]:
    """The text before the anchor, if the file ends with something that begins as one; else all of it."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - ANCHOR_BYTES_MAX)
        file.seek(start)
        end = file.read()
        at = end.rfind(ANCHOR_START)
        is_there = at >= 0 and (start + at == 0 or end[at - 1 : at] == b"\n")
        left = start + at if is_there else size
        file.seek(0)
        while left and (data := file.read(min(left, 1 << 20))):
            left -= len(data)
            yield data
