"""Contracts in clauses: numbers of every kind, headings, running lines, tables of contents; no character is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.clauses.segments import segments_of
from stateward.pipelines.clauses.split import Contract, Part, heading_of, split_clauses
from stateward.pipelines.kit.documents import TextDocument, TextPage, split_lines
from stateward.pipelines.kit.reader import text_document


def contract(text: str) -> Contract:
    return split_clauses(segments_of(text_document(text)))


def numbers(text: str) -> list[tuple[int, str]]:
    return [(part.level, part.number) for part in contract(text).parts if part.number]


def clauses(text: str) -> list[tuple[str, str]]:
    return [(part.number, part.heading) for part in contract(text).parts if part.kind == "clause"]


def kinds(text: str) -> list[str]:
    return [part.kind for part in contract(text).parts]


def assert_covers(parts: list[Part], whole: str) -> None:
    at = 0
    for start, end in sorted(span for part in parts for span in part.spans):
        assert start == at
        at = end
    assert at == len(whole)


def test_decimal_numbers_and_letters_are_nested() -> None:
    text = "1. Scope\n1.1 First\n(a) one\n(i) deep\n(ii) deeper\n(b) two\n1.2 Second\n2. Price\n2.1 Third"

    assert numbers(text) == [
        (1, "1."), (2, "1.1"), (3, "(a)"), (4, "(i)"), (4, "(ii)"), (3, "(b)"), (2, "1.2"), (1, "2."), (2, "2.1"),
    ]  # fmt: skip


def test_the_i_after_h_is_a_letter_and_the_i_after_text_is_roman() -> None:
    letters = "\n".join(f"({letter}) item" for letter in "abcdefghijk")

    assert [level for level, _ in numbers("1. List\n" + letters)] == [1] + [2] * 11


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "§ 1 Gegenstand\n(1) Erstens\n(2) Zweitens\n§ 2 Preis\n§ 3 Ende",
            [(1, "§ 1"), (2, "(1)"), (2, "(2)"), (1, "§ 2"), (1, "§ 3")],
        ),
        (
            "ARTICLE I\nTERM\nSection 1.1 Start\nSection 1.2 End\nARTICLE II\nPRICE",
            [(1, "ARTICLE I"), (2, "Section 1.1"), (2, "Section 1.2"), (1, "ARTICLE II")],
        ),
        (
            "Ziffer 1 Allgemeines\n1.1 Dies\n1.2 Das\nZiffer 2 Weiteres\nZiffer 3 Schluss",
            [(1, "Ziffer 1"), (2, "1.1"), (2, "1.2"), (1, "Ziffer 2"), (1, "Ziffer 3")],
        ),
        (
            "A. Parties\n1. One\n2. Two\nB. Price\n1. Three",
            [(1, "A."), (2, "1."), (2, "2."), (1, "B."), (2, "1.")],
        ),
        (
            "I. Teil\n1. Eins\n2. Zwei\nII. Teil\n1. Drei",
            [(1, "I."), (2, "1."), (2, "2."), (1, "II."), (2, "1.")],
        ),
        ("1) One\na) x\nb) y\n2) Two", [(1, "1)"), (2, "a)"), (2, "b)"), (1, "2)")]),
    ],
    ids=["paragraphs", "articles", "ziffer", "capitals", "roman", "brackets"],
)
def test_other_ways_of_numbering(text: str, expected: list[tuple[int, str]]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "3.5 million euros were paid",
        "10. March 2026 was a Tuesday",
        "Section 2.1 of this Agreement applies",
        "§ 2 Abs. 1 gilt entsprechend",
        "7. there is no such number here",
        "1999 was a good year",
    ],
)
def test_a_number_in_a_sentence_begins_no_clause(line: str) -> None:
    text = f"1. Term\nAs was said above,\n{line}\n2. Price\nText\n3. End"

    assert [number for _, number in numbers(text)] == ["1.", "2.", "3."]


def test_a_number_after_the_word_section_is_a_reference() -> None:
    text = "1. Term\n2. Price\nas set out in Section\n3. of the annex.\n3. End\n4. Law"

    assert [number for _, number in numbers(text)] == ["1.", "2.", "3.", "4."]
    assert contract(text).parts[1].text(text_document(text).text).endswith("annex.\n")


def test_a_list_that_counts_from_one_again_stays_inside_its_clause() -> None:
    text = "1. Team\n2. Board\nThe members are\n1. Ann\n2. Bob\n3. Cy\n3. Price\n4. Law"

    assert numbers(text) == [(1, "1."), (1, "2."), (2, "1."), (2, "2."), (2, "3."), (1, "3."), (1, "4.")]  # fmt: skip


def test_a_missing_number_is_told() -> None:
    found = contract("1.1 One\n1.2 Two\n1.4 Four\n1.5 Five")

    assert found.gaps == [("1.2", "1.4")]


@pytest.mark.parametrize(
    ("rest", "heading"),
    [
        (" Governing Law. This Agreement is governed by", "Governing Law"),
        (" TERM AND TERMINATION", "TERM AND TERMINATION"),
        (" Vergütung und Zahlung", "Vergütung und Zahlung"),
        (" Grant of Rights; Sublicensing.", "Grant of Rights; Sublicensing"),
        ("\tTerm\tThe term is one year.", "Term"),
        (" The Supplier shall deliver the goods within ten days of the order.", ""),
        (" the Buyer", ""),
        (" Employer shall mean the Company, the Bank or Trust Services", ""),
        (" Payment terms", "Payment terms"),
        ("", ""),
    ],
)
def test_headings(rest: str, heading: str) -> None:
    assert heading_of(rest) == heading


def test_a_heading_may_stand_on_the_line_below_its_number() -> None:
    assert clauses("ARTICLE IV\nLIMITATION OF LIABILITY\nText follows here.\nARTICLE V\nLaw\nText")[
        0
    ] == (
        "ARTICLE IV",
        "LIMITATION OF LIABILITY",
    )


def test_headings_inside_a_table_are_found() -> None:
    text = "No\tClause\tContent\n1.\tTerm\tThe term is one year.\n2.\tPrice\tThe price is 5 EUR.\n3.\tLaw\tGerman law."

    assert clauses(text) == [("1.", "Term"), ("2.", "Price"), ("3.", "Law")]


def test_several_clauses_may_begin_on_one_line() -> None:
    assert numbers("1. Term. (a) It begins today.\n(b) It ends.\n2. (a) (i) Deep\n3. End") == [
        (1, "1."), (2, "(a)"), (2, "(b)"), (1, "2."), (2, "(a)"), (3, "(i)"), (1, "3."),
    ]  # fmt: skip


def test_a_whole_contract_on_one_line_is_cut_before_numbers() -> None:
    body = "The parties agree on this at length and in detail. " * 4
    text = f"AGREEMENT made today. 1. Term. {body}2. Price. {body}3. Governing Law. {body}"

    assert clauses(text) == [("1.", "Term"), ("2.", "Price"), ("3.", "Governing Law")]


def test_a_table_of_contents_is_no_clause() -> None:
    leaders = (
        "1. Term .......... 2\n2. Price ......... 3\n\n1. Term\nText\n2. Price\nText\n3. Law\nText"
    )
    titled = "TABLE OF CONTENTS\n1. Term 2\n2. Price 3\n3. Law 4\n1. Term\nText\n2. Price\nText\n3. Law\nText"
    bare = "Contents\n1. Term\n2. Price\n3. Law\n\n1. Term\nText\n2. Price\nText\n3. Law\nText"

    for text in (leaders, titled, bare):
        assert [number for _, number in numbers(text)] == ["1.", "2.", "3."]
        assert kinds(text)[0] == "contents"


def test_running_headers_and_page_numbers_are_apart_and_a_clause_goes_on_behind_them() -> None:
    pages = [
        "Harbour Agreement - Confidential\n1. Term\nThe term is\n- 1 -",
        "Harbour Agreement - Confidential\none year.\n2. Price\nIt is free.\n- 2 -",
        "Harbour Agreement - Confidential\n3. Law\nEnglish law.\n- 3 -",
    ]
    document = text_document("\f".join(pages))
    parts = split_clauses(segments_of(document)).parts

    assert [part.number for part in parts if part.kind == "clause"] == ["1.", "2.", "3."]
    assert sum(part.kind == "running" for part in parts) >= 3
    term = next(part for part in parts if part.number == "1.")
    assert term.text(document.text).split() == ["1.", "Term", "The", "term", "is", "one", "year."]
    assert_covers(parts, document.text)


def test_clauses_that_begin_pages_are_not_taken_for_running_headers() -> None:
    document = text_document(
        "\f".join(f"§ {number}\nText of it.\nMore of it." for number in range(1, 6))
    )

    parts = split_clauses(segments_of(document)).parts

    assert [part.number for part in parts if part.number] == [
        f"§ {number}" for number in range(1, 6)
    ]


def test_signatures_and_annexes_end_the_clauses() -> None:
    text = "1. Term\n2. Price\n3. Law\nIN WITNESS WHEREOF the parties sign\nAnn Bob\nSCHEDULE A\n1. Boxes\n2. Bags"

    assert kinds(text) == ["clause", "clause", "clause", "signatures", "annex", "clause", "clause"]
    assert numbers(text)[-2:] == [(2, "1."), (2, "2.")]


def test_where_nothing_is_numbered_lines_in_capitals_are_headings() -> None:
    text = "Agreement of today\nTERM\nIt lasts a year.\nGOVERNING LAW\nEnglish law.\n"

    assert clauses(text) == [("", "TERM"), ("", "GOVERNING LAW")]


def test_twenty_thousand_lettered_lines_are_read() -> None:
    assert len(numbers("(a) the same again\n" * 20_000)) == 20_000
    assert len(numbers("1. again\n" * 5_000)) == 5_000


LINES = st.one_of(
    st.sampled_from(
        ["1. Term", "1.1 x", "2. Price", "(a) one", "(i) two", "§ 1 Zweck", "ARTICLE I", "SCHEDULE A", "Contents",
         "- 3 -", "", "\t", "IN WITNESS WHEREOF", "RECITALS", "1. Term ..... 4", "2.\tPrice\tfive", "   (b) text", "5.",
         "A. Law. (a) (i) x"]
    ),
    st.text(max_size=30),
)  # fmt: skip


@given(st.lists(st.lists(LINES, max_size=12).map("\n".join), min_size=1, max_size=4))
def test_the_parts_cover_the_text_exactly(pages: list[str]) -> None:
    document = TextDocument(
        "text",
        [
            TextPage(number, 0.0, 0.0, text, split_lines(text))
            for number, text in enumerate(pages, 1)
        ],
    )

    assert_covers(split_clauses(segments_of(document)).parts, document.text)


def test_numbers_that_follow_each_other_within_a_paragraph_are_clauses_of_their_own() -> None:
    text = (
        "1. Booking\n1.1 It holds once paid, with 1.5 per cent. 1.2 Options lapse. 1.3 See 1.4 Below.\n"
        "2. Price\n2.1 As in clause 2.2 The list says so."
    )

    assert numbers(text) == [
        (1, "1."), (2, "1.1"), (2, "1.2"), (2, "1.3"), (1, "2."), (2, "2.1"),
    ]  # fmt: skip
    assert_covers(contract(text).parts, text)
