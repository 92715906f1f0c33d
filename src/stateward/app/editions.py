"""Editions: the items of finished stages, made again by today's rules or with other hints. The record does not move.

Edition 0 is what the attempt wrote, under the version that the record's `outputs` names. A later edition is stored
under a negative version, with the fact `edition_of` naming the version that it replaces.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from stateward.app.plugins import Plugins
from stateward.app.records import Records, edition_version
from stateward.blobs import Folder
from stateward.core.errors import InvalidRequest, UnknownName
from stateward.core.machine import Stage
from stateward.core.model import FLAGS, Fields, Micros, Record
from stateward.core.view import flag_codes
from stateward.engine.flags import Flags
from stateward.engine.registry import MachineRegistry
from stateward.storage.full_text import IndexedTransition
from stateward.storage.outputs import EDITION_OF, AttemptResult, Output, Outputs
from stateward.workers.routes import route_of
from stateward.workers.sdk import Completed, Failed, Job, Limits, Result, registered, run_runner
from stateward.workers.worker import Pairs, StageFiles, StageSavedValues, options_of


class Reread(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was read again: what changed in the items of its last stage, and what is flagged now."""

    record_id: str
    stage: str
    before: int
    after: int
    added: list[Fields]
    removed: list[Fields]
    flags: list[str]
    is_stored: bool

    @property
    def is_changed(self) -> bool:
        """Whether any item differs."""
        return bool(self.added or self.removed)


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
        flags: Flags,
    ) -> None:
        self._flags = flags
        self._readers = {name: at for plugin in plugins for name, at in plugin.readers.items()}
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
        return self._store(record, stage, result, actor=actor, hints={})

    def reread(
        self,
        record_id: str,
        *,
        hints: Fields,
        secrets: Fields,
        actor: str,
        is_preview: bool = False,
    ) -> Reread:
        """Run all finished stages again, with other hints, and store what came out as new editions.

        The hints are stored with the editions, the secrets nowhere. With `is_preview` nothing is stored.
        """
        record = self._records.get(record_id)
        machine = self._registry.of(record)
        stages = [each for each in machine.stages if each.name in record.outputs]
        if not stages:
            raise InvalidRequest(f"{record.id} has not been read yet; retry it instead")
        labels = record.labels | hints
        results: dict[str, Completed] = {}
        for stage in stages:
            made = {name: [chunk.data for chunk in one.chunks] for name, one in results.items()}
            result = self._run(record, stage, labels=labels, secrets=secrets, made=made)
            if isinstance(result, Failed):
                raise InvalidRequest(
                    f"{record.id} cannot be read so: {result.code}: {result.message}"
                )
            results[stage.name] = result
        last = stages[-1].name
        now = self._outputs.item_chunks(record.id, edition_version(self._outputs, record, last))
        found = _difference(record.id, last, list(now), results[last])
        if is_preview or not found.is_changed:
            return found
        for stage in stages:
            self._store(record, stage.name, results[stage.name], actor=actor, hints=hints)
        self._decide(record, found, actor)
        return replace(found, is_stored=True)

    def _decide(self, record: Record, found: Reread, actor: str) -> None:
        """A flagged result that is no longer so was corrected."""
        if flag_codes(record) and not found.flags:
            self._flags.decide(record.id, "correct", actor=actor, reason="it was read again")

    def is_outdated(self, record: Record) -> bool:
        """Whether an older version of a reader made the newest items of a record."""
        machine = self._registry.of(record)
        editions = self._outputs.editions(record.id)
        for stage in machine.stages:
            wanted = self._readers.get(self._runner_name(record, stage))
            if wanted is None or stage.name not in record.outputs:
                continue
            made = [each for each in editions if each.stage == stage.name]
            made = made or [e for e in self._outputs.attempts(record.id) if e.stage == stage.name]
            known = made[-1].facts.get("reader") if made else None
            if not isinstance(known, int) or known < wanted:
                return True
        return False

    def _store(
        self, record: Record, stage: str, result: Completed, *, actor: str, hints: Fields
    ) -> AttemptResult:
        edition = AttemptResult(
            record_id=record.id,
            version=-1 - len(self._outputs.editions(record.id)),
            stage=stage,
            worker=actor,
            at=self._clock(),
            count=result.count,
            facts={
                **result.facts,
                EDITION_OF: record.outputs[stage],
                **({"hints": hints} if hints else {}),
            },
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

    def _runner_name(self, record: Record, stage: Stage) -> str:
        route = route_of(self._plugins.routes, record.machine, stage.name, record.labels)
        return stage.runner if route is None else route.runner

    def _run(
        self,
        record: Record,
        stage: Stage,
        *,
        labels: Fields | None = None,
        secrets: Fields | None = None,
        made: dict[str, list[str]] | None = None,
    ) -> Result:
        """Run a stage on the newest editions of what the stages before it left, or on what was `made` just now."""
        own = record.outputs[stage.name]
        before = {
            name: version
            for name, version in sorted(record.outputs.items(), key=lambda pair: pair[1])
            if version < own
        }
        inputs = {
            name: (made or {}).get(name)
            or self._outputs.item_chunks(record.id, edition_version(self._outputs, record, name))
            for name in before
        }
        name = self._runner_name(record, stage)
        runner = registered().get(name)
        if runner is None:
            raise UnknownName("runner", name, registered())
        job = Job(
            record_id=record.id,
            stage=stage.name,
            attempt=own,
            labels=record.labels if labels is None else labels,
            path=None if record.artifact is None else self._artifacts.path(record.artifact),
            items=inputs,
            options={**options_of(self._plugins.runner_options, name), **(secrets or {})},
            # The values that the attempt saved: an answer that was paid for then is not paid for again.
            saved_values=StageSavedValues(self._outputs, record.id, stage.name, self._clock),
            files=StageFiles(self._outputs, self._artifacts, record.id, before),
        )
        return run_runner(runner, job, limits=self._limits, sleep=time.sleep, now=self._clock)


def _difference(record_id: str, stage: str, before: list[str], result: Completed) -> Reread:
    """What the items of a stage were, and what they are now; one that moved within the file is the same one."""
    old, new = _rows(before), _rows([chunk.data for chunk in result.chunks])
    left, right = Counter(map(_key, old)), Counter(map(_key, new))
    flags = result.facts.get(FLAGS)
    return Reread(
        record_id=record_id,
        stage=stage,
        before=len(old),
        after=len(new),
        added=_beyond(new, right - left),
        removed=_beyond(old, left - right),
        flags=[str(code) for code in flags] if isinstance(flags, list) else [],
        is_stored=False,
    )


def _rows(chunks: Iterable[str]) -> list[Fields]:
    values = [msgspec.json.decode(chunk) for chunk in chunks]
    return [row for value in values if isinstance(value, list) for row in value]


def _key(row: Fields) -> str:
    return msgspec.json.encode(row, order="sorted").decode()


def _beyond(rows: list[Fields], counts: Counter[str]) -> list[Fields]:
    found: list[Fields] = []
    for row in rows:
        key = _key(row)
        if counts[key] > 0:
            counts[key] -= 1
            found.append(row)
    return found
