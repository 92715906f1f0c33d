"""Where in a long text an expensive pattern can match at all: around what a cheap pattern finds.

A pattern with many alternatives costs the same at every character. Where each of its matches holds something rare and
cheap to find (a year, a unit of time), it is enough to look around those.
"""

import re
from collections.abc import Iterator


def windows(
    anchor: re.Pattern[str],
    text: str,
    *,
    before: int,
    behind: int,
    start: int = 0,
    end: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Spans around the matches of `anchor`, those that overlap as one, in the order of the text."""
    stop = len(text) if end is None else end
    first = last = -1
    for match in anchor.finditer(text, start, stop):
        left, right = max(start, match.start() - before), min(stop, match.end() + behind)
        if first >= 0 and left <= last:
            last = right
            continue
        if first >= 0:
            yield first, last
        first, last = left, right
    if first >= 0:
        yield first, last
