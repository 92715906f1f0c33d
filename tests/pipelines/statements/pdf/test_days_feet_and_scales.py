"""What no sum can show: the day that a row borrows, a foot of a page that looks like a row, a scale of amounts."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

PERIOD: Line = [(60, "Statement 1 March to 31 March 2025")]
NAMES: Line = [
    (60, "Description"),
    (300, "Date"),
    (-400, "Paid out"),
    (-480, "Paid in"),
    (-560, "Balance"),
]


def _out(text: str, day: str, value: str, balance: str) -> Line:
    ends: Line = [(300, day), (-560, balance)] if day else []
    return [(60, text), (-400, value), *ends]


@pytest.mark.parametrize("is_first_bare", [True, False])
def test_a_date_in_the_last_row_of_its_day_is_that_of_the_rows_above(
    tmp_path: Path, *, is_first_bare: bool
) -> None:
    first = [_out("Rent", "", "40.00", "")] if is_first_bare else []
    found = read(
        tmp_path,
        [
            PERIOD,
            NAMES,
            [(60, "Start balance"), (-560, "540.00" if is_first_bare else "500.00")],
            *first,
            _out("Cheque", "03/03/2025", "10.00", "490.00"),
            _out("Cinema", "", "20.00", ""),
            _out("Grocer", "07/03/2025", "30.00", "440.00"),
            _out("Kiosk", "14/03/2025", "5.00", "435.00"),
            [(60, "End balance"), (-560, "435.00")],
        ],
    )

    assert found.dates == [
        *["2025-03-03"] * (1 + is_first_bare),
        "2025-03-07",
        "2025-03-07",
        "2025-03-14",
    ]
    assert found.flags == []


def test_a_date_in_the_first_row_of_its_day_is_that_of_the_rows_below(tmp_path: Path) -> None:
    names: Line = [(60, "Date"), (130, "Description"), (-480, "Amount"), (-560, "Balance")]
    found = read(
        tmp_path,
        [
            PERIOD,
            names,
            [(130, "Balance brought forward"), (-560, "500.00")],
            [(60, "03/03/2025"), (130, "Cheque"), (-480, "-10.00"), (-560, "490.00")],
            [(60, "07/03/2025"), (130, "Cinema"), (-480, "-20.00")],
            [(130, "Grocer"), (-480, "-30.00"), (-560, "440.00")],
            [(60, "14/03/2025"), (130, "Kiosk"), (-480, "-5.00"), (-560, "435.00")],
            [(130, "Balance carried forward"), (-560, "435.00")],
        ],
    )

    assert found.dates == ["2025-03-03", "2025-03-07", "2025-03-07", "2025-03-14"]
    assert found.flags == []


@pytest.mark.parametrize("foot", ["Printed by branch 14 page", "Printed by branch 14"])
def test_a_foot_that_looks_like_a_row_is_told(tmp_path: Path, foot: str) -> None:
    def page(number: int, *rows: Line) -> list[Line]:
        text = f"{foot} {number}" if foot.endswith("page") else foot
        end: Line = [(60, "31/03/2025"), (130, text), (-560, "1.02")]
        space: list[Line] = [[]] * (12 - len(rows))
        return [
            PERIOD,
            [(60, "Date"), (130, "Description"), (-560, "Amount")],
            *rows,
            *space,
            end,
        ]

    found = read(
        tmp_path,
        page(
            1,
            [(60, "03/03/2025"), (130, "Cheque"), (-560, "-10.00")],
            [(60, "07/03/2025"), (130, "Cinema"), (-560, "-20.00")],
        ),
        page(2, [(60, "14/03/2025"), (130, "Kiosk"), (-560, "-5.00")]),
    )

    assert any(flag.startswith("BOOKING_UNPROVEN") for flag in found.flags)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Amount (in thousands)", ""),
        ("Amount", "All amounts in EUR thousands"),
        ("Betrag in TEUR", ""),
        ("Montant en milliers", ""),
    ],
)
def test_amounts_in_thousands_are_told(tmp_path: Path, name: str, title: str) -> None:
    found = read(tmp_path, [PERIOD, [(60, title or "Account 12345678")], *_rows(name)])

    assert any(flag.startswith("UNIT_UNPROVEN") for flag in found.flags)


@pytest.mark.parametrize("title", ["Credit limit 9 000", "Points in 000 shops", "Paid in miles"])
def test_other_thousands_are_no_scale(tmp_path: Path, title: str) -> None:
    found = read(tmp_path, [PERIOD, [(60, title)], *_rows("Amount")])

    assert found.flags == []


def _rows(name: str) -> list[Line]:
    return [
        [(60, "Date"), (130, "Description"), (-480, name), (-560, "Balance")],
        [(60, "03/03/2025"), (130, "Cheque"), (-480, "-10.00"), (-560, "490.00")],
        [(60, "17/03/2025"), (130, "Cinema"), (-480, "-20.00"), (-560, "470.00")],
    ]


def test_processed_beside_date_is_the_day_of_the_booking(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            PERIOD,
            [
                (60, "Date"),
                (130, "Processed"),
                (230, "Description"),
                (-480, "Amount"),
                (-560, "Balance"),
            ],
            [
                (60, "13/03/2025"),
                (130, "15/03/2025"),
                (230, "Shop"),
                (-480, "-5.00"),
                (-560, "95.00"),
            ],
            [
                (60, "20/03/2025"),
                (130, "23/03/2025"),
                (230, "Shop"),
                (-480, "-7.00"),
                (-560, "88.00"),
            ],
        ],
    )

    assert found.dates == ["2025-03-15", "2025-03-23"]
    assert found.flags == []
