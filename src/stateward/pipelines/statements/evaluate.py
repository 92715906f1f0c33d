"""How well statements are read: every statement of a folder that has a truth, through both stages, compared.

A statement is exact when it has every row and no other, each with the right day and amount (and balance and
currency, where both sides tell them). It is wrong in silence when it is not exact and nothing says so: no note, no
rejected row, no failure. Statements are counted, not rows: one wrong row makes a statement worthless.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Micros
from stateward.pipelines.statements.ground_truth import (
    READ_ERRORS,
    TrueRow,
    Truth,
    truth_of,
)
from stateward.workers.sdk import (
    Completed,
    Job,
    Limits,
    Result,
    registered,
    run_runner,
)

SUFFIXES = frozenset(
    ".pdf .csv .tsv .txt .xlsx .xls .ods .ofx .qfx .qif .sta .mt940 .940 .xml .camt".split()
)
FILES_MAX = 100_000
NOTES_MAX = 5
LIMITS = Limits(transient_attempts=1)


class Found(msgspec.Struct, frozen=True):
    """A transaction as it came out."""

    date: str
    amount: Decimal
    balance: Decimal | None
    currency: str
    description: str
    value_date: str


class Score(msgspec.Struct, kw_only=True):
    """One statement, or several added up."""

    statements: int = 0
    statements_exact: int = 0
    wrong_in_silence: int = 0
    flagged: int = 0  # with a note, or failed; exact or not
    rows: int = 0
    rows_found: int = 0
    dates_exact: int = 0
    amounts_exact: int = 0
    balances: int = 0
    balances_exact: int = 0
    descriptions: int = 0
    descriptions_exact: int = 0

    def add(self, other: "Score") -> None:
        """Count another in."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


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
        return bool(self.score.statements_exact)

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
    for path in statements(folder):
        name = path.relative_to(folder).as_posix()
        tell(name)
        truth = _truth(path)
        if truth is None:
            no_truth.append(name)
        else:
            judged.append(judge(path, name, truth, now=now))
    return Evaluation(judged=tuple(judged), no_truth=tuple(no_truth))


def statements(folder: Path) -> Iterator[Path]:
    """Files that may be statements, by their endings, in a fixed order."""
    count = 0
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            count += 1
            if count > FILES_MAX:
                return
            yield path


def judge(path: Path, name: str, truth: Truth, *, now: Callable[[], Micros]) -> Judged:
    """Put one statement through both stages, and compare what comes out."""
    parsed = _run("parse", Job(record_id="EVAL", stage="parse", path=path), now)
    if not isinstance(parsed, Completed):
        return _failed(path, name, truth, parsed.code, parsed.message)
    told = str(parsed.facts.get("format", ""))
    items = {"parse": [chunk.data for chunk in parsed.chunks]}
    job = Job(record_id="EVAL", stage="normalize", path=path, items=items)
    normal = _run("normalize", job, now)
    if not isinstance(normal, Completed):
        return _failed(path, name, truth, normal.code, normal.message, told)
    notes = [*_notes(parsed.facts), *_notes(normal.facts)]
    found = [_found(item) for item in _items(normal)]
    score = compare(found, truth, is_flagged=bool(notes or normal.facts.get("rejected")))
    return Judged(
        file=name,
        format=told or path.suffix.strip("."),
        truth=truth.source,
        score=score,
        notes=tuple(dict.fromkeys(notes))[:NOTES_MAX],
    )


def compare(found: Sequence[Found], truth: Truth, *, is_flagged: bool) -> Score:
    """The score of one statement."""
    score = Score(statements=1, rows=truth.count, flagged=int(is_flagged))
    is_exact = len(found) == truth.count
    if not truth.has_rows:
        score.rows_found = min(len(found), truth.count)
    pairs = align(found, truth.rows)
    for one, true in pairs:
        score.rows_found += 1
        is_exact &= _count(score, one, true)
    if truth.has_rows and len(pairs) < truth.count:
        is_exact = False
    if truth.currency and any(one.currency not in ("", truth.currency) for one in found):
        is_exact = False
    score.statements_exact = int(is_exact)
    score.wrong_in_silence = int(not is_exact and not is_flagged)
    return score


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


def _truth(path: Path) -> Truth | None:
    try:
        return truth_of(path)
    except READ_ERRORS as error:
        raise InvalidRequest(
            f"the truth of {path.name} cannot be read: {error}; mend or remove it"
        ) from error


def _run(stage: str, job: Job, now: Callable[[], Micros]) -> Result:
    import stateward.pipelines.statements.runners  # noqa: F401 - registers them

    return run_runner(
        registered()[f"upload.{stage}"], job, limits=LIMITS, sleep=lambda _: None, now=now
    )


def _notes(facts: Fields) -> list[str]:
    notes = facts.get("notes", [])
    return [str(note) for note in notes] if isinstance(notes, list) else []


def _items(completed: Completed) -> Iterator[Fields]:
    for chunk in completed.chunks:
        value = msgspec.json.decode(chunk.data)
        if isinstance(value, list):
            yield from value


def _found(item: Fields) -> Found:
    balance = item.get("balance")
    return Found(
        date=str(item.get("date") or ""),
        amount=Decimal(str(item["amount"])),
        balance=Decimal(str(balance)) if balance else None,
        currency=str(item.get("currency", "")),
        description=str(item.get("description", "")),
        value_date=str(item.get("value_date", "")),
    )


def _failed(path: Path, name: str, truth: Truth, code: str, message: str, told: str = "") -> Judged:
    score = Score(statements=1, rows=truth.count, flagged=1)
    return Judged(
        file=name,
        format=told or path.suffix.strip(".").lower(),
        truth=truth.source,
        score=score,
        code=code,
        notes=(f"{code}: {message}",),
    )
