"""Whether money came in or went out, by the words of a row. The words are data in `direction.yaml`.

Words never replace a balance: they decide only where no balance does, and they tell a debt from a deposit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from stateward.pipelines.kit import money
from stateward.pipelines.statements.headings import simplify

TEXT_CHARS_MAX = 200
SECTION_CHARS_MAX = 60
SEVERAL, MANY = 2, 3  # rows with words that refute a reading, or cast doubt on it
LETTERS_MIN = 2  # of a mark that is believed in any column: a lone C or D may mean anything


FAINT, WEAK, STRONG, DECISIVE = 1, 2, 3, 4
STRENGTHS = {"weak": WEAK, "strong": STRONG, "decisive": DECISIVE}


class Evidence(NamedTuple):
    """1 for money in, -1 for money out, 0 for no word of either kind, and how much the word is worth."""

    direction: int = 0
    strength: int = 0


class DirectionVotes(NamedTuple):
    """How many rows have words that agree with a reading, and how many have words against it."""

    agree: int = 0
    against: int = 0
    clear_agree: int = 0
    strong_agree: int = 0
    strong_against: int = 0
    decisive_against: int = 0

    @property
    def is_refuted(self) -> bool:
        """Whether words decide against the reading: none agrees, and one is decisive or several are strong."""
        if self.decisive_against and not self.strong_agree:
            return True
        return self.strong_against >= SEVERAL and not self.agree

    @property
    def is_doubted(self) -> bool:
        """Whether words contradict the reading, and not only by chance."""
        return self.strong_against >= MANY and self.strong_agree * MANY < self.strong_against


NO_EVIDENCE = Evidence()


class _DirectionWords(NamedTuple):
    patterns: tuple[tuple[re.Pattern[str], Evidence], ...]
    sections: dict[str, int]
    mutual: re.Pattern[str]
    faint: re.Pattern[str]


def evidence_of(texts: Iterable[str]) -> Evidence:
    """What the texts of a row say; words of both directions say nothing."""
    found = [_evidence(text[:TEXT_CHARS_MAX]) for text in texts if text]
    return _agree([each for each in found if each.direction])


def may_be_paid_out(texts: Iterable[str]) -> bool:
    """Whether what a row calls money in is called so by who pays it, too: a salary, a refund."""
    return any(_words().mutual.search(simplify(text[:TEXT_CHARS_MAX])) for text in texts if text)


def section_direction(text: str) -> int:
    """The direction of the rows below a line that is the title of a group of them; 0 if it is none."""
    if len(text) > SECTION_CHARS_MAX:
        return 0
    return _words().sections.get(simplify(text), 0)


def count_votes(rows: Sequence[tuple[Evidence, bool]]) -> DirectionVotes:
    """The votes of rows, each with its evidence and whether it was read as money in."""
    agree = [e.strength for e, is_in in rows if e.direction and (e.direction > 0) == is_in]
    against = [e.strength for e, is_in in rows if e.direction and (e.direction > 0) != is_in]
    return DirectionVotes(
        len(agree),
        len(against),
        sum(strength >= WEAK for strength in agree),
        sum(strength >= STRONG for strength in agree),
        sum(strength >= STRONG for strength in against),
        sum(strength >= DECISIVE for strength in against),
    )


@lru_cache(maxsize=1 << 14)
def _evidence(text: str) -> Evidence:
    known, plain = _words(), simplify(text)
    rest = known.faint.sub(" ", plain)  # a direct debit is no debit
    if rest == plain and len(text.strip()) > LETTERS_MIN and (sign := money.mark_sign(text)):
        return Evidence(sign, STRONG)
    found = [evidence for pattern, evidence in known.patterns if pattern.search(rest)]
    return _agree(found) if found or rest == plain else Evidence(-1, FAINT)


def _agree(found: Sequence[Evidence]) -> Evidence:
    """The strongest of several; a decisive one precedes, else none where they contradict each other."""
    if not found:  # as most texts: they say nothing
        return NO_EVIDENCE
    best = [each for each in found if each.strength == DECISIVE] or found
    if len({each.direction for each in best}) != 1:
        return NO_EVIDENCE
    return max(best, key=lambda each: each.strength)


@cache
def _words() -> _DirectionWords:
    data = msgspec.yaml.decode((files(__package__) / "direction.yaml").read_text("utf-8"))
    patterns = tuple(
        (_pattern(data[name][strength]), Evidence(sign, rank))
        for name, sign in (("in", 1), ("out", -1))
        for strength, rank in STRENGTHS.items()
    )
    sections = _sections(data["sections"])
    return _DirectionWords(patterns, sections, _pattern(data["mutual"]), _pattern(data["faint"]))


def _sections(data: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {
        simplify(title): sign
        for name, sign in (("in", 1), ("out", -1))
        for line in data[name]
        for title in line.split(",")
    }


def _pattern(lines: Sequence[str]) -> re.Pattern[str]:
    """One pattern for all phrases: whole words, but anywhere in scripts that write no blanks."""
    phrases = [simplify(phrase) for line in lines for phrase in line.split(",")]
    spaced = sorted((p for p in phrases if p < "\u3000"), key=len, reverse=True)
    dense = [p for p in phrases if p >= "\u3000"]
    whole = rf"\b(?:{'|'.join(map(re.escape, spaced))})\b"
    return re.compile("|".join([whole, *map(re.escape, dense)]))
