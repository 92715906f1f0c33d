"""Which of the pipelines takes a PDF that its sender says nothing of, by the words that it shows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lab.documents.bank_pdfs.__main__  # noqa: F401 - registers every layout
from lab.documents.bank_pdfs.layouts import SETS, draw
from lab.documents.contracts.blocks import Block, Heading, Lines, Table, docx, pdf
from stateward.app import App
from stateward.pipelines import literature, statements
from stateward.pipelines.statements import detection as statements_detection
from stateward.settings import Settings

LETTER = (
    "Dear neighbours, the lift in the north wing will be out of service while the cables are replaced. Please use the "
    "stairs or the lift in the south wing. We are sorry for the trouble and thank you for your patience."
)
BRIEF = (
    "Sehr geehrte Damen und Herren, wegen der Arbeiten am Dach bleibt der Hof in der kommenden Woche gesperrt. Bitte "
    "stellen Sie Fahrräder so lange in den Keller, und geben Sie die Tore für die Handwerker frei. Vielen Dank."
)
PAPER: list[Block] = [
    Heading("Ferries at night"),
    Lines(["Abstract", f"We watched the ferries of a harbour. {LETTER}"]),
    Lines(["1 Introduction", f"Ferries, as Holm et al. say, {LETTER}", "References"]),
]
ROWS = [["03.02.2026", "Bäckerei", "-4,20"], ["04.02.2026", "Gehalt", "2.100,00"]]
STATEMENT: list[Block] = [Heading("Kontoauszug"), Lines([BRIEF]), Table(ROWS)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """One for all tests of the file: none of them submits anything."""
    data = str(tmp_path_factory.mktemp("routing"))
    with App(Settings.load(environ={"STATEWARD_DATA": data})) as made:
        yield made


def route(app: App, path: Path) -> str:
    best = app.plugins.candidates(path)[0]
    assert best.is_likely
    return best.machine


@pytest.mark.parametrize(
    ("blocks", "machine"),
    [
        ([Lines([LETTER])], "documents"),
        ([Lines([BRIEF])], "documents"),
        (PAPER, "literature"),
        (STATEMENT, "upload"),
    ],
)
def test_the_words_of_a_pdf_make_it_a_text_to_search_a_paper_or_a_statement(
    app: App, tmp_path: Path, blocks: list[Block], machine: str
) -> None:
    path = tmp_path / "letter.pdf"
    path.write_bytes(pdf(blocks))

    assert route(app, path) == machine


BILL: list[Block] = [
    Heading("Invoice INV-88213"),
    Lines(["Brightline Hosting Ltd, Bristol", "Invoice date: 1 May 2026   Due date: 15 May 2026"]),
    Table([["Managed server, May 2026", "1", "64.00"], ["Backup storage of 500 GB", "2", "19.00"]]),
    Lines(
        [
            "Subtotal 83.00",
            "VAT 20 % 16.60",
            "Total due 99.60",
            "Pay by transfer to our account 33445566",
        ]
    ),
]
RECHNUNG: list[Block] = [
    Heading("Rechnung Nr. 2026-0417"),
    Lines(
        [
            "Malerbetrieb Beispiel GmbH, Hagen",
            "Rechnungsdatum: 17.04.2026, geleistet vom 07.04. bis 11.04.2026",
        ]
    ),
    Table(
        [
            ["Wandfarbe weiß, zehn Liter", "48,90", "195,60"],
            ["Arbeitsstunde Geselle", "54,00", "864,00"],
        ]
    ),
    Lines(
        [
            "Netto 1.059,60",
            "Umsatzsteuer 201,32",
            "Rechnungsbetrag 1.260,92",
            "Zahlbar ohne Abzug bis 01.05.2026",
        ]
    ),
]
PRICES: list[Block] = [
    Heading("Salon Beispiel: what we charge"),
    Table(
        [
            ["Cut for short hair", "EUR 32.00"],
            ["Cut for long hair", "EUR 45.00"],
            ["Full colour", "EUR 78.00"],
        ]
    ),
    Lines(["All of our work is done by appointment, and valid from 1 January 2026"]),
]


# The last of them say what accounts have words for as well, dashes that are no minus, and days before what was done.
NO_STATEMENTS: dict[str, list[Block]] = {
    "a bill": BILL,
    "a German bill": RECHNUNG,
    "a list of prices": PRICES,
    "dated work": [
        Heading("Rechnung 4711"),
        Table(
            [["Datum", "Beschreibung", "Betrag"]]
            + [[f"{day}.04.2026", "Gartenpflege", f"{day}0,00"] for day in (23, 25, 29)]
        ),
        Lines(["Netto 770,00", "Umsatzsteuer 146,30", "Rechnungsbetrag 916,30"]),
    ],
    "words of accounts": [
        *RECHNUNG,
        Lines(["Wir haben für Sie gern gearbeitet. Zahlbar 14 Tage nach Rechnungseingang."]),
    ],
    "numbers of a customer, and periods": [
        Heading("Facture du 14/05/2026"),
        Lines(["Énergie Exemple, 56000 Vannes"]),
        Table([["N° de client", "5 018 442 716"], ["N° de compte", "2 004 119 873"], ["Compteur", "14 504 221 887"]]),
        Table([["14/05/26 au 14/07/26", "24,20"], ["12/03/26 au 11/05/26", "104,04"], ["11/05/26 relevé", "18,35"]]),
        Lines(["TVA à 20 % : 24,48", "Montant total à payer : 176,19"]),
    ],
    "discounts": [
        *BILL,
        Table([["Discount for two servers", "-6.40"], ["Discount of the month", "-2.00"]]),
    ],
    "a receipt of a till": [
        Lines(["EXAMPLE FARM SHOP", "Mill Lane BA10 0AA"]),
        Table([["MILK WHL 2L", "2.45"], ["BREAD 800G", "3.80"], ["EGGS 12", "3.65"], ["VOUCHER", "-1.00"],
               ["TOTAL GBP", "8.90"], ["CARD ****4417", "8.90"], ["VAT 20% incl.", "0.61"]]),
        Lines(["TILL 2 OP 14 TXN 088213", "16/05/2026 11:47"]),
    ],
    "dashes": [
        Lines(["Stand Januar 2026: was es bei uns gibt und was es kostet, in bester Lage am Markt"]),
        Table([["Kaffee \u2013 2,50"], ["Kuchen vom Blech \u2013 3,20"], ["Frühstück für zwei 18,00 - 24,00"]]),
    ],
    "a letter": [
        Lines(
            [
                BRIEF,
                "Wir haben am 03.02.2026 einen Betrag von 12,50 Euro erhalten.",
                "Am 14.02.2026 kamen noch einmal 6,00 Euro.",
                f"Die Gebühr für die Mahnung beträgt 2,50 Euro, zahlbar bis 28.02.2026. {BRIEF}",
            ]
        )
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [*NO_STATEMENTS])
def test_a_bill_a_list_of_prices_or_a_letter_is_no_statement(
    app: App, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "bill.pdf"
    path.write_bytes(pdf(NO_STATEMENTS[name]))

    assert route(app, path) == "documents"


SEPA = "SEPA-Lastschrift EREF 4711-0815 MREF 99120-A CRED DE98ZZZ09999999999 Abbuchung für den Monat laut Ihrem Auftrag"
LIKE_OTHERS: dict[str, list[Block]] = {
    "signs": [
        Lines(["Girokonto 12345678 bei der Beispielbank, Ihre Bewegungen im Februar"]),
        Table([["02.02.2026", "Miete", "-800,00"], ["", "Strom, Rechnung 17", "-60,00"], ["", "Lohn", "900,00"]]),
    ],
    "days": [
        Lines(["Datum Verwendungszweck Betrag Stand, Beispielbank, alle Angaben in Euro, ohne Gewähr"]),
        Table([[f"0{day}.02.2026", "Rechnung Nr. 88, Dachdecker", "120,00", f"{day}50,00"] for day in range(3, 7)]),
    ],
    "without a title": [
        Lines(["Sorties et entrées du mois de mars, Banque Exemple, agence de Lyon, votre conseiller"]),
        Table([["02/03/2026", "Facture EDF", "45,20", ""], ["", "Loyer", "700,00", ""], ["", "Paie", "", "900,00"]]),
    ],
    "long texts": [
        Lines(["Umsatzliste Girokonto"]),
        Table([[f"{day:02}.02.2026", f"{SEPA}, und noch viel mehr", f"{day},90 -"] for day in range(3, 11)]),
    ],
    "a bill of a card": [
        Heading("Rechnung Kreditkarte Februar 2026"),
        Lines(["Beispielbank AG, CHE-123.456.789 MWST"]),
        Table([[f"0{day}.02.2026", "Laden", amount] for day, amount in ((3, "45.20"), (4, "-12.00"), (9, "-7.00"))]),
    ],
    "a fee with its tax": [
        Lines(["Example Bank, card 4417, March 2026", "Fee, VAT 20% incl."]),
        Table([["3 Mar", "Shop", "45.20"], ["4 Mar", "Fee", "2.00"], ["9 Mar", "Fuel", "7.00"], ["Total", "54.20"]]),
    ],
    "a contract in passing": [
        Heading("Example Bank Credit Card Statement"),
        Lines(["Billing period 02/01/2026 - 02/28/2026", "New balance $120.50"]),
        Lines(["See your credit card agreement, or your car insurance."]),
        Table([["02/03/2026", "Shop", "40.25"], ["02/05/2026", "Fuel", "80.25"], ["02/07/2026", "Refund", "-10.00"]]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [*LIKE_OTHERS])
def test_a_statement_that_is_short_or_looks_like_something_else_is_one(
    app: App, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "statement.pdf"
    path.write_bytes(pdf(LIKE_OTHERS[name]))

    assert route(app, path) == "upload"


def test_cells_without_words_are_not_tried_against_each_other() -> None:
    """A small file of dashes kept an upload for half a minute; so many would not end within a test."""
    assert not statements_detection._PDF_COLUMN.search(".\n" * 200_000)


def test_a_pay_slip_is_no_statement(app: App, tmp_path: Path) -> None:
    path = tmp_path / "slip.pdf"
    rows = [
        ["Basic pay", "2,400.00"],
        ["Overtime", "194.08"],
        ["Tax", "-303.40"],
        ["Pension", "-212.42"],
    ]
    path.write_bytes(pdf([Heading("Payslip October 2026"), Lines(["Mr D Kowalczuk"]), Table(rows)]))

    with app:
        assert route(app, path) == "documents"


# Letters set one by one, fonts of which only one is seen, amounts without decimals: little of these can be read here.
HARD = frozenset(
    {
        "hdfc",
        "ocbc",
        "cartola-cl",
        "day-sections",
        "shinkin-jp",
        "glyphs-nz",
        "mbank-pl",
        "garanti-left",
    }
)


def test_no_statement_is_taken_for_something_else_because_its_letters_cannot_be_seen(
    app: App, tmp_path: Path
) -> None:
    layouts = {each.name: each for listed in SETS.values() for each in listed if each.name in HARD}
    drawn = [
        (name, draw(layouts[name], seed, is_mutated=True)[0])
        for name in sorted(HARD)
        for seed in (7, 8, 9)
    ]

    for name, content in drawn:
        path = tmp_path / f"{name}.pdf"
        path.write_bytes(content)
        assert (name, route(app, path)) == (name, "upload")


def lettered(rows: list[str]) -> bytes:
    """A PDF that sets its letters one by one, without blanks."""
    shown = "".join(f"({sign}) Tj\n" for sign in "".join(rows) if sign != " ")
    return (
        b"%PDF-1.4\n6 0 obj << /Length 1 >> stream\n"
        + shown.encode("latin-1")
        + b"endstream\n"
        + END
    )


LAB = [
    "Example Laboratory, collected 05/10/2026", "Sodium 140 mmol/L 136-145", "Potassium 6.1 mmol/L 3.5-5.1",
    "Hemoglobin 14.2 g/dL 13.0-17.0", "Creatinine 0.9 mg/dL 0.7-1.3", "Albumin 4.1 g/dL 3.5-5.1", "AST 32 U/L 10-35",
]  # fmt: skip
ACCOUNT = ["Example Bank, account 12345678"]
ACCOUNT += [f"{day:02}/10/2026 Sodium lamps Ltd 1{day}.25 2,7{day}.05" for day in range(1, 25)]


@pytest.mark.parametrize(("rows", "source_type"), [(LAB, "lab_report"), (ACCOUNT, "bank_pdf")])
def test_letters_that_are_set_one_by_one_still_tell_a_lab_report(
    app: App, tmp_path: Path, rows: list[str], source_type: str
) -> None:
    path = tmp_path / "lettered.pdf"
    path.write_bytes(lettered(rows))

    assert app.plugins.candidates(path)[0].source_type == source_type


KOMERCNI = (
    "MojeBanka, export transakcni historie\nDatum vytvoreni;01.11.2026\nPocatecni zustatek;100316,20\n"
    "Datum splatnosti;Protiucet;Nazev protiuctu;Castka;VS\n19.08.2026;1/0100;Albert;-6467,00;123\n"
    "20.08.2026;1/0100;Mzda;75141,80;123\n"
)
RUPEES = (
    "CANARA BANK\n\nSl,Txn,Value,Particulars,Withdrawals,Deposits,Balance\n,Date,Date,,(INR),(INR),(INR)\n"
    "2,13-01-2026,13-01-2026,TESCO STORES,152.93,,2743.05\n1,12-01-2026,12-01-2026,Shell,140.65,,2895.98\n"
)


COMMAS = (
    "Datum;Text;Betrag\n02.02.2026;Rewe, Hamburg, DE;-10,00\n03.02.2026;Lohn, Februar, DE;900,00\n"
    "04.02.2026;Aldi, Ulm, DE;-5,20\n"
)


ONE_ROW = (
    '10 Feb 18," Shop Name, AnyTown 20.59 POUND STERLING ",Visa,MR A SURNAME,Household,,20.59\n'
)
PRINTED = (
    "Card Services BV                      www.example.org\n\n"
    "Datum      Datum      Omschrijving                       Bedrag\n"
    "24 mrt     24 mrt     IDEAL BETALING, DANK U             638,10   Bij\n"
    "25 mrt     26 mrt     SNCF INTERNET  PARIS CEDEX         23,00    Af\n"
)


@pytest.mark.parametrize("text", [KOMERCNI, RUPEES, COMMAS, ONE_ROW, PRINTED])
def test_an_export_is_a_statement_whatever_stands_above_its_table(
    app: App, tmp_path: Path, text: str
) -> None:
    """A comma in a title is no separator of the table below it, and `(INR)` no test of blood."""
    path = tmp_path / "export.csv"
    path.write_text(text, "utf-8")

    assert app.plugins.candidates(path)[0].source_type == "bank_csv"


GLYPHS = (
    b"1 0 obj << /Length 1 >> stream\n<" + b"0012003400560078" * 40 + b"> Tj\nendstream\nendobj\n"
)
PACKED = b"2 0 obj << /Filter /LZWDecode >> stream\n\x80\x0b\x60\x50\nendstream\nendobj\n"
FEW = b"3 0 obj << /Length 1 >> stream\n(Name: Ada  Signed: 3 May) Tj\nendstream\nendobj\n"
END = b"startxref\n9\n%%EOF\n"
PICTURE = b"4 0 obj << /Subtype /Image /Filter /LZWDecode >> stream\n\x80\x0b\nendstream\nendobj\n"


@pytest.mark.parametrize(
    "content", [GLYPHS + END, FEW + PACKED + END, FEW + b"trailer << /Encrypt 9 0 R >>" + END, FEW]
)
def test_a_pdf_whose_words_cannot_be_seen_may_be_a_statement(
    app: App, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "glyphs.pdf"
    path.write_bytes(b"%PDF-1.4\n" + content)

    assert route(app, path) == "upload"


def test_a_statement_whose_font_holds_its_letters_as_they_are_is_one(
    app: App, tmp_path: Path
) -> None:
    rows = [
        f"2026-07-{day:02} CNY -{day}4,927.67 6,969.56 快捷支付 盒马鲜生上海"
        for day in range(1, 31)
    ]
    shown = b"".join(b"<" + row.encode("utf-16-be").hex().encode() + b"> Tj\n" for row in rows)
    font = b"5 0 obj << /Type /Font /Encoding /UniGB-UCS2-H >> endobj\n"
    path = tmp_path / "statement.pdf"
    path.write_bytes(
        b"%PDF-1.4\n" + font + b"6 0 obj << /Length 1 >> stream\n" + shown + b"endstream\n" + END
    )

    assert route(app, path) == "upload"


@pytest.mark.parametrize("content", [FEW, FEW + PICTURE, b"1 0 obj << /ObjStm >> endobj\n"])
def test_a_pdf_that_shows_too_little_for_a_statement_is_kept_as_a_text(
    app: App, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(b"%PDF-1.4\n" + content + END)

    assert route(app, path) == "documents"


def test_the_samples_go_to_their_own_pipelines(app: App) -> None:
    samples = [
        (path, machine)
        for package, machine in ((statements, "upload"), (literature, "literature"))
        for path in (Path(package.__path__[0]) / "samples").glob("*.pdf")
    ]

    assert samples
    assert [route(app, path) for path, _ in samples] == [machine for _, machine in samples]


SHORT_CONTRACTS: dict[str, list[Block]] = {
    "a policy in a letter": [
        Lines(
            [
                "Ihre Rechtsschutzpolice",
                "Wir übernehmen Ihre Kosten ab dem 01.02.2026. Ende der ersten Vertragsperiode ist der 01.02.2027.",
                "Beitrag 24,99 Euro monatlich. Ohne Kündigung schließt sich ein weiteres Jahr an.",
            ]
        )
    ],
    "plain words": [
        Heading("Confidentiality Agreement"),
        Lines(
            [
                "Parties: Brannock Foods Limited and Palisade Packaging Limited.",
                "Keep under lock whatever one side learns from the other. Each side keeps what is its own.",
                "Irish law governs. Signed: Deirdre Power",
            ]
        ),
    ],
    "a welcome": [
        Lines(
            [
                "Willkommen in der Grundversorgung. Ein Grundversorgungsvertrag ist zustande gekommen.",
                "Beginn der Versorgung: 16. Juni 2026. Verbrauchspreis 33,32 ct, Grundpreis 9,52 Euro.",
            ]
        )
    ],
}


@pytest.mark.parametrize("write", [pdf, docx])
@pytest.mark.parametrize("name", [*SHORT_CONTRACTS])
def test_a_short_contract_is_one(
    app: App, tmp_path: Path, name: str, write: Callable[[list[Block]], bytes]
) -> None:
    path = tmp_path / f"contract.{write.__name__}"
    path.write_bytes(write(SHORT_CONTRACTS[name]))

    assert route(app, path) == "contract"


INSURED = "Haftpflichtversicherung Vertragsnummer 4711 Beitrag monatlich, Mietvertrag Kündigung"


def test_payments_for_contracts_are_those_of_an_account(app: App, tmp_path: Path) -> None:
    rows = [[f"{day:02}.02.2026", INSURED, f"-{day}0,00"] for day in range(10, 22)]
    drawn = tmp_path / "drawn.pdf"
    drawn.write_bytes(pdf([Lines(["Beispielbank, Konto 12345678"]), Table(rows)]))
    export = tmp_path / "export.csv"
    lines = ["Datum;Text;Betrag", *(";".join(row) for row in rows)]
    export.write_text("\n".join(lines), encoding="utf-8")

    small = tmp_path / "small.csv"
    small.write_text(
        "Date,Description,Amount\n2026-02-03,Aviva car insurance,-42.10\n"
        "2026-02-05,Rent for two months,-900.00\n2026-02-07,Cancelling fee,-20.00\n",
        encoding="utf-8",
    )

    assert {route(app, path) for path in (drawn, export, small)} == {"upload"}


def test_an_export_that_numbers_its_bookings_by_seconds_stays_a_statement(
    app: App, tmp_path: Path
) -> None:
    days = (3, 5, 5, 9, 12, 17)
    rows = [
        f"2025-03-{day:02} 00:00:{at:02},Shop {at},-{at}.50,EUR,{100 - at}.00"
        for at, day in enumerate(days, 1)
    ]
    path = tmp_path / "activity.csv"
    path.write_text("\n".join(["Date,Description,Amount,Currency,Balance", *rows]))

    assert route(app, path) == "upload"


def test_bookings_typed_with_decimal_commas_are_no_research_data(app: App, tmp_path: Path) -> None:
    path = tmp_path / "june.txt"
    path.write_text(
        "Copied from the account of Mum (Confluence Bank, account 4711)\nbalance on 31/05   +1 284,55\n"
        "02/06  EDF   -87,12\n03/06  CPAM   +23,50\n05/06  CARD 04/06 BIOCOOP   -63,48\n08/06  CHEQUE   -150,00\n"
    )

    assert not any(each.machine == "experiments" for each in app.plugins.candidates(path))
