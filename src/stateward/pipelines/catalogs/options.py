"""What the settings and the labels of a record say to the two stages."""

from typing import Literal

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.catalogs.currencies import currency_of
from stateward.pipelines.catalogs.model import Bounds
from stateward.workers.sdk import Job

LABELS = ("currency", "decimal")  # `stateward submit --label currency=EUR`


class CatalogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The section `catalogs` of the settings, with the labels of the record, as it reaches a runner."""

    currency: str = ""
    decimal: Literal["", ".", ","] = ""
    unmapped_categories: Literal["flag", "reject"] = "flag"
    categories: dict[str, Json] = {}
    inflated_bytes_max: int = Bounds().inflated_bytes_max
    tree_bytes_max: int = Bounds().tree_bytes_max

    @classmethod
    def of(cls, job: Job) -> "CatalogOptions":
        """Those of a job; a label goes before the settings."""
        labels = {name: str(job.labels[name]) for name in LABELS if job.labels.get(name)}
        try:
            options = msgspec.convert({**job.options, **labels}, cls)
        except msgspec.ValidationError as error:
            raise FatalFailure(f"a label cannot be used: {error}", code="BAD_HINT") from error
        if currency_of(options.currency) is None:
            raise FatalFailure(
                f"{options.currency!r} is no currency; write a code such as EUR", code="BAD_HINT"
            )
        return options

    @property
    def bounds(self) -> Bounds:
        """What a file may cost."""
        return Bounds(self.inflated_bytes_max, self.tree_bytes_max)
