"""Several accounts of one file whose numbers have no known label: balances show where the next one begins."""

from pathlib import Path

from tests.pipelines.statements.pdf.judging import sheet
from tests.pipelines.statements.reading import read_bytes

Line = list[tuple[float, str]]

HEADING: Line = [(44, "Date"), (110, "Operation"), (-470, "Debit"), (-550, "Credit")]
CURRENT: list[Line] = [
    [(44, "Releve de comptes en euros au 29/02/2024")],
    [(44, "C/C CONFORT N° 00020 301 01")],
    HEADING,
    [(110, "SOLDE CREDITEUR AU 31/01/2024"), (-550, "500,00")],
    [(44, "07/02/2024"), (110, "PAIEMENT CB"), (-470, "100,09")],
    [(44, "17/02/2024"), (110, "VIR LOYER"), (-550, "292,21")],
    [(110, "SOLDE CREDITEUR AU 29/02/2024"), (-550, "692,12")],
    [(44, "LIVRET BLEU N° 00020 301 02")],
    HEADING,
    [(110, "SOLDE CREDITEUR AU 31/01/2024"), (-550, "3.773,89")],
    [(44, "08/02/2024"), (110, "RETRAIT DAB"), (-470, "5,94")],
]
SAVINGS: Line = [(44, "25/02/2024"), (110, "REMISE CHEQUE"), (-550, "9,66")]
END: Line = [(110, "SOLDE CREDITEUR AU 29/02/2024"), (-550, "3.777,61")]


def test_an_account_begins_where_the_balances_of_each_prove_it(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, sheet(*CURRENT, SAVINGS, END, step=12).pdf())

    assert found.amounts == ["-100.09", "292.21", "-5.94", "9.66"]
    assert found.flags == []


def test_accounts_of_which_one_does_not_add_up_are_flagged(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, sheet(*CURRENT, END, step=12).pdf())

    assert "NOT_RECONCILED" in found.flags


def test_a_closing_balance_behind_its_day_is_that_of_the_account_above(tmp_path: Path) -> None:
    heading: list[Line] = [
        [(44, "Post"), (-550, "New")],
        [(44, "Date"), (110, "Description"), (-470, "Amount"), (-550, "Balance")],
    ]
    found = read_bytes(
        tmp_path,
        sheet(
            [(44, "Statement period 10/01/2024 - 10/31/2024 USD")],
            [(44, "SHARE 00 - REGULAR SAVINGS")],
            *heading,
            [(44, "OCT 01"), (110, "Beginning Balance"), (-550, "3,292.67")],
            [(44, "OCT 07"), (110, "Deposit"), (-470, "65.45"), (-550, "3,358.12")],
            [(44, "OCT 14"), (110, "Withdrawal"), (-470, "-43.02"), (-550, "3,315.10")],
            [(44, "OCT 31"), (110, "Ending Balance"), (-550, "3,315.10")],
            [(44, "SHARE 70 - FREE CHECKING")],
            *heading,
            [(44, "OCT 01"), (110, "Beginning Balance"), (-550, "848.13")],
            [(44, "OCT 04"), (110, "Garage"), (-470, "-19.82"), (-550, "828.31")],
            [(44, "OCT 31"), (110, "Ending Balance"), (-550, "828.31")],
            step=12,
        ).pdf(),
    )

    assert found.amounts == ["65.45", "-43.02", "-19.82"]
    assert found.flags == []
