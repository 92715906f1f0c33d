"""What a person is told of work and messages behind a transport, and what they can do about them."""

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis
from click.testing import CliRunner

from stateward.app import App
from stateward.app.doctor import checks
from stateward.app.transport_letters import act_on_letters, transport_letters
from stateward.cli import cli
from stateward.cli.exit_codes import Exit
from stateward.console import console
from stateward.core.model import Work, to_iso
from stateward.schemas import TransportLetter
from stateward.storage.dead_letters import DeadLetter
from stateward.transport import Holder
from stateward.transport.connect import connect
from stateward.transport.engine import AskedEngine, Parcel, unreachable
from stateward.transport.messages import RESULT, Key, WorkMessage, results_stream
from tests.server.api_client import serving
from tests.transport.brokers import server_of
from tests.transport.impostor import Impostor, first_work
from tests.transport.scene import Scene, settings
from tests.waiting import wait_until

STATEMENT = b"Date;Text;Amount\n2026-01-05;a;-1,00\n"
OTHERS = [pytest.param(each, marks=pytest.mark.long) for each in ("nats", "kafka")]


@pytest.fixture(scope="module", params=["redis", *OTHERS])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with server_of(request.param) as own:
        yield own


@pytest.fixture
def scene(url: str, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(url, tmp_path, f"o{os.urandom(6).hex()}")
    yield made
    made.close()


@pytest.fixture
def impostor(scene: Scene) -> Iterator[Impostor]:
    own = Impostor(scene)
    yield own
    own.channel.close()


def test_who_behind_the_transport_has_the_work_is_told(scene: Scene, impostor: Impostor) -> None:
    work = first_work(scene, impostor, STATEMENT).work
    explain = partial(scene.app.records.explain, work.record_id)
    sent = explain()
    before = scene.app.clock()

    until_code(scene, impostor, work, "running", holding=[key_of(work)], host="far-7")
    running, held = explain(), scene.app.bus.holder(work.record_id, work.version)
    until_code(scene, impostor, work, "sent")  # it has it no more

    assert (sent.code, "no worker has said yet that it has it" in sent.sentence) == ("sent", True)
    assert held is not None
    assert before <= held.since <= scene.app.clock()
    assert running.sentence.startswith(
        f"worker impostor on far-7 has had it since {to_iso(held.since)}; its timeout is at "
    )


def test_of_work_that_a_worker_may_not_have_it_is_not_named(
    scene: Scene, impostor: Impostor
) -> None:
    work = first_work(scene, impostor, STATEMENT).work
    key = (work.record_id, work.version, work.delivery)
    note = partial(scene.app.bus.note_holder, at=1)

    note("a", [key], is_let=lambda each: each.stage == "normalize")
    refused = scene.app.bus.holder(work.record_id, work.version)
    note("a", [(work.record_id, work.version, work.delivery + 1)], is_let=lambda _: True)
    other = scene.app.bus.holder(work.record_id, work.version)
    note("a", [key], is_let=lambda _: True)
    note("a", [key], is_let=lambda _: True, at=2)  # another coordinator hears the same later

    assert refused == other == Holder(worker="", since=0)
    assert scene.app.bus.holder(work.record_id, work.version) == Holder(worker="a", since=1)
    assert [(who, each.record_id) for who, each in scene.app.bus.held_work(limit=9)] == [
        ("a", work.record_id)
    ]


def test_dead_letters_of_the_broker_are_listed_beside_those_of_the_store(
    scene: Scene, impostor: Impostor
) -> None:
    record = buried_result(scene, impostor)
    scene.app.store.dead_letters.add(
        [DeadLetter(kind="event", body="{", reason="it has no kind", at=scene.app.clock())]
    )

    listed = [json.loads(each) for each in command(scene, "dead-letters", "--jsonl").splitlines()]

    of_store, of_broker = listed  # the newest first
    assert of_store["reason"] == "it has no kind"
    assert of_broker["record_id"] == record
    assert of_broker["stream"] == results_stream(scene.prefix)
    assert of_broker["kind"] == RESULT
    assert of_broker["source"] == "/impostor"
    assert "Expected `int`" in of_broker["reason"]
    assert of_broker["at"] <= to_iso(scene.app.clock())


def test_a_dead_letter_of_the_broker_is_dropped_and_that_is_kept(
    scene: Scene, impostor: Impostor
) -> None:
    buried_result(scene, impostor)
    (letter,) = transport_letters(scene.app)

    done = command(scene, "dead-letters", "--drop", letter.id)
    again = act_on_letters(scene.app, "drop", [letter.id], actor="person:a")

    assert done == f"{letter.id}: it is dropped\n"
    assert [each.is_done for each in again] == [False]
    assert transport_letters(scene.app) == []
    (entry,) = scene.app.audit.entries(verb="dead_letter_dropped")
    assert entry.detail == {"letter": letter.id, "stream": letter.stream, "why": letter.reason}


def test_what_a_dead_letter_was_about_is_done_again_from_the_store(
    scene: Scene, impostor: Impostor
) -> None:
    record = buried_result(scene, impostor)
    (letter,) = transport_letters(scene.app)
    before = scene.app.bus.assigned(record, scene.app.record(record).version)

    (outcome,) = act_on_letters(scene.app, "resend", [letter.id], actor="person:a")
    again: list[WorkMessage] = []

    def has_come() -> bool:
        impostor.announce()
        if (message := impostor.take()) is not None:
            again.append(message)
        return bool(again)

    scene.until(has_come)

    assert outcome.sentence == f"the work of {record} is sent again"
    assert before is not None
    assert again[0].work.delivery > before.delivery
    assert transport_letters(scene.app) == []


def test_a_dead_letter_of_a_failed_record_has_it_retried(scene: Scene, impostor: Impostor) -> None:
    message = first_work(scene, impostor, STATEMENT)
    record = message.work.record_id
    impostor.send(RESULT, {"record_id": 7}, subject=record)
    impostor.answer(message, error_code="ODD", error_message="no", is_retryable=False)
    scene.until(lambda: scene.app.record(record).error_code == "ODD" and bool(letters(scene)))

    (outcome,) = act_on_letters(scene.app, "resend", [letters(scene)[0].id], actor="person:a")

    assert outcome.sentence == f"{record} had failed, and is tried again from queued_for_parse"


def test_what_needs_nothing_again_is_not_sent_again(scene: Scene, impostor: Impostor) -> None:
    message = first_work(scene, impostor, STATEMENT)
    work = message.work
    impostor.send(RESULT, {"record_id": 7}, subject=work.record_id)
    impostor.send(RESULT, {"record_id": 7}, subject="")
    scene.until(lambda: len(letters(scene)) == 2)
    until_code(scene, impostor, work, "running", holding=[key_of(work)])

    outcomes = act_on_letters(
        scene.app, "resend", [each.id for each in letters(scene)], actor="person:a"
    )

    assert [each.is_done for each in outcomes] == [False, False]
    assert "it is about no record" in outcomes[0].sentence
    assert f"worker impostor has the work of {work.record_id}" in outcomes[1].sentence
    assert len(letters(scene)) == 2


def test_the_api_and_the_console_have_the_same_letters_and_actions(
    scene: Scene, impostor: Impostor
) -> None:
    record = buried_result(scene, impostor)
    (letter,) = letters(scene)

    with serving(scene.app.settings, extra_routes=console()) as api:
        page = api.get("/console/operations").text
        listed = api.get("/console/operations/letters").text
        items = api.get("/dead-letters/transport").json()["items"]
        token = re.search('name="csrf" content="([^"]+)"', page)
        assert token is not None
        acted = api.post(
            "/console/operations/letters/drop",
            data={"id": letter.id},
            headers={"x-csrf-token": token[1]},
        )
        again = api.post("/dead-letters/transport", json={"action": "drop", "ids": [letter.id]})

    assert 'hx-get="/console/operations/letters"' in page
    assert record in listed
    assert items == [msgspec.to_builtins(letter)]
    assert "it is dropped" in acted.headers["hx-trigger"]
    assert [each["is_done"] for each in again.json()["items"]] == [False]


def test_a_broker_that_is_away_is_told_and_the_rest_is_listed(tmp_path: Path) -> None:
    own = settings(tmp_path, "redis://127.0.0.1:1", "p")
    with App(own) as app:
        app.store.dead_letters.add([DeadLetter(kind="event", body="{", reason="torn", at=1)])

    done = CliRunner().invoke(cli, ["--config", str(tmp_path / "config.yaml"), "dead-letters"])

    assert done.exit_code == Exit.STORE
    assert "torn" in done.stdout
    assert "without those of the broker: the transport at redis://127.0.0.1:1" in done.stderr


@pytest.mark.parametrize(
    ("url", "reason", "advice"),
    [
        ("redis://b", "invalid username-password pair or user is disabled.", "correct user and password"),
        ("nats://b", "Authorization Violation", "correct user and password"),
        ("redis://b", "this user has no permissions to run the 'xadd' command", "give this user the rights"),
        ("nats://b", 'Permissions Violation for Publish to "stateward.results"', "give this user the rights"),
        ("tls://b", "certificate verify failed: IP address mismatch", "the host in the URL must be one of its names"),
        ("redis://b", "command not allowed when used memory > 'maxmemory'.", "free space on the broker"),
        ("nats://b", "insufficient resources", "free space on the broker"),
        ("rediss://b", "Timeout connecting to server", "speaks TLS at that port"),
        ("redis://b", "Error 111 connecting to b:6379. Connection refused.", "see whether it runs at that address"),
    ],
)  # fmt: skip
def test_what_a_broker_says_comes_with_what_to_do(url: str, reason: str, advice: str) -> None:
    said = str(unreachable(url, Exception(reason)))

    assert said.startswith(f"the transport at {url} cannot be reached: {reason.rstrip('.')}; ")
    assert advice in said


def test_a_broker_that_is_full_is_no_sound_transport(tmp_path: Path) -> None:
    with (
        server_of("redis") as url,
        redis.Redis.from_url(url) as server,
        App(settings(tmp_path, url, "full")) as app,
    ):
        (empty,) = [each for each in checks(app) if each.name == "transport"]
        server.config_set("maxmemory", "1")
        (full,) = [each for each in checks(app) if each.name == "transport"]
        server.config_set("maxmemory", "0")
        left = transport_letters(app)

    assert (empty.is_well, full.is_well, left) == (True, False, [])
    assert "free space on the broker" in full.sentence


def test_a_stream_that_somebody_deletes_while_it_is_read_is_made_anew(tmp_path: Path) -> None:
    with server_of("redis") as url, redis.Redis.from_url(url) as server:
        engine = connect(url, consumer="one", lease_s=60.0)
        assert isinstance(engine, AskedEngine)
        assert not engine.ask(["s"], limit=1)
        server.delete("s")  # the open request is answered with that

        wait_until(lambda: not engine.collect(["s"], limit=1) and engine.losses == 1)

        engine.publish("s", [Parcel("", b"a")])
        (found,) = engine.receive(["s"], limit=1, wait_s=5.0)
        engine.close()

    assert found.body == b"a"


def key_of(work: Work) -> Key:
    return work.record_id, work.version, work.delivery


def until_code(scene: Scene, impostor: Impostor, work: Work, code: str, **said: Any) -> None:  # noqa: ANN401
    """Until a record is explained by this code, while the worker's heartbeats go on: its lease is short."""

    def is_explained() -> bool:
        impostor.announce(**said)
        return scene.app.records.explain(work.record_id).code == code

    scene.until(is_explained)


def buried_result(scene: Scene, impostor: Impostor) -> str:
    """A record whose result could not be read."""
    record = first_work(scene, impostor, STATEMENT).work.record_id
    impostor.send(RESULT, {"record_id": record, "version": "none"}, subject=record)
    scene.until(lambda: bool(letters(scene)))
    return record


def letters(scene: Scene) -> list[TransportLetter]:
    return transport_letters(scene.app)


def command(scene: Scene, *args: str) -> str:
    """What a command prints that is right."""
    config = str(scene.folder / "coordinator" / "config.yaml")
    done = CliRunner().invoke(cli, ["--config", config, *args])
    assert done.exit_code == 0, done.output
    return done.stdout
