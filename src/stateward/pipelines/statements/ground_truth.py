"""What is known to be true of sample statements, in the forms in which people write it down.

`NAME.truth.json` beside a statement, a `statement-info.json` that tells a count, ledger files of `reckon`, the YAML of
`mt940` (read as a tree: no object of it is ever made), and snapshots of `actual`. A statement without any of
these has no truth, and is not counted.
"""

import base64
import re
import shlex
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path

import msgspec
import yaml

from stateward.pipelines.kit.ground_truth import TruthFiles, read_json, read_text
from stateward.pipelines.kit.money import EXPONENTS


class TrueRow(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction as it really was; None is not known."""

    date: str
    amount: Decimal
    balance: Decimal | None = None
    description: str | None = None
    value_date: str = ""


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """All transactions of a statement; or only how many there are."""

    source: str
    rows: tuple[TrueRow, ...] = ()
    count: int
    currency: str = ""
    has_rows: bool = True


def truth_of(statement: Path, files: TruthFiles | None = None) -> Truth | None:
    """What is known of a statement; None if nothing is. `files` is for many statements of one folder."""
    found = (files or truth_files(statement.parent)).of(statement)
    if found is not None:
        return plain_truth(found.value, found.source)
    for find in _FORMS:
        truth = find(statement)
        if truth is not None:
            return truth
    return None


def truth_files(folder: Path) -> TruthFiles:
    """The truth files of a folder; amounts are exact."""
    return TruthFiles(folder, exact=True)


def _truth_by_suffix(statement: Path) -> Truth | None:
    """`NAME.truth.json` of `NAME-statement.pdf`."""
    path = statement.with_name(f"{statement.stem.removesuffix('-statement')}.truth.json")
    return plain_truth(read_json(path, exact=True), path.name) if path.is_file() else None


def _info(statement: Path) -> Truth | None:
    """`statement-info.json`: the number of transactions of the statement that it names."""
    path = statement.with_name("statement-info.json")
    if not path.is_file():
        return None
    told = read_json(path, exact=True)
    if not isinstance(told, dict) or str(told.get("id")) != statement.stem.removesuffix(
        "-statement"
    ):
        return None
    return Truth(
        source=path.name,
        count=int(told["transactionCount"]),
        currency=str(told.get("currency", "")),
        has_rows=False,
    )


def plain_truth(told: object, source: str) -> Truth:
    """A dictionary with `transactions`, or with sections that have them."""
    if not isinstance(told, dict):
        raise InvalidTruth(f"{source} is no JSON object with `transactions`")
    told = told["expected"] if isinstance(told.get("expected"), dict) else told
    listed = told.get("transactions")
    if not isinstance(listed, list):
        parts = [told[name] for name in ("sections", "accounts", "statements") if name in told]
        listed = [row for part in parts for each in part for row in each.get("transactions", ())]
    rows = tuple(_plain_row(row) for row in listed)
    return Truth(
        source=source, rows=rows, count=len(rows), currency=str(told.get("currency") or "")
    )


def _plain_row(row: dict[str, object]) -> TrueRow:
    balance, text = row.get("balance"), row.get("description")
    return TrueRow(
        date=str(row.get("date") or row.get("booking_date")),
        amount=Decimal(str(row["amount"])),
        balance=None if balance in (None, "") else Decimal(str(balance)),
        description=None if text is None else str(text),
    )


# Ledger files of reckon

_ENTRY = re.compile(r"(?P<day>\S+)\t(?P<text>.*)")
_POSTING = re.compile(r"\s+(?P<account>\S.*?)\t+\s*(?P<amount>[-+]?\s?\$?-?[\d,.]+)\s*")


def _ledger(statement: Path) -> Truth | None:
    """`output.ledger` beside `input.csv`; `test_args` says which account is meant and how it prints days."""
    path, options = statement.with_name("output.ledger"), statement.with_name("test_args")
    if statement.name != "input.csv" or not path.is_file():
        return None
    words = shlex.split(read_text(options)) if options.is_file() else []
    given = dict(pairwise(words))
    account = given.get("--account", "Assets:Bank:Checking")
    rows = tuple(
        _ledger_rows(read_text(path), account, given.get("--ledger-date-format", "%Y-%m-%d"))
    )
    return Truth(source=path.name, rows=rows, count=len(rows))


def _ledger_rows(text: str, account: str, day_format: str) -> Iterator[TrueRow]:
    day = ""
    for line in text.splitlines():
        if entry := _ENTRY.fullmatch(line):
            # Only the day is read: no zone is meant.
            day = datetime.strptime(entry["day"], day_format).date().isoformat()  # noqa: DTZ007
        elif (posting := _POSTING.fullmatch(line)) and posting["account"].strip() == account:
            figure = re.sub(r"[$,\s]", "", posting["amount"])
            yield TrueRow(date=day, amount=Decimal(figure))


# The YAML of mt940

_Node = yaml.nodes.Node


def _mt940(statement: Path) -> Truth | None:
    path = statement.with_suffix(".yml")
    if statement.suffix != ".sta" or not path.is_file():
        return None
    root = yaml.compose(read_text(path), Loader=yaml.SafeLoader)
    listed = _child(root, "transactions")
    nodes = listed.value if isinstance(listed, yaml.nodes.SequenceNode) else []
    rows = tuple(row for node in nodes if (row := _mt940_row(_child(node, "data"))) is not None)
    return Truth(source=path.name, rows=rows, count=len(rows))


def _mt940_row(data: _Node | None) -> TrueRow | None:
    amount = _child(_child(data, "amount"), "amount")
    if data is None or amount is None:
        return None
    booked, valued = _day(_child(data, "guessed_entry_date")), _day(_child(data, "date"))
    return TrueRow(date=booked or valued, value_date=valued, amount=Decimal(_first(amount)))


def _child(node: _Node | None, name: str) -> _Node | None:
    if not isinstance(node, yaml.nodes.MappingNode):
        return None
    return next((value for key, value in node.value if str(key.value) == name), None)


def _first(node: _Node) -> str:
    inner = node.value[0] if isinstance(node, yaml.nodes.SequenceNode) else node
    return str(inner.value)


def _day(node: _Node | None) -> str:
    """A pickled day: two bytes of year, one of month, one of day."""
    if not isinstance(node, yaml.nodes.SequenceNode) or not node.value:
        return ""
    packed = base64.b64decode(str(node.value[0].value))
    return date(int.from_bytes(packed[:2], "big"), packed[2], packed[3]).isoformat()


# Snapshots of actual

_EXPORT = re.compile(
    r"^exports\[`(?P<name>.+?) \d+`\] = `\n(?P<body>.*?)\n`;", re.DOTALL | re.MULTILINE
)
_PAIR = re.compile(
    r'^\s+"(?P<key>amount|date|imported_description)": (?P<value>.*),$', re.MULTILINE
)
# Which snapshot is of which file, by the words of its name.
SNAPSHOTS = {
    "credit-card.ofx": "ofx import works (credit card)",
    "data.ofx": "ofx import works",
    "data.qif": "qif import works",
}


def _snapshot(statement: Path) -> Truth | None:
    path = statement.with_name("expected.snap")
    wanted = SNAPSHOTS.get(statement.name)
    if wanted is None or not path.is_file():
        return None
    for export in _EXPORT.finditer(read_text(path)):
        if export["name"].endswith("> " + wanted):
            rows = tuple(_snapshot_rows(export["body"]))
            return Truth(source=path.name, rows=rows, count=len(rows))
    return None


def _snapshot_rows(body: str) -> Iterator[TrueRow]:
    for block in body.split("\n  {"):
        told = {found["key"]: found["value"].strip('"') for found in _PAIR.finditer(block)}
        if "amount" in told:
            day = told["date"]
            yield TrueRow(
                date=f"{day[:4]}-{day[4:6]}-{day[6:]}",
                amount=Decimal(told["amount"]).scaleb(-EXPONENTS.get("USD", 2)),
            )


class InvalidTruth(ValueError):
    """A truth file that cannot be read; the message names it."""


_FORMS: tuple[Callable[[Path], Truth | None], ...] = (
    _truth_by_suffix, _ledger, _mt940, _snapshot, _info,
)  # fmt: skip
READ_ERRORS = (ValueError, KeyError, TypeError, InvalidOperation, OSError, yaml.YAMLError)
