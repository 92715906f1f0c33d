"""Endpoints: what each chose, how they come, go and are disabled, and what is refused."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from stateward.app import App
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.notifications.alerts import AlertQueue, AlertWriter
from stateward.notifications.deliveries import FinishedAttempt
from stateward.notifications.endpoints import Endpoints, lock_cursor
from stateward.notifications.outbox import Outbox
from stateward.notifications.sending import WebhookResponse
from stateward.storage.database import Database
from tests.apps import Maker, on_each_store
from tests.notifications.conftest import LOOPBACK, ManualClock, deliver
from tests.notifications.deliveries import SLOWLY, opened
from tests.notifications.receivers import Answer, receiving
from tests.waiting import wait_until


@pytest.mark.parametrize(
    ("events", "is_told"),
    [
        (["upload.queued_for_parse"], True),
        (["queued_for_parse"], True),
        (["upload.*"], True),
        (["*"], True),
        (["upload.error", "upload.normalized"], False),
        (["contract.*"], False),
    ],
)
def test_an_endpoint_hears_of_what_it_chose(app: App, events: list[str], *, is_told: bool) -> None:
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=events, actor="person:ann")
        opened(app)

        deliver(app)

    assert len(receiver.posts) == is_told


def test_an_endpoint_hears_nothing_of_the_past(app: App) -> None:
    opened(app)
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        (later,) = opened(app)

        deliver(app)

    assert receiver.ids == [f"msg_{later}_0"]


@on_each_store
def test_an_endpoint_that_is_added_while_a_notifier_runs_misses_nothing(
    app: App, make_app: Maker
) -> None:
    other = make_app()
    with (
        receiving() as receiver,
        app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node,
    ):
        node.turn()  # no endpoint yet, and the next poll is a second away
        other.notifications.add(receiver.url, events=["*"], actor="person:ann")
        ids = opened(other, 3)

        node.run(until_idle=True)

    assert sorted(receiver.ids) == sorted(f"msg_{each}_0" for each in ids)


@on_each_store
def test_an_endpoint_that_is_gone_is_disabled_and_what_waited_for_it_is_dead(
    make_app: Maker, clock: ManualClock
) -> None:
    app = make_app(SLOWLY, clock=clock)
    with receiving(500, 500, 500, 410) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app, 3)
        deliver(app)
        clock.tick(1)
        opened(app)

        deliver(app)
        opened(app)
        deliver(app)

    assert len(receiver.posts) == 4
    assert [each.state for each in app.notifications.deliveries()] == ["dead"] * 4
    ended = app.notifications.webhook(webhook.id)
    assert not ended.is_enabled
    assert ended.disabled_reason == "it answered 410: gone"
    with pytest.raises(InvalidRequest, match="disabled"):
        app.notifications.ping(webhook.id)
    assert app.notifications.enable(webhook.id, actor="person:ann").is_enabled
    assert app.notifications.replay(webhook_id=webhook.id) == 4


@on_each_store
def test_who_asks_for_a_pause_gets_one(make_app: Maker, clock: ManualClock) -> None:
    app = make_app(SLOWLY, clock=clock)
    busy = Answer(429, headers=(("Retry-After", "1000"),))
    with receiving(busy) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)
        opened(app, 2)

        clock.tick(990)
        deliver(app)
        assert len(receiver.posts) == 1

        clock.tick(20)
        deliver(app)

    assert len(receiver.posts) == 4
    assert {each.state for each in app.notifications.deliveries()} == {"delivered"}


@pytest.mark.parametrize(
    ("url", "events", "sentence"),
    [
        ("http://127.0.0.1:9/", ["upload.gone"], "upload.gone"),
        ("http://127.0.0.1:9/", ["nope.error"], "nope"),
        ("http://127.0.0.1:9/", ["failed"], "say which"),
        ("http://127.0.0.1:9/", [], "name 1 to"),
        ("http://10.0.0.1/", ["*"], "https only"),
        ("https://10.0.0.1/", ["*"], "not a public address"),
        ("https://example.com:22/", ["*"], "port 22"),
        ("https://me:pw@example.com/", ["*"], "a login"),
        ("ftp://example.com/", ["*"], "https://"),
        ("https://exämple.com/", ["*"], "ASCII"),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_sentence(
    app: App, url: str, events: list[str], sentence: str
) -> None:
    with pytest.raises((InvalidRequest, UnknownName), match=sentence):
        app.notifications.add(url, events=events, actor="person:ann")

    assert app.notifications.webhooks() == []


def test_one_endpoint_that_hangs_does_not_hold_up_the_others(app: App) -> None:
    answers_may_come = Event()
    with receiving(then=Answer(204, held=answers_may_come)) as slow, receiving() as quick:
        app.notifications.add(slow.url, events=["*"], actor="person:ann")
        app.notifications.add(quick.url, events=["*"], actor="person:ann")
        opened(app, 20)

        deliver(app, until=lambda: len(quick.posts) == 20)
        answers_may_come.set()

    assert len(slow.posts) <= 12


@on_each_store
def test_endpoints_of_the_settings_are_in_force_while_the_settings_name_them(
    make_app: Maker, tmp_path: Path
) -> None:
    secret = "whsec_" + "QUJD" * 8
    (tmp_path / "hook.secret").write_text(secret + "\n")
    with receiving() as receiver:
        named = (
            f"{LOOPBACK}\nupload_record: {{webhooks: {{endpoints: [{{url: '{receiver.url}', "
            "events: [queued_for_parse], secret_file: hook.secret}]}}"
        )
        app = make_app(named)
        deliver(app)
        opened(app)
        deliver(app)
        assert receiver.verified(secret) == 1

        without = make_app()
        deliver(without)
        opened(without)
        deliver(without)
        assert len(receiver.posts) == 1
        (webhook,) = without.notifications.webhooks()
        assert webhook.disabled_reason == "the settings no longer name it"

        again = make_app(named)
        deliver(again)
        opened(again)
        deliver(again)

    assert len(receiver.posts) == 2
    assert [each.id for each in again.notifications.webhooks()] == [webhook.id]


def test_an_endpoint_that_is_removed_meanwhile_is_no_trouble(app: App) -> None:
    answer_may_come = Event()
    with receiving(Answer(204, held=answer_may_come)) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        with app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            while not receiver.posts:
                node.turn()
            app.notifications.remove(webhook.id, actor="person:ann")
            answer_may_come.set()
            node.run(until_idle=True)

    assert app.notifications.deliveries() == []


def remove(app: App, webhook_id: str) -> None:
    app.notifications.remove(webhook_id, actor="person:ann")


def add(app: App, webhook_id: str) -> None:
    url = app.notifications.webhook(webhook_id).url
    app.notifications.add(f"{url}other", events=["*"], actor="person:ann")


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    ("act", "where"), [(remove, (Endpoints, "disable")), (add, (Outbox, "mark_dead"))]
)
def test_who_changes_endpoints_while_one_is_found_gone_waits_and_goes_on(
    make_app: Maker,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[App, str], None],
    where: tuple[type, str],
) -> None:
    # Each holds what the other wants next, unless both begin with the same lock.
    app, other, watching = make_app(), make_app(), make_app()
    acting: list[Future[None]] = []
    original = getattr(*where)

    def is_held_up() -> bool:
        ((count,),) = watching.database.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
        return bool(count) or acting[0].done()

    def interrupted(own: object, webhook_id: str, *rest: object, **named: object) -> object:
        acting.append(pool.submit(act, other, webhook_id))
        wait_until(is_held_up)
        return original(own, webhook_id, *rest, **named)

    with ThreadPoolExecutor(1) as pool, receiving(410) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app, 3)
        monkeypatch.setattr(*where, interrupted)

        deliver(app)

        acting[0].result(120)
    left = {each.id: each.is_enabled for each in app.notifications.webhooks()}
    assert left.get(webhook.id) is (None if act is remove else False)
    assert app.admin.verify().is_sound


def is_held_up(app: App) -> bool:
    """Whether some connection to the store of this application waits for a lock."""
    return bool(
        app.database.rows(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
    )


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_an_erasure_waits_for_a_notifier_before_it_holds_what_that_wants(make_app: Maker) -> None:
    app, other, watching = make_app(), make_app(), make_app()
    with receiving(200) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        (record_id,) = opened(app, 1)
        deliver(app)
    app.actions.act("cancel", record_id, actor="person:ann", reason=None)
    named = {"id": record_id}
    app.database.run("INSERT INTO effects VALUES (:id, 0, 'alert', '{}', 1, NULL)", **named)

    with ThreadPoolExecutor(1) as pool:
        with app.database.transaction():  # as a notifier, which settles deliveries and then effects
            lock_cursor(app.database)
            app.database.run("UPDATE deliveries SET tries = tries WHERE record_id = :id", **named)
            erasing = pool.submit(other.eraser.erase, [record_id], actor="person:ann", reason="17")
            wait_until(lambda: is_held_up(watching) or erasing.done())
            app.database.run("UPDATE effects SET settled_at = 1 WHERE record_id = :id", **named)
        done = erasing.result(120)

    assert done.erased == (record_id,)
    assert app.notifications.deliveries() == []


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_an_effect_that_is_being_erased_becomes_no_alert(make_app: Maker) -> None:
    app, other, watching = make_app(), make_app(), make_app()
    app.database.run(
        "INSERT INTO effects VALUES ('a', 0, 'ask', '{\"review\": \"erased words\"}', 1, NULL)"
    )
    writer = AlertWriter(other.database, AlertQueue(other.database), topics={"review"})

    with ThreadPoolExecutor(1) as pool:
        with app.database.transaction():  # as an erasure
            lock_cursor(app.database)
            app.database.run("DELETE FROM effects WHERE record_id = 'a'")
            settling = pool.submit(writer.settle_effects, now=2)
            wait_until(lambda: is_held_up(watching) or settling.done())
        settling.result(120)

    assert app.database.rows("SELECT facts FROM alerts") == []


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    ("of", "table"), [(partial(Outbox, backoff_s=()), "deliveries"), (AlertQueue, "alerts")]
)
def test_what_an_erasure_deletes_is_not_deleted_as_old_meanwhile(
    make_app: Maker, of: Callable[[Database], Outbox | AlertQueue], table: str
) -> None:
    app, other, watching = make_app(), make_app(), make_app()
    with receiving(200) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app, 1)
        deliver(app)
    app.database.run("INSERT INTO alerts VALUES ('a', 'stuck', 'r', 'upload', '{}', 1, 1, NULL, 1)")
    old = of(other.database)

    with ThreadPoolExecutor(1) as pool:
        with app.database.transaction():  # as an erasure
            lock_cursor(app.database)
            pruning = pool.submit(old.prune, before=1 << 60)
            wait_until(lambda: is_held_up(watching) or pruning.done())
            app.database.run(f"DELETE FROM {table}")  # noqa: S608
        assert pruning.result(120) == 0


def test_an_answer_that_comes_after_an_erasure_is_not_kept(app: App) -> None:
    """It may repeat the words that the message had."""
    webhook = app.notifications.add("http://127.0.0.1:9/", events=["*"], actor="person:ann")
    (record_id,) = opened(app)
    outbox = Outbox(app.database, backoff_s=())
    outbox.fan_out(outbox.transitions(after=0), [webhook], now=1)
    (delivery,) = outbox.take(webhook, now=1, until=9, limit=1)
    said = FinishedAttempt(
        delivery=delivery, webhook=webhook, at=2, headers={}, response=WebhookResponse(status=200)
    )
    app.actions.act("cancel", record_id, actor="person:ann", reason=None)
    app.eraser.erase([record_id], actor="person:ann", reason="request 17")

    outbox.settle([said], now=3)

    assert app.database.rows("SELECT * FROM delivery_attempts") == []
