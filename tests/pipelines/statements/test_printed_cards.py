"""Statements that are printed as text, without known headings or with headings of several words and lines."""

from pathlib import Path

from tests.pipelines.statements.reading import read_bytes

CARD = """\
FIRST UNION VISA PLATINUM
Account Number: XXXX XXXX XXXX 4821
Statement Closing Date: 03/15/2026          Payment Due Date: 04/10/2026
Previous Balance        $412.18
New Balance             $243.97
Minimum Payment Due     $25.00

Trans Date  Post Date  Reference Number   Description                     Amount
02/18       02/19      24692164050        GROCER 10234 AUSTIN TX            $84.12
02/25       02/25      74692164056        PAYMENT - THANK YOU             -$412.18
03/02       03/03      24692164062        FUEL 57444 AUSTIN TX              $41.90
03/09       03/10      24692164069        AIR LINES ATLANTA GA             $117.95
"""
UNNAMED = """\
Your Credit Card Statement
Statement period 01 Feb 2026 to 28 Feb 2026
Minimum payment 20.00

03 Feb  GROCER STORES 3321     LONDON         23.40
05 Feb  BOOKS ONLINE           LUXEMBOURG     15.99
14 Feb  PAYMENT RECEIVED - THANK YOU         150.00 CR
20 Feb  TRAVEL CHARGE          LONDON          6.80

Previous balance   150.00
New balance         46.19
"""
TWO_LINES = """\
Vorig openstaand saldo       Totaal nieuwe uitgaven       Nieuw openstaand saldo
EUR 10,00                    EUR 30,00                    EUR 40,00

Datum         Datum        Omschrijving                  Bedrag
transactie    boeking                                    in euro
21-03-2026    23-03-2026   BAKKERIJ                       10,00 Af
24-03-2026    26-03-2026   SLAGERIJ                       20,00 Af
"""


def test_one_blank_stands_within_a_label_and_two_behind_it(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, CARD)

    assert found.amounts == ["-84.12", "412.18", "-41.90", "-117.95"]
    assert found.dates == ["2026-02-19", "2026-02-25", "2026-03-03", "2026-03-10"]
    assert found.normalized.facts["notes"] == []  # type: ignore[union-attr]


def test_balances_prove_a_text_whose_columns_have_no_names(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, UNNAMED)

    assert found.amounts == ["-23.40", "-15.99", "150.00", "-6.80"]
    assert found.flags == []


def test_a_text_without_names_that_no_balance_proves_is_refused(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, UNNAMED.replace("46.19", "46.91"))

    assert found.parsed.code == "UNKNOWN_FORMAT"  # type: ignore[union-attr]


def test_the_second_line_of_a_heading_tells_which_day_is_that_of_the_booking(
    tmp_path: Path,
) -> None:
    found = read_bytes(tmp_path, TWO_LINES)

    assert found.dates == ["2026-03-23", "2026-03-26"]
    assert [row["value_date"] for row in found.canonicals] == ["2026-03-21", "2026-03-24"]


def test_two_columns_of_days_with_one_name_are_doubted(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, TWO_LINES.replace("transactie    boeking", " " * 21))

    assert "DATE_UNPROVEN" in found.flags
