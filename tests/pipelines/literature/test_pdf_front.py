"""The front of a PDF (names, an abstract that no word introduces, the year) and headings that are bold."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.documents.statements.paper import LETTER, width
from lab.documents.statements.paper import Paper as Printed
from stateward.pipelines.literature.paper import Paper, Place
from stateward.pipelines.literature.pdf import _title_first
from stateward.pipelines.literature.pdf_front import authors_below, names_of, year_printed
from stateward.pipelines.literature.text import Piece, join_lines, paper_of
from tests.pipelines.literature.articles import read, texts

BODY = (
    "Weirs hold water back, and mills stand",
    "below them. We counted both of them in",
    "the spring and again before the winter.",
)
CLAIM = (
    "Weirs and mills are older than most maps, and hardly any of them was counted twice. Here we count",
    "weirs in two invented valleys for eleven years. One in three was gone at the end of that time. Our",
    "count shows that mills follow their weirs.",
)


def a_page() -> Printed:
    page = Printed(LETTER)
    page.page()
    page.text(60, 50, "Mill Letters 12 (2019) 4417", size=8)
    page.text(60, 90, "Weirs and mills of two valleys", size=18)
    return page


def body(
    page: Printed, x: float, y: float, *, lines: Sequence[str] = BODY, times: int = 4
) -> float:
    for _ in range(times):
        for line in lines:
            page.text(x, y, line, size=9.5)
            y += 12
        y += 6
    return y


def two_columns(page: Printed, y: float) -> None:
    """A heading in each column, bold and as large as the text, and a bold word that begins a paragraph."""
    for x, heading in ((60.0, "Valleys"), (320.0, "Counting of weirs")):
        page.text(x, y, heading, size=9.5, font="bold")
        below = body(page, x, y + 14)
        page.text(x, below, "Figure 2 Weirs by year", size=9.5, font="bold")
        body(page, x, below + 14, times=1)


def printed(folder: Path, page: Printed) -> Paper:
    return read(folder, page.pdf(), "printed.pdf")


def test_authors_an_abstract_without_a_word_and_bold_headings_are_read(tmp_path: Path) -> None:
    page = a_page()
    page.text(60, 112, "Anna Weir", size=10)
    page.text(107, 108, "1,*", size=6)
    page.text(118, 112, ", Émile von der Mühle", size=10)
    page.text(219, 108, "2", size=6)
    page.text(226, 112, "and R. J. O'Brook", size=10)
    for at, line in enumerate(CLAIM):
        page.text(60, 140 + 12 * at, line, size=10, font="bold")
    two_columns(page, 200)

    paper = printed(tmp_path, page)

    assert paper.metadata.title == "Weirs and mills of two valleys"
    assert [each.name for each in paper.metadata.authors] == [
        "Anna Weir", "Émile von der Mühle", "R. J. O'Brook",
    ]  # fmt: skip
    assert paper.metadata.abstract == " ".join(CLAIM)
    assert paper.metadata.year == 2019
    assert texts(paper.blocks, "heading") == ["Valleys", "Counting of weirs"]
    assert "AUTHORS_FROM_LAYOUT" in {note.code for note in paper.notes}


def test_letters_of_affiliations_that_touch_names_and_commas_are_no_letters_of_names(
    tmp_path: Path,
) -> None:
    page = a_page()
    x = 60.0
    for part, is_raised in (
        ("Anna Weirman", False), ("a,b", True), (", Ben Milla", False), ("c,*", True),
        (", Cleo Weirs", False), ("a", True),
    ):  # fmt: skip
        size = 6 if is_raised else 10
        page.text(x, 108 if is_raised else 112, part, size=size)
        x += width(part, size)
    page.text(60, 140, "Abstract", size=12)
    for at, line in enumerate(CLAIM):
        page.text(60, 156 + 12 * at, line, size=9.5)
    two_columns(page, 220)

    paper = printed(tmp_path, page)

    names = [each.name for each in paper.metadata.authors]
    assert names == ["Anna Weirman", "Ben Milla", "Cleo Weirs"]


@pytest.mark.parametrize(
    "label",
    ["Keywords:", "Index Terms \u2014", "Mots-clés :", "Schlüsselwörter:", "Palabras clave."],
)
def test_keywords_close_below_an_abstract_are_no_part_of_it(tmp_path: Path, label: str) -> None:
    page = a_page()
    page.text(60, 112, "Anna Weir, Ben Mill", size=10)
    page.text(60, 140, "Abstract", size=12)
    for at, line in enumerate((*CLAIM, f"{label} weir, mill", "stream, count")):
        page.text(60, 156 + 12 * at, line, size=9.5)
    two_columns(page, 240)

    assert printed(tmp_path, page).metadata.abstract == " ".join(CLAIM)


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("Anna Weir1, Ben Mill2,* and the COVID-19 Weir Consortium3", "COVID-19 Weir Consortium"),
        ("Anna Weir, Ben Mill, for the Mills of the North Study Group†", "Mills of the North Study Group"),
        ("Anna Weir and Ben Mill on behalf of the WEIR-2 Investigators", "WEIR-2 Investigators"),
        ("Anna Weir, Ben Mill; Weir Collaboration", "Weir Collaboration"),
    ],
)  # fmt: skip
def test_a_group_that_signs_behind_people_is_an_author(line: str, groups: str) -> None:
    assert names_of(line) == ["Anna Weir", "Ben Mill", groups]


@pytest.mark.parametrize(
    "line",
    [
        "The Weir Consortium",
        "Anna Weir, Database Research Group",
        "Department of Mills, and the Weir Consortium",
        "Anna Weir, Weir Consortium and the results of its first year",
    ],
)
def test_a_group_alone_or_among_other_words_is_no_author(line: str) -> None:
    assert names_of(line) == []


@pytest.mark.parametrize("sign", ["*", " ", "and ", ", and A of the "])
def test_a_long_line_of_marks_or_of_small_words_names_no_one_and_is_read_at_once(sign: str) -> None:
    """Of 300,000 signs: what searches them once for each would take many minutes."""
    assert names_of(f"Anna Weir and {sign * (300_000 // len(sign))}mills") == []


def test_a_group_among_the_authors_of_a_pdf_is_marked_as_one(tmp_path: Path) -> None:
    page = a_page()
    page.text(60, 112, "Anna Weir, Ben Mill and the Weir Study Group", size=10)
    for at, line in enumerate(CLAIM):
        page.text(60, 140 + 12 * at, line, size=10, font="bold")
    two_columns(page, 200)

    authors = printed(tmp_path, page).metadata.authors

    assert [(each.name, each.is_group) for each in authors] == [
        ("Anna Weir", False), ("Ben Mill", False), ("Weir Study Group", True),
    ]  # fmt: skip


@pytest.mark.parametrize("last", ["3", "Seven"])
@pytest.mark.parametrize("table_at", [60.0, 320.0])
def test_no_cell_of_a_table_is_a_heading(tmp_path: Path, table_at: float, last: str) -> None:
    page = a_page()
    page.text(60, 112, "Anna Weir, Ben Mill", size=10)
    for x, heading in ((60.0, "Valleys"), (320.0, "Counting of weirs")):
        page.text(x, 150, heading, size=9.5, font="bold")
        y = body(page, x, 164, times=3)
        if x == table_at:
            table(page, (x, x + 90, x + 160), y, last=last)
        body(page, x, y + 140, times=3)

    assert texts(printed(tmp_path, page).blocks, "heading") == ["Valleys", "Counting of weirs"]


def table(page: Printed, places: Sequence[float], y: float, *, last: str) -> None:
    """Bold heads, bold names of groups of rows that stand alone, and numbered rows."""
    for x, cell in zip(places, ("River type", "Weirs", "Mills"), strict=True):
        page.text(x, y, cell, size=9.5, font="bold")
    rows = [
        "Upper valley",
        "1. Mountain brook",
        "2. Meadow river",
        "Lower valley",
        "3. Marsh canal",
    ]
    for at, row in enumerate(rows, 1):
        is_group = row.endswith("valley")
        cells = (row,) if is_group else (row, "14", last)
        for x, cell in zip(places, cells, strict=False):
            page.text(x, y + 12 * at, cell, size=9.5, font="bold" if is_group else "")


def test_the_number_of_a_heading_that_stands_beside_a_figure_goes_on_from_the_last() -> None:
    def piece(text: str, *, is_cell: bool = True) -> Piece:
        return Piece(text, Place(page=2), size=9.5, is_cell=is_cell)

    shown = ("3.1 Weirs", "7 A mill that stands", "3.2 Mills", "1.8 Weirs of old", "3.2.1 Wheels")
    found = paper_of(
        [piece("Title", is_cell=False), piece("3 Methods", is_cell=False), *map(piece, shown)],
        format_="pdf",
    )

    assert texts(found.blocks, "heading") == ["Methods", "Weirs", "Mills", "Wheels"]


def test_where_numbered_headings_are_bold_an_item_of_a_list_is_none() -> None:
    def piece(text: str, *, is_bold: bool = False) -> Piece:
        return Piece(text, Place(page=2), size=9.5, is_bold=is_bold)

    def headings(*, is_bold: bool) -> list[str]:
        named = ("1 Valleys", "2 Weirs", "3 Mills")
        items = ("4 Finally we count the mills", "3.1 Wheels", "4 Conclusions")
        own = [piece("Title"), *(piece(each, is_bold=is_bold) for each in named)]
        found = paper_of([*own, *map(piece, items)], format_="pdf")
        return texts(found.blocks, "heading")

    item = "Finally we count the mills"
    assert headings(is_bold=True) == ["Valleys", "Weirs", "Mills", "Wheels", "Conclusions"]
    assert headings(is_bold=False) == ["Valleys", "Weirs", "Mills", item, "Wheels", "Conclusions"]


def test_an_abstract_beside_keywords_is_read_without_them(tmp_path: Path) -> None:
    page = a_page()
    page.text(60, 112, "Anna Weir, Ben Mill", size=10)
    page.text(60, 140, "A R T I C L E I N F O", size=8)
    page.text(200, 140, "A B S T R A C T", size=8)
    for at, (beside, line) in enumerate(zip(("Keywords:", "Water", "Stones"), CLAIM, strict=True)):
        page.text(60, 160 + 10 * at, beside, size=7.5)
        page.text(200, 160 + 10 * at, line, size=7.5)
    two_columns(page, 220)

    paper = printed(tmp_path, page)

    assert paper.metadata.abstract == " ".join(CLAIM)
    assert [each.name for each in paper.metadata.authors] == ["Anna Weir", "Ben Mill"]


def test_entries_whose_further_lines_are_indented_are_each_one_reference(tmp_path: Path) -> None:
    page = a_page()
    two_columns(page, 130)
    page.text(60, 440, "References", size=9.5, font="bold")
    for at, who in enumerate(("Weir, A.", "Mill, B.", "Stone, C.", "Brook, D.")):
        page.text(60, 456 + 20 * at, f"{who}, 200{at}. A count of weirs and", size=8)
        page.text(70, 466 + 20 * at, f"mills. https://example.org/{at}", size=8)

    found = texts(printed(tmp_path, page).blocks, "reference")

    assert [each.split(".")[0] for each in found] == ["Weir, A", "Mill, B", "Stone, C", "Brook, D"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ann Weir1,2, Bo van der Mill3* & Cy D'Arc", ["Ann Weir", "Bo van der Mill", "Cy D'Arc"]),
        ("Ann B. Weir a , Bo C.-D. Mill b,c", ["Ann B. Weir", "Bo C.-D. Mill"]),
        ("Ann Weir, MD, PhD; María José Ríos-Vidal", ["Ann Weir", "María José Ríos-Vidal"]),
        ("By Md. Bo Mill and Yu.A.Weir", ["Md. Bo Mill", "Yu. A. Weir"]),
        ("Ann Weir a and Bo Mill 2 and Cy Brook(B)", ["Ann Weir", "Bo Mill", "Cy Brook"]),
        ("Ann Weir, Member, IEEE, and Bo Mill", ["Ann Weir", "Bo Mill"]),
        ("물레방아 연구, 강의 보", []),
        ("Department of Mills, Weir", []),
        ("Ann Weir, who counts mills", []),
        ("Ann B. Weir Carl D. Mill", []),
        ("Counting weirs again", []),
        ("Open Access", []),
    ],
)
def test_a_line_names_people_or_nobody(line: str, names: list[str]) -> None:
    assert names_of(line) == names


def piece(*lines: str, top: float, left: float = 60.0, size: float = 10.0) -> Piece:
    box = (left, top, left + 200.0, top + 12.0 * len(lines))
    return Piece(" ".join(lines), Place(page=1, box=box), size=size, lines=lines)


def named(*pieces: Piece) -> list[str]:
    return [each.name for each in authors_below(pieces)[0]]


def test_names_are_read_one_on_each_line_side_by_side_and_alone_above_an_address() -> None:
    assert named(piece("Ann Weir", "Bo Mill", top=100.0)) == ["Ann Weir", "Bo Mill"]
    assert named(piece("Bo Mill", top=99.9, left=300.0), piece("Ann Weir", top=100.0)) == [
        "Ann Weir",
        "Bo Mill",
    ]
    alone = piece("Ann Weir", top=100.0)
    assert named(alone, piece("University of Mills", top=130.0, size=8.0)) == ["Ann Weir"]
    assert named(alone, piece("Mills of the north", top=130.0, size=8.0)) == []


def test_names_are_read_each_above_its_own_address_and_not_where_a_town_could_be_one() -> None:
    ann = piece("Ann Weir", "University of Mills", "ann@example.org", top=100.0)
    bo = piece("Bo Mill", "Weir Institute", "bo@example.org", top=100.0, left=300.0)
    text = piece("Abstract. We count mills.", top=150.0)

    assert named(ann, bo, text) == ["Ann Weir", "Bo Mill"]
    assert named(piece("Ann Weir", "University of Mills", "New York", top=100.0), text) == []


def test_the_title_is_what_stands_above_the_names_though_a_journal_is_larger() -> None:
    def large(text: str, top: float, size: float) -> Piece:
        place = Place(page=1, box=(60.0, top, 400.0, top + size))
        return Piece(text, place, size=size, is_large=True, lines=[text])

    title = large("A count of weirs", 130.0, 15.0)
    pieces = [large("Journal of Mills", 60.0, 28.0), title, piece("Ann Weir, Bo Mill", top=160.0)]

    assert _title_first(pieces, 800.0)[0] is title


def test_rather_no_authors_than_some_of_them() -> None:
    some = piece("Ann Weir, Bo Mill", top=100.0)

    assert named(some, piece("and 14 others", top=113.0)) == []
    assert named(some, piece("Department of Mills", top=113.0)) == ["Ann Weir", "Bo Mill"]


def test_the_year_is_one_that_is_printed_as_that_of_publication() -> None:
    assert year_printed("Received: 2 May 2018\nPublished online: 6 October 2019\n© 2020") == 2019
    assert year_printed("Mill Letters 12 (2019) 4417\n© 2019 The Authors") == 2019
    assert year_printed("Mill Letters 12 (2018) 4417\n© 2019 The Authors") is None
    assert year_printed("Received: 2 May 2018") is None


def test_keywords_end_an_abstract() -> None:
    place = Place(page=1)
    lines = ("Weirs and mills", "Abstract", "We count.", "Keywords: weir", "We thank.", "Methods")

    paper = paper_of([Piece(line, place) for line in lines], format_="pdf")

    assert paper.metadata.abstract == "We count."


def test_entries_that_nothing_numbers_or_indents_begin_with_names(tmp_path: Path) -> None:
    page = a_page()
    two_columns(page, 130)
    page.text(60, 440, "References", size=9.5, font="bold")
    lines = (
        "Weir, A., Mill, B., 2001. A count of weirs.",
        "Mill B, Weir A. Mills. Kiel; 1998.",
        "van der Stone, C., Mill, B.,",
        "Brook, D., 2003. A ruler for",
        "wet places. J. Rulers 4, 55-60. https://doi.org/10.5555/jr.4",
        "Weir, A.B. (2004) Names. Bergen.",
    )
    for at, line in enumerate(lines):
        page.text(60, 456 + 11 * at, line, size=8)

    found = texts(printed(tmp_path, page).blocks, "reference")

    assert [each[:8] for each in found] == ["Weir, A.", "Mill B, ", "van der ", "Weir, A."]


def test_a_numbered_heading_is_one_however_short_it_is_and_what_the_text_begins_with(
    tmp_path: Path,
) -> None:
    page = a_page()
    for x, number in ((60.0, 1), (320.0, 2)):
        page.text(x, 130, f"{number} Mills", size=12, font="bold")
        below = body(page, x, 146)
        page.text(x, below, f"{number}.1 Weirs", size=9.5, font="bold")
        page.text(x, below + 12, "Let w = 1 - n/m of all the weirs be there.", size=9.5)
        body(page, x, below + 24, times=2)

    paper = printed(tmp_path, page)

    found = [(each.label, each.text) for each in paper.blocks if each.kind == "heading"]
    assert found == [("1", "Mills"), ("1.1", "Weirs"), ("2", "Mills"), ("2.1", "Weirs")]


@pytest.mark.parametrize("imprint", ["Mill Letters 12 (2019) 4417", ""])
def test_the_stamp_of_arxiv_names_the_paper_and_its_year(tmp_path: Path, imprint: str) -> None:
    page = Printed(LETTER)
    page.page()
    page.text(60, 50, imprint, size=8)
    page.text(60, 90, "Weirs and mills of two valleys", size=18)
    two_columns(page, 130)
    page.text(30, 500, "arXiv:2103.01234v2 [cs.GT] 4 Apr 2022", size=16, angle=90)

    found = printed(tmp_path, page).metadata

    assert found.ids == {"arxiv": "2103.01234v2"}
    assert found.year == (2019 if imprint else 2021)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["a first-come-", "first-served queue"], "a first-come-first-served queue"),
        (["the state-of-", "the-art mill"], "the state-of-the-art mill"),
        (["from end-", "to-end"], "from end-to-end"),
        (["an inter-", "national-level weir"], "an international-level weir"),
        (["well-con-", "sidered"], "well-considered"),
    ],
)
def test_hyphens_of_a_compound_stay_where_a_line_ends_within_it(
    lines: list[str], text: str
) -> None:
    assert join_lines(lines) == text
