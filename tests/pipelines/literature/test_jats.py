"""JATS as publishers write it: elements that JATS does not name, namespaces, several citations, notices of concern."""

from pathlib import Path

import pytest

from stateward.pipelines.literature.evaluate import own_truth
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
