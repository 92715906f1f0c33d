"""Gold data: what people decided, as lines by which extractors are measured.

One line a decision: the document by its SHA-256, what was found and how sure that was, and what is right. Of a
rejected document nobody said what is right, so its line has no `values`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward.core.errors import ArtifactError, InvalidRequest
from stateward.core.model import (
    Fields,
    Micros,
    Record,
    to_iso,
)
from stateward.engine.corrections import values_of

if TYPE_CHECKING:  # the readers of contracts take long to import
    from stateward.pipelines.contracts.evaluate import Evaluation, Extract
    from stateward.pipelines.contracts.rules import Rules

LINE_BYTES_MAX = 4 << 20
LINES_MAX = 1_000_000
REJECT = "reject"


class RecordedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer that a review got."""

    action: str
    by: str
    at: Micros
    notes: str | None
    reviewer: str | None
    version: int


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """A value as it was found."""

    field: str
    value: str | None
    confidence: int | None = None


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """One decision. `values` are right: as found where it was approved, else as corrected."""

    document: str | None
    record: str
    machine: str
    vertical: str | None
    filename: str | None
    decision: str
    by: str
    at: str
    original: list[Original]
    values: dict[str, list[str]] | None
    reviewer: str | None = None
    notes: str | None = None


def gold_of(
    record: Record,
    decided: RecordedDecision,
    *,
    found: Sequence[Fields],
    corrected: Sequence[Fields] | None,
) -> Gold:
    """The line of a record that a person decided."""
    right = (
        None if decided.action == REJECT else values_of(found if corrected is None else corrected)
    )
    return Gold(
        document=record.artifact,
        record=record.id,
        machine=record.machine,
        vertical=_text(record.fields.get("vertical") or record.labels.get("vertical")),
        filename=_text(record.labels.get("filename")),
        decision=decided.action,
        by=decided.by,
        at=to_iso(decided.at),
        original=[_original(item) for item in found],
        values=right,
        reviewer=decided.reviewer,
        notes=decided.notes,
    )


def _original(item: Fields) -> Original:
    confidence = item.get("confidence")
    return Original(
        field=str(item.get("field")),
        value=_text(item.get("value")),
        confidence=confidence if isinstance(confidence, int) else None,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def read_gold(path: Path) -> Iterator[Gold]:
    """The lines of a file; a line that is none is refused with its number."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number > LINES_MAX or len(line) > LINE_BYTES_MAX:
                    raise InvalidRequest(f"{path}:{number}: there is more here than gold data has")
                if line.strip():
                    yield _gold(path, number, line)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error


def _gold(path: Path, number: int, line: bytes) -> Gold:
    try:
        return msgspec.json.decode(line, type=Gold)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}:{number}: this is no line of gold data: {error}") from error


def measure_gold(
    golds: Iterable[Gold],
    *,
    path_of: Callable[[str], Path],
    rules: "Rules",
    extract: "Extract",
    cpu_s: Callable[[], float],
    tell: Callable[[str], object] = lambda _: None,
) -> "Evaluation":
    """How an extractor reads the documents of gold data now; those that are not here count as without truth."""
    from stateward.pipelines.contracts.evaluate import measure
    from stateward.pipelines.contracts.ground_truth import Truth

    cases: list[tuple[str, Path, Truth | None]] = []
    for gold in golds:
        path = _path(gold, path_of)
        is_known = gold.values is not None and gold.vertical in rules.verticals
        truth = Truth(vertical=gold.vertical or "", fields=gold.values or {}) if is_known else None
        name = gold.filename or gold.record
        cases.append((name, path or Path(), None if path is None else truth))
    return measure(cases, rules=rules, cpu_s=cpu_s, extract=extract, tell=tell)


def _path(gold: Gold, path_of: Callable[[str], Path]) -> Path | None:
    """Where its document lies, if it is here."""
    try:
        return None if gold.document is None else path_of(gold.document)
    except ArtifactError:
        return None
