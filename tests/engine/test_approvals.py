"""Reviews that need several people: approvals, groups, reason codes, and a second opinion."""

from collections.abc import Iterator
from typing import Any

import pytest

from stateward.core.errors import InvalidRequest, ReviewRefused, UnknownName
from stateward.core.machine import ReviewRules
from stateward.core.model import SECOND, Event, Ignored, plain_actor
from stateward.core.view import sentence
from stateward.engine.answers import DecisionRequest, OpinionRequest
from stateward.engine.history import verify
from stateward.engine.review_statistics import ReviewStatistics
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.engine.contract_reviews import ADA, BOB, ReviewEngine

EVE = "person:eve@k5"
CODES = {"illegible": "The scan cannot be read", "wrong_form": "Another kind of document"}


@pytest.fixture
def database() -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(MEMORY)
    yield database
    database.close()


def engine_of(database: SqliteDatabase, **rules: Any) -> ReviewEngine:  # noqa: ANN401 - the words of ReviewRules
    machine = CONTRACT.tuned(review=ReviewRules(**rules))
    return ReviewEngine(database, machine=machine, groups={"legal": ["ada", "bob"]})


def triggers(engine: ReviewEngine, record_id: str) -> list[tuple[str, str]]:
    history = engine.rig.store.history(record_id)
    return [(each.trigger, each.actor) for each in history if each.trigger.startswith("review.")]


def is_sound(engine: ReviewEngine) -> bool:
    machines = {(CONTRACT.name, CONTRACT.version): CONTRACT}
    return verify(engine.rig.store, machines).is_sound


def test_two_different_people_must_approve_and_the_history_has_both(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=2)
    record = engine.contract()

    first = engine.decides(record, "approve", by=ADA)
    with pytest.raises(ReviewRefused, match="ada accepted"):
        engine.decides(first, "approve", by="person:ada@another-key")
    last = engine.decides(first, "approve", by=BOB)

    assert (first.status, first.version, first.due_at) == (
        "review_required", record.version + 1, record.due_at,
    )  # fmt: skip
    assert last.status == "validated"
    assert "approvals" not in last.fields
    assert triggers(engine, record.id) == [("review.endorsed", ADA), ("review.approved", BOB)]
    decided = engine.reviews.task(record.id).decided
    assert decided is not None
    assert decided.approvals == ("ada", "bob")
    assert is_sound(engine)


def test_a_correction_begins_the_approvals_anew_and_the_next_one_sees_its_values(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=2)
    record = engine.contract()

    approved = engine.decides(record, "approve", by=ADA)
    corrected = engine.decides(approved, "correct", by=BOB, corrected={"monthly_rate": "5"})
    seen = {item["field"]: item["value"] for item in engine.reviews.items(corrected)}
    last = engine.decides(corrected, "approve", by=ADA)

    assert corrected.status == "review_required"
    assert seen["monthly_rate"] == "5"
    assert last.status == "validated"
    assert last.outputs["review"] == approved.version
    assert [trigger for trigger, _ in triggers(engine, record.id)] == [
        "review.endorsed", "review.endorsed", "review.corrected",
    ]  # fmt: skip
    assert is_sound(engine)


def test_what_one_person_says_is_not_there_is_accepted_by_the_next(
    database: SqliteDatabase,
) -> None:
    engine = ReviewEngine(
        database,
        machine=CONTRACT.tuned(review=ReviewRules(approvals=2)),
        approval=lambda record, problems: [("contract_end", "has no value")],
    )
    record = engine.contract()

    corrected = engine.decides(record, "correct", by=ADA, corrected={"contract_end": None})
    last = engine.decides(corrected, "approve", by=BOB)

    assert (corrected.status, last.status) == ("review_required", "validated")


def test_one_of_several_approvals_can_be_pending_and_outlives_a_crash(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=2)
    record = engine.contract()
    for actor in (ADA, BOB):
        version = engine.rig.now(record).version
        deciding = DecisionRequest(
            record_id=record.id, action="approve", actor=actor, version=version
        )
        engine.reviews.hold(deciding)
        engine.rig.clock.now += 10 * SECOND
        assert engine.reviews.apply_due() == 1
        assert engine.reviews.apply_due() == 0

    assert engine.rig.now(record).status == "validated"


def test_a_rejection_needs_no_second_person_and_a_deadline_ends_it(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=3)
    rejected, late = engine.contract(), engine.contract()

    engine.decides(rejected, "approve", by=ADA)
    engine.decides(rejected, "reject", by=BOB, notes="page 2 is missing")
    engine.decides(late, "approve", by=ADA)
    engine.rig.clock.now = late.due_at or 0
    engine.decides(late, "timeout", by="person:x")

    assert engine.rig.now(rejected).status == "rejected"
    assert engine.rig.now(late).status == "timed_out"


def test_only_the_group_decides_and_claims(database: SqliteDatabase) -> None:
    engine = engine_of(database, group="legal")
    record = engine.contract()

    with pytest.raises(ReviewRefused, match="group legal"):
        engine.decides(record, "reject", by=EVE, notes="no")
    with pytest.raises(ReviewRefused, match="group legal"):
        engine.reviews.claim(record.id, actor=EVE)

    assert engine.reviews.claim(record.id, actor=ADA).people == frozenset({"ada", "bob"})
    assert engine.decides(record, "approve", by=ADA).status == "validated"


def test_a_rejection_names_a_reason_code_where_there_are_some(database: SqliteDatabase) -> None:
    engine = engine_of(database, reason_codes=CODES)
    record = engine.contract()

    with pytest.raises(InvalidRequest, match="illegible, wrong_form"):
        engine.decides(record, "reject", notes="bad")
    with pytest.raises(UnknownName, match="reason code"):
        engine.decides(record, "reject", reason_code="ugly")
    engine.decides(record, "reject", reason_code="illegible", notes="page 2")

    last = engine.rig.store.history(record.id)[-1]
    assert last.metadata["reason_code"] == "illegible"
    machine = engine.rig.registry.of(record)
    assert sentence(machine, last).endswith("reason code: illegible, reason: page 2)")
    assert sentence(machine, last, is_for_log=True).endswith("reason code: illegible)")
    assert [each.reason_code for each in engine.reviews.gold()] == ["illegible"]


def test_a_value_is_assigned_to_the_field_that_it_belongs_to(database: SqliteDatabase) -> None:
    engine = engine_of(database)
    record = engine.contract()

    with pytest.raises(UnknownName, match="rate"):
        engine.decides(record, "correct", moved={"rate": "tariff_name"})
    done = engine.decides(record, "correct", moved={"provider": "tariff_name"})

    items = engine.rig.outputs.items(record.id, done.outputs["review"])
    values = {item["field"]: item["value"] for item in items}
    assert (values.get("provider"), values["tariff_name"]) == (None, "Vattenfall")
    assert engine.rig.store.history(record.id)[-1].metadata["moved"] == {"provider": "tariff_name"}


@pytest.mark.parametrize("is_blind", [False, True])
def test_who_is_asked_for_a_second_opinion_decides(
    database: SqliteDatabase, *, is_blind: bool
) -> None:
    engine = engine_of(database)
    record = engine.contract()
    asking = OpinionRequest(
        record_id=record.id,
        actor=ADA,
        to="bob",
        values={"monthly_rate": "5"},
        is_blind=is_blind,
        notes="monthly?",
    )

    task = engine.reviews.refer(asking)
    with pytest.raises(ReviewRefused, match="bob decides it"):
        engine.decides(record, "approve", by=ADA)
    (opinion,) = engine.reviews.opinions(task.record, actor=BOB)

    assert (task.record.status, task.record.due_at) == ("review_required", record.due_at)
    assert opinion.values == ({} if is_blind else {"monthly_rate": ["5"]})
    done = engine.decides(record, "approve", by=BOB)
    assert (done.status, "review" in done.outputs) == ("validated", False)
    (shown,) = engine.reviews.opinions(done, actor=BOB)
    assert shown.values == {"monthly_rate": ["5"]}
    assert is_sound(engine)


def test_who_asked_may_take_it_back_and_a_group_can_be_asked(database: SqliteDatabase) -> None:
    engine = engine_of(database)
    record = engine.contract()

    with pytest.raises(InvalidRequest, match="another person"):
        engine.reviews.refer(OpinionRequest(record_id=record.id, actor=EVE, to="eve"))
    with pytest.raises(UnknownName, match="group"):
        engine.reviews.refer(OpinionRequest(record_id=record.id, actor=EVE, to="group:x"))
    asked = engine.reviews.refer(OpinionRequest(record_id=record.id, actor=EVE, to="group:legal"))
    engine.reviews.refer(OpinionRequest(record_id=record.id, actor=EVE, to="eve"))

    assert asked.people == frozenset({"ada", "bob"})
    assert engine.decides(record, "approve", by=EVE).status == "validated"


def test_statistics_tell_of_people_fields_and_reasons(database: SqliteDatabase) -> None:
    engine = engine_of(database, approvals=2, reason_codes=CODES)
    statistics = ReviewStatistics(database, engine.rig.registry)
    changed, refused = engine.contract(), engine.contract()
    engine.decides(changed, "approve", by=ADA)
    engine.reviews.claim(changed.id, actor=BOB)
    engine.rig.clock.now += 40 * SECOND
    engine.decides(changed, "correct", by=BOB, corrected={"monthly_rate": "5"})
    engine.decides(changed, "approve", by=ADA)
    engine.decides(refused, "reject", by=BOB, reason_code="illegible")

    found = statistics.since(0)
    own = statistics.since(0, person="ada", machines=["contract"])
    later = statistics.since(engine.rig.clock() + 1)

    assert [(each.person, each.decided, each.overturned) for each in found.people] == [
        ("ada", 2, 1), ("bob", 2, 0),
    ]  # fmt: skip
    ada, bob = found.people
    assert (ada.approved, bob.corrected, bob.rejected, bob.worked_s) == (2, 1, 1, 40)
    assert [(each.field, each.corrected, each.accepted) for each in found.fields] == [
        ("monthly_rate", 1, 1)
    ]
    assert [(each.reason_code, each.count) for each in found.reasons] == [("illegible", 1)]
    assert [each.person for each in own.people] == ["ada"]
    assert (later.people, later.fields) == ([], [])


def test_a_second_opinion_of_no_one_is_not_waited_for(database: SqliteDatabase) -> None:
    engine = engine_of(database)
    record = engine.contract()
    event = Event(
        id="flow-1",
        type="review.referred",
        record_id=record.id,
        version=record.version,
        at=engine.rig.clock(),
        actor=EVE,
    )

    (decision,) = engine.rig.coordinator.handle([event])

    assert isinstance(decision, Ignored)
    assert engine.decides(record, "approve", by=ADA).status == "validated"


def test_a_link_is_for_one_who_may_decide_and_makes_no_second_person_of_its_maker(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=2, group="legal")
    record = engine.contract()
    bob = "person:bob@example.org@link-1"

    with pytest.raises(ReviewRefused, match="only an administrator"):
        engine.reviews.invite(record.id, "bob@example.org", actor=ADA)
    with pytest.raises(ReviewRefused, match="eve is not in it"):
        engine.reviews.invite(record.id, "eve", actor=ADA, is_administrator=True)
    engine.reviews.claim(record.id, actor=ADA)
    engine.reviews.invite(record.id, "bob@example.org", actor=ADA, is_administrator=True)
    engine.decides(record, "approve", by=bob)
    with pytest.raises(ReviewRefused, match="bob submitted or accepted"):
        engine.reviews.invite(record.id, "bob", actor=ADA, is_administrator=True)
    with pytest.raises(ReviewRefused, match="bob accepted"):
        engine.decides(engine.rig.now(record), "approve", by=BOB)

    last = engine.decides(engine.rig.now(record), "approve", by=ADA)
    assert last.status == "validated"
    assert triggers(engine, record.id) == [("review.endorsed", bob), ("review.approved", ADA)]


def test_people_of_one_name_at_different_domains_are_different_people(
    database: SqliteDatabase,
) -> None:
    engine = engine_of(database, approvals=2)
    record = engine.contract()
    first, second = "person:anna@a.org@4k2m", "person:anna@b.org"

    engine.decides(record, "approve", by=first)
    with pytest.raises(ReviewRefused, match=r"anna@a\.org accepted"):
        engine.decides(engine.rig.now(record), "approve", by="person:anna@a.org@9zz9")
    with pytest.raises(ReviewRefused, match="anna accepted"):  # a bare name may be the same person
        engine.decides(engine.rig.now(record), "approve", by="person:anna@4k2m")
    last = engine.decides(engine.rig.now(record), "approve", by=second)

    assert last.status == "validated"
    assert plain_actor(first) == "anna@a.org"
