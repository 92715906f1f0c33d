"""Names that many tables have, and names that say something else than they seem to: neither decides alone."""

from pathlib import Path

import pytest

from stateward.pipelines.statements.profiles import shipped_profiles
from tests.pipelines.statements.reading import read_bytes

GENERIC_HEADINGS_MAX = 3


def test_no_shipped_profile_turns_signs_by_headings_that_any_table_may_have() -> None:
    turned = [each for each in shipped_profiles() if each.sign == "flipped" and each.headings]

    assert all(len(each.headings) > GENERIC_HEADINGS_MAX for each in turned)


@pytest.mark.parametrize("heading", ["date,title,amount", "Date,Title,Amount"])
def test_money_spent_stays_so_below_headings_that_a_card_has_too(
    tmp_path: Path, heading: str
) -> None:
    text = (
        f"{heading}\n2026-03-01,Supermarket,-45.10\n2026-03-02,ACME,2500.00\n"
        "2026-03-04,Bakery,-3.20\n2026-03-05,Landlord,-900.00\n"
    )

    assert read_bytes(tmp_path, text).amounts == ["-45.10", "2500.00", "-3.20", "-900.00"]


def test_a_payment_that_was_received_turns_the_charges_of_such_a_card(tmp_path: Path) -> None:
    text = "date,title,amount\n2026-03-01,Uber,45.10\n2026-03-02,iFood,25.00\n2026-03-04,Pagamento recebido,-70.10\n"

    assert read_bytes(tmp_path, text).amounts == ["-45.10", "-25.00", "70.10"]


@pytest.mark.parametrize(
    "line",
    [
        "Special offer for the period 05/03/2026 to 07/06/2026",
        "Promotion: period 05/03/2026 - 07/06/2026",
        "Angebot im Zeitraum 05/03/2026 - 07/06/2026",
    ],
)
def test_the_period_of_an_offer_does_not_tell_whether_day_or_month_comes_first(
    tmp_path: Path, line: str
) -> None:
    rows = "03/04/2026,Shop,-3.00\n05/04/2026,Shop B,-4.00\n05/04/2026,Shop C,-5.00\n"

    read = read_bytes(tmp_path, f"Account 12345678\n{line}\nDate,Description,Amount\n{rows}")

    assert "AMBIGUOUS_DATES" in read.flags


@pytest.mark.parametrize("name", ["Points", "Bonuspunkte", "Total points"])
def test_points_that_run_on_by_the_amounts_are_no_balances(tmp_path: Path, name: str) -> None:
    text = (
        f"Date,Description,Amount,{name}\n2026-03-01,Shop,10.00,110.00\n2026-03-02,Shop B,25.00,135.00\n"
        "2026-03-04,Shop C,7.00,142.00\n2026-03-05,Shop D,8.00,150.00\n"
    )

    read = read_bytes(tmp_path, text)

    assert not any(row.get("balance") for row in read.canonicals)
    assert "SIGN_UNPROVEN" in read.flags


@pytest.mark.parametrize(
    ("year", "month", "day"),
    [
        ("操作日(年)", "操作日(月)", "操作日(日)"),
        ("取引年", "取引月", "取引日"),
        ("Booking year", "Booking month", "Booking day"),
    ],
)
def test_parts_of_a_day_are_found_by_names_that_share_what_they_are_of(
    tmp_path: Path, year: str, month: str, day: str
) -> None:
    text = (
        f"{year},{month},{day},操作時刻(時),摘要,お支払金額,お預り金額,残高\n"
        "2026,03,01,10,給与,,250000,350000\n2026,03,05,11,電気,8200,,341800\n2026,03,09,12,家賃,90000,,251800\n"
    )

    read = read_bytes(tmp_path, text)

    assert read.dates == ["2026-03-01", "2026-03-05", "2026-03-09"]
    assert read.amounts == ["250000.00", "-8200.00", "-90000.00"]


@pytest.mark.parametrize("name", ["Valuta rekening", "Munteenheid"])
def test_the_currency_of_belgian_exports_is_kept_with_the_name_of_the_other_side(
    tmp_path: Path, name: str
) -> None:
    text = (
        f"Uitvoeringsdatum;Valutadatum;Bedrag;{name};Tegenpartij;Naam van de tegenpartij;Details\n"
        "13/01/2026;13/01/2026;-5,30;EUR;BE12156614845045;EEN WINKEL;MET KAART\n"
        "14/01/2026;14/01/2026;97,57;EUR;BE12549821352158;NAAM VAN DE KLANT;OVERSCHRIJVING\n"
    )

    rows = read_bytes(tmp_path, text).canonicals

    assert [row["currency"] for row in rows] == ["EUR", "EUR"]
    assert [row["counterparty"] for row in rows] == ["EEN WINKEL", "NAAM VAN DE KLANT"]
