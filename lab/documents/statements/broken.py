"""PDFs that are locked, torn, forged or far too large: what a stranger may send."""

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence

from lab.documents.statements.paper import (
    A4,
    Paper,
    assemble,
    stream,
)

_PAD = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_STREAM = re.compile(rb"(?<=stream\n)(.*)(?=\nendstream)", re.DOTALL)
_ID = bytes(range(16))
RIGHTS = -44  # to print and to copy, and no more


def lock(objects: Sequence[bytes], *, user: str, owner: str) -> bytes:
    """A file of these objects, locked in the oldest way that PDF knows; an empty user password opens it to all."""
    rights = RIGHTS.to_bytes(4, "little", signed=True)
    kept = _rc4(_md5(_padded(owner))[:5], _padded(user))
    key = _md5(_padded(user) + kept + rights + _ID)[:5]
    locked = [
        _STREAM.sub(lambda found, at=at: _rc4(_object_key(key, at), found[1]), body)  # type: ignore[misc]
        for at, body in enumerate(objects, start=1)
    ]
    how = (
        f"<< /Filter /Standard /V 1 /R 2 /Length 40 /P {RIGHTS} /O <{kept.hex()}>"
        f" /U <{_rc4(key, _PAD).hex()}> >>"
    )
    locked.append(how.encode())
    return assemble(locked, trailer=f"/Encrypt {len(locked)} 0 R /ID [<{_ID.hex()}> <{_ID.hex()}>]")


def _padded(password: str) -> bytes:
    return (password.encode("latin-1") + _PAD)[:32]


def _object_key(key: bytes, number: int) -> bytes:
    return _md5(key + number.to_bytes(3, "little") + b"\x00\x00")[:10]


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def torn(pdf: bytes, pieces: int) -> Iterator[bytes]:
    """The file cut off at many lengths."""
    for number in range(1, pieces):
        yield pdf[: len(pdf) * number // pieces]


def flipped(pdf: bytes, places: int) -> Iterator[bytes]:
    """The file with one bit changed, at many places."""
    for number in range(places):
        at = (len(pdf) * (2 * number + 1)) // (2 * places)
        yield pdf[:at] + bytes([pdf[at] ^ (1 << number % 8)]) + pdf[at + 1 :]


def bomb(megabytes: int) -> bytes:
    """One page whose few bytes of content become very many blanks."""
    pack = zlib.compressobj(9)
    content = b"".join(pack.compress(b" " * 1_000_000) for _ in range(megabytes)) + pack.flush()
    packed = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (
        len(content),
        content,
    )
    return _one_page(packed)


def without_pages() -> bytes:
    """A file that says it has no page."""
    return assemble([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 0 /Kids [] >>"])


def missing_pages(count: int) -> bytes:
    """A file that says it has many pages, and has one."""
    return _one_page(stream(b"BT ET"), count=count)


def deep_tree(depth: int) -> bytes:
    """One page under a tree of page nodes, each the only child of the one above."""
    nodes = [
        f"<< /Type /Pages /Count 1 /Kids [{number + 1} 0 R] >>".encode()
        for number in range(2, depth + 2)
    ]
    page = b"<< /Type /Page /MediaBox [0 0 595 842] /Resources << >> >>"
    return assemble([b"<< /Type /Catalog /Pages 2 0 R >>", *nodes, page])


def circular_tree() -> bytes:
    """A page node that is its own child."""
    return assemble(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 3 /Kids [2 0 R 2 0 R] >>"]
    )


def endless_line(letters: int) -> bytes:
    """One page with very many letters."""
    paper = Paper(A4)
    paper.page()
    for number in range(letters // 100):
        paper.text(40 + number % 7, 20 + 0.25 * number, "ABCDEFGHIJ" * 10, size=1)
    return paper.pdf()


def picture(pages: int) -> bytes:
    """Pages that show an image and no text, as a scanner makes them."""
    objects = [b"", b"", stream(b"q 595 0 0 842 0 0 cm /I Do Q"), image()]
    kids = []
    for _ in range(pages):
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R"
            b" /Resources << /XObject << /I 4 0 R >> >> >>"
        )
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = f"<< /Type /Pages /Count {pages} /Kids [{' '.join(kids)}] >>".encode()
    return assemble(objects)


def image() -> bytes:
    """A picture of four dots."""
    head = (
        b"<< /Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray"
        b" /BitsPerComponent 8 /Length 4 >>"
    )
    return head + b"\nstream\n\x00\xff\xff\x00\nendstream"


def _one_page(content: bytes, *, count: int = 1) -> bytes:
    return assemble(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Count {count} /Kids [3 0 R] >>".encode(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << >> >>",
            content,
        ]
    )
