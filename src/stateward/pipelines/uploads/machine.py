"""The state machine of this pipeline, as a value."""

from stateward.definition.discovery import machine_file

UPLOAD = machine_file("stateward.pipelines.uploads", "machine.yaml")
