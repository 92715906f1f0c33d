"""Web pages, on the `upload` machine: from a saved or linked page to facts with their place in its text.

`parse` finds the main text of each page, keeps it as a file, and reads facts off it just as they are printed.
`normalize` resolves who and what they are about. Here is only what the pipeline declares.
"""

from stateward.definition.display import Column, ItemView, SearchableText
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "upload"
PAGE, LINK = "web_page", "web_url"
NORMALIZE = "web.normalize"

PLUGIN = Plugin(
    name="web",
    package=__name__,
    doc="Web pages become facts, each with its place in the text of the page.",
    runners=("stateward.pipelines.web.runners",),
    preload=("stateward.pipelines.web.preload",),
    options="stateward.pipelines.web.settings:WebSettings",
    configured="stateward.pipelines.web.settings:ConfiguredWeb",
    source_types=(
        SourceType(
            name=PAGE,
            machine=MACHINE,
            title="Web page",
            doc="HTML, MHTML or WARC",
            suffixes=(".html", ".htm", ".xhtml", ".mhtml", ".mht", ".warc"),
            runners={"parse": "web.parse", "normalize": NORMALIZE},
        ),
        SourceType(
            name=LINK,
            machine=MACHINE,
            title="Web page, by its address",
            doc="a small file with one URL; the page is fetched",
            suffixes=(".url", ".webloc"),
            runners={"parse": "web.fetch", "normalize": NORMALIZE},
            network=("parse",),
        ),
    ),
    detect="stateward.pipelines.web.detection:detect",
    items=(
        ItemView(
            machine=MACHINE,
            stage="parse",
            title="Pages and facts as printed",
            source_types=(PAGE, LINK),
            columns=(
                Column("kind", format="code"),
                Column("title"),
                Column("author"),
                Column("date"),
                Column("subject"),
                Column("verb"),
                Column("object"),
                Column("number", align="right"),
                Column("unit"),
                Column("quotation"),
                Column("printed"),
                Column("url"),
            ),
        ),
        ItemView(
            machine=MACHINE,
            stage="normalize",
            title="Facts",
            source_types=(PAGE, LINK),
            columns=(
                Column("kind", format="code"),
                Column("title"),
                Column("subject"),
                Column("subject_id", format="code"),
                Column("relation", format="code"),
                Column("object"),
                Column("object_id", format="code"),
                Column("value", format="number"),
                Column("unit", format="code"),
                Column("date", format="date"),
                Column("quotation"),
                Column("printed"),
                Column("flags", format="list"),
                Column("key", format="code"),
            ),
        ),
    ),
    searchable=(
        SearchableText(
            machine=MACHINE,
            stage="parse",
            fields=("title", "text", "author"),
            title="title",
            source_types=(PAGE, LINK),
        ),
        SearchableText(
            machine=MACHINE,
            stage="normalize",
            fields=("printed", "subject", "object", "quotation"),
            title="subject",
            source_types=(PAGE, LINK),
        ),
    ),
    demo=Demonstration(
        samples=(Sample(file="samples/*", machine=MACHINE, labels={"source_type": PAGE}),)
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.web.evaluate:evaluation",
        doc="""Compare the pages of a folder with their truth.

        Main texts are compared, and every fact is looked up at its place. The truth is `ground-truth.json`,
        which maps NAME of NAME.html (or NAME.html.gz) to an object with
        `articleBody`, or NAME.truth.json beside a page, with `text`. The score is that of the article extraction
        benchmark: precision and recall of runs of four words. It ends with 1 if a fact is not where it says.
        """,
    ),
)
