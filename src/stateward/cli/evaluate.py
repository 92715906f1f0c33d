"""`stateward eval`: how well the product reads samples whose truth is known.

Measuring is the business of the pipelines; this is its context. It never touches the data folder.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stateward.cli.context import (
    CliContext,
    Command,
    Group,
    pass_context,
)
from stateward.cli.exit_codes import Exit
from stateward.cli.output import write, write_table

if TYPE_CHECKING:
    from stateward.pipelines.contracts.evaluate import Evaluation as ContractEvaluation
    from stateward.pipelines.contracts.evaluate import Judged as JudgedContract
    from stateward.pipelines.contracts.evaluate import Score as FieldScore
    from stateward.pipelines.statements.evaluate import Evaluation, Judged, Score

SHOWN_MAX = 40
COLUMNS = (
    "format", "statements", "exact", "wrong in silence", "flagged", "rows", "found", "date", "amount", "balance",
    "description",
)  # fmt: skip


FIELD_COLUMNS = (
    "field",
    "true",
    "found",
    "right",
    "precision",
    "recall",
    "F1",
    "sure",
    "sure and right",
)


@click.group("eval", cls=Group, examples=["stateward eval statements samples/"])
def eval_() -> None:
    """Measure how well samples are read whose truth is known."""


@eval_.command(
    "statements",
    cls=Command,
    examples=["stateward eval statements samples/", "stateward eval statements samples/ --json"],
)
@click.argument("folder", type=click.Path(path_type=Path))
@pass_context
def statements(context: CliContext, *, folder: Path) -> Exit:
    """Compare the statements of FOLDER with their truth.

    Each is read by both stages, as `submit` would have it read, but nothing is kept. The truth of NAME.pdf stands
    beside it as NAME.truth.json, with a list `transactions` of date, amount and, where they are known, balance and
    description. A statement is exact only if every row is. It ends with 1 if any is wrong and nothing says so.
    """
    from stateward.core.errors import InvalidRequest
    from stateward.engine.system import steady_clock
    from stateward.pipelines.statements.evaluate import evaluate

    if not folder.is_dir():
        raise InvalidRequest(f"{folder} is no folder; name one that holds statements")
    result = evaluate(
        folder, now=steady_clock, tell=lambda name: context.progress(f"reading {name}")
    )
    if context.is_for_programs:
        context.emit(_document(result))
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


@eval_.command(
    "contracts",
    cls=Command,
    examples=["stateward eval contracts samples/", "stateward eval contracts samples/ --json"],
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--rules",
    "rules_folder",
    type=click.Path(path_type=Path),
    help="Take rules of your own from this folder, over those that ship.",
)
@pass_context
def contracts(context: CliContext, *, folder: Path, rules_folder: Path | None) -> Exit:
    """Compare the contracts of FOLDER with their truth.

    Each is read, its fields are extracted offline and judged by the rules, but nothing is kept. The truth stands in
    truth.json or truth.jsonl, or beside each contract as NAME.truth.json. For each field it shows precision, recall and
    F1, how many values have a confidence of 80 or more, and how many of those are right. It ends with 1 if a contract
    that no person would see is not wholly right.
    """
    import time

    from stateward.core.errors import InvalidRequest
    from stateward.pipelines.contracts.evaluate import evaluate
    from stateward.pipelines.contracts.rules import load

    if not folder.is_dir():
        raise InvalidRequest(f"{folder} is no folder; name one that holds contracts")
    result = evaluate(
        folder,
        rules=load(rules_folder),
        cpu_s=time.process_time,
        tell=lambda name: context.progress(f"reading {name}"),
    )
    if context.is_for_programs:
        context.emit(contracts_document(result))
    else:
        show_contracts(result)
    return Exit.FOUND_PROBLEMS if result.wrongly_accepted else Exit.OK


def contracts_document(result: "ContractEvaluation") -> dict[str, object]:
    """An evaluation of contracts for programs."""
    import msgspec

    plain = msgspec.to_builtins
    return {
        "total": _score_document(result.total()),
        "fields": {
            vertical: {name: _score_document(score) for name, score in fields.items()}
            for vertical, fields in sorted(result.fields.items())
        },
        "contracts": [plain(one) for one in result.judged],
        "accepted": len(result.accepted),
        "accepted_right": len(result.accepted) - len(result.wrongly_accepted),
        "cpu_ms": _mean([one.cpu_ms for one in result.judged]),
        "no_truth": list(result.no_truth),
        "unknown_fields": list(result.unknown_fields),
    }


def _score_document(score: "FieldScore") -> dict[str, object]:
    return {
        "true": score.true,
        "found": score.found,
        "right": score.right,
        "precision": round(score.precision, 4),
        "recall": round(score.recall, 4),
        "f1": round(score.f1, 4),
        "calibration": [
            {"from": at, "found": band.found, "right": band.right}
            for at, band in score.bands.items()
        ],
    }


def show_contracts(result: "ContractEvaluation") -> None:
    """The same as tables for people."""
    rows = [
        (f"{vertical}.{name}", score)
        for vertical, fields in sorted(result.fields.items())
        for name, score in fields.items()
    ]
    rows.append(("total", result.total()))
    write_table(FIELD_COLUMNS, [_field_row(name, score) for name, score in rows])
    write()
    write("right of those found, by confidence:")
    bands = list(result.total().bands)
    ends = [f"{at}-{nxt - 1}" for at, nxt in zip(bands, [*bands[1:], 101], strict=True)]
    write_table(("field", *ends), [_band_row(name, score) for name, score in rows])
    write()
    for one in [one for one in result.judged if not one.is_right][:SHOWN_MAX]:
        write(_said_of_contract(one))
    accepted, wrong = len(result.accepted), len(result.wrongly_accepted)
    whole = sum(one.is_right for one in result.judged)
    times = [one.cpu_ms for one in result.judged]
    write(f"{whole} of {len(result.judged)} contracts are wholly right")
    write(f"{accepted} would be accepted without a person, {accepted - wrong} of them wholly right")
    write(f"{_mean(times):.0f} ms of CPU a contract, at most {max(times, default=0):.0f}")
    if result.no_truth:
        write(f"{len(result.no_truth)} files have no truth to compare with")
    if result.unknown_fields:
        write(f"the rules know no such fields: {', '.join(result.unknown_fields)}")


def _field_row(name: str, score: "FieldScore") -> list[object]:
    sure = score.sure
    share = f"{sure.right} ({sure.right / sure.found:.1%})" if sure.found else ""
    return [
        name,
        score.true,
        score.found,
        score.right,
        f"{score.precision:.3f}",
        f"{score.recall:.3f}",
        f"{score.f1:.3f}",
        sure.found,
        share,
    ]


def _band_row(name: str, score: "FieldScore") -> list[object]:
    return [name, *(_of(band.right, band.found) for band in score.bands.values())]


def _said_of_contract(one: "JudgedContract") -> str:
    if one.code:
        return f"{one.file}: could not be read: {one.code}"
    how = "accepted and wrong" if one.is_accepted else "not wholly right, goes to a person"
    miss = one.misses[0]
    found, expected = ", ".join(miss.found) or "nothing", ", ".join(miss.expected) or "nothing"
    return f"{one.file}: {how}; {miss.field} is {found}, not {expected}"


def _mean(numbers: list[float]) -> float:
    return round(sum(numbers) / len(numbers), 1) if numbers else 0.0
