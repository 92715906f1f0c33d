"""How far papers are: their pace, the time that is left, and the sources that fail."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.model import SECOND
from stateward.pipelines.literature.commands import _pace
from stateward.pipelines.literature.papers import StoredPapers
from stateward.pipelines.literature.progress import Failing, Progress, progress_of


def test_the_pace_is_that_of_the_last_minutes(tmp_path: Path) -> None:
    busy = ("retrying", 9, "SOURCE_BUSY")
    states = (("pending", 9, None), ("completed", 11, None), ("completed", 0, None), busy)
    with App.embedded(tmp_path) as app:
        now = app.clock()
        for number, (status, minutes, code) in enumerate(states):
            labels = {"source_type": "pmc"} if code else {}
            made = app.submit(b"On soup %d" % number, machine="literature", labels=labels).record
            app.database.run(
                "UPDATE records SET status = :status, entered_at = :at, created_at = :created, error_code = :code"
                " WHERE id = :id",
                id=made.id,
                status=status,
                at=now - minutes * 60 * SECOND,
                created=now - 3600 * SECOND,
                code=code,
            )
        found = StoredPapers(app, "test").status()
        none_ended = progress_of([], app.registry.named("literature"), now=now)

    assert (found.total, found.ended, found.per_hour, found.left_seconds) == (4, 2, 6, 1200)
    assert found.adapters == {"file": {"pending": 1, "completed": 2}, "pmc": {"retrying": 1}}
    assert found.failing == {"pmc": Failing(count=1, error_code="SOURCE_BUSY")}
    assert none_ended.left_seconds is None


@pytest.mark.parametrize(("added_s", "per_hour"), [(0, 180), (120, 90), (7200, 18)])
def test_the_pace_of_a_young_list_is_that_since_it_was_added_and_skipped_papers_make_none(
    tmp_path: Path, added_s: int, per_hour: int
) -> None:
    with App.embedded(tmp_path) as app:
        now = app.clock()
        for number, status in enumerate(("completed",) * 3 + ("skipped",) * 5 + ("pending",)):
            made = app.submit(b"On soup %d" % number, machine="literature").record
            app.database.run(
                "UPDATE records SET status = :status, entered_at = :now, created_at = :created WHERE id = :id",
                id=made.id,
                status=status,
                now=now,
                created=now - added_s * SECOND,
            )
        counted = app.dashboard.source_counts("literature", since=now - SECOND)
        found = progress_of(counted, app.registry.named("literature"), now=now)

    assert (found.total, found.ended) == (9, 8)
    assert (found.per_hour, found.left_seconds) == (per_hour, 3600 // per_hour)


@pytest.mark.parametrize(("wait_s", "left_s"), [(3600, 3600), (60, 600)])
def test_the_time_left_is_at_least_until_the_last_retry(
    tmp_path: Path, wait_s: int, left_s: int
) -> None:
    """A source that asked to wait for an hour is not asked before, however fast the other papers end."""
    with App.embedded(tmp_path) as app:
        now = app.clock()
        for number, status in enumerate(("completed", "retrying")):
            made = app.submit(b"On soup %d" % number, machine="literature").record
            app.database.run(
                "UPDATE records SET status = :status, entered_at = :at, created_at = :created, due_at = :due"
                " WHERE id = :id",
                id=made.id,
                status=status,
                at=now,
                created=now - 3600 * SECOND,
                due=now + wait_s * SECOND if status == "retrying" else None,
            )
        counted = app.dashboard.source_counts("literature", since=now - SECOND)
        found = progress_of(counted, app.registry.named("literature"), now=now)

    assert found.left_seconds == left_s


@pytest.mark.parametrize(
    ("left_seconds", "told"),
    [(0, ""), (None, ""), (59, ", 1 minute left"), (60, ", 2 minutes left")],
)
def test_time_is_left_only_while_a_paper_has_not_ended(left_seconds: int | None, told: str) -> None:
    found = Progress(
        total=9, ended=9, per_hour=54, left_seconds=left_seconds, adapters={}, failing={}
    )

    assert _pace(found) == f", 54 an hour{told}"
