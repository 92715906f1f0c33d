"""The history as `stateward export history` writes it: a line of `transitions.jsonl`, and the check of the whole file.

Each line is a transition as `core.chain` seals it: its seal is computed again, it must follow the transition before
it of the same record, and be the next one of its lane (`core.lanes`). `anchor.json` says how long each lane is and how
it ends; without it a cut of the file cannot be noticed, and that is a finding. A line must be, byte for byte, what the
exporter writes for its values: then no change goes unnoticed, not even one of blanks. The check reads only.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from stateward.core.chain import GENESIS
from stateward.core.errors import Damage, LedgerDamaged
from stateward.core.lanes import Lane, LaneRouter, extend
from stateward.core.model import Fields, Transition, from_iso, to_iso
from stateward.core.verify import LogCheck, check_link
from stateward.proofs.history_checkpoint import HistoryCheckpoint, lanes_root, log_name
from stateward.proofs.merkle import MerkleSpan, leaf_hash
from stateward.regular_files import read_regular

Progress = Callable[[str, int], None]
TRANSITIONS, RECORDS, ANCHOR_FILE = "transitions.jsonl", "records.jsonl", "anchor.json"
LINE_BYTES_MAX = 128 << 20
"""A file that is no export may have no end of line at all; it must not be read into memory for that."""
PROGRESS_LINES = 4096
FIRST_RELEASE = "it is an export of version 0.1.0, which knew no lanes: verify it with that version, or export anew"
FINDINGS_MAX = 1000
"""One changed line can make all after it bad; no person reads further than this."""
LINE_START = b'{"actor":'
"""Keys are sorted: how a line begins."""

encode_line = msgspec.json.Encoder(order="sorted").encode
"""Sorted keys: two exports of one history are the same bytes, and can be compared by their hashes."""


class TransitionLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transition in the form of the export: all that its hash covers, so that it can be computed from the file.

    `from` and `to` are the names of the format; times are RFC 3339, the text that is hashed (docs/decisions/0009). Its
    hash is called `seal` here, and that of its record's transition before it `record_prev`.
    """

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
    record_prev: str
    seal: str
    salt: str | UnsetType = UNSET

    @classmethod
    def of(cls, t: Transition, **place: int | str) -> Self:
        """The line of a transition; `place` are the further fields of a subclass."""
        fields: dict[str, Any] = {name: getattr(t, name) for name in _SAME}
        salt = UNSET if t.salt is None else t.salt
        fields |= {"at": to_iso(t.at), "record_prev": t.prev_hash, "seal": t.hash, "salt": salt}
        return cls(**{**fields, **place})

    def transition(self) -> Transition:
        fields: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        salt = None if self.salt is UNSET else self.salt
        fields |= {"at": from_iso(self.at), "prev_hash": self.record_prev, "hash": self.seal}
        return Transition(**fields, salt=salt)


class LaneLine(TransitionLine, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same with its place in its lane, and the values of the lane before and after it."""

    lane: int
    lane_seq: int
    lane_prev: str
    lane_hash: str


_SAME = tuple(
    name
    for name in TransitionLine.__struct_fields__
    if name not in {"at", "record_prev", "seal", "salt"}
)


class _LaneEnd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    lane: int
    count: int
    head: str


class _AnchorFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    lanes: list[_LaneEnd]
    root: str


_decode = msgspec.json.Decoder(LaneLine).decode


def is_history(path: Path) -> bool:
    """Whether the file is, or was, an export of the history, by its name or the start of its first line."""
    if path.name == TRANSITIONS:
        return True
    with path.open("rb") as file:
        return file.read(16).startswith(LINE_START)


def is_export(folder: Path) -> bool:
    """Whether this is a folder that `export history` wrote."""
    return (folder / TRANSITIONS).is_file()


class HistoryFileCheck:
    """One pass over an exported history; `states` is where each record is at its end.

    With `kept`, a checkpoint that was kept elsewhere, it must be the history of that one, grown. `with_trees`, the
    roots of the Merkle trees over the lanes are computed as well. `ends` are the last transitions of all records.
    """

    def __init__(
        self,
        path: Path,
        progress: Progress,
        *,
        kept: HistoryCheckpoint | None = None,
        with_trees: bool = False,
    ) -> None:
        self._path, self._progress = path, progress
        self._kept = kept
        self._spans: dict[int, MerkleSpan] | None = {} if with_trees or kept else None
        self._kept_sizes = {} if kept is None else {each.lane: each.count for each in kept.lanes}
        self.lanes: tuple[Lane, ...] = ()
        self.trees: dict[int, str] = {}
        self.ends: dict[str, Transition] = {}
        self.is_cut_short = False
        """Whether a line could not be read, so that nothing is known of what follows it."""
        self.findings: list[Damage] = []
        self.root = ""
        self.count = 0
        self.head = GENESIS
        self.states: dict[str, str] = {}

    def run(self) -> None:
        """Read all of it, up to the first line that cannot be read."""
        lanes = self._read_anchor()
        self.lanes = tuple(lanes or ())
        check = LogCheck(self.lanes, kept=() if self._kept is None else self._kept.lanes)
        places = _Places(lanes)
        last = self.ends
        self._begin_trees()
        try:
            for line, found in self._lines():
                before = last.get(found.record_id)
                version = before.version + 1 if before else 0
                links = check_link(found, before, version=version)
                for finding in (*check.feed([found]), *links):
                    self._report(f"{finding.where}: {finding.sentence}", seq=found.seq)
                if not places.is_next(line):
                    self._report(f"entry {found.seq}: is not the next of its lane", seq=found.seq)
                self._grow_tree(line)
                last[found.record_id] = found
                self.states[found.record_id] = found.target
                self.head = line.lane_hash
        except LedgerDamaged as error:
            self.findings += error.findings
            self.is_cut_short = True
            return
        for finding in check.end(lanes) if lanes is not None else ():
            sentence = f"{finding.where}: {finding.sentence}"
            is_kept = finding.check == "checkpoint"
            self._report(
                sentence if is_kept else f"the file and {ANCHOR_FILE} do not fit: {sentence}"
            )
        self.trees = {lane: span.root().hex() for lane, span in (self._spans or {}).items()}

    def _begin_trees(self) -> None:
        if self._spans is not None:
            self._spans |= {each.lane: MerkleSpan() for each in self.lanes}
            for lane, span in self._spans.items():
                self._compare_kept(lane, span)

    def _grow_tree(self, line: LaneLine) -> None:
        if self._spans is not None:
            span = self._spans.setdefault(line.lane, MerkleSpan())
            span.add(leaf_hash(line.seal.encode()))
            if self._kept_sizes:
                self._compare_kept(line.lane, span)

    def _compare_kept(self, lane: int, span: MerkleSpan) -> None:
        """A checkpoint binds a lane twice, by its head and by its tree, and both must be those of this history."""
        if self._kept is not None and self._kept_sizes.get(lane) == span.end:
            del self._kept_sizes[lane]
            if span.root().hex() != self._kept.trees[lane]:
                self._report(f"tree {log_name(lane)}: the checkpoint has another root for it")

    def _lines(self) -> Iterator[tuple[LaneLine, Transition]]:
        """Each line with its transition, once it is certain that encoding the values gives these very bytes.

        The seal covers values, not their spelling: `1.0` for `1`, another order of keys or a second key of the same
        name would leave every hash as it is, and mean something else to another reader.
        """
        at = 0
        with self._path.open("rb") as file:
            while text := file.readline(LINE_BYTES_MAX):
                try:
                    line = _decode(text)
                    found = line.transition()
                    written = encode_line(line) + b"\n", to_iso(found.at)
                except (
                    msgspec.DecodeError, ValueError, OverflowError, OSError, RecursionError,
                ) as error:  # fmt: skip
                    is_first_release = not at and b'"prev_hash":' in text and b'"lane' not in text
                    why = FIRST_RELEASE if is_first_release else f"the line cannot be read: {error}"
                    raise self._damage_error(why, at) from error
                if written != (text, line.at):
                    raise self._damage_error("the line is not as the export wrote it", at)
                yield line, found
                at += len(text)
                self.count += 1
                if self.count % PROGRESS_LINES == 0:
                    self._progress(self._path.name, self.count)

    def _damage_error(self, sentence: str, at: int) -> LedgerDamaged:
        return LedgerDamaged.at(self._path.name, sentence, byte=at, seq=self.count + 1)

    def _read_anchor(self) -> list[Lane] | None:
        """How long each lane must be and how it must end; None if that is not known, which is a finding."""
        try:
            text = read_regular(self._path.with_name(ANCHOR_FILE))
            found = msgspec.json.decode(text, type=_AnchorFile)
        except FileNotFoundError:
            self._report(f"there is no {ANCHOR_FILE} beside it, so nothing says that this is all")
            return None
        except (OSError, msgspec.DecodeError, ValueError) as error:
            self._report(f"it cannot be read: {error}", file=ANCHOR_FILE)
            return None
        if encode_line(found) + b"\n" != text:
            self._report("it is not as the export wrote it", file=ANCHOR_FILE)
        lanes = [Lane(lane=each.lane, count=each.count, head=each.head) for each in found.lanes]
        self.root = lanes_root(lanes).hex()
        if self.root != found.root:
            self._report("its lanes do not give its root", file=ANCHOR_FILE)
        return lanes

    def _report(self, sentence: str, *, seq: int | None = None, file: str | None = None) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Damage(file=file or self._path.name, seq=seq, sentence=sentence))


class _Places:
    """How far each lane was read: whether a line is the next of the lane that its record belongs to."""

    def __init__(self, lanes: list[Lane] | None) -> None:
        self._router = None if lanes is None else LaneRouter(lanes)
        self._ends: dict[int, tuple[int, str]] = {}

    def is_next(self, line: LaneLine) -> bool:
        """Whether the line follows the one before it in its lane."""
        count, value = self._ends.get(line.lane, (0, GENESIS))
        expected = count + 1, value, extend(value, (line.seal,))
        self._ends[line.lane] = line.lane_seq, line.lane_hash
        own = line.lane
        if self._router is not None:
            own = self._router.lane(line.record_id, line.seq)
        return (line.lane_seq, line.lane_prev, line.lane_hash) == expected and line.lane == own
