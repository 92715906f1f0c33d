"""What people look at, on every engine: counts, queues, causes, what moves, and the past."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.app.views import error_group_views
from stateward.core.errors import UnknownName
from stateward.core.model import SECOND
from stateward.monitoring.dashboard import p95
from stateward.settings import Settings
from stateward.storage.acknowledgements import Acknowledgement

ANNA = "person:anna"


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    environ = {"STATEWARD_DATA": str(tmp_path)}
    if request.param == "postgres":
        environ["STATEWARD_STORE_URL"] = str(request.getfixturevalue("postgres_url"))
    with App(Settings.load(environ=environ)) as found:
        yield found


def opened(app: App, *contents: bytes, priority: int = 5) -> list[str]:
    return [app.submit(each, name="x.csv", priority=priority).record.id for each in contents]


def cancelled(app: App, record_id: str, reason: str = "by mistake") -> None:
    app.actions.act("cancel", record_id, actor=ANNA, reason=reason)


def test_counts_follow_every_move(app: App) -> None:
    first, *_ = opened(app, b"1", b"2", b"3")
    cancelled(app, first)
    uncounted = app.dashboard.counts()

    app.monitor.update_counters()

    expected = {("upload", "queued_for_parse"): 2, ("upload", "error"): 1}
    assert uncounted == app.dashboard.counts() == app.store.queries.counts() == expected


def test_what_asks_for_statuses_alone_is_answered_from_the_counts(app: App) -> None:
    first, *_ = opened(app, b"1", b"2", b"3")
    cancelled(app, first)

    def matching(text: str, most: int = 100) -> int:
        words = app.registry.query_names
        return sum(
            app.dashboard.count_matching(app.records.query(text), names=words, most=most).values()
        )

    assert [matching(text) for text in ("", "status:error", "-status:error")] == [3, 1, 2]
    assert [matching(text) for text in ("machine:contract", "is:failed", "x.csv")] == [0, 0, 3]
    assert [matching(text) for text in ("is:cancelled", "-is:cancelled", "document:X.")] == [
        1,
        2,
        3,
    ]
    assert matching("x.csv", most=2) == 2


def test_what_waits_is_told_by_priority(app: App) -> None:
    opened(app, b"1", b"2")
    opened(app, b"3", priority=9)

    queues = app.dashboard.queues()

    assert [(each.priority, each.count) for each in queues] == [(9, 1), (5, 2)]
    assert [each.by_status for each in queues] == [{"queued_for_parse": 1}, {"queued_for_parse": 2}]


def test_causes_say_how_many_and_since_when(app: App) -> None:
    first, second, third = opened(app, b"1", b"2", b"3")
    for each in (first, second, third):
        cancelled(app, each)
    app.database.run("UPDATE records SET error_code = 'BROKEN' WHERE id <> :id", id=third)

    (cause,) = app.dashboard.causes()

    assert (cause.error_code, cause.count) == ("BROKEN", 2), "a cancelled record is no error"
    assert cause.first_at <= cause.last_at


def test_errors_that_differ_in_a_number_alone_are_one_line(app: App) -> None:
    ids = opened(app, b"1", b"2", b"3", b"4")
    messages = ["no table on the 2 pages", "no table on the 7 pages", "not a table", "not a table"]
    for record_id, message in zip(ids, messages, strict=True):
        app.database.run(
            "UPDATE records SET error_code = 'NO_TABLE', error_message = :message WHERE id = :id",
            id=record_id,
            message=message,
        )

    found = error_group_views(app.dashboard.causes())

    assert {(each.error_message, each.count) for each in found} == {
        ("no table on the # pages", 2),
        ("not a table", 2),
    }


def test_what_moved_last_comes_first(app: App) -> None:
    first, second = opened(app, b"1", b"2")
    cancelled(app, first)

    assert app.dashboard.recent(machines=(), limit=5) == [first, second]
    assert app.dashboard.recent(machines=("contract",), limit=5) == []


def test_the_way_of_a_record_is_read_in_pages(app: App) -> None:
    (record_id,) = opened(app, b"1")
    cancelled(app, record_id)
    app.actions.act("retry", record_id, actor=ANNA, reason=None)

    newest = app.dashboard.timeline(record_id, before=None, limit=2)
    rest = app.dashboard.timeline(record_id, before=newest[-1].version, limit=2)

    assert [each.version for each in (*newest, *rest)] == [2, 1, 0]
    assert app.dashboard.path(record_id) == ["queued_for_parse", "error", "queued_for_parse"]
    assert app.dashboard.path("UL_nothing") == []
    assert app.dashboard.attempts(record_id, limit=5) == []


def test_the_log_is_searched_by_who_and_what(app: App) -> None:
    first, second = opened(app, b"1", b"2")
    cancelled(app, first, "100% sure")

    by_actor = app.dashboard.search(actor="ANNA")
    by_trigger = app.dashboard.search(trigger="upload.created", machines=("upload",))
    of_one = app.dashboard.search(record_id=second)
    of_none = app.dashboard.search(machines=("contract",))

    assert [each.record_id for each in by_actor.transitions] == [first]
    assert [each.record_id for each in by_trigger.transitions] == [second, first]
    assert [each.record_id for each in of_one.transitions] == [second]
    assert of_none.transitions == []


def test_activity_counts_each_end_once(app: App) -> None:
    (stopped, _) = opened(app, b"1", b"2")
    cancelled(app, stopped)
    app.run_until_idle()

    first, _ = app.dashboard.activity()
    again, _ = app.dashboard.activity()

    assert sum(minute.failed for minute in first["upload"]) == 1
    assert again == first


def test_95_of_100_do_not_exceed_the_p95() -> None:
    assert p95([float(number) for number in range(1, 101)]) == 95
    assert (p95([3.0]), p95([])) == (3.0, None)


# Sessions


def test_a_session_lasts_as_long_as_it_says(app: App) -> None:
    now = app.clock()
    app.sessions.begin("token", key_id="k", now=now, until=now + SECOND)

    assert app.sessions.key_of("token", now=now) == "k"
    assert app.sessions.key_of("token", now=now + SECOND) is None
    assert app.sessions.key_of("other", now=now) is None
    assert app.sessions.key_of("x" * 1000, now=now) is None
    app.sessions.end("token")
    assert app.sessions.key_of("token", now=now) is None


def test_what_has_expired_is_forgotten(app: App) -> None:
    app.sessions.begin("old", key_id="k", now=0, until=1)

    app.sessions.begin("new", key_id="k", now=10, until=20)

    ((count,),) = app.database.rows("SELECT count(*) FROM sessions")
    assert count == 1


def test_a_link_is_taken_once(app: App) -> None:
    app.sessions.add_link("link", key_id="k", now=0, until=10)

    assert app.sessions.take_link("link", now=5) == "k"
    assert app.sessions.take_link("link", now=5) is None
    assert app.sessions.take_link("x" * 1000, now=5) is None


def test_an_acknowledgement_can_be_renewed_and_taken_back(app: App) -> None:
    given = Acknowledgement(machine="upload", cause="X", at=1, actor=ANNA, reason=None)
    app.acknowledgements.add(given)
    app.acknowledgements.add(replace(given, at=2))
    seen = app.acknowledgements.every()
    assert app.admin.verify().findings == ()  # the act itself sealed its row

    app.acknowledgements.remove(replace(given, at=3, reason="it is back"))

    assert seen["upload", "X"].at == 2
    assert app.acknowledgements.every() == {}
    assert app.admin.verify().findings == ()
    verbs = [each.verb for each in app.audit.entries(actor=ANNA)]
    assert verbs == ["unacknowledge", "acknowledge", "acknowledge"]


def test_what_is_not_there_gets_no_priority(app: App) -> None:
    (record_id,) = opened(app, b"1")

    unknown, foreign = app.actions.set_priority(
        ["UL_nothing", record_id], 3, actor=ANNA, reason=None, machines=("contract",)
    )

    assert isinstance(unknown, UnknownName)
    assert isinstance(foreign, UnknownName)
    assert app.audit.entries(verb="priority") == []


def test_records_are_counted_by_their_source(app: App) -> None:
    for at, labels in enumerate(({}, {"source_type": "arxiv"}, {"source_type": "arxiv"})):
        app.submit(b"%d" % at, name="x.csv", machine="upload", labels=labels)

    counted = app.dashboard.source_counts("upload", since=0)
    later = app.dashboard.source_counts("upload", since=app.clock() + SECOND)

    assert [(each.source_type, each.status, each.count, each.lately) for each in counted] == [
        ("", "queued_for_parse", 1, 1),
        ("arxiv", "queued_for_parse", 2, 2),
    ]
    assert [(each.count, each.lately, each.errors) for each in later] == [(1, 0, {}), (2, 0, {})]
    assert app.dashboard.source_counts("contract", since=0) == []
