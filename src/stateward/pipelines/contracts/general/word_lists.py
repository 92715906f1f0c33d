"""The words by which names, roles, laws and dates are known: `words.yaml`, read once."""

from functools import cache
from importlib.resources import files

import msgspec


def words(name: str) -> list[str]:
    """A list of single words."""
    return str(_tables()[name]).split()


def phrases(name: str) -> list[str]:
    """A list of names that may hold blanks."""
    return [part.strip() for part in str(_tables()[name]).split(",")]


def pairs(name: str) -> dict[str, str]:
    """A table of two columns."""
    table = _tables()[name]
    return {str(key): str(value) for key, value in table.items()} if isinstance(table, dict) else {}


@cache
def _tables() -> dict[str, object]:
    folder = files("stateward.pipelines.contracts.general")
    tables = msgspec.yaml.decode((folder / "words.yaml").read_text("utf-8"))
    return dict(tables)
