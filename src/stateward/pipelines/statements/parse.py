"""The stage `parse`: a file becomes observations, each row as it is printed, and a summary of the file.

The summary (`ParseSummary`) holds, for each section, account, balances and terms with the reason of every decision, and
the problems. Nothing is converted here.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import Fields
from stateward.pipelines.kit.archive_repair import readable_path
from stateward.pipelines.statements.booking import says_cancelled
from stateward.pipelines.statements.model import (
    ReadingTerms,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.options import Options
from stateward.pipelines.statements.readers import read_statement
from stateward.pipelines.statements.source import Source
from stateward.workers.sdk import Batch, Job, Outcome

READER_VERSION = 88  # to be increased by a change after which the same bytes give other rows
# Damage that another download, or a more lenient look at the file, may mend.
CORRUPT_CODES = frozenset({"PDF_CORRUPT", "SHEET_CORRUPT", "XML_CORRUPT"})
CANCEL_UNPROVEN = "CANCEL_UNPROVEN"
BATCH_ROWS = 500
PROBLEMS_KEPT_MAX = 1000
PROBLEMS_LOGGED_MAX = 100
NOTES_MAX = 20
NOTE_CHARS_MAX = 300
RAW_CHARS_MAX = 1000
LATE = ("opening", "closing", "period_from", "period_to")
LATE_TOTALS = ("debits", "credits", "count", "debit_count", "credit_count")


class SectionSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A section without its rows."""

    account: str = ""
    account_name: str = ""
    bank: str = ""
    currency: str = ""
    opening: str = ""
    closing: str = ""
    opening_date: str = ""
    closing_date: str = ""
    period_from: str = ""
    period_to: str = ""
    totals: dict[str, str] = {}
    is_accounted: bool = False
    terms: ReadingTerms = ReadingTerms()
    rows: int = 0

    def section(self) -> StatementSection:
        """The section as a reader gives it, without rows."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return StatementSection(**{**values, "rows": ()})


class ParseSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for all rows of a file."""

    format: str
    reader: int = READER_VERSION
    sections: list[SectionSummary] = []
    problems: list[StatementProblem] = []
    problems_count: int = 0


def parse(job: Job) -> Iterator[Batch]:
    """Read the document of a job."""
    options = Options.of(job)
    hints, warning = options.hints(job.labels)
    if warning:
        job.log(warning, level="warning")
    if job.path is None:
        job.bytes()  # raises with the reason
        raise AssertionError
    # A damaged file is tried again where the profile retries, and then read with what can be saved of it.
    is_lenient = job.retry_count > 0
    if is_lenient:
        job.log("this is a retry: damaged parts are left out and reported", level="warning")
    source = Source(
        readable_path(job, job.path),
        hints,
        options.bounds,
        is_lenient=is_lenient,
        profiles=options.profiles,
    )
    try:
        reading = read_statement(source)
    except FatalFailure as error:
        for sentence in source.decisions:
            job.log(sentence)
        if error.code in CORRUPT_CODES:
            raise StageFailure(error.message, code=error.code) from None
        raise
    summaries: list[SectionSummary] = []
    for number, section in enumerate(reading.sections):
        _refuse_ambiguous(section, reading, options)
        count = 0
        for batch in _batches(_with_doubts(section.rows, reading), number):
            count += len(batch.items)
            yield batch
        summaries.append(_summarize(section, count, reading.late if number == 0 else {}))
    about = _summary(reading, summaries)
    _log(job, reading, about)
    return Outcome(facts=_facts(about), about=msgspec.to_builtins(about))  # type: ignore[return-value]


def _with_doubts(rows: Iterable[StatementRow], reading: StatementReading) -> Iterator[StatementRow]:
    """The rows; those that call themselves cancelled become problems, which `normalize` may refute."""
    for row in rows:
        if word := says_cancelled(row):
            message = f"the text of the row says {word!r}: whether it counts is not proven"
            reading.problems.append(
                StatementProblem(
                    code=CANCEL_UNPROVEN, message=message, place=row.place, raw=row.description
                )
            )
        yield row


def _batches(rows: Iterable[StatementRow], number: int) -> Iterator[Batch]:
    batch: list[StatementRow] = []
    for row in rows:
        batch.append(row if number == 0 else replace(row, section=number))
        if len(batch) == BATCH_ROWS:
            yield Batch(batch)
            batch = []
    if batch:
        yield Batch(batch)


def _refuse_ambiguous(
    section: StatementSection, reading: StatementReading, options: Options
) -> None:
    if section.terms.date_order:
        return
    why = section.terms.why.get("date_order", "the order of day and month is unknown")
    message = (
        f"{why}: nothing in the file decides it. Say which it is: Correct in the console, "
        "stateward reparse ID --date-order dmy (or mdy), or statements.date_order for every file"
    )
    if options.ambiguous_dates == "fail":
        raise FatalFailure(message, code="AMBIGUOUS_DATES")
    reading.problems.append(StatementProblem(code="AMBIGUOUS_DATES", message=message))


def _summarize(section: StatementSection, rows: int, late: dict[str, str]) -> SectionSummary:
    about = SectionSummary(
        **{
            name: getattr(section, name)
            for name in SectionSummary.__struct_fields__
            if name not in ("rows", "totals")
        },
        totals=section.totals | {name: late[name] for name in LATE_TOTALS if name in late},
        rows=rows,
    )
    found = {name: late[name] for name in LATE if name in late and not getattr(about, name)}
    return replace(about, **found)


def _summary(reading: StatementReading, sections: list[SectionSummary]) -> ParseSummary:
    problems = [
        replace(each, raw=each.raw[:RAW_CHARS_MAX]) for each in reading.problems[:PROBLEMS_KEPT_MAX]
    ]
    return ParseSummary(
        format=reading.format,
        sections=sections,
        problems=problems,
        problems_count=len(reading.problems),
    )


def _facts(about: ParseSummary) -> Fields:
    """What the history records. Only `normalize` flags: a sum may refute a doubt, and one record is told once."""
    facts: Fields = {
        "format": about.format,
        "sections": len(about.sections),
        "reader": READER_VERSION,
    }
    notes = notes_of(about.problems)
    if notes:
        facts["notes"] = list(notes)
    return facts


def notes_of(problems: Iterable[StatementProblem]) -> list[str]:
    """Problems as short lines: one for each code, with the first message and how many more there are."""
    by_code: dict[str, list[StatementProblem]] = {}
    for problem in problems:
        by_code.setdefault(problem.code, []).append(problem)
    return [_note(code, found) for code, found in list(by_code.items())[:NOTES_MAX]]


def _note(code: str, found: list[StatementProblem]) -> str:
    first = found[0]
    place = f"line {first.place.line}: " if first.place.line else ""
    if first.place.page:
        place = f"page {first.place.page}, {place}" if place else f"page {first.place.page}: "
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{code}: {place}{first.message}"[: NOTE_CHARS_MAX - len(more)] + more


def _log(job: Job, reading: StatementReading, about: ParseSummary) -> None:
    """Log decisions with their reasons, then what could not be read."""
    for sentence in reading.decisions:
        job.log(sentence)
    for number, section in enumerate(about.sections, start=1):
        terms = section.terms
        job.log(
            f"section {number}: {section.rows} rows",
            account=section.account,
            currency=section.currency,
            opening=section.opening,
            closing=section.closing,
            date_order=terms.date_order or "undecided",
            decimal=terms.decimal,
            sign=terms.sign,
            why=terms.why,
        )
    for problem in reading.problems[:PROBLEMS_LOGGED_MAX]:
        job.log(
            problem.message,
            level="warning",
            code=problem.code,
            line=problem.place.line,
            page=problem.place.page,
            raw=problem.raw[:RAW_CHARS_MAX],
        )
    if len(reading.problems) > PROBLEMS_LOGGED_MAX:
        job.log(
            f"{len(reading.problems) - PROBLEMS_LOGGED_MAX} more problems are not listed",
            level="warning",
        )
