"""Parties that are set out on lines of their own: `zwischen`, a name, its address, `und`, the next name.

The words `between` and `and`, alone on their lines, delimit names better than any legal form does: what the next line
says up to a comma, a bracket or its end is the name, with a legal form or without, with a capital letter or without.
"""

import re
from collections.abc import Iterator

from stateward.pipelines.contracts.general.names import (
    ROLES,
    PartyName,
    is_person,
    key,
    may_name,
    name_at,
)
from stateward.pipelines.contracts.general.preamble import LABEL_ROWS, PARTIES_MAX, PartyMention
from stateward.pipelines.contracts.general.prose import Prose, ProseLine

BLOCK_ROWS = 10  # of one party: its name, its address, who represents it, its short name
NAME_CHARS_MIN, NAME_CHARS_MAX = 4, 90

_BETWEEN = re.compile(
    r"(?:^|.*\s)(?:zwischen|between)(?:\s+(?:der|dem|den))?\s*:?\s*", re.IGNORECASE
)
_AND = re.compile(r"\W*(?:und|and|sowie)(?:\s+(?:der|dem|den))?\W*", re.IGNORECASE)
_LEAD = re.compile(r"\s*(?:\(?\d[.)]\s+)?(?:(?:der|dem|den|die|the|Firma|Herrn?|Frau)\s+)*")
_NAME_ENDS = re.compile(r"\s*(?:[,;(\t]|\s-\s|-\s|$)")
_CUT = re.compile(r"[,;(\t]|\s-\s")


def set_out_parties(prose: Prose) -> list[PartyMention]:
    """The parties of such blocks; none if there are not two."""
    rows = prose.rows[:LABEL_ROWS]
    for at, row in enumerate(rows):
        if _BETWEEN.fullmatch(row.text):
            found = [_name_in(each) for each in _first_rows(rows, at)]
            names = [each for each in found if each is not None]
            if len(names) > 1 and len(names) == len(found):
                return [PartyMention(name, "preamble") for name in names[:PARTIES_MAX]]
    return []


def _first_rows(rows: list[ProseLine], at: int) -> Iterator[ProseLine]:
    """The first line of each block."""
    last = at
    while last + 1 < len(rows):
        yield rows[last + 1]
        block = range(last + 2, min(last + 2 + BLOCK_ROWS, len(rows)))
        following = next((index for index in block if _AND.fullmatch(rows[index].text)), None)
        if following is None:
            return
        last = following


def _name_in(row: ProseLine) -> PartyName | None:
    """The name at the beginning of a line."""
    lead = _LEAD.match(row.text)
    start = lead.end() if lead else 0
    known = name_at(row.text, start)
    if known is not None and known.is_company and _NAME_ENDS.match(row.text, known.end):
        return known.shifted(row.start)
    printed = _CUT.split(row.text[start:])[0].strip()
    is_long = NAME_CHARS_MIN <= len(printed) <= NAME_CHARS_MAX
    if not is_long or not may_name(printed) or all(key(word) in ROLES for word in printed.split()):
        return None
    person = is_person(printed)
    return PartyName(start, start + len(printed), printed, not person, person).shifted(row.start)
