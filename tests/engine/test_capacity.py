"""Which worker is given an attempt, where workers of one machine at a time may do it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.core.model import Record
from stateward.engine.capacity import Capacity
from stateward.ledger import DOCUMENT_MACHINE
from stateward.pipelines.literature.sources import request_document
from stateward.transport import WorkerInfo

FETCH = DOCUMENT_MACHINE.stage["fetch"]


def a_worker(name: str, host: str, *, since: int, slots: int = 2) -> WorkerInfo:
    return WorkerInfo(
        id=name, host=host, pid=1, life="1", runners=("literature.fetch",), slots=slots, inline_slots=slots,
        started_at=since, seen_at=since,
    )  # fmt: skip


def given(*workers: WorkerInfo, attempts: int = 4) -> list[str | None]:
    capacity = Capacity(workers, {})
    return [capacity.take(FETCH, is_of_one_machine=True) for _ in range(attempts)]


def test_the_machine_whose_worker_was_there_first_does_it_with_all_of_its_workers() -> None:
    found = given(
        a_worker("a1", "a", since=20), a_worker("b1", "b", since=10, slots=1),
        a_worker("b2", "b", since=30), a_worker("c1", "c", since=40),
    )  # fmt: skip

    assert found == ["b2", "b2", "b1", None]


def test_another_machine_takes_it_over_when_the_first_one_leaves() -> None:
    leaving = replace(a_worker("a1", "a", since=10), is_draining=True)

    assert given(leaving, a_worker("b1", "b", since=20), attempts=1) == ["b1"]
    assert given(attempts=1) == [None]


def test_one_relay_gets_it_and_only_where_no_worker_with_a_database_can_do_it() -> None:
    relays = [a_worker("relay-1", "a", since=20), a_worker("relay-2", "a", since=10)]

    assert given(*relays, a_worker("b1", "b", since=30), attempts=3) == ["b1", "b1", None]
    assert given(*relays, attempts=3) == ["relay-2", None, None]


def test_papers_of_sources_are_fetched_from_one_machine_and_files_are_read_on_all(
    tmp_path: Path,
) -> None:
    with App.embedded(tmp_path / "data") as app, app.node(is_worker=False):
        for name, since in (("a", 1), ("b", 2)):
            app.bus.heartbeat(a_worker(f"worker-{name}", name, since=since, slots=3))
        for number in range(4):
            labels = {"source_type": "pubmed"}
            app.submissions.submit(
                request_document("pmid", str(900 + number)), machine="literature", labels=labels
            )
            app.submissions.submit(f"Paper {number}\n\nText.".encode(), machine="literature")

        app.coordinator.turn([])

        work = app.database.rows("SELECT worker, body FROM work")
        of_source = [worker for worker, body in work if "pubmed" in str(body)]
        assert set(of_source) == {"worker-a"}
        assert {worker for worker, _ in work} == {"worker-a", "worker-b"}


def test_a_file_behind_more_papers_than_the_machine_of_sources_can_take_is_read_on_another(
    tmp_path: Path,
) -> None:
    with App.embedded(tmp_path / "data") as app, app.node(is_worker=False):
        for number in range(9):
            paper = request_document("pmid", str(900 + number))
            app.submissions.submit(paper, machine="literature", labels={"source_type": "pubmed"})
        for number in range(3):
            app.submissions.submit(b"Paper %d\n\nText." % number, machine="literature")
        for name, since in (("a", 1), ("b", 2)):
            app.bus.heartbeat(a_worker(f"worker-{name}", name, since=since, slots=2))

        app.coordinator.turn([])

        work = app.database.rows("SELECT worker, body FROM work")
        assert sorted((str(worker), "pubmed" in str(body)) for worker, body in work) == [
            ("worker-a", True), ("worker-a", True), ("worker-b", False), ("worker-b", False),
        ]  # fmt: skip


def test_a_long_line_of_papers_is_not_read_to_its_end_in_every_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be read from end to end, in the transaction of every turn, for files that are not there."""
    with App.embedded(tmp_path / "data") as app, app.node(is_worker=False):
        passed_at: list[float] = []
        now = 100.0
        waiting = app.store.waiting

        def wait(
            machine: str, stage: str, *, limit: int, without: Sequence[str] = ()
        ) -> list[Record]:
            nonlocal now
            if without:
                passed_at.append(now)
                now += 1
            return waiting(machine, stage, limit=limit, without=without)

        monkeypatch.setattr(app.store, "waiting", wait)
        monkeypatch.setattr(app.coordinator.dispatcher, "_ticks", lambda: now)
        for number in range(9):
            paper = request_document("pmid", str(900 + number))
            app.submissions.submit(paper, machine="literature", labels={"source_type": "pubmed"})
        for name, since in (("a", 1), ("b", 2)):
            app.bus.heartbeat(a_worker(f"worker-{name}", name, since=since))

        app.coordinator.turn([])
        app.submissions.submit(b"Paper\n\nText.", machine="literature")
        for _ in range(20):
            app.coordinator.turn([])
            now += 1

        assert passed_at[:2] == [100.0, 110.0]
        assert len(app.database.rows("SELECT body FROM work WHERE worker = 'worker-b'")) == 1


def test_papers_that_wait_for_their_turn_take_no_slots_of_a_relay(tmp_path: Path) -> None:
    """It publishes one at a time: the others would only keep documents of all pipelines from its workers."""
    with App.embedded(tmp_path / "data") as app, app.node(is_worker=False):
        runners = tuple(
            stage.runner for stage in (FETCH, app.registry.named("upload").stage["parse"])
        )
        relay = replace(a_worker("relay-1", "a", since=1, slots=3), runners=runners)
        app.bus.heartbeat(relay)
        for number in range(4):
            paper = request_document("pmid", str(900 + number))
            app.submissions.submit(paper, machine="literature", labels={"source_type": "pubmed"})
        app.coordinator.turn([])
        app.submissions.submit(b"a;b\n1;2\n", machine="upload", name="a.csv")
        app.coordinator.turn([])

        work = app.database.rows("SELECT body FROM work WHERE worker = 'relay-1'")
        assert sorted("pubmed" in str(body) for (body,) in work) == [False, True]
