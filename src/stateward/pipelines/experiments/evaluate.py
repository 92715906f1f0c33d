"""`stateward eval experiments`: tables of a folder through both stages, compared with their truth.

Right is a table whose rows, faults (by row and column) and missing values are those of the truth, and whose statistics
agree with it to seven digits.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.experiments import runners  # noqa: F401 - registers them
from stateward.pipelines.experiments.settings import ExperimentSettings
from stateward.pipelines.kit.evaluation import DocumentScore, StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping

SUFFIXES = frozenset({".csv", ".tsv", ".xlsx", ".zip"})
RUNNERS = {"validate": "experiments.validate", "process": "experiments.process"}
COLUMNS = ("dataset", "right", "result", "data points", "columns", "faults", "wrong")
TOLERANCE = Decimal("0.5e-7")  # relative: seven digits


class DatasetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file."""

    file: str
    has_truth: bool
    faults: tuple[str, ...]
    code: str = ""
    notes: tuple[str, ...] = ()
    data_points: int = 0
    columns: int = 0
    row_faults: int = 0


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How right tables and their statistics are."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds tables")
    settings: ExperimentSettings = request.configured().options
    truths = TruthFiles(request.path, exact=True)
    results: list[DatasetResult] = []
    for path in documents_in(request.path, SUFFIXES):
        request.progress(str(path))
        told = truths.of(path)
        truth = None if told is None else mapping(told.value, f"{told.source}: {path.name}")
        results.append(judge(path, truth, settings, request))
    total = DocumentScore()
    for result in results:
        is_flagged = bool(result.code or result.notes)
        total.add(DocumentScore.of(is_exact=not result.faults, is_flagged=is_flagged))
    known = sum(result.has_truth for result in results)
    return EvaluationReport(
        document={
            "total": msgspec.to_builtins(total),
            "datasets": [msgspec.to_builtins(result) for result in results],
        },
        tables=(Table(columns=COLUMNS, rows=tuple(map(_row, results))),),
        sentences=(f"{known} of {len(results)} datasets have a truth to compare with",),
        is_well=total.wrong_in_silence == 0,
    )


def judge(
    path: Path,
    truth: Mapping[str, object] | None,
    settings: ExperimentSettings,
    request: EvaluationRequest,
) -> DatasetResult:
    """One file: what differs from its truth."""
    options: Fields = msgspec.to_builtins(settings)
    labels: Fields = {"filename": path.name}
    for name in ("response", "predictors"):
        if truth is not None and name in truth:
            labels[name] = str(truth[name])
    run = run_stages(path, RUNNERS, now=request.clock, options=options, labels=labels)
    if run.failure is not None:
        expected = "" if truth is None else str(truth.get("expect", ""))
        is_right = run.failure.code in expected
        said = () if is_right else (f"it failed: {run.failure.message}",)
        return DatasetResult(
            file=path.name, has_truth=truth is not None, faults=said, code=run.failure.code
        )
    return DatasetResult(
        file=path.name,
        has_truth=truth is not None,
        faults=() if truth is None else tuple(_differences(truth, run)),
        notes=tuple(run.notes),
        data_points=run.completed["validate"].count,
        columns=run.completed["process"].count,
        row_faults=len(_row_faults(run)),
    )


def _differences(truth: Mapping[str, object], run: StagesRun) -> Iterator[str]:
    count = run.completed["validate"].count
    if "expect" in truth:
        yield f"it did not fail; expected: {truth['expect']}"
    if "rows" in truth and truth["rows"] != count:
        yield f"{count} data points, not {truth['rows']}"
    if "faults" in truth:
        expected = {(int(str(row)), str(column)) for row, column in _pairs(truth["faults"])}
        found = _row_faults(run)
        yield from (
            f"row {row}, {column}: fault not found" for row, column in sorted(expected - found)
        )
        yield from (f"row {row}, {column}: no fault" for row, column in sorted(found - expected))
    items = {str(item["column"]): item for item in run.items("process")}
    for column, missing in mapping(truth.get("missing", {}), "missing").items():
        if items.get(column, {}).get("missing") != missing:
            yield f"{column}: {items.get(column, {}).get('missing')} values missing, not {missing}"
    for column, expected_values in mapping(truth.get("statistics", {}), "statistics").items():
        for name, value in mapping(expected_values, column).items():
            found_value = items.get(column, {}).get(name)
            if not _agrees(found_value, value):
                yield f"{column}: {name} is {found_value}, not {value}"


def _pairs(value: object) -> list[tuple[object, object]]:
    try:
        return msgspec.convert(value, list[tuple[object, object]])
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"faults must be a list of [row, column]: {error}") from error


def _row_faults(run: StagesRun) -> set[tuple[int, str]]:
    import csv
    import io

    data = run.files.get("validate/faults.csv", b"")
    rows = csv.DictReader(io.StringIO(data.decode()))
    return {(int(row["row"]), row["column"]) for row in rows}


def _agrees(found: object, true: object) -> bool:
    try:
        a, b = Decimal(str(found)), Decimal(str(true))
    except InvalidOperation:
        return found == true
    return abs(a - b) <= TOLERANCE * abs(b)


def _row(result: DatasetResult) -> tuple[object, ...]:
    right = ("no" if result.faults else "yes") if result.has_truth or result.faults else ""
    said = result.code or ", ".join(note.partition(":")[0] for note in result.notes) or "analyzed"
    return (
        result.file, right, said, result.data_points, result.columns, result.row_faults,
        "; ".join(result.faults[:3]),
    )  # fmt: skip
