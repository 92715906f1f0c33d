"""What the settings say to the stages."""

from decimal import Decimal

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.labs.analytes import ANALYTES
from stateward.pipelines.labs.source import ReportSource
from stateward.pipelines.labs.words import load_data
from stateward.workers.sdk import Job


class CriticalLimits(msgspec.Struct, frozen=True):
    """Values at or beyond these are critical."""

    low: Decimal | None = None
    high: Decimal | None = None


class LabOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The section `labs` of the settings, as it reaches a runner."""

    date_order: str = ""
    delta_percent: int = 50
    bytes_max: int = 64 * 1024 * 1024
    pages_max: int = 500
    results_max: int = 200_000
    patient_key: str = ""
    passwords: tuple[str, ...] = ()
    critical_values: dict[str, Json] = {}

    @classmethod
    def of(cls, job: Job) -> "LabOptions":
        """Those of a job."""
        return msgspec.convert(dict(job.options), cls)

    def source(self, job: Job) -> ReportSource:
        """The document of a job."""
        path = job.path
        if path is None:
            path = job.scratch / "report"
            path.write_bytes(job.bytes())
        return ReportSource(
            path=path,
            patient_key=self.patient_key.encode(),
            date_order=self.date_order,
            passwords=self.passwords,
            bytes_max=self.bytes_max,
            pages_max=self.pages_max,
            results_max=self.results_max,
            attempt=job.retry_count,
        )

    def critical(self) -> dict[str, CriticalLimits]:
        """Critical limits by analyte."""
        told = self.critical_values or load_data("critical.yaml")
        unknown = sorted(set(told) - set(ANALYTES))
        if unknown:
            raise FatalFailure(
                f"labs.critical_values names unknown analytes ({', '.join(unknown[:5])}); use those of analytes.yaml",
                code="BAD_SETTINGS",
            )
        return {
            name: msgspec.convert(_texts(limits), CriticalLimits) for name, limits in told.items()
        }


def _texts(limits: Json) -> dict[str, str]:
    """Limits as texts, so that 6.2 becomes the decimal 6.2."""
    if not isinstance(limits, dict):
        raise FatalFailure(
            "labs.critical_values must map analytes to {low, high}", code="BAD_SETTINGS"
        )
    return {str(name): str(value) for name, value in limits.items()}
