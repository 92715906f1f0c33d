"""The stage `normalize`: observations become canonical transactions, and each section is reconciled.

ISO dates, exact amounts with their currency (credits positive, debits negative), a cleaned description, a merchant, a
stable id. A row that cannot be read is rejected with its reason; a statement that does not add up, or that nothing
proves, is flagged with what was tried. The same observations and rules give the same bytes.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.kit import money
from stateward.pipelines.statements.booking import booking_status, says_cancelled
from stateward.pipelines.statements.doubtful_runs import DoubtfulRuns
from stateward.pipelines.statements.interpret import (
    UnreadableText,
    balance,
    booking_date,
    has_mark,
    period_of,
    signed_amount,
)
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementRow,
)
from stateward.pipelines.statements.notes import flags_of
from stateward.pipelines.statements.options import Options
from stateward.pipelines.statements.parse import (
    CANCEL_UNPROVEN,
    ParseSummary,
    SectionSummary,
    notes_of,
)
from stateward.pipelines.statements.reconcile import (
    DIFFERS,
    RECONCILED,
    Reconciler,
    Reconciliation,
)
from stateward.pipelines.statements.rules import CleaningRules, rules_of
from stateward.workers.sdk import Batch, Job, Outcome

# To be increased by a change after which the same observations give other transactions.
NORMALIZER_VERSION = 5
BATCH_ROWS = 500
REJECTED_KEPT_MAX = 1000
LOGGED_MAX = 100
NOTES_MAX = 20
ID_BYTES = 12  # 96 bits: no two of a billion transactions share an id by chance
# What is said where nothing printed proves the rows: those of a page may be missed, those of a scan misread.
UNPROVEN = {"pdf": "ROWS_UNPROVEN", "text": "ROWS_UNPROVEN", "scan": "OCR_UNPROVEN"}
BEFORE_ALL = date(1900, 1, 1)
LATE_DAYS = timedelta(days=10)
FORGOTTEN_IF_PROVEN = frozenset({"BALANCE_UNPROVEN", "TITLE_UNKNOWN"})
MESSAGES = frozenset({"mt940", "camt", "bai2", "coda", "norma43", "cnab240", "one_c"})
WITH_IDS = frozenset(
    {"ofx", "camt", "csv", "xlsx"}
)  # formats whose references identify one transaction


class Canonical(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A normalized transaction; amounts are exact decimals as text."""

    id: str
    date: str | None
    amount: str
    currency: str = ""
    description: str = ""
    merchant: str = ""
    account: str = ""
    value_date: str = ""
    balance: str = ""
    reference: str = ""
    counterparty: str = ""
    is_pending: bool = False
    duplicate_of: str = ""
    date_candidates: tuple[str, ...] = ()
    note: str = ""
    section: int = 0
    place: RowPlace = RowPlace()
    details: dict[str, str] = {}  # what other columns say, under their headings
    category: str = ""  # that of the file, else that of a rule


class SectionCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reconciliation of one account and currency of one section."""

    section: int
    account: str
    currency: str
    status: str
    sentence: str
    rows: int
    total: str
    difference: str = ""
    opening: str = ""
    closing: str = ""


def normalize(job: Job) -> Iterator[Batch]:
    """Convert the observations of a job."""
    about = msgspec.convert(job.about("parse"), ParseSummary)
    options = Options.of(job)
    about = _with_date_order(job, about, options.hints(job.labels)[0].date_order)
    normalizer = Normalizer(about, rules_of(options.rules), is_proof_required=options.require_proof)
    batch: list[Canonical] = []
    count = 0
    for row in job.items(StatementRow, "parse"):
        canonical = normalizer.convert(row)
        if canonical is None:
            continue
        batch.append(canonical)
        if len(batch) == BATCH_ROWS:
            count += len(batch)
            yield Batch(batch)
            batch = []
    count += len(batch)
    if not count and normalizer.rejected_count:
        first = normalizer.rejected[0]
        raise FatalFailure(
            f"none of {normalizer.rejected_count} rows can be read; the first: {first.message}",
            code="NO_ROW_READABLE",
        )
    if batch:
        yield Batch(batch)
    return normalizer.outcome(job, count)  # type: ignore[return-value]


def _with_date_order(job: Job, about: ParseSummary, order: str) -> ParseSummary:
    """The terms with a date order that was configured after the file was parsed, where the file leaves it open."""
    if not order or all(section.terms.date_order for section in about.sections):
        return about
    job.log(f"the file leaves the date order open; the settings say {order}")
    sections = [
        section
        if section.terms.date_order
        else replace(section, terms=replace(section.terms, date_order=order))
        for section in about.sections
    ]
    problems = [each for each in about.problems if each.code != "AMBIGUOUS_DATES"]
    return replace(about, sections=sections, problems=problems)


class Normalizer:
    """Converts the rows of one file, and adds them up."""

    def __init__(
        self, about: ParseSummary, rules: CleaningRules, *, is_proof_required: bool = False
    ) -> None:
        self._about = about
        self._is_proof_required = is_proof_required
        self._rules = rules
        self._sections = [
            _SectionReader(number, each, about.format) for number, each in enumerate(about.sections)
        ]
        self._sums: dict[tuple[int, str, str], Reconciler] = {}
        self._unmarked: dict[tuple[int, str, str], list[int]] = {}
        self._seen: dict[
            int, int
        ] = {}  # by hash: a million rows must not keep a million texts in memory
        # Rows that are dated after the printed period, by section, account and currency.
        self._late: Counter[tuple[int, str, str]] = Counter()
        self._runs = DoubtfulRuns()
        self._references: set[int] = set()
        self._duplicates = 0
        self._has_ids = about.format in WITH_IDS
        # Rows are compared with one another only where one of them calls itself cancelled.
        self._has_cancelled = any(each.code == CANCEL_UNPROVEN for each in about.problems)
        self._moved: Counter[tuple[int, str, str, Decimal]] = Counter()
        self._cancelled: dict[tuple[int, str, str, Decimal], list[StatementRow]] = {}
        self.rejected: list[StatementProblem] = []
        self.rejected_count = 0

    def convert(self, row: StatementRow) -> Canonical | None:
        """A row as a transaction; None if it was rejected."""
        part = self._sections[row.section]
        # Most tables have neither column, and this runs for every row.
        account = (row.account.strip() if row.account else "") or part.account
        currency = (money.currency_code(row.currency) if row.currency else "") or part.currency
        more = row.more
        status = booking_status(more["status"]) if more and "status" in more else ""
        if status and row.mark:  # what moved no money is often marked as neither
            row = replace(row, mark=row.mark if money.mark_sign(row.mark) else "")
        try:
            amount = signed_amount(row, part.terms)
            day, shown = part.day(row.date)
            after = balance(row.balance, part.terms) if row.balance else None
        except UnreadableText as error:
            self._reject(row, str(error))
            self._sum(part, (part.number, account, currency)).skip()
            return None
        note = row.note
        if status and not note.startswith("not booked"):
            note = f"not booked: {more['status'].strip()}; {note}".removesuffix("; ")
        is_pending = bool(status) or row.note.startswith("not booked")
        if not is_pending:
            self._add_up(row, part, (part.number, account, currency), amount, after, day)
        printed = (more.get("purpose") if more else "") or row.description or row.counterparty
        description = self._rules.description(printed)
        merchant = self._rules.merchant(row.counterparty or description)
        # What the file says goes before what rules say.
        category = row.category.strip() if row.category else ""
        if not category and self._rules.has_categories:
            category = self._rules.category(merchant, description)
        exact = money.format_amount(amount, currency)
        content = f"{account}\x1f{shown or row.date}\x1f{exact}\x1f{currency}\x1f{row.description}"
        mark = hash(content)
        number = self._seen.get(mark, 0) + 1
        self._seen[mark] = number
        if not is_pending:
            own_day = shown or row.date
            self._runs.add(amount, row.description, note, own_day, is_known=number > 1)
        # By position, in the order of the fields: keyword arguments take three times as long.
        return Canonical(
            _id(content, number),
            shown or None,
            exact,
            currency,
            description,
            merchant,
            account,
            part.value_day(row.value_date) if row.value_date else "",
            "" if after is None else money.format_amount(after, currency),
            row.reference.strip() if row.reference else "",
            row.counterparty.strip() if row.counterparty else "",
            is_pending,
            self._first_twin(row, content) if row.reference and self._has_ids else "",
            () if shown else part.candidates(row.date),
            note,
            row.section,
            row.place,
            more,
            category,
        )

    def _add_up(
        self,
        row: StatementRow,
        part: "_SectionReader",
        key: tuple[int, str, str],
        amount: Decimal,
        after: Decimal | None,
        day: date | None,
    ) -> None:
        """Add a booked row to the sum of its account and currency, and remember what speaks against it."""
        total = self._sum(part, key)
        total.add(amount, after, day)
        if part.late_after is not None and day is not None and day > part.late_after:
            self._late[key] += 1
        if part.needs_marks and amount > 0 and not has_mark(row, part.terms):
            self._unmarked.setdefault(key, []).append(total.count)
        if self._has_cancelled and amount:
            moved = (*key, amount)
            self._moved[moved] += 1
            if says_cancelled(row):
                self._cancelled.setdefault(moved, []).append(row)

    def _first_twin(self, row: StatementRow, key: str) -> str:
        """The id of the first row with the same content, if both have the same bank reference and balance."""
        mark = hash((row.reference, row.balance, key))
        if mark not in self._references:
            self._references.add(mark)
            return ""
        self._duplicates += 1
        return _id(key, 1)

    def _sum(self, part: "_SectionReader", key: tuple[int, str, str]) -> Reconciler:
        """The sum of one account and currency of a section."""
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = part.reconciler()
        return found

    def _reject(self, row: StatementRow, why: str) -> None:
        self.rejected_count += 1
        if len(self.rejected) < REJECTED_KEPT_MAX:
            raw = msgspec.json.encode(row).decode()
            self.rejected.append(
                StatementProblem(code="ROW_REJECTED", message=why, place=row.place, raw=raw[:1000])
            )

    def outcome(self, job: Job, count: int) -> Outcome:
        """Checks, notes and log of the whole file."""
        checks = list(self._checks())
        parsed = [each for each in self._about.problems if each.code != CANCEL_UNPROVEN]
        if all(check.status == RECONCILED for check in checks):  # then the balances are right
            parsed = [each for each in parsed if each.code not in FORGOTTEN_IF_PROVEN]
        problems = [*parsed, *self.rejected, *self._flags(checks)]
        _log(job, checks, self.rejected, self.rejected_count)
        job.log(
            f"{count} transactions by rules {self._rules.version}", rejected=self.rejected_count
        )
        facts: Fields = {
            "rules": self._rules.version,
            "rejected": self.rejected_count,
            "reconciled": all(check.status == RECONCILED for check in checks),
        }
        notes = notes_of(problems)
        facts["notes"] = list(notes[:NOTES_MAX])
        codes = [each.code for each in problems]
        facts["flags"] = list(flags_of(codes, is_proof_required=self._is_proof_required))
        about = {
            "normalizer": NORMALIZER_VERSION,
            "rules": self._rules.version,
            "checks": msgspec.to_builtins(checks),
            "rejected": msgspec.to_builtins(self.rejected),
            "rejected_count": self.rejected_count,
            "duplicates": self._duplicates,
            "notes": notes,
        }
        return Outcome(facts=facts, about=about)

    def _checks(self) -> Iterator[SectionCheck]:
        used = {number for number, _, _ in self._sums}
        for number, part in enumerate(self._sections):
            if number not in used:
                self._sums[number, part.account, part.currency] = part.reconciler()
        counts = Counter(number for number, _, _ in self._sums)
        for (number, account, currency), reconciler in sorted(
            self._sums.items(), key=lambda item: item[0]
        ):
            part = self._sections[number]
            is_only = counts[number] == 1
            result = reconciler.result() if is_only else part.without_balances(reconciler)
            yield _section_check(number, account, currency, result, reconciler)

    def _flags(self, checks: list[SectionCheck]) -> Iterator[StatementProblem]:
        for check in checks:
            whose = f"{check.account} {check.currency}".strip()
            where = f"section {check.section + 1}{f' ({whose})' if whose else ''}"
            if check.status == DIFFERS:
                yield StatementProblem(code="NOT_RECONCILED", message=f"{where}: {check.sentence}")
            elif check.status != RECONCILED and check.rows:
                # Rows of a PDF are found by where they stand: one that was missed leaves no trace but in a sum.
                # Those of a scan may also be misread, and only a sum shows it.
                is_accounted = self._about.sections[check.section].is_accounted
                is_open = not is_accounted or self._about.format == "scan"
                code = UNPROVEN.get(self._about.format, "NOT_CHECKED") if is_open else "NOT_CHECKED"
                yield StatementProblem(code=code, message=f"{where}: {check.sentence}")
        yield from self._edge_problems(checks)
        yield from self._late_problems(checks)
        yield from self._cancelled_problems(checks)
        for (number, _, _), reconciler in self._sums.items():
            if (day := reconciler.stray_day()) is not None:
                message = (
                    f"section {number + 1}: a row of {day} is years away from the rows around it"
                )
                yield StatementProblem(code="DATE_UNPROVEN", message=message)
        for check in checks:
            if count := self._count_unmarked(check):
                message = f"section {check.section + 1}: debits and credits are marked; rows without a mark: {count}"
                yield StatementProblem(code="SIGN_UNPROVEN", message=message)
        unproven = {check.section for check in checks if check.status != RECONCILED}
        for (number, _, _), reconciler in self._sums.items():
            if number in unproven and (total := reconciler.suspected_total()) is not None:
                message = f"section {number + 1}: a row of {total:f} is the sum of the others: it may be a total"
                yield StatementProblem(code="TOTAL_SUSPECTED", message=message)
        if self._duplicates and unproven:  # balances count what is booked twice
            message = f"{self._duplicates} rows are in the file twice, with the same bank reference"
            yield StatementProblem(code="DUPLICATE_ROWS", message=message)
        if unproven:
            yield from self._runs.problems()

    def _edge_problems(self, checks: list[SectionCheck]) -> Iterator[StatementProblem]:
        """What no balance says about the first and the last rows."""
        # What a reader has found that may not be booked stands there, as a rule.
        is_told = any(each.code == "BOOKING_UNPROVEN" for each in self._about.problems)
        for (number, _, _), reconciler in self._sums.items():
            if self._about.format in UNPROVEN and reconciler.has_open_edge and not is_told:
                message = f"section {number + 1}: no balance proves the first or the last rows"
                yield StatementProblem(code=UNPROVEN[self._about.format], message=message)
        summed = {
            each.section
            for each in checks
            if each.status == RECONCILED and each.opening and each.closing
        }
        for (number, _, _), reconciler in self._sums.items():
            if number not in summed and (edge := reconciler.unbooked_edge()):
                message = f"section {number + 1}: {edge} rows at its edge lack a balance: they may not be booked"
                yield StatementProblem(code="BOOKING_UNPROVEN", message=message)

    def _late_problems(self, checks: list[SectionCheck]) -> Iterator[StatementProblem]:
        """Rows after the end of the printed period, which no balance counts: what is still to come is dated so."""
        for check in checks:
            late = self._late[check.section, check.account, check.currency]
            if late and check.status != RECONCILED:
                message = f"section {check.section + 1}: {late} rows are dated after the period: they may not be booked"
                yield StatementProblem(code="BOOKING_UNPROVEN", message=message)

    def _cancelled_problems(self, checks: list[SectionCheck]) -> Iterator[StatementProblem]:
        """Rows that call themselves cancelled, and are neither proven by a balance nor taken back by another row."""
        proven = {
            (each.section, each.account, each.currency)
            for each in checks
            if each.status == RECONCILED
        }
        told = {
            (each.place.page, each.place.line)
            for each in self._about.problems
            if each.code == "BOOKING_UNPROVEN"
        }
        for (number, account, currency, amount), rows in self._cancelled.items():
            unmatched = rows[self._moved[number, account, currency, -amount] :]
            if (number, account, currency) in proven:
                continue
            for row in unmatched:
                if (row.place.page, row.place.line) in told:
                    continue
                message = (
                    f"the text of the row says {says_cancelled(row)!r}, no row takes it back, and no balance shows"
                    " that it was booked; it was counted"
                )
                yield StatementProblem(
                    code=CANCEL_UNPROVEN, message=message, place=row.place, raw=row.description
                )

    def _count_unmarked(self, check: SectionCheck) -> int:
        """How many rows have neither a mark nor a balance that tells their direction, where others have marks.

        A chain without an opening balance says nothing about the row that it begins with.
        """
        rows = self._unmarked.get((check.section, check.account, check.currency), [])
        if check.status != RECONCILED:
            return len(rows)
        return 0 if check.opening else len({1, check.rows} & set(rows))


def _id(key: str, number: int) -> str:
    """An id from content and occurrence number: the same in every file that contains the transaction."""
    digest = blake2b(f"{key}\x1f{number}".encode("utf-8", "replace"), digest_size=ID_BYTES)
    return f"tx_{digest.hexdigest()}"


class _SectionReader:
    """One section: its terms, and its printed facts as values."""

    def __init__(self, number: int, about: SectionSummary, format_: str) -> None:
        self.number = number
        self.terms: ReadingTerms = about.terms
        self.needs_marks = about.terms.sign == "marks"
        self.account = about.account.strip()
        self.currency = money.currency_code(about.currency)
        self._about = about
        self._period = period_of(about.section())
        # The dates of SWIFT balances are those of the message; only a stated period limits its rows.
        is_stated = bool(about.period_from or about.period_to)
        self._checked_period = self._period if is_stated or format_ not in MESSAGES else None
        if self._period and not (about.period_from or about.opening_date):
            # The day of a statement alone: rows lie before it, and nothing says how long.
            self._checked_period = (BEFORE_ALL, self._period[1])
        # A period that is printed whole ends with the last booking; some banks add a row of the next days.
        is_whole = bool(self._period and about.period_from and about.period_to)
        self.late_after = self._period[1] + LATE_DAYS if is_whole and self._period else None
        self._is_undecided = not self.terms.date_order
        self._days: dict[str, tuple[date | None, str]] = {}

    def day(self, text: str) -> tuple[date | None, str]:
        """A booking date, and in ISO; None and "" where its order is undecided and matters."""
        known = self._days.get(text)
        if known is None:
            day = booking_date(text.strip(), self.terms, period=self._period)
            is_open = self._is_undecided and len(set(self.candidates(text))) > 1
            known = self._days[text] = (None, "") if is_open else (day, day.isoformat())
        return known

    def value_day(self, text: str) -> str:
        """A value date, "" where it cannot be read: the row is valid without it."""
        try:
            return self.day(text)[1]
        except UnreadableText:
            return ""

    def candidates(self, text: str) -> tuple[str, ...]:
        """The days that an ambiguous text may mean."""
        found: list[str] = []
        for order in ("dmy", "mdy"):
            with suppress(UnreadableText):
                terms = replace(self.terms, date_order=order)
                day = booking_date(text.strip(), terms, period=self._period)
                found.append(day.isoformat())
        return tuple(found)

    def reconciler(self) -> Reconciler:
        """A new reconciler with the balances and totals that the section prints."""
        totals = {
            name: value
            for name, text in self._about.totals.items()
            if (value := self._amount(text)) is not None
        }
        return Reconciler(
            opening=self._amount(self._about.opening),
            closing=self._amount(self._about.closing),
            totals=totals,
            period=self._checked_period,
        )

    def without_balances(self, reconciler: Reconciler) -> Reconciliation:
        """The result for one of several accounts in one table: printed balances and totals are of all of them."""
        return reconciler.result(only=("chain", "period"))

    def _amount(self, text: str) -> Decimal | None:
        try:
            return balance(text, self.terms)
        except UnreadableText:
            return None


def _section_check(
    number: int, account: str, currency: str, result: Reconciliation, reconciler: Reconciler
) -> SectionCheck:
    return SectionCheck(
        section=number,
        account=account,
        currency=currency,
        status=result.status,
        sentence=str(result),
        rows=reconciler.count,
        total=result.total,
        difference=result.difference,
        opening=result.opening,
        closing=result.closing,
    )


def _log(
    job: Job, checks: list[SectionCheck], rejected: list[StatementProblem], rejected_count: int
) -> None:
    for check in checks:
        level = "info" if check.status == RECONCILED else "warning"
        job.log(
            f"section {check.section + 1} is {check.status}: {check.sentence}",
            level=level,
            account=check.account,
            rows=check.rows,
            total=check.total,
            difference=check.difference,
        )
    for problem in rejected[:LOGGED_MAX]:
        job.log(
            f"row rejected: {problem.message}",
            level="warning",
            code=problem.code,
            line=problem.place.line,
            page=problem.place.page,
            raw=problem.raw,
        )
    if rejected_count > LOGGED_MAX:
        job.log(f"{rejected_count - LOGGED_MAX} more rejected rows are not listed", level="warning")
