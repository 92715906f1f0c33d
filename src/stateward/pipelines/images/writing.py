"""Whether a picture shows lines of writing, as a photo of a receipt or a page does. It reads none of it.

A picture is told from a document by nothing but what it shows, and a person who submits a receipt wants its words.
"""

from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import
    from PIL.Image import Image

SIDE_MAX = 1200  # pixels, to which a picture is reduced
STRIPS = 12  # so narrow that lines of a photo that is not straight stay apart
STRIPS_MIN, LINES_MIN = 3, 8  # neighbouring strips, each with so many lines
HEIGHT_MIN, HEIGHT_MAX = 3, 48  # pixels of a line
EVEN_SHARE = 0.6  # of the lines that are about as high as the others
BACKGROUND_PIXELS, CONTRAST, PAPER_MIN = 14, 28, 105
INK_MIN, BLANK_MAX = 0.05, 0.02  # shares of a row
FULL = 0.75  # of a row that is nothing but ink: a stripe


def shows_writing(image: "Image") -> bool:
    """Whether dark lines of letters stand one below the other on something bright."""
    from PIL import ImageChops, ImageFilter
    from PIL.Image import Resampling

    gray = image.convert("L")
    scale = min(1.0, SIDE_MAX / max(gray.size))
    gray = gray.resize(
        (max(1, round(gray.width * scale)), max(1, round(gray.height * scale))), Resampling.BOX
    )
    paper = gray.filter(ImageFilter.BoxBlur(BACKGROUND_PIXELS))
    ink = ImageChops.subtract(paper, gray).point(
        [255 if each > CONTRAST else 0 for each in range(256)]
    )
    width = gray.width // STRIPS
    if not width:
        return False
    boxes = [(at * width, 0, (at + 1) * width, gray.height) for at in range(STRIPS)]
    written = [_is_written(ink.crop(box), paper.crop(box)) for box in boxes]
    return any(is_one and len([*run]) >= STRIPS_MIN for is_one, run in groupby(written))


def _is_written(ink: "Image", paper: "Image") -> bool:
    shares, light = _rows(ink), _rows(paper)
    kinds = [2 if share > INK_MIN else 0 if share < BLANK_MAX else 1 for share in shares]
    lines: list[tuple[int, float, float]] = []
    at = 0
    for is_inked, run in groupby(kinds, bool):
        size = len([*run])
        part = shares[at : at + size]
        if is_inked and HEIGHT_MIN <= size <= HEIGHT_MAX and max(part) > INK_MIN:
            lines.append((size, max(part), light[at]))
        at += size
    if len(lines) < LINES_MIN:
        return False
    usual = median(size for size, *_ in lines)
    even = sum(usual / 2 <= size <= 1.7 * usual for size, *_ in lines)
    return (
        even >= EVEN_SHARE * len(lines)
        and median(share for _, share, _ in lines) < FULL
        and median(bright for *_, bright in lines) * 255 > PAPER_MIN
    )


def _rows(image: "Image") -> list[float]:
    """The mean of each row, from 0 to 1."""
    from PIL.Image import Resampling

    return [each / 255 for each in image.resize((1, image.height), Resampling.BOX).tobytes()]
