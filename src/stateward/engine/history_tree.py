"""The Merkle trees over the lanes and the audit log: their roots for a checkpoint, and proofs that they have grown.

A leaf is the hash of a transition, or of an entry of the audit log, as text. The trees grow when a checkpoint is made
and not when work is done: then the log is read on from where it was read last, and the roots of complete blocks of
256 leaves are stored, of 256 such blocks, and so on. A checkpoint and a proof read these, and of each lane no more than
the block that an end is in.

The stored hashes prove nothing by themselves. Who checks a proof needs none of them, and `verify` computes all anew.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stateward.core.errors import StoreMismatch
from stateward.core.lanes import FORMER, Lane, LaneRouter, LogEntry
from stateward.core.model import Transition
from stateward.core.verify import Finding
from stateward.proofs.history_checkpoint import AUDIT, HistoryCheckpoint, log_name
from stateward.proofs.history_proof import HistoryProof
from stateward.proofs.merkle import (
    BLOCK_LEAVES,
    BLOCK_LEVEL,
    ConsistencyProof,
    MerkleSpan,
    consistency_stretches,
    leaf_hash,
    subtree_root,
    subtrees_in,
)
from stateward.storage.audit import AuditHead, AuditLog
from stateward.storage.history_tree import TreeRow
from stateward.storage.store import Store

CHUNK = 2000
TREE_DAMAGED = (
    "the stored hashes are not those of the log; they can be deleted (DELETE FROM history_tree), "
    "and are then computed anew"
)


OTHER_TREE = (
    "the checkpoint has another root for it: it was not made of this history, and what it was proved to have "
    "grown from says nothing about this one"
)


class GrowingTree:
    """The tree of one log up to `count` leaves: what is complete becomes rows, and the rest is in memory."""

    def __init__(self, log: int, count: int) -> None:
        self._log, self._count = log, count
        self._open: list[list[bytes]] = [[]]
        """The hashes that are not yet part of a complete block: leaves, blocks of leaves, blocks of blocks, …"""
        self.end = self.seq = 0
        """How many leaves it has, and the number of the last one in the log."""
        self.rows: list[TreeRow] = []

    def resume(self, blocks: int, stored: "_Stored") -> None:
        """Go on after so many blocks that are stored."""
        self.end, level = blocks * BLOCK_LEAVES, BLOCK_LEVEL
        while blocks:
            found = stored.read(self._log, level, blocks - blocks % BLOCK_LEAVES, blocks)
            self._open.append([bytes.fromhex(each.hash) for each in found])
            if found:
                self.seq = max(self.seq, found[-1].seq)
            blocks, level = blocks // BLOCK_LEAVES, level + BLOCK_LEVEL

    def add(self, seq: int, hash_: str) -> None:
        """Append the hash of an entry; what is already in it, or behind its end, is left out."""
        if seq <= self.seq or self.end == self._count:
            return
        self._open[0].append(leaf_hash(hash_.encode()))
        self.end, self.seq = self.end + 1, seq
        level = 0
        while len(self._open[level]) == BLOCK_LEAVES:
            root = subtree_root(self._open[level])
            self._open[level] = []
            level += 1
            if level == len(self._open):
                self._open.append([])
            self._open[level].append(root)
            place = (self.end >> level * BLOCK_LEVEL) - 1
            row = TreeRow(self._log, level * BLOCK_LEVEL, place, seq, root.hex())
            self.rows.append(row)

    def root(self) -> str:
        """The root over all leaves, in hex."""
        span = MerkleSpan()
        for level in reversed(range(len(self._open))):
            for each in self._open[level]:
                span.add(each, level * BLOCK_LEVEL)
        return span.root().hex()


class HistoryTree:
    """The trees of a store. With `is_stored` False nothing is written, and what is not stored yet is in memory."""

    def __init__(self, store: Store, audit: AuditLog, *, is_stored: bool = True) -> None:
        self._store, self._audit = store, audit
        self._stored = _Stored(store, is_written=is_stored)
        self._leaves: dict[tuple[int, int], list[bytes]] = {}

    def roots(self, lanes: Sequence[Lane], acts: AuditHead) -> dict[int, str]:
        """The root over each lane and over the audit log, as long as they are here."""
        blocks = self._stored.blocks()
        sizes = {**{each.lane: each.count for each in lanes}, AUDIT: acts.count}
        trees = {log: GrowingTree(log, count) for log, count in sizes.items()}
        for log, tree in trees.items():
            tree.resume(min(blocks.get(log, 0), sizes[log] // BLOCK_LEAVES), self._stored)
        self._read_lanes(lanes, trees)
        for seq, own in self._audit.hashes(trees[AUDIT].seq, acts.count):
            trees[AUDIT].add(seq, own)
        self._stored.add([row for each in trees.values() for row in each.rows])
        return {log: tree.root() for log, tree in trees.items()}

    def _read_lanes(self, lanes: Sequence[Lane], trees: Mapping[int, GrowingTree]) -> None:
        router = LaneRouter(lanes)
        former = next((each.count for each in lanes if each.lane == FORMER), 0)
        # The closed lane has the first numbers of the log, so the others never need to be read from there.
        begin = min((trees[each.lane].seq for each in lanes if each.lane != FORMER), default=0)
        ranges = [(max(begin, former), self._store.log.last_seq())]
        if former:
            ranges.append((trees[FORMER].seq, former))
        for after, until in ranges:
            for seq, record_id, own in self._store.log.hashes(after, until, chunk=CHUNK):
                trees[router.lane(record_id, seq)].add(seq, own)

    def prove(self, old: HistoryCheckpoint, new: HistoryCheckpoint) -> HistoryProof:
        """The proof that the history of `new` has grown from that of `old`, as far as this history says so."""
        lanes, acts = self._store.lanes.all(), self._audit.head()
        self.roots(lanes, acts)
        router, sizes = LaneRouter(lanes), {each.lane: each.count for each in lanes}
        sizes[AUDIT] = acts.count
        logs: dict[str, ConsistencyProof] = {}
        for log, size in new.sizes.items():
            count = old.sizes.get(log, 0)
            path: tuple[str, ...] = ()
            # What this history has not is not proved; who checks the proof sees that.
            if count <= size <= sizes.get(log, 0):
                stretches = consistency_stretches(count, size)
                path = tuple(self._root(router, log, start, end) for start, end in stretches)
            logs[log_name(log)] = ConsistencyProof(old=count, new=size, path=path)
        return HistoryProof(logs=logs)

    def _root(self, router: LaneRouter, log: int, start: int, end: int) -> str:
        span = MerkleSpan(start)
        for first, level in subtrees_in(start, end):
            span.add(self._subtree(router, log, first, level), level)
        return base64.b64encode(span.root()).decode()

    def _subtree(self, router: LaneRouter, log: int, first: int, level: int) -> bytes:
        """The root of a complete, aligned subtree, from the largest parts of it that are stored."""
        if level < BLOCK_LEVEL:
            at = first % BLOCK_LEAVES
            leaves = self._block(router, log, first // BLOCK_LEAVES)
            return subtree_root(leaves[at : at + (1 << level)])
        base = level - level % BLOCK_LEVEL
        place, count = first >> base, 1 << level - base
        rows = self._stored.read(log, base, place, place + count)
        return subtree_root([bytes.fromhex(each.hash) for each in rows])

    def _block(self, router: LaneRouter, log: int, block: int) -> list[bytes]:
        """The leaves of one block, which may be the last, incomplete one."""
        if (log, block) not in self._leaves:
            after, until = (self._stored.end(log, each) for each in (block - 1, block))
            entries = self._entries(router, log, after or 0, until)
            self._leaves[log, block] = [leaf_hash(own.encode()) for own in entries]
        return self._leaves[log, block]

    def _entries(
        self, router: LaneRouter, log: int, after: int, until: int | None
    ) -> Iterator[str]:
        if log == AUDIT:
            end = self._audit.head().count if until is None else until
            yield from (own for _, own in self._audit.hashes(after, end))
            return
        end = self._store.log.last_seq() if until is None else until
        for seq, record_id, own in self._store.log.hashes(after, end, chunk=CHUNK):
            if router.lane(record_id, seq) == log:
                yield own


class _Stored:
    """The rows of the trees: those of the database, and where nothing may be written those of now."""

    def __init__(self, store: Store, *, is_written: bool) -> None:
        self._rows, self._is_written = store.tree, is_written
        self._own: dict[tuple[int, int, int], TreeRow] = {}

    def blocks(self) -> dict[int, int]:
        return self._rows.counts(BLOCK_LEVEL)

    def add(self, rows: Sequence[TreeRow]) -> None:
        if self._is_written:
            self._rows.add(rows)
        else:
            self._own |= {(each.log, each.level, each.place): each for each in rows}

    def read(self, log: int, level: int, first: int, last: int) -> list[TreeRow]:
        found = self._find(log, level, first, last)
        if [each.place for each in found] != list(range(first, last)):
            raise StoreMismatch(TREE_DAMAGED)
        return found

    def end(self, log: int, block: int) -> int | None:
        """The number of the last entry of a block in the log; None if it is not complete."""
        found = self._find(log, BLOCK_LEVEL, block, block + 1)
        return found[0].seq if found else None

    def _find(self, log: int, level: int, first: int, last: int) -> list[TreeRow]:
        found = self._rows.read(log, level, first, last)
        own = (self._own.get((log, level, place)) for place in range(first + len(found), last))
        return [*found, *(each for each in own if each is not None)]


class TreeCheck:
    """Compares the stored hashes of the trees with those that the log gives, which is fed whole and in order.

    `stored` were read before `lanes` and `acts`, so none of them can be of what was added since.

    `kept` is a checkpoint that was kept elsewhere. Its trees are what a proof of consistency is about, and its heads
    what the log is compared with: who made it could have taken the trees of one history and the heads of another,
    and both would pass. So its trees must be those of the log as well.
    """

    def __init__(
        self,
        stored: Sequence[TreeRow],
        lanes: Sequence[Lane],
        acts: AuditHead | None,
        *,
        kept: HistoryCheckpoint | None = None,
    ) -> None:
        self._stored, self._router = stored, LaneRouter(lanes)
        self._kept = {} if kept is None else {**kept.sizes}
        self._kept_roots = {} if kept is None else kept.trees
        self._others: list[int] = []
        sizes = {each.lane: each.count for each in lanes}
        if acts is not None:
            sizes[AUDIT] = acts.count
        self._trees = {log: GrowingTree(log, count) for log, count in sizes.items()}
        for log, tree in self._trees.items():
            self._compare_kept(log, tree)

    def feed(self, transitions: Sequence[LogEntry | Transition]) -> None:
        """The next transitions, in the order of `seq`."""
        for each in transitions:
            log = self._router.lane(each.record_id, each.seq)
            tree = self._trees.get(log)
            if tree is not None:
                tree.add(each.seq, each.hash)
                if self._kept:
                    self._compare_kept(log, tree)

    def feed_acts(self, entries: Iterable[tuple[int, str]]) -> None:
        """The whole audit log."""
        tree = self._trees[AUDIT]
        for seq, own in entries:
            tree.add(seq, own)
            self._compare_kept(AUDIT, tree)

    def _compare_kept(self, log: int, tree: GrowingTree) -> None:
        if self._kept.get(log) == tree.end:
            del self._kept[log]
            if tree.root() != self._kept_roots[log]:
                self._others.append(log)

    def roots(self) -> dict[int, str]:
        """The roots of what was fed."""
        return {log: tree.root() for log, tree in self._trees.items()}

    def findings(self) -> Iterator[Finding]:
        """Stored hashes that are wrong, at most one for each log. Those that are not stored yet are no fault."""
        for log in self._others:
            yield Finding(check="checkpoint", where=f"tree {log_name(log)}", sentence=OTHER_TREE)
        computed = {row[:3]: row for tree in self._trees.values() for row in tree.rows}
        next_places: dict[tuple[int, int], int] = {}
        wrong: set[int] = set()
        for row in self._stored:
            log, level, place = row[:3]
            is_next = place == next_places.get((log, level), 0)
            next_places[log, level] = place + 1
            if not is_next or computed.get((log, level, place)) != row:
                wrong.add(log)
        for log in sorted(wrong):
            yield Finding(check="tree", where=f"tree {log_name(log)}", sentence=TREE_DAMAGED)
