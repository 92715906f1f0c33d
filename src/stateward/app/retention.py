"""Rules of retention: what is deleted of records that ended long ago. Each run is an entry of the audit log."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from stateward import telemetry
from stateward.app.artifacts import SWEEP_EVERY_S
from stateward.app.repeating import seconds_left
from stateward.core.errors import InvalidRequest
from stateward.core.model import COORDINATOR, SECOND, Micros
from stateward.engine.clock_guard import ADVICE
from stateward.engine.erasure import Eraser, Removed
from stateward.engine.registry import MachineRegistry
from stateward.settings import RetentionRule, Settings
from stateward.storage.audit import AuditEntry, AuditLog
from stateward.storage.erasure import Erasures

DAY_S, HOUR_S = 86_400, 3600.0
DOUBTED_AGAIN_S = 60.0  # until a doubted clock is judged again
REMOVE_EVERY_S = 60.0  # what a crash cut off is gone a minute after the next start
TOLD_MAX = 20  # files that cannot be deleted are named in the log; all are counted by a metric
BATCH = 500
APPLIED = "retention"
EVERY = "*"


class ClockDoubted(InvalidRequest):
    """Nothing is deleted by age while the clock is not trusted."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule did, or would do: how many records it deleted something of, and how many documents are gone.

    `left` is how many of these records have a file that is not deleted yet, and `fault` why one of them.
    """

    pipeline: str
    status: str
    older_than_days: float
    delete: tuple[str, ...]
    records: int
    documents: int
    refused: int
    left: int = 0
    fault: str = ""


class Retention:
    """Applies the rules of the settings."""

    def __init__(
        self,
        rules: Sequence[RetentionRule],
        *,
        eraser: Eraser,
        erasures: Erasures,
        registry: MachineRegistry,
        audit: AuditLog,
        clock: Callable[[], Micros],
        clock_fault: Callable[[], str | None],
    ) -> None:
        self._rules = rules
        self._eraser = eraser
        self._erasures = erasures
        self._registry = registry
        self._audit = audit
        self._clock = clock
        self._clock_fault = clock_fault

    def run(
        self,
        *,
        actor: str = COORDINATOR,
        is_dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> list[Applied]:
        """Apply every rule once. All are checked before the first one deletes anything.

        Refused while the clock is not trusted: one that is years ahead makes everything old, and what is deleted does
        not come back.
        """
        if not is_dry_run and (fault := self._clock_fault()) is not None:
            raise ClockDoubted(f"{fault}; nothing is deleted until it is trusted: {ADVICE}")
        statuses = [self._statuses(rule) for rule in self._rules]
        done = [
            self._apply(rule, own, actor, is_dry_run=is_dry_run, progress=progress)
            for rule, own in zip(self._rules, statuses, strict=True)
        ]
        if not is_dry_run:
            detail = {"rules": msgspec.to_builtins(done)}
            entry = AuditEntry(at=self._clock(), actor=actor, verb=APPLIED, detail=detail)
            self._audit.add([entry])
        return done

    def last(self) -> Micros | None:
        """When the rules were applied last."""
        found = self._audit.entries(verb=APPLIED, limit=1)
        return found[0].at if found else None

    def _statuses(self, rule: RetentionRule) -> list[str]:
        machine = self._registry.named(rule.pipeline)
        final = [name for name, kind in machine.kind.items() if kind in ("terminal", "failed")]
        if rule.status == EVERY:
            return final
        if rule.status not in final:
            raise InvalidRequest(
                f"retention: {rule.pipeline} has no final status {rule.status!r}; it has: {', '.join(final)}"
            )
        return [rule.status]

    def _apply(
        self,
        rule: RetentionRule,
        statuses: Sequence[str],
        actor: str,
        *,
        is_dry_run: bool,
        progress: Callable[[str, int], None],
    ) -> Applied:
        records = documents = refused = left = 0
        fault = unreachable = ""
        reason = f"older than {rule.older_than_days:g} days"
        for part in self._old(rule, statuses):
            done = self._eraser.erase(
                part,
                actor=actor,
                reason=reason,
                kinds=rule.delete,
                is_dry_run=is_dry_run,
                unreachable=unreachable,
            )
            unreachable = done.unreachable
            left += len(done.left)
            fault = fault or next(iter(done.left.values()), "")
            records += len(done.erased)
            documents += done.documents
            refused += len(done.refused)
            progress(rule.pipeline, records)
        return Applied(
            pipeline=rule.pipeline,
            status=rule.status,
            older_than_days=rule.older_than_days,
            delete=rule.delete,
            records=records,
            documents=documents,
            refused=refused,
            left=left,
            fault=fault,
        )

    def _old(self, rule: RetentionRule, statuses: Sequence[str]) -> Iterator[list[str]]:
        before = self._clock() - round(rule.older_than_days * DAY_S * SECOND)
        for status in statuses:
            after = ""
            while part := self._erasures.old(
                machine=self._registry.named(rule.pipeline).name,
                status=status,
                before=before,
                kinds=rule.delete,
                after=after,
                limit=BATCH,
            ):
                yield part
                after = part[-1]


def sweep_leftovers(settings: Settings) -> float:
    """Delete what lost attempts left, and what came when its record was erased; seconds until the next time."""
    from stateward.app import App

    with App(settings) as app:
        _tell_removed(app.eraser.sweep())
    return SWEEP_EVERY_S


def remove_erased(settings: Settings) -> float:
    """Delete files of erased records that an erasure did not come to; seconds until the next time."""
    from stateward.app import App

    with App(settings) as app:
        _tell_removed(app.eraser.remove_erased())
    return REMOVE_EVERY_S


def _tell_removed(done: Removed) -> None:
    log = telemetry.log("erasure")
    if done.files:
        log.info("deleted files of erased records and lost attempts", files=done.files)
    for record_id, reason in list(done.kept.items())[:TOLD_MAX]:
        log.error("a file of an erased record is not deleted", record_id=record_id, reason=reason)


def apply_when_due(settings: Settings) -> float:
    """Apply the rules if it is time; how many seconds until the next time."""
    from stateward.app import App

    with App(settings) as app:  # its own connection: the loop uses its one all the time
        every = settings.retention.every_hours * HOUR_S
        last = app.retention.last()
        left = 0.0 if last is None else seconds_left(last, every_s=every, now=app.clock())
        if left > 0:
            return left
        log = telemetry.log("retention")
        try:
            done = app.retention.run()
        except ClockDoubted as error:
            log.warning(str(error))
            return DOUBTED_AGAIN_S
    for each in done:
        if each.records:
            (log.error if each.left else log.info)("deleted by rule", **msgspec.to_builtins(each))
    return every
