"""The text of an XML catalogue, without what keeps a reader from it and says nothing of products.

Programs name the file of a document type, which is never read, use the named characters of HTML and bare signs, and
forget to declare the prefix `g:`. What declares anything of its own stays as it is, to be refused.
"""

import re
from html.entities import html5

PROLOG_BYTES = 4096
GOOGLE = "http://base.google.com/ns/1.0"
OWN_PREFIXES = frozenset({"xml", "xmlns"})
_DOCTYPE = re.compile(
    rb"<!DOCTYPE\s+[\w:.-]{1,100}(?:\s+(?:SYSTEM|PUBLIC)[^\[\]<>]{0,500})?\s*>", re.IGNORECASE
)
# A sign that begins no reference of XML, with the name of HTML behind it; what is marked as plain text has none.
_SIGN = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)"
    rb"(?:([A-Za-z][A-Za-z0-9]{1,31});)?",
    re.DOTALL,
)
_PREFIX = re.compile(rb"</?([A-Za-z_][\w.-]{0,30}):")
_DECLARED = re.compile(rb"\sxmlns:([A-Za-z_][\w.-]{0,30})\s*=")
_ROOT = re.compile(rb"<[A-Za-z_][\w:.-]{0,100}(?=[\s>/])")


def readable_xml(data: bytes) -> bytes:
    """The document without the name of its document type, with characters for their names and with all its prefixes."""
    data = _DOCTYPE.sub(b"", data[:PROLOG_BYTES], count=1) + data[PROLOG_BYTES:]
    return _with_prefixes(_SIGN.sub(_character, data))


def _character(sign: re.Match[bytes]) -> bytes:
    """A named character as its number, which is the same in every encoding that is written in ASCII."""
    if sign[0].startswith(b"<"):
        return sign[0]
    if sign[1] is None:
        return b"&amp;"  # as in `Tools & Parts`, or in an address
    character = html5.get(f"{sign[1].decode()};", "")
    return b"".join(b"&#%d;" % ord(each) for each in character) or sign[0]


def _with_prefixes(data: bytes) -> bytes:
    used = {*_PREFIX.findall(data)}
    missing = used - {*_DECLARED.findall(data)} - {each.encode() for each in OWN_PREFIXES}
    root = _ROOT.search(data)
    if not missing or root is None:
        return data
    declared = b"".join(
        b' xmlns:%s="%s"' % (each, GOOGLE.encode() if each == b"g" else b"urn:prefix:" + each)
        for each in sorted(missing)
    )
    return data[: root.end()] + declared + data[root.end() :]
