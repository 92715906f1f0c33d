"""A currency, a period or a calendar that stands above a table, or in its headings, tells how its cells are read."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes


def test_columns_that_are_called_by_a_currency_are_the_amounts_in_it(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Account,Transaction Date,Description 1,CAD$,USD$\n"
        "11,9/2/2026,SHOP,-18.45,\n11,9/17/2026,PAY,245.57,\n22,9/18/2026,TAXI,,-12.28\n",
    )

    assert read.amounts == ["-18.45", "245.57", "-12.28"]
    assert [row["currency"] for row in read.canonicals] == ["CAD", "CAD", "USD"]
    assert read.flags == []


def test_two_filled_columns_that_are_called_by_a_currency_stay_two(tmp_path: Path) -> None:
    read = read_bytes(
        tmp_path,
        "Transaction Date,Description,CAD$,USD$\n"
        "9/2/2026,SHOP,-18.45,-13.00\n9/17/2026,PAY,245.57,180.00\n9/18/2026,TAXI,-5.00,-3.90\n",
    )

    assert "AMOUNT_UNPROVEN" in read.flags


@pytest.mark.parametrize(("told", "is_doubted"), [("euros", False), ("", True)])
def test_the_same_amounts_in_another_currency_are_no_rivals_where_the_account_tells_its_own(
    tmp_path: Path, told: str, is_doubted: bool
) -> None:
    read = read_bytes(
        tmp_path,
        f"Type;CCP\nCompte tenu en;{told}\n\nDate;Libellé;Montant(EUROS);Montant(FRANCS)\n"
        "26/05/2026;SNCF;-100,15;-656,94\n27/05/2026;SALAIRE;10,00;65,60\n28/05/2026;EDF;-1,00;-6,56\n",
    )

    assert read.amounts == ["-100.15", "10.00", "-1.00"]
    assert ("AMOUNT_UNPROVEN" in read.flags) == is_doubted


def test_points_are_those_of_thousands_where_the_currency_above_has_no_decimals(
    tmp_path: Path,
) -> None:
    read = read_bytes(
        tmp_path,
        "Reikningur;0133-26-611218;ISK\n\nDagsetning;Vaxtadagur;Skýring;Upphæð;Staða\n"
        "24.04.2026;24.04.2026;Bónus;-3.410;510.025\n19.04.2026;19.04.2026;Orka;-21.490;513.435\n",
    )

    assert read.amounts == ["-3410", "-21490"]
    assert {row["currency"] for row in read.canonicals} == {"ISK"}
    assert "AMBIGUOUS_AMOUNTS" not in read.flags


def test_days_without_a_year_have_that_of_a_period_whose_dates_stand_beside_their_labels(
    tmp_path: Path,
) -> None:
    read = read_bytes(
        tmp_path,
        "Cartola N: 6;Desde 01/12/2025;Hasta 28/01/2026\n\nFecha;Descripción;Cargos;Abonos;Saldo\n"
        "31/12;JUMBO;10,00;;90,00\n13/01;SUELDO;;20,00;110,00\n",
    )

    assert read.dates == ["2025-12-31", "2026-01-13"]
    assert read.flags == []


@pytest.mark.parametrize(
    ("printed", "meant"),
    [("1404/10/11", "2026-01-01"), ("1403/12/30", "2025-03-20"), ("1404/01/01", "2025-03-21")],
)
def test_days_of_the_persian_calendar_are_read_below_persian_headings(
    tmp_path: Path, printed: str, meant: str
) -> None:
    read = read_bytes(
        tmp_path,
        f"ردیف,تاریخ,شرح,بدهکار,بستانکار,مانده\n1,{printed},نان,,1590,14181\n2,{printed},آب,189,,13992\n",
    )

    assert read.dates == [meant, meant]
    assert read.amounts == ["1590.00", "-189.00"]


@pytest.mark.parametrize(
    ("label", "printed", "is_wrong"),
    [
        ("Total credits", "1825.00", False),
        ("Total credits", "1925.00", True),
        ("Total credits", "2", False),
        ("Total credits this year", "9925.00", False),
    ],
)
def test_totals_above_the_rows_are_compared_with_them(
    tmp_path: Path, label: str, printed: str, is_wrong: bool
) -> None:
    text = (
        f"{label},,{printed}\nTotal debits,,-990.25\n\nDate,Description,Amount,Balance\n"
        "09/02/2026,COSTCO,-50.25,1149.75\n09/15/2026,PAYROLL,1800.00,2949.75\n"
        "09/20/2026,RENT,-940.00,2009.75\n09/28/2026,CASHBACK,25.00,2034.75\n"
    )

    assert read_bytes(tmp_path, text).flags == (["NOT_RECONCILED"] if is_wrong else [])
