"""A ledger as one file: the whole log in order, and at its end an anchor that says that this is all.

    {"doc_id":…,"seq":1,"n":1,"h":…}⏎ … {"anchor":{"count":17,"head":"5f0c…","root":"…"}}⏎

The lines are those of the deltas, byte for byte, so every check of the chain holds here too. The anchor is what a
delta alone lacks: a file that was cut between two lines looks whole without it. The history that the service exports is
checked here too (see `history_file`); a delta is a part of its directory, and checked with it. Only `export` writes.
"""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import msgspec

from stateward.core.errors import Damage, InvalidRequest, LedgerDamaged
from stateward.ledger import chain
from stateward.ledger.delta import checked_lines
from stateward.ledger.disk import Disk, file_chunks
from stateward.ledger.ledger import Ledger
from stateward.ledger.manifest import DELTA_NAME, effective_ranges, is_ledger
from stateward.ledger.migrate import check_encoding
from stateward.ledger.record import LedgerLine, decode_json, rollback_of
from stateward.ledger.verification import LedgerVerification, verify
from stateward.ledger.view import Progress, no_progress
from stateward.proofs.history_file import HistoryFileCheck, is_history
from stateward.proofs.merkle import MerkleSpan, leaf_hash

WRITE_LINES = 4096
FIRST_LINE_BYTES_MAX = 1 << 24
ANCHOR_START = b'{"anchor":'
ANCHOR_BYTES_MAX = 1024
"""More than an anchor can be: so much of the end of a file is searched for one."""


class ExportAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines there are, the head of the chain after them, and the RFC 6962 root over them."""

    count: int
    head: str
    root: str


class _AnchorLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    anchor: ExportAnchor


def export(ledger: Ledger, path: Path, *, progress: Progress = no_progress) -> ExportAnchor:
    """Write the whole log and its anchor to a new file. Refused if a segment of the log was removed."""
    disk = Disk()
    try:
        fd = disk.create(path)
    except FileExistsError:
        raise InvalidRequest(f"{path} exists already; name a new file") from None
    span, head, group = MerkleSpan(), chain.GENESIS, list[bytes]()
    last_seq = ledger.last_seq
    try:
        for text in ledger.lines():
            if (chain.position_of(text) or (-1,))[0] != span.end + 1:
                raise _removed_error(span.end)
            span.add(leaf_hash(text))
            head = chain.head_of(text)
            group.append(text)
            if len(group) >= WRITE_LINES:
                disk.write(fd, b"".join(group))
                group.clear()
                progress("export", span.end)
        if span.end < last_seq:
            raise _removed_error(span.end)
        anchor = ExportAnchor(count=span.end, head=head.decode(), root=span.root().hex())
        disk.write(fd, b"".join(group) + msgspec.json.encode(_AnchorLine(anchor)) + b"\n")
        disk.fsync(fd)
    except BaseException:
        disk.unlink(path)  # half an export would verify up to its end, and be taken for a whole one
        raise
    finally:
        disk.close(fd)
    disk.sync_dir(path.absolute().parent)
    return anchor


def _removed_error(seq: int) -> InvalidRequest:
    return InvalidRequest(
        f"the lines after seq {seq} were removed on purpose; the log cannot be exported as a whole"
    )


def verify_file(path: Path, *, progress: Progress = no_progress) -> LedgerVerification:
    """Check one file: an export against its anchor, an exported history, or a delta with all of its ledger."""
    if _is_delta(path):
        return verify(path.parent, progress=progress)
    check = _check_of(path, progress)
    check.run()
    return LedgerVerification(
        lines=check.count,
        snapshots=0,
        head=check.head,
        root=check.root,
        findings=tuple(check.findings),
    )


def file_states(path: Path) -> dict[str, str]:
    """The state of each document at the end of a file. Raises `LedgerDamaged` if anything is wrong with it."""
    if _is_delta(path):
        raise InvalidRequest(f"{path} is a part of the ledger {path.parent}; name that folder")
    check = _check_of(path, no_progress)
    check.run()
    if check.findings:
        raise LedgerDamaged(check.findings, "export the ledger or the history again")
    if isinstance(check, HistoryFileCheck):
        return check.states
    # A second pass, because rollbacks further on decide which lines are in effect.
    ranges = effective_ranges(check.rollbacks, last_seq=check.count)
    states: dict[str, str] = {}
    for line in _LogFileCheck(path, no_progress).lines():
        if line.doc_id and any(low < line.seq <= up for low, up in ranges):
            states[line.doc_id] = line.new_state
    return states


def _is_delta(path: Path) -> bool:
    return DELTA_NAME.fullmatch(path.name) is not None and is_ledger(path.parent)


def _check_of(path: Path, progress: Progress) -> "HistoryFileCheck | _LogFileCheck":
    if not path.is_file():
        raise InvalidRequest(f"{path} is neither a ledger directory nor a file of one")
    check_encoding(path)
    if is_history(path):
        return HistoryFileCheck(path, progress)
    if _is_never_sealed(path):
        # No damage: to look for a backup of it would be in vain.
        raise InvalidRequest(
            f"{path} holds no sealed lines, so there is nothing to verify; if it is an old ledger, "
            f"make one of it with: stateward ledger migrate {quote(str(path))}"
        )
    return _LogFileCheck(path, progress)


def _is_never_sealed(path: Path) -> bool:
    """Whether the first line is JSON that has nothing of a line of a ledger, as no damage of one would leave it."""
    with path.open("rb") as file:
        first = file.readline(FIRST_LINE_BYTES_MAX)
    try:
        found = decode_json(first)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and not found.keys() & {"seq", "n", "h", "anchor"}


class _LogFileCheck:
    """One pass over an export."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path, self._progress = path, progress
        self._end, self._anchor = _anchor_of(path)
        self.findings: list[Damage] = []
        self.count = 0
        self.rollbacks: list[tuple[int, int]] = []
        self.head = chain.GENESIS.decode()
        self._span = MerkleSpan()

    @property
    def root(self) -> str:
        """The root over the lines read so far."""
        return self._span.root().hex()

    def run(self) -> None:
        """Read all of it, up to the first bad line; what is wrong is in `findings`."""
        try:
            for line in self.lines():
                if line.is_rollback:
                    self.rollbacks.append(rollback_of(line))
            self._check_anchor()
        except LedgerDamaged as error:
            self.findings += error.findings

    def lines(self) -> Iterator[LedgerLine]:
        """Every line, checked. Raises `LedgerDamaged` at the first bad one."""
        name, chunks = self._path.name, file_chunks(self._path, bytes_max=self._end)
        for text, line in checked_lines(chunks, previous=chain.GENESIS, name=name, seq=1):
            self.count += 1
            self.head = chain.head_of(text).decode()
            self._span.add(leaf_hash(text))
            if self.count % WRITE_LINES == 0:
                self._progress(name, self.count)
            yield line

    def _check_anchor(self) -> None:
        """Lines are bound to those before them, never to those after: only the anchor shows a cut at the end."""
        anchor = self._anchor
        if anchor is None:
            sentence = "it does not end with its anchor, so nothing says that this is all; it was cut or never finished"
        elif anchor != ExportAnchor(count=self.count, head=self.head, root=self.root):
            sentence = (
                f"it has {self.count} lines, but its anchor is of {anchor.count}, or of others"
            )
        else:
            return
        raise LedgerDamaged.at(self._path.name, sentence)


def _anchor_of(path: Path) -> tuple[int, ExportAnchor | None]:
    """Where the lines end, and the anchor behind them; None unless it stands there exactly as it would be written."""
    with path.open("rb") as file:
        start = max(0, file.seek(0, 2) - ANCHOR_BYTES_MAX)
        file.seek(start)
        end = file.read()
    at = end.rfind(ANCHOR_START)
    if at < 0 or (start + at and end[at - 1 : at] != b"\n"):
        return start + len(end), None
    try:
        found = msgspec.json.decode(end[at:], type=_AnchorLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return start + at, None
    is_as_written = msgspec.json.encode(found) + b"\n" == end[at:]
    return start + at, found.anchor if is_as_written else None
