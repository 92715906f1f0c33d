"""Rows that may be no bookings, and days that may be others: told, unless something in the file decides it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

EDGE = (
    "Buchungstag;Verwendungszweck;Name;IBAN;Betrag\n2026-03-01;Lastschrift;Shop A;DE11;-10,00\n"
    "2026-03-02;Lastschrift;Shop B;DE21;-20,00\n2026-03-03;Gehalt;Firma;DE31;100,00\n"
    "2026-03-04;Gutschrift;Firma;DE31;100,00\n"
)


@pytest.mark.parametrize(
    "last",
    [
        "Kontostand per Monatsende;;;1.234,56",
        "Verfügbarer Betrag;;;1.234,56",
        "Dispositionskredit;;;5.000,00",
        "Zwischensumme Ausgaben;;;-30,00",
        "Aufwendungen;;;-30,00",
        "Bargeld gesamt;;;-30,00",
    ],
)
def test_a_bare_last_row_is_doubted_whatever_it_is_called(tmp_path: Path, last: str) -> None:
    assert "TOTAL_SUSPECTED" in read_bytes(tmp_path, f"{EDGE}2026-03-31;{last}\n").flags


@pytest.mark.parametrize(
    "last",
    [
        "Kontoführungsentgelt;;;-4,90",
        "Habenzinsen;;;0,12",
        "Bargeldauszahlung Geldautomat Köln;;;-50,00",
        "ATM withdrawal London;;;-50,00",
    ],
)
def test_what_the_bank_books_itself_names_no_other_side_and_is_a_row(
    tmp_path: Path, last: str
) -> None:
    read = read_bytes(tmp_path, f"{EDGE}2026-03-31;{last}\n")

    assert read.flags == []
    assert len(read.amounts) == 5


@pytest.mark.parametrize("name", ["Balance", "Saldo"])
def test_a_row_that_is_called_a_balance_is_no_booking_in_silence(tmp_path: Path, name: str) -> None:
    text = (
        f"Date,Payee,Description,Amount\n2026-01-14,{name},,280.00\n2026-01-15,Shop,Bread,-4.60\n"
        "2026-01-16,Shop,Milk,-2.10\n"
    )

    assert "TOTAL_SUSPECTED" in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize(
    "text",
    [
        "KARTA 1234 transakcja nierozliczona ZABKA WARSZAWA",
        "VISA noch nicht gebucht REWE KOELN",
        "Beta, Buchung storniert",
        "Payment was cancelled",
    ],
)
def test_a_text_that_mentions_that_it_may_not_count_is_told(tmp_path: Path, text: str) -> None:
    table = f'Date,Description,Amount\n2026-03-04,Shop,-10.00\n2026-03-05,"{text}",-5.00\n2026-03-06,Pay,100.00\n'

    assert read_bytes(tmp_path, table).flags == ["BOOKING_UNPROVEN"]


def test_a_tenant_who_does_not_pay_is_no_booking_that_does_not_count(tmp_path: Path) -> None:
    rows = "2026-03-04,Shop,-10.00\n2026-03-05,Mieter zahlt nicht,-5.00\n2026-03-06,Pay,100.00\n"

    assert read_bytes(tmp_path, f"Date,Description,Amount\n{rows}").flags == []


TABLE = "Date,Description,Amount\n03/02/2026,A,-1.00\n03/05/2026,B,-2.00\n03/09/2026,C,3.00\n"
beside_the_rows = pytest.mark.parametrize(
    "page", [f"{{line}}\n{TABLE}", f"{TABLE}{{line}}\n"], ids=["above", "below"]
)


@pytest.mark.parametrize(
    "line",
    [
        "Transactions between 1 March 2026 and 31 March 2026",
        "Date range: 1 March 2026 - 31 March 2026",
        "Umsätze vom 1. März 2026 bis 31. März 2026",
        "Opérations du 1 mars 2026 au 31 mars 2026",
        "Transaction history 1 March 2026 - 31 March 2026",
        "Export from 1 March 2026 to 31 March 2026",
        "Your account from 1 March 2026 to 31 March 2026",
        "Buchungen vom 1. März 2026 bis 31. März 2026",
        "Kontobewegungen von 1. März 2026 bis 31. März 2026",
        "Statement period 1 March 2026 to 31 March 2026",
        "Period: March 2026",
    ],
)
@beside_the_rows
def test_a_period_tells_the_order_of_dates_above_or_below_the_rows(
    tmp_path: Path, line: str, page: str
) -> None:
    assert read_bytes(tmp_path, page.format(line=line)).dates == [
        "2026-03-02",
        "2026-03-05",
        "2026-03-09",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Bonus in the statement of 1 March 2026 to 31 March 2026",
        "Mes ofertas: 1 March 2026 to 31 March 2026",
        "Abrechnung Zinsen gültig 1 March 2026 to 31 March 2026",
        "Terms of use March 2026",
        "Fee table March 2026",
        "Prices March 2026",
        "Prices for transactions March 2026",
        "Leaflet March 2026",
        "Branch closed 02.03.2026 - 12.03.2026",
        "No transactions possible 02.03.2026 - 12.03.2026",
    ],
)
@beside_the_rows
def test_days_that_nothing_calls_those_of_the_rows_tell_no_order(
    tmp_path: Path, line: str, page: str
) -> None:
    assert "AMBIGUOUS_DATES" in read_bytes(tmp_path, page.format(line=line)).flags


def test_a_month_alone_below_the_rows_tells_no_order(tmp_path: Path) -> None:
    assert "AMBIGUOUS_DATES" in read_bytes(tmp_path, f"{TABLE}March 2026\n").flags


def test_a_body_is_what_a_row_says(tmp_path: Path) -> None:
    text = "Date,Body,Amount\n2026-02-13,Shop in Rome,-5.00\n2026-02-14,Pay,7.00\n2026-02-15,Shop,-5.00\n"

    read = read_bytes(tmp_path, text)

    assert [row["description"] for row in read.canonicals] == ["Shop in Rome", "Pay", "Shop"]


@pytest.mark.parametrize(
    ("bought", "booked"),
    [("#Data operacji", "#Data księgowania"), ("Data transakcji", "Data księgowania")],
)
def test_of_a_purchase_and_its_booking_the_booking_is_the_date_in_any_order(
    tmp_path: Path, bought: str, booked: str
) -> None:
    text = (
        f"{bought};{booked};#Opis operacji;#Kwota;#Saldo po operacji\n"
        "2026-01-02;2026-01-03;ZAKUP;-45,60;1842,44\n2026-01-07;2026-01-07;PRZELEW;-20,00;1822,44\n"
        "2026-01-11;2026-01-13;BANKOMAT;-200,00;1622,44\n"
    )

    assert read_bytes(tmp_path, text).dates == ["2026-01-03", "2026-01-07", "2026-01-13"]


@pytest.mark.parametrize(
    "text",
    [
        "Date,Description,Amount\n2026-01-13,HOTEL,-93.10\nPending transactions,,\n2026-01-15,BOOKS,-3.10\n",
        "Vorgemerkte Umsätze\nBuchungstag;Text;Betrag\n15.01.2026;BOOKS;-3,10\n\nGebuchte Umsätze;;\n"
        "Buchungstag;Text;Betrag\n13.01.2026;HOTEL;-93,10\n",
        "Date,Description,Debit,Credit\n2026-01-13,HOTEL,93.10,\n2026-01-12,PAY,,5.00\n"
        "En attente,,,\n2026-01-15,BOOKS,3.10,\n",
    ],
)
def test_rows_below_a_title_of_what_is_pending_are_not_booked(tmp_path: Path, text: str) -> None:
    read = read_bytes(tmp_path, text)

    assert {r["description"] for r in read.canonicals if r.get("is_pending")} == {"BOOKS"}
    assert read.flags == []


def test_rows_of_a_title_of_what_is_pending_that_have_balances_or_a_gap_above_are_doubted(
    tmp_path: Path,
) -> None:
    for text in (
        "Date,Description,Amount,Balance\n2026-01-13,HOTEL,-93.10,6.90\nPending,,,\n2026-01-14,FUEL,-9.10,-2.20\n",
        "Pending\n2026-01-15,BOOKS,-3.10\n2026-01-14,PENS,-1.10\n\n2026-01-13,HOTEL,-93.10\n",
    ):
        assert "BOOKING_UNPROVEN" in read_bytes(tmp_path, text).flags


@pytest.mark.parametrize(
    ("heading", "yes", "no"),
    [("Voided", "Yes", "No"), ("Storno", "X", ""), ("Is cancelled", "true", "false")],
)
def test_a_row_that_a_column_calls_annulled_is_doubted(
    tmp_path: Path, heading: str, yes: str, no: str
) -> None:
    rows = "Date,Description,Amount,{}\n2026-01-13,HOTEL,-93.10,{}\n2026-01-14,GROCER,-9.10,{}\n"

    assert "BOOKING_UNPROVEN" in read_bytes(tmp_path, rows.format(heading, yes, no)).flags
    assert read_bytes(tmp_path, rows.format(heading, no, no)).flags == []


@pytest.mark.parametrize("balance", ["", ",Balance"])
def test_rows_below_the_name_of_another_account_are_of_that_account(
    tmp_path: Path, balance: str
) -> None:
    one, two = (",6.90", ",96.90") if balance else ("", "")
    read = read_bytes(
        tmp_path,
        f"Account number:,12345678\nDate,Description,Amount{balance}\n2026-01-13,HOTEL,-93.10{one}\n\n"
        f"Account number:,87654321\nDate,Description,Amount{balance}\n2026-01-13,BOOKS,-3.10{two}\n",
    )

    assert [row["account"] for row in read.canonicals] == ["12345678", "87654321"]
    assert read.flags == []


def test_debits_of_both_signs_are_doubted_where_no_balance_proves_them(tmp_path: Path) -> None:
    heads = "Date,Description,Debit,Credit"
    rows = (
        "2025-12-28,A,1.50,{}\n2025-12-29,B,,2.50{}\n2025-12-30,X,-3.00,{}\n2025-12-30,F,3.00,{}\n"
    )
    proofs = (",98.50", ",101.00", ",104.00", ",101.00")

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, f"{heads}\n{rows.format(*4 * [''])}").flags
    proven = read_bytes(tmp_path, f"{heads},Balance\n{rows.format(*proofs)}")
    assert proven.amounts == ["-1.50", "2.50", "3.00", "-3.00"]
    assert proven.flags == []


def test_a_subtotal_with_a_date_among_the_rows_is_doubted(tmp_path: Path) -> None:
    rows = "2025-12-28,A,-1.50\n2025-12-28,B,-2.50\n2025-12-28,{},{}\n2025-12-29,C,-2.75\n"
    heads = "Date,Description,Amount\n"

    assert "TOTAL_SUSPECTED" in read_bytes(tmp_path, heads + rows.format("Subtotal", "-4.00")).flags
    assert read_bytes(tmp_path, heads + rows.format("Total", "-41.30")).flags == []


CANCELLED = (
    "AMAZON MARKETPLACE CANCELLED",
    "Shop (void) Berlin",
    "REVERSED - card payment Zara",
    "CHEQUE 000123 VOID",
    "Zalando storniert",
    "[ANNULÉ] Carrefour",
    "Compra Zara ANULADO 03/05",
)
IN_A_NAME = (
    "VOID GALLERY LTD",
    "Bar The Void",
    "Cancelled cheque fee",
    "Booking fee cancelled",
    "Voidspace Cancelledo",
    "Reversal of interest",
    "Card not cancelled",
)


def of_semicolons(text: str, *more: str) -> str:
    rows = ["2026-03-04;Shop;-10,00", f"2026-03-05;{text};-5,00", *more, "2026-03-06;Pay;100,00"]
    return "\n".join(["Datum;Verwendungszweck;Betrag", *rows, ""])


def of_two_sides(text: str, *_: str) -> str:
    return f"Date,Description,Debit,Credit\n2026-03-04,Shop,10.00,\n2026-03-05,{text},5.00,\n2026-03-06,Pay,,9.00\n"


def of_quicken(text: str, *_: str) -> str:
    rows = ("13/03/2026\nT-10.00\nPShop", f"14/03/2026\nT-5.00\nP{text}")
    return "!Type:Bank\n" + "".join(f"D{row}\n^\n" for row in rows)


@pytest.mark.parametrize("text", CANCELLED)
@pytest.mark.parametrize("layout", [of_semicolons, of_two_sides, of_quicken])
def test_a_row_with_the_status_cancelled_in_its_text_is_counted_and_doubted(
    tmp_path: Path, layout: Callable[..., str], text: str
) -> None:
    read = read_bytes(tmp_path, layout(text))

    assert "-5.00" in read.amounts
    assert read.flags == ["CANCEL_UNPROVEN"]


@pytest.mark.parametrize("text", IN_A_NAME)
@pytest.mark.parametrize("layout", [of_semicolons, of_two_sides])
def test_a_name_or_a_fee_that_has_such_a_word_is_not_doubted(
    tmp_path: Path, layout: Callable[..., str], text: str
) -> None:
    assert read_bytes(tmp_path, layout(text)).flags == []


def test_a_cancelled_row_is_not_doubted_where_another_takes_it_back(tmp_path: Path) -> None:
    back = "2026-03-05;Shop;5,00"
    twice = of_semicolons("Zara CANCELLED", "2026-03-05;Zara CANCELLED;-5,00", back)

    assert read_bytes(tmp_path, of_semicolons("Zara CANCELLED", back)).flags == []
    assert read_bytes(tmp_path, twice).flags == ["CANCEL_UNPROVEN"]


def test_a_cancelled_row_is_doubted_unless_balances_show_that_it_was_booked(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Balance\n2026-03-04,Shop,-10.00,90.00\n2026-03-05,Zara CANCELLED,-5.00,{}\n"
        "2026-03-06,Pay,100.00,{}\n"
    )

    assert read_bytes(tmp_path, text.format("85.00", "185.00")).flags == []
    assert "CANCEL_UNPROVEN" in read_bytes(tmp_path, text.format("90.00", "190.00")).flags


PASTED = {
    "comma": "Date,Description,Amount\n2025-03-01,Pay,25.00\n2025-03-02,Books,-45.10\n2025-03-03,Rent,-9.00\n",
    "semicolon": "Datum;Text;Betrag\n03.03.2025;Miete;-900,00\n02.03.2025;Buch;-45,10\n01.03.2025;Gehalt;2.500,00\n",
    "columns": (
        "Fecha\tConcepto\tCargo\tAbono\n01/03/2025\tNómina\t\t2500,00\n02/03/2025\tLibro\t45,10\t\n"
        "13/03/2025\tRenta\t900,00\t\n"
    ),
}


@pytest.mark.parametrize("name", PASTED)
def test_a_part_that_is_in_a_file_twice_is_told(tmp_path: Path, name: str) -> None:
    heading, *rows = PASTED[name].splitlines(keepends=True)

    once = read_bytes(tmp_path, heading + "".join(rows))
    twice = read_bytes(tmp_path, heading + "".join(rows * 2))

    assert "DUPLICATE_ROWS" not in once.flags
    assert "DUPLICATE_ROWS" in twice.flags
    assert len(twice.canonicals) == 6


def test_equal_rows_of_one_day_are_no_part_that_is_there_twice(tmp_path: Path) -> None:
    rows = "".join(f"2025-03-0{day},Parking,-2.00\n" * 4 for day in (1, 2, 3))

    assert read_bytes(tmp_path, "Date,Description,Amount\n" + rows).flags == []


@pytest.mark.parametrize(
    "file",
    [
        "Date,Description,Amount\n2025-03-02,Order,-100.00\n,Books,-60.00\n,Shoes,-40.00\n2025-03-03,Rent,-900.00\n",
        "Datum;Text;Betrag\n01.03.2025;Gehalt;2.500,00\n14.03.2025;Bestellung;-30,00\n;A;-10,00\n;B;-20,00\n",
        "Fecha\tConcepto\tImporte\n01/03/2025\tPedido\t-6,00\n\tUno\t-3,00\n\tDos\t-3,00\n13/03/2025\tX\t-1,00\n",
    ],
)
def test_a_row_that_is_the_sum_of_undated_rows_below_it_is_doubted(
    tmp_path: Path, file: str
) -> None:
    assert "TOTAL_SUSPECTED" in read_bytes(tmp_path, file).flags


@pytest.mark.parametrize(
    ("heading", "yes", "no"),
    [("Booked", "yes", "no"), ("Gebucht", "ja", "nein"), ("Pending", "", "x")],
)
def test_a_column_that_tells_which_rows_are_booked_is_not_passed_over(
    tmp_path: Path, heading: str, yes: str, no: str
) -> None:
    rows = "2025-03-01,Salary,2500.00,{}\n2025-03-02,Books,-45.10,{}\n2025-03-03,Rent,-900.00,{}\n"
    start = f"Date,Description,Amount,{heading}\n"

    assert read_bytes(tmp_path, start + rows.format(yes, yes, yes)).flags == []
    assert "BOOKING_UNPROVEN" in read_bytes(tmp_path, start + rows.format(yes, no, yes)).flags


@pytest.mark.parametrize(
    "title",
    ["Transactions that were not completed", "Geplante Umsätze", "Opérations prévues"],
)
def test_a_title_that_denies_something_doubts_the_rows_below_it(tmp_path: Path, title: str) -> None:
    above = "Date,Description,Amount\n2025-03-01,Salary,2500.00\n2025-03-02,Books,-45.10\n"
    below = "2025-03-03,Rent,-900.00\n2025-03-04,Gym,-30.00\n"

    assert read_bytes(tmp_path, f"{above}Shops,,\n{below}").flags == []
    assert read_bytes(tmp_path, f"{above}{title},,\n{below}").flags == ["TITLE_UNKNOWN"]


@pytest.mark.parametrize(
    "period",
    [
        "Period;01.03.2025 - 31.03.2025",
        "Zeitraum;01.03.2025 bis 31.03.2025",
        "Period;01.03.2025 to 31.03.2025",
    ],
)
def test_rows_after_the_printed_period_may_not_be_booked(tmp_path: Path, period: str) -> None:
    start = f"{period}\nDatum;Text;Betrag\n01.03.2025;Gehalt;2500,00\n"

    assert read_bytes(tmp_path, f"{start}02.04.2025;Buch;-45,10\n").flags == []
    assert read_bytes(tmp_path, f"{start}14.04.2025;Buch;-45,10\n").flags == ["BOOKING_UNPROVEN"]


@pytest.mark.parametrize("nothing", ["0.00", "$0.00", "0"])
def test_a_column_of_pending_amounts_that_are_nothing_doubts_no_booking(
    tmp_path: Path, nothing: str
) -> None:
    rows = "".join(f"2026-01-1{day},SHOP {day},-3.10,{nothing}\n" for day in range(1, 5))

    found = read_bytes(tmp_path, f"Date,Description,Amount,Pending\n{rows}")

    assert found.flags == []
