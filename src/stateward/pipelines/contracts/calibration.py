"""Calibration: what share of values of a confidence is right, fitted on one half of contracts, checked on the other.

The fit is isotonic (pool adjacent violators): the share never falls where the confidence rises, and nothing else is
assumed. A contract belongs to a half by the hash of its name, so that every run makes the same halves.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec

Half: TypeAlias = Literal["fit", "check"]


class ScoredValue(msgspec.Struct, frozen=True):
    """A value that was found: its confidence, whether it is right, and the half of its contract."""

    half: Half
    field: str
    confidence: int
    is_right: bool


class CurveStep(msgspec.Struct, frozen=True):
    """Values with a confidence from `low` to `high`: how many there are, and how many of them are right."""

    low: int
    high: int
    found: int
    right: int

    @property
    def share(self) -> float:
        """The share that is right."""
        return self.right / self.found if self.found else 0.0


def half_of(name: str) -> Half:
    """The half to which a contract belongs, by its name."""
    return "fit" if sha256(name.encode()).digest()[0] % 2 else "check"


def fit(values: Iterable[ScoredValue]) -> list[CurveStep]:
    """The isotonic curve of values: steps of confidence with rising shares."""
    counts: dict[int, tuple[int, int]] = {}
    for each in values:
        found, right = counts.get(each.confidence, (0, 0))
        counts[each.confidence] = found + 1, right + each.is_right
    steps: list[CurveStep] = []
    for confidence in sorted(counts):
        steps.append(CurveStep(confidence, confidence, *counts[confidence]))
        while len(steps) > 1 and steps[-2].share >= steps[-1].share:
            behind, last = steps.pop(-2), steps.pop()
            steps.append(
                CurveStep(
                    behind.low, last.high, behind.found + last.found, behind.right + last.right
                )
            )
    return steps


def check(curve: Sequence[CurveStep], values: Iterable[ScoredValue]) -> list[CurveStep]:
    """The steps of a curve with the counts of other values: what the shares are there."""
    counts = [[0, 0] for _ in curve]
    for each in values if curve else ():
        at = max((n for n, step in enumerate(curve) if step.low <= each.confidence), default=0)
        counts[at][0] += 1
        counts[at][1] += each.is_right
    return [
        CurveStep(step.low, step.high, found, right)
        for step, (found, right) in zip(curve, counts, strict=True)
    ]


def error_of(fitted: Sequence[CurveStep], checked: Sequence[CurveStep]) -> float:
    """The mean distance between fitted and checked shares, weighed by the number of checked values."""
    total = sum(step.found for step in checked)
    pairs = zip(fitted, checked, strict=True)
    return sum(abs(a.share - b.share) * b.found for a, b in pairs) / total if total else 0.0
