"""Files that a command is told to compare with: on this machine, or in a bucket where checkpoints are handed to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stateward.cli.context import CliContext


def kept_file(context: "CliContext", named: str) -> Path:
    """The file; of an object a copy, which goes when the command ends."""
    from stateward.settings.storage import BUCKETS

    if named.partition("://")[0] not in BUCKETS:
        return Path(named)
    import tempfile

    from stateward.app.anchors import bucket_at

    place, _, name = named.rpartition("/")
    folder = click.get_current_context().with_resource(tempfile.TemporaryDirectory())
    copy = Path(folder) / (name or "checkpoint")
    bucket_at(place, context.settings()).fetch_named(name, copy)
    return copy
