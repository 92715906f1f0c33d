"""The state machine of this pipeline, as a value."""

from stateward.definition.discovery import machine_file

CONTRACT = machine_file("stateward.pipelines.contracts", "machine.yaml")
