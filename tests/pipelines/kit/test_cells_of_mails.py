"""In tables of mails a cell over several columns or rows leaves the others in their columns."""

from pathlib import Path

import pytest

from stateward.pipelines.kit.reader import read_document
from tests.pipelines.kit.test_rtf_and_mail import SENTENCE, a_mail, written


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (
            "<tr><th></th><th>Alt</th><th>Neu</th></tr><tr><td colspan=2>Preis</td><td>30 ct</td></tr>",
            ["\tAlt\tNeu", "Preis\t\t30 ct"],
        ),
        (
            "<tr><td rowspan=2>Strom</td><td>Arbeit</td><td>30 ct</td></tr><tr><td>Grund</td><td>12 EUR</td></tr>"
            "<tr><td>Gas</td><td>Arbeit</td><td>9 ct</td></tr>",
            ["Strom\tArbeit\t30 ct", "\tGrund\t12 EUR", "Gas\tArbeit\t9 ct"],
        ),
        (
            "<thead><tr><td rowspan=9>Strom</td><td>Arbeit</td></tr></thead><tbody><tr><td>Grund</td></tr></tbody>",
            ["Strom\tArbeit", "Grund"],
        ),
        (
            "<tr><td rowspan=2><table><tr><td>Easy</td><td rowspan=2>24</td></tr></table></td><td>a</td></tr>"
            "<tr><td>b</td></tr>",
            ["Easy\t24\ta", "\tb"],
        ),
    ],
    ids=["columns", "rows", "group of rows", "within a cell"],
)
def test_cells_over_several_columns_or_rows_of_a_mail_leave_the_others_in_theirs(
    tmp_path: Path, rows: str, lines: list[str]
) -> None:
    mail = a_mail()
    mail.set_content(f"<p>{SENTENCE}</p><table>{rows}</table>", subtype="html")

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    assert page.text.split("\n") == [SENTENCE, *lines]


def test_a_mail_made_of_spans_is_read_with_a_limit_to_its_columns(tmp_path: Path) -> None:
    mail = a_mail()
    cells = "<td colspan=100 rowspan=100>x</td>" * 500
    mail.set_content(f"<p>{SENTENCE}</p><table><tr>{cells}</tr><tr><td>y</table>", subtype="html")

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    first, second = page.text.split("\n")[1:]
    assert first.count("x") == 500
    assert len(first) + len(second) < 2_000
