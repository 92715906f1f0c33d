"""Web pages of papers: words of lines that only the layout parts, and markup inside of citation tags."""

from pathlib import Path

import pytest

from stateward.pipelines.literature.paper import Paper
from tests.pipelines.literature.articles import read, texts


def page(folder: Path, body: str, head: str = "") -> Paper:
    return read(folder, f"<html><head>{head}</head><body>{body}</body></html>", "page.html")


def test_words_of_two_lines_are_two_words(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<h1>Ladles</h1><p>of the north<br>and south</p><ul><li><p>long</p><p>short</p></li></ul>"
        "<table><tr><td>a<br>b</td><td><p>c</p><p>d</p></td></tr></table>",
    )

    assert texts(paper.blocks, "paragraph") == ["of the north and south"]
    assert texts(paper.blocks, "list_item") == ["long short"]
    assert [each.rows for each in paper.blocks if each.kind == "table"] == [[["a b", "c d"]]]


def test_words_that_stand_in_no_paragraph_are_one_up_to_the_next(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<h1>Ladles</h1><div><a>Anna Spoon</a>, <a>Ben Pot</a></div><div>We <b>bend</b> ladles.<p>Twice.</p> So.</div>",
    )

    assert texts(paper.blocks, "paragraph") == [
        "Anna Spoon, Ben Pot",
        "We bend ladles.",
        "Twice.",
        "So.",
    ]


def test_markup_inside_of_citation_tags_is_no_text(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<p>One.</p>",
        '<meta name="citation_title" content="Ladles of &lt;i&gt;Homo&lt;/i&gt; at p &lt; 0.1">'
        '<meta name="citation_abstract" content="&lt;p&gt;Long.&lt;/p&gt;&lt;p&gt;Short.&lt;/p&gt;">',
    )

    assert paper.metadata.title == "Ladles of Homo at p < 0.1"
    assert paper.metadata.abstract == "Long. Short."


CITED = (
    '<meta name="citation_title" content="Ladles"><meta name="citation_author" content="Pot, Ben">'
)


def test_an_abstract_that_no_tag_tells_is_what_stands_below_its_heading(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<h1>Ladles</h1><div><h2>Summary</h2><h3>Aim</h3><p>We bend ladles.</p><h3>Results</h3><p>They bent.</p>"
        "<p>Twice.</p><p>Key words: ladle, spoon</p></div><h2>1 Origins</h2><p>Spoons came first.</p>",
        CITED,
    )

    assert paper.metadata.abstract == "Aim\nWe bend ladles.\nResults\nThey bent.\nTwice."
    assert not paper.notes


def test_an_abstract_without_an_end_is_in_doubt(tmp_path: Path) -> None:
    story = "<p>We bent ladles until the kettle boiled over.</p>" * 120

    paper = page(tmp_path, f"<h1>Ladles</h1><h2>Abstract</h2>{story}", CITED)

    assert [note.code for note in paper.notes] == ["DOUBTFUL_ABSTRACT"]


def test_paragraphs_below_the_heading_of_the_references_are_references(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<h1>Kellen</h1><h2>Zusammenfassung</h2><p>Kellen sind lang.</p><h2>Literatur</h2>"
        "<p>[1] Topf, B.: Deckel. Kiel. doi:10.5555/deckel</p><p>Fluss, A. Über Wasser. Hamburg 1999.</p>"
        "<p>Alle Rechte vorbehalten.</p>",
    )

    assert texts(paper.blocks, "abstract") == ["Kellen sind lang."]
    found = [each for each in paper.blocks if each.reference is not None]
    assert [each.text for each in found] == [
        "Topf, B.: Deckel. Kiel. doi:10.5555/deckel",
        "Fluss, A. Über Wasser. Hamburg 1999.",
    ]
    assert found[0].reference is not None
    assert (found[0].reference.label, found[0].reference.ids) == ("1", {"doi": "10.5555/deckel"})


def test_older_tags_and_those_of_repositories_name_authors_and_years(tmp_path: Path) -> None:
    older = page(
        tmp_path,
        "<p>One.</p>",
        '<meta name="citation_title" content="Knots"><meta name="citation_authors" content="Rope, Rita; Knot, Karl J.">'
        '<meta name="citation_year" content="2009">',
    )
    kept = page(
        tmp_path,
        "<p>One.</p>",
        '<meta name="bepress_citation_title" content="Owls">'
        '<meta name="bepress_citation_author" content="Ann Owl, PhD">'
        '<meta name="bepress_citation_author_institution" content="Barn College">'
        '<meta name="bepress_citation_doi" content="10.5555/owl"><meta name="bepress_citation_date" content="2014">',
    )

    assert [each.name for each in older.metadata.authors] == ["Rita Rope", "Karl J. Knot"]
    assert older.metadata.year == 2009
    assert [(each.name, each.affiliations) for each in kept.metadata.authors] == [
        ("Ann Owl", ("Barn College",))
    ]
    assert (kept.metadata.ids, kept.metadata.year) == ({"doi": "10.5555/owl"}, 2014)
    assert not kept.notes


def test_headings_that_open_their_section_and_lists_of_terms_are_read(tmp_path: Path) -> None:
    paper = page(
        tmp_path,
        "<h1>Knots</h1><h2><button>Abstract</button></h2><p>Knots slip.</p><h2>Terms <button>Copy</button></h2>"
        "<dl><dt>Bowline</dt><dd>A knot.</dd></dl>"
        "<h2>References</h2><div><div><span>1.</span> <span>Hitch H. 1999.</span>"
        "</div><div>2. Bend B. 2001. <a href='https://doi.org/10.5555/bend'>Crossref</a></div></div>",
    )

    assert texts(paper.blocks, "heading") == ["Abstract", "Terms", "References"]
    assert texts(paper.blocks, "abstract") == ["Knots slip."]
    assert texts(paper.blocks, "paragraph") == ["Bowline", "A knot."]
    found = [each.reference for each in paper.blocks if each.reference is not None]
    assert [(each.label, each.ids) for each in found] == [("1", {}), ("2", {"doi": "10.5555/bend"})]


LINKED = """<!DOCTYPE html><html lang="en"><head><title>Ladles | Journal</title><script type="application/ld+json">
{"@context": "https://schema.org", "mainEntity": {"@type": "ScholarlyArticle", "headline": "Ladles of the north",
 "description": "All ladles were measured.", "datePublished": "2021-04-09", "sameAs": "https://doi.org/10.5555/ladle.9",
 "author": [{"@type": "Person", "name": "Anna B. Spoon", "affiliation": [{"name": "Kitchen, Samples"}],
             "@id": "http://orcid.org/0000-0001-5109-3700"},
            {"@type": "Person", "familyName": "van de Pan", "givenName": "Joost"}],
 "isPartOf": {"@type": "PublicationIssue", "issueNumber": "3",
              "isPartOf": {"@type": "PublicationVolume",
              "volumeNumber": 12,
              "isPartOf": {"@type": "Periodical", "name": "Journal of Ladles", "issn": ["0007-0001"]}}},
 "pageStart": "17", "pageEnd": "29", "publisher": {"@type": "Organization", "name": "Oven House"}}}
</script></head><body><article><h1>Ladles of the north</h1><p>They were long.</p></article></body></html>"""


def test_a_page_without_citation_tags_tells_search_engines_of_its_paper(tmp_path: Path) -> None:
    paper = read(tmp_path, LINKED)
    found = paper.metadata

    assert (found.title, found.ids, found.year) == (
        "Ladles of the north",
        {"doi": "10.5555/ladle.9"},
        2021,
    )
    assert [(each.surname, each.given) for each in found.authors] == [
        ("Spoon", "Anna B."), ("van de Pan", "Joost"),
    ]  # fmt: skip
    assert (found.authors[0].orcid, found.authors[0].affiliations) == (
        "0000-0001-5109-3700", ("Kitchen, Samples",),
    )  # fmt: skip
    assert (found.journal.title, found.journal.issns, found.volume, found.issue) == (
        "Journal of Ladles", ("0007-0001",), "12", "3",
    )  # fmt: skip
    assert (found.first_page, found.last_page, found.journal.publisher) == (
        "17",
        "29",
        "Oven House",
    )
    assert found.abstract == "All ladles were measured."
    assert not paper.notes


@pytest.mark.parametrize("kind", ["NewsArticle", "Article", "WebPage"])
def test_other_articles_are_no_papers(tmp_path: Path, kind: str) -> None:
    paper = read(tmp_path, LINKED.replace("ScholarlyArticle", kind))

    assert [note.code for note in paper.notes] == ["NO_METADATA"]
    assert not paper.metadata.ids


def test_damaged_data_for_search_engines_are_as_if_there_were_none(tmp_path: Path) -> None:
    paper = read(tmp_path, LINKED.replace('"pageEnd": "29",', '"pageEnd": '))

    assert [note.code for note in paper.notes] == ["NO_METADATA"]
