"""A transition becomes a signed message that arrives at least once, under one id."""

import json
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from stateward.app import App
from stateward.app.doctor import checks
from stateward.core.errors import InvalidRequest
from stateward.core.model import SECOND
from tests.apps import Maker, on_each_store
from tests.notifications.conftest import LOOPBACK, STATEMENT, ManualClock, deliver
from tests.notifications.deliveries import SLOWLY, only, opened
from tests.notifications.receivers import Answer, Post, receiving

DAY_S = 86_400


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
    last = app.records.history(record.id)[-1]
    assert said["type"] == "upload.normalized"
    assert said["data"] == {
        "id": record.id,
        "machine": "upload",
        "status": "normalized",
        "previous_status": "normalizing",
        "version": last.version,
        "trigger": "normalize.completed",
        "count": 1,
        "upload_id": record.id,
        "observations_count": 1,
        "canonicals_count": 1,
        "flags": [],
    }
    beside = {key: said[key] for key in ("upload_id", "status", "canonicals_count")}
    assert beside == {"upload_id": record.id, "status": "normalized", "canonicals_count": 1}
    assert post.id == f"msg_{record.id}_{last.version}"
    assert json.loads(post.body) == said


def test_a_message_is_the_same_at_every_attempt_but_for_its_time(
    make_app: Maker, clock: ManualClock
) -> None:
    app = make_app(SLOWLY, clock=clock)
    with receiving(500, 503) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)

        while tried_again(app, clock) is not None:
            clock.tick(1)

    first, *later = receiver.posts
    assert len(later) == 2
    assert {each.id for each in later} == {first.id}
    assert {each.body for each in later} == {first.body}
    assert later[-1].headers["webhook-timestamp"] > first.headers["webhook-timestamp"]
    assert only(app).state == "delivered"
    assert only(app).attempts == 3


def test_attempts_are_spread_over_a_day_and_then_it_is_dead(
    make_app: Maker, clock: ManualClock
) -> None:
    app = make_app(SLOWLY, clock=clock)
    with receiving(then=500) as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        began = clock()

        waits = []
        while (left := tried_again(app, clock)) is not None:
            waits.append(left)

    assert len(receiver.posts) == 11
    assert 23 * 3600 < (clock() - began) / SECOND < 29 * 3600
    assert waits == sorted(waits)
    assert all(wait != round(wait) for wait in waits)  # jitter
    assert len(set(receiver.ids)) == 1
    dead = only(app)
    assert (dead.state, dead.status, dead.error) == ("dead", 500, "it answered 500")


def tried_again(app: App, clock: ManualClock) -> float | None:
    """One more attempt, and time passes until the next is due: how long; None if there is none."""
    attempts = only(app).attempts if app.notifications.deliveries() else 0
    deliver(
        app, until=lambda: bool(app.notifications.deliveries()) and is_settled(app, attempts + 1)
    )
    due_at = only(app).due_at
    if due_at is None:
        return None
    wait_us = due_at - clock()
    clock.tick(wait_us / SECOND)
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
        assert (ill.is_well, ill.sentence) == (False, "1 undelivered")
        assert "stateward webhook replay --dead" in ill.advice

        assert app.notifications.replay(state="dead") == 1
        deliver(app)

    assert only(app).state == "delivered"
    assert len(receiver.posts) == 4
    assert len(set(receiver.ids)) == 1
    assert receiver.verified(webhook.secret) == 4
    assert app.notifications.replay(state="dead") == 0


def test_replaying_everything_is_refused(app: App) -> None:
    with pytest.raises(InvalidRequest, match="not everything"):
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


def test_both_secrets_sign_while_one_replaces_the_other(
    make_app: Maker, clock: ManualClock
) -> None:
    app = make_app(clock=clock)
    with receiving() as receiver:
        old = app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        new = app.notifications.rotate(old.id, actor="person:ann")
        opened(app)
        deliver(app)
        clock.tick(DAY_S + 1)
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


@on_each_store
def test_what_was_delivered_long_ago_is_forgotten(make_app: Maker, clock: ManualClock) -> None:
    app = make_app(clock=clock)
    with receiving() as receiver:
        app.notifications.add(receiver.url, events=["*"], actor="person:ann")
        opened(app)
        deliver(app)
        clock.tick(31 * DAY_S)
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
