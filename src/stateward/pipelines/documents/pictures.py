"""Pictures of pages: PNG, JPEG, TIFF (every page of it), WebP and BMP, upright, and never more than fits into memory.

What is larger than a page that can be read is reduced while it is decoded where the format allows it, else right after.
A file that ends too early is read as far as it goes, and that is noted; what is no picture at all is refused.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import (
    CORRUPT_FILE,
    HOSTILE_FILE,
    TOO_MANY_PAGES,
    UNSUPPORTED_FORMAT,
)

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
DPI_MIN, DPI_MAX = 50, 1200  # what a file says beyond these is no resolution of a page
DPI_ASSUMED = 200
POINTS_PER_INCH = 72


class PageImage(msgspec.Struct):
    """One page to be read. `points` is how many points of the page a pixel is."""

    picture: "Image"
    points: float
    dpi: int = DPI_ASSUMED  # of what is read
    is_reduced: bool = False
    is_truncated: bool = False


def picture_pages(
    path: Path, *, pages_max: int, pixels_max: int, page_pixels_max: int
) -> Iterator[PageImage]:
    """Every page of a picture file."""
    count = _page_count(path, pages_max)
    for number in range(count):
        try:
            yield _page(path, number, pixels_max, page_pixels_max, is_lenient=False)
        except _Truncated:
            yield _page(path, number, pixels_max, page_pixels_max, is_lenient=True)


def page_scale(width: float, height: float, pixels_max: int) -> float:
    """By how much a picture must be reduced to have at most so many pixels."""
    return float(min(1.0, (pixels_max / max(width * height, 1)) ** 0.5))


class _Truncated(Exception):
    """The file ends before the picture does."""


@contextmanager
def _open(path: Path, *, is_lenient: bool = False) -> Iterator["Image"]:
    """The picture; whatever is wrong with it inside this block is a `FatalFailure` or `_Truncated`."""
    from PIL import Image, ImageFile, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = is_lenient
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # checked here, with a sentence
    try:
        # Faults in EXIF data, which is not needed to read a page, are told as warnings.
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=FORMATS) as picture:
            yield picture
    except UnidentifiedImageError as error:
        raise FatalFailure(
            "the file is no picture that can be read; submit a PDF, TIFF, JPEG, PNG, WebP or BMP",
            code=UNSUPPORTED_FORMAT,
        ) from error
    # Pillow raises whatever its decoders meet in a damaged file.
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, KeyError) as error:
        if not is_lenient:
            raise _Truncated from error
        raise FatalFailure(
            f"the picture is damaged ({error}); scan or download it again", code=CORRUPT_FILE
        ) from error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
        Image.MAX_IMAGE_PIXELS = limit


def _page_count(path: Path, pages_max: int) -> int:
    """The pages of a TIFF, all of them; any other format has one, even if it moves."""
    try:
        with _open(path) as picture:
            if picture.format != "TIFF":
                return 1
            for number in range(pages_max + 1):
                try:
                    picture.seek(number)
                except EOFError:
                    return number
    except _Truncated:
        return 1
    raise FatalFailure(
        f"the file has more than {pages_max} pages; split it, or raise documents.pages_max",
        code=TOO_MANY_PAGES,
    )


def _page(
    path: Path, number: int, pixels_max: int, page_pixels_max: int, *, is_lenient: bool
) -> PageImage:
    from PIL import ImageOps

    with _open(path, is_lenient=is_lenient) as picture:
        if number:
            picture.seek(number)
        width, height = picture.size
        if width * height > pixels_max:
            raise FatalFailure(
                f"the picture has {width} by {height} pixels and the limit is {pixels_max} in all; reduce it, or"
                " raise documents.pixels_max",
                code=HOSTILE_FILE,
            )
        dpi = _resolution(picture)
        scale = page_scale(width, height, page_pixels_max)
        if picture.format in (
            "JPEG",
            "MPO",
        ):  # MPO: a JPEG of a camera, with more pictures behind it
            # It decodes only what is needed: a photo of a phone has four times the pixels of a page.
            picture.draft(None, (round(width * scale), round(height * scale)))
        picture.load()
        upright = ImageOps.exif_transpose(_eight_bits(picture))
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        is_turned = (upright.width > upright.height) != (width > height)
        upright = upright.resize(size[::-1] if is_turned else size, reducing_gap=3.0)
    points = POINTS_PER_INCH / dpi * max(width, height) / max(upright.size)
    return PageImage(upright, points, round(dpi * scale), scale < 1, is_lenient)


def _eight_bits(picture: "Image") -> "Image":
    """A picture with 8 bits a channel; one with 16 or 32 is spread from its darkest to its lightest pixel."""
    from PIL import Image

    if picture.mode == "1":
        return picture.convert("L")
    if not picture.mode.startswith(("I", "F")):
        return (
            picture if picture.mode in ("L", "RGB", "RGBA", "LA", "P") else picture.convert("RGB")
        )
    import numpy as np

    values = np.asarray(picture, dtype=np.float32)
    low, high = float(values.min()), float(values.max())
    spread = (values - low) * (255 / max(high - low, 1e-6))
    return Image.fromarray(spread.astype(np.uint8), "L")


def _resolution(picture: "Image") -> int:
    try:
        dpi = round(float(picture.info.get("dpi", (0, 0))[0]))
    except (TypeError, ValueError, OverflowError, IndexError, ZeroDivisionError):
        return DPI_ASSUMED
    # 72 and 96 are what programs write that know nothing of paper.
    return dpi if DPI_MIN <= dpi <= DPI_MAX and dpi not in (72, 96) else DPI_ASSUMED
