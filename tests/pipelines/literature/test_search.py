"""Search: stems, ranking, passages, filters, citations, and the measure of all that."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from stateward.app import App
from stateward.cli import cli
from stateward.client import ApiProblem, Client
from stateward.console import console
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.core.ranking import ndcg, rank, segment, source_of
from stateward.core.stemming import stem, terms_of
from stateward.definition.search import fact_test
from stateward.pipelines.literature import PLUGIN
from stateward.pipelines.literature.citations import bibtex, csl_json, ris
from stateward.pipelines.literature.finding import RANKING, paper_document
from stateward.pipelines.literature.lists import entries_of
from stateward.pipelines.literature.paper import Author, Journal, Metadata
from stateward.pipelines.literature.retrieval import judge
from stateward.server.http_server import Server
from tests import web
from tests.pipelines.literature.articles import SAMPLES
from tests.server.api_client import settings_at


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


DOCUMENTS = (
    {"title": "Bread", "body": "Nothing else is said here of anything."},
    {"title": "Soup", "body": "Somebody dropped bread into a very long soup of many words."},
    {"title": "Ladles", "body": "They are long."},
)


def test_a_word_in_the_title_counts_more_than_one_in_the_body() -> None:
    source = source_of(segment(DOCUMENTS, RANKING, first=7))
    hits = rank(source, RANKING, "breads")

    assert [hit.number for hit in hits] == [7, 8]
    assert hits[0].terms[0][0] == "bread"
    assert 1 > hits[0].score > hits[1].score > 0
    assert rank(source, RANKING, "zebra") == []


def test_the_measure_knows_the_best_order() -> None:
    assert ndcg(["a", "b"], {"a": 1.0, "b": 1.0}, depth=10) == 1.0
    assert ndcg(["x", "a"], {"a": 1.0}, depth=10) == pytest.approx(0.6309, abs=0.0001)
    assert ndcg(["x"], {}, depth=10) == 0.0


def test_filters_are_understood_or_refused() -> None:
    known = PLUGIN.ranked[0].filters
    paper: Fields = {"year": 2020, "journal": "eLife"}

    assert fact_test("year>=2020", known)(paper)
    assert fact_test("year<2021", known)(paper)
    assert not fact_test("year!=2020", known)(paper)
    assert fact_test("journal = elife", known)(paper)
    assert not fact_test("year>1", known)({})
    for wrong in ("year", "colour=red", "year>soon", "journal>a", "year=" + "1" * 300):
        with pytest.raises(InvalidRequest):
            fact_test(wrong, known)


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


@pytest.mark.parametrize("ids", [{"arxiv": "2101.00001v2"}, {"nct": "NCT01234567"}])
def test_a_preprint_and_a_trial_are_cited_by_their_numbers(ids: dict[str, str]) -> None:
    paper = replace(PAPER, ids=ids)

    assert [
        entry.ids for text in (bibtex([paper]), ris([paper])) for entry in entries_of(text)
    ] == [ids, ids]
    (entry,) = json.loads(csl_json([paper]))
    assert entry["URL"].endswith(next(iter(ids.values())))


def run(data: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--data", str(data), *args])


def found(data: Path, *args: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(
        run(data, "search", "--pipeline", "literature", "--json", *args).stdout
    )
    return answer


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("library")
    run(data, "literature", "add", str(SAMPLES))
    with App.embedded(data) as app:
        app.run_until_idle()
    return data


def test_sample_papers_are_found_with_passages_and_reasons(library: Path) -> None:
    shown = run(library, "search", "--pipeline", "literature", "idle mills at slack tides")
    (paper,) = found(library, "satiety", "--filter", "year=2022")

    assert shown.stdout.startswith(
        "Tide mills and the price of slack water (Carberry et al., 2024)  LT_"
    )
    assert "[slack]" in shown.stdout
    assert "why: " in shown.stdout
    assert paper["facts"]["pmid"] == "99000002"
    assert paper["why"][0]["share"] > 0
    first = paper["passages"][0]
    assert first["id"].startswith("b_")
    assert first["where"] == paper["where"] is not None
    marked = next(each["text"] for each in first["snippet"] if each["is_match"])
    assert marked.lower() == "satiety"
    assert found(library, "satiety", "--filter", "year<2022") == []
    assert found(library, "satiety machine:literature") == found(library, "satiety")


def test_phrases_must_occur_and_excluded_words_must_not(library: Path) -> None:
    assert found(library, "slack water zebras") != []
    assert found(library, '"slack water"') != []
    assert found(library, '"water slack"') == []
    assert found(library, "slack -mills") == []
    assert [each["record_id"] for each in found(library, "satie*")] == [
        each["record_id"] for each in found(library, "satiety")
    ]


def test_what_is_found_is_cited(library: Path) -> None:
    (paper,) = found(library, "satiety")
    search = ("search", "--pipeline", "literature")

    assert run(library, "literature", "cite", paper["record_id"]).stdout.startswith(
        "@article{roggen2022sourdough,\n"
    )
    assert (
        "DO  - 10.5555/stateward.rye.2"
        in run(library, *search, "satiety", "--format", "ris").stdout
    )
    assert run(library, *search, "zebra", "--format", "bibtex").stdout.strip() == ""
    assert run(library, *search, "satiety", "--format", "docx").exit_code == 4
    assert run(library, "search", "satiety", "--filter", "year=2022").exit_code == 4
    assert run(library, *search, "the of").exit_code == 4
    form = json.loads(run(library, "literature", "ir", paper["record_id"]).stdout)
    assert (form["version"], form["blocks"][0]["kind"]) == ("stateward.paper/1", "title")


def test_the_service_and_its_console_search_the_same_index(library: Path) -> None:
    settings = settings_at(library)
    asked = ("search", "satiety", "--pipeline", "literature")
    added = run(library, "literature", "add", "99000001", "--json").stdout
    waiting = json.loads(added)["papers"][0]["id"]
    with Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server:
        far = run(library, "--server", server.url, *asked, "--filter", "year>=2000", "--json")
        cited = run(library, "--server", server.url, *asked, "--format", "bibtex")
        wrong = run(library, "--server", server.url, *asked, "--filter", "colour=red")
        query = "q=satiety&pipeline=literature&filter=year%3E%3D2000"
        page = web.get(f"{server.url}/console/search?{query}").text
        exported = web.get(f"{server.url}/console/search/export/ris?{query}").text
        with Client(server.url) as client:
            shown = web.get(f"{server.url}/console/records/{waiting}").text
            ask = web.get(f"{server.url}/console/records/{waiting}/ask/document.skipped").text
            for event in ("document.completed", "document.eaten"):
                with pytest.raises(ApiProblem):
                    client.move(waiting, event)
            moved = client.move(waiting, "document.skipped", reason="not about soup", version=0)
            with pytest.raises(ApiProblem):
                client.move(waiting, "document.skipped", version=0)

    assert json.loads(far.stdout) == found(library, "satiety")
    assert cited.stdout.startswith("@article{roggen2022sourdough,")
    assert wrong.exit_code == 4
    assert "colour=red" in wrong.stderr
    for part in ("Why this result", "<mark>", "#place=", "/search/export/ris?"):
        assert part in page
    assert exported.startswith("TY  - JOUR")
    assert "Move to skipped…" in shown
    assert "Move to completed…" not in shown
    assert "<code>document.skipped</code>" in ask
    assert moved.status == "skipped"


def test_a_paper_with_several_records_is_shown_once(tmp_path: Path) -> None:
    def a_paper(title: str, *, doi: str = "", pmid: str = "", year: int = 2001) -> bytes:
        ids = f'<article-id pub-id-type="doi">{doi}</article-id>' if doi else ""
        ids += f'<article-id pub-id-type="pmid">{pmid}</article-id>' if pmid else ""
        return (
            f"<article><front><article-meta>{ids}"
            f"<title-group><article-title>{title}</article-title></title-group>"
            f"<pub-date><year>{year}</year></pub-date><abstract><p>Marmalade {doi}{pmid}.</p></abstract>"
            "</article-meta></front></article>"
        ).encode()

    title = "On the storing of marmalade"
    papers = [
        a_paper(title, doi="10.5555/A", pmid="11"),
        a_paper("The same by its DOI", doi="10.5555/a"),
        a_paper("ON THE STORING of  Marmalade."),  # the same by title and year
        a_paper("The yearly report on marmalade", doi="10.5555/b"),
        a_paper("The yearly report on marmalade", doi="10.5555/d"),  # another one: its DOI says so
        a_paper(title, year=2002),
        a_paper("Editorial", doi="10.5555/c"),
        a_paper("Editorial", pmid="12"),
    ]
    with App.embedded(tmp_path) as app:
        ids = [app.submit(each, machine="literature").record.id for each in papers]
        app.run_until_idle()
        hits = {
            each.record_id: each
            for each in app.search.find("marmalade", pipeline="literature").hits
        }
        groups = app.search.same_documents("literature")
        told = json.loads(run(tmp_path, "literature", "duplicates", "--json").stdout)

    assert len(hits) == 6
    (shown,) = (each for each in hits.values() if each.same_as)
    assert {shown.record_id, *shown.same_as} == set(ids[:3])
    (group,) = groups
    assert (set(group), shown.canonical) == (set(ids[:3]), group[0])
    assert [(row["canonical"], row["same"]) for row in told] == [(group[0], group[1:])]
    titles = [title, "The same by its DOI", "ON THE STORING of Marmalade."]
    assert told[0]["title"] == titles[ids.index(group[0])]


def test_papers_that_report_one_trial_are_shown_each(tmp_path: Path) -> None:
    bank = (
        "<DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName><AccessionNumberList>\
<AccessionNumber>NCT01234567</AccessionNumber></AccessionNumberList></DataBank></DataBankList>"
    )
    papers = [
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article>"
        f"<ArticleTitle>Marmalade after {number} weeks</ArticleTitle>{bank}</Article></MedlineCitation>"
        "</PubmedArticle></PubmedArticleSet>"
        for number in (11, 12)
    ]
    with App.embedded(tmp_path) as app:
        ids = [app.submit(each.encode(), machine="literature").record.id for each in papers]
        app.run_until_idle()
        hits = app.search.find("marmalade", pipeline="literature").hits

    assert {each.record_id for each in hits} == set(ids)
    assert [each.facts["nct"] for each in hits] == ["NCT01234567"] * 2


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


@pytest.mark.parametrize(
    ("named", "language"),
    [
        ("eng", "en"),
        ("en-US", "en"),
        ("English", "en"),
        ("fra", "fr"),
        ("fre", "fr"),
        ("tlh", "tlh"),
    ],
)
def test_papers_of_one_language_are_found_whatever_their_source_calls_it(
    named: str, language: str
) -> None:
    paper = replace(PAPER, language=named)

    found = paper_document({"metadata": msgspec.to_builtins(paper)}, [])

    assert found.facts["language"] == language
