"""JATS as publishers write it: elements that JATS does not name, namespaces, several citations, notices of concern."""

from pathlib import Path

import msgspec
import pytest

from stateward.pipelines.literature.evaluate import own_truth
from stateward.pipelines.literature.finding import paper_document
from stateward.pipelines.literature.paper import Paper
from tests.pipelines.literature.articles import SAMPLES, read, texts

TITLE = "<title-group><article-title>Beetles</article-title></title-group>"


def article(folder: Path, inside: str, meta: str = "", attributes: str = "") -> Paper:
    front = f"<front><article-meta>{TITLE}{meta}</article-meta></front>"
    return read(folder, f"<article{attributes}>{front}{inside}</article>")


def test_an_element_that_is_not_known_hides_no_block(tmp_path: Path) -> None:
    paper = article(
        tmp_path,
        '<body><sec><title>Results</title><tp:treatment xmlns:tp="urn:taxa"><tp:name>Bruchus</tp:name><tp:sec><title>'
        "Material</title><p>Two males.</p></tp:sec></tp:treatment></sec></body>",
    )

    found = [(each.kind, each.text, each.section) for each in paper.blocks[1:]]
    assert found == [
        ("heading", "Results", ()),
        ("paragraph", "Bruchus", ("Results",)),
        ("heading", "Material", ("Results",)),
        ("paragraph", "Two males.", ("Results", "Material")),
    ]
    assert [each.of for each in paper.blocks[1:]] == ["", "", "sec", ""]


def test_text_outside_of_body_and_paragraphs_is_read(tmp_path: Path) -> None:
    paper = article(
        tmp_path,
        "<processing-meta><restricted-by>pmc</restricted-by></processing-meta><article-body><p>One.</p></article-body>"
        "<body>Two.<p>Three.</p> Four.</body>",
    )

    assert texts(paper.blocks, "paragraph") == ["One.", "Two.", "Three.", "Four."]


def test_several_citations_under_one_number_are_all_read(tmp_path: Path) -> None:
    cited = "<mixed-citation>{}. <source>J</source> <year>{}</year></mixed-citation>"
    paper = article(
        tmp_path,
        f"<back><ref-list><ref><label>1</label>{cited.format('Roe', 2001)} {cited.format('Poe', 2002)}</ref></ref-list>"
        "</back>",
    )

    (block,) = [each for each in paper.blocks if each.kind == "reference"]
    assert (block.label, block.text) == ("1", "Roe. J 2001 Poe. J 2002")
    assert block.reference is not None
    assert block.reference.year == "2001"


@pytest.mark.parametrize(
    ("cited", "text"),
    [
        ("<mixed-citation>{}. {}.</mixed-citation>", "Roe. 2001. Poe. 2002."),
        (
            "<element-citation><name><surname>{}</surname></name><source>J</source><year>{}</year></element-citation>",
            "Roe. (2001). J. Poe. (2002). J.",
        ),
    ],
)
def test_several_citations_under_one_number_stay_apart(
    tmp_path: Path, cited: str, text: str
) -> None:
    both = cited.format("Roe", 2001) + cited.format("Poe", 2002)

    paper = article(
        tmp_path, f"<back><ref-list><ref><label>1</label>{both}</ref></ref-list></back>"
    )

    assert texts(paper.blocks, "reference") == [text]


def test_what_looks_like_a_namespace_in_a_text_is_text(tmp_path: Path) -> None:
    told = 'write <![CDATA[<a xmlns="urn:a"> or]]> xmlns="urn:b" here'

    paper = article(tmp_path, f"<body><p>{told}</p></body>", attributes='\nxmlns="urn:jats"')

    assert paper.metadata.title == "Beetles"
    assert texts(paper.blocks, "paragraph") == ['write <a xmlns="urn:a"> or xmlns="urn:b" here']


@pytest.mark.parametrize("is_inherited", [False, True])
def test_an_article_in_a_default_namespace_is_an_article(
    tmp_path: Path, *, is_inherited: bool
) -> None:
    own = "" if is_inherited else ' xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/"'
    front = f"<front><article-meta>{TITLE}</article-meta></front>"
    data = (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><GetRecord><record><metadata>'
        f"<article{own}>{front}<body><p>One.</p></body></article></metadata></record></GetRecord></OAI-PMH>"
    )

    paper = read(tmp_path, data)

    assert paper.metadata.title == "Beetles"
    (block,) = [each for each in paper.blocks if each.kind == "paragraph"]
    assert data[block.where.start : block.where.end] == "<p>One.</p>"


def test_a_paper_of_which_a_publisher_is_in_doubt_is_marked(tmp_path: Path) -> None:
    related = '<related-article related-article-type="concern-forward"/>'
    pubmed = (SAMPLES / "rye-bread.xml").read_text("utf-8")
    doubted = pubmed.replace(
        "</MedlineCitation>",
        '<CommentsCorrectionsList><CommentsCorrections RefType="ExpressionOfConcernIn"><RefSource>X. 2023</RefSource>'
        "</CommentsCorrections></CommentsCorrectionsList></MedlineCitation>",
    )

    assert article(tmp_path, "", related).metadata.retraction == "concern"
    assert read(tmp_path, doubted).metadata.retraction == "concern"


def test_who_paid_for_a_paper_is_not_its_type(tmp_path: Path) -> None:
    data = (SAMPLES / "rye-bread.xml").read_text("utf-8")
    types = ("Research Support, Non-U.S. Gov't", "Journal Article", "Randomized Controlled Trial")
    listed = "".join(f"<PublicationType>{each}</PublicationType>" for each in types)
    start, end = data.index("<PublicationTypeList>"), data.index("</PublicationTypeList>")

    found = read(tmp_path, f"{data[:start]}<PublicationTypeList>{listed}{data[end:]}").metadata

    assert found.type == "Randomized Controlled Trial"


def test_both_readings_find_the_whole_name_of_a_group(tmp_path: Path) -> None:
    group = (
        "<collab>The <italic>Soup</italic> Staff<contrib-group><contrib/></contrib-group></collab>"
    )
    meta = f"<contrib-group><contrib>{group}</contrib></contrib-group>"

    paper = article(tmp_path, "<body><p>One.</p></body>", meta)

    truth = own_truth(tmp_path / "article.xml")
    assert truth is not None
    assert truth["authors"] == [each.name for each in paper.metadata.authors] == ["The Soup Staff"]


def test_an_abstract_that_is_called_one_is_the_abstract(tmp_path: Path) -> None:
    teaser = '<abstract abstract-type="teaser"><p>Read on!</p></abstract>'
    named = '<abstract abstract-type="standard"><p>Beetles eat peas.</p></abstract>'

    paper = article(tmp_path, "", teaser + named)
    assert paper.metadata.abstract == "Beetles eat peas."
    assert [each.type for each in paper.metadata.other_abstracts] == ["teaser"]
    unnamed = article(tmp_path, "", f"{named}<abstract><p>Peas.</p></abstract>")
    assert unnamed.metadata.abstract == "Peas."
    assert article(tmp_path, "", teaser).metadata.abstract == ""


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        (
            "<label>1</label><institution-wrap><institution-id>https://ror.org/019</institution-id><institution>"
            "Entomology</institution><institution>University of Lund</institution></institution-wrap>"
            "<country>Sweden</country>",
            "Entomology, University of Lund, Sweden",
        ),
        (
            "<institution-wrap><institution-id>grid.9851.5</institution-id><institution>University of Lund"
            "</institution></institution-wrap>, Sweden",
            "University of Lund, Sweden",
        ),
        ("<sup>a</sup>University of Lund, Sweden", "University of Lund, Sweden"),
    ],
)
def test_an_affiliation_has_neither_numbers_nor_marks(
    tmp_path: Path, given: str, read_as: str
) -> None:
    contrib = (
        '<contrib><name><surname>Roe</surname></name><xref ref-type="aff" rid="a1"/></contrib>'
    )
    paper = article(
        tmp_path, "", f'<contrib-group>{contrib}<aff id="a1">{given}</aff></contrib-group>'
    )

    (author,) = paper.metadata.authors
    assert author.affiliations == (read_as,)


def test_an_author_with_several_spellings_has_the_first(tmp_path: Path) -> None:
    spelt = "<string-name><given-names>{}</given-names><surname>{}</surname></string-name>"
    both = spelt.format("Yu", "Fang") + spelt.format("瑜", "方")
    contrib = f"<contrib><name-alternatives>{both}</name-alternatives></contrib>"
    paper = article(tmp_path, "", f"<contrib-group>{contrib}</contrib-group>")

    (author,) = paper.metadata.authors
    assert (author.name, author.surname) == ("Yu Fang", "Fang")


@pytest.mark.parametrize("between", ["></name><", " ></name\n><", "></name><!-- and --><"])
def test_parts_of_a_citation_that_nothing_separates_are_words_of_their_own(
    tmp_path: Path, between: str
) -> None:
    names = (
        f"<name><surname>Roe</surname><given-names>A</given-names{between}"
        "name><surname>Poe</surname><given-names>B</given-names></name>"
    )
    paper = article(
        tmp_path,
        f"<back><ref-list><ref><mixed-citation><person-group>{names}</person-group><source>J<sup>2</sup></source>, "
        '<fpage>35</fpage><pub-id pub-id-type="doi">10.5555/1</pub-id>.</mixed-citation></ref></ref-list></back>',
    )

    assert texts(paper.blocks, "reference") == ["Roe A, Poe B J2, 35 10.5555/1."]


def test_an_article_whose_document_type_declares_nothing_is_read_with_its_greek_letters(
    tmp_path: Path,
) -> None:
    paper = read(
        tmp_path,
        '<!DOCTYPE article SYSTEM "jats.dtd"[ ]><article><front><article-meta><title-group><article-title>'
        "&rgr;-Virginids and &OHgr;</article-title></title-group></article-meta></front></article>",
    )

    assert paper.metadata.title == "\u03c1-Virginids and \u03a9"
    assert [each.code for each in paper.notes] == ["NO_BODY"]  # every letter is known


def test_dates_of_publication_are_told_by_their_form_and_sending_in_is_none(tmp_path: Path) -> None:
    print_date = '<pub-date date-type="pub" publication-format="print"><month>3</month><year>2021</year></pub-date>'
    online = '<pub-date date-type="pub" publication-format="electronic"><month>12</month><year>2020</year></pub-date>'
    sent = '<pub-date pub-type="nihms-submitted"><year>2014</year></pub-date>'

    both = article(tmp_path, "", print_date + online).metadata
    manuscript = article(
        tmp_path, "", f'{sent}<pub-date pub-type="ppub"><year>2015</year></pub-date>'
    ).metadata

    assert (both.dates, both.year) == ({"ppub": "2021-03", "epub": "2020-12"}, 2020)
    assert manuscript.dates == {"nihms-submitted": "2014", "ppub": "2015"}
    assert manuscript.year == 2015


def test_an_eastern_name_begins_with_the_surname_in_both_readings(tmp_path: Path) -> None:
    name = (
        '<name name-style="eastern"><surname>山田</surname><given-names>花子</given-names></name>'
    )
    paper = article(
        tmp_path, "", f"<contrib-group><contrib>{name}</contrib></contrib-group>"
    ).metadata
    truth = own_truth(tmp_path / "article.xml")

    assert [each.name for each in paper.authors] == ["山田 花子"]
    assert truth is not None
    assert truth["authors"] == ["山田 花子"]


@pytest.mark.parametrize(
    "place",
    [
        '<aff-alternatives id="a1"><aff xml:lang="ja"><label>*</label><institution>雲大学</institution></aff>'
        '<aff xml:lang="en"><institution>Kumo University</institution></aff></aff-alternatives>',
        '<aff id="a1"><label>*</label><institution content-type="original">雲大学</institution>'
        '<institution content-type="orgname">大学</institution><country>日本</country></aff>',
    ],
)
def test_an_affiliation_that_is_given_in_several_ways_is_the_first(
    tmp_path: Path, place: str
) -> None:
    author = (
        "<contrib><name><surname>山田</surname></name><xref ref-type='aff' rid='a1'/></contrib>"
    )
    paper = article(tmp_path, "", f"<contrib-group>{author}{place}</contrib-group>")

    assert [each.affiliations for each in paper.metadata.authors] == [("雲大学",)]


@pytest.mark.parametrize(
    ("title", "read_as"),
    [
        ('Peas<xref ref-type="fn"><sup>1</sup></xref>: a war', "Peas: a war"),
        ('Peas<xref ref-type="fn">*</xref>and war', "Peas and war"),
        ("Peas</article-title><subtitle>A war</subtitle><article-title>", "Peas: A war"),
        ("Peas?</article-title><subtitle>A war</subtitle><article-title>", "Peas? A war"),
    ],
)
def test_a_title_is_whole_and_a_mark_of_a_note_leaves_no_blank_before_a_colon(
    tmp_path: Path, title: str, read_as: str
) -> None:
    group = f"<title-group><article-title>{title}</article-title></title-group>"
    paper = read(
        tmp_path, f"<article><front><article-meta>{group}</article-meta></front></article>"
    )
    truth = own_truth(tmp_path / "article.xml")

    assert paper.metadata.title == paper.blocks[0].text == read_as
    assert truth is not None
    assert "subtitle" not in title or truth["title"] == read_as


@pytest.mark.parametrize(
    "other",
    [
        '<trans-title-group xml:lang="de"><trans-title>Käfer</trans-title><trans-subtitle>im Krieg</trans-subtitle>'
        "</trans-title-group>",
        '<trans-title xml:lang="de">Käfer: im Krieg</trans-title>',
    ],
)
def test_a_title_in_another_language_is_kept_and_finds_the_paper(
    tmp_path: Path, other: str
) -> None:
    group = TITLE.replace("</title-group>", f"{other}</title-group>")
    paper = read(
        tmp_path, f"<article><front><article-meta>{group}</article-meta></front></article>"
    )

    document = paper_document({"metadata": msgspec.to_builtins(paper.metadata)}, [])

    assert paper.metadata.title == "Beetles"
    (found,) = paper.metadata.other_titles
    assert (found.text, found.language) == ("Käfer: im Krieg", "de")
    assert document.texts["title"] == "Käfer: im Krieg"


@pytest.mark.parametrize("is_printed_first", [True, False])
def test_a_reference_that_is_printed_and_taken_apart_is_both(
    tmp_path: Path, *, is_printed_first: bool
) -> None:
    printed = "<mixed-citation>1. Silva A. A rede. São Paulo: Fio; 1998.</mixed-citation>"
    apart = (
        "<element-citation><name><surname>Silva</surname><given-names>A</given-names></name><source>A rede</source>"
        "<year>1998</year></element-citation>"
    )
    both = printed + apart if is_printed_first else apart + printed
    paper = article(
        tmp_path, f"<back><ref-list><ref><label>1</label>{both}</ref></ref-list></back>"
    )

    (block,) = [each for each in paper.blocks if each.kind == "reference"]
    assert block.text == "Silva A. A rede. São Paulo: Fio; 1998."
    assert block.reference is not None
    assert (block.reference.authors, block.reference.year) == (("Silva A",), "1998")
    assert (block.reference.label, block.reference.source) == ("1", "A rede")


def test_cells_of_a_table_stand_in_their_columns(tmp_path: Path) -> None:
    table = (
        "<table><thead><tr><th rowspan='2'>County</th><th colspan='2'>Gates</th></tr><tr><th>Oiled</th><th>Dry</th>"
        "</tr></thead><tbody><tr><td rowspan='2'>Cork</td><td>600</td><td rowspan='9'>2</td></tr><tr><td>4</td></tr>"
        "</tbody><tbody><tr><td>Kerry</td><td>5</td><td>6</td></tr></tbody></table>"
    )
    jats = article(tmp_path, f"<body><table-wrap>{table}</table-wrap></body>")
    page = read(tmp_path, f"<html><body><h1>Gates</h1>{table}</body></html>", "page.html")

    for paper in (jats, page):
        (block,) = [each for each in paper.blocks if each.kind == "table"]
        assert block.rows == [
            ["County", "Gates", ""],
            ["", "Oiled", "Dry"],
            ["Cork", "600", "2"],
            ["", "4", ""],
            ["Kerry", "5", "6"],
        ]


def test_a_name_that_pubmed_calls_misspelt_is_no_further_author(tmp_path: Path) -> None:
    data = (SAMPLES / "rye-bread.xml").read_text("utf-8")
    wrong = '<Author ValidYN="N"><LastName>Wrng</LastName></Author>'
    assert data.count("</AuthorList>") == 1

    found = read(tmp_path, data.replace("</AuthorList>", f"{wrong}</AuthorList>")).metadata

    assert found.authors
    assert "Wrng" not in [each.name for each in found.authors]


@pytest.mark.parametrize(
    ("kind", "inside", "text"),
    [
        ("heading", "<sec><title>Salt<break/>and peas</title></sec>", "Salt and peas"),
        (
            "list_item",
            "<list><list-item><p>Salt.</p><p>Peas.</p></list-item></list>",
            "Salt. Peas.",
        ),
        ("footnote", "<fn-group><fn><p>Salt.</p><p>Peas.</p></fn></fn-group>", "Salt. Peas."),
        ("quote", "<disp-quote><p>Salt.</p><p>Peas.</p></disp-quote>", "Salt. Peas."),
        (
            "list_item",
            "<def-list><def-item><term>PCR</term><def><p>A chain.</p></def></def-item></def-list>",
            "PCR A chain.",
        ),
        (
            "table",
            "<table-wrap><table-wrap-foot><fn><p>Salt.</p></fn><fn><p>Peas.</p></fn></table-wrap-foot></table-wrap>",
            "Salt. Peas.",
        ),
        ("paragraph", "<p>Let<disp-formula>x=1</disp-formula>be.</p>", "Let x=1 be."),
        ("paragraph", "<p><b>Let</b><disp-formula>x=1</disp-formula></p>", "Let x=1"),
    ],
)
def test_words_of_two_lines_are_two_words(
    tmp_path: Path, kind: str, inside: str, text: str
) -> None:
    paper = article(tmp_path, f"<body>{inside}</body>")

    assert texts(paper.blocks, kind) == [text]


def test_a_cell_keeps_the_words_of_its_paragraphs_apart(tmp_path: Path) -> None:
    cells = (
        "<tr><td><p>Salt</p><p>and peas</p></td><td>Salt<break/>and peas</td>"
        "<td><bold>H</bold><sub>2</sub><bold>O</bold></td></tr>"
    )
    paper = article(tmp_path, f"<body><table-wrap><table>{cells}</table></table-wrap></body>")

    assert paper.blocks[1].rows == [["Salt and peas", "Salt and peas", "H2O"]]


def test_an_editor_is_no_author_of_a_chapter_and_stands_for_a_book(tmp_path: Path) -> None:
    group = '<person-group person-group-type="{}"><name><surname>{}</surname></name></person-group>'
    author, editor = group.format("author", "Wing"), group.format("editor", "Page")
    cited = "<ref><element-citation>{}<source>Moths</source></element-citation></ref>"
    listed = cited.format(author + editor) + cited.format(editor)
    paper = article(tmp_path, f"<back><ref-list>{listed}</ref-list></back>")

    found = [each.reference.authors for each in paper.blocks if each.reference is not None]
    assert found == [("Wing",), ("Page",)]


def test_small_parts_of_the_front_are_read_as_they_are_written(tmp_path: Path) -> None:
    paper = article(
        tmp_path,
        "<body><fig-group><label>Figure 1</label><caption><p>All.</p></caption><fig><label>a</label></fig></fig-group>"
        "</body>",
        '<contrib-group><contrib contrib-type="Author"><name><surname>Light</surname></name></contrib></contrib-group>'
        '<pub-date pub-type="epub"><day>31</day><month>2</month><year>2021</year></pub-date>'
        '<permissions><license><ali:license_ref xmlns:ali="http://www.niso.org/schemas/ali/1.0/">https://x.example/by'
        "</ali:license_ref><license-p>Open.</license-p></license></permissions>"
        "<kwd-group><kwd>moth</kwd><nested-kwd><kwd>silk moth</kwd></nested-kwd></kwd-group>",
    )

    found = paper.metadata
    assert [each.name for each in found.authors] == ["Light"]
    assert found.dates == {"epub": "2021-02"}, "there is no such day"
    assert (found.licence.url, found.licence.text) == ("https://x.example/by", "Open.")
    assert found.keywords == ["moth", "silk moth"]
    assert [(each.label, each.text) for each in paper.blocks if each.kind == "figure"] == [
        ("Figure 1", "All."),
        ("a", ""),
    ]


@pytest.mark.parametrize(
    ("pages", "first", "last"),
    [
        ("S12-9; quiz S30", "S12", "S19"),
        ("1865-76", "1865", "1876"),
        ("e5", "e5", ""),
        ("12, 14", "12", ""),
    ],
)
def test_pages_of_pubmed_are_whole(tmp_path: Path, pages: str, first: str, last: str) -> None:
    data = (SAMPLES / "rye-bread.xml").read_text("utf-8")
    start, end = data.index("<MedlinePgn>") + len("<MedlinePgn>"), data.index("</MedlinePgn>")

    found = read(tmp_path, data[:start] + pages + data[end:]).metadata

    assert (found.first_page, found.last_page) == (first, last)
