"""One line of a table, with its words in their columns."""

import re
from collections.abc import Sequence

import msgspec

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.headings import role_of
from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.columns import (
    TableColumn,
    TableHeading,
    labelled_day,
    place_amounts,
)
from stateward.pipelines.statements.pdf.tokens import (
    DAY_MONTH,
    StatementLine,
    WordSpan,
    has_decimals,
    is_beside_money,
    is_money,
)

FURTHER = "further date"
DATE_REACH = 22.0  # points: how far left of its heading a date may begin
DATE_REACH_INSIDE = 9.0  # the same, where another column is to its left
RIGHT_NEAR = 3.0  # points: how far from the right edge of its heading a right-aligned date may end
ROUNDED = 0.6  # points: places of columns that are measured are whole ones
TEXT_REACH = 4.0  # points: how far left of its heading a text may begin

_YEAR = re.compile(r"(?:19|20|25)[0-9]{2}")
_LEADER = re.compile(r"[.…_]{4,}")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?|[AaPp][Mm]", re.ASCII)


class ParsedLine(msgspec.Struct, gc=False):
    """One line in its columns."""

    line: StatementLine
    date: str
    value_date: str
    money: dict[str, str]
    more: dict[str, str]
    text: str
    party: str
    reference: str
    mark: str
    currency: str
    x_text: float  # left edge of its text
    kind: str = ""  # what is printed in the column of kinds
    year: str = ""  # printed alone in the column of dates: the year of the date above
    parts: list[StatementLine] = []  # further lines that are parts of it (see `centred`)

    @property
    def has_amount(self) -> bool:
        """Whether it has an amount in a column of amounts."""
        return not vocab.AMOUNT_ROLES.isdisjoint(self.money)

    @property
    def fills_row(self) -> bool:
        """Whether it has what only rows have besides text and amounts: a value date, a reference, a kind."""
        return bool(self.value_date or self.reference or self.kind)


def parse_line(heading: TableHeading, line: StatementLine) -> ParsedLine:
    """The words of a line in the columns of a heading."""
    words = line.words
    if heading.has_day_lines and (day := labelled_day(line)):
        return ParsedLine(line, day, "", {}, {}, "", "", "", "", "", 0.0)
    found = _dates(heading, line)
    used = {at for token in found.values() for at in range(token.start, token.end)}
    used |= {
        at for at in range(1, len(words)) if words[at].text == "/" and {at - 1, at + 1} <= used
    }
    placed = place_amounts(heading, line, used)
    used |= {at for token in placed.values() for at in range(token.start, token.end)}
    parsed = ParsedLine(line, "", "", {}, {}, "", "", "", "", "", 0.0)
    parsed.date = found[vocab.DATE].text if vocab.DATE in found else ""
    parsed.value_date = found[vocab.VALUE_DATE].text if vocab.VALUE_DATE in found else ""
    if not parsed.date:
        used |= _years(heading, parsed) | _times(heading, parsed)
    for at, token in placed.items():
        column = heading.columns[at]
        if column.role in vocab.MONEY_ROLES and column.role not in parsed.money:
            parsed.money[column.role] = token.text
        else:
            parsed.more[column.text] = token.text
    _book_fee(heading, parsed)
    # Without the dots that lead the eye to the amount.
    used |= {at for at, word in enumerate(words) if _LEADER.fullmatch(word.text)}
    _put_text(heading, parsed, [(at, word) for at, word in enumerate(words) if at not in used])
    return parsed


def _book_fee(heading: TableHeading, parsed: ParsedLine) -> None:
    """Take what stands in a column of fees alone for a debit: the row is that of the fee."""
    if not parsed.date or parsed.has_amount or not heading.has({vocab.DEBIT}):
        return
    fees = [name for name in parsed.more if role_of(name) == "fee" and is_money(parsed.more[name])]
    if len(fees) == 1:
        parsed.money[vocab.DEBIT] = parsed.more.pop(fees[0])


def _years(heading: TableHeading, parsed: ParsedLine) -> set[int]:
    """Indexes of years that are alone in a column of dates, below dates without a year."""
    places = [column.x0 for column in heading.columns if column.role in vocab.DATE_ROLES]
    found = {
        at
        for at, word in enumerate(parsed.line.words)
        if _YEAR.fullmatch(word.text) and any(abs(word.x0 - place) < TEXT_REACH for place in places)
    }
    if found:
        parsed.year = parsed.line.words[min(found)].text
    return found


def _times(heading: TableHeading, parsed: ParsedLine) -> set[int]:
    """Indexes of times in a column of dates: they stand below the date of the row, and beside its text."""
    places = [column.x0 for column in heading.columns if column.role in vocab.DATE_ROLES]
    return {
        at
        for at, word in enumerate(parsed.line.words)
        if _TIME.fullmatch(word.text) and any(abs(word.x0 - place) < TEXT_REACH for place in places)
    }


def _dates(heading: TableHeading, line: StatementLine) -> dict[str, WordSpan]:
    """The dates of a line by role: that of the booking is the date, else the first one unless it is a value date."""
    columns = [column for column in heading.columns if column.role in vocab.DATE_ROLES]
    has_date = heading.has_day_lines or any(column.role == vocab.DATE for column in columns)
    found: dict[str, WordSpan] = {}
    at = 0
    if not columns:
        words = line.words
        may_be = words and words[0].x0 < text_start(heading) + 1 and not _is_number(heading, words)
        token = line.date_at(0) if may_be else None
        return {vocab.DATE: token} if token else {}
    named = [c for c in columns if c.role == vocab.DATE and vocab.is_booking_date(c.text)]
    for column in columns:
        role = column.role if has_date else vocab.DATE
        token = _date_under(heading, column, line, at)
        if token is not None:
            at = token.end
            if (
                role in found and named and column is named[0]
            ):  # what stands before it is the purchase
                found[vocab.VALUE_DATE] = found.pop(role)
            role = vocab.VALUE_DATE if role in found else role
            role = FURTHER if role in found else role  # a third date is no text either
            found.setdefault(role, token)
    if not has_date and vocab.DATE not in found and vocab.VALUE_DATE in found:
        found[vocab.DATE] = found.pop(vocab.VALUE_DATE)
    return found


def _is_number(heading: TableHeading, words: Sequence[PdfWord]) -> bool:
    """Whether a line begins with figures alone below a name of references: `060725253953` is no day."""
    first = heading.columns[0]
    is_below = abs(words[0].x0 - first.x0) < TEXT_REACH
    return is_below and first.role in vocab.NUMBER_ROLES and words[0].text.isdigit()


def _date_under(
    heading: TableHeading, column: TableColumn, line: StatementLine, start: int
) -> WordSpan | None:
    """The date that starts nearest to the left edge of its heading, from a word on."""
    words = line.words
    nexts = [c.x0 for c in heading.columns if c.x0 > column.x0 and c.role not in vocab.DATE_ROLES]
    end = min([*nexts, max(column.x1 + 6, column.x0 + 30)])
    if column is heading.columns[0]:
        # Only a bullet or the like may precede the first column.
        first = next(
            (
                at
                for at in range(len(words))
                if has_letters(words[at].text)
                or len(words[at].text) > 2
                or words[at].text.isdigit()
            ),
            0,
        )
        # A number of the row may, if the date then stands exactly below its heading.
        exact = [at for at, word in enumerate(words) if abs(word.x0 - column.x0) <= RIGHT_NEAR]
        reach, span = DATE_REACH, [*range(first, min(first + 1, len(words))), *exact[:1]]
    else:
        reach, span = DATE_REACH_INSIDE, list(range(start, len(words)))
    found = [
        token
        for at in span
        if (column.x0 - reach <= words[at].x0 < end or _is_under(words[at], column))
        and not _begins_text(heading, column, words[at])
        and (token := line.date_at(at)) is not None
        and (heading.has_day_months or not DAY_MONTH.fullmatch(token.text) or at)
    ]
    return min(found, key=lambda token: abs(token.x0 - column.x0), default=None)


def _begins_text(heading: TableHeading, column: TableColumn, word: PdfWord) -> bool:
    """Whether a word stands exactly where texts begin, by their places in the rows, and not where the days do."""
    return abs(word.x0 - column.x0) > RIGHT_NEAR and any(
        each.role == vocab.TEXT and not each.text and abs(word.x0 - each.x0) <= ROUNDED
        for each in heading.columns
    )


def _is_under(word: PdfWord, column: TableColumn) -> bool:
    """Whether a word is right-aligned with a heading, or stands below it."""
    return abs(word.x1 - column.x1) <= RIGHT_NEAR or (
        column.role == vocab.VALUE_DATE and word.x0 < column.x1 and column.x0 < word.x1
    )


def text_start(heading: TableHeading) -> float:
    """The left edge of the first column of text."""
    return min((c.x0 for c in heading.columns if c.role in vocab.TEXT_ROLES), default=0.0)


def dates_end(heading: TableHeading) -> float:
    """Where the columns of dates end that stand left of the texts; nowhere if there are none."""
    ends = [column.x1 for column in heading.columns if column.role in vocab.DATE_ROLES]
    return max((end for end in ends if end < text_start(heading)), default=float("inf"))


def _put_text(heading: TableHeading, parsed: ParsedLine, words: list[tuple[int, PdfWord]]) -> None:
    """Put words that are neither date nor amount into their text columns."""
    has_text = any(column.role in (vocab.TEXT, vocab.PARTY) for column in heading.columns)
    # Beside a kind or a column without a known name; lines below a row go on with its text anywhere.
    has_words = bool(parsed.date) and any(c.role in ("", vocab.KIND) for c in heading.columns)
    texts: list[str] = []
    parties: list[str] = []
    last_role, last_x1 = "", -1.0
    for _, word in words:
        role, title = _text_role(heading, word)
        # Text that extends into the next column still belongs to its own.
        if last_role in (vocab.TEXT, vocab.PARTY) and word.x0 - last_x1 < 0.6 * (
            word.bottom - word.top
        ):
            role = last_role if role not in (vocab.TEXT, vocab.PARTY) else role
        if role in vocab.MONEY_ROLES or role == vocab.OTHER:
            if is_beside_money(word.text) or _TIME.fullmatch(word.text):
                continue
            role = vocab.TEXT
        elif role == vocab.CURRENCY and not word.text.isalpha() and not is_beside_money(word.text):
            role = vocab.TEXT  # a figure is no currency
        last_role, last_x1 = role, word.x1
        if role == vocab.MARK:
            parsed.mark = word.text
        elif role == vocab.CURRENCY:
            parsed.currency = word.text
        elif role in (vocab.REFERENCE, vocab.CHECK) and (has_text or has_words):
            parsed.reference = f"{parsed.reference} {word.text}".strip()
        elif role == vocab.KIND and has_text:
            parsed.kind = word.text
            parsed.more[title] = f"{parsed.more.get(title, '')} {word.text}".strip()
        else:
            if not texts:
                parsed.x_text = word.x0
            texts.append(word.text)
            if role == vocab.PARTY:
                parties.append(word.text)
    parsed.text, parsed.party = " ".join(texts), " ".join(parties)


def _text_role(heading: TableHeading, word: PdfWord) -> tuple[str, str]:
    """The role and title of the column of a word: the last one whose heading starts no further right."""
    role, title = vocab.TEXT, ""
    for column in heading.columns:
        if column.x0 <= word.x0 + TEXT_REACH or (
            column.x0 < word.x1 and column.role in (vocab.MARK, vocab.CURRENCY, vocab.REFERENCE)
        ):
            role, title = column.role, column.text
    if role in vocab.DATE_ROLES or not role:
        role = vocab.TEXT
    return role, title


def has_letters(text: str) -> bool:
    """Whether a text contains a letter."""
    return any(letter.isalpha() for letter in text)


def any_money(one: ParsedLine) -> str:
    """The last amount of a line, in whatever column; "" if it has none."""
    found = [token.text for token in one.line.money if has_decimals(token.text)]
    return found[-1] if found else next(iter(one.money.values()), "")
