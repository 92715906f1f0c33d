"""Search: stems, ranking, passages, filters, citations, and the measure of all that."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stateward.app import App
from stateward.cli import cli
from stateward.core.errors import InvalidRequest
from stateward.pipelines.literature.citations import bibtex, csl_json, ris
from stateward.pipelines.literature.finding import condition
from stateward.pipelines.literature.lists import entries_of
from stateward.pipelines.literature.paper import Author, Journal, Metadata
from stateward.pipelines.literature.ranking import PaperIndex, ndcg
from stateward.pipelines.literature.retrieval import judge
from stateward.pipelines.literature.stemming import stem, terms_of
from tests.pipelines.literature.articles import SAMPLES


@pytest.mark.parametrize(
    ("word", "expected"),
    # From the examples of "An algorithm for suffix stripping" (1980).
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("feed", "feed"), ("agreed", "agre"),
        ("plastered", "plaster"), ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"), ("hopping", "hop"),
        ("falling", "fall"), ("filing", "file"), ("happy", "happi"), ("sky", "sky"), ("relational", "relat"),
        ("conditional", "condit"), ("digitizer", "digit"), ("operator", "oper"), ("feudalism", "feudal"),
        ("decisiveness", "decis"), ("triplicate", "triplic"), ("formative", "form"), ("electrical", "electr"),
        ("revival", "reviv"), ("adjustable", "adjust"), ("adoption", "adopt"), ("effective", "effect"),
        ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controlling", "control"), ("rolling", "roll"),
        ("it's", "it"), ("covid19", "covid19"), ("\u03bb", "\u03bb"),
    ],
)  # fmt: skip
def test_words_are_reduced_to_their_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_frequent_words_and_accents_do_not_count() -> None:
    assert terms_of("The Caf\u00e9s of the na\u00efve") == ["cafe", "naiv"]


def an_index() -> PaperIndex:
    index = PaperIndex()
    index.add("title", {"title": "Bread", "body": "Nothing else is said here of anything."})
    index.add(
        "body",
        {"title": "Soup", "body": "Somebody dropped bread into a very long soup of many words."},
    )
    index.add("none", {"title": "Ladles", "body": "They are long."})
    return index


def test_a_word_in_the_title_counts_more_than_one_in_the_body() -> None:
    hits = an_index().search("breads", limit=10)

    assert [hit.key for hit in hits] == ["title", "body"]
    assert hits[0].terms[0][0] == "bread"


def test_an_unknown_word_finds_nothing() -> None:
    assert an_index().search("zebra", limit=10) == []


def test_the_measure_knows_the_best_order() -> None:
    assert ndcg(["a", "b"], {"a": 1.0, "b": 1.0}, depth=10) == 1.0
    assert ndcg(["x", "a"], {"a": 1.0}, depth=10) == pytest.approx(0.6309, abs=0.0001)
    assert ndcg(["x"], {}, depth=10) == 0.0


def test_filters_are_understood_or_refused() -> None:
    paper = Metadata(format="jats", year=2020, journal=Journal(title="eLife"))

    assert condition("year>=2020")(paper)
    assert condition("year<2021")(paper)
    assert not condition("year!=2020")(paper)
    assert condition("journal = elife")(paper)
    assert not condition("year>1")(Metadata(format="jats"))
    for wrong in ("year", "colour=red", "year>soon", "journal>a"):
        with pytest.raises(InvalidRequest):
            condition(wrong)


PAPER = Metadata(
    format="jats",
    title="Salt & sugar: 50% of {soups}",
    ids={"doi": "10.5555/SJ_1", "pmid": "1"},
    authors=[
        Author(name="P J O'Neill Jr", surname="O'Neill", given="P J", suffix="Jr"),
        Author(name="SOUP & Co", is_group=True),
    ],
    journal=Journal(title="Soups"),
    dates={"epub": "2010-11-02", "ppub": "2011"},
    year=2010,
    first_page="1",
    last_page="9",
)


def test_citations_are_what_reference_managers_read() -> None:
    tex = bibtex([PAPER, PAPER])
    assert r"title = {Salt \& sugar: 50\% of \{soups\}}" in tex
    assert r"author = {O'Neill, Jr, P J and {SOUP \& Co}}" in tex
    assert "@article{oneill2010salt,\n" in tex
    assert "@article{oneill2010salt-2,\n" in tex
    text = ris([PAPER])
    assert text.startswith("TY  - JOUR\r\nTI  - Salt & sugar")
    assert "AU  - O'Neill, P J, Jr\r\nAU  - SOUP & Co\r\n" in text
    (entry,) = json.loads(csl_json([PAPER]))
    assert entry["issued"] == {"date-parts": [[2010, 11, 2]]}
    assert entry["author"][1] == {"literal": "SOUP & Co"}


def test_what_is_cited_can_be_added_again() -> None:
    for text in (bibtex([PAPER]), ris([PAPER])):
        (entry,) = entries_of(text)
        assert (entry.ids, entry.year) == ({"doi": "10.5555/SJ_1", "pmid": "1"}, 2010)


def run(data: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--data", str(data), "literature", *args])


def test_sample_papers_are_found_cited_and_printed(tmp_path: Path) -> None:
    run(tmp_path, "add", str(SAMPLES))
    with App.embedded(tmp_path) as app:
        app.run_until_idle()

    shown = run(tmp_path, "search", "idle mills at slack tides")
    answer = json.loads(
        run(tmp_path, "search", "satiety", "--filter", "year=2022", "--json").stdout
    )
    (paper,) = answer["results"]

    assert shown.stdout.startswith(
        "1. Tide mills and the price of slack water (Carberry et al., 2024)\n"
    )
    assert "*slack* *water*" in shown.stdout or "*slack* water" in shown.stdout
    assert paper["metadata"]["ids"]["pmid"] == "99000002"
    assert paper["passages"][0]["marks"]
    assert run(tmp_path, "search", "satiety", "--filter", "year<2022").stdout == ""
    assert run(tmp_path, "cite", paper["id"]).stdout.startswith("@article{roggen2022sourdough,\n")
    assert (
        "DO  - 10.5555/stateward.rye.2"
        in run(tmp_path, "search", "satiety", "--format", "ris").stdout
    )
    form = json.loads(run(tmp_path, "ir", paper["id"]).stdout)
    assert (form["version"], form["blocks"][0]["kind"]) == ("stateward.paper/1", "title")
    assert run(tmp_path, "search", "the of").exit_code == 4


def test_a_collection_is_judged_by_its_relevant_documents(tmp_path: Path) -> None:
    documents = "".join(
        f"<doc><docno>{number}</docno><title>{title}</title><text>{title} {text}</text></doc>"
        for number, title, text in (
            (1, "wings", "lift of wings"),
            (2, "heat", "slabs conduct heat"),
        )
    )
    (tmp_path / "cran.all.1400.xml").write_text(documents)
    (tmp_path / "cran.qry.xml").write_text(
        "<title>lift of a wing</title><title>heat in slabs</title>"
    )
    (tmp_path / "cranqrel.trec.txt").write_text("1 0 1 1\n2 0 2 3\n")

    score = judge(tmp_path)

    assert (score.documents, score.queries, score.ndcg_at_10) == (2, 2, 1.0)
    with pytest.raises(InvalidRequest):
        judge(tmp_path, queries="all")
