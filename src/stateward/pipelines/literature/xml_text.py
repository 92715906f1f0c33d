"""The text of elements of XML: whole, without certain elements inside, and of titles without the marks of notes."""

from lxml import etree

from stateward.pipelines.literature.paper import squeeze

# Kinds of xref that point to a note beside the text.
NOTE_MARKS = frozenset({"fn", "table-fn", "author-notes", "corresp", "aff"})
LINES = frozenset(
    ("p", "title", "label", "term", "def", "fn", "verse-line", "attrib", "list", "list-item", "def-item", "disp-quote")
)  # fmt: skip
SPAN_MAX = 100  # columns or rows of one cell
ENDING = (",", ".", ";", ":", "?", "!")
CLOSING = (*ENDING, ")", "]")


def text_of(element: etree._Element | None) -> str:
    """All text inside an element, with single blanks."""
    if element is None:
        return ""
    if not len(element):
        text = element.text or ""
        return text if text.isalnum() else " ".join(text.split())  # a year, a name
    return squeeze(etree.tostring(element, method="text", encoding="unicode", with_tail=False))


def table_rows(table: etree._Element) -> list[list[str]]:
    """The cells of a table in the columns that they stand in: what spans several of them is followed by empty ones."""
    rows: list[list[str]] = []
    above: dict[int, int] = {}  # in how many further rows a column is taken by a cell above
    group = None
    for each in table.iter("tr"):
        if group is not (group := each.getparent()):
            above = {}
        row: list[str] = []
        for cell in each.iterchildren("td", "th"):
            if above:
                _take_spanned(row, above)
            wide, tall = cell.get("colspan"), cell.get("rowspan")
            if len(cell) > 1:
                part_children(cell)
            row.append(text_of(cell))
            if wide or tall:
                start = len(row) - 1
                row += [""] * (_span(wide) - 1)
                if (rows_taken := _span(tall)) > 1:
                    above |= dict.fromkeys(range(start, len(row)), rows_taken - 1)
        _take_spanned(row, above)
        rows.append(row)
    return rows


def _take_spanned(row: list[str], above: dict[int, int]) -> None:
    while left := above.get(len(row)):
        above[len(row)] = left - 1
        row.append("")


def _span(text: str | None) -> int:
    return min(max(int(text), 1), SPAN_MAX) if text and text.isdecimal() else 1


def part_children(element: etree._Element) -> None:
    """Put a blank behind each paragraph or other line inside an element that has none; what is within a line stays."""
    for child in element:
        if child.tag in LINES and not child.tail:
            child.tail = " "


def child_text(element: etree._Element, path: str) -> str:
    """The text of the first element on a path."""
    return text_of(element.find(path))


def prose(element: etree._Element, without: tuple[str, ...]) -> str:
    """The text of an element without that of certain elements inside it, which stand elsewhere."""
    if next(element.iterdescendants(*without), None) is None:
        return text_of(element)
    pieces: list[str] = []
    _collect(element, frozenset(without), pieces)
    return squeeze("".join(pieces))


def _collect(element: etree._Element, without: frozenset[str], pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        if child.tag in without:
            pieces.append(" ")
        else:
            _collect(child, without, pieces)
        pieces.append(child.tail or "")


def title_text(title: etree._Element) -> str:
    """A title without its footnotes and their marks; a reference that is a part of the sentence stays."""
    if next(title.iterdescendants("xref", "fn"), None) is None:
        return text_of(title)
    pieces: list[str] = []
    _collect_title(title, pieces)
    return squeeze("".join(pieces))


def joined_title(title: str, subtitle: str) -> str:
    """A title with its subtitle, as PubMed and libraries write both in one line."""
    if not title or not subtitle:
        return title or subtitle
    return f"{title} {subtitle}" if title.endswith(ENDING) else f"{title}: {subtitle}"


def _collect_title(element: etree._Element, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        if _is_mark(child):
            # A colon stands at the word that bore the mark.
            pieces.append("" if (child.tail or "").startswith(CLOSING) else " ")
        else:
            _collect_title(child, pieces)
        pieces.append(child.tail or "")


def _is_mark(element: etree._Element) -> bool:
    """Whether it points to a note or is set as such marks are: raised, or without a letter or digit."""
    if element.tag == "sup":
        return next(element.iterdescendants("xref"), None) is not None
    if element.tag != "xref":
        return bool(element.tag == "fn")
    is_raised = next(element.iterdescendants("sup"), None) is not None
    is_sign = not any(map(str.isalnum, text_of(element)))
    return is_raised or is_sign or element.get("ref-type") in NOTE_MARKS
