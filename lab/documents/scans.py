"""Scans made from text: pictures of pages, receipts, and PDFs that hold nothing but pictures.

    python -m lab.documents.scans src/stateward/pipelines/documents/samples

writes the samples of the pipeline. Letters are those of the font that Pillow brings.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

CAFE = (
    "CAFE LINDENHOF GMBH",
    "Marktplatz 4, 99423 Weimar",
    "",
    "Datum 14.03.2026  11:42",
    "2 Cappuccino      7,80",
    "1 Apfelkuchen     4,20",
    "Summe EUR        12,00",
    "Bar              20,00",
    "Zurueck           8,00",
)
LETTER = ("Delivery note 4711", "Two boxes of paper were", "received on 3 March 2026.")


def page_picture(
    lines: Sequence[str], *, letter: int = 28, width: int = 560, height: int = 0, margin: int = 30
) -> Image.Image:
    """Lines of text on white paper, one below the other; a run of blanks sets what follows to the right margin."""
    font = ImageFont.load_default(letter)
    step = round(letter * 1.5)
    picture = Image.new("L", (width, height or 2 * margin + step * len(lines)), 255)
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        left, _, right = line.partition("  ")
        top = margin + number * step
        draw.text((margin, top), left, fill=0, font=font)
        if right.strip():
            draw.text((width - margin, top), right.strip(), fill=0, font=font, anchor="ra")
    return picture


def main(folder: Path) -> None:
    """Write the samples."""
    folder.mkdir(parents=True, exist_ok=True)
    page_picture(CAFE).save(folder / "receipt-lindenhof.png", dpi=(200, 200), optimize=True)
    page_picture(LETTER, letter=24, width=420).convert("RGB").save(
        folder / "delivery-note.pdf", resolution=200
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
