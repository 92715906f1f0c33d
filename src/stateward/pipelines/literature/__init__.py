"""Papers: from a file or an identifier to text that is found and cited. Here is only what the pipeline declares.

The `literature` machine is that of the ledger, whose sixteen states it has.
"""

from stateward.definition.display import Column, ItemView, RecordView, SearchableText
from stateward.definition.plugin import (
    Demonstration,
    Evaluation,
    Hint,
    Plugin,
    PluginCommand,
    Sample,
    SourceType,
)
from stateward.definition.search import RankedText, ResultFormat

MACHINE = "literature"
SOURCE_TYPE = "source_type"  # the label that says where a record's document comes from
REFRESH = "refresh"  # the hint that asks the source again
DOCUMENT = "document"  # the derived file of `fetch` for a paper that was fetched
_SOURCES = {
    "pubmed": "PMID, from PubMed",
    "pmc": "PMCID, from PMC",
    "europepmc": "DOI, from Europe PMC",
    "arxiv": "arXiv number, from arXiv",
    "clinicaltrials": "NCT number, from ClinicalTrials.gov",
    "url": "Address of a paper",
}
_CITATIONS = (
    ("bibtex", "application/x-bibtex", "bibtex_of", "bib"),
    ("ris", "application/x-research-info-systems", "ris_of", "ris"),
    ("csl-json", "application/vnd.citationstyles.csl+json", "csl_json_of", "json"),
)
NETWORK_TYPES = frozenset(_SOURCES)


def _source_type(name: str, title: str) -> SourceType:
    return SourceType(
        name=name,
        machine=MACHINE,
        title=title,
        runners={"fetch": "literature.download"},
        network=("fetch",),
        one_machine=("fetch",),
        document=f"fetch/{DOCUMENT}",
    )


PLUGIN = Plugin(
    name="literature",
    package=__name__,
    doc="Papers are fetched, parsed, validated, embedded and indexed.",
    machines=("stateward.ledger:DOCUMENT_MACHINE",),
    runners=("stateward.pipelines.literature.runners",),
    preload=("stateward.pipelines.literature.preload",),
    options="stateward.pipelines.literature.settings:LiteratureSettings",
    configured="stateward.pipelines.literature.settings:ConfiguredLiterature",
    source_types=(
        SourceType(
            name="paper_file",
            machine=MACHINE,
            title="Paper, any format",
            suffixes=(".xml", ".nxml", ".pdf", ".html", ".htm", ".xhtml", ".txt"),
        ),
        *(_source_type(name, title) for name, title in _SOURCES.items()),
    ),
    hints=(
        Hint(
            name=REFRESH,
            doc="Ask the source again, and read what has changed.",
            choices=("yes",),
            is_once=True,
        ),
    ),
    detect="stateward.pipelines.literature.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Papers",
            accepts="JATS, PubMed XML, PDF, HTML, text",
            result=("build_ir", "summary"),
        ),
    ),
    items=(
        ItemView(
            machine=MACHINE,
            stage="parse",
            title="Blocks as read",
            columns=(
                Column("kind", format="code"),
                Column("section", format="list"),
                Column("label"),
                Column("text"),
                Column("part"),
            ),
        ),
        ItemView(
            machine=MACHINE,
            stage="validate",
            title="Findings",
            columns=(Column("code", format="code"), Column("message")),
        ),
        ItemView(
            machine=MACHINE,
            stage="build_ir",
            title="Intermediate form",
            columns=(
                Column("number", format="number"),
                Column("id", format="code"),
                Column("kind", format="code"),
                Column("section", format="list"),
                Column("label"),
                Column("text"),
                Column("part"),
            ),
        ),
    ),
    searchable=(
        SearchableText(machine=MACHINE, stage="build_ir", fields=("text",), title="Papers"),
    ),
    ranked=(
        RankedText(
            machine=MACHINE,
            stage="build_ir",
            document="stateward.pipelines.literature.finding:paper_document",
            text="stateward.pipelines.literature.finding:block_text",
            ranking="stateward.pipelines.literature.finding:RANKING",
            version=4,
            vectors="embed",
            confirm="confirm",
            filters={
                "year": "number",
                "type": "text",
                "language": "text",
                "journal": "text",
                "format": "text",
                "retraction": "text",
            },
            formats=tuple(
                ResultFormat(
                    name=name,
                    media_type=media_type,
                    write=f"stateward.pipelines.literature.citations:{function}",
                    suffix=suffix,
                )
                for name, media_type, function, suffix in _CITATIONS
            ),
        ),
    ),
    readers={"literature.parse": 16},
    routes="stateward.pipelines.literature.routes:HANDLERS",
    commands=(
        PluginCommand(
            name="models",
            doc="Install models that run on this machine.",
            target="stateward.pipelines.literature.commands:models",
        ),
        PluginCommand(
            name="literature",
            doc="Add papers, follow them and cite them.",
            target="stateward.pipelines.literature.commands:literature",
        ),
    ),
    demo=Demonstration(
        samples=(Sample(file="samples/*", machine=MACHINE),), search="idle mills at slack tides"
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.literature.report:evaluation",
        doc="""Compare the papers of a folder with their truth.

        Each is read by the stages up to the intermediate form, but nothing is stored. The truth of NAME.xml stands
        beside it as NAME.truth.json, with any of `ids`, `title`, `authors`, `abstract`, `section_titles` and
        `references` (their number). A JATS or PubMed file without one is compared with what plain XPath finds in it.
        It ends with 1 if any paper is wrong and nothing says so. Where the folder holds the Cranfield collection, the
        ranking of search is measured on it as well.
        """,
        parameters={"queries": "The range of queries of the collection, by default 1-112."},
    ),
)
