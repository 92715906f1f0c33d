"""CSV of any bank: delimiters, encodings, headings, columns, signs, and rows that are none."""

from pathlib import Path

import pytest

from stateward.pipelines.statements import headings
from stateward.pipelines.statements.table_cells import TableHead
from tests.pipelines.statements.reading import read_bytes

PLAIN = "Date,Description,Amount\n2026-01-05,Shop,-1.50\n2026-01-06,Pay,10.00\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(tmp_path: Path, delimiter: str, end: str) -> None:
    text = PLAIN.replace(",", delimiter).replace("\n", end)

    assert read_bytes(tmp_path, text).amounts == ["-1.50", "10.00"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Datum;Beschreibung;Betrag\n01.02.2026;Müller Bäckerei;-1.234,56\n02.02.2026;Café Zoë;9,00\n"

    read = read_bytes(tmp_path, text.encode(encoding))

    assert [row["description"] for row in read.canonicals] == ["Müller Bäckerei", "Café Zoë"]
    assert read.amounts == ["-1234.56", "9.00"]


def test_central_european_letters_are_not_taken_for_western_signs(tmp_path: Path) -> None:
    text = "Data operacji;Opis operacji;Kwota\n" + "".join(
        f"{day:02}.01.2026;Opłata za prowadzenie rachunku, źródło żółć;-{day},00\n"
        for day in range(1, 28)
    )

    read = read_bytes(tmp_path, text.encode("cp1250"))

    assert "żółć" in read.canonicals[0]["description"]


def test_a_few_damaged_bytes_do_not_turn_utf8_into_a_code_page(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-{day:02},Müller Bäckerei,-{day}.00\n" for day in range(1, 9)).encode()

    read = read_bytes(tmp_path, b"Date,Description,Amount\n" + rows + b"2026-01-10,Caf\xe9,-1.00\n")

    assert read.canonicals[0]["description"] == "Müller Bäckerei"
    assert read.canonicals[-1]["description"] == "Caf\ufffd"
    assert "nearly all of it" in read.log


def test_the_first_line_may_name_the_delimiter(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "sep=;\n" + PLAIN.replace(",", ";"))

    assert read.amounts == ["-1.50", "10.00"]
    assert read.observations[0]["place"] == {"line": 3}


HEADINGS = [
    "Buchungstag;Verwendungszweck;Betrag",
    "Date opération;Libellé;Montant",
    "Fecha;Concepto;Importe",
    "Data contabile;Descrizione;Importo",
    "Boekdatum;Omschrijving;Bedrag",
    "Data;Histórico;Valor",
    "Data operacji;Opis operacji;Kwota",
    "Bokföringsdag;Text;Belopp",
    "Dato;Tekst;Beløb",
    "Transaction Date;Narration;Amount (INR)",
    "Posted Date;Descripton;Amount",
]


@pytest.mark.parametrize("heading", HEADINGS)
def test_headings_in_many_languages(tmp_path: Path, heading: str) -> None:
    read = read_bytes(tmp_path, f"{heading}\n2026-01-05;Laden;-1,50\n2026-01-06;Lohn;10,00\n")

    assert read.amounts == ["-1.50", "10.00"]
    assert [row["description"] for row in read.canonicals] == ["Laden", "Lohn"]


def test_facts_above_and_below_the_rows_are_kept(tmp_path: Path) -> None:
    text = (
        "My Bank\nAccount number:,12345678\nPeriod:,01/01/2026 - 31/01/2026\nCurrency:,GBP\n"
        "Opening balance,100.00\n\nDate,Description,Debit,Credit\n"
        "13/01/2026,Shop,20.00,\n14/01/2026,Pay,,50.00\nClosing balance,,,130.00\n"
    )

    read = read_bytes(tmp_path, text)

    (section,) = read.about["sections"]
    assert section["account"] == "12345678"
    assert (section["opening"], section["closing"]) == ("100.00", "130.00")
    assert read.canonicals[0]["currency"] == "GBP"
    assert read.notes == []
    assert read.checks[0]["status"] == "reconciled"


def test_a_statement_that_does_not_add_up_is_flagged_with_the_difference(tmp_path: Path) -> None:
    text = "Opening balance,100.00\nDate,Description,Debit,Credit\n13/01/2026,Shop,20.00,\nClosing balance,,,81.00\n"

    read = read_bytes(tmp_path, text)

    assert read.notes == ["NOT_RECONCILED"]
    assert read.checks[0]["difference"] == "-1.00"
    assert "80.00, expected 81.00" in read.log


@pytest.mark.parametrize(
    ("body", "amounts"),
    [
        ("Date,Text,Debit,Credit\n2026-01-05,a,1.50,\n2026-01-06,b,,2.00\n", ["-1.50", "2.00"]),
        ("Date,Text,Debit,Credit\n2026-01-05,a,1.50,0.00\n2026-01-06,b,0,2.00\n", ["-1.50", "2.00"]),
        ("Date,Text,Debit,Credit\n2026-01-05,a,-1.50,\n2026-01-06,b,,2.00\n", ["-1.50", "2.00"]),
        ("Date,Text,Amount,Dr/Cr\n2026-01-05,a,1.50,DR\n2026-01-06,b,2.00,CR\n", ["-1.50", "2.00"]),
        ("Datum,Text,Betrag,Soll/Haben\n2026-01-05,a,1.50,S\n2026-01-06,b,2.00,H\n", ["-1.50", "2.00"]),
        ("Datum,Naam,Bedrag,Af Bij\n20260105,a,1.50,Af\n20260106,b,2.00,Bij\n", ["-1.50", "2.00"]),
        ("Date,Text,Amount\n2026-01-05,a,1.50 DR\n2026-01-06,b,2.00 CR\n", ["-1.50", "2.00"]),
        ("Date,Text,Amount\n2026-01-05,a,1.50\n2026-01-06,b,2.00 CR\n", ["-1.50", "2.00"]),
        ("Date,Text,Amount\n2026-01-05,a,(1.50)\n2026-01-06,b,2.00\n", ["-1.50", "2.00"]),
        ("Date,Text,Type,Amount\n2026-01-05,a,DEBIT,-1.50\n2026-01-06,b,CREDIT,-2.00\n", ["-1.50", "-2.00"]),
        ("Date,Text,Amount,Balance\n2026-01-05,rent,1.50,98.50\n2026-01-06,salary,-2.00,100.50\n", ["-1.50", "2.00"]),
    ],
    ids=["two columns", "zeros", "negative debits", "marks", "soll haben", "af bij", "marks behind", "credits marked",
         "brackets", "types beside signs", "turned by words and balances"],
)  # fmt: skip
def test_the_sign_is_decided_over_the_table(tmp_path: Path, body: str, amounts: list[str]) -> None:
    assert read_bytes(tmp_path, body).amounts == amounts


def test_charges_of_a_card_without_a_proof_are_flagged(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-01-05,Shop,12.00\n2026-01-06,Shop,8.00\n2026-01-07,Payment,-20.00\n"

    read = read_bytes(tmp_path, text, labels={"source_type": "credit_card"})

    assert read.amounts == ["-12.00", "-8.00", "20.00"]
    assert "SIGN_UNPROVEN" in read.notes


def test_what_a_card_owes_grows_with_purchases(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Balance\n2026-01-05,Shop,12.00,112.00\n2026-01-06,Shop,8.00,120.00\n"
        "2026-01-07,Payment - Thank you,-100.00,20.00\n"
    )

    read = read_bytes(tmp_path, text, labels={"source_type": "credit_card"})

    assert read.amounts == ["-12.00", "-8.00", "100.00"]
    assert [row["balance"] for row in read.canonicals] == ["-112.00", "-120.00", "-20.00"]
    assert read.notes == []


def test_a_debit_beside_a_credit_is_rejected(tmp_path: Path) -> None:
    text = "Date,Text,Debit,Credit\n2026-01-05,a,1.50,\n2026-01-06,b,3.00,2.00\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1.50"]
    assert "ROW_REJECTED" in read.notes


def test_without_headings_the_balances_tell_debits_from_credits(tmp_path: Path) -> None:
    text = "11/01/2014,Deposit,500.00,,500.00\n11/02/2014,Check,,100.00,400.00\n11/17/2014,Check,,50.00,350.00\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["500.00", "-100.00", "-50.00"]
    assert read.notes == []


def test_without_headings_and_balances_the_sign_is_unproven(tmp_path: Path) -> None:
    text = "11/01/2014,Deposit,500.00,\n11/17/2014,Check,,100.00\n"

    assert "SIGN_UNPROVEN" in read_bytes(tmp_path, text).notes


@pytest.mark.parametrize(
    ("rows", "dates"),
    [
        ("13/02/2026,a,-1.00\n01/03/2026,b,-2.00", ["2026-02-13", "2026-03-01"]),
        ("02/13/2026,a,-1.00\n03/01/2026,b,-2.00", ["2026-02-13", "2026-03-01"]),
        ("13-Feb-26,a,-1.00\n1-Mar-26,b,-2.00", ["2026-02-13", "2026-03-01"]),
        ("2026-02-13 10:00,a,-1.00\n2026-03-01 11:00,b,-2.00", ["2026-02-13", "2026-03-01"]),
        ("13/02/2569,a,-1.00\n01/03/2569,b,-2.00", ["2026-02-13", "2026-03-01"]),
    ],
)
def test_the_order_of_dates_is_decided_over_the_whole_file(
    tmp_path: Path, rows: str, dates: list[str]
) -> None:
    assert read_bytes(tmp_path, f"Date,Description,Amount\n{rows}\n").dates == dates


def test_the_order_may_be_decided_by_the_very_last_row(tmp_path: Path) -> None:
    rows = ["01/02/2026,a,-1.00"] * 2500 + ["13/02/2026,b,-2.00"]

    read = read_bytes(tmp_path, "Date,Description,Amount\n" + "\n".join(rows))

    assert set(read.dates) == {"2026-02-01", "2026-02-13"}


AMBIGUOUS = "Date,Description,Amount\n01/02/2026,a,-1.00\n03/04/2026,b,2.00\n"


def test_dates_that_nothing_decides_are_not_guessed(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, AMBIGUOUS)

    assert read.dates == [None, None]
    assert read.canonicals[0]["date_candidates"] == ["2026-02-01", "2026-01-02"]
    assert "AMBIGUOUS_DATES" in read.notes


def test_dates_that_nothing_decides_may_fail_the_file(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, AMBIGUOUS, options={"ambiguous_dates": "fail"})

    assert read.error.code == "AMBIGUOUS_DATES"
    assert not read.error.is_retryable


@pytest.mark.parametrize(
    "how",
    [
        {"labels": {"date_order": "mdy"}},
        {"options": {"date_order": "mdy"}},
        {
            "labels": {"source_type": "my_bank"},
            "options": {"source_types": {"my_bank": {"date_order": "mdy"}}},
        },
    ],
)
def test_a_person_may_say_the_order(tmp_path: Path, how: dict[str, dict[str, object]]) -> None:
    read = read_bytes(tmp_path, AMBIGUOUS, **how)

    assert read.dates == ["2026-01-02", "2026-03-04"]
    assert "AMBIGUOUS_DATES" not in read.notes


def test_a_language_in_which_days_come_first_decides(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, AMBIGUOUS.replace("Description", "Libellé").replace("Amount", "Montant")
    )

    assert read.dates == ["2026-02-01", "2026-04-03"]
    assert "the language of the headings is French" in read.log


def test_a_row_with_an_unquoted_comma_is_flagged_and_the_others_are_kept(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-01-01,ok,1.00\n2026-01-02,unquoted, comma,2.00\n2026-01-03,ok,3.00\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["1.00", "3.00"]
    (problem,) = [each for each in read.about["problems"] if each["code"] == "ROW_RAGGED"]
    assert problem["place"] == {"line": 3}
    assert "ROW_RAGGED" in read.notes


def test_an_unquoted_thousands_comma_is_not_read_as_one(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-01-01,ok,1.00\n2026-01-02,dear,1,234.00\n"

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["1.00"]
    assert "ROW_RAGGED" in read.notes


def test_a_quote_that_is_never_closed_swallows_no_row(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-{day:02},ok,-{day}.00\n" for day in range(2, 12))

    read = read_bytes(tmp_path, f'Date,Description,Amount\n2026-01-01,"open,-1.00\n{rows}')

    assert len(read.canonicals) == 11
    assert "BROKEN_QUOTES" in read.notes


def test_a_description_over_several_lines_is_one_row(tmp_path: Path) -> None:
    text = 'Date,Description,Amount\n2026-01-01,"Shop\nMain street",-1.00\n2026-01-02,Next,2.00\n'

    read = read_bytes(tmp_path, text)

    assert read.observations[0]["description"] == "Shop\nMain street"
    assert [row["place"]["line"] for row in read.observations] == [2, 4]
    assert "BROKEN_QUOTES" not in read.notes


def test_a_garbled_amount_rejects_its_row_alone(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path, "Date,Description,Amount\n2026-04-02,Valid,-100.00\n2026-04-03,Bad,12..34\n"
    )

    assert read.amounts == ["-100.00"]
    assert "ROW_REJECTED" in read.notes
    assert "the amount '12..34' is not an amount" in read.log


def test_of_many_rows_the_good_ones_are_kept_and_the_bad_ones_are_counted(tmp_path: Path) -> None:
    rows = [
        f"2026-01-{1 + n % 28:02},row {n},{'bad' if n % 75 == 0 else '-1.00'}" for n in range(1500)
    ]

    read = read_bytes(tmp_path, "Date,Description,Amount\n" + "\n".join(rows))

    assert len(read.observations) == 1500
    assert len(read.canonicals) == 1480
    assert read.log.count("row rejected") == 20


def test_rows_that_are_no_transactions_are_named_in_the_log(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount\n2026-01-01,a,-1.00\nDate,Description,Amount\n,,\n2026-01-02,b,-2.00\n"
        "Total,,-3.00\nThank you for banking with us,,\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.amounts == ["-1.00", "-2.00"]
    assert "line 3 repeats the headings" in read.log
    assert "line 6 is a total" in read.log
    assert "Thank you for banking" in read.log


def test_a_row_without_a_date_takes_the_one_above_and_says_so(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Date,Description,Amount\n2026-01-01,a,-1.00\n,b,-2.00\n")

    assert read.dates == ["2026-01-01", "2026-01-01"]
    assert read.canonicals[1]["note"] == "no date is printed: the date of the row above was taken"


def test_a_row_with_an_amount_and_no_readable_date_is_a_problem(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Date,Description,Amount\n2026-01-01,a,-1.00\n2026-99-99,b,-2.00\n")

    assert read.amounts == ["-1.00"]
    assert "ROW_UNREADABLE" in read.notes


def test_several_accounts_and_currencies_in_one_table_are_added_up_apart(tmp_path: Path) -> None:
    text = (
        "Date,Description,Amount,Currency,Balance,Account\n"
        "2026-01-01,a,-1.00,EUR,99.00,ONE\n2026-01-01,b,5.00,USD,15.00,TWO\n"
        "2026-01-02,c,-2.00,EUR,97.00,ONE\n2026-01-02,d,5.00,USD,20.00,TWO\n"
    )

    read = read_bytes(tmp_path, text)

    assert [(check["account"], check["status"]) for check in read.checks] == [
        ("ONE", "reconciled"),
        ("TWO", "reconciled"),
    ]
    assert read.notes == []


def test_amounts_that_could_be_thousands_or_decimals_are_flagged(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Date,Description,Amount\n2026-01-01,a,-1.234\n2026-01-02,b,5\n")

    assert "AMBIGUOUS_AMOUNTS" in read.notes


def test_other_columns_are_kept_under_their_headings(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, "Date,Description,Category,Amount\n2026-01-01,a,Food,-1.00\n")

    assert read.observations[0]["more"] == {"Category": "Food"}


def test_text_without_a_table_is_refused(tmp_path: Path) -> None:
    for text in (
        "Dear customer\nthank you\n",
        "a,b,c\n1,2,3\n",
        "just, some, words\nand, more, words\n",
    ):
        assert read_bytes(tmp_path, text).error.code == "UNKNOWN_FORMAT"


def test_no_known_heading_begins_with_a_digit() -> None:
    """Cells that do are not compared with the headings."""
    assert [known for known in headings.words().columns if known[0].isdigit()] == []


def test_only_rows_that_are_no_bookings_are_asked_for_headings() -> None:
    rows = [
        ["Statement of account", "", ""],
        ["Date", "Fee", "Withdrawal"],
        ["2026-01-05", "Withdrawal", "-1.50"],
        ["2026-01-06", "Fee", ""],
        ["Date", "Fee", "Withdrawal", ""],
    ]

    head = TableHead.of(rows)

    assert [at for at, _ in head.headings()] == [0, 1, 3, 4]
    assert head.below(1) == rows[2:4]
