"""What a document is, by its bytes, and how it can be shown without any of it running.

PDF goes to pdf.js, which draws it; pictures of kinds that cannot hold script are shown; everything that reads as text,
HTML and SVG too, is shown as text, and of an archive its list and the texts in it. The rest can only be saved.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from stateward.blobs.archives import OF_DOCUMENTS

TEXT_BYTES_MAX = 256 * 1024
CONTROLS_SHARE_MAX = 0.02
PACKED_FILES_MAX = 100
# The list of an archive is read as a whole, and a stranger's can be as long as the file itself.
PACKED_LIST_BYTES_MAX = 256 * 1024
PACKED_TEXT_BYTES_MAX = 64 * 1024  # of each file
_LIST_END, _LIST_END_64 = b"PK\x05\x06", b"PK\x06\x07"
_LIST_END_BYTES, _COMMENT_BYTES_MAX = 22, 65_535  # see APPNOTE.TXT 4.3.16
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


class PackedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in an archive; `text` is its beginning, None where it is no text or cannot be read."""

    name: str
    size: int
    text: str | None
    is_cut: bool


def packed_files(path: Path) -> list[PackedFile]:
    """The first files of a ZIP archive; none of a document that is one inside, or of one that cannot be read."""
    if not _has_short_list(path):
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [each for each in archive.infolist() if not each.is_dir()]
            if any(each.filename.startswith(OF_DOCUMENTS) for each in entries):
                return []
            return [_packed_file(archive, each) for each in entries[:PACKED_FILES_MAX]]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []


def _has_short_list(path: Path) -> bool:
    with path.open("rb") as handle:
        if handle.read(2) != b"PK":
            return False
        handle.seek(max(0, path.stat().st_size - _LIST_END_BYTES - _COMMENT_BYTES_MAX))
        tail = handle.read()
    end = tail[tail.rfind(_LIST_END) :]
    # One of 64 bits has its sizes elsewhere, and is larger than what can be looked at.
    is_whole = end.startswith(_LIST_END) and len(end) >= _LIST_END_BYTES
    is_short = int.from_bytes(end[12:16], "little") <= PACKED_LIST_BYTES_MAX
    return is_whole and is_short and _LIST_END_64 not in tail


def _packed_file(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> PackedFile:
    try:
        with archive.open(entry) as file:
            head = file.read(PACKED_TEXT_BYTES_MAX)
        text = as_text(head)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError):
        head, text = b"", None  # damaged, or encrypted
    return PackedFile(
        name=entry.filename, size=entry.file_size, text=text, is_cut=entry.file_size > len(head)
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
