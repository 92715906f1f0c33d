"""`stateward eval statements`: an evaluation of a folder as tables, sentences and a document."""

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.statements.evaluate import Judged, Score, evaluate

SHOWN_MAX = 40
COLUMNS = (
    "format", "statements", "exact", "wrong in silence", "flagged", "rows", "found", "date", "amount", "balance",
    "description",
)  # fmt: skip


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the statements of a folder are read."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds statements")
    result = evaluate(request.path, now=request.clock, tell=request.progress)
    formats, total = result.formats(), result.total()
    rows = [*formats.items(), ("total", total)]
    sentences = [_sentence(one) for one in result.judged if not one.is_exact][:SHOWN_MAX]
    if result.no_truth:
        sentences.append(f"{len(result.no_truth)} files have no truth to compare with")
    plain = msgspec.to_builtins
    return EvaluationReport(
        document={
            "total": plain(total),
            "formats": {name: plain(score) for name, score in formats.items()},
            "statements": [plain(one) for one in result.judged],
            "no_truth": list(result.no_truth),
        },
        tables=(Table(columns=COLUMNS, rows=tuple(_row(name, score) for name, score in rows)),),
        sentences=tuple(sentences),
        flagged=total.flagged,
        is_well=not total.wrong_in_silence,
    )


def _row(name: str, score: Score) -> tuple[object, ...]:
    return (
        name,
        score.documents,
        score.exact,
        score.wrong_in_silence,
        score.flagged,
        score.rows,
        score.rows_found,
        score.dates_exact,
        score.amounts_exact,
        _share(score.balances_exact, score.balances),
        _share(score.descriptions_exact, score.descriptions),
    )


def _share(exact: int, known: int) -> str:
    return f"{exact}/{known}" if known else ""


def _sentence(one: Judged) -> str:
    how = "wrong in silence" if one.is_silent else "not exact, and says so"
    return f"{one.file}: {how}; {one.notes[0] if one.notes else 'no note'}"
