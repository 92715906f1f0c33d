"""Opening and migrating."""

import multiprocessing

from tests.storage.suite.helpers import (
    PAUSES,
    WAIT_S,
    Opener,
    a_pause,
    open_at_once,
    skip_in_memory,
    stages,
)


class Schema:
    """A database can be opened again, and by several processes at once."""

    def test_opening_again_changes_nothing(self, open_database: Opener) -> None:
        first = open_database()
        first.insert(PAUSES, [a_pause("a")])
        schema = first.check()["schema"]

        again = open_database()

        assert again.check()["schema"] == schema
        assert stages(again) == ["a"]

    def test_processes_may_migrate_at_once(self, open_empty_database: Opener) -> None:
        skip_in_memory(open_empty_database)
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(3)
        arguments = (open_empty_database, barrier)
        children = [context.Process(target=open_at_once, args=arguments) for _ in range(3)]

        for child in children:
            child.start()
        for child in children:
            child.join(WAIT_S)

        assert [child.exitcode for child in children] == [0, 0, 0]
        database = open_empty_database()
        assert len(stages(database)) == 3
        lanes = database.rows("SELECT count, epoch, length(head) FROM lanes")
        assert set(lanes) == {(0, 0, 64)}
        assert database.rows("SELECT seq FROM log_end") == [(0,)]

    def test_it_tells_about_itself(self, open_database: Opener) -> None:
        facts = open_database().check()

        assert {"engine", "where", "bytes", "schema"} <= facts.keys()
        assert int(facts["bytes"]) > 0
        assert int(facts["schema"]) >= 1
