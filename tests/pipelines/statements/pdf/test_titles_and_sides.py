"""What stands above a table, what a column repeats, and what a page prints at the same place as another one."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.pipelines.kit.pdf.lines import lines_of
from stateward.pipelines.kit.pdf.pages import read_pages
from stateward.pipelines.statements.pdf.facts import period_of
from stateward.pipelines.statements.pdf.tokens import StatementLine
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]
HEADING: Line = [(60, "Date"), (130, "Description"), (-400, "Debit"), (-480, "Credit"), (-560, "Balance")]  # fmt: skip


def read(folder: Path, *pages: list[Line], top: float = 60) -> Read:
    paper = Paper(A4)
    for lines in pages:
        paper.page()
        for at, texts in enumerate(lines):
            write(paper, top + at * 11, texts)
    return read_bytes(folder, paper.pdf())


@pytest.mark.parametrize(
    ("number", "day"),
    [("CHQ 100417", "31 Mar 25"), ("CHK 311225", "03/31/2025"), ("ATM 010203", "31-Mar-2025")],
)
def test_the_number_of_a_cheque_is_neither_foreign_money_nor_a_day(
    tmp_path: Path, number: str, day: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            HEADING,
            [(60, day), (130, "BALANCE BROUGHT FORWARD"), (-560, "500.00")],
            [(60, day), (130, "DD WARWICK DC"), (-400, "171.00")],
            [(130, number), (-400, "60.00")],
            [(60, day), (130, "SO RENT"), (-400, "31.00"), (-560, "238.00")],
        ],
    )

    assert found.amounts == ["-171.00", "-60.00", "-31.00"]
    assert [row["description"] for row in found.canonicals][1] == number
    assert found.flags == []


@pytest.mark.parametrize(
    ("summary", "first", "second"),
    [
        ("Interest Paid Year-to-Date", "Electronic Deposits", "Other Credits"),
        ("Fees year to date", "Deposits and Additions", "Payments received"),
        ("Overdraft summary", "Gutschriften", "Eingänge"),
    ],
)
def test_a_figure_in_a_summary_is_no_title_of_the_tables_below_it(
    tmp_path: Path, summary: str, first: str, second: str
) -> None:
    heading: Line = [(60, "Posting date"), (160, "Description"), (-560, "Amount")]
    found = read(
        tmp_path,
        [
            [(60, "Statement period 03/01/2025 - 03/31/2025")],
            [(60, "Beginning balance"), (-300, "100.00"), (330, summary), (-560, "0.31")],
            [(60, "Ending balance"), (-300, "355.00")],
            [(60, first)],
            heading,
            [(60, "03/14"), (160, "Payroll"), (-560, "300.00")],
            [(60, "03/21"), (160, "Mobile deposit"), (-560, "20.00")],
            [(60, second)],
            heading,
            [(60, "03/22"), (160, "Interest paid"), (-560, "5.00")],
            [(60, "Checks paid"), (200, "No. of checks: 2"), (330, "* indicates a break in the serial sequence")],
            [(60, "Date"), (120, "Serial no."), (-250, "Amount"), (330, "Date"), (390, "Serial no."), (-560, "Amount")],
            [(60, "03/18"), (120, "2207"), (-250, "50.00"), (330, "03/27"), (390, "2208"), (-560, "20.00")],
        ],
    )  # fmt: skip

    assert sorted(found.amounts) == ["-20.00", "-50.00", "20.00", "300.00", "5.00"]
    assert found.flags == []


def test_the_title_of_a_table_below_one_that_is_not_booked_is_that_of_its_own(
    tmp_path: Path,
) -> None:
    heading: Line = [(60, "Date"), (160, "Description"), (-560, "Amount")]
    found = read(
        tmp_path,
        [
            [(60, "Statement period 03/01/2025 - 03/31/2025")],
            [(60, "Beginning balance"), (-300, "100.00")],
            [(60, "Ending balance"), (-300, "150.00")],
            [(60, "Pending transactions")],
            heading,
            [(60, "03/30"), (160, "Hotel"), (-560, "99.00")],
            [(60, "Deposits and other credits")],
            heading,
            [(60, "03/14"), (160, "Payroll"), (-560, "80.00")],
            [(60, "Withdrawals")],
            heading,
            [(60, "03/15"), (160, "Shop"), (-560, "30.00")],
        ],
    )

    assert found.amounts == ["80.00", "-30.00"]
    assert found.flags == []


@pytest.mark.parametrize(
    ("day", "left", "right", "days", "numbers"),
    [
        ("Valuta", "Saldi Dare", "Saldi Avere", "Giorni", "Numeri Avere"),
        ("Value date", "Debit balance", "Credit balance", "No. of days", "Rate"),
        ("Wert", "Saldo Soll", "Saldo Haben", "Tage", "Zinszahlen"),
    ],
)
def test_a_table_of_balances_by_side_lists_no_bookings(
    tmp_path: Path, day: str, left: str, right: str, days: str, numbers: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 01.07.2025 - 30.09.2025")],
            HEADING,
            [(60, "01.07.2025"), (130, "Opening balance"), (-560, "100.00")],
            [(60, "14.07.2025"), (130, "Shop"), (-400, "40.00"), (-560, "60.00")],
            [(60, "20.07.2025"), (130, "Wages"), (-480, "15.00"), (-560, "75.00")],
            [(60, "Interest")],
            [(60, day), (-240, left), (-330, right), (-400, days), (-540, numbers)],
            [(60, "01.07.2025"), (-330, "100.00"), (-400, "13"), (-540, "1.300")],
            [(60, "14.07.2025"), (-330, "60.00"), (-400, "6"), (-540, "360")],
            [(60, "20.07.2025"), (-330, "75.00"), (-400, "72"), (-540, "5.400")],
        ],
    )

    assert found.amounts == ["-40.00", "15.00"]
    assert found.flags == []


def test_an_account_below_another_on_one_page_is_no_missing_page(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement 01/01/2025 - 31/01/2025   Page 1 of 1")],
            [(60, "Current account"), (-560, "60.00")],
            [(60, "Savings"), (-560, "5,300.00")],
            [(60, "CURRENT ACCOUNT")],
            HEADING,
            [(130, "Balance brought forward"), (-560, "100.00")],
            [(60, "14/01/2025"), (130, "Shop"), (-400, "40.00"), (-560, "60.00")],
            [(60, "SAVINGS ACCOUNT")],
            HEADING,
            [(130, "Balance brought forward"), (-560, "5,000.00")],
            [(60, "15/01/2025"), (130, "Transfer"), (-480, "300.00"), (-560, "5,300.00")],
            [(60, "SHARES")],
            [(60, "Balance on 31 January 2025: 5.00")],
        ],
    )

    assert found.amounts == ["-40.00", "300.00"]
    assert found.flags == []


@pytest.mark.parametrize("printed_again", ["Your balance so far", "Average balance"])
@pytest.mark.parametrize("pages", [1, 2])
def test_a_balance_that_the_rows_do_not_reach_is_not_forgotten_where_theirs_is_printed_again(
    tmp_path: Path, printed_again: str, pages: int
) -> None:
    first = [
        [(60, "Account statement 1 March to 31 March 2025")],
        HEADING,
        [(60, "01 Mar 2025"), (130, "BALANCE BROUGHT FORWARD"), (-560, "500.00")],
        [(60, "03 Mar 2025"), (130, "Rent"), (-400, "171.00"), (-560, "329.00")],
        [(60, "05 Mar 2025"), (130, "Grocer"), (-400, "60.00"), (-560, "269.00")],
        [],
        [(60, printed_again), (-560, "269.00")],
    ]
    closing: Line = [(60, "Balance on 31 March 2025"), (-560, "190.00")]

    found = read(tmp_path, *([*first, closing],) if pages == 1 else (first, [closing]))

    assert found.flags == ["NOT_RECONCILED"]


@pytest.mark.parametrize(
    ("title", "amount", "billed", "total"),
    [
        ("クレジットカード ご利用代金明細", "利用金額", "当月請求額", "合計"),
        ("Credit card statement", "Transaction amount", "Balance", "Total"),
        ("Kreditkartenabrechnung", "Betrag", "Saldo", "Summe"),
    ],
)
def test_a_column_that_repeats_the_amount_of_each_row_is_no_balance(
    tmp_path: Path, title: str, amount: str, billed: str, total: str
) -> None:
    def row(day: str, shop: str, value: str) -> Line:
        return [(60, f"2025/05/{day}"), (160, shop), (-460, value), (-560, value)]

    found = read(
        tmp_path,
        [
            [(60, title)],
            [(60, "Date"), (160, "Description"), (-460, amount), (-560, billed)],
            row("02", "Seven", "12.84"),
            row("03", "Market", "59.80"),
            row("15", "Market", "-59.80"),
            row("18", "Fuel", "71.05"),
            [(160, total), (-560, "83.89")],
        ],
    )

    assert found.amounts == ["-12.84", "-59.80", "59.80", "-71.05"]
    assert found.flags == []


@pytest.mark.parametrize("top", [40, 740])
def test_two_pages_with_the_same_shop_at_the_same_place_keep_it(tmp_path: Path, top: int) -> None:
    def page(day: str, paid: str, left: str) -> list[Line]:
        return [
            [(60, "A Bank"), (300, "Statement 1 January 2025 to 31 March 2025")],
            HEADING,
            [(60, day), (130, "GRAND MARKET 4417 NEWTOWN NS AUS"), (-400, paid), (-560, left)],
        ]

    found = read(
        tmp_path,
        page("05 Jan 2025", "40.00", "960.00"),
        page("11 Feb 2025", "30.00", "930.00"),
        page("19 Mar 2025", "20.00", "910.00"),
        top=top,
    )

    assert [row["description"] for row in found.canonicals] == ["GRAND MARKET 4417 NEWTOWN NS AUS"] * 3  # fmt: skip
    assert found.flags == []


@pytest.mark.parametrize(
    ("before", "raised", "after"),
    [
        ("Folio : 334417 Période du 1", "er", "janvier 2025 au 31 janvier 2025"),
        ("Transit 20417 Statement period 1", "st", "January 2025 to 31 January 2025"),
        ("Blad 212 Periode van 1", "e", "januari 2025 tot 31 januari 2025"),
    ],
)
def test_raised_letters_behind_a_day_are_part_of_it(
    tmp_path: Path, before: str, raised: str, after: str
) -> None:
    paper = Paper(A4)
    paper.page()
    paper.right(300, 60, before)
    paper.text(310, 60, after)
    paper.text(300.2, 56.2, raised, size=6)
    path = tmp_path / "statement.pdf"
    path.write_bytes(paper.pdf())

    lines, _ = lines_of(list(read_pages(path)), StatementLine, is_content=bool)

    assert [line.text for line in lines[0]] == [f"{before}{raised} {after}"]
    assert period_of(lines[0]).start.endswith("2025")


@pytest.mark.parametrize("total", ["Total", "Subtotal"])
def test_a_total_above_further_amounts_does_not_claim_all_of_a_card(
    tmp_path: Path, total: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Credit card statement 1 March to 31 March 2025")],
            [(60, "Card number 4111 11XX XXXX 1111")],
            [(60, "Amount due"), (-560, "212.00")],
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            [(60, "03 Mar 2025"), (130, "Bookshop"), (-560, "100.00")],
            [(60, "05 Mar 2025"), (130, "Grocer"), (-560, "60.00")],
            [(60, "09 Mar 2025"), (130, "Cinema"), (-560, "40.00")],
            [(60, total), (-560, "200.00")],
            [],
            [(60, "Fees and interest")],
            [(60, "Interest on cash"), (-400, "3.20%"), (-560, "12.00")],
        ],
    )

    assert found.flags == ["ROWS_UNPROVEN"]


@pytest.mark.parametrize("mark", ["a", "e", "o", "ª"])
def test_a_raised_letter_behind_an_amount_is_its_note(tmp_path: Path, mark: str) -> None:
    paper = Paper(A4)
    paper.page()
    write(paper, 60, [(60, "Account statement 01/03/2025 - 31/03/2025")])
    write(paper, 80, HEADING)
    write(paper, 91, [(60, "01/03/2025"), (130, "Opening balance"), (-560, "500.00")])
    write(paper, 102, [(60, "03/03/2025"), (130, "Rent"), (-400, "171.00"), (-560, "329.00")])
    paper.text(400.3, 98.2, mark, size=6)
    write(paper, 113, [(60, "05/03/2025"), (130, "Grocer"), (-400, "60.00"), (-560, "269.00")])

    found = read_bytes(tmp_path, paper.pdf())

    assert found.amounts == ["-171.00", "-60.00"]
    assert found.flags == []


@pytest.mark.parametrize(
    "title",
    ["Declined payments", "Your regular payments in the coming month", "Zu Ihrer Information"],
)
@pytest.mark.parametrize("has_heading", [True, False])
def test_rows_below_a_title_that_says_nothing_known_are_doubted_where_no_balance_counts_them(
    tmp_path: Path, title: str, *, has_heading: bool
) -> None:
    heading: Line = [(60, "Date"), (130, "Description"), (-560, "Amount")]
    rows: list[Line] = [
        [(60, "13/03/2025"), (130, "Shop"), (-560, "-40.00")],
        [(60, "14/03/2025"), (130, "Wages"), (-560, "900.00")],
    ]
    ends: list[Line] = [
        [(60, "Opening balance"), (-560, "100.00")],
        [(60, "Closing balance"), (-560, "1,820.00")],
    ]
    others: list[Line] = [[row[0], (130, f"Other {row[1][1]}"), row[2]] for row in rows]
    below: list[Line] = [[(60, title)], *([heading] if has_heading else []), *others]

    assert read(tmp_path, [heading, *rows]).flags == []
    assert read(tmp_path, [heading, *rows, *below]).flags == ["ROWS_UNPROVEN"]
    assert read(tmp_path, [*ends, heading, *rows, *below]).flags == []


@pytest.mark.parametrize("note", ["Please check these", "They leave your account on these days"])
def test_a_list_of_standing_orders_with_a_line_that_explains_it_has_no_bookings(
    tmp_path: Path, note: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Account statement 1 March to 31 March 2025")],
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            [(60, "01 Mar 2025"), (130, "Kiosk"), (-560, "-1.00")],
            [(60, "Your standing orders")],
            [(60, note)],
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            [(60, "03 Mar 2025"), (130, "Bookshop"), (-560, "-10.00")],
        ],
    )

    assert found.amounts == ["-1.00"]
