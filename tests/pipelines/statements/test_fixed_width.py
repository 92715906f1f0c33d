"""CODA, Norma 43 and CNAB 240: files that are written here by the columns of their public descriptions."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.statements.reading import read_bytes


class Movement(NamedTuple):
    day: date
    amount: Decimal
    payee: str


MOVEMENTS = [
    Movement(date(2024, 12, 30), Decimal("-12.50"), "Boulangerie Paul"),
    Movement(date(2024, 12, 31), Decimal("1000.00"), "Acme SA"),
    Movement(date(2025, 1, 2), Decimal("-0.01"), "Commission"),
]
OPENING = Decimal("-100.25")


def columns(width: int, *fields: tuple[int, str]) -> str:
    """A record: each text at its first column, counted from 1."""
    line = [" "] * width
    for first, text in fields:
        line[first - 1 : first - 1 + len(text)] = text
    return "".join(line)[:width]


def coda(movements: Sequence[Movement], opening: Decimal = OPENING, *, iban: bool = True) -> str:
    def money(value: Decimal) -> str:
        return f"{int(value < 0)}{int(abs(value) * 1000):015d}"

    number = [(2, "2"), (6, "BE68539007547034"), (40, "EUR")]
    if not iban:
        number = [(2, "0"), (6, "539007547034"), (19, "EUR")]
    lines = [
        columns(128, (1, "00000"), (6, "311224"), (12, "725"), (15, "05"), (128, "2")),
        columns(128, (1, "1"), (3, "001"), *number, (43, money(opening)), (59, "291224"), (65, "ACME")),
    ]  # fmt: skip
    for n, each in enumerate(movements, start=1):
        day = f"{each.day:%d%m%y}"
        head = f"{n:04d}0000"
        lines += [
            columns(128, (1, "21"), (3, head), (11, f"REF{n}"), (32, money(each.amount)), (48, day), (54, "00150000"),
                    (62, "0"), (63, f"invoice {n}"), (116, day), (126, "1")),
            columns(128, (1, "22"), (3, head), (11, "and more"), (64, f"CUST{n}"), (126, "1")),
            columns(128, (1, "23"), (3, head), (11, "BE43068999999501"), (48, each.payee)),
        ]  # fmt: skip
    closing = opening + sum(each.amount for each in movements)
    lines.append(columns(128, (1, "8"), (2, "001"), (42, money(closing)), (58, "020125")))
    out = -sum(each.amount for each in movements if each.amount < 0)
    come = sum(each.amount for each in movements if each.amount > 0)
    sums = f"{int(out * 1000):015d}{int(come * 1000):015d}"
    lines.append(columns(128, (1, "9"), (17, f"{len(lines) - 1:06d}{sums}"), (128, "2")))
    return "\r\n".join(lines) + "\r\n"


def norma43(movements: Sequence[Movement], opening: Decimal = OPENING) -> str:
    def money(value: Decimal) -> str:
        return f"{1 if value < 0 else 2}{int(abs(value) * 100):014d}"

    account = "004915001234567892"
    lines = [
        columns(80, (1, f"11{account}241201250131"), (33, money(opening)), (48, "9783ACME SL"))
    ]
    for n, each in enumerate(movements, start=1):
        day = f"{each.day:%y%m%d}"
        lines += [
            columns(80, (1, "22"), (7, "1500"), (11, day * 2), (23, "12040"), (28, money(each.amount)),
                    (53, f"{n:012d}")),
            columns(80, (1, "2301"), (5, each.payee), (43, f"and more {n}")),
        ]  # fmt: skip
    out = [each.amount for each in movements if each.amount < 0]
    come = [each.amount for each in movements if each.amount >= 0]
    sides = f"{len(out):05d}{int(-sum(out) * 100):014d}{len(come):05d}{int(sum(come) * 100):014d}"
    closing = opening + sum(each.amount for each in movements)
    lines.append(columns(80, (1, f"33{account}{sides}{money(closing)}978")))
    lines.append(columns(80, (1, f"88{'9' * 18}{len(lines):06d}")))
    return "\r\n".join(lines) + "\r\n"


def cnab240(movements: Sequence[Movement], opening: Decimal = OPENING) -> str:
    def money(value: Decimal) -> str:
        return f"{int(abs(value) * 100):018d}{'D' if value < 0 else 'C'}"

    holder = [(18, "2"), (19, "12345678000199"), (53, "01234"), (59, "000000012345"), (71, "6")]
    lines = [
        columns(240, (1, "34100000"), *holder, (143, "2")),
        columns(240, (1, "34100011E0440033"), *holder, (73, "ACME LTDA"), (143, "29122024"), (151, money(opening)),
                (170, "FBRL00001")),
    ]  # fmt: skip
    for n, each in enumerate(movements, start=1):
        day = f"{each.day:%d%m%Y}"
        lines.append(
            columns(240, (1, f"34100013{n:05d}E"), *holder, (109, "DPV00"), (135, day * 2), (151, money(each.amount)),
                    (170, "1050001"), (177, each.payee[:25]), (202, f"{n:06d}"))
        )  # fmt: skip
    out = -sum(each.amount for each in movements if each.amount < 0)
    come = sum(each.amount for each in movements if each.amount > 0)
    closing = opening + sum(each.amount for each in movements)
    sums = f"{int(out * 100):018d}{int(come * 100):018d}"
    lines.append(
        columns(240, (1, "34100015"), *holder, (143, "02012025"), (151, money(closing)), (170, "F"),
                (171, f"{len(movements) + 2:06d}{sums}"))
    )  # fmt: skip
    lines.append(columns(240, (1, "34199999"), (18, f"000001{len(lines) + 1:06d}")))
    return "\r\n".join(lines) + "\r\n"


WRITERS: dict[str, Callable[[Sequence[Movement]], str]] = {
    "coda": coda,
    "norma43": norma43,
    "cnab240": cnab240,
}
every_format = pytest.mark.parametrize("name", WRITERS)
amounts = st.decimals(min_value="-99999.99", max_value="99999.99", places=2)
movements_drawn = st.lists(
    st.builds(
        Movement,
        st.dates(min_value=date(2024, 12, 1), max_value=date(2025, 1, 31)),
        amounts,
        st.text("ABCDE xyz", min_size=3, max_size=20).map(str.strip).filter(len),
    ),
    min_size=1,
    max_size=8,
)


@every_format
@given(movements=movements_drawn)
def test_every_movement_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, name: str, movements: list[Movement]
) -> None:
    read = read_bytes(tmp_path_factory.mktemp("fixed"), WRITERS[name](movements))

    assert read.about["format"] == name
    assert [Decimal(text) for text in read.amounts] == [each.amount for each in movements]
    assert read.dates == [each.day.isoformat() for each in movements]
    assert not read.flags
    assert read.checks[0]["status"] == "reconciled"


@every_format
def test_a_movement_names_its_payee_and_its_currency(tmp_path: Path, name: str) -> None:
    rows = read_bytes(tmp_path, WRITERS[name](MOVEMENTS)).canonicals

    named = [f"{row.get('counterparty', '')} {row['description']}" for row in rows]
    assert all(each.payee in text for each, text in zip(MOVEMENTS, named, strict=True))
    assert {row["currency"] for row in rows} == {"BRL" if name == "cnab240" else "EUR"}


@every_format
@pytest.mark.parametrize("lines", [1, 2])
def test_a_file_without_its_end_is_said_to_be_cut_off(
    tmp_path: Path, name: str, lines: int
) -> None:
    text = "\r\n".join(WRITERS[name](MOVEMENTS).splitlines()[:-lines])

    assert "FILE_CUT" in read_bytes(tmp_path, text).flags


@every_format
def test_a_movement_that_is_missing_is_noticed(tmp_path: Path, name: str) -> None:
    lines = WRITERS[name](MOVEMENTS).splitlines()
    lost = next(line for line in lines if "Acme SA" in line)
    text = "\r\n".join(line for line in lines if line != lost)

    assert read_bytes(tmp_path, text).flags


@every_format
def test_an_amount_with_other_letters_than_digits_is_reported(tmp_path: Path, name: str) -> None:
    text = WRITERS[name](MOVEMENTS)
    wrong = text.replace("0000100000", "00001O0000", 1)

    read = read_bytes(tmp_path, wrong)

    assert "ROW_UNREADABLE" in read.flags
    assert len(read.amounts) == len(MOVEMENTS) - 1


@every_format
def test_two_files_in_one_are_two_accounts(tmp_path: Path, name: str) -> None:
    text = WRITERS[name](MOVEMENTS)
    if name == "norma43":  # only the last trailer counts, for all accounts
        one = text.splitlines()
        text = "\r\n".join([*one[:-1], *one[:-1], one[-1].replace("000008", "000016")])
    elif name == "cnab240":
        one = text.splitlines()
        end = one[-1].replace(f"{len(one):06d}", f"{2 * len(one) - 2:06d}")
        text = "\r\n".join([*one[:-1], *one[1:-1], end])
    else:
        text *= 2

    read = read_bytes(tmp_path, text)

    assert len(read.about["sections"]) == 2
    assert not read.flags


def test_a_movement_that_takes_another_apart_moves_no_money(tmp_path: Path) -> None:
    lines = coda(MOVEMENTS).splitlines()
    parts = [lines[2][:6] + f"000{n}" + lines[2][10:] for n in (1, 2)]
    trailer = lines[-1].replace("000011", "000013")
    text = "\r\n".join([*lines[:5], *parts, *lines[5:-1], trailer])

    read = read_bytes(tmp_path, text)

    assert len(read.amounts) == 3
    assert not read.flags


def test_an_account_of_the_old_numbers_is_read(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, coda(MOVEMENTS, iban=False))

    assert {row["account"] for row in read.canonicals} == {"539007547034"}


def test_a_movement_of_nothing_is_counted_on_either_side(tmp_path: Path) -> None:
    nothing = Movement(date(2025, 1, 3), Decimal("0.00"), "Nada")
    text = norma43([*MOVEMENTS, nothing])
    other = text.replace("0000200000000001251", "0000300000000001251")
    both = (text, other.replace("0000200000000100000", "0000100000000100000"))

    assert both[0] != both[1]
    assert [read_bytes(tmp_path, each).flags for each in both] == [[], []]


def test_a_batch_of_collections_is_no_statement(tmp_path: Path) -> None:
    text = cnab240(MOVEMENTS)
    lines = text.splitlines()
    other = lines[1].replace("1E04", "1T01").replace("34100011", "34100021")
    detail = lines[2].replace("E", "T", 1)
    end = lines[-1].replace(f"{len(lines):06d}", f"{len(lines) + 3:06d}")
    trailer = lines[-2].replace("34100015", "34100025")

    read = read_bytes(tmp_path, "\r\n".join([*lines[:-1], other, detail, trailer, end]))

    assert len(read.amounts) == 3
    assert not read.flags


def overwritten(text: str, at: int, first: int, new: str) -> str:
    """A file with other letters in one record, from a column on."""
    lines = text.splitlines()
    line = lines[at]
    lines[at] = line[: first - 1] + new + line[first - 1 + len(new) :]
    return "\r\n".join(lines) + "\r\n"


# The record of the closing balance from the end, the columns of its sign and of its digits.
CLOSINGS = {"coda": (-2, 42, 50), "norma43": (-2, 59, 66), "cnab240": (-2, 169, 160)}


OPENINGS = {"coda": (1, 43), "norma43": (0, 33), "cnab240": (1, 169)}


@every_format
def test_a_balance_that_cannot_be_read_is_reported(tmp_path: Path, name: str) -> None:
    at, _, digits = CLOSINGS[name]
    wrong = overwritten(WRITERS[name](MOVEMENTS), at, digits, "X")

    assert "BALANCE_UNREADABLE" in read_bytes(tmp_path, wrong).flags


@every_format
@pytest.mark.parametrize("end", ["opening", "closing"])
def test_the_movements_prove_a_balance_whose_sign_is_unknown(
    tmp_path: Path, name: str, end: str
) -> None:
    place = CLOSINGS[name][:2] if end == "closing" else OPENINGS[name]
    whole = WRITERS[name](MOVEMENTS)

    read = read_bytes(tmp_path, overwritten(whole, *place, "9"))

    assert read.flags == []
    assert read.checks == read_bytes(tmp_path, whole).checks


@every_format
def test_a_balance_whose_sign_is_unknown_is_reported_if_the_movements_do_not_lead_to_it(
    tmp_path: Path, name: str
) -> None:
    at, sign, digits = CLOSINGS[name]
    wrong = overwritten(overwritten(WRITERS[name](MOVEMENTS), at, digits, "7"), at, sign, "X")

    assert "BALANCE_UNREADABLE" in read_bytes(tmp_path, wrong).flags


def test_a_currency_of_an_unknown_number_is_reported(tmp_path: Path) -> None:
    told = norma43(MOVEMENTS)
    other = overwritten(overwritten(told, 0, 48, "999"), -2, 74, "999")

    read = read_bytes(tmp_path, other)

    assert read.flags == ["CURRENCY_UNKNOWN"]
    assert {row.get("currency", "") for row in read.canonicals} == {""}


@pytest.mark.parametrize("name", ["coda", "norma43"])
def test_the_texts_of_a_movement_that_cannot_be_read_are_not_those_of_another(
    tmp_path: Path, name: str
) -> None:
    wrong = WRITERS[name](MOVEMENTS).replace("0000100000", "00001O0000", 1)

    first = read_bytes(tmp_path, wrong).canonicals[0]
    whole = read_bytes(tmp_path, WRITERS[name](MOVEMENTS)).canonicals[0]

    assert first["description"] == whole["description"]


@pytest.mark.parametrize(("column", "told"), [(3, "999915001234567892"), (74, "840")])
def test_a_closing_balance_of_another_account_or_currency_is_reported(
    tmp_path: Path, column: int, told: str
) -> None:
    wrong = overwritten(norma43(MOVEMENTS), -2, column, told)

    assert "CONTROL_DIFFERS" in read_bytes(tmp_path, wrong).flags


def test_movements_of_a_batch_without_its_header_are_reported(tmp_path: Path) -> None:
    lines = cnab240(MOVEMENTS).splitlines()
    end = lines[-1].replace(f"{len(lines):06d}", f"{len(lines) + 4:06d}")

    read = read_bytes(tmp_path, "\r\n".join([*lines[:-1], *lines[2:-1], end]))

    assert "ROW_UNREADABLE" in read.flags
