"""The behaviour that the first literature pipeline asked of its ledger, through an adapter with the names of its API.

Its design is requirement L: typed states, refused moves, snapshots, history, stuck documents, reloading. One thing it
did is done otherwise here, and the adapter shows how: its documents could begin at any state, which in this ledger
only an import may do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from stateward.core.errors import InvalidRequest, InvalidTransition
from stateward.ledger import (
    Ledger,
    LedgerAuditRecord,
    LedgerDocument,
    LedgerEntry,
    LedgerState,
    is_retryable,
    is_terminal,
    valid_next_states,
)
from stateward.ledger.legacy import LegacyMapping
from tests.ledger.builders import DAY_S, Clock, QuickDisk

WAY = (
    "pending", "fetching", "fetched", "parsing", "parsed", "validating", "validated", "ir_building", "ir_ready",
    "embedding", "indexed", "completed",
)  # fmt: skip


class IngestionLedger:
    """The calls of the first pipeline, made with those of this ledger."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._ledger = Ledger.open(path, clock=clock, disk=QuickDisk())

    def update_state(self, doc_id: str, state: LedgerState, **details: object) -> LedgerAuditRecord:
        """Move a document; one that is not known yet may begin anywhere, as an import."""
        ledger = self._ledger
        if state == LedgerState.PENDING or ledger.state(doc_id) is not None:
            return ledger.record(doc_id, state, **details)  # type: ignore[arg-type]
        if not isinstance(state, LedgerState):
            raise InvalidRequest(f"{state!r} is not a LedgerState")
        with ledger.importing(reason="begins at a later state") as importer:
            importer.record_many([LedgerEntry(doc_id=doc_id, state=str(state))])
        return ledger.history(doc_id)[-1]

    def get(self, doc_id: str) -> LedgerDocument | None:
        return self._ledger.document(doc_id)

    def entries(self, state: LedgerState | None = None) -> list[LedgerDocument]:
        return list(self._ledger.documents(state=state))

    def get_state_history(self, doc_id: str) -> list[LedgerAuditRecord]:
        return self._ledger.history(doc_id)

    def get_stuck_documents(self, threshold_hours: float) -> list[LedgerDocument]:
        return list(self._ledger.stuck(older_than=timedelta(hours=threshold_hours)))

    def create_snapshot(self) -> Path:
        made = self._ledger.compact()
        assert made is not None
        return self._ledger.path / made.file

    def close(self) -> None:
        self._ledger.close()


@contextmanager
def opened(folder: Path, clock: Clock | None = None) -> Iterator[IngestionLedger]:
    ledger = IngestionLedger(folder / "ledger", clock or Clock())
    try:
        yield ledger
    finally:
        ledger.close()


def along(ledger: IngestionLedger, doc_id: str, upto: str) -> None:
    for name in WAY[: WAY.index(upto) + 1]:
        ledger.update_state(doc_id, LedgerState(name))


def test_every_state_of_the_way_can_be_reached_and_is_found_again(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        along(ledger, "doc-1", "completed")

    with opened(tmp_path) as again:
        document = again.get("doc-1")
        assert document is not None
        assert document.state is LedgerState.COMPLETED
        assert [each.new_state for each in again.get_state_history("doc-1")] == list(WAY)
        assert again.get("doc-2") is None


def test_a_document_begins_where_the_live_code_began(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        first = ledger.update_state("doc-1", LedgerState.FETCHED)
        ledger.update_state("doc-1", LedgerState.PARSING)

    assert (first.old_state, first.new_state) == (None, "fetched")


def test_entries_are_the_latest_states_and_can_be_chosen(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        along(ledger, "doc-1", "fetched")
        along(ledger, "doc-2", "pending")

        assert {each.doc_id: str(each.state) for each in ledger.entries()} == {
            "doc-1": "fetched",
            "doc-2": "pending",
        }
        assert [each.doc_id for each in ledger.entries(LedgerState.FETCHED)] == ["doc-1"]
        assert ledger.entries(LedgerState.FAILED) == []


@pytest.mark.parametrize("state", ["completed", "parsing", "legacy"])
def test_an_impossible_move_is_refused_and_changes_nothing(tmp_path: Path, state: str) -> None:
    with opened(tmp_path) as ledger:
        along(ledger, "doc-1", "pending")

        with pytest.raises(InvalidTransition):
            ledger.update_state("doc-1", LedgerState(state))

        assert len(ledger.get_state_history("doc-1")) == 1


@pytest.mark.parametrize("given", ["fetching", "auto_done", ""])
def test_a_state_is_never_plain_text(tmp_path: Path, given: str) -> None:
    with opened(tmp_path) as ledger:
        along(ledger, "doc-1", "pending")

        for doc_id in ("doc-1", "doc-new"):
            with pytest.raises(InvalidRequest):
                ledger.update_state(doc_id, given)  # type: ignore[arg-type]


def test_a_failure_keeps_its_error_and_a_retry_resumes_the_step(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        along(ledger, "doc-1", "parsing")
        failed = ledger.update_state(
            "doc-1", LedgerState.RETRYING, error_type="Timeout", error_message="30 s", traceback="…"
        )
        resumed = ledger.update_state("doc-1", LedgerState.PARSING)

    assert (failed.error_type, failed.error_message, failed.traceback) == ("Timeout", "30 s", "…")
    assert (failed.retry_count, failed.resume, resumed.retry_count) == (1, "parsing", 1)


def test_a_snapshot_holds_everything_and_reloading_needs_no_history(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock) as ledger:
        along(ledger, "doc-1", "fetched")
        assert ledger.create_snapshot().exists()
        clock.tick(DAY_S)
        ledger.update_state("doc-1", LedgerState.PARSING, metadata={"pages": 3})

    with opened(tmp_path, clock) as again:
        document = again.get("doc-1")
        assert document is not None
        assert (document.state, document.metadata) == (LedgerState.PARSING, {"pages": 3})
        assert len(again.get_state_history("doc-1")) == 4


def test_documents_that_do_not_move_are_found_and_ended_ones_are_not(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock) as ledger:
        along(ledger, "doc-stuck", "fetching")
        along(ledger, "doc-done", "completed")
        clock.tick(5 * 3600)
        along(ledger, "doc-new", "pending")

        assert [each.doc_id for each in ledger.get_stuck_documents(1)] == ["doc-stuck"]
        assert ledger.get_stuck_documents(6) == []


def test_durations_are_those_of_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock) as ledger:
        along(ledger, "doc-1", "pending")
        clock.tick(2.5)
        moved = ledger.update_state("doc-1", LedgerState.FETCHING, adapter="pubmed")

    assert (moved.duration_seconds, moved.adapter) == (2.5, "pubmed")
    assert moved.to_dict()["old_state"] == "pending"


def test_the_questions_about_states_are_functions() -> None:
    assert set(valid_next_states("pending")) == {LedgerState.FETCHING, LedgerState.SKIPPED}
    assert {name for name in LedgerState if is_terminal(name)} == {
        LedgerState.COMPLETED, LedgerState.FAILED, LedgerState.SKIPPED,
    }  # fmt: skip
    assert is_retryable("failed")
    assert not is_retryable("completed")


def test_the_words_that_it_wrote_are_read_by_a_migration() -> None:
    mapping = LegacyMapping()

    assert [mapping.state(name) for name in LedgerState] == list(LedgerState)
    assert mapping.state("something else") is None
