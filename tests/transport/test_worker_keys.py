"""Credentials of workers: what a coordinator takes in, from whom, and what is left of a refusal."""

import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from stateward.app import App
from stateward.app.doctor import checks
from stateward.app.secrets import rotate, state
from stateward.core.errors import InvalidRequest, SecretUnreadable, UnknownName
from stateward.core.model import SECOND, Micros, to_iso
from stateward.engine import admission
from stateward.storage.sealing import is_sealed
from stateward.transport.credentials import WorkerCredential, is_signed, read_credential, sign
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    Envelope,
    HeartbeatMessage,
    ResultMessage,
    encode,
    from_bytes,
    results_stream,
    to_bytes,
)
from tests.transport.brokers import server_of
from tests.transport.impostor import Impostor, first_work
from tests.transport.scene import Scene

# No work is taken for lost while a test is about who may report it.
PATIENT = "worker: {heartbeat_seconds: 0.3, lease_seconds: 60}\n"
STATEMENT = b"Date;Text;Amount\n2026-01-05;a;-1,00\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server_of("redis") as own:
        yield own


@pytest.fixture
def scene(url: str, tmp_path: Path) -> Iterator[Scene]:
    own = Scene(url, tmp_path, f"k{os.urandom(6).hex()}", times=PATIENT)
    yield own
    own.close()


def test_a_signature_holds_on_the_way_and_for_nothing_else() -> None:
    credential = WorkerCredential(id="k", secret="s", stages=("upload.*",))
    message = HeartbeatMessage(worker="w", runners=["a.b"], slots=1)
    signed = sign(encode(HEARTBEAT, message, id_="1", source="/w", subject="w", at=1), credential)

    arrived = from_bytes(to_bytes(signed))

    assert is_signed(arrived, "s")
    assert not is_signed(arrived, "t")
    for change in ({"type": RESULT}, {"id": "2"}, {"source": "/x"}, {"subject": "x"}, {"time": ""}):
        assert not is_signed(msgspec.structs.replace(arrived, **change), "s")
    forged = msgspec.Raw(bytes(arrived.data).replace(b'"slots":1', b'"slots":9'))
    assert not is_signed(msgspec.structs.replace(arrived, data=forged), "s")


def test_a_worker_with_a_credential_does_its_stages_under_its_name(scene: Scene) -> None:
    key, credential = scene.app.admin.new_worker_key("office", stages=["upload.*"])
    assert credential.secret not in str(scene.app.database.rows("SELECT secret FROM worker_keys"))
    # As the version before stored it, which the key file is then rotated under.
    scene.app.database.run("UPDATE worker_keys SET secret = :plain", plain=credential.secret)
    assert scene.app.worker_keys.open(key, credential.secret) == credential.secret
    assert state(scene.app).plain == 1
    assert rotate(scene.app, actor="person:a").workers == state(scene.app).sealed == 1
    file = scene.folder / "credential.json"
    file.write_bytes(msgspec.json.encode(credential))
    scene.add_worker(transport=f", credential: '{file}'")
    record = scene.app.submit(STATEMENT).record

    assert scene.finish(record.id) == "normalized"

    workers = {each.worker for each in scene.app.outputs.attempts(record.id)}
    assert all(each.startswith("office/") for each in workers)


def test_what_no_live_credential_of_the_stage_has_signed_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 0.0)
    admin = scene.app.admin
    good, credential = admin.new_worker_key("good", stages=["upload.parse"])
    _, other = admin.new_worker_key("other", stages=["upload.normalize"])
    impostor = Impostor(scene, credential=credential)
    message = first_work(scene, impostor, STATEMENT)
    impostor.announce(at=1)
    for wrong in (None, other, msgspec.structs.replace(credential, secret="guessed"),
                  msgspec.structs.replace(credential, id="unknown")):  # fmt: skip
        impostor.credential = wrong
        impostor.answer(message, error_code="FORGED", is_retryable=False)
    scene.until(lambda: len(impostor.channel.dead_letters()) == 4)
    admin.revoke_worker_key(good.id)
    impostor.credential = credential
    impostor.answer(message, error_code="FORGED", is_retryable=False)
    scene.until(lambda: len(impostor.channel.dead_letters()) == 5)

    assert scene.app.outputs.attempts(message.work.record_id) == []
    reasons = [
        "it is not signed, and workers have credentials here",
        "the credential other is not for upload.parse",
        "its signature is not that of the credential good",
        "it is signed with a credential that is not known",
        "the credential good is revoked",
    ]
    assert [each.reason for each in impostor.channel.dead_letters()] == reasons
    audited = [each.reason for each in scene.app.audit.entries() if each.verb == "key_refused"]
    (stale,) = set(audited) - set(reasons)
    assert "a heartbeat of the credential good is more than 300 s off" in str(stale)
    assert len(audited) == len(reasons) + 1
    assert state(scene.app).sealed == 1  # the revoked one is gone
    impostor.channel.close()


def test_a_result_of_a_record_that_is_not_here_is_a_dead_letter(
    scene: Scene,
) -> None:
    impostor = Impostor(scene)
    work = first_work(scene, impostor, STATEMENT).work
    message = ResultMessage(
        record_id="UL_elsewhere", version=work.version, delivery=work.delivery, assigned_to=work.worker,
        stage=work.stage, worker="impostor",
    )  # fmt: skip

    impostor.send(RESULT, message)
    scene.until(lambda: bool(impostor.channel.dead_letters()))

    (letter,) = impostor.channel.dead_letters()
    assert letter.reason.startswith("a result of 'UL_elsewhere', which is no record here: two inst")
    impostor.channel.close()


def test_a_worker_that_does_not_sign_is_one_dead_letter_and_not_one_for_each_heartbeat(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 0.0)
    scene.app.admin.new_worker_key("good", stages=["upload.parse"])
    unsigned = Impostor(scene)
    for _ in range(3):
        unsigned.announce()

    scene.until(lambda: not unsigned.channel.depth(results_stream(scene.prefix)))

    reasons = [each.reason for each in unsigned.channel.dead_letters()]
    assert reasons == ["it is not signed, and workers have credentials here"]
    unsigned.channel.close()


def test_what_came_waits_while_the_key_file_does_not_open_its_credential(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, credential = scene.app.admin.new_worker_key("far", stages=["upload.*"])
    impostor, tried = Impostor(scene, credential=credential), []

    def is_missing(*_: object) -> str:
        tried.append(1)
        raise SecretUnreadable("the key is not here")

    with monkeypatch.context() as patch:
        patch.setattr(scene.app.worker_keys, "open", is_missing)
        impostor.announce()
        scene.until(lambda: bool(tried))

    def seen_at() -> Micros:
        return next((e.seen_at for e in scene.app.bus.workers() if e.id == "far/impostor"), 0)

    scene.until(lambda: seen_at() > 0)
    assert impostor.channel.dead_letters() == []

    # Another coordinator, which has not heard the first one, counts neither that nor an earlier one.
    monkeypatch.setattr(admission.Admission, "is_news", lambda *_: True)
    before = seen_at()
    for at in (before, before - SECOND, before + SECOND):
        impostor.announce(at=at)
    scene.until(lambda: not impostor.channel.depth(results_stream(scene.prefix)))
    assert seen_at() == before + SECOND
    impostor.channel.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with App.embedded(tmp_path) as own:
        yield own


def test_a_heartbeat_counts_once_and_while_it_is_new(app: App) -> None:
    key, _ = app.admin.new_worker_key("office", stages=["upload.*"])
    now = 10**15
    own = admission.Admission(app.worker_keys, app.audit, clock=lambda: now)

    def is_news(time: str, worker: str = "w") -> bool:
        sent = Envelope(specversion="1.0", id="1", source="/w", type=HEARTBEAT, time=time)
        return own.is_news(sent, key, worker)

    times = [now - 2 * SECOND, now, now, now - SECOND, now + SECOND]
    assert [is_news(to_iso(each)) for each in times] == [True, True, False, False, True]
    assert is_news(to_iso(now), "another")
    for off_s in (-301, 301):
        with pytest.raises(admission.StaleHeartbeat, match="the clock"):
            is_news(to_iso(now + off_s * SECOND))
    for wrong in ("", "yesterday", "2026-01-01T00:00:00"):
        with pytest.raises(admission.RefusedMessage, match="without a time"):
            is_news(wrong)


def test_a_secret_opens_nothing_but_its_own_credential(app: App) -> None:
    one, _ = app.admin.new_worker_key("one", stages=["upload.*"])
    other, _ = app.admin.new_worker_key("other", stages=["upload.*"])
    stored = {key.id: secret for key, secret in app.worker_keys.stored()}

    assert all(map(is_sealed, stored.values()))
    with pytest.raises(SecretUnreadable, match="another place"):
        app.worker_keys.open(one, stored[other.id])


def test_a_credential_names_stages_that_exist(scene: Scene) -> None:
    for stage, unknown in (("upload.none", "none"), ("nothing.parse", "nothing"), ("upload", "''")):
        with pytest.raises(UnknownName, match=unknown):
            scene.app.admin.new_worker_key("w", stages=[stage])


def test_a_file_that_holds_no_credential_is_named_without_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "credential.json"
    for text in (None, "{", '{"id": "a", "secret": 7}'):
        if text is not None:
            file.write_text(text)
        with pytest.raises(InvalidRequest, match=r"credential.json cannot be read \(\w+\)"):
            read_credential(file)


@pytest.fixture
def quick_scene(url: str, tmp_path: Path) -> Iterator[Scene]:
    own = Scene(url, tmp_path, f"k{os.urandom(6).hex()}")
    yield own
    own.close()


def test_a_worker_whose_credential_is_revoked_ends_and_another_one_does_its_work(
    quick_scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 0.0)
    scene = quick_scene
    files = []
    for name in ("old", "new"):
        key, credential = scene.app.admin.new_worker_key(name, stages=["upload.*"])
        files.append((key, scene.folder / f"{name}.json"))
        files[-1][1].write_bytes(msgspec.json.encode(credential))
    old = scene.add_worker(transport=f", credential: '{files[0][1]}'")
    scene.until(lambda: any(each.via for each in scene.app.bus.workers()))
    record = scene.app.submit(STATEMENT).record
    scene.until(lambda: scene.app.record(record.id).status == "parsing")
    scene.app.admin.revoke_worker_key(files[0][0].id)

    with pytest.raises(InvalidRequest, match=f"the credential {files[0][0].id} of this worker is"):
        scene.until(lambda: False)
    scene.end_worker(old)
    scene.add_worker(transport=f", credential: '{files[1][1]}'")

    assert scene.finish(record.id) == "normalized"
    assert {each.worker[:4] for each in scene.app.outputs.attempts(record.id)} == {"new/"}


def test_a_worker_without_a_credential_ends_where_workers_have_them_and_keeps_no_work(
    quick_scene: Scene, monkeypatch: pytest.MonkeyPatch, log_lines: StringIO
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 0.0)
    scene = quick_scene
    bare = scene.add_worker()
    scene.until(lambda: any(each.via for each in scene.app.bus.workers()))
    _, credential = scene.app.admin.new_worker_key("new", stages=["upload.*"])
    file = scene.folder / "new.json"
    file.write_bytes(msgspec.json.encode(credential))
    record = scene.app.submit(STATEMENT).record

    with pytest.raises(InvalidRequest, match="it has no credential; make one with"):
        scene.until(lambda: False)
    scene.end_worker(bare)
    scene.add_worker(transport=f", credential: '{file}'")

    assert scene.finish(record.id) == "normalized"
    assert {each.worker[:4] for each in scene.app.outputs.attempts(record.id)} == {"new/"}
    assert not scene.app.record(record.id).retry_count
    assert "a message of /stateward/workers/" in log_lines.getvalue()


def test_a_worker_whose_credential_is_not_known_ends_and_one_made_just_now_is_known(
    quick_scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FRESH_S", 600.0)  # what was read of the credentials counts on
    scene = quick_scene
    credentials = {name: scene.folder / f"{name}.json" for name in ("first", "second", "elsewhere")}
    for number, (name, file) in enumerate(credentials.items()):
        if name != "elsewhere":
            _, credential = scene.app.admin.new_worker_key(name, stages=["upload.*"])
        else:
            credential = WorkerCredential(id=name, secret="s", stages=("upload.*",))
        file.write_bytes(msgspec.json.encode(credential))
        scene.until(lambda: len([each for each in scene.app.bus.workers() if each.via]) == number)  # noqa: B023 - it is called here
        scene.add_worker(transport=f", credential: '{file}'")

    with pytest.raises(
        InvalidRequest, match="elsewhere of this worker is revoked, or coordinators"
    ):
        scene.until(lambda: False)


def test_doctor_names_the_stages_that_records_wait_for_and_no_worker_may_do(scene: Scene) -> None:
    app = scene.app
    _, credential = app.admin.new_worker_key("last", stages=["upload.normalize"])
    impostor = Impostor(scene, credential=credential)
    impostor.announce()
    scene.until(lambda: any(each.via for each in app.bus.workers()))

    def said() -> tuple[str, bool]:
        (check,) = [each for each in checks(app) if each.name == "workers"]
        return check.sentence, check.is_well

    before = said()
    app.submit(STATEMENT)
    waiting = said()
    app.actions.pause("upload", "parse", actor="person:a", reason=None)

    assert before == ("1 alive", True)
    assert waiting == ("1 alive, and none can run upload.parse, for which records wait", False)
    assert said() == before
    impostor.channel.close()


def test_what_a_revoked_worker_takes_and_never_gives_back_is_sent_to_another_one(
    quick_scene: Scene,
) -> None:
    scene = quick_scene
    key, credential = scene.app.admin.new_worker_key("old", stages=["upload.*"])
    _, good = scene.app.admin.new_worker_key("new", stages=["upload.*"])
    impostor = Impostor(scene, credential=credential)
    message = first_work(scene, impostor, STATEMENT)  # gone from the stream
    scene.app.admin.revoke_worker_key(key.id)
    file = scene.folder / "new.json"
    file.write_bytes(msgspec.json.encode(good))
    scene.add_worker(transport=f", credential: '{file}'")

    assert scene.finish(message.work.record_id) == "normalized"

    impostor.channel.close()


def test_work_that_nobody_answers_fails_in_the_end_and_tells_what_became_of_it(
    quick_scene: Scene,
) -> None:
    impostor = Impostor(quick_scene)
    record = quick_scene.app.submit(STATEMENT).record

    def has_failed() -> bool:
        impostor.announce()
        impostor.take()
        return quick_scene.app.record(record.id).status == "error"

    quick_scene.until(has_failed)

    failed = quick_scene.app.record(record.id)
    assert failed.error_code == "WORKER_LOST"
    assert failed.error_message == (
        "it was published 3 times and no worker answered, the last time because its stream no longer has it"
    )
    impostor.channel.close()
