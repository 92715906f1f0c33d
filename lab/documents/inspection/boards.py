"""A drawn circuit board, its picture as a camera takes it, and defects of the kinds that real boards have.

    python -m lab.documents.inspection.boards src/stateward/pipelines/inspection/samples

writes the samples that `stateward demo --only inspection` shows.
"""

import sys
from io import BytesIO
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageFilter

SIDE = 300
COPPER, BASE = 235, 25
TRACE_PX, PAD_PX = 10, 11

Box = tuple[int, int, int, int]


def board(seed: int = 1, *, side: int = SIDE) -> Image.Image:
    """Traces with corners between rows of pads."""
    rng = Random(seed)
    image = Image.new("L", (side, side), BASE)
    draw = ImageDraw.Draw(image)
    for row in range(30, side - 20, 34):
        bend = rng.randrange(side // 4, 3 * side // 4)
        step = rng.choice((-12, 0, 12))
        points = [(18, row), (bend, row), (bend + abs(step), row + step), (side - 18, row + step)]
        draw.line(points, fill=COPPER, width=TRACE_PX, joint="curve")
        for x, y in (points[0], points[-1]):
            draw.ellipse((x - PAD_PX, y - PAD_PX, x + PAD_PX, y + PAD_PX), fill=COPPER)
            draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=BASE)
    return image


def with_defects(image: Image.Image, boxes: list[tuple[Box, str]]) -> Image.Image:
    """The board with copper added (`extra`) or taken away (`missing`) in each box."""
    changed = image.copy()
    draw = ImageDraw.Draw(changed)
    for box, kind in boxes:
        draw.ellipse(box, fill=COPPER if kind == "extra" else BASE)
    return changed


def photographed(
    image: Image.Image,
    *,
    shift: tuple[float, float] = (0, 0),
    rotation: float = 0,
    gain: float = 1,
    blur: float = 0.6,
    noise: int = 4,
    seed: int = 1,
) -> Image.Image:
    """A board as a camera sees it: moved, turned, in other light, a little soft and noisy."""
    seen = image.rotate(
        rotation, Image.Resampling.BICUBIC, translate=None, fillcolor=BASE, expand=False
    )
    seen = seen.transform(
        seen.size, Image.Transform.AFFINE, (1, 0, -shift[0], 0, 1, -shift[1]), Image.Resampling.BICUBIC, fillcolor=BASE
    )  # fmt: skip
    seen = seen.filter(ImageFilter.GaussianBlur(blur)).point(lambda value: value * gain)
    grain = Image.frombytes("L", seen.size, Random(seed).randbytes(seen.width * seen.height))
    return Image.blend(seen, grain, noise / 255) if noise else seen


def png(image: Image.Image) -> bytes:
    """The picture as a file."""
    out = BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def jpeg(image: Image.Image, quality: int = 88) -> bytes:
    """The picture as a camera stores it."""
    out = BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def samples() -> dict[str, bytes]:
    """The template, a good board, one with two defects, and one that was taken in the dark."""
    whole = board()
    broken = with_defects(whole, [((60, 124, 76, 140), "missing"), ((60, 175, 74, 189), "extra")])
    return {
        "templates/demo-board.png": png(whole),
        "board-0001-good.jpg": jpeg(photographed(whole, shift=(3.4, -2.2), rotation=0.6, gain=0.9)),
        "board-0002-open.jpg": jpeg(photographed(broken, shift=(-2, 1.5), rotation=-0.4, seed=2)),
        "board-0003-dark.jpg": jpeg(photographed(whole, gain=0.12, seed=3)),
    }


def main(folder: Path) -> None:
    """Write them."""
    for name, data in samples().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
