"""`stateward eval statements`: what is exact, what is flagged, and what is wrong in silence."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.documents.statements import draw
from stateward.cli import cli
from stateward.cli.exit_codes import Exit
from stateward.core.errors import InvalidRequest
from stateward.pipelines.statements.evaluate import Found, compare, evaluate
from stateward.pipelines.statements.ground_truth import TrueRow, Truth, truth_of
from tests.pipelines.statements.pdf.judging import sheet

CSV = "Date,Description,Amount,Balance\n2025-03-03,SHOP,-10.00,90.00\n2025-03-04,SHOP,-5.00,85.00\n"
ROWS = [
    {"date": "2025-03-03", "amount": "-10.00", "balance": "90.00", "description": "SHOP"},
    {"date": "2025-03-04", "amount": "-5.00", "balance": "85.00", "description": "SHOP"},
]


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["eval", "statements", *args])


def a_folder(folder: Path, rows: list[dict[str, str]] | None = None) -> Path:
    (folder / "a.csv").write_text(CSV)
    (folder / "a.truth.json").write_text(
        json.dumps({"transactions": ROWS if rows is None else rows})
    )
    return folder


def found(
    day: str, amount: str, *, balance: str = "", currency: str = "", text: str = "SHOP"
) -> Found:
    return Found(day, Decimal(amount), Decimal(balance) if balance else None, currency, text, "")


def truth(*rows: tuple[str, str], currency: str = "") -> Truth:
    known = tuple(
        TrueRow(date=day, amount=Decimal(amount), description="SHOP") for day, amount in rows
    )
    return Truth(source="test", rows=known, count=len(known), currency=currency)


def test_an_exact_statement_counts_as_exact(tmp_path: Path) -> None:
    result = run(str(a_folder(tmp_path)), "--json")

    total = json.loads(result.stdout)["total"]
    assert result.exit_code == 0
    assert (total["documents"], total["exact"], total["wrong_in_silence"]) == (1, 1, 0)
    assert (total["rows"], total["rows_found"], total["amounts_exact"]) == (2, 2, 2)
    assert (total["balances_exact"], total["descriptions_exact"]) == (2, 2)


def test_a_statement_that_is_wrong_and_says_nothing_ends_with_one(tmp_path: Path) -> None:
    wrong = [ROWS[0], {**ROWS[1], "date": "2025-03-05"}]

    result = run(str(a_folder(tmp_path, wrong)), "--json")

    total = json.loads(result.stdout)["total"]
    assert result.exit_code == 1
    assert (total["exact"], total["wrong_in_silence"]) == (0, 1)


def test_a_truth_tells_the_day_of_the_purchase_or_that_of_the_posting_and_one_of_them_throughout() -> (
    None
):
    card = [
        Found("2025-03-04", Decimal(-5), None, "", "SHOP", "2025-03-03"),
        Found("2025-03-09", Decimal(-7), None, "", "SHOP", "2025-03-07"),
    ]

    posted = compare(card, truth(("2025-03-04", "-5"), ("2025-03-09", "-7")), is_flagged=False)
    bought = compare(card, truth(("2025-03-03", "-5"), ("2025-03-07", "-7")), is_flagged=False)
    both = compare(card, truth(("2025-03-03", "-5"), ("2025-03-09", "-7")), is_flagged=False)

    assert [each.exact for each in (posted, bought, both)] == [1, 1, 0]
    assert both.wrong_in_silence == 1


def test_a_statement_that_fails_is_not_silent(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "a.truth.json").write_text(json.dumps({"transactions": ROWS}))

    result = run(str(tmp_path), "--json")

    document = json.loads(result.stdout)
    assert result.exit_code == 9
    assert document["total"]["flagged"] == 1
    assert document["statements"][0]["code"] == "PDF_CORRUPT"


def test_the_table_names_what_is_not_exact(tmp_path: Path) -> None:
    wrong = [ROWS[0]]

    result = run(str(a_folder(tmp_path, wrong)))

    assert "a.csv: wrong in silence" in result.stdout
    assert "total" in result.stdout


def test_what_has_no_truth_is_listed_and_not_counted(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(CSV)

    document = json.loads(run(str(a_folder(tmp_path)), "--json").stdout)

    assert document["no_truth"] == ["b.csv"]
    assert document["total"]["documents"] == 1


def test_a_truth_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    (a_folder(tmp_path) / "a.truth.json").write_text("{")

    with pytest.raises(InvalidRequest, match=r"a\.truth\.json is no JSON"):
        evaluate(tmp_path, now=lambda: 0)


def test_statements_of_a_seed_are_exact_in_a_folder(tmp_path: Path) -> None:
    for seed in range(5):
        statement = draw(seed)
        (tmp_path / f"{seed}.pdf").write_bytes(statement.pdf)
        (tmp_path / f"{seed}.truth.json").write_text(json.dumps(statement.truth))

    total = evaluate(tmp_path, now=lambda: 0).total()

    assert (total.documents, total.exact) == (5, 5)


def test_order_does_not_matter_but_every_row_does() -> None:
    rows = [found("2025-03-03", "-10.00"), found("2025-03-04", "-5.00")]
    told = truth(("2025-03-03", "-10.00"), ("2025-03-04", "-5.00"))

    assert compare(rows[::-1], told, is_flagged=False).exact == 1
    assert compare(rows[:1], told, is_flagged=False).wrong_in_silence == 1
    assert compare([*rows, rows[0]], told, is_flagged=False).wrong_in_silence == 1
    assert compare([*rows, rows[0]], told, is_flagged=True).wrong_in_silence == 0


def test_another_currency_is_not_exact() -> None:
    rows = [found("2025-03-03", "-10.00", currency="USD")]

    assert (
        compare(rows, truth(("2025-03-03", "-10.00"), currency="EUR"), is_flagged=False).exact == 0
    )
    assert (
        compare(rows, truth(("2025-03-03", "-10.00"), currency="USD"), is_flagged=False).exact == 1
    )


def test_a_count_alone_is_a_truth_too(tmp_path: Path) -> None:
    pdf = sheet(
        [(40, "Date"), (110, "Description"), (-450, "Amount"), (-550, "Balance")],
        [(40, "13/03/2025"), (110, "SHOP"), (-450, "-10.00"), (-550, "90.00")],
        [(40, "14/03/2025"), (110, "SHOP"), (-450, "-5.00"), (-550, "85.00")],
    ).pdf()
    (tmp_path / "x-1-statement.pdf").write_bytes(pdf)
    (tmp_path / "statement-info.json").write_text(json.dumps({"id": "x-1", "transactionCount": 2}))

    total = evaluate(tmp_path, now=lambda: 0).total()

    assert (total.exact, total.rows_found) == (1, 2)


def test_a_ledger_of_reckon_is_read(tmp_path: Path) -> None:
    (tmp_path / "input.csv").write_text(CSV)
    (tmp_path / "test_args").write_text(
        "-f input.csv --account Assets:Bank --ledger-date-format '%d/%m/%Y'"
    )
    (tmp_path / "output.ledger").write_text(
        "03/03/2025\tSHOP\n\tExpenses:Unknown\t\t\t\n\tAssets:Bank\t\t\t-$1,010.00\n\n"
        "04/03/2025\tPAY\n\tAssets:Bank\t\t\t $5.00\n\tIncome:Unknown\n"
    )

    told = truth_of(tmp_path / "input.csv")

    assert told is not None
    assert [(row.date, row.amount) for row in told.rows] == [
        ("2025-03-03", Decimal("-1010.00")),
        ("2025-03-04", Decimal("5.00")),
    ]


def test_the_yaml_of_mt940_is_read_as_a_tree_and_makes_no_object(tmp_path: Path) -> None:
    (tmp_path / "a.sta").write_text(":20:X")
    (tmp_path / "a.yml").write_text(
        "&id001 !!python/object:mt940.models.Transactions\n"
        "data: !!python/object/apply:os.system [exit 1]\n"
        "transactions:\n"
        "- !!python/object:mt940.models.Transaction\n"
        "  data:\n"
        "    amount: !!python/object:mt940.models.Amount\n"
        "      amount: !!python/object/apply:decimal.Decimal\n"
        "      - '-10.00'\n"
        "    date: !!python/object/apply:mt940.models.Date\n"
        "    - !!binary |\n"
        "      B9sBAQ==\n"
        "  transactions: *id001\n"
    )

    told = truth_of(tmp_path / "a.sta")

    assert told is not None
    assert [(row.date, row.amount) for row in told.rows] == [("2011-01-01", Decimal("-10.00"))]


def test_a_snapshot_of_actual_is_read(tmp_path: Path) -> None:
    (tmp_path / "data.qif").write_text("!Type:Bank\n")
    (tmp_path / "expected.snap").write_text(
        "exports[`File import > qif import works 1`] = `\n[\n  {\n"
        '    "amount": -3000,\n    "date": 20190123,\n    "imported_description": "SHOP",\n'
        "  },\n]\n`;\n"
    )

    told = truth_of(tmp_path / "data.qif")

    assert told is not None
    assert [(row.date, row.amount) for row in told.rows] == [("2019-01-23", Decimal(-30))]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    result = run(str(tmp_path / "nowhere"))

    assert result.exit_code == Exit.REFUSED
