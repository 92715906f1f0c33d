"""Amounts as banks print them, and nothing that is not one."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stateward.pipelines.kit import money

AMOUNTS = [
    ("\u0663\u066b\u0665", ".", "3.5"),  # digits of Arabic script
    ("-\uff11,\uff12\uff13\uff14", ".", "-1234"),  # wide digits
    ("0", ".", "0"),
    ("5", ".", "5"),
    ("-5", ".", "-5"),
    ("+3.00", ".", "3.00"),
    ("1,234.56", ".", "1234.56"),
    ("1,234,567.89", ".", "1234567.89"),
    ("1,23,456.78", ".", "123456.78"),
    ("12,34,56,789.00", ".", "123456789.00"),
    ("1.234,56", ",", "1234.56"),
    ("1.234.567,89", ",", "1234567.89"),
    ("1 234,56", ",", "1234.56"),
    ("1\u00a0234,56", ",", "1234.56"),
    ("1\u202f234,56", ",", "1234.56"),
    ("1'234.56", ".", "1234.56"),
    ("1\u2019234.56", ".", "1234.56"),
    ("1 234 567", ".", "1234567"),
    ("-8.95000", ".", "-8.95000"),
    ("-110.7", ".", "-110.7"),
    ("6800,", ",", "6800"),
    (".50", ".", "0.50"),
    (",5", ",", "0.5"),
    ("(12.00)", ".", "-12.00"),
    ("($85.00)", ".", "-85.00"),
    ("$(85.00)", ".", "-85.00"),
    ("123.45-", ".", "-123.45"),
    ("123.45 -", ".", "-123.45"),
    ("\u22125.00", ".", "-5.00"),
    ("\u20135.00", ".", "-5.00"),
    ("$-5.00", ".", "-5.00"),
    ("-$5.00", ".", "-5.00"),
    ("- $ 5.00", ".", "-5.00"),
    ("12.00CR", ".", "12.00"),
    ("12.00 Cr.", ".", "12.00"),
    ("12.00DR", ".", "-12.00"),
    ("D 12,00", ",", "-12.00"),
    ("12,00 S", ",", "-12.00"),
    ("12,00 H", ",", "12.00"),
    ("RC 12,00", ",", "-12.00"),
    ("RD 12,00", ",", "12.00"),
    ("€ 12,50", ",", "12.50"),
    ("12,50 €", ",", "12.50"),
    ("USD 12.00", ".", "12.00"),
    ("12.00 EUR", ".", "12.00"),
    ("R$ 1.234,56", ",", "1234.56"),
    ("Rs. 1,23,456.00", ".", "123456.00"),
    ("kr 12,50", ",", "12.50"),
    ("  7.25  ", ".", "7.25"),
    ("000000000147,64", ",", "147.64"),
    ("0.001", ".", "0.001"),
]
NO_AMOUNTS = [
    ("", "."),
    (" ", "."),
    ("-", "."),
    (".", "."),
    ("abc", "."),
    ("12..34", "."),
    ("1,23", "."),
    ("1,234,56", "."),
    ("12.5", ","),
    ("1.2.3", ","),
    ("1 2 3", "."),
    ("--5", "."),
    ("-5-", "."),
    ("(5", "."),
    ("12:30", "."),
    ("2024-05-06", "."),
    ("05/06/2024", "."),
    ("5 apples", "."),
    ("1e5", "."),
    ("NaN", "."),
    ("Infinity", "."),
    ("0x10", "."),
    ("9" * 60, "."),
    ("12.00 CR DR", "."),
]


@pytest.mark.parametrize(("text", "decimal", "value"), AMOUNTS)
def test_an_amount_is_read_exactly(text: str, decimal: str, value: str) -> None:
    assert money.amount(text, decimal) == Decimal(value)


@pytest.mark.parametrize(("text", "decimal"), NO_AMOUNTS)
def test_what_is_no_amount_is_none(text: str, decimal: str) -> None:
    assert money.amount(text, decimal) is None


@pytest.mark.parametrize(
    ("texts", "decimal", "is_sure"),
    [
        (["12.50", "1,234.00"], ".", True),
        (["12,50", "1.234,00"], ",", True),
        (["1.234", "5"], ".", False),
        (["1,234"], ".", False),
        (["1.234", "12,5"], ",", True),
        (["5", "17"], ".", True),
        (["1.234,00", "1,234.00"], ".", False),
        (["1'234.50"], ".", True),
        (["1 234,50"], ",", True),
        (["1,234,567"], ".", True),
        (["1.234.567"], ",", True),
        (["hello", ""], ".", True),
    ],
)
def test_a_column_votes_for_its_decimal_sign(texts: list[str], decimal: str, is_sure: bool) -> None:
    vote = money.vote_decimal(texts)

    assert (vote.decimal, vote.is_sure) == (decimal, is_sure)


def test_a_minority_does_not_turn_a_vote_and_is_counted() -> None:
    vote = money.vote_decimal(["1.50", "2.50", "3,5"])

    assert (vote.decimal, vote.against) == (".", 1)


@pytest.mark.parametrize(
    ("value", "currency", "text"),
    [
        ("-8.95000", "USD", "-8.95"),
        ("-110.7", "EUR", "-110.70"),
        ("1000", "JPY", "1000"),
        ("1000.00", "JPY", "1000"),
        ("1.5", "KWD", "1.500"),
        ("1.2345", "EUR", "1.2345"),
        ("-0.00", "", "0.00"),
        ("1E+3", "", "1000.00"),
    ],
)
def test_an_amount_is_written_with_the_decimals_of_its_currency(
    value: str, currency: str, text: str
) -> None:
    assert money.format_amount(Decimal(value), currency) == text


SHAPES: dict[str, tuple[str, Callable[[Decimal], str]]] = {
    "plain": (".", lambda v: f"{v:.2f}"),
    "english": (".", lambda v: f"{v:,.2f}"),
    "german": (",", lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,"))),
    "french": (",", lambda v: f"{v:,.2f}".replace(",", "\u202f").replace(".", ",")),
    "swiss": (".", lambda v: f"{v:,.2f}".replace(",", "'")),
    "brackets": (".", lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}"),
    "trailing": (".", lambda v: f"{-v:,.2f}-" if v < 0 else f"{v:,.2f}"),
    "glued": (",", lambda v: f"{v:.2f} EUR".replace(".", ",")),
}


@given(cents=some.integers(-(10**14), 10**14), shape=some.sampled_from(sorted(SHAPES)))
def test_whatever_is_printed_is_read_back(cents: int, shape: str) -> None:
    value = Decimal(cents) / 100
    decimal, printed = SHAPES[shape]

    assert money.amount(printed(value), decimal) == value


@given(some.text(max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    for decimal in ".,":
        value = money.amount(text, decimal)
        assert value is None or value.is_finite()


@pytest.mark.parametrize(
    ("text", "value"),
    [("'579,68 USD", "579.68"), ("'USD 9.126,07", "9126.07"), ("'-8.582,07 €", "-8582.07")],
)
def test_what_keeps_a_cell_a_text_is_no_part_of_its_amount(text: str, value: str) -> None:
    assert str(money.amount(text, ",")) == value


@pytest.mark.parametrize("text", ["'00012345", "'99-88-74", "'919191****1,00"])
def test_numbers_that_a_sheet_keeps_as_texts_are_no_amounts(text: str) -> None:
    assert not money.is_amount(text)
