"""What the settings say to a job of this pipeline, checked once at the border."""

from collections.abc import Mapping

import msgspec

from stateward.core.model import Json

MIB = 1024 * 1024


class JobOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one paper."""

    bytes_max: int = 64 * MIB
    pages_max: int = 1000
    chars_max: int = 8_000_000
    require_id: bool = False

    @classmethod
    def read(cls, options: Mapping[str, Json]) -> "JobOptions":
        """The options of a job; what belongs to other stages is left alone."""
        return msgspec.convert(dict(options), cls)
