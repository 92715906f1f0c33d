"""A reader without a lock follows the writer wherever it goes."""

import threading
from pathlib import Path

from stateward.ledger import Ledger, LedgerState
from tests.ledger.building import Clock, a_ledger, states_of

PENDING = LedgerState.PENDING


def test_a_reader_sees_each_record_once_across_rotation_compaction_and_rollback(
    tmp_path: Path,
) -> None:
    with a_ledger(tmp_path / "l") as ledger, Ledger.open(tmp_path / "l", read_only=True) as reader:
        seen: list[int] = []
        is_done = threading.Event()

        def follow() -> None:
            seen.extend(
                each.seq for each in reader.follow(after=0, poll_s=0.001, until=is_done.is_set)
            )

        thread = threading.Thread(target=follow)
        thread.start()
        for turn in range(12):
            ledger.record_many([(f"doc:{turn}:{number}", PENDING) for number in range(20)])
            if turn % 3 == 1:
                ledger.rotate()
            if turn % 4 == 2:
                ledger.compact()
            if turn == 8:
                ledger.rollback(ledger.snapshots()[-1].last_seq)
        last = ledger.last_seq
        is_done.set()
        thread.join()

        assert seen == list(range(1, last + 1))
        assert states_of(reader) == states_of(ledger)


def test_many_lines_without_an_index_do_not_stay_in_memory(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(20_000)])
    for path in (tmp_path / "l").glob("*.idx"):
        path.unlink()

    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert len(reader._view.active.tail) < 5000
        assert reader.state("doc:17") == PENDING
        assert reader.counts() == {PENDING: 20_000}
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:20000", PENDING)
        ledger.rotate()
    with Ledger.open(tmp_path / "l", read_only=True) as reader:
        assert reader._view.deltas[0].tail == {}
        assert reader.state("doc:19999") == PENDING


def test_a_walk_goes_on_over_files_that_are_off_the_list(tmp_path: Path) -> None:
    clock = Clock()
    with a_ledger(tmp_path / "l", clock=clock) as ledger:
        ledger.record_many([(f"doc:{number}", PENDING) for number in range(500)])
        walk = ledger.records()
        first = [next(walk).seq for _ in range(3)]

        ledger.compact()

        assert first + [each.seq for each in walk] == list(range(1, 501))
