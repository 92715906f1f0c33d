"""`stateward eval labs`: an evaluation of a folder as tables, sentences and a document."""

from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.labs.evaluate import (
    UCUM_TESTS,
    JudgedReport,
    LabScore,
    evaluate_reports,
)

SHOWN_MAX = 40
COLUMNS = (
    "format", "reports", "exact", "wrong in silence", "flagged", "results", "found", "extra", "rows exact", "value",
    "unit", "range", "flag", "code",
)  # fmt: skip


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the reports of a folder are read."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds lab reports")
    result = evaluate_reports(request.path, now=request.clock, tell=request.progress)
    formats, total = result.formats(), result.total()
    sentences = [_sentence(one) for one in result.judged if not one.score.exact][:SHOWN_MAX]
    sentences += [
        f"{name}: no truth to compare with; {'it failed' if count < 0 else f'{count} results were read'}"
        for name, count in result.no_truth[:SHOWN_MAX]
    ]
    ucum = [_ucum(path) for path in sorted(request.path.rglob(UCUM_TESTS))]
    sentences += [
        f"UCUM validation: {right} of {count} as the functional tests say" for right, count in ucum
    ]
    rows = [*formats.items(), ("total", total)]
    plain = msgspec.to_builtins
    return EvaluationReport(
        document={
            "total": plain(total),
            "formats": {name: plain(score) for name, score in formats.items()},
            "reports": [plain(one) for one in result.judged],
            "no_truth": [list(each) for each in result.no_truth],
            "ucum": [list(each) for each in ucum],
        },
        tables=(Table(columns=COLUMNS, rows=tuple(_row(name, score) for name, score in rows)),),
        sentences=tuple(sentences),
        is_well=not total.wrong_in_silence,
    )


def _row(name: str, score: LabScore) -> tuple[object, ...]:
    return (
        name, score.documents, score.exact, score.wrong_in_silence, score.flagged, score.results, score.found,
        score.extra, score.rows_exact, score.values_exact, score.units_exact, score.ranges_exact, score.flags_exact,
        f"{score.codes_exact}/{score.codes}",
    )  # fmt: skip


def _sentence(one: JudgedReport) -> str:
    how = "wrong in silence" if one.score.wrong_in_silence else "not exact, and says so"
    what = one.code or "; ".join(one.wrong[:3]) or "more results than the truth has"
    return f"{one.file}: {how}; {what}"


def _ucum(path: Path) -> tuple[int, int]:
    """How many validation cases of the UCUM functional tests come out as they should."""
    from stateward.pipelines.kit.xml import local_name, parse_xml
    from stateward.pipelines.labs.units import validate_ucum

    right = count = 0
    for case in parse_xml(path.read_bytes(), name=path.name).iter():
        if (
            local_name(case) == "case"
            and case.get("unit") is not None
            and case.get("valid") is not None
        ):
            count += 1
            right += validate_ucum(case.get("unit", "")) == (case.get("valid") == "true")
    return right, count
