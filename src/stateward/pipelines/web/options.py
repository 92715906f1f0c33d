"""What the settings say to the stages."""

import msgspec

from stateward.core.model import Json
from stateward.workers.sdk import Job

MIB = 1024 * 1024


class WebOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The section `web` of the settings, as it reaches a runner."""

    fetch: bool = True
    allow: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443)
    robots: bool = True
    user_agent: str = "Stateward/1"
    fetch_timeout_seconds: float = 20.0
    page_bytes_max: int = 8 * MIB
    pages_max: int = 100
    facts_max: int = 2000
    aliases: dict[str, Json] = {}

    @classmethod
    def of(cls, job: Job) -> "WebOptions":
        """Those of a job."""
        return msgspec.convert(dict(job.options), cls)
