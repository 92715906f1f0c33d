"""Notifications wake those who listen, when and only when they are written."""

import select
from contextlib import suppress
from threading import Event

import pytest

from stateward.core.errors import StoreError
from stateward.storage.database import (
    TOPIC_EVENTS,
    TOPIC_READY,
    TOPIC_WORK,
    TOPICS,
    work_topic,
)
from stateward.transport import EVENTS
from tests.storage.suite.helpers import (
    PAUSES,
    QUIET_S,
    WAIT_S,
    Opener,
    a_pause,
    in_process,
    in_thread,
    notify_in_a_transaction,
    settle,
    skip_in_memory,
)


class Wakeups:
    """A wake-up is neither lost nor sent too early."""

    def test_a_notification_wakes_a_listener_of_another_connection(
        self, open_database: Opener
    ) -> None:
        notifying, listening = open_database(), open_database()
        wakeup = listening.wakeup(TOPIC_WORK)

        notifying.notify([TOPIC_WORK])

        assert wakeup.wait(WAIT_S)

    @pytest.mark.parametrize("topic", [TOPIC_WORK, work_topic("its")])
    def test_a_worker_hears_of_its_own_work_and_of_that_of_all(
        self, open_database: Opener, topic: str
    ) -> None:
        notifying, listening = open_database(), open_database()
        wakeup = listening.wakeup(TOPIC_WORK, work_topic("its"))

        with notifying.transaction():
            notifying.notify([topic, TOPIC_EVENTS])

        assert wakeup.wait(WAIT_S)
        assert wakeup.clear() <= {TOPIC_WORK, work_topic("its")}

    def test_a_notification_from_another_process_wakes_a_listener(
        self, open_database: Opener
    ) -> None:
        skip_in_memory(open_database)
        wakeup = open_database().wakeup(TOPIC_EVENTS, TOPIC_WORK)

        with in_process(notify_in_a_transaction, open_database):
            assert wakeup.wait(WAIT_S)

        assert open_database().rows("SELECT body FROM events") == [("1",)]

    def test_a_wakeup_hears_its_own_topics_only(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK, TOPIC_READY)

        database.notify([TOPIC_EVENTS])
        assert not wakeup.wait(QUIET_S)

        database.notify([TOPIC_EVENTS, TOPIC_READY])
        assert wakeup.wait(WAIT_S)

    def test_a_wakeup_says_what_it_is_about(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK, TOPIC_READY)
        database.notify([TOPIC_READY, TOPIC_EVENTS])
        assert wakeup.wait(WAIT_S)

        assert wakeup.clear() == {TOPIC_READY}

    def test_a_cleared_wakeup_is_quiet_until_the_next_notification(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        for _ in range(3):
            database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)

        settle(wakeup)
        assert not wakeup.wait(QUIET_S)

        database.notify([TOPIC_WORK])
        assert wakeup.wait(WAIT_S)

    def test_listeners_are_woken_only_when_the_transaction_is_written(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)

        with database.transaction():
            with database.transaction():
                database.notify([TOPIC_WORK])
            assert not wakeup.wait(QUIET_S)

        assert wakeup.wait(WAIT_S)

    def test_a_transaction_that_fails_notifies_no_one_then_or_later(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(*TOPICS)
        with suppress(ZeroDivisionError), database.transaction():
            database.notify([TOPIC_WORK])
            raise ZeroDivisionError
        with suppress(StoreError), database.transaction():
            database.notify([TOPIC_WORK])
            with suppress(ZeroDivisionError), database.transaction():
                raise ZeroDivisionError

        with database.transaction():
            database.insert(PAUSES, [a_pause("a")])

        assert not wakeup.wait(QUIET_S)

    def test_a_notification_of_one_thread_outlives_the_failure_of_another(
        self, open_database: Opener
    ) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        entered = Event()

        def notify() -> None:
            entered.wait(WAIT_S)
            database.notify([TOPIC_WORK])

        with in_thread(notify), suppress(ZeroDivisionError), database.transaction():
            entered.set()
            Event().wait(QUIET_S)
            raise ZeroDivisionError

        assert wakeup.wait(WAIT_S)

    def test_who_clears_before_looking_misses_nothing(self, open_database: Opener) -> None:
        writing, reading = open_database(), open_database()
        wakeup = reading.wakeup(TOPIC_EVENTS)
        count, seen = 200, 0

        def write() -> None:
            for number in range(count):
                with writing.transaction():
                    writing.insert(EVENTS, [(f"{number}",)])
                    writing.notify([TOPIC_EVENTS])

        with in_thread(write):
            while seen < count:
                wakeup.clear()
                found = reading.rows("SELECT seq FROM events")
                seen += sum(reading.delete(EVENTS, found, by=("seq",)))
                assert found or seen == count or wakeup.wait(WAIT_S), "a notification was lost"

    def test_a_wakeup_may_stand_in_a_selector(self, open_database: Opener) -> None:
        database = open_database()
        wakeup = database.wakeup(TOPIC_WORK)
        quiet = select.select([wakeup.fileno()], [], [], QUIET_S)

        database.notify([TOPIC_WORK])

        assert quiet == ([], [], [])
        assert select.select([wakeup.fileno()], [], [], WAIT_S)[0] == [wakeup.fileno()]

    def test_a_closed_wakeup_disturbs_no_other(self, open_database: Opener) -> None:
        database = open_database()
        closed, other = database.wakeup(TOPIC_WORK), database.wakeup(TOPIC_WORK)

        closed.close()
        closed.close()
        database.notify([TOPIC_WORK])

        assert other.wait(WAIT_S)

    def test_a_wakeup_needs_a_topic_that_exists(self, open_database: Opener) -> None:
        database = open_database()

        with pytest.raises(StoreError, match="no such topic: nonsense"):
            database.wakeup("nonsense")
        with pytest.raises(StoreError, match="needs a topic"):
            database.wakeup()
