"""Pictures for tests, drawn in memory in the shapes that cameras, printers and browsers give them."""

from io import BytesIO
from random import Random

from PIL import Image, ImageDraw

RED, GREEN, BLUE = (220, 30, 30), (30, 180, 60), (30, 60, 210)
ORIENTATION, MAKE, GPS = 0x0112, 0x010F, 0x8825


def corners(width: int = 120, height: int = 80) -> Image.Image:
    """Blue, with a red corner on the top left and a green one on the top right."""
    image = Image.new("RGB", (width, height), BLUE)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, width // 3, height // 3), fill=RED)
    draw.rectangle((width - width // 3, 0, width, height // 3), fill=GREEN)
    return image


def noise(width: int, height: int) -> Image.Image:
    """Pixels that no format can make small; always the same ones."""
    return Image.frombytes("RGB", (width, height), Random(7).randbytes(width * height * 3))


def saved(image: Image.Image, format_: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, format_, **options)
    return out.getvalue()


def turned(orientation: int, *, format_: str = "JPEG") -> bytes:
    """`corners` as a camera stores it that was held so; the metadata also names a camera and a place."""
    back = {
        1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270,
    }[orientation]  # fmt: skip
    image = corners() if back is None else corners().transpose(back)
    exif = Image.Exif()
    exif[ORIENTATION], exif[MAKE] = orientation, "ExampleCam"
    exif.get_ifd(GPS).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)})
    return saved(image, format_, exif=exif, **({"quality": 95} if format_ == "JPEG" else {}))


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def is_like(image: Image.Image, at: tuple[float, float], color: tuple[int, int, int]) -> bool:
    """Whether a picture has about this colour at a place, given as shares of its width and height."""
    place = (int(at[0] * (image.width - 1)), int(at[1] * (image.height - 1)))
    found = image.convert("RGB").getpixel(place)
    assert isinstance(found, tuple)
    return all(abs(a - b) < 40 for a, b in zip(found, color, strict=True))
