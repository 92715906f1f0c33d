"""Several notifiers share the work; one that dies or stops loses nothing."""

from threading import Event

import pytest

from stateward.app import App
from tests.apps import Maker, on_each_store
from tests.notifications.conftest import LOOPBACK, ManualClock, deliver
from tests.notifications.deliveries import only, opened
from tests.notifications.receivers import Answer, receiving
from tests.waiting import wait_until


@on_each_store
def test_two_notifiers_share_the_work(make_app: Maker) -> None:
    one, other = make_app(), make_app()
    with (
        receiving() as receiver,
        one.node(is_coordinator=False, is_worker=False, is_notifier=True) as first,
        other.node(is_coordinator=False, is_worker=False, is_notifier=True) as second,
    ):
        one.notifications.add(receiver.url, events=["*"], actor="person:ann")
        ids = opened(one, 60)

        def are_all_delivered() -> bool:
            first.turn()
            second.turn()
            return len(one.notifications.deliveries(state="delivered", limit=100)) == 60

        wait_until(are_all_delivered)

    assert sorted(receiver.ids) == sorted(f"msg_{each}_0" for each in ids)


@on_each_store
def test_what_a_dead_notifier_had_under_way_is_delivered_by_the_next(
    make_app: Maker, clock: ManualClock
) -> None:
    app = make_app(clock=clock)
    answer_may_come = Event()
    with receiving(Answer(204, held=answer_may_come)) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        node = app.node(is_coordinator=False, is_worker=False, is_notifier=True)
        while not receiver.posts:
            node.turn()
        node.close()  # the receiver has it, and the result is not stored
        answer_may_come.set()

        deliver(app)
        clock.tick(600)
        deliver(app)

    assert len(receiver.posts) == 2
    assert len(set(receiver.ids)) == 1
    assert only(app).state == "delivered"


@pytest.mark.long
@on_each_store
def test_every_message_arrives_at_a_receiver_that_often_fails(make_app: Maker) -> None:
    app = make_app(LOOPBACK.replace("[0, 0]", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"))
    bad: list[Answer | int] = [500, Answer(429), Answer(502, body=b"x" * 100_000), Answer(301)]
    script = [bad[n % 4] if n * 7 % 10 < 3 else 204 for n in range(400)]
    with receiving(*script) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        ids = opened(app, 200)
        deliver(app)

    assert set(receiver.ids) == {f"msg_{each}_0" for each in ids}
    assert receiver.verified(webhook.secret) == len(receiver.posts) > 200
    assert {each.state for each in app.notifications.deliveries(limit=1000)} == {"delivered"}


def test_a_notifier_that_is_told_to_stop_finishes_what_is_under_way(app: App) -> None:
    answer_may_come = Event()
    with receiving(Answer(204, held=answer_may_come)) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        with app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            while not receiver.posts:
                node.turn()
            node.stop()
            answer_may_come.set()
            node.run()

    assert only(app).state == "delivered"
