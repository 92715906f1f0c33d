"""The statements of banks as PDFs that the readers are measured with."""

import json
from pathlib import Path

import pypdfium2
import pytest

from lab.documents.bank_pdfs.__main__ import write
from lab.documents.bank_pdfs.layouts import FURTHER, LAYOUTS, draw


def test_there_are_layouts_of_thirty_banks_in_twelve_countries() -> None:
    assert len({each.name for each in LAYOUTS}) >= 30
    assert len({each.country for each in LAYOUTS}) >= 12


@pytest.mark.parametrize("is_mutated", [False, True])
@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_every_amount_of_the_truth_stands_on_the_page(step: int, is_mutated: bool) -> None:
    for layout in [*LAYOUTS, *FURTHER][::step]:
        content, truth = draw(layout, 7, is_mutated=is_mutated)
        again, _ = draw(layout, 7, is_mutated=is_mutated)
        digits = _digits(content)

        assert content == again
        assert bool(truth["changes"]) is is_mutated
        for row in truth["transactions"]:  # type: ignore[attr-defined]
            assert "".join(filter(str.isdigit, row["amount"])) in digits, layout.name


def test_opening_and_rows_give_closing() -> None:
    for layout in [*LAYOUTS, *FURTHER][::7]:
        _, truth = draw(layout, 3, is_mutated=False)
        for account in truth["accounts"]:  # type: ignore[attr-defined]
            rows = [row for row in truth["transactions"] if row["account"] == account["account"]]  # type: ignore[attr-defined]
            total = sum(round(float(row["amount"]) * 100) for row in rows)
            assert round(float(account["opening"]) * 100) + total == round(
                float(account["closing"]) * 100
            )


def test_statements_are_written_with_their_truth(tmp_path: Path) -> None:
    write(tmp_path, count=2, seed=5, is_mutated=True)

    names = {path.stem for path in tmp_path.glob("*.pdf")}
    truths = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*.truth.json")]
    assert len(names) == 2
    assert all({"currency", "transactions", "family"} <= set(truth) for truth in truths)


def _digits(content: bytes) -> str:
    """All digits of a file in the order in which they were written."""
    document = pypdfium2.PdfDocument(content)
    text = "".join(page.get_textpage().get_text_range() for page in document)
    return "".join(letter for letter in text if letter.isdigit())
