"""Lists as reference managers and databases write them: each entry names its paper, and nothing is cut or left out."""

import csv
from pathlib import Path

import pytest

from stateward.pipelines.literature.lists import ListedPaper, entries_of, is_list, read_list

LORENZ = "10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2"
WILEY = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"
WEB_OF_SCIENCE = f"""FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Cook, A
   Roe, B
TI Pots of the north and what
   was cooked
LA English
DT Article
PY 2011
DI 10.5555/pots
PM 99000020
ER

PT J
TI FLOW
PY 1963
DI {LORENZ}
ER

EF
"""
WEB_OF_SCIENCE_TABLE = (
    "\ufeffPT\tAU\tTI\tLA\tDT\tPY\tDI\tPM\r\n"
    'J\tCook, A\t"Pots of the north\tEnglish\tArticle\t2011\t10.5555/pots\t99000020\r\n'
    f"J\tRoe, B\tFlow\tEnglish\tArticle\t1963\t{LORENZ}\t\r\n"
)
ENDNOTE = f"""%0 Journal Article
%A Cook, A
%T Pots of the north
%D 2011
%R 10.5555/pots
%M 99000020
%W PubMed

%0 Journal Article
%T Flow
%R {LORENZ}
"""
ABSTRACTS = """1. J Pots. 2011 Mar;57(9):2-9. doi: 10.5555/pots. Epub 2011
Feb 3.

Pots of the north.

Cook A(1).

Erratum in
    J Pots. 2012;58:7. PMID: 11111111.

DOI: 10.5555/pots
PMCID: PMC77
PMID: 99000020 [Indexed for MEDLINE]


2. J Lids. 2013 Jan;41:D36-42.

Lids.

PMID: 99000021
"""
SUMMARIES = (
    "1: Cook A. Pots of the north. J Pots. 2011 Mar;57:2-9. Erratum in: J Pots. 2012. PMID: 11111111. "
    "PMID: 99000020; PMCID: PMC77.\n\n2: Roe B. Lids. J Lids. 2013. PMID: 99000021.\n"
)
TEXT_OF_A_PAPER = (
    "1. Introduction\n\nPots boil. ER - the endoplasmic reticulum.\n\n2. Methods\n\nWe cooked.\n\n"
    "References\n\n1. Cook A. Pots. PMID: 99000020.\n\n2. Roe B. Lids. PMID: 99000021.\n"
)


def names(text: str) -> list[tuple[str, str] | None]:
    return [each.name for each in entries_of(text)]


def one(text: str) -> ListedPaper:
    (paper,) = entries_of(text)
    return paper


@pytest.mark.parametrize("text", [WEB_OF_SCIENCE, WEB_OF_SCIENCE_TABLE.lstrip("\ufeff"), ENDNOTE])
def test_exports_of_databases_are_lists_of_their_papers(text: str) -> None:
    first, second = entries_of(text)

    assert first.ids == {"doi": "10.5555/pots", "pmid": "99000020"}
    assert first.year == 2011
    assert first.title.lstrip('"').startswith("Pots of the north")
    assert second.name == ("doi", LORENZ)
    assert is_list(text.encode(), "export.txt")


def test_a_value_goes_on_in_the_next_line() -> None:
    first, _ = entries_of(WEB_OF_SCIENCE)

    assert first.title == "Pots of the north and what was cooked"
    assert (first.type, first.language) == ("Article", "English")
    assert one("TY  - JOUR\nTI  - Pots of\nthe north\nDO  - 10.5555/pots\nER  - ").title == (
        "Pots of the north"
    )


@pytest.mark.parametrize("text", [ABSTRACTS, SUMMARIES])
def test_citations_that_pubmed_writes_to_be_read_are_a_list(text: str) -> None:
    first, second = entries_of(text)

    assert first.ids == {"pmid": "99000020", "pmcid": "PMC77"}
    assert second.ids == {"pmid": "99000021"}
    assert is_list(text.encode(), "abstract-pots-set.txt")


def test_a_paper_with_numbered_sections_and_cited_numbers_is_no_list() -> None:
    assert not is_list(TEXT_OF_A_PAPER.encode(), "paper.txt")
    assert not is_list(b"Styles\n\n@media print { a: b }\n@decorator(1)\n", "paper.txt")


@pytest.mark.parametrize(
    "text",
    [
        f"TY  - JOUR\nDO  - {LORENZ}\nER  - \n",
        "@article{a, doi = {10.1175/1520-0469(1963)020{\\textless}0130:DNF{\\textgreater}2.0.CO;2}}",
        "@article{a, doi = {10.1175/1520-0469(1963)020$<$0130:DNF$>$2.0.CO;2}}",
        f"DOI,Title\n{LORENZ},Flow\n",
        f"{LORENZ}\n",
        "https://doi.org/10.1175/1520-0469(1963)020%3C0130:DNF%3E2.0.CO;2\n",
    ],
)
def test_an_old_doi_with_angle_brackets_is_read_whole(text: str) -> None:
    assert names(text) == [("doi", LORENZ)]


def test_a_doi_ends_where_markup_begins() -> None:
    assert names(f"{WILEY}\n10.5555/pots<br>\n") == [("doi", WILEY), ("doi", "10.5555/pots")]


@pytest.mark.parametrize(
    "text",
    [
        "10.48550/arXiv.1706.03762\n",
        "https://doi.org/10.48550/ARXIV.1706.03762\n",
        "@misc{a, doi = {10.48550/arXiv.1706.03762}, publisher = {arXiv}}",
    ],
)
def test_the_doi_of_a_preprint_of_arxiv_is_asked_of_arxiv(text: str) -> None:
    assert names(text) == [("arxiv", "1706.03762")]


def test_several_identifiers_on_a_line_are_several_papers() -> None:
    assert names("PMC77, PMC78\n31452104 31452105\n10.5555/a,10.5555/b\n") == [
        ("pmcid", "PMC77"),
        ("pmcid", "PMC78"),
        ("pmid", "31452104"),
        ("pmid", "31452105"),
        ("doi", "10.5555/a"),
        ("doi", "10.5555/b"),
    ]
    assert names("DOI 10.5555/pots\ndoi.org/10.5555/lids\nSmith 2020 10.5555/x\n") == [
        ("doi", "10.5555/pots"),
        ("doi", "10.5555/lids"),
        None,
    ]
    assert "several papers" in one("10.5555/a and 10.5555/b\n").fault


@pytest.mark.parametrize(
    "text",
    [
        "TY  - JOUR\nTI  - Pots\nN1  - PMID: 99000020 PMCID: PMC77\nER  - \n",
        "@article{a, title = {Pots}, note = {PMID: 99000020\nPMCID: PMC77},\n}",
        'Title,DOI,Extra\nPots,,"PMID: 99000020\nPMCID: PMC77"\n',
    ],
)
def test_identifiers_that_a_reference_manager_notes_are_found(text: str) -> None:
    assert one(text).ids == {"pmid": "99000020", "pmcid": "PMC77"}


def test_a_note_about_another_paper_names_none() -> None:
    paper = one("@article{a, doi = {10.5555/a}, note = {Comment on PMID: 99000020}}")

    assert paper.ids == {"doi": "10.5555/a"}


def test_older_programs_write_one_blank_and_other_fields_for_the_doi() -> None:
    assert names("TY - JOUR\nTI - Pots\nM3 - 10.5555/pots\nER -\n") == [("doi", "10.5555/pots")]


def test_bibtex_is_read_to_its_last_field() -> None:
    quoted = '@article{a, title = "The {"}boiling{"} pot", year = 2001, doi = {10.5555/pots}}'
    printed = "@online{b, eprint = {99000020}, eprinttype = {pubmed}, langid = {german}}"
    shown = "@misc{c, title = {A page}, howpublished = {\\url{https://example.org/p.html}}}"

    assert (one(quoted).title, one(quoted).name) == ('The "boiling" pot', ("doi", "10.5555/pots"))
    assert (one(printed).name, one(printed).language) == (("pmid", "99000020"), "german")
    assert one(shown).name == ("url", "https://example.org/p.html")


def test_types_and_languages_are_known_by_the_names_that_exports_give_them() -> None:
    zotero = one("Item Type,DOI,Language\njournalArticle,10.5555/pots,en\n")
    scopus = one("DOI,Document Type,Language of Original Document\n10.5555/pots,Review,German\n")

    assert (zotero.type, zotero.language) == ("journalArticle", "en")
    assert (scopus.type, scopus.language) == ("Review", "German")


def test_a_table_of_a_spreadsheet_is_read_as_it_says() -> None:
    assert names("sep=;\nDOI;Title\n10.5555/pots;Pots, all\n") == [("doi", "10.5555/pots")]
    assert is_list("PMID\tTitle\r\n99000020\tPots\r\n".encode("utf-16"), "export.txt")


def test_rows_behind_a_quotation_mark_that_is_never_closed_are_not_lost_in_silence() -> None:
    papers = list(entries_of('DOI,Title\n10.5555/a,"Pots\n10.5555/b,Lids\n10.5555/c,Pans\n'))

    assert papers[0].name == ("doi", "10.5555/a")
    assert "from line 2 on" in papers[-1].fault


def test_a_cell_beyond_all_bounds_is_said_and_not_raised() -> None:
    papers = list(entries_of(f'DOI,Title\n10.5555/a,"{"x" * (csv.field_size_limit() + 1)}\n'))

    assert "cannot be told apart" in papers[-1].fault


def test_a_text_of_empty_lines_is_looked_through_once() -> None:
    assert not is_list(b"a" + b"\n" * 60_000, "paper.txt")


def test_entries_of_long_lists_say_their_lines() -> None:
    bibtex = "".join(f"@article{{a{n},\n doi = {{10.5555/{n}}}}}\n\n" for n in range(1, 4))
    cited = "".join(f"\n{n}. J Pots. 2011.\n\nPMID: {n}\n\n" for n in range(1, 4))

    assert [each.line for each in entries_of(bibtex)] == [1, 4, 7]
    assert [each.line for each in entries_of(cited)] == [2, 7, 12]


def test_a_list_in_another_encoding_is_read(tmp_path: Path) -> None:
    path = tmp_path / "savedrecs.txt"
    path.write_text(WEB_OF_SCIENCE_TABLE, encoding="utf-16")

    assert [each.year for each in read_list(path)] == [2011, 1963]
