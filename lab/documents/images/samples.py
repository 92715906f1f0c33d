"""The pictures that `stateward demo --only images` shows, drawn here.

    python -m lab.documents.images.samples src/stateward/pipelines/images/samples

writes them anew: a photo as a phone stores it (sideways, with the place where it was taken), a transparent logo, and an
advertisement in printing colours.
"""

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw

ORIENTATION, MAKE, GPS = 0x0112, 0x010F, 0x8825
SIDEWAYS = 6
BERLIN = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}


def landscape(width: int = 640, height: int = 480) -> Image.Image:
    """A sky, a sun, two hills and a path."""
    fading = Image.linear_gradient("L").resize((width, height))
    sky = (
        fading.point(lambda value: 90 + value // 2),
        fading.point(lambda value: 140 + value // 3),
        Image.new("L", fading.size, 235),
    )
    image = Image.merge("RGB", sky)
    draw = ImageDraw.Draw(image)
    draw.ellipse((width * 0.68, height * 0.1, width * 0.82, height * 0.29), fill="#ffd94a")
    draw.ellipse((-width * 0.3, height * 0.55, width * 0.7, height * 1.6), fill="#4f8f4a")
    draw.ellipse((width * 0.3, height * 0.62, width * 1.4, height * 1.7), fill="#6fae5a")
    path = [(width * 0.45, height), (width * 0.6, height), (width * 0.66, height * 0.66)]
    draw.polygon(path, fill="#c9b48a")
    return image


def phone_photo() -> bytes:
    """Stored lying on its side; the metadata says so, and where it was taken."""
    image = landscape().transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[ORIENTATION], exif[MAKE] = SIDEWAYS, "Example Phone"
    exif.get_ifd(GPS).update(BERLIN)
    out = BytesIO()
    image.save(out, "JPEG", quality=82, exif=exif)
    return out.getvalue()


def logo() -> bytes:
    """A transparent picture."""
    image = Image.new("RGBA", (480, 320))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((40, 40, 440, 280), radius=60, fill=(29, 78, 216, 255))
    draw.ellipse((180, 100, 300, 220), outline=(255, 255, 255, 230), width=18)
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def advertisement() -> bytes:
    """In the four colours of a printing press."""
    out = BytesIO()
    landscape(480, 360).convert("CMYK").save(out, "JPEG", quality=80)
    return out.getvalue()


def samples() -> dict[str, bytes]:
    """All of them by name."""
    return {
        "phone-photo.jpg": phone_photo(),
        "logo.png": logo(),
        "advertisement-cmyk.jpg": advertisement(),
    }


def main(folder: Path) -> None:
    """Write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in samples().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
