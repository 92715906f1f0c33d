"""The database that all histories share: what is asked at every step, and what is left when one is over."""

from contextlib import suppress

from lab.simulation import Arena

INBOX = "SELECT body FROM events ORDER BY seq"


class Undone(Exception):
    """A transaction that fails."""


def test_what_is_asked_at_every_step_is_asked_anew_after_a_change_and_only_then() -> None:
    database = Arena().cleared()

    before = database.seen(INBOX)
    again = database.seen(INBOX)
    database.run("INSERT INTO events (body) VALUES ('one')")
    after = database.seen(INBOX)

    assert again is before
    assert (before, after) == ([], [("one",)])


def test_what_a_transaction_has_undone_is_not_remembered() -> None:
    database = Arena().cleared()
    database.seen(INBOX)

    within = []
    with suppress(Undone), database.transaction():
        database.run("INSERT INTO events (body) VALUES ('one')")
        within += database.seen(INBOX)
        raise Undone
    after = database.seen(INBOX)

    assert (within, after) == ([("one",)], [])


def test_nothing_of_a_history_is_left_for_the_next_one() -> None:
    arena = Arena()
    fresh = arena.cleared(lanes=2).contents()
    arena.database.run("INSERT INTO events (body) VALUES ('one')")

    held = [table for table, _, _ in arena.database.contents()]
    cleared = arena.cleared(lanes=2).contents()

    assert "events" in held
    assert cleared == fresh
