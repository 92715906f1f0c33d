"""The format of a statement as far as an upload needs it: without inflating or parsing anything."""

from pathlib import Path

from stateward.pipelines.statements.sniff import sniff
from stateward.pipelines.statements.source import Bounds, Hints, Source


def format_of(path: Path) -> str:
    """The format by content, as `sniff` names it; a refusal with its reason if it is none."""
    return sniff(Source(path, Hints(), Bounds()), is_inflating=False)
