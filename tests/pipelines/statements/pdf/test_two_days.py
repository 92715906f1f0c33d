"""Two columns of days of which only one has a name: running balances are in the order of the bookings."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

SORTED = ["03", "04", "06", "17", "18", "20"]
UNSORTED = ["04", "03", "06", "19", "18", "21"]
LATER = ["04", "05", "07", "18", "19", "21"]
HEADINGS: dict[str, Line] = {
    "named Date and Entry": [(60, "Date"), (125, "Entry"), (190, "Description")],
    "without names": [(60, "Wtz"), (125, "Kfrl"), (190, "Hlpt")],
}


def _flags(
    folder: Path, heading: str, days: list[str], others: list[str], *, has_balances: bool = True
) -> tuple[list[str | None], list[str]]:
    table: list[Line] = [
        [
            (60, f"{day}/03/2025"),
            (125, f"{other}/03/2025"),
            (190, f"Shop {at}"),
            (-480, "-10.00"),
            *([(-560.0, f"{490 - 10 * at}.00")] if has_balances else []),
        ]
        for at, (day, other) in enumerate(zip(days, others, strict=True))
    ]
    found = read(
        folder,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            [(60, "Opening balance"), (-560, "500.00")],
            [*HEADINGS[heading], (-480, "Amount"), (-560, "Balance")],
            *table,
            [(60, "Closing balance"), (-560, "440.00")],
        ],
    )
    return found.dates, found.flags


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_day_by_which_running_balances_are_in_order_is_that_of_the_booking(
    tmp_path: Path, heading: str
) -> None:
    days, flags = _flags(tmp_path, heading, SORTED, UNSORTED)

    assert days == [f"2025-03-{day}" for day in SORTED]
    assert flags == []


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.parametrize(
    ("days", "others", "has_balances"),
    [(SORTED, LATER, True), (UNSORTED, SORTED, True), (SORTED, UNSORTED, False)],
    ids=["both in order", "the other one in order", "no running balances"],
)
def test_two_days_that_no_order_tells_apart_are_doubted(
    tmp_path: Path, heading: str, days: list[str], others: list[str], *, has_balances: bool
) -> None:
    _, flags = _flags(tmp_path, heading, days, others, has_balances=has_balances)

    assert flags == ["DATE_UNPROVEN"]


def test_a_name_of_two_lines_beside_another_date_is_that_of_the_value_date(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            [(40, "Releve de compte du 01/02/2024 au 29/02/2024 en euros")],
            [(40, "Date"), (110, "Date"), (190, "Operation"), (-470, "Debit"), (-550, "Credit")],
            [(110, "valeur")],
            [(190, "Ancien solde"), (-550, "100,00")],
            [(40, "02/02/2024"), (110, "05/02/2024"), (190, "PRLV EDF"), (-470, "30,00")],
            [(40, "09/02/2024"), (110, "09/02/2024"), (190, "VIR POIRIER"), (-550, "80,00")],
            [(190, "Nouveau solde"), (-550, "150,00")],
        ],
    )

    assert found.dates == ["2024-02-02", "2024-02-09"]
    assert found.canonicals[0]["value_date"] == "2024-02-05"
    assert found.flags == []
