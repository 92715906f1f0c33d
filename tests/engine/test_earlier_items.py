"""What a stage reads of other records: looked up by key when it is dispatched, and sealed in the history."""

import msgspec
import pytest

from stateward.core.errors import DeclarationError
from stateward.core.model import Fields, Record, Work
from stateward.definition.declare import declare
from stateward.engine import earlier_items
from stateward.engine.earlier_items import EARLIER, EarlierIndex, digest
from stateward.storage.erasure import Erasures
from stateward.storage.outputs import AttemptResult, Output
from stateward.testing.rig import Rig
from stateward.transport.messages import WorkMessage, data_of, encode
from tests.engine.conftest import Opener

STATES = {
    "new": "ready", "reading": "running", "read": "ready", "comparing": "running", "compared": "suspended",
    "done": "terminal", "error": "failed",
}  # fmt: skip
LOOKUP: dict[str, object] = {
    "of": ["approval", "read"],
    "key": "who",
    "at": "day",
    "fields": ["value"],
}


def a_machine(**lookup: object) -> dict[str, object]:
    return {
        "machine": "report",
        "version": 1,
        "prefix": "RP",
        "initial": "new",
        "states": STATES,
        "stages": {
            "read": {"from": "new", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error"},
            "compare": {
                "from": "read",
                "running": "comparing",
                "outcomes": {"done": "compared"},
                "on_error": "error",
                "earlier": {**LOOKUP, **lookup},
            },
        },
        "reviews": {
            "approval": {
                "state": "compared", "of": "compare", "timeout_s": 60, "on_timeout": "error",
                "outcomes": {"approved": "done", "corrected": "done", "rejected": "error"},
            }
        },
    }  # fmt: skip


@pytest.fixture
def rig(open_database: Opener) -> Rig:
    rig = Rig(open_database(), [declare(a_machine())])
    rig.worker()
    return rig


def finish(rig: Rig, work: Work, *rows: Fields) -> None:
    """A worker finishes an attempt with these items."""
    mark = AttemptResult(
        record_id=work.record_id, version=work.version, stage=work.stage, worker=work.worker, at=rig.clock(),
        count=len(rows),
    )  # fmt: skip
    rig._end(work, Output(mark, ((len(rows), msgspec.json.encode(rows).decode()),)))
    rig.clock.pass_s(1)


def read(rig: Rig, *rows: Fields) -> Work:
    """A record with these items, and the work of the stage that looks up others."""
    record = rig.open()
    rig.settle()
    (work,) = [each for each in rig.work() if each.record_id == record.id]
    finish(rig, work, *rows)
    rig.settle()
    (work,) = [each for each in rig.work() if each.record_id == record.id]
    return work


def a_row(who: str, value: int, day: str = "2026-01-01") -> Fields:
    return {"who": who, "value": value, "day": day, "name": "secret"}


def given(work: Work) -> list[tuple[object, ...]]:
    assert work.earlier is not None
    return [(each["record_id"], each["value"], each["day"]) for each in work.earlier.items]


def test_a_stage_is_given_the_items_of_others_with_the_same_key_and_the_history_seals_them(
    rig: Rig,
) -> None:
    first = read(rig, a_row("ann", 1, "2026-03-01"), a_row("bob", 9))
    second = read(rig, a_row("ann", 2, "2026-01-01"), a_row("", 7), a_row("eve", 8))
    third = read(rig, a_row("ann", 3, "2026-02-01"))

    assert given(first) == []
    # By the time that the items say, not by that of their arrival.
    assert given(third) == [
        (second.record_id, 2, "2026-01-01"),
        (first.record_id, 1, "2026-03-01"),
    ]
    assert set(third.earlier.items[0]) == {"value", "day", "record_id"}  # type: ignore[union-attr]
    started = rig.store.history(third.record_id)[-1]
    told = started.metadata[EARLIER]
    assert isinstance(told, dict)
    assert told["sha256"] == digest(third.earlier)  # type: ignore[arg-type]
    assert "ann" not in str(started)
    assert "ann" not in str(rig.database.rows("SELECT key FROM item_keys"))
    # It goes with the work, over any transport, and can be found again from what the history says.
    envelope = encode(
        "stateward.work.v1", WorkMessage(work=third), id_="1", source="/x", subject="x", at=0
    )
    assert data_of(envelope, WorkMessage).work.earlier == third.earlier
    machine = rig.registry.named("report")
    again = EarlierIndex(rig.database).again(
        machine, machine.stage["compare"], rig.now(_record(rig, third)), told
    )
    assert again == third.earlier
    assert rig.verify().is_sound


def test_rejected_and_erased_records_drop_out_and_a_correction_counts_instead(rig: Rig) -> None:
    rejected, erased, corrected = (read(rig, a_row("ann", value)) for value in (1, 2, 3))
    for each in (rejected, erased, corrected):
        finish(rig, each, {"value": 0})
    rig.settle()
    rig.ask("approval.rejected", _record(rig, rejected), reason="wrong")
    rig.ask("approval.approved", _record(rig, erased))
    Erasures(rig.database).delete([erased.record_id], ["items"], at=rig.clock())
    machine = rig.registry.named("report")
    stored = rig.now(_record(rig, corrected))
    mark = AttemptResult(
        record_id=stored.id, version=stored.version, stage="approval", worker="x", at=0, count=1
    )
    row = msgspec.json.encode([a_row("ann", 30)]).decode()
    rig.outputs.write([Output(mark, ((1, row),))])
    as_corrected = msgspec.structs.replace(
        stored, outputs={**stored.outputs, "approval": stored.version}
    )

    last = read(rig, a_row("ann", 4))
    found = EarlierIndex(rig.database).find(
        machine,
        machine.stage["compare"],
        rig.now(_record(rig, last)),
        lambda ids: rig.store.load(ids) | {stored.id: as_corrected},
    )

    assert given(last) == [(corrected.record_id, 3, "2026-01-01")]
    assert found is not None
    assert [each["value"] for each in found.given.items] == [30]


def test_two_records_that_are_dispatched_together_see_each_other(rig: Rig) -> None:
    records = [rig.open(), rig.open()]
    rig.settle()
    for number, work in enumerate(rig.work()):
        finish(rig, work, a_row("ann", number))
    rig.settle()

    assert {each.record_id: len(given(each)) for each in rig.work()} == {
        each.id: 1 for each in records
    }


def test_too_many_items_are_cut_and_that_is_said(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_items, "ITEMS_MAX", 2)
    read(rig, *(a_row("ann", number, f"2026-01-{number + 10}") for number in range(4)))

    last = read(rig, a_row("ann", 9))

    assert [value for _, value, _ in given(last)] == [2, 3]  # the newest of them
    assert last.earlier is not None
    assert last.earlier.is_cut


@pytest.mark.parametrize(
    ("lookup", "sentence"),
    [
        ({"of": "nothing"}, "there is no stage or review"),
        ({"of": "approval"}, "names at least one stage"),
        ({"key": ""}, "names a field"),
        ({"in": ["nowhere"]}, "there is no state"),
    ],
)
def test_a_wrong_lookup_is_refused(lookup: dict[str, object], sentence: str) -> None:
    with pytest.raises(DeclarationError, match=sentence):
        declare(a_machine(**lookup))


def _record(rig: Rig, work: Work) -> Record:
    found = rig.store.get(work.record_id)
    assert found is not None
    return found
