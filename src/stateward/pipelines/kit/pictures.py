"""Pictures from strangers: opened within limits, turned upright, and in colours that every screen shows.

The declared size is checked before a pixel is decoded, and only formats that Pillow decodes itself are opened: no other
program is ever started. A damaged picture is refused on the first attempt; on a later one (`is_lenient`) what can be
read of it is, and a note says so. Metadata never leaves this module: no EXIF, no place, no comment.
"""

import os
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from io import BytesIO
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec.structs import replace

from stateward.core.errors import FatalFailure, StageFailure

if TYPE_CHECKING:  # slow to import
    from PIL.Image import Image

IMAGE_EMPTY = "IMAGE_EMPTY"
IMAGE_UNSUPPORTED = "IMAGE_UNSUPPORTED"
IMAGE_TOO_LARGE = "IMAGE_TOO_LARGE"
IMAGE_TRUNCATED = "IMAGE_TRUNCATED"
IMAGE_CORRUPT = "IMAGE_CORRUPT"
FIRST_FRAME_ONLY = "FIRST_FRAME_ONLY"
COLORS_APPROXIMATE = "COLORS_APPROXIMATE"
VALUES_RESCALED = "VALUES_RESCALED"
PIXELS_NOT_SQUARE = "PIXELS_NOT_SQUARE"
SQUARE_MAX = 1.2  # how many times as far pixels may be apart in one direction

# At four bytes a pixel and two copies it fits into the memory that a worker gives to a job by default.
PIXELS_MAX = 50_000_000
# Beyond it Pillow refuses a picture on its own account.
PIXELS_LIMIT = 178_000_000
# Each is decoded inside Pillow; EPS, for one, would start Ghostscript.
DECODERS = ("Avif", "Bmp", "Gif", "Jpeg", "Jpeg2K", "Png", "Ppm", "Tiff", "WebP")
FORMATS = ("avif", "bmp", "gif", "jpeg", "jpeg2000", "png", "ppm", "tiff", "webp")
HEAD_BYTES = 64
UPRIGHT = 1
ORIENTATION_TAG, EXIF_IFD, GPS_IFD = 0x0112, 0x8769, 0x8825
# Description, camera, program, time, artist, copyright: what says more than a decoder needs.
DESCRIBING_TAGS = frozenset({
    0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x013B, 0x8298, EXIF_IFD, GPS_IFD,
})  # fmt: skip
SIDEWAYS = range(5, 9)  # EXIF orientations that exchange width and height
DEEP_LEVELS, DARK_LEVELS, LEVELS = 65_535, 4_095, 255
UNREADABLE = "unreadable"
# Bytes that only begin files of these formats; WEBP, AVIF and HEIC name themselves a few bytes later.
MAGIC = {
    b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n": "png", b"GIF8": "gif", b"II*\x00": "tiff", b"MM\x00*": "tiff",
    b"\x00\x00\x00\x0cjP  ": "jpeg2000", b"\xff\x4f\xff\x51": "jpeg2000",
}  # fmt: skip
BRANDS = {
    b"avif": "avif", b"avis": "avif", b"heic": "heic", b"heix": "heic", b"hevc": "heic", b"mif1": "heic",
}  # fmt: skip

# Whether damaged files are decoded is one switch for the whole process.
_SWITCH = Lock()


class PictureFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a picture is before anything is made of it: `width` and `height` as stored, `shown` as people see it."""

    format: str
    mode: str
    width: int
    height: int
    shown: tuple[int, int]
    frames: int
    orientation: int
    color_profile: str
    has_place: bool
    has_metadata: bool
    is_partial: bool


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded picture: upright, RGB or RGBA, without metadata; its facts; and notes for a person."""

    image: "Image"
    facts: PictureFacts
    notes: tuple[str, ...] = ()


def picture_kind(head: bytes) -> str:
    """The format by the first bytes, such as `jpeg`; "" if it is no picture that is known."""
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[4:8] == b"ftyp":
        return BRANDS.get(head[8:12], "")
    if head[:2] == b"BM" and head[6:10] == bytes(4):  # two reserved fields
        return "bmp"
    is_netpbm = head[:1] == b"P" and head[1:2] in b"123456" and head[2:3] in b" \t\r\n"
    return "ppm" if is_netpbm else ""


def read_picture(
    file: BinaryIO,
    *,
    pixels_max: int = PIXELS_MAX,
    setting: str = "",
    is_lenient: bool = False,
    wanted: tuple[int, int] | None = None,
) -> Picture:
    """Decode the first frame of a picture.

    A JPEG may be decoded smaller where nothing larger than `wanted` is made of it, which saves most of the time and
    memory; `facts` have the true size. With `is_lenient`, what can be read of a damaged file is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd metadata; what matters is raised
        image = _open(file)
        check_pixels(*image.size, pixels_max=pixels_max, setting=setting)
        facts = _facts(image)
        if wanted is not None:
            _scale_while_decoding(image, wanted)
        image, is_partial = _load(image, file, is_lenient=is_lenient)
        orientation = _orientation(image)  # after loading: a TIFF is turned while it is read
        has_place, is_metadata_kinds = _metadata_kinds(image)
        facts = replace(
            facts,
            orientation=orientation,
            shown=facts.shown[::-1] if orientation in SIDEWAYS else facts.shown,
            has_place=has_place,
            has_metadata=facts.has_metadata or is_metadata_kinds,
            is_partial=is_partial,
        )
        shape_notes = [*_shape_notes(image)]
        image, color_notes = _true_colors(image)
        return Picture(
            image=_turn(image, orientation),
            facts=facts,
            notes=(*_notes(facts), *shape_notes, *color_notes),
        )


def check_pixels(width: int, height: int, *, pixels_max: int, setting: str = "") -> None:
    """Refuse a picture by its declared size."""
    if width * height > pixels_max:
        limit = f" (setting {setting})" if setting else ""
        raise FatalFailure(
            f"the picture has {width} x {height} pixels, more than {pixels_max}{limit}; submit a smaller one",
            code=IMAGE_TOO_LARGE,
        )


def encode_picture(image: "Image", format_: str, *, quality: int = 85) -> bytes:
    """A picture as a file without metadata. JPEG has no transparency: lay the picture on a background before."""
    bare = image.copy()
    bare.info.clear()
    options: dict[str, dict[str, object]] = {
        "jpeg": {"quality": quality, "optimize": True, "progressive": True},
        "png": {"compress_level": 6},
        "webp": {"quality": quality, "method": 4},
    }
    out = BytesIO()
    bare.save(out, format_, **options[format_])
    return out.getvalue()


# Opening


def _open(file: BinaryIO) -> "Image":
    from PIL import Image

    head = file.read(HEAD_BYTES)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not head.strip(b"\x00 \t\r\n"):
        raise FatalFailure("the file is empty; submit the picture again", code=IMAGE_EMPTY)
    try:
        return Image.open(file, formats=_formats())
    except Image.DecompressionBombError as error:
        raise FatalFailure(
            f"the picture is not opened: {error}; submit a smaller one", code=IMAGE_TOO_LARGE
        ) from error
    except MemoryError:
        raise
    except Exception as error:
        raise _open_error(head, size) from error


@cache
def _formats() -> list[str]:
    """The formats that are opened, with their decoders imported."""
    for name in DECODERS:
        import_module(f"PIL.{name}ImagePlugin")
    return [name.upper() for name in FORMATS]


def _open_error(head: bytes, size: int) -> FatalFailure:
    kind = picture_kind(head)
    if kind == "heic":
        return FatalFailure(
            "HEIC pictures are not read; export it as JPEG and submit that", code=IMAGE_UNSUPPORTED
        )
    if kind == "webp" and int.from_bytes(head[4:8], "little") + 8 > size:
        return FatalFailure("the file ends early; save or download it again", code=IMAGE_TRUNCATED)
    if kind:
        return FatalFailure(
            f"the file begins like a picture ({kind}) but cannot be opened; save or download it again",
            code=IMAGE_CORRUPT,
        )
    return FatalFailure(
        "the file is no picture that is read; submit JPEG, PNG, GIF, WebP, AVIF, TIFF, BMP or JPEG 2000",
        code=IMAGE_UNSUPPORTED,
    )


def _facts(image: "Image") -> PictureFacts:
    width, height = image.size
    return PictureFacts(
        format=(image.format or "").lower(),
        mode=image.mode,
        width=width,
        height=height,
        shown=(width, height),
        frames=_frames(image),
        orientation=UPRIGHT,
        color_profile=_profile_name(image.info.get("icc_profile")),
        has_place=False,
        has_metadata=not image.info.keys().isdisjoint(("xmp", "comment")),
        is_partial=False,
    )


def _metadata_kinds(image: "Image") -> tuple[bool, bool]:
    """Whether EXIF data say where a picture was taken, and more than a decoder needs.

    Only after loading: the EXIF data of a PNG may stand behind its pixels, so Pillow decodes those first. An error in
    them would be taken for one in the metadata, and the second time the pixels are asked for they come without it.
    """
    try:
        exif = image.getexif()
        return GPS_IFD in exif, not DESCRIBING_TAGS.isdisjoint(exif)
    except Exception:  # noqa: BLE001 - damaged metadata, which is dropped in any case
        return False, True


def _frames(image: "Image") -> int:
    try:
        return int(getattr(image, "n_frames", 1))
    except Exception:  # noqa: BLE001 - a later frame is damaged, and only the first is read
        return 1


def _profile_name(data: bytes | None) -> str:
    if not data:
        return ""
    from PIL import ImageCms

    try:
        return ImageCms.getProfileDescription(ImageCms.ImageCmsProfile(BytesIO(data))).strip()
    except Exception:  # noqa: BLE001 - whatever a damaged profile makes of the library
        return UNREADABLE


def _shape_notes(image: "Image") -> Iterator[str]:
    """That a fax has other distances between its lines than within them, so that what it shows is flat."""
    told = image.info.get("dpi", (0, 0)) if image.format == "TIFF" else (0, 0)
    across, down = map(
        float, told
    )  # as fractions of its tags, which cannot be divided; not a number without a divisor
    if across > 0 and down > 0 and not 1 / SQUARE_MAX < across / down < SQUARE_MAX:
        yield (
            f"{PIXELS_NOT_SQUARE}: the file has {across:g} by {down:g} pixels an inch and is shown as if they were "
            "square; save it with as many in both directions"
        )


def _notes(facts: PictureFacts) -> Iterator[str]:
    # Phones store a second view in MPO files, which is not what anyone took the picture for.
    if facts.frames > 1 and facts.format != "mpo":
        yield f"{FIRST_FRAME_ONLY}: the first of {facts.frames} frames or pages is taken"
    if facts.is_partial:
        yield f"{IMAGE_TRUNCATED}: the file is damaged or ends early; what could not be read is grey or empty"


# Decoding


def _scale_while_decoding(image: "Image", wanted: tuple[int, int]) -> None:
    """Let a JPEG be decoded at 1/2, 1/4 or 1/8, but twice as large as wanted: the rest is done by a better filter."""
    if image.format in ("JPEG", "MPO"):
        side = 2 * max(wanted)  # whichever way the picture will be turned
        image.draft("", (side, side))


def _load(image: "Image", file: BinaryIO, *, is_lenient: bool) -> tuple["Image", bool]:
    """The picture with its pixels, and whether some of them are missing."""
    try:
        image.seek(0)
        image.load()
    except MemoryError:
        raise
    except Exception as error:
        if not is_lenient:
            sentence, code = _damage(error)
            raise StageFailure(sentence, code=code) from error
    else:
        return image, False
    return _partly_loaded(file), True


def _partly_loaded(file: BinaryIO) -> "Image":
    """What can be decoded of a damaged file."""
    from PIL import ImageFile

    file.seek(0)
    with _SWITCH:
        before = ImageFile.LOAD_TRUNCATED_IMAGES
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image = _open(file)
            image.load()
        except (MemoryError, StageFailure):
            raise
        except Exception as error:
            sentence, code = _damage(error)
            raise FatalFailure(sentence, code=code) from error
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = before
    return image


def _damage(error: Exception) -> tuple[str, str]:
    said = _short(error)
    is_cut = any(sign in said for sign in ("truncated", "end of file", "EOF"))
    return (
        f"the picture cannot be decoded ({said}); save or download it again",
        IMAGE_TRUNCATED if is_cut else IMAGE_CORRUPT,
    )


def _short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


# Position and colours


def _orientation(image: "Image") -> int:
    try:
        found = image.getexif().get(ORIENTATION_TAG, UPRIGHT)
    except Exception:  # noqa: BLE001 - damaged metadata says nothing
        return UPRIGHT
    return found if isinstance(found, int) and found in range(1, 9) else UPRIGHT


def _turn(image: "Image", orientation: int) -> "Image":
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE, 6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }  # fmt: skip
    return image.transpose(turns[orientation]) if orientation in turns else image


def _true_colors(image: "Image") -> tuple["Image", list[str]]:
    """The picture in sRGB, eight bits a channel, with its transparency; and what was assumed for that."""
    notes: list[str] = []
    profile = image.info.get("icc_profile")
    if image.mode == "F" or image.mode.startswith("I"):
        image, rescaled = _eight_bits(image)
        notes += rescaled
    if profile and image.mode in ("P", "PA"):  # its profile is that of the colours of its palette
        image = image.convert("RGBA" if _has_alpha(image) else "RGB")
    if image.mode in ("RGB", "RGBA", "CMYK", "L", "LAB") and (profile or image.mode == "LAB"):
        converted = _by_profile(image, profile)
        if converted is not None:
            return converted, notes
        notes.append(
            f"{COLORS_APPROXIMATE}: the colour profile cannot be used; colours are as stored"
        )
    elif (
        image.mode == "CMYK"
    ):  # those of a JPEG are read as inverted, as Adobe writes them and browsers show them
        notes.append(
            f"{COLORS_APPROXIMATE}: printing colours (CMYK) without a colour profile; colours are approximate"
        )
    mode = "RGBA" if _has_alpha(image) else "RGB"
    return (image if image.mode == mode else image.convert(mode)), notes


def _has_alpha(image: "Image") -> bool:
    return image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info


def _eight_bits(image: "Image") -> tuple["Image", list[str]]:
    """Grey values of 16 bits as those of 8; values of any other range are stretched from black to white.

    So are those of twelve bits or fewer that a microscope or a scanner stores in sixteen: they would all be black.
    """
    if image.mode.startswith("I;16"):
        image = image.convert("I")
    lowest, highest = (float(str(value)) for value in image.getextrema())
    if not (isfinite(lowest) and isfinite(highest)):
        raise FatalFailure(
            "the picture holds values that are no numbers; submit it with eight bits a channel",
            code=IMAGE_UNSUPPORTED,
        )
    if image.mode == "I" and lowest >= 0 and DARK_LEVELS < highest <= DEEP_LEVELS:
        return _stretch(image, 0, DEEP_LEVELS), []
    note = f"{VALUES_RESCALED}: its values from {lowest:g} to {highest:g} are shown from black to white"
    return _stretch(image, lowest, highest), [note]


def _stretch(image: "Image", lowest: float, highest: float) -> "Image":
    scale = LEVELS / (highest - lowest) if highest > lowest else 0.0
    # A half is added because the conversion to whole numbers cuts off.
    return (
        image.convert("F").point(lambda value: value * scale + (0.5 - lowest * scale)).convert("L")
    )


def _by_profile(image: "Image", profile: bytes | None) -> "Image | None":
    """The picture in sRGB by its own colour profile; None if that cannot be used."""
    from PIL import ImageCms

    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    opaque = image if alpha is None else image.convert("RGB")
    try:
        source = (
            ImageCms.createProfile("LAB")
            if image.mode == "LAB"
            else ImageCms.ImageCmsProfile(BytesIO(profile or b""))
        )
        target = ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(opaque, source, target, outputMode="RGB")
    except Exception:  # noqa: BLE001 - a damaged profile, or one for other channels
        return None
    if converted is not None and alpha is not None:
        converted.putalpha(alpha)
    return converted
