"""Merchant, date and total of receipts of several countries, from lines as a scanner would give them."""

from decimal import Decimal

import msgspec
import pytest

from stateward.pipelines.documents.receipts import (
    PrintedLine,
    PrintedWord,
    Receipt,
    ReceiptField,
    figure,
    receipt_fields,
)

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")


def printed(text: str, *, confidence: int = 99) -> list[PrintedLine]:
    """Lines of a receipt, each word in a box of its own."""
    lines = []
    for number, line in enumerate(text.strip("\n").splitlines(), start=1):
        top = 12.0 * number
        words = [
            PrintedWord(word, (30.0 * at, top, 30.0 * at + 28, top + 10), confidence)
            for at, word in enumerate(line.split())
        ]
        if words:
            lines.append(PrintedLine(1, words, {"page": 1, "box": [0.0, top, 200.0, top + 10]}))
    return lines


def read(text: str, *, date_order: str | None = None, is_told: bool = True) -> Receipt:
    return receipt_fields(
        printed(text), languages=LANGUAGES, date_order=date_order, is_told=is_told
    )


def field(receipt: Receipt, name: str) -> ReceiptField:
    return next(each for each in receipt.fields if each.field == name)


def values(receipt: Receipt) -> dict[str, str | None]:
    return {each.field: each.value for each in receipt.fields}


AMERICAN = """
Rosie's Diner
482 Main Street
Springfield, IL 62704
(217) 555-0142
Server: Dana Table 12
01/25/2026 7:48 PM
2 Cheeseburger 25.98
1 Iced Tea 3.25
Subtotal 29.23
Sales Tax 2.63
TOTAL $31.86
VISA ****4471 $31.86
THANK YOU!
"""
BRITISH = """
WELCOME TO
HARTLEY STORES LTD
VAT No 123 4567 89
Milk 2L 1.65
Bread 1.20
BALANCE DUE £2.85
CASH £5.00
CHANGE £2.15
14/02/26 09:31
"""
GERMAN = """
SONNENMARKT
Inh. Petra Vogel e.K.
Hauptstr. 12
10827 Berlin
UID Nr.: DE123456789
EUR
BIO BANANEN 1,99 B
VOLLMILCH 3,5% 1,19 B
PFAND 0,25 A
SUMME EUR 3,43
Geg. EC-Karte EUR 3,43
MwSt 7,00% Netto 2,97 Steuer 0,21
Datum: 03.02.2026 Uhrzeit: 18:07:44 Uhr
"""
FRENCH = """
BOULANGERIE DU PORT
2 rue des Lilas 35400 SAINT-MALO
SIRET 812 345 678 00012
Le 07/03/2026 à 08:15
2 Croissant 2,40
1 Baguette tradition 1,35
Total HT 3,55
TVA 5,5% 0,20
TOTAL TTC 3,75 €
CB 3,75 €
"""
SPANISH = """
BAR EL PUERTO S.L.
C/ Mayor 7, 29001 Malaga
Fecha: 21/01/2026 14:22
Menu del dia 12,50
Cafe solo 1,40
Base imponible 12,64
TOTAL 13,90
Efectivo 20,00
Cambio 6,10
"""
ITALIAN = """
TRATTORIA DA GINO
Via Roma 3 - Firenze
DOCUMENTO COMMERCIALE
Coperto 2,00
Pasta al forno 9,50
TOTALE COMPLESSIVO 11,50
di cui IVA 1,05
Pagamento elettronico 11,50
13-02-2026 13:05
"""
DUTCH = """
De Groene Markt B.V.
Kerkstraat 9, Utrecht
Appels 1kg 2,79
Kaas 6,45
Totaal 9,24
Pin 9,24
Datum 05-03-2026 16:40
"""


@pytest.mark.parametrize(
    ("text", "merchant", "day", "total", "currency"),
    [
        (AMERICAN, "Rosie's Diner", "2026-01-25", "31.86", ""),
        (BRITISH, "HARTLEY STORES LTD", "2026-02-14", "2.85", "GBP"),
        (GERMAN, "SONNENMARKT", "2026-02-03", "3.43", "EUR"),
        (FRENCH, "BOULANGERIE DU PORT", "2026-03-07", "3.75", "EUR"),
        (SPANISH, "BAR EL PUERTO S.L.", "2026-01-21", "13.90", ""),
        (ITALIAN, "TRATTORIA DA GINO", "2026-02-13", "11.50", ""),
        (DUTCH, "De Groene Markt B.V.", "2026-03-05", "9.24", ""),
    ],
    ids=["us", "uk", "de", "fr", "es", "it", "nl"],
)
def test_receipts_of_many_countries_give_merchant_date_and_total(
    text: str, merchant: str, day: str, total: str, currency: str
) -> None:
    receipt = read(text)

    assert values(receipt) == {"merchant": merchant, "date": day, "total": total}
    assert field(receipt, "total").currency == currency
    assert receipt.notes == ()


def test_every_field_says_where_it_is_printed() -> None:
    total = field(read(BRITISH), "total")

    assert total.raw == "2.85"
    assert total.where == {"page": 1, "box": [60.0, 72.0, 88.0, 82.0]}


def test_a_total_that_differs_from_what_was_paid_is_flagged_with_both_values() -> None:
    receipt = read(SPANISH.replace("TOTAL 13,90", "TOTAL 18,90"))

    assert field(receipt, "total").flags == ("TOTAL_DISAGREES",)
    assert field(receipt, "total").confidence == 50
    assert "18.90" in receipt.notes[0]
    assert "13.90" in receipt.notes[0]


def test_cash_without_change_says_nothing_about_the_total() -> None:
    assert read(SPANISH.replace("Cambio 6,10", "")).notes == ()


def test_a_total_that_is_rounded_to_coins_is_the_one_that_was_paid() -> None:
    receipt = read(
        "KEDAI RUNCIT JAYA\n12/05/2025\nTotal RM 87.08\nRounding Adj 0.02\nCash RM 100.00\nChange RM 12.90"
    )

    assert field(receipt, "total").value == "87.10"
    assert receipt.notes == ()


def test_a_total_is_rounded_as_a_line_below_says_where_no_payment_is_read() -> None:
    receipt = read(
        "KEDAI RUNCIT JAYA\n12/05/2025\nTotal RM 181.98\nRounding Adjustment RM .02\nRounding RM 182.00\nCREDIT 182.00"
    )

    assert field(receipt, "total").value == "182.00"


def test_the_totals_of_a_table_of_taxes_are_not_that_of_the_receipt() -> None:
    receipt = read(
        "CORNER CAFE LTD\n14/02/2026\nTOTAL 11.60\nVAT SUMMARY\nRate Net VAT\nA 20% 10.94 0.66\nTotal: 10.94 0.66"
    )

    assert field(receipt, "total").value == "11.60"


def test_a_total_below_a_table_of_taxes_is_that_of_the_receipt() -> None:
    receipt = read("CORNER CAFE LTD\n14/02/2026\nVAT Summary\nA 20% 9.67 1.93\nTOTAL 11.60")

    assert field(receipt, "total").value == "11.60"


def test_a_share_of_tax_in_brackets_is_not_the_total_where_another_line_says_what_is_due() -> None:
    receipt = read(
        "CAKES LTD\n14/02/2026\nScone 25.15\nDue 25.15\nPaid 30.00\nChange due 4.85\n(Total included GST 6% : 1.42)"
    )

    assert field(receipt, "total").value == "25.15"
    assert receipt.notes == ()


def test_the_total_that_a_machine_took_in_is_not_what_was_to_be_paid() -> None:
    receipt = read("PARKING LTD\n14/02/2026\nAmount incl 5.00\nAccepted total 10.00\nChange 5.00")

    assert field(receipt, "total").value == "5.00"


def test_a_number_and_letters_before_a_date_are_no_month() -> None:
    assert (
        field(read("SHOP LTD\n~04BFRTL 21/12/2017 21:42\nTotal 5.00"), "date").value == "2017-12-21"
    )


def test_a_payment_of_which_change_is_given_back_agrees_with_the_total() -> None:
    receipt = read("SHOP LTD\n14/02/2026\nGrand Total 3.90\nPayment 5.00\nChange Due 01.10")

    assert field(receipt, "total").value == "3.90"
    assert field(receipt, "total").confidence == 97
    assert receipt.notes == ()


@pytest.mark.parametrize(
    ("place", "day"),
    [
        ("12, Jalan Kenari 4", "2026-04-03"),
        ("Kiwi Tools Pty Ltd", "2026-04-03"),
        ("Singapore Noodles 8.00", None),  # a dish says nothing of a country
    ],
)
def test_the_order_of_a_date_is_that_of_the_country_whose_words_are_printed(
    place: str, day: str | None
) -> None:
    receipt = read(f"CORNER STORE\n{place}\n03/04/2026\nTotal 5.00")

    assert field(receipt, "date").value == day


@pytest.mark.parametrize(
    ("head", "merchant"),
    [
        ("MEGA HARDWARE SDN BHD (812345-M)\nJALAN 4", "MEGA HARDWARE SDN BHD"),
        ("BOOK CORNER\nCO. (M) SDN BHD\n(Co. No. 112233-W)", "BOOK CORNER CO. (M) SDN BHD"),
        ("LUCKY HARDWARE\nENTERPRISE(NORTH\nHILL) LTD\n822737-X", "LUCKY HARDWARE ENTERPRISE(NORTH HILL) LTD"),
        ("LUCKY CENTRE (NORTH\nHILL) SDN BHD", "LUCKY CENTRE (NORTH HILL) SDN BHD"),
        ("Rosa's Chicken Kitchen\nLtd\nUnit 4", "Rosa's Chicken Kitchen Ltd"),
        ("ANY STATIONERY SHOP\nOwned by\nOTHER SUPPLY SDN BHD", "ANY STATIONERY SHOP"),
        ("Goods sold are not returnable.\nFair Cash & Carry Sdn.Bhd", "Fair Cash & Carry Sdn.Bhd"),
        ("Cafe Nord (since 1988)", "Cafe Nord (since 1988)"),
    ],
)  # fmt: skip
def test_a_name_is_whole_and_without_its_number_in_a_register(head: str, merchant: str) -> None:
    receipt = read(f"{head}\n14/11/2026\nMilk 1.95\nTOTAL 1.95\nVISA 1.95")

    assert values(receipt)["merchant"] == merchant


def test_a_lost_decimal_sign_is_seen_by_the_payment() -> None:
    assert field(read("SHOP LTD\n14/02/2026\nTotal 8817\nVisa 88.17"), "total").value == "88.17"


def test_a_total_without_decimals_that_nothing_confirms_is_flagged() -> None:
    receipt = read("SHOP LTD\n14/02/2026\nTea 1.00\nTotal 8817")

    assert field(receipt, "total").flags == ("TOTAL_UNCONFIRMED",)


def test_a_receipt_without_a_word_for_total_adds_up_to_the_cash() -> None:
    receipt = read("IMBISS AM TOR\n09.03.2026\nMenue 1 7,00\nCola 2,50\nBar 9,50")

    assert field(receipt, "total").value == "9.50"
    assert receipt.notes == ()


def test_cash_that_the_prices_do_not_add_up_to_is_flagged() -> None:
    receipt = read("IMBISS AM TOR\n09.03.2026\nMenue 1 7,00\nBar 9,50")

    assert field(receipt, "total").flags == ("TOTAL_UNCONFIRMED",)


def test_figures_that_were_hard_to_read_are_flagged() -> None:
    lines = printed("SHOP LTD\n14/02/2026\nTotal 12.00", confidence=41)
    receipt = receipt_fields(lines, languages=LANGUAGES, is_told=True)

    assert field(receipt, "total").flags == ("TOTAL_UNSURE",)


def test_a_date_in_two_possible_orders_has_no_value_and_says_so() -> None:
    receipt = read("CORNER STORE INC\n03/04/2026\nTotal $5.00")

    assert field(receipt, "date").value is None
    assert field(receipt, "date").flags == ("DATE_AMBIGUOUS",)
    assert "03/04/2026" in receipt.notes[0]
    assert (
        field(read("CORNER STORE INC\n03/04/2026\nTotal $5.00", date_order="mdy"), "date").value
        == "2026-03-04"
    )


def test_a_due_date_is_not_the_date_of_the_receipt() -> None:
    receipt = read("ACME LTD\nValid until 31/12/2026\nDate 14/02/2026\nTotal 5.00")

    assert field(receipt, "date").value == "2026-02-14"


def test_what_is_told_to_be_a_receipt_and_has_no_total_is_noted() -> None:
    receipt = read("ACME LTD\nThank you for your visit")

    assert [note.partition(":")[0] for note in receipt.notes] == [
        "DATE_NOT_FOUND",
        "TOTAL_NOT_FOUND",
    ]


def test_a_letter_does_not_look_like_a_receipt() -> None:
    letter = (
        "Dear Ms Young,\nthe total of your order of 3 March 2026 will be told to you soon.\nYours,"
    )

    assert read(letter, is_told=False).fields == ()
    assert read(GERMAN, is_told=False).fields


def test_the_words_of_other_languages_are_not_looked_for() -> None:
    receipt = receipt_fields(printed(DUTCH), languages=("en",), is_told=True)

    assert "total" not in values(receipt)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1'234.50", "1234.50"),
        ("-0,05", "-0.05"),
        ("12.000", "12000"),
    ],
)
def test_figures_are_read_by_their_last_separator(raw: str, value: str) -> None:
    assert figure(raw) == Decimal(value)


@pytest.mark.parametrize(
    ("head", "merchant"),
    [
        ("BELLWETHER FOOD HALL\n22 Market Place, Frome BA11 9ZZ", "BELLWETHER FOOD HALL"),
        ("Finch Joinery Ltd INVOICE\nBill to: Ann Lee\nDescription Qty Unit price Amount", "Finch Joinery Ltd"),
        ("99 SPEED MART S/B\nLOT 2, JALAN 4", "99 SPEED MART S/B"),
        ("TAX INVOICE\nCorner Stores Ltd", "Corner Stores Ltd"),
    ],
)  # fmt: skip
def test_neither_an_address_nor_a_heading_is_the_merchant(head: str, merchant: str) -> None:
    receipt = read(f"{head}\n14/11/2026\nMilk 1.95\nTOTAL GBP 1.95\nVISA 1.95")

    assert values(receipt)["merchant"] == merchant


def test_a_pay_slip_does_not_look_like_a_receipt() -> None:
    text = "Harrow Ltd PAYSLIP\nPay date: 30/10/2026\nBasic pay 2,350.00\nDeductions 515.82\nNet pay 1,834.18 BACS"

    assert not read(text, is_told=False).fields


@pytest.mark.parametrize(
    ("last", "total"),
    [
        ("Total TTC 1 018,70 EUR", "1018.70"),
        ("Total TTC 12 345 018,70 EUR", "12345018.70"),
        ("Total 1 018,70 20 % 18,70", "18.70"),
    ],
)
def test_thousands_may_be_parted_by_a_blank(last: str, total: str) -> None:
    receipt = read(f"Atelier Ex SARL\nDate 31/03/2026\nCB 12,00\nGravure 100,00\n{last}")

    assert values(receipt)["total"] == total


def test_a_quantity_that_stands_wide_of_its_price_is_not_part_of_it() -> None:
    (line,) = printed("Total 2 135,00")
    total, number, price = line.words
    apart = msgspec.structs.replace(number, box=(10.0, 0.0, 18.0, 10.0))
    lines = [
        *printed("Atelier Ex SARL\nDate 31/03/2026"),
        PrintedLine(1, [total, apart, price], {}),
    ]

    assert values(receipt_fields(lines, languages=["fr"], is_told=True))["total"] == "135.00"


BILLS = {
    "French": (
        ["EDF", "du 14/05/2025", "Votre contrat : Tarif Bleu", "Montant total à payer : 176,19 EUR",
         "Prélevé automatiquement le 30/05/2025 sur votre compte", "Prochaine facture vers le 14/07/2025",
         "Total HT 150,18 TVA 26,01", "EDF SA au capital de 2 084 365 041 EUR - 552 081 317 RCS Paris."],
        ("EDF SA", "2025-05-14"),
    ),
    "German": (
        ["Stadtwerke Beispiel", "Rechnungsdatum 14.05.2025", "Ihr Tarif: Strom Basis", "Gesamtbetrag 176,19 EUR",
         "Der Betrag wird am 30.05.2025 per Lastschrift eingezogen", "darin 19 % MwSt 28,13",
         "Sitz Ulm · Stadtwerke Beispiel GmbH, Amtsgericht Ulm HRB 1234"],
        ("Stadtwerke Beispiel GmbH", "2025-05-14"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*BILLS])
def test_a_bill_is_of_the_company_in_its_small_print_and_not_of_the_day_of_its_payment(
    name: str,
) -> None:
    texts, expected = BILLS[name]

    found = values(read("\n".join(texts)))

    assert (found["merchant"], found["date"]) == expected
    assert found["total"] == "176.19"


@pytest.mark.parametrize(
    "line",
    [
        "Date 14/03/2026 retour avant le 14/04/2026",
        "Datum 14.03.2026 Umtausch bis 14.04.2026",
        "Date: 14/03/2026, next bill 14/04/2026",
    ],
)
def test_a_later_day_behind_the_date_of_a_receipt_does_not_hide_it(line: str) -> None:
    assert values(read(f"DARTY\n3 rue X\n{line}\nTOTAL 45,00 EUR"))["date"] == "2026-03-14"


@pytest.mark.parametrize("line", ["Due date 14/04/2026", "Next bill date: 14/04/2026"])
def test_a_date_of_something_else_is_not_that_of_the_receipt(line: str) -> None:
    assert "date" not in values(read(f"DARTY\n3 rue X\n{line}\nTOTAL 45,00 EUR"))
