"""Lines that say what the flags and signs of a report mean: no results, and nothing of where columns end."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from stateward.pipelines.labs.words import FLAGS

_LEGEND = re.compile(r"(?<!\S)(\S{1,2}) ?[=:] ?([^\W\d]+)")
# No result begins with a sign and an equals sign: `+ / - = high / low`. What divides the signs is none of them, so
# that a line of slashes can be cut in one way only.
_LEGEND_OF_SIGNS = re.compile(
    r"\s*[^\w\s(=<>/,]{1,3}(?:\s?[/,]\s?[^\w\s(=<>/,]{1,3}){0,5}\s?=\s?[^\W\d]{2}"
)
# Plus and minus are results, too: `# Urine ketones ++ none seen`.
_MARK = re.compile(r"[^\w\s(=<>/,.:;\[\]{}|+\u2212-]{1,3}")
_WORD = re.compile(r"[^\W\d_]{2,}")
WORDS_MIN = 2  # that explain a sign


def legend_of(texts: Iterable[str]) -> dict[str, str]:
    """What flags mean by a legend of the report: `N = erniedrigt`, where N means normal elsewhere."""
    return {
        mark.casefold(): side
        for text in texts
        for mark, word in _LEGEND.findall(text)
        if (side := FLAGS.get(word.strip().casefold(), ""))
        and side != FLAGS.get(mark.casefold(), side)
    }


def is_legend(text: str) -> bool:
    """Whether a line says what several flags mean and nothing else: `S = SUSCEPTIBLE   R = RESISTANT`."""
    if _LEGEND_OF_SIGNS.match(text) or _explains_marks(text.split()):
        return True
    told = [found for found in _LEGEND.finditer(text) if found[2].casefold() in FLAGS]
    size = sum(len(found[0].split()) for found in told)
    return len(told) > 1 and size >= len(text.split())


def _explains_marks(words: Sequence[str]) -> bool:
    """Whether a line has several signs, each before words of its own: `* Out of range. # Accredited by ISO 15189`."""
    starts = [at for at, word in enumerate(words) if _MARK.fullmatch(word)]
    parts = [words[start + 1 : end] for start, end in pairwise([*starts, len(words)])]
    is_explained = all(
        part and _WORD.search(part[0]) and sum(map(bool, map(_WORD.search, part))) >= WORDS_MIN
        for part in parts
    )
    marks = {words[at] for at in starts}
    return len(marks) > 1 and len(marks) == len(starts) and starts[0] == 0 and is_explained
