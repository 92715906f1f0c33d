"""Catalogues in HTML and feeds: what a page tells search engines, its tables, and variants inside of a product."""

import json
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect
from stateward.pipelines.kit.html_tables import parse_html, tables_of
from tests.pipelines.catalogs.reading import Read, read_file

ROWS = (
    "<tr><th>SKU</th><th>Product</th><th>EAN</th><th>Price (EUR)</th></tr>"
    "<tr><td>A-1</td><td>Kettle</td><td>4006381333931</td><td>29,90</td></tr>"
    "<tr><td>A-2</td><td>Pan</td><td>4006381333932</td><td>9,90</td></tr>"
    "<tr><td>A-3</td><td>Pot &amp; lid</td><td></td><td>1.209,90</td></tr>"
)
LIST = f"<html><head><title>Prices</title></head><body><p>Valid from May.</p><table>{ROWS}</table></body></html>"


def read_text(tmp_path: Path, text: str, name: str = "page.html") -> Read:
    (tmp_path / name).write_text(text, "utf-8")
    return read_file(tmp_path / name)


def told(*products: object) -> str:
    scripts = "".join(
        f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in products
    )
    return f"<!DOCTYPE html><html><head>{scripts}</head><body><h1>Lamp</h1></body></html>"


def product(**values: object) -> dict[str, object]:
    return {"@context": "https://schema.org", "@type": "Product", "name": "Lamp", **values}


def offer(price: str, **values: object) -> dict[str, object]:
    return {"@type": "Offer", "price": price, "priceCurrency": "USD", **values}


@pytest.mark.parametrize("name", ["list.html", "list.xls"])
def test_a_table_of_a_page_is_a_catalogue(tmp_path: Path, name: str) -> None:
    found = read_text(tmp_path, LIST, name)

    assert [(each["sku"], each["price"], each["currency"]) for each in found.products] == [
        ("A-1", "29.90", "EUR"),
        ("A-3", "1209.90", "EUR"),
    ]
    assert found.rejected == {3: "BAD_GTIN_CHECKSUM"}
    assert detect(Content.of(tmp_path / name, name=name)).confidence > 90  # type: ignore[union-attr]


def test_rows_of_a_page_need_no_end(tmp_path: Path) -> None:
    (tmp_path / "list.html").write_text(LIST.replace("</tr>", "\n"))

    found = detect(Content.of(tmp_path / "list.html", name="list.html"))

    assert found is not None
    assert (found.format, found.confidence > 90) == ("html", True)


def test_a_product_of_a_page_has_a_row_for_each_offer_with_a_sku(tmp_path: Path) -> None:
    offers = [offer("79.00", sku="L-BR"), offer("69.00", sku="L-BK")]
    page = told({"@graph": [{"@type": "WebPage"}, product(sku="L", offers=offers, mpn="7")]})

    found = read_text(tmp_path, page)

    assert [(each["sku"], each["title"], each["price"]) for each in found.products] == [
        ("L-BR", "Lamp", "79.00"),
        ("L-BK", "Lamp", "69.00"),
    ]


def test_offers_of_one_thing_are_a_range(tmp_path: Path) -> None:
    several = product(sku="L", offers=[offer("12.50"), offer("9.00"), offer("30.00")])
    summed = product(
        sku="M",
        offers={"@type": "AggregateOffer", "lowPrice": 5, "highPrice": 7, "priceCurrency": "EUR"},
    )

    first, second = read_text(tmp_path, told(several, summed)).products

    assert (first["price"], first["price_highest"], first["flags"]) == ("9.00", "30.00", ["PRICE_RANGE"])  # fmt: skip
    assert (second["price"], second["price_highest"], second["currency"]) == ("5.00", "7.00", "EUR")


def test_variants_of_a_group_inherit_and_keep_their_own_identity(tmp_path: Path) -> None:
    group = {
        "@type": "ProductGroup",
        "name": "Tee",
        "sku": "TEE",
        "brand": {"@type": "Brand", "name": "Acme"},
        "hasVariant": [
            {"@type": "Product", "sku": "TEE-S", "offers": offer("19.00")},
            {"@type": "Product", "name": "Tee, large", "offers": offer("21.00")},
        ],
    }

    found = read_text(tmp_path, json.dumps(group), "tee.json")

    assert [(each["sku"], each["title"], each["brand"]) for each in found.products] == [
        ("TEE-S", "Tee", "Acme")
    ]
    assert [*found.rejected.values()] == ["MISSING_SKU"]


def test_microdata_are_read_without_those_of_things_inside(tmp_path: Path) -> None:
    page = (
        '<html><body><div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Mug</b>'
        '<meta itemprop="sku" content="MUG-1"><div itemprop="review" itemscope><i itemprop="name">Fine</i></div>'
        '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="priceCurrency" '
        'content="GBP"><span itemprop="price" content="8.50">&pound;8.50</span></div></div></body></html>'
    )

    found = read_text(tmp_path, page)

    only = found.product
    assert (only["title"], only["price"], only["currency"]) == ("Mug", "8.50", "GBP")


def test_a_page_without_products_is_none(tmp_path: Path) -> None:
    found = read_text(tmp_path, "<!DOCTYPE html><html><body><p>We are closed.</p></body></html>")

    assert found.error.code == "NO_CATALOG"
    assert "schema.org" in found.error.message


def test_a_cell_over_several_rows_moves_no_other() -> None:
    root = parse_html(
        "<table><tr><td rowspan=2>Pans</td><td>A-1</td></tr><tr><td>A-2</td></tr><tr><td>x</td></tr></table>"
    )

    assert [*tables_of(root)] == [[["Pans", "A-1"], ["", "A-2"], ["x"]]]


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:s="urn:shop"><id>1</id><title>Shop</title>
<entry><id>x/1</id><title>Reading lamp</title><s:vendor>Hale</s:vendor><s:variant><id>x/1</id><title>Brass</title>
<s:price currency="USD">79.00</s:price><s:sku>L-BR</s:sku></s:variant><s:variant><id>x/1</id><title>Black</title>
<s:price currency="USD">69.00</s:price><s:sku>L-BK</s:sku></s:variant></entry>
<entry><id>x/2</id><title>Shade</title><s:variant><id>x/2</id><title>Default Title</title>
<s:price currency="USD">19.50</s:price><s:sku>SH</s:sku></s:variant></entry></feed>"""


def test_variants_inside_of_a_product_have_its_title(tmp_path: Path) -> None:
    found = read_text(tmp_path, ATOM, "all.atom")

    assert [(each["sku"], each["title"], each.get("options")) for each in found.products] == [
        ("L-BR", "Reading lamp", {"option 1": "Brass"}),
        ("L-BK", "Reading lamp", {"option 1": "Black"}),
        ("SH", "Shade", None),
    ]
    assert found.products[0]["brand"] == "Hale"


def test_the_entries_of_a_blog_are_no_products(tmp_path: Path) -> None:
    blog = "<feed><entry><id>urn:2</id><title>Spring</title></entry><entry><id>3</id><title>x</title></entry></feed>"

    assert read_text(tmp_path, blog, "blog.atom").error.code == "NO_CATALOG"
    assert read_text(tmp_path, '[{"id": 1, "name": "Ada"}]', "a.json").error.code == "NO_CATALOG"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "Artikelnr\tOmschrijving\tPrijs excl. BTW\tValuta\tEAN-code\nF1\tBand\t7,20\tEUR\t\n"),
        ("a.jsonl", '{"sku": "E", "name": "Hub", "price": {"amount": "7.5", "currency": "CHF"}, "brand": "K"}'),
        ("a.atom", ATOM),
    ],
)  # fmt: skip
def test_a_catalogue_is_known_by_its_words(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")

    found = detect(Content.of(tmp_path / name, name=name))

    assert found is not None
    assert found.confidence >= 60


def test_letters_that_were_damaged_before_are_noted(tmp_path: Path) -> None:
    damaged = read_text(tmp_path, "SKU;Titel;Preis\nA;GlÃ¼hbirne;3,95\nB;Türöffner;4,95\n", "a.csv")
    whole = read_text(tmp_path, "SKU;Titel;Preis\nA;Glühbirne;3,95\nB;SÃO PAULO;4,95\n", "b.csv")

    assert "LETTERS_DAMAGED" in damaged.notes
    assert "LETTERS_DAMAGED" not in whole.notes
