"""`stateward eval images`: every picture of a folder through both stages, compared with its truth.

A picture is right when its size, its position, its frames and (where told) its colours are as the truth says, every
derived picture lies within its bounds and holds no metadata; or when it fails with a code that the truth names. A
damaged picture is tried once more, as a retry would, to see what the lenient attempt makes of it.
"""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.images import runners  # noqa: F401 - registers them
from stateward.pipelines.images.settings import ImageSettings
from stateward.pipelines.kit.evaluation import DocumentScore, StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping

SUFFIXES = frozenset({
    ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".tif", ".tiff", ".bmp", ".jp2", ".heic",
})  # fmt: skip
RUNNERS = {"resize": "images.resize", "thumbnail": "images.thumbnail"}
CODE = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
COLOR_DIFFERENCE_MAX = 6  # of 255, in the mean of a channel
COLUMNS = ("picture", "right", "result", "wrong")
# What a file of a picture may say besides its pixels: the density, and how the decoder is to proceed.
HARMLESS = frozenset({
    "jfif", "jfif_version", "jfif_unit", "jfif_density", "progressive", "progression", "dpi", "transparency",
    "background", "loop", "duration", "timestamp",
})  # fmt: skip


class PictureResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one picture."""

    file: str
    faults: tuple[str, ...]
    code: str = ""
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> DocumentScore:
        """It as a count."""
        return DocumentScore.of(is_exact=not self.faults, is_flagged=bool(self.code or self.notes))


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How right the derived pictures of a folder are."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds pictures")
    settings: ImageSettings = request.configured().options
    truths = TruthFiles(request.path)
    results: list[PictureResult] = []
    for path in documents_in(request.path, SUFFIXES):
        request.progress(str(path))
        told = truths.of(path)
        truth = {} if told is None else mapping(told.value, f"{told.source}: {path.name}")
        results.append(judge(path, truth, settings, request))
    total = DocumentScore()
    for result in results:
        total.add(result.score)
    return EvaluationReport(
        document={
            "total": msgspec.to_builtins(total),
            "pictures": [msgspec.to_builtins(result) for result in results],
        },
        tables=(Table(columns=COLUMNS, rows=tuple(map(_row, results))),),
        sentences=(f"{total.exact} of {total.documents} pictures are right",),
        is_well=total.wrong_in_silence == 0,
    )


def judge(
    path: Path, truth: Mapping[str, object], settings: ImageSettings, request: EvaluationRequest
) -> PictureResult:
    """One picture: what is wrong with it, and what the record would say."""
    found = derive(path, settings, request)
    expected = str(truth.get("expect", ""))
    faults = (
        _failure_faults(expected, found)
        if expected or found.failure is not None
        else chain(_fact_faults(truth, found), _file_faults(truth, found, settings))
    )
    return PictureResult(
        file=path.name,
        faults=tuple(faults),
        code="" if found.failure is None else found.failure.code,
        notes=tuple(dict.fromkeys(found.notes)),
    )


def derive(path: Path, settings: ImageSettings, request: EvaluationRequest) -> StagesRun:
    """Both stages over one file; a failure that may be retried is, once."""
    options: Fields = msgspec.to_builtins(settings)
    first = run_stages(path, RUNNERS, now=request.clock, options=options)
    if first.failure is None or not first.failure.is_retryable:
        return first
    return run_stages(path, RUNNERS, now=request.clock, options=options, retry_count=1)


def _failure_faults(expected: str, found: StagesRun) -> Iterator[str]:
    codes = CODE.findall(expected)
    flags = {note.partition(":")[0] for note in found.notes}
    if found.failure is not None:
        if found.failure.code not in codes:
            yield f"it failed with {found.failure.code}; expected: {expected or 'a picture'}"
    elif "partial" not in expected or not flags.intersection(codes):
        yield f"it did not fail; expected: {expected}"


def _fact_faults(truth: Mapping[str, object], found: StagesRun) -> Iterator[str]:
    about = found.about("resize")
    size, shown = [about["width"], about["height"]], about["shown"]
    if "size" in truth and truth["size"] != size:
        yield f"its size is {size}, not {truth['size']}"
    expected = truth.get("display_size", truth.get("size"))
    if expected is not None and expected != shown:
        yield f"it is shown as {shown}, not {expected}"
    for key in ("frames", "pages"):
        if key in truth and truth[key] != about["frames"]:
            yield f"it has {about['frames']} {key}, not {truth[key]}"


def _file_faults(
    truth: Mapping[str, object], found: StagesRun, settings: ImageSettings
) -> Iterator[str]:
    from PIL import Image, ImageStat

    bounds = {each.name: each for each in (*settings.sizes, settings.thumbnail)}
    items = [(stage, item) for stage in RUNNERS for item in found.items(stage)]
    for stage_name, item in items:
        file, size = f"{stage_name}/{item['file']}", bounds[str(item["name"])]
        image = Image.open(BytesIO(found.files[file]))
        if list(image.size) != [item["width"], item["height"]]:
            yield f"{file} has another size than its item says"
        if image.width > size.width or image.height > size.height:
            yield f"{file} is larger than {size.width} x {size.height}"
        if metadata := sorted(str(key) for key in image.info if key not in HARMLESS):
            yield f"{file} holds metadata: {', '.join(metadata)}"
        color = truth.get("color")
        if isinstance(color, list):
            means = ImageStat.Stat(image.convert("RGB")).mean
            if any(
                abs(a - float(b)) > COLOR_DIFFERENCE_MAX for a, b in zip(means, color, strict=True)
            ):
                yield f"{file} has the mean colour {[round(each) for each in means]}, not {color}"


def _row(result: PictureResult) -> tuple[object, ...]:
    is_right = "no" if result.faults else "yes"
    said = result.code or ", ".join(note.partition(":")[0] for note in result.notes) or "complete"
    return (result.file, is_right, said, "; ".join(result.faults))
