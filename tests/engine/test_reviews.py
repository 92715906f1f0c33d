"""Reviews: who has a task, who may answer what, and that one answer counts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stateward.core.approvals import person_of
from stateward.core.errors import (
    ConcurrentModification,
    InvalidCorrection,
    InvalidRequest,
    InvalidTransition,
    ReviewRefused,
    ReviewTaken,
    StatewardError,
    UnknownName,
)
from stateward.core.model import SECOND, Fields
from stateward.engine.answers import DecisionRequest
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.engine.contract_reviews import ADA, BOB, FOUND, SUBMITTER, WINDMILL, ReviewEngine

DAY_S = 86_400.0


@pytest.fixture
def engine() -> Iterator[ReviewEngine]:
    database = SqliteDatabase(MEMORY)
    yield ReviewEngine(database)
    database.close()


def a_review_engine(**how: object) -> ReviewEngine:
    return ReviewEngine(SqliteDatabase(MEMORY), **how)


# What waits


def test_what_waits_is_listed_with_the_nearest_deadline_first(engine: ReviewEngine) -> None:
    first = engine.contract()
    engine.rig.clock.pass_s(60)
    second = engine.contract()

    tasks = engine.reviews.pending()

    assert [task.record.id for task in tasks] == [first.id, second.id]
    assert tasks[0].actions == ("approve", "correct", "reject")
    assert tasks[0].record.due_at == first.entered_at + round(DAY_S) * SECOND
    (after_first,) = engine.reviews.pending(after=(first.due_at or 0, first.id))
    assert after_first.record.id == second.id


def test_only_the_machines_that_the_caller_may_see_are_listed(engine: ReviewEngine) -> None:
    record = engine.contract()

    assert engine.reviews.pending(machines=("upload",)) == []
    with pytest.raises(UnknownName):
        engine.reviews.task(record.id, machines=("upload",))


def test_what_was_never_asked_has_no_task(engine: ReviewEngine) -> None:
    with pytest.raises(UnknownName):
        engine.reviews.task(engine.rig.open("contract").id)


# Taking up


def test_a_claim_keeps_others_away_until_it_is_over(engine: ReviewEngine) -> None:
    record = engine.contract()
    task = engine.reviews.claim(record.id, actor=ADA)
    assert task.claim is not None
    assert task.claim.until == engine.rig.clock() + 900 * SECOND

    with pytest.raises(ReviewTaken, match="ada") as refused:
        engine.reviews.claim(record.id, actor=BOB)

    assert (refused.value.by, refused.value.until is None) == (ADA, False)
    with pytest.raises(ReviewTaken):
        engine.decides(record, "approve", by=BOB)
    engine.rig.clock.pass_s(901)
    assert engine.reviews.task(record.id).claim is None
    assert engine.decides(record, "approve", by=BOB).status == "validated"


def test_who_has_a_task_may_take_it_up_again_for_longer(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.reviews.claim(record.id, actor=ADA)
    engine.rig.clock.pass_s(600)

    engine.reviews.claim(record.id, actor=ADA)

    engine.rig.clock.pass_s(600)
    with pytest.raises(ReviewTaken):
        engine.reviews.claim(record.id, actor=BOB)


def test_a_task_that_is_left_is_free_and_leaving_twice_is_no_fault(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.reviews.claim(record.id, actor=ADA)
    with pytest.raises(ReviewTaken):
        engine.reviews.unclaim(record.id, actor=BOB)

    engine.reviews.unclaim(record.id, actor=ADA)
    engine.reviews.unclaim(record.id, actor=ADA)

    assert engine.reviews.claim(record.id, actor=BOB).claim is not None


def test_what_needs_no_person_cannot_be_taken_up(engine: ReviewEngine) -> None:
    with pytest.raises(InvalidTransition):
        engine.reviews.claim(engine.rig.open("contract").id, actor=ADA)


# Answers


def test_an_approval_moves_it_on_and_says_who_and_why(engine: ReviewEngine) -> None:
    record = engine.contract()

    approved = engine.decides(record, "approve", notes="looked at the paper")

    assert approved.status == "validated"
    last = engine.rig.store.history(record.id)[-1]
    assert (last.actor, last.trigger, last.metadata["reason"]) == (
        ADA, "review.approved", "looked at the paper",
    )  # fmt: skip
    decided = engine.reviews.task(record.id).decided
    assert decided is not None
    assert (decided.action, decided.by, decided.notes) == ("approve", ADA, "looked at the paper")
    assert engine.rig.verify().is_sound


def test_a_second_answer_is_refused_with_who_gave_the_first(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.decides(record, "approve")

    with pytest.raises(ReviewTaken, match="ada decided it already") as refused:
        engine.decides(record, "reject", by=BOB, notes="no")

    assert (refused.value.by, refused.value.until) == (ADA, None)
    assert engine.rig.now(record).status == "validated"


def test_what_the_pipeline_will_not_have_approved_is_refused_field_by_field() -> None:
    engine = ReviewEngine(
        SqliteDatabase(MEMORY), approval=lambda record, problems: [("contract_end", "has no value")]
    )
    record = engine.contract()

    with pytest.raises(InvalidCorrection, match="contract_end: has no value"):
        engine.decides(record, "approve")

    assert engine.rig.now(record).status == "review_required"
    assert engine.decides(record, "correct", corrected={"contract_end": None}).status == "validated"


def test_an_answer_to_what_was_seen_before_is_stale(engine: ReviewEngine) -> None:
    record = engine.contract()

    with pytest.raises(ConcurrentModification):
        engine.decides(record, "approve", version=record.version - 1)


def test_a_rejection_says_why(engine: ReviewEngine) -> None:
    record = engine.contract()

    for notes in (None, "", "  "):
        with pytest.raises(InvalidRequest, match="reason"):
            engine.decides(record, "reject", notes=notes)

    assert engine.decides(record, "reject", notes="not a contract").status == "rejected"


def test_an_answer_that_the_review_does_not_have_is_refused(engine: ReviewEngine) -> None:
    with pytest.raises(UnknownName, match="approve, correct, reject"):
        engine.decides(engine.contract(), "forward")


def test_an_answer_may_be_named_as_the_machine_names_it(engine: ReviewEngine) -> None:
    assert engine.decides(engine.contract(), "approved").status == "validated"


# Corrections


def test_a_correction_is_kept_beside_what_it_corrects(engine: ReviewEngine) -> None:
    record = engine.contract()

    corrected = engine.decides(
        record, "correct", corrected={"monthly_rate": "56.90", "tariff_name": "Easy Strom"}
    )

    assert corrected.status == "validated"
    assert corrected.outputs["review"] == record.version
    items = list(engine.rig.outputs.items(record.id, corrected.outputs["review"]))
    assert {item["field"]: item["value"] for item in items} == {
        "provider": "Vattenfall", "monthly_rate": "56.90", "tariff_name": "Easy Strom",
    }  # fmt: skip
    assert [item["is_corrected"] for item in items] == [False, True, True]
    assert items[1]["was"] == "65.90"
    assert items[1]["unit"] == "EUR"
    assert list(engine.rig.outputs.items(record.id, record.outputs["extract"])) == FOUND
    last = engine.rig.store.history(record.id)[-1]
    assert last.metadata["corrected"] == ["monthly_rate", "tariff_name"]
    assert engine.rig.verify().is_sound


def test_what_comes_after_gets_the_corrected_values(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.decides(record, "correct", corrected={"monthly_rate": "56.90"})

    engine.rig.settle()

    (work,) = engine.rig.work()
    assert (work.stage, work.inputs["review"]) == ("compare", record.version)


def test_rows_without_names_of_fields_are_not_corrected(engine: ReviewEngine) -> None:
    record = engine.contract(found=[{"sku": "A", "amount": 1}])

    with pytest.raises(InvalidRequest, match="has rows to look at, not fields"):
        engine.decides(record, "correct", corrected={"sku": "B"})

    assert engine.decides(record, "approve").status == "validated"


def test_several_values_or_none_can_take_the_place_of_one(engine: ReviewEngine) -> None:
    found: list[Fields] = [
        {"field": "party", "value": "A"},
        {"field": "party", "value": "B"},
        *FOUND,
    ]
    record = engine.contract(found=found)

    corrected = engine.decides(
        record, "correct", corrected={"party": ["C", "D", "E"], "tariff_name": None}
    )

    items = list(engine.rig.outputs.items(record.id, corrected.outputs["review"]))
    assert [item["value"] for item in items if item["field"] == "party"] == ["C", "D", "E"]
    assert "tariff_name" not in {item["field"] for item in items}


def test_a_correction_that_breaks_the_rules_is_refused_field_by_field(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.refuses = {"monthly_rate": "is no sum of money"}

    with pytest.raises(InvalidCorrection) as refused:
        engine.decides(record, "correct", corrected={"monthly_rate": "cheap"})

    assert refused.value.faults == (("monthly_rate", "is no sum of money"),)
    assert engine.rig.now(record).status == "review_required"
    assert "review" not in engine.rig.now(record).outputs
    engine.refuses = {}
    assert engine.decides(record, "correct", corrected={"monthly_rate": "5"}).status == "validated"


@pytest.mark.parametrize(
    ("action", "corrected"), [("correct", {}), ("approve", {"provider": "E.ON"})]
)
def test_corrected_values_belong_to_a_correction(
    engine: ReviewEngine, action: str, corrected: dict[str, str]
) -> None:
    with pytest.raises(InvalidRequest):
        engine.decides(engine.contract(), action, corrected=corrected)


# Who may


@pytest.mark.parametrize(
    ("rule", "has_keys", "is_allowed"),
    [("auto", False, True), ("auto", True, False), ("allow", True, True), ("refuse", False, False)],
)
def test_who_submitted_may_accept_only_where_the_rule_says_so(
    rule: str, has_keys: bool, is_allowed: bool
) -> None:
    engine = a_review_engine(self_approval=rule, has_keys=lambda: has_keys)
    record = engine.contract()

    if is_allowed:
        assert engine.decides(record, "approve", by=SUBMITTER).status == "validated"
        return
    for action, corrected in (("approve", {}), ("correct", {"provider": "E.ON"})):
        with pytest.raises(ReviewRefused, match="another person"):
            engine.decides(record, action, by=SUBMITTER, corrected=corrected)
    assert (
        engine.decides(record, "reject", by=SUBMITTER, notes="sent by mistake").status == "rejected"
    )


def test_no_person_accepts_their_own_by_acting_as_an_external_driver() -> None:
    engine = a_review_engine(self_approval="refuse")
    record = engine.contract()

    with pytest.raises(ReviewRefused):
        engine.decides(record, "approve", by=SUBMITTER.replace("person:", "sequencer:"))
    with pytest.raises(ReviewRefused):
        engine.decides(record, "approve", by=WINDMILL, reviewer=person_of(SUBMITTER).upper())
    with pytest.raises(ReviewRefused):
        engine.decides(record, "approve", by=SUBMITTER, reviewer="Ada")


def test_two_keys_of_one_name_are_one_person_also_when_both_drive_from_outside() -> None:
    engine = a_review_engine(self_approval="refuse")
    record = engine.contract(by="sequencer:anna@k1")

    with pytest.raises(ReviewRefused):
        engine.decides(record, "approve", by="sequencer:anna@k2")
    assert engine.decides(record, "approve", by="sequencer:anna@k1").status == "validated"


def test_an_external_driver_brings_the_answer_of_a_person_whose_name_is_kept(
    engine: ReviewEngine,
) -> None:
    record = engine.contract(is_externally_driven=True)

    engine.decides(record, "approve", by=WINDMILL, reviewer="Ada")

    last = engine.rig.store.history(record.id)[-1]
    assert (last.actor, last.metadata["reviewer"]) == (WINDMILL, "Ada")


# Time


def test_only_an_administrator_with_a_reason_ends_a_review_before_its_deadline(
    engine: ReviewEngine,
) -> None:
    ours, theirs = engine.contract(), engine.contract(is_externally_driven=True)
    engine.reviews.claim(theirs.id, actor=ADA)

    for record, by in ((ours, ADA), (ours, WINDMILL), (theirs, ADA), (theirs, WINDMILL)):
        with pytest.raises(ReviewRefused, match="deadline"):
            engine.decides(record, "timeout", by=by)
    with pytest.raises(InvalidRequest, match="reason"):
        engine.decides(theirs, "timeout", by=WINDMILL, is_administrator=True)

    ended = engine.decides(
        theirs, "timeout", by=WINDMILL, is_administrator=True, notes="the customer left"
    )
    last = engine.rig.store.history(theirs.id)[-1]
    assert (ended.status, last.actor, last.metadata["reason"]) == (
        "timed_out", WINDMILL, "the customer left",
    )  # fmt: skip


def test_a_repeat_is_the_very_same_answer_of_the_same_caller(engine: ReviewEngine) -> None:
    record = engine.contract()
    first = {"monthly_rate": "56.90"}
    engine.decides(record, "correct", corrected=first)

    def is_repeat(**parts: Any) -> bool:  # noqa: ANN401 - the parts of a request
        asked = {"record_id": record.id, "action": "correct", "actor": ADA, "corrected": first}
        return engine.reviews.is_repeat(DecisionRequest(**{**asked, **parts}))

    assert is_repeat()
    assert not is_repeat(corrected={"monthly_rate": "65.90"})
    assert not is_repeat(corrected={**first, "provider": "X"})
    assert not is_repeat(notes="another thought")
    assert not is_repeat(actor=BOB)
    assert not is_repeat(action="approve", corrected={})


def test_the_deadline_fires_once_also_after_a_long_absence(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.reviews.claim(record.id, actor=ADA)
    engine.rig.clock.pass_s(30 * DAY_S)

    engine.rig.settle()
    engine.rig.settle()

    assert engine.rig.now(record).status == "timed_out"
    triggers = [each.trigger for each in engine.rig.store.history(record.id)]
    assert triggers.count("review.timed_out") == 1
    with pytest.raises(ReviewTaken, match="timeout"):
        engine.decides(record, "approve")


def test_a_request_after_the_deadline_is_told_that_it_is_over(engine: ReviewEngine) -> None:
    record = engine.contract()
    engine.rig.clock.pass_s(DAY_S + 1)

    ended = engine.decides(record, "timeout")

    assert (ended.status, engine.rig.store.history(record.id)[-1].actor) == ("timed_out", "clock")


# Several at once


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_many_answers_at_once_exactly_one_counts(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        from stateward.storage.postgres import PostgresDatabase

        url = str(request.getfixturevalue("postgres_url"))
        databases = [PostgresDatabase(url) for _ in range(4)]
    else:
        databases = [SqliteDatabase(tmp_path / "reviews.db") for _ in range(4)]  # type: ignore[misc]
    engines = [ReviewEngine(each) for each in databases]
    record = engines[0].contract()

    def answer(number: int) -> str:
        try:
            engines[number].decides(record, "approve", by=f"person:p{number}")
        except StatewardError as error:
            return type(error).__name__
        return "counts"

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(answer, range(4)))

    assert answers == ["ReviewTaken"] * 3 + ["counts"]
    triggers = [each.trigger for each in engines[0].rig.store.history(record.id)]
    assert triggers.count("review.approved") == 1
    for each in databases:
        each.close()
