"""Rows whose cells are centred on the line of their amount, and columns that are not what their name seems to say."""

from pathlib import Path

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]
Placed = tuple[float, Line]  # the height of a line, and its texts


def read(folder: Path, *pages: list[Placed]) -> Read:
    paper = Paper(A4)
    for lines in pages:
        paper.page()
        for y, texts in lines:
            write(paper, y, texts, size=8)
    return read_bytes(folder, paper.pdf())


def lines(*texts: Line, y: float = 100) -> list[Placed]:
    return [(y + at * 14, each) for at, each in enumerate(texts)]


CENTRED: list[Placed] = [
    (100, [(30, "Account activities 01/03/2025 - 31/03/2025")]),
    (
        120,
        [
            (30, "Statement Date"),
            (110, "Transaction Date"),
            (200, "Description"),
            (-380, "Deposit"),
            (-460, "Withdrawal"),
            (-560, "Balance"),
        ],
    ),
    (145, [(200, "Postage")]),
    (150, [(110, "03/03/2025 11:17:16")]),
    (155, [(30, "03/03/2025"), (200, "recovered"), (-380, "0.00"), (-460, "1.40"), (-560, "98.60")]),
    (160, [(110, "AM")]),
    (165, [(200, "in February")]),
    (185, [(200, "Instant transfer")]),
    (195, [(200, "of rent")]),
    (
        200,
        [(30, "04/03/2025"), (110, "04/03/2025"), (-380, "25.00"), (-460, "0.00"), (-560, "123.60")],
    ),
    (205, [(200, "HARBOUR")]),
    (215, [(200, "TRADING LTD")]),
    (235, [(30, "05/03/2025"), (200, "Fee"), (-380, "0.00"), (-460, "3.60"), (-560, "120.00")]),
    (255, [(200, "Cheque deposit")]),
    (260, [(30, "06/03/2025"), (-380, "30.00"), (-460, "0.00"), (-560, "150.00")]),
    (265, [(200, "ABMB 256280")]),
]  # fmt: skip


def test_text_above_and_below_the_line_of_its_amount_belongs_to_its_row(tmp_path: Path) -> None:
    found = read(tmp_path, CENTRED)

    assert [row.get("description") for row in found.canonicals] == [
        "Postage recovered in February",
        "Instant transfer of rent HARBOUR TRADING LTD",
        "Fee",
        "Cheque deposit ABMB 256280",
    ]
    assert found.amounts == ["-1.40", "25.00", "-3.60", "30.00"]
    assert found.flags == []


def test_a_single_row_has_the_text_around_it_and_not_the_prose_below(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            *CENTRED[:2],
            (140, [(200, "Opening balance"), (-560, "1,000.00")]),
            (155, [(200, "UPI/840398205126")]),
            (160, [(30, "13/03/2025"), (-380, "0.00"), (-460, "250.00"), (-560, "750.00")]),
            (165, [(200, "GREEN GROCER")]),
            (190, [(200, "Never share your password with anyone.")]),
        ],
    )

    assert [row["description"] for row in found.canonicals] == ["UPI/840398205126 GREEN GROCER"]


def test_text_below_its_row_stays_there_in_a_table_that_is_not_centred(tmp_path: Path) -> None:
    rows: list[Placed] = []
    for at in range(4):
        y = 140 + at * 36
        day: Line = [(30, f"{13 + at}/03/2025"), (200, f"Purchase {at}"), (-460, "10.00")]
        rows += [(y, [*day, (-560, f"{90 - 10 * at}.00")]), (y + 10, [(200, f"SHOP {at}")])]
    found = read(tmp_path, [*CENTRED[:2], *rows])

    assert [row["description"] for row in found.canonicals] == [
        f"Purchase {at} SHOP {at}" for at in range(4)
    ]


def test_stars_and_dots_beside_a_label_of_an_account_take_no_time(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        lines(
            [(30, "Account no. " + "*" * 60)],
            [(30, "Account " + "." * 60 + " 12110000267718")],
            [(30, "Date"), (100, "Description"), (-460, "Amount"), (-560, "Balance")],
            [(30, "13/03/2025"), (100, "Bakery"), (-460, "-10.00"), (-560, "90.00")],
            [(30, "14/03/2025"), (100, "Butcher"), (-460, "-20.00"), (-560, "70.00")],
        ),
    )

    assert found.amounts == ["-10.00", "-20.00"]


def test_the_number_of_a_page_is_no_day_of_the_rows_below_it(tmp_path: Path) -> None:
    heading: Line = [(40, "Data"), (120, "Histórico"), (-390, "Crédito"), (-470, "Débito")]
    found = read(
        tmp_path,
        [
            (60, [(40, "Extrato de 01/02/2026 a 28/02/2026")]),
            (100, heading),
            (115, [(40, "24/02/2026"), (120, "Saque"), (-470, "-17,16")]),
            (800, [(40, "1 / 4")]),
        ],
        [
            (60, heading),
            (75, [(120, "Pix enviado"), (-470, "-44,37")]),
            (90, [(40, "25/02/2026"), (120, "Pix recebido"), (-390, "96,80")]),
            (800, [(40, "2 / 4")]),
        ],
    )

    assert found.dates == ["2026-02-24", "2026-02-24", "2026-02-25"]


CARD: tuple[Line, ...] = (
    [(40, "Credit card statement"), (300, "Minimum payment due $26.00")],
    [(40, "Statement period 20 Feb 2026 - 19 Mar 2026")],
    [(40, "Opening balance"), (-300, "1,284.66")],
    [(40, "Closing balance"), (-300, "750.06")],
)
PURCHASES: tuple[Line, ...] = (
    [(40, "20 Feb"), (120, "WOOLWORTHS NEWTOWN"), (-536, "96.40")],
    [(40, "23 Feb"), (120, "PAYMENT - THANK YOU"), (-545, "650.00 -")],
    [(40, "27 Feb"), (120, "FOREIGN TRANSACTION FEE"), (-536, "19.00")],
)


def test_a_column_for_debits_and_credits_with_a_minus_is_one_of_amounts(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        lines(
            *CARD,
            [(40, "Date of"), (-545, "Debits/")],
            [(40, "Transaction"), (120, "Description"), (-545, "Credits(-)")],
            *PURCHASES,
        ),
    )

    assert found.amounts == ["-96.40", "650.00", "-19.00"]
    assert found.flags == []


def test_a_card_with_nothing_but_credits_of_both_signs_is_doubted(tmp_path: Path) -> None:
    heading: Line = [(40, "Date"), (120, "Description"), (-545, "Credits")]
    found = read(tmp_path, lines(*CARD, heading, *PURCHASES))

    assert "SIGN_UNPROVEN" in found.flags


def test_withdrawals_with_one_reversal_went_out_and_are_not_proven(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        lines(
            [(40, "Statement from 01.02.2026 to 28.02.2026")],
            [(40, "Date"), (120, "Description"), (-500, "Withdrawals")],
            [(40, "13.02.2026"), (120, "Rent"), (-500, "500.00")],
            [(40, "14.02.2026"), (120, "Bakery"), (-500, "12.00")],
            [(40, "15.02.2026"), (120, "Bakery returned"), (-500, "-12.00")],
        ),
    )

    assert found.amounts == ["-500.00", "-12.00", "12.00"]
    assert found.flags != []


def test_debits_with_and_without_a_minus_are_doubted_where_no_sum_tells_them(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        lines(
            [(40, "Statement from 01.02.2026 to 28.02.2026")],
            [(40, "Date"), (120, "Description"), (-400, "Debit"), (-500, "Credit")],
            [(40, "13.02.2026"), (120, "Rent"), (-400, "-500.00")],
            [(40, "14.02.2026"), (120, "Bakery"), (-400, "12.00")],
            [(40, "15.02.2026"), (120, "Salary"), (-500, "2,000.00")],
        ),
    )

    assert "SIGN_UNPROVEN" in found.flags


def test_fees_in_a_column_beside_the_debits_are_not_the_amount_of_their_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        lines(
            [(40, "Period: 1 Mar 2026 to 31 Mar 2026")],
            [
                (40, "Date"),
                (110, "Transaction Description"),
                (-340, "Charge"),
                (-410, "Debit Amount"),
                (-480, "Credit Amount"),
                (-550, "Balance"),
            ],
            [(40, "1/03/2026"), (110, "Bal brought forward"), (-550, "1 000.00")],
            [(40, "2/03/2026"), (110, "Pos purchase"), (-340, "1.70"), (-410, "612.45"), (-550, "387.55")],
            [(40, "9/03/2026"), (110, "Digital payment"), (-410, "87.55"), (-550, "300.00")],
            [(40, "16/03/2026"), (110, "Pos refund"), (-480, "29.00"), (-550, "329.00")],
            [(40, "31/03/2026"), (110, "Transaction charge"), (-410, "1.70"), (-550, "327.30")],
        ),
    )  # fmt: skip

    assert found.amounts == ["-612.45", "-87.55", "29.00", "-1.70"]
    assert found.flags == []


def test_a_day_with_a_point_that_only_its_month_first_puts_into_the_period_is_left_open(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        lines(
            [(40, "EXTRATO DE 2026/05/12 A 2026/06/11")],
            [
                (40, "DATA LANC."),
                (90, "DATA VALOR"),
                (140, "DESCRITIVO"),
                (-400, "DEBITO"),
                (-470, "CREDITO"),
                (-550, "SALDO"),
            ],
            [(140, "SALDO INICIAL"), (-550, "3 889.08")],
            [(40, "6.05"), (90, "6.05"), (140, "Salario"), (-470, "3 121.24"), (-550, "7 010.32")],
            [(140, "SALDO FINAL"), (-550, "7 010.32")],
        ),
    )  # fmt: skip

    assert found.amounts == ["3121.24"]
    assert "AMBIGUOUS_DATES" in found.flags


def test_a_day_without_a_name_before_the_only_value_date_is_doubted_in_a_single_row(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        lines(
            [(40, "EXTRATO DE 2026/05/12 A 2026/06/11")],
            [
                (90, "DATA VALOR"),
                (160, "DESCRITIVO"),
                (-400, "DEBITO"),
                (-470, "CREDITO"),
                (-550, "SALDO"),
            ],
            [(160, "SALDO INICIAL"), (-550, "3 889.08")],
            [(40, "6.05"), (90, "6.07"), (160, "Salario"), (-470, "3 121.24"), (-550, "7 010.32")],
            [(160, "SALDO FINAL"), (-550, "7 010.32")],
        ),
    )

    assert "DATE_UNPROVEN" in found.flags
