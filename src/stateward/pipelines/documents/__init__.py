"""Scans, pictures and texts of documents, on the `documents` machine: they become text that can be searched.

`ocr` reads every page, by its text layer where that is good, else from its image, into lines of words with boxes and
confidence. `index` makes the searchable text of each page, and of a receipt its merchant, date and total. Here is only
what the pipeline declares.
"""

from stateward.definition.display import Column, ItemView, RecordView, SearchableText
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "documents"
SUFFIXES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp")
TEXT_SUFFIXES = (".docx", ".rtf", ".eml", ".txt", ".md")

PLUGIN = Plugin(
    name="documents",
    package=__name__,
    doc="Scans become text with places and confidence, a searchable PDF, and of receipts merchant, date and total.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.documents.runners",),
    preload=("stateward.pipelines.documents.stages",),
    options="stateward.pipelines.documents.settings:DocumentSettings",
    source_types=(
        SourceType(name="scan", machine=MACHINE, title="Scanned document", suffixes=SUFFIXES),
        SourceType(name="receipt", machine=MACHINE, title="Receipt, scanned", suffixes=SUFFIXES),
        SourceType(
            name="letter",
            machine=MACHINE,
            title="Letter, note or other text",
            suffixes=TEXT_SUFFIXES,
        ),
    ),
    detect="stateward.pipelines.documents.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Scans, receipts and letters",
            accepts="PDF, TIFF, JPEG, PNG, WebP, BMP, DOCX, RTF, mail, text",
        ),
    ),
    items=(
        ItemView(
            machine=MACHINE,
            stage="ocr",
            title="Lines",
            columns=(
                Column("page", format="number"),
                Column("line", format="number"),
                Column("text"),
                Column("confidence", format="percent"),
                Column("source", format="code"),
            ),
        ),
        ItemView(
            machine=MACHINE,
            stage="index",
            title="Pages and fields",
            columns=(
                Column("kind", format="code"),
                Column("page", format="number"),
                Column("field", format="code"),
                Column("value"),
                Column("raw", title="as printed"),
                Column("currency", format="code"),
                Column("confidence", format="percent"),
                Column("flags", format="list"),
                Column("text"),
            ),
        ),
    ),
    searchable=(SearchableText(machine=MACHINE, stage="index", fields=("text",), title="Text"),),
    demo=Demonstration(samples=(Sample(file="samples/*", machine=MACHINE),)),
    evaluation=Evaluation(
        run="stateward.pipelines.documents.report:evaluation",
        doc="""Compare scans with their truth.

        Each picture or PDF of a folder is read by both stages, but nothing is kept. Its text stands beside it as
        NAME.gold.txt or NAME.txt, or as NAME.boxes.csv (eight coordinates, then the text of a line); the fields of a
        receipt in NAME.truth.json (`company` or `merchant`, `date`, `total`). It shows the share of words that were
        found and the fields that are right, and ends with 1 if a total is wrong and nothing says so.
        """,
    ),
)
