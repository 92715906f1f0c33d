"""An index of a delta that someone made anew, with right checksums: look-ups believe it, a verification does not."""

import struct
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stateward.ledger import Ledger, LedgerState, repair, verify
from stateward.ledger.delta_index import DeltaIndex
from stateward.ledger.manifest import read_manifest
from tests.ledger.builders import a_ledger

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger whose delta has an index of several tables, and lines behind it."""
    monkeypatch.setattr("stateward.ledger.writer.INDEX_EVERY_LINES", 8)
    with a_ledger(tmp_path / "l") as ledger:
        for state in (PENDING, FETCHING):
            for number in range(30):
                ledger.record(f'doc:"{number}', state)
    return tmp_path / "l"


def forge(folder: Path, *, without: int) -> Path:
    """Leave out the newest lines of the index; where it is."""
    manifest = read_manifest(folder)
    assert manifest is not None
    path = folder / f"{manifest.deltas[-1].file}.idx"
    loaded = DeltaIndex.load(path, salt=manifest.salt)
    assert loaded is not None
    index, footer = loaded
    pairs = sorted(
        (pair for table in index.tables for pair in table_pairs(table.pairs())),
        key=lambda pair: pair[8:],
    )[:-without]
    path.unlink()
    path.write_bytes(
        DeltaIndex().add(
            [pair[:8] for pair in pairs],
            [int.from_bytes(pair[8:], "big") for pair in pairs],
            footer,
            is_kept=True,
        )
    )
    return path


def table_pairs(data: bytes) -> list[bytes]:
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def states(folder: Path) -> set[str | None]:
    with Ledger.open(folder, read_only=True) as reader:
        return {reader.state(f'doc:"{number}') for number in range(30)}


def test_an_index_that_leaves_lines_out_is_found(folder: Path) -> None:
    assert verify(folder).is_sound
    assert states(folder) == {"fetching"}

    path = forge(folder, without=3)

    assert states(folder) == {"pending", "fetching"}  # nothing else tells
    (finding,) = verify(folder).findings
    assert (finding.file, "does not have the lines" in finding.sentence) == (path.name, True)


@pytest.mark.parametrize(
    "forgery",
    [
        {"counts": {"fetching": 31}},
        {"durations": {}},
        {"adapters": {"other": 60}},
        {"errors": {"E": 1}},
        {"sources": {"stateward": 9}},
        {"records": 59},
    ],
    ids=lambda forgery: next(iter(forgery)),
)
def test_an_index_that_counts_otherwise_is_found(folder: Path, forgery: dict[str, Any]) -> None:
    path = rewrite_totals(folder, **forgery)

    (finding,) = verify(folder).findings
    assert (finding.file, "does not count the lines" in finding.sentence) == (path.name, True)

    (step,) = repair(folder, execute=True)
    assert (step.finding.file, step.lost, step.is_possible) == (path.name, 0, True)
    with Ledger.open(folder, read_only=True) as reader:
        assert reader.summary().counts == {"pending": 0, "fetching": 30}


def rewrite_totals(folder: Path, **totals: Any) -> Path:  # noqa: ANN401 - of any kind
    """Other totals in the last footer of the index; where it is."""
    manifest = read_manifest(folder)
    assert manifest is not None
    path = folder / f"{manifest.deltas[-1].file}.idx"
    loaded = DeltaIndex.load(path, salt=manifest.salt)
    assert loaded is not None
    footer = replace(loaded[1], summary=replace(loaded[1].summary, **totals))
    data = path.read_bytes()
    text = msgspec.json.encode(footer)
    text += b" " * (-len(text) % 8)
    path.unlink()
    path.write_bytes(data + text + struct.pack("=QQ8s", len(text), zlib.crc32(text), b"SWFOOT01"))
    return path


def test_an_index_that_leaves_lines_out_is_removed_by_a_repair(folder: Path) -> None:
    path = forge(folder, without=3)

    (step,) = repair(folder, execute=True)

    assert (step.finding.file, step.lost, step.is_possible) == (path.name, 0, True)
    assert verify(folder).is_sound
    assert states(folder) == {"fetching"}


def test_an_index_of_an_archived_delta_is_compared_as_well(folder: Path) -> None:
    with Ledger.open(folder) as ledger:
        ledger.compact()
    (path,) = folder.glob("delta-*.idx")
    assert verify(folder).is_sound

    other = path.read_bytes()
    loaded = DeltaIndex.load(path, salt=None)
    assert loaded is not None
    path.unlink()
    path.write_bytes(DeltaIndex().add([b"x" * 8], [0], loaded[1], is_kept=True))

    assert other != path.read_bytes()
    assert "does not have the lines" in verify(folder).findings[0].sentence
