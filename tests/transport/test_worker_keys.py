"""Credentials of workers: what a coordinator takes in, from whom, and what is left of a refusal."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.engine import admission
from stateward.transport.credentials import WorkerCredential, is_signed, read_credential, sign
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    HeartbeatMessage,
    encode,
    from_bytes,
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
    _, credential = scene.app.admin.new_worker_key("office", stages=["upload.*"])
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
    assert sorted(map(str, audited)) == sorted(reasons)
    impostor.channel.close()


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
