"""Who signs, and to whom a letter is addressed: names on separate lines."""

import re
from collections.abc import Iterator

import msgspec

from stateward.pipelines.contracts.general.dates import dates_in
from stateward.pipelines.contracts.general.names import PartyName, name_at
from stateward.pipelines.contracts.general.prose import Prose, ProseLine

HEAD_ROWS = 60
ABOVE_MAX = 4  # lines between the name of a company and the `By:` of its signature
SECOND_LINE_WORDS = 4  # at most, on the second line of a name
TAIL_MIN = 0.45  # of the text: signatures come later than this

_GREETING = re.compile(
    r"\s*(?:dear\b|ladies\s+(?:and|&)\s+gentlemen|gentlemen\b|to\s+whom|sehr\s+geehrte)",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\W*(?:by|per|signed)\s*[:;.]|\W*by\W*(?:/s/|_|\t|$)|.{0,12}/s/|\W*(?:name|title|its|print\w*)\s*:",
    re.IGNORECASE,
)
_BELOW = re.compile(
    r"\b(?:truly\s+yours|sincerely(?:\s+yours)?|yours\s+(?:truly|sincerely|faithfully|very\s+truly)|regards|"
    r"(?:accepted|agreed|acknowledged|confirmed)\b[^.]{0,60}|for\s+and\s+on\s+behalf\s+of)\W*$",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[\W_]*/s/\s*", re.IGNORECASE)
_FOR_OTHERS = re.compile(r"\W*(?:by|per|witness\w*|attest|notary)\b", re.IGNORECASE)
_OFFICE = re.compile(
    r"\b(?:president|officer|director|manager|secretary|treasurer|counsel|chairman|partner|member|attorney|vice|executive|"
    r"witness|notary|authorized|signatory)\b",
    re.IGNORECASE,
)


class SignatureCell(msgspec.Struct, frozen=True, gc=False):
    """Part of a line, between tabs."""

    start: int
    text: str
    row: int
    column: int


def greeting_row(prose: Prose) -> int | None:
    """The line with the greeting of a letter."""
    rows = prose.rows[:HEAD_ROWS]
    return next((at for at, row in enumerate(rows) if _GREETING.match(row.text)), None)


def addressee(prose: Prose, greeting: int) -> Iterator[PartyName]:
    """Names of the lines to which a letter is addressed: below its date, above its greeting."""
    rows = prose.rows[:greeting]
    dated = [at for at, row in enumerate(rows) if _is_date(row)]
    first = dated[-1] + 1 if dated else max(0, greeting - 8)
    for row in rows[first:]:
        yield from _whole_names(row)


def letterhead(prose: Prose, greeting: int) -> Iterator[PartyName]:
    """Names of the lines above the date of a letter."""
    rows = prose.rows[:greeting]
    dated = [at for at, row in enumerate(rows) if _is_date(row)]
    for row in rows[: dated[0]] if dated else ():
        yield from _whole_names(row)


def signers(prose: Prose) -> Iterator[PartyName]:
    """Companies above a `By:` or below a `Very truly yours`; persons who sign for themselves."""
    start = next(
        (at for at, row in enumerate(prose.rows) if row.start > TAIL_MIN * len(prose.text)), 0
    )
    cells = [
        cell for at, row in enumerate(prose.rows[start:], start=start) for cell in _cells(row, at)
    ]
    by_row: dict[int, list[SignatureCell]] = {}
    for cell in cells:
        by_row.setdefault(cell.row, []).append(cell)
    done: set[SignatureCell] = set()
    near = _rows_near_signatures(cells)
    for cell in cells:
        if cell.row not in near or cell in done or _is_office(cell.text):
            continue
        name = _name_in(cell)
        if name is not None and not name.is_company and not name.is_person:
            both, below = _with_next(cell, by_row)
            if both is not None and below is not None:
                name = both
                done.add(below)
        if name is None:
            continue
        if name.is_company:
            if _is_signed_below(cell, by_row) or _is_below_closing(cell, by_row):
                yield name
        elif name.is_person and _is_own_signature(cell, by_row):
            yield name


def _rows_near_signatures(cells: list[SignatureCell]) -> set[int]:
    """The lines around those that look signed: names elsewhere need not be read."""
    signed = {
        cell.row
        for cell in cells
        if _BY.match(cell.text)
        or "/s/" in cell.text
        or "____" in cell.text
        or _BELOW.search(cell.text)
    }
    return {row + step for row in signed for step in range(-ABOVE_MAX, ABOVE_MAX + 1)}


def _cells(row: ProseLine, number: int) -> Iterator[SignatureCell]:
    at = 0
    for column, part in enumerate(row.text.split("\t")):
        if part.strip():
            yield SignatureCell(
                row.start + at + len(part) - len(part.lstrip()), part.strip(), number, column
            )
        at += len(part) + 1


def _name_in(cell: SignatureCell) -> PartyName | None:
    """The name that a cell consists of, or the signature in it."""
    sign = _SIGN.match(cell.text)
    name = name_at(cell.text, sign.end() if sign else 0)
    if name is None:
        return None
    rest = cell.text[name.end :].strip(" .,:;")
    if rest and not re.match(r"(?:d/?b/?a|a\s|an\s|by\b|\()", rest, re.IGNORECASE):
        return None
    return name.shifted(cell.start)


def _with_next(
    cell: SignatureCell, by_row: dict[int, list[SignatureCell]]
) -> tuple[PartyName | None, SignatureCell | None]:
    """The name of a company on two lines, and the cell with its second part."""
    cells = [other for other in by_row.get(cell.row + 1, []) if other.column == cell.column]
    below = cells[0] if cells else None
    if below is None or _BY.match(below.text) or len(below.text.split()) > SECOND_LINE_WORDS:
        return None, None
    both = name_at(f"{cell.text} {below.text}", 0)
    if both is None or not both.is_company or both.end < len(cell.text) + len(below.text):
        return None, None
    return both.shifted(cell.start), below


def _is_signed_below(cell: SignatureCell, by_row: dict[int, list[SignatureCell]]) -> bool:
    rows = [by_row.get(cell.row + step, []) for step in range(1, ABOVE_MAX + 1)]
    return any(_BY.match(other.text) for row in rows for other in row)


def _is_below_closing(cell: SignatureCell, by_row: dict[int, list[SignatureCell]]) -> bool:
    rows = [by_row.get(cell.row - step, []) for step in (1, 2)]
    return any(_BELOW.search(other.text) for row in rows for other in row)


def _is_own_signature(cell: SignatureCell, by_row: dict[int, list[SignatureCell]]) -> bool:
    """Whether a person signs, with no company and no office nearby."""
    above = [other for step in (4, 3, 2, 1) for other in _beside(cell, by_row, -step)]
    below = [other for other in by_row.get(cell.row + 1, []) if other.column == cell.column]
    if any(_is_office(other.text) for other in below):
        return False
    if "/s/" in cell.text and any(_BY.match(each.text) or name_at(each.text, 0) for each in below):
        return False  # the printed name is below
    if any(_FOR_OTHERS.match(other.text) for other in above if other.row >= cell.row - 2):
        return False
    is_signed = "/s/" in cell.text or any(
        "/s/" in other.text or "____" in other.text or _BELOW.search(other.text) for other in above
    )
    names = [name_at(other.text, 0) for other in above if other.row >= cell.row - 3]
    return is_signed and not any(name is not None and name.is_company for name in names)


def _beside(
    cell: SignatureCell, by_row: dict[int, list[SignatureCell]], step: int
) -> list[SignatureCell]:
    """The cells of a line above or below in the same column, as far as columns are known."""
    row = by_row.get(cell.row + step, [])
    return row if len(row) == 1 else [other for other in row if other.column == cell.column]


def _is_office(text: str) -> bool:
    return bool(_OFFICE.search(text))


def _whole_names(row: ProseLine) -> Iterator[PartyName]:
    """The names that cells of a line consist of; an office may follow that of a person."""
    for cell in _cells(row, 0):
        name = name_at(cell.text, 0)
        if name is not None:
            rest = cell.text[name.end :]
            if not rest.strip(" .,") or (name.is_person and rest.startswith(",")):
                yield name.shifted(cell.start)


def _is_date(row: ProseLine) -> bool:
    dated = next(iter(dates_in(row.text)), None)
    return dated is not None and len(row.text.strip()) - (dated.end - dated.start) < 12
