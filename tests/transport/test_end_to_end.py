"""Documents end over a transport where they end over the database, whatever happens to workers and streams."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from stateward.app import App
from stateward.app.artifacts import SWEEP_AGE_S, sweep_artifacts
from stateward.app.doctor import checks
from stateward.core.errors import DeclarationError
from stateward.pipelines.literature.sources import request_document
from stateward.server.health import _checks as ready_checks
from stateward.storage.store import Store
from stateward.transport.messages import (
    RESULT,
    SAVED,
    ItemChunk,
    Key,
    SavedMessage,
    WorkMessage,
    results_stream,
)
from tests.pipelines.literature.source_server import a_source_server
from tests.transport.brokers import server_of
from tests.transport.impostor import Impostor, first_work
from tests.transport.scene import Scene, settings

STATEMENT = b"Date;Text;Amount\n2026-01-05;a;-1,00\n"
LARGE = b"Date;Text;Amount\n" + b"2026-01-05;a long text about nothing;-1,00\n" * 100
PAYING = Path(__file__).parents[1] / "app" / "paying.py"
COMPARING = Path(__file__).parent / "comparing.py"
SceneMaker = Callable[..., Scene]


# What is the same over every engine runs over one in `make test`, and over all in `make test-long`.
OTHERS = [pytest.param(each, marks=pytest.mark.long) for each in ("nats", "kafka")]


@pytest.fixture(scope="module", params=["redis", *OTHERS])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with server_of(request.param) as own:
        yield own


@pytest.fixture
def make_scene(url: str, tmp_path: Path) -> Iterator[SceneMaker]:
    made: list[Scene] = []

    def make(text: str = "") -> Scene:
        made.append(Scene(url, tmp_path, f"e{os.urandom(6).hex()}", text=text))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def scene(make_scene: SceneMaker) -> Scene:
    return make_scene()


@pytest.fixture
def impostor(scene: Scene) -> Iterator[Impostor]:
    own = Impostor(scene)
    yield own
    own.channel.close()


def test_a_worker_with_the_settings_of_its_coordinator_reads_its_documents_and_removes_none(
    scene: Scene,
) -> None:
    record, small = scene.app.submit(LARGE).record, scene.app.submit(STATEMENT).record
    document = scene.app.artifacts.path(str(record.artifact))
    old = time.time() - 2 * SWEEP_AGE_S
    os.utime(document, (old, old))

    scene.add_worker(own=scene.app.settings)
    sweep_artifacts(scene.app.settings, is_remote=True)

    assert document.read_bytes() == LARGE
    assert [scene.finish(each.id) for each in (record, small)] == ["normalized", "normalized"]
    copies = scene.app.settings.data_path.glob("artifacts-cache/??/*")
    assert [each.name for each in copies] == [small.artifact]


def test_a_document_is_processed_by_a_worker_without_a_store(scene: Scene) -> None:
    scene.add_worker()
    record = scene.app.submit(STATEMENT).record

    assert scene.finish(record.id) == "normalized"

    assert len(list(scene.app.items(record.id))) == 1
    workers = {each.worker for each in scene.app.outputs.attempts(record.id)}
    assert all(not each.startswith("relay-") for each in workers)


def test_who_submitted_a_record_is_not_asked_when_its_next_stage_is_sent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add_worker()
    scene.finish(scene.app.submit(STATEMENT).record.id)
    asked: list[str] = []

    def submitters(_: Store, record_ids: Sequence[str]) -> dict[str, str]:
        asked.extend(record_ids)
        return {}

    monkeypatch.setattr(Store, "submitters", submitters)

    with App(
        scene.app.settings
    ) as other:  # it assigns the first stage, and the coordinator the next
        record = other.submit(STATEMENT + b"2026-01-06;b;-2,00\n").record
    status = scene.finish(record.id)

    assert (status, asked) == ("normalized", [])


@pytest.mark.parametrize("name", ["nats", "kafka"])
def test_the_same_over_the_other_engines(name: str, tmp_path: Path) -> None:
    with server_of(name) as url:
        scene = Scene(url, tmp_path, "other")
        try:
            scene.add_worker()
            record = scene.app.submit(STATEMENT).record
            assert scene.finish(record.id) == "normalized"
        finally:
            scene.close()


def test_a_coordinator_on_postgres_settles_with_the_rights_of_a_worker(
    make_scene: SceneMaker, postgres_url: str
) -> None:
    scene = make_scene(f"store: {{url: '{postgres_url}'}}\n")
    scene.add_worker()
    record = scene.app.submit(STATEMENT).record

    assert scene.finish(record.id) == "normalized"


def test_a_large_document_comes_from_blob_storage(scene: Scene) -> None:
    scene.add_worker(transport=f", blobs: '{scene.blobs}'")
    record = scene.app.submit(LARGE).record

    assert scene.finish(record.id) == "normalized"
    assert len(list(scene.app.items(record.id))) == 100


@pytest.mark.long
def test_a_large_document_without_blob_storage_is_a_failure_that_says_so(scene: Scene) -> None:
    scene.add_worker()
    record = scene.app.submit(LARGE).record

    scene.until(lambda: bool(scene.app.outputs.attempts(record.id)))

    (attempt, *_) = scene.app.outputs.attempts(record.id)
    assert attempt.error_code == "ARTIFACT_MISSING"


def test_what_a_lost_worker_had_goes_to_another_one(scene: Scene, impostor: Impostor) -> None:
    impostor.announce()
    record = scene.app.submit(STATEMENT).record
    lost = scene.add_worker()
    scene.until(lambda: scene.app.record(record.id).status == "parsing")
    scene.workers.remove(lost)  # it does no turn any more

    scene.add_worker()

    assert scene.finish(record.id) == "normalized"
    assert len(scene.app.outputs.attempts(record.id)) == 2


def test_work_of_a_stream_that_was_lost_is_sent_again_with_what_was_saved_since(
    scene: Scene, impostor: Impostor
) -> None:
    work = first_work(scene, impostor, STATEMENT).work  # gone from the stream, and no worker has it
    impostor.send(
        SAVED,
        SavedMessage(
            record_id=work.record_id, version=work.version, delivery=work.delivery, stage=work.stage,
            assigned_to=work.worker, name="answer", data=b"paid for",
        ),
    )  # fmt: skip
    again: list[WorkMessage] = []

    def has_come() -> bool:
        if (message := impostor.take()) is not None:
            again.append(message)
        return bool(again)

    scene.until(has_come)

    assert again[0].work == work
    assert again[0].saved == {"answer": b"paid for"}


def test_what_a_lost_worker_had_saved_comes_with_its_work_to_another_one(
    scene: Scene, impostor: Impostor
) -> None:
    impostor.announce()
    record = scene.app.submit(STATEMENT).record
    taken: list[WorkMessage] = []

    def has_come() -> bool:
        taken.extend(impostor.lease())
        return bool(taken)

    scene.until(has_come)
    work = taken[0].work  # its message stays leased to one that is gone
    impostor.send(
        SAVED,
        SavedMessage(
            record_id=work.record_id, version=work.version, delivery=work.delivery, stage=work.stage,
            assigned_to=work.worker, name="answer", data=b"paid for",
        ),
    )  # fmt: skip

    courier = scene.add_worker()._courier
    assert courier is not None
    scene.until(lambda: courier._outputs.load_value(record.id, work.stage, "answer") == b"paid for")

    assert scene.finish(record.id) == "normalized"


def test_a_result_that_comes_twice_counts_once(scene: Scene, impostor: Impostor) -> None:
    message = first_work(scene, impostor, STATEMENT)
    for _ in range(2):
        impostor.answer(message, error_code="ODD", error_message="no", is_retryable=False)

    assert scene.finish(message.work.record_id) == "error"
    assert len(scene.app.outputs.attempts(message.work.record_id)) == 1


def test_a_worker_is_told_to_stop_what_was_cancelled_again_if_it_has_missed_that(
    scene: Scene, impostor: Impostor
) -> None:
    assert impostor.told_to_stop() == []  # it listens from now on
    work = first_work(scene, impostor, STATEMENT).work
    attempt = (work.record_id, work.version, work.delivery)
    impostor.announce(holding=[attempt])  # which is wanted, so that nothing is said about it
    scene.until(lambda: not impostor.channel.depth(results_stream(scene.prefix)))

    scene.app.actions.act("cancel", work.record_id, actor="person:a", reason="not needed")

    def is_told() -> bool:
        heard.extend(impostor.told_to_stop())
        return bool(heard)

    heard: list[Key] = []
    scene.until(is_told)
    assert set(heard) == {attempt}
    heard.clear()
    impostor.announce(holding=[attempt])
    scene.until(is_told)
    assert set(heard) == {attempt}


def test_a_saved_value_that_comes_again_does_not_undo_an_erasure(
    scene: Scene, impostor: Impostor
) -> None:
    message = first_work(scene, impostor, STATEMENT)
    work, stream = message.work, results_stream(scene.prefix)
    saved = SavedMessage(
        record_id=work.record_id, version=work.version, delivery=work.delivery,
        assigned_to=work.worker, stage=work.stage, name="answer", data=b"about a person",
    )  # fmt: skip

    def saved_values() -> int:
        impostor.send(SAVED, saved)
        scene.until(lambda: not impostor.channel.depth(stream))
        return len(scene.app.database.rows("SELECT 1 FROM saved_values"))

    impostor.answer(message, error_code="ODD", error_message="no", is_retryable=False)
    scene.finish(work.record_id)
    assert saved_values() == 1
    scene.app.eraser.erase([work.record_id], actor="person:a", reason="request 17")
    assert saved_values() == 0
    assert impostor.channel.dead_letters() == []  # which would hold it too


@pytest.mark.parametrize(
    "more",
    [
        {"delivery": 2},
        pytest.param({"version": 99}, marks=pytest.mark.long),
        pytest.param({"assigned_to": "relay-x"}, marks=pytest.mark.long),
        pytest.param({"record_id": "none"}, marks=pytest.mark.long),
    ],
)
def test_a_result_for_what_the_store_does_not_have_changes_nothing(
    scene: Scene, impostor: Impostor, more: dict[str, object]
) -> None:
    message = first_work(scene, impostor, STATEMENT)
    impostor.answer(message, error_code="ODD", is_retryable=False, **more)
    impostor.answer(message, error_code="REAL", is_retryable=False)

    assert scene.finish(message.work.record_id) == "error"
    codes = [each.error_code for each in scene.app.outputs.attempts(message.work.record_id)]
    assert codes == ["REAL"]


@pytest.mark.parametrize(
    ("count", "data", "why"),
    [(2, b'[{"a":1}]', "it counted 2 items and sent 1"), (1, b"[1]", "Expected `object`")],
)
def test_a_result_beyond_limits_and_types_is_a_failed_attempt(
    scene: Scene, impostor: Impostor, count: int, data: bytes, why: str
) -> None:
    message = first_work(scene, impostor, STATEMENT)
    chunk = ItemChunk(count=1, data=msgspec.Raw(data))
    impostor.answer(message, count=count, items=[chunk])

    scene.until(lambda: bool(scene.app.outputs.attempts(message.work.record_id)))

    (attempt, *_) = scene.app.outputs.attempts(message.work.record_id)
    assert attempt.error_code == "BAD_RESULT"
    assert why in (attempt.error_message or "")


def test_a_message_that_is_no_result_goes_to_the_dead_letters(
    scene: Scene, impostor: Impostor
) -> None:
    impostor.send(RESULT, {"record_id": 7, "log": "Ada Lovelace"})

    scene.until(lambda: bool(impostor.channel.dead_letters()))

    (letter,) = impostor.channel.dead_letters()
    assert "record_id" in letter.reason
    assert RESULT in letter.head
    assert "Ada" not in str(letter)  # no erasure reaches a broker


def test_a_stage_reads_items_of_earlier_records_at_a_worker_without_a_store(
    make_scene: SceneMaker,
) -> None:
    scene = make_scene(f"pipelines: ['{COMPARING}']\n")
    scene.add_worker()
    found: list[object] = []
    for text in (b"ann 2026-01-01 7", b"bob 2026-01-02 8", b"ann 2026-02-01 9"):
        record = scene.app.submit(text, machine="comparing").record
        assert scene.finish(record.id) == "compared"
        found += scene.app.items(record.id)

    assert found == [
        {"before": [], "value": 7}, {"before": [], "value": 8}, {"before": [7], "value": 9},
    ]  # fmt: skip


@pytest.mark.long
def test_what_was_paid_for_is_not_asked_for_again(make_scene: SceneMaker) -> None:
    scene = make_scene(f"pipelines: ['{PAYING}']\n")
    scene.add_worker()
    with socket.create_server(("127.0.0.1", 0)) as seller:

        def sell() -> None:
            with suppress(OSError):  # closed, for none comes a second time
                for number in range(1, 3):
                    buyer, _ = seller.accept()
                    with buyer:
                        buyer.sendall(b"answer %d" % number)

        threading.Thread(target=sell, daemon=True).start()
        record = scene.app.submit(str(seller.getsockname()[1]).encode(), machine="paying").record

        assert scene.finish(record.id) == "done"

    assert list(scene.app.items(record.id)) == [{"answer": "answer 1"}]


def test_a_worker_that_is_killed_costs_a_lease_and_nothing_else(scene: Scene) -> None:
    scene.worker_settings("victim")
    config = scene.folder / "victim" / "config.yaml"
    environ = {each: value for each, value in os.environ.items() if "STORE" not in each}
    command = [sys.executable, "-m", "stateward", "--config", str(config), "worker"]
    victim = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
    try:
        scene.until(lambda: any(each.via for each in scene.app.bus.workers()))
        os.kill(victim.pid, signal.SIGSTOP)  # so that it cannot finish before it is killed
        record = scene.app.submit(STATEMENT).record
        scene.until(lambda: scene.app.record(record.id).status == "parsing")
    finally:
        victim.kill()
        victim.wait()

    scene.add_worker()

    assert scene.finish(record.id) == "normalized"


def test_doctor_says_what_is_behind_the_transport(scene: Scene, impostor: Impostor) -> None:
    impostor.announce()
    impostor.send(RESULT, {"record_id": 7})
    scene.until(lambda: bool(impostor.channel.dead_letters()))
    scene.until(lambda: any(each.via for each in scene.app.bus.workers()))

    (check,) = [each for each in checks(scene.app) if each.name == "transport"]

    assert not check.is_well
    assert "workers: 1, " in check.sentence
    assert "dead letters: 1: Expected `str`" in check.sentence
    assert "(1, the newest " in check.sentence
    assert f"in {results_stream(scene.prefix)}, from /" in check.sentence


def test_a_coordinator_without_workers_behind_the_transport_counts_as_no_worker(
    scene: Scene, impostor: Impostor
) -> None:
    app = scene.app
    app.submit(STATEMENT)
    scene.until(lambda: any(each.is_relay for each in app.bus.workers()))

    def said() -> list[object]:
        (doctor,) = [each for each in checks(app) if each.name == "workers"]
        (ready,) = [each for each in ready_checks(app) if each.name == "workers"]
        (gauge,) = re.findall(r"^stateward_workers (\d+)", app.monitor.text(), re.MULTILINE)
        return [doctor.sentence, doctor.is_well, ready.is_well, gauge, app.records.has_worker()]

    alone = said()
    impostor.announce()
    scene.until(lambda: any(each.via for each in app.bus.workers()))

    assert alone == ["0 alive", False, False, "0", False]
    assert said() == ["1 alive", True, True, "1", True]


def test_doctor_says_that_the_broker_does_not_answer(tmp_path: Path) -> None:
    own = settings(tmp_path, "redis://127.0.0.1:1", "p")
    with App(own) as app:
        (check,) = [each for each in checks(app) if each.name == "transport"]

    assert not check.is_well
    assert "redis://127.0.0.1:1 cannot be reached" in check.sentence


@pytest.mark.parametrize(
    "url",
    [
        "redis",
        "redis://",
        "http://host",
        "nats://host:x",
        "kafka://",
        "kafka://a:1,",
        "kafka://a:x",
    ],
)
def test_a_url_that_names_no_engine_is_refused_with_the_settings(tmp_path: Path, url: str) -> None:
    with pytest.raises(DeclarationError, match="url must be database:"):
        settings(tmp_path, url, "p")


@pytest.mark.long
def test_workers_without_a_store_ask_sources_of_papers_one_at_a_time(
    make_scene: SceneMaker,
) -> None:
    with a_source_server() as server:
        # By two names of one host, whose locks on this machine are not the same.
        port = server.url.rpartition(":")[2]
        addresses = [
            f"http://{host}:{port}/page.html?{number}"
            for number in range(2)
            for host in ("localhost", "127.0.0.1")
        ]
        allowed = "allow: [localhost, 127.0.0.1], pause_seconds: 0.0"
        scene = make_scene(text=f"literature: {{fetch: {{{allowed}}}}}\n")
        scene.add_worker()
        scene.add_worker()
        papers = [
            scene.app.submissions.submit(
                request_document("url", each), machine="literature", labels={"source_type": "url"}
            ).record.id
            for each in addresses
        ]
        relay = scene.coordinator._relay
        assert relay is not None
        at_once: list[int] = []

        def are_fetched() -> bool:
            sent = [each for each in relay._sent.values() if each.number]
            at_once.append(sum(each.work.stage == "fetch" for each in sent))
            return all("fetch" in scene.app.record(each).outputs for each in papers)

        scene.until(are_fetched)

    assert max(at_once) == 1
    assert sum(server.asked.values()) == len(addresses)
