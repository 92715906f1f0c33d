"""Any sequence of changes, upkeep, rollbacks, crashes and reopenings equals a plain dictionary."""

import random
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lab.memory import memory_folder
from stateward.ledger import Ledger, LedgerState
from tests.ledger.builders import DAY_S, Clock, QuickDisk, in_layers, states_of, walk

DOCUMENTS = ("doc:0", "doc:1", 'doc:"2"', "doc:3\n", "doc:\U0001f4c4", "doc:back\\slash")


class LedgerModel(RuleBasedStateMachine):
    """`states` is what the documents must be, `after` what they were after each line."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-model-", dir=memory_folder()))
        self.clock = Clock()
        self.states: dict[str, str] = {}
        self.after: list[dict[str, str]] = [{}]
        self.history: dict[str, list[str]] = {}
        self._patched = ExitStack()
        self._patched.enter_context(patch("stateward.ledger.writer.INDEX_EVERY_LINES", 4))
        self._patched.enter_context(in_layers())
        self.ledger = self._open()
        self.reader = Ledger.open(self.folder, read_only=True, clock=self.clock)

    def _open(self) -> Ledger:
        return Ledger.open(self.folder, clock=self.clock, disk=QuickDisk(), snapshots_kept=3)

    @rule(size=st.integers(1, 9), seed=st.integers(0, 10_000))
    def record(self, size: int, seed: int) -> None:
        rng = random.Random(seed)
        batch = []
        for _ in range(size):
            doc_id = rng.choice(DOCUMENTS)
            state = walk(rng, doc_id, self.states)
            if state is not None:
                batch.append((doc_id, state, "pubmed", {"seed": seed}))
                self._moved(doc_id, state)
        self.ledger.record_many(batch)
        self.clock.tick(rng.random() * 100)

    def _moved(self, doc_id: str, state: LedgerState) -> None:
        self.states[doc_id] = str(state)
        self.after.append(dict(self.states))
        self.history.setdefault(doc_id, []).append(str(state))

    @rule()
    def rotate(self) -> None:
        self.ledger.rotate()

    @rule(pack=st.booleans())
    def compact(self, pack: bool) -> None:
        if self.ledger.compact(compress=pack) is not None:
            self.after.append(dict(self.states))  # the line that names the snapshot
        self.clock.tick(DAY_S / 3)

    @rule(place=st.integers(0, 2))
    def roll_back(self, place: int) -> None:
        snapshots = self.ledger.snapshots()
        if snapshots:
            target = snapshots[place % len(snapshots)].last_seq
            self.ledger.rollback(target)
            self.states = dict(self.after[target])
            self.after += [
                dict(self.states)
            ] * 2  # the line of the rollback, and that of its snapshot

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self._open()

    @rule(torn=st.binary(max_size=40))
    def crash(self, torn: bytes) -> None:
        """The process dies in the middle of a line; no caller was told that it was there."""
        self.ledger.close()
        active = self.ledger._view.active.path
        with active.open("ab") as file:
            file.write(torn.replace(b"\n", b" "))
        self.ledger = self._open()

    @rule(what=st.sampled_from(["*.idx", "HEAD", "MANIFEST.json"]))
    def lose(self, what: str) -> None:
        """Everything that is derived may be deleted."""
        self.ledger.close()
        for path in self.folder.glob(what):
            path.unlink()
        self.ledger = self._open()

    @invariant()
    def the_states_are_those_of_the_model(self) -> None:
        for ledger in (self.ledger, self.reader):
            assert states_of(ledger) == self.states
            for doc_id in DOCUMENTS:
                assert ledger.state(doc_id) == self.states.get(doc_id)
        counts: dict[str, int] = {}
        for state in self.states.values():
            counts[state] = counts.get(state, 0) + 1
        assert self.reader.counts() == self.ledger.counts() == counts
        assert self.ledger.last_seq == len(self.after) - 1

    @invariant()
    def the_log_tells_everything_once(self) -> None:
        assert [each.seq for each in self.reader.records()] == list(range(1, len(self.after)))
        for doc_id in DOCUMENTS[:2]:
            told = [each.new_state for each in self.ledger.history(doc_id)]
            assert told == self.history.get(doc_id, [])

    def teardown(self) -> None:
        if not hasattr(self, "ledger"):
            return
        assert self.ledger.verify().is_sound
        assert list(self.ledger.replay()) == []
        self.ledger.close()
        self.reader.close()
        self._patched.close()
        shutil.rmtree(self.folder)


TestLedgerModel = LedgerModel.TestCase
TestLedgerModel.settings = settings(max_examples=30, stateful_step_count=18)
