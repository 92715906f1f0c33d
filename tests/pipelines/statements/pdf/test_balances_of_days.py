"""Balances of days on lines of their own, in the column of the amounts: they prove the rows, and are none."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read


@pytest.mark.parametrize("label", ["SALDO DO DIA", "End of day balance", "Daily balance"])
@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize(("last", "flags"), [("370.00", []), ("360.00", ["NOT_RECONCILED"])])
def test_a_balance_of_a_day_in_the_column_of_amounts_is_no_row(
    tmp_path: Path, *, last: str, flags: list[str], is_marked: bool, label: str
) -> None:
    def figure(text: str) -> tuple[float, str]:
        return (-480.0, f"{text.lstrip('-')} {'DC'[text[0] != '-']}" if is_marked else text)

    rows: list[Line] = [
        [(60, "03/03/2025"), (130, "Rent"), figure("-100.00")],
        [(60, "03/03/2025"), (130, "Grocer"), figure("-10.00")],
        [(130, label), figure("390.00")],
        [(60, "17/03/2025"), (130, "Refund"), figure("5.00")],
        [(130, label), figure("395.00")],
        [(60, "18/03/2025"), (130, "Cinema"), figure("-25.00")],
        [(130, label), figure(last)],
    ]
    found = read(
        tmp_path,
        [
            [(60, "Statement 1 March to 31 March 2025")],
            [(60, "Opening balance"), figure("500.00")],
            [(60, "Date"), (130, "Description"), (-480, "Amount")],
            *rows,
        ],
    )

    assert found.amounts == ["-100.00", "-10.00", "5.00", "-25.00"]
    assert found.flags[:1] == flags
