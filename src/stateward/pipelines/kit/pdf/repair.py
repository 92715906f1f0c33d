"""Damaged PDFs, mended as far as that goes: a table of contents rebuilt, objects that are whole written anew.

It needs the extra `repair`. What it gives is a PDF that opens; whether anything of it is missing, nothing here knows.
"""

import io
from pathlib import Path

from stateward.extras import missing_extra

FILE_BYTES_MAX = 256 * 1024 * 1024


def repaired_pdf(path: Path, *, password: str | None = None) -> bytes | None:
    """The bytes of a mended copy; None if nothing can be saved of it. `MissingExtra` without the extra."""
    if path.stat().st_size > FILE_BYTES_MAX:
        return None
    try:
        import pikepdf
    except ImportError as error:
        raise missing_extra(error) or error from error
    made = io.BytesIO()
    try:
        with pikepdf.open(path, password=password or "", suppress_warnings=True) as document:
            if not len(document.pages):
                return None
            document.save(made, fix_metadata_version=True)
    except (pikepdf.PdfError, pikepdf.PasswordError, ValueError, RuntimeError):
        return None
    return made.getvalue()
