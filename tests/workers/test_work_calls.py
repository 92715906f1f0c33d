"""A worker hears of its work by its own wake-up, or from the loop of its process; no call is lost on the way."""

from pathlib import Path

import pytest

from stateward.storage.database import TOPIC_WORK, work_topic
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

    calls.tell()

    assert calls.filenos() == ()
    assert calls.take(frozenset())
    assert not calls.take(None)
    assert not (tmp_path / "a.db-wake").exists()
    calls.close()
    database.close()
