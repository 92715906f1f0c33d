"""Tiles beside compressed deltas: a proof reads one block of lines, and is the same as one that reads them all."""

import gzip
from pathlib import Path

import pytest

from stateward.ledger import Ledger, LedgerDamaged, LedgerState, parse_checkpoint, verify_proof
from stateward.proofs.merkle import BLOCK_LEAVES, MerkleSpan, TileBuilder, leaf_hash, tiles_in
from tests.ledger.builders import a_ledger

PENDING = LedgerState.PENDING
SEQS = (1, 255, 256, 257, 300, 301, 511, 513, 767, 769, 840, 845)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three deltas of 300, 540 and 5 lines, the first two compressed; none begins or ends with a block."""
    with a_ledger(tmp_path / "l") as ledger:
        for first, last in ((0, 300), (300, 840)):
            ledger.record_many([(f"doc:{number}", PENDING) for number in range(first, last)])
            ledger.rotate()
        ledger.compact()
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(840, 844)])
    return tmp_path / "l"


def proofs(folder: Path, *, size: int | None = None) -> list[object]:
    with Ledger.open(folder, read_only=True) as ledger:
        last = ledger.last_seq if size is None else size
        return [ledger.prove(seq, size=size) for seq in SEQS if seq <= last]


@pytest.mark.parametrize("size", [None, 840, 700, 300, 299, 257])
def test_a_proof_from_tiles_is_that_from_all_lines(folder: Path, size: int | None) -> None:
    tiled = proofs(folder, size=size)

    trees = sorted(folder.glob("*.tree"))
    for path in trees:
        path.unlink()
    assert len(trees) == 2
    assert tiled == proofs(folder, size=size)


def test_a_proof_leads_to_the_checkpoint_and_reads_one_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[bytes] = []

    def counted(text: bytes) -> bytes:
        hashed.append(text)
        return leaf_hash(text)

    with Ledger.open(folder, read_only=True) as ledger:
        checkpoint = ledger.checkpoint()
        monkeypatch.setattr("stateward.ledger.view.leaf_hash", counted)
        proof = ledger.prove(600)

    _, size, _ = parse_checkpoint(checkpoint)
    assert (proof.size, verify_proof(proof, checkpoint)) == (size, True)
    assert len(hashed) == BLOCK_LEAVES


def test_tiles_of_other_lines_are_not_used(folder: Path) -> None:
    sound = proofs(folder)
    first, second = sorted(folder.glob("*.tree"))
    first.write_bytes(second.read_bytes())
    second.write_bytes(second.read_bytes()[:-7])

    assert proofs(folder) == sound


def test_a_changed_line_is_not_proved(folder: Path) -> None:
    for path in folder.glob("*.jsonl.gz"):
        text = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(text.replace(b'"doc:9"', b'"doc:8"')))

    with Ledger.open(folder, read_only=True) as ledger, pytest.raises(LedgerDamaged):
        ledger.prove(20)


def test_tiles_go_with_the_lines_that_they_are_of(folder: Path) -> None:
    with Ledger.open(folder) as ledger:
        for number in range(8):
            ledger.record(f"doc:more:{number}", PENDING)
            ledger.compact()
        ledger.remove_archived(up_to=300, reason="test", execute=True)

    assert len(list(folder.glob("*.tree"))) == len(list(folder.glob("*.jsonl.gz")))


@pytest.mark.parametrize("start", [0, 1, 255, 256, 300])
@pytest.mark.parametrize("count", [1, 255, 256, 257, 1000])
def test_tiles_give_the_span(start: int, count: int) -> None:
    leaves = [leaf_hash(b"%d" % number) for number in range(count)]
    built, plain = TileBuilder(start), MerkleSpan(start)
    for leaf in leaves:
        built.add(leaf)
        plain.add(leaf)
    built.finish()

    found = tiles_in(b"".join(built.tiles), built.span)

    assert built.span.packed() == plain.packed()
    assert (found[0].start, found[-1].end) == (start, start + count)
    assert tiles_in(b"".join(built.tiles[:-1]), built.span) == []
