"""Whether a file is a scan, by its bytes. It never inflates or parses anything."""

from pathlib import Path

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.files import is_pdf

# A TIFF is nearly always a scan. Of other pictures it cannot be told by their bytes whether they show a document.
PICTURES = {
    b"II*\x00": ("tiff", 60),
    b"MM\x00*": ("tiff", 60),
    b"\x89PNG\r\n\x1a\n": ("png", 30),
    b"\xff\xd8\xff": ("jpeg", 30),
    b"BM": ("bmp", 15),
}
# A scan: more than what other pipelines say of a PDF that they know nothing of, because they could not read it. Any
# other PDF: less than that, and more than what they say of one that shows nothing of theirs. So whatever no other
# pipeline takes for its own is kept as a text that can be searched.
SCANNED_PDF, ANY_PDF = 25, 20
PDF_BYTES_MAX = 64 * 1024 * 1024
IMAGES = (b"/DCTDecode", b"/CCITTFaxDecode", b"/JBIG2Decode", b"/JPXDecode", b"/Image")
# Fonts; and compressed objects, in which there may be fonts.
TEXT = (b"/Font", b"/ObjStm")


def detect(content: Content) -> Detected | None:
    """A scan, or None."""
    head = content.head
    if is_pdf(head):
        confidence = SCANNED_PDF if _is_scanned_pdf(content.path) else ANY_PDF
        return Detected(source_type="scan", format="pdf", confidence=confidence)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return Detected(source_type="scan", format="webp", confidence=30)
    for magic, (name, confidence) in PICTURES.items():
        if head.startswith(magic):
            return Detected(source_type="scan", format=name, confidence=confidence)
    return None


def _is_scanned_pdf(path: Path) -> bool:
    """Whether a PDF holds images and certainly no font: nothing in it can be text."""
    if path.stat().st_size > PDF_BYTES_MAX:
        return False
    data = path.read_bytes()
    return any(name in data for name in IMAGES) and not any(name in data for name in TEXT)
