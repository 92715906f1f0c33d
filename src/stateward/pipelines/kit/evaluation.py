"""How well a field is read: precision, recall, F1, and how often a value of a given confidence is right."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

BANDS = (0, 50, 60, 70, 80, 90)  # where each band of confidence starts
SURE = 80  # the confidence from which on values are accepted without a review


class Confident(Protocol):
    """A value with a confidence from 0 to 100."""

    @property
    def confidence(self) -> int: ...


class ConfidenceBand(msgspec.Struct):
    """Values whose confidence is in one band."""

    found: int = 0
    right: int = 0


class FieldScore(msgspec.Struct):
    """One field, or several added up."""

    true: int = 0  # values in the ground truth
    found: int = 0
    right: int = 0
    bands: dict[int, ConfidenceBand] = msgspec.field(
        default_factory=lambda: {at: ConfidenceBand() for at in BANDS}
    )

    @property
    def precision(self) -> float:
        """The share of found values that are right."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of true values that were found."""
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.true + self.found
        return 2 * self.right / total if total else 1.0

    @property
    def sure(self) -> ConfidenceBand:
        """The values with enough confidence to be accepted without a review."""
        kept = [band for at, band in self.bands.items() if at >= SURE]
        return ConfidenceBand(sum(band.found for band in kept), sum(band.right for band in kept))

    def count(self, true: int, found: Sequence[Confident], right: Sequence[Confident]) -> None:
        """Add one document: its number of true values, and the values found and right."""
        self.true += true
        self.found += len(found)
        self.right += len(right)
        for one in found:
            band = self.bands[max(at for at in BANDS if at <= one.confidence)]
            band.found += 1
            band.right += one in right

    def add(self, other: "FieldScore") -> None:
        """Add another score."""
        self.true += other.true
        self.found += other.found
        self.right += other.right
        for at, band in other.bands.items():
            self.bands[at].found += band.found
            self.bands[at].right += band.right
