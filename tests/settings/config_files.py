"""Settings from a text, and the faults of one."""

from collections.abc import Mapping
from pathlib import Path

from stateward.settings import Settings

UPLOAD_STATES = ("queued_for_parse", "parsing", "parsed", "normalizing", "normalized", "error")
NOTHING: Mapping[str, str] = {}


def load_text(config: Path, text: str, **variables: str) -> Settings:
    config.write_text(text, "utf-8")
    return Settings.load(config, environ=variables)
