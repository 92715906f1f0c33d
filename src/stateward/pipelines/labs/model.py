"""What the readers of lab reports produce, and what the stages make of it.

An `Observation` is one test exactly as it is printed; a `LabResult` is what it means. Neither names a patient: a report
is told from those of other patients by a keyed hash alone, and only where the settings hold a key.
"""

from collections.abc import Iterator
from decimal import Decimal

import msgspec

# Codes of what is wrong with, or uncertain about, one result. Each is explained in docs/pipelines/labs.md.
NO_VALUE = "NO_VALUE"
PENDING = "PENDING"
NOT_FINAL = "NOT_FINAL"
SPECIMEN_DOUBTED = "SPECIMEN_DOUBTED"
VALUE_UNREAD = "VALUE_UNREAD"
ROW_UNREAD = "ROW_UNREAD"
ROW_REPAIRED = "ROW_REPAIRED"
CELL_UNREAD = "CELL_UNREAD"
FLAG_UNREAD = "FLAG_UNREAD"
AMBIGUOUS_NUMBER = "AMBIGUOUS_NUMBER"
AMBIGUOUS_DATE = "AMBIGUOUS_DATE"
UNKNOWN_UNIT = "UNKNOWN_UNIT"
UNIT_MISSING = "UNIT_MISSING"
UNIT_MISMATCH = "UNIT_MISMATCH"
UNIT_UNSURE = "UNIT_UNSURE"
UNIT_CONTRADICTED = "UNIT_CONTRADICTED"
UNKNOWN_TEST = "UNKNOWN_TEST"
CODE_UNSURE = "CODE_UNSURE"
BAD_CODE = "BAD_CODE"
RANGE_UNREAD = "RANGE_UNREAD"
RANGE_UNSURE = "RANGE_UNSURE"
RANGE_CONDITIONAL = "RANGE_CONDITIONAL"
FLAG_DISAGREES = "FLAG_DISAGREES"
UNSUPPORTED_VALUE = "UNSUPPORTED_VALUE"
# Codes of the document as a whole.
AMENDED = "AMENDED"
DAMAGED = "DAMAGED"
FILE_CUT = "FILE_CUT"
NO_DATE = "NO_DATE"
PAGE_MISSING = "PAGE_MISSING"
SCANNED = "SCANNED"
# Of these a person should know; the others explain a gap that the report itself has.
NOTEWORTHY = (
    ROW_UNREAD, SPECIMEN_DOUBTED, NOT_FINAL, CELL_UNREAD, VALUE_UNREAD, NO_VALUE, AMBIGUOUS_NUMBER, AMBIGUOUS_DATE,
    UNKNOWN_UNIT, UNIT_MISMATCH, UNIT_CONTRADICTED, UNIT_UNSURE, CODE_UNSURE, BAD_CODE, RANGE_UNREAD, RANGE_UNSURE,
    FLAG_DISAGREES, FLAG_UNREAD, UNSUPPORTED_VALUE, ROW_REPAIRED, UNKNOWN_TEST,
)  # fmt: skip


class Analyte(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured, whatever a laboratory calls it."""

    key: str
    loinc: str
    unit: str
    names: tuple[str, ...]
    mass: Decimal | None = None
    valence: int = 0
    also: tuple[str, ...] = ()
    specimen: str = "blood"
    kin: str = ""
    formula: str = ""
    # What the limit of a reference range may be, in `unit`.
    limit: tuple[Decimal, Decimal] | None = None

    def __hash__(self) -> int:
        """By key, so that factors can be cached."""
        return hash(self.key)

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.key.replace("_", " ")


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where in the document a result stands; the keys are those of `stateward.definition.display.Where`."""

    page: int | None = None
    box: tuple[float, float, float, float] | None = None
    line: int | None = None
    start: int | None = None
    end: int | None = None


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One test as the report prints it. Times are ISO 8601 where the report says them unambiguously."""

    test: str
    value: str = ""
    unit: str = ""
    range: str = ""
    flag: str = ""
    code: str = ""  # LOINC, where the report has it
    local_code: str = ""
    specimen: str = ""
    collected: str = ""
    resulted: str = ""
    status: str = ""
    section: str = ""
    comment: str = ""
    patient_key: str = ""
    shared_unit: str = ""  # of all rows of a table, where a line above it says so
    decimal: str = ""  # the decimal sign of the report, where that was found out
    meaning: str = ""  # of the value, where only its table tells it: S among antibiotics
    side: str = ""  # what the flag means, where the report explains it otherwise than is usual
    table: int = 0  # which of several tables of the report; those with the same headings are one
    problems: tuple[str, ...] = ()
    where: Place = Place()


class LabResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One test as it is understood: a code, a value in the canonical unit, a range in the same unit, and a flag.

    Numbers are decimal texts. `kind` is quantity, interval, titre, ordinal, text or none. `flag` is recomputed from
    value and range: L, N, H, A (abnormal), or "" where they do not decide it. `printed` is what the report says.
    """

    test: str
    code: str = ""
    code_name: str = ""
    code_source: str = ""  # report or synonym
    code_confidence: int = 0
    kind: str = ""
    value: str = ""
    comparator: str = ""
    unit: str = ""
    low: str = ""
    high: str = ""
    range_text: str = ""
    flag: str = ""
    printed_flag: str = ""
    printed: dict[str, str] = {}
    specimen: str = ""
    collected: str = ""
    resulted: str = ""
    status: str = ""
    section: str = ""
    comment: str = ""
    patient_key: str = ""
    problems: tuple[str, ...] = ()
    where: Place = Place()


class EarlierResult(LabResult, frozen=True, kw_only=True, omit_defaults=True):
    """A result of an earlier report of the same patient."""

    record_id: str = ""


class AnalyzedResult(LabResult, frozen=True, kw_only=True, omit_defaults=True):
    """A result with what the analysis says about it. `field` tells it from all others of the report."""

    field: str = ""
    raw: str = ""  # as printed, for reviewers
    confidence: int = 0
    finding: str = ""  # critical, out of range, changed, review, or "" for what is as expected
    critical: str = ""  # low or high
    previous: str = ""
    previous_at: str = ""
    previous_record: str = ""  # the record of the report it is from; "" where it is in this one
    change_percent: str = ""
    why: str = ""


class LabReading(msgspec.Struct, kw_only=True):
    """What a reader found in one document."""

    format: str
    observations: list[Observation] = []
    decisions: list[str] = []  # how it was read, without any text of the document
    patients: int = 0
    skipped: dict[str, int] = {}  # what is no result, by kind

    def log_lines(self) -> Iterator[str]:
        """Lines for the log: counts and formats only, never what a document says."""
        yield from self.decisions
        for what, count in sorted(self.skipped.items()):
            yield f"{count} {what}"
