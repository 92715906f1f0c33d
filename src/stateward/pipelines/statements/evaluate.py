"""How well statements are read: every statement of a folder that has a truth, through both stages, compared.

A statement is exact when it has every row and no other, each with the right day and amount (and balance and
currency, where both sides tell them). Where a card prints two days for each row, its truth may tell either throughout.
It is wrong in silence when it is not exact and nothing says so: no note, no rejected row, no failure. Statements are
counted, not rows: one wrong row makes a statement worthless.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Micros
from stateward.pipelines.kit.evaluation import DocumentScore, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in
from stateward.pipelines.statements import RUNNERS
from stateward.pipelines.statements.ground_truth import (
    READ_ERRORS,
    TrueRow,
    Truth,
    truth_files,
    truth_of,
)

SUFFIXES = frozenset(
    ".pdf .csv .tsv .txt .xlsx .xls .ods .ofx .qfx .qif .sta .mt940 .940 .942 .xml .camt .bai".split()
)
NOTES_MAX = 5


class Found(msgspec.Struct, frozen=True):
    """A transaction as it came out."""

    date: str
    amount: Decimal
    balance: Decimal | None
    currency: str
    description: str
    value_date: str


class Score(DocumentScore, kw_only=True):
    """One statement, or several added up."""

    rows: int = 0
    rows_found: int = 0
    dates_exact: int = 0
    amounts_exact: int = 0
    balances: int = 0
    balances_exact: int = 0
    descriptions: int = 0
    descriptions_exact: int = 0


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file."""

    file: str
    format: str
    truth: str
    score: Score
    code: str = ""  # of a failure
    notes: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether nothing is wrong with it."""
        return bool(self.score.exact)

    @property
    def is_silent(self) -> bool:
        """Whether something is wrong and nothing says so."""
        return bool(self.score.wrong_in_silence)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A whole folder."""

    judged: tuple[Judged, ...]
    no_truth: tuple[str, ...]

    def formats(self) -> dict[str, Score]:
        """The score of each format."""
        scores: dict[str, Score] = {}
        for one in self.judged:
            scores.setdefault(one.format, Score()).add(one.score)
        return dict(sorted(scores.items()))

    def total(self) -> Score:
        """Everything added up."""
        score = Score()
        for one in self.judged:
            score.add(one.score)
        return score


def evaluate(
    folder: Path, *, now: Callable[[], Micros], tell: Callable[[str], object] = lambda _: None
) -> Evaluation:
    """Judge every statement under a folder."""
    judged: list[Judged] = []
    no_truth: list[str] = []
    files = truth_files(folder)
    for path in documents_in(folder, SUFFIXES):
        name = path.relative_to(folder).as_posix()
        tell(name)
        truth = _truth(path, files)
        if truth is None:
            no_truth.append(name)
        else:
            judged.append(judge(path, name, truth, now=now))
    return Evaluation(judged=tuple(judged), no_truth=tuple(no_truth))


def judge(path: Path, name: str, truth: Truth, *, now: Callable[[], Micros]) -> Judged:
    """Put one statement through both stages, and compare what comes out."""
    import stateward.pipelines.statements.runners  # noqa: F401 - registers them

    run = run_stages(path, RUNNERS, now=now)
    told = str(run.completed["parse"].facts.get("format", "")) if run.completed else ""
    if run.failure is not None:
        return _judge_failure(path, name, truth, run.failure.code, run.failure.message, told)
    normal = run.completed["normalize"]
    notes = _notes(normal.facts)  # with those of the first stage that the sums did not refute
    flags = normal.facts.get("flags")
    items = list(run.items("normalize"))
    if len(items) != truth.count:  # most truths list what was booked, some also what was not
        items = [item for item in items if not item.get("is_pending")]
    found = [_read_rows(item) for item in items]
    score = compare(found, truth, is_flagged=bool(flags or normal.facts.get("rejected")))
    return Judged(
        file=name,
        format=told or path.suffix.strip("."),
        truth=truth.source,
        score=score,
        notes=tuple(dict.fromkeys(notes))[:NOTES_MAX],
    )


def compare(found: Sequence[Found], truth: Truth, *, is_flagged: bool) -> Score:
    """The score of one statement."""
    score = Score(documents=1, rows=truth.count, flagged=int(is_flagged))
    is_exact = len(found) == truth.count
    if not truth.has_rows:
        score.rows_found = min(len(found), truth.count)
    pairs = align(_with_days_of(truth, found), truth.rows)
    for one, true in pairs:
        score.rows_found += 1
        is_exact &= _count(score, one, true)
    if truth.has_rows and len(pairs) < truth.count:
        is_exact = False
    if truth.currency and any(one.currency not in ("", truth.currency) for one in found):
        is_exact = False
    score.exact = int(is_exact)
    score.wrong_in_silence = int(not is_exact and not is_flagged)
    return score


def _with_days_of(truth: Truth, found: Sequence[Found]) -> Sequence[Found]:
    """The rows by their other day, if the truth tells that of every row: cards print those of purchase and posting."""
    by_other = [replace(one, date=one.value_date or one.date) for one in found]
    told = sorted((row.date, row.amount) for row in truth.rows)
    return by_other if told == sorted((one.date, one.amount) for one in by_other) else found


def align(found: Sequence[Found], rows: Sequence[TrueRow]) -> list[tuple[Found, TrueRow]]:
    """Rows that belong together: in order, in reverse, or by day and amount; what is left over has no partner."""
    if len(found) == len(rows):
        orders = (found, found[::-1])
        best = max(orders, key=lambda order: _same(zip(order, rows, strict=True)))
        pairs = list(zip(best, rows, strict=True))
        if _same(pairs) == len(rows):
            return pairs
    ours = sorted(found, key=lambda one: (one.date, one.amount, one.description))
    theirs = sorted(rows, key=lambda row: (row.date, row.amount, row.description or ""))
    matcher = SequenceMatcher(
        None,
        [(one.date, one.amount) for one in ours],
        [(row.date, row.amount) for row in theirs],
        autojunk=False,
    )
    return [
        pair
        for _, i0, i1, j0, j1 in matcher.get_opcodes()
        for pair in zip(ours[i0:i1], theirs[j0:j1], strict=False)
    ]


def _same(pairs: Iterable[tuple[Found, TrueRow]]) -> int:
    return sum(_is_day(one, row) and one.amount == row.amount for one, row in pairs)


def _count(score: Score, one: Found, true: TrueRow) -> bool:
    is_day, is_amount = _is_day(one, true), one.amount == true.amount
    score.dates_exact += is_day
    score.amounts_exact += is_amount
    is_balance = True
    if true.balance is not None and one.balance is not None:
        is_balance = one.balance == true.balance
        score.balances += 1
        score.balances_exact += is_balance
    if true.description is not None:
        score.descriptions += 1
        score.descriptions_exact += _plain(one.description) == _plain(true.description)
    return is_day and is_amount and is_balance


def _is_day(one: Found, true: TrueRow) -> bool:
    return one.date == true.date


def _plain(text: str) -> str:
    return " ".join(text.split())


def _truth(path: Path, files: TruthFiles) -> Truth | None:
    try:
        return truth_of(path, files)
    except READ_ERRORS as error:
        raise InvalidRequest(
            f"the truth of {path.name} cannot be read: {error}; mend or remove it"
        ) from error


def _notes(facts: Fields) -> list[str]:
    notes = facts.get("notes", [])
    return [str(note) for note in notes] if isinstance(notes, list) else []


def _read_rows(item: Fields) -> Found:
    balance = item.get("balance")
    return Found(
        date=str(item.get("date") or ""),
        amount=Decimal(str(item["amount"])),
        balance=Decimal(str(balance)) if balance else None,
        currency=str(item.get("currency", "")),
        description=str(item.get("description", "")),
        value_date=str(item.get("value_date", "")),
    )


def _judge_failure(
    path: Path, name: str, truth: Truth, code: str, message: str, told: str = ""
) -> Judged:
    score = Score(documents=1, rows=truth.count, flagged=1)
    return Judged(
        file=name,
        format=told or path.suffix.strip(".").lower(),
        truth=truth.source,
        score=score,
        code=code,
        notes=(f"{code}: {message}",),
    )
