"""Pieces in memory or in a file: the reader cannot tell."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stateward.pipelines.statements.model import RowPlace, StatementRow
from stateward.workers.sdk import (
    Batch,
    Completed,
    Job,
    Limits,
    Outcome,
    Runner,
    run_runner,
)
from stateward.workers.spool import Spool


@given(pieces=some.lists(some.binary(max_size=40)), memory_bytes=some.integers(0, 100))
def test_a_spool_gives_back_what_it_was_given(
    pieces: list[bytes], memory_bytes: int, tmp_path: Path
) -> None:
    spool = Spool(lambda: tmp_path, memory_bytes=memory_bytes)
    for piece in pieces:
        spool.append(piece)

    assert list(spool) == list(spool) == pieces
    assert spool[:2] == pieces[:2]
    assert spool.is_spilled is (sum(map(len, pieces)) > memory_bytes)
    assert list(tmp_path.iterdir()) == []


def ran(function: object, **how: object) -> Completed:
    job = Job(record_id="R", stage="s", **how)  # type: ignore[arg-type]
    result = run_runner(
        Runner("x.s", function),  # type: ignore[arg-type]
        job,
        limits=Limits(),
        sleep=lambda _: None,
        now=lambda: 0,
    )
    assert isinstance(result, Completed), result
    return result


def test_a_batch_is_written_as_its_items_would_be() -> None:
    rows = [StatementRow(place=RowPlace(line=n), date="2026-01-05", amount="1") for n in range(3)]

    result = ran(lambda job: iter([Batch(rows)]))

    assert [chunk.count for chunk in result.chunks] == [3]
    again = Job(record_id="R", stage="t", items={"s": [chunk.data for chunk in result.chunks]})
    assert list(again.items(StatementRow, "s")) == rows
    assert next(iter(again.items())) == {"place": {}, "date": "2026-01-05", "amount": "1"}


@pytest.mark.parametrize(
    "rows",
    [
        [StatementRow(place=RowPlace(line=1), description="\x00")],
        [StatementRow(place=RowPlace(line=1), description="\ud800")],
        [StatementRow(place=RowPlace(line=n)) for n in range(1001)],
        [StatementRow(place=RowPlace(line=n), description="x" * 1000) for n in range(400)],
    ],
    ids=["nul", "surrogate", "many", "large"],
)
def test_a_batch_that_cannot_go_as_it_is_goes_in_pieces(rows: list[StatementRow]) -> None:
    result = ran(lambda job: iter([Batch(rows)]))

    assert result.count == len(rows)
    assert all("\\u0000" not in chunk.data for chunk in result.chunks)


def test_what_is_said_of_the_whole_counts_for_no_item() -> None:
    result = ran(lambda job: Outcome(items=[{"a": 1}], about={"rows": 1}))
    chunks = [chunk.data for chunk in result.chunks]
    after = Job(record_id="R", stage="t", items={"s": chunks})

    assert result.count == 1
    assert list(after.items("s")) == [{"a": 1}]
    assert after.about("s") == {"rows": 1}
    assert Job(record_id="R", stage="t", items={"s": chunks[:1]}).about() == {}


def test_options_of_the_settings_reach_a_runner() -> None:
    result = ran(lambda job: dict(job.options), options={"colour": "blue"})

    assert '"colour":"blue"' in result.chunks[0].data
