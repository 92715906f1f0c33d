"""What a card claims, where its rows add up to something else and no balance stands before them."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

CARD: list[Line] = [
    [(60, "Credit card statement 1 March to 31 March 2025")],
    [(60, "Card number 4111 11XX XXXX 1111")],
]
BOUGHT: list[Line] = [
    [(60, "Date"), (130, "Description"), (-560, "Amount")],
    [(60, "03 Mar 2025"), (130, "Bookshop"), (-560, "100.00")],
    [(60, "05 Mar 2025"), (130, "Grocer"), (-560, "60.00")],
    [(60, "09 Mar 2025"), (130, "Cinema"), (-560, "40.00")],
    [(60, "Total purchases"), (-560, "200.00")],
]


@pytest.mark.parametrize(("owed", "flags"), [("420.00", ["ROWS_UNPROVEN"]), ("200.00", [])])
@pytest.mark.parametrize("is_above", [False, True])
def test_a_total_of_purchases_proves_no_card_that_claims_something_else(
    tmp_path: Path, *, is_above: bool, owed: str, flags: list[str]
) -> None:
    before = [("Your last statement", "320.00"), ("Payments received, thank you", "100.00")]
    claimed: list[Line] = [
        [(60, label), (-560, value)]
        for label, value in [*(before if owed == "420.00" else []), ("Amount due", owed)]
    ]
    lines = [*CARD, *claimed, *BOUGHT] if is_above else [*CARD, *BOUGHT, [], *claimed]
    found = read(tmp_path, lines)

    assert found.amounts == ["-100.00", "-60.00", "-40.00"]
    assert found.flags == flags
