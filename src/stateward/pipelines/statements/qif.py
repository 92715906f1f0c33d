"""QIF: lines of one letter and a value, records that end with `^`. The format does not define the date order.

Bank, cash, card and asset registers are read; splits stay with their transaction; investment and list blocks are logged
and not read.
"""

import re
from collections.abc import Iterator

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source

REGISTERS = frozenset({"bank", "cash", "ccard", "oth a", "oth l", "invoice", "credit card"})
OPENING = re.compile(r"^\s*opening balance\s*$", re.IGNORECASE)
Record = list[tuple[int, str, str]]


def read(source: Source) -> StatementReading:
    """One section for each register of each account."""
    problems: list[StatementProblem] = []
    decisions = list(source.decisions)
    blocks = list(_blocks(source.text(), problems, decisions))
    if not blocks:
        raise FatalFailure(
            "the QIF file contains no register of transactions (bank, cash or card)", code="NO_ROWS"
        )
    sections = [_section(source, account, records, problems) for account, records in blocks]
    return StatementReading(format="qif", sections=sections, problems=problems, decisions=decisions)


def _blocks(
    text: str, problems: list[StatementProblem], decisions: list[str]
) -> Iterator[tuple[str, list[Record]]]:
    """Each register with its account."""
    account = ""
    for kind, records, is_cut in _raw_blocks(text):
        if is_cut:
            problems.append(_cut_record(records[-1]))
        if kind == "account":
            names = [value for _, letter, value in records[-1] if letter == "N"]
            account = names[0].strip() if names else account
        elif kind in REGISTERS:
            yield account, records
        else:
            decisions.append(
                f"the block of type {kind!r} at line {records[0][0][0]} is no register: "
                f"its {len(records)} records are not read"
            )


def _raw_blocks(text: str) -> Iterator[tuple[str, list[Record], bool]]:
    """The kind of each non-empty block, its records, and whether its last record is incomplete."""
    kind, records, record = "bank", list[Record](), Record()
    for number, line in enumerate(_lines(text), start=1):
        if line.startswith("!"):
            if records or record:
                yield kind, [*records, record] if record else records, bool(record)
            records, record = [], []
            kind = _kind(line, kind)
        elif line.startswith("^"):
            if record:
                records.append(record)
            record = []
        elif line.strip():
            record.append((number, line[0].upper(), line[1:]))
    if records or record:
        yield kind, [*records, record] if record else records, bool(record)


def _kind(line: str, before: str) -> str:
    name = line[1:].strip().casefold()
    if name.startswith("type:"):
        return name[5:].strip()
    return "account" if name == "account" else before


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").split("\n")


def _cut_record(record: Record) -> StatementProblem:
    return StatementProblem(
        code="FILE_CUT",
        message="the last transaction does not end with ^: the file may be incomplete",
        place=RowPlace(line=record[0][0]),
    )


def _section(
    source: Source, account: str, records: list[Record], problems: list[StatementProblem]
) -> StatementSection:
    rows: list[StatementRow] = []
    opening = opening_date = ""
    for record in records:
        fields = {letter: value.strip() for _, letter, value in reversed(record)}
        if OPENING.match(fields.get("P", "")) and not rows:
            opening, opening_date = (
                fields.get("T", fields.get("U", "")),
                _PADDED.sub("0", fields.get("D", "")),
            )
            account = account or fields.get("L", "").strip("[]")
            continue
        row = _row(record, fields, problems)
        if row is not None:
            rows.append(row)
    hints = source.hints
    vote = dates.vote_order(
        [row.date for row in rows],
        usual=hints.date_order,
        why_usual="the source type says so",
    )
    decimal = money.vote_decimal([row.amount for row in rows], usual=hints.decimal or ".")
    if not decimal.is_sure:
        problems.append(StatementProblem(code="AMBIGUOUS_AMOUNTS", message=decimal.why))
    return StatementSection(
        account=account or hints.account,
        currency=hints.currency,
        opening=opening,
        opening_date=opening_date,
        terms=ReadingTerms(
            date_order=vote.order,
            decimal=decimal.decimal,
            era=vote.era,
            why={
                "date_order": vote.why,
                "decimal": decimal.why,
                "sign": "QIF amounts carry their sign",
            },
        ),
        rows=rows,
    )


def _row(
    record: Record, fields: dict[str, str], problems: list[StatementProblem]
) -> StatementRow | None:
    place = RowPlace(line=record[0][0])
    amount = fields.get("T") or fields.get("U", "")
    if not amount or not fields.get("D"):
        what = "date" if amount else "amount"
        raw = "\n".join(f"{letter}{value}" for _, letter, value in record)
        problems.append(
            StatementProblem(
                code="ROW_UNREADABLE", message=f"a transaction has no {what}", place=place, raw=raw
            )
        )
        return None
    payee, memo = fields.get("P", ""), fields.get("M", "")
    more = {name: fields[letter] for letter, name in OTHER_FIELDS.items() if fields.get(letter)}
    splits = [value.strip() for _, letter, value in record if letter in "SE$"]
    if splits:
        more["splits"] = "\n".join(splits)
    return StatementRow(
        place=place,
        date=_PADDED.sub("0", fields["D"]),
        description=payee if not memo or memo == payee else f"{payee}\n{memo}" if payee else memo,
        amount=amount,
        reference="",
        counterparty=payee,
        category=more.get("category", ""),
        more=more,
    )


_PADDED = re.compile(r"(?<=[/'.-]) (?=[0-9](?![0-9]))")  # Quicken writes 3/ 9' 0
OTHER_FIELDS = {"L": "category", "N": "number", "C": "cleared", "A": "address"}
