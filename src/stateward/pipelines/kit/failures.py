"""The codes with which the kit refuses a file.

Every refusal is a `FatalFailure`: the same bytes will be refused again. A pipeline whose documentation promises other
codes translates them with `recode`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from stateward.core.errors import FatalFailure, StageFailure

EMPTY_DOCUMENT = "EMPTY_DOCUMENT"
ENCRYPTED = "ENCRYPTED"
CORRUPT_FILE = "CORRUPT_FILE"
HOSTILE_FILE = "HOSTILE_FILE"  # made to exhaust memory or to read other files
NO_TEXT = "NO_TEXT"  # a scan, or fonts without a character map
TOO_MANY_PAGES = "TOO_MANY_PAGES"
TEXT_TOO_LARGE = "TEXT_TOO_LARGE"
UNSUPPORTED_FORMAT = "UNSUPPORTED_FORMAT"


@contextmanager
def recode(codes: Mapping[str, str]) -> Iterator[None]:
    """Give failures raised in this block the codes of a pipeline; codes that are not listed stay."""
    try:
        yield
    except FatalFailure as error:
        if error.code not in codes:
            raise
        raise FatalFailure(error.message, code=codes[error.code]) from error


# A flag: the file was read as far as that goes, and something may be missing.
DAMAGED_FILE = "DAMAGED_FILE"


@contextmanager
def damage_is_retried(retry_count: int) -> Iterator[None]:
    """Let a damaged file be tried again, where the profile retries: the first attempt at it does not give it up.

    A runner reads it leniently then, and flags what it made of it; what fails even so is given up.
    """
    try:
        yield
    except FatalFailure as error:
        if error.code != CORRUPT_FILE or retry_count > 0:
            raise
        raise StageFailure(error.message, code=error.code) from None
