"""A worker hears of its work by its own wake-up, or from the loop of its process; no call is lost on the way."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from stateward.core.model import Work
from stateward.storage.database import TOPIC_EVENTS, TOPIC_WORK, work_topic
from stateward.storage.pipe_wakeups import PipeWakeup
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.workers.work_calls import WorkCalls


@pytest.mark.parametrize("topic", [TOPIC_WORK, work_topic("me")])
def test_a_worker_on_its_own_listens(topic: str) -> None:
    database = SqliteDatabase(MEMORY)
    calls = WorkCalls(database, "me")
    (fileno,) = calls.filenos()

    before = calls.take(None)
    database.notify([topic])
    while_another_is_ready = calls.take(frozenset({fileno + 1000}))
    after = calls.take(frozenset({fileno}))

    assert (before, while_another_is_ready, after, calls.take(None)) == (False, False, True, False)
    calls.close()


def test_a_worker_in_a_loop_with_a_coordinator_has_no_wake_up_of_its_own(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db")
    calls = WorkCalls(database, "me")
    calls.leave_to_loop()

    calls.tell(Said({}), {TOPIC_WORK})

    assert calls.filenos() == ()
    assert calls.take(frozenset())
    assert not calls.take(None)
    assert not (tmp_path / "a.db-wake").exists()
    calls.close()
    database.close()


OWN = work_topic("me")
WORK = Work(
    record_id="UP-1", version=1, machine="upload", stage="parse", running="parsing", runner="csv", worker="me",
    created_at=1, rank=1, timeout_s=60.0,
)  # fmt: skip


class Said(PipeWakeup):
    """A wake-up with which this was said."""

    def __init__(self, said: Mapping[str, Sequence[str]]) -> None:
        self._all = said

    def said(self) -> Mapping[str, Sequence[str]]:
        return self._all


def told(said: Mapping[str, Sequence[str]], *topics: str, found: Sequence[Work] = ()) -> WorkCalls:
    """What a worker in a loop with a coordinator has heard."""
    calls = WorkCalls(SqliteDatabase(MEMORY), "me")
    calls.leave_to_loop()
    calls.found(found)
    calls.tell(Said(said), frozenset(topics))
    return calls


def body(work: Work) -> str:
    return msgspec.json.encode(work).decode()


def test_work_that_is_said_need_not_be_asked_for() -> None:
    other = replace(WORK, record_id="UP-2")
    calls = told({OWN: [body(WORK), body(other)], TOPIC_EVENTS: ["x"]}, OWN, TOPIC_EVENTS)

    assert not calls.take(None)
    assert calls.take_said() == [WORK, other]
    assert calls.take_said() == []


def test_where_not_all_of_it_is_said_the_store_is_asked() -> None:
    calls = told({OWN: [body(WORK)]}, OWN, TOPIC_WORK)

    assert calls.take(None)
    assert not calls.take(None)


def test_what_is_said_and_was_found_before_may_be_done_by_now() -> None:
    later = replace(WORK, delivery=2)
    calls = told({OWN: [body(WORK), body(later)]}, OWN, found=[WORK])

    assert calls.take_said() == [later]


def test_what_is_no_work_is_left_out() -> None:
    calls = told({OWN: ["[" * 2000, "{}", body(WORK)]}, OWN)

    assert calls.take_said() == [WORK]
