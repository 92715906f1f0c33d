"""The stages: `parse` and `normalize` on the machine `upload`, `validate` and `analyze` on the machine `labs`.

Logs and notes hold codes, counts and places only: what a report prints may be a patient's name.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from stateward.core.model import Fields
from stateward.pipelines.labs.analysis import analyze_results, summary_of
from stateward.pipelines.labs.flags import flags_of
from stateward.pipelines.labs.model import (
    AMENDED,
    DAMAGED,
    FILE_CUT,
    NO_DATE,
    NOTEWORTHY,
    PAGE_MISSING,
    SCANNED,
    AnalyzedResult,
    EarlierResult,
    LabReading,
    LabResult,
    Observation,
)
from stateward.pipelines.labs.normalize import normalize as normalized
from stateward.pipelines.labs.options import LabOptions
from stateward.pipelines.labs.persons import PATIENTS_UNTOLD, SEVERAL_PATIENTS
from stateward.pipelines.labs.readers import read_report
from stateward.workers.sdk import Job, Outcome

READER_VERSION = 34  # to be increased by a change after which the same bytes give other results
NOTES_MAX = 20
# Decisions of a reader that begin with one of these are notes of the record; the others are lines of its log.
OF_DOCUMENTS = frozenset(
    {AMENDED, DAMAGED, FILE_CUT, SCANNED, NO_DATE, PAGE_MISSING, SEVERAL_PATIENTS, PATIENTS_UNTOLD}
)
PROBLEMS_LOGGED_MAX = 200
EARLIER_CUT = (
    "there are more earlier results of this patient than are compared; the oldest are left out"
)
MEANINGS = {
    "ROW_UNREAD": "a row looks like a result and could not be read",
    "CELL_UNREAD": "a row has a text that may be part of its result and could not be placed",
    "VALUE_UNREAD": "a value could not be read",
    "NO_VALUE": "a test has no value",
    "SPECIMEN_DOUBTED": "the laboratory doubts a specimen or value (hemolysed, clotted, not usable); see its remark",
    "NOT_FINAL": "the laboratory calls a value preliminary, not yet verified, pending or cancelled",
    "AMBIGUOUS_NUMBER": "a number may have a decimal comma or a separator of thousands",
    "AMBIGUOUS_DATE": "a date may be day first or month first; set labs.date_order",
    "UNKNOWN_UNIT": "a unit is unknown; the value is not converted",
    "UNIT_MISMATCH": "a unit does not fit the test; the value is not converted",
    "UNIT_CONTRADICTED": "a unit contradicts its reference range: no such value or no such range exists in it",
    "UNIT_UNSURE": "a unit may not be that of the test: told by a title, or twice and differently",
    "UNKNOWN_TEST": "a test has no LOINC code and no known name",
    "CODE_UNSURE": "a LOINC code is uncertain",
    "BAD_CODE": "a LOINC code has a wrong check digit",
    "RANGE_UNREAD": "a reference range could not be read",
    "RANGE_UNSURE": "two numbers below headings that are not known are taken for the limits of a range",
    "FLAG_DISAGREES": "the printed flag contradicts value and range",
    "FLAG_UNREAD": "the text where others have their flag is not known",
    "UNSUPPORTED_VALUE": "a value is of a type that is not read",
    "ROW_REPAIRED": "a row had too many cells and was put together",
}


def parse(job: Job) -> Outcome[Observation]:
    """A report as observations, one for each test, as they are printed."""
    reading = read_report(LabOptions.of(job).source(job))
    _log_reading(job, reading)
    return Outcome(facts=_reading_facts(reading), about=_about(reading), items=reading.observations)


def normalize(job: Job) -> Outcome[LabResult]:
    """Observations as results: coded, in canonical units, with recomputed flags."""
    results = list(normalized(job.items(Observation)))
    _log_problems(job, results)
    # Notes and flags of a stage replace those of the one before.
    facts = _facts_of(_notes_of(job, "parse"), results)
    return Outcome(facts=facts, about={"problems": _counts(results)}, items=results)


def validate(job: Job) -> Outcome[LabResult]:
    """A report as results, in one step."""
    reading = read_report(LabOptions.of(job).source(job))
    _log_reading(job, reading)
    results = list(normalized(reading.observations))
    _log_problems(job, results)
    facts = _reading_facts(reading) | _facts_of(_damage(reading), results)
    return Outcome(
        facts=facts, about=_about(reading) | {"problems": _counts(results)}, items=results
    )


def analyze(job: Job) -> Outcome[AnalyzedResult]:
    """Results with what a person should look at: critical ones, those out of range, large changes."""
    options = LabOptions.of(job)
    earlier = list(job.earlier(EarlierResult))
    validated = list(job.items(LabResult, "validate"))
    results = analyze_results(
        validated,
        critical=options.critical(),
        delta_percent=options.delta_percent,
        earlier=earlier,
    )
    counts = Counter(each.finding or "as expected" for each in results)
    job.log("analysis", findings=dict(sorted(counts.items())))
    _log_earlier(job, results, earlier)
    facts: Fields = {
        "critical_count": counts["critical"],
        "out_of_range_count": counts["out of range"],
        "confidence": min((each.confidence for each in results), default=0),
    }
    if job.is_earlier_cut:
        cut = f"EARLIER_CUT: {EARLIER_CUT}"
        facts |= _facts_of([*_notes_of(job, "validate"), cut], validated)
    return Outcome(facts=facts, about={"sentence": summary_of(results)}, items=results)


def _log_earlier(
    job: Job, results: Sequence[AnalyzedResult], earlier: Sequence[EarlierResult]
) -> None:
    reports = len({each.record_id for each in earlier})
    job.log(f"compared with {len(earlier)} earlier results of {reports} reports")
    if job.is_earlier_cut:
        job.log(EARLIER_CUT, level="warning", code="EARLIER_CUT")
    if not any(each.patient_key for each in results):
        job.log(
            "no result has a patient key, so earlier reports are not compared: either labs.patient_key_file is not "
            "set, or the report does not say whose it is"
        )


def notes_of(results: Sequence[LabResult]) -> list[str]:
    """What a person should know of the document as a whole: one line for each code."""
    counts = Counter(problem for each in results for problem in each.problems)
    return [
        f"{code}: {MEANINGS[code]} ({counts[code]} of {len(results)})"
        for code in NOTEWORTHY
        if counts[code]
    ][:NOTES_MAX]


def _notes_of(job: Job, stage: str) -> list[str]:
    """The notes of an earlier stage on the document as a whole."""
    told = job.about(stage).get("notes")
    return [str(each) for each in told] if isinstance(told, list) else []


def _facts_of(notes: Sequence[str], results: Sequence[LabResult]) -> Fields:
    """Notes about the document and its results, and flags: the codes that say it is wrong and needs a person."""
    said = [*notes, *notes_of(results)]
    flags = flags_of(notes, results)
    facts: Fields = {"notes": list(said)} if said else {}
    return facts | ({"flags": list(flags)} if flags else {})


def _counts(results: Iterable[LabResult]) -> Fields:
    return dict(sorted(Counter(problem for each in results for problem in each.problems).items()))


def _reading_facts(reading: LabReading) -> Fields:
    return {"format": reading.format} | _facts_of(_damage(reading), ())


def _damage(reading: LabReading) -> list[str]:
    return [
        sentence for sentence in reading.decisions if sentence.partition(":")[0] in OF_DOCUMENTS
    ]


def _about(reading: LabReading) -> Fields:
    return {
        "format": reading.format,
        "reader": READER_VERSION,
        "patients": reading.patients,
        "skipped": dict(reading.skipped),
        "notes": list(_damage(reading)),
    }


def _log_reading(job: Job, reading: LabReading) -> None:
    for sentence in reading.log_lines():
        job.log(sentence)


def _log_problems(job: Job, results: Sequence[LabResult]) -> None:
    """One line for each problem: its code and its place, never what is printed there."""
    told = 0
    for number, each in enumerate(results, start=1):
        for code in each.problems:
            if code not in MEANINGS or told >= PROBLEMS_LOGGED_MAX:
                continue
            told += 1
            job.log(
                MEANINGS[code], level="warning", code=code, result=number, page=each.where.page, line=each.where.line,
            )  # fmt: skip
    left = sum(code in MEANINGS for each in results for code in each.problems) - told
    if left:
        job.log(f"{left} more problems are not listed", level="warning")
