"""Optional dependencies: which extra of the package brings a module that is not installed.

`pip install stateward` brings what the engine, the command line and SQLite need. Everything else is an extra, and
the error for a missing module names the command that installs it. The extras are read from the metadata of the
installed package, so that this list cannot differ from pyproject.toml.
"""

import re

from stateward.core.errors import MissingExtra

DISTRIBUTION = "stateward"
EVERYTHING = "all"
_REQUIREMENT = r"^([A-Za-z0-9._-]+).*;.*\bextra == ['\"]([A-Za-z0-9_-]+)['\"]"


def missing_extra(error: ImportError) -> MissingExtra | None:
    """What to say about a failed import; None if no extra of ours would have brought the module."""
    module = (error.name or "").partition(".")[0]
    extras = sorted(_extras_of(module)) if module else []
    return MissingExtra(module, extras) if extras else None


def _extras_of(module: str) -> set[str]:
    # Here: it loads a mail parser and an archive reader, and every child process imports this module.
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # run from a source tree that was never installed
        return set()
    found: set[str] = set()
    for line in lines:
        if match := re.match(_REQUIREMENT, line):
            # A distribution's name and its module differ at most in the separator, or the module is a prefix
            # (opentelemetry-sdk installs opentelemetry).
            name = match[1].lower().replace("-", "_")
            if match[2] != EVERYTHING and (name == module or name.startswith(f"{module}_")):
                found.add(match[2])
    return found
