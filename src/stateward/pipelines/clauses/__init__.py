"""Contracts as clauses, on the `upload` machine: from a PDF, DOCX or text to numbered clauses with their types.

`parse` finds the clauses by their numbers, `normalize` says of which type each is. Here is only what the pipeline
declares.
"""

from stateward.definition.display import Column, ItemView, SearchableText
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "upload"
SOURCE_TYPE = "contract_clauses"
# Those of types.yaml, and what nothing is known of; reading that file to list a command's options would take too long.
TYPES = (
    "definitions",
    "scope",
    "term",
    "renewal",
    "termination",
    "fees",
    "delivery",
    "confidentiality",
    "data_protection",
    "intellectual_property",
    "license",
    "warranty",
    "indemnification",
    "liability",
    "insurance",
    "audit",
    "exclusivity",
    "non_compete",
    "non_solicitation",
    "assignment",
    "change_of_control",
    "minimum_commitment",
    "liquidated_damages",
    "governing_law",
    "disputes",
    "force_majeure",
    "notices",
    "entire_agreement",
    "amendment",
    "waiver",
    "severability",
    "counterparts",
    "relationship",
    "compliance",
    "survival",
    "return_of_materials",
    "general",
    "other",
)
RUNNERS = {"parse": "clauses.parse", "normalize": "clauses.normalize"}

PLUGIN = Plugin(
    name="clauses",
    package=__name__,
    doc="Contracts become numbered clauses, each with its type.",
    runners=("stateward.pipelines.clauses.runners",),
    preload=("stateward.pipelines.clauses.stages",),
    options="stateward.pipelines.clauses.settings:ClauseSettings",
    source_types=(
        SourceType(
            name=SOURCE_TYPE,
            machine=MACHINE,
            title="Contract, as clauses",
            doc="PDF, DOCX or text of a contract in English or German.",
            suffixes=(".pdf", ".docx", ".txt"),
            runners=RUNNERS,
        ),
    ),
    detect="stateward.pipelines.clauses.detection:detect",
    items=(
        ItemView(
            machine=MACHINE,
            stage="parse",
            title="Parts of the contract",
            source_types=(SOURCE_TYPE,),
            columns=(
                Column("kind", format="code"),
                Column("number", format="code"),
                Column("heading"),
                Column("text"),
                Column("level", format="number"),
                Column("page", format="number"),
            ),
        ),
        ItemView(
            machine=MACHINE,
            stage="normalize",
            title="Clauses",
            source_types=(SOURCE_TYPE,),
            columns=(
                Column("path", format="code"),
                Column("heading"),
                Column("title", title="type"),
                Column("text"),
                Column("confidence", format="percent"),
                Column("topics", title="also speaks of", format="list"),
                Column("flags", format="list"),
                Column("page", format="number"),
            ),
        ),
    ),
    searchable=(
        SearchableText(
            machine=MACHINE,
            stage="normalize",
            fields=("heading", "text"),
            title="Clauses",
            source_types=(SOURCE_TYPE,),
            type="type",
            types=TYPES,
        ),
    ),
    demo=Demonstration(
        samples=(Sample(file="samples/*", machine=MACHINE, labels={"source_type": SOURCE_TYPE}),)
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.clauses.report:evaluation",
        doc="""Compare clauses of contracts with their truth.

        Each contract of a folder is read by both stages, but nothing is kept. The truth stands beside it as
        NAME.truth.json or in truth.json: `clauses`, a list of `number`, `heading` and `type` as far as they are known,
        or the answers of CUAD, of which those are compared that name a type of clause. It shows how many clauses and
        types are right, and ends with 1 if a character of a contract is in no part, or in two.
        """,
    ),
)
