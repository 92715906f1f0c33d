"""`stateward eval`: how well the product reads samples whose truth is known.

Measuring is the business of the pipelines; this is its door. It never touches the data folder.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.door import Command, Door, Group, pass_door
from stateward.cli.exits import Exit
from stateward.cli.shown import write, write_table

if TYPE_CHECKING:
    from stateward.pipelines.statements.evaluate import Evaluation, Judged, Score

SHOWN_MAX = 40
COLUMNS = (
    "format", "statements", "exact", "wrong in silence", "flagged", "rows", "found", "date", "amount", "balance",
    "description",
)  # fmt: skip


@click.group("eval", cls=Group, examples=["stateward eval statements samples/"])
def eval_() -> None:
    """Measure how well samples are read whose truth is known."""


@eval_.command(
    "statements",
    cls=Command,
    examples=["stateward eval statements samples/", "stateward eval statements samples/ --json"],
)
@click.argument("folder", type=click.Path(path_type=Path))
@pass_door
def statements(door: Door, *, folder: Path) -> Exit:
    """Compare the statements of FOLDER with their truth.

    Each is read by both stages, as `submit` would have it read, but nothing is kept. The truth of NAME.pdf stands
    beside it as NAME.truth.json, with a list `transactions` of date, amount and, where they are known, balance and
    description. A statement is exact only if every row is. It ends with 1 if any is wrong and nothing says so.
    """
    from stateward.app import steady_clock
    from stateward.core.errors import InvalidRequest
    from stateward.pipelines.statements.evaluate import evaluate

    if not folder.is_dir():
        raise InvalidRequest(f"{folder} is no folder; name one that holds statements")
    result = evaluate(folder, now=steady_clock, tell=lambda name: door.progress(f"reading {name}"))
    if door.is_for_programs:
        door.emit(_document(result))
    else:
        _show(result)
    return Exit.FOUND_PROBLEMS if result.total().wrong_in_silence else Exit.OK


def _document(result: "Evaluation") -> dict[str, object]:
    import msgspec

    plain = msgspec.to_builtins
    return {
        "total": plain(result.total()),
        "formats": {name: plain(score) for name, score in result.formats().items()},
        "statements": [plain(one) for one in result.judged],
        "no_truth": list(result.no_truth),
    }


def _show(result: "Evaluation") -> None:
    rows = [_row(name, score) for name, score in result.formats().items()]
    write_table(COLUMNS, [*rows, _row("total", result.total())])
    for one in [one for one in result.judged if not one.is_exact][:SHOWN_MAX]:
        write(_said(one))
    if result.no_truth:
        write(f"{len(result.no_truth)} files have no truth to compare with")


def _row(name: str, score: "Score") -> list[object]:
    return [
        name,
        score.statements,
        score.statements_exact,
        score.wrong_in_silence,
        score.flagged,
        score.rows,
        score.rows_found,
        score.dates_exact,
        score.amounts_exact,
        _of(score.balances_exact, score.balances),
        _of(score.descriptions_exact, score.descriptions),
    ]


def _of(exact: int, known: int) -> str:
    return f"{exact}/{known}" if known else ""


def _said(one: "Judged") -> str:
    how = "wrong in silence" if one.is_silent else "not exact, and says so"
    return f"{one.file}: {how}; {one.notes[0] if one.notes else 'no note'}"
