"""The state machine of this pipeline, as a value."""

from stateward.definition.discovery import machine_file

DOCUMENTS = machine_file("stateward.pipelines.documents", "machine.yaml")
