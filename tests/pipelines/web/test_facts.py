"""Facts stand where they say, in several languages, and become the same fact whatever page prints them."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.model import Fields
from stateward.pipelines.web.facts import FactFinder, PrintedFact, sentences
from tests.pipelines.web.reading import LONG, a_page, read

SAMPLES = Path("src/stateward/pipelines/web/samples")

PIECES = (
    "Sam Altman", "Apple", " said ", "acquired", " übernimmt ", "a annoncé", "compró", "$3.5 billion", "12,5 Prozent",
    "3 Mio. Euro", "October 2, 2024", "14 juillet 2023", "“We are only at the beginning”", "« Nous sommes prêts »",
    ", ", ". ", "\n", " and ", "U.S.", "the", "é", "😀", "'s", "1.234,5", " ", "-", '"',
)  # fmt: skip


def found(text: str, language: str = "en") -> list[PrintedFact]:
    return [*FactFinder(text, language=language, file="parse/page.txt").facts()]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30),
    st.sampled_from(["en", "de", "fr", "es", "xx", ""]),
)
def test_every_fact_and_every_part_of_it_stands_where_it_says(
    pieces: list[str], language: str
) -> None:
    text = "".join(pieces)

    for fact in found(text, language):
        assert text[fact.where.start : fact.where.end] == fact.printed
        for name, (start, end) in fact.spans.items():
            assert text[start:end] == getattr(fact, name)
            assert fact.where.start <= start < end <= fact.where.end


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_sentences_do_not_overlap_and_lose_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)

    spans = [*sentences(text)]

    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    covered = "".join(text[start:end] for start, end in spans)
    assert covered.split() == text.split() or "".join(covered.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        (
            "en",
            "Apple acquired Beats for $3 billion in 2014.",
            ("Apple", "acquired", "3", "billion", "$"),
        ),
        (
            "en",
            "Acme Corp. also employs 3,000 people.",
            ("Acme Corp", "employs", "3,000", "", "people"),
        ),
        (
            "en",
            "Acme acquired Beats for £14m in the end.",
            ("Acme", "acquired", "14", "m", "£"),
        ),
        ("fr", "Renault a investi 30 M€ en 2023.", ("Renault", "invested", "30", "M", "€")),
        (
            "de",
            "Siemens übernimmt Altair für 10,6 Milliarden Dollar.",
            ("Siemens", "acquired", "10,6", "Milliarden", "Dollar"),
        ),
        (
            "fr",
            "Renault a investi 3 milliards d'euros en 2023.",
            ("Renault", "invested", "3", "milliards", "euros"),
        ),
        (
            "es",
            "Inditex registró ventas de 32.600 millones de euros.",
            ("Inditex", "reported", "32.600", "millones", "euros"),
        ),
    ],
)
def test_statements_are_read_in_four_languages(
    language: str, text: str, wanted: tuple[str, ...]
) -> None:
    (fact,) = found(text, language)

    assert (fact.subject, fact.relation, fact.number, fact.scale, fact.unit) == wanted


@pytest.mark.parametrize(
    ("language", "text", "speaker", "words"),
    [
        ("en", "“We are at the beginning,” said Ann Lee.", "Ann Lee", "We are at the beginning,"),
        ("en", "“We are at the beginning,” Ann Lee said.", "Ann Lee", "We are at the beginning,"),
        (
            "en",
            'Ann Lee told us: "We are at the beginning."',
            "Ann Lee",
            "We are at the beginning.",
        ),
        (
            "de",
            "„Das ist ein guter Tag“, sagte Ursula von der Leyen.",
            "Ursula von der Leyen",
            "Das ist ein guter Tag",
        ),
        ("fr", "« Nous sommes prêts », a déclaré Anne Martin.", "Anne Martin", "Nous sommes prêts"),
        (
            "es",
            "«Es un paso importante», dijo Pedro Sánchez.",
            "Pedro Sánchez",
            "Es un paso importante",
        ),
    ],
)
def test_quotations_have_who_said_them(language: str, text: str, speaker: str, words: str) -> None:
    facts = [fact for fact in found(text, language) if fact.kind == "quotation"]

    assert [(fact.subject, fact.quotation) for fact in facts] == [(speaker, words)]


def test_an_apposition_is_not_the_subject() -> None:
    (fact,) = found("Sam Altman, chief executive of OpenAI, founded Loopt in 2005.")

    assert fact.subject == "Sam Altman"


@pytest.mark.parametrize(
    "text",
    ["He said nothing of the kind.", "The others reported it.", "In May it rose.", "acquired", ""],
)
def test_without_a_name_there_is_no_statement(text: str) -> None:
    assert [fact for fact in found(text) if fact.kind == "statement"] == []


def test_names_dates_and_amounts_are_resolved(tmp_path: Path) -> None:
    page = a_page(
        LONG * 3,
        "Samuel Altman founded OpenAI on December 11, 2015.",
        "Altman raised €1.5 billion.",
        LONG,
    )

    one, two = read(tmp_path, page).facts

    assert (one["subject_id"], one["relation"], one["object_id"], one["date"]) == (
        "@sama",
        "founded",
        "@OpenAI",
        "2015-12-11",
    )
    assert (two["subject"], two["subject_id"]) == ("Samuel Altman", "@sama")
    assert (two["value"], two["unit"]) == ("1500000000", "EUR")


def test_the_same_fact_of_two_pages_has_the_same_key(tmp_path: Path) -> None:
    english = read(
        tmp_path,
        a_page(LONG * 3, "Microsoft acquired Nuance for 19.7 billion euros in the end.", LONG),
    )
    german = read(
        tmp_path,
        a_page(
            "Der Ausschuss traf sich am Nachmittag und sprach bis in den Abend über die Sache, die nicht neu ist. "
            * 3,
            "Microsoft übernimmt Nuance für 19,7 Milliarden Euro.",
            language="de",
        ),
    )
    other = read(
        tmp_path, a_page(LONG * 3, "Microsoft acquired Nuance for 18 billion euros.", LONG)
    )

    (one,), (two,), (three,) = english.facts, german.facts, other.facts
    assert one["key"] == two["key"] != three["key"]


def test_a_fact_that_comes_twice_names_the_first(tmp_path: Path) -> None:
    page = a_page(LONG * 3, "Apple acquired Beats.", "In the end Apple acquired Beats.", LONG)

    one, two = read(tmp_path, page).facts

    assert "duplicate_of" not in one
    assert two["duplicate_of"] == one["key"]


def test_own_aliases_go_before_those_that_ship(tmp_path: Path) -> None:
    own: Fields = {"version": 3, "entities": {"person:1": ["Sam Altman"]}}

    (fact,) = read(
        tmp_path, a_page(LONG * 3, "Sam Altman founded Loopt.", LONG), options={"aliases": own}
    ).facts

    assert fact["subject_id"] == "person:1"


@pytest.mark.parametrize(
    ("name", "author", "date", "wanted"),
    [
        ("funding-round.html", "Jane Harper", "2024-10-02", ("@sama", "founded", "@OpenAI")),
        ("uebernahme.html", "Klaus Berger", "2024-10-30", ("", "acquired", "")),
    ],
)
def test_a_sample_is_read_without_its_menu(
    tmp_path: Path, name: str, author: str, date: str, wanted: tuple[str, str, str]
) -> None:
    result = read(tmp_path, (SAMPLES / name).read_bytes())

    (page,) = result.pages
    assert (page["author"], page["date"]) == (author, date)
    assert not any(
        word in result.text() for word in ("Subscribe", "Anmelden", "Impressum", "Cookies")
    )
    known = [
        (each.get("subject_id", ""), each["relation"], each.get("object_id", ""))
        for each in result.facts
    ]
    assert wanted in known
    for fact in result.facts:
        where = fact["where"]
        assert result.text(where["file"])[where["start"] : where["end"]] == fact["printed"]


@pytest.mark.parametrize(
    "sentence",
    [
        "In June officials in Delhi acquired Acme.",
        "Then Korea's beauty won the Prize.",
        "They saw a bar in Las Vegas and acquired Acme.",
        "There the Arduino project acquired Acme.",
        "Later Morrison's lawyer said the question was not one of those.",
    ],
)
def test_a_place_or_an_owner_is_not_who_did_it(tmp_path: Path, sentence: str) -> None:
    found = read(tmp_path, a_page(LONG, sentence))

    assert [fact["subject"] for fact in found.printed if fact["kind"] == "statement"] == []


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("At last the firm in Ghent sold 40 vehicles.", ""),
        ("There are 71 kWh and 95 kWh.", ""),
        ("In all, Peru's output fell by 3 percent.", ""),
        ("By then Yahoo's 12 percent was gone.", "Yahoo"),
        ("Looking ahead, Home Depot sees growth of 1.8 percent.", "Home Depot"),
    ],
)
def test_a_quantity_is_of_a_name_that_may_be_its_subject(
    tmp_path: Path, sentence: str, subject: str
) -> None:
    found = read(tmp_path, a_page(LONG, sentence))

    assert {fact.get("subject", "") for fact in found.printed} == {subject}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "Iberdrola registró ventas de €14m en 2023."),
        ("de", "Siemens erzielte $14x mehr."),
    ],
)
def test_letters_behind_an_amount_that_are_no_scale_make_it_no_amount(
    language: str, text: str
) -> None:
    assert [fact.number for fact in found(text, language) if fact.number] == []
