"""Days, columns and rows in shapes that many banks print, drawn otherwise than where they were first met."""

from pathlib import Path

import pytest

from stateward.pipelines.kit import money
from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
SIDES: Line = [(60, "Date"), (130, "Description"), (-400, "Debit"), (-480, "Credit"), (-560, "Balance")]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "days"),
    [
        ("Buchung/Wert", ["03.03./02.03.", "07.03./07.03.", "31.03./01.04."]),
        ("Booking date/Value date", ["03-03-2025/02-03-2025", "07-03-2025/07-03-2025", "31-03-2025/01-04-2025"]),
    ],
)  # fmt: skip
def test_two_days_in_one_word_are_two(tmp_path: Path, names: str, days: list[str]) -> None:
    rows: list[Line] = [
        [(60, day), (180, f"Abcd {n}"), (-400, f"- {n}.50")] for n, day in enumerate(days, start=1)
    ]
    found = read(
        tmp_path,
        [PERIOD, [(60, names), (180, "Description"), (-400, "Debit"), (-480, "Credit")], *rows],
    )

    assert found.dates == ["2025-03-03", "2025-03-07", "2025-03-31"]
    assert [row["value_date"] for row in found.canonicals] == ["2025-03-02", "2025-03-07", "2025-04-01"]  # fmt: skip
    assert found.amounts == ["-1.50", "-2.50", "-3.50"]


@pytest.mark.parametrize(
    ("upper", "lower"),
    [("Withdrawal (Dr)/", "Deposit (Cr)"), ("Payments/", "Receipts"), ("Debit/", "Credit")],
)
@pytest.mark.parametrize("mark", ["(Dr)", " Dr"])
def test_a_name_that_ends_with_a_slash_goes_on_below(
    tmp_path: Path, upper: str, lower: str, mark: str
) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Date"), (130, "Narration"), (-440, upper), (-560, "Balance")],
            [(-440, lower)],
            [(130, "Opening balance"), (-560, "500.00(Cr)")],
            [(60, "13-03-2025"), (130, "Abcd"), (-440, f"40.00{mark}"), (-560, "460.00(Cr)")],
            [(60, "17-03-2025"), (130, "Efgh"), (-440, "15.00(Cr)"), (-560, "475.00(Cr)")],
            [(60, "19-03-2025"), (130, "Ijkl"), (-440, f"5.00{mark}"), (-560, "470.00(Cr)")],
        ],
    )

    assert found.amounts == ["-40.00", "15.00", "-5.00"]
    assert found.flags == []


@pytest.mark.parametrize(("text", "mark"), [("512.96(Dr)", "Dr"), ("1,00 (CR)", "CR"), ("9.00(D)", "D")])  # fmt: skip
def test_a_mark_in_brackets_is_one(text: str, mark: str) -> None:
    read_one = money.read_amount(text, "," if "," in text else ".")

    assert read_one is not None
    assert (read_one.mark, read_one.value > 0) == (mark, True)
    assert money.read_amount("512.96 (Abc)") is None


@pytest.mark.parametrize(
    ("abroad", "own", "language"),
    [
        ("US$", "R$", ["Data", "Histórico", "Cidade"]),
        ("USD", "EUR", ["Date", "Description", "Town"]),
    ],
)
def test_of_two_columns_called_by_currencies_the_one_of_all_rows_counts(
    tmp_path: Path, abroad: str, own: str, language: list[str]
) -> None:
    rows: list[Line] = [
        [(60, f"{n:02}/03"), (130, f"Abcd {n}"), (300, "Rome"), (-560, f"{n}0,00")]
        for n in (3, 5, 14, 17)
    ]
    rows[1].append((-460, "9,90"))
    names = zip((60, 130, 300), language, strict=True)
    found = read(
        tmp_path,
        [
            [(60, "Extrato 01/03/2025 - 31/03/2025")],
            [*names, (-460, abroad), (-560, own)],
            *rows,
        ],
    )

    assert found.amounts == ["30.00", "50.00", "140.00", "170.00"]


@pytest.mark.parametrize("fee", ["Frais", "Fees", "Gebühr"])
def test_a_row_with_nothing_but_a_fee_is_booked(tmp_path: Path, fee: str) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Date"), (130, "Description"), (-340, fee), (-400, "Debit"), (-480, "Credit"), (-560, "Balance")],
            [(130, "Opening balance"), (-560, "500.00")],
            [(60, "13/03/2025"), (130, "Abcd"), (-400, "40.00"), (-560, "460.00")],
            [(60, "17/03/2025"), (130, "Efgh"), (-480, "15.00"), (-560, "475.00")],
            [(60, "31/03/2025"), (130, "Ijkl"), (-340, "7.95"), (-560, "467.05")],
            [(130, "Total"), (-340, "7.95"), (-400, "40.00"), (-480, "15.00")],
        ],
    )  # fmt: skip

    assert found.amounts == ["-40.00", "15.00", "-7.95"]
    assert found.flags == []


@pytest.mark.parametrize("is_still", [True, False])
def test_totals_are_of_the_account_above_them_and_another_may_have_no_booking(
    tmp_path: Path, *, is_still: bool
) -> None:
    row: Line = [(60, "19/03/2025"), (130, "Ijkl"), (-480, "1.00"), (-560, "6.00")]
    rows: list[Line] = [] if is_still else [row]
    found = read(
        tmp_path,
        [
            PERIOD,
            SIDES,
            [(130, "Balance brought forward"), (-560, "500.00")],
            [(60, "13/03/2025"), (130, "Abcd"), (-400, "40.00"), (-560, "460.00")],
            [(60, "17/03/2025"), (130, "Efgh"), (-480, "15.00"), (-560, "475.00")],
            [(130, "Total"), (-400, "40.00"), (-480, "15.00")],
            [(60, "SHARE ACCOUNT")],
            SIDES,
            [(130, "Balance brought forward"), (-560, "5.00")],
            *rows,
        ],
    )

    assert found.amounts == ["-40.00", "15.00", *([] if is_still else ["1.00"])]
    assert found.flags == []


def test_small_amounts_are_no_days(tmp_path: Path) -> None:
    small = ["5.19", "8.01", "4.25", "3.08", "9.11"]
    rows: list[Line] = []
    balance = 500.0
    for n, amount in enumerate(small, start=3):
        balance -= float(amount)
        rows.append([(60, f"{n:02} Mar"), (130, "Contactless payment")])
        rows.append([(130, f"SHOP {n}"), (-400, amount), (-560, f"{balance:.2f}")])
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Date"), (130, "Description"), (-400, "£ Out"), (-480, "£ In"), (-560, "£ Balance")],
            [(130, "Balance brought forward"), (-560, "500.00")],
            *rows,
        ],
    )  # fmt: skip

    assert found.amounts == [f"-{amount}" for amount in small]
    assert found.flags == []


@pytest.mark.parametrize(
    ("first", "last"),
    [("Statement starts", "Statement ends"), ("Period begins", "Period ends")],
)
def test_a_period_may_be_told_by_verbs(tmp_path: Path, first: str, last: str) -> None:
    found = read(
        tmp_path,
        [
            [(60, first), (200, "14 January 2026")],
            [(60, last), (200, "13 March 2026")],
            [(60, "Date"), (130, "Particulars"), (-400, "Debits"), (-480, "Credits"), (-560, "Balance")],
            [(60, "14 Jan 2026"), (130, "Brought forward ..............................."), (-560, "500.00")],
            [(60, "15 Jan 2026"), (130, "Abcd ................................"), (-400, "40.00"), (-560, "460.00")],
            [(60, "12 Mar 2026"), (130, "Efgh ................................"), (-480, "15.00"), (-560, "475.00")],
        ],
    )  # fmt: skip

    assert found.about["sections"][0]["period_to"] == "13 March 2026"
    assert [row["description"] for row in found.canonicals] == ["Abcd", "Efgh"]
    assert found.flags == []


ENDS: list[Line] = [
    [(60, "Opening balance"), (-300, "500.00")],
    [(60, "Closing balance"), (-300, "475.00")],
]
TWO_ROWS: list[Line] = [
    [(60, "13/03/2025"), (130, "Abcd"), (-400, "40.00"), (-560, "460.00")],
    [(60, "17/03/2025"), (130, "Efgh"), (-480, "15.00"), (-560, "475.00")],
]


@pytest.mark.parametrize("value", ["0.00", "12.00"])
def test_a_table_without_any_day_below_other_names_adds_up_something_else(
    tmp_path: Path, value: str
) -> None:
    other: list[Line] = [
        [(60, "Government charges"), (300, "From 1 July to date"), (-520, "Last year to 30 June")],
        [(60, "Withdrawal tax"), (-340, value), (-520, value)],
        [(60, "Account tax"), (-340, value), (-520, value)],
    ]
    found = read(tmp_path, [PERIOD, *ENDS, SIDES, *TWO_ROWS, *other])
    open_ended = read(tmp_path, [PERIOD, SIDES, *TWO_ROWS, *other])

    assert found.amounts == ["-40.00", "15.00"]
    assert found.flags == []
    assert open_ended.flags or open_ended.amounts == ["-40.00", "15.00"]


@pytest.mark.parametrize("is_summed", [True, False])
def test_what_has_no_day_below_the_closing_balance_is_left_out_if_the_sum_bears_it_out(
    tmp_path: Path, *, is_summed: bool
) -> None:
    opening: Line = [(130, "Previous balance"), (-480, "500.00")]
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Date"), (130, "Description"), (-400, "Debit"), (-480, "Credit")],
            *([opening] if is_summed else []),
            [(60, "13/03/2025"), (130, "Abcd"), (-400, "40.00")],
            [(60, "13/03/2025"), (130, "Efgh"), (-480, "15.00")],
            [(130, "New balance at 31/03/2025"), (-480, "475.00")],
            [(130, "For your information, in francs"), (-480, "3115.80")],
        ],
    )

    assert found.amounts[:2] == ["-40.00", "15.00"]
    assert (found.amounts[2:], found.flags) == ([], []) if is_summed else found.flags


@pytest.mark.parametrize("number", ["11 844 22A 033", "0532 0130 00"])
def test_the_number_of_an_account_within_its_iban_is_no_other_account(
    tmp_path: Path, number: str
) -> None:
    iban = "FR84 2004 1010 1111 8442 2A03 342" if "A" in number else "DE89 3704 0044 0532 0130 00"
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, f"IBAN: {iban}")],
            *ENDS[:1],
            SIDES,
            TWO_ROWS[0],
        ],
        [
            [(60, f"Account number {number} (continued)")],
            SIDES,
            TWO_ROWS[1],
            [(130, "Closing balance"), (-560, "475.00")],
        ],
    )

    assert len(found.about["sections"]) == 1
    assert found.flags == []


def test_a_row_whose_text_stands_on_the_next_page_keeps_it(tmp_path: Path) -> None:
    names: Line = [(60, "Booking"), (130, "Text"), (400, "Value date"), (-560, "Amount")]
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Opening balance"), (-300, "500.00")],
            names,
            [(60, "13/03"), (130, "Abcd"), (400, "13/03"), (-560, "40.00-")],
            [(60, "17/03"), (400, "17/03"), (-560, "9.90-")],
        ],
        [
            [(60, "Holder"), (200, "Number"), (400, "Page")],
            [(60, "A. Nyone"), (200, "4.118.209"), (400, "2")],
            names,
            [(130, "SHOP OF THE CORNER")],
            [(130, "Paid by card")],
            [(60, "19/03"), (130, "Efgh"), (400, "19/03"), (-560, "15.00")],
            [(60, "Closing balance"), (-300, "465.10")],
        ],
    )

    assert found.canonicals[1]["description"] == "SHOP OF THE CORNER Paid by card"
    assert len(found.canonicals) == 3
    assert found.flags == []


@pytest.mark.parametrize("says", ["Pending", "(pending)"])
@pytest.mark.parametrize("is_counted", [False, True])
def test_pending_rows_that_no_balance_counts_are_left_out(
    tmp_path: Path, says: str, *, is_counted: bool
) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            ENDS[0],
            [(60, "Closing balance"), (-300, "444.00" if is_counted else "475.00")],
            SIDES,
            TWO_ROWS[0],
            [(60, "15/03/2025"), (130, f"Hotel {says}"), (-400, "31.00")],
            [*TWO_ROWS[1][:-1], (-560, "444.00" if is_counted else "475.00")],
        ],
    )

    assert ("-31.00" in found.amounts) is is_counted
    assert ("BOOKING_UNPROVEN" in found.flags) is is_counted
    assert "NOT_RECONCILED" not in found.flags


def test_the_value_date_below_each_date_ends_no_row(tmp_path: Path) -> None:
    rows: list[Line] = []
    for n in (3, 5, 14):
        rows += [
            [
                (60, f"{n:02}.03.2025"),
                (130, f"4711{n}"),
                (240, f"Transfer {n}"),
                (-480, f"-{n}.00"),
                (-560, f"{500 - {3: 3, 5: 8, 14: 22}[n]}.00"),
            ],
            [(60, f"{n - 1:02}.03.2025")],
            [(124, f"To: Abcd {n}")],
            [(124, "For: Efgh")],
        ]
    found = read(
        tmp_path,
        [
            [(60, "Wyciąg 01.03.2025 - 31.03.2025")],
            [(60, "Data operacji")],
            [(130, "Identyfikator operacji"), (240, "Typ operacji"), (-480, "Kwota operacji"), (-560, "Saldo")],
            [(60, "Data waluty")],
            *rows,
        ],
    )  # fmt: skip

    assert found.dates == ["2025-03-03", "2025-03-05", "2025-03-14"]
    assert found.canonicals[0]["description"] == "Transfer 3 To: Abcd 3 For: Efgh"
    assert found.canonicals[0]["value_date"] == "2025-03-02"


def test_a_third_date_and_a_time_are_no_text(tmp_path: Path) -> None:
    columns = (60, 130, 170, 260, 330, -480, -560)
    names = "Booked|Time|Transaction date|Value date|Text|Amount|Balance"
    rows: list[Line] = [list(zip(columns, names.split("|"), strict=True))]
    for at, n in enumerate((13, 15, 24)):
        days = [f"{day}/03/2025" for day in (n, n - 1, n)]
        cells = [days[0], "08:20", *days[1:], f"Abcd {n}", "-1.00", f"{500 - at}.00"]
        rows.append(list(zip(columns, cells, strict=True)))
    found = read(tmp_path, [PERIOD, *rows])

    assert [row["description"] for row in found.canonicals] == ["Abcd 13", "Abcd 15", "Abcd 24"]
    assert found.dates == ["2025-03-13", "2025-03-15", "2025-03-24"]


def test_the_currency_of_an_account_is_that_of_the_column_that_has_its_amounts(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Opening balance"), (-300, "500.00")],
            [(60, "Date"), (130, "Description"), (-460, "USD"), (-560, "EUR")],
            [(60, "13/03"), (130, "Purchase A"), (-560, "-40.00")],
            [(60, "14/03"), (130, "Purchase B"), (-460, "-9.00"), (-560, "-10.00")],
            [(60, "17/03"), (130, "Salary"), (-560, "15.00")],
            [(60, "Closing balance"), (-300, "465.00")],
        ],
    )

    assert found.amounts == ["-40.00", "-10.00", "15.00"]
    assert {row["currency"] for row in found.canonicals} == {"EUR"}


def test_a_day_between_rows_is_that_of_the_row_below_it(tmp_path: Path) -> None:
    rows: list[Line] = []
    for at, n in enumerate((13, 15, 17)):
        rows += [
            [
                (60, f"{n}/03/2025"),
                (130, f"Abcd {n}"),
                (-480, "-1.00"),
                (-560, f"{99 - 2 * at}.00"),
            ],
            [(60, f"{n + 1}/03/2025")],
            [(130, f"Efgh {n}"), (-480, "-1.00"), (-560, f"{98 - 2 * at}.00")],
        ]
    names: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]

    assert read(tmp_path, [PERIOD, names, *rows]).dates == [f"2025-03-{n}" for n in range(13, 19)]


def test_amounts_below_either_of_two_currencies_are_told(tmp_path: Path) -> None:
    rows: list[Line] = [
        [(60, f"{n}/03/2025"), (130, f"Purchase {n}"), (-460 if n % 2 else -560, f"-{n}.00")]
        for n in (13, 14, 17, 20)
    ]
    names: Line = [(60, "Date"), (130, "Description"), (-460, "USD"), (-560, "EUR")]

    assert "AMOUNT_UNPROVEN" in read(tmp_path, [PERIOD, names, *rows]).flags


@pytest.mark.parametrize(
    ("label", "dated"),
    [("Interest period", "Statement of 31.03.2025"), ("Zinsperiode", "Kontoauszug vom 31.03.2025")],
)
def test_the_period_of_a_rate_is_not_that_of_the_statement(
    tmp_path: Path, label: str, dated: str
) -> None:
    rows: list[Line] = [
        [(60, f"{n}.03."), (130, f"Purchase {n}"), (-480, f"-{n}.50")] for n in range(13, 18)
    ]
    found = read(
        tmp_path,
        [
            [(60, f"{label} 01.01.2023-31.12.2023")],
            [(60, dated)],
            [(60, "Date"), (130, "Description"), (-480, "Amount")],
            *rows,
        ],
    )

    assert found.dates == [f"2025-03-{n}" for n in range(13, 18)]


@pytest.mark.parametrize("has_balance", [True, False])
def test_a_second_column_of_amounts_is_no_rival_where_balances_follow_from_the_first(
    tmp_path: Path, *, has_balance: bool
) -> None:
    rows: list[Line] = [
        [(60, f"{n}/03/2025"), (130, f"Purchase {n}"), (-400, f"-{n}.00"), (-480, f"-{n}.75")]
        for n in (13, 14, 17, 20)
    ]
    names: Line = [(60, "Date"), (130, "Description"), (-400, "Amount"), (-480, "Net amount")]
    if has_balance:
        names.append((-560, "Balance"))
        for row, balance in zip(rows, (487, 473, 456, 436), strict=True):
            row.append((-560, f"{balance}.00"))

    found = read(tmp_path, [PERIOD, names, *rows])

    assert found.amounts == ["-13.00", "-14.00", "-17.00", "-20.00"]
    assert ("AMOUNT_UNPROVEN" in found.flags) is not has_balance
