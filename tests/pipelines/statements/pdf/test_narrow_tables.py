"""Tables whose names stand close together, and parts of a statement that go on behind a page break."""

from pathlib import Path

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import sheet, write
from tests.pipelines.statements.reading import read_bytes

Texts = list[tuple[float, str]]


def test_long_names_of_both_sides_are_two_columns_without_a_gap(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Kontoauszug 01.02.2026 - 28.02.2026")],
        [(40, "Datum"), (150, "Beschreibung"), (-424, "ZAHLUNGSEINGANG"), (424.8, "ZAHLUNGSAUSGANG"), (-555, "SALDO")],
        [(40, "01.02.2026"), (150, "Zinsen"), (-424, "8,42"), (-555, "108,42")],
        [(40, "03.02.2026"), (150, "Laden"), (-510, "50,00"), (-555, "58,42")],
        [(40, "10.02.2026"), (150, "Gehalt"), (-424, "1.000,00"), (-555, "1.058,42")],
    )  # fmt: skip

    read = read_bytes(tmp_path, paper.pdf())

    assert read.amounts == ["8.42", "-50.00", "1000.00"]


def test_a_total_of_a_part_that_goes_on_behind_a_page_break_is_no_total_of_all(
    tmp_path: Path,
) -> None:
    heading: Texts = [(40, "Date"), (100, "Description"), (-560, "Amount")]
    first: list[Texts] = [
        [(40, "Account statement for April 1, 2026 to April 30, 2026")],
        [(40, "Beginning balance on April 1, 2026"), (-330, "$1,000.00")],
        [(40, "Deposits and other additions"), (-330, "500.00")],
        [(40, "Withdrawals and other subtractions"), (-330, "-100.00")],
        [(40, "Service fees"), (-330, "-12.00")],
        [(40, "Ending balance on April 30, 2026"), (-330, "$1,388.00")],
        [(40, "Deposits and other additions")],
        heading,
        [(40, "04/04/26"), (100, "PAYROLL"), (-560, "500.00")],
        [(40, "Total deposits and other additions"), (-560, "$500.00")],
        [(40, "Withdrawals and other subtractions")],
        heading,
        [(40, "04/02/26"), (100, "GROCER"), (-560, "-40.00")],
        [(40, "04/07/26"), (100, "ATM"), (-560, "-30.00")],
    ]
    second: list[Texts] = [
        [(40, "Withdrawals and other subtractions - continued")],
        heading,
        [(40, "04/09/26"), (100, "ENERGY"), (-560, "-30.00")],
        [(40, "Total withdrawals and other subtractions"), (-560, "-$100.00")],
        [(40, "Service fees")],
        heading,
        [(40, "04/30/26"), (100, "Monthly fee"), (-560, "-12.00")],
        [(40, "Total service fees"), (-560, "-$12.00")],
    ]
    paper = Paper(A4)
    for lines in (first, second):
        paper.page()
        for at, texts in enumerate(lines):
            write(paper, 80 + at * 16, texts)

    read = read_bytes(tmp_path, paper.pdf())

    assert read.amounts == ["500.00", "-40.00", "-30.00", "-30.00", "-12.00"]
    assert read.flags == []


def test_the_period_of_april_is_no_annual_rate(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Statement Period 01 Apr 2026 - 30 Apr 2026")],
        [(40, "Date"), (100, "Description"), (-450, "Amount"), (-540, "Balance")],
        [(40, "02 Apr"), (100, "Rent"), (-450, "-90.00"), (-540, "910.00")],
        [(40, "05 Apr"), (100, "Salary"), (-450, "40.00"), (-540, "950.00")],
    )

    read = read_bytes(tmp_path, paper.pdf())

    assert read.dates == ["2026-04-02", "2026-04-05"]
    assert read.flags == []


# Columns whose cells are parted by little more than a blank, below names of no known language.
CLOSE: list[Texts] = [
    [(44, "Reikningsyfirlit 01.09.2025 - 30.09.2025 ISK")],
    [(44, "Dags. Vaxtadags. Textalykill Skyring"), (-480, "Upphaed"), (-550, "Stada")],
    [(200, "Stada i upphafi"), (-550, "164.960,00")],
    [(44, "02.09.2025"), (94.5, "02.09.2025"), (145, "Laun Orkuveitan"), (-480, "236.023,00"), (-550, "400.983,00")],
    [(44, "12.09.2025"), (94.5, "12.09.2025"), (145, "Laun Jon"), (-480, "-10.423,00"), (-550, "390.560,00")],
    [(44, "13.09.2025"), (94.5, "11.09.2025"), (145, "Debetkort Bonus"), (-480, "-240.330,00"), (-550, "150.230,00")],
    [(44, "13.09.2025"), (94.5, "12.09.2025"), (145, "Debetkort Kronan"), (-480, "-8.566,00"), (-550, "141.664,00")],
    [(44, "24.09.2025"), (94.5, "22.09.2025"), (145, "Millifaert Anna"), (-480, "18.863,00"), (-550, "160.527,00")],
    [(44, "25.09.2025"), (94.5, "25.09.2025"), (145, "Debetkort Siminn"), (-480, "-3.445,00"), (-550, "157.082,00")],
]  # fmt: skip


def test_cells_are_parted_where_those_of_other_rows_begin_or_end(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, sheet(*CLOSE).pdf())

    assert found.dates == [f"2025-09-{day}" for day in ("02", "12", "13", "13", "24", "25")]
    assert found.canonicals[2]["value_date"] == "2025-09-11"
    assert found.flags == []
