"""What no sum can show: the day that a row borrows, a foot of a page that looks like a row, a scale of amounts."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
NAMES: Line = [
    (60, "Description"),
    (300, "Date"),
    (-400, "Paid out"),
    (-480, "Paid in"),
    (-560, "Balance"),
]


def _out(text: str, day: str, value: str, balance: str) -> Line:
    ends: Line = [(300, day), (-560, balance)] if day else []
    return [(60, text), (-400, value), *ends]


@pytest.mark.parametrize("is_first_bare", [True, False])
def test_a_date_in_the_last_row_of_its_day_is_that_of_the_rows_above(
    tmp_path: Path, *, is_first_bare: bool
) -> None:
    first = [_out("Rent", "", "40.00", "")] if is_first_bare else []
    found = read(
        tmp_path,
        [
            PERIOD,
            NAMES,
            [(60, "Start balance"), (-560, "540.00" if is_first_bare else "500.00")],
            *first,
            _out("Cheque", "03/03/2025", "10.00", "490.00"),
            _out("Cinema", "", "20.00", ""),
            _out("Grocer", "07/03/2025", "30.00", "440.00"),
            _out("Kiosk", "14/03/2025", "5.00", "435.00"),
            [(60, "End balance"), (-560, "435.00")],
        ],
    )

    assert found.dates == [
        *["2025-03-03"] * (1 + is_first_bare),
        "2025-03-07",
        "2025-03-07",
        "2025-03-14",
    ]
    assert found.flags == []


def test_a_date_in_the_first_row_of_its_day_is_that_of_the_rows_below(tmp_path: Path) -> None:
    names: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]
    found = read(
        tmp_path,
        [
            PERIOD,
            names,
            [(130, "Balance brought forward"), (-560, "500.00")],
            [(60, "03/03/2025"), (130, "Cheque"), (-480, "-10.00"), (-560, "490.00")],
            [(60, "07/03/2025"), (130, "Cinema"), (-480, "-20.00")],
            [(130, "Grocer"), (-480, "-30.00"), (-560, "440.00")],
            [(60, "14/03/2025"), (130, "Kiosk"), (-480, "-5.00"), (-560, "435.00")],
            [(130, "Balance carried forward"), (-560, "435.00")],
        ],
    )

    assert found.dates == ["2025-03-03", "2025-03-07", "2025-03-07", "2025-03-14"]
    assert found.flags == []


@pytest.mark.parametrize("foot", ["Printed by branch 14 page", "Printed by branch 14"])
def test_a_foot_that_looks_like_a_row_is_told(tmp_path: Path, foot: str) -> None:
    def page(number: int, *rows: Line) -> list[Line]:
        text = f"{foot} {number}" if foot.endswith("page") else foot
        end: Line = [(60, "31/03/2025"), (130, text), (-560, "1.02")]
        space: list[Line] = [[]] * (12 - len(rows))
        return [
            PERIOD,
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            *rows,
            *space,
            end,
        ]

    found = read(
        tmp_path,
        page(
            1,
            [(60, "03/03/2025"), (130, "Cheque"), (-560, "-10.00")],
            [(60, "07/03/2025"), (130, "Cinema"), (-560, "-20.00")],
        ),
        page(2, [(60, "14/03/2025"), (130, "Kiosk"), (-560, "-5.00")]),
    )

    assert any(flag.startswith("BOOKING_UNPROVEN") for flag in found.flags)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Amount (in thousands)", ""),
        ("Amount", "All amounts in EUR thousands"),
        ("Betrag in TEUR", ""),
        ("Montant en milliers", ""),
    ],
)
def test_amounts_in_thousands_are_told(tmp_path: Path, name: str, title: str) -> None:
    found = read(tmp_path, [PERIOD, [(60, title or "Account 12345678")], *_rows(name)])

    assert any(flag.startswith("UNIT_UNPROVEN") for flag in found.flags)


@pytest.mark.parametrize("title", ["Credit limit 9 000", "Points in 000 shops", "Paid in miles"])
def test_other_thousands_are_no_scale(tmp_path: Path, title: str) -> None:
    found = read(tmp_path, [PERIOD, [(60, title)], *_rows("Amount")])

    assert found.flags == []


def _rows(name: str) -> list[Line]:
    return [
        [(60, "Date"), (130, "Description"), (-480, name), (-560, "Balance")],
        [(60, "03/03/2025"), (130, "Cheque"), (-480, "-10.00"), (-560, "490.00")],
        [(60, "17/03/2025"), (130, "Cinema"), (-480, "-20.00"), (-560, "470.00")],
    ]


def test_processed_beside_date_is_the_day_of_the_booking(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [
                (60, "Date"),
                (130, "Processed"),
                (230, "Description"),
                (-480, "Amount"),
                (-560, "Balance"),
            ],
            [
                (60, "13/03/2025"),
                (130, "15/03/2025"),
                (230, "Shop"),
                (-480, "-5.00"),
                (-560, "95.00"),
            ],
            [
                (60, "20/03/2025"),
                (130, "23/03/2025"),
                (230, "Shop"),
                (-480, "-7.00"),
                (-560, "88.00"),
            ],
        ],
    )

    assert found.dates == ["2025-03-15", "2025-03-23"]
    assert found.flags == []


@pytest.mark.parametrize(
    ("head", "is_told"),
    [
        ([(60, "Datum vanaf"), (150, "01-10-2025"), (250, "Datum t/m"), (350, "28-10-2025")], True),
        ([(60, "Datum vanaf"), (150, "01-10-2025")], False),
        ([(60, "Printed on 01-10-2025")], False),
    ],
)
def test_rows_are_not_of_the_year_before_the_first_day_of_their_period(
    tmp_path: Path, head: Line, *, is_told: bool
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "IBAN NL44 RABO 0123 4567 89")],
            head[:2],
            head[2:],
            [(60, "Beginsaldo"), (150, "100,00 CR")],
            [(60, "Eindsaldo"), (150, "88,00 CR")],
            [(60, "Datum"), (130, "Omschrijving"), (-460, "Bedrag af"), (-540, "Bedrag bij")],
            [(60, "06-10"), (130, "Winkel"), (-460, "5,00")],
            [(60, "20-10"), (130, "Winkel"), (-460, "7,00")],
        ],
    )

    assert any(flag.startswith("DATE_UNPROVEN") for flag in found.flags) is not is_told
    if is_told:
        assert found.dates == ["2025-10-06", "2025-10-20"]


@pytest.mark.parametrize("name", ["TERHELÉS / JÓVÁÍRÁS", "Debit / Credit"])
def test_one_column_called_by_both_sides_is_one_of_amounts(tmp_path: Path, name: str) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Opening balance"), (-540, "500.00")],
            [(60, "Date"), (130, "Value date"), (230, "Description"), (-540, name)],
            [(60, "13/03/2025"), (130, "15/03/2025"), (230, "Shop"), (-540, "-80.00")],
            [(60, "20/03/2025"), (130, "23/03/2025"), (230, "Shop"), (-540, "7.00")],
            [(60, "Closing balance"), (-540, "427.00")],
        ],
    )

    assert found.dates == ["2025-03-13", "2025-03-20"]
    assert found.amounts == ["-80.00", "7.00"]
    assert found.flags == []


def test_a_page_that_goes_on_with_a_day_leaves_no_doubt_where_dates_stand_above(
    tmp_path: Path,
) -> None:
    names: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]
    found = read(
        tmp_path,
        [
            PERIOD,
            names,
            [(130, "Opening balance"), (-560, "500.00")],
            [(60, "3 Mar"), (130, "Transfer 4711")],
            [(130, "Cheque"), (-480, "-10.00"), (-560, "490.00")],
            [(60, "7 Mar"), (130, "Transfer 4712")],
            [(130, "Cinema"), (-480, "-20.00")],
            [(130, "Transfer 4713")],
        ],
        [
            names,
            [(130, "Grocer"), (-480, "-30.00"), (-560, "440.00")],
            [(60, "14 Mar"), (130, "Transfer 4714")],
            [(130, "Kiosk"), (-480, "-5.00"), (-560, "435.00")],
            [(130, "Closing balance"), (-560, "435.00")],
        ],
    )

    assert found.dates == ["2025-03-03", "2025-03-07", "2025-03-07", "2025-03-14"]
    assert not any("stands between two amounts" in flag for flag in found.flags)


def test_what_a_row_nets_is_its_amount_beside_gross_and_fee(tmp_path: Path) -> None:
    def row(day: str, value: str) -> Line:
        return [(60, day), (130, "Payment"), (-440, value), (-490, "0.00"), (-550, value)]

    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Beginning Available Balance"), (-400, "$100.00")],
            [(60, "Ending Available Balance"), (-400, "$98.00")],
            [(60, "Date"), (130, "Description"), (-440, "Gross"), (-490, "Fee"), (-550, "Net")],
            row("03/13/2025", "-5.00"),
            row("03/14/2025", "10.00"),
            row("03/20/2025", "-7.00"),
        ],
    )

    assert found.amounts == ["-5.00", "10.00", "-7.00"]
    assert found.flags == []


def test_signs_of_a_bank_account_stay_as_printed_though_words_speak_against_them(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Movimientos de cuenta")],
            [(60, "IBAN ES12 0049 0000 1111 2222 3333")],
            [(60, "Desde 01/10/2025 hasta 28/10/2025")],
            [(60, "Fecha operación"), (140, "Operación"), (330, "Fecha valor"), (-470, "Importe"), (-550, "Saldo")],
            [(60, "24/10/2025"), (140, "Compra Uno"), (330, "26/10/2025"), (-470, "-458,04€"), (-550, "8.654,32€")],
            [(60, "14/10/2025"), (140, "Compra Dos"), (330, "14/10/2025"), (-470, "61,60€"), (-550, "9.112,36€")],
            [(60, "12/10/2025"), (140, "Compra Tres"), (330, "12/10/2025"), (-470, "590,25€"), (-550, "9.050,76€")],
        ],
    )  # fmt: skip

    assert found.amounts == ["-458.04", "61.60", "590.25"]


def test_the_iban_by_which_a_card_is_paid_makes_its_page_none_of_a_bank_account(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement")],
            [(60, "IBAN ES12 0049 0000 1111 2222 3333")],
            [(60, "From 01/10/2025 to 28/10/2025")],
            [(60, "Date"), (140, "Description"), (-470, "Amount"), (-550, "Balance")],
            [(60, "03/10/2025"), (140, "Abc"), (-470, "58.04"), (-550, "158.04")],
            [(60, "10/10/2025"), (140, "Payment thank you"), (-470, "-100.00"), (-550, "58.04")],
            [(60, "14/10/2025"), (140, "Def"), (-470, "61.60"), (-550, "119.64")],
        ],
    )

    assert found.amounts == ["-58.04", "100.00", "-61.60"]


@pytest.mark.parametrize("names", [("Amount", "Amount"), ("Amount USD", "Amount EUR")])
def test_two_columns_of_amounts_that_differ_are_not_read_in_silence(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    rows: list[Line] = [
        [(60, f"0{n}/10/2025"), (140, f"Purchase {n}"), (-380, f"-6{n}.00"), (-470, f"-5{n}.00")]
        for n in range(1, 5)
    ]
    heading: Line = [(60, "Date"), (140, "Description"), (-380, names[0]), (-470, names[1])]
    title: Line = [(60, "Statement from 01/10/2025 to 31/10/2025")]

    assert "AMOUNT_UNPROVEN" in read(tmp_path, [title, heading, *rows]).flags
    # Also where the first is filled in more rows: it is no proof that the other one is that of another currency.
    assert "AMOUNT_UNPROVEN" in read(tmp_path, [title, heading, *rows, rows[0][:3]]).flags


def test_names_of_columns_are_known_beside_the_number_of_their_page(tmp_path: Path) -> None:
    pages: list[list[Line]] = [
        [
            [(60, "Statement from 01/10/2025 to 31/10/2025")],
            [(60, "Date"), (140, "Description"), (-470, "Amount"), (520, f"Page {n} of 2")],
            [(60, f"0{n}/10/2025"), (140, "Purchase"), (-470, f"-{n}.00")],
            [(60, f"1{n}/10/2025"), (140, "Salary"), (-470, f"{n}00.00")],
        ]
        for n in (1, 2)
    ]

    found = read(tmp_path, *pages)

    assert found.amounts == ["-1.00", "100.00", "-2.00", "200.00"]
    assert found.flags == []


@pytest.mark.parametrize(("names", "sign"), [(["Net", "VAT", "Gross"], 1), (["Gross", "Fee", "Net"], -1)])  # fmt: skip
def test_of_net_and_gross_amounts_the_one_behind_the_other_is_booked(
    tmp_path: Path, names: list[str], sign: int
) -> None:
    rows: list[Line] = [
        [
            (60, f"{day:02}/03/2025"),
            (130, "Purchase of fuel"),
            (-400, f"-{10 * day}.00"),
            (-480, f"-{sign * day}.00".replace("--", "")),
            (-560, f"-{(10 + sign) * day}.00"),
        ]
        for day in (3, 5, 14, 22)
    ]
    heads = zip((-400, -480, -560), names, strict=True)

    found = read(tmp_path, [PERIOD, [(60, "Date"), (130, "Description"), *heads], *rows])

    assert found.amounts == [f"-{(10 + sign) * day}.00" for day in (3, 5, 14, 22)]


CARD_OR_NOT: list[Line] = [
    [(60, "02/03/2025"), (130, "Grocer"), (-560, "45.90")],
    [(60, "05/03/2025"), (130, "Bookshop"), (-560, "12.00")],
    [(60, "13/03/2025"), (130, "Direct debit"), (-560, "-350.00")],
    [(60, "22/03/2025"), (130, "Kiosk"), (-560, "60.00")],
]


@pytest.mark.parametrize("iban", ["", "IBAN XX89 3704 0044 0532 0130 00"])
def test_a_page_whose_amounts_are_mostly_positive_may_be_of_a_debt(
    tmp_path: Path, iban: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Your account")],
            [(60, iban or "Page 1")],
            PERIOD,
            [(60, "Opening balance"), (-560, "350.00")],
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            *CARD_OR_NOT,
            [(60, "Closing balance"), (-560, "117.90")],
        ],
    )

    assert "SIGN_UNPROVEN" in found.flags


SAVED = ["300.00", "200.00", "-150.00", "250.00"]


@pytest.mark.parametrize(
    ("labels", "is_open"),
    [
        (("Deposits", "Withdrawals"), False),
        (("Insättningar", "Uttag"), False),
        (("Purchases", "Payments received"), True),  # of a card: those that grow are debits
        (("Interest", "Fees"), True),
    ],
)
def test_sums_named_by_their_sides_tell_a_deposit_from_a_debt(
    tmp_path: Path, labels: tuple[str, str], is_open: bool
) -> None:
    rows: list[Line] = [
        [(60, f"{n + 2:02}/03/2025"), (130, f"Abcd {n}"), (-560, amount)]
        for n, amount in enumerate(SAVED)
    ]
    found = read(
        tmp_path,
        [
            PERIOD,
            [(60, "Opening balance"), (-250, "100.00"), (330, labels[0]), (-560, "750.00")],
            [(60, "Closing balance"), (-250, "700.00"), (330, labels[1]), (-560, "-150.00")],
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            *rows,
        ],
    )

    assert ("SIGN_UNPROVEN" in found.flags) is is_open
