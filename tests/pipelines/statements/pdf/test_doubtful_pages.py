"""Pages that may be read in two ways, or of which a row cannot be read: none of that in silence."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.workers.sdk import Failed
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]


def read(folder: Path, *lines: Line) -> Read:
    paper = Paper(A4)
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 9, texts)
    return read_bytes(folder, paper.pdf())


def row(day: str, text: str, amount: str) -> Line:
    return [(60, day), (150, text), (-520, amount)]


HEADING: Line = [(60, "Date"), (150, "Description"), (-520, "Amount")]

SHORT_DAYS = [
    [*HEADING, (-570, "Balance")],
    [*row("13/02", "Shop A", "-5.00"), (-570, "95.00")],
    [*row("14/02", "Shop B", "-6.00"), (-570, "89.00")],
    [*row("25/02", "Shop C", "-7.00"), (-570, "82.00")],
]


@pytest.mark.parametrize(("word", "is_doubted"), [("", True), ("Refund ", False)])
def test_a_minus_at_both_ends_is_doubted_where_the_card_may_be_overpaid(
    tmp_path: Path, word: str, is_doubted: bool
) -> None:
    found = read(
        tmp_path,
        [(60, "Credit card statement")],
        [(60, "Card number 4111 XXXX XXXX 1111")],
        [(60, "Statement period 01/03/2026 to 31/03/2026")],
        HEADING,
        [(150, "Previous balance"), (-520, "-100.00")],
        row("13/03/2026", f"{word}Amazon", "-50.00"),
        row("14/03/2026", f"{word}Zara", "-60.00"),
        row("18/03/2026", "Tesco", "20.00"),
        [(150, "New balance"), (-520, "-190.00")],
    )

    assert ("SIGN_UNPROVEN" in found.flags) is is_doubted
    assert found.amounts[0] == ("-50.00" if is_doubted else "50.00")


def test_an_amount_without_the_cents_of_all_others_is_not_lost_in_silence(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(60, "Bank statement")],
        HEADING,
        row("13/03/2026", "Tesco", "-12.30"),
        row("14/03/2026", "Rent", "-500"),
        *[row(f"{day}/03/2026", "Shop", f"-{day}.20") for day in range(15, 20)],
    )

    assert "ROW_UNREAD" in found.flags


@pytest.mark.parametrize(
    ("text", "is_period"),
    [
        ("Nuevas condiciones: septiembre de 2024", False),
        ("Oferta hasta SEPTIEMBRE/2027", False),
        ("Extracto de septiembre de 2026", True),
        ("SEPTIEMBRE/2026", True),
    ],
)
def test_a_sentence_about_a_month_gives_no_year_to_the_rows(
    tmp_path: Path, text: str, is_period: bool
) -> None:
    found = read(
        tmp_path,
        [(60, "Cuenta 12345678")],
        [(60, text)],
        [(60, "Fecha"), (150, "Concepto"), (-520, "Importe")],
        row("15/09", "Compra Mercadona", "-12,30"),
        row("16/09", "Nomina", "1.200,50"),
        row("28/09", "Recibo luz", "-40,10"),
    )

    assert isinstance(found.normalized, Failed) is not is_period


@pytest.mark.parametrize(
    ("number", "end", "foot", "is_missing"),
    [
        ("Page 1 of 2", "Carried forward", "", True),
        ("Seite 1 von 2", "Übertrag", "", True),
        ("", "Carried forward", "Continued overleaf", True),
        ("", "Übertrag", "", True),
        ("Page 1 of 1", "Carried forward", "", False),
        ("", "Balance carried forward", "Our terms are printed overleaf", False),
        ("Page 1 of 2", "Closing balance", "Continued overleaf", False),
    ],
)
def test_a_last_page_that_is_not_there_is_told(
    tmp_path: Path, number: str, end: str, foot: str, is_missing: bool
) -> None:
    found = read(
        tmp_path,
        [(60, "Bank statement"), (450, number)],
        [(60, "Date"), (150, "Description"), (-440, "Amount"), (-520, "Balance")],
        [(150, "Balance forward"), (-520, "640.00")],
        [(60, "13/06/2026"), (150, "Vodafone"), (-440, "-40.00"), (-520, "600.00")],
        [(60, "14/06/2026"), (150, "Spar"), (-440, "-12.00"), (-520, "588.00")],
        [(60, "18/06/2026"), (150, "Lodgement"), (-440, "300.00"), (-520, "888.00")],
        [(150, end), (-520, "888.00")],
        [(60, foot)],
    )

    assert found.flags == (["PAGE_MISSING"] if is_missing else [])
    assert found.amounts == ["-40.00", "-12.00", "300.00"]


@pytest.mark.parametrize(
    ("line", "is_doubted"),
    [
        ("Founded 12 May 1998", True),
        ("Card valid until 31 December 2029", True),
        ("2 April 2026", False),
        ("Printed 2 September 2026", False),
    ],
)
def test_the_year_of_some_day_on_the_page_is_taken_only_with_a_word(
    tmp_path: Path, line: str, is_doubted: bool
) -> None:
    found = read(
        tmp_path,
        [(60, "Bank statement")],
        [(60, line)],
        HEADING,
        row("13 Mar", "Tesco", "-12.30"),
        row("14 Mar", "Rent", "-500.00"),
        row("19 Mar", "Salary", "900.00"),
    )

    assert ("DATE_UNPROVEN" in found.flags) is is_doubted


def test_a_day_that_makes_the_rows_jump_from_year_to_year_is_doubted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(60, "Bank statement")],
        [(60, "04/13/2026")],
        HEADING,
        row("03/04", "Tesco", "-12.30"),
        row("05/04", "Rent", "-500.00"),
        row("07/04", "Salary", "900.00"),
    )

    assert {"DATE_UNPROVEN", "AMBIGUOUS_DATES"} & {*found.flags}


def test_the_only_year_of_a_page_may_stand_behind_its_month(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(60, "Banco Exemplo - Extrato")],
        [(60, "SETEMBRO/2026")],
        [(60, "Data"), (150, "Histórico"), (-520, "Valor")],
        row("13/09", "Padaria", "-12,30"),
        row("19/09", "Pix recebido", "900,00"),
    )

    assert found.dates == ["2026-09-13", "2026-09-19"]


def test_only_the_last_stage_flags_so_that_one_record_is_told_once(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [(60, "Bank statement")],
        [(60, "Founded 12 May 1998")],
        HEADING,
        row("13 Mar", "Tesco", "-12.30"),
        row("19 Mar", "Salary", "900.00"),
    )

    assert "flags" not in found.parsed.facts
    assert "DATE_UNPROVEN" in found.flags


def a_statement_of_a_savings_bank(folder: Path, first: str, last: str) -> Read:
    return read(
        folder,
        [(40, "Kontoauszug 3/2026")],
        [(40, "IBAN DE31 5205 2154 0100 7742 15")],
        [
            (40, "Datum"),
            (110, "Erläuterung"),
            (-430, "Betrag Soll EUR"),
            (-540, "Betrag Haben EUR"),
        ],
        [(40, "27.02.2026"), (110, first), (-540, "2.118,64")],
        [(40, "02.03.2026"), (110, "Dauerauftrag Miete"), (-430, "-465,00")],
        [(40, "27.03.2026"), (110, "Rentenzahlung"), (-540, "1.344,70")],
        [(40, "31.03.2026"), (110, "Entgeltabschluss"), (-430, "-4,90")],
        [(110, last), (-540, "2.993,44")],
    )


def test_a_balance_with_the_number_of_its_statement_is_the_opening_one(tmp_path: Path) -> None:
    found = a_statement_of_a_savings_bank(
        tmp_path,
        "Kontostand am 27.02.2026, Auszug Nr. 2",
        "Kontostand am 31.03.2026 um 20:03 Uhr",
    )

    assert (found.amounts, found.flags) == (["-465.00", "1344.70", "-4.90"], [])


def test_a_row_that_begins_as_a_balance_of_a_day_does_is_never_counted_in_silence(
    tmp_path: Path,
) -> None:
    found = a_statement_of_a_savings_bank(
        tmp_path, "Kontostand am 27.02.2026 laut Vorseite", "Ihr Dispokredit"
    )

    assert "2118.64" not in found.amounts or found.flags


@pytest.mark.parametrize(
    "line",
    [
        "Date of birth 28/02/1985",
        "Customer since 28/02/2019",
        "Date account opened 28/02/2019",
        "Geburtsdatum 28.02.1985",
    ],
)
def test_a_day_of_the_customer_is_not_the_year_of_rows_in_silence(
    tmp_path: Path, line: str
) -> None:
    found = read(tmp_path, [(60, "Example Bank account statement")], [(60, line)], *SHORT_DAYS)

    assert found.dates[0] is None or "DATE_UNPROVEN" in found.flags


@pytest.mark.parametrize(
    "line",
    [
        "Statement period 01/02/2026 - 28/02/2026 Offers inside",
        "Kontoutskrift Tilbudskonto 01/02/2026 - 28/02/2026",
        "Extracto Cuenta Oferta Joven 01/02/2026 - 28/02/2026",
    ],
)
def test_a_period_that_is_named_holds_beside_an_offer(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, [(60, line)], *SHORT_DAYS)

    assert found.dates == ["2026-02-13", "2026-02-14", "2026-02-25"]
    assert found.flags == []


PERIOD: Line = [(60, "Statement period 01/01/2026 - 31/01/2026")]


@pytest.mark.parametrize(
    ("doubted", "code"),
    [
        (row("03/01/2026", "CLIENT", "$20.00"), "CURRENCY_CONTRADICTED"),
        (row("03/01/2026", "PENDING - SHOP", "-€20.00"), "BOOKING_UNPROVEN"),
        (row("03/01/2026", "SHOP Declined", "-€20.00"), "BOOKING_UNPROVEN"),
        (row("03/01/2026", "SHOP", "########"), "ROW_UNREAD"),
        ([(60, "Account number 33334444")], "ACCOUNT_UNPROVEN"),
    ],
)
def test_a_line_among_the_rows_that_may_not_count_as_the_others_do_is_said(
    tmp_path: Path, doubted: Line, code: str
) -> None:
    above: list[Line] = [PERIOD, [(60, "Account number 11112222")], HEADING]
    rows = [row("02/01/2026", "HOTEL", "-€10.00"), row("04/01/2026", "GROCER", "-€5.00")]

    assert code in read(tmp_path, *above, rows[0], doubted, rows[1]).flags
    assert read(tmp_path, *above, *rows).flags == []


def test_an_account_that_is_named_again_on_the_next_page_is_no_other(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        PERIOD,
        [(60, "Account number 1111 2222")],
        HEADING,
        row("02/01/2026", "HOTEL", "-10.00"),
        [(60, "Account number 11112222")],
        row("04/01/2026", "GROCER", "-5.00"),
    )

    assert found.flags == []


def test_a_fee_beside_the_amount_is_doubted_where_no_sum_shows_whether_it_is_in_it(
    tmp_path: Path,
) -> None:
    heads: Line = [(60, "Date"), (150, "Description"), (-430, "Fee"), (-520, "Amount")]

    def rows(fee: str) -> list[Line]:
        first: Line = [(60, "02/01/2026"), (150, "HOTEL"), (-430, fee), (-520, "-10.00")]
        second: Line = [(60, "03/01/2026"), (150, "SHOP"), (-430, "0.00"), (-520, "-20.00")]
        return [PERIOD, heads, first, second]

    assert "FEE_UNPROVEN" in read(tmp_path, *rows("-1.00")).flags
    assert read(tmp_path, *rows("0.00")).flags == []


def test_an_amount_in_another_currency_below_a_row_is_no_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        PERIOD,
        HEADING,
        row("02/01/2026", "HOTEL", "-10.00"),
        [(150, "11.50 USD"), (-520, "11.50")],
        row("03/01/2026", "SHOP", "-20.00"),
    )

    assert found.amounts == ["-10.00", "-20.00"]


@pytest.mark.parametrize(
    ("heads", "days", "name"),
    [
        (("Date", "Description", "Amount"), [f"0{day}/01/2026" for day in range(2, 8)], "Balance"),
        (("Datum", "Text", "Betrag"), [f"0{day}.01.2026" for day in range(2, 8)], "Saldo"),
        (("Date", "Details", "Amount"), [f"{day} Jan" for day in range(13, 19)], "Balance"),
    ],
)
def test_a_row_called_balance_between_bookings_is_told_unless_they_lead_to_it(
    tmp_path: Path, heads: tuple[str, str, str], days: list[str], name: str
) -> None:
    def flags(*rows: tuple[str, str]) -> list[str]:
        top: Line = [(60, heads[0]), (150, heads[1]), (-520, heads[2])]
        body = [row(day, *each) for day, each in zip(days, rows, strict=False)]
        return read(tmp_path, PERIOD, top, *body).flags

    shop, taxi, rent = ("HOTEL", "-10.00"), ("TAXI", "-20.00"), ("RENT", "-40.00")
    between = flags(shop, (name, "280.00"), taxi, rent)
    proven = flags(shop, (name, "280.00"), taxi, (name, "260.00"), rent)
    first = flags((name, "280.00"), shop, taxi, rent)

    assert "TOTAL_SUSPECTED" in between
    assert "TOTAL_SUSPECTED" not in proven
    assert "TOTAL_SUSPECTED" not in first


@pytest.mark.parametrize("heads", [("Debit", "Credit"), ("Withdrawals", "Deposits")])
def test_credits_of_both_signs_are_doubted_where_no_balance_proves_them(
    tmp_path: Path, heads: tuple[str, str]
) -> None:
    def flags(third: str) -> list[str]:
        top: Line = [(60, "Date"), (150, "Description"), (-430, heads[0]), (-520, heads[1])]
        body: list[Line] = [
            [(60, "02/01/2026"), (150, "HOTEL"), (-430, "10.00")],
            [(60, "03/01/2026"), (150, "PAY"), (-520, "20.00")],
            [(60, "04/01/2026"), (150, "CLIENT"), (-520, third)],
        ]
        return read(tmp_path, PERIOD, top, *body).flags

    assert "SIGN_UNPROVEN" in flags("-5.00")
    assert flags("5.00") == []


@pytest.mark.parametrize("text", ["ZARA CANCELLED", "VOID - CHEQUE 12", "Zara (storniert)"])
def test_a_row_of_a_page_with_the_status_cancelled_is_doubted(tmp_path: Path, text: str) -> None:
    rows = [row("02/01/2026", "HOTEL", "-10.00"), row("03/01/2026", text, "-20.00")]
    back = row("04/01/2026", "ZARA", "20.00")

    assert "CANCEL_UNPROVEN" in read(tmp_path, PERIOD, HEADING, *rows).flags
    assert "CANCEL_UNPROVEN" not in read(tmp_path, PERIOD, HEADING, *rows, back).flags
