"""Editions: the items of a finished stage, made again by today's rules. The record does not move.

Edition 0 is what the attempt wrote, under the version that the record's `outputs` names. A later edition is stored
under a negative version, with the fact `edition_of` naming the version that it replaces.
"""

import time
from collections.abc import Callable

from stateward.app.plugins import Plugins
from stateward.app.records import Records, edition_version
from stateward.blobs import Folder
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.machine import Stage
from stateward.core.model import Micros, Record
from stateward.engine.registry import MachineRegistry
from stateward.storage.full_text import IndexedTransition
from stateward.storage.outputs import EDITION_OF, AttemptResult, Output, Outputs
from stateward.workers.routes import route_of
from stateward.workers.sdk import Failed, Job, Limits, Result, registered, run_runner
from stateward.workers.worker import Pairs, StageFiles, StageSavedValues, options_of


class Editions:
    """Runs stages of finished records again, in this process."""

    def __init__(
        self,
        *,
        records: Records,
        registry: MachineRegistry,
        outputs: Outputs,
        artifacts: Folder,
        plugins: Plugins,
        limits: Limits,
        clock: Callable[[], Micros],
        index: Callable[[IndexedTransition], None],
    ) -> None:
        self._index = index
        self._records = records
        self._registry = registry
        self._outputs = outputs
        self._artifacts = artifacts
        self._plugins = plugins
        self._limits = limits
        self._clock = clock

    def rebuild(self, record_id: str, stage: str, *, actor: str) -> AttemptResult | None:
        """Make the items of a finished stage again from what the stages before it left.

        What there was stays, as an earlier edition. None where nothing changed.
        """
        record = self._records.get(record_id)
        machine = self._registry.of(record)
        if stage not in machine.stage:
            raise UnknownName("stage", stage, machine.stage)
        if stage not in record.outputs:
            raise InvalidRequest(
                f"{record.id} has not finished {stage}: there is nothing to rebuild"
            )
        result = self._run(record, machine.stage[stage])
        if isinstance(result, Failed):
            raise InvalidRequest(f"{record.id} cannot be rebuilt: {result.code}: {result.message}")
        now = self._outputs.item_chunks(record.id, edition_version(self._outputs, record, stage))
        pairs = zip(result.chunks, now, strict=False)
        if len(result.chunks) == len(now) and all(new.data == old for new, old in pairs):
            return None
        edition = AttemptResult(
            record_id=record.id,
            version=-1 - len(self._outputs.editions(record.id)),
            stage=stage,
            worker=actor,
            at=self._clock(),
            count=result.count,
            facts={**result.facts, EDITION_OF: record.outputs[stage]},
            log=result.log,
        )
        self._outputs.write([Output(edition, Pairs(result.chunks))])
        self._index(
            IndexedTransition(
                seq=0,
                record_id=record.id,
                machine=record.machine,
                stage=stage,
                version=record.outputs[stage],
                labels=record.labels,
            )
        )
        return edition

    def _run(self, record: Record, stage: Stage) -> Result:
        made = record.outputs[stage.name]
        before = {
            name: version
            for name, version in sorted(record.outputs.items(), key=lambda pair: pair[1])
            if version < made
        }
        inputs = {
            name: self._outputs.item_chunks(record.id, version) for name, version in before.items()
        }
        route = route_of(self._plugins.routes, record.machine, stage.name, record.labels)
        name = stage.runner if route is None else route.runner
        runner = registered().get(name)
        if runner is None:
            raise UnknownName("runner", name, registered())
        job = Job(
            record_id=record.id,
            stage=stage.name,
            attempt=made,
            labels=record.labels,
            path=None if record.artifact is None else self._artifacts.path(record.artifact),
            items=inputs,
            options=options_of(self._plugins.runner_options, name),
            # The values that the attempt saved: an answer that was paid for then is not paid for again.
            saved_values=StageSavedValues(self._outputs, record.id, stage.name, self._clock),
            files=StageFiles(self._outputs, self._artifacts, record.id, before),
        )
        return run_runner(runner, job, limits=self._limits, sleep=time.sleep, now=self._clock)
