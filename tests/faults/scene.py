"""What is done to a disk that fails: documents are submitted and worked on, and looked for when it is well again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from stateward.app import App
from stateward.core.errors import StatewardError, StoreFull
from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.settings import Settings
from stateward.workers.sdk import Job, runner

DOCUMENTS = (b"one", b"two", b"three")

STAGES = ("first", "second")
INLINE: Machine = declare(
    machine="two_steps",
    version=1,
    prefix="TS",
    initial="queued",
    states={
        "queued": "ready", "firsting": "running", "half": "ready", "seconding": "running", "done": "terminal",
        "error": "failed",
    },
    stages={
        "first": {"from": "queued", "running": "firsting", "outcomes": {"done": "half"}, "on_error": "error",
                  "isolation": "inline", "runner": "faults.step"},
        "second": {"from": "half", "running": "seconding", "outcomes": {"done": "done"}, "on_error": "error",
                   "isolation": "inline", "runner": "faults.step"},
    },
)  # fmt: skip


@runner("faults.step")
def step(job: Job) -> list[dict[str, object]]:
    return [{"said": job.text()}]


def open_app(data: Path) -> App:
    settings = Settings.load(environ={"STATEWARD_DATA": str(data)})
    return App(settings, machines=[INLINE])


@contextmanager
def an_app(data: Path) -> Iterator[App]:
    """An app whose end is not the point: a disk that fails may fail once more while it is closed."""
    app = open_app(data)
    try:
        yield app
    finally:
        with suppress(StatewardError, apsw.Error):
            app.close()


class Attempt:
    """Submits and works; keeps what was acknowledged and what was refused."""

    def __init__(self) -> None:
        self.acknowledged: dict[bytes, str] = {}
        self.refusals: list[StoreFull] = []

    def live(self, data: Path, documents: Sequence[bytes] = DOCUMENTS) -> None:
        """Open, submit, work, close; whatever the disk refuses is noted, and the next thing is tried."""
        with self._noting(), an_app(data) as app:
            for document in documents:
                with self._noting():
                    self.acknowledged[document] = app.submit(
                        document, machine="two_steps"
                    ).record.id
            with self._noting():
                app.run_until_idle()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except StoreFull as refusal:
            self.refusals.append(refusal)


def assert_recovered(data: Path, acknowledged: dict[bytes, str]) -> None:
    """The disk is well: everything acknowledged is there, the rest can be done, and the history is sound."""
    with open_app(data) as app:
        assert app.admin.verify().is_sound, app.admin.verify().findings
        records = app.store.load(acknowledged.values())
        assert set(records) == set(acknowledged.values()), "an acknowledged submit is lost"
        for document in DOCUMENTS:
            record = app.submit(document, machine="two_steps").record
            assert record.id == acknowledged.get(document, record.id), (
                "the same bytes, another record"
            )
            assert app.artifacts.verify(record.artifact or "")
        app.run_until_idle()
        verdict = app.admin.verify()
        assert verdict.is_sound, verdict.findings
        assert (verdict.records, verdict.transitions) == (len(DOCUMENTS), 5 * len(DOCUMENTS))
        assert {record.status for record in app.store.walk()} == {"done"}
        for record in app.store.walk():
            assert len(list(app.items(record.id, "second"))) == 1
