"""Pages whose names, lists and stamps say more than each word by itself: what stands near them decides."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def page(*lines: Line) -> Paper:
    paper = Paper(A4)
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 12, texts)
    return paper


def read(folder: Path, *lines: Line) -> Read:
    return read_bytes(folder, page(*lines).pdf())


def test_names_of_columns_that_stand_close_are_parted_where_the_cells_below_begin(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(44, "Releve de comptes du 01/04/2025 au 30/04/2025 en euros")],
        [(44, "Date ope. Date valeur Libelle des operations"), (-470, "Debit"), (-550, "Credit")],
        [(130, "Ancien solde au 31.03.2025"), (-550, "100,00")],
        [(44, "01.04"), (86, "02.04"), (130, "Prlv Foncia"), (-470, "30,00")],
        [(44, "04.04"), (86, "07.04"), (130, "Virement Poirier"), (-550, "80,00")],
        [(44, "15.04"), (86, "16.04"), (130, "Carte Intermarche"), (-470, "12,50")],
        [(130, "Nouveau solde au 30.04.2025"), (-550, "137,50")],
    )

    assert found.amounts == ["-30.00", "80.00", "-12.50"]
    assert found.dates == ["2025-04-01", "2025-04-04", "2025-04-15"]
    assert found.flags == []


def test_a_word_of_a_label_that_is_torn_is_read_as_one(tmp_path: Path) -> None:
    lines: list[Line] = [
        [(44, "Estratto conto al 31/03/2025 in euro")],
        [(44, "Data"), (100, "Valuta"), (-210, "Dare"), (-290, "Avere"), (310, "Descrizione")],
        [(44, "31/12/24"), (-290, "500,00"), (-366, "SALDO INIZ"), (367.4, "IALE")],
        [(44, "07/01/25"), (100, "07/01/25"), (-210, "38,60"), (310, "PAGAMENTO POS")],
        [(44, "27/01/25"), (100, "27/01/25"), (-290, "980,00"), (310, "ACCREDITO STIPENDIO")],
        [(44, "31/03/25"), (-290, "1.441,40"), (310, "SALDO FINALE")],
    ]

    found = read(tmp_path, *lines)

    assert found.amounts == ["-38.60", "980.00"]
    assert found.checks[0]["status"] == "reconciled"


def test_dates_below_a_name_that_sounds_like_money_are_dates(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(44, "Credit card statement 30 March 2025   Credit limit 4,200.00")],
        [(44, "Previous balance"), (-300, "100.00")],
        [(44, "New balance"), (-300, "128.15")],
        [
            (44, "Received by us"),
            (140, "Transaction date"),
            (250, "Details"),
            (-540, "Amount"),
        ],
        [(44, "03 Mar 25"), (140, "01 Mar 25"), (250, "SIMPLY FOOD BATH"), (-540, "42.15")],
        [(44, "06 Mar 25"), (140, "05 Mar 25"), (250, "PAYMENT - THANK YOU"), (-540, "32.00 CR")],
        [(44, "10 Mar 25"), (140, "07 Mar 25"), (250, "PARKING"), (-540, "18.00")],
    )

    assert found.dates == ["2025-03-03", "2025-03-06", "2025-03-10"]
    assert found.amounts == ["-42.15", "32.00", "-18.00"]
    assert found.flags == []


@pytest.mark.parametrize(
    ("first", "second", "flags"),
    [("Dato", "Rentedato", []), ("Transaction date", "Dag X", ["DATE_UNPROVEN"])],
)
def test_a_second_day_below_an_unknown_name_is_doubted_beside_that_of_a_purchase_alone(
    tmp_path: Path, first: str, second: str, flags: list[str]
) -> None:
    found = read(
        tmp_path,
        [(44, "Statement of account 01/03/2025 to 31/03/2025 USD")],
        [(44, first), (130, "Text"), (308, second), (-457, "Amount"), (-549, "Balance")],
        [(44, "03/03/2025"), (130, "Shop"), (308, "05/03/2025"), (-457, "-5.00"), (-549, "95.00")],
        [(44, "13/03/2025"), (130, "Pay"), (308, "15/03/2025"), (-457, "25.00"), (-549, "120.00")],
    )

    assert found.dates == ["2025-03-03", "2025-03-13"]
    assert found.flags == flags


def test_of_two_days_in_each_row_one_without_a_name_is_told_even_where_some_are_equal(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(44, "Kreditkarte Kontoauszug 13.01.2026")],
        [(44, "Alter Saldo"), (-300, "541,10-")],
        [(44, "Neuer Saldo"), (-300, "579,90-")],
        [(44, "Beleg"), (-549, "Betrag")],
        [(44, "13.12.25"), (100, "15.12.25"), (160, "Gutschrift"), (-549, "37,20+")],
        [(44, "20.12.25"), (100, "20.12.25"), (160, "Kiosk"), (-549, "16,00-")],
        [(44, "22.12.25"), (100, "22.12.25"), (160, "Baeckerei"), (-549, "60,00-")],
    )

    assert "DATE_UNPROVEN" in found.flags


ACCOUNTS: list[Line] = [
    [(44, "Statement of Account   February 1 - February 28, 2025   CAD")],
    [(44, "Free Chequing Account 100044178820")],
    [
        (44, "Date"),
        (100, "Description"),
        (-420, "Withdrawals"),
        (-495, "Deposits"),
        (-567, "Balance"),
    ],
    [(44, "FEB 01"), (100, "BALANCE FORWARD"), (-567, "1,488.02")],
    [(44, "FEB 03"), (100, "PRE-AUTHORIZED DEBIT"), (-420, "325.00"), (-567, "1,163.02")],
    [(44, "FEB 14"), (100, "CHEQUE #118"), (-420, "96.50"), (-567, "1,066.52")],
    [(44, "FEB 26"), (100, "CHEQUE #119"), (-420, "250.00"), (-567, "816.52")],
    [(44, "High Interest Savings 100044178838")],
    [
        (44, "Date"),
        (100, "Description"),
        (-420, "Withdrawals"),
        (-495, "Deposits"),
        (-567, "Balance"),
    ],
    [(44, "FEB 01"), (100, "BALANCE FORWARD"), (-567, "6,120.00")],
    [(44, "FEB 07"), (100, "TRANSFER IN"), (-495, "200.00"), (-567, "6,320.00")],
    [(44, "FEB 28"), (100, "INTEREST"), (-495, "9.31"), (-567, "6,329.31")],
]
CHEQUES: list[Line] = [
    [(44, "Cheques paid")],
    [(44, "Cheque"), (126, "Date"), (-295, "Amount")],
    [(44, "118"), (126, "FEB 14"), (-295, "96.50")],
    [(44, "119"), (126, "FEB 26"), (-295, "250.00")],
]


def test_a_list_of_cheques_that_stand_in_a_table_with_balances_books_none_again(
    tmp_path: Path,
) -> None:
    found = read(tmp_path, *ACCOUNTS, *CHEQUES)

    assert found.amounts == ["-325.00", "-96.50", "-250.00", "200.00", "9.31"]
    assert "a list of 2 rows is skipped" in found.log
    assert found.flags == []


@pytest.mark.parametrize(
    ("total", "flags"), [("346.50", []), ("346.00", ["BOOKING_UNPROVEN"])], ids=["sum", "no sum"]
)
def test_a_list_may_number_its_rows_by_any_name_and_end_with_their_sum(
    tmp_path: Path, total: str, flags: list[str]
) -> None:
    heading: Line = [(44, "Draft #"), (126, "Date"), (-295, "Amount")]
    found = read(
        tmp_path, *ACCOUNTS, CHEQUES[0], heading, *CHEQUES[2:], [(126, "2 drafts"), (-295, total)]
    )

    assert [flag for flag in found.flags if flag == "BOOKING_UNPROVEN"] == flags
    assert (found.flags == []) is (flags == [])


def test_a_list_with_a_cheque_that_stands_nowhere_else_is_kept_and_doubted(tmp_path: Path) -> None:
    found = read(tmp_path, *ACCOUNTS, *CHEQUES, [(44, "120"), (126, "FEB 27"), (-295, "11.00")])

    assert len(found.amounts) == 8
    assert found.flags == ["BOOKING_UNPROVEN"]


def test_a_title_with_a_number_written_like_the_account_above_names_another(
    tmp_path: Path,
) -> None:
    found = read(tmp_path, *ACCOUNTS)

    accounts = [row["account"] for row in found.canonicals]
    assert accounts == ["100044178820"] * 3 + ["100044178838"] * 2


TOTALLED: list[Line] = [
    [(44, "Rekeninguittreksel 30/04/2025 EUR")],
    [(44, "Datum"), (110, "Omschrijving"), (-454, "Debet"), (-547, "Credit")],
    [(110, "Vorig saldo op 31/03/2025"), (-547, "100,00")],
    [(44, "01/04/2025"), (110, "Huur"), (-454, "40,00")],
    [(44, "03/04/2025"), (110, "Winkel"), (-454, "20,00")],
    [(44, "14/04/2025"), (110, "Terugbetaling"), (-547, "95,00")],
    [(44, "15/04/2025"), (110, "Loon"), (-547, "5,00")],
]


def test_a_total_of_one_side_that_contradicts_the_rows_is_told(tmp_path: Path) -> None:
    last: Line = [(110, "Nieuw saldo op 30/04/2025"), (-547, "140,00")]

    right, wrong = (
        read(
            tmp_path,
            *TOTALLED,
            [(110, "Totaal verrichtingen"), (-454, debits), (-547, "100,00")],
            last,
        )
        for debits in ("60,00", "50,00")
    )

    assert right.flags == []
    assert wrong.flags == ["NOT_RECONCILED"]
    assert right.amounts == wrong.amounts == ["-40.00", "-20.00", "95.00", "5.00"]


def test_a_statement_that_is_stamped_void_is_told(tmp_path: Path) -> None:
    paper = page(*TOTALLED, [(110, "Nieuw saldo op 30/04/2025"), (-547, "140,00")])
    paper.text(200, 400, "VOID - SUPERSEDED BY STATEMENT 3A", size=30, angle=30)

    found = read_bytes(tmp_path, paper.pdf())

    assert found.flags == ["BOOKING_UNPROVEN"]


def test_a_row_that_is_struck_out_is_told(tmp_path: Path) -> None:
    paper = page(*TOTALLED, [(110, "Nieuw saldo op 30/04/2025"), (-547, "140,00")])
    y = paper.size[1] - (60 + 4 * 12) + 3  # through the amount of the shop
    paper._pages[-1].append(f"0.8 w 428 {y:.1f} m 456 {y:.1f} l S")

    found = read_bytes(tmp_path, paper.pdf())

    assert found.flags == ["BOOKING_UNPROVEN"]


HEADING: Line = [
    (44, "Date"),
    (200, "Description"),
    (-420, "Debit"),
    (-495, "Credit"),
    (-560, "Balance"),
]


def test_texts_above_all_rows_are_those_of_the_rows_below_them(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(44, "Statement 01/03/2025 to 31/03/2025 USD")],
        HEADING,
        [(200, "Opening balance"), (-560, "100.00")],
        [(200, "CARD PURCHASE ALDI")],
        [(44, "03/03/2025"), (200, "REF 111"), (-420, "5.00"), (-560, "95.00")],
        [(200, "SALARY ACME")],
        [(44, "13/03/2025"), (200, "REF 222"), (-495, "25.00"), (-560, "120.00")],
        [(200, "RENT SMITH")],
        [(44, "15/03/2025"), (200, "REF 333"), (-420, "20.00"), (-560, "100.00")],
        [(200, "Closing balance"), (-560, "100.00")],
    )

    assert [row["description"] for row in found.canonicals] == [
        "CARD PURCHASE ALDI REF 111", "SALARY ACME REF 222", "RENT SMITH REF 333",
    ]  # fmt: skip
    assert found.flags == []


def test_texts_below_rows_stay_theirs_where_a_title_stands_above_the_first(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(44, "Statement 01/03/2025 to 31/03/2025 USD")],
        HEADING,
        [(200, "Opening balance"), (-560, "100.00")],
        [(44, "03/03/2025"), (200, "ALDI"), (-420, "5.00"), (-560, "95.00")],
        [(200, "Berlin")],
        [(44, "13/03/2025"), (200, "SALARY"), (-495, "25.00"), (-560, "120.00")],
        [(200, "Acme")],
        [(44, "15/03/2025"), (200, "FEE"), (-420, "20.00"), (-560, "100.00")],
        [(200, "Closing balance"), (-560, "100.00")],
    )

    texts = [row["description"] for row in found.canonicals]
    assert texts == ["ALDI Berlin", "SALARY Acme", "FEE"]


def test_a_balance_on_a_day_without_a_year_ends_the_rows_that_a_page_carries_forward(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [(44, "Statement of account  1 March 2025 to 31 March 2025  GBP")],
        [(44, "Opening balance"), (-300, "100.00")],
        HEADING,
        [(44, "3 March"), (200, "Shop"), (-420, "5.00")],
        [(44, "9 March"), (200, "Pay"), (-495, "30.00")],
        [(200, "Carried forward"), (-560, "125.00")],
        [(44, "15 March"), (200, "Rent"), (-420, "20.00")],
        [(44, "Balance on 31 March"), (-560, "105.00")],
    )

    assert found.amounts == ["-5.00", "30.00", "-20.00"]
    assert found.checks[0]["closing"] == "105.00"
    assert found.flags == []


@pytest.mark.parametrize(("balance", "flags"), [("100.00", ["ACCOUNT_UNPROVEN"]), ("700.00", [])])
def test_balances_that_go_on_in_the_rows_of_another_account_are_told(
    tmp_path: Path, balance: str, flags: list[str]
) -> None:
    title: Line = [(44, "Statement of account 01/03/2025 to 31/03/2025 USD")]
    paper = page(
        title,
        [(44, "Account number: 12345678")],
        HEADING,
        [(200, "Opening balance"), (-560, "100.00")],
        [(44, "03/03/2025"), (200, "Shop"), (-420, "5.00"), (-560, "95.00")],
        [(44, "13/03/2025"), (200, "Pay"), (-495, "25.00"), (-560, "120.00")],
    )
    paper.page()
    lines: list[Line] = [
        title,
        [(44, "Account number: 87654321")],
        HEADING,
        [(44, "15/03/2025"), (200, "Rent"), (-420, "20.00"), (-560, balance)],
        [(200, "Closing balance"), (-560, balance)],
    ]
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 12, texts)

    found = read_bytes(tmp_path, paper.pdf())

    assert [flag for flag in found.flags if flag == "ACCOUNT_UNPROVEN"] == flags


@pytest.mark.parametrize("text", ["TRANSFER FROM CHEQUING", "PRE-AUTHORIZED BAKERY"])
def test_a_list_of_one_row_with_a_word_of_a_row_with_a_balance_is_another_booking(
    tmp_path: Path, text: str
) -> None:
    found = read(
        tmp_path,
        *ACCOUNTS[:7],
        [(44, "Savings Account 100044178838")],
        [(44, "Date"), (100, "Description"), (-420, "Withdrawals"), (-495, "Deposits")],
        [(44, "FEB 03"), (100, text), (-495, "325.00")],
    )

    assert found.amounts == ["-325.00", "-96.50", "-250.00", "325.00"]
    assert "BOOKING_UNPROVEN" not in found.flags


@pytest.mark.parametrize(
    "line", ["Customer number 87654321", "Printed on 20250331", "Call us 02071234"]
)
def test_a_number_as_long_as_the_account_above_the_table_of_the_next_page_is_no_account(
    tmp_path: Path, line: str
) -> None:
    paper = page(
        [(44, "Account number 12345678   GBP  Statement 1 March 2025 to 31 March 2025")],
        HEADING,
        [(44, "01/03/2025"), (200, "Opening balance"), (-560, "100.00")],
        [(44, "03/03/2025"), (200, "Shop"), (-420, "5.00"), (-560, "95.00")],
        [(44, "09/03/2025"), (200, "Pay"), (-495, "30.00"), (-560, "125.00")],
    )
    paper.page()
    rent: Line = [(44, "15/03/2025"), (200, "Rent"), (-420, "20.00"), (-560, "105.00")]
    for at, texts in enumerate([[(44.0, line)], HEADING, rent]):
        write(paper, 60 + at * 12, texts)

    found = read_bytes(tmp_path, paper.pdf())

    assert [row["account"] for row in found.canonicals] == ["12345678"] * 3


def test_texts_between_rows_with_one_above_the_first_may_be_those_of_either(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(44, "Statement 01/03/2025 to 31/03/2025 USD")],
        HEADING,
        [(200, "J SMITH CARD 1234")],
        [(44, "03/03/2025"), (200, "CARD PURCHASE"), (-420, "5.00"), (-560, "95.00")],
        [(200, "ALDI")],
        [(44, "13/03/2025"), (200, "TRANSFER IN"), (-495, "25.00"), (-560, "120.00")],
        [(200, "ACME")],
        [(44, "15/03/2025"), (200, "INTEREST"), (-495, "1.00"), (-560, "121.00")],
    )

    assert found.flags == ["TEXT_MISSING"]


@pytest.mark.parametrize(("text", "angle"), [("Draft", 0), ("Bank draft terms apply", 90)])
def test_a_word_of_a_row_or_of_a_margin_is_no_stamp(tmp_path: Path, text: str, angle: int) -> None:
    own: list[Line] = [] if angle else [[(110, text)]]
    last: Line = [(110, "Nieuw saldo op 30/04/2025"), (-547, "140,00")]
    paper = page(*TOTALLED[:4], *own, *TOTALLED[4:], last)
    if angle:
        paper.text(20, 400, text, size=6, angle=angle)

    assert read_bytes(tmp_path, paper.pdf()).flags == []


@pytest.mark.parametrize("name", ["Credit date", "Order received"])
def test_a_day_beside_one_called_date_alone_does_not_replace_it(tmp_path: Path, name: str) -> None:
    found = read(
        tmp_path,
        [(44, "Statement 01/03/2025 to 31/03/2025 USD")],
        [(44, "Date"), (100, name), (200, "Description"), (-495, "Amount"), (-560, "Balance")],
        [(44, "03/03/2025"), (100, "04/03/2025"), (200, "ALDI"), (-495, "-5.00"), (-560, "95.00")],
        [(44, "05/03/2025"), (100, "06/03/2025"), (200, "SHOP"), (-495, "-9.00"), (-560, "86.00")],
    )

    assert found.dates == ["2025-03-03", "2025-03-05"]
    assert found.flags == ["DATE_UNPROVEN"]


@pytest.mark.parametrize(
    "totals",
    [
        [[(110, "Totaal dit jaar"), (-454, "260,00"), (-547, "100,00")]],
        [
            [(110, "Totaal verrichtingen"), (-454, "60,00"), (-547, "100,00")],
            [(110, "Totaal van alles"), (-454, "60,00"), (-547, "900,00")],
        ],
    ],
)
def test_totals_of_a_year_do_not_contradict_the_rows(tmp_path: Path, totals: list[Line]) -> None:
    last: Line = [(110, "Nieuw saldo op 30/04/2025"), (-547, "140,00")]

    assert read(tmp_path, *TOTALLED, *totals, last).flags == []


# Day and balance stand in the last row of each day, behind the amounts.
BY_THE_DAY: list[Line] = [
    [(44, "Statement of account in EUR 01 MAR 26 to 31 MAR 26")],
    [(44, "Particulars"), (-330, "Debit"), (-400, "Credit"), (430, "Date"), (-560, "Balance")],
    [(44, "BALANCE BROUGHT FORWARD"), (430, "01 MAR 26"), (-560, "500.00")],
    [(44, "POS PURCHASE GREENGROCER"), (-330, "20.10"), (430, "02 MAR 26"), (-560, "479.90")],
    [(44, "CREDIT FROM A BORG"), (-400, "30.00")],
    [(44, "POS PURCHASE CHEMIST"), (-330, "9.90"), (430, "03 MAR 26"), (-560, "500.00")],
    [(44, "DIRECT DEBIT WATER WORKS"), (-330, "40.00")],
    [(44, "CREDIT FROM A BORG"), (-400, "75.25")],
    [(44, "STANDING ORDER LOAN"), (-330, "112.00"), (430, "05 MAR 26"), (-560, "423.25")],
    [(44, "SALARY COLLEGE"), (-400, "900.00"), (430, "09 MAR 26"), (-560, "1,323.25")],
]
SUMS: Line = [(44, "TOTALS"), (-330, "182.00"), (-400, "1,005.25")]
END: Line = [(44, "BALANCE CARRIED FORWARD"), (430, "31 MAR 26"), (-560, "1,323.25")]


@pytest.mark.parametrize("below", [[SUMS, END], [END]], ids=["with totals", "without"])
def test_rows_above_the_day_of_their_balance_are_of_that_day(
    tmp_path: Path, below: list[Line]
) -> None:
    found = read(tmp_path, *BY_THE_DAY, *below)

    assert found.dates == [f"2026-03-{day:02}" for day in (2, 3, 3, 5, 5, 5, 9)]
    assert found.amounts == ["-20.10", "30.00", "-9.90", "-40.00", "75.25", "-112.00", "900.00"]
    assert found.flags == []
