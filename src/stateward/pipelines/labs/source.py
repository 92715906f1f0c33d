"""One document on its way into a reader: its bytes, the limits that hold, and what tells patients apart.

Reports name patients. Nothing that a reader raises or logs may repeat a text of the document, so that every failure
inside `private` becomes a sentence of our own, and what caused it is left out of the traceback.
"""

import hashlib
import hmac
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure, MissingExtra, StageFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.labs.words import fold

KEY_CHARS = 32


class ReportSource(msgspec.Struct, frozen=True, kw_only=True):
    """A document and how it may be read."""

    path: Path
    patient_key: bytes = b""
    date_order: str = ""
    passwords: tuple[str, ...] = ()
    bytes_max: int = 64 * 1024 * 1024
    pages_max: int = 500
    results_max: int = 200_000
    attempt: int = 0  # how often it was tried before: a later attempt is more lenient

    def data(self) -> bytes:
        """The whole document, within its limit."""
        size = self.path.stat().st_size
        if size > self.bytes_max:
            raise FatalFailure(
                f"the report has {size} bytes and the limit is {self.bytes_max}; split it, or raise labs.bytes_max",
                code="TOO_LARGE",
            )
        return self.path.read_bytes()

    def patient(self, *identifiers: str) -> str:
        """The keyed hash of what identifies a patient; "" without a key, or without an identifier."""
        told = "|".join(filter(None, (fold(each) for each in identifiers)))
        if not self.patient_key or not told:
            return ""
        return hmac.new(self.patient_key, told.encode(), hashlib.sha256).hexdigest()[:KEY_CHARS]


@contextmanager
def private(what: str) -> Iterator[None]:
    """Let only failures of our own out of this block: any other exception may hold text of the document."""
    try:
        yield
    except (StageFailure, MissingExtra, OSError):
        raise
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a parser raises about hostile bytes
        frame = traceback.extract_tb(error.__traceback__)[-1]
        # The kind of the exception and the line of code that raised it say enough, and nothing of the document.
        where = f"{type(error).__name__}, {Path(frame.filename).name}:{frame.lineno}"
        raise FatalFailure(
            f"the {what} report is damaged or not as its format requires ({where}); export it again",
            code=CORRUPT_FILE,
        ) from None


def hl7_time(text: str) -> str:
    """A time of HL7 (20141006062700+0700) as ISO 8601, as exact as it is told; "" if it is none."""
    found = re.fullmatch(
        r"([0-9]{4})([0-9]{2})?([0-9]{2})?([0-9]{2})?([0-9]{2})?([0-9]{2})?(?:\.[0-9]+)?([+-][0-9]{4}|Z)?",
        text.strip(),
    )
    if found is None:
        return ""
    year, month, day, hour, minute, second, zone = found.groups()
    date = "-".join(part for part in (year, month, day) if part)
    if hour is None or day is None:
        return date
    zone = "" if zone is None else zone if zone == "Z" else f"{zone[:3]}:{zone[3:]}"
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"
