"""Search over every database: what is found."""

from contextlib import suppress

import pytest

from stateward.app.search import CANDIDATES_MAX
from stateward.core.errors import InvalidRequest
from stateward.storage import full_text
from tests.engine.conftest import Opener
from tests.engine.full_text_library import Library


@pytest.fixture
def library(open_database: Opener) -> Library:
    return Library(open_database)


# What is found


def test_words_phrases_prefixes_and_exclusions(library: Library) -> None:
    library.read("The late payment of the rent", "Payment is late", "Invoice 1,234.56 to O'Brien")
    library.read("Die MÜLLERIN zahlt die Straße", "契約書を見る")
    library.all_indexed()

    assert library.texts("late payment") == ["The late payment of the rent", "Payment is late"]
    assert library.texts('"late payment"') == ["The late payment of the rent"]
    assert library.texts("invoi*") == ["Invoice 1,234.56 to O'Brien"]
    assert library.texts('"late paym"*') == ["The late payment of the rent"]
    assert library.texts("late -rent") == ["Payment is late"]
    assert library.texts('payment -"late payment"') == ["Payment is late"]
    assert library.texts("1,234.56") == library.texts("o'brien") == library.texts("234")
    assert library.texts("mullerin strasse") == library.texts("Müllerin Straße") != []
    assert library.texts("約書") == ["契約書を見る"]
    assert library.texts("lat") == library.texts("rent müllerin") == []


def test_a_result_names_record_place_and_what_matched(library: Library) -> None:
    record = library.read(
        {"text": "nothing"},
        {"text": "rent & <i>more</i>", "where": {"page": 2, "box": [1.0, 2.0, 3.0, 4.0]}},
        filename="lease.pdf",
    )
    library.all_indexed()

    (hit,) = library.find("RENT").hits

    assert (hit.record_id, hit.machine, hit.status, hit.stage) == (
        record.id,
        "note",
        "read",
        "read",
    )
    assert (hit.title, hit.kind, hit.item) == ("lease.pdf", "Lines", 1)
    assert hit.where == {"page": 2, "box": [1.0, 2.0, 3.0, 4.0]}
    assert [(each.text, each.is_match) for each in hit.snippet] == [
        ("rent", True), (" & <i>more</i>", False),
    ]  # fmt: skip
    assert 0 < hit.score <= 1


def test_filters_choose_records(library: Library) -> None:
    library.read("rent one", client="42", source_type="letter")
    library.read("rent two", client="43", filename="b.txt")
    library.read({"text": "rent", "author": "Ann", "at": {"line": 3}}, machine="memo")
    library.all_indexed()

    assert (
        library.texts("rent machine:memo") == library.texts("rent pipeline:memo") == ["rent · Ann"]
    )
    assert library.texts("rent machine:note,memo -machine:memo") == ["rent one", "rent two"]
    assert (
        library.texts("rent label.client:42") == library.texts("rent source:letter") == ["rent one"]
    )
    assert library.texts("rent meta.client:42,43") == ["rent one", "rent two"]
    assert library.texts("rent -label.client:42 machine:note") == ["rent two"]
    assert library.texts("rent status:read is:ended") != []
    assert library.texts("rent status:new") == library.texts("rent label.client:4") == []
    assert library.texts("rent", ["memo"]) == ["rent · Ann"]
    assert library.texts("rent machine:note", ["memo"]) == []


def test_the_declaration_for_a_source_type_goes_before_the_one_for_all(library: Library) -> None:
    library.read({"text": "typed", "ocr": "scanned"}, source_type="scan")
    library.read({"text": "typed", "ocr": "scanned"}, source_type="letter")
    library.all_indexed()

    assert [hit.kind for hit in library.find("typed").hits] == ["Lines"]
    assert [hit.kind for hit in library.find("scanned").hits] == ["Scan"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "rent' OR 1=1 --", 'rent"', '"rent', "rent NEAR(a, 2)", "rent AND NOT", "{rent}: x", "^rent +a",
        "rent:*", "rent & !", "rent <-> (", "rent \\", "terms:rent", "rent * -", "rent \x00 \ud800", "rent %_[a-z]",
        "rent 'x':1A", "0tag", "rent label.x:' label.y:\\",
    ],
)  # fmt: skip
def test_no_query_is_a_syntax_error(library: Library, text: str) -> None:
    library.read("rent")
    library.all_indexed()

    with suppress(InvalidRequest):
        library.find(text)


def test_pages_hold_every_result_once_while_more_is_indexed(library: Library) -> None:
    count = CANDIDATES_MAX + 55
    library.read(*(f"rent {number}" for number in range(count)))
    library.all_indexed()

    seen: list[int] = []
    page = library.find("rent", limit=40)
    while True:
        seen += [hit.item for hit in page.hits]
        library.read("rent again")
        library.all_indexed()
        if page.next is None:
            break
        page = library.searches.find("rent", after=page.next, limit=40)

    assert sorted(seen) == list(range(count))


def test_rare_words_are_found_beyond_the_newest_passages(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_text, "NEWEST", 3)
    library.read(*(f"rent {number}" for number in range(10)), client="42")
    library.read("other")
    library.all_indexed()

    assert len(library.texts("rent")) == 10
    assert library.texts('"rent 2" label.client:42 status:read') == ["rent 2"]
    assert library.texts('"rent 2" status:new') == []


def test_the_better_match_comes_first(library: Library) -> None:
    library.read("rent " + "and many other words " * 20, "rent, the rent")
    library.all_indexed()

    hits = library.find("rent").hits

    assert [hit.item for hit in hits] == [1, 0]
    assert hits[0].score > hits[1].score


def test_a_long_item_is_found_once_at_its_place(library: Library) -> None:
    text = "filler " * 2000 + "needle in hay"
    library.read({"text": text, "where": {"start": 100, "end": 100 + len(text)}})
    library.all_indexed()

    (hit,) = library.find("needle").hits
    assert len(library.find("filler").hits) == 1
    assert hit.where is not None
    start = int(str(hit.where["start"])) - 100
    assert 0 < start <= text.index("needle") < start + 4000
