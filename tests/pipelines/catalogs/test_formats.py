"""Catalogues of many programs: each product is read as printed, with its row, and normalized."""

import json
from pathlib import Path

import pytest

from stateward.definition.plugin import Content
from stateward.pipelines.catalogs.detection import detect
from tests.pipelines.catalogs.reading import read, read_file

DOCUMENTS = Path(__file__).with_name("documents")
SAMPLES = Path("src/stateward/pipelines/catalogs/samples")


def test_variants_of_shopify_inherit_what_their_handle_has(tmp_path: Path) -> None:
    found = read_file(DOCUMENTS / "shopify.csv", labels={"currency": "EUR"})

    small, medium, mug = found.products
    assert (medium["title"], medium["brand"], medium["category"]) == (
        "Round Tee",
        "Acme",
        "Apparel & Accessories",
    )
    assert medium["options"] == {"Size": "M", "Color": "Red"}
    assert small["description"] == medium["description"] == "Soft & light."
    assert (small["price"], small["list_price"], small["currency"]) == ("19.00", "25.00", "EUR")
    assert mug["id"] == "mug"
    assert mug["flags"] == ["MISSING_SKU", "BARCODE_NO_GTIN"]
    assert found.about["image_rows"] == 1
    assert found.rejected == {6: "ORPHAN_VARIANT"}
    assert [each["where"] for each in found.observations[:2]] == [
        {"row": 2},
        {"row": 3, "line": 4},
    ]


def test_variations_of_woocommerce_find_their_parent_by_sku_or_number(tmp_path: Path) -> None:
    found = read_file(DOCUMENTS / "woocommerce.csv", labels={"currency": "EUR"})

    group, small, medium, cap = found.products
    assert "price" not in group
    assert small["description"] == medium["description"] == "Warm"
    assert (small["price"], small["sale_price"]) == ("45.00", "35.00")
    assert (medium["id"], medium["flags"]) == ("id:12", ["MISSING_SKU"])
    assert (cap["gtin"], cap["sale_from"], cap["sale_to"]) == (
        "4006381333931",
        "2026-11-20",
        "2026-11-30",
    )
    assert group["category"] == "Apparel & Accessories"


def test_bmecat_1_2_gives_the_price_that_the_customer_pays(tmp_path: Path) -> None:
    product = read_file(DOCUMENTS / "bmecat-12.xml").product

    assert (product["sku"], product["title"], product["gtin"]) == ("A-1", "Säge", "4006381333931")
    assert (product["price"], product["list_price"], product["currency"]) == (
        "21.50",
        "30.00",
        "EUR",
    )
    assert (product["category"], product["brand"]) == ("Hardware", "Stahl AG")


def test_bmecat_2005_has_products_and_a_currency_at_the_price(tmp_path: Path) -> None:
    product = read_file(DOCUMENTS / "bmecat-2005.xml").product

    assert (product["sku"], product["price"], product["currency"]) == ("P-9", "0.125", "CHF")
    assert (product["gtin"], product["options"]) == ("04006381333931", {"material": "Steel"})


def test_an_atom_feed_of_google_keeps_the_price_of_shipping_apart(tmp_path: Path) -> None:
    found = read_file(DOCUMENTS / "atom.xml")

    assert found.product["price"] == "1299.00"
    assert found.product["currency"] == "USD"
    assert found.product["link"] == "https://example.com/tv-1"
    assert found.product["category"] == "Electronics"
    assert found.observations[0]["other"]["shipping price"] == "9.99 USD"


def test_products_of_shopify_as_json_become_their_variants(tmp_path: Path) -> None:
    document = {
        "products": [
            {
                "id": 1,
                "title": "Tee",
                "handle": "tee",
                "body_html": "<p>Soft</p>",
                "vendor": "Acme",
                "product_type": "Shirts",
                "options": [{"name": "Size", "values": ["S", "M"]}],
                "variants": [
                    {"id": 11, "title": "S", "option1": "S", "sku": "T-S", "price": "19.00"},
                    {"id": 12, "title": "M", "option1": "M", "sku": "T-M", "price": "21.00"},
                ],
            }
        ]
    }

    small, medium = read(tmp_path, json.dumps(document), labels={"currency": "USD"}).products

    assert (small["sku"], small["price"], small["title"]) == ("T-S", "19.00", "Tee")
    assert (medium["options"], medium["description"]) == ({"Size": "M"}, "Soft")


def test_products_of_woocommerce_as_json_keep_their_exact_digits(tmp_path: Path) -> None:
    document = (
        '[{"id": 7, "name": "Mug", "slug": "mug", "type": "simple", "sku": "M-1", "price": "8",'
        ' "regular_price": "10.10", "sale_price": "8", "categories": [{"id": 1, "name": "Kitchen"}],'
        ' "stock_quantity": 3, "weight": 1.10}]'
    )

    found = read(tmp_path, document, labels={"currency": "GBP"})

    assert (found.product["price"], found.product["sale_price"]) == ("10.10", "8.00")
    assert found.product["category"] == "Home & Garden"
    assert found.observations[0]["other"]["weight"] == "1.10"


@pytest.mark.parametrize(
    "document",
    [
        '{"data": {"items": [{"sku": "A", "name": "Lamp", "price": {"amount": 12.5, "currency": "EUR"}}]}}',
        '{"sku": "A", "name": "Lamp", "price": 12.50, "currency": "EUR"}\n'
        '{"sku": "B", "name": "Lamp", "price": 1, "currency": "EUR"}\n',
        '[{"sku": "A", "name": "Lamp", "offers": {"price": "12.50", "priceCurrency": "EUR"}}]',
        "<shop><products><product><sku>A</sku><name>Lamp</name><price currency='EUR'>12.50</price></product>"
        "</products></shop>",
        "SKU\tName\tPrice\tCurrency\nA\tLamp\t12.50\tEUR\n",
        "Référence;Désignation;Prix TTC (€)\nA;Lamp;12,50\n",
        "Referencia|Nombre|Precio en EUR\nA|Lamp|12,50 \n",
        "Codice articolo;Nome;Prezzo;Valuta\nA;Lamp;€ 12,50;\n",
        "sep=;\nArt.-Nr.;Bezeichnung;VK-Preis;Währung\nA;Lamp;12,50;€\n",
        "Artikelcode;Productnaam;Prijs\nA;Lamp;EUR 12,50\n",
    ],
)
def test_headings_of_many_languages_and_shapes_lead_to_the_same_product(
    tmp_path: Path, document: str
) -> None:
    product = read(tmp_path, document).products[0]

    assert (product["sku"], product["title"]) == ("A", "Lamp")
    assert (product["price"], product["currency"]) == ("12.50", "EUR")
    assert "flags" not in product


def test_the_samples_are_read_with_their_bad_rows(tmp_path: Path) -> None:
    found = {path.name: read_file(path) for path in sorted(SAMPLES.iterdir())}

    assert found["preisliste-werkzeug.csv"].rejected == {
        8: "BAD_GTIN_CHECKSUM",
        9: "DUPLICATE_SKU",
        10: "GTIN_SCIENTIFIC",
        11: "UNPARSEABLE_PRICE",
    }
    assert found["google-feed.xml"].rejected == {2: "MISSING_CURRENCY", 3: "BAD_GTIN_CHECKSUM"}
    assert len(found["shopify-leather.csv"].products) == 4
    bench = found["preisliste-werkzeug.csv"].products[3]
    assert (bench["price"], bench["price_printed"], bench["currency"]) == ("389.00", "389,-", "EUR")


@pytest.mark.parametrize("heading", ["Listenpreis EUR", "Netto EUR", "UVP"])
def test_the_only_price_of_a_price_list_is_the_price(tmp_path: Path, heading: str) -> None:
    found = read(tmp_path, f"Artikelnummer;Bezeichnung;{heading}\nS-1;Schraube;1,50\nS-2;Mutter;\n")

    assert found.product["price"] == "1.50"
    assert found.rejected == {3: "MISSING_PRICE"}


@pytest.mark.parametrize(
    ("table", "price", "notes"),
    [
        ("Brutto;UVP EUR\nS-1;Schraube;12,5;9,99\n", "9.99", []),
        ("Brutto;Menge\nS-1;Schraube;12,5;9\n", None, ["PRICE_UNSURE"]),
        ("Netto;Brutto\nS-1;Schraube;12,50 €;14,88 €\n", "12.50", ["PRICE_UNSURE"]),
        ("Netto;Währung\nS-1;Schraube;12,50;EUR\n", "12.50", []),
    ],
)
def test_net_or_gross_alone_is_a_price_only_with_a_currency_and_without_another_price(
    tmp_path: Path, table: str, price: str | None, notes: list[str]
) -> None:
    found = read(tmp_path, f"Artikelnummer;Bezeichnung;{table}")

    assert found.product.get("price") == price
    assert found.notes == notes


@pytest.mark.parametrize(
    ("cells", "price", "notes"),
    [
        ({"net": "12.5"}, None, ["PRICE_UNSURE"]),
        ({"net": "12.5", "currency": "EUR"}, "12.50", []),
        ({"gross": "12.5", "price": "9.99", "currency": "EUR"}, "9.99", []),
    ],
)
def test_net_or_gross_alone_is_a_price_of_an_object_on_the_same_terms(
    tmp_path: Path, cells: dict[str, str], price: str | None, notes: list[str]
) -> None:
    product = {"sku": "S-1", "title": "Screw", "brand": "Example", **cells}

    found = read(tmp_path, json.dumps([product]))

    assert found.product.get("price") == price
    assert found.notes == notes


def test_a_heading_that_says_more_than_its_role_is_still_understood(tmp_path: Path) -> None:
    text = (
        "Código;Nombre del artículo;Prijs excl. btw;Whg.;UPC/EAN\n"
        "A-1;Mesa;1913,02;EUR;4006381333931\nA-2;Silla;12,50;EUR;96385074\n"
    )

    found = read(tmp_path, text)

    assert [(each["title"], each["price"], each["currency"]) for each in found.products] == [
        ("Mesa", "1913.02", "EUR"),
        ("Silla", "12.50", "EUR"),
    ]


def test_a_net_selling_price_is_a_price(tmp_path: Path) -> None:
    found = read(tmp_path, "Art.-Nr.;Bezeichnung;Netto-VK;Whg.\nA-1;Tisch;1073,57;EUR\n")

    assert (found.product["price"], found.product["currency"]) == ("1073.57", "EUR")


def test_a_code_for_taxes_is_no_sku_and_a_price_for_a_weight_is_no_price(tmp_path: Path) -> None:
    text = "SKU;Código IVA;Name;Price per kg;Price incl. VAT\nA-1;S21;Cup;99.00;12.50\n"

    found = read(tmp_path, text)

    assert (found.product["sku"], found.product["price"]) == ("A-1", "12.50")


def test_prices_below_an_unknown_heading_are_told_of(tmp_path: Path) -> None:
    found = read(tmp_path, "SKU,Name,Prezioa\nA-1,Cup,12.50\nA-2,Jug,8.00\n")

    assert [each.get("price") for each in found.products] == [None, None]
    note = str(found.parsed.facts["notes"])
    assert "PRICE_UNSURE" in note
    assert "Prezioa may be it" in note


def test_headings_of_groups_among_products_are_no_products_without_a_title(tmp_path: Path) -> None:
    rows = [
        "Réf.;Désignation;Colisage;PU HT (€)",
        "CONFITURES;;;",
        "CF-1;Fraise;12;3,15",
        ";Prix départ;;",
        "CF-2;;6;4,10",
    ]

    found = read(tmp_path, "\n".join(rows))

    assert (found.product["price"], found.product["currency"]) == ("3.15", "EUR")
    assert found.rejected == {2: "NO_PRODUCT", 4: "NO_PRODUCT", 5: "MISSING_TITLE"}


def test_attributes_in_a_list_of_names_and_values_are_cells_of_their_product(
    tmp_path: Path,
) -> None:
    def product(number: int, ean: str) -> dict[str, object]:
        own = [
            {"attribute_code": "ean", "value": ean},
            {"attribute_code": "url_key", "value": "cup"},
        ]
        return {"sku": f"A-{number}", "name": "Cup", "price": 3, "custom_attributes": own}

    feed = [product(1, "4006381333931"), product(2, "4006381333932")]
    found = read(tmp_path, json.dumps({"items": feed}))

    assert (found.product["sku"], found.product["gtin"]) == ("A-1", "4006381333931")
    assert found.rejected == {2: "BAD_GTIN_CHECKSUM"}


def test_a_product_without_title_does_not_take_its_description(tmp_path: Path) -> None:
    feed = [
        {"sku": "A-1", "description": "Robust", "price": "3.00"},
        {"sku": "A-2", "title": "Jug", "description": "Light", "price": "4.00"},
    ]

    found = read(tmp_path, json.dumps(feed))

    assert found.rejected == {1: "MISSING_TITLE"}


def test_a_catalogue_of_descriptions_names_its_products_by_them(tmp_path: Path) -> None:
    feed = [{"sku": f"A-{at}", "description": "Cup", "price": "3.00"} for at in range(2)]

    found = read(tmp_path, json.dumps(feed))

    assert [each["title"] for each in found.products] == ["Cup", "Cup"]


def test_variants_and_images_of_a_product_whose_first_row_is_rejected_are_kept(
    tmp_path: Path,
) -> None:
    text = (
        "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src\n"
        "cup,Cup,Size,S,A-1,,https://example.org/1.jpg\n"
        "cup,,,M,A-2,4.00,\n"
        "cup,,,,,,https://example.org/2.jpg\n"
    )

    found = read(tmp_path, text, labels={"currency": "EUR"})

    assert found.rejected == {2: "MISSING_PRICE"}
    assert (found.product["title"], found.product["options"]) == ("Cup", {"Size": "M"})
    assert found.about["image_rows"] == 1


def bmecat(price: str, quantity: str = "") -> str:
    return (
        '<BMECAT version="1.2"><HEADER/><T_NEW_CATALOG><ARTICLE><SUPPLIER_AID>A-1</SUPPLIER_AID><ARTICLE_DETAILS>'
        "<DESCRIPTION_SHORT>Clamp</DESCRIPTION_SHORT></ARTICLE_DETAILS><ARTICLE_ORDER_DETAILS><ORDER_UNIT>C62</ORDER_UNIT>"
        f"{quantity}</ARTICLE_ORDER_DETAILS><ARTICLE_PRICE_DETAILS><ARTICLE_PRICE price_type='net_customer'>{price}"
        "</ARTICLE_PRICE></ARTICLE_PRICE_DETAILS></ARTICLE></T_NEW_CATALOG></BMECAT>"
    )


def test_bmecat_without_any_price_is_a_catalogue_and_says_so(tmp_path: Path) -> None:
    found = read(tmp_path, bmecat("<LOWER_BOUND>100</LOWER_BOUND>"))

    assert (found.product["sku"], found.notes) == ("A-1", ["NO_PRICES"])
    assert "price" not in found.product


@pytest.mark.parametrize(
    ("quantity", "factor", "is_noted"),
    [("100", "", True), ("", "0.85", True), ("1", "1.0", False), ("", "", False)],
)
def test_a_product_of_bmecat_whose_price_is_not_of_one_unit_is_flagged(
    tmp_path: Path, quantity: str, factor: str, *, is_noted: bool
) -> None:
    scaled = f"<PRICE_FACTOR>{factor}</PRICE_FACTOR>" if factor else ""
    amount = f"<PRICE_AMOUNT>31.20</PRICE_AMOUNT><PRICE_CURRENCY>EUR</PRICE_CURRENCY>{scaled}"
    several = f"<PRICE_QUANTITY>{quantity}</PRICE_QUANTITY>" if quantity else ""

    found = read(tmp_path, bmecat(amount, several))

    assert ("PRICE_NOT_OF_ONE" in found.product.get("flags", ())) is is_noted
    assert ("PRICE_NOT_OF_ONE" in found.notes) is is_noted
    assert found.product["price"] == "31.20"


def test_an_export_of_woocommerce_in_another_language_has_its_kinds_numbers_and_stock(
    tmp_path: Path,
) -> None:
    text = (
        'ID,Tipo,SKU,"GTIN, UPC, EAN o ISBN",Nombre,¿Existencias?,Inventario,Precio normal\n'
        '1,simple,A-1,4006381333931,Aceite,1,48,"9,90"\n'
        "2,variable,A-2,,Lata,1,,\n"
        '3,variation,A-2-5,400638133393,Lata 5 L,1,20,"32,00"\n'
        "4,simple,A-4,,Crema,1,33,\n"
    )

    found = read(tmp_path, text)

    assert found.rejected == {4: "BAD_GTIN_CHECKSUM", 5: "MISSING_PRICE"}
    assert [(each["kind"], each.get("stock")) for each in found.products] == [
        ("simple", 48), ("variable", None),
    ]  # fmt: skip


GERMAN = (
    'ID,Typ,Artikelnummer,Name,Beschreibung,"Datum, an dem Angebotspreis beginnt","Datum, an dem Angebotspreis endet",'
    'Lager,Angebotspreis,Regulärer Preis,Kategorien,Übergeordnetes Produkt,Attribut 1 Name,"Attribut 1 Wert(e)"'
)
SPANISH = (
    "ID,Tipo,SKU,Nombre,Descripción,Día en que empieza el precio rebajado,Día en que termina el precio rebajado,"
    'Inventario,Precio rebajado,Precio normal,Categorías,Superior,Nombre del atributo 1,"Valor(es) del atributo 1"'
)
FRENCH = (
    "ID,Type,UGS,Nom,Description,Date de début de promo,Date de fin de promo,Stock,Tarif promo,Tarif régulier,"
    "Catégories,Parent,Nom de l'attribut 1,Valeur(s) de l'attribut 1"
)


@pytest.mark.parametrize("headings", [GERMAN, SPANISH, FRENCH])
def test_variations_of_woocommerce_in_another_language_have_their_options_and_parent(
    tmp_path: Path, headings: str
) -> None:
    text = (
        f"{headings}\n"
        '1,variable,A,Hemd,Leinen\\nweiss,,,,,,Kleidung,,Size,"S, M"\n'
        '2,variation,A-S,Hemd - S,,2026-01-01,2026-02-01,5,"24,90","29,90",,A,Size,S\n'
    )

    found = read(tmp_path, text, labels={"currency": "EUR"})

    _, product = found.products
    assert product["options"] == {"Size": "S"}
    assert (product["category_printed"], product["description"]) == ("Kleidung", "Leinen\nweiss")
    assert (product["price"], product["sale_price"], product["stock"]) == ("29.90", "24.90", 5)
    assert (product["sale_from"], product["sale_to"]) == ("2026-01-01", "2026-02-01")


def test_an_amount_with_its_currency_below_a_list_of_prices_is_a_price(tmp_path: Path) -> None:
    prices = [{"list": {"amount": amount, "currency": "GBP"}} for amount in ("12.5", None)]
    feed = [{"sku": f"A-{at}", "title": "Cup", "pricing": each} for at, each in enumerate(prices)]
    text = json.dumps({"meta": {"total": 2}, "data": feed})

    found = read(tmp_path, text)

    assert (found.product["price"], found.product["currency"]) == ("12.50", "GBP")
    assert found.rejected == {2: "MISSING_PRICE"}
    assert detect(Content.of(tmp_path / "catalog")) is not None


def test_of_several_amounts_below_prices_none_is_taken_for_the_price(tmp_path: Path) -> None:
    amounts = {each: {"amount": "3", "currency": "GBP"} for each in ("home", "shipping")}

    found = read(tmp_path, json.dumps([{"sku": "A-1", "title": "Cup", "prices": amounts}]))

    assert "price" not in found.product


def test_a_price_for_the_trade_beside_a_currency_is_the_price_and_not_what_shops_ask(
    tmp_path: Path,
) -> None:
    text = "Code\tDescription\tPack\tTrade £\tRRP £ inc VAT\nB1\tFeeder\t6\t6.20\t12.99\n"

    found = read(tmp_path, text)

    assert (found.product["price"], found.product["currency"]) == ("6.20", "GBP")
    assert found.product["list_price"] == "12.99"
    assert found.notes == []


@pytest.mark.parametrize(
    ("above", "currency"),
    [
        ("Alle Preise in EUR, netto", "EUR"),
        ("Prices in EUR or CHF", None),
        ("Preise in EUR;gültig ab Mai\nPreise in CHF auf Anfrage", None),
        ("TOP SELLERS, ALL NEW", None),
    ],
)
def test_the_currency_of_a_price_list_may_stand_above_its_headings(
    tmp_path: Path, above: str, currency: str | None
) -> None:
    found = read(tmp_path, f"{above};;\nArt.-Nr.;Bezeichnung;Preis\nS-1;Schraube;1,50\n")

    assert found.product.get("currency") == currency
