"""The intermediate form: stable ids, the same bytes the same hash; findings; identifiers."""

from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.literature.identifiers import identify, normal_id, orcid_of
from stateward.pipelines.literature.ir import VERSION, about_ir, ir_blocks
from stateward.pipelines.literature.paper import Block, Metadata
from stateward.pipelines.literature.validation import findings, require_sound
from tests.pipelines.literature.articles import PMC, REVIEWED, TEXT, read


def test_the_same_bytes_have_the_same_form(tmp_path: Path) -> None:
    first, second = read(tmp_path, PMC), read(tmp_path, PMC)
    one = about_ir(first.metadata, ir_blocks(first.blocks))

    assert one == about_ir(second.metadata, ir_blocks(second.blocks))
    assert one.version == VERSION
    assert one.summary == "2 sections, 3 paragraphs, 1 table, 2 references"


def test_another_paragraph_changes_no_other_id(tmp_path: Path) -> None:
    before = {each.id for each in ir_blocks(read(tmp_path, PMC).blocks)}
    longer = PMC.replace("<p>As <xref", "<p>One more.</p><p>As <xref")
    after = {each.id for each in ir_blocks(read(tmp_path, longer).blocks)}

    assert before < after
    assert len(after - before) == 1


def test_equal_paragraphs_have_ids_of_their_own() -> None:
    blocks = ir_blocks([Block(kind="paragraph", text="Same.")] * 3)

    assert len({each.id for each in blocks}) == 3


def test_what_is_missing_is_said_and_nothing_else(tmp_path: Path) -> None:
    whole, bare = read(tmp_path, PMC), read(tmp_path, REVIEWED)

    assert [each.code for each in findings(whole.metadata, whole.blocks, whole.notes)] == []
    assert [each.code for each in findings(bare.metadata, bare.blocks, bare.notes)] == [
        "NO_ID", "NO_AUTHORS", "NO_DATE", "NO_ABSTRACT",
    ]  # fmt: skip


def test_an_article_of_which_the_publisher_keeps_the_text_back_says_so(tmp_path: Path) -> None:
    start, end = PMC.index("<body"), PMC.index("</body>") + len("</body>")
    paper = read(tmp_path, PMC[:start] + PMC[end:])

    assert "NO_BODY" in [each.code for each in findings(paper.metadata, paper.blocks, paper.notes)]


def test_a_paper_that_cannot_be_found_is_refused(tmp_path: Path) -> None:
    text = read(tmp_path, TEXT, "a.txt")
    block = Block(kind="paragraph", text="Words.")

    require_sound(text.metadata, text.blocks, require_id=True)
    for metadata, blocks, code in (
        (Metadata(format="text"), [block], "NO_TITLE"),
        (Metadata(format="text", title="T"), [], "NO_CONTENT"),
        (Metadata(format="text", title="T"), [block], "NO_ID"),
    ):
        with pytest.raises(FatalFailure) as refused:
            require_sound(metadata, blocks, require_id=True)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("12345678", ("pmid", "12345678")),
        ("PMID: 0012", ("pmid", "12")),
        ("pmc123.2", ("pmcid", "PMC123")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC77/", ("pmcid", "PMC77")),
        ("https://pubmed.ncbi.nlm.nih.gov/31452104/", ("pmid", "31452104")),
        (
            "https://doi.org/10.1002/(SICI)1097-4636(199823)43:4",
            ("doi", "10.1002/(SICI)1097-4636(199823)43:4"),
        ),
        ("doi:10.5555/abc).", ("doi", "10.5555/abc")),
        ("http://dx.doi.org/10.5555%2Fabc", ("doi", "10.5555/abc")),
        ("arXiv:2101.00001v2", ("arxiv", "2101.00001v2")),
        ("https://arxiv.org/abs/hep-th/9901001", ("arxiv", "hep-th/9901001")),
        ("nct01234567", ("nct", "NCT01234567")),
        ("pubmed:31452104", ("pmid", "31452104")),
        ("clinicaltrials:NCT01234567", ("nct", "NCT01234567")),
        ("pubmed.ncbi.nlm.nih.gov/31452104/", ("pmid", "31452104")),
        ("NCT123", None),
        ("a word", None),
        ("https://example.org/paper", None),
    ],
)
def test_identifiers_are_known_as_people_write_them(
    written: str, found: tuple[str, str] | None
) -> None:
    assert identify(written) == found


def test_an_orcid_with_a_wrong_check_digit_is_none() -> None:
    assert orcid_of("https://orcid.org/0000-0002-1825-0097") == "0000-0002-1825-0097"
    assert orcid_of("0000-0002-1825-0098") == ""
    assert normal_id("unknown", "1") == ""
