"""Lists of papers: what each form names, and what it does not."""

import pytest

from stateward.pipelines.literature.lists import ListedPaper, PaperFilters, entries_of, is_list
from tests.pipelines.literature.articles import PMC, TEXT

RIS = """TY  - JOUR
TI  - Pots of the north
AU  - Cook, A
PY  - 2011/03//
LA  - eng
DO  - https://doi.org/10.5555/POTS
AN  - 99000020
DP  - NLM
ER  -

TY  - BOOK
T1  - Lids
PY  - 1990
ER  -
"""
BIBTEX = """% my library
@string{j = "Journal"}
@article{cook2001, title = {{P}ots {of} the \\"{o}ven}, year = 2001, journal = j,
  doi = "10.5555/pots", pmid={99000020},
}
@misc{x, eprint={2101.00001}, archivePrefix = {arXiv}, year = {2021}}
@book{none, title={No ids}}
"""
CSV = (
    'PMID,Title,Authors,"Publication Year",PMCID,DOI\r\n'
    '99000020,"Pots, and lids",Cook,2001,PMC77,10.5555/pots\r\n,Nothing,,,,\r\n'
)
LINES = "31452104\n# a comment\nPMC77  # in line\nhttps://example.org/a.pdf#page=2\nnonsense\n"


def names(papers: list[ListedPaper]) -> list[tuple[str, str] | None]:
    return [each.name for each in papers]


def test_ris_names_papers_and_says_what_it_does_not() -> None:
    first, second = entries_of(RIS)

    assert first.ids == {"doi": "10.5555/POTS", "pmid": "99000020"}
    assert (first.title, first.year, first.language, first.type) == (
        "Pots of the north",
        2011,
        "eng",
        "JOUR",
    )
    assert (second.line, second.name) == (11, None)
    assert "'Lids' names no identifier" in second.fault


def test_bibtex_names_papers_by_every_field_that_has_an_identifier() -> None:
    papers = list(entries_of(BIBTEX))

    assert names(papers) == [("pmid", "99000020"), ("arxiv", "2101.00001"), None]
    assert (papers[0].ids["doi"], papers[0].year, papers[0].line) == ("10.5555/pots", 2001, 3)


def test_a_table_is_read_by_its_heading() -> None:
    papers = list(entries_of(CSV))

    assert names(papers) == [("pmcid", "PMC77"), None]
    assert (papers[0].title, papers[0].year) == ("Pots, and lids", 2001)


def test_lines_are_identifiers_or_addresses_and_nothing_is_dropped() -> None:
    papers = list(entries_of(LINES))

    assert names(papers) == [
        ("pmid", "31452104"),
        ("pmcid", "PMC77"),
        ("url", "https://example.org/a.pdf#page=2"),
        None,
    ]
    assert papers[-1].line == 5


def test_a_number_is_a_pmid_only_where_the_list_says_so() -> None:
    of_rows = entries_of("id,title,doi\n1,Pots,10.5555/pots\n2,Lids,\n")
    of_another = entries_of(
        "TY  - JOUR\nID  - 77\nAN  - 88\nDB  - Embase\nDO  - 10.5555/pots\nER  - \n"
    )
    of_bibtex = entries_of("@article{a, id = {17}, doi = {10.5555/pots}}")
    alone = entries_of("id\n31452104\n")

    pots, lids = of_rows
    assert names([pots, *of_another, *of_bibtex]) == [("doi", "10.5555/pots")] * 3
    assert (lids.name, "if 2 is a PMID" in lids.fault) == (None, True)
    assert names(list(alone)) == [("pmid", "31452104")]


def test_an_identifier_of_bibtex_is_read_whole() -> None:
    escaped = "@inproceedings{a, title = {Nets}, doi = {10.1007/978-3-319-24574-4\\_28}}"
    joined = '@article{a, month = 10 # "~" # feb, journal = "J. " # j # " B", doi = "10.5555/pots"}'
    no_comma = "@article{a, title = {Pots}\n year = 2001, doi = {10.5555/pots}}"

    assert names(list(entries_of(escaped))) == [("doi", "10.1007/978-3-319-24574-4_28")]
    assert names([*entries_of(joined), *entries_of(no_comma)]) == [("doi", "10.5555/pots")] * 2


def test_an_entry_of_bibtex_without_a_key_is_an_entry() -> None:
    papers = entries_of(
        "@article{\n  author = {Roe, A. (mail@host (work))},\n  DOI = {10.5555/pots}\n}\n"
    )

    assert names(list(papers)) == [("doi", "10.5555/pots")]


def test_a_key_of_bibtex_may_have_blanks() -> None:
    """As those of Scopus have, which are made of names of authors."""
    papers = entries_of(
        "@ARTICLE{De La Cruz2021,\n author = {De La Cruz, A.},\n doi = {10.5555/pots}\n}\n"
        "@BOOK{van de Sande20221815, title = {Lids}, doi = {10.5555/lids}}@ARTICLE{A D2023,\n doi={10.5555/rye}}\n"
        "@comment{mail me @ home, or not}\n"
    )

    assert names(list(papers)) == [("doi", f"10.5555/{each}") for each in ("pots", "lids", "rye")]


@pytest.mark.parametrize("sign", [",", ";"])
def test_tags_of_web_of_science_are_headings_of_any_table(sign: str) -> None:
    table = '"DI","PY","AU","TI","DT"\n"10.5555/pots",2021,"COOK A","POTS","ARTICLE"\n'

    (paper,) = entries_of(table.replace(",", sign))

    assert (paper.ids, paper.title, paper.year, paper.type) == (
        {"doi": "10.5555/pots"}, "POTS", 2021, "ARTICLE",
    )  # fmt: skip


def test_a_brace_that_is_never_closed_hides_no_other_entry() -> None:
    papers = entries_of(
        "@article{a, doi={10.5555/a}, title={Pots\n}\n@article{b, doi={10.5555/b}}\n"
    )

    assert names(list(papers)) == [("doi", "10.5555/a"), ("doi", "10.5555/b")]


def test_braces_that_are_never_closed_are_not_followed_to_the_end() -> None:
    papers = list(entries_of("@a{b,c={" * 4000 + "@article{d, doi={10.5555/d}}"))

    assert len(papers) == 4001
    assert papers[-1].name == ("doi", "10.5555/d")


def test_an_entry_of_ris_that_has_no_end_is_an_entry() -> None:
    papers = list(entries_of("TY  - JOUR\nDO  - 10.5555/a\nTY  - JOUR\nDO  - 10.5555/b\nER  - \n"))

    assert [(each.line, each.ids["doi"]) for each in papers] == [(1, "10.5555/a"), (3, "10.5555/b")]


def test_an_entry_of_ris_without_its_type_is_an_entry() -> None:
    papers = list(entries_of("TI  - Lids\nDO  - 10.5555/a\nER  - \n\nDO  - 10.5555/b\nER  - \n"))

    assert [(each.line, each.ids["doi"]) for each in papers] == [(1, "10.5555/a"), (5, "10.5555/b")]


def test_the_year_is_that_of_the_first_field_that_has_one() -> None:
    (paper,) = entries_of("TY  - JOUR\nDO  - 10.5555/a\nDA  - JAN\nPY  - 2017\nER  - \n")

    assert paper.year == 2017
    assert "before 2018" in PaperFilters(year_from=2018).refusal(paper)


MEDLINE = """
PMID- 99000020
TI  - Pots of the north and what was
      cooked in them.
LID - S0000-0000(20)30001-1 [pii]
LID - 10.5555/pots [doi]
LA  - eng
SI  - ClinicalTrials.gov/NCT01234567
PT  - Journal Article
DP  - 2011 Jul
PMC - PMC7654321

PMID- 99000021
TI  - Lids.
"""


def test_citations_that_pubmed_saved_name_papers() -> None:
    first, second = entries_of(MEDLINE)

    assert first.ids == {
        "pmid": "99000020", "doi": "10.5555/pots", "nct": "NCT01234567", "pmcid": "PMC7654321",
    }  # fmt: skip
    assert first.title == "Pots of the north and what was cooked in them."
    assert (first.year, first.language, first.type) == (2011, "eng", "Journal Article")
    assert (second.line, second.name) == (13, ("pmid", "99000021"))
    assert is_list(MEDLINE.encode(), "citations.txt")


def test_an_address_that_shows_a_paper_names_it() -> None:
    papers = entries_of(
        "https://www.ncbi.nlm.nih.gov/pubmed/31452104\nhttps://europepmc.org/article/MED/31452104\n"
        "https://europepmc.org/article/PMC/PMC77\n"
    )

    assert names(list(papers)) == [("pmid", "31452104")] * 2 + [("pmcid", "PMC77")]


@pytest.mark.parametrize("text", [RIS, BIBTEX, LINES])
def test_a_list_is_told_from_a_paper(text: str) -> None:
    assert is_list(text.encode(), "any.txt")
    assert not is_list(TEXT.encode(), "paper.txt")
    assert not is_list(PMC.encode(), "paper.xml")


def test_filters_leave_out_what_a_list_says_and_nothing_else() -> None:
    filters = PaperFilters(
        languages=("en",), skip_types=("editorial",), year_from=2000, year_to=2020
    )

    def refusal(**known: object) -> str:
        return filters.refusal(ListedPaper(line=1, **known))  # type: ignore[arg-type]

    assert refusal(language="eng", type="Review", year=2001) == ""
    assert refusal() == ""
    assert refusal(language="ger") == "its language is ger"
    assert refusal(type="Editorial") == "its type is Editorial"
    assert refusal(year=1999) == "it is of 1999, before 2000"
    assert refusal(year=2021) == "it is of 2021, after 2020"


@pytest.mark.parametrize(
    "text",
    [
        "@article{a, doi={10.5555/a}, type={Editorial}}",
        "@editorial{a, doi={10.5555/a}}",
        "@article{a, doi={10.5555/a}, entrysubtype={editorial}}",
        "TY  - JOUR\nDO  - 10.5555/a\nM3  - Editorial\nER  - \n",
        "PMID- 99000020\nPT  - Journal Article\nPT  - Editorial\n",
        "FN Any\nVR 1.0\nPT J\nDI 10.5555/a\nDT Article; Editorial\nER\n",
        "%0 Journal Article\n%R 10.5555/a\n%9 Editorial\n",
        "DOI,Publication Types\n10.5555/a,Journal Article; Editorial\n",
    ],
)
def test_each_type_that_a_list_names_can_be_left_out(text: str) -> None:
    (paper,) = entries_of(text)

    assert paper.name is not None
    assert PaperFilters().refusal(paper) == ""
    refusal = PaperFilters(skip_types=("Review", "Editorial")).refusal(paper)
    assert refusal.lower() == "its type is editorial"


def test_a_type_is_the_same_with_and_without_a_hyphen() -> None:
    filters = PaperFilters(skip_types=("review article",))

    refusal = filters.refusal(ListedPaper(line=1, type="Review-Article"))

    assert refusal == "its type is Review-Article"


def test_an_identifier_under_the_type_of_work_of_ris_is_no_type() -> None:
    (paper,) = entries_of("TY  - JOUR\nM3  - doi: 10.5555/a\nER  - \n")

    assert (paper.name, paper.type, paper.types) == (("doi", "10.5555/a"), "JOUR", ())


@pytest.mark.parametrize(
    "heading", ["Titel;Jahr;Sprache;DOI", "Titre;Année;Langue;DOI", "Título;Año;Idioma;DOI"]
)
def test_columns_of_a_table_are_known_in_other_languages(heading: str) -> None:
    (entry,) = entries_of(f"{heading}\nSuppe;2019;de;10.5555/suppe\n")

    assert (entry.title, entry.year, entry.language) == ("Suppe", 2019, "de")
