"""Papers: the `literature` machine, whose states are those of the ledger. Here is only what the pipeline declares."""

from stateward.definition.plugin import Plugin

PLUGIN = Plugin(
    name="literature",
    package=__name__,
    doc="Papers are fetched, parsed, validated, embedded and indexed.",
    machines=("stateward.ledger:DOCUMENT_MACHINE",),
    runners=("stateward.pipelines.literature",),
)
