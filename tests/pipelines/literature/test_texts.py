"""Plain texts as papers: what stands above the title, and references without numbers."""

from pathlib import Path

import pytest

from tests.pipelines.literature.articles import read, texts


@pytest.mark.parametrize(
    "above",
    [
        "Journal of Small Clocks, Vol. 3 (2011), pp. 14-19",
        "https://doi.org/10.5555/clocks.3.14\n\n© 2011 The Clock Society",
        "RESEARCH NOTE",
    ],
)
def test_the_title_of_a_text_is_no_line_of_its_journal(tmp_path: Path, above: str) -> None:
    paper = read(tmp_path, f"{above}\n\nThe tick of the tock\n\nAbstract. Clocks slow.\n", "a.txt")

    assert paper.metadata.title == "The tick of the tock"
    assert paper.metadata.abstract == "Clocks slow."


def test_a_text_of_nothing_but_such_lines_has_the_first_as_title(tmp_path: Path) -> None:
    paper = read(tmp_path, "Clocks, Vol. 3\n\nAbstract. Clocks slow.\n", "a.txt")

    assert paper.metadata.title == "Clocks, Vol. 3"


def test_references_without_numbers_begin_with_names(tmp_path: Path) -> None:
    paper = read(
        tmp_path,
        "Clocks\n\nText.\n\nReferences\nTick, A., 1900. Ticking. J. Clocks 1.\nTock, B., Tack, C.,\nTuck, D., 1901. "
        "Tocking in\nHamburg. J. Clocks 2.\n",
        "a.txt",
    )

    assert [each[:7] for each in texts(paper.blocks, "reference")] == ["Tick, A", "Tock, B"]
