"""The trees over the lanes: two checkpoints are proved to be one history, with few hashes, and any other is refused."""

import base64
from collections.abc import Iterator
from hashlib import sha256

import pytest
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, StoreMismatch
from stateward.core.lanes import FORMER, Lane, lane_of
from stateward.engine.history import checkpoint_of
from stateward.engine.history_tree import GrowingTree, HistoryTree, TreeCheck
from stateward.proofs.history_checkpoint import HistoryCheckpoint, make_checkpoint, read_checkpoint
from stateward.proofs.history_proof import inconsistencies, proof_text, read_proof
from stateward.proofs.merkle import (
    ConsistencyProof,
    MerkleSpan,
    consistency_stretches,
    is_consistent,
    leaf_hash,
)
from stateward.storage.audit import AuditEntry, AuditLog
from stateward.storage.database import Cell, Database, Row
from stateward.storage.history_tree import TreeRow
from stateward.storage.lanes import LANES
from stateward.storage.record_rows import APPENDED
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.store import Store
from stateward.testing.rig import Rig

RECORDS = 23
LANES_MADE = 3


@pytest.fixture
def database() -> Iterator[Database]:
    made = SqliteDatabase(MEMORY)
    Store(made).lanes.make(LANES_MADE, now=1)
    yield made
    made.close()


class Written:
    """A store whose transitions have nothing but a hash, so that many of them cost little."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.store, self.audit = Store(database), AuditLog(database)
        self.count = 0

    def grow(self, more: int, *, salt: str = "") -> HistoryCheckpoint:
        """Write so many more; the checkpoint of all, whose trees are stored."""
        columns: dict[str, Cell] = dict.fromkeys(APPENDED.columns, "")
        numbers: dict[str, Cell] = dict.fromkeys(
            (k for k, v in APPENDED.columns.items() if v == "bigint"), 1
        )
        own: dict[int, int] = {}
        rows: list[Row] = []
        for at in range(self.count, self.count + more):
            id_ = f"UL_{at % RECORDS}"
            hashed = sha256(f"{at}{salt}".encode()).hexdigest()
            named: dict[str, Cell] = {
                "record_id": id_,
                "version": at // RECORDS,
                "hash": hashed,
                "event_id": None,
                "metadata": "{}",
            }
            rows.append(tuple((columns | numbers | named).values()))
            lane = lane_of(id_, LANES_MADE)
            own[lane] = own.get(lane, 0) + 1
        self.count += more
        with self._database.transaction():
            self._database.insert(APPENDED, rows)
            for lane, count in own.items():
                sql = "UPDATE lanes SET count = count + :count WHERE lane = :lane"
                self._database.run(sql, count=count, lane=lane)
        self.audit.add([AuditEntry(at=1, actor="person:a", verb="x")] * (more // 9))
        text = checkpoint_of(self.store, self.audit, signer=None, is_stored=True)
        return read_checkpoint(text)

    def faults(self, old: HistoryCheckpoint, new: HistoryCheckpoint) -> list[str]:
        proof = HistoryTree(self.store, self.audit).prove(old, new)
        return list(inconsistencies(old, new, read_proof(proof_text(proof))))

    def computed(self) -> TreeCheck:
        """The trees from the whole log, as `verify` computes them."""
        check = TreeCheck(self.store.tree.every(), self.store.lanes.all(), self.audit.head())
        check.feed(self.store.log.read(limit=100_000))
        check.feed_acts(self.audit.hashes(0, self.audit.head().count))
        return check


def test_a_proof_of_growth_holds_for_every_pair_of_trees_and_for_no_other() -> None:
    leaves = [leaf_hash(b"%d" % number) for number in range(20)]

    def root(start: int, end: int) -> bytes:
        span = MerkleSpan(start)
        span.add_leaves(leaves[start:end])
        return span.root()

    for new in range(20):
        for old in range(new + 1):
            path = tuple(
                base64.b64encode(root(*each)).decode() for each in consistency_stretches(old, new)
            )
            proof = ConsistencyProof(old=old, new=new, path=path)

            assert is_consistent(proof, old_root=root(0, old), new_root=root(0, new))
            assert not is_consistent(proof, old_root=b"x" * 32, new_root=root(0, new))
            assert not is_consistent(proof, old_root=root(0, old), new_root=b"x" * 32) or old == 0
            longer = replace(proof, path=(*path, base64.b64encode(b"x" * 32).decode()))
            assert not is_consistent(longer, old_root=root(0, old), new_root=root(0, new))


def test_checkpoints_are_proved_to_be_one_history_with_few_hashes(database: Database) -> None:
    written = Written(database)
    kept = [written.grow(more) for more in (0, 5, 767, 1, 2_000, 768)]

    for place, new in enumerate(kept):
        for old in kept[: place + 1]:
            assert written.faults(old, new) == []
    proof = HistoryTree(written.store, written.audit).prove(kept[2], kept[-1])
    assert sum(len(each.path) for each in proof.logs.values()) <= 4 * 12
    check = written.computed()
    assert (check.roots(), list(check.findings())) == (kept[-1].trees, [])
    unstored = HistoryTree(written.store, written.audit, is_stored=False)
    database.run("DELETE FROM history_tree")
    assert list(inconsistencies(kept[2], kept[-1], unstored.prove(kept[2], kept[-1]))) == []
    assert written.store.tree.every() == []


def test_another_history_is_not_proved(database: Database) -> None:
    written, other = Written(database), SqliteDatabase(MEMORY)
    Store(other).lanes.make(LANES_MADE, now=1)
    old = written.grow(900)
    rewritten = Written(other)
    rewritten.grow(800)
    rewritten.grow(100, salt="rewritten")
    new = rewritten.grow(900)

    assert rewritten.faults(old, new)  # from its own log
    assert written.faults(old, new)  # from that of the older one, which does not reach so far
    assert written.faults(new, old)  # it has not shrunk either
    assert rewritten.faults(new, replace(new, origin="another"))
    assert rewritten.faults(new, replace(new, lanes=new.lanes[1:]))
    other.close()


def test_a_log_that_has_not_grown_ends_as_it_did(database: Database) -> None:
    """Its tree is the same, but the head is what a history is compared with."""
    written = Written(database)
    old = written.grow(9)
    ended = replace(old.lanes[0], head="f" * 64)

    assert written.faults(old, replace(old, lanes=(ended, *old.lanes[1:]))) == [
        "log 0: it has as many entries as then, and another head"
    ]


def test_hashes_that_were_changed_are_found_and_can_be_deleted(database: Database) -> None:
    written = Written(database)
    old = written.grow(1_700)
    database.run("UPDATE history_tree SET hash = :hash WHERE log = 0 AND place = 0", hash="0" * 64)
    assert [each.check for each in written.computed().findings()] == ["tree"]
    assert written.faults(old, written.grow(600))

    database.run("DELETE FROM history_tree WHERE place = 0")
    assert len(list(written.computed().findings())) == LANES_MADE
    with pytest.raises(StoreMismatch, match="computed anew"):
        written.grow(1)
    database.run("DELETE FROM history_tree")
    assert written.faults(old, written.grow(600)) == []


@pytest.mark.long
def test_a_block_of_blocks_is_one_row(database: Database) -> None:
    rows, size = Store(database).tree, 256 * 256 + 300
    whole, span = GrowingTree(0, size), MerkleSpan()
    hashes = [f"{number:064x}" for number in range(size)]
    for seq, each in enumerate(hashes, start=1):
        whole.add(seq, each)
    span.add_leaves([leaf_hash(each.encode()) for each in hashes])
    rows.add(whole.rows)

    resumed = HistoryTree(Store(database), AuditLog(database))
    again = GrowingTree(0, size)
    again.resume(rows.counts(8)[0], resumed._stored)
    for seq, each in enumerate(hashes[-100:], start=size - 99):
        again.add(seq, each)

    assert whole.root() == again.root() == span.root().hex()
    assert [each.level for each in rows.every()] == [8] * 257 + [16]
    assert again.rows == []


def test_what_is_older_than_lanes_has_a_tree_that_does_not_grow(database: Database) -> None:
    written = Written(database)
    written.grow(300)
    database.run("UPDATE lanes SET count = 0")
    database.insert(LANES, [(FORMER, 300, "0" * 64, 1, 1)])
    database.run("DELETE FROM history_tree")
    old = written.grow(10)
    new = written.grow(900)

    assert [each.lane for each in old.lanes] == [FORMER, 0, 1, 2]
    assert written.faults(old, new) == []
    assert dict(written.computed().roots()) == new.trees


def test_a_checkpoint_or_a_proof_that_was_changed_is_refused() -> None:
    lanes = [Lane(lane=0, count=2, head="a" * 64)]
    for trees in ({}, {0: "c" * 64}):
        text = make_checkpoint(lanes, audit=(1, "b" * 64), trees=trees)
        with pytest.raises(InvalidRequest, match="not a tree for each"):
            read_checkpoint(text)
    with pytest.raises(InvalidRequest, match="does not name its lanes"):
        read_checkpoint(make_checkpoint(lanes, trees={}) + "leaf 0\n")
    for wrong in ("", "{}", '{"logs": {"0": {"old": 1, "new": 2, "path": ["?"]}}}'):
        with pytest.raises(InvalidRequest, match="no proof of consistency"):
            read_proof(wrong)


def test_both_databases_keep_the_trees_of_a_history(rig: Rig) -> None:
    audit, row = AuditLog(rig.database), TreeRow(7, 8, 0, 3, "a" * 64)
    rig.open()
    old = read_checkpoint(checkpoint_of(rig.store, audit, signer=None, is_stored=True))
    rig.open()
    new = read_checkpoint(rig.verify().checkpoint)
    for _ in range(2):  # another process may have stored it meanwhile
        rig.store.tree.add([row])

    tree = HistoryTree(rig.store, audit)
    assert list(inconsistencies(old, new, tree.prove(old, new))) == []
    assert (rig.store.tree.every(), rig.store.tree.counts(8)) == ([row], {7: 1})
