"""A decision that can be undone: stored at once, made when its time has come, and exactly once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.core.errors import (
    ConcurrentModification,
    InvalidCorrection,
    ReviewRefused,
    ReviewTaken,
    StoreFull,
    UnknownName,
)
from stateward.core.model import SECOND, Record
from stateward.engine.answers import DecisionRequest
from stateward.engine.coordinator import Coordinator
from stateward.engine.pending_decisions import PendingDecision
from stateward.engine.review_tasks import Task
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.storage.audit import AuditLog
from stateward.storage.row_seals import lock_seals
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.engine.contract_reviews import ADA, BOB, SUBMITTER, ReviewEngine
from tests.waiting import wait_until


@pytest.fixture
def engine() -> Iterator[ReviewEngine]:
    database = SqliteDatabase(MEMORY)
    yield ReviewEngine(database)
    database.close()


def held(
    engine: ReviewEngine,
    record: Record,
    action: str = "approve",
    *,
    actor: str = ADA,
    corrected: dict[str, str | None] | None = None,
    notes: str | None = None,
) -> None:
    engine.reviews.hold(
        DecisionRequest(
            record_id=record.id,
            action=action,
            actor=actor,
            corrected=corrected or {},
            notes=notes,
            version=record.version,
        )
    )


def after(engine: ReviewEngine, seconds: float) -> int:
    """Time passes; how many decisions were due."""
    engine.rig.clock.now += round(seconds * SECOND)
    return engine.reviews.apply_due()


def test_it_takes_effect_when_its_time_has_come_and_once(engine: ReviewEngine) -> None:
    record = engine.contract()
    held(engine, record, notes="looks right")

    assert after(engine, 9) == 0
    assert engine.rig.now(record).status == "review_required"
    assert after(engine, 1) == 1
    assert after(engine, 60) == 0

    (last,) = [each for each in engine.rig.store.history(record.id) if "review" in each.trigger]
    assert (last.trigger, last.actor) == ("review.approved", ADA)
    assert last.metadata["reason"] == "looks right"


def test_a_correction_is_stored_with_its_decision_and_not_before(engine: ReviewEngine) -> None:
    record = engine.contract()
    held(engine, record, "correct", corrected={"monthly_rate": "5"})

    assert "review" not in engine.rig.now(record).outputs
    after(engine, 10)

    made = engine.rig.now(record).outputs["review"]
    (rate,) = [
        each
        for each in engine.rig.outputs.items(record.id, made)
        if each["field"] == "monthly_rate"
    ]
    assert rate["value"] == "5"


def test_who_made_it_can_undo_it_and_gets_back_what_was_typed(engine: ReviewEngine) -> None:
    record = engine.contract()
    held(engine, record, "correct", corrected={"monthly_rate": "5"}, notes="as billed")

    undone = engine.reviews.undo(record.id, actor=ADA)

    assert (undone.action, undone.corrected, undone.notes) == (
        "correct",
        {"monthly_rate": "5"},
        "as billed",
    )
    assert after(engine, 60) == 0
    assert engine.rig.now(record).status == "review_required"
    with pytest.raises(UnknownName):
        engine.reviews.undo(record.id, actor=ADA)


def test_other_people_can_neither_decide_claim_nor_undo(engine: ReviewEngine) -> None:
    record = engine.contract()
    held(engine, record)

    for act in (
        lambda: held(engine, record, actor=BOB),
        lambda: engine.decides(record, "approve", by=BOB),
        lambda: engine.reviews.claim(record.id, actor=BOB),
        lambda: engine.reviews.undo(record.id, actor=BOB),
    ):
        with pytest.raises(ReviewTaken, match="ada"):
            act()


def test_a_second_decision_of_the_same_person_takes_the_place_of_the_first(
    engine: ReviewEngine,
) -> None:
    record = engine.contract()
    held(engine, record)
    held(engine, record, "reject", notes="after all not")

    after(engine, 10)

    assert engine.rig.now(record).status == "rejected"


def test_everything_is_checked_when_it_is_stored(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.refuses = {"monthly_rate": "is no sum of money"}

    with pytest.raises(InvalidCorrection):
        held(engine, record, "correct", corrected={"monthly_rate": "cheap"})
    with pytest.raises(ConcurrentModification):
        engine.reviews.hold(
            DecisionRequest(record_id=record.id, action="approve", actor=ADA, version=1)
        )
    engine.reviews.claim(record.id, actor=BOB)
    with pytest.raises(ReviewTaken):
        held(engine, record)

    assert after(engine, 60) == 0


def test_who_submitted_it_is_told_at_once_that_another_must_decide() -> None:
    engine = ReviewEngine(SqliteDatabase(MEMORY), self_approval="refuse")
    record = engine.contract()

    with pytest.raises(ReviewRefused, match="another person"):
        held(engine, record, actor=SUBMITTER)


def test_without_time_to_undo_it_is_made_at_once() -> None:
    engine = ReviewEngine(SqliteDatabase(MEMORY), undo_s=0.0)
    record = engine.contract()

    held(engine, record)

    assert engine.rig.now(record).status != "review_required"
    assert engine.reviews.apply_due() == 0


def test_a_deadline_that_is_nearer_than_that_time_does_not_beat_it(engine: ReviewEngine) -> None:
    record = engine.contract()
    assert record.due_at is not None
    engine.rig.clock.now = record.due_at - 5 * SECOND

    held(engine, record)

    assert engine.rig.now(record).status == "validated"
    assert engine.reviews.apply_due() == 0


def test_one_that_can_no_longer_be_made_is_dropped_and_holds_up_no_other(
    engine: ReviewEngine,
) -> None:
    gone, there = engine.contract(), engine.contract()
    held(engine, gone)
    held(engine, there)
    engine.rig.database.run(
        "UPDATE pending_decisions SET version = 1 WHERE record_id = :id", id=gone.id
    )

    assert after(engine, 10) == 2

    assert engine.rig.now(gone).status == "review_required"
    assert engine.rig.now(there).status != "review_required"
    assert after(engine, 10) == 0


def test_other_rules_after_a_restart_do_not_take_it_back() -> None:
    database = SqliteDatabase(MEMORY)
    before = ReviewEngine(database)
    rejected, accepted = before.contract(), before.contract()
    held(before, rejected, "reject", notes="not ours")
    held(before, accepted)
    (review,) = CONTRACT.reviews
    coded = replace(review, reason_codes={"foreign": "It is not ours."}, group="lawyers")

    restarted = ReviewEngine(database, machine=replace(CONTRACT, reviews=(coded,)))

    assert after(restarted, 10) == 2
    assert restarted.rig.now(rejected).status == "rejected"
    assert restarted.rig.now(accepted).status != "review_required"


def test_one_that_no_rule_knows_is_noted_in_the_audit_log_and_holds_up_no_other(
    engine: ReviewEngine,
) -> None:
    gone, there = engine.contract(), engine.contract()
    held(engine, gone, "correct", corrected={"monthly_rate": "5"}, notes="a word of a person")
    held(engine, there)
    engine.refuses = {"monthly_rate": "is no sum of money"}

    assert after(engine, 10) == 2

    assert engine.rig.now(there).status != "review_required"
    entries = AuditLog(engine.rig.database).entries(record_id=gone.id)
    assert [(each.verb, each.actor, each.detail["why"]) for each in entries] == [
        ("decision_dropped", ADA, "InvalidCorrection")
    ]
    assert "a word" not in str(entries)


def test_one_that_is_undone_while_others_are_made_is_not_made(engine: ReviewEngine) -> None:
    """A turn reads many that are due and makes them one by one: what happens to one in between counts."""
    first, second = sorted((engine.contract() for _ in range(2)), key=lambda each: each.id)
    held(engine, first)
    held(engine, second)
    undone: list[PendingDecision] = []

    def undo_the_second() -> Coordinator:
        if not undone:
            undone.append(engine.reviews.undo(second.id, actor=ADA))
        return engine.rig.coordinator

    other = ReviewEngine(engine.rig.database, coordinator=undo_the_second)
    assert after(other, engine.rig.clock.now / SECOND + 10) == 2

    assert [each.record_id for each in undone] == [second.id]
    assert other.rig.now(first).status != "review_required"
    assert other.rig.now(second).status == "review_required"
    assert AuditLog(engine.rig.database).entries(verb="decision_dropped") == []


def test_one_that_was_made_elsewhere_meanwhile_is_not_told_as_dropped(
    engine: ReviewEngine,
) -> None:
    first, second = sorted((engine.contract() for _ in range(2)), key=lambda each: each.id)
    held(engine, first)
    held(engine, second)
    made: list[Record] = []

    def make_the_second() -> Coordinator:
        if not made:
            made.append(engine.decides(second, "approve"))
        return engine.rig.coordinator

    other = ReviewEngine(engine.rig.database, coordinator=make_the_second)
    after(other, engine.rig.clock.now / SECOND + 10)

    log = AuditLog(engine.rig.database)
    assert log.entries(verb="decision_dropped") == []
    assert len(log.entries(record_id=second.id, verb="review_decided")) == 1


def test_a_full_disk_takes_none_back(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "store.db")
    engine = ReviewEngine(database)
    record = engine.contract()
    held(engine, record, "reject", notes="long words " * 900)

    database.rows("PRAGMA max_page_count = 1")
    with pytest.raises(StoreFull):
        after(engine, 10)
    database.rows("PRAGMA max_page_count = 100000")

    assert after(engine, 1) == 1
    assert engine.rig.now(record).status == "rejected"
    database.close()


def test_it_outlives_the_process_that_took_it(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "store.db")
    engine = ReviewEngine(database)
    record = engine.contract()
    held(engine, record)
    database.close()

    again = SqliteDatabase(tmp_path / "store.db")
    row = again.rows("SELECT record_id, actor, action FROM pending_decisions")
    again.close()

    assert row == [(record.id, ADA, "approve")]


def many(
    engine: ReviewEngine,
    records: list[Record],
    action: str = "approve",
    *,
    notes: str | None = None,
) -> list[object]:
    asked = [
        DecisionRequest(
            record_id=each.id,
            action=action,
            actor=ADA,
            version=each.version,
            batch="RB_1",
            notes=notes,
        )
        for each in records
    ]
    return list(engine.reviews.hold_each(asked))


def test_a_bulk_decision_is_one_decision_of_one_person_on_each_record(
    engine: ReviewEngine,
) -> None:
    first, second, claimed = (engine.contract() for _ in range(3))
    engine.reviews.claim(claimed.id, actor=BOB)

    answers = many(engine, [first, claimed, second])

    assert isinstance(answers[1], ReviewTaken)
    assert after(engine, 10) == 2
    for record in (first, second):
        (last,) = [each for each in engine.rig.store.history(record.id) if "review" in each.trigger]
        assert (last.trigger, last.actor, last.metadata["batch"]) == (
            "review.approved", ADA, "RB_1",
        )  # fmt: skip
    assert engine.rig.now(claimed).status == "review_required"


def test_a_bulk_decision_is_undone_as_one_by_its_author_only(engine: ReviewEngine) -> None:
    first, second, alone = (engine.contract() for _ in range(3))
    many(engine, [first, second], "reject", notes="not ours")
    held(engine, alone)

    with pytest.raises(UnknownName):
        engine.reviews.undo_batch("RB_1", actor=BOB)
    undone = engine.reviews.undo_batch("RB_1", actor=ADA)

    assert {each.record_id for each in undone} == {first.id, second.id}
    assert after(engine, 60) == 1
    assert engine.rig.now(first).status == engine.rig.now(second).status == "review_required"


def test_a_bulk_decision_that_is_only_checked_stores_nothing(engine: ReviewEngine) -> None:
    record = engine.contract()
    asked = DecisionRequest(record_id=record.id, action="approve", actor=ADA, version=0)

    (stale,) = engine.reviews.hold_each([asked], is_dry_run=True)
    (fine,) = engine.reviews.hold_each([replace(asked, version=record.version)], is_dry_run=True)

    assert isinstance(stale, ConcurrentModification)
    assert isinstance(fine, Task)
    assert after(engine, 60) == 0


def test_a_bulk_decision_and_one_about_its_last_record_do_not_wait_for_each_other(
    postgres_url: str,
) -> None:
    from stateward.storage.postgres import PostgresDatabase

    databases = [PostgresDatabase(postgres_url) for _ in range(3)]
    engine, bulk = ReviewEngine(databases[0]), ReviewEngine(databases[1])
    records = sorted((engine.contract() for _ in range(2)), key=lambda each: each.id)

    def is_waiting() -> bool:
        return bool(
            databases[2].rows(
                "SELECT 1 FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )

    with ThreadPoolExecutor(1) as pool:
        with databases[0].transaction():  # as a decision about one record does
            engine.rig.store.load([records[1].id], lock=True)
            holding = pool.submit(many, bulk, records)
            wait_until(lambda: holding.done() or is_waiting())
            lock_seals(databases[0])
        assert all(isinstance(each, Task) for each in holding.result())

    for each in databases:
        each.close()


def test_to_undo_a_bulk_decision_leaves_one_that_was_made_anew_meanwhile(postgres_url: str) -> None:
    from stateward.storage.postgres import PostgresDatabase

    databases = [PostgresDatabase(postgres_url) for _ in range(3)]
    engine, other = ReviewEngine(databases[0]), ReviewEngine(databases[1])
    record = engine.contract()
    many(engine, [record], "reject", notes="not ours")

    def is_waiting() -> bool:
        return bool(
            databases[2].rows(
                "SELECT 1 FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )

    with ThreadPoolExecutor(1) as pool:
        with databases[0].transaction():
            engine.rig.store.load([record.id], lock=True)
            undoing = pool.submit(other.reviews.undo_batch, "RB_1", actor=ADA)
            wait_until(lambda: undoing.done() or is_waiting())
            held(engine, record)
        with pytest.raises(UnknownName):
            undoing.result()

    assert after(engine, 60) == 1
    assert engine.rig.now(record).status != "review_required"
    for each in databases:
        each.close()
