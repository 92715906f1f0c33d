"""`stateward eval inspection`: pairs of template and picture through both stages, compared with their truth.

Counted are verdicts, and defects: one is found if a box overlaps it, and a box that overlaps none is a false alarm. A
picture that cannot be judged counts as wrong, but not as silent: it never passes.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.inspection import PART_NUMBER, runners  # noqa: F401 - registers them
from stateward.pipelines.inspection.parts import SUFFIXES
from stateward.pipelines.inspection.settings import InspectionSettings
from stateward.pipelines.kit.evaluation import DocumentScore, StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping, read_text

RUNNERS = {"scan": "inspection.scan", "analyze": "inspection.analyze"}
TEST, TEMPLATES = "_test", ("_template", "_temp")
PART = "part"
SHOWN_MAX = 40
COLUMNS = (
    "pictures", "verdicts right", "passed wrongly", "no verdict", "defects", "found", "recall", "false alarms",
    "precision",
)  # fmt: skip

Box = tuple[float, float, float, float]


class PairTruth(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a picture."""

    verdict: str
    defects: tuple[Box, ...]


class PairResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one picture; `verdict` is "" where none was given."""

    file: str
    verdict: str
    expected: str
    code: str = ""
    defects: int = 0
    found: int = 0
    boxes: int = 0
    false_alarms: int = 0

    @property
    def score(self) -> DocumentScore:
        """It as a count."""
        is_right = self.verdict == self.expected
        return DocumentScore.of(is_exact=is_right, is_flagged=self.verdict != "passed")


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How right the verdicts on the pictures of a folder are."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds pairs of pictures")
    settings: InspectionSettings = request.configured().options
    results = []
    for path, template, truth in _pairs(request.path):
        request.progress(str(path))
        results.append(judge(path, template, truth, settings, request))
    total = DocumentScore()
    for result in results:
        total.add(result.score)
    row = _row(results, total)
    wrong = [each for each in results if each.verdict != each.expected]
    return EvaluationReport(
        document={
            "total": {**msgspec.to_builtins(total), **dict(zip(COLUMNS[4:], row[4:], strict=True))},
            "pictures": [msgspec.to_builtins(result) for result in results],
        },
        tables=(Table(columns=COLUMNS, rows=(row,)),),
        sentences=tuple(
            f"{each.file}: {each.code or each.verdict}, not {each.expected}" for each in wrong
        )[:SHOWN_MAX],
        is_well=total.wrong_in_silence == 0,
    )


def judge(
    path: Path,
    template: Path,
    truth: PairTruth,
    settings: InspectionSettings,
    request: EvaluationRequest,
) -> PairResult:
    """One picture: its verdict, and how many of its defects were found."""
    with TemporaryDirectory() as folder:
        shutil.copyfile(template, Path(folder) / f"{PART}{template.suffix.lower()}")
        own = msgspec.structs.replace(settings, templates=folder)
        options: Fields = msgspec.to_builtins(own)
        run = run_stages(
            path, RUNNERS, now=request.clock, options=options, labels={PART_NUMBER: PART}
        )
    if run.failure is not None:
        return PairResult(
            file=path.name, verdict="", expected=truth.verdict, code=run.failure.code,
            defects=len(truth.defects),
        )  # fmt: skip
    boxes = list(_boxes(run))
    return PairResult(
        file=path.name,
        verdict="passed" if run.completed["analyze"].facts["is_good"] else "failed",
        expected=truth.verdict,
        defects=len(truth.defects),
        found=sum(any(_overlap(box, true) for box in boxes) for true in truth.defects),
        boxes=len(boxes),
        false_alarms=sum(not any(_overlap(box, true) for true in truth.defects) for box in boxes),
    )


def _boxes(run: StagesRun) -> Iterator[Box]:
    for item in run.items("analyze"):
        yield msgspec.convert(item["box"], Box)


def _overlap(one: Box, other: Box) -> bool:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across > 0 and down > 0


def _pairs(folder: Path) -> Iterator[tuple[Path, Path, PairTruth]]:
    """Every picture with a template and a truth."""
    truths = TruthFiles(folder)
    for path in documents_in(folder, SUFFIXES):
        if not path.stem.endswith(TEST):
            continue
        name = path.stem.removesuffix(TEST)
        template = _template(path, name)
        truth = _truth(path, name, truths)
        if template is not None and truth is not None:
            yield path, template, truth


def _template(path: Path, name: str) -> Path | None:
    known = (path.with_name(f"{name}{form}{end}") for form in TEMPLATES for end in SUFFIXES)
    return next((each for each in known if each.is_file()), None)


def _truth(path: Path, name: str, truths: TruthFiles) -> PairTruth | None:
    beside = path.with_name(f"{name}.txt")
    if beside.is_file():
        boxes = tuple(map(_box, read_text(beside).splitlines()))
        return PairTruth(verdict="failed" if boxes else "passed", defects=boxes)
    told = truths.of(path.with_name(name))
    if told is None:
        return None
    return _told_truth(mapping(told.value, f"{told.source}: {name}"), name)


def _told_truth(told: Mapping[str, object], name: str) -> PairTruth:
    defects = told.get("defects", [])
    try:
        boxes = tuple(
            msgspec.convert(each[:4], Box) for each in msgspec.convert(defects, list[list[object]])
        )
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the truth of {name} has no list of boxes: {error}") from error
    return PairTruth(
        verdict=str(told.get("verdict", "failed" if boxes else "passed")), defects=boxes
    )


def _box(line: str) -> Box:
    try:
        left, top, right, bottom = map(float, line.replace(",", " ").split()[:4])
    except ValueError as error:
        raise InvalidRequest(f"{line!r} is no box: left, top, right, bottom, kind") from error
    return left, top, right, bottom


def _row(results: Sequence[PairResult], total: DocumentScore) -> tuple[object, ...]:
    judged = [each for each in results if each.verdict]
    defects, found = sum(each.defects for each in results), sum(each.found for each in results)
    boxes, false = sum(each.boxes for each in judged), sum(each.false_alarms for each in judged)
    return (
        len(results),
        total.exact,
        total.wrong_in_silence,
        len(results) - len(judged),
        defects,
        found,
        round(found / defects, 3) if defects else None,
        false,
        round(1 - false / boxes, 3) if boxes else None,
    )
