"""XML from strangers: no document type, no entity, no network."""

import re
from collections.abc import Callable

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, HOSTILE_FILE

PROLOG_BYTES_MAX = 64 * 1024
_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ROOT = re.compile(rb"<[A-Za-z_\x80-\xff]")


def parse_xml(
    data: bytes, *, name: str = "the file", on_damaged: Callable[[str], object] | None = None
) -> etree._Element:
    """The root element. A document that declares a type or an entity is `HOSTILE_FILE`; no honest writer does.

    With `on_damaged`, which is told what is wrong, a damaged document is read as far as that goes.
    """
    if declares_type(data):
        raise hostile_xml(name)
    data = data.strip()
    try:
        root = etree.fromstring(data, _parser())
    except etree.XMLSyntaxError as error:
        if "ntity" in str(error):  # used without being declared
            raise hostile_xml(name) from error
        mended = None if on_damaged is None else etree.fromstring(data, _parser(is_lenient=True))
        if on_damaged is None or mended is None:
            raise FatalFailure(
                f"the XML of {name} is damaged or incomplete ({error}); save or download it again",
                code=CORRUPT_FILE,
            ) from error
        on_damaged(f"the XML is damaged or incomplete ({error})")
        root = mended
    if root.getroottree().docinfo.doctype:
        raise hostile_xml(name)
    return root


def _parser(*, is_lenient: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,  # libxml2's own limits on depth and size
        remove_comments=True,
        recover=is_lenient,
    )


def local_name(element: etree._Element) -> str:
    """The name of an element without its namespace; "" for comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def declares_type(data: bytes) -> bool:
    """Whether the prolog declares a type or an entity; looked at before libxml2 reads any of it."""
    head = data[:PROLOG_BYTES_MAX].replace(b"\x00", b"")  # UTF-16 and UTF-32 become ASCII
    root = _ROOT.search(head)
    return _DECLARATION.search(head, 0, root.start() if root else len(head)) is not None


def hostile_xml(name: str) -> FatalFailure:
    """The refusal of a document that declares a type or an entity."""
    return FatalFailure(
        f"{name} declares an XML document type or entities, which documents of this kind never do; it is not read",
        code=HOSTILE_FILE,
    )
