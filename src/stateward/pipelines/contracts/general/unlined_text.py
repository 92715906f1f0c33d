"""Letters and signatures in a text without line breaks.

What is on separate lines in a letter is then recognised only by what is before and after it: an addressee follows the
date, a company is between `Very truly yours` and `By:`.
"""

import re
from collections.abc import Iterator

from stateward.pipelines.contracts.general.names import PartyName, name_at
from stateward.pipelines.contracts.general.prose import Prose

HEAD_CHARS = 4000
TAIL_CHARS = 4000
BEFORE_BY = 90  # characters before `By:` in which the name of a company starts

_GREETING = re.compile(
    r"\b(?:Ladies\s+(?:and|&)\s+Gentlemen|Gentlemen|Dear\s+(?:[A-Z][\w.]{0,30}\s{1,3}){0,3}[A-Z][\w.]{0,30})\s*[:,]"
)
_CLOSING = re.compile(
    r"\b(?:Very\s+truly\s+yours|Sincerely(?:\s+yours)?|Yours\s+(?:very\s+)?(?:truly|sincerely|faithfully))\s*[,.]?\s+"
    r"|\b(?:ACCEPTED|AGREED|ACKNOWLEDGED|Accepted|Agreed|Acknowledged|Confirmed)\b[^.:;]{0,90}[:.]\s+"
)
_BY = re.compile(r"\bBy\s*:")
_START = re.compile(r"(?:^|(?<=[\s(]))(?=[A-Z0-9])")


def greeting_at(prose: Prose) -> int | None:
    """The offset of the greeting of a letter, in the middle of the text."""
    found = _GREETING.search(prose.text, 0, HEAD_CHARS)
    return found.start() if found else None


def unlined_addressee(prose: Prose, greeting: int) -> Iterator[PartyName]:
    """The name behind the last date before the greeting."""
    dated = [each for each in prose.dates if each.end < greeting]
    name = name_at(prose.text, dated[-1].end) if dated else None
    if name is not None and name.end < greeting and (name.is_company or name.is_person):
        yield name


def unlined_signers(prose: Prose) -> Iterator[PartyName]:
    """Companies behind a closing and before `By:`."""
    text = prose.text
    start = max(0, len(text) - TAIL_CHARS)
    for closing in _CLOSING.finditer(text, start):
        name = name_at(text, closing.end())
        if name is not None and name.is_company:
            yield name
    for by in _BY.finditer(text, start):
        first = max(start, by.start() - BEFORE_BY)
        starts = (first + found.start() for found in _START.finditer(text[first : by.start()]))
        names = (name_at(text[: by.start()], at) for at in starts)
        near = (name for name in names if name is not None and name.is_company)
        yield from [name for name in near if not text[name.end : by.start()].strip(" .,")][:1]
