"""Whether a PDF goes to the clauses: by the numbers and words of terms, statutes and rules."""

from pathlib import Path

import pytest

from lab.documents.contracts.blocks import Block, Heading, Lines, pdf
from stateward.app import App
from stateward.settings import Settings
from tests.pipelines.test_routing import BRIEF, LETTER

TERMS: list[Block] = [
    Heading("TERMS AND CONDITIONS OF SALE"),
    Lines(
        ["1. Orders", "1.1 An order is an offer.", "1.2 It is binding once confirmed in writing."]
    ),
    Lines(
        ["2. Price", "2.1 Prices are those of the list.", "2.2 Invoices are due within 30 days."]
    ),
]
RULES: list[Block] = [
    Heading("Règlement intérieur"),
    Lines(["ARTICLE 1", "Objet", "Ce texte s'applique aux occupants.", "Article 2", "Bruit"]),
    Lines(["Le silence est demandé de 22 h à 7 h.", "Article 3", "Animaux", BRIEF]),
]
REPORT: list[Block] = [
    Heading("Report on the harbour"),
    Lines(["1. Survey", f"1.1 The quay. {LETTER}", "1.2 The crane.", "2. Plan"]),
    Lines(["2.1 The lights.", "2.2 The gate, as Article 3 of the rules says."]),
]


@pytest.mark.parametrize(
    ("blocks", "machine"), [(TERMS, "upload"), (RULES, "upload"), (REPORT, "documents")]
)
def test_a_pdf_of_numbered_terms_goes_to_the_clauses_and_a_numbered_report_to_the_texts(
    tmp_path: Path, blocks: list[Block], machine: str
) -> None:
    path = tmp_path / "terms.pdf"
    path.write_bytes(pdf(blocks))

    with App(Settings.load(environ={"STATEWARD_DATA": str(tmp_path / "data")})) as app:
        best = app.plugins.candidates(path)[0]

    assert best.machine == machine
    assert (best.source_type == "contract_clauses") == (machine == "upload")
