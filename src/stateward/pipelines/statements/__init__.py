"""Bank and card statements, on the `upload` machine: from a bank's file to transactions that add up.

`parse` reads a file into observations: rows just as they are printed, with their places, by a reader for each format.
`normalize` reads those by the terms that were decided over the whole file. Here is only what the pipeline declares.
"""

from stateward.definition.display import Column, ItemView, RecordView, SearchableText
from stateward.definition.plugin import (
    Demonstration,
    Evaluation,
    Export,
    Hint,
    Plugin,
    PluginCommand,
    Sample,
    SourceType,
)

MACHINE = "upload"
RUNNERS = {"parse": "upload.parse", "normalize": "upload.normalize"}
# What a column of a table can be; `layout` has a place for each.
ROLES = (
    "date", "value_date", "description", "amount", "debit", "credit", "mark", "balance", "currency", "reference",
    "counterparty", "account",
)  # fmt: skip


def _source_type(name: str, title: str, format_: str, *suffixes: str) -> SourceType:
    return SourceType(
        name=name,
        machine=MACHINE,
        title=title,
        format=format_,
        suffixes=suffixes,
        runners=RUNNERS,
    )


PLUGIN = Plugin(
    name="statements",
    package=__name__,
    doc="Bank and card statements become transactions that add up.",
    runners=("stateward.pipelines.statements.runners",),
    preload=("stateward.pipelines.statements.preload",),
    options="stateward.pipelines.statements.settings:StatementSettings",
    configured="stateward.pipelines.statements.settings:ConfiguredStatements",
    source_types=(
        _source_type("bank_pdf", "Bank statement, PDF", "pdf", ".pdf"),
        _source_type("bank_csv", "Bank statement, CSV", "csv", ".csv", ".tsv", ".txt"),
        _source_type("bank_xlsx", "Bank statement, Excel", "sheet", ".xlsx", ".xls", ".ods"),
        _source_type("bank_ofx", "Bank statement, OFX", "ofx", ".ofx", ".qfx"),
        _source_type("bank_qif", "Bank statement, QIF", "qif", ".qif"),
        _source_type("bank_mt940", "Bank statement, MT940", "mt940", ".sta", ".mt940", ".940"),
        _source_type("bank_camt", "Bank statement, CAMT", "camt", ".xml", ".camt"),
        _source_type("bank_bai2", "Bank statement, BAI2", "bai2", ".bai", ".bai2"),
        _source_type("bank_coda", "Bank statement, CODA", "coda", ".cod", ".coda"),
        _source_type("bank_norma43", "Bank statement, Norma 43", "norma43", ".n43", ".q43"),
        _source_type("bank_cnab240", "Bank statement, CNAB 240", "cnab240", ".ret"),
        _source_type("bank_1c", "Bank statement, 1C exchange", "one_c"),
        _source_type("bank_html", "Bank statement, HTML table", "html", ".html", ".htm"),
        _source_type(
            "bank_scan",
            "Bank statement, scan or photo",
            "",
            ".png",
            ".jpg",
            ".jpeg",
            ".tif",
            ".tiff",
        ),
        _source_type("credit_card", "Card statement, any format", ""),
    ),
    detect="stateward.pipelines.statements.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Bank statements",
            accepts="PDF, CSV, Excel, OFX, QIF, MT940, CAMT, BAI2, CODA, Norma 43, CNAB 240, 1C",
        ),
    ),
    items=(
        ItemView(machine=MACHINE, stage="parse", title="Observations", where="place"),
        ItemView(
            machine=MACHINE,
            stage="normalize",
            title="Transactions",
            where="place",
            columns=(
                Column("id", format="code"),
                Column("date", format="date"),
                Column("amount", format="money"),
                Column("currency", format="code"),
                Column("description"),
                Column("merchant"),
                Column("category"),
                Column("account", format="code"),
                Column("value_date", format="date"),
                Column("balance", format="money"),
                Column("reference"),
                Column("counterparty"),
                Column("is_pending", title="pending", format="flag"),
                Column("duplicate_of", format="code"),
                Column("note"),
                Column("section"),
                Column("page", format="number", path=("place", "page")),
                Column("line", format="number", path=("place", "line")),
            ),
        ),
    ),
    searchable=(
        SearchableText(
            machine=MACHINE,
            stage="normalize",
            fields=("description", "merchant", "counterparty", "reference"),
            where="place",
        ),
    ),
    exports=tuple(
        Export(
            name=name,
            machine=MACHINE,
            stage="normalize",
            lines=f"stateward.pipelines.statements.export:{name}_lines",
            doc=doc,
            comment=comment,
            # As comments, beancount and ledger have them.
            unfit=None if comment.startswith(";") else f"{__name__}.export:why_not_booked",
        )
        for name, doc, comment in (
            ("ofx", "OFX 2.2, for finance programs", "<!-- {} -->"),
            ("qif", "QIF, for older finance programs", ""),
            ("beancount", "beancount directives", "; {}"),
            ("ledger", "A journal for ledger and hledger", "; {}"),
            ("actual", "CSV for Actual Budget", ""),
            ("firefly", "CSV for the data importer of Firefly III", ""),
        )
    ),
    hints=(
        Hint(name="source_type", doc="What kind of document it is."),
        Hint(name="sign", doc="How signs are read.", choices=("printed", "flipped")),
        Hint(name="date_order", doc="The order of day and month.", choices=("dmy", "mdy", "ymd")),
        Hint(name="decimal", doc="The decimal sign.", choices=(".", ",")),
        Hint(name="encoding", doc="The encoding of a text file, such as cp1252."),
        Hint(
            name="map",
            doc="Columns by number, from 1: date=1,amount=4,description=2.",
            roles=ROLES,
        ),
        Hint(name="account", doc="The account."),
        Hint(name="currency", doc="The currency where none is printed."),
        Hint(name="password", doc="A file with the password of the document.", is_secret=True),
    ),
    raw_table="stateward.pipelines.statements.raw_table:raw_table",
    unlock="stateward.pipelines.statements.unlocking:unlock",
    readers={"upload.parse": 88},
    commands=(
        PluginCommand(
            name="rules",
            doc="Try rules for descriptions, merchants and categories.",
            target="stateward.pipelines.statements.commands:rules",
        ),
    ),
    demo=Demonstration(
        samples=(Sample(file="samples/*", machine=MACHINE, labels={"source_type": "sample"}),)
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.statements.report:evaluation",
        doc="""Compare the statements of a folder with their truth.

        Each is read by both stages, as `submit` would have it read, but nothing is kept. The truth of NAME.pdf stands
        beside it as NAME.truth.json, with a list `transactions` of date, amount and, where they are known, balance and
        description. A statement is exact only if every row is. It ends with 1 if any is wrong and nothing says so.
        """,
    ),
)
