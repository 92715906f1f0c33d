"""`stateward eval catalogs`: every catalogue of a folder through both stages, compared with its truth.

A catalogue is exact when the same rows are rejected as the truth says, each for the same reason, and no other. It is
wrong in silence when it is not.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.catalogs import runners  # noqa: F401 - registers them
from stateward.pipelines.catalogs.model import PrintedProduct
from stateward.pipelines.kit.ground_truth import BESIDE, TruthFiles
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    registered_runners,
    run_runner,
)

SUFFIXES = frozenset({".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".xml"})
FILES_MAX = 10_000
SHOWN_MAX = 40
COLUMNS = (
    "catalogue", "format", "rows", "products", "rejected", "truth", "parse rows/s", "normalize rows/s", "both rows/s",
)  # fmt: skip


class CatalogTruth(msgspec.Struct, frozen=True):
    """What is true of a catalogue; `errors` maps 0-based row numbers to reasons."""

    total: int
    valid: int
    errors: dict[int, str] = {}


class CatalogScore(msgspec.Struct, frozen=True, kw_only=True):
    """One catalogue: what was read, in which time, and what differs from its truth."""

    file: str
    format: str = ""
    rows: int = 0
    products: int = 0
    rejected: int = 0
    parse_s: float = 0.0
    normalize_s: float = 0.0
    has_truth: bool = False
    differences: list[str] = []
    failure: str = ""

    @property
    def is_exact(self) -> bool:
        return self.has_truth and not self.differences and not self.failure


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the catalogues of a folder are read."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds catalogues")
    scores = [*_scores(request)]
    judged = [score for score in scores if score.has_truth]
    exact = sum(score.is_exact for score in judged)
    sentences = [
        f"{score.file}: {sentence}"
        for score in scores
        for sentence in [score.failure, *score.differences]
        if sentence
    ]
    sentences.append(f"{exact} of {len(judged)} catalogues with a truth are exact")
    return EvaluationReport(
        document={
            "catalogs": [msgspec.to_builtins(score) for score in scores],
            "judged": len(judged),
            "exact": exact,
        },
        tables=(Table(columns=COLUMNS, rows=tuple(map(_row, scores))),),
        sentences=tuple(sentences[:SHOWN_MAX]),
        is_well=exact == len(judged),
    )


def _scores(request: EvaluationRequest) -> Iterator[CatalogScore]:
    files = [path for path in sorted(request.path.rglob("*")) if _is_catalog(path)]
    for path in files[:FILES_MAX]:
        request.progress(path.name)
        yield judge(path, name=str(path.relative_to(request.path)), cpu_s=request.cpu_s)


def _is_catalog(path: Path) -> bool:
    return (
        path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.endswith("truth.json")
    )


def judge(path: Path, *, name: str, cpu_s: Callable[[], float]) -> CatalogScore:
    """Read one catalogue and compare it with its truth, if it has one."""
    truth = _truth(path)
    started = cpu_s()
    parsed = _run("parse", path)
    parse_s = cpu_s() - started
    if isinstance(parsed, Failed):
        return CatalogScore(
            file=name, has_truth=truth is not None, failure=f"{parsed.code}: {parsed.message}"
        )
    chunks = [chunk.data for chunk in parsed.chunks]
    started = cpu_s()
    normalized = _run("normalize", path, chunks)
    normalize_s = cpu_s() - started
    if isinstance(normalized, Failed):
        failure = f"{normalized.code}: {normalized.message}"
        return CatalogScore(
            file=name, rows=parsed.count, has_truth=truth is not None, failure=failure
        )
    rejected = _rejections(normalized)
    return CatalogScore(
        file=name,
        format=str(parsed.facts.get("format")),
        rows=parsed.count,
        products=normalized.count,
        rejected=len(rejected),
        parse_s=parse_s,
        normalize_s=normalize_s,
        has_truth=truth is not None,
        differences=[] if truth is None else [*_differences(truth, chunks, rejected, normalized)],
    )


def _run(stage: str, path: Path, chunks: list[str] | None = None) -> Result:
    job = Job(
        record_id="EVAL",
        stage=stage,
        path=path,
        items=None if chunks is None else {"parse": chunks},
    )
    return run_runner(
        registered_runners()[f"catalog.{stage}"],
        job,
        limits=Limits(),
        sleep=lambda _: None,
        now=lambda: 0,
    )


def _truth(path: Path) -> CatalogTruth | None:
    """That of a catalogue alone, or of a folder whose catalogues all hold the same rows."""
    told = TruthFiles(path.parent, beside=(*BESIDE, "truth.json")).of(path)
    if told is None:
        return None
    value = told.value
    if isinstance(value, dict) and "total" not in value and path.name in value:
        value = value[path.name]
    try:
        return msgspec.convert(value, CatalogTruth, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{told.source} is no truth of a catalogue: {error}") from error


def _rejections(normalized: Completed) -> dict[int, str]:
    about = next(chunk.data for chunk in reversed(normalized.chunks) if not chunk.count)
    listed = msgspec.json.decode(about)["rejected"]
    return {each["where"]["row"]: each["code"] for each in listed}


def _differences(
    truth: CatalogTruth, chunks: list[str], rejected: dict[int, str], normalized: Completed
) -> Iterator[str]:
    items = Job(record_id="EVAL", stage="eval", items={"parse": chunks}).items(
        PrintedProduct, "parse"
    )
    rows = [item.where.row for item in items]
    if len(rows) != truth.total:
        yield f"{len(rows)} rows instead of {truth.total}"
    if normalized.count != truth.valid:
        yield f"{normalized.count} products instead of {truth.valid}"
    found = {at: rejected[row] for at, row in enumerate(rows) if row in rejected}
    for at in sorted(found.keys() | truth.errors.keys()):
        wanted, got = truth.errors.get(at, "valid"), found.get(at, "valid")
        if wanted.casefold() != got.casefold():
            yield f"row {at} is {got} and should be {wanted}"


def _row(score: CatalogScore) -> tuple[object, ...]:
    if score.failure:
        return (score.file, score.failure.partition(":")[0], *[""] * 7)
    both = score.parse_s + score.normalize_s
    truth = "" if not score.has_truth else "exact" if score.is_exact else "differs"
    speeds = (_speed(score.rows, each) for each in (score.parse_s, score.normalize_s, both))
    return (score.file, score.format, score.rows, score.products, score.rejected, truth, *speeds)


def _speed(rows: int, seconds: float) -> str:
    return f"{rows / seconds:,.0f}" if seconds else ""
