"""A bulk action that a person checked and confirms: that one is begun, or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import UnknownName
from stateward.server import bulk
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Batch
from tests.server.api_client import settings_at, statement

ANNA, BEN = "person:anna", "person:ben"


class Clock:
    """Time that a test moves on."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(1_767_225_600_000_000)


@pytest.fixture
def app(tmp_path: Path, clock: Clock) -> Iterator[App]:
    with App(settings_at(tmp_path / "data"), clock=clock) as found:
        yield found


def submit(app: App, number: int) -> str:
    labels = {"source_type": "bank_csv"}
    return app.submit(statement(number), machine="upload", name="a.csv", labels=labels).record.id


def check(app: App, verb: str = "cancel") -> Batch:
    batch, _ = bulk.check(
        app, verb, text="machine:upload", ids=(), machines=(), actor=ANNA, reason="a test"
    )
    return batch


def test_a_check_changes_nothing_and_is_not_listed(app: App) -> None:
    record_id = submit(app, 1)

    batch = check(app)

    assert (batch.status, batch.expected, batch.applied) == ("checked", 1, 1)
    assert bulk.step(app, batch.id) == batch
    assert app.record(record_id).status == "queued_for_parse"
    assert app.idempotency.batches() == []
    assert app.idempotency.running() == []


def test_what_was_checked_is_begun_once(app: App) -> None:
    record_id = submit(app, 1)
    batch = check(app)

    begun = bulk.confirm(app, batch.id, actor=ANNA)
    again = bulk.confirm(app, batch.id, actor=ANNA)
    bulk.step(app, batch.id)

    assert (begun.status, begun.applied, begun.verb) == ("running", 0, "cancel")
    assert again == begun
    assert app.record(record_id).error_code == "CANCELLED"


def test_another_count_than_the_checked_one_is_refused(app: App) -> None:
    submit(app, 1)
    batch = check(app)
    submit(app, 2)

    with pytest.raises(Refusal, match="2 of 2 records would be concerned now, 1 of 1 when"):
        bulk.confirm(app, batch.id, actor=ANNA)

    assert app.idempotency.batch(batch.id) == batch


def test_another_person_cannot_confirm_it(app: App) -> None:
    submit(app, 1)
    batch = check(app)

    with pytest.raises(UnknownName):
        bulk.confirm(app, batch.id, actor=BEN)


def test_a_check_is_good_for_a_while(app: App, clock: Clock) -> None:
    submit(app, 1)
    batch = check(app)
    clock.now += bulk.CONFIRM_WITHIN

    with pytest.raises(Refusal, match="check again"):
        bulk.confirm(app, batch.id, actor=ANNA)

    assert app.idempotency.forget_checked(before=clock() - bulk.CONFIRM_WITHIN) == 1
