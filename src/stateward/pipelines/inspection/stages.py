"""The two stages: `scan` finds what differs from the template, `analyze` says which of it is a defect, and the verdict.

A verdict is only given on a picture that could be judged: of the template's size, bright and sharp enough, and lying
over it. Every other one is a failure with a code that says why.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, NoReturn

import msgspec
import numpy as np

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.inspection.comparison import (
    Gray,
    Light,
    Mask,
    Region,
    differences,
    light_of,
    sharpness,
    with_light_of,
)
from stateward.pipelines.inspection.parts import Part, gray, part_of
from stateward.pipelines.inspection.registration import (
    Registration,
    correlation,
    matrix_of,
    register,
    visible_area,
    warp,
)
from stateward.pipelines.inspection.settings import InspectionSettings, Thresholds
from stateward.pipelines.kit.pictures import Picture, encode_picture, read_picture
from stateward.workers.sdk import Job, Outcome

if TYPE_CHECKING:
    from PIL.Image import Image

REGIONS_MAX = 5000
SCALE_OFF_MAX = 0.05
MEASURED_DEG = 0.05  # how exactly a rotation is known: one of 3° is measured as 3.0008°
ALIGNED, OVERLAY = "aligned.png", "overlay.png"
COLORS = {"extra": "#e11d48", "missing": "#2563eb"}
LINE_PX, SPACE_PX = 2, 4

SIZE_DIFFERS = "SIZE_DIFFERS"
TOO_DARK = "TOO_DARK"
LOW_CONTRAST = "LOW_CONTRAST"
BLURRED = "BLURRED"
NOT_REGISTERED = "NOT_REGISTERED"
TOO_MANY_DIFFERENCES = "TOO_MANY_DIFFERENCES"
EDGE_NOT_SEEN = "EDGE_NOT_SEEN"
TEMPLATE_CHANGED = "TEMPLATE_CHANGED"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """An item of `scan`: a region of the aligned picture that differs from the template."""

    kind: str
    box: tuple[int, int, int, int]
    area: int
    contrast: float
    where: Fields


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """An item of `analyze`: a difference that counts. `score` (0 to 100) grows with area and contrast."""

    kind: str
    box: tuple[int, int, int, int]
    area: int
    contrast: float
    score: int
    where: Fields


def scan(job: Job) -> Outcome[Difference]:
    """What differs between a picture and the template of its part number."""
    settings = settings_of(job)
    part = part_of(job.labels, settings)
    picture = _picture(job, settings)
    found = gray(picture)
    _check_size(part.template, found)
    registration = register(part.template, found, shift_max_px=part.thresholds.shift_max_px)
    matrix = matrix_of(registration)
    aligned = warp(found, matrix)
    light = light_of(part.template, aligned)
    _check_light(light, part)
    aligned = with_light_of(part.template, aligned)
    match = correlation(part.template, aligned)
    _check_place(registration, match, part.thresholds)
    sharp = sharpness(part.template, aligned)
    _check_sharpness(sharp, part.thresholds)
    is_seen = visible_area(matrix, part.template.shape)
    regions = list(differences(part.template, aligned, thresholds=part.thresholds, is_seen=is_seen))
    _check_count(regions)
    job.save_file(ALIGNED, _png(aligned), media_type="image/png")
    notes = [*picture.notes, *_edge_notes(is_seen, part)]
    about: Fields = {
        "part_number": part.number,
        "template": f"sha256:{part.sha256}",
        "registration": msgspec.to_builtins(registration),
        "match": round(match, 4),
        "sharpness": round(sharp, 3),
        "brightness": light.bright,
        "contrast": light.contrast,
    }
    job.log(f"compared with the template of {part.number}", facts=about)
    return Outcome(
        facts={"notes": notes} if notes else {},
        items=[_difference(region) for region in regions],
        about=about,
    )


def analyze(job: Job) -> Outcome[Defect]:
    """The verdict: which differences are defects, and whether the part may have that many."""
    settings = settings_of(job)
    part = part_of(job.labels, settings)
    about = job.about("scan")
    if about.get("template") != f"sha256:{part.sha256}":
        _refuse(
            TEMPLATE_CHANGED,
            f"the template of {part.number} was changed after the picture was compared with it; submit it again",
        )
    thresholds = part.thresholds
    found = list(job.items(Difference, "scan"))
    defects = [_defect(each, thresholds) for each in found if each.area >= thresholds.area_min_px]
    is_good = len(defects) <= thresholds.defects_max
    overlay = _overlay(job.file("scan", ALIGNED).read_bytes(), defects)
    job.save_file(OVERLAY, encode_picture(overlay, "png"), media_type="image/png")
    sentence = _sentence(part.number, defects, is_good=is_good)
    job.log(sentence)
    return Outcome(
        facts={"is_good": is_good},
        items=defects,
        about={
            "sentence": sentence,
            "thresholds": msgspec.to_builtins(thresholds),
            "is_good": is_good,
        },
    )


def settings_of(job: Job) -> InspectionSettings:
    """The options of a job; the defaults where it has none."""
    return msgspec.convert(dict(job.options), InspectionSettings)


# What cannot be judged


def _picture(job: Job, settings: InspectionSettings) -> Picture:
    # A damaged picture is never read in part here: what is missing in it could be the defect.
    with job.open() as file:
        return read_picture(file, pixels_max=settings.pixels_max, setting="inspection.pixels_max")


def _check_size(template: Gray, picture: Gray) -> None:
    if template.shape != picture.shape:
        (height, width), (there, across) = picture.shape, template.shape
        _refuse(
            SIZE_DIFFERS,
            f"the picture has {width} x {height} pixels and its template {across} x {there}; take it as the template "
            "was taken",
        )


def _check_light(light: Light, part: Part) -> None:
    true = light_of(part.template, part.template)
    if true.contrast < part.thresholds.contrast_min:
        _refuse(
            LOW_CONTRAST, f"the template of {part.number} has too little contrast: {true.contrast}"
        )
    if light.bright < part.thresholds.brightness_min:
        _refuse(
            TOO_DARK,
            f"what should be bright has a brightness of {light.bright}, less than {part.thresholds.brightness_min}; "
            "take it again with more light, and see whether the part number is right",
        )
    if light.contrast < part.thresholds.contrast_min:
        _refuse(
            LOW_CONTRAST,
            f"bright and dark are only {light.contrast} apart, less than {part.thresholds.contrast_min}; see whether "
            "the part number is right, and take it again",
        )


def _check_place(registration: Registration, match: float, thresholds: Thresholds) -> None:
    is_off = (
        registration.shift_px > thresholds.shift_max_px
        or abs(registration.rotation_deg) > thresholds.rotation_max_deg + MEASURED_DEG
        or abs(registration.scale - 1) > SCALE_OFF_MAX
    )
    if is_off or match < thresholds.match_min:
        _refuse(
            NOT_REGISTERED,
            f"the picture cannot be laid over its template (match {match:.2f}, shift {registration.shift_px} px, "
            f"rotation {registration.rotation_deg}°); see whether the part number is right, and take it again",
        )


def _check_sharpness(found: float, thresholds: Thresholds) -> None:
    if found < thresholds.sharpness_min:
        _refuse(
            BLURRED,
            f"edges are only {found:.0%} as steep as in the template, less than {thresholds.sharpness_min:.0%}; take "
            "it again in focus",
        )


def _check_count(regions: list[Region]) -> None:
    if len(regions) > REGIONS_MAX:
        _refuse(
            TOO_MANY_DIFFERENCES,
            f"there are {len(regions)} differences, more than {REGIONS_MAX}; see whether the part number is right",
        )


def _refuse(code: str, sentence: str) -> NoReturn:
    raise FatalFailure(sentence, code=code)


def _edge_notes(is_seen: Mask, part: Part) -> Iterator[str]:
    """A note if the picture does not show all that would be compared."""
    margin = part.thresholds.margin_px
    inner = is_seen[margin : is_seen.shape[0] - margin, margin : is_seen.shape[1] - margin]
    hidden = int(inner.size - np.count_nonzero(inner))
    if hidden:
        share = 100 * hidden / inner.size
        yield (
            f"{EDGE_NOT_SEEN}: {share:.2g} % of the part lies outside of the picture and was not compared"
        )


# Items and pictures


def _difference(region: Region) -> Difference:
    return Difference(
        kind=region.kind,
        box=region.box,
        area=region.area,
        contrast=region.contrast,
        where=_where(f"scan/{ALIGNED}", region.box),
    )


def _defect(found: Difference, thresholds: Thresholds) -> Defect:
    weight = found.area / thresholds.area_min_px * (found.contrast / thresholds.difference_min)
    return Defect(
        kind=found.kind,
        box=found.box,
        area=found.area,
        contrast=found.contrast,
        score=round(100 * weight / (weight + 1)),
        where=_where(f"analyze/{OVERLAY}", found.box),
    )


def _where(file: str, box: tuple[int, int, int, int]) -> Fields:
    return {"file": file, "page": 1, "box": list(box)}


def _sentence(number: str, defects: list[Defect], *, is_good: bool) -> str:
    kinds = ", ".join(
        f"{sum(each.kind == kind for each in defects)} {kind}"
        for kind in COLORS
        if any(each.kind == kind for each in defects)
    )
    verdict = "passed" if is_good else "failed"
    return f"{number} {verdict}: {f'{len(defects)} defects ({kinds})' if defects else 'no defect'}"


def _png(image: Gray) -> bytes:
    from PIL import Image

    return encode_picture(Image.fromarray(image), "png")


def _overlay(aligned: bytes, defects: Iterable[Defect]) -> "Image":
    """The picture in its place with a frame around each defect."""
    from PIL import Image, ImageDraw

    image = Image.open(BytesIO(aligned)).convert("RGB")
    draw = ImageDraw.Draw(image)
    for defect in defects:
        left, top, right, bottom = defect.box
        frame = (left - SPACE_PX, top - SPACE_PX, right + SPACE_PX - 1, bottom + SPACE_PX - 1)
        draw.rectangle(frame, outline=COLORS[defect.kind], width=LINE_PX)
    return image
