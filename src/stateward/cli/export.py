"""Items in other people's formats, on stdout: CSV for sheets, OFX for finance programs, beancount for ledgers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stateward.cli.output import write_lines

if TYPE_CHECKING:
    from stateward.core.model import Fields


def write_items(form: str, rows: Iterable["Fields"]) -> None:
    """Write rows in a format; nothing of them can be taken for a formula, a tag or a directive."""
    from stateward.pipelines.statements import export

    writers = {
        "csv": export.csv_lines,
        "ofx": export.ofx_lines,
        "beancount": export.beancount_lines,
    }
    write_lines(writers[form](rows))
