"""One line of a table, its words each in the column that they stand in."""

import re
from collections.abc import Sequence

import msgspec

from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import vocabulary as say
from stateward.pipelines.statements.pdf.columns import Column, Heading, place
from stateward.pipelines.statements.pdf.tokens import (
    DAY_MONTH,
    StatementLine,
    Token,
    date_at,
    has_decimals,
    is_beside_money,
)

DATE_REACH = 22.0  # points: how far left of its heading a date may begin
DATE_REACH_INSIDE = 9.0  # the same, where another column stands before it
TEXT_REACH = 4.0  # points: how far left of its heading a text may begin

_YEAR = re.compile(r"(?:19|20|25)[0-9]{2}")


class Parsed(msgspec.Struct, gc=False):
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
    x_text: float  # where its text begins
    year: str = ""  # alone where dates stand: the year of the date above

    @property
    def has_move(self) -> bool:
        """Whether it has an amount in a column of amounts."""
        return not say.MOVES.isdisjoint(self.money)


def parse_line(heading: Heading, line: StatementLine) -> Parsed:
    """The words of a line, each in its column."""
    words = line.words
    found = _dates(heading, words)
    used = {at for token in found.values() for at in range(token.start, token.end)}
    placed = place(heading, line, used)
    used |= {at for token in placed.values() for at in range(token.start, token.end)}
    parsed = Parsed(line, "", "", {}, {}, "", "", "", "", "", 0.0)
    parsed.date = found[say.DATE].text if say.DATE in found else ""
    parsed.value_date = found[say.VALUE_DATE].text if say.VALUE_DATE in found else ""
    if not parsed.date:
        used |= _years(heading, parsed)
    for at, token in placed.items():
        column = heading.columns[at]
        if column.role in say.MONEY and column.role not in parsed.money:
            parsed.money[column.role] = token.text
        else:
            parsed.more[column.text] = token.text
    _put_text(heading, parsed, [(at, word) for at, word in enumerate(words) if at not in used])
    return parsed


def _years(heading: Heading, parsed: Parsed) -> set[int]:
    """Years that stand alone where dates do, under dates without one."""
    places = [column.x0 for column in heading.columns if column.role in say.DATED]
    found = {
        at
        for at, word in enumerate(parsed.line.words)
        if _YEAR.fullmatch(word.text) and any(abs(word.x0 - place) < TEXT_REACH for place in places)
    }
    if found:
        parsed.year = parsed.line.words[min(found)].text
    return found


def _dates(heading: Heading, words: Sequence[PdfWord]) -> dict[str, Token]:
    """The dates of a line by role; the first column of dates is the date unless it is a value date."""
    columns = [column for column in heading.columns if column.role in say.DATED]
    has_date = any(column.role == say.DATE for column in columns)
    found: dict[str, Token] = {}
    at = 0
    if not columns:
        token = date_at(words, 0) if words and words[0].x0 < text_start(heading) + 1 else None
        return {say.DATE: token} if token else {}
    for column in columns:
        role = column.role if has_date else say.DATE
        token = _date_under(heading, column, words, at)
        role = say.VALUE_DATE if role in found else role
        if token is not None and role not in found:
            found[role] = token
            at = token.end
    if not has_date and say.DATE not in found and say.VALUE_DATE in found:
        found[say.DATE] = found.pop(say.VALUE_DATE)
    return found


def _date_under(
    heading: Heading, column: Column, words: Sequence[PdfWord], start: int
) -> Token | None:
    """The date that begins nearest to where its heading does, from a word on."""
    nexts = [c.x0 for c in heading.columns if c.x0 > column.x0 and c.role not in say.DATED]
    end = min([*nexts, max(column.x1 + 6, column.x0 + 30)])
    if column is heading.columns[0]:
        # Nothing stands before the first column but a bullet or the like.
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
        reach, span = DATE_REACH, range(first, min(first + 1, len(words)))
    else:
        reach, span = DATE_REACH_INSIDE, range(start, len(words))
    found = [
        token
        for at in span
        if column.x0 - reach <= words[at].x0 < end
        and (token := date_at(words, at)) is not None
        and (heading.has_day_months or not DAY_MONTH.fullmatch(token.text) or at)
    ]
    return min(found, key=lambda token: abs(token.x0 - column.x0), default=None)


def text_start(heading: Heading) -> float:
    """Where the first column of text begins."""
    return min((c.x0 for c in heading.columns if c.role in say.WORDY), default=0.0)


def _put_text(heading: Heading, parsed: Parsed, words: list[tuple[int, PdfWord]]) -> None:
    """Words that are neither date nor amount, into the columns of text that they stand in."""
    has_text = any(column.role in (say.TEXT, say.PARTY) for column in heading.columns)
    texts: list[str] = []
    parties: list[str] = []
    last_role, last_x1 = "", -1.0
    for _, word in words:
        role, title = _text_role(heading, word)
        # Text that runs on from its own column into the next is still the text of its own.
        if last_role in (say.TEXT, say.PARTY) and word.x0 - last_x1 < 0.6 * (
            word.bottom - word.top
        ):
            role = last_role if role not in (say.TEXT, say.PARTY) else role
        if role in say.MONEY or role == say.OTHER:
            if is_beside_money(word.text):
                continue
            role = say.TEXT
        last_role, last_x1 = role, word.x1
        if role == say.MARK:
            parsed.mark = word.text
        elif role == say.CURRENCY:
            parsed.currency = word.text
        elif role in (say.REFERENCE, say.CHECK) and has_text:
            parsed.reference = f"{parsed.reference} {word.text}".strip()
        elif role == say.KIND and has_text:
            parsed.more[title] = f"{parsed.more.get(title, '')} {word.text}".strip()
        else:
            if not texts:
                parsed.x_text = word.x0
            texts.append(word.text)
            if role == say.PARTY:
                parties.append(word.text)
    parsed.text, parsed.party = " ".join(texts), " ".join(parties)


def _text_role(heading: Heading, word: PdfWord) -> tuple[str, str]:
    """The column that a word begins in: the last one whose heading begins no further right."""
    role, title = say.TEXT, ""
    for column in heading.columns:
        if column.x0 <= word.x0 + TEXT_REACH or (
            column.x0 < word.x1 and column.role in (say.MARK, say.CURRENCY, say.REFERENCE)
        ):
            role, title = column.role, column.text
    if role in say.DATED or not role:
        role = say.TEXT
    return role, title


def has_letters(text: str) -> bool:
    """Whether any letter is in a text."""
    return any(letter.isalpha() for letter in text)


def any_money(one: Parsed) -> str:
    """The last amount of a line, wherever it stands; "" if it has none."""
    found = [token.text for token in one.line.money if has_decimals(token.text)]
    return found[-1] if found else next(iter(one.money.values()), "")


def is_words(one: Parsed) -> bool:
    """Whether a line has text and nothing else."""
    return bool(one.text) and not one.date and not one.money
