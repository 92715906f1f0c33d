"""Printed values and ranges mean what a person reads in them."""

from decimal import Decimal

import pytest

from stateward.pipelines.labs.pdf.cells import split_value
from stateward.pipelines.labs.pdf.legends import is_legend
from stateward.pipelines.labs.ranges import flag_of, read_range
from stateward.pipelines.labs.values import plain, read_value, vote_decimal


@pytest.mark.parametrize(
    ("text", "kind", "comparator", "number"),
    [
        ("5.4", "quantity", "", "5.4"),
        ("5,40", "quantity", "", "5.40"),
        ("<0.5", "quantity", "<", "0.5"),
        ("< 0,6", "quantity", "<", "0.6"),
        (">1000", "quantity", ">", "1000"),
        ("≥ 90", "quantity", ">=", "90"),
        ("<= 16", "quantity", "<=", "16"),
        ("kleiner 3", "quantity", "<", "3"),
        ("1:160", "titre", "", "160"),
        ("< 1:80", "titre", "<", "80"),
        ("1.234,5", "quantity", "", "1234.5"),
        ("12'345", "quantity", "", "12345"),
        ("5.4*", "quantity", "", "5.4"),
        ("3.2 x 10^3", "quantity", "", "3200"),
        ("-2.1", "quantity", "", "-2.1"),
        ("0-2", "interval", "", "0"),
        (">100,000", "quantity", ">", "100000"),
        ("3,36,000", "quantity", "", "336000"),
    ],
)
def test_a_number_is_read_exactly(text: str, kind: str, comparator: str, number: str) -> None:
    read = read_value(text)

    assert (read.kind, read.comparator, plain(read.number or Decimal(0))) == (
        kind,
        comparator,
        number,
    )
    assert not read.is_ambiguous


@pytest.mark.parametrize(
    ("text", "kind", "meaning"),
    [
        ("neg.", "ordinal", "negative"),
        ("nicht nachweisbar", "ordinal", "not detected"),
        ("POSITIVO", "ordinal", "positive"),
        ("++", "ordinal", "2+"),
        ("(+)", "ordinal", "trace"),
        ("Escherichia coli", "text", "Escherichia coli"),
        ("1O.5", "unread", "1O.5"),
        ("5.4.3", "unread", "5.4.3"),
        ("-", "none", "-"),
        ("", "none", ""),
    ],
)
def test_words_and_what_cannot_be_read(text: str, kind: str, meaning: str) -> None:
    read = read_value(text)

    assert (read.kind, read.text) == (kind, meaning)


def test_one_comma_and_three_digits_are_decided_by_the_rest_of_the_report() -> None:
    assert read_value("1,234").is_ambiguous
    assert read_value("1,234", ",").number == Decimal("1.234")
    assert read_value("1,234", ".").number == Decimal(1234)
    assert vote_decimal(["5,4", "1,234"]) == ","
    assert vote_decimal(["1,234"]) == ""
    assert vote_decimal(["5.4", "5,4"]) == ""


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("3.5-5.1", "3.5", "5.1"),
        ("3,5 \u2013 5,1", "3.5", "5.1"),
        ("[ 0,70 - 1,20 ]", "0.70", "1.20"),
        ("von 3 bis 5", "3", "5"),
        ("4.0 à 10.0", "4.0", "10.0"),
        ("-2.0 - 3.0", "-2.0", "3.0"),
        ("70 - 99 mg/dL", "70", "99"),
        ("< 5", None, "5"),
        ("bis 5,0", None, "5.0"),
        ("inf. à 1,50", None, "1.50"),
        ("inferiore a 200", None, "200"),
        ("> OR = 50 mg/dL", "50", None),
        (">59", "59", None),
        ("43,0 - 74,0 ¬", "43.0", "74.0"),
        ("150 - 400 ▲", "150", "400"),
        ("3 - 5 %", "3", "5"),
    ],
)
def test_a_range_has_its_limits(text: str, low: str | None, high: str | None) -> None:
    read = read_range(text)

    assert read.kind == "interval"
    assert (read.low, read.high) == tuple(
        None if each is None else Decimal(each) for each in (low, high)
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("M: 13.5-17.5 F: 12-16", "conditional"),
        ("Männer: 13,5-17,5", "conditional"),
        ("Not Estab.", "none"),
        ("negativ", "ordinal"),
        ("< 1:80", "titre"),
        ("5-3", "unread"),
        ("3.5-5.1; < 7", "unread"),
    ],
)
def test_a_range_that_is_no_plain_one_says_so(text: str, kind: str) -> None:
    assert read_range(text).kind == kind


@pytest.mark.parametrize(
    ("value", "within", "flag"),
    [
        ("5.1", "3.5-5.1", "N"),
        ("5.2", "3.5-5.1", "H"),
        ("3.4", "3.5-5.1", "L"),
        ("5", "< 5", "H"),
        ("5", "bis 5", "N"),
        ("<0.5", "0-5", "N"),
        ("<0.5", "< 5", "N"),
        ("<8.69", "8.6-10.3", ""),
        (">1000", "0-200", "H"),
        ("<3", "3-9", "L"),
        ("1:160", "< 1:80", "H"),
        ("positive", "negativ", "A"),
        ("neg.", "negative", "N"),
        ("Escherichia coli", "No growth", ""),
    ],
)
def test_a_flag_follows_from_value_and_range_or_is_left_open(
    value: str, within: str, flag: str
) -> None:
    assert flag_of(read_value(value), read_range(within)) == flag


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("+ / - = Wert über / unter Referenzbereich   ++ = stark erhöht", True),
        ("-- = not performed", True),
        ("S = SUSCEPTIBLE   R = RESISTANT", True),
        ("HDL-Cholesterin + 65 mg/dl", False),
        ("< = 5 Treffer", False),
        ("/" * 5000, False),
        ("+/" * 5000, False),
        (" , " * 5000 + "= x", False),
    ],
    ids=lambda told: str(told)[:20],
)
def test_a_line_that_says_what_signs_mean_is_no_result(line: str, *, is_told: bool) -> None:
    assert is_legend(line) is is_told


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("Não reagente", "non-reactive"), ("ślad", "trace"), ("nieobecne", "negative"), ("Presenti", "positive"),
     ("陰性", "negative"), ("(-)", "negative"), ("не обнаружено", "not detected"), ("ikke påvist", "not detected")],
)  # fmt: skip
def test_results_in_words_of_many_languages_have_a_meaning(text: str, meaning: str) -> None:
    assert read_value(text).text == meaning


@pytest.mark.parametrize(
    ("text", "value", "flag"),
    [("* Torbido", "Torbido", "*"), ("↑ Presenti", "Presenti", "↑"), ("- Torbido", "- Torbido", ""),
     ("* see the remark of the laboratory", "* see the remark of the laboratory", "")],
)  # fmt: skip
def test_a_sign_before_a_word_is_its_flag_and_not_before_a_remark(
    text: str, value: str, flag: str
) -> None:
    parts = split_value(text)

    assert (parts.value, parts.flag) == (value, flag)


@pytest.mark.parametrize(
    "text", ["NaN", "INF", "-Infinity", "#DIV/0!", "9" * 31, "1:" + "9" * 40, "0." + "1" * 40]
)
def test_what_is_no_number_or_would_be_cut_is_unread(text: str) -> None:
    assert read_value(text).kind == "unread"
