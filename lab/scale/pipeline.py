"""The pipeline of the records: one stage that does nothing and produces one item."""

from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.definition.plugin import Plugin
from stateward.testing.bench import nothing

STAGE, FIRST, RUNNING, LAST = "read", "received", "reading", "done"

MACHINE: Machine = declare(
    {
        "machine": "scale",
        "version": 1,
        "prefix": "SC",
        "initial": FIRST,
        "states": {FIRST: "ready", RUNNING: "running", LAST: "terminal", "broken": "failed"},
        "stages": {
            STAGE: {
                "from": FIRST,
                "running": RUNNING,
                "outcomes": {"done": LAST},
                "on_error": "broken",
                "produces": "items",
                "isolation": "inline",
                "runner": nothing.NAME,
            }
        },
    },
    source=__name__,
)
PLUGIN = Plugin(name="scale", package=__package__, machines=(MACHINE,), runners=(nothing.__name__,))
