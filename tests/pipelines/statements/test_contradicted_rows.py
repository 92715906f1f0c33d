"""Rows that the rest of the file contradicts: a day years away, a remark that a row does not count, a sum as a row."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read(folder: Path, *lines: Line) -> Read:
    paper = Paper(A4)
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 12, texts)
    return read_bytes(folder, paper.pdf())


@pytest.mark.parametrize(
    ("day", "is_stray"), [("2052-03-14", True), ("2015-03-14", True), ("2026-03-14", False)]
)
def test_a_row_of_a_table_that_is_years_away_from_those_around_it_is_flagged(
    tmp_path: Path, day: str, is_stray: bool
) -> None:
    days = ["2026-03-30", "2026-03-24", day, "2026-03-11", "2026-03-02"]
    rows = [f"{each},Shop,-1.00,{50 + at}.00" for at, each in enumerate(days)]

    found = read_bytes(tmp_path, "\n".join(["Date,Description,Amount,Balance", *rows]) + "\n")

    assert found.flags == (["DATE_UNPROVEN"] if is_stray else [])


def test_a_table_that_is_not_sorted_by_days_has_no_stray_ones(tmp_path: Path) -> None:
    days = ["2021-03-30", "2024-03-24", "2020-03-01", "2026-03-11", "2019-03-02", "2023-01-01"]
    rows = [f"{each},Shop {each},-1.50" for each in days]

    found = read_bytes(tmp_path, "\n".join(["Date,Description,Amount", *rows]) + "\n")

    assert found.flags == []


def test_a_row_outside_of_the_period_is_flagged_by_labels_in_portuguese(tmp_path: Path) -> None:
    found = read_bytes(
        tmp_path,
        "Data de início;01-03-2026\nData de fim;31-03-2026\n\nData mov.;Descrição;Débito;Crédito;Saldo\n"
        "30-05-2026;EDP;50,97;;949,03\n02-03-2026;VENCIMENTO;;1.000,00;1.000,00\n",
    )

    assert "NOT_RECONCILED" in found.flags


REMARKS = [
    "*** OPERAȚIUNE ANULATĂ - nu se ia în calcul ***",
    "Transaction cancelled",
    "Buchung storniert",
]


@pytest.mark.parametrize("remark", REMARKS)
def test_a_row_that_says_that_it_does_not_count_is_flagged_where_balances_count_it(
    tmp_path: Path, remark: str
) -> None:
    found = read(
        tmp_path,
        [(60, "Date"), (150, "Description"), (-450, "Amount"), (-520, "Balance")],
        [(60, "01/02/2026"), (150, "SHOP"), (-450, "-10.00"), (-520, "990.00")],
        [(60, "13/02/2026"), (150, "CASH"), (-450, "-50.00"), (-520, "940.00")],
        [(150, remark)],
        [(60, "14/02/2026"), (150, "RENT"), (-450, "-40.00"), (-520, "900.00")],
    )

    assert found.amounts == ["-10.00", "-50.00", "-40.00"]
    assert found.flags == ["BOOKING_UNPROVEN"]


def test_a_row_that_says_that_it_does_not_count_is_left_out_where_balances_do_not_count_it(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(60, "Opening balance"), (-520, "1,000.00")],
        [(60, "Date"), (150, "Description"), (-520, "Amount")],
        [(60, "01/02/2026"), (150, "SHOP"), (-520, "-10.00")],
        [(60, "13/02/2026"), (150, "CASH, entered in error"), (-520, "-50.00")],
        [(60, "14/02/2026"), (150, "RENT"), (-520, "-40.00")],
        [(60, "Closing balance"), (-520, "950.00")],
    )

    assert found.amounts == ["-10.00", "-40.00"]
    assert found.flags == ["BOOKING_UNPROVEN"]


@pytest.mark.parametrize("ends", [("1,000.00", "990.00"), None])
def test_a_row_and_its_reversal_that_both_say_so_are_kept_and_flagged(
    tmp_path: Path, ends: tuple[str, str] | None
) -> None:
    found = read(
        tmp_path,
        [(60, "Opening balance"), (-520, ends[0])] if ends else [(60, "Statement")],
        [(60, "Date"), (150, "Description"), (-520, "Amount")],
        [(60, "01/02/2026"), (150, "Alpha"), (-520, "-10.00")],
        [(60, "13/02/2026"), (150, "Beta, Buchung storniert"), (-520, "-45.00")],
        [(60, "14/02/2026"), (150, "Beta, Buchung storniert"), (-520, "+45.00")],
        [(60, "Closing balance"), (-520, ends[1])] if ends else [(60, "Thank you")],
    )

    assert found.amounts == ["-10.00", "-45.00", "45.00"]
    assert "BOOKING_UNPROVEN" in found.flags


@pytest.mark.parametrize(
    ("third", "is_suspected"), [("+95.00", False), ("-95.00", True)], ids=["other", "same"]
)
def test_a_row_without_its_own_date_is_no_sum_of_the_other_side_and_left_out_only_with_a_flag(
    tmp_path: Path, third: str, is_suspected: bool
) -> None:
    found = read(
        tmp_path,
        [(60, "Date"), (150, "Description"), (-520, "Amount")],
        [(60, "12/02/2026"), (150, "Start"), (-520, "+12.00")],
        [(60, "13/02/2026"), (150, "Alpha"), (-520, "-50.00")],
        [(150, "Beta"), (-520, "-45.00")],
        [(150, "Gamma Ltd"), (-520, third)],
        [(60, "14/02/2026"), (150, "Delta"), (-520, "-7.00")],
    )

    assert ("TOTAL_SUSPECTED" in found.flags) is is_suspected
    assert is_suspected or found.amounts == ["12.00", "-50.00", "-45.00", "95.00", "-7.00"]


@pytest.mark.parametrize("text", ["RETURNED DIRECT DEBIT FEE", "Cancelled cheque charge"])
def test_a_fee_for_what_was_returned_is_a_row_as_any(tmp_path: Path, text: str) -> None:
    found = read(
        tmp_path,
        [(60, "Date"), (150, "Description"), (-450, "Amount"), (-520, "Balance")],
        [(60, "01/02/2026"), (150, "SHOP"), (-450, "-10.00"), (-520, "990.00")],
        [(60, "13/02/2026"), (150, text), (-450, "-50.00"), (-520, "940.00")],
    )

    assert found.flags == []


@pytest.mark.parametrize(
    "names", [("Grand aggregate out", "Grand aggregate in"), ("Összes terhelés", "Összes jóváírás")]
)
def test_sums_below_the_rows_are_no_rows_whatever_they_are_called(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    found = read(
        tmp_path,
        [(60, "BANKSZÁMLAKIVONAT 5. szám 2026.05.01 - 2026.05.31")],
        [(60, "Nyitó egyenleg: 100 000 HUF")],
        [(60, "Könyvelés"), (130, "Értéknap"), (200, "Megnevezés"), (-520, "Összeg")],
        [(60, "26.05.03"), (130, "26.05.03"), (200, "BÉR"), (-520, "34 473")],
        [(60, "26.05.14"), (130, "26.05.14"), (200, "BÉR"), (-520, "14 847")],
        [(60, "26.05.15"), (130, "26.05.15"), (200, "SPAR"), (-520, "-6 937")],
        [(60, "26.05.16"), (130, "26.05.16"), (200, "TELEKOM"), (-520, "-8 859")],
        [(200, names[0]), (-520, "-15 796")],
        [(200, names[1]), (-520, "49 320")],
        [(200, "Záró egyenleg"), (-520, "133 524 HUF")],
    )

    assert found.amounts == ["34473.00", "14847.00", "-6937.00", "-8859.00"]
    assert found.dates[0] == "2026-05-03"
    assert found.flags == []


@pytest.mark.parametrize("names", [("Zq1", "Zq2"), ("Könyvelés", "Értéknap")])
def test_dates_below_unknown_names_make_a_heading_of_texts_and_amounts(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    found = read(
        tmp_path,
        [(60, names[0]), (130, names[1]), (200, "Description"), (-520, "Amount")],
        [(60, "13/05/2026"), (130, "13/05/2026"), (200, "SHOP"), (-520, "-34.73")],
        [(60, "14/05/2026"), (130, "14/05/2026"), (200, "PAY"), (-520, "148.47")],
    )

    assert found.dates == ["2026-05-13", "2026-05-14"]
    assert found.amounts == ["-34.73", "148.47"]


def test_money_in_and_money_out_side_by_side_are_two_tables(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(40, "Statement 1 August 2026 - 31 August 2026")],
        [(40, "Opening balance $100.00   Closing balance $180.00")],
        [(40, "Money in"), (310, "Money out")],
        [(40, "Date"), (85, "Details"), (-280, "Amount $"), (310, "Date"), (355, "Details"), (-550, "Amount $")],
        [(40, "06 Aug"), (85, "Wages"), (-280, "70.00"), (310, "06 Aug"), (355, "Rent"), (-550, "20.00")],
        [(40, "07 Aug"), (85, "Refund"), (-280, "40.00"), (310, "08 Aug"), (355, "Fuel"), (-550, "10.00")],
    )  # fmt: skip

    assert sorted(found.amounts) == ["-10.00", "-20.00", "40.00", "70.00"]
    assert found.flags == []


def test_the_cards_of_one_account_are_one_section_with_its_balances(tmp_path: Path) -> None:
    heading: Line = [(40, "TRANS"), (90, "POST"), (140, "DESCRIPTION"), (-560, "AMOUNT ($)")]
    found = read(
        tmp_path,
        [(40, "Statement period: Dec 14, 2025 to Jan 13, 2026   Payment due Feb 3, 2026")],
        [(40, "Previous balance"), (-300, "1,000.00")],
        [(40, "New balance"), (-300, "$280.00")],
        heading,
        [(40, "DEC 30"), (90, "DEC 31"), (140, "PAYMENT RECEIVED - THANK YOU"), (-560, "-900.00")],
        [(40, "MS CLAIRE TREMBLAY Card number 5191 XXXX XXXX 4410")],
        heading,
        [(40, "DEC 14"), (90, "DEC 15"), (140, "LOBLAWS"), (-560, "30.00")],
        [(40, "DEC 21"), (90, "DEC 22"), (140, "PRESTO"), (-560, "70.00")],
        [(140, "Subtotal for Ms Claire Tremblay"), (-560, "100.00")],
        [(40, "MR DAVID TREMBLAY Card number 5191 XXXX XXXX 4428")],
        heading,
        [(40, "JAN 03"), (90, "JAN 04"), (140, "NETFLIX"), (-560, "80.00")],
    )

    assert found.amounts == ["900.00", "-30.00", "-70.00", "-80.00"]
    assert found.dates[-1] == "2026-01-04"  # when it was posted
    assert found.flags == []


def test_accounts_with_masked_numbers_that_are_no_cards_are_not_joined(tmp_path: Path) -> None:
    heading: Line = [(40, "DATE"), (140, "DESCRIPTION"), (-560, "AMOUNT ($)")]
    found = read(
        tmp_path,
        [(40, "Opening balance"), (-300, "1,000.00")],
        [(40, "Closing balance"), (-300, "$920.00")],
        [(40, "Checking account number XXXX XXXX 4410")],
        heading,
        [(40, "12/14/2025"), (140, "LOBLAWS"), (-560, "-30.00")],
        [(40, "Savings account number XXXX XXXX 4428")],
        heading,
        [(40, "12/15/2025"), (140, "TRANSFER"), (-560, "-50.00")],
    )

    assert len({row["account"] for row in found.canonicals}) == 2


def test_a_column_of_labels_without_values_is_no_description(tmp_path: Path) -> None:
    found = read_bytes(
        tmp_path,
        "Kirjauspäivä;Määrä EUROA;Selitys;Saaja/Maksaja;Viesti\n"
        "2026-11-06;-27,20;PKORTTIMAKSU;K-MARKET;Viesti: \n2026-11-10;+26,63;TILISIIRTO;PALKKA OY;Viesti: \n",
    )

    assert [row["counterparty"] for row in found.canonicals] == ["K-MARKET", "PALKKA OY"]
    assert not any("Viesti" in row["description"] for row in found.canonicals)


def test_dates_of_one_day_in_many_years_may_begin_with_the_year(tmp_path: Path) -> None:
    rows = "26.05.03,SHOP,-1.00\n26.05.14,SHOP,-2.00\n26.05.15,PAY,3.00\n"

    found = read_bytes(tmp_path, f"Date,Description,Amount\n{rows}")

    assert "AMBIGUOUS_DATES" in found.flags


def test_a_period_shows_that_short_years_come_first(tmp_path: Path) -> None:
    rows = "26.05.03,SHOP,-1.00\n26.05.14,SHOP,-2.00\n26.05.15,PAY,3.00\n"

    found = read_bytes(tmp_path, f"Period: May 2026\nDate,Description,Amount\n{rows}")

    assert found.dates == ["2026-05-03", "2026-05-14", "2026-05-15"]


@pytest.mark.parametrize("is_above", [True, False])
def test_payments_in_and_out_have_names_and_their_year_stands_below_the_day(
    tmp_path: Path, is_above: bool
) -> None:
    """As Trade Republic prints it: the day is on the line of the row, or on the one above it."""
    lines: list[Line] = [
        [(40, "DATUM 01 März 2026 - 31 März 2026")],
        [(40, "DATUM"), (85, "TYP"), (160, "BESCHREIBUNG")],
    ]
    lines[1] += [(-400, "ZAHLUNGSEINGANG"), (-505, "ZAHLUNGSAUSGANG"), (-555, "SALDO")]
    for day, text, at, amount, balance in (
        ("01 März", "REWE", -505, "10,00 €", "990,00 €"),
        ("02 März", "Max Muster", -400, "500,00 €", "1.490,00 €"),
        ("05 März", "Sparplan", -505, "100,00 €", "1.390,00 €"),
    ):
        row: Line = [(85, "Umsatz"), (160, text), (at, amount), (-555, balance)]
        lines += [[(40, day)], row] if is_above else [[(40, day), *row]]
        lines.append([(40, "2026")])

    found = read(tmp_path, *lines)

    assert found.amounts == ["-10.00", "500.00", "-100.00"]
    assert found.dates == ["2026-03-01", "2026-03-02", "2026-03-05"]
    assert found.flags == []
