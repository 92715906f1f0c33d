"""A contract that is driven from outside, cut at every point where a process can be: nothing finished is done again."""

from collections import Counter
from pathlib import Path

import pytest

from stateward.core.failpoints import Point, install
from stateward.core.model import Fields, Record
from stateward.engine.external_driver import ExternalDriver, Step
from stateward.storage.sqlite import SqliteDatabase
from tests.engine.contract_reviews import DOUBTFUL, FOUND, WINDMILL, ReviewEngine

ROUNDS_MAX = 60
MADE: dict[str, tuple[list[Fields], Fields]] = {
    "parse": ([{"text": "x"}], {}),
    "extract": (FOUND, {}),
    "validate": ([{"field": "provider"}], DOUBTFUL),
    "compare": ([{"offer": "Easy"}], {}),
}
PATH = [
    "pending", "parsing_pdf", "extracting", "validating", "review_required", "validated", "comparing",
    "completed",
]  # fmt: skip


class Killed(BaseException):
    """The process ends here, without another word."""


class Cut:
    """Ends the process the n-th time that it comes to a point, once; and counts how often it does."""

    def __init__(self, point: Point | None = None, nth: int = 0) -> None:
        self.point = point
        self.nth = nth
        self.seen: Counter[Point] = Counter()

    def __call__(self, here: Point) -> None:
        self.seen[here] += 1
        if here is self.point and self.seen[here] == self.nth:
            raise Killed


def drive(path: Path) -> Record:
    """The external driver, a coordinator and a worker, from wherever things stand, to the end."""
    database = SqliteDatabase(path, is_durable=False)
    try:
        engine = ReviewEngine(database)
        rig = engine.rig
        external_driver = ExternalDriver(
            store=rig.store,
            outputs=rig.outputs,
            coordinator=lambda: rig.coordinator,
            registry=rig.registry,
            clock=rig.clock,
        )
        rig.worker()
        record = rig.open("contract", labels={"sequencing": "outside"}, dedupe="the document")
        for _ in range(ROUNDS_MAX):
            record = rig.now(record)
            if record.status == "completed":
                return record
            (call,) = external_driver.next_calls(record)
            if call == "review":
                engine.decides(record, "correct", by=WINDMILL, corrected={"provider": "E.ON"})
            else:
                external_driver.request_step(Step(record_id=record.id, stage=call, actor=WINDMILL))
            rig.settle()
            for work in rig.work():
                engine.end(work, *MADE[work.stage])
            rig.settle()
        raise AssertionError(f"it never came to its end: {record}")
    finally:
        database.close()


def points_met(path: Path) -> Counter[Point]:
    cut = Cut()
    before = install(cut)
    try:
        drive(path)
    finally:
        install(before)
    return cut.seen


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(point, id=point.label, marks=pytest.mark.long if number % 4 else ())
        for number, point in enumerate(Point)
    ],
)
def test_what_is_finished_is_not_done_again_wherever_the_process_was_cut(
    point: Point, tmp_path: Path
) -> None:
    times = points_met(tmp_path / "whole.db")[point]

    for nth in range(1, times + 1):
        path = tmp_path / f"{nth}.db"
        before = install(Cut(point, nth))
        try:
            with pytest.raises(Killed):
                drive(path)
        finally:
            install(before)
        ended = drive(path)

        database = SqliteDatabase(path, is_durable=False)
        rig = ReviewEngine(database).rig
        history = rig.store.history(ended.id)
        finished = Counter(mark.stage for mark in rig.outputs.attempts(ended.id))
        assert [each.target for each in history] == PATH
        assert finished == dict.fromkeys([*MADE, "review"], 1)
        assert len(list(rig.store.walk())) == 1
        assert rig.verify().is_sound
        database.close()


def test_the_points_that_count_are_met(tmp_path: Path) -> None:
    met = points_met(tmp_path / "whole.db")

    assert {Point.COMMIT_BEFORE, Point.COMMIT_AFTER, Point.RECORDS_WRITTEN} <= met.keys()
    assert {Point.STARTS_COMMITTED, Point.OUTPUTS_WRITTEN, Point.EVENTS_SETTLED} <= met.keys()
