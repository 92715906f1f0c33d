"""Pages in the manner of banks in Malaysia and India: two languages, names over the middle of their columns."""

from pathlib import Path

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read(folder: Path, *pages: list[Line]) -> Read:
    paper = Paper(A4)
    for lines in pages:
        paper.page()
        for at, texts in enumerate(lines):
            write(paper, 60 + at * 11, texts)
    return read_bytes(folder, paper.pdf())


def test_a_company_that_is_called_like_a_currency_is_none(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "INTEGRASI ERAT SDN. BHD.")],
            [
                (40, "DATE"),
                (110, "REFERENCE NO."),
                (260, "DETAILS"),
                (-450, "AMOUNT"),
                (-550, "BALANCE"),
            ],
            [(40, "30/06/25"), (190, "BEGINNING BALANCE"), (-550, "9,974.00")],
            [
                (40, "01/07/25"),
                (115, "18513378"),
                (190, "DuitNow Dr"),
                (-450, "4,200.00-"),
                (-550, "5,774.00"),
            ],
            [(190, "KEDAI RUNCIT SDN. BHD.")],
            [
                (40, "13/07/25"),
                (115, "18513379"),
                (190, "DuitNow Cr"),
                (-450, "100.00"),
                (-550, "5,874.00"),
            ],
        ],
    )

    assert {row.get("currency", "") for row in found.canonicals} == {""}
    assert [row["balance"] for row in found.canonicals] == ["5774.00", "5874.00"]
    assert [row["description"] for row in found.canonicals] == [
        "DuitNow Dr KEDAI RUNCIT SDN. BHD.",
        "DuitNow Cr",
    ]
    assert [row["reference"] for row in found.canonicals] == ["18513378", "18513379"]
    assert found.flags == []


def test_a_heading_in_a_second_language_may_have_an_unknown_name(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Statement Period : 01/09/25 - 30/09/25")],
            [
                (67, "Date"),
                (111, "Transaction Description"),
                (351, "Deposit"),
                (423, "Withdrawal"),
                (509, "Balance"),
            ],
            [
                (64, "Tarikh"),
                (111, "Deskripsi Transaksi"),
                (346, "Gubahan"),
                (421, "Pengeluaran"),
                (515, "Baki"),
            ],
            [(105, "Balance from previous statement"), (-540, "4,253.14")],
            [(60, "03-09-2025"), (111, "Cheque"), (-466, "1,000.00"), (-540, "3,253.14")],
            [(60, "04-09-2025"), (111, "Transfer"), (-385, "29,000.00"), (-540, "32,253.14")],
        ],
    )

    assert found.amounts == ["-1000.00", "29000.00"]
    assert found.flags == []


def test_text_of_the_last_page_below_a_balance_that_is_brought_forward_ends_no_table(
    tmp_path: Path,
) -> None:
    heading: Line = [(57, "DATE"), (93, "TRANSACTION"), (319, "DEBIT"), (407, "CREDIT")]
    heading += [(498, "BALANCE")]
    found = read(
        tmp_path,
        [
            [(57, "Statement Date 30 Apr 2025")],
            heading,
            [(57, "31/03"), (93, "Balance From Last Statement"), (-526, "1,000.00")],
            [(57, "07/04"), (93, "LOAN PYMT 068372"), (-338, "20.00"), (-526, "980.00")],
            [(93, "Balance C/F"), (-526, "980.00")],
        ],
        [
            heading,
            [(57, "07/04"), (93, "Balance B/F"), (-526, "980.00")],
            [(93, "CLEAR WATER SERVICES")],
            [(93, "GIRO PYMT 068412"), (-338, "30.00"), (-526, "950.00")],
            [(57, "09/04"), (93, "TRANSFER CR"), (-430, "50.00"), (-526, "1,000.00")],
            [(93, "Closing Balance"), (-526, "1,000.00")],
        ],
    )

    assert found.amounts == ["-20.00", "-30.00", "50.00"]
    assert found.dates == ["2025-04-07", "2025-04-07", "2025-04-09"]
    assert found.flags == []


def test_one_minus_among_debits_without_a_sign_is_that_of_a_reversal(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "From : 01/10/2023 To : 31/10/2023")],
            [
                (40, "Date"),
                (110, "Narration"),
                (320, "Withdrawal Amt."),
                (420, "Deposit Amt."),
                (500, "Closing Balance"),
            ],
            [(40, "13/10/23"), (110, "UPI SHOP"), (-380, "700.00"), (-560, "9,300.00")],
            [(40, "14/10/23"), (110, "ATM"), (-380, "1,000.00"), (-560, "8,300.00")],
            [(40, "15/10/23"), (110, "ATM"), (-380, "-1,000.00"), (-560, "9,300.00")],
            [(40, "16/10/23"), (110, "INTEREST"), (-470, "39.00"), (-560, "9,339.00")],
        ],
    )

    assert found.amounts == ["-700.00", "-1000.00", "1000.00", "39.00"]
    assert found.flags == []


def test_a_company_that_pays_salaries_contradicts_no_sign(tmp_path: Path) -> None:
    rows: list[Line] = []
    balance = 10_000
    for day in range(13, 19):
        balance -= 100
        rows.append(
            [
                (40, f"{day}/05/2025"),
                (110, "DUITNOW SALARY 052025"),
                (-380, "100.00"),
                (-560, f"{balance:,}.00"),
            ]
        )
    found = read(
        tmp_path,
        [
            [
                (40, "Date"),
                (110, "Description"),
                (320, "Withdrawal"),
                (420, "Deposits"),
                (500, "Balance"),
            ],
            [(110, "Opening Balance"), (-560, "10,000.00")],
            *rows,
            [(110, "Closing Balance"), (-560, f"{balance:,}.00")],
        ],
    )

    assert set(found.amounts) == {"-100.00"}
    assert found.flags == []


def test_dates_stand_below_the_longer_of_two_names(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [
                (62, "Date"),
                (158, "Description"),
                (348, "Withdrawal"),
                (423, "Deposits"),
                (500, "Balance"),
            ],
            [
                (58, "Tarikh"),
                (158, "Diskripsi"),
                (346, "Pengeluaran"),
                (423, "Gubahan"),
                (505, "Baki"),
            ],
            [(100, "Opening Balance"), (-530, "1,000.00")],
            [(38, "13/05/2025"), (100, "TR TO C/A"), (-388, "10.00"), (-530, "990.00")],
            [(38, "28/05/2025"), (100, "FUND"), (-455, "500.00"), (-530, "1,490.00")],
        ],
    )

    assert found.dates == ["2025-05-13", "2025-05-28"]
    assert found.amounts == ["-10.00", "500.00"]
    assert found.flags == []
