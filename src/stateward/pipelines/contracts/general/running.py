"""EmailQueue and signatures whose lines are lost: a text that was filed without its line breaks runs on to the end.

What stands on lines of its own in a letter is then known only by what comes before and after it: an addressee follows
the date, a company stands between `Very truly yours` and `By:`.
"""

import re
from collections.abc import Iterator

from stateward.pipelines.contracts.general.names import Name, name_at
from stateward.pipelines.contracts.general.prose import Prose

HEAD_CHARS = 4000
TAIL_CHARS = 4000
BEFORE_BY = 90  # characters in which the name of a company before `By:` begins

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
    """Where a letter greets its reader, in the middle of a line."""
    found = _GREETING.search(prose.text, 0, HEAD_CHARS)
    return found.start() if found else None


def addressed(prose: Prose, greeting: int) -> Iterator[Name]:
    """The name behind the last date before the greeting."""
    dated = [each for each in prose.dates if each.end < greeting]
    name = name_at(prose.text, dated[-1].end) if dated else None
    if name is not None and name.end < greeting and (name.is_company or name.is_person):
        yield name


def running_signers(prose: Prose) -> Iterator[Name]:
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
