"""A picture that shows writing is told, so that a receipt does not end as a picture in silence."""

from pathlib import Path
from random import Random

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from stateward.pipelines.images.writing import shows_writing

SAMPLES = Path("src/stateward/pipelines/images/samples")
WORDS = ["milk", "bread", "total", "12.50", "cash", "change", "Summe", "EUR", "thank", "you"]


def a_page(
    *, size: tuple[int, int] = (700, 1000), lines: int = 24, paper: int = 240, ink: int = 30
) -> Image.Image:
    chance = Random(7)
    picture = Image.new("L", size, paper)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(22)
    for at in range(lines):
        draw.text((60, 60 + 34 * at), " ".join(chance.choices(WORDS, k=7)), fill=ink, font=font)
    return picture


def test_a_page_of_lines_shows_writing() -> None:
    assert shows_writing(a_page())


@pytest.mark.parametrize("degrees", [-2, 1, 90, 180])
def test_a_photo_of_a_page_need_not_be_straight(degrees: int) -> None:
    turned = a_page().rotate(degrees, expand=True, fillcolor=70).convert("RGB")

    assert shows_writing(turned.filter(ImageFilter.GaussianBlur(0.7)))


def test_gray_letters_on_a_dim_photo_are_writing() -> None:
    assert shows_writing(a_page(paper=170, ink=80))


@pytest.mark.parametrize("name", ["advertisement-cmyk.jpg", "logo.png", "phone-photo.jpg"])
def test_pictures_of_other_things_show_none(name: str) -> None:
    with Image.open(SAMPLES / name) as picture:
        assert not shows_writing(picture.convert("RGB"))


def test_a_caption_stripes_and_noise_are_none() -> None:
    stripes = Image.new("L", (600, 600), 240)
    for y in range(0, 600, 24):
        stripes.paste(40, (0, y, 600, y + 10))
    noise = Image.effect_noise((600, 600), 90)

    assert not shows_writing(a_page(lines=3))
    assert not shows_writing(stripes)
    assert not shows_writing(noise)
    assert not shows_writing(Image.new("L", (5, 5), 255))
