"""XML of feeds and marketplaces as programs write it: document types, bare signs, numbers for words."""

# ruff: noqa: E501 - XML as it is delivered has long lines

import sys
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect
from stateward.pipelines.catalogs.feeds import read_xml
from tests.pipelines.catalogs.reading import read

YML = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE yml_catalog SYSTEM "shops.dtd"><yml_catalog date="2026-03-01 10:00">
<shop><name>Лавка</name><currencies><currency id="RUB" rate="1"/></currencies><categories><category id="1">Кухня</category>
<category id="12" parentId="1">Чайники</category></categories><offers><offer id="A-1" available="true"><price>1490</price>
<oldprice>1790</oldprice><currencyId>RUB</currencyId><categoryId>12</categoryId><name>Чайник эмалированный</name>
<vendor>Север</vendor><vendorCode>CH-15</vendorCode><description>Объём&nbsp;1,5 л</description><param name="Цвет">белый</param>
</offer><offer id="A-2" type="vendor.model" available="false"><price>990.50</price><currencyId>RUB</currencyId>
<categoryId>12</categoryId><typePrefix>Чайник</typePrefix><vendor>Север</vendor><model>Нева 2</model></offer></offers></shop>
</yml_catalog>"""
INDEX = """<?xml version="1.0"?><!DOCTYPE Index SYSTEM "http://xml.cxml.org/schemas/cXML/1.2.014/cXML.dtd"><Index>{}</Index>"""
ITEM = """<IndexItem><IndexItemAdd><ItemID><SupplierPartID>{}</SupplierPartID></ItemID><ItemDetail><UnitPrice>
<Money currency="USD">{}</Money></UnitPrice><Description xml:lang="en">Hex key set</Description></ItemDetail></IndexItemAdd></IndexItem>"""
FEED = """<rss{}><channel><title>Shop</title>{}</channel></rss>"""
PRODUCT = "<item><g:id>{0}</g:id><g:title>Tools & Parts</g:title><g:link>https://a.example/?a={0}&b=1</g:link>{1}</item>"


def test_an_offer_of_yml_has_its_category_and_properties_in_words(tmp_path: Path) -> None:
    whole, parts = read(tmp_path, YML).products

    assert (whole["title"], whole["price"], whole["list_price"], whole["currency"]) == (
        "Чайник эмалированный", "1490.00", "1790.00", "RUB",
    )  # fmt: skip
    assert (whole["category_printed"], whole["mpn"]) == ("Кухня > Чайники", "CH-15")
    assert (whole["options"], whole["description"]) == ({"color": "белый"}, "Объём\xa01,5 л")
    assert parts["title"] == "Чайник Север Нева 2"


def test_an_index_of_cxml_is_a_catalogue(tmp_path: Path) -> None:
    index = INDEX.format(ITEM.format("PN-100", "12.50") + ITEM.format("PN-101", "3.10"))

    assert [
        (each["sku"], each["title"], each["price"], each["currency"])
        for each in read(tmp_path, index).products
    ] == [("PN-100", "Hex key set", "12.50", "USD"), ("PN-101", "Hex key set", "3.10", "USD")]


def test_a_prefix_that_is_not_declared_and_a_bare_sign_are_read_as_they_are_meant(
    tmp_path: Path,
) -> None:
    (product,) = read(
        tmp_path, FEED.format("", PRODUCT.format("7", "<g:price>5.00 EUR</g:price>"))
    ).products

    assert (product["sku"], product["title"], product["link"]) == (
        "7", "Tools & Parts", "https://a.example/?a=7&b=1",
    )  # fmt: skip


def test_plain_text_in_a_feed_keeps_its_signs(tmp_path: Path) -> None:
    link = "<g:link><![CDATA[https://a.example/?a=1&copy;=2]]></g:link><g:price>5.00 EUR</g:price>"
    item = f"<item><g:id>7</g:id><g:title>Saw</g:title>{link}</item>"
    own = ' xmlns:g="http://base.google.com/ns/1.0"'

    (product,) = read(tmp_path, FEED.format(own, item)).products

    assert product["link"] == "https://a.example/?a=1&copy;=2"


@pytest.mark.parametrize(
    "prolog", ['<!DOCTYPE rss [<!ENTITY x "y">]>', '<!DOCTYPE a SYSTEM "b" []>']
)
def test_what_declares_anything_of_its_own_is_refused(tmp_path: Path, prolog: str) -> None:
    feed = FEED.format("", PRODUCT.format("7", "<g:price>5.00 EUR</g:price>"))

    assert read(tmp_path, prolog + feed).error.code == "HOSTILE_FILE"


def test_the_currency_of_the_sale_prices_is_that_of_the_prices(tmp_path: Path) -> None:
    prices = "<g:price>174.58</g:price><g:sale_price>150 AUD</g:sale_price>"

    (product,) = read(tmp_path, FEED.format("", PRODUCT.format("7", prices))).products

    assert (product["price"], product["sale_price"], product["currency"]) == (
        "174.58",
        "150.00",
        "AUD",
    )
    assert "flags" not in product


def test_the_work_for_a_feed_grows_with_its_products_and_not_with_their_square(
    tmp_path: Path,
) -> None:
    price = "<g:price>5.00 EUR</g:price>"
    path = tmp_path / "feed.xml"

    def calls_for(products: int) -> int:
        path.write_text(
            FEED.format("", "".join(PRODUCT.format(each, price) for each in range(products)))
        )
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            assert sum(map(len, read_xml(path).batches)) == products
        finally:
            sys.setprofile(None)
        return calls

    calls_for(10)  # the words of headings are read with the first catalogue

    assert calls_for(800) < 3 * calls_for(400)


def test_products_in_xml_are_detected_by_the_names_of_their_elements(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(YML)
    offers = detect(Content.of(path, name="a.xml"))
    path.write_text(
        "<products><product><id>W-1</id><name>Wheel</name><price>9</price></product></products>"
    )
    products = detect(Content.of(path, name="a.xml"))

    assert [each and each.source_type for each in (offers, products)] == ["catalog", "catalog"]


def test_an_empty_column_leaves_its_role_to_one_that_is_filled(tmp_path: Path) -> None:
    table = (
        "Reference #;Name;Price tax excluded;UPC;EAN13;Unit price\n"
        "R-1;Kettle;12.50;;4006381333931;\nR-2;Pan;9.90;;4006381333948;\n"
    )

    first, second = read(tmp_path, table).products

    assert (first["price"], first["gtin"]) == ("12.50", "4006381333931")
    assert second["price"] == "9.90"


def test_models_are_the_titles_where_descriptions_are_missing(tmp_path: Path) -> None:
    table = 'PartNo,Manufacturer,Model,Cost,RRP,Description\nA-1,Agent,"Telephone Black",14.70,21.00,\nA-2,Agent,"Telephone White",14.70,21.00,\n'

    assert [each["title"] for each in read(tmp_path, table).products] == [
        "Telephone Black", "Telephone White",
    ]  # fmt: skip


def test_headings_in_ukrainian_are_known(tmp_path: Path) -> None:
    table = "Код_товару;Назва_позиції;Опис;Ціна;Валюта\nA-1;Чайник;Емаль;1490;UAH\nA-2;Таця;Дерево;390;UAH\n"

    first, _ = read(tmp_path, table).products

    assert (first["sku"], first["title"], first["price"], first["currency"]) == (
        "A-1", "Чайник", "1490.00", "UAH",
    )  # fmt: skip


@pytest.mark.parametrize("heading", ["name_en", "name-en_US", "description_en", "Name-de_DE-print"])
def test_a_text_in_one_language_is_the_text(tmp_path: Path, heading: str) -> None:
    first, _ = read(tmp_path, f"sku;{heading};price-EUR\nA-1;Kettle;12.50\nA-2;Pan;9.90\n").products

    assert (first["title"], first["price"], first["currency"]) == ("Kettle", "12.50", "EUR")
