"""Statements of many banks are read exactly, or say that they are not."""

from pathlib import Path

import pytest

from lab.documents.statements import Paper, draw
from lab.documents.statements.words import TONGUES
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.statements.pdf import read_pdf
from stateward.pipelines.statements.pdf.tokens import money_in
from stateward.pipelines.statements.source import Hints
from tests.pipelines.statements.pdf.judging import BANKS, bank, drawn, judged, known, sheet
from tests.pipelines.statements.reading import read_file

SEEDS = range(60)
TRAPS: dict[str, dict[str, object]] = {
    "newest first": {"is_newest_first": True, "kind": "table"},
    "a date only once a day": {"is_blank_date": True, "order": "usual", "kind": "table"},
    "a date on a line of its own": {"is_day_line": True, "kind": "table", "order": "usual"},
    "amounts on the last line": {
        "amount_at": "last",
        "wrap": "many",
        "kind": "table",
        "order": "usual",
    },
    "amounts in the middle": {"wrap": "middle", "kind": "table", "order": "usual"},
    "balances at the end of the day": {"balance": "daily", "kind": "table", "is_card": False},
    "no balances in the table": {"balance": "none", "summary": "lines"},
    "carried over from page to page": {"has_carried": True, "balance": "running", "rows": 70},
    "years that are not printed": {"tongue": "nl", "date": "d_mon", "is_over_new_year": True},
    "three accounts": {"accounts": 3, "is_card": False, "kind": "table"},
    "cheques side by side": {"tongue": "en_US", "kind": "checks", "is_card": False, "rows": 40},
    "a table for each kind": {"tongue": "en_US", "kind": "titles", "is_card": False},
    "a card with positive charges": {"is_card": True, "sign": "card_positive", "kind": "table"},
    "a card with negative charges": {"is_card": True, "sign": "card_negative", "kind": "table"},
    "a card with CR": {"is_card": True, "sign": "card_credit_mark", "kind": "table"},
    "amounts without a sign": {
        "sign": "unsigned",
        "balance": "running",
        "is_card": False,
        "kind": "table",
    },
    "a column of marks": {"sign": "mark_column", "is_card": False, "kind": "table"},
    "zeros in the other column": {
        "sign": "zeros",
        "is_card": False,
        "kind": "table",
        "order": "usual",
    },
    "debits that are negative": {"sign": "negative_debits", "is_card": False, "kind": "table"},
    "a watermark across rows": {"has_watermark": True, "has_big_mark": True},
    "text outside the crop box": {"has_outside": True},
    "a turned page": {"is_turned": True, "tongue": "fr"},
    "headings that nobody knows": {
        "names": "unknown",
        "is_card": False,
        "rows": 25,
        "kind": "table",
    },
    "no heading at all": {"names": "none", "is_card": False, "rows": 25, "kind": "table"},
    "an amount in another currency": {"extra": "foreign", "order": "usual", "kind": "table"},
    "two balances": {
        "extra": "available",
        "order": "usual",
        "balance": "running",
        "is_card": False,
    },
    "a table of what is not booked": {"tail": "pending", "kind": "table"},
    "a table of daily balances": {"tail": "daily", "kind": "table"},
    "rows over the page": {"is_torn": True, "wrap": "many", "rows": 70, "has_carried": False},
    "Buddhist years": {"tongue": "th", "date": "dmy_buddhist_short"},
    "no decimals": {"tongue": "ja", "number": "comma_none"},
    "three decimals": {"tongue": "kw", "number": "comma_dot3"},
    "lakhs": {"tongue": "en_IN", "number": "lakh_dot"},
    "bold by printing twice": {"is_doubled": True},
    "nothing happened": {"rows": 0, "accounts": 1},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_statement_is_read_exactly(tmp_path: Path, seed: int) -> None:
    found = drawn(tmp_path, draw(seed))

    assert found.is_exact, found.notes
    assert found.score.descriptions_exact >= 0.9 * found.score.descriptions - 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_not_fallen_into(tmp_path: Path, trap: str) -> None:
    for seed in (901, 902, 903):
        found = drawn(tmp_path, draw(seed, **TRAPS[trap]))

        assert found.is_exact, (seed, found.notes)


@pytest.mark.parametrize("tongue", TONGUES)
def test_every_language_is_read(tmp_path: Path, tongue: str) -> None:
    found = drawn(tmp_path, draw(777, tongue=tongue, is_card=False, kind="table", rows=40))

    assert found.is_exact, found.notes
    assert not found.notes


@pytest.mark.parametrize("name", BANKS)
def test_a_statement_in_the_manner_of_a_bank_is_read_exactly(tmp_path: Path, name: str) -> None:
    pdf, truth = bank(name)

    found = judged(tmp_path, pdf, truth)

    assert found.is_exact, found.notes
    assert not found.notes
    assert found.score.descriptions_exact == found.score.descriptions


def test_the_same_file_gives_the_same_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(draw(3).pdf)

    once, twice = read_file(path), read_file(path)

    assert once.observations == twice.observations
    assert once.about == twice.about
    assert once.canonicals == twice.canonicals


def test_every_row_says_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(draw(14, rows=40, accounts=1, kind="table").pdf)

    rows = [row for section in read_pdf(path).sections for row in section.rows]

    assert all(row.place.page and row.place.line and row.place.box for row in rows)
    assert [row.place.page for row in rows] == sorted(row.place.page for row in rows)


HEADING: list[tuple[float, str]] = [
    (40, "Date"),
    (110, "Description"),
    (-450, "Amount"),
    (-550, "Balance"),
]


def a_row(day: str, text: str, amount: str, balance: str) -> list[tuple[float, str]]:
    return [(40, day), (110, text), (-450, amount), (-550, balance)]


def test_a_missing_row_is_flagged_with_the_difference(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Statement period 01/03/2025 - 31/03/2025")],
        [(40, "Opening balance"), (-300, "100.00")],
        [(40, "Closing balance"), (-300, "70.00")],
        HEADING,
        a_row("03/03/2025", "SHOP", "-10.00", "90.00"),
        a_row("05/03/2025", "SHOP", "-5.00", "70.00"),
    )

    found = judged(
        tmp_path,
        paper.pdf(),
        known(("2025-03-03", "-10.00", "SHOP"), ("2025-03-05", "-5.00", "SHOP")),
    )

    assert any(
        note.startswith("NOT_RECONCILED") and "difference 15.00" in note for note in found.notes
    )


def test_a_date_that_looks_like_a_page_number_stays_a_date(tmp_path: Path) -> None:
    paper = Paper()
    rows = [("01/02", "-1.00", "99.00"), ("02/02", "-2.00", "97.00")]
    for day, amount, balance in rows:
        paper.page()
        for x, text in [(40, "Date"), (110, "Description")]:
            paper.text(x, 60, text)
        paper.right(450, 60, "Amount")
        paper.right(550, 60, "Balance")
        paper.text(40, 80, day)
        paper.text(110, 80, "SHOP OF THE YEAR")
        paper.right(450, 80, amount)
        paper.right(550, 80, balance)
        paper.text(40, 700, "Statement date 28/02/2025")

    found = judged(
        tmp_path,
        paper.pdf(),
        known(
            ("2025-02-01", "-1.00", "SHOP OF THE YEAR"), ("2025-02-02", "-2.00", "SHOP OF THE YEAR")
        ),
    )

    assert found.is_exact, found.notes


def test_a_row_outside_every_table_is_told(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "03/01/2025"), (110, "A LINE ABOVE"), (-300, "12.00")],
        HEADING,
        a_row("03/03/2025", "SHOP", "-10.00", "90.00"),
        a_row("15/03/2025", "SHOP", "-5.00", "85.00"),
    )

    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    assert "ROW_UNREAD" in [problem.code for problem in read_pdf(path).problems]


def test_a_shop_called_like_a_balance_is_a_row(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Statement period 01/03/2025 - 31/03/2025")],
        [(40, "Opening balance"), (-300, "100.00")],
        [(40, "Closing balance"), (-300, "30.00")],
        [(40, "Date"), (110, "Description"), (-450, "Amount")],
        [(40, "03/03/2025"), (110, "NEW BALANCE"), (-450, "-60.00")],
        [(40, "15/03/2025"), (110, "TRANSPORT FOR LONDON"), (-450, "-10.00")],
    )

    found = judged(
        tmp_path,
        paper.pdf(),
        known(
            ("2025-03-03", "-60.00", "NEW BALANCE"),
            ("2025-03-15", "-10.00", "TRANSPORT FOR LONDON"),
        ),
    )

    assert found.is_exact, found.notes
    assert not found.notes


def test_the_user_can_say_how_days_are_written_where_the_file_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        sheet(
            HEADING,
            a_row("03/04/2025", "SHOP", "-10.00", "90.00"),
            a_row("05/04/2025", "SHOP", "-5.00", "85.00"),
            a_row("04/05/2025", "SHOP", "-5.00", "80.00"),
        ).pdf()
    )

    (open_,) = read_pdf(path).sections
    (said,) = read_pdf(path, hints=Hints(date_order="mdy")).sections

    assert open_.terms.date_order == ""
    assert said.terms.date_order == "mdy"
    assert "the user says" in said.terms.why["date_order"]


def test_who_says_that_it_is_a_card_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        sheet(
            [(40, "Date"), (110, "Description"), (-450, "Amount")],
            [(40, "03/03/2025"), (110, "SHOP"), (-450, "10.00")],
            [(40, "15/03/2025"), (110, "SHOP"), (-450, "5.00")],
        ).pdf()
    )

    (account,) = read_pdf(path).sections
    (card,) = read_pdf(path, hints=Hints(is_card=True)).sections

    assert account.terms.sign == "printed"
    assert card.terms.sign == "flipped"


def test_what_is_said_of_one_pdf_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        sheet(
            [(40, "Date"), (110, "Description"), (-450, "Amount")],
            [(40, "03/04/2025"), (110, "SHOP"), (-450, "1.250")],
            [(40, "10/04/2025"), (110, "SHOP"), (-450, "5.750")],
            [(40, "05/05/2025"), (110, "SHOP"), (-450, "2.000")],
            [(40, "06/06/2025"), (110, "SHOP"), (-450, "3.000")],
        ).pdf()
    )
    said = {
        "sign": "flipped",
        "decimal": ",",
        "account": "A-1",
        "currency": "CLP",
        "date_order": "mdy",
    }

    plain = read_file(path)
    read = read_file(path, labels=dict(said))

    assert plain.dates[0] == "2025-04-03"  # only so in sequence
    assert [(row["date"], row["amount"]) for row in read.canonicals][:2] == [
        ("2025-03-04", "-1250"),
        ("2025-10-04", "-5750"),
    ]
    assert {(row["account"], row["currency"]) for row in read.canonicals} == {("A-1", "CLP")}
    assert "HINT_UNUSED" not in read.notes


def test_days_and_months_that_nothing_tells_apart_are_not_guessed(tmp_path: Path) -> None:
    paper = sheet(
        HEADING,
        a_row("03/04/2025", "SHOP", "-10.00", "90.00"),
        a_row("05/04/2025", "SHOP", "-5.00", "85.00"),
        a_row("04/05/2025", "SHOP", "-5.00", "80.00"),
        a_row("05/04/2025", "SHOP", "-5.00", "75.00"),
    )

    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    assert "AMBIGUOUS_DATES" in read_file(path).notes


def test_an_offer_of_a_card_does_not_turn_the_signs_of_an_account(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Current account 12345678")],
        [(40, "Statement period 01/03/2025 - 31/03/2025")],
        [(40, "Opening balance"), (-300, "100.00")],
        [(40, "Closing balance"), (-300, "145.00")],
        HEADING,
        a_row("03/03/2025", "SALARY", "50.00", "150.00"),
        a_row("15/03/2025", "REFUND", "5.00", "155.00"),
        a_row("16/03/2025", "SHOP", "-10.00", "145.00"),
        [(40, "Apply for a credit card today")],
    )

    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    assert read_file(path).amounts == ["50.00", "5.00", "-10.00"]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["VIR", "2", "150,00"], ["2 150,00"]),
        (["NOTAIRE", "10", "000,00"], ["10 000,00"]),
        (["12", "4411", "27,00"], ["12", "4411", "27,00"]),
    ],
)
def test_thousands_are_grouped_by_blanks_in_monospaced_type(
    texts: list[str], found: list[str]
) -> None:
    words, x = [], 0.0
    for text in texts:
        words.append(PdfWord(text, x, 0.0, x + 5.4 * len(text), 9.0, 8.0, 0))
        x += 5.4 * (len(text) + 1)

    assert [span.text for span in money_in(words)] == found
