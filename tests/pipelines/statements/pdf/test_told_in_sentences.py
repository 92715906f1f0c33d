"""PDFs that tell of money in sentences are texts, and no statements."""

from pathlib import Path

import pytest

from lab.documents.contracts.blocks import Block, Heading, Lines, Prose, Table, pdf
from stateward.definition.plugin import Content
from stateward.pipelines.documents.detection import ANY_PDF
from stateward.pipelines.statements.detection import UNLIKELY, detect


def confidence(path: Path) -> int:
    return detect(Content.of(path, name=path.name)).confidence


MINUTES: list[Block] = [
    Heading("Minutes of the annual meeting of the Harbour Rowing Club"),
    Prose(
        "Held at the boathouse on 14 March 2026. Present: Ada Holm, Ben Okafor, Cleo Brandt and nine members."
    ),
    Prose("1. The minutes of the last meeting were read out and approved without any change."),
    Prose(
        "2. The treasurer showed the bank statement and reported that the new balance is 4,230.50 euros, after "
        "the roof of the shed had been repaired for 1,150.00 euros by a builder from the village."
    ),
    Prose(
        "3. The members agreed that the fee for the season stays as it is, and thanked the treasurer for his work."
    ),
]
PROTOKOLL: list[Block] = [
    Heading("Protokoll der Mitgliederversammlung"),
    Lines(["Beginn: 19.30 Uhr"]),
    Prose(
        "Der Kassenwart berichtet, dass der Verein im Jahr 2025 insgesamt 3.412,75 Euro eingenommen hat und dass "
        "davon noch 812,20 Euro auf dem Konto sind. Der Kontoauszug wurde von zwei Mitgliedern geprüft."
    ),
    Prose("Die Versammlung beschließt einstimmig, dass der alte Rasenmäher durch einen neuen ersetzt wird."),
]  # fmt: skip


@pytest.mark.parametrize("blocks", [MINUTES, PROTOKOLL])
def test_amounts_that_are_told_in_sentences_make_no_statement(
    tmp_path: Path, blocks: list[Block]
) -> None:
    path = tmp_path / "minutes.pdf"
    path.write_bytes(pdf(blocks))

    assert confidence(path) == UNLIKELY  # less than what is said of any text


def test_a_table_below_prose_makes_a_statement_of_it(tmp_path: Path) -> None:
    told = [*MINUTES, Table([["2 Mar", "Roof", "1,150.00"], ["9 Mar", "Fees", "4,230.50"]])]
    path = tmp_path / "statement.pdf"
    path.write_bytes(pdf(told))

    assert confidence(path) > ANY_PDF
