"""Every truncation, flipped bit, lost, doubled or swapped line and zeroed block of a small ledger.

Each damage is done to one file of a sound ledger; then it is opened, by a reader or by the writer, and asked
everything. Either it refuses, naming a place, or every answer is that of the undamaged ledger.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import msgspec
from msgspec.structs import replace

from stateward.core.chain import GENESIS, seal
from stateward.core.errors import StatewardError
from stateward.core.lanes import Lane, extend, lane_of
from stateward.core.model import SECOND, Transition
from stateward.engine.history import anchor_line, lane_lines
from stateward.ledger import Ledger, LedgerState
from stateward.proofs.history_file import encode_line
from stateward.testing.builders import ADA, NOW, a_record
from tests.ledger.builders import DAY_S, Clock, QuickDisk, in_layers, moves

Answers = tuple[dict[str, str], dict[str, str], dict[str, int], list[int], list[int]]
as_json = msgspec.json.Encoder(order="deterministic").encode
DOCUMENTS = 9
LANES = 2
ODD_IDS = ('doc:"quoted"', "doc:line\nbreak", "doc:\U0001f4c4\x00", "doc:back\\slash,")


class Report(msgspec.Struct, kw_only=True):
    """What became of the damages."""

    damages: int = 0
    refused: int = 0
    unharmed: int = 0
    wrong: list[str] = []

    def __str__(self) -> str:
        return (
            f"{self.damages} damages: {self.refused} refused, {self.unharmed} answered exactly as before, "
            f"{len(self.wrong)} silently wrong"
        )


def build(folder: Path, *, seed: int = 3) -> None:
    """A small ledger with one of everything: archive, packed files, layered snapshots, sealed and active deltas."""
    rng, states, clock = random.Random(seed), dict[str, str](), Clock()
    with (
        patch("stateward.ledger.writer.INDEX_EVERY_LINES", 6),
        Ledger.open(folder, clock=clock, disk=QuickDisk(), snapshots_kept=2) as ledger,
    ):
        ledger.record_many([(each, LedgerState.PENDING, "odd") for each in ODD_IDS])
        for day in range(4):
            for size in (1, 4, 2):
                source = moves(rng, DOCUMENTS, states)
                batch = []
                for _, (doc_id, state) in zip(range(size), source, strict=False):
                    states[doc_id] = str(state)
                    batch.append((doc_id, state, "pubmed", {"pages": rng.randrange(99)}))
                ledger.record_many(batch)
                clock.tick()
            if day < 2:
                ledger.compact()
            elif day == 2:
                with in_layers(share=0.1):
                    ledger.compact()
            clock.tick(DAY_S)
        ledger.rotate()
        ledger.record(ODD_IDS[0], LedgerState.FETCHING, adapter="odd")
        ledger.record(ODD_IDS[1], LedgerState.SKIPPED, adapter="odd")


def explore(
    scratch: Path, *, bits: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7), step: int = 1, is_written: bool = False,
    damages_max: int = 10**9, lost: tuple[str, ...] = (),
) -> Report:  # fmt: skip
    """Do every damage to every file, one at a time; `lost` are files that were gone already."""
    sound, folder = scratch / "sound", scratch / "hurt"
    build(sound)
    expected = _answers(sound, is_written=False)
    for name in lost:
        (sound / name).unlink()
    report = Report()
    for path in sorted(sound.iterdir()):
        if path.name == "LOCK":
            continue
        data = path.read_bytes()
        for what, hurt in _damages(data, bits, step, is_text=path.name.endswith(("json", "jsonl"))):
            _copy(sound, folder, path.name, hurt, is_whole=is_written or report.damages == 0)
            report.damages += 1
            try:
                answers = _answers(folder, is_written=is_written)
            except StatewardError:
                report.refused += 1
            except Exception as error:  # noqa: BLE001 - anything else is a fault of ours
                report.wrong.append(f"{path.name}, {what}: {error!r}")
            else:
                if answers == expected:
                    report.unharmed += 1
                else:
                    report.wrong.append(f"{path.name}, {what}: other answers")
            if not is_written:
                (folder / path.name).write_bytes(data)
            if report.damages >= damages_max:
                return report
    return report


def explore_file(
    path: Path, is_found: Callable[[Path], bool], scratch: Path, *, bits: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7),
    step: int = 1,
) -> Report:  # fmt: skip
    """Do every damage to one file that proves itself (and what it needs beside it): each must be found."""
    report = Report()
    for hurt_path in (path, path.with_name("anchor.json")):
        if not hurt_path.exists():
            continue
        data = hurt_path.read_bytes()
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(path.parent, scratch)
        for what, hurt in _damages(data, bits, step, is_text=True):
            if hurt == data:
                continue
            (scratch / hurt_path.name).write_bytes(hurt)
            report.damages += 1
            try:
                if is_found(scratch / path.name):
                    report.refused += 1
                else:
                    report.wrong.append(f"{hurt_path.name}, {what}: not found")
            except Exception as error:  # noqa: BLE001 - anything else is a fault of ours
                report.wrong.append(f"{hurt_path.name}, {what}: {error!r}")
    return report


def a_history(folder: Path) -> Path:
    """A small history as a service exports it: three records, one that failed, values of every kind."""
    log = list[Transition]()
    records = [a_record(id=f"NT_{name}") for name in ("one", "two", "three")]
    for version, target in enumerate(("new", "reading", "read")):
        for place, before in enumerate(records):
            is_failed = place == 1 and target == "read"
            status = "broken" if is_failed else target
            entered = NOW + len(log) * SECOND + place
            record = replace(before, status=status, version=version, entered_at=entered)
            transition = Transition(
                record_id=record.id, machine=record.machine, machine_version=1,
                source=None if version == 0 else before.status, target=status, version=version,
                event_id=f"e{len(log)}", at=entered, actor=ADA, trigger="read.completed", seq=len(log) + 1,
                metadata={"share": 0.1, "tiny": 1e-7, "word": "naïve \u2028", "none": None, "many": [1, {"x": True}]},
            )  # fmt: skip
            sealed, records[place] = seal(transition, record, epoch=1)
            log.append(sealed)
    hashes = [
        [each.hash for each in log if lane_of(each.record_id, LANES) == number]
        for number in range(LANES)
    ]
    lanes = [
        Lane(lane=number, count=len(own), head=extend(GENESIS, own))
        for number, own in enumerate(hashes)
    ]
    lines = [encode_line(line) + b"\n" for line in lane_lines(lanes, [log])]
    history = folder / "history" / "transitions.jsonl"
    history.parent.mkdir(parents=True)
    history.write_bytes(b"".join(lines))
    history.with_name("anchor.json").write_bytes(as_json(anchor_line(lanes)) + b"\n")
    return history


def _copy(sound: Path, folder: Path, name: str, hurt: bytes, *, is_whole: bool) -> None:
    if is_whole:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sound, folder)
    (folder / name).write_bytes(hurt)


def _answers(folder: Path, *, is_written: bool) -> Answers:
    with Ledger.open(folder, read_only=not is_written, clock=Clock(), disk=QuickDisk()) as ledger:
        walked = {each.doc_id: str(each.state) for each in ledger.documents()}
        ids = [*ODD_IDS, *(f"doc:{number}" for number in range(DOCUMENTS + 2))]
        asked = {each: str(ledger.state(each)) for each in ids}
        counts = {str(name): count for name, count in ledger.counts().items()}
        history = [each.seq for each in ledger.history("doc:0")]
        failed = [each.seq for each in ledger.documents(state=LedgerState.FETCHING)]
        return walked, asked, counts, history, failed


def _damages(
    data: bytes, bits: tuple[int, ...], step: int, *, is_text: bool
) -> Iterator[tuple[str, bytes]]:
    for at in range(0, len(data), step):
        yield f"cut at {at}", data[:at]
        for bit in bits:
            yield (
                f"bit {bit} of byte {at}",
                data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :],
            )
    for at in range(0, len(data), max(16, step)):
        zeroed = data[:at] + b"\0" * len(data[at : at + 16]) + data[at + 16 :]
        if zeroed != data:
            yield f"16 zeros at {at}", zeroed
    yield "rubbish behind it", data + b"\x00\xffrubbish"
    yield "a line behind it", data + b'{"doc_id":"doc:0"}\n'
    if is_text:
        yield from _line_damages(data)


def _line_damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    lines = data.splitlines(keepends=True)
    for place, line in enumerate(lines):
        rest = lines[:place] + lines[place + 1 :]
        yield f"line {place} dropped", b"".join(rest)
        yield f"line {place} doubled", b"".join([*lines[:place], line, *lines[place:]])
        if place:
            swapped = [*lines[: place - 1], line, lines[place - 1], *lines[place + 1 :]]
            yield f"lines {place - 1} and {place} swapped", b"".join(swapped)
