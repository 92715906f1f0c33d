"""Web pages of papers: words of lines that only the layout parts, and markup inside of citation tags."""

from pathlib import Path

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
