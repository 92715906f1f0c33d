"""What a document is, by its bytes, and how it can be shown without any of it running.

PDF goes to pdf.js, which draws it; pictures of kinds that cannot hold script are shown; everything that reads as text,
HTML and SVG too, is shown as text. The rest can only be saved.
"""

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

TEXT_BYTES_MAX = 256 * 1024
CONTROLS_SHARE_MAX = 0.02
Form: TypeAlias = Literal["pdf", "image", "text", "other"]

SVG = "image/svg+xml"
PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_PLAIN = frozenset(b"\t\n\r\x0c") | frozenset(range(32, 256))


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """A document as it is shown; `text` is the beginning of one that reads as text."""

    path: Path
    size: int
    form: Form
    media_type: str
    text: str = ""
    is_cut: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether a browser may be given it to look at."""
        return self.form in ("pdf", "image", "text")


def shown_as(path: Path, *, media_type: str = "") -> Content:
    """How a file is shown. `media_type` is what its maker says: of a derived SVG, that it is a picture.

    A picture stands in an `<img>`, where no script of an SVG runs; that of a stranger's document stays text.
    """
    size = path.stat().st_size
    with path.open("rb") as handle:
        head = handle.read(TEXT_BYTES_MAX)
    if b"%PDF-" in head[:1024]:
        return Content(path=path, size=size, form="pdf", media_type="application/pdf")
    for sign, found in PICTURES:
        if head.startswith(sign) and not (found == "image/bmp" and as_text(head) is not None):
            return Content(path=path, size=size, form="image", media_type=found)
    if media_type == SVG and b"<svg" in head:
        return Content(path=path, size=size, form="image", media_type=SVG)
    if head[4:12] == b"ftypavif":
        return Content(path=path, size=size, form="image", media_type="image/avif")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return Content(path=path, size=size, form="image", media_type="image/webp")
    text = as_text(head)
    if text is None:
        return Content(path=path, size=size, form="other", media_type="application/octet-stream")
    return Content(
        path=path,
        size=size,
        form="text",
        media_type="text/plain",
        text=text,
        is_cut=size > len(head),
    )


def as_text(head: bytes) -> str | None:
    """The bytes as text, if that is what they are."""
    for sign, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if head.startswith(sign):
            return head.decode(encoding, "replace")
    if b"\x00" in head:
        return None
    controls = sum(byte not in _PLAIN for byte in head)
    if controls > CONTROLS_SHARE_MAX * max(1, len(head)):
        return None
    try:
        return head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4:  # cut in the middle of a character
            return head[: error.start].decode("utf-8")
        return head.decode("cp1252", "replace")
