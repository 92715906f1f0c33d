"""Cards that print what is owed with a minus, below names of columns that are broken and centred."""

import pytest

from lab.documents.statements import Paper
from lab.documents.statements.paper import A4
from tests.pipelines.statements.pdf.judging import write
from tests.pipelines.statements.reading import Read, read_bytes

Line = list[tuple[float, str]]
HEADING: list[Line] = [
    [(69, "Buchungs-"), (129, "Transaktions-")],
    [(293, "Beschreibung"), (458, "Karte"), (-546, "Betrag in €")],
    [(78, "datum"), (143, "datum")],
    [],
]


def charge(booked: str, bought: str, shop: str, amount: str) -> list[Line]:
    first: Line = [(69, booked), (129, bought), (198, "Umsatz"), (458, "123"), (-546, amount)]
    return [first, [], [(198, shop), (458, "4")], []]


def page(paper: Paper, *lines: Line) -> None:
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, 60 + at * 5.5, texts)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Read:
    paper = Paper(A4)
    page(
        paper,
        *HEADING,
        [],
        [(69, "Auszug für das Kartenkonto Ihrer Kreditkarte"), (350, "Abrechnungszeitraum: 25.03.2026 - 25.04.2026")],
        *[[]] * 4,
        *HEADING,
        [(435, "Alter Saldo"), (-546, "-100,00")],
        [],
        *charge("26.03.2026", "23.03.2026", "Bäckerei Nord", "-14,21"),
        *charge("27.03.2026", "24.03.2026", "Buchladen Ost", "-27,60"),
        [(367, "Übertrag Saldo auf Seite"), (470, "2"), (-546, "-141,81")],
        *[[]] * 6,
        [(480, "bitte wenden"), (-546, "1")],
    )  # fmt: skip
    page(
        paper,
        *HEADING,
        [(367, "Übertrag Saldo von Seite"), (470, "1"), (-546, "-141,81")],
        [],
        *charge("30.03.2026", "28.03.2026", "Kino West", "-8,19"),
        [(420, "Neuer Saldo"), (-546, "-150,00")],
    )
    return read_bytes(tmp_path_factory.mktemp("card"), paper.pdf())


def test_charges_with_a_minus_below_debts_with_a_minus_are_money_that_went_out(card: Read) -> None:
    assert card.amounts == ["-14.21", "-27.60", "-8.19"]
    assert card.flags == []


def test_every_page_has_the_same_of_two_dates_though_their_names_are_broken(card: Read) -> None:
    assert card.dates == ["2026-03-26", "2026-03-27", "2026-03-30"]


def test_the_second_line_of_a_cell_belongs_to_it_though_its_name_stands_in_the_middle(
    card: Read,
) -> None:
    texts = [row["description"] for row in card.canonicals]

    assert [text.split(" ", 1)[1] for text in texts] == ["Bäckerei Nord", "Buchladen Ost", "Kino West"]  # fmt: skip
