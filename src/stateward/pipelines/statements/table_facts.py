"""Facts in the lines above and below a table: balances, totals, the account, the period, by their labels."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.heading_parts import label_by_parts

_HEAD, _GROUP = re.compile(r"(?<![0-9.,])-?[0-9]{1,3}$"), re.compile(r"[0-9]{3}(?:\.[0-9]{1,3})?")
WORDS_LIKE_CODES = frozenset("ALL TOP TRY CUP MOP MAD PEN GEL SOS BOB".split())
TOTALS = ("debits", "credits")
ACCOUNT_DIGITS_MIN = 5
ENDS = ("period_from", "period_to")
_END = re.compile(r"[^\W\d]+(?: [^\W\d]+)? ([0-9]\S+)")
MONEY_FACTS = frozenset({"opening", "closing", "debits", "credits", "total"})


def labelled_facts(cells: Sequence[str]) -> dict[str, str]:
    """The facts in a row of labels and values; a value is "" where it is not beside its label."""
    found: dict[str, str] = {}
    texts = [cell.strip() for cell in cells]
    names = [_fact_name(text) for text in texts]
    for place, (text, name) in enumerate(zip(texts, names, strict=True)):
        if not name or (name == "closing" and headings.is_available(text)):
            continue
        after = next((each for each in texts[place + 1 :] if any(map(str.isalnum, each))), "")
        if name in MONEY_FACTS:
            after = _money_beside(texts, names, place) or after
        printed = text.partition(":")[2].strip()
        if printed and name in MONEY_FACTS:
            printed = _with_thousands(printed, texts[place + 1 :])
        if name in ENDS and (end := _END.fullmatch(text)):
            printed = end[1]  # `Desde 01/06/2026`: label and date in one cell
        value = _value_of(printed or after, name)
        if name == "period":
            found |= _period(
                text.partition(":")[2].strip() or " - ".join(t for t in texts[place + 1 :] if t)
            )
        elif value or name in MONEY_FACTS:
            found.setdefault(name, value)
    return found


def facts_of_row(cells: Sequence[str]) -> dict[str, str]:
    """The facts in a row among or below the bookings, where a shop may be called "Total Energies" or "Saldo Bar".

    A longer text that begins as a label does is one only where it begins the row, and no date stands beside it.
    """
    found = labelled_facts(cells)
    texts = [cell.strip() for cell in cells if cell.strip()]
    is_dated = any(map(dates.is_date, texts))
    for name in MONEY_FACTS & found.keys():
        labels = [text for text in texts if _fact_name(text) == name]
        is_whole = any(headings.whole_fact(text.partition(":")[0]) for text in labels)
        if not is_whole and (is_dated or texts[0] not in labels):
            del found[name]
    return found


def lone_iban(rows: Sequence[Sequence[str]]) -> str:
    """The only IBAN above a table: that of its account, whatever stands beside it; "" for none or several."""
    texts = {cell.strip() for cells in rows for cell in cells}
    found = {text for text in texts if _IBAN.fullmatch(text)}
    return found.pop() if len(found) == 1 else ""


_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}")


def told_currency(rows: Sequence[Sequence[str]]) -> str:
    """The one currency that rows above a table name, with a label or as a cell of its own; "" for none or several."""
    found = {
        code
        for cells in rows
        for code in (labelled_facts(cells).get("currency", ""), *_lone_codes(cells))
        if code in money.CURRENCY_CODES
    }
    return found.pop() if len(found) == 1 else ""


def _lone_codes(cells: Sequence[str]) -> Iterator[str]:
    """What may be the code of a currency without a label: alone in its row, or beside an account.

    No code that is also a word of English, and none of a rate, a filter or a list.
    """
    texts = [text for cell in cells if (text := cell.strip())]
    if len(texts) > 1 and not any(map(_is_of_account, texts)):
        return iter(())
    return (code for code in texts if code not in WORDS_LIKE_CODES)


def _is_of_account(text: str) -> bool:
    """Whether a cell names an account, or has its number."""
    is_number = sum(map(str.isdigit, text)) >= ACCOUNT_DIGITS_MIN and not dates.is_date(text)
    return (is_number and not money.is_amount(text)) or _fact_name(text) == "account"


def told_totals(rows: Sequence[Sequence[str]], facts: Mapping[str, str]) -> dict[str, str]:
    """Of the facts above a table, the totals of debits and credits that are called so once, and nothing more.

    "Total deposits this year" is of other rows, and a number without decimals may be a count.
    """
    labels = [
        headings.whole_fact(cell.partition(":")[0].strip()) for cells in rows for cell in cells
    ]
    found = {name: facts.get(name, "") for name in TOTALS if labels.count(name) == 1}
    return {name: text for name, text in found.items() if "." in text or "," in text}


def facts_below_labels(rows: Sequence[Sequence[str]]) -> tuple[dict[str, str], set[int]]:
    """The facts of rows of labels that stand in the row below, each in the column of its label, and those rows."""
    found: dict[str, str] = {}
    told: set[int] = set()
    for number, (labels, values) in enumerate(pairwise(rows)):
        names = [_fact_name(text.strip()) for text in labels]
        if sum(map(bool, names)) < 2 or len(labels) != len(values):
            continue
        below = {n: _value_of(v, n) for n, v in zip(names, values, strict=True) if n}
        if all(below.values()):  # else the rows are not labels and their values
            found |= below
            told |= {number, number + 1}
    return found, told


def _with_thousands(text: str, after: Sequence[str]) -> str:
    """An amount that was cut at its own separators: `Balance : 7,455,925.43` without quotes, among commas."""
    found = text
    if not _HEAD.search(text):
        return text
    for cell in after:
        if not _GROUP.fullmatch(cell):
            break
        found = f"{found},{cell}"
        if "." in cell:
            break
    return found


def _fact_name(text: str) -> str:
    """The fact that a cell names, or ""."""
    if not text or money.is_amount(text):
        return ""
    label = headings.split_camel(text)  # openingBalance
    return headings.fact_of(label) or label_by_parts(headings.simplify(label))


def _money_beside(texts: Sequence[str], names: Sequence[str], place: int) -> str:
    """The amount with decimals between a label and the next: a number without them may be a count.

    It may stand before the label where the row has no other, whose amount it could be.
    """
    after = place + 1
    end = next((i for i in range(after, len(texts)) if names[i]), len(texts))
    beside = [*texts[after:end]]
    if sum(map(bool, names)) == 1:
        beside += reversed(texts[:place])
    printed = (text for text in beside if money.is_amount(text) and not dates.is_date(text))
    return next((text for text in printed if "." in text or "," in text), "")


def _value_of(text: str, name: str) -> str:
    """The value of a label, if it is of the right kind."""
    text = text.strip("=\"' ")
    if name in MONEY_FACTS:
        return text if money.is_amount(text) else ""
    if name in ENDS:
        return text if dates.is_date(text) else ""
    if name == "currency":
        code = money.currency_code(text)
        return code if len(code) == 3 and code.isalpha() and code.isascii() else ""
    return text if any(c.isdigit() for c in text) and len(text) < 60 else ""


def _period(text: str) -> dict[str, str]:
    for sign in (" - ", " – ", " bis ", " to ", " au ", " al ", " a ", " tot ", "–", " / ", ".."):
        start, cut, end = text.partition(sign)
        if cut and dates.is_date(start) and dates.is_date(end):
            return {"period_from": start.strip(), "period_to": end.strip()}
    return {}
