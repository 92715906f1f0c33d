"""The front of a printed paper: who wrote it, an abstract that no word introduces, the year.

No layout says what a line is. Names are taken where a whole line below the title is nothing else, and a note says so; a
text between them and the first heading is the abstract; a year is one that is printed as that of publication. What is
told in two ways that differ is left out.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from stateward.pipelines.literature.paper import Author, squeeze
from stateward.pipelines.literature.sections import is_notice
from stateward.pipelines.literature.text import Piece, join_lines

LINES_MAX = 8  # below the title, until the first line of names
NAMES_MAX = 200
CARDS_IN_ROW = 4
SIZE_STEP = 0.03  # of the size: as far the lines of one list differ
LINE_GAP = 1.0  # of the size, between them
ABSTRACT_CHARS_MIN = 200  # a shorter text is an address, a date or a notice
FRONT_CHARS = 6000

# Signs, numbers and letters by which notes and addresses are found; y and e are words of names.
_MARKS = re.compile(
    r"\[[0-9X-]{19}\]|\([B\u2709]\)|[*+\u2217\u22c6\u2020\u2021\u00a7\u00b6#\u266f\u2225\u2016\u25e6\u2709]"
    r"|\b(?:[0-9]{1,2}|[a-df-xz])\b"
)
_GLUED = re.compile(r"(?<=[^\W\d_])[0-9]{1,2}(?:,[0-9]{1,2})*(?=\W|$)")
_TIGHT = re.compile(r"(?<=[^\W\d_]\.)(?=[^\W\d_a-z])")  # A.B.Name, as some print it
_PARTED = re.compile(r"\s*(?:[,;\u00b7|]|\band\b|\bund\b|\bet\b|\by\b|&)\s*", re.IGNORECASE)
_INITIALS = r"(?:[^\W\d_a-z]\.?-?){1,3}"
# Only as they are written within names: of, the, from in several languages.
_PARTICLES = (
    "de", "del", "di", "da", "dos", "das", "du", "den", "der", "della", "la", "le", "van", "von", "vom", "zu", "zur",
    "bin", "ibn", "al", "el", "ter", "ten", "y", "e", "af", "av",
)  # fmt: skip
_PARTICLE = "(?:{})".format(
    "|".join(f"[{each[0]}{each[0].upper()}]{each[1:]}" for each in _PARTICLES)
)
_NAME = r"[^\W\d_a-z][^\W\d_]*(?:['\u2019][^\W\d_]+)*(?:[-\u2010\u2011][^\W\d_]+(?:['\u2019][^\W\d_]+)*)*"
_APOSTROPHE = r"(?:[dDlLOo]['\u2019])?"
_SHORT = r"[^\W\d_a-z][a-z]{1,3}\."  # Md. and Yu.
_UNCAPITALISED = re.compile(rf"{_PARTICLE}$|[dl]['\u2019]")
_PERSON = re.compile(
    rf"(?:(?:{_APOSTROPHE}{_NAME}|{_INITIALS}|{_SHORT}|{_PARTICLE})\s+){{1,5}}{_APOSTROPHE}{_NAME}(?:,?\s(?:Jr|Sr|I{{2,3}}|IV)\.?)?"
)
# Initials behind two whole names begin another person, from whom nothing separates the first.
_TWO_PEOPLE = re.compile(rf"\s{_INITIALS}\s(?:{_NAME}\s){{2,}}{_INITIALS}\s")
_BY = re.compile(r"^\s*by:?\s", re.IGNORECASE)
# A group that signs behind people. Its last word says so: a plain group, team or network is more often an address.
_GROUP = re.compile(
    r"(?:[,;&]|\band\b|\bfor\b|\bon behalf of\b)\s*(?:(?:and|for|on behalf of)\s+){0,2}(?:[Tt]he\s+)?"
    r"((?:[^\W\d_a-z][\w'\u2019/\u2010\u2011-]*\s+(?:(?:of|for|on|in|the|to)\s+){0,2}){1,8}"
    r"(?:Consortium|Collaboration|Collaborators|Investigators|Initiative|Task Force"
    r"|(?:Study|Studies|Trials?|Working|Writing|Steering) (?:Group|Committee|Team)))(?![^\W\d_])"
)
_DEGREES = re.compile(
    r",?\s*(?:(?:Senior|Student|Life|Graduate Student)\s+)?(?:Member|Fellow),\s*IEEE|"
    r",?\s*\b(?:M\.?D|Ph\.?\s?D|M\.?Sc|B\.?Sc|MPH|MBBS|FRCP|Dr\.? ?med|RN|DPhil|Prof|Dr)\b\.?"
)
# Words that begin with a capital as names do, and are none.
_OTHER = re.compile(
    r"\b(?:univ\w*|dep(?:art\w*|t)|inst\w*|facult\w*|school|college|laborator\w*|labs?|hospital|clinic\w*|cent(?:er|re|ro)|"
    r"academy|research|article|review|report|letters?|journal|paper|original|open|access|received|accepted|published|"
    r"abstract|summary|introduction|keywords?|volume|vol|issue|doi|copyright|licen[cs]e|rights|corresponding|authors?|"
    r"editor|edited|reviewed|division|national|ministry|company|inc|ltd|gmbh|google|microsoft|street|road|box|society|"
    r"international|conference|proceedings|workshop|technical|note|case|study|studies|analysis|science|sciences|the|of|"
    r"for|in|on|with|from|for|to|at)\b|@|https?:|www\.",
    re.IGNORECASE,
)
_INSTITUTION = re.compile(
    r"\b(?:univ\w*|dep(?:artment|t)\w*|institut\w*|facult\w*|laborator\w*|hospital|school|college|cent(?:er|re)\b)|@",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"[.?!\u3002][)\]\"\u201d\u2019]?(?:\s?\[?[0-9]{1,3}(?:[,\u2013-][0-9]{1,3})*\]?)?$"
)
_PUBLISHED = re.compile(
    r"\b(?:published(?:\s+online)?|publication\s+date|available\s+online|first\s+published|date\s+of\s+publication)"
    r"\s*(?:on)?\s*:?\s*[^.;|]{0,24}?\b((?:19|20)[0-9]{2})\b",
    re.IGNORECASE,
)
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|copyright)\s*(?:©|\(c\))?\s*(?:the authors?,?\s*)?((?:19|20)[0-9]{2})\b",
    re.IGNORECASE,
)
_CITED = re.compile(
    r"\b[0-9]{1,4}\s*(?:\([0-9]{1,3}\)\s*)?[,:]?\s*\(((?:19|20)[0-9]{2})\)|\(((?:19|20)[0-9]{2})\)\s*[0-9]{1,4}\s*[:,]\s*[0-9e]"
)


def names_of(line: str) -> list[str]:
    """The people whom a line names, and a group that signs with them, if it names nothing else."""
    group = _GROUP.search(line)
    if group is None:
        return _people_of(line) or []
    people, behind = _people_of(line[: group.start()]), _people_of(line[group.end() :])
    return [*people, group[1], *behind] if people and behind is not None else []


def _people_of(line: str) -> list[str] | None:
    """The people whom a line names; None if it names something else."""
    if _OTHER.search(line):
        return None
    text = _MARKS.sub(" ", _GLUED.sub("", _DEGREES.sub("", _TIGHT.sub(" ", squeeze(line)))))
    # Squeezed again: a run of blanks, as of marks that were taken out, would be searched once for each.
    parts = _PARTED.split(_BY.sub("", squeeze(text)))
    names = [part.strip(" .") if not part.endswith(("Jr.", "Sr.")) else part for part in parts]
    names = [name for name in names if name]
    return names if all(map(_is_person, names)) else None


def _author(name: str) -> Author:
    return Author(name=name, is_group=_GROUP.fullmatch(f"; {name}") is not None)


def _is_person(name: str) -> bool:
    # Where letters have no capitals, nothing tells a name from other words.
    is_capital = all(
        each[0].isupper() or _UNCAPITALISED.match(each) is not None for each in name.split()
    )
    is_name = _PERSON.fullmatch(name) is not None and _TWO_PEOPLE.search(name) is None
    return is_name and is_capital


def authors_below(pieces: Sequence[Piece]) -> tuple[list[Author], int]:
    """The authors whom the lines below the title name, and how many pieces are read then."""
    begun, lines = 0, 0
    while begun < len(pieces) and lines < LINES_MAX and not names_in(pieces[begun]):
        begun, lines = begun + 1, lines + len(pieces[begun].lines)
    if begun == len(pieces) or lines >= LINES_MAX:
        return _authors_on_cards(pieces)
    end = begun + 1
    while end < len(pieces) and _goes_on(pieces[end - 1], pieces[end]) and names_in(pieces[end]):
        end += 1
    read = (
        sorted(pieces[begun:end], key=_left_edge)
        if _are_beside(pieces[begun:end])
        else pieces[begun:end]
    )
    names = [name for piece in read for name in names_in(piece)]
    # What stands as large and close below without being read may be more of them.
    behind = pieces[end] if end < len(pieces) else None
    is_cut = (
        behind is not None and _goes_on(pieces[end - 1], behind) and not _OTHER.search(behind.text)
    )
    is_sure = len(names) > 1 or (behind is not None and _INSTITUTION.search(behind.lines[0]))
    is_mixed = len(read) > 1 and not _are_beside(read) and any(map(_is_level, read, read[1:]))
    if not names or is_cut or is_mixed or not is_sure or len(names) > NAMES_MAX:
        return [], 0
    return [*map(_author, names)], end


def _authors_on_cards(pieces: Sequence[Piece]) -> tuple[list[Author], int]:
    """The authors of cards: each a name above its own address, side by side or one below the other."""
    names = [_name_on_card(piece) for piece in pieces[: LINES_MAX * CARDS_IN_ROW]]
    count = names.index("") if "" in names else len(names)
    return [Author(name=name) for name in names[:count]], count


def _name_on_card(piece: Piece) -> str:
    """The one name that stands on the first line of a card, the others being an address."""
    if len(piece.lines) < 2 or not _INSTITUTION.search(" ".join(piece.lines[1:])):
        return ""
    first, *others = map(names_of, piece.lines)
    return first[0] if len(first) == 1 and not any(others) else ""


def names_in(piece: Piece) -> list[str]:
    """The people whom a paragraph names: one on each line, or in one list."""
    by_line = [names_of(line) for line in piece.lines]
    is_stack = all(len(names) == 1 for names in by_line) and not any(map(_is_open, piece.lines))
    return [name for (name,) in by_line] if is_stack else names_of(join_lines([*piece.lines]))


def _is_open(line: str) -> bool:
    return line.rstrip().endswith((",", ";", "&", " and"))


def _goes_on(above: Piece, below: Piece) -> bool:
    """Whether a list of names may go on: it ends open, or what follows is as large, and beside or close below."""
    if _is_open(above.lines[-1]):
        return True
    one, two = above.where.box, below.where.box
    if one is None or two is None or abs(above.size - below.size) > SIZE_STEP * above.size:
        return False
    return two[1] - one[3] < LINE_GAP * above.size


def _are_beside(pieces: Sequence[Piece]) -> bool:
    """Whether pieces stand side by side in one row, none above another."""
    by_left = sorted(pieces, key=_left_edge)
    return len(pieces) > 1 and all(
        _is_level(one, two) and one.where.box is not None and one.where.box[2] <= _left_edge(two)
        for one, two in pairwise(by_left)
    )


def _left_edge(piece: Piece) -> float:
    return 0.0 if piece.where.box is None else piece.where.box[0]


def _is_level(one: Piece, two: Piece) -> bool:
    """Whether two pieces share half of the height of the lower one."""
    first, second = one.where.box, two.where.box
    if first is None or second is None:
        return False
    shared = min(first[3], second[3]) - max(first[1], second[1])
    return shared > 0.5 * min(first[3] - first[1], second[3] - second[1])


def abstract_among(pieces: Iterable[Piece]) -> Piece | None:
    """The one text that stands between the authors and the first heading; None if there are several."""
    found = [piece for piece in pieces if _is_prose(piece.text)]
    return found[0] if len(found) == 1 else None


def _is_prose(text: str) -> bool:
    is_long = len(text) >= ABSTRACT_CHARS_MIN and is_sentence(text)
    is_address = len(_INSTITUTION.findall(text)) > 1
    return is_long and not is_address and not is_notice(text)


def title_above_names(pieces: Sequence[Piece]) -> Piece | None:
    """Of pieces from the top down, the large one right above a list of names: larger may be the name of a journal."""
    return next(
        (above for above, piece in pairwise(pieces) if above.is_large and len(names_in(piece)) > 1),
        None,
    )


def is_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return _SENTENCE_END.search(text) is not None


def year_printed(text: str) -> int | None:
    """The year of publication that is printed: of its date, else of copyright and volume where these agree."""
    published = {int(each) for each in _PUBLISHED.findall(text)}
    if published:
        return min(published)
    found = {int(each) for each in _COPYRIGHT.findall(text)}
    found |= {int(one or two) for one, two in _CITED.findall(text)}
    return found.pop() if len(found) == 1 else None
