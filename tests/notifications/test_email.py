"""Email to the administrator: one for each occurrence, a digest when there are many, over a real mail server."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from stateward.app import App
from stateward.app.doctor import Check, checks
from stateward.core.model import (
    SECOND,
    Applied,
    Event,
    event_id,
)
from stateward.engine.coordinator import Submission
from stateward.notifications.alerts import Alert, plan_emails
from stateward.notifications.email import EmailAddresses, Mailer, compose
from stateward.transport import WorkerInfo
from tests.apps import Maker, on_each_store
from tests.notifications.certificates import Authority
from tests.notifications.conftest import ManualClock, deliver
from tests.notifications.receivers import receiving
from tests.notifications.smtp_server import mail_server

ADDRESSES = EmailAddresses(
    sender="stateward@example.com",
    recipient="admin@example.com",
    public_url="https://docs.example.com",
)
HELPER = WorkerInfo(
    id="helper", host="elsewhere", pid=1, life="", runners=("upload.parse",), slots=100, inline_slots=100,
    started_at=0, seen_at=0,
)  # fmt: skip
NOW = 1_800_000_000 * SECOND


def mailing(port: int, more: str = "") -> str:
    return (
        f"notifications: {{admin_email: admin@example.com, smtp_url: 'smtp://127.0.0.1:{port}', "
        f"public_url: 'https://docs.example.com'{more}}}"
    )


def mail_check(app: App) -> Check:
    """What `stateward doctor` says of the mail."""
    return {check.name: check for check in checks(app)}["mail"]


def failed(
    app: App,
    *,
    count: int = 1,
    is_retryable: bool = False,
    code: str = "NOT_TEXT",
    **how: Any,  # noqa: ANN401 - fields of a submission
) -> list[str]:
    """Records whose first stage was begun and failed."""
    submission = Submission(machine="upload", actor="person:ann", **how)
    opened = app.coordinator.submit([submission] * count)
    app.bus.heartbeat(HELPER)
    app.coordinator.turn()
    app.bus.remove_worker(HELPER.id)
    ids = [each.record.id for each in opened]
    events = [
        Event(
            id=event_id(each, makes=2, type_="parse.failed"),
            type="parse.failed",
            record_id=each,
            version=1,
            at=NOW,
            actor="sequencer:test",
            error_code=code,
            error_message="this is\nno text",
            is_retryable=is_retryable,
        )
        for each in ids
    ]
    assert all(isinstance(each, Applied) for each in app.coordinator.handle(events))
    return ids


def an_alert(number: int = 1, *, topic: str = "exhausted", **facts: object) -> Alert:
    return Alert(
        id=f"UL_{number}:3:{topic}",
        topic=topic,  # type: ignore[arg-type]
        record_id=f"UL_{number}",
        machine="upload",
        facts=facts,  # type: ignore[arg-type]
        created_at=NOW + number,
        attempts=1,
    )


@on_each_store
def test_a_record_whose_retries_are_used_up_is_mailed_once_with_a_link(make_app: Maker) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port))
        (record_id,) = failed(app, is_retryable=True)

        deliver(app)
        deliver(app)

    (mail,) = server.mails
    assert server.recipients == ["admin@example.com"]
    assert mail["To"] == "admin@example.com"
    assert mail["Subject"] == f"[Stateward] {record_id} retries used up: NOT_TEXT"
    assert f"open:    https://docs.example.com/records/{record_id}" in mail.get_content()
    assert "error    NOT_TEXT: this is no text" in mail.get_content()
    assert app.database.rows("SELECT count(*) FROM effects WHERE settled_at IS NULL") == [(0,)]


def test_an_urgent_document_that_is_given_up_is_mailed_as_p2_with_its_name(
    make_app: Maker,
) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port))
        labels = {"filename": "statement.pdf", "priority_reason": "premium_user"}
        (urgent,) = failed(app, is_retryable=True, priority=10, labels=labels)
        (usual,) = failed(app, is_retryable=True, priority=6, labels=labels)
        (hopeless,) = failed(app, is_retryable=False, priority=10, labels=labels)

        deliver(app)

    mails = {str(mail["Subject"]): mail.get_content() for mail in server.mails}
    assert f"[Stateward] {usual} retries used up: NOT_TEXT" in mails
    assert f"[Stateward] P2: {hopeless} (statement.pdf) failed: NOT_TEXT" in mails
    text = mails[f"[Stateward] P2: {urgent} (statement.pdf) retries used up: NOT_TEXT"]
    assert "severity P2" in text
    assert "document statement.pdf" in text
    assert "priority 10 premium_user" in text


@on_each_store
def test_a_source_of_which_many_records_fail_is_mailed_once_and_seen_by_doctor(
    make_app: Maker, clock: ManualClock
) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port, ", email_on: [source]"), clock=clock)
        labels = {"source_type": "scan"}
        failed(app, count=9, code="SOURCE_BUSY", labels=labels)
        failed(app, count=9, code="NOT_TEXT", labels={"source_type": "other"})
        deliver(app)
        assert server.mails == []
        assert next(each for each in checks(app) if each.name == "sources").is_well
        failed(app, code="NOT_TEXT", labels=labels)
        deliver(app)
        failed(app, code="NOT_TEXT", labels=labels)
        deliver(app)
        check = next(each for each in checks(app) if each.name == "sources")

    (mail,) = server.mails
    assert mail["Subject"] == "[Stateward] upload/scan source failing: SOURCE_BUSY"
    assert "stateward list 'machine:upload source:scan error:SOURCE_BUSY'" in mail.get_content()
    assert check.sentence == "upload/scan: 11 failed within an hour, mostly SOURCE_BUSY"
    assert not check.is_well


def test_without_an_address_nothing_is_mailed_and_effects_are_settled(make_app: Maker) -> None:
    app = make_app("")
    failed(app)

    deliver(app)

    assert app.database.rows("SELECT count(*) FROM effects WHERE settled_at IS NULL") == [(0,)]
    assert app.database.rows("SELECT count(*) FROM alerts") == [(0,)]


def test_a_topic_that_is_not_chosen_is_not_mailed(make_app: Maker) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port, ", email_on: [stuck]"))
        failed(app)

        deliver(app)

    assert server.mails == []


def test_a_timeout_is_mailed_as_stuck_once(make_app: Maker, clock: ManualClock) -> None:
    retries = "\nupload_record: {retry: {max_retries: 3, backoff_seconds: [60]}}"
    with mail_server() as server:
        app = make_app(mailing(server.port) + retries, clock=clock)
        failed(app, is_retryable=True, code="TIMEOUT")

        deliver(app)

    (mail,) = server.mails
    assert "stuck: TIMEOUT" in mail["Subject"]


def test_the_last_timeout_is_mailed_once_as_used_up_retries(make_app: Maker) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port))
        failed(app, is_retryable=True, code="TIMEOUT")

        deliver(app)

    assert [subject.split()[2:] for subject in server.subjects] == [
        ["retries", "used", "up:", "TIMEOUT"]
    ]


def test_a_record_that_no_coordinator_moves_is_mailed_as_stuck_once(
    make_app: Maker, clock: ManualClock
) -> None:
    retries = "\nupload_record: {retry: {max_retries: 3, backoff_seconds: [60]}}"
    with mail_server() as server:
        app = make_app(mailing(server.port) + retries, clock=clock)
        failed(app, is_retryable=True)  # its retry is due in a minute, and no coordinator runs
        deliver(app)
        assert server.mails == []

        clock.tick(60 + 31)
        deliver(app)
        clock.tick(60)
        deliver(app)

    assert len(server.mails) == 1
    assert "no coordinator has handled it" in server.texts[0]


def test_many_are_one_mail(make_app: Maker) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port))
        ids = failed(app, count=20)

        deliver(app)

    (mail,) = server.mails
    assert mail["Subject"] == "[Stateward] 20 failed"
    assert "20 upload failed NOT_TEXT" in mail.get_content()
    assert all(each in mail.get_content() for each in ids)


def test_after_many_emails_alerts_are_collected_for_a_while(
    make_app: Maker, clock: ManualClock
) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port, ", digest_over: 2, digest_seconds: 900"), clock=clock)
        for _ in range(5):
            failed(app)
            clock.tick(10)
            deliver(app)
        assert len(server.mails) == 2

        clock.tick(900)
        deliver(app)

    assert len(server.mails) == 3
    assert server.subjects[-1] == "[Stateward] 3 failed"


def test_a_mail_that_is_refused_is_sent_later_under_the_same_id(
    make_app: Maker, clock: ManualClock
) -> None:
    with mail_server("451 come back later", "451 come back later") as server:
        app = make_app(mailing(server.port), clock=clock)
        failed(app)
        deliver(app)
        assert server.mails == []
        ill = mail_check(app)
        assert (ill.is_well, "1 alert not sent yet" in ill.sentence) == (False, True)
        assert "451" in ill.sentence

        clock.tick(60)
        deliver(app)
        clock.tick(300)
        deliver(app)

    assert len(server.mails) == 1
    assert (mail_check(app).is_well, mail_check(app).sentence) == (True, "every alert was sent")
    ((attempts, error),) = app.database.rows("SELECT attempts, error FROM alerts")
    assert (attempts, error) == (3, None)


def test_a_mail_that_is_never_accepted_is_given_up_after_a_day(
    make_app: Maker, clock: ManualClock
) -> None:
    with mail_server(*["554 never"] * 100) as server:
        app = make_app(mailing(server.port), clock=clock)
        failed(app)
        began, error = clock(), None
        for _ in range(20):
            deliver(app)
            ((due_at, error),) = app.database.rows("SELECT due_at, error FROM alerts")
            if due_at is None:
                break
            clock.tick((int(due_at) - clock()) / SECOND)

    assert server.mails == []
    assert "554" in str(error)
    assert 20 * 3600 < (clock() - began) / SECOND < 26 * 3600
    assert "1 alert of the last week never sent" in mail_check(app).sentence
    clock.tick(7 * 86_400)
    assert mail_check(app).is_well


def test_an_open_review_can_be_mailed(make_app: Maker) -> None:
    with mail_server() as server:
        app = make_app(mailing(server.port, ", email_on: [review]"))
        app.database.run(
            "INSERT INTO effects (record_id, version, kind, payload, created_at) VALUES ('CO_1', 3, 'ask',"
            """ '{"type":"ask","record_id":"CO_1","version":3,"review":"approval","deadline":null}', 1)"""
        )

        deliver(app)

    assert server.subjects == ["[Stateward] CO_1 needs review"]
    assert "review   approval" in server.texts[0]


# Over the wire


def context(authority: Authority, name: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*authority.certify(name))
    return made


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_password_and_mail_travel_under_tls(tmp_path: Path, scheme: str) -> None:
    authority = Authority(tmp_path)
    tls = context(authority, "127.0.0.1")
    with mail_server(tls=tls, is_tls_from_the_start=scheme == "smtps", needs_login=True) as server:
        mailer = Mailer(
            f"{scheme}://ann:ge%25heim%40@127.0.0.1:{server.port}", ca_file=str(authority.file)
        )

        assert mailer.send(compose([an_alert()], ADDRESSES, now=NOW)) is None

    assert server.logins == [("ann", True)]
    assert server.was_encrypted == [True]


def test_a_wrong_password_is_reported_without_the_password(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with mail_server(tls=context(authority, "127.0.0.1"), needs_login=True) as server:
        mailer = Mailer(
            f"smtp://ann:geheimnis@127.0.0.1:{server.port}", ca_file=str(authority.file)
        )

        error = mailer.send(compose([an_alert()], ADDRESSES, now=NOW))

    assert error is not None
    assert "535" in error
    assert "geheimnis" not in error
    assert server.mails == []


def test_a_server_with_a_wrong_certificate_gets_nothing(tmp_path: Path) -> None:
    with mail_server(tls=context(Authority(tmp_path), "127.0.0.1")) as server:
        error = Mailer(f"smtp://127.0.0.1:{server.port}").send(
            compose([an_alert()], ADDRESSES, now=NOW)
        )

    assert error is not None
    assert "certificate" in error
    assert server.mails == []


def test_a_password_is_not_sent_to_a_remote_server_without_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with mail_server() as server:
        mailer = Mailer(f"smtp://ann:geheim@127.0.0.1:{server.port}")
        monkeypatch.setattr("stateward.notifications.email._is_loopback", lambda _: False)

        error = mailer.send(compose([an_alert()], ADDRESSES, now=NOW))

    assert error is not None
    assert "the password is not sent without" in error
    assert server.logins == []


def test_a_server_that_does_not_listen_is_a_failure_with_a_reason() -> None:
    error = Mailer("smtp://127.0.0.1:9", timeout_s=1).send(
        compose([an_alert()], ADDRESSES, now=NOW)
    )

    assert error is not None
    assert error.startswith("127.0.0.1:9: ")


# What it says


def test_text_from_a_document_cannot_forge_a_header() -> None:
    alert = an_alert(error_code="X\r\nBcc: evil@example.com", error_message="a\nb")

    mail = compose([alert], ADDRESSES, now=NOW)

    assert mail["Bcc"] is None
    assert mail["Subject"] == "[Stateward] UL_1 retries used up: X Bcc: evil@example.com"


def test_the_same_alerts_have_the_same_message_id() -> None:
    one, again = (compose([an_alert(1), an_alert(2)], ADDRESSES, now=NOW + n) for n in range(2))

    assert one["Message-ID"] == again["Message-ID"]
    assert one["Message-ID"] != compose([an_alert(1)], ADDRESSES, now=NOW)["Message-ID"]


def test_a_long_digest_says_how_much_it_leaves_out() -> None:
    mail = compose([an_alert(n) for n in range(150)], ADDRESSES, now=NOW)

    assert "150 alerts." in mail.get_content()
    assert "… and 50 more" in mail.get_content()


@pytest.mark.parametrize(
    ("waiting", "sent_ago_s", "mails", "later_s"),
    [
        (0, [], [], None),
        (1, [], [1], None),
        (5, [], [1] * 5, None),
        (6, [], [6], None),
        (1, [10] * 4, [1], None),
        (2, [10] * 4, [2], None),
        (1, [10] * 5, [], 890),
        (1, [900] * 5, [1], None),
    ],
)
def test_when_alerts_are_collected(
    waiting: int, sent_ago_s: list[int], mails: list[int], later_s: int | None
) -> None:
    sent = [NOW - each * SECOND for each in sent_ago_s]

    planned, later = plan_emails(
        [an_alert(n) for n in range(waiting)], sent=sent, over=5, window_s=900, now=NOW
    )

    assert [len(each) for each in planned] == mails
    assert later == (None if later_s is None else NOW + later_s * SECOND)


def test_an_address_that_is_gone_is_mailed_without_its_path(
    make_app: Maker, capfd: pytest.CaptureFixture[str]
) -> None:
    with mail_server() as server, receiving(then=410) as receiver:
        app = make_app(mailing(server.port, ", webhook_allow: [127.0.0.1]"))
        url = receiver.url + "?token=geheim"
        app.notifications.add(url, events=["*"], actor="person:ann")
        app.coordinator.submit([Submission(machine="upload", actor="person:ann")] * 3)

        deliver(app)

    (mail,) = server.mails
    assert "webhook failing" in mail["Subject"]
    assert "it answered 410: gone" in mail.get_content()
    assert "geheim" not in mail.get_content() + capfd.readouterr().err
