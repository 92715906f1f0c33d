"""What makes a valid product: GTINs, prices, currencies, categories, duplicates; and what is only flagged."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.pipelines.catalogs.findings import row_ranges
from stateward.pipelines.catalogs.gtin import read_gtin
from stateward.pipelines.catalogs.html_text import to_text
from stateward.pipelines.catalogs.prices import PriceReader
from tests.pipelines.catalogs.reading import read


def check_digit(digits: str) -> str:
    """By the words of the GS1 specification, digit by digit from the right."""
    total = sum(int(d) * (3 if at % 2 == 0 else 1) for at, d in enumerate(reversed(digits)))
    return str(-total % 10)


@given(st.sampled_from([7, 11, 12, 13]), st.integers(min_value=1, max_value=10**13 - 1))
def test_exactly_one_last_digit_checks_the_others(length: int, number: int) -> None:
    body = str(number % 10**length or 1).zfill(length)

    right = [d for d in "0123456789" if not read_gtin(body + d).fault]

    assert right == [check_digit(body)]


@pytest.mark.parametrize(
    ("printed", "digits", "fault"),
    [
        ("4006381333931", "4006381333931", ""),
        ("400-6381-333931", "4006381333931", ""),
        ("96385074", "96385074", ""),
        ("036000291452", "036000291452", ""),
        ("36000291452", "036000291452", ""),
        ("4006381333932", "", "BAD_GTIN_CHECKSUM"),
        ("4.00638E+12", "", "GTIN_SCIENTIFIC"),
        ("4,00638E+12", "", "GTIN_SCIENTIFIC"),
        ("12345", "", "BAD_GTIN_LENGTH"),
        ("40063813339AB", "", "BAD_GTIN"),
        ("0000000000000", "", "PLACEHOLDER_GTIN"),
        ("٤٠٠٦٣٨١٣٣٣٩٣١", "", "BAD_GTIN"),
    ],
)
def test_a_gtin_has_digits_or_a_fault(printed: str, digits: str, fault: str) -> None:
    found = read_gtin(printed)

    assert (found.digits, found.fault) == (digits, fault)


@pytest.mark.parametrize(
    ("decimal", "printed", "amount", "currency"),
    [
        (",", "1.234,50 €", "1234.50", "EUR"),
        (".", "1.234,50 €", "1234.50", "EUR"),
        (".", "1,234.50", "1234.50", ""),
        (".", "1'234.50 CHF", "1234.50", "CHF"),
        (",", "1 234,50", "1234.50", ""),
        (",", "12,-", "12.00", ""),
        (".", "USD 15", "15.00", "USD"),
        (".", "15.00 USD", "15.00", "USD"),
        (",", "12,50 € inkl. MwSt.", "12.50", "EUR"),
        (",", "ab 9,90 €", "9.90", "EUR"),
        (".", "¥1500", "1500.00", ""),
        (".", "0.125", "0.125", ""),
        (",", "1.299", "1299.00", ""),
        (".", "1,299", "1299.00", ""),
    ],
)
def test_a_price_is_read_by_the_decimal_sign_of_its_file(
    decimal: str, printed: str, amount: str, currency: str
) -> None:
    price = PriceReader(decimal).read(printed)

    assert (price.amount, price.currency, price.fault) == (amount, currency, "")


@pytest.mark.parametrize(
    "printed", ["call us", "-", "12.50.00", "1,2,3", "n/a", "12 apples", "€", "1e5", "9" * 90]
)
def test_a_text_that_is_no_price_is_never_one(printed: str) -> None:
    assert PriceReader(".").read(printed).fault == "UNPARSEABLE_PRICE"


@pytest.mark.parametrize("printed", ["-3.00", "(3.00)", "3.00-", "EUR -3.00"])
def test_a_negative_price_is_named_so(printed: str) -> None:
    assert PriceReader(".").read(printed).fault == "NEGATIVE_PRICE"


@pytest.mark.parametrize(
    "printed",
    ["10.00 - 20.00 USD", "10.00\u201320.00 USD", "10.00 to 20.00 USD", "USD 10.00 - USD 20.00"],
)
def test_a_range_gives_its_lowest_price_and_says_so(printed: str) -> None:
    price = PriceReader(".").read(printed)

    assert (price.amount, price.highest, price.currency) == ("10.00", "20.00", "USD")
    assert "PRICE_RANGE" in price.flags


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_a_printed_amount_is_read_back_exactly(value: Decimal) -> None:
    english, german = f"{value:,.2f}", f"{value:,.2f}".translate(str.maketrans(",.", ".,"))

    assert Decimal(PriceReader(".").read(english).amount) == value
    assert Decimal(PriceReader(",").read(f"{german} €").amount) == value


def test_a_price_that_can_be_read_in_two_ways_is_flagged(tmp_path: Path) -> None:
    found = read(tmp_path, "SKU;Name;Price;Currency\nA;Lamp;1.299;EUR\nB;Lamp;2.499;EUR\n")
    said = read(
        tmp_path, "SKU;Name;Price\nA;Lamp;1.299\n", labels={"decimal": ".", "currency": "EUR"}
    )

    assert [each["flags"] for each in found.products] == [["AMBIGUOUS_PRICE"]] * 2
    assert found.products[0]["price"] == "1299.00"
    assert (said.product["price"], "flags" in said.product) == ("1.299", False)


def test_a_missing_currency_is_not_guessed(tmp_path: Path) -> None:
    rows = "A,Lamp,$5.00,\nB,Lamp,6.00,\nC,Lamp,7.00,usd\nD,Lamp,8.00,XQZ\nE,Lamp,9.00 EUR,USD\n"
    document = f"SKU,Name,Price,Currency\n{rows}"

    found = read(tmp_path, document)

    flags = {each["sku"]: (each.get("currency", ""), each.get("flags")) for each in found.products}
    assert flags == {
        "A": ("", ["AMBIGUOUS_CURRENCY"]),
        "C": ("USD", None),
    }
    assert found.rejected == {
        3: "MISSING_CURRENCY",
        5: "UNKNOWN_CURRENCY",
        6: "CURRENCY_CONFLICT",
    }


def test_a_missing_currency_is_flagged_where_few_rows_print_one(tmp_path: Path) -> None:
    found = read(tmp_path, "SKU,Name,Price\nA,Lamp,5.00 EUR\nB,Lamp,6.00\nC,Lamp,7.00\n")

    assert [each.get("flags", []) for each in found.products] == [
        [],
        ["MISSING_CURRENCY"],
        ["MISSING_CURRENCY"],
    ]


def test_a_price_list_may_call_its_articles_by_a_code_and_its_prices_by_who_pays_them(
    tmp_path: Path,
) -> None:
    heading = "Code,Product,Barcode,Trade price (GBP),RRP (GBP)"

    product = read(tmp_path, f"{heading}\nHB-1,Heather Honey,5060123000016,4.10,6.99\n").product

    assert (product["sku"], product["price"], product["list_price"]) == ("HB-1", "4.10", "6.99")
    assert product["currency"] == "GBP"


def test_line_breaks_that_woocommerce_writes_as_two_signs_are_line_breaks(tmp_path: Path) -> None:
    heading = "ID,Type,SKU,Name,Description,Regular price"

    product = read(tmp_path, f"{heading}\n1,simple,A,Tea,First\\nsecond,5.40\n").product

    assert product["description"] == "First\nsecond"


def test_prices_and_titles_of_json_may_be_objects_in_any_language(tmp_path: Path) -> None:
    rows = [
        {"sku": "A", "brand": {"id": "7"}, "name": {"fr": "Ampoule"}, "prix": {"montant": 4.9, "devise": "EUR"}},
        {"sku": "B", "name": {"fr": "Ruban", "en": None}, "prix": {"montant": 29.9, "devise": "EUR"}},
        {"sku": "C", "name": {"fr": "Spot", "en": "Spot"}, "prix": {"montant": None, "devise": "EUR"}},
    ]  # fmt: skip
    document = json.dumps({"produits": rows})

    found = read(tmp_path, document)

    told = [(each["title"], each["price"], each["currency"]) for each in found.products]
    assert told == [("Ampoule", "4.90", "EUR"), ("Ruban", "29.90", "EUR")]
    assert found.rejected == {3: "MISSING_PRICE"}
    assert "brand" not in found.products[0]


def test_amounts_have_the_decimals_of_their_currency(tmp_path: Path) -> None:
    product = read(tmp_path, "SKU,Name,Price,Currency\nA,Lamp,1500,JPY\n").product

    assert product["price"] == "1500"


def test_categories_are_mapped_by_rules_and_own_rules_come_first(tmp_path: Path) -> None:
    document = "SKU,Name,Price,Currency,Category\nA,Saw,5,EUR,Tools > Hand\nB,Egg,5,EUR,Zubehör Ü\nC,Nut,5,EUR,???\n"
    own = {"version": 7, "rules": [{"category": "Spare parts", "words": ["Zubehör Ü"]}]}

    plain = read(tmp_path, document)
    ruled = read(tmp_path, document, options={"categories": own})
    strict = read(tmp_path, document, options={"unmapped_categories": "reject"})

    assert [each.get("category", "") for each in plain.products] == ["Hardware", ""]
    assert plain.products[1]["flags"] == ["UNMAPPED_CATEGORY"]
    assert plain.products[1]["category_printed"] == "Zubehör Ü"
    assert plain.rejected == {4: "UNKNOWN_CATEGORY"}
    assert [each["category"] for each in ruled.products] == ["Hardware", "Spare parts"]
    assert ruled.facts["rules"] == "7.1"
    assert strict.rejected == {3: "UNMAPPED_CATEGORY", 4: "UNKNOWN_CATEGORY"}


def test_a_rejected_row_does_not_make_the_next_one_a_duplicate(tmp_path: Path) -> None:
    rows = "A,Lamp,free,EUR,\nA,Lamp,5,EUR,96385074\nA,Lamp,6,EUR,\nB,Bulb,7,EUR,0000096385074\n"
    document = f"SKU,Name,Price,Currency,GTIN\n{rows}"

    found = read(tmp_path, document)

    assert found.rejected == {2: "UNPARSEABLE_PRICE", 4: "PRICE_CONFLICT"}
    assert found.products[1]["flags"] == ["DUPLICATE_GTIN"]


def test_rejections_are_in_the_log_the_facts_and_the_summary(tmp_path: Path) -> None:
    document = "SKU,Name,Price,Currency\nA,Lamp,5,EUR\n,Lamp,5,EUR\nC,,5,EUR\nD,Lamp,,EUR\n"

    found = read(tmp_path, document)

    wanted = {3: "MISSING_SKU", 4: "MISSING_TITLE", 5: "MISSING_PRICE"}
    assert found.rejected == wanted
    assert {line["row"]: line["code"] for line in found.log if "code" in line} == wanted
    assert found.facts["rejected"] == 3
    assert found.facts["rejected_rows"] == {
        "MISSING_PRICE": "5",
        "MISSING_SKU": "3",
        "MISSING_TITLE": "4",
    }
    assert [note.partition(":")[0] for note in found.facts["notes"]] == list(wanted.values())


def test_row_numbers_are_written_in_few_characters() -> None:
    assert row_ranges([3, 8, 7, 9, 12]) == "3, 7-9, 12"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One</p><ul><li>Two &amp; three</li></ul>", "One\nTwo & three"),
        ("a<script>alert('<p>')</script>b", "ab"),
        ("<style>p{color:red}</style><b>Bold</b>", "Bold"),
        ("<!-- hidden -->seen", "seen"),
        ("size < 5 cm", "size < 5 cm"),
        ("<img alt='a > b' src=x>text", "text"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("&lt;p&gt; is a tag", "<p> is a tag"),
        ("<p>unclosed <b>tags", "unclosed tags"),
        ("<div>" * 3000 + "deep", "deep"),
        ("two\u00a0 blanks\t here", "two blanks here"),
    ],
)
def test_html_becomes_text(markup: str, text: str) -> None:
    assert to_text(markup) == text


@given(st.text(alphabet="<>/!-&;pbscript \"'=a1\n", max_size=60))
def test_no_markup_makes_it_fail_or_leaves_a_script(markup: str) -> None:
    text = to_text(f"<p>{markup}</p><script>evil()</script>")

    assert "evil()" not in text or re.search(r"<!--|<[!/?a-z]|['\"]", markup)


@pytest.mark.parametrize(
    ("printed", "told", "flags"),
    [
        ("in_stock", "in_stock", []),
        ("Out of stock", "out_of_stock", []),
        ("https://schema.org/PreOrder", "preorder", []),
        ("http://schema.org/SoldOut", "out_of_stock", []),
        ("https://schema.org/Discontinued", "out_of_stock", []),
        ("https://schema.org/LimitedAvailability", "in_stock", []),
        ("https://schema.org/InStoreOnly", "in_stock", []),
        ("https://www.schema.org/MadeToOrder", "backorder", []),
        ("schema:Reserved", "out_of_stock", []),
        ("maybe", "", ["AVAILABILITY_UNREADABLE"]),
    ],
)
def test_an_availability_is_one_of_four_or_is_flagged(
    tmp_path: Path, printed: str, told: str, flags: list[str]
) -> None:
    found = read(tmp_path, f"sku,title,price,availability\nA,Mug,9.50 EUR,{printed}\n").product

    assert (found.get("availability", ""), found.get("flags", [])) == (told, flags)


def test_a_variation_without_its_product_is_flagged(tmp_path: Path) -> None:
    rows = (
        "1,variable,P,Tea,,\n2,variation,P-1,Tea - 1 kg,27.50,P\n3,variation,Q-1,Rum - 1 l,7.90,Q\n"
    )

    found = read(
        tmp_path, f"ID,Type,SKU,Name,Regular price,Parent\n{rows}", labels={"currency": "EUR"}
    )

    assert [each.get("flags", []) for each in found.products] == [[], [], ["PARENT_MISSING"]]


def test_a_price_with_another_decimal_sign_than_its_file_is_flagged() -> None:
    assert [PriceReader(".").read(each).flags for each in ("2.35", "2,35")] == [
        (),
        ("OTHER_DECIMAL_SIGN",),
    ]
