"""Suppliers' catalogues, on the `upload` machine: from a file of any shop or supplier to products that can be sold.

`parse` reads a file into observations: each product or variant just as it is printed, with its row. `normalize` checks
and converts those, and rejects what is no valid product with a reason. Here is only what the pipeline declares.
"""

from stateward.definition.display import Column, ItemView, SearchableText
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "upload"
SOURCE_TYPE = "catalog"
RUNNERS = {"parse": "catalog.parse", "normalize": "catalog.normalize"}

PLUGIN = Plugin(
    name="catalogs",
    package=__name__,
    doc="Suppliers' catalogues become valid products; other rows are rejected with a reason.",
    runners=("stateward.pipelines.catalogs.runners",),
    preload=("stateward.pipelines.catalogs.parse", "stateward.pipelines.catalogs.normalize"),
    options="stateward.pipelines.catalogs.settings:CatalogSettings",
    configured="stateward.pipelines.catalogs.settings:ConfiguredCatalogs",
    source_types=(
        SourceType(
            name=SOURCE_TYPE,
            machine=MACHINE,
            title="Product catalogue",
            doc="CSV, Excel, JSON or XML: Shopify, WooCommerce, BMEcat, Google feed, a supplier's price list",
            suffixes=(".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".xml"),
            runners=RUNNERS,
        ),
    ),
    detect="stateward.pipelines.catalogs.detection:detect",
    items=(
        ItemView(
            machine=MACHINE,
            stage="parse",
            title="Rows as printed",
            source_types=(SOURCE_TYPE,),
            columns=(
                Column("row", format="number", path=("where", "row")),
                Column("fault", format="code"),
                Column("sku", format="code"),
                Column("handle", format="code"),
                Column("title"),
                Column("price", align="right"),
                Column("sale_price", align="right"),
                Column("currency", format="code"),
                Column("gtin", format="code"),
                Column("barcode", format="code"),
                Column("category"),
                Column("product_type"),
                Column("brand"),
                Column("option1"),
                Column("stock", align="right"),
            ),
        ),
        ItemView(
            machine=MACHINE,
            stage="normalize",
            title="Products",
            source_types=(SOURCE_TYPE,),
            columns=(
                Column("row", format="number", path=("where", "row")),
                Column("sku", format="code"),
                Column("title"),
                Column("price", format="money"),
                Column("currency", format="code"),
                Column("sale_price", format="money"),
                Column("list_price", format="money"),
                Column("gtin", format="code"),
                Column("category"),
                Column("brand"),
                Column("handle", format="code"),
                Column("options"),
                Column("stock", format="number"),
                Column("price_printed"),
                Column("category_printed"),
                Column("flags", format="list"),
            ),
        ),
    ),
    searchable=(
        SearchableText(
            machine=MACHINE,
            stage="normalize",
            fields=("title", "description", "sku", "gtin", "brand"),
            title="title",
            source_types=(SOURCE_TYPE,),
        ),
    ),
    demo=Demonstration(
        samples=(
            Sample(
                file="samples/*",
                machine=MACHINE,
                labels={"source_type": SOURCE_TYPE, "currency": "EUR"},
            ),
        )
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.catalogs.evaluate:evaluation",
        doc="""Compare the catalogues of a folder with their truth.

        Each is read by both stages, as `submit` would have it read, but nothing is kept. The truth of NAME.csv stands
        beside it as NAME.truth.json, or that of a whole folder as truth.json: `total` rows, `valid` ones, and `errors`,
        which maps the 0-based number of a row to the code of its reason. A catalogue is exact if the same rows are
        rejected, each for that reason. It ends with 1 if any is not.
        """,
    ),
)
