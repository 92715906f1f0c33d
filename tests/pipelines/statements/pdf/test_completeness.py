"""Which statements without balances are quiet: nothing is left over, and nothing is without a word."""

from pathlib import Path

import pytest

import lab.documents.bank_pdfs.__main__  # noqa: F401 - registers the layouts
from lab.documents.bank_pdfs.layouts import FURTHER, LAYOUTS, THIRD, draw
from tests.pipelines.statements.reading import read_bytes
from tests.pipelines.statements.test_laws import loud

QUIET = {
    "fr-bnp-paribas": (16024, "a total that the rows add up to"),
    "es-caixabank": (16028, "dates such as 18.03 that could be amounts"),
    "us-chase-card": (16142, "an amount abroad beside its rate of exchange"),
    "ch-ubs": (16207, "an amount in a sentence below the rows"),
}
FLAGGED = {
    "ca-rbc": (16123, "a shop called Total, left out"),
    "de-comdirect": (16056, "balances without their labels, taken for rows"),
    "in-icici-mark": (10, "amounts without a mark among those with one"),
    "sg-ocbc": (95067, "a single row with a date before the named one"),
}


def _codes(folder: Path, name: str, seed: int) -> list[str]:
    layouts = [*LAYOUTS, *FURTHER, *THIRD]
    layout = next(each for each in layouts if f"{each.country.lower()}-{each.name}" == name)
    content, _ = draw(layout, seed, is_mutated=True)
    return loud(read_bytes(folder, content))


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_left_over(tmp_path: Path, name: str) -> None:
    seed, why = QUIET[name]

    assert _codes(tmp_path, name, seed) == [], why


@pytest.mark.parametrize("name", FLAGGED)
def test_something_may_be_left_over(tmp_path: Path, name: str) -> None:
    seed, why = FLAGGED[name]

    assert {"ROWS_UNPROVEN", "DATE_UNPROVEN", "SIGN_UNPROVEN"} & set(
        _codes(tmp_path, name, seed)
    ), why


def test_a_card_of_several_holders_is_read_with_its_signs(tmp_path: Path) -> None:
    layout = next(each for each in LAYOUTS if each.name == "amex")
    content, truth = draw(layout, 7, is_mutated=False)

    read = read_bytes(tmp_path, content)

    assert read.amounts == [row["amount"] for row in truth["transactions"]]  # type: ignore[attr-defined]
    assert loud(read) == []
