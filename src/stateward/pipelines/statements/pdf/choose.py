"""How the strings of one section are read: decided over all its rows, and tested by arithmetic.

Each possible reading of the signs is a `SignReading`. The first that makes the statement add up is taken; if none does,
the most likely one is, and everything that was tried is logged, so that normalization can flag the section.
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate

import msgspec
from msgspec.structs import replace

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import interpret
from stateward.pipelines.statements.booking import annulled_phrase, unbooked_word
from stateward.pipelines.statements.direction import DirectionVotes, count_votes, evidence_of
from stateward.pipelines.statements.model import ReadingTerms, StatementRow
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.balance_pairs import (
    KnownBalance,
    adds_up,
    balance_pairs,
    leading_end,
    matching_pair,
    without_handovers,
)
from stateward.pipelines.statements.pdf.rows import (
    NO_DAYS,
    UNBOOKED,
    DraftRow,
    PrintedFact,
    missing_dates,
)
from stateward.pipelines.statements.pdf.sign_readings import (
    SectionDraft,
    SignReading,
    sign_readings,
)
from stateward.pipelines.statements.period_order import fits_period, order_by_period
from stateward.pipelines.statements.reconcile import Reconciliation, RowAmounts, reconcile
from stateward.pipelines.statements.signs import CLEARLY_IN, MAJORITY, MANY

PARTS_MAX = 40
PROVEN_SUM = 2  # the score of a reading whose sum leads from the opening to the closing balance
SUMMANDS_MIN = 2
# Doubts of rows.
REMARKED, SUMMED = "its text says", "it is the sum of the rows above it"
UNDATED = "it has no date, and its table prints one in every row"
OF_BOTH_SIDES = "it has the sums of both columns"
BELOW_END = "it has no date, and stands below the closing balance"
LEFT = (BELOW_END, NO_DAYS)  # doubts by which a row is left out, which a sum must bear out
KEPT = (REMARKED, UNDATED)  # doubts that alone leave no row out
LISTS_MAX = 6  # that a section may have beside its bookings: each is tried
DOUBTS_MAX = 6  # rows of which every combination is tried: 2 ** 6 readings
OPEN_DEBT = (
    "most amounts are positive; a debt and a deposit add up alike, and no word tells which it is"
)
MILLS = 3  # decimals of a currency whose unit has a thousand parts
VOTERS_MAX = 2000  # rows that are enough to find the decimal sign
WESTERN_MIN = 19  # 25 is 2025: the nineteenth year of the emperor, 2037, is farther away
_WHOLE_HUNDREDS = re.compile(r"[-+*$¥\s]*[1-9][0-9]{0,2}[-+\s]*")


class TriedReading(msgspec.Struct):
    """The rows that a reading of the signs gives, and how well they add up."""

    sign_reading: SignReading
    rows: list[StatementRow]
    terms: ReadingTerms
    opening: PrintedFact | None
    closing: PrintedFact | None
    score: int
    is_sound: bool
    result: str
    drafts: list[DraftRow] = []  # what the rows were made of
    doubt: str = ""  # why it may be wrong although it adds up
    is_summed: bool = False  # the rows lead from the opening to the closing balance


def choose_reading(draft: SectionDraft) -> TriedReading:
    """The reading that makes a section add up, else the most likely one."""
    tried: list[TriedReading] = []
    _leave_repeated_amounts(draft)
    _doubt_rows(draft)
    for rows in _row_choices(draft):
        tried += _try_signs(replace(draft, rows=rows))
        if any(one.is_sound for one in tried):
            break
    else:
        tried = _without_a_list(draft) or tried
    best = _best(tried, draft)
    # What is owed on a card is hardly ever told in each row, beside the number of a bank account.
    is_running = draft.is_bank and any(vocab.BALANCE in entry.money for entry in best.drafts)
    is_known = bool(draft.card or draft.hints.sign or best.doubt) or is_running
    if not is_known and _may_be_owed(best, tried):
        best.doubt = OPEN_DEBT
    why = {**best.terms.why, "sign": best.sign_reading.why}
    if len(tried) > 1:
        others = [one for one in tried if one is not best]
        results = "; ".join(f"{one.sign_reading.why}: {one.result}" for one in others)
        why["tried"] = f"also tried: {results}"
    best.terms = replace(best.terms, why=why)
    return best


def _best(tried: Sequence[TriedReading], draft: SectionDraft) -> TriedReading:
    """The sound reading that signs and words speak for; where none is sound, the one that fails least.

    A debt adds up like a deposit with all signs turned, so what adds up is no proof of its signs.
    """
    sound = _as_printed(draft, [one for one in tried if one.is_sound])
    if len(sound) == 1 or (sound and not draft.rows):
        return sound[0]
    rivals = sound or [one for one in tried if one.score == max(each.score for each in tried)]
    best = max(rivals, key=lambda one: _evidence(one, draft))
    if draft.card and not best.doubt and not draft.hints.sign and _may_be_overpaid(best):
        shown = _evidence(best, draft)[:2]
        if any(_evidence(one, draft)[:2] == shown for one in sound if one is not best):
            best.doubt = (
                "balances and most amounts have a minus: a debt, or a card that was overpaid"
            )
    return best


def _may_be_owed(best: TriedReading, tried: Sequence[TriedReading]) -> bool:
    """Whether a reading has the printed signs of one column, and nothing but the name of a card would turn them."""
    if best.terms.sign != "printed" or best.terms.balances != "printed":
        return False
    if not any(one.terms.sign == "flipped" and one.score == best.score for one in tried):
        return False
    texts = [entry.money.get(vocab.AMOUNT, "") for entry in best.drafts]
    if any(_has_plus(text) for text in texts):
        return False
    values = [value for text in texts if (value := money.amount(text, best.terms.decimal))]
    share = CLEARLY_IN if len(values) >= MANY else MAJORITY
    lines, unread = _values(best.rows, best.terms)
    is_owed = sum(value > 0 for value in values) > len(values) * share
    return is_owed and not unread and not _votes(best.rows, lines).clear_agree


def _as_printed(draft: SectionDraft, sound: list[TriedReading]) -> list[TriedReading]:
    """Of the readings that add up those that turn no sign, where what is no card prints both signs, or each balance.

    With all signs turned it adds up as well, so words alone would decide: a purchase that came in is a refund.
    """
    if draft.card or not (draft.is_bank or _has_running(draft)) or draft.hints.sign:
        return sound
    texts = [entry.money.get(vocab.AMOUNT, "") for entry in draft.rows]
    minus = [any(c in money.MINUS or c == "(" for c in text) for text in texts if text]
    kept = [one for one in sound if one.terms.sign != "flipped" and one.terms.balances != "owed"]
    if any(_is_of_paid_card(one) for one in kept):
        return sound  # a card of which the page says only to which account it is to be paid
    prints_both = any(minus) and not all(minus)
    return kept if kept and (prints_both or _has_running(draft)) else sound


def _has_running(draft: SectionDraft) -> bool:
    """Whether a balance stands behind each row, as hardly any card prints it."""
    return len(draft.rows) > 1 and all(vocab.BALANCE in entry.money for entry in draft.rows)


def _is_of_paid_card(tried: TriedReading) -> bool:
    """Whether a reading takes out what by decisive words was paid to a card, and no word agrees with it."""
    lines, unread = _values(tried.rows, tried.terms)
    if unread:
        return False
    votes = _votes(tried.rows, lines)
    return votes.decisive_against > 0 and not votes.strong_agree


def _may_be_overpaid(tried: TriedReading) -> bool:
    """Whether a minus at both ends may be that of refunds: where all amounts have one, nothing was bought."""
    texts = [entry.money.get(vocab.AMOUNT, "") for entry in tried.drafts]
    values = [money.amount(text, tried.terms.decimal) or Decimal(0) for text in texts]
    return _prints_debts_as_negative(tried) and any(value > 0 for value in values)


def _evidence(tried: TriedReading, draft: SectionDraft) -> tuple[int, ...]:
    """What speaks for the signs of a reading, the strongest first: printed signs, words, what is usual."""
    lines, unread = _values(tried.rows, tried.terms)
    if unread:
        return (-2, 0, 0)
    told = [
        (entry.money.get(vocab.AMOUNT, ""), line.amount > 0)
        for line, entry in zip(lines, tried.drafts, strict=True)
    ]
    plus = [is_in for text, is_in in told if _has_plus(text)]
    bare = {is_in for text, is_in in told if _is_bare(text)}
    # A plus beside some of what came in, and beside none of the rest of it, is the mark of a footnote.
    signs = 0 if not plus or not bare.isdisjoint(plus) else 1 if all(plus) else -1
    votes = _votes(tried.rows, lines)
    words = -1 if votes.is_refuted else 1 if votes.strong_agree > votes.strong_against else 0
    is_debt = bool(draft.card) and not _prints_debts_as_negative(tried)
    is_usual = (tried.terms.balances == "owed") == is_debt
    return (signs, words, int(is_usual))


def _votes(rows: Sequence[StatementRow], lines: Sequence[RowAmounts]) -> DirectionVotes:
    """What the words of rows say of the signs by which their amounts were read."""
    return count_votes(
        [
            (evidence_of([row.description]), line.amount > 0)
            for row, line in zip(rows, lines, strict=True)
        ]
    )


def _prints_debts_as_negative(tried: TriedReading) -> bool:
    """Whether both balances and most amounts have a minus: as debts, they would be of a card that was overpaid."""
    decimal = tried.terms.decimal
    ends = [money.amount(end.value, decimal) for end in (tried.opening, tried.closing) if end]
    values = [
        money.amount(entry.money.get(vocab.AMOUNT, ""), decimal) or Decimal(0)
        for entry in tried.drafts
    ]
    is_below = len(ends) == 2 and all(end is not None and end <= 0 for end in ends) and any(ends)
    return is_below and 2 * sum(value < 0 for value in values) > len(values)


def _has_plus(text: str) -> bool:
    """Whether a plus is printed beside an amount: no bank prints one beside what went out."""
    return text.startswith("+") or text.endswith("+")


def _is_bare(text: str) -> bool:
    """Whether an amount has no sign and no letters beside its figures."""
    return bool(text) and not any(c in money.MINUS or c in "(+" or c.isalpha() for c in text)


def _try_signs(choice: SectionDraft) -> list[TriedReading]:
    terms = _terms(choice)
    return [
        _try(choice, reading, replace(terms, sign=reading.sign, balances=reading.balances))
        for reading in sign_readings(choice, terms)
    ]


def _without_a_list(draft: SectionDraft) -> list[TriedReading]:
    """The readings without the rows of one list, if only without it the rows make what is printed.

    Beside their bookings banks list once more what is paid in parts, or by cheque. Such a list has amounts that are
    booked, and the balances, or the totals of both sides, leave no place for it.
    """
    proven: list[list[TriedReading]] = []
    for listed in _lists_of(draft):
        booked = [entry for entry in draft.rows if id(entry) not in listed]
        again = Counter(_amount_figures(entry) for entry in draft.rows if id(entry) in listed)
        if again - Counter(map(_amount_figures, booked)):
            continue
        tried = _try_signs(replace(draft, rows=booked))
        if any(one.is_sound and (one.is_summed or _has_both_totals(draft)) for one in tried):
            proven.append(tried)
            for one in tried:
                left = f"{len(listed)} rows of a list are left out: only without them the others make what is printed"
                one.terms = replace(one.terms, why={**one.terms.why, "rows": left})
    return proven[0] if len(proven) == 1 else []


def _amount_figures(entry: DraftRow) -> int:
    return next((_figures(text) for role, text in entry.money.items() if role != vocab.BALANCE), 0)


def _has_sums(entry: DraftRow, above: "_Summed", decimal: str) -> bool:
    """Whether a row has the sum of the debits above it and that of the credits: no booking is both."""
    values = [
        (role, money.amount(entry.money.get(role, ""), decimal))
        for role in (vocab.DEBIT, vocab.CREDIT)
    ]
    return all(value and above.is_sum(role, value) for role, value in values)


def _has_both_totals(draft: SectionDraft) -> bool:
    return {"debits", "credits"} <= {fact.kind for fact in draft.facts}


def _lists_of(draft: SectionDraft) -> list[frozenset[int]]:
    """The ids of the rows of each list but the longest: rows below one title, or between printed totals."""
    kinds = {vocab.CLOSING, *vocab.TOTAL_LABELS}
    ends = sorted((fact.page, fact.line) for fact in draft.facts if fact.kind in kinds)
    lists: list[list[int]] = []
    last: tuple[int, int] | None = None
    for entry in draft.rows:
        own = (entry.group, bisect(ends, (entry.page, entry.line)))
        if own != last:
            lists.append([])
        lists[-1].append(id(entry))
        last = own
    longest = max(lists, key=len, default=[])
    others = [frozenset(each) for each in lists if each is not longest]
    return others if len(others) <= LISTS_MAX else []


def _row_choices(draft: SectionDraft) -> Iterator[list[DraftRow]]:
    """The rows without the doubtful ones, then all of them, then with some of the doubtful ones.

    A remark alone leaves no row out, nor does a date that is missing: such rows are first tried with the others.
    """
    doubtful = [at for at, entry in enumerate(draft.rows) if entry.doubt]
    remarked = {at for at in doubtful if draft.rows[at].doubt.startswith(KEPT)}

    def without(dropped: Container[int]) -> list[DraftRow]:
        return [entry for at, entry in enumerate(draft.rows) if at not in dropped]

    if remarked:
        yield without(frozenset(doubtful) - remarked)
    yield without(frozenset(doubtful))
    if not doubtful:
        return
    yield draft.rows
    if 1 < len(doubtful) <= DOUBTS_MAX:
        for bits in range(1, (1 << len(doubtful)) - 1):
            yield without({at for bit, at in enumerate(doubtful) if not bits >> bit & 1})


def _leave_repeated_amounts(draft: SectionDraft) -> None:
    """Take a column of balances for what it is where each row repeats its own amount there: what is billed of it.

    No balance does that twice, because it would have to be nothing before each row.
    """
    pairs = [
        (_figures(text), _figures(entry.money[vocab.BALANCE]))
        for entry in draft.rows
        if vocab.BALANCE in entry.money
        for role, text in entry.money.items()
        if role in vocab.AMOUNT_ROLES
    ]
    if len(pairs) > 1 and all(own == again and own for own, again in pairs):
        for entry in draft.rows:
            entry.money.pop(vocab.BALANCE, None)


def _figures(text: str) -> int:
    return int("".join(filter(str.isdigit, text)) or 0)


def _doubt_rows(draft: SectionDraft) -> None:
    """Doubt rows that say that they do not count, and those without a date that are the sum of the rows above them.

    A sum may be of all amounts, of the debits or of the credits; of all rows, or of those since the last such line.
    """
    decimal = decimal_of(draft).decimal
    ends = [(fact.page, fact.line) for fact in draft.facts if fact.kind == vocab.CLOSING]
    for entry in missing_dates(draft.rows):
        is_below = any(end < (entry.page, entry.line) for end in ends)
        doubt = BELOW_END if is_below else UNDATED
        entry.doubt = entry.doubt or ("" if vocab.BALANCE in entry.money else doubt)
    whole, part = _Summed(), _Summed()
    above: Decimal | None = None
    for entry in draft.rows:
        after = money.amount(entry.money.get(vocab.BALANCE, ""), decimal)
        roles = [role for role in vocab.AMOUNT_ROLES if role in entry.money]
        value = money.amount(entry.money[roles[0]], decimal) if len(roles) == 1 else None
        # TOTAL sells wine: a balance that follows from the one above it is that of a booking.
        is_moved = bool(value) and None not in (above, after) and entry.doubt != UNBOOKED
        if is_moved and abs(after - above) == abs(value):  # type: ignore[operator, arg-type]
            entry.doubt = ""
        above = after if after is not None else above
        text = " ".join(entry.texts)
        if phrase := annulled_phrase(text) or unbooked_word(text):
            entry.doubt = entry.doubt or f"{REMARKED} {phrase!r}"
        if _has_sums(entry, whole, decimal):
            entry.doubt = entry.doubt or OF_BOTH_SIDES
        if value is None:
            continue
        is_bare = not entry.is_dated and vocab.BALANCE not in entry.money
        if is_bare and (whole.is_sum(roles[0], value) or part.is_sum(roles[0], value)):
            entry.doubt = SUMMED if entry.doubt in ("", UNDATED, BELOW_END) else entry.doubt
            part = _Summed()
        else:
            whole.add(roles[0], value)
            part.add(roles[0], value)


class _Summed:
    """Amounts of rows, by their column."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Decimal]] = {}

    def add(self, role: str, value: Decimal) -> None:
        self._columns.setdefault(role, []).append(value)

    def is_sum(self, role: str, value: Decimal) -> bool:
        """Whether an amount is the sum of at least two others of its column, with its sign: of one side, or of both."""
        values = self._columns.get(role, [])
        sides = (
            [each for each in values if each < 0],
            [each for each in values if each >= 0],
            values,
        )
        return bool(value) and any(
            len(side) >= SUMMANDS_MIN and sum(side) == value for side in sides
        )


def decimal_of(draft: SectionDraft) -> money.DecimalVote:
    """The decimal sign of a section; by its currency where every amount could be read with either.

    Whole amounts with a sign of thousands are common, and three decimals are those of a few currencies.
    """
    step = len(draft.rows) // VOTERS_MAX + 1
    texts = [text for entry in draft.rows[::step] for text in entry.money.values()]
    texts += [fact.value for fact in draft.facts + draft.shared]
    said = draft.hints.decimal
    vote = money.vote_decimal(texts, usual=said or ".")
    printed = {sign for sign in ".," for text in texts if sign in text}
    if vote.is_sure or said or len(printed) != 1:
        return vote
    (sign,) = printed
    if money.EXPONENTS.get(draft.currency) == MILLS:
        why = f"amounts in {draft.currency} have three decimals"
        return money.DecimalVote(sign, is_sure=True, why=why)
    other = "," if sign == "." else "."
    if sign == "," and any(
        map(_is_east_asian, (text for entry in draft.rows for text in entry.texts))
    ):
        why = "in Chinese, Japanese and Korean no comma is a decimal sign"
        return money.DecimalVote(other, is_sure=True, why=why)
    if any(map(_WHOLE_HUNDREDS.fullmatch, texts)):
        # With three decimals they would be printed: 900,000 beside 5,936.
        why = f"amounts below a thousand have no {sign!r}, so it separates thousands"
        return money.DecimalVote(other, is_sure=True, why=why)
    why = f"three digits behind {sign!r} are no decimals of {draft.currency or 'most currencies'}"
    return money.DecimalVote(other, is_sure=bool(draft.currency), why=why)


def _is_east_asian(text: str) -> bool:
    return any("\u3040" <= letter <= "\ud7a3" for letter in text)


def _terms(draft: SectionDraft) -> ReadingTerms:
    decimal = decimal_of(draft)
    printed = [entry.date for entry in draft.rows]
    printed = [text + "." if interpret.DAY_MONTH.fullmatch(text) else text for text in printed]
    around = [draft.period.start, draft.period.end, *(fact.date for fact in draft.facts)]
    order = dates.vote_order([*printed, *filter(None, around)])
    date_order, why = order.order, order.why
    era = order.era or (draft.era if _has_short_years(printed) else 0)
    hints, said = draft.hints, draft.hints.date_order
    if era == dates.REIWA and _is_readable(printed, "ymd"):
        date_order, why = "ymd", "year first: the years are those of an emperor"
        if _are_western(printed):
            era, why = 0, "year first, as in Japan: the years are too late for those of the emperor"
    elif not date_order or not fits_period(printed, date_order, draft.period, era):
        date_order, era, why = order_by_period(printed, draft.period, order, era)
    if not date_order and draft.day_first:
        date_order, why = "dmy", f"dmy: {draft.day_first}"
    if order.is_custom and date_order == order.order:
        other, _, told = order_by_period(printed, draft.period, order, era)
        if other != date_order:
            date_order, why = "", f"dates with points have the day first, but {told}"
    if said and (hints.is_order_said or not date_order) and _is_readable(printed, said):
        date_order, why = said, f"{said}: the user says so"
    return ReadingTerms(
        date_order=date_order,
        decimal=decimal.decimal,
        era=era,
        why={"decimal": decimal.why, "date_order": why},
    )


def _are_western(printed: Iterable[str]) -> bool:
    """Whether short years that stand first are those of the Gregorian calendar."""
    found = [parts.numbers[0] for text in printed if (parts := dates.split_date(text))]
    return min(found, default=0) >= WESTERN_MIN


def _is_readable(printed: Iterable[str], order: str) -> bool:
    """Whether every date is one in this order: what the user says cannot make a thirteenth month."""
    return all(dates.read_date(text, order, 0, dates.LEAP_YEAR) is not None for text in printed)


def _has_short_years(printed: Iterable[str]) -> bool:
    found = [
        parts for text in printed if (parts := dates.split_date(text)) and len(parts.numbers) == 3
    ]
    return bool(found) and all(parts.year_digits == 2 for parts in found)


def _try(draft: SectionDraft, reading: SignReading, terms: ReadingTerms) -> TriedReading:
    rows = reading.make(draft.rows)
    lines, unread = _values(rows, terms)
    facts = without_handovers(draft.facts, draft.rows)
    own = balance_pairs(facts, terms)
    shared = balance_pairs(facts + draft.shared, terms)
    total = sum((line.amount for line in lines), Decimal(0))
    opening, closing = (
        matching_pair(own, total)
        or matching_pair(shared, total)
        or leading_end(own, lines)
        or own[0]
    )
    is_summed = adds_up(opening, closing, total)
    result = reconcile(
        lines,
        opening=opening[1] if opening else None,
        closing=closing[1] if closing else None,
        totals=_printed_totals(draft.facts, terms),
    )
    chain = next((check for check in result.checks if check.name == "chain"), None)
    is_chained = chain is not None and chain.holds
    doubt = _doubt(reading, draft, lines, opening, is_chained=is_chained)
    doubt = doubt or _missing_marks(draft.rows, terms, result, is_opened=opening is not None)
    doubt = doubt or _mixed_sides(draft.rows, terms, result)
    doubt = doubt or _card_credits(draft, terms)
    doubt = "" if draft.hints.sign else doubt
    score = 2 * is_summed - 2 * (not is_summed and bool(opening and closing)) - unread
    score += 0 if chain is None else (2 if chain.holds else -2)
    return TriedReading(
        reading,
        rows,
        terms,
        opening[0] if opening else None,
        closing[0] if closing else None,
        score,
        result.is_reconciled and not unread and not doubt,
        str(result),
        draft.rows,
        doubt,
        is_summed,
    )


def contradicting_words(tried: TriedReading) -> str:
    """A sentence if the words of many rows say the opposite of their signs: debts and deposits add up alike."""
    lines, unread = _values(tried.rows, tried.terms)
    # A company pays salaries. Named columns of both sides with a balance that grows with credits are no debt.
    is_deposit = tried.terms.sign.startswith("columns") and tried.terms.balances == "printed"
    if unread or (is_deposit and tried.is_sound and tried.is_summed):
        return ""
    votes = _votes(tried.rows, lines)
    if not votes.is_doubted or votes.strong_agree:
        return ""
    return f"words of {votes.strong_against} rows contradict their signs, and those of none agree"


def totals_of(facts: Sequence[PrintedFact]) -> dict[str, str]:
    """Printed totals and counts, where each is printed once or always the same."""
    totals: dict[str, set[str]] = {}
    for fact in facts:
        if fact.kind in vocab.TOTAL_LABELS:
            totals.setdefault(fact.kind, set()).add(fact.value)
    return {kind: values.pop() for kind, values in totals.items() if len(values) == 1}


def whole_totals(tried: TriedReading, totals: dict[str, str]) -> dict[str, str]:
    """The totals without those of one part: banks print a total below each title, and a sum proves the whole."""
    if tried.score < PROVEN_SUM:
        return totals
    lines, _ = _values(tried.rows, tried.terms)
    parts: dict[int, Decimal] = {}
    if len(lines) != len(tried.drafts):
        return totals
    for line, entry in zip(lines, tried.drafts, strict=True):
        parts[entry.group] = parts.get(entry.group, Decimal(0)) + line.amount
    known = _run_sums([*parts.values()])
    # Some banks add the balances to the side that they are of.
    ends = [
        money.amount(end.value, tried.terms.decimal)
        for end in (tried.opening, tried.closing)
        if end
    ]
    sides = [
        sum((abs(v.amount) for v in lines if (v.amount < 0) == is_out), Decimal(0))
        for is_out in (True, False)
    ]
    known |= {side + abs(end) for side in sides for end in ends if end}
    return {
        kind: text
        for kind, text in totals.items()
        if kind not in (vocab.DEBIT + "s", vocab.CREDIT + "s")
        or abs(money.amount(text, tried.terms.decimal) or Decimal(0)) not in known
    }


def _run_sums(parts: Sequence[Decimal]) -> set[Decimal]:
    """The sizes of all sums of parts that follow one another: a page break makes two parts of one."""
    if not 1 < len(parts) <= PARTS_MAX:
        return set()
    runs = (accumulate(parts[first:]) for first in range(len(parts)))
    return {abs(total) for run in runs for total in run}


def _printed_totals(facts: Sequence[PrintedFact], terms: ReadingTerms) -> dict[str, Decimal]:
    read = {name: money.amount(text, terms.decimal) for name, text in totals_of(facts).items()}
    return {name: value for name, value in read.items() if value is not None}


def _doubt(
    reading: SignReading,
    draft: SectionDraft,
    lines: Sequence[RowAmounts],
    opening: KnownBalance,
    *,
    is_chained: bool,
) -> str:
    """A chain without an opening balance proves nothing about its first amount, unless that has its own sign."""
    taken = {"printed": 1, "flipped": -1}.get(
        reading.sign, 0
    )  # as what an amount without a sign counts
    is_plain = bool(taken) and all(line.amount * taken > 0 for line in lines)
    if is_chained and is_plain and opening is None and not any(e.mark for e in draft.rows):
        return "no amount has a sign and no opening balance is printed: the first may be a debit or a credit"
    return ""


def _missing_marks(
    drafts: Sequence[DraftRow], terms: ReadingTerms, result: Reconciliation, *, is_opened: bool
) -> str:
    """Where both debits and credits are marked, an amount without a mark is neither, unless balances tell it."""
    marks = [_sign_of_mark(entry, terms.decimal) for entry in drafts]
    if not {1, -1} <= set(marks):
        return ""
    bare = marks if not result.is_reconciled else [] if is_opened else [marks[0], marks[-1]]
    count = bare.count(0)
    return f"debits and credits are marked; rows without a mark: {count}" if count else ""


def _mixed_sides(drafts: Sequence[DraftRow], terms: ReadingTerms, result: Reconciliation) -> str:
    """Where some debits, or credits, have a minus and others none, only a sum tells which of them are reversals."""
    for role in () if result.is_reconciled else (vocab.DEBIT, vocab.CREDIT):
        read = (money.amount(entry.money.get(role, ""), terms.decimal) for entry in drafts)
        if len({value > 0 for value in read if value}) > 1:
            return f"some {role}s have a minus and others none: which of them are reversals is not proven"
    return ""


def _card_credits(draft: SectionDraft, terms: ReadingTerms) -> str:
    """A card with nothing but credits of both signs: half of a name may be missing, and a debt adds up either way."""
    roles = {role for entry in draft.rows for role in entry.money if role in vocab.AMOUNT_ROLES}
    if not draft.card or roles != {vocab.CREDIT}:
        return ""
    read = (money.amount(entry.money.get(vocab.CREDIT, ""), terms.decimal) for entry in draft.rows)
    if len({value > 0 for value in read if value}) < 2:
        return ""
    return "the only column of amounts of a card is called credits, and has amounts of both signs"


def _sign_of_mark(entry: DraftRow, decimal: str) -> int | None:
    """The direction that the mark of an amount gives, 0 without a mark; None where a sign or a zero needs none."""
    read = money.read_amount(entry.money.get(vocab.AMOUNT, ""), decimal)
    mark = money.mark_sign(read.mark or entry.mark) if read is not None else 0
    return mark if mark or (read is not None and read.value > 0) else None


def _values(rows: Sequence[StatementRow], terms: ReadingTerms) -> tuple[list[RowAmounts], int]:
    """Rows as values, and how many could not be read."""
    lines: list[RowAmounts] = []
    unread = 0
    for row in rows:
        try:
            lines.append(
                RowAmounts(
                    interpret.signed_amount(row, terms), interpret.balance(row.balance, terms)
                )
            )
        except interpret.UnreadableText:
            unread += 1
    return lines, unread
