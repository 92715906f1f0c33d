"""The section `inspection` of the settings: where templates are, and the thresholds of parts that name none."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from stateward.definition.section import Count, FilePath, Section
from stateward.pipelines.kit.pictures import PIXELS_LIMIT

ZONES_MAX = 200

Level: TypeAlias = Annotated[int, Meta(ge=1, le=255)]
Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
Corner: TypeAlias = Annotated[int, Meta(ge=0)]
Zone: TypeAlias = tuple[Corner, Corner, Corner, Corner]


class Thresholds(Section, frozen=True, kw_only=True):
    """When a difference is a defect, and when a picture cannot be judged."""

    material: Annotated[
        Literal["bright", "dark"],
        Meta(
            description="What material looks like: a defect is `extra` where it is and should not be, else `missing`."
        ),
    ] = "bright"
    tolerance_px: Annotated[
        int, Meta(ge=0, le=20, description="How far an edge may be from where the template has it.")
    ] = 1
    difference_min: Annotated[
        Level, Meta(description="The least difference in brightness, of 255, that counts.")
    ] = 60
    thickness_min_px: Annotated[
        int, Meta(ge=1, le=50, description="The least width and height of a defect.")
    ] = 3
    area_min_px: Annotated[Count, Meta(description="The least area of a defect.")] = 9
    defects_max: Annotated[
        int, Meta(ge=0, description="The most defects of a part that passes.")
    ] = 0
    ignore: Annotated[
        tuple[Zone, ...],
        Meta(
            max_length=ZONES_MAX,
            description="Parts of the template that are not compared, such as a serial number: left, top, right, "
            "bottom in pixels.",
        ),
    ] = ()
    margin_px: Annotated[
        int, Meta(ge=0, le=1000, description="The width of the border that is not compared.")
    ] = 6
    shift_max_px: Annotated[
        int, Meta(ge=0, le=1000, description="How far a picture may lie beside its template.")
    ] = 24
    rotation_max_deg: Annotated[
        float, Meta(ge=0, le=5, description="How far a picture may be turned against its template.")
    ] = 3.0
    match_min: Annotated[
        Share,
        Meta(
            description="The least correlation with the template; below it the picture shows something else."
        ),
    ] = 0.6
    brightness_min: Annotated[
        Level, Meta(description="The least brightness of what is bright in the template.")
    ] = 60
    contrast_min: Annotated[
        Level, Meta(description="The least difference between what is bright and what is dark.")
    ] = 40
    sharpness_min: Annotated[
        Share, Meta(description="The least steepness of edges, as a share of the template's.")
    ] = 0.5


class InspectionSettings(Section, frozen=True, kw_only=True):
    """How pictures of parts are compared with their templates."""

    templates: Annotated[
        FilePath | None,
        Meta(
            description="The folder of templates, relative to the settings file: `PART.png` for the label "
            "`part_number=PART`, and beside it, where thresholds differ, `PART.yaml`. Without it, only the "
            "sample part `demo-board` is known.",
        ),
    ] = None
    thresholds: Annotated[
        Thresholds, Meta(description="Those of parts whose own file does not say otherwise.")
    ] = msgspec.field(default_factory=Thresholds)
    pixels_max: Annotated[
        Count,
        Meta(le=PIXELS_LIMIT, description="The most pixels of a picture or template."),
    ] = 16_000_000
