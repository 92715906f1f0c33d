"""Contracts: the `contract` machine, from a file to better offers. Here is only what the pipeline declares."""

from stateward.core.model import FRESH_ANSWER
from stateward.definition.display import AboutTable, Column, ItemView, RecordView, SearchableText
from stateward.definition.plugin import (
    Demonstration,
    Evaluation,
    Flow,
    FlowInput,
    Hint,
    Plugin,
    Sample,
    SourceType,
)
from stateward.pipelines.clauses import TYPES

MACHINE = "contract"
SOURCE_TYPE = "contract"
VERTICALS = ("energy", "general", "insurance", "telco")  # that ship
FOUND = (
    Column("field"),
    Column("value"),
    Column("unit"),
    Column("confidence", format="percent"),
    Column("raw", title="as printed"),
    Column("source", format="code"),
    Column("why"),
)

CHECKS = (
    Column("sentence", title="to check"),
    Column("path", format="code"),
    Column("heading"),
    Column("title", title="type"),
    Column("confidence", format="percent"),
    Column("topics", title="also speaks of", format="list"),
    Column("page", format="number"),
    Column("text"),
)
# With two extractors, what the model says of itself is a part of what the extraction says.
MODEL_CALLS = AboutTable(
    title="Model calls",
    paths=(("details", "model", "calls"), ("details", "calls")),
    columns=(
        Column("model"),
        Column("prompt", path=("prompt", "id")),
        Column("version", path=("prompt", "version")),
        Column("label", path=("prompt", "label")),
        Column("input_tokens", title="tokens in", format="number"),
        Column("output_tokens", title="tokens out", format="number"),
        Column("latency_ms", title="waited, ms", format="number"),
        Column("cost", format="number"),
        Column("answer_of", title="answer of", format="code"),
    ),
)
# What the words of the document speak for, the likeliest kind first; a label overrules it.
DETECTION = AboutTable(
    title="What speaks for each kind of contract",
    paths=(("detection", "evidence"),),
    columns=(
        Column("vertical"),
        Column("score", format="number"),
        Column("words", title="words and names in the document", format="list"),
    ),
)

PLUGIN = Plugin(
    name="contracts",
    package=__name__,
    doc="Contracts are read, their terms extracted, checked, reviewed where needed, and compared with offers.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.contracts.runners",),
    preload=("stateward.pipelines.contracts.preload",),
    options="stateward.pipelines.contracts.settings:ContractSettings",
    configured="stateward.pipelines.contracts.options:ConfiguredContracts",
    source_types=(
        SourceType(
            name=SOURCE_TYPE,
            machine=MACHINE,
            title="Contract",
            doc="A contract whose terms are extracted, checked and compared.",
            suffixes=(".pdf", ".docx", ".odt", ".rtf", ".eml", ".txt"),
        ),
    ),
    detect="stateward.pipelines.contracts.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Contracts",
            accepts="PDF, DOCX, ODT, RTF, EML, text or a photo",
            facts=("vertical", "provider"),
            confidence="final_confidence",
            pages="parse",
            result=("compare", "sentence"),
            evidence=(DETECTION,),
        ),
    ),
    items=(
        ItemView(machine=MACHINE, stage="parse", title="Pages"),
        ItemView(
            machine=MACHINE,
            stage="extract",
            title="Terms",
            columns=FOUND,
            where="place",
            tables=(DETECTION, MODEL_CALLS),
        ),
        ItemView(machine=MACHINE, stage="compare", title="Comparison"),
        ItemView(machine=MACHINE, stage="validate", title="Checks and clauses", columns=CHECKS),
        ItemView(
            machine=MACHINE, stage="review", title="Corrected terms", columns=FOUND, where="place"
        ),
    ),
    searchable=(
        SearchableText(machine=MACHINE, stage="parse", fields=("text",)),
        SearchableText(
            machine=MACHINE,
            stage="validate",
            fields=("title", "heading", "text"),
            title="Clauses of contracts",
            type="type",
            types=TYPES,
        ),
    ),
    hints=(
        Hint(name="vertical", doc="The kind of contract; without one it is found out."),
        Hint(name="product_type", doc="The kind of product, for the prompt of the model."),
        Hint(name="consumption", doc="Units a year, such as kWh, for the comparison."),
        Hint(
            name=FRESH_ANSWER,
            doc="Ask the model anew, also what it has answered of this document.",
            choices=("yes",),
            is_once=True,
        ),
    ),
    demo=Demonstration(
        samples=(
            # Its vertical does not ship: it fails until a file of rules is there.
            Sample(
                file="samples/wasser-talheim.txt", machine=MACHINE, labels={"vertical": "water"}
            ),
            Sample(file="samples/*", machine=MACHINE),
        ),
        options={"rules": "{data}/contract-rules"},
        then="stateward.pipelines.contracts.demo:add_missing_rules",
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.contracts.report:evaluation",
        doc="""Compare contracts with their truth.

        PATH is a folder of contracts, or a file of decisions (`stateward review export --gold`) whose documents are in
        this data folder. Of a folder, each contract is read, its fields are extracted offline and judged by the rules;
        the truth stands in truth.json or truth.jsonl, or beside each contract as NAME.truth.json. The documents of
        decisions are read by the extractor of the settings. Nothing is kept. For each field it shows precision, recall
        and F1, how many values have a confidence of 80 or more, and how many of those are right. It ends with 1 if a
        contract of the folder that no person would see is not wholly right.
        """,
        parameters={"rules": "Take rules of your own from this folder, over those that ship."},
    ),
    routes="stateward.pipelines.contracts.routes:HANDLERS",
    flows=(
        Flow(
            machine=MACHINE,
            path="/workflows",
            document_key="pdfBase64",
            run_key="jobId",
            inputs=(
                FlowInput(
                    name="vertical",
                    key="verticalSlug",
                    doc="What kind of contract it is; empty to find out",
                    choices=VERTICALS,
                ),
                FlowInput(name="filename", key="filename", doc="The name of the document"),
            ),
        ),
    ),
)
