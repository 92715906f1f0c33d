"""Pages whose names of columns are unknown, torn or misleading: read by balances, or flagged as before."""

from pathlib import Path

import pytest

from tests.pipelines.statements.pdf.test_titles_and_sides import Line, read

TITLE: Line = [(60, "Kwzt 1 March to 31 March 2025")]
# Columns in an order that no guess has: what went out stands right of what came in.
ROWS: list[tuple[str, str, str, str, str]] = [
    ("03 Mar 2025", "Rent", "", "171.00", "329.00"),
    ("04 Mar 2025", "Wages", "950.25", "", "1,279.25"),
    ("09 Mar 2025", "Cinema", "", "20.00", "1,259.25"),
    ("12 Mar 2025", "Grocer", "", "30.10", "1,229.15"),
    ("15 Mar 2025", "Refund", "12.00", "", "1,241.15"),
]
SIGNED = ["-171.00", "950.25", "-20.00", "-30.10", "12.00"]


def line_of(row: tuple[str, str, str, str, str], edges: tuple[float, float, float]) -> Line:
    day, text, *figures = row
    placed = [(edge, value) for edge, value in zip(edges, figures, strict=True) if value]
    return [(60, day), (130, text), *placed]


@pytest.mark.parametrize(
    "edges", [(-400.0, -480.0, -560.0), (-560.0, -400.0, -480.0), (-480.0, -560.0, -400.0)]
)
@pytest.mark.parametrize(
    "heading", [[], [(60, "Wtz"), (130, "Kfrl"), (380, "QnmVrs Hlpt")], [(60, "Wtz Kfrl Hlpt Brr")]]
)
def test_columns_without_a_known_name_are_told_by_the_balances_that_follow_from_them(
    tmp_path: Path, heading: Line, edges: tuple[float, float, float]
) -> None:
    found = read(
        tmp_path,
        [
            TITLE,
            [(60, "Opening balance"), (edges[2], "500.00")],
            *([heading] if heading else []),
            *(line_of(row, edges) for row in ROWS),
            [(60, "Closing balance"), (edges[2], "1,241.15")],
        ],
    )

    assert found.amounts == SIGNED
    assert [row["balance"] for row in found.canonicals] == [row[4].replace(",", "") for row in ROWS]
    assert found.flags == []


def test_a_column_that_is_called_by_both_sides_at_once_is_told_apart(tmp_path: Path) -> None:
    edges = (-400.0, -480.0, -560.0)
    heading: Line = [
        (60, "Date"),
        (130, "Description"),
        (-400, "Paid in"),
        (410, "Withdrawn+BALANCES"),
    ]
    found = read(
        tmp_path,
        [
            TITLE,
            [(60, "Opening balance"), (-560, "500.00")],
            heading,
            *(line_of(row, edges) for row in ROWS),
        ],
    )

    assert found.amounts == SIGNED
    assert found.flags == []


def test_named_sides_are_not_turned_because_a_sum_holds(tmp_path: Path) -> None:
    heading: Line = [(60, "Date"), (130, "Description"), (-400, "Debit"), (-480, "Credit")]
    rows = [line_of(row, (-400.0, -480.0, -560.0))[:3] for row in ROWS]
    found = read(
        tmp_path,
        [
            TITLE,
            [(60, "Opening balance"), (-560, "500.00")],
            heading,
            *rows,
            [(60, "Closing balance"), (-560, "1,241.15")],
        ],
    )

    assert found.amounts == ["171.00", "-950.25", "20.00", "30.10", "-12.00"]
    assert found.flags == ["NOT_RECONCILED"]


def test_two_columns_that_both_lead_to_the_closing_balance_prove_neither(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            TITLE,
            [(60, "Opening balance"), (-560, "100.00")],
            [(60, "03 Mar 2025"), (130, "Anna"), (-400, "10.00"), (-480, "25.00")],
            [(60, "04 Mar 2025"), (130, "Bert"), (-400, "20.00"), (-480, "5.00")],
            [(60, "07 Mar 2025"), (130, "Carl"), (-400, "30.00"), (-480, "30.00")],
            [(60, "Closing balance"), (-560, "160.00")],
        ],
    )

    assert found.flags


UNGUESSED = (-560.0, -400.0, -480.0)  # edges in an order that the usual reading does not try


@pytest.mark.parametrize(("more", "is_flagged"), [([], False), (["77.00", "78.00"], True)])
def test_a_dated_figure_that_is_left_out_speaks_against_balances_that_follow(
    tmp_path: Path, more: list[str], is_flagged: bool
) -> None:
    found = read(
        tmp_path,
        [
            TITLE,
            *(line_of(row, UNGUESSED) for row in ROWS),
            *([(60.0, "Wvrl 20 Mar 2025"), (-330.0, value)] for value in more),
        ],
    )

    assert bool(found.flags) == is_flagged


@pytest.mark.parametrize(("second", "is_flagged"), [("04 Mar 2025", False), ("24 Mar 2025", True)])
def test_days_that_go_back_and_forth_are_not_taken_for_those_of_bookings(
    tmp_path: Path, second: str, is_flagged: bool
) -> None:
    days = ["03 Mar 2025", second, "09 Mar 2025", "12 Mar 2025", "15 Mar 2025"]
    rows = [(day, *row[1:]) for day, row in zip(days, ROWS, strict=True)]
    found = read(tmp_path, [TITLE, *(line_of(row, UNGUESSED) for row in rows)])

    assert bool(found.flags) == is_flagged


SIDES = (-450.0, -550.0)  # edges of what went out and of what came in


def of_two_sides(opening: float, heading: Line, edges: tuple[float, float]) -> list[Line]:
    """A statement that prints its balances in the column of the side that they are of."""
    out, into = edges
    moved = [-171.00, 950.25, -20.00, -30.10]

    def figure(value: float) -> tuple[float, str]:
        return (into if value > 0 else out, f"{abs(value):,.2f}")

    names = ["AXA", "MARTIN", "GAUMONT", "FRANPRIX"]
    rows: list[Line] = [
        [(60, f"{day:02}/03/2025"), (130, name), figure(value)]
        for day, name, value in zip((3, 14, 19, 22), names, moved, strict=True)
    ]
    return [
        [(60, "Extrait 1 March to 31 March 2025")],
        [(60, "Opening balance"), figure(opening)],
        *([heading] if heading else []),
        *rows,
        [(60, "Closing balance"), figure(opening + sum(moved))],
    ]


@pytest.mark.parametrize("opening", [500.0, -595.07, -2000.0])
@pytest.mark.parametrize("edges", [SIDES, SIDES[::-1]])
@pytest.mark.parametrize("heading", [[], [(60, "Wtz"), (130, "Kfrl"), (-450, "Qnm"), (-550, "Vrs")]])  # fmt: skip
def test_balances_in_the_columns_of_two_sides_do_not_tell_which_side_is_which(
    tmp_path: Path, heading: Line, edges: tuple[float, float], opening: float
) -> None:
    found = read(tmp_path, of_two_sides(opening, heading, edges))

    assert {"SIGN_UNPROVEN", "NOT_RECONCILED"} & {*found.flags}


def test_balances_in_the_columns_of_named_sides_are_of_those(tmp_path: Path) -> None:
    heading: Line = [(60, "Date"), (130, "Libellé"), (-450, "Débit"), (-550, "Crédit")]

    found = read(tmp_path, of_two_sides(500.0, heading, SIDES))

    assert (found.amounts[0], found.flags) == ("-171.00", [])


@pytest.mark.parametrize(("opening", "is_flagged"), [([], True), (["500.00"], False)])
def test_of_two_columns_of_balances_that_both_follow_the_printed_one_is_taken(
    tmp_path: Path, opening: list[str], is_flagged: bool
) -> None:
    """A bank prints what is booked, and beside it what may be spent with the credit that it grants."""
    rows = [
        [*line_of(row, (-320.0, -400.0, -560.0)), (-480.0, f"{available:,.2f}")]
        for row, available in zip(ROWS, [1329.00, 2279.25, 2259.25, 2229.15, 2241.15], strict=True)
    ]

    found = read(
        tmp_path,
        [TITLE, *([(60.0, "Opening balance"), (-560.0, value)] for value in opening), *rows],
    )

    assert bool(found.flags) == is_flagged
    if not is_flagged:
        assert found.canonicals[0]["balance"] == "329.00"


FUND = [
    ("03 Jan 2025", "Buy", "100.00", "10.13", "9.87", "9.87"),
    ("03 Feb 2025", "Buy", "100.00", "12.57", "7.96", "17.83"),
    ("03 Mar 2025", "Buy", "150.00", "12.09", "12.41", "30.24"),
    ("05 Mar 2025", "Sell", "-55.00", "11.31", "-4.86", "25.38"),
    ("03 Apr 2025", "Buy", "100.00", "12.87", "7.77", "33.15"),
]


@pytest.mark.parametrize(
    "heading",
    [
        [],
        [(60, "Datum"), (130, "Geschäft"), (-320, "Betrag"), (-390, "Kurs"), (-470, "Anteile"), (-560, "Bestand")],
    ],
)  # fmt: skip
def test_numbers_of_shares_that_make_a_chain_are_no_money(tmp_path: Path, heading: Line) -> None:
    rows = [
        [(60.0, day), (130.0, text), *zip((-320.0, -390.0, -470.0, -560.0), figures, strict=True)]
        for day, text, *figures in FUND
    ]

    found = read(tmp_path, [[(60, "Fund account")], *([heading] if heading else []), *rows])

    assert found.normalized is None or "flags" not in found.normalized.facts or found.flags


DAYS = {
    "a day and a month that touch": ["0303", "0304", "0309", "0312", "0315"],
    "a day and a month": ["03 03", "04 03", "09 03", "12 03", "15 03"],
    "a day of the week": ["Mo 03.", "Di 04.", "So 09.", "Mi 12.", "Sa 15."],
    "a day of the year": ["2025062", "2025063", "2025068", "2025071", "2025074"],
}


@pytest.mark.parametrize("heading", [[], [(60, "Wtz"), (130, "Kfrl"), (230, "Value date"), (-400, "Qnm")]])  # fmt: skip
@pytest.mark.parametrize("form", DAYS)
def test_value_dates_are_not_taken_for_the_days_that_stand_before_them(
    tmp_path: Path, form: str, heading: Line
) -> None:
    values = ["01 Mar 2025", "03 Mar 2025", "08 Mar 2025", "11 Mar 2025", "13 Mar 2025"]
    rows = [
        [*line_of((day, *row[1:]), (-480.0, -400.0, -560.0)), (230.0, value)]
        for day, value, row in zip(DAYS[form], values, ROWS, strict=True)
    ]
    opening: Line = [(60, "Opening balance"), (-560, "500.00")]

    found = read(tmp_path, [TITLE, opening, *([heading] if heading else []), *rows])

    assert found.normalized is None or found.flags


def test_words_turn_no_signs_where_each_row_prints_its_balance(tmp_path: Path) -> None:
    rows = [
        ("02 Jun 2023", "J Smith transfer Visa debit", "5.45", "7,621.18"),
        ("03 Jun 2023", "Direct debit O2", "-2,086.70", "5,534.48"),
        ("28 Jun 2023", "Standing order", "-51.32", "5,483.16"),
        ("29 Jun 2023", "Insurance claim Visa debit", "49.40", "5,532.56"),
    ]
    found = read(
        tmp_path,
        [
            [(60, "Statement from 1 June 2023 to 30 June 2023")],
            [(60, "Opening balance"), (-560, "7,615.73")],
            [(60, "Date"), (130, "Details"), (-480, "Amount"), (-560, "Balance")],
            *([(60, d), (130, t), (-480, a), (-560.0, b)] for d, t, a, b in rows),
            [(60, "Closing balance"), (-560, "5,532.56")],
        ],
    )

    assert found.amounts == ["5.45", "-2086.70", "-51.32", "49.40"]
    assert found.canonicals[0]["balance"] == "7621.18"
