"""What a person is told of work and messages behind a transport, and what they can do about them."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stateward.core.model import to_iso
from stateward.transport import Holder
from tests.transport.brokers import server_of
from tests.transport.impostor import Impostor, first_work
from tests.transport.scene import Scene

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

    impostor.announce(holding=[(work.record_id, work.version, work.delivery)], host="far-7")
    scene.until(lambda: explain().code == "running")
    running, held = explain(), scene.app.bus.holder(work.record_id, work.version)
    impostor.announce()  # it has it no more
    scene.until(lambda: explain().code == "sent")

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
