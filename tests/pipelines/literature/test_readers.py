"""Readers: each format becomes the same kind of paper."""

from pathlib import Path

import pytest

from lab.documents.literature.papers import SECTIONS, Section, ferries, two_columns
from lab.documents.statements import broken
from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.ocr import OcrLine, OcrPage, OcrWord
from stateward.pipelines.kit.pdf.pages import PdfWord
from stateward.pipelines.literature.ir import about_ir, ir_blocks
from stateward.pipelines.literature.paper import Author, Place
from stateward.pipelines.literature.pdf import _title_first
from stateward.pipelines.literature.pdf_columns import row_parts
from stateward.pipelines.literature.sections import heading_level, ids_in
from stateward.pipelines.literature.text import Piece, paper_of
from tests.pipelines.literature.articles import (
    PAGE,
    PMC,
    RETRACTION,
    REVIEWED,
    SAMPLES,
    TEXT,
    read,
    texts,
)


def test_an_article_says_what_it_is(tmp_path: Path) -> None:
    paper = read(tmp_path, PMC)
    found = paper.metadata

    assert found.title == "Salt & sugar in \N{GREEK SMALL LETTER ALPHA}-invented soups"
    assert found.ids == {"pmid": "99000010", "pmcid": "PMC9900010", "doi": "10.5555/SJ.2010.10"}
    assert found.authors == [
        Author(
            name="P J O\u2019Neill Jr",
            surname="O\u2019Neill",
            given="P J",
            suffix="Jr",
            affiliations=("Kitchen, Samples",),
        ),
        Author(name="SOUP Consortium", is_group=True),
    ]
    assert (found.journal.title, found.journal.abbreviation) == (
        "British Journal of Samples",
        "Br J Samples",
    )
    assert (found.dates, found.year) == ({"epub": "2010-11-02", "ppub": "2011-01"}, 2010)
    assert found.abstract == "Background:\nSoup is salted.\nResults:\nIt was good."
    assert [each.text for each in found.other_abstracts] == ["Short."]


def test_blocks_come_in_reading_order_and_comments_are_none(tmp_path: Path) -> None:
    paper = read(tmp_path, PMC)

    assert texts(paper.blocks, "heading") == ["Introduction", "Thanks"]
    assert texts(paper.blocks, "paragraph")[:2] == [
        "As Cook (2001) said2, x = y.",
        "We tasted: and wrote it down.",
    ]
    assert texts(paper.blocks, "list_item") == ["salt", "sugar"]
    (table,) = (block for block in paper.blocks if block.kind == "table")
    assert (table.label, table.text) == ("Table 1", "Grams\nWeighed twice.")
    assert table.rows == [["Soup", "Salt"], ["Pea", "3.1"]]


def test_references_are_taken_apart_as_far_as_the_source_does(tmp_path: Path) -> None:
    first, second = (each for each in read(tmp_path, PMC).blocks if each.kind == "reference")

    assert first.text == "Cook A. (2001). Pots. Lids 7:1-9."
    assert first.reference is not None
    assert (first.reference.ids, first.reference.authors) == ({"pmid": "11111"}, ("Cook A",))
    assert second.text == "Spoon B. A book. 1990."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_offsets_lead_to_the_block_in_the_decoded_file(tmp_path: Path, encoding: str) -> None:
    data = PMC.encode(encoding)
    blocks = [
        each for each in read(tmp_path, data).blocks if each.kind not in ("reference", "table")
    ]

    assert blocks
    for block in blocks:
        decoded = data.decode(encoding if encoding != "utf-8-sig" else "utf-8")
        shift = int(encoding == "utf-8-sig")  # the mark is no part of the decoded text
        assert block.where.start is not None
        start, end = block.where.start + shift, (block.where.end or 0) + shift
        snippet = decoded[start:end]
        assert snippet.startswith("<")
        assert snippet.endswith(">")
        assert block.text.split()[0][:3] in snippet


def test_a_retraction_and_what_it_retracts_are_marked(tmp_path: Path) -> None:
    found = read(tmp_path, RETRACTION).metadata

    assert found.retraction == "notice"
    assert [(each.type, each.id) for each in found.related] == [
        ("retracted-article", "10.5555/SJ.2010.10")
    ]


def test_a_decision_letter_is_a_part_of_its_own(tmp_path: Path) -> None:
    paper = read(tmp_path, REVIEWED)
    about = about_ir(paper.metadata, ir_blocks(paper.blocks))

    assert about.section_titles == ["Handles"]
    assert texts(paper.blocks, "reference") == ["One. 10.5555/x"]
    assert texts(paper.blocks, "heading", "decision-letter") == ["Decision letter", "Major points"]


CHAPTER = """<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID Version="1">99000044</PMID><ArticleIdList>
<ArticleId IdType="bookaccession">NBK1</ArticleId><ArticleId IdType="doi">10.5555/b.4</ArticleId></ArticleIdList><Book>
<Publisher><PublisherName>Oven House</PublisherName></Publisher><BookTitle book="b">The book of bread</BookTitle>
<PubDate><Year>1993</Year></PubDate><AuthorList Type="editors"><Author><LastName>Tor</LastName><ForeName>Ede</ForeName>
</Author></AuthorList></Book><ArticleTitle>Rye in winter</ArticleTitle><Language>eng</Language>
<AuthorList Type="authors">
<Author ValidYN="Y"><LastName>Roggen</LastName><ForeName>Ida M</ForeName></Author></AuthorList><Abstract>
<AbstractText Label="SCOPE">All of winter.</AbstractText></Abstract><Sections><Section>
<SectionTitle>Sowing</SectionTitle>
</Section></Sections><ContributionDate><Year>2006</Year><Month>2</Month><Day>15</Day></ContributionDate><ReferenceList>
<Reference><Citation>Cook A. Pots. 2001.</Citation></Reference></ReferenceList></BookDocument><PubmedBookData/>
</PubmedBookArticle></PubmedArticleSet>"""


def test_pubmed_gives_a_citation_with_its_abstract(tmp_path: Path) -> None:
    found = read(tmp_path, (SAMPLES / "rye-bread.xml").read_bytes()).metadata

    assert found.ids == {"pmid": "99000002", "doi": "10.5555/stateward.rye.2"}
    assert [each.name for each in found.authors] == ["Ida M Roggen", "Breakfast Study Group"]
    assert found.authors[0].orcid == "0000-0001-5109-3700"
    assert (found.first_page, found.last_page) == ("145", "152")
    assert found.abstract.startswith("BACKGROUND\nWhether sourdough")
    assert found.dates == {"ppub": "2022-11"}


def test_pubmed_gives_a_chapter_with_its_authors_and_its_book(tmp_path: Path) -> None:
    paper = read(tmp_path, CHAPTER)
    found = paper.metadata

    assert (found.ids, found.title, found.journal.title) == (
        {"pmid": "99000044", "doi": "10.5555/b.4"}, "Rye in winter", "The book of bread",
    )  # fmt: skip
    assert [each.name for each in found.authors] == ["Ida M Roggen"]  # the editors made the book
    assert (found.type, found.year, found.journal.publisher) == ("book chapter", 2006, "Oven House")
    assert found.abstract == "SCOPE\nAll of winter."
    assert texts(paper.blocks, "heading") == ["Sowing"]
    assert texts(paper.blocks, "reference") == ["Cook A. Pots. 2001."]


def test_pubmed_gives_a_book_with_its_authors(tmp_path: Path) -> None:
    book = CHAPTER.replace("editors", "authors").replace(
        "<ArticleTitle>Rye in winter</ArticleTitle>", ""
    )

    found = read(tmp_path, book).metadata

    assert (found.title, found.type) == ("The book of bread", "book")
    assert [each.name for each in found.authors][-1] == "Ede Tor"


def test_a_retracted_paper_of_pubmed_is_marked(tmp_path: Path) -> None:
    data = (SAMPLES / "rye-bread.xml").read_text("utf-8")
    data = data.replace(
        "</MedlineCitation>",
        '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"><RefSource>X. 2023. doi: 10.5555/r'
        "</RefSource></CommentsCorrections></CommentsCorrectionsList></MedlineCitation>",
    )

    found = read(tmp_path, data).metadata

    assert found.retraction == "retracted"
    assert found.related[0].id == "10.5555/r"


def test_a_web_page_says_what_it_is_in_its_tags(tmp_path: Path) -> None:
    paper = read(tmp_path, PAGE, "page.html")
    found = paper.metadata

    assert (found.title, found.ids) == ("Ladles of the north", {"doi": "10.5555/ladle.7"})
    assert [(each.name, each.orcid) for each in found.authors] == [
        ("Anna Spoon", "0000-0002-1825-0097"),
        ("Ben Fork", ""),
    ]
    assert found.authors[0].affiliations == ("Kitchen Institute",)
    assert found.dates == {"published": "2021-05-03"}
    assert texts(paper.blocks, "heading") == ["Abstract", "Introduction", "Pots", "References"]
    assert texts(paper.blocks, "abstract") == ["They are long."]
    assert texts(paper.blocks, "figure") == ["A ladle."]
    assert [each.reference.ids for each in paper.blocks if each.reference is not None] == [
        {"doi": "10.5555/pots"},
        {},
    ]
    assert not any("Home" in each.text or "Imprint" in each.text for each in paper.blocks)


def test_a_text_is_read_by_its_headings(tmp_path: Path) -> None:
    paper = read(tmp_path, TEXT, "paper.txt")

    assert paper.metadata.title == "Ladles of the south"
    assert paper.metadata.ids == {"doi": "10.5555/ladle.8"}
    assert texts(paper.blocks, "abstract") == [
        "They are short, and it is unknown why they were made so short."
    ]
    assert texts(paper.blocks, "heading") == ["Introduction", "Results", "References"]
    assert "This paragraph is broken over lines." in texts(paper.blocks, "paragraph")[1]
    assert [each.reference.ids for each in paper.blocks if each.reference is not None] == [
        {"doi": "10.5555/pots"},
        {"pmid": "12345"},
    ]


def test_a_pdf_is_read_column_by_column(tmp_path: Path) -> None:
    paper = read(tmp_path, ferries(), "ferries.pdf")

    assert paper.metadata.title == "Night ferries and the sleep of harbour towns"
    assert paper.metadata.ids == {"doi": "10.5555/stateward.ferry.3"}
    assert texts(paper.blocks, "heading") == [
        "Abstract", "Introduction", "Methods", "Timetables", "Results", "Discussion", "References",
    ]  # fmt: skip
    assert len(texts(paper.blocks, "reference")) == 3
    assert "halved the number of awakenings" in paper.metadata.abstract
    assert [each.name for each in paper.metadata.authors] == ["Anna Pier", "Ben Quay"]
    assert (paper.metadata.year, [each.code for each in paper.notes]) == (
        2023,
        ["AUTHORS_FROM_LAYOUT"],
    )


class FakeRecognizer:
    """OCR that finds a title, a heading and two lines, in pixels of a page at 200 dpi."""

    lines = (("Bread by candlelight", 48), ("Methods", 30), ("We baked bread", 20), ("and ate it.", 20))  # fmt: skip

    def read(self, picture: object) -> OcrPage:
        found: list[OcrLine] = []
        for at, (text, height) in enumerate(self.lines):
            box = (200.0, 300.0 + 70 * at - height, 700.0, 300.0 + 70 * at)
            found.append(OcrLine(text, box, 90, [OcrWord(text, box, 90)], box[3]))
        return OcrPage(1654, 2339, 0, found)


def test_a_scanned_paper_is_read_by_ocr_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stateward.pipelines.kit.ocr.Recognizer", FakeRecognizer)

    paper = read(tmp_path, broken.picture(1), "scan.pdf")

    assert paper.metadata.title == "Bread by candlelight"
    assert texts(paper.blocks, "heading") == ["Methods"]
    assert "SCANNED" in {note.code for note in paper.notes}
    monkeypatch.setattr(FakeRecognizer, "lines", ())
    with pytest.raises(FatalFailure) as refused:
        read(tmp_path, broken.picture(1), "scan.pdf")
    assert refused.value.code == "NO_TEXT"


def test_what_the_pages_of_a_pdf_repeat_is_no_text(tmp_path: Path) -> None:
    long = [Section(each.heading, [*each.paragraphs] * 6) for each in SECTIONS]
    data = two_columns(
        "A title over two columns that is long enough to be broken into two lines",
        authors="A. B.",
        doi="10.5555/long",
        abstract="Short.",
        sections=long,
        references=["[1] One. 2001.", "[2] Two. 2002."],
    )

    paper = read(tmp_path, data, "long.pdf")

    assert paper.metadata.title.endswith("to be broken into two lines")
    assert not any("Journal of Invented Harbours" in each.text for each in paper.blocks)
    expected = sum(len(each.paragraphs) for each in long)
    assert len(texts(paper.blocks, "paragraph")) == expected + 2  # authors and DOI
    assert len(texts(paper.blocks, "reference")) == 2


def test_the_script_makes_the_sample_that_ships() -> None:
    assert (SAMPLES / "night-ferries.pdf").read_bytes() == ferries()


ENTITY_BOMB = (
    '<!DOCTYPE article [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><article><front/>&b;</article>'
)
SEVERAL = (SAMPLES / "rye-bread.xml").read_text("utf-8")
SEVERAL = SEVERAL.replace(
    "</PubmedArticleSet>",
    SEVERAL[SEVERAL.index("<PubmedArticle>") : SEVERAL.index("</PubmedArticleSet>")]
    + "</PubmedArticleSet>",
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"\x00\x00\x00", "EMPTY_DOCUMENT"),
        (ENTITY_BOMB.encode(), "HOSTILE_FILE"),
        (PMC[: len(PMC) // 2].encode(), "CORRUPT_FILE"),
        (b"<article>" * 5000, "CORRUPT_FILE"),
        (b"<article/>", "EMPTY_DOCUMENT"),
        (b"<invoice><a/></invoice>", "UNSUPPORTED_FORMAT"),
        (b'{"title": "Weirs and mills", "year": 2019}', "UNSUPPORTED_FORMAT"),
        (b'[ {"id": "weir2019", "type": "article-journal"} ]', "UNSUPPORTED_FORMAT"),
        (b"#!/bin/sh\necho Weirs and mills\n", "UNSUPPORTED_FORMAT"),
        (b"PK\x03\x04" + b"\x00" * 100, "UNSUPPORTED_FORMAT"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, "UNSUPPORTED_FORMAT"),
        (b"%PDF-1.7 torn", "CORRUPT_FILE"),
        (ferries()[:1500], "CORRUPT_FILE"),
        (bytes(range(256)) * 40, "UNSUPPORTED_FORMAT"),
        (SEVERAL.encode(), "SEVERAL_PAPERS"),
        (
            b"<?xml version='1.0' encoding='utf-8'?><article><p>\xff\xfe</p></article>",
            "CORRUPT_FILE",
        ),
        (b"<html></html>", "EMPTY_DOCUMENT"),
    ],
)
def test_what_is_no_paper_is_refused_with_a_code(tmp_path: Path, data: bytes, code: str) -> None:
    with pytest.raises(FatalFailure) as refused:
        read(tmp_path, data)

    assert refused.value.code == code


def test_an_external_entity_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    data = f'<!DOCTYPE article SYSTEM "file://{secret}"><article><body><p>A &unknown; B</p></body></article>'

    paper = read(tmp_path, data)

    assert texts(paper.blocks, "paragraph") == ["A &unknown; B"]
    assert [note.code for note in paper.notes] == ["UNKNOWN_ENTITY"]


def test_a_title_loses_marks_of_notes_and_keeps_references_that_are_words_of_it(
    tmp_path: Path,
) -> None:
    paper = read(
        tmp_path,
        '<article><front><article-meta><title-group><article-title>Soup<xref ref-type="fn" rid="n">1</xref> of the'
        " south<sup>[<xref>2</xref>]</sup><xref>*</xref></article-title></title-group></article-meta></front><body>"
        '<sec><title>Models of <xref ref-type="fig" rid="f5">Figure 5</xref></title><p>One.</p></sec>'
        '<sec><title>After <xref ref-type="bibr">Firpo (2007</xref>)<xref ref-type="bibr"><sup>25</sup></xref></title>'
        "<p>Two.</p></sec></body></article>",
    )

    assert paper.metadata.title == "Soup of the south"
    assert texts(paper.blocks, "heading") == ["Models of Figure 5", "After Firpo (2007)"]


def test_a_name_that_the_source_takes_apart_in_one_string_is_a_name(tmp_path: Path) -> None:
    paper = read(
        tmp_path,
        "<article><front><article-meta><title-group><article-title>Soup</article-title></title-group><contrib-group>"
        "<contrib><string-name><given-names>Ann</given-names><surname>Roe</surname></string-name></contrib>"
        "<contrib><string-name>Jan van Dam</string-name></contrib></contrib-group></article-meta></front></article>",
    )

    assert paper.metadata.authors == [
        Author(name="Ann Roe", surname="Roe", given="Ann"),
        Author(name="Jan van Dam"),
    ]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2.1 Trace trees", 2), ("4 AI", 1), ("B. Limits of the method", 1), ("2 R\u02d9", 0), ("3 x = y", 0),
        ("B. Karp, H.T. Kung, GPSR: greedy perimeter", 0), ("7. Kopp, O., Armbruster, A.: Decision records", 0),
        ("1 CELCT, Trento, Italy (forner@celct.it)", 0),
    ],
)  # fmt: skip
def test_a_numbered_line_is_a_heading_if_it_reads_as_one(line: str, level: int) -> None:
    assert heading_level(line) == level


def test_large_formulas_authors_and_addresses_are_no_headings() -> None:
    front = [("Soup of the south", 1), ("Anna Spoon and Jan Ladle", 1), ("1 Kitchen of Samples", 1)]
    text = [
        ("Abstract.", 1),
        ("We cook.", 1),
        ("1 Salt", 1),
        ("\u222b\u03c8 dx =", 2),
        ("T", 2),
        ("Results", 2),
    ]
    pieces = [
        Piece(words, Place(page=page), size=14.0, is_large=words != "We cook.")
        for words, page in front + text
    ]

    paper = paper_of(pieces, format_="pdf")

    assert texts(paper.blocks, "heading") == ["Abstract.", "Salt", "Results"]
    assert paper.metadata.abstract == "We cook."
    assert texts(paper.blocks, "paragraph") == [
        "Anna Spoon and Jan Ladle", "1 Kitchen of Samples", "\u222b\u03c8 dx =", "T",
    ]  # fmt: skip


def test_a_title_of_a_pdf_is_words_and_not_the_larger_address_of_its_authors() -> None:
    place = Place(page=1, box=(50.0, 60.0, 300.0, 80.0))
    address = Piece("{ann,bob}@example.org", place, size=17.0, is_large=True)
    title = Piece("Ladles of the south", place, size=14.0, is_large=True)

    assert _title_first([address, title], 800.0)[0] is title


def test_a_doi_that_a_line_breaks_is_whole_and_a_year_after_one_is_no_part_of_it() -> None:
    assert (
        ids_in("doi:10.5555/journal.soup. 0107412 Editor")["doi"] == "10.5555/journal.soup.0107412"
    )
    assert ids_in("doi:10.5555/journal.soup. 2014")["doi"] == "10.5555/journal.soup"
    assert ids_in("doi:10.5555/abc. 10115 Berlin")["doi"] == "10.5555/abc"
    assert ids_in("doi:10.5555/abc- 10115")["doi"] == "10.5555/abc-10115"


def test_the_number_of_a_heading_stays_with_its_words_and_columns_stay_apart() -> None:
    def row(*words: tuple[str, float]) -> list[str]:
        found = [PdfWord(text, x, 10.0, x + 6.0 * len(text), 20.0, 18.0, 0) for text, x in words]
        return [" ".join(each.text for each in part) for part in row_parts(found)]

    assert row(("2.1", 50.0), ("Trees", 88.0)) == ["2.1 Trees"]
    assert row(("trees", 50.0), ("Leaves", 100.0)) == ["trees", "Leaves"]
    assert row(("2", 50.0), ("Leaves", 300.0)) == ["2", "Leaves"]
