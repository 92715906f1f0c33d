"""A ledger can be copied while it is written to; the copy opens, verifies, and holds a state that there was."""

import threading
from pathlib import Path

from stateward.ledger import Ledger, LedgerState, copy_ledger, verify
from tests.ledger.builders import Clock, QuickDisk, a_ledger, states_of


def test_a_copy_holds_all_of_it(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l", clock=Clock(), disk=QuickDisk(), snapshots_kept=1) as ledger:
        for day in range(3):
            ledger.record_many(
                [(f"doc:{day}:{number}", LedgerState.PENDING) for number in range(9)]
            )
            ledger.compact()
        ledger.record("doc:x", LedgerState.PENDING)
        expected = states_of(ledger)

        copy_ledger(tmp_path / "l", tmp_path / "copy")

    assert verify(tmp_path / "copy") == verify(tmp_path / "l")
    with a_ledger(tmp_path / "copy") as copied:
        assert states_of(copied) == expected
        assert len(copied.history("doc:0:1")) == 1


def test_copies_beside_a_busy_writer_are_sound(tmp_path: Path) -> None:
    is_done = threading.Event()
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:0", LedgerState.PENDING)

        def write() -> None:
            for number in range(1, 4000):
                if is_done.is_set():
                    return
                ledger.record_many([(f"doc:{number}:{n}", LedgerState.PENDING) for n in range(8)])
                if number % 40 == 0:
                    ledger.compact()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(4):
                copy_ledger(tmp_path / "l", tmp_path / f"copy-{number}")
        finally:
            is_done.set()
            writer.join()

    for number in range(4):
        assert verify(tmp_path / f"copy-{number}").is_sound
        with a_ledger(tmp_path / f"copy-{number}") as copied:
            assert copied.state("doc:0") == "pending"


def test_a_damaged_ledger_is_copied_as_it_stands(tmp_path: Path) -> None:
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:0", LedgerState.PENDING)
    (tmp_path / "l" / "MANIFEST.json").unlink()

    copy_ledger(tmp_path / "l", tmp_path / "copy")

    assert verify(tmp_path / "copy").findings == verify(tmp_path / "l").findings
    with a_ledger(tmp_path / "copy") as copied:
        assert copied.state("doc:0") == "pending"
