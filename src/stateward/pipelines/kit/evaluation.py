"""How well documents are read: what becomes of one in its stages, how many are exact, how well each field is read.

A document is wrong in silence when it is not exact and nothing says so: no note, no rejected row, no failure. Documents
are counted, not rows: one wrong row makes a document worthless.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from stateward.core.model import Fields, Micros
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    UnsavedFiles,
    registered_runners,
    run_runner,
)

LIMITS = Limits(transient_attempts=1)  # an evaluation need not wait for a disk to come back

BANDS = (0, 50, 60, 70, 80, 90)  # where each band of confidence starts
SURE = 80  # the confidence from which on values are accepted without a review


class DocumentScore(msgspec.Struct, kw_only=True):
    """How many documents came out as they should; one, or several added up."""

    documents: int = 0
    exact: int = 0
    wrong_in_silence: int = 0
    flagged: int = 0  # with a note, or failed; exact or not

    @classmethod
    def of(cls, *, is_exact: bool, is_flagged: bool) -> "DocumentScore":
        """One document."""
        is_silent = not is_exact and not is_flagged
        return cls(documents=1, exact=is_exact, wrong_in_silence=is_silent, flagged=is_flagged)

    def add(self, other: "DocumentScore") -> None:
        """Count another in."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class StagesRun(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a document in its stages: what each completed one gave, and the failure that ended them."""

    completed: Mapping[str, Completed]
    failure: Failed | None = None
    files: Mapping[str, bytes] = {}
    """The derived files, by `stage/name`."""

    def items(self, stage: str) -> Iterator[Fields]:
        """The items of a stage."""
        for chunk in self.completed[stage].chunks:
            value = msgspec.json.decode(chunk.data)
            if isinstance(value, list):  # what is said of the items as a whole is no list
                yield from value

    def about(self, stage: str) -> Fields:
        """What a stage said of its items as a whole."""
        values = [msgspec.json.decode(chunk.data) for chunk in self.completed[stage].chunks]
        return next((value for value in values if isinstance(value, dict)), {})

    @property
    def notes(self) -> list[str]:
        """What a person is told to look at: as of a record, the notes of the last stage that has any."""
        said = [one.facts.get("notes") for one in self.completed.values()]
        last = next((notes for notes in reversed(said) if notes), [])
        return [str(note) for note in last] if isinstance(last, list) else []


def run_stages(
    path: Path,
    runners: Mapping[str, str],
    *,
    now: Callable[[], Micros],
    labels: Fields | None = None,
    options: Fields | None = None,
    retry_count: int = 0,
) -> StagesRun:
    """Put a document through stages (stage to runner, in order), as a worker would; nothing is stored."""
    completed: dict[str, Completed] = {}
    files: dict[str, bytes] = {}
    for stage, runner in runners.items():
        items = {name: [chunk.data for chunk in one.chunks] for name, one in completed.items()}
        job = Job(
            record_id="EVAL",
            stage=stage,
            path=path,
            items=items,
            labels=labels,
            options=options,
            retry_count=retry_count,
            files=UnsavedFiles(files),
        )
        result = run_runner(
            registered_runners()[runner], job, limits=LIMITS, sleep=lambda _: None, now=now
        )
        if isinstance(result, Failed):
            return StagesRun(completed=completed, failure=result, files=files)
        completed[stage] = result
        for each in result.files:
            files[f"{stage}/{each.name}"] = job.file(stage, each.name).read_bytes()
    return StagesRun(completed=completed, files=files)


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
