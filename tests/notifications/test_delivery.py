"""From a transition to a receiver: signed, once committed never lost, the same message at every attempt."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from stateward.app import App
from stateward.app.doctor import checks
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.model import SECOND
from stateward.engine.coordinator import Submission
from stateward.notifications import Delivery
from tests.notifications.conftest import LOOPBACK, STATEMENT, Hands, Maker, deliver, on_each_store
from tests.notifications.receivers import Answer, Post, receiving

DAY_S = 86_400
SLOWLY = "notifications: {webhook_allow: [127.0.0.1], webhook_timeout_seconds: 2}"


def opened(app: App, count: int = 1) -> list[str]:
    """Records that were just opened: one transition each, to queued_for_parse."""
    made = app.coordinator.open([Submission(machine="upload", actor="person:ann")] * count)
    return [each.record.id for each in made]


def only(app: App) -> Delivery:
    (found,) = app.notifications.deliveries()
    return found


@on_each_store
def test_a_transition_becomes_a_signed_post(app: App) -> None:
    with receiving() as receiver:
        webhook = app.notifications.add(
            receiver.url, events=["upload.normalized"], actor="person:ann"
        )
        record = app.submit(STATEMENT).record

        app.run_until_idle()
        deliver(app)

    (post,) = receiver.posts
    said = Verifier(webhook.secret).verify(post.body, post.headers)
    last = app.history(record.id)[-1]
    assert said["type"] == "upload.normalized"
    assert said["data"] == {
        "id": record.id,
        "machine": "upload",
        "status": "normalized",
        "previous_status": "normalizing",
        "version": last.version,
        "trigger": "normalize.completed",
        "count": 1,
    }
    assert post.id == f"msg_{record.id}_{last.version}"
    assert json.loads(post.body) == said


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
    door = make_app()
    with (
        receiving() as receiver,
        app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node,
    ):
        node.turn()  # nobody listens, and the next look is a second away
        door.notifications.add(receiver.url, events=["*"], actor="person:ann")
        ids = opened(door, 3)

        node.run(until_idle=True)

    assert sorted(receiver.ids) == sorted(f"msg_{each}_0" for each in ids)


def test_a_message_is_the_same_at_every_attempt_but_for_its_time(
    make_app: Maker, hands: Hands
) -> None:
    app = make_app(SLOWLY, clock=hands)
    with receiving(500, 503) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)

        while tried_again(app, hands) is not None:
            hands.tick(1)

    first, *later = receiver.posts
    assert len(later) == 2
    assert {each.id for each in later} == {first.id}
    assert {each.body for each in later} == {first.body}
    assert later[-1].headers["webhook-timestamp"] > first.headers["webhook-timestamp"]
    assert only(app).state == "delivered"
    assert only(app).attempts == 3


def test_attempts_are_spread_over_a_day_and_then_it_is_dead(make_app: Maker, hands: Hands) -> None:
    app = make_app(SLOWLY, clock=hands)
    with receiving(then=500) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        began = hands()

        waits = []
        while (left := tried_again(app, hands)) is not None:
            waits.append(left)

    assert len(receiver.posts) == 11
    assert 23 * 3600 < (hands() - began) / SECOND < 29 * 3600
    assert waits == sorted(waits)
    assert all(wait != round(wait) for wait in waits)  # jitter
    assert len(set(receiver.ids)) == 1
    dead = only(app)
    assert (dead.state, dead.status, dead.error) == ("dead", 500, "it answered 500")


def tried_again(app: App, hands: Hands) -> float | None:
    """One more attempt, and time passes until the next is due: how long; None if there is none."""
    attempts = only(app).attempts if app.notifications.deliveries() else 0
    deliver(
        app, until=lambda: bool(app.notifications.deliveries()) and is_settled(app, attempts + 1)
    )
    due_at = only(app).due_at
    if due_at is None:
        return None
    wait_us = due_at - hands()
    hands.tick(wait_us / SECOND)
    return wait_us / SECOND


def is_settled(app: App, attempts: int) -> bool:
    delivery, log = app.notifications.delivery(only(app).webhook_id, only(app).message_id)
    return delivery.attempts == len(log) == attempts


@on_each_store
def test_what_is_dead_can_be_replayed_under_the_same_id(app: App) -> None:
    with receiving(500, 500, 500) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)
        assert only(app).state == "dead"
        ill = {check.name: check for check in checks(app)}["notifications"]
        assert (ill.is_well, ill.sentence) == (False, "1 could not be delivered")
        assert "stateward webhook replay --dead" in ill.advice

        assert app.notifications.replay(state="dead") == 1
        deliver(app)

    assert only(app).state == "delivered"
    assert len(receiver.posts) == 4
    assert len(set(receiver.ids)) == 1
    assert receiver.verified(webhook.secret) == 4
    assert app.notifications.replay(state="dead") == 0


def test_replaying_everything_is_refused(app: App) -> None:
    with pytest.raises(InvalidRequest, match="never meant"):
        app.notifications.replay()


def test_a_redirect_is_a_failure_and_is_not_followed(app: App) -> None:
    with receiving() as other:
        there = Answer(302, headers=(("Location", other.url),))
        with receiving(then=there) as receiver:
            app.notifications.add(receiver.url, events=["*"], actor="person:ann")
            opened(app)
            deliver(app)

    assert other.posts == []
    assert only(app).state == "dead"
    assert "redirects are not followed" in str(only(app).error)


@on_each_store
def test_an_endpoint_that_is_gone_is_disabled_and_what_waited_for_it_is_dead(
    make_app: Maker, hands: Hands
) -> None:
    app = make_app(SLOWLY, clock=hands)
    with receiving(500, 500, 500, 410) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app, 3)
        deliver(app)
        hands.tick(1)
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
    assert app.notifications.enable(webhook.id).is_enabled
    assert app.notifications.replay(webhook_id=webhook.id) == 4


@on_each_store
def test_who_asks_for_a_pause_gets_one(make_app: Maker, hands: Hands) -> None:
    app = make_app(SLOWLY, clock=hands)
    busy = Answer(429, headers=(("Retry-After", "1000"),))
    with receiving(busy) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)
        opened(app, 2)

        hands.tick(990)
        deliver(app)
        assert len(receiver.posts) == 1

        hands.tick(20)
        deliver(app)

    assert len(receiver.posts) == 4
    assert {each.state for each in app.notifications.deliveries()} == {"delivered"}


def test_both_secrets_sign_while_one_replaces_the_other(make_app: Maker, hands: Hands) -> None:
    app = make_app(clock=hands)
    with receiving() as receiver:
        old = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        new = app.notifications.rotate(old.id)
        opened(app)
        deliver(app)
        hands.tick(DAY_S + 1)
        opened(app)
        deliver(app)

    during, after = receiver.posts
    assert (believes(old.secret, during), believes(new.secret, during)) == (True, True)
    assert (believes(old.secret, after), believes(new.secret, after)) == (False, True)
    assert old.secret not in repr(new)


def believes(secret: str, post: Post) -> bool:
    """Whether the independent library would have signed like this."""
    at = datetime.fromtimestamp(int(post.headers["webhook-timestamp"]), UTC)
    right = Verifier(secret).sign(post.id, at, post.body.decode())
    return right in post.headers["webhook-signature"].split()


def test_the_envelope_can_be_a_cloud_event(make_app: Maker) -> None:
    public = LOOPBACK.replace("{", "{public_url: 'https://docs.example.com/', ")
    app = make_app(public)
    with receiving() as receiver:
        webhook = app.notifications.add(
            receiver.url, events=["*"], content="cloudevents", actor="person:ann"
        )
        (record_id,) = opened(app)
        deliver(app)

    (post,) = receiver.posts
    event = Verifier(webhook.secret).verify(post.body, post.headers)
    assert post.headers["content-type"] == "application/cloudevents+json"
    assert event.pop("time")
    assert event.pop("data")["url"] == f"https://docs.example.com/records/{record_id}"
    assert event == {
        "specversion": "1.0",
        "id": post.id,
        "source": "https://docs.example.com",
        "type": "stateward.upload.queued_for_parse",
        "subject": record_id,
        "datacontenttype": "application/json",
    }


def test_the_log_keeps_request_and_answer_and_hides_secrets(app: App) -> None:
    said = Answer(
        200, headers=(("Set-Cookie", "sid=geheim"), ("X-Own", "a\tb")), body=b"thanks\x00"
    )
    with receiving(said) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)

    delivery, (attempt,) = app.notifications.delivery(webhook.id, receiver.ids[0])
    assert delivery.body == receiver.posts[0].body.decode()
    assert attempt.status == 200
    assert attempt.address == "127.0.0.1"
    assert attempt.response_body == "thanks\ufffd"
    assert attempt.response_headers["set-cookie"] == "(hidden)"
    assert attempt.request_headers["webhook-id"] == receiver.ids[0]
    assert attempt.request_headers["webhook-signature"] == "(hidden)"
    signature = receiver.posts[0].headers["webhook-signature"]
    assert signature not in repr(attempt)
    assert webhook.secret not in repr(app.notifications.webhooks())


def test_a_test_message_is_delivered_like_any_other(app: App) -> None:
    with receiving() as receiver:
        webhook = app.notifications.add(receiver.url, events=["upload.error"], actor="person:ann")

        sent = app.notifications.ping(webhook.id)
        deliver(app)

    assert receiver.ids == [sent.message_id]
    assert receiver.verified(webhook.secret) == 1
    assert json.loads(receiver.posts[0].body)["type"] == "ping"


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
        ("https://me:pw@example.com/", ["*"], "no login"),
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
        deadline = time.monotonic() + 45.0
        while len(one.notifications.deliveries(state="delivered", limit=100)) < 60:
            assert time.monotonic() < deadline, "not all were delivered"
            first.turn()
            second.turn()
            time.sleep(0.002)

    assert sorted(receiver.ids) == sorted(f"msg_{each}_0" for each in ids)


@on_each_store
def test_what_a_dead_notifier_had_under_way_is_delivered_by_the_next(
    make_app: Maker, hands: Hands
) -> None:
    app = make_app(clock=hands)
    with receiving(Answer(204, wait_s=0.3)) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        node = app.node(is_coordinator=False, is_worker=False, is_notifier=True)
        while not receiver.posts:
            node.turn()
        node.close()  # the receiver has it, and nobody wrote that down

        deliver(app)
        hands.tick(60)
        deliver(app)

    assert len(receiver.posts) == 2
    assert len(set(receiver.ids)) == 1
    assert only(app).state == "delivered"


def test_one_endpoint_that_hangs_does_not_hold_up_the_others(app: App) -> None:
    with receiving(then=Answer(204, wait_s=1.5)) as slow, receiving() as quick:
        app.notifications.add(slow.url, events=["*"], actor="person:ann")
        app.notifications.add(quick.url, events=["*"], actor="person:ann")
        opened(app, 20)

        deliver(app, until=lambda: len(quick.posts) == 20, within_s=1.4)

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


@on_each_store
def test_every_message_arrives_at_a_receiver_that_often_fails(make_app: Maker) -> None:
    app = make_app(LOOPBACK.replace("[0, 0]", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"))
    bad: list[Answer | int] = [500, Answer(429), Answer(502, body=b"x" * 100_000), Answer(301)]
    script = [bad[n % 4] if n * 7 % 10 < 3 else 204 for n in range(400)]
    with receiving(*script) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        ids = opened(app, 200)
        deliver(app, within_s=30)

    assert set(receiver.ids) == {f"msg_{each}_0" for each in ids}
    assert receiver.verified(webhook.secret) == len(receiver.posts) > 200
    assert {each.state for each in app.notifications.deliveries(limit=1000)} == {"delivered"}


@on_each_store
def test_what_was_delivered_long_ago_is_forgotten(make_app: Maker, hands: Hands) -> None:
    app = make_app(clock=hands)
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)
        hands.tick(31 * DAY_S)
        deliver(app)

    assert app.notifications.deliveries() == []


def test_a_question_to_a_person_goes_with_the_message(app: App) -> None:
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        (record_id,) = opened(app)
        app.database.run(
            "INSERT INTO effects (record_id, version, kind, payload, created_at) VALUES (:id, 0, 'ask',"
            """ '{"type":"ask","review":"approval","deadline":1800000000000000}', 1)""",
            id=record_id,
        )
        deliver(app)

    said = json.loads(receiver.posts[0].body)["data"]
    assert (said["review"], said["deadline"]) == ("approval", "2027-01-15T08:00:00.000000Z")
    assert app.database.rows("SELECT count(*) FROM effects WHERE settled_at IS NULL") == [(0,)]


def test_a_notifier_that_is_told_to_stop_finishes_what_is_under_way(app: App) -> None:
    with receiving(Answer(204, wait_s=0.3)) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        with app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            while not receiver.posts:
                node.turn()
            node.stop()
            node.run()

    assert only(app).state == "delivered"


def test_an_endpoint_that_is_removed_meanwhile_is_no_trouble(app: App) -> None:
    with receiving(Answer(204, wait_s=0.3)) as receiver:
        webhook = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        with app.node(is_coordinator=False, is_worker=False, is_notifier=True) as node:
            while not receiver.posts:
                node.turn()
            app.notifications.remove(webhook.id)
            node.run(until_idle=True)

    assert app.notifications.deliveries() == []
