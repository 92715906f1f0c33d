"""Pictures of pages: formats, orientation, limits, and files that are damaged or made to harm."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stateward.core.errors import FatalFailure
from stateward.pipelines.documents.pictures import PageImage, picture_pages

DARK = (0, 0, 60, 40)


def pages(path: Path, *, pages_max: int = 5, pixels_max: int = 10_000_000) -> list[PageImage]:
    return list(
        picture_pages(path, pages_max=pages_max, pixels_max=pixels_max, page_pixels_max=1_000_000)
    )


def a_picture(mode: str = "RGB", size: tuple[int, int] = (300, 200)) -> Image.Image:
    """White, with a dark corner at the top left."""
    picture = Image.new("L", size, 255)
    picture.paste(0, DARK)
    return picture.convert(mode)


def is_dark_at_top_left(picture: Image.Image) -> bool:
    grey = picture.convert("L")
    return grey.getpixel((10, 10)) < 60 < grey.getpixel((grey.width - 10, grey.height - 10))  # type: ignore[operator]


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp", "bmp"])
def test_every_format_gives_one_upright_page(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"page.{suffix}"
    a_picture().save(path)

    (page,) = pages(path)

    assert page.picture.size == (300, 200)
    assert is_dark_at_top_left(page.picture)
    assert page.points == pytest.approx(0.36)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "CMYK", "I", "I;16"])
def test_every_kind_of_pixel_is_read(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "page.tif"
    if mode == "I;16":
        Image.fromarray(np.asarray(a_picture("L")).astype(np.uint16) * 250).save(path)
    else:
        a_picture(mode).save(path)

    assert is_dark_at_top_left(pages(path)[0].picture)


@pytest.mark.parametrize(("orientation", "angle"), [(3, 180), (6, 90), (8, 270)])
def test_a_camera_that_was_turned_gives_an_upright_page(
    orientation: int, angle: int, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "photo.jpg"
    a_picture().rotate(angle, expand=True).save(path, exif=exif)

    (page,) = pages(path)

    assert page.picture.size == (300, 200)
    assert is_dark_at_top_left(page.picture)


def test_every_page_of_a_tiff_is_read_within_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "pages.tif"
    a_picture().save(path, save_all=True, append_images=[a_picture("L"), a_picture("1")])

    assert len(pages(path)) == 3
    with pytest.raises(FatalFailure) as refused:
        pages(path, pages_max=2)
    assert refused.value.code == "TOO_MANY_PAGES"


def test_a_large_picture_is_reduced_and_its_size_on_paper_stays(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    a_picture("L", (3000, 2000)).save(path, dpi=(300, 300))

    (page,) = pages(path)

    assert page.picture.width * page.picture.height <= 1_001_000
    assert page.picture.width * page.points == pytest.approx(3000 * 72 / 300, rel=0.01)
    assert page.is_reduced


def test_a_picture_beyond_the_limit_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    Image.new("1", (4000, 3000)).save(path)

    with pytest.raises(FatalFailure, match=r"documents\.pixels_max") as refused:
        pages(path)
    assert refused.value.code == "HOSTILE_FILE"


def test_a_truncated_photo_is_read_as_far_as_it_goes_and_says_so(tmp_path: Path) -> None:
    data = BytesIO()
    a_picture("RGB", (600, 600)).save(data, "JPEG")
    path = tmp_path / "torn.jpg"
    path.write_bytes(data.getvalue()[: len(data.getvalue()) * 2 // 3])

    (page,) = pages(path)

    assert page.is_truncated
    assert page.picture.size == (600, 600)


@pytest.mark.parametrize(
    "data", [b"not a picture at all", b"\x89PNG\r\n\x1a\n", b"II*\x00", b"BM\x00"]
)
def test_what_is_no_picture_is_refused_with_a_sentence(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.png"
    path.write_bytes(data)

    with pytest.raises(FatalFailure) as refused:
        pages(path)
    assert refused.value.code in ("UNSUPPORTED_FORMAT", "CORRUPT_FILE")
    assert ";" in refused.value.message


def test_no_cut_of_a_file_does_more_than_fail_or_flag(tmp_path: Path) -> None:
    for suffix in ("png", "jpg", "tif"):
        whole = tmp_path / f"whole.{suffix}"
        a_picture("L", (64, 48)).save(whole)
        data = whole.read_bytes()
        for size in range(0, len(data), max(1, len(data) // 40)):
            cut = tmp_path / f"cut.{suffix}"
            cut.write_bytes(data[:size])
            try:
                read = pages(cut)
            except FatalFailure:
                continue
            same = read[0].picture.tobytes() == pages(whole)[0].picture.tobytes()
            assert read[0].is_truncated or same
