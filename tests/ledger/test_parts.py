"""The parts that the ledger is made of: states, tree, snapshot, index."""

import base64
import random
import tempfile
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.core.errors import InvalidRequest, MissingExtra
from stateward.ledger import (
    CheckpointSigner,
    CheckpointVerifier,
    Ledger,
    LedgerState,
    is_retryable,
    is_terminal,
    valid_next_states,
    verify_proof,
)
from stateward.ledger.record import LedgerLine
from stateward.ledger.snapshot import BLOCK, FLUSH_BLOCKS, KEY_END, Header, Snapshot, SnapshotWriter
from stateward.ledger.summary import Durations, Summary
from stateward.proofs.merkle import MerkleSpan, leaf_hash
from tests.ledger.builders import QuickDisk, a_ledger

PENDING, FETCHING = LedgerState.PENDING, LedgerState.FETCHING


def test_every_state_is_documented_and_answers_the_operators_questions() -> None:
    assert len(LedgerState) == 16
    assert all(state.doc for state in LedgerState)
    assert valid_next_states(PENDING) == (FETCHING, LedgerState.SKIPPED)
    assert {state for state in LedgerState if is_terminal(state)} == {
        LedgerState.COMPLETED, LedgerState.FAILED, LedgerState.SKIPPED,
    }  # fmt: skip
    assert {state for state in LedgerState if is_retryable(state)} == {
        LedgerState.FAILED, LedgerState.RETRYING,
    }  # fmt: skip
    with pytest.raises(InvalidRequest, match="no state"):
        is_terminal("done")


def plain_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha256(b"\x01" + plain_root(leaves[:half]) + plain_root(leaves[half:])).digest()


@given(st.lists(st.binary(max_size=5), max_size=70), st.lists(st.integers(0, 70), max_size=4))
def test_spans_join_to_the_tree_of_the_standard(leaves: list[bytes], cuts: list[int]) -> None:
    whole = MerkleSpan()
    places = sorted({min(cut, len(leaves)) for cut in cuts} | {0, len(leaves)})
    for start, end in pairwise(places):
        span = MerkleSpan(start)
        for leaf in leaves[start:end]:
            span.add(leaf_hash(leaf))
        whole.extend(MerkleSpan.unpacked(span.packed(), start=start, end=end))

    assert whole.root() == plain_root([leaf.removesuffix(b"\n") for leaf in leaves])


def test_the_tree_is_that_of_known_test_vectors() -> None:
    """The leaves and roots that the Certificate Transparency implementations test with."""
    leaves = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243")]
    span = MerkleSpan()
    for leaf in leaves:
        span.add(sha256(b"\x00" + leaf).digest())

    assert span.root().hex() == "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"


def test_every_line_can_be_proved_and_no_other(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        for day in range(3):
            ledger.record_many([(f"doc:{day}:{number}", PENDING) for number in range(5)])
            ledger.compact()
        early = ledger.checkpoint(write=False)
        ledger.record("doc:x", PENDING)
        late = ledger.checkpoint(origin="example.org/ledger", write=False)

        for seq in range(1, 19):
            proof = ledger.prove(seq, size=18)
            assert verify_proof(proof, early)
            assert not verify_proof(proof, late)
            assert not verify_proof(msgspec.structs.replace(proof, line=proof.line + " "), early)
            assert not verify_proof(msgspec.structs.replace(proof, seq=proof.seq % 18 + 1), early)
            assert not verify_proof(msgspec.structs.replace(proof, line="\ud800"), early)
            for text in ("x", "é", "", proof.path[0] + "\n"):
                path = (text, *proof.path[1:])
                assert not verify_proof(msgspec.structs.replace(proof, path=path), early)
        assert verify_proof(ledger.prove(19), late)
        assert ledger.verify(checkpoint=early).is_sound
        with pytest.raises(InvalidRequest):
            ledger.prove(20)
        with pytest.raises(InvalidRequest, match="origin"):
            ledger.checkpoint(origin="two words")


def test_a_checkpoint_can_be_signed(tmp_path: Path) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    key = ed25519.Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    signer = CheckpointSigner("example.org/l", key.private_bytes_raw())

    with a_ledger(tmp_path / "l") as ledger:
        text = ledger.checkpoint(signer=signer)

    assert text.startswith("example.org/l\n0\n")
    assert CheckpointVerifier("example.org/l", public).has_signed(text)
    assert not CheckpointVerifier("example.org/l", public).has_signed(
        text.replace("\n0\n", "\n1\n")
    )
    assert not CheckpointVerifier("example.org/other", public).has_signed(text)


def test_without_the_package_a_signature_says_what_is_missing() -> None:
    with (
        patch.dict("sys.modules", {"cryptography.hazmat.primitives.asymmetric": None}),
        pytest.raises(MissingExtra, match=r"pip install 'stateward\[signing\]'"),
    ):
        CheckpointSigner("x", b"\0" * 32).sign("x\n0\n\n")


def a_snapshot(path: Path, documents: dict[bytes, bytes]) -> Snapshot:
    header = Header(
        version="1.0", created_at="2025-10-04T00:00:00.000000Z", document_count=len(documents), last_seq=7,
        chain="0" * 32, machine="literature", machine_version=1, state_counts={}, summary=Summary(),
    )  # fmt: skip
    writer = SnapshotWriter(QuickDisk(), path, header)
    for key in sorted(documents):
        writer.add(b"%b:%b" % (key, documents[key]))
    writer.finish()
    return Snapshot(path)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 400), st.sampled_from([1, 60, 5000]))
def test_a_snapshot_finds_what_is_there_and_nothing_else(seed: int, count: int, size: int) -> None:
    rng = random.Random(seed)
    keys = [b'"%b"' % base64.b64encode(rng.randbytes(rng.randrange(1, 9))) for _ in range(count)]
    documents = {
        key: b'{"state":"pending","x":"%b"}' % (b"y" * rng.randrange(size)) for key in keys
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        snapshot = a_snapshot(path, documents)

        assert all(snapshot.get(key) == kept for key, kept in documents.items())
        for key in (b'""', b'"\xff"', *(key[:-1] + b'x"' for key in keys)):
            assert snapshot.get(key) == documents.get(key)
        assert dict(snapshot.lines()) == documents
        snapshot.verify()
        path.with_name(path.name + ".idx").unlink()
        again = Snapshot(path)
        assert not again.has_index
        assert all(again.get(key) == kept for key, kept in documents.items())


@pytest.mark.parametrize("before_cut", range(len(KEY_END) + 12))
@pytest.mark.parametrize("is_last", [False, True])
def test_an_index_is_made_anew_wherever_the_text_is_cut(
    tmp_path: Path, before_cut: int, *, is_last: bool
) -> None:
    """The text is read in pieces; the id of a document may begin so many bytes before the end of one."""
    first, second = b'"a"', b'"bbbbbbb"'
    documents = {first: b'{"state":"pending","x":""}', second: b'{"state":"pending"}'}
    a_snapshot(tmp_path / "short.json", documents)
    start = (tmp_path / "short.json").read_bytes().index(second)
    filler = b"y" * (FLUSH_BLOCKS * BLOCK - before_cut - start)
    documents[first] = b'{"state":"pending","x":"%b"}' % filler
    if not is_last:
        documents[b'"c"'] = b'{"state":"fetched"}'
    path = tmp_path / "long.json"
    a_snapshot(path, documents)
    path.with_name(path.name + ".idx").unlink()

    snapshot = Snapshot(path)

    assert path.read_bytes().index(second) == FLUSH_BLOCKS * BLOCK - before_cut
    assert {key: snapshot.get(key) for key in documents} == documents


def test_a_large_snapshot_has_an_index_of_several_levels(tmp_path: Path) -> None:
    documents = {
        b'"doc:%06d"' % number: b'{"state":"pending","x":"%b"}' % (b"y" * 900)
        for number in range(9000)
    }
    snapshot = a_snapshot(tmp_path / "s.json", documents)

    assert snapshot._height == 1
    assert all(snapshot.get(key) == kept for key, kept in documents.items())
    assert snapshot.get(b'"doc:0000005"') is None
    assert dict(snapshot.lines()) == documents


def test_ids_that_share_a_hash_do_not_hide_each_other(tmp_path: Path) -> None:
    with (
        patch("stateward.ledger.delta.key_hash_bytes", return_value=(7).to_bytes(8, "big")),
        patch("stateward.ledger.view.key_hash", return_value=7),
        a_ledger(tmp_path / "l") as ledger,
    ):
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(1500)])
        ledger.record("doc:3", FETCHING)
        ledger.rotate()
        ledger._require_writer().builder.recent.clear()

        assert ledger.state("doc:3") == FETCHING
        assert ledger.state("doc:1499") == PENDING
        assert ledger.state("doc:1500") is None
        assert len(ledger.history("doc:3")) == 2


def test_tables_are_merged_and_still_find_everything(tmp_path: Path) -> None:
    with patch("stateward.ledger.writer.INDEX_EVERY_LINES", 8), a_ledger(tmp_path / "l") as ledger:
        for number in range(700):
            ledger.record(f"doc:{number}", PENDING)
        ledger._require_writer().builder.recent.clear()

        assert len(ledger._view.active.index.tables) < 30
        assert all(ledger.state(f"doc:{number}") == PENDING for number in range(700))
    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert len(reader._view.active.tail) < 8
        assert all(reader.state(f"doc:{number}") == PENDING for number in range(0, 700, 7))


@given(st.lists(st.floats(1e-6, 1e9), min_size=1))
def test_a_percentile_is_right_to_within_a_twentieth(seconds: list[float]) -> None:
    stays = Durations()
    stays.add((each, 1) for each in seconds)

    middle = sorted(seconds)[(len(seconds) + 1) // 2 - 1]
    assert stays.percentile(0.5) == pytest.approx(middle, rel=0.05)


def test_too_many_names_are_counted_together() -> None:
    summary = Summary()
    for number in range(400):
        name = f"adapter {number}"
        summary.add(
            [
                LedgerLine(
                    doc_id="d",
                    old_state=None,
                    new_state="a",
                    timestamp=1.0,
                    adapter=name,
                    seq=1,
                    n=1,
                )
            ]
        )

    assert len(summary.adapters) == 257
    assert summary.adapters["(other)"] == 144
