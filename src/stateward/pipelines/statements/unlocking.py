"""Locked PDFs without their lock, so that what has failed for want of a password can be processed again.

The password itself is stored nowhere; what it protected is in the data folder from then on, as its transactions are.
"""

from collections.abc import Mapping
from pathlib import Path

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import recode
from stateward.pipelines.kit.files import is_pdf
from stateward.pipelines.statements.pdf import CODES

PASSWORD = "password"  # noqa: S105 - the name of the hint


def unlock(path: Path, secrets: Mapping[str, str]) -> bytes:
    """The bytes of a PDF that opens without a password."""
    from stateward.pipelines.kit.pdf.pages import unlocked_pdf

    with path.open("rb") as file:
        if not is_pdf(file.read(1024)):
            raise FatalFailure("only a PDF can be opened with a password", code="BAD_HINT")
    with recode(CODES):
        return unlocked_pdf(path, secrets.get(PASSWORD, ""))
