"""The history that `stateward export history` writes, checked as one file: `transitions.jsonl` and its anchor beside.

Each line is a transition as `core.chain` seals it: its hash is computed anew, it must follow the record's transition
before it, and be numbered without a gap. `anchor.json` says how many there are, how they end, and what all hashes in
order come to; without it nobody knows whether the file was cut, and that is a finding. A line must be, byte for byte,
what the exporter writes for its values, so that no change of a byte goes by. Reads only.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from stateward.core.chain import GENESIS, Anchor, transition_hash
from stateward.core.errors import LedgerDamaged
from stateward.core.model import (
    AUTHORITY,
    Fields,
    Transition,
    from_iso,
    to_iso,
)
from stateward.core.verify import LogCheck
from stateward.ledger.errors import Finding

ANCHOR = "anchor.json"
LINE_BYTES_MAX = 128 << 20
PROGRESS_LINES = 4096
FINDINGS_MAX = 1000
STARTS = (b'{"actor":', b'{"at":')
"""Keys are sorted: so begins a line, in this version and in one that has no actor."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition as the export has it."""

    record_id: str
    machine: str
    machine_version: int
    source: str | None = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    version: int
    event_id: str
    at: str
    actor: str
    authority: str
    epoch: int
    attempt: int | None
    trigger: str
    seq: int
    metadata: Fields
    record_hash: str
    prev_hash: str
    hash: str


class _AnchorFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    count: int
    head: str
    digest: str


_decode = msgspec.json.Decoder(_Line).decode


def is_history(path: Path) -> bool:
    """Whether the file is, or was, an export of the history, by its name or the beginning of its first line."""
    if path.name == "transitions.jsonl":
        return True
    with path.open("rb") as file:
        return file.read(16).startswith(STARTS)


class HistoryWalk:
    """One walk over an exported history; what is wrong with it is gathered in `findings`."""

    def __init__(self, path: Path, progress: Callable[[str, int], None]) -> None:
        self._path, self._progress = path, progress
        self.findings: list[Finding] = []
        self.count = 0
        self.head = GENESIS
        self.states: dict[str, str] = {}
        self._last: dict[str, Transition] = {}

    def run(self) -> None:
        """Read all of it, up to the first line that cannot be read."""
        check = LogCheck()
        try:
            for transition in self._transitions():
                for finding in check.feed([transition]):
                    self._say(f"{finding.where}: {finding.sentence}", seq=transition.seq)
                self._follow(transition)
        except LedgerDamaged as error:
            self.findings += error.findings
            return
        anchor = self._anchor()
        for finding in check.end(anchor) if anchor is not None else ():
            self._say(f"the file and {ANCHOR} do not fit: {finding.sentence}")

    def _transitions(self) -> Iterator[Transition]:
        at = 0
        with self._path.open("rb") as file:
            while text := file.readline(LINE_BYTES_MAX):
                yield self._transition(text, at)
                at += len(text)
                self.count += 1
                if self.count % PROGRESS_LINES == 0:
                    self._progress(self._path.name, self.count)

    def _transition(self, text: bytes, at: int) -> Transition:
        try:
            line = _decode(text)
            fields = {name: getattr(line, name) for name in line.__struct_fields__}
            found = Transition(**{**fields, "at": from_iso(line.at)})
            is_exact = (_encode(msgspec.to_builtins(line)) + b"\n", to_iso(found.at)) == (
                text,
                line.at,
            )
        except (msgspec.DecodeError, ValueError, OverflowError, OSError, RecursionError) as error:
            raise self._damaged(f"the line cannot be read: {error}", at) from error
        if not is_exact:
            raise self._damaged("the line is not as the export wrote it", at)
        return found

    def _damaged(self, sentence: str, at: int) -> LedgerDamaged:
        return LedgerDamaged(
            [Finding(file=self._path.name, byte=at, seq=self.count + 1, sentence=sentence)]
        )

    def _follow(self, found: Transition) -> None:
        before = self._last.get(found.record_id)
        head, version = (before.hash, before.version + 1) if before else (GENESIS, 0)
        if (found.prev_hash, found.version) != (head, version):
            self._say(f"{found.record_id} has another entry before this one", seq=found.seq)
        if found.source != (before.target if before else None):
            self._say(f"{found.record_id} was not in {found.source!r}", seq=found.seq)
        if found.hash != _hash(found):
            self._say(f"{found.record_id} was changed after it was written", seq=found.seq)
        if found.authority != AUTHORITY:
            self._say(f"{found.record_id} was written by {found.authority!r}", seq=found.seq)
        self._last[found.record_id] = found
        self.states[found.record_id] = found.target
        self.head = found.hash

    def _anchor(self) -> Anchor | None:
        path = self._path.with_name(ANCHOR)
        try:
            text = path.read_bytes()
            found = msgspec.json.decode(text, type=_AnchorFile)
        except FileNotFoundError:
            self._say(f"there is no {ANCHOR} beside it, so nothing says that this is all")
            return None
        except (msgspec.DecodeError, ValueError) as error:
            self.findings.append(Finding(file=ANCHOR, sentence=f"it cannot be read: {error}"))
            return None
        if _encode(msgspec.to_builtins(found)) + b"\n" != text:
            self.findings.append(Finding(file=ANCHOR, sentence="it is not as the export wrote it"))
        return Anchor(count=found.count, head=found.head, digest=found.digest)

    def _say(self, sentence: str, *, seq: int | None = None) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Finding(file=self._path.name, seq=seq, sentence=sentence))


def _hash(transition: Transition) -> str | None:
    """The hash, or None where a value is so wrong that there is none, like a time in the year 40000."""
    try:
        return transition_hash(transition)
    except (ValueError, OverflowError, OSError):
        return None
