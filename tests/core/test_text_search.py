"""Words, queries over them, and how what matches is shown."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.core.errors import InvalidRequest
from stateward.core.text_search import (
    PASSAGE_CHARS,
    PHRASES_MAX,
    SNIPPET_CHARS,
    TEXT_CHARS_MAX,
    Phrase,
    TextQuery,
    matches,
    parse_text_query,
    passages,
    score,
    snippet,
    spans,
    with_types,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Müller & Söhne GmbH", ["muller", "sohne", "gmbh"]),
        ("STRASSE Straße straße", ["strasse", "strasse", "strasse"]),
        ("cafe\u0301 café CAFÉ", ["cafe", "cafe", "cafe"]),
        ("IBAN DE89-3704 1,234.56 €", ["iban", "de89", "3704", "1", "234", "56"]),
        ("snake_case o'brien a@b.example", ["snake", "case", "o", "brien", "a", "b", "example"]),
        ("契約書 draft", ["契", "約", "書", "draft"]),
        ("Договор ДОГОВОР", ["договор", "договор"]),
        ("ﬁne ½ ² ℃", ["fine", "12", "2"]),
        ("", []),
    ],
)
def test_words_are_folded(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text(max_size=80))
@example("\u0130stanbul \u1e9e \uff21\uff22 \U0001f600a\u0300\u0301")
def test_every_word_is_plain_and_stands_where_it_is_said_to_stand(text: str) -> None:
    found = list(spans(text))

    assert [word for word, _, _ in found] == words(text)
    assert all(word and not set(word) & set(" '\"\\*:()\x00") for word, _, _ in found)
    assert all(before[2] <= after[1] for before, after in pairwise(found))


def test_a_query_has_words_phrases_prefixes_and_exclusions() -> None:
    query = parse_text_query('Rent "late payment" invoi* -deposit -"of no"')

    assert query == TextQuery(
        wanted=(
            Phrase(words=("rent",)),
            Phrase(words=("late", "payment")),
            Phrase(words=("invoi",), is_prefix=True),
        ),
        unwanted=(Phrase(words=("deposit",)), Phrase(words=("of", "no"))),
    )


def test_a_word_of_several_parts_is_a_phrase() -> None:
    query = parse_text_query("1,234.56 O'Brien")

    assert [each.words for each in query.wanted] == [("1", "234", "56"), ("o", "brien")]


def test_known_keys_are_filters_and_all_else_is_text() -> None:
    query = parse_text_query(
        'rent pipeline:upload -status:error,parsing source_type:scan label.client:"4 2" age<2d note:x'
    )

    assert query.records == (
        'machine:upload -status:error,parsing source:scan meta.client:"4 2" age<2d'
    )
    assert [each.words for each in query.wanted] == [("rent",), ("note", "x")]


@pytest.mark.parametrize("text", ["", "   ", "-rent", "*", "&&", '""', "machine:upload", "-", "—"])
def test_a_query_without_a_word_to_look_for_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="at least one word"):
        parse_text_query(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (TEXT_CHARS_MAX + 1), "characters"),
        (" ".join(f"w{n}" for n in range(PHRASES_MAX + 1)), "words and phrases"),
        ("a*", "before the \\*"),
        ("a." * 100, "at most 64 words"),
    ],
)
def test_a_query_beyond_its_limits_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        parse_text_query(text)


@given(st.text(max_size=60))
@example('"a" OR NEAR(b c, 2) AND NOT {d}: ^e + f')
@example("');DROP TABLE records;--")
@example("a & !b | (c <-> d):*AB \\")
@example('machine:"unclosed rent')
def test_whatever_is_typed_is_a_query_or_is_refused_with_a_sentence(text: str) -> None:
    with suppress(InvalidRequest):
        query = parse_text_query(text)
        assert query.wanted
        assert all(phrase.words for phrase in (*query.wanted, *query.unwanted))


def test_long_text_comes_in_passages_that_overlap() -> None:
    text = " ".join(f"word{n}" for n in range(2000))

    found = list(passages(text))

    assert all(len(piece) <= PASSAGE_CHARS for _, piece in found)
    assert all(text[start : start + len(piece)] == piece for start, piece in found)
    ends = [start + len(piece) for start, piece in found]
    assert ends[-1] == len(text)
    assert all(start < end for (start, _), end in zip(found[1:], ends, strict=False))
    assert not any(piece.startswith("ord") for _, piece in found)


@pytest.mark.parametrize("text", ["x" * (3 * PASSAGE_CHARS), "\n" * (2 * PASSAGE_CHARS), "", "ab"])
def test_text_without_a_place_to_cut_is_cut_all_the_same(text: str) -> None:
    found = list(passages(text))

    assert "".join(text[start : start + len(piece)] for start, piece in found[-1:]) == found[-1][1]
    assert found[-1][0] + len(found[-1][1]) == len(text)


def test_matches_are_marked_in_the_text_as_it_is_written() -> None:
    text = "Die Müllerin zahlt; MÜLLER zahlt spät."

    found = matches(
        text, [Phrase(words=("muller",), is_prefix=True), Phrase(words=("zahlt", "spat"))]
    )

    assert [text[start:end] for start, end in found] == ["Müllerin", "MÜLLER", "zahlt spät"]


def test_a_snippet_shows_the_match_and_marks_nothing_else() -> None:
    text = "before " * 100 + "the late\npayment fee" + " after" * 100
    found = matches(text, [Phrase(words=("late", "payment"))])

    segments = snippet(text, found)

    assert [each.text for each in segments if each.is_match] == ["late payment"]
    assert segments[0].text == segments[-1].text == "…"
    assert sum(len(each.text) for each in segments) <= SNIPPET_CHARS + 2


def test_a_short_text_is_shown_whole_and_markup_in_it_stays_text() -> None:
    text = "<b>rent</b> & more"

    segments = snippet(text, matches(text, [Phrase(words=("rent",))]))

    assert [(each.text, each.is_match) for each in segments] == [
        ("<b>", False), ("rent", True), ("</b> & more", False),
    ]  # fmt: skip


@given(st.text(max_size=600), st.text(alphabet="ab cé", min_size=1, max_size=3))
def test_a_snippet_is_a_piece_of_the_text(text: str, word: str) -> None:
    phrases = [Phrase(words=(each,), is_prefix=True) for each in words(word)]

    shown = snippet(text, matches(text, phrases))

    plain = "".join(each.text for each in shown).strip("…")
    assert "".join(plain.split()) in "".join(text.split())


def test_what_is_about_the_words_ranks_before_what_mentions_them() -> None:
    phrases = [Phrase(words=("rent",))]

    often = score("rent and rent again", phrases)
    once = score("rent " + "and other words " * 50, phrases)

    assert 0 < once < often <= 1
    assert score("nothing", phrases) == score("", phrases) == 0


def test_a_type_of_passages_is_wanted_or_excluded_beside_words_or_alone() -> None:
    found = parse_text_query('negligence type:liability,"non_compete" -type:general')

    assert [each.words for each in found.wanted] == [("negligence",)]
    assert (found.types, found.unwanted_types) == (
        (("liability", "non_compete"),),
        ("general",),
    )
    assert parse_text_query("type:Liability").types == (("liability",),)
    assert parse_text_query(with_types("", ["liability", 'a"b'])).types == (("liability", "ab"),)
    assert with_types("rent", ()) == "rent"
    with pytest.raises(InvalidRequest, match="at least one word"):
        parse_text_query("-type:liability")
