"""Contracts for tests of the API: a worker in a thread that follows a script, and contracts in every status."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import Any

from stateward.app import App
from stateward.core.model import AUTO, NOTES, SEQUENCING, Fields, Record, Work
from stateward.engine.coordinator import Submission
from stateward.engine.system import process_life, process_place
from stateward.settings import Settings
from stateward.storage.database import TOPIC_READY
from stateward.storage.outputs import AttemptResult, Output, result_event
from stateward.transport import WorkerInfo

GOOD: Fields = {"final_confidence": 95, "valid": True, "vertical": "energy", "provider": "E.ON"}
WHY = "DOUBTFUL: monthly_rate is blurred"
DOUBTFUL: Fields = {**GOOD, "final_confidence": 40, NOTES: [WHY]}
FOUND: list[Fields] = [
    {"field": "provider", "value": "E.ON", "confidence": 95},
    {"field": "monthly_rate", "value": "65.90", "confidence": 40},
]
PROBLEMS: list[Fields] = [{"field": "monthly_rate", "code": "DOUBTFUL", "sentence": "is blurred"}]
CALL: Fields = {"model": "stub-1", "latency_ms": 250, "input_tokens": 1200, "output_tokens": 80}
BETTER: list[Fields] = [{"offer": "Easy", "yearly_cost": "600.00", "saving": "190.80"}]


class Fail(Exception):
    """What the worker reports instead of a result."""

    def __init__(self, code: str, *, is_retryable: bool = True) -> None:
        super().__init__(code)
        self.code = code
        self.is_retryable = is_retryable


class Player:
    """A coordinator and a worker. `script` has, for each stage, what comes of its next attempts, the last for ever."""

    def __init__(self, settings: Settings) -> None:
        self.script: dict[str, list[Fields | Fail]] = {"validate": [GOOD]}
        self.ran: list[tuple[str, str]] = []
        self._settings = settings
        self._is_over = Event()
        self._thread = Thread(target=self._play, daemon=True)
        self.trouble: BaseException | None = None

    def __enter__(self) -> "Player":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self.trouble is not None:
            raise self.trouble

    def _play(self) -> None:
        try:
            with App(self._settings) as app, closing(app.database.wakeup(TOPIC_READY)) as wakeup:
                runners = [stage.runner for stage in app.registry.named("contract").stages]
                while not self._is_over.is_set():
                    wakeup.clear()
                    announce(app, runners)
                    app.scheduler.tick()
                    if not app.coordinator.turn() and not self._work(app):
                        wakeup.wait(0.05)
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.trouble = error

    def _work(self, app: App) -> int:
        work = app.bus.assigned_work("player", limit=100)
        for each in work:
            self.ran.append((each.record_id, each.stage))
            told = self.script.get(each.stage, [{}])
            ends(app, each, told.pop(0) if len(told) > 1 else told[0])
        return len(work)


def announce(app: App, runners: Sequence[str]) -> None:
    """A worker of this very process, so that it counts as alive."""
    import os

    app.bus.heartbeat(
        WorkerInfo(
            id="player",
            host=process_place(),
            pid=os.getpid(),
            life=process_life(os.getpid()),
            runners=tuple(runners),
            slots=100,
            inline_slots=100,
            started_at=app.clock(),
            seen_at=app.clock(),
        )
    )


def ends(app: App, work: Work, told: Fields | Fail) -> None:
    """An attempt ends as it is told to."""
    made: Mapping[str, list[Fields]] = {
        "parse": [{"number": 1, "text": "a contract"}],
        "extract": FOUND,
        "validate": PROBLEMS,
        "compare": BETTER,
    }
    items = made[work.stage]
    is_failed = isinstance(told, Fail)
    mark = AttemptResult(
        record_id=work.record_id,
        version=work.version,
        stage=work.stage,
        worker=work.worker,
        at=app.clock(),
        count=0 if is_failed else len(items),
        facts={} if isinstance(told, Fail) else told,
        error_code=told.code if isinstance(told, Fail) else None,
        error_message=f"{told.code} in {work.stage}" if isinstance(told, Fail) else None,
        is_retryable=told.is_retryable if isinstance(told, Fail) else True,
    )
    chunks = [] if is_failed else [(len(items), json.dumps(items))]
    if not is_failed and work.stage == "extract":
        chunks.append((0, json.dumps({"details": {"calls": [CALL]}})))
    if not is_failed and work.stage == "compare":
        chunks.append((0, json.dumps({"is_better": True})))
    with app.database.transaction():
        (is_own,) = app.bus.finish([work])
        if is_own:
            (seal,) = app.outputs.write([Output(mark, chunks)])
            assert seal
            app.bus.report([result_event(mark, seal)])


@contextmanager
def playing(settings: Settings) -> Iterator[Player]:
    """A worker as long as this lasts."""
    with Player(settings) as player:
        yield player


def waiting(app: App, *, actor: str = "person:ann", **labels: Any) -> Record:  # noqa: ANN401 - texts
    """A contract that waits for a person, brought there without any thread."""
    opening = Submission(
        machine="contract", actor=actor, labels={SEQUENCING: AUTO, "filename": "a.pdf", **labels}
    )
    (opened,) = app.submissions.create([opening])
    runners = [stage.runner for stage in app.registry.named("contract").stages]
    while (record := app.record(opened.record.id)).status != "review_required":
        announce(app, runners)
        app.coordinator.turn()
        for work in app.bus.assigned_work("player", limit=100):
            ends(app, work, DOUBTFUL if work.stage == "validate" else {})
    return record
