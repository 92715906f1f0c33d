"""Part numbers: the template of each and its thresholds, as files in one folder.

`PART.png` (or another picture) is the template of the part number `PART`; `PART.yaml` beside it, if there is one, holds
the thresholds that differ from those of the settings. Every job reads them anew, so a new part needs no restart.
"""

import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
import yaml

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.inspection import PART_NUMBER
from stateward.pipelines.inspection.comparison import Gray
from stateward.pipelines.inspection.settings import InspectionSettings, Thresholds
from stateward.pipelines.kit.pictures import Picture, read_picture

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
FILE_BYTES_MAX = 256 * 1024 * 1024
YAML_BYTES_MAX = 64 * 1024

NO_PART_NUMBER = "NO_PART_NUMBER"
NO_TEMPLATE = "NO_TEMPLATE"
BAD_TEMPLATE = "BAD_TEMPLATE"
BAD_THRESHOLDS = "BAD_THRESHOLDS"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part number with its template; `sha256` is that of the template's file."""

    number: str
    template: Gray
    sha256: str
    thresholds: Thresholds


def part_of(labels: Mapping[str, Json], settings: InspectionSettings) -> Part:
    """The part that a label names."""
    number = labels.get(PART_NUMBER)
    if not isinstance(number, str) or not NAME.fullmatch(number):
        raise FatalFailure(
            f"the label {PART_NUMBER} is missing or no part number (letters, digits, . _ + -); submit the picture "
            f"again with --label {PART_NUMBER}=…",
            code=NO_PART_NUMBER,
        )
    folder = template_folder(settings)
    template, sha256 = _template(folder, number, settings)
    return Part(
        number=number,
        template=template,
        sha256=sha256,
        thresholds=_thresholds(folder / f"{number}.yaml", settings.thresholds),
    )


def template_folder(settings: InspectionSettings) -> Path:
    """Where the templates are: the folder of the settings, else that of the samples."""
    if settings.templates is not None:
        return Path(settings.templates)
    return Path(str(files("stateward.pipelines.inspection"))) / "samples" / "templates"


def gray(picture: Picture) -> Gray:
    """A picture in shades of grey."""
    return np.asarray(picture.image.convert("L"))


def _template(folder: Path, number: str, settings: InspectionSettings) -> tuple[Gray, str]:
    for suffix in SUFFIXES:
        path = folder / f"{number}{suffix}"
        if path.is_file():
            return _read(path, settings)
    raise FatalFailure(
        f"there is no template {number}.png in {folder} (setting inspection.templates); add it, then retry",
        code=NO_TEMPLATE,
    )


def _read(path: Path, settings: InspectionSettings) -> tuple[Gray, str]:
    if path.stat().st_size > FILE_BYTES_MAX:
        raise FatalFailure(f"the template {path.name} is too large a file", code=BAD_TEMPLATE)
    data = path.read_bytes()
    try:
        picture = read_picture(
            BytesIO(data), pixels_max=settings.pixels_max, setting="inspection.pixels_max"
        )
    except FatalFailure as error:
        raise FatalFailure(
            f"the template {path.name} cannot be used: {error.message}", code=BAD_TEMPLATE
        ) from error
    return gray(picture), hashlib.sha256(data).hexdigest()


def _thresholds(path: Path, usual: Thresholds) -> Thresholds:
    """Those of a part over the usual ones; a key that is not known is refused, because it would not be used."""
    if not path.is_file():
        return usual
    try:
        if path.stat().st_size > YAML_BYTES_MAX:
            raise ValueError(f"it has more than {YAML_BYTES_MAX} bytes")
        own = yaml.safe_load(path.read_text("utf-8")) or {}
        unknown = sorted(str(key) for key in set(own) - set(Thresholds.__struct_fields__))
        if unknown:
            raise ValueError(f"there is no threshold {unknown[0]!r}")
        return msgspec.convert({**msgspec.to_builtins(usual), **own}, Thresholds)
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise FatalFailure(
            f"{path.name} cannot be used: {error}; mend it, then retry", code=BAD_THRESHOLDS
        ) from error
