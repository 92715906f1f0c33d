"""Editions: the items of finished stages, made again by today's rules or with other hints. The record does not move.

Edition 0 is what the attempt wrote, under the version that the record's `outputs` names. A later edition is stored
under a negative version, with the fact `edition_of` naming the version that it replaces.

What failed, what is in review, and what a machine that branches has finished cannot be mended by an edition: where it
goes depends on the result. With other hints it is processed anew, by a successor that names it; the review of the old
one ends as rejected. The audit log of the record, and the first transition of its successor, say who changed what.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from secrets import token_hex

import msgspec
from msgspec.structs import replace

from stateward.app.edition_files import EditionFiles
from stateward.app.plugins import Plugins
from stateward.app.records import Records, edition_version
from stateward.app.rereading import (
    OtherHints,
    Reading,
    changed_options,
    compare_items,
    describe_changes,
    nothing_to_compare,
)
from stateward.blobs import ArtifactStore
from stateward.core.errors import ConcurrentModification, InvalidRequest, UnknownName
from stateward.core.machine import Machine, Stage
from stateward.core.model import (
    FLAGS,
    OUTSIDE,
    SEQUENCING,
    EarlierItems,
    Fields,
    Json,
    Micros,
    Record,
    clean_text,
    timeout_message,
)
from stateward.core.view import document_name, flag_codes
from stateward.definition.plugin import AUTO
from stateward.engine.answers import REJECT, DecisionRequest
from stateward.engine.coordinator import Submitted
from stateward.engine.earlier_items import EARLIER, EarlierIndex
from stateward.engine.external_driver import ExternalDriver
from stateward.engine.flags import Flags
from stateward.engine.registry import MachineRegistry
from stateward.schemas import RereadAnswer, RereadRequest
from stateward.storage.audit import REREAD, AuditEntry, AuditLog
from stateward.storage.full_text import IndexedTransition
from stateward.storage.outputs import EDITION_OF, AttemptResult, Output, Outputs
from stateward.storage.row_seals import EDITION_SALT, SALT_BYTES
from stateward.workers.attempt_data import Pairs, StageSavedValues
from stateward.workers.child_attempt import JobOrder
from stateward.workers.results import Completed, Failed, Limits, Result
from stateward.workers.routes import RunnerRoute, route_of
from stateward.workers.sdk import Job, run_runner
from stateward.workers.single_jobs import SingleJobs
from stateward.workers.worker_config import options_of

# A file without its lock is a little larger or smaller than with it; what limits uploads has let that one in.
UNLOCKED_BYTES_MAX = 1 << 30
# What is said of a record, by the kind of its status, whose known bytes are processed anew with other hints.
STILL_OPEN = {
    "suspended": "; {} is still in review: reject it if it was read wrongly",
    "running": "; {} goes on as it was",
    "ready": "; {} goes on as it was",
}


class Editions:
    """Runs stages of finished records again: in a sandboxed child, like a worker, and waits for it.

    The child stays warm for the next record; who has done with it calls `release`.
    """

    def __init__(
        self,
        *,
        records: Records,
        registry: MachineRegistry,
        outputs: Outputs,
        artifacts: ArtifactStore,
        plugins: Plugins,
        limits: Limits,
        clock: Callable[[], Micros],
        index: Callable[[IndexedTransition], None],
        flags: Flags,
        driver: ExternalDriver,
        jobs: SingleJobs,
        owners: Callable[[Sequence[str]], dict[str, str]],
        earlier: EarlierIndex,
        transaction: Callable[[], AbstractContextManager[object]],
        audit: AuditLog,
        decide_review: Callable[[DecisionRequest], Record],
    ) -> None:
        self._transaction = transaction
        self._audit = audit
        self._decide_review = decide_review
        self._jobs = jobs
        self._earlier = earlier
        self._owners = owners
        self._flags = flags
        self._driver = driver
        self._engine_stages = plugins.engine_stages
        self._documents = {
            (each.machine, each.stage) for plugin in plugins for each in plugin.ranked
        }
        self._readers = {name: at for plugin in plugins for name, at in plugin.readers.items()}
        self._index = index
        self._records = records
        self._registry = registry
        self._outputs = outputs
        self._artifacts = artifacts
        self._plugins = plugins
        self._limits = limits
        self._clock = clock

    def release(self) -> None:
        """End the child process, if there is one."""
        self._jobs.close()

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
        return next(iter(self._make_again(record, [machine.stage[stage]], actor)), None)

    def rebuild_outdated(self, record_id: str, *, actor: str) -> list[AttemptResult]:
        """Make anew what today's code would make otherwise: the editions that came of it.

        What an older reader has read is read again. Else the stages behind the one that reads are done again, or the
        last one where no reader has a version.
        """
        record = self._records.get(record_id)
        if self.is_outdated(record) and not self.begins_anew(record):
            before = len(self._outputs.editions(record.id))
            self.reread(record_id, RereadRequest(only_outdated=True), actor=actor)
            return self._outputs.editions(record.id)[before:]
        finished = self._finished_stages(record)
        reading = [at for at, each in enumerate(finished) if self._reader_of(record, each)]
        following = finished[reading[-1] + 1 :] if reading else finished[-1:]
        if not following:
            raise InvalidRequest(f"{record.id} is {record.status}: there is nothing to rebuild yet")
        return self._make_again(record, following, actor)

    def _make_again(
        self, record: Record, stages: Sequence[Stage], actor: str
    ) -> list[AttemptResult]:
        """Run stages one after the other, with the hints in force, and store those that gave something else."""
        hints = self.hints_of(record)
        results: dict[str, Completed] = {}
        for stage in stages:
            result = self._run(record, stage, labels=record.labels | hints, made=results)
            if isinstance(result, Failed):
                raise InvalidRequest(
                    f"{record.id} cannot be rebuilt: {result.code}: {result.message}"
                )
            results[stage.name] = result
        changed = {
            name: each for name, each in results.items() if self._is_other(record, name, each)
        }
        if not changed:
            return []
        with self._transaction():
            self._records.lock(record)  # as in `reread`
            return [
                self._store(record, name, each, actor=actor, hints=hints)
                for name, each in changed.items()
            ]

    def _is_other(self, record: Record, stage: str, result: Completed) -> bool:
        """Whether a stage gave something else than what is there now."""
        now = self._outputs.item_chunks(record.id, edition_version(self._outputs, record, stage))
        pairs = zip(result.chunks, now, strict=False)
        return len(result.chunks) != len(now) or any(new.data != old for new, old in pairs)

    def reread(
        self,
        record_id: str,
        asked: RereadRequest,
        *,
        actor: str,
        is_administrator: bool = False,
    ) -> RereadAnswer:
        """Run all finished stages again, with other hints, and store what came out as new editions.

        The hints are stored with the editions, the secrets nowhere. With `is_preview` nothing is stored.
        """
        reading = self.read(record_id, asked)
        if asked.is_preview or reading.found.is_skipped:
            return reading.found
        return self.store(reading, asked, actor=actor, is_administrator=is_administrator)

    def read(self, record_id: str, asked: RereadRequest) -> Reading:
        """What comes out with these hints; nothing is stored. May take as long as the stages do.

        The hints of the newest edition stay in force, unless `is_reset`: who corrects the sign does not mean to undo
        the order of dates. An empty one is taken back.
        """
        hints: Fields = dict(asked.hints)
        secrets: Fields = dict(asked.secrets)
        record = self._records.get(record_id)
        self.check_hints(record, hints | secrets)
        if asked.only_outdated and not self.is_outdated(record):
            found = replace(nothing_to_compare(record), is_skipped=True)
            return Reading(record=record, hints=hints, results={}, found=found)
        if self.begins_anew(record):
            return self._anew(record, hints, secrets)
        stages = self._finished_stages(record)
        if not stages:
            raise InvalidRequest(f"{record.id} has not been read yet; wait for that")
        before = record.labels | self.hints_of(record)
        in_force = {} if asked.is_reset else self.hints_of(record)
        in_force = {name: value for name, value in (in_force | hints).items() if value != ""}
        # A hint that was taken back must not come back with the labels of the submission.
        labels = {
            name: value for name, value in record.labels.items() if hints.get(name) != ""
        } | in_force
        results: dict[str, Completed] = {}
        for stage in stages:
            result = self._run(record, stage, labels=labels, secrets=secrets, made=results)
            if isinstance(result, Failed):
                raise InvalidRequest(
                    f"{record.id} cannot be read so: {result.code}: {result.message}"
                )
            results[stage.name] = result
        last = stages[-1].name
        now = self._outputs.item_chunks(record.id, edition_version(self._outputs, record, last))
        found = compare_items(record.id, last, list(now), results[last])
        found = replace(
            found,
            former_flags=self.flags_of(record),
            has_other_facts=any(self._says_other(record, *each) for each in results.items()),
        )
        table = None
        if asked.remember and not asked.is_preview:
            table = self._raw_table(record, labels)
        known = self._plugins.hints(record.machine)
        lasting = {
            name: value
            for name, value in in_force.items()
            if name not in known or not known[name].is_once
        }
        return Reading(
            record=record,
            hints=lasting,
            changed=changed_options(
                before, labels, {*before, *hints} & {*self._plugins.hints(record.machine)}
            ),
            results=results,
            found=found,
            table=table,
        )

    def _says_other(self, record: Record, stage: str, result: Completed) -> bool:
        """Whether a stage that makes the document for searches says something else about it than before.

        Of other stages it is no matter: they may say when they ran.
        """
        if (record.machine, stage) not in self._documents:
            return False
        version = edition_version(self._outputs, record, stage)
        items = [msgspec.json.decode(chunk.data) for chunk in result.chunks if not chunk.count]
        return (items[0] if items else {}) != self._outputs.about(record.id, version)

    def _anew(self, record: Record, hints: Fields, secrets: Fields) -> Reading:
        """What can be done about a document that no edition can mend: other labels, or it without its lock."""
        known = self._plugins.hints(record.machine)
        lasting = {
            name: value
            for name, value in record.labels.items()
            if name not in known or not known[name].is_once
        }
        changed = changed_options(lasting, hints, hints)
        if not changed and not secrets:
            raise InvalidRequest(f"nothing would change for {record.id}: give another option")
        unlocked = None
        if secrets and record.artifact is not None:
            unlocked = self._unlock(record, record.artifact, secrets)
        return Reading(
            record=record,
            hints={name: new for name, (_, new) in changed.items()},
            changed=changed,
            results={},
            found=nothing_to_compare(record),
            unlocked=unlocked,
        )

    def _unlock(self, record: Record, artifact: str, secrets: Fields) -> bytes:
        target = self._plugins.unlock_target(record.machine)
        given = {name: str(value) for name, value in secrets.items()}
        try:
            found = self._look(record, artifact, target, given)
        except InvalidRequest as error:
            raise InvalidRequest(f"{record.id} cannot be read so: {error}") from error
        if not isinstance(found, bytes):
            raise InvalidRequest(f"{record.id} cannot be read so: it was not unlocked")
        return found

    def _look(
        self, record: Record, artifact: str, target: str, given: dict[str, str]
    ) -> Json | bytes:
        owner = self._owners([record.id]).get(record.id, "")
        return self._jobs.look(target, self._artifacts.path(artifact), given, owner=owner)

    def _succeed(self, reading: Reading, *, actor: str, reason: str | None = None) -> Submitted:
        """A record that processes a document that failed with other labels, or unlocked."""
        record, labels, artifact = reading.record, reading.hints, None
        if reading.unlocked is not None:
            artifact = self._artifacts.put([reading.unlocked], bytes_max=UNLOCKED_BYTES_MAX).sha256
            labels = {**labels, "unlocked_from": record.artifact}
        changes = describe_changes(reading.changed)
        made = self._driver.reprocess(
            record.id,
            actor=actor,
            # A driver knows the record that it asked for, and not this one: it would wait for ever.
            sequencing=AUTO if record.labels.get(SEQUENCING) == OUTSIDE else None,
            labels=labels,
            reason=f"{reason}: {changes}" if reason and changes else reason or changes or None,
            is_ended=False,
            artifact=artifact,
        )
        self._note(reading, actor, reason, {"successor": made.record.id})
        return made

    def reprocess(
        self,
        record_id: str,
        hints: Mapping[str, str],
        *,
        actor: str,
        machines: tuple[str, ...] = (),
        reason: str | None = None,
        trace: str | None = None,
    ) -> Submitted:
        """Process the document of a record that has ended again, as a new record with these hints instead."""
        if hints:
            record = self._records.get(record_id)
            known = self._plugins.hints(record.machine)
            if machines and record.machine not in machines:
                raise UnknownName("record", clean_text(record_id, chars_max=80))
            self.check_hints(record, hints)
            if secret := [name for name in hints if known[name].is_secret]:
                raise InvalidRequest(f"{secret[0]} is not stored with a record: use reparse")
        return self._driver.reprocess(
            record_id, actor=actor, labels=hints, machines=machines, reason=reason, trace=trace
        )

    def begins_anew(self, record: Record) -> bool:
        """Whether other hints make a successor, and not an edition."""
        machine = self._registry.of(record)
        kind = machine.kind[record.status]
        return kind in ("failed", "suspended") or (kind == "terminal" and _is_branching(machine))

    def store(
        self,
        reading: Reading,
        asked: RereadRequest,
        *,
        actor: str,
        is_administrator: bool = False,
    ) -> RereadAnswer:
        """Store what was read as new editions, if anything changed; a record that moved on meanwhile is refused.

        A result that is flagged where the one there is now is not would be wrong in silence: nothing leads to it from
        the queue. It is stored only if the caller accepts that. Where it was read to be remembered, the pipelines learn
        the hints for other documents like it, unless the result is flagged.
        """
        record, found = reading.record, reading.found
        if self._records.get(record.id).version != record.version:
            raise ConcurrentModification(record.id, expected=record.version)
        if not reading.results:
            with self._transaction():
                made = self._succeed(reading, actor=actor, reason=asked.reason)
                if self._registry.of(record).kind[record.status] == "suspended":
                    ending = DecisionRequest(
                        record_id=record.id,
                        action=REJECT,
                        actor=actor,
                        notes=f"processed again as {made.record.id}: {describe_changes(reading.changed)}",
                        version=record.version,
                        reason_code=asked.reason_code,
                        is_administrator=is_administrator,
                    )
                    self._decide_review(ending)
            return replace(found, is_stored=True, successor=made.record.id)
        if not found.is_changed:
            return found
        is_queued = bool(flag_codes(record)) and record.id not in self._flags.decisions([record])
        if found.flags and not is_queued and not asked.accept_flags:
            raise InvalidRequest(
                f"read so, {record.id} is flagged as wrong or incomplete: {', '.join(found.flags)}; what is there now "
                "is not, and stays. Accept the flags to store it all the same"
            )
        with self._transaction():
            self._records.lock(
                record
            )  # else an edition could be written after its record was erased
            for stage, result in reading.results.items():
                self._store(record, stage, result, actor=actor, hints=reading.hints)
        self._note(
            reading, actor, asked.reason, {"edition": self.edition_number(record, found.stage)}
        )
        self._decide(record, found, actor)
        learned = [] if found.flags else self._learn(reading)
        return replace(found, is_stored=True, learned=learned)

    def raw_table(self, record: Record) -> list[list[str]] | None:
        """The first rows of the table of a document, as they are printed; None for what has none."""
        return self._raw_table(record, record.labels | self.hints_of(record))

    def _raw_table(self, record: Record, said: Fields) -> list[list[str]] | None:
        target = self._plugins.raw_table_target(record.machine)
        if record.artifact is None or not target:
            return None
        hints = {name: str(value) for name, value in said.items()}
        try:
            found = self._look(record, record.artifact, target, hints)
        except InvalidRequest:  # what is wrong with it, its record says
            return None
        return None if found is None else msgspec.convert(found, list[list[str]])

    def _learn(self, reading: Reading) -> list[str]:
        record = reading.record
        if not reading.table:
            return []
        return self._plugins.learn(
            record.machine,
            reading.table,
            {name: str(value) for name, value in reading.hints.items()},
            name=document_name(record),
        )

    def correct(
        self, other: OtherHints, reading: Reading | None, *, actor: str, reason: str | None = None
    ) -> Submitted:
        """Do what the hints of a known document ask for; what cannot be done now is said.

        What has ended gets a new edition (`reading`), what failed or may go elsewhere a successor with these labels.
        """
        record = other.record
        hints = ", ".join(f"{name}={value}" for name, value in sorted(other.hints.items()))
        if reading is not None and not reading.results:
            made = self._succeed(reading, actor=actor, reason=reason)
            kind = self._registry.of(record).kind[record.status]
            further = STILL_OPEN.get(kind, "").format(record.id)
            return replace(made, note=f"it replaces {record.id}, with {hints}{further}")
        if reading is not None:
            found = self.store(reading, RereadRequest(), actor=actor)
            if not found.is_stored:
                return Submitted(record, is_duplicate=True, note=f"{hints} changes nothing in it")
            number = self.edition_number(record, found.stage)
            note = f"it was read again with {hints}: edition {number}"
            return Submitted(record, is_duplicate=True, edition=number, note=note)
        return Submitted(
            record,
            is_duplicate=True,
            note=f"it is being read without {hints}; when that has ended, read it again with them",
        )

    def read_other(self, other: OtherHints) -> Reading | None:
        """A known document read with the hints that it came with this time; None if that cannot be done now."""
        record = other.record
        machine = self._registry.of(record)
        kind = machine.kind[record.status]
        hints = {name: str(value) for name, value in other.hints.items()}
        if kind != "terminal" and _is_branching(machine):
            # It may rest in a review for days as the wrong kind of document: neither is to hide the other.
            self.check_hints(record, other.hints)
            return self._anew(record, other.hints, {})
        if kind == "failed" or (kind == "terminal" and self._finished_stages(record)):
            return self.read(record.id, RereadRequest(hints=hints))
        return None

    def other_hints(self, record: Record, given: Fields) -> Fields:
        """Those of the given hints by which a record was not read, and which it was not found out to be either."""
        in_force = record.labels | self.hints_of(record)
        if _is_branching(self._registry.of(record)):
            in_force = record.fields | in_force
        known = self._plugins.hints(record.machine)
        return {
            name: value
            for name, value in given.items()
            if name in known
            and not known[name].is_secret
            and value not in ("", AUTO)
            and str(in_force.get(name, "")) != str(value)
        }

    def hints_of(self, record: Record) -> Fields:
        """What a person said about a document, besides its labels: with the newest edition of what is there now."""
        newest = self._newest(record)
        hints = {} if newest is None else newest.facts.get("hints")
        return dict(hints) if isinstance(hints, dict) else {}

    def flags_of(self, record: Record) -> list[str]:
        """The flags of what is there now."""
        newest = self._newest(record)
        if newest is None:
            return list(flag_codes(record))
        flags = newest.facts.get(FLAGS)
        return [str(code) for code in flags] if isinstance(flags, list) else []

    def edition_number(self, record: Record, stage: str) -> int:
        """The number of the newest edition of a stage; 0 is what its attempt made."""
        return sum(
            each.stage == stage and each.facts.get(EDITION_OF) == record.outputs[stage]
            for each in self._outputs.editions(record.id)
        )

    def _newest(self, record: Record) -> AttemptResult | None:
        """The newest edition of the last finished stage."""
        stages = self._finished_stages(record)
        if not stages:
            return None
        last = stages[-1].name
        found = [
            each
            for each in self._outputs.editions(record.id)
            if each.stage == last and each.facts.get(EDITION_OF) == record.outputs[last]
        ]
        return found[-1] if found else None

    def _finished_stages(self, record: Record) -> list[Stage]:
        return [
            each
            for each in self._registry.of(record).stages
            if each.name in record.outputs
            and (record.machine, each.name) not in self._engine_stages
        ]

    def check_hints(self, record: Record, given: Mapping[str, Json]) -> None:
        """Refuse what no pipeline of the machine understands: it would be ignored."""
        known = self._plugins.hints(record.machine)
        for name, value in given.items():
            if name not in known:
                raise UnknownName("hint", clean_text(name, chars_max=40), known)
            choices = known[name].choices
            if name == "source_type":
                choices = tuple(self._plugins.source_types(record.machine))
            if choices and value != "" and value not in choices:
                raise UnknownName(name, clean_text(str(value), chars_max=40), choices)
        self._plugins.check_hints(record.machine, {k: str(v) for k, v in given.items() if v != ""})

    def _decide(self, record: Record, found: RereadAnswer, actor: str) -> None:
        """A flagged result that is no longer so was corrected."""
        if flag_codes(record) and not found.flags:
            self._flags.decide(record.id, "correct", actor=actor, reason="it was read again")

    def _note(
        self, reading: Reading, actor: str, reason: str | None, further: dict[str, Json]
    ) -> None:
        """Who changed which options, in the audit log of the record."""
        options: dict[str, Json] = {
            name: {"from": old, "to": new} for name, (old, new) in reading.changed.items()
        }
        entry = AuditEntry(
            at=self._clock(),
            actor=actor,
            verb=REREAD,
            record_id=reading.record.id,
            detail={"options": options, **further},
            reason=reason,
        )
        self._audit.add([entry])

    def is_outdated(self, record: Record) -> bool:
        """Whether an older version of a reader made the newest items of a record."""
        machine = self._registry.of(record)
        editions = self._outputs.editions(record.id)
        for stage in machine.stages:
            wanted = self._reader_of(record, stage)
            if wanted is None or stage.name not in record.outputs:
                continue
            made = [each for each in editions if each.stage == stage.name]
            made = made or [e for e in self._outputs.attempts(record.id) if e.stage == stage.name]
            known = made[-1].facts.get("reader") if made else None
            if not isinstance(known, int) or known < wanted:
                return True
        return False

    def _reader_of(self, record: Record, stage: Stage) -> int | None:
        """The version of the reader of a stage, if it has one."""
        return self._readers.get(self._route(record, stage, record.labels).runner)

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
                EDITION_SALT: token_hex(SALT_BYTES),
                **({"hints": hints} if hints else {}),
            },
            log=result.log,
        )
        self._outputs.write([Output(edition, Pairs(result.chunks), result.files)])
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

    def _route(self, record: Record, stage: Stage, labels: Fields) -> RunnerRoute:
        """The runner of a stage for a document, and what it may do."""
        own = RunnerRoute(runner=stage.runner, network=stage.network, programs=stage.programs)
        return route_of(self._plugins.routes, record.machine, stage.name, labels) or own

    def _run(
        self,
        record: Record,
        stage: Stage,
        *,
        labels: Fields | None = None,
        secrets: Fields | None = None,
        made: Mapping[str, Completed] | None = None,
    ) -> Result:
        """Run a stage on the newest editions of what the stages before it left, or on what was `made` just now."""
        own = record.outputs[stage.name]
        before = {
            name: version
            for name, version in sorted(record.outputs.items(), key=lambda pair: pair[1])
            if version < own
        }
        newest = {name: edition_version(self._outputs, record, name) for name in before}
        anew = made or {}
        inputs = {
            name: [chunk.data for chunk in anew[name].chunks]
            if name in anew
            else self._outputs.item_chunks(record.id, newest[name])
            for name in before
        }
        given = record.labels if labels is None else labels
        route = self._route(record, stage, given)
        name = route.runner
        runner = self._plugins.runners.get(name)
        if runner is None:
            raise UnknownName("runner", name, self._plugins.runners)
        path = None if record.artifact is None else self._artifacts.path(record.artifact)
        options = {**options_of(self._plugins.runner_options, name), **(secrets or {})}
        # The values that the attempt saved: an answer that was paid for then is not paid for again.
        saved = StageSavedValues(self._outputs, record.id, stage.name, self._clock)
        files = EditionFiles(
            self._outputs,
            self._artifacts,
            record.id,
            newest,
            self._clock,
            former=before,
            made={name: one.files for name, one in anew.items()},
        )
        if stage.isolation == "inline":
            job = Job(
                record_id=record.id,
                stage=stage.name,
                attempt=own,
                labels=given,
                path=path,
                items=inputs,
                options=options,
                saved_values=saved,
                files=files,
                earlier=self._earlier_items(record, stage),
            )
            return run_runner(runner, job, limits=self._limits, sleep=time.sleep, now=self._clock)
        order = JobOrder(
            runner=name,
            record_id=record.id,
            stage=stage.name,
            attempt=own,
            timeout_s=stage.timeout_s,
            timeout_message=timeout_message(stage.running, stage.timeout_s),
            labels=given,
            artifact_path=None if path is None else str(path),
            items=inputs,
            options=options,
            earlier=self._earlier_items(record, stage),
        )
        return self._jobs.run(
            order,
            owner=self._owners([record.id]).get(record.id, ""),
            network=route.network,
            programs=route.programs,
            saved_values=saved,
            files=files,
        )

    def _earlier_items(self, record: Record, stage: Stage) -> EarlierItems | None:
        """What the attempt was given of other records, as far as it is still there."""
        if stage.earlier is None:
            return None
        own = record.outputs[stage.name]
        started = (
            each for each in self._records.history(record.id)
            if each.attempt == own and each.trigger == f"{stage.name}.started"
        )  # fmt: skip
        given = next((each.metadata.get(EARLIER) for each in started), None)
        machine = self._registry.exactly(record.machine, record.machine_version)
        return self._earlier.again(machine, stage, record, given)


def _is_branching(machine: Machine) -> bool:
    """Whether it depends on what a stage finds where a record goes: an edition would leave it where it is."""
    return bool(machine.reviews) or any(
        len({route.to for routes in stage.outcomes.values() for route in routes}) > 1
        for stage in machine.stages
    )
