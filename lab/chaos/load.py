"""What the processes work on while they are hurt: two machines with their runners, and who submits.

`chaos` has a step in the worker itself and one in a child; a document says how long the second takes and how often
it fails. `patience` fails at once and waits an hour for its retry: a clock that jumps must not bring it nearer. The
submitter keeps every acknowledgement; what was refused it submits again, the same bytes, until it is acknowledged.
Workers and their children load this module, so it must stay light: nothing of the engine is imported at its top.
"""

import json
import time
from collections.abc import Callable
from random import Random
from threading import Event, Thread

import msgspec

from stateward.core.errors import ConcurrentModification, StageFailure, StoreError
from stateward.core.model import Fields
from stateward.definition.declare import declare
from stateward.workers.sdk import Job, runner

ITEMS_MAX = 3
STEP_TIMEOUT_S = 60.0
RETRY_BACKOFF_S = (0.3, 0.6)
PATIENCE_S = 3600.0
REFUSED_PAUSE_S = 0.2
REFUSALS_MAX = 1000

CHAOS = declare(
    machine="chaos",
    version=1,
    prefix="CH",
    initial="queued",
    states={
        "queued": {"kind": "ready"},
        "reading": {"kind": "running"},
        "read": {"kind": "ready"},
        "working": {"kind": "running"},
        "done": {"kind": "terminal"},
        "error": {"kind": "failed"},
    },
    stages={
        "read": {
            "from": "queued", "running": "reading", "outcomes": {"done": "read"}, "on_error": "error",
            "timeout_s": STEP_TIMEOUT_S, "isolation": "inline", "runner": "chaos.read",
        },
        "work": {
            "from": "read", "running": "working", "outcomes": {"done": "done"}, "on_error": "error",
            "timeout_s": STEP_TIMEOUT_S, "runner": "chaos.work",
        },
    },
    retry={"max_retries": len(RETRY_BACKOFF_S), "backoff_s": list(RETRY_BACKOFF_S)},
)  # fmt: skip

PATIENCE = declare(
    machine="patience",
    version=1,
    prefix="PA",
    initial="queued",
    states={
        "queued": {"kind": "ready"},
        "trying": {"kind": "running"},
        "done": {"kind": "terminal"},
        "error": {"kind": "failed"},
    },
    stages={
        "try": {
            "from": "queued", "running": "trying", "outcomes": {"done": "done"}, "on_error": "error",
            "timeout_s": STEP_TIMEOUT_S, "isolation": "inline", "runner": "patience.try",
        },
    },
    retry={"max_retries": 3, "backoff_s": [PATIENCE_S]},
)  # fmt: skip


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a document of the load asks for."""

    name: str
    machine: str = "chaos"
    items: int = 1
    work_s: float = 0.0
    failures: int = 0

    def bytes(self) -> bytes:
        """As it is submitted: no two are the same."""
        return msgspec.json.encode(self)


@runner("chaos.read")
def read(job: Job) -> list[Fields]:
    """As many items as the document says."""
    return [{"number": number} for number in range(json.loads(job.text())["items"])]


@runner("chaos.work")
def work(job: Job) -> list[Fields]:
    """The same items, after as long and after as many failures as the document says."""
    asked = json.loads(job.text())
    time.sleep(asked["work_s"])
    if job.retry_count < asked["failures"]:
        raise StageFailure("it was asked to fail", code="ASKED_TO_FAIL")
    return list(job.items())


@runner("patience.try")
def attempt(_: Job) -> list[Fields]:
    """Always a failure, and always worth another try, in an hour."""
    raise StageFailure("not yet", code="NOT_YET")


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """A submit that was answered: what was asked for, and the record that it got."""

    document: Document
    record_id: str
    dedupe: str
    refusals: int


Submit = Callable[[Document], tuple[str, str]]


class Submitter:
    """A thread that submits documents at a steady pace and remembers what it was told."""

    def __init__(self, submit: Submit, *, rng: Random, per_s: float) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.refused: list[str] = []
        self._submit = submit
        self._rng = rng
        self._pause_s = 1.0 / per_s
        self._is_stopping = Event()
        self._thread = Thread(target=self._run, name="submitter", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, *, timeout_s: float) -> None:
        """Submit what is under way until it is acknowledged, and nothing after it."""
        self._is_stopping.set()
        self._thread.join(timeout_s)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise TimeoutError(
                f"a submit was not acknowledged within {timeout_s:g} s: {self.refused[-1:]}"
            )

    def _run(self) -> None:
        try:
            number = 0
            while not self._is_stopping.is_set():
                number += 1
                self._insist(a_document(self._rng, number))
                self._is_stopping.wait(self._pause_s)
        except BaseException as error:  # noqa: BLE001 - told to the caller that stops it
            self._failure = error

    def _insist(self, document: Document) -> None:
        for refusals in range(REFUSALS_MAX):
            try:
                record_id, dedupe = self._submit(document)
            except (StoreError, ConcurrentModification) as error:
                self.refused.append(str(error))
                time.sleep(REFUSED_PAUSE_S)
            else:
                self.acknowledged.append(
                    Acknowledged(
                        document=document, record_id=record_id, dedupe=dedupe, refusals=refusals
                    )
                )
                return
        raise TimeoutError(f"refused {REFUSALS_MAX} times: {self.refused[-1]}")


def a_document(rng: Random, number: int) -> Document:
    """One of many: most take a moment, some longer, some fail at first, some for good, a few must be patient."""
    salt = f"{number}-{rng.getrandbits(64):016x}"
    if number % 8 == 0:
        return Document(name=salt, machine="patience")
    failures = rng.choices((0, 1, 2, 3), weights=(80, 10, 5, 5))[0]
    work_s = rng.choices((0.01, 0.1, 0.6), weights=(60, 30, 10))[0]
    return Document(name=salt, items=rng.randint(1, ITEMS_MAX), work_s=work_s, failures=failures)
