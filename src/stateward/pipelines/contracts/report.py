"""`stateward eval contracts`: an evaluation by ground truth, or by people's decisions, as tables and a document."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.contracts.calibration import CurveStep, check, error_of, fit
from stateward.pipelines.contracts.decisions import measure_decisions, read_decisions
from stateward.pipelines.contracts.evaluate import Evaluation, Judged, evaluate
from stateward.pipelines.contracts.rules import load
from stateward.pipelines.kit.evaluation import FieldScore

SHOWN_MAX = 40
APPROVAL_COLUMNS = (
    "contracts", "read", "approved", "share", "every required field right", "precision", "wrong, truth not printed",
)  # fmt: skip
CURVE_COLUMNS = ("confidence", "fitted on", "right", "checked on", "right there")
FIELD_COLUMNS = (
    "field", "true", "found", "right", "precision", "recall", "F1", "sure", "sure and right",
)  # fmt: skip


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the contracts of a folder are read, or those that people decided."""
    if request.path.is_file():
        return decisions(request)
    if not request.path.is_dir():
        raise InvalidRequest(
            f"{request.path} is no folder of contracts and no file of decisions; name one of the two"
        )
    folder = request.parameters.get("rules")
    result = evaluate(
        request.path,
        rules=load(None if folder is None else Path(folder)),
        cpu_s=request.cpu_s,
        tell=request.progress,
    )
    return report(result, is_well=not result.wrongly_accepted)


def decisions(request: EvaluationRequest) -> EvaluationReport:
    """How well the extractor of the settings reads the documents that people decided.

    It is well in any case: what people corrected is what the extractor had wrong.
    """
    configured = request.configured()
    return report(
        measure_decisions(
            read_decisions(request.path),
            path_of=request.artifact_path,
            rules=configured.rules,
            extract=configured.extract_terms,
            cpu_s=request.cpu_s,
            tell=request.progress,
        )
    )


def report(result: Evaluation, *, is_well: bool = True) -> EvaluationReport:
    """An evaluation for people and programs."""
    rows = [
        (f"{vertical}.{name}", score)
        for vertical, fields in sorted(result.fields.items())
        for name, score in fields.items()
    ]
    rows.append(("total", result.total()))
    bands = list(result.total().bands)
    ends = [f"{at}-{nxt - 1}" for at, nxt in zip(bands, [*bands[1:], 101], strict=True)]
    return EvaluationReport(
        document=_document(result),
        tables=(
            Table(
                title="approved without a person:",
                columns=APPROVAL_COLUMNS,
                rows=tuple(_approval_rows(result)),
            ),
            Table(columns=FIELD_COLUMNS, rows=tuple(_field_row(*row) for row in rows)),
            Table(
                title="right of those found, by confidence:",
                columns=("field", *ends),
                rows=tuple(_band_row(*row) for row in rows),
            ),
            Table(
                title="calibration, fitted on one half of the contracts and checked on the other:",
                columns=CURVE_COLUMNS,
                rows=tuple(_curve_rows(result)),
            ),
        ),
        sentences=tuple(_sentences(result)),
        is_well=is_well,
    )


def _groups(result: Evaluation) -> Iterator[tuple[str, list[Judged]]]:
    """All contracts, those of each vertical, and those of each half."""
    yield "all", result.judged
    for vertical in sorted({one.vertical for one in result.judged}):
        yield vertical, [one for one in result.judged if one.vertical == vertical]
    for half, name in (("fit", "half for fitting"), ("check", "half for checking")):
        yield name, [one for one in result.judged if one.half == half]


def _approvals(result: Evaluation) -> dict[str, object]:
    """How many contracts of each group are approved, and how many of those have every required field right."""
    return {
        name: {
            "contracts": len(judged),
            "approved": sum(one.is_accepted for one in judged),
            "right": sum(one.is_accepted and one.is_required_right for one in judged),
            "truth_not_printed": sum(
                one.is_accepted and not one.is_truth_printed for one in judged
            ),
        }
        for name, judged in _groups(result)
    }


def _approval_rows(result: Evaluation) -> Iterator[tuple[object, ...]]:
    for name, judged in _groups(result):
        approved = [one for one in judged if one.is_accepted]
        right = sum(one.is_required_right for one in approved)
        share = f"{len(approved) / len(judged):.1%}" if judged else ""
        precision = f"{right / len(approved):.1%}" if approved else ""
        unprinted = sum(not one.is_truth_printed for one in approved)
        yield name, len(judged), len(approved), share, right, precision, unprinted


def _curves(result: Evaluation) -> tuple[list[CurveStep], list[CurveStep]]:
    fitted = fit(each for each in result.values if each.half == "fit")
    return fitted, check(fitted, (each for each in result.values if each.half == "check"))


def _curve_rows(result: Evaluation) -> Iterator[tuple[object, ...]]:
    for one, other in zip(*_curves(result), strict=True):
        shares = (f"{step.share:.1%}" if step.found else "" for step in (one, other))
        mine, theirs = shares
        yield f"{one.low}-{one.high}", one.found, mine, other.found, theirs


def _document(result: Evaluation) -> dict[str, object]:
    fitted, checked = _curves(result)
    return {
        "approvals": _approvals(result),
        "total": _score_document(result.total()),
        "fields": {
            vertical: {name: _score_document(score) for name, score in fields.items()}
            for vertical, fields in sorted(result.fields.items())
        },
        "contracts": [msgspec.to_builtins(one) for one in result.judged],
        "calibration": [
            {
                "from": one.low,
                "to": one.high,
                "fitted": {"found": one.found, "right": one.right},
                "checked": {"found": other.found, "right": other.right},
            }
            for one, other in zip(fitted, checked, strict=True)
        ],
        "calibration_error": round(error_of(fitted, checked), 4),
        "accepted": len(result.accepted),
        "accepted_right": len(result.accepted) - len(result.wrongly_accepted),
        "cpu_ms": _mean([one.cpu_ms for one in result.judged]),
        "cpu_ms_a_page": round(_ms_a_page(result), 1),
        "no_truth": list(result.no_truth),
        "unknown_fields": list(result.unknown_fields),
    }


def _score_document(score: FieldScore) -> dict[str, object]:
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


def _field_row(name: str, score: FieldScore) -> tuple[object, ...]:
    sure = score.sure
    share = f"{sure.right} ({sure.right / sure.found:.1%})" if sure.found else ""
    return (
        name,
        score.true,
        score.found,
        score.right,
        f"{score.precision:.3f}",
        f"{score.recall:.3f}",
        f"{score.f1:.3f}",
        sure.found,
        share,
    )


def _band_row(name: str, score: FieldScore) -> tuple[object, ...]:
    bands = score.bands.values()
    return (name, *(f"{each.right}/{each.found}" if each.found else "" for each in bands))


def _ms_a_page(result: Evaluation) -> float:
    pages = sum(one.pages for one in result.judged)
    return sum(one.cpu_ms for one in result.judged) / pages if pages else 0.0


def _sentences(result: Evaluation) -> list[str]:
    wrong = [one for one in result.judged if not one.is_right][:SHOWN_MAX]
    accepted, missed = len(result.accepted), len(result.wrongly_accepted)
    whole = sum(one.is_right for one in result.judged)
    times = [one.cpu_ms for one in result.judged]
    sentences = [
        _approval_sentence(accepted, accepted - missed, len(result.judged)),
        *map(_miss, wrong),
        f"{whole} of {len(result.judged)} contracts are wholly right",
        f"{_mean(times):.0f} ms of CPU a contract, at most {max(times, default=0):.0f}; "
        f"{_ms_a_page(result):.0f} a page",
    ]
    if result.no_truth:
        sentences.append(f"{len(result.no_truth)} files have no truth to compare with")
    if result.unknown_fields:
        sentences.append(f"the rules know no such fields: {', '.join(result.unknown_fields)}")
    return sentences


def _approval_sentence(accepted: int, right: int, count: int) -> str:
    share = f" ({right / accepted:.1%})" if accepted else ""
    return (
        f"{accepted} of {count} contracts would be approved without a person; "
        f"{right} of them{share} have every required field right"
    )


def _miss(one: Judged) -> str:
    if one.code:
        return f"{one.file}: could not be read: {one.code}"
    how = "not wholly right, goes to a person"
    if one.is_accepted:
        how = (
            "accepted, an optional field is wrong"
            if one.is_required_right
            else "accepted and wrong"
        )
    miss = one.misses[0]
    found, expected = ", ".join(miss.found) or "nothing", ", ".join(miss.expected) or "nothing"
    return f"{one.file}: {how}; {miss.field} is {found}, not {expected}"


def _mean(numbers: list[float]) -> float:
    return round(sum(numbers) / len(numbers), 1) if numbers else 0.0
