"""Whether a section without balances is accounted for: no amount on its pages is left over, and its signs are printed.

Rows of a PDF are found by where they stand, so one that was missed leaves no trace but in a sum. Where no sum is
printed, this is the next best: every amount in a column of amounts is that of a row, a balance or a total.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import pairwise

from stateward.pipelines.kit import dates, money
from stateward.pipelines.kit.pdf.lines import cells_of
from stateward.pipelines.statements import headings, interpret
from stateward.pipelines.statements.booking import annulled_phrase, unbooked_word
from stateward.pipelines.statements.direction import count_votes, evidence_of
from stateward.pipelines.statements.model import RowPlace, StatementProblem, StatementRow
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.choose import LEFT, SUMMED, TriedReading
from stateward.pipelines.statements.pdf.columns import EDGE_NEAR, TableHeading, is_in_text
from stateward.pipelines.statements.pdf.rows import NAMED_BALANCE, UNBOOKED, DraftRow
from stateward.pipelines.statements.pdf.sign_readings import SectionDraft, by_title
from stateward.pipelines.statements.pdf.tables import PdfTable
from stateward.pipelines.statements.pdf.tokens import StatementLine, WordSpan, has_decimals
from stateward.pipelines.statements.table_currency import currencies_of, sign_beside

Place = tuple[int, int]
RAW_CHARS_MAX = 200
_RATE = re.compile(r"[0-9]{1,4}[.,][0-9]{4,6}")
BOX_REACH = 4.0  # points between the edges of a label and of the figure below it
DASHES = frozenset({"-", "–", "—", "/"})  # between the first and the last day of a period
ROW_WORDS_MAX = 30  # a line with more words is prose
_SMUDGED = re.compile(
    r"#{3,}|[-+(]?(?=[^#?*\ufffd]*[#?*\ufffd])[0-9#?*\ufffd]+(?:[.,'][0-9#?*\ufffd]+)*[.,][0-9#?*\ufffd]{2}\)?"
)


def is_accounted(
    draft: SectionDraft,
    tried: TriedReading,
    tables: Iterable[PdfTable],
    known: Set[Place],
    totals: Mapping[int, Sequence[str]],
) -> bool:
    """Whether nothing speaks against a section that nothing proves; `known` are the lines that were read or skipped.

    `totals` are the sums that are printed below groups of rows.
    """
    if not tried.rows:
        return False
    if all(entry.direction for entry in tried.drafts) and _are_summed(tried, totals):
        return tried.sign_reading.make is by_title and not _owes_otherwise(draft, tried)
    tables = list(tables)
    if _is_claimed(draft, tried, totals, tables):
        return True
    if draft.is_inferred or any(entry.doubt or entry.title for entry in tried.drafts):
        return False
    taken = set(map(id, tried.drafts))
    left_out = [
        entry
        for entry in draft.rows
        if id(entry) not in taken and entry.doubt != NAMED_BALANCE  # these are told by themselves
    ]
    if not all(_is_total(entry, tried) for entry in left_out):
        return False
    if not has_printed_signs(draft, tried) or _lacks_texts(tried) or _is_one_sided(tried, tables):
        return False
    lines = {(line.page, line.number): line for table in tables for line in table.lines}
    if any(_has_left_amounts(entry, lines) for entry in tried.drafts):
        return False
    return not left_lines(tables, known)


def _is_claimed(
    draft: SectionDraft,
    tried: TriedReading,
    totals: Mapping[int, Sequence[str]],
    tables: Iterable[PdfTable],
) -> bool:
    """Whether a card that prints no balance before its rows claims what they add up to: nothing was owed before.

    What was returned may be among them, if more was bought. A total below the rows claims all only where no other
    amount follows, as fees may have a total of their own, and where the claim itself is not printed.
    """
    is_debt = bool(draft.card) and tried.terms.balances == "owed" and len(tried.rows) > 1
    if not is_debt or tried.opening is not None or _owes_otherwise(draft, tried):
        return False
    read = [_value_of(row, tried) for row in tried.rows]
    values = [value for value in read if value is not None]
    owed = -sum(values, Decimal(0))
    printed = [tried.closing.value] if tried.closing is not None else []
    if not set(map(abs, _values(tried, _amounts_below(tried, tables)))) - {owed}:
        printed += [text for found in totals.values() for text in found]
    claimed = [abs(value) for value in _values(tried, printed)]
    is_bought = 2 * sum(value <= 0 for value in values) > len(read)
    return len(values) == len(read) and is_bought and owed > 0 and owed in claimed


def _owes_otherwise(draft: SectionDraft, tried: TriedReading) -> bool:
    """Whether a card claims something else than its rows add up to, and no balance before them explains it."""
    if not draft.card or tried.opening is not None or tried.closing is None:
        return False
    read = [_value_of(row, tried) for row in tried.rows]
    owed = abs(sum((value for value in read if value is not None), Decimal(0)))
    return owed not in map(abs, _values(tried, [tried.closing.value]))


def _amounts_below(tried: TriedReading, tables: Iterable[PdfTable]) -> list[str]:
    """The amounts with decimals that tables print below the last row."""
    last = max((place for entry in tried.drafts for place in entry.lines), default=(0, 0))
    lines = (line for table in tables for line in table.lines if (line.page, line.number) > last)
    return [token.text for line in lines for token in line.money if has_decimals(token.text)]


def _are_summed(tried: TriedReading, totals: Mapping[int, Sequence[str]]) -> bool:
    """Whether below each title the amounts add up to the total that is printed there."""
    groups: dict[int, Decimal] = {}
    for entry in tried.drafts:
        for value in _values(tried, [entry.money.get(vocab.AMOUNT, "")]):
            groups[entry.group] = groups.get(entry.group, Decimal(0)) + value
    return bool(groups) and all(
        abs(total) in map(abs, _values(tried, totals.get(group, ())))
        for group, total in groups.items()
    )


def _is_one_sided(tried: TriedReading, tables: Iterable[PdfTable]) -> bool:
    """Whether rows have a side, and no heading names the other side: then the name may mean something else."""
    has_sides = any({vocab.DEBIT, vocab.CREDIT} & entry.money.keys() for entry in tried.drafts)
    return has_sides and not any(
        {vocab.DEBIT, vocab.CREDIT} <= {*table.heading.roles} for table in tables
    )


def _lacks_texts(tried: TriedReading) -> bool:
    """Whether a few rows say nothing, and the others do: without its label, a balance looks like a row."""
    said = [bool(row.description or row.counterparty or row.reference) for row in tried.rows]
    return any(said) and not all(said)


def _is_total(entry: DraftRow, tried: TriedReading) -> bool:
    """Whether a row that was left out is the total of the others: in each of its columns, theirs add up to it.

    One that is called a total may be printed without their sign.
    """
    sums = {role: text for role, text in entry.money.items() if role in vocab.AMOUNT_ROLES}
    columns = {
        role: _values(tried, [each.money.get(role, "") for each in tried.drafts]) for role in sums
    }
    if sum(map(len, columns.values())) <= len(sums):
        return False  # a row may be the same as the only other one
    size = abs if is_called_total(entry) else Decimal
    return all(
        size(sum(columns[role], Decimal(0))) == size(sum(_values(tried, [text]), Decimal(0)))
        for role, text in sums.items()
    )


def is_called_total(entry: DraftRow) -> bool:
    """Whether the text of a row begins with a word for a sum."""
    return bool(vocab.SUMS.prefix(vocab.simplify(" ".join(entry.texts))))


def row_problems(draft: SectionDraft, tried: TriedReading) -> Iterator[StatementProblem]:
    """Rows of which a remark says that they do not count, and those that may be sums: whether they were counted."""
    taken = set(map(id, tried.drafts))
    doubted = _doubted_balances(draft, tried)
    # A balance below the last row proves that nothing between both was left out, as that of each row does.
    is_led = tried.is_sound and tried.closing is not None and all(row.balance for row in tried.rows)
    is_led |= tried.is_summed
    for entry in draft.rows:
        text = " ".join(entry.texts)
        done = "it was counted" if id(entry) in taken else "it was left out"
        phrase = annulled_phrase(text) or unbooked_word(text)
        if phrase and id(entry) not in taken and tried.is_summed and not annulled_phrase(text):
            continue  # it is still to be booked, and the balances do not count it
        if phrase:
            code, message = "BOOKING_UNPROVEN", f"the text of the row says {phrase!r}, and {done}"
        elif entry.doubt == UNBOOKED and id(entry) in taken:
            code, message = "BOOKING_UNPROVEN", f"{UNBOOKED}, and {done}"
        elif entry.doubt == SUMMED and not is_led and not is_called_total(entry):
            code, message = "TOTAL_SUSPECTED", f"the row is the sum of those above it; {done}"
        elif entry.doubt in LEFT and id(entry) not in taken and not tried.is_summed:
            code, message = "ROW_UNREAD", f"the row was left out, because {entry.doubt}"
        elif id(entry) in doubted:
            code, message = (
                "TOTAL_SUSPECTED",
                f"the row is called a balance, and none proves it; {done}",
            )
        else:
            continue
        place = RowPlace(entry.page, entry.line)
        yield StatementProblem(code=code, message=message, place=place, raw=text[:RAW_CHARS_MAX])


def _doubted_balances(draft: SectionDraft, tried: TriedReading) -> set[int]:
    """The rows between bookings that are called a balance, and to or from which no bookings lead.

    Before the first booking and behind the last one is the place of a balance.
    """
    named = {id(entry) for entry in draft.rows if entry.doubt == NAMED_BALANCE}
    if not named or not tried.drafts or tried.is_summed:
        return set()
    lines = [*map(id, draft.rows)]
    first, last = lines.index(id(tried.drafts[0])), lines.index(id(tried.drafts[-1]))
    booked = {id(e): row for e, row in zip(tried.drafts, tried.rows, strict=True)}
    proven: set[int] = set()
    for order in (draft.rows, draft.rows[::-1]):  # some banks print the newest row first
        before = (
            0  # the last row that is called a balance, and what has been booked since makes of it
        )
        running: Decimal | None = None
        for entry in order:
            if (row := booked.get(id(entry))) is not None:
                printed, moved = (
                    next(iter(_values(tried, [row.balance])), None),
                    _value_of(row, tried),
                )
                if printed is not None:
                    before, running = 0, printed
                else:
                    running = None if running is None or moved is None else running + moved
            elif id(entry) in named:
                value = next(iter(_values(tried, [*entry.money.values()])), None)
                if running is not None and running == value:
                    proven |= {before, id(entry)}
                before, running = id(entry), value
    return {each for each in lines[first : last + 1] if each in named} - proven


def _value_of(row: StatementRow, tried: TriedReading) -> Decimal | None:
    try:
        return interpret.signed_amount(row, tried.terms)
    except interpret.UnreadableText:
        return None


def currency_problem(tried: TriedReading) -> Iterator[StatementProblem]:
    """The first amount that is printed in another currency than the one before it, where no sum proves them all."""
    known: frozenset[str] = frozenset()
    for entry in () if tried.is_summed else tried.drafts:
        for role, text in entry.money.items():
            found = currencies_of(sign_beside(text)) if role in vocab.AMOUNT_ROLES else known
            if found and known.isdisjoint(found) and known:
                message = (
                    f"the amount {text!r} is printed in another currency than those of other rows"
                )
                place = RowPlace(entry.page, entry.line)
                yield StatementProblem(
                    code="CURRENCY_CONTRADICTED", message=message, place=place, raw=text
                )
                return
            known = known or found


def heading_currency_problem(
    tried: TriedReading, tables: Iterable[PdfTable], own: Iterable[StatementLine]
) -> Iterator[StatementProblem]:
    """The currency above the columns of amounts, where balances or the account are said to be in another one."""
    above = [
        frozenset(word for word in column.text.split() if word in money.CURRENCY_CODES)
        for table in tables
        for column in table.heading.columns
        if column.role in vocab.MONEY_ROLES
    ]
    named = above[0] if above and len(set(above)) == 1 else frozenset[str]()
    ends = [end.value for end in (tried.opening, tried.closing) if end]
    told = set(filter(None, map(account_currency, own)))
    told |= {found for text in ends if (found := sign_beside(text)) in money.CURRENCY_CODES}
    if named and len(told) == 1 and named.isdisjoint(told):
        message = (
            f"the columns of amounts are headed {', '.join(sorted(named))}, and the account is said to be in"
            f" {', '.join(told)}"
        )
        yield StatementProblem(code="CURRENCY_CONTRADICTED", message=message)


def account_currency(line: StatementLine) -> str:
    """The code behind a word for a currency in a line: `Currency: EUR`; "" without one."""
    texts = [word.text for word in line.words]
    for before, code in pairwise(texts):
        bare = before.rstrip(":")
        is_label = vocab.is_exact_heading(bare) and vocab.heading_role(bare) == vocab.CURRENCY
        if is_label and code in money.CURRENCY_CODES:
            return code
    return ""


def fee_problem(tried: TriedReading) -> Iterator[StatementProblem]:
    """Fees in a column of their own beside the amounts, where no sum shows whether the amounts contain them."""
    fees = [
        (entry, text)
        for entry in tried.drafts
        for name, text in entry.more.items()
        if headings.role_of(name) == "fee" and any(_values(tried, [text]))
    ]
    if fees and not tried.is_summed:
        entry, text = fees[0]
        message = f"{len(fees)} rows have a fee such as {text}, and nothing shows whether their amounts contain it"
        place = RowPlace(entry.page, entry.line)
        yield StatementProblem(code="FEE_UNPROVEN", message=message, place=place)


def _values(tried: TriedReading, texts: Iterable[str]) -> list[Decimal]:
    read = (money.amount(text, tried.terms.decimal) for text in texts if text)
    return [value for value in read if value is not None]


def column_sums(tried: TriedReading) -> set[Decimal]:
    """The sums of all debits and of all credits, of the section and of each page, each of several rows."""
    found: set[Decimal] = set()
    pages = {entry.page for entry in tried.drafts}
    for own in (pages, *({page} for page in pages)):
        entries = [entry for entry in tried.drafts if entry.page in own]
        for role in (vocab.DEBIT, vocab.CREDIT):
            values = _values(tried, [entry.money.get(role, "") for entry in entries])
            if len(values) > 1:
                found.add(abs(sum(values, Decimal(0))))
    return found


def is_sum_line(line: StatementLine) -> bool:
    """Whether a line begins with a word for a sum, and has an amount."""
    has_sum = any(has_decimals(token.text) for token in line.money)
    return has_sum and bool(vocab.SUMS.prefix(vocab.simplify(line.text)))


def is_boxed(line: StatementLine, above: StatementLine | None) -> bool:
    """Whether a line has nothing but dates and amounts, each below a label: a summary in boxes, and no row."""
    tokens = sorted([*line.dates, *line.money], key=lambda token: token.start)
    ends = [0, *(token.end for token in tokens)]
    if [*(token.start for token in tokens), len(line.words)] != ends or above is None:
        return False
    labels = cells_of(above)
    return len(labels) == len(tokens) and all(
        not any(map(str.isdigit, label.text))
        and (abs(token.x0 - label.x0) <= BOX_REACH or abs(token.x1 - label.x1) <= BOX_REACH)
        for label, token in zip(labels, tokens, strict=True)
    )


def is_total_line(line: StatementLine, sums: Set[Decimal]) -> bool:
    """Whether a line without a date has both sums of the columns, whatever it calls them."""
    printed = [token.text for token in line.money if has_decimals(token.text)]
    read = {abs(value) for text in printed for sign in ".," if (value := money.amount(text, sign))}
    return line.date_at(0) is None and len(sums & read) > 1


def left_lines(tables: Iterable[PdfTable], known: Set[Place]) -> list[StatementLine]:
    """The lines of tables that were not read, although an amount stands there below those of the rows."""
    return [
        line
        for table in tables
        for line in table.lines
        if (line.page, line.number) not in known and _is_left(table.heading, line)
    ]


def has_printed_signs(draft: SectionDraft, tried: TriedReading) -> bool:
    """Whether the signs are printed: in columns of their own, by a minus or a mark; and no words speak against them."""
    amounts = [entry.money.get(vocab.AMOUNT, "") for entry in tried.drafts]
    if not any(amounts):
        return not draft.card and tried.terms.sign in ("columns", "columns_signed")
    if tried.sign_reading.make is by_title and tried.terms.balances == "printed":
        return all(entry.direction for entry in tried.drafts)
    read = [money.read_amount(text, tried.terms.decimal) for text in amounts]
    is_out = [each is not None and (each.value < 0 or bool(each.mark)) for each in read]
    if not any(is_out):
        return False
    rows = zip(tried.rows, read, strict=True)
    turn = -1 if tried.terms.sign == "flipped" else 1
    votes = count_votes(
        [
            (evidence_of([row.description]), each.value * turn > 0)
            for row, each in rows
            if each is not None and not each.mark
        ]
    )
    if tried.terms.sign == "flipped" or draft.card:
        return votes.strong_agree > 0 and not votes.strong_against
    return not votes.is_refuted and votes.strong_against <= votes.strong_agree


def _has_left_amounts(entry: DraftRow, lines: dict[Place, StatementLine]) -> bool:
    """Whether a row has an amount in a cell of its own that is in no column: maybe a balance without a name."""
    used = {*entry.money.values(), *entry.more.values()}
    found = [line for place in entry.lines if (line := lines.get(place)) is not None]
    # Beside a rate of exchange, an amount behind a currency is what was paid abroad.
    has_rate = any(_RATE.fullmatch(token.text) for line in found for token in line.money)
    return any(
        has_decimals(token.text)
        and token.text not in used
        and token.start > 0
        and not _is_day_of(entry, token.text)
        and not (has_rate and _is_foreign(token, line))
        and not is_in_text(token, line.words)
        for line in found
        for token in line.money
    )


def _is_day_of(entry: DraftRow, text: str) -> bool:
    """Whether a text that could be an amount, such as 04.10, is one of the dates of its row."""
    return any(day.startswith(text) for day in (entry.date, entry.value_date))


def _is_foreign(token: WordSpan, line: StatementLine) -> bool:
    before = line.words[token.start - 1].text
    return bool(_RATE.fullmatch(token.text)) or before in money.CURRENCY_CODES


def _is_left(heading: TableHeading, line: StatementLine) -> bool:
    """Whether a line that was not read has an amount below those of a column of amounts."""
    edges: Sequence[float] = [
        column.edge or column.x1 for column in heading.columns if column.role in vocab.AMOUNT_ROLES
    ]
    day = line.date_at(0)
    text = vocab.simplify(" ".join(word.text for word in line.words[day.end if day else 0 :]))
    is_sum = bool(vocab.SUMS.prefix(text)) or any(
        labels.prefix(text) for labels in vocab.TOTAL_LABELS.values()
    )
    return not is_sum and any(
        has_decimals(token.text)
        and any(digit in token.text for digit in "123456789")
        and any(abs(token.x1 - edge) <= EDGE_NEAR for edge in edges)
        and not is_in_text(token, line.words)
        for token in line.money
    )


def is_smudged(line: StatementLine) -> bool:
    """Whether the last word of a line is an amount of which figures are hidden or lost."""
    return bool(_SMUDGED.fullmatch(line.words[-1].text))


def looks_like_row(line: StatementLine, is_amount: Callable[[str], bool] = has_decimals) -> bool:
    """Whether a line has a date at its left end and an amount at its right end.

    `is_amount`: whether a number is one as amounts are printed; `1,364` is no amount where all have cents.
    """
    token = line.date_at(0)
    amounts = [found for found in line.money if is_amount(found.text)]
    if token is None or not amounts or len(line.words) > ROW_WORDS_MAX:
        return False
    text = vocab.simplify(line.text)
    named = vocab.simplify(" ".join(word.text for word in line.words[token.end : amounts[0].start]))
    is_label = any(labels.find(text) for labels in vocab.BALANCE_LABELS.values())
    is_label = is_label or bool(vocab.SUMS.matches(named)) or begins_with_period(line)
    if not any(digit in found.text for found in amounts for digit in "123456789"):
        return False  # nothing was booked
    return amounts[-1].end == len(line.words) and amounts[0].start >= token.end and not is_label


def begins_with_period(line: StatementLine) -> bool:
    """Whether a line begins with two days that have a year and a dash or a word between them: a period, and no row."""
    days = [day for day in line.dates if dates.has_year(day.text)][:2]
    if len(days) < 2 or days[0].start:
        return False
    between = " ".join(word.text for word in line.words[days[0].end : days[1].start])
    return between in DASHES or vocab.simplify(between) in vocab.TO_WORDS
