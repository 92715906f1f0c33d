"""The section `images` of the settings: which pictures are made, how, and within which limits."""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from stateward.definition.section import Count, Name, Problem, Section
from stateward.pipelines.kit.pictures import PIXELS_LIMIT, PIXELS_MAX

SIDE_MAX = 16_384  # what WebP allows
SIZES_MAX = 20

Side: TypeAlias = Annotated[int, Meta(ge=1, le=SIDE_MAX)]
Fit: TypeAlias = Literal["contain", "cover"]
PictureFormat: TypeAlias = Literal["auto", "jpeg", "png", "webp"]


class SizeSettings(Section, frozen=True, kw_only=True):
    """A derived picture. It is never larger than the original."""

    name: Annotated[Name, Meta(description="The name of its file, without ending.")]
    width: Annotated[Side, Meta(description="Its largest width in pixels.")]
    height: Annotated[Side, Meta(description="Its largest height in pixels.")]
    fit: Annotated[
        Fit,
        Meta(
            description="`contain` shows the whole picture within width and height; `cover` fills them and crops "
            "what goes beyond, the same on both sides.",
        ),
    ] = "contain"
    format: Annotated[
        PictureFormat,
        Meta(description="`auto` is PNG for pictures with transparency and JPEG for all others."),
    ] = "auto"


class ImageSettings(Section, frozen=True, kw_only=True):
    """What is made of pictures."""

    sizes: Annotated[
        tuple[SizeSettings, ...],
        Meta(min_length=1, max_length=SIZES_MAX, description="The pictures that `resize` makes."),
    ] = (
        SizeSettings(name="large", width=1600, height=1600),
        SizeSettings(name="medium", width=800, height=800),
        SizeSettings(name="small", width=400, height=400),
    )
    thumbnail: Annotated[
        SizeSettings, Meta(description="The picture that `thumbnail` makes; lists show it.")
    ] = SizeSettings(name="thumbnail", width=160, height=160)
    quality: Annotated[
        int, Meta(ge=1, le=95, description="Of JPEG and WebP: higher is better and larger.")
    ] = 85
    background: Annotated[
        str,
        Meta(
            pattern=r"\A#[0-9a-fA-F]{6}\Z",
            description="The colour behind transparent pictures that are stored as JPEG.",
        ),
    ] = "#ffffff"
    pixels_max: Annotated[
        Count,
        Meta(
            le=PIXELS_LIMIT,
            description="The most pixels (width times height) that are decoded. Each takes 4 to 8 bytes of a "
            "worker's memory.",
        ),
    ] = PIXELS_MAX

    def problems(self) -> Iterator[Problem]:
        """Two sizes of one name would be one file."""
        names = [each.name for each in self.sizes]
        for place, name in enumerate(names):
            if name in names[:place]:
                yield ("sizes", place, "name"), f"there is a size {name!r} already"
