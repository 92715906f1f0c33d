"""XML of publishers: decoded, parsed without network or entities, and with the place of every block in the file.

Unlike other documents, articles do declare a document type. It is allowed as long as it declares no entity of its own;
the named characters of the public ones (`&alpha;`) are replaced by what HTML calls by the same names.

libxml2 tells no offsets. They are found by a second look at the text: the nth start tag of a name in the file is the
nth element of that name in the tree, because neither comments nor CDATA are looked at.
"""

import codecs
import re
from collections.abc import Iterable
from functools import cache
from html.entities import html5

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.encoding import BOMS
from stateward.pipelines.kit.failures import CORRUPT_FILE, HOSTILE_FILE
from stateward.pipelines.literature.paper import Place

DEPTH_MAX = 200  # elements inside each other; articles have some 20
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_OWN_ENTITIES = re.compile(r"<!(?:DOCTYPE[^>\[]*\[(?!\s*\]\s*>)|ENTITY)", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[\s*\]\s*)?>", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_NAMED = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)([A-Za-z][A-Za-z0-9.]*);")
_DEFAULT_NAMESPACE = re.compile(r"xmlns\s*=\s*[\"']([^\"'{}<>]+)[\"']")
# The Greek letters of ISO 8879 from alpha on, which publishers name in articles and HTML does not.
_GREEK_NAMES = (
    "a", "b", "g", "d", "e", "z", "ee", "th", "i", "k", "l", "m", "n", "x", "o", "p", "r", "sf", "s", "t", "u", "ph",
    "kh", "ps", "oh",
)  # fmt: skip
_GREEK = {name: chr(0x3B1 + place) for place, name in enumerate(_GREEK_NAMES)}
ISO_GREEK = {f"{name}gr": letter for name, letter in _GREEK.items()} | {
    f"{name.upper()}gr": letter.upper() for name, letter in _GREEK.items()
}
_FRONT_CHARS = 64 * 1024  # where a document type is declared


class XmlSource:
    """A parsed file, and where its elements stand in it.

    Without a namespace, elements that have no prefix are known by their names alone, whatever the default one is.
    """

    def __init__(
        self, data: bytes, *, block_tags: Iterable[str], has_namespace: bool = True
    ) -> None:
        self.text = decode_xml(data)
        self._has_namespace = has_namespace
        self.unknown_entities: set[str] = set()
        self.root = self._parse()
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._at = self._find_places(tuple(block_tags))

    def place(self, element: etree._Element) -> Place:
        """Where an element stands in the decoded file; nothing for an element that is no block."""
        at = self._at.get(element)
        if at is None:
            return Place()
        return Place(self._starts[at], self._ends[at])

    def written(self, element: etree._Element) -> str:
        """An element as the file has it, or as it would be written where its place is unknown."""
        at = self._at.get(element)
        if at is None:
            return str(etree.tostring(element, encoding="unicode", with_tail=False))
        return self.text[self._starts[at] : self._ends[at]]

    def _parse(self) -> etree._Element:
        text = self.text
        if _declares_entities(text[:_FRONT_CHARS]):
            raise FatalFailure(
                "the file declares entities of its own, as files do that are made to exhaust a reader; "
                "submit the article as its publisher delivers it",
                code=HOSTILE_FILE,
            )
        text = _DOCTYPE.sub("", _XML_DECLARATION.sub("", text, count=1), count=1)
        if "&" in text:
            text = _NAMED.sub(self._character, text)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True,
            huge_tree=False,
        )  # fmt: skip
        try:
            root = etree.fromstring(text.strip().encode(), parser)
        except etree.XMLSyntaxError as error:
            raise FatalFailure(
                f"the XML is damaged or incomplete ({error.msg}); download it again",
                code=CORRUPT_FILE,
            ) from error
        if not self._has_namespace:
            # Only elements of a default namespace, if there is one: most files have none, and each costs a microsecond.
            for uri in set(_DEFAULT_NAMESPACE.findall(text)):
                for element in list(root.iter(f"{{{uri}}}*")):
                    if element.prefix is None:
                        element.tag = etree.QName(element).localname
        return root

    def _character(self, found: "re.Match[str]") -> str:
        character = html5.get(f"{found[1]};") or ISO_GREEK.get(found[1])
        if character is None:
            self.unknown_entities.add(found[1])
            return f"&amp;{found[1]};"
        return character if character not in "<>&" else f"&#{ord(character)};"

    def _find_places(self, tags: tuple[str, ...]) -> dict[etree._Element, int]:
        """Which of the spans is that of each element with one of these names."""
        text = self.text
        starts, ends = self._starts, self._ends
        open_tags: list[int] = []
        for found in _tag_pattern(tags).finditer(text):
            start, end = found.span()
            second = text[start + 1]
            if second == "/":
                if open_tags:
                    ends[open_tags.pop()] = end
            elif second not in "!?":
                if text[end - 2] != "/":
                    open_tags.append(len(starts))
                starts.append(start)
                ends.append(end)
        elements = list(self.root.iter(*tags))
        # Elements of another vocabulary with such a name: rather no place than a wrong one.
        if len(elements) != len(starts):
            return {}
        return dict(zip(elements, range(len(starts)), strict=True))


def _declares_entities(front: str) -> bool:
    at = front.find("<!")  # faster than to let the expression look for it
    while at >= 0:
        if _OWN_ENTITIES.match(front, at):
            return True
        at = front.find("<!", at + 2)
    return False


@cache
def _tag_pattern(names: tuple[str, ...]) -> "re.Pattern[str]":
    """Start and end tags of these names, and whole what may hold something that looks like them."""
    by_letter: dict[str, list[str]] = {}
    for name in names:
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]))
    named = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
    unread = r"!--[\s\S]*?-->|!\[CDATA\[[\s\S]*?\]\]>|\?[\s\S]*?\?>"
    return re.compile(rf"<(?:/?+(?:{named})(?=[\s/>])[^>]*+>|{unread})")


def decode_xml(data: bytes) -> str:
    """The text of an XML file: by its byte order mark, by what it declares, else UTF-8."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return _decode(data, name)
    declared = _DECLARED.match(data.lstrip()[:400])
    name = declared[1].decode() if declared else "utf-8"
    if data[:2] in (b"<\x00", b"\x00<"):
        name = "utf-16-le" if data[:1] == b"<" else "utf-16-be"
    return _decode(data, name)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode(codecs.lookup(name).name)
    except (LookupError, UnicodeDecodeError) as error:
        raise FatalFailure(
            f"the file is not in the encoding that it declares ({name}); download it again",
            code=CORRUPT_FILE,
        ) from error
