"""The stage `normalize`: observations become canonical transactions, and each section is added up.

ISO days, exact amounts with their currency, money in positive and money out negative, a cleaned description, a
merchant, a stable id. A row that cannot be read is rejected with its reason; a statement that does not add up, or
that nothing proves, is flagged with what was tried. The same observations and rules give the same bytes.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.interpret import (
    Unreadable,
    balance,
    booked,
    period_of,
    signed,
)
from stateward.pipelines.statements.model import (
    Place,
    Problem,
    Row,
    Terms,
)
from stateward.pipelines.statements.options import Options
from stateward.pipelines.statements.parse import About, SectionAbout, notes_of
from stateward.pipelines.statements.reconcile import (
    DIFFERS,
    RECONCILED,
    Reconciler,
    Verdict,
)
from stateward.pipelines.statements.rules import Rules, rules_of
from stateward.workers.sdk import Batch, Job, Outcome

NORMALIZER_VERSION = 1
BATCH_ROWS = 500
REJECTED_KEPT_MAX = 1000
LOGGED_MAX = 100
NOTES_MAX = 20
ID_BYTES = 12
MESSAGES = frozenset({"mt940", "camt"})
WITH_IDS = frozenset({"ofx", "camt", "csv", "xlsx"})  # where a reference is one transaction's own
# What banks write of an entry that is not booked: not yet, or never to be.
PENDING = frozenset({
    "PDNG", "INFO", "FUTR", "PENDING", "VORGEMERKT", "EN ATTENTE", "PENDIENTE", "IN ATTESA", "AUTHORISED", "AUTHORIZED",
    "DECLINED", "REVERTED", "FAILED", "CANCELLED", "CANCELED", "REJECTED", "DENIED",
})  # fmt: skip


class Canonical(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A transaction that a program can trust; amounts are exact decimals as text."""

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
    place: Place = Place()


class Checked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one account of one section."""

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
    about = msgspec.convert(job.about("parse"), About)
    options = Options.of(job)
    about = _decided(job, about, options.hints(job.labels)[0].date_order)
    book = Book(about, rules_of(options.rules))
    batch: list[Canonical] = []
    count = 0
    for row in job.items(Row, "parse"):
        canonical = book.take(row)
        if canonical is None:
            continue
        batch.append(canonical)
        if len(batch) == BATCH_ROWS:
            count += len(batch)
            yield Batch(batch)
            batch = []
    count += len(batch)
    if not count and book.rejected_count:
        first = book.rejected[0]
        raise FatalFailure(
            f"none of {book.rejected_count} rows can be read; the first: {first.message}",
            code="NO_ROW_READABLE",
        )
    if batch:
        yield Batch(batch)
    return book.outcome(job, count)  # type: ignore[return-value]


def _decided(job: Job, about: About, order: str) -> About:
    """The terms with an order of dates that a person gave since the file was parsed, where it left that open."""
    if not order or all(section.terms.date_order for section in about.sections):
        return about
    job.log(f"the order of dates was left open; it is {order} now, as the settings say")
    sections = [
        section
        if section.terms.date_order
        else replace(section, terms=replace(section.terms, date_order=order))
        for section in about.sections
    ]
    problems = [each for each in about.problems if each.code != "AMBIGUOUS_DATES"]
    return replace(about, sections=sections, problems=problems)


class Book:
    """One file being converted: what its sections say, and what its rows add up to."""

    def __init__(self, about: About, rules: Rules) -> None:
        self._about = about
        self._rules = rules
        self._sections = [
            _Part(number, each, about.format) for number, each in enumerate(about.sections)
        ]
        self._sums: dict[tuple[int, str, str], Reconciler] = {}
        self._seen: dict[int, int] = {}  # by hash: a million rows shall not keep a million texts
        self._references: set[int] = set()
        self._duplicates = 0
        self._has_ids = about.format in WITH_IDS
        self.rejected: list[Problem] = []
        self.rejected_count = 0

    def take(self, row: Row) -> Canonical | None:
        """A row as a transaction; None if it was rejected."""
        part = self._sections[row.section]
        account = row.account.strip() or part.account
        currency = row.currency.strip().upper() or part.currency
        try:
            amount = signed(row, part.terms)
            day, shown = part.day(row.date)
            after = balance(row.balance, part.terms) if row.balance else None
        except Unreadable as error:
            self._reject(row, str(error))
            self._sum(part, account, currency).skip()
            return None
        more = row.more
        is_pending = bool(more) and more.get("status", "").upper() in PENDING
        if not is_pending:
            self._sum(part, account, currency).add(amount, after, day)
        printed = (more.get("purpose") if more else "") or row.description or row.counterparty
        description = self._rules.description(printed)
        exact = money.format_amount(amount, currency)
        key = f"{account}\x1f{shown or row.date}\x1f{exact}\x1f{currency}\x1f{row.description}"
        # By position, in the order of the fields: by name it takes three times as long.
        return Canonical(
            self._identity(key),
            shown or None,
            exact,
            currency,
            description,
            self._rules.merchant(row.counterparty or description),
            account,
            part.value_day(row.value_date) if row.value_date else "",
            "" if after is None else money.format_amount(after, currency),
            row.reference.strip(),
            row.counterparty.strip(),
            is_pending,
            self._twin(row, key) if row.reference and self._has_ids else "",
            () if shown else part.candidates(row.date),
            row.note,
            row.section,
            row.place,
        )

    def _identity(self, key: str) -> str:
        """Content and the number of its occurrence: the same in every file that holds the transaction."""
        mark = hash(key)
        number = self._seen.get(mark, 0) + 1
        self._seen[mark] = number
        return _id(key, number)

    def _twin(self, row: Row, key: str) -> str:
        """The first row with the same content, if the bank gave both the same id and the same balance."""
        mark = hash((row.reference, row.balance, key))
        if mark not in self._references:
            self._references.add(mark)
            return ""
        self._duplicates += 1
        return _id(key, 1)

    def _sum(self, part: "_Part", account: str, currency: str) -> Reconciler:
        """The sum of one account and currency of a section."""
        key = (part.number, account, currency)
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = part.reconciler()
        return found

    def _reject(self, row: Row, why: str) -> None:
        self.rejected_count += 1
        if len(self.rejected) < REJECTED_KEPT_MAX:
            raw = msgspec.json.encode(row).decode()
            self.rejected.append(
                Problem(code="ROW_REJECTED", message=why, place=row.place, raw=raw[:1000])
            )

    # The end

    def outcome(self, job: Job, count: int) -> Outcome:
        """Checks, notes and log of the whole."""
        checks = list(self._checks())
        problems = [*self._about.problems, *self.rejected, *self._flags(checks)]
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

    def _checks(self) -> Iterator[Checked]:
        used = {number for number, _, _ in self._sums}
        for number, part in enumerate(self._sections):
            if number not in used:
                self._sums[number, part.account, part.currency] = part.reconciler()
        alone = Counter(number for number, _, _ in self._sums)
        for (number, account, currency), book in sorted(
            self._sums.items(), key=lambda item: item[0]
        ):
            part = self._sections[number]
            verdict = book.verdict() if alone[number] == 1 else part.without_balances(book)
            yield _checked(number, account, currency, verdict, book)

    def _flags(self, checks: list[Checked]) -> Iterator[Problem]:
        for check in checks:
            whose = f"{check.account} {check.currency}".strip()
            where = f"section {check.section + 1}{f' ({whose})' if whose else ''}"
            if check.status == DIFFERS:
                yield Problem(code="NOT_RECONCILED", message=f"{where}: {check.sentence}")
            elif check.status != RECONCILED and check.rows:
                yield Problem(code="NOT_CHECKED", message=f"{where}: {check.sentence}")
        if self._duplicates:
            said = f"{self._duplicates} rows stand twice in the file, with the same id of the bank"
            yield Problem(code="DUPLICATE_ROWS", message=said)


def _id(key: str, number: int) -> str:
    digest = blake2b(f"{key}\x1f{number}".encode("utf-8", "replace"), digest_size=ID_BYTES)
    return f"tx_{digest.hexdigest()}"


class _Part:
    """One section: its terms, and its facts as values."""

    def __init__(self, number: int, about: SectionAbout, format_: str) -> None:
        self.number = number
        self.terms: Terms = about.terms
        self.account = about.account.strip()
        self.currency = about.currency.strip().upper()
        self._about = about
        self._period = period_of(about.section())
        # The days of SWIFT's balances are when the message was made; only a stated period binds its rows.
        is_stated = bool(about.period_from or about.period_to)
        self._checked_period = self._period if is_stated or format_ not in MESSAGES else None
        self._is_undecided = not self.terms.date_order
        self._days: dict[str, tuple[date | None, str]] = {}

    def day(self, text: str) -> tuple[date | None, str]:
        """A booking date, and in ISO; None and "" where its order is undecided and matters."""
        known = self._days.get(text)
        if known is None:
            day = booked(text.strip(), self.terms, period=self._period)
            is_open = self._is_undecided and len(set(self.candidates(text))) > 1
            known = self._days[text] = (None, "") if is_open else (day, day.isoformat())
        return known

    def value_day(self, text: str) -> str:
        """A value date, "" where it cannot be read: it is a courtesy, not the date of the row."""
        try:
            return self.day(text)[1]
        except Unreadable:
            return ""

    def candidates(self, text: str) -> tuple[str, ...]:
        """The days that a text could be."""
        found = [dates.read_date(text.strip(), order, self.terms.era) for order in ("dmy", "mdy")]
        return tuple(day.isoformat() for day in found if day is not None)

    def reconciler(self) -> Reconciler:
        """A fresh sum with what the section prints."""
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

    def without_balances(self, book: Reconciler) -> Verdict:
        """Of several accounts in one table only the chains of each can be checked, not the printed whole."""
        return book.verdict(only=("chain", "period"))

    def _amount(self, text: str) -> Decimal | None:
        try:
            return balance(text, self.terms)
        except Unreadable:
            return None


def _checked(
    number: int, account: str, currency: str, verdict: Verdict, book: Reconciler
) -> Checked:
    return Checked(
        section=number,
        account=account,
        currency=currency,
        status=verdict.status,
        sentence=str(verdict),
        rows=book.count,
        total=verdict.total,
        difference=verdict.difference,
        opening=verdict.opening,
        closing=verdict.closing,
    )


def _log(job: Job, checks: list[Checked], rejected: list[Problem], rejected_count: int) -> None:
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
