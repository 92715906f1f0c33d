"""A reader without a lock follows the writer wherever it goes."""

import threading
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.ledger import Ledger, LedgerState, LedgerVerification, verify
from stateward.ledger.delta import Delta
from stateward.ledger.record import LedgerLine
from tests.ledger.builders import Clock, a_ledger, states_of

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


@pytest.mark.parametrize("is_new", [False, True], ids=["following", "opening"])
def test_what_a_busy_writer_adds_while_a_reader_looks_is_no_damage(
    tmp_path: Path, is_new: bool
) -> None:
    plain, names = Delta.refresh, iter(range(100))
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc", PENDING)
        reader = Ledger.open(tmp_path / "l", read_only=True)
        writers = ledger._view.active
        ledger.record("doc", LedgerState.FETCHING)

        def lively(delta: Delta) -> list[LedgerLine]:
            found = plain(delta)
            if delta is not writers and next(names) < 3:
                for number in range(
                    3
                ):  # more groups, between a look at the lines and one at the size
                    ledger.record(f"doc:{ledger.last_seq}:{number}", PENDING)
            return found

        with patch.object(Delta, "refresh", lively):
            if is_new:
                reader.close()
                reader = Ledger.open(tmp_path / "l", read_only=True)
            for _ in range(6):
                assert reader.state("doc") == LedgerState.FETCHING

        assert reader.last_seq == ledger.last_seq == 11
        reader.close()


def test_a_ledger_is_verified_while_it_is_written_to_and_compacted(tmp_path: Path) -> None:
    verdicts = [LedgerVerification(lines=0, snapshots=0, head="", root="", findings=())]
    with a_ledger(tmp_path / "l") as ledger:

        def write() -> None:
            for turn in range(300):
                ledger.record(f"doc:{turn}", PENDING)
                if turn % 50 == 49:
                    ledger.compact()

        thread = threading.Thread(target=write)
        thread.start()
        while thread.is_alive():
            verdicts.append(verify(tmp_path / "l"))
        thread.join()

    assert [each.findings for each in verdicts if not each.is_sound] == []
    assert len(verdicts) > 1


def test_a_delta_that_is_gone_when_it_is_looked_at_does_not_end_a_verification(
    tmp_path: Path,
) -> None:
    """As one that a writer compressed since the folder was listed: here a link whose target is gone."""
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc", PENDING)
    (tmp_path / "l" / "delta-2025-10-04_000009.jsonl").symlink_to(tmp_path / "gone")

    assert verify(tmp_path / "l").is_sound
