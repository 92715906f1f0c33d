"""Price lists of dealers and programs: what their headings, covers and objects mean, and no price a hundredfold."""

import json
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect
from tests.pipelines.catalogs.reading import read, read_file


@pytest.mark.parametrize(
    ("headings", "currency"),
    [
        ("item_no,barcode,description,list_price_aud,status", "AUD"),
        ("Item #,UPC,Description,Dealer Net USD,Status", "USD"),
        ("part_no,ean,name,wholesale_cost_gbp,status", "GBP"),
        ("SKU,EAN,Name,Net Cost (EUR),Status", "EUR"),
    ],
)
def test_headings_of_databases_and_dealers_name_number_price_and_currency(
    tmp_path: Path, headings: str, currency: str
) -> None:
    text = f"{headings}\nTK4010,9312417345003,Garden hose,38.50,A\nTK4011,9312417345072,Connector,6.20,A\n"
    path = tmp_path / "list.csv"
    path.write_text(text)

    assert detect(Content.of(path, name="list.csv")) is not None
    assert [
        (each["sku"], each["title"], each["price"], each["currency"])
        for each in read_file(path).products
    ] == [("TK4010", "Garden hose", "38.50", currency), ("TK4011", "Connector", "6.20", currency)]


@pytest.mark.parametrize("heading", ["Net", "Net weight", "Dealer", "Price Top"])
def test_a_word_of_the_trade_alone_is_no_price(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(f"Item #,UPC,Description,{heading}\nA1,,Hose,38.50\nA2,,Pipe,6.20\n")

    assert detect(Content.of(path, name="list.csv")) is None


@pytest.mark.parametrize(
    ("line", "currency"),
    [
        ("All prices US dollars, dealer net, FOB Toledo", "USD"),
        ("Alle Preise in Schweizer Franken, ohne MwSt.", "CHF"),
        ("Prices in pounds sterling", "GBP"),
        ("Prices in EUR or USD", ""),
    ],
)
def test_a_currency_may_be_named_in_words_above_the_headings(
    tmp_path: Path, line: str, currency: str
) -> None:
    path = tmp_path / "list.csv"
    path.write_text(f'"{line}",,\nSKU,Title,Price\nA1,Hose,38.50\nA2,Pipe,6.20\n')

    assert {each.get("currency", "") for each in read_file(path).products} == {currency}


def test_the_same_number_with_another_price_is_a_conflict(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text(
        "SKU,Title,Price,Currency\nA,Hose,17.90,AUD\nA,Hose,21.40,AUD\nA,Hose,17.90,AUD\n"
    )

    assert read_file(path).rejected == {3: "PRICE_CONFLICT", 4: "DUPLICATE_SKU"}


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Surge arrester type 2 &lt;TNS&gt;", "Surge arrester type 2 <TNS>"),
        ("Bolt &lt;M8&gt; &lt;b&gt;zinc&lt;/b&gt;", "Bolt <M8> zinc"),
        ("Lamp &lt;x-new&gt;bright&lt;/x-new&gt;", "Lamp bright"),
    ],
)
def test_what_stands_in_brackets_and_is_no_element_belongs_to_the_title(
    tmp_path: Path, title: str, found: str
) -> None:
    path = tmp_path / "list.xml"
    row = "<product><sku>{}</sku><title>{}</title><price>9.90</price><currency>EUR</currency></product>"
    path.write_text(f"<products>{row.format('A1', title)}{row.format('A2', 'Pipe')}</products>")

    assert [each["title"] for each in read_file(path).products] == [found, "Pipe"]


@pytest.mark.parametrize(
    ("price", "amount"),
    [
        ({"amount": 2190, "currency": "SEK", "scale": 2}, "21.90"),
        ({"centAmount": 2190, "currencyCode": "EUR", "fractionDigits": 2}, "21.90"),
        ({"cent_amount": 2190, "currency": "EUR"}, "21.90"),
        ({"centAmount": 2190, "currency": "JPY"}, "2190"),
        ({"amount": "21.90", "currency": "EUR", "scale": 2}, "21.90"),
        ({"amount": 2190, "currency": "EUR"}, "2190.00"),
    ],
)
def test_an_amount_in_the_smallest_coin_is_told_with_its_decimals(
    tmp_path: Path, price: dict[str, object], amount: str
) -> None:
    path = tmp_path / "page.json"
    items = [{"sku": f"A{at}", "name": "Crispbread", "price": price} for at in (1, 2)]
    path.write_text(json.dumps({"items": items}))

    assert [each["price"] for each in read_file(path).products] == [amount, amount]


@pytest.mark.parametrize(
    "texts",
    [
        {"texts": {"sv": {"name": "Knäckebröd"}, "en": {"name": None}}},
        {"texts": {"en": {"name": None}, "sv": {"name": "Knäckebröd"}}},
        {
            "translations": [
                {"lang": "sv", "name": "Knäckebröd"},
                {"lang": "en", "name": "Crispbread"},
            ]
        },
    ],
)
@pytest.mark.parametrize(
    "numbers",
    [
        [{"type": "GTIN13", "value": "7350417012008"}, {"type": "INTERNAL", "value": "50000"}],
        [{"scheme": "internal", "id": "50000"}, {"scheme": "EAN", "id": "7350417012008"}],
    ],
)
def test_texts_by_language_and_numbers_by_kind_belong_to_their_product(
    tmp_path: Path, texts: dict[str, object], numbers: list[dict[str, str]]
) -> None:
    path = tmp_path / "page.json"
    item = {
        "articleNumber": "A1",
        "identifiers": numbers,
        **texts,
        "price": {"amount": "9.90", "currency": "SEK"},
    }
    path.write_text(json.dumps({"items": [item]}))

    product = read_file(path).product
    assert (product["title"], product["gtin"], product["sku"]) == (
        "Knäckebröd",
        "7350417012008",
        "A1",
    )


@pytest.mark.parametrize(
    "headings",
    [
        "Indeks;Kod kreskowy;Nazwa towaru;Cena netto;Cena brutto;Waluta",
        "Varenr.;Stregkode;Varebetegnelse;Pris ekskl. moms;Vejl. pris;Valuta",
        "Kód zboží;Čárový kód;Název;Cena bez DPH;Doporučená cena;Měna",
        "Cikkszám;Vonalkód;Megnevezés;Nettó ár;Bruttó ár;Pénznem",
        "Stok kodu;Barkod;Ürün;Birim fiyat;Tavsiye edilen fiyat;Para birimi",
    ],
)
def test_a_price_list_is_read_in_the_language_of_its_supplier(
    tmp_path: Path, headings: str
) -> None:
    path = tmp_path / "list.csv"
    rows = (
        "FRB-001;4003773000013;Hose;112,20;138,01;EUR\nFRB-002;4003773000020;Pipe;38,50;47,36;EUR\n"
    )
    path.write_text(f"{headings}\n{rows}")

    assert detect(Content.of(path, name="list.csv")) is not None
    assert [
        (each["sku"], each["gtin"], each["title"], each["price"], each["currency"])
        for each in read_file(path).products
    ] == [
        ("FRB-001", "4003773000013", "Hose", "112.20", "EUR"),
        ("FRB-002", "4003773000020", "Pipe", "38.50", "EUR"),
    ]


@pytest.mark.parametrize("heading", ["HEK netto", "Conditions 7", "Stufe A"])
def test_what_dealers_pay_is_the_price_and_what_is_recommended_is_not(
    tmp_path: Path, heading: str
) -> None:
    """By its words, or because it is below the recommended price in every row."""
    path = tmp_path / "list.csv"
    path.write_text(
        f"Art.-Nr.;Bezeichnung;VE;{heading};UVP brutto\n"
        "10120;Schere;6;14,85;29,99\n10121;Säge;6;13,40;26,99\n10140;Zange;4;27,90;54,99\n"
    )

    found = read_file(path)

    assert [(each["price"], each["list_price"]) for each in found.products] == [
        ("14.85", "29.99"),
        ("13.40", "26.99"),
        ("27.90", "54.99"),
    ]


def test_a_recommended_price_alone_is_the_price(tmp_path: Path) -> None:
    """Weights are below and above it, and a column that is always half of it says nothing of its own."""
    path = tmp_path / "list.csv"
    path.write_text(
        "Art.-Nr.;Bezeichnung;Gewicht;Punkte;UVP\n"
        "1;Schere;31,00;15,00;30,00\n2;Säge;2,00;13,00;26,00\n3;Zange;4,00;27,00;54,00\n"
    )

    assert [each["price"] for each in read_file(path).products] == ["30.00", "26.00", "54.00"]


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("Alkohol", ["12,5", "13,5", "14,0"]),
        ("Höhe", ["30", "42", "65"]),
        ("Rabatt", ["15,00 %", "20,50 %", "30,00%"]),
        ("", ["15", "", "30"]),
    ],
)
def test_a_measure_or_share_below_the_recommended_price_is_no_price(
    tmp_path: Path, heading: str, cells: list[str]
) -> None:
    path = tmp_path / "list.csv"
    rows = zip(("30,00", "60,00", "90,00"), cells, strict=True)
    lines = (f"W-{at};Wein {at};{listed};{cell}\n" for at, (listed, cell) in enumerate(rows))
    path.write_text(f"Art.-Nr.;Bezeichnung;UVP;{heading}\n{''.join(lines)}")

    assert [each["price"] for each in read_file(path).products] == ["30.00", "60.00", "90.00"]


@pytest.mark.parametrize("depth", [1, 2])
def test_the_products_of_every_group_are_read(tmp_path: Path, depth: int) -> None:
    def article(number: int, amount: str | None) -> dict[str, object]:
        price = {"bedrag": amount, "valuta": "EUR", "btw": "21%"}
        return {"artikelnummer": f"W-{number}", "omschrijving": f"Part {number}", "prijs": price}

    groups: list[dict[str, object]] = [
        {"groep": "Onderdelen", "artikelen": [article(1, "12,95"), article(2, None)]},
        {"groep": "Accu's", "artikelen": [article(3, "1.049,00")]},
    ]
    for _ in range(depth - 1):
        groups = [{"afdeling": "Fietsen", "groepen": groups}]
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"leverancier": "Example", "groepen": groups}))

    found = read_file(path)

    assert [(each["sku"], each["price"]) for each in found.products] == [
        ("W-1", "12.95"),
        ("W-3", "1049.00"),
    ]
    assert found.rejected == {2: "MISSING_PRICE"}


def test_an_apostrophe_that_keeps_a_number_as_text_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("SKU,Name,Price,Currency\n'00801,Cup,12.50,EUR\n5'11,Jeans,40.00,EUR\n")

    assert [each["sku"] for each in read_file(path).products] == ["00801", "5'11"]


JSON_IN_COINS = [
    {"price_cents": 1299, "currency": "EUR"},
    {"priceInCents": 1299, "currency": "EUR"},
    {"price_minor": 1299, "price_currency": "EUR"},
    {"price": {"amount": 1299, "currency": "EUR", "precision": 2}},
    {"prices": {"price": "1299", "sale_price": "1299", "currency_code": "EUR", "currency_minor_unit": 2}},
]  # fmt: skip


@pytest.mark.parametrize("price", JSON_IN_COINS)
def test_a_price_whose_name_or_neighbour_says_cents_is_no_hundredfold(
    tmp_path: Path, price: dict[str, object]
) -> None:
    text = json.dumps([{"sku": f"A-{at}", "name": "Cup", **price} for at in range(3)])

    products = read(tmp_path, text).products

    assert {(each["price"], each["currency"]) for each in products} == {("12.99", "EUR")}


def test_yen_have_no_smaller_coin(tmp_path: Path) -> None:
    text = json.dumps([{"sku": "A", "name": "Cup", "price_minor": 1299, "currency": "JPY"}])

    assert read(tmp_path, text).product["price"] == "1299"


def test_objects_of_json_api_are_products_whether_they_have_a_name_or_not(tmp_path: Path) -> None:
    price = {"amount": "9.50", "currency": "SEK"}
    data = [
        {"id": at, "attributes": {"sku": f"A-{at}", "name": name, "price": price}}
        for at, name in enumerate(("Cup", "Plate", None), start=1)
    ]

    found = read(tmp_path, json.dumps({"data": data}))

    told = [
        (each["sku"], each["title"], each["price"], each["currency"]) for each in found.products
    ]
    assert told == [("A-1", "Cup", "9.50", "SEK"), ("A-2", "Plate", "9.50", "SEK")]
    assert found.rejected == {3: "MISSING_TITLE"}


@pytest.mark.parametrize(
    "heading", ["Price (cents)", "price_cents", "Price in pence", "Preis (Cent)"]
)
def test_a_column_of_cents_is_no_price_and_is_noted(tmp_path: Path, heading: str) -> None:
    found = read(tmp_path, f"sku,title,{heading},currency\nA,Cup,1299,EUR\nB,Plate,999,EUR\n")

    assert not any("price" in each for each in found.products)
    assert f"PRICE_UNSURE: {heading} is in the smallest coin" in str(found.parsed.facts["notes"])


def test_objects_without_a_known_price_are_noted_with_the_name_that_may_be_it(
    tmp_path: Path,
) -> None:
    text = json.dumps([{"sku": "A", "name": "Cup", "unit_amount": 1299, "weight": 3}])

    notes = read(tmp_path, text).parsed.facts["notes"]

    assert "products have none; unit_amount may be it'" in str(notes)
