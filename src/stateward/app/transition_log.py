"""A log line for every transition, as talkative as the settings of its machine say."""

from collections.abc import Sequence

from stateward import telemetry
from stateward.core.model import SKIPPED, TRACE, Record, Transition
from stateward.core.view import sentence
from stateward.engine.registry import MachineRegistry
from stateward.settings import Settings
from stateward.telemetry.tracing import trace_id


class TransitionLog:
    """Called by the coordinator with what it has committed."""

    def __init__(self, settings: Settings, registry: MachineRegistry) -> None:
        self._settings = settings
        self._registry = registry
        self._log = telemetry.log("coordinator")
        # The level is needed for every transition and asks two settings sections: looked up once per machine.
        self._levels: dict[str, str] = {}

    def __call__(self, transitions: Sequence[Transition], records: Sequence[Record]) -> None:
        """Log these transitions; `records` are theirs, in the same order."""
        for transition, record in zip(transitions, records, strict=True):
            level = self._levels.get(record.machine)
            if level is None:
                level = self._settings.machine(record.machine).logging.level
                self._levels[record.machine] = level
            # A skipped stage is no failure, and yet probably not what was wanted.
            own = "warning" if transition.metadata.get("rest") == SKIPPED else "info"
            if telemetry.is_written(own, at=level):
                machine = self._registry.exactly(transition.machine, transition.machine_version)
                write = self._log.warning if own == "warning" else self._log.info
                message = sentence(machine, transition, is_for_log=True)
                write(message, **self._facts(transition, record))

    def _facts(self, transition: Transition, record: Record) -> dict[str, object]:
        facts: dict[str, object] = {
            "record_id": record.id,
            "version": transition.version,
            "actor": transition.actor,
        }
        stage = transition.trigger.partition(".")[0]
        if stage in self._registry.of(record).stage:
            facts["stage"] = stage
        trace = transition.metadata.get(TRACE)
        if isinstance(trace, str) and self._settings.machine(record.machine).logging.trace_id:
            facts["trace_id"] = trace_id(trace)
        return facts
