"""A printed period decides the order of dates; a currency above a table is believed only where it can be its own."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

MONTH_FIRST = "03/02/2026,GROCER,-10.00\n03/05/2026,RENT,-500.00\n03/09/2026,PAY,100.00\n"
DAY_FIRST = "02/03/2026,GROCER,-10.00\n05/03/2026,RENT,-500.00\n09/03/2026,PAY,100.00\n"
Line = list[tuple[float, str]]
MARCH = ["2026-03-02", "2026-03-05", "2026-03-09"]


@pytest.mark.parametrize("rows", [MONTH_FIRST, DAY_FIRST])
@pytest.mark.parametrize(
    "period",
    [
        "Statement period: 1 March 2026 to 31 March 2026",
        "Period,March 2026",
        "From,2026-03-01\nTo,2026-03-31",
        '"Mar 1, 2026 - Mar 31, 2026"',
        "Kontoauszug März 2026",
    ],
)
def test_rows_of_a_table_are_in_the_order_in_which_they_lie_in_its_period(
    tmp_path: Path, period: str, rows: str
) -> None:
    read = read_bytes(tmp_path, f"{period}\nDate,Description,Amount\n{rows}")

    assert read.dates == MARCH
    assert read.flags == []


@pytest.mark.parametrize(
    "period",
    [
        "Period: 1 January 2026 to 31 December 2026",  # both orders lie in it
        "Period: 1 June 2026 to 30 June 2026",  # neither does
        "03/01/2026 - 03/12/2026",  # so it is read itself in either
    ],
)
def test_a_period_that_does_not_decide_leaves_the_dates_open(tmp_path: Path, period: str) -> None:
    read = read_bytes(tmp_path, f"{period}\nDate,Description,Amount\n{MONTH_FIRST}")

    assert "AMBIGUOUS_DATES" in read.flags
    assert read.dates == [None] * 3


@pytest.mark.parametrize(
    "line",
    [
        "Offer valid from 1 March 2026 to 31 March 2026",
        "Card valid thru March 2026",
        "Interest rates as of March 2026",
        "Prices valid from 1 January 2026",
        "Statement date 31 March 2026",
    ],
)
@pytest.mark.parametrize("is_above", [True, False])
def test_days_of_something_else_are_no_period(tmp_path: Path, line: str, is_above: bool) -> None:
    table = f"Date,Description,Amount\n{MONTH_FIRST}"

    read = read_bytes(tmp_path, f"{line}\n{table}" if is_above else f"{table}{line}\n")

    assert "AMBIGUOUS_DATES" in read.flags


@pytest.mark.parametrize(
    "days", [["03/02", "03/05", "03/09"], ["02/03", "05/03", "09/03"]], ids=["mdy", "dmy"]
)
def test_days_without_a_year_are_in_the_order_in_which_they_lie_in_the_period_of_a_pdf(
    tmp_path: Path, days: list[str]
) -> None:
    read = a_page(tmp_path, "Period: Mar 1, 2026 - Mar 31, 2026", days)

    assert read.dates == MARCH
    assert read.flags == []


def test_days_without_a_year_are_left_open_where_the_period_does_not_decide(tmp_path: Path) -> None:
    read = a_page(tmp_path, "Period: Jan 1, 2026 - Dec 31, 2026", ["03/02", "03/05", "03/09"])

    assert "AMBIGUOUS_DATES" in read.flags
    assert read.dates == [None] * 3


def a_page(folder: Path, period: str, days: list[str]) -> Read:
    paper = Paper(A4)
    paper.page()
    heading: Line = [
        (60, "Date"),
        (150, "Description"),
        (-450, "Amount"),
        (-520, "Balance"),
    ]
    rows = [
        ("GROCER", "-10.00", "990.00"),
        ("RENT", "-500.00", "490.00"),
        ("PAY", "100.00", "590.00"),
    ]
    lines: list[Line] = [[(60, period)], heading]
    for day, (text, amount, balance) in zip(days, rows, strict=True):
        lines.append([(60, day), (150, text), (-450, amount), (-520, balance)])
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 14, texts)
    return read_bytes(folder, paper.pdf())


ROWS = "2026-03-01,Grocer,-10.00{}\n2026-03-02,Books,-7.00{}\n"


@pytest.mark.parametrize(
    ("above", "amounts", "currency"),
    [
        ("EUR", "Amount", "EUR"),
        ("Account,PL61109010140000071219812874,EUR", "Amount", "EUR"),
        ("Exchange rates,EUR,4.30", "Amount", ""),
        ("Show amounts as,EUR", "Amount", ""),
    ],
)
def test_a_code_above_a_table_is_its_currency_alone_or_beside_the_account(
    tmp_path: Path, above: str, amounts: str, currency: str
) -> None:
    read = read_bytes(tmp_path, f"{above}\nDate,Description,{amounts}\n{ROWS.format('', '')}")

    assert {row.get("currency", "") for row in read.canonicals} == {currency}
    assert read.flags == []


@pytest.mark.parametrize(
    ("heading", "sign", "own"),
    [("Amount", " zł", "PLN"), ("Amount (GBP)", "", "GBP"), ("Amount", " CHF", "CHF")],
)
def test_a_currency_above_a_table_that_its_amounts_contradict_is_flagged(
    tmp_path: Path, heading: str, sign: str, own: str
) -> None:
    read = read_bytes(
        tmp_path, f"Currency,EUR\nDate,Description,{heading}\n{ROWS.format(sign, sign)}"
    )

    assert {row["currency"] for row in read.canonicals} == {own}
    assert read.flags == ["CURRENCY_CONTRADICTED"]


def test_a_sign_that_several_countries_share_is_of_the_one_that_is_told(tmp_path: Path) -> None:
    rows = "2026-03-01,Grocer,Rs. 10.00\n2026-03-02,Books,Rs. -7.00\n"
    read = read_bytes(tmp_path, f"Currency,LKR\nDate,Description,Amount\n{rows}")

    assert {row["currency"] for row in read.canonicals} == {"LKR"}
    assert "CURRENCY_CONTRADICTED" not in read.flags


@pytest.mark.parametrize(
    ("rows", "currencies"),
    [
        ("2026-03-01,Grocer,-€10.00\n2026-03-02,Client,$7.00\n", ["EUR", "$"]),
        ("2026-03-01,Grocer,$10.00\n2026-03-02,Client,€7.00\n", ["$", "EUR"]),
        ("2026-03-01,Grocer,-10.00 EUR\n2026-03-02,Client,7.00 USD\n", ["EUR", "USD"]),
        ("2026-03-01,Grocer,-10.00 kr\n2026-03-02,Client,£7.00\n", ["KR", "GBP"]),
    ],
)
def test_rows_that_print_another_currency_than_the_others_are_flagged(
    tmp_path: Path, rows: str, currencies: list[str]
) -> None:
    read = read_bytes(tmp_path, f"Date,Description,Amount\n{rows}")

    assert [row.get("currency", "") for row in read.canonicals] == currencies
    assert "CURRENCY_CONTRADICTED" in read.flags


@pytest.mark.parametrize("code", ["USD", "CAD", "MXN"])
def test_a_dollar_sign_is_of_any_dollar_that_is_told(tmp_path: Path, code: str) -> None:
    rows = "2026-03-01,Grocer,$10.00\n2026-03-02,Books,-$7.00\n"
    read = read_bytes(tmp_path, f"Currency,{code}\nDate,Description,Amount\n{rows}")

    assert {row["currency"] for row in read.canonicals} == {code}
    assert "CURRENCY_CONTRADICTED" not in read.flags


def test_amounts_with_a_sign_that_the_told_currency_has_not_are_flagged(tmp_path: Path) -> None:
    rows = "2026-03-01,Grocer,$10.00\n2026-03-02,Books,-$7.00\n"
    read = read_bytes(tmp_path, f"Currency,EUR\nDate,Description,Amount\n{rows}")

    assert "CURRENCY_CONTRADICTED" in read.flags
