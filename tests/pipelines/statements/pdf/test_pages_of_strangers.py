"""Pages in the manner of banks that nobody here had seen: whose day counts, whose text, and whose account."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from stateward.definition.plugin import Content
from stateward.pipelines.statements.detection import CONFIDENCES, detect
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


@pytest.mark.parametrize(
    ("first", "second", "is_first"),
    [
        ("Trans Date", "Post Date", False),
        ("Post Date", "Trans Date", True),
        ("Belegdatum", "Buchung", False),
        ("Data acquisto", "Data contabile", False),
    ],
)
def test_the_day_of_the_booking_counts_in_pages_as_it_does_in_exports(
    tmp_path: Path, first: str, second: str, is_first: bool
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement of card 01/02/2026 - 28/02/2026")],
            [(60, first), (140, second), (230, "Description"), (-480, "Amount"), (-560, "Balance")],
            [
                (60, "13/02/2026"),
                (140, "15/02/2026"),
                (230, "Shop"),
                (-480, "-5.00"),
                (-560, "95.00"),
            ],
            [
                (60, "20/02/2026"),
                (140, "23/02/2026"),
                (230, "Shop"),
                (-480, "-7.00"),
                (-560, "88.00"),
            ],
        ],
    )

    days = ["2026-02-13", "2026-02-20"] if is_first else ["2026-02-15", "2026-02-23"]
    assert found.dates == days


def test_texts_between_the_dates_and_the_name_of_their_column_belong_to_the_row(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        [
            [(45, "Kontoauszug Nr. 3/2025 erstellt am 31.03.2025")],
            [(45, "Bu-Tag"), (81, "Wert"), (116, "Vorgang"), (-550, "EUR-Konto")],
            [(116, "alter Kontostand vom 28.02.2025"), (-550, "1.187,29 H")],
            [(45, "03.03."), (81, "03.03."), (121, "Dauerauftrag PN:4411"), (-550, "890,00 S")],
            [(110, "Hausverwaltung Kornfeld")],
            [(45, "10.03."), (81, "10.03."), (121, "Gutschrift PN:931"), (-550, "250,00 H")],
            [(110, "Ferdinand Aumann")],
            [(116, "neuer Kontostand vom 31.03.2025"), (-550, "547,29 H")],
        ],
    )

    assert [row["description"] for row in found.canonicals] == [
        "Dauerauftrag PN:4411 Hausverwaltung Kornfeld",
        "Gutschrift PN:931 Ferdinand Aumann",
    ]
    assert found.flags == []


def test_a_number_before_the_label_of_the_account_is_not_that_account(tmp_path: Path) -> None:
    filler: list[Line] = [[(60, f"Service message number {n} of the bank")] for n in range(30)]
    found = read(
        tmp_path,
        [
            [(60, "P O Box 182051, Columbus, OH 43218-2051 Account Number: 000000418847712")],
            [(60, "Beginning Balance"), (-480, "$1,000.00")],
            [(60, "Ending Balance"), (-480, "$920.00")],
            *filler,
            [(60, "Date"), (150, "Description"), (-480, "Amount")],
            [(60, "03/13/2026"), (150, "Payroll"), (-480, "20.00")],
        ],
        [
            [(60, "Account Number: 000000418847712")],
            [(60, "Date"), (150, "Description"), (-480, "Amount")],
            [(60, "03/17/2026"), (150, "Rent"), (-480, "-100.00")],
        ],
    )

    assert {row["account"] for row in found.canonicals} == {"000000418847712"}
    assert found.flags == []


def test_a_page_of_another_account_behind_one_that_goes_on_is_told(tmp_path: Path) -> None:
    heading: Line = [(60, "Dato"), (150, "Tekst"), (-480, "Beløb DKK"), (-560, "Saldo DKK")]
    found = read(
        tmp_path,
        [
            [(60, "Kontoudskrift Konto 0011 882 770")],
            [(60, "Periode 01.05.2025 - 31.05.2025 Side 1 af 2")],
            heading,
            [(150, "Saldo primo"), (-560, "18.220,16")],
            [(60, "01.05.2025"), (150, "Husleje"), (-480, "-6.450,00"), (-560, "11.770,16")],
            [(150, "Overføres til side 2"), (-560, "11.770,16")],
        ],
        [
            [(60, "Kontoudskrift Konto 4471 204 118")],
            [(60, "Periode 01.05.2025 - 31.05.2025 Side 2 af 2")],
            heading,
            [(150, "Overført fra side 1"), (-560, "7.044,90")],
            [(60, "20.05.2025"), (150, "Dankort"), (-480, "-342,10"), (-560, "6.702,80")],
            [(150, "Saldo ultimo"), (-560, "6.702,80")],
        ],
    )

    assert "PAGE_MISSING" in found.flags


def test_a_foreign_amount_beside_a_card_payment_is_not_its_currency(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Card Services BV"), (300, "17 april 2025")],
            [
                (60, "Vorig openstaand saldo"),
                (180, "Totaal ontvangen betalingen"),
                (320, "Totaal nieuwe uitgaven"),
                (440, "Nieuw openstaand saldo"),
            ],
            [(60, "€ 753,69 Af"), (180, "€ 753,69 Bij"), (320, "€ 46,98 Af"), (440, "€ 46,98 Af")],
            [
                (60, "Datum"),
                (110, "Datum"),
                (170, "Omschrijving"),
                (-430, "Bedrag in"),
                (-510, "Bedrag"),
            ],
            [(60, "transactie"), (110, "boeking"), (-430, "vreemde valuta"), (-510, "in euro's")],
            [
                (60, "24 mrt"),
                (110, "24 mrt"),
                (170, "IDEAL BETALING"),
                (-510, "753,69"),
                (520, "Bij"),
            ],
            [(60, "19 mrt"), (110, "20 mrt"), (170, "NETFLIX"), (-510, "30,99"), (520, "Af")],
            [
                (60, "25 mrt"),
                (110, "26 mrt"),
                (170, "EXPEDIA"),
                (-430, "18,36 USD"),
                (-510, "15,99"),
                (520, "Af"),
            ],
        ],
    )

    assert found.amounts == ["753.69", "-30.99", "-15.99"]
    assert {row["currency"] for row in found.canonicals} == {"EUR"}
    assert found.flags == []


@pytest.mark.parametrize(
    ("line", "is_believed"),
    [
        ("Policy start 28/02/2019", False),
        ("representative APR from 01/03/2019", False),
        ("Form 1234 rev. 01/03/2019", False),
        ("Date of issue 28/02/2026", True),
        ("Rekeningafschrift 28-02-2026", True),
        ("For the period ending 28/02/2026", True),
        ("London, 28 February 2026", True),
    ],
)
def test_only_the_day_of_a_statement_or_a_letter_gives_rows_their_year(
    tmp_path: Path, line: str, is_believed: bool
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "My Bank")],
            [(60, line)],
            [(60, "Date"), (150, "Details"), (-480, "Amount"), (-560, "Balance")],
            [(60, "13/02"), (150, "Rent"), (-480, "-500.00"), (-560, "500.00")],
            [(60, "15/02"), (150, "Salary"), (-480, "2,000.00"), (-560, "2,500.00")],
        ],
    )

    assert ("DATE_UNPROVEN" in found.flags) is not is_believed


def test_an_opening_balance_that_moves_nothing_is_no_row(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement of account"), (300, "Date 2026-09-08")],
            [(60, "Date"), (150, "Details"), (-420, "Debit"), (-480, "Credit"), (-560, "Balance")],
            [
                (60, "13/02/2016"),
                (150, "opening balance"),
                (-420, "0.00"),
                (-480, "0.00"),
                (-560, "100.00"),
            ],
            [(60, "14/02/2016"), (150, "Rent"), (-420, "40.00"), (-480, "0.00"), (-560, "60.00")],
            [(60, "15/02/2016"), (150, "Pay"), (-420, "0.00"), (-480, "15.00"), (-560, "75.00")],
        ],
    )

    assert found.amounts == ["-40.00", "15.00"]
    assert found.flags == []  # rows lie before the day of the statement, however long before


@pytest.mark.parametrize(
    ("name", "is_doubted"),
    [("Trans Date", True), ("Date", True), ("Posting date", False), ("Buchungstag", False)],
)
def test_a_second_day_without_a_name_may_be_that_of_the_booking(
    tmp_path: Path, name: str, is_doubted: bool
) -> None:
    rows: list[Line] = [
        [(60, f"{day}/02/2026"), (140, f"{day + 1}/02/2026"), (230, "Shop"), (-480, "-5.00")]
        for day in range(13, 19)
    ]
    found = read(
        tmp_path,
        [
            [(60, "Statement of account 01/02/2026 - 28/02/2026")],
            [(60, name), (230, "Description"), (-480, "Amount")],
            *rows,
        ],
    )

    assert ("DATE_UNPROVEN" in found.flags) is is_doubted


@pytest.mark.parametrize("opening", ["", "Devir bakiyesi"])
def test_growing_balances_do_not_turn_amounts_without_a_sign_into_debts(
    tmp_path: Path, opening: str
) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Garanti"), (200, "Dönem 01.09.2023 - 30.09.2023")],
            [(60, f"{opening or 'Hesap'}: 75.701,30 TL")],
            [(60, "Tarih"), (-240, "Bakiye"), (-330, "Tutar"), (350, "Text")],
            [(60, "08.09.2023"), (-240, "112.693,60"), (-330, "36.992,30"), (350, "S Patel")],
            [(60, "26.09.2023"), (-240, "124.080,90"), (-330, "11.387,30"), (350, "ACME")],
        ],
    )

    assert found.amounts == ["36992.30", "11387.30"]
    assert "SIGN_UNPROVEN" in found.flags  # what is owed grows by purchases as well


def test_two_days_of_a_purchase_are_doubted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(60, "Statement of account 01/02/2026 - 28/02/2026")],
            [(60, "Trans Date"), (140, "Sale date"), (230, "Description"), (-480, "Amount")],
            [(60, "13/02/2026"), (140, "15/02/2026"), (230, "Shop"), (-480, "-5.00")],
            [(60, "14/02/2026"), (140, "16/02/2026"), (230, "Shop"), (-480, "-6.00")],
        ],
    )

    assert "DATE_UNPROVEN" in found.flags


def test_a_salary_among_bookings_is_no_pay_slip(tmp_path: Path) -> None:
    paper = Paper(A4)
    paper.page()
    write(paper, 60, [(60, "EXTRACTO DE JULIO 2026")])
    write(paper, 71, [(60, "F. OPER."), (130, "F. VALOR"), (200, "Concepto"), (-480, "IMPORTE")])
    for at, day in enumerate(range(13, 18)):
        row: Line = [(60, f"{day}/07"), (130, f"{day}/07"), (200, "Nómina ACME"), (-480, "719,71")]
        write(paper, 82 + at * 11, row)
    path = tmp_path / "page.pdf"
    path.write_bytes(paper.pdf())

    content = Content(path=path, name=path.name, head=path.read_bytes())
    assert detect(content).confidence == CONFIDENCES["pdf"]


@pytest.mark.parametrize(
    "title",
    ["Extrait de votre compte en EUR", "Statement of your account", "Extracto de su cuenta"],
)
def test_a_statement_of_one_row_that_calls_itself_that_of_your_account_is_one(
    tmp_path: Path, title: str
) -> None:
    paper = Paper(A4)
    paper.page()
    bank = "A Bank S.A. with a capital of many euros, registered in the commercial register of the capital city,"
    lines: list[Line] = [
        [(45, title)],
        [(45, "Date"), (116, "Libellé"), (320, "Valeur"), (-470, "Débit"), (-550, "Crédit")],
        [(45, "20/06/2026"), (116, "REMISE CHEQUE"), (320, "20/06/2026"), (-550, "3.872,09")],
        [(45, f"{bank} with its seat in the long street behind the market, and all others")],
    ]
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 11, texts)
    path = tmp_path / "statement.pdf"
    path.write_bytes(paper.pdf())

    content = Content(path=path, name=path.name, head=path.read_bytes())
    assert detect(content).confidence == CONFIDENCES["pdf"]
