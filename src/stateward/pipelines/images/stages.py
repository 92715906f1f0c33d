"""The two stages: a picture is decoded once and drawn at each size; every drawing is a derived file.

Both read the original. A picture that is damaged fails at the first attempt; from the first retry on what is left of it
is used, and the record is flagged.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from stateward.pipelines.images.settings import ImageSettings, SizeSettings
from stateward.pipelines.images.writing import shows_writing
from stateward.pipelines.kit.pictures import (
    IMAGE_TRUNCATED,
    Picture,
    encode_picture,
    read_picture,
)
from stateward.workers.sdk import Job, Outcome

if TYPE_CHECKING:  # slow to import
    from PIL.Image import Image

MEDIA_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
WRITING = (
    "WRITING_SHOWN: the picture shows lines of writing, and none of it was read; submit it with --machine documents to "
    "have its words, and of a receipt its total"
)
ENDINGS = {"jpeg": "jpg", "png": "png", "webp": "webp"}


class DerivedPicture(msgspec.Struct, frozen=True, kw_only=True):
    """An item: a picture that was made, and which part of the original it shows."""

    name: str
    file: str
    media_type: str
    width: int
    height: int
    bytes: int
    ref: str
    where: dict[str, object]


def resize(job: Job) -> Outcome[DerivedPicture]:
    """A derived picture of each size."""
    settings = settings_of(job)
    picture = _read(job, settings, settings.sizes, is_lenient=job.retry_count > 0)
    items = [_save_picture(job, picture, size, settings) for size in settings.sizes]
    notes = [*picture.notes, *([WRITING] if shows_writing(picture.image) else [])]
    for note in notes:
        job.log(note, level="warning")
    facts: dict[str, object] = {"notes": list(notes)} if notes else {}
    if picture.facts.is_partial:
        facts["flags"] = [IMAGE_TRUNCATED]
    about = msgspec.to_builtins(picture.facts) | {"has_writing": WRITING in notes}
    return Outcome(facts=facts, items=items, about=about)


def thumbnail(job: Job) -> Outcome[DerivedPicture]:
    """The thumbnail; its reference is a field of the record."""
    settings = settings_of(job)
    about = job.about("resize")
    is_partial = about.get("is_partial") is True
    picture = _read(job, settings, [settings.thumbnail], is_lenient=is_partial)
    item = _save_picture(job, picture, settings.thumbnail, settings)
    facts: dict[str, object] = {"thumbnail_ref": item.ref}
    # The notes of a stage replace those of the one before.
    if notes := [*picture.notes, *([WRITING] if about.get("has_writing") else [])]:
        facts["notes"] = list(notes)
    width, height = picture.facts.shown
    sentence = f"{picture.facts.format.upper()} of {width} x {height} pixels"
    return Outcome(facts=facts, items=[item], about={"sentence": sentence})


def settings_of(job: Job) -> ImageSettings:
    """The options of a job; the defaults where it has none."""
    return msgspec.convert(dict(job.options), ImageSettings)


def draw_within(
    image: "Image", shown: tuple[int, int], size: SizeSettings
) -> tuple["Image", tuple[int, int, int, int]]:
    """A picture within the bounds of a size, and the part of the original (in its pixels) that it shows.

    `image` may be smaller than the original, whose size `shown` is, because it was scaled while it was decoded.
    """
    from PIL.Image import Resampling

    box = _part_shown(shown, size)
    target = _target(box, size)
    across, down = (Fraction(image.width, shown[0]), Fraction(image.height, shown[1]))
    left, top, right, bottom = box
    source = (float(left * across), float(top * down), float(right * across), float(bottom * down))
    if target == image.size and box == (0, 0, *shown):
        return image, box
    return image.resize(target, Resampling.LANCZOS, box=source), box


def _part_shown(shown: tuple[int, int], size: SizeSettings) -> tuple[int, int, int, int]:
    width, height = shown
    if size.fit == "contain":
        return (0, 0, width, height)
    ratio = Fraction(size.width, size.height)
    if Fraction(width, height) > ratio:
        inner = max(1, round(height * ratio))
        left = (width - inner) // 2
        return (left, 0, left + inner, height)
    inner = max(1, round(width / ratio))
    top = (height - inner) // 2
    return (0, top, width, top + inner)


def _target(box: tuple[int, int, int, int], size: SizeSettings) -> tuple[int, int]:
    width, height = box[2] - box[0], box[3] - box[1]
    scale = min(Fraction(1), Fraction(size.width, width), Fraction(size.height, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _read(
    job: Job, settings: ImageSettings, sizes: Sequence[SizeSettings], *, is_lenient: bool
) -> Picture:
    with job.open() as file:
        return read_picture(
            file,
            pixels_max=settings.pixels_max,
            setting="images.pixels_max",
            is_lenient=is_lenient,
            wanted=_largest_size(sizes),
        )


def _largest_size(sizes: Sequence[SizeSettings]) -> tuple[int, int] | None:
    """The largest size that will be drawn; None where that depends on what is cropped away."""
    if any(size.fit == "cover" for size in sizes):
        return None
    return max(size.width for size in sizes), max(size.height for size in sizes)


def _save_picture(
    job: Job, picture: Picture, size: SizeSettings, settings: ImageSettings
) -> DerivedPicture:
    image, box = draw_within(picture.image, picture.facts.shown, size)
    format_ = _format(image, size)
    if format_ == "jpeg":
        image = _on_background(image, settings.background)
    data = encode_picture(image, format_, quality=settings.quality)
    name = f"{size.name}.{ENDINGS[format_]}"
    ref = job.save_file(name, data, media_type=MEDIA_TYPES[format_])
    job.log(f"{name}: {image.width} x {image.height} pixels, {len(data)} bytes")
    return DerivedPicture(
        name=size.name,
        file=name,
        media_type=MEDIA_TYPES[format_],
        width=image.width,
        height=image.height,
        bytes=len(data),
        ref=ref,
        where={"page": 1, "box": list(box)},
    )


def _format(image: "Image", size: SizeSettings) -> str:
    if size.format != "auto":
        return size.format
    return "png" if _is_transparent(image) else "jpeg"


def _is_transparent(image: "Image") -> bool:
    return image.mode == "RGBA" and image.getchannel("A").getextrema() != (255, 255)


def _on_background(image: "Image", color: str) -> "Image":
    from PIL import Image

    if image.mode != "RGBA":
        return image
    canvas = Image.new("RGBA", image.size, color)
    canvas.alpha_composite(image)
    return canvas.convert("RGB")
