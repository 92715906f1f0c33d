"""What is made of a picture: upright, in screen colours, within its bounds, and without metadata."""

from fractions import Fraction
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from PIL import Image, ImageCms

from lab.documents.images.samples import samples
from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import Fields, Json
from stateward.pipelines.images.settings import ImageSettings
from stateward.pipelines.images.stages import resize, thumbnail
from stateward.workers.sdk import Job, Outcome
from tests.pipelines.images.pictures import (
    BLUE,
    GREEN,
    RED,
    corners,
    is_like,
    noise,
    opened,
    saved,
    turned,
)

SIZES: list[Json] = [{"name": "small", "width": 60, "height": 60}]


def run(data: bytes, retry_count: int = 0, **options: Json) -> tuple[Outcome, dict[str, bytes]]:
    job = Job.for_test(data, options={"sizes": SIZES, **options}, retry_count=retry_count)
    outcome = resize(job)
    return outcome, {
        each.name: job.file(job.stage, each.name).read_bytes() for each in job.saved_files
    }


def small(data: bytes, **options: Json) -> Image.Image:
    _, files = run(data, 0, **options)
    ((_, only),) = files.items()
    return opened(only)


def codes(outcome: Outcome) -> list[str]:
    notes = outcome.facts.get("notes", [])
    assert isinstance(notes, list)
    return [str(note).partition(":")[0] for note in notes]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_", ["JPEG", "TIFF", "PNG", "WEBP"])
def test_a_picture_is_upright_however_the_camera_was_held(orientation: int, format_: str) -> None:
    image = small(turned(orientation, format_=format_))

    assert image.size == (60, 40)
    assert is_like(image, (0.1, 0.1), RED)
    assert is_like(image, (0.9, 0.1), GREEN)
    assert is_like(image, (0.5, 0.9), BLUE)


@pytest.mark.parametrize("format_", ["jpeg", "png", "webp"])
def test_no_metadata_is_left_in_the_bytes(format_: str) -> None:
    sizes: list[Json] = [{"name": "small", "width": 60, "height": 60, "format": format_}]
    job = Job.for_test(turned(6), options={"sizes": sizes})

    outcome = resize(job)
    (file,) = job.saved_files
    data = job.file(job.stage, file.name).read_bytes()

    assert outcome.about["has_place"] is True
    assert not any(mark in data for mark in (b"Exif", b"GPS", b"ExampleCam", b"http://ns.adobe"))
    assert not opened(data).getexif()


def test_comments_and_xmp_are_left_behind_too() -> None:
    data = saved(corners(), "JPEG", comment=b"secret remark", xmp=b"<x:xmpmeta>secret</x:xmpmeta>")

    outcome, files = run(data)

    assert outcome.about["has_metadata"] is True
    assert not any(b"secret" in each for each in files.values())


def test_printing_colours_become_screen_colours_and_the_note_says_that_they_are_approximate() -> (
    None
):
    outcome, files = run(saved(corners().convert("CMYK"), "JPEG", quality=95))

    image = opened(files["small.jpg"])
    assert image.mode == "RGB"
    assert is_like(image, (0.1, 0.1), RED)
    assert codes(outcome) == ["COLORS_APPROXIMATE"]


def test_a_colour_profile_is_applied_and_left_behind() -> None:
    lab = ImageCms.createProfile("LAB")
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    in_lab = ImageCms.profileToProfile(corners(), srgb, lab, outputMode="LAB")
    assert in_lab is not None

    with_profile, _ = run(saved(corners(), "PNG", icc_profile=srgb.tobytes()))
    image = small(saved(in_lab, "TIFF"))

    assert with_profile.about["color_profile"] == "sRGB built-in"
    assert codes(with_profile) == []
    assert is_like(image, (0.1, 0.1), RED)
    assert is_like(image, (0.9, 0.1), GREEN)


def test_a_profile_for_other_channels_is_noted_and_colours_stay_as_stored() -> None:
    gray = saved(corners().convert("CMYK"), "JPEG", icc_profile=b"no profile at all", quality=95)

    outcome, files = run(gray)

    assert codes(outcome) == ["COLORS_APPROXIMATE"]
    assert is_like(opened(files["small.jpg"]), (0.1, 0.1), RED)


def test_sixteen_bits_keep_their_brightness() -> None:
    half = Image.new("I;16", (40, 40), 65_535 // 2)

    image = small(saved(half, "PNG"))

    assert is_like(image, (0.5, 0.5), (127, 127, 127))


def test_twelve_bits_in_sixteen_are_not_black_and_are_noted() -> None:
    row = (4_000).to_bytes(2, "little") * 20 + bytes(2 * 20)
    image = Image.frombytes("I;16", (40, 40), row * 40)

    outcome, files = run(saved(image, "TIFF"))

    assert codes(outcome) == ["VALUES_RESCALED"]
    assert is_like(opened(files["small.jpg"]), (0.1, 0.5), (255, 255, 255))
    assert is_like(opened(files["small.jpg"]), (0.9, 0.5), (0, 0, 0))


def test_the_profile_of_a_palette_is_that_of_its_colors() -> None:
    palette = saved(corners().quantize(8), "PNG", icc_profile=b"no profile at all")

    outcome, files = run(palette)

    assert codes(outcome) == ["COLORS_APPROXIMATE"]
    assert is_like(opened(files["small.jpg"]), (0.1, 0.1), RED)


@pytest.mark.parametrize(("dpi", "noted"), [((204, 98), ["PIXELS_NOT_SQUARE"]), ((204, 196), [])])
def test_a_fax_whose_lines_are_far_apart_is_noted(dpi: tuple[int, int], noted: list[str]) -> None:
    page = Image.new("1", (200, 100), 1)

    outcome, _ = run(saved(page, "TIFF", compression="group4", dpi=dpi))

    assert codes(outcome) == noted


def test_values_without_a_known_range_are_stretched_and_noted() -> None:
    image = Image.new("F", (40, 40), -1.0)
    image.paste(1.0, (0, 0, 20, 40))

    outcome, files = run(saved(image, "TIFF"))

    assert codes(outcome) == ["VALUES_RESCALED"]
    assert is_like(opened(files["small.jpg"]), (0.1, 0.5), (255, 255, 255))
    assert is_like(opened(files["small.jpg"]), (0.9, 0.5), (0, 0, 0))


def test_transparency_is_kept_as_png_and_laid_on_the_background_as_jpeg() -> None:
    image = Image.new("RGBA", (100, 100))
    image.paste((*RED, 255), (0, 0, 50, 100))
    palette = image.convert("P")
    palette.info["transparency"] = palette.getpixel((90, 50))
    data = saved(image, "PNG")

    kept = small(data)
    flat = small(
        data,
        sizes=[{"name": "s", "width": 60, "height": 60, "format": "jpeg"}],
        background="#00ff00",
    )

    assert kept.mode == "RGBA"
    assert kept.getpixel((55, 30))[3] == 0  # type: ignore[index]
    assert is_like(flat, (0.9, 0.5), (0, 255, 0))
    assert is_like(flat, (0.1, 0.5), RED)
    assert small(saved(palette, "GIF")).mode == "RGBA"


def test_a_picture_whose_alpha_is_opaque_everywhere_is_a_jpeg() -> None:
    _, files = run(saved(corners().convert("RGBA"), "PNG"))

    assert list(files) == ["small.jpg"]


@pytest.mark.parametrize("format_", ["GIF", "TIFF", "WEBP", "PNG"])
def test_the_first_frame_is_taken_and_noted(format_: str) -> None:
    frames = [Image.new("RGB", (50, 50), BLUE), Image.new("RGB", (50, 50), GREEN)]
    data = saved(corners(50, 50), format_, save_all=True, append_images=frames)

    outcome, files = run(data)

    assert codes(outcome) == ["FIRST_FRAME_ONLY"]
    assert outcome.about["frames"] == 3
    assert is_like(opened(next(iter(files.values()))), (0.1, 0.1), RED)


def test_a_size_that_covers_is_cropped_the_same_on_both_sides() -> None:
    cover: list[Json] = [{"name": "square", "width": 40, "height": 40, "fit": "cover"}]

    outcome, files = run(saved(corners(300, 100), "PNG"), sizes=cover)

    (item,) = outcome.items
    assert opened(files["square.jpg"]).size == (40, 40)
    assert item.where == {"page": 1, "box": [100, 0, 200, 100]}  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [1, 7, 30, 333, 2000])
@pytest.mark.parametrize("height", [1, 9, 40, 999])
def test_a_derived_picture_is_never_larger_than_its_bounds_or_the_original(
    width: int, height: int
) -> None:
    image = small(saved(Image.new("RGB", (width, height), RED), "PNG"))

    assert image.width <= min(60, width)
    assert image.height <= min(60, height)
    scale = min(Fraction(1), Fraction(60, width), Fraction(60, height))
    assert (image.width, image.height) == (
        max(1, round(width * scale)), max(1, round(height * scale)),
    )  # fmt: skip


def test_a_large_photo_is_decoded_small_and_its_true_size_is_told() -> None:
    data = saved(corners(1600, 1200), "JPEG", quality=90)

    outcome, files = run(data)

    assert outcome.about["width"] == 1600
    assert outcome.about["shown"] == (1600, 1200)
    assert is_like(opened(files["small.jpg"]), (0.1, 0.1), RED)


def test_the_same_bytes_give_the_same_pictures() -> None:
    for data in samples().values():
        assert run(data)[1] == run(data)[1]


def test_the_thumbnail_is_a_field_of_the_record() -> None:
    data = turned(6)
    job = Job.for_test(data, items={"resize": []})

    outcome = thumbnail(job)

    (file,) = job.saved_files
    assert outcome.facts["thumbnail_ref"] == file.reference
    assert outcome.about["sentence"] == "JPEG of 120 x 80 pixels"


# Damaged and hostile files


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "GIF", "TIFF", "BMP"])
def test_a_truncated_picture_fails_first_and_is_read_and_flagged_on_the_next_attempt(
    format_: str,
) -> None:
    whole = saved(noise(200, 200), format_)
    data = whole[: len(whole) * 6 // 10]

    with pytest.raises(StageFailure) as failure:
        run(data)
    outcome, files = run(data, retry_count=1)

    assert failure.value.is_retryable
    assert failure.value.code in {"IMAGE_TRUNCATED", "IMAGE_CORRUPT"}
    assert "IMAGE_TRUNCATED" in codes(outcome)
    assert outcome.facts["flags"] == ["IMAGE_TRUNCATED"]
    assert outcome.about["is_partial"] is True
    assert len(files) == 1


def with_broken_pixels() -> bytes:
    """A PNG whose compressed pixels break off in nonsense, in a chunk that is sound by length and checksum."""
    whole = saved(noise(200, 200), "PNG")
    start = whole.index(b"IDAT")
    size = int.from_bytes(whole[start - 4 : start])
    pixels = whole[start + 4 : start + 4 + size // 2] + b"\xff" * (size - size // 2)
    chunk = b"IDAT" + pixels
    return whole[:start] + chunk + crc32(chunk).to_bytes(4) + whole[start + 8 + size :]


def test_an_error_in_the_pixels_of_a_png_is_not_taken_for_one_in_its_metadata() -> None:
    data = with_broken_pixels()

    with pytest.raises(StageFailure) as failure:
        run(data)
    outcome, _ = run(data, retry_count=1)

    assert failure.value.code == "IMAGE_CORRUPT"
    assert codes(outcome) == ["IMAGE_TRUNCATED"]


def test_a_whole_picture_is_not_flagged_on_a_later_attempt() -> None:
    outcome, _ = run(turned(1), retry_count=2)

    assert codes(outcome) == []
    assert "flags" not in outcome.facts


def result_codes(data: bytes, *, retry_count: int) -> list[str]:
    """The codes of the notes, or that of the failure."""
    try:
        return codes(run(data, retry_count=retry_count)[0])
    except StageFailure as failure:
        return [failure.code]


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "AVIF"])
def test_every_cut_of_a_picture_fails_with_a_code_or_is_flagged(format_: str) -> None:
    whole = saved(noise(40, 30), format_)
    enough = 0.9 * len(whole)  # what comes after the pixels may be missing

    for end in range(0, int(enough), max(1, len(whole) // 23)):
        for retry_count in (0, 1):
            (code,) = result_codes(whole[:end], retry_count=retry_count)
            assert code.startswith("IMAGE_"), end


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_flipped_bytes_crash_nothing(format_: str) -> None:
    whole = saved(corners(40, 30), format_)

    for place in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        result_codes(damaged, retry_count=1)


def test_too_many_pixels_are_refused_before_they_are_decoded() -> None:
    small = saved(Image.new("1", (8, 8)), "PNG")
    header = b"IHDR" + (20_000).to_bytes(4, "big") * 2 + small[24:29]
    bomb = small[:12] + header + crc32(header).to_bytes(4, "big") + small[33:]

    with pytest.raises(FatalFailure) as failure:
        run(bomb)
    with pytest.raises(FatalFailure) as own:
        run(saved(corners(), "PNG"), pixels_max=100)

    assert failure.value.code == own.value.code == "IMAGE_TOO_LARGE"
    assert "images.pixels_max" in own.value.message


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "IMAGE_EMPTY"),
        (bytes(500), "IMAGE_EMPTY"),
        (b"this is not an image", "IMAGE_UNSUPPORTED"),
        (b"%PDF-1.7\n", "IMAGE_UNSUPPORTED"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "IMAGE_UNSUPPORTED"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "IMAGE_UNSUPPORTED"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "IMAGE_UNSUPPORTED"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "IMAGE_CORRUPT"),
        (b"RIFF\xff\xff\x00\x00WEBPVP8 ", "IMAGE_TRUNCATED"),
    ],
)
def test_what_is_no_picture_is_refused_with_a_code(data: bytes, code: str) -> None:
    with pytest.raises(FatalFailure) as failure:
        run(data, retry_count=1)

    assert failure.value.code == code


# Settings


def test_two_sizes_of_one_name_are_refused() -> None:
    twice: Fields = {"sizes": [*SIZES, *SIZES]}
    settings = msgspec.convert(twice, ImageSettings)

    assert list(settings.all_problems()) == [
        (("sizes", 1, "name"), "there is a size 'small' already")
    ]


def test_the_samples_that_ship_are_those_of_the_script() -> None:
    folder = Path(__file__).parents[3] / "src/stateward/pipelines/images/samples"

    assert {path.name for path in folder.iterdir()} == set(samples())
