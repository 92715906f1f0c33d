"""Research data: the `experiments` machine, from a table to a published bundle. Only what the pipeline declares.

`validate` reads tables and compares every row with their schema; `process` makes statistics, plots and a clean copy; a
person publishes, and only then does `stateward bundle` give out all of it as one citable file.
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

MACHINE = "experiments"

PLUGIN = Plugin(
    name="experiments",
    package=__name__,
    doc="Research data are validated against their schema, analyzed exactly, and published by a person.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.experiments.runners",),
    preload=("stateward.pipelines.experiments.stages",),
    options="stateward.pipelines.experiments.settings:ExperimentSettings",
    source_types=(
        SourceType(
            name="dataset",
            machine=MACHINE,
            title="Research data",
            doc="CSV, TSV, XLSX, or a ZIP with datapackage.json or a Table Schema",
            suffixes=(".csv", ".tsv", ".txt", ".xlsx", ".zip"),
        ),
    ),
    detect="stateward.pipelines.experiments.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Research data",
            accepts="CSV, TSV, XLSX, ZIP with datapackage.json",
            result=("process", "sentence"),
        ),
    ),
    items=(
        ItemView(machine=MACHINE, stage="validate", title="Data points"),
        ItemView(
            machine=MACHINE,
            stage="process",
            title="Statistics",
            columns=(
                Column("table"),
                Column("column"),
                Column("unit", format="code"),
                Column("type", format="code"),
                Column("count", format="number"),
                Column("missing", format="number"),
                Column("mean", format="number"),
                Column("standard_deviation", title="sd", format="number"),
                Column("minimum", format="number"),
                Column("median", format="number"),
                Column("maximum", format="number"),
                Column("picture", title="histogram", format="picture"),
            ),
        ),
    ),
    searchable=(
        SearchableText(machine=MACHINE, stage="process", fields=("table", "column", "description")),
    ),
    hints=(
        Hint(name="response", doc="The column that a regression explains."),
        Hint(name="predictors", doc="The columns that explain it, with commas; else all others."),
    ),
    demo=Demonstration(samples=(Sample(file="samples/*", machine=MACHINE),)),
    evaluation=Evaluation(
        run="stateward.pipelines.experiments.evaluate:evaluation",
        doc="""Compare tables and their statistics with the truth.

        The truth of NAME.csv, NAME.xlsx or NAME.zip stands beside it as NAME.truth.json: `rows`, `faults` (a list of
        [row, column]), `missing` (column to count), and `statistics` (column to mean, standard_deviation, ...), which
        must agree to 7 digits. A file without a truth is read, and shown with what was found. It ends with 1 if
        something is wrong and nothing says so.
        """,
    ),
    routes="stateward.pipelines.experiments.routes:HANDLERS",
    commands=(
        PluginCommand(
            name="bundle",
            doc="Write the bundle of published research data.",
            target="stateward.pipelines.experiments.commands:bundle",
        ),
    ),
)
