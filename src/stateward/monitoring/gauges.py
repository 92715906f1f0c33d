"""The metrics that `GET /metrics` serves: counters that are derived from the history, and gauges read on request.

All of it comes from the database, so that every process gives the same answer. A machine is included where its settings
enable metrics, with the labels that they choose. Nothing is written but the counters.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from stateward.core.machine import Machine
from stateward.core.model import SECOND, Micros
from stateward.settings import Settings
from stateward.storage.counters import (
    ATTEMPT_TIMES,
    BUCKETS_S,
    DELIVERIES,
    DURATIONS,
    ERRORS,
    LATENCY,
    MAILS,
    RETRIES,
    TIMEOUTS,
    TRANSITIONS,
    WHOLE,
    Counters,
    CounterValue,
    record_counts,
)
from stateward.storage.database import Database, log_end
from stateward.storage.erasure import TRIED_AT
from stateward.storage.last_backup import last_backup
from stateward.storage.search import FLAGGED
from stateward.telemetry import metrics
from stateward.telemetry.metrics import Family, Histogram, Metric
from stateward.transport import RELAY

FEED = "feed"  # the name of its cursor, as `notifications.feed` writes it
STUCK_MAX = 1_000_000  # that are counted: an alert needs no more
BATCHES_MAX = 40  # of 500 transitions: a scrape after a long pause stays within its timeout

Samples = dict[tuple[str, ...], "float | Histogram"]

# Metric, name among the counters, and the labels that are stored there after the machine.
_OF_MACHINES: tuple[tuple[Metric, str, tuple[str, ...]], ...] = (
    (metrics.PROCESSING, DURATIONS, ("status", "source_type")),
    (metrics.WHOLE, WHOLE, ("status", "source_type")),
    (metrics.RETRIES, RETRIES, ("status", "retry_count")),
    (metrics.TIMEOUTS, TIMEOUTS, ("status",)),
)
_OF_ALL: tuple[tuple[Metric, str], ...] = (
    (metrics.TRANSITIONS, TRANSITIONS),
    (metrics.ERRORS, ERRORS),
    (metrics.LATENCY, LATENCY),
)


class Monitor:
    """The metrics of one installation."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        machines: Callable[[], Sequence[Machine]],
        clock: Callable[[], Micros],
        version: str,
    ) -> None:
        self._database = database
        self._settings = settings
        self._machines = machines
        self._clock = clock
        self._version = version
        self._counters = Counters(database)

    @property
    def is_enabled(self) -> bool:
        """Whether the settings of any machine enable metrics."""
        return any(self._enabled())

    def _enabled(self) -> Iterator[Machine]:
        return (
            each for each in self._machines() if self._settings.machine(each.name).metrics.enabled
        )

    def text(self, only: Sequence[str] = ()) -> str:
        """All metrics, as of now; with `only`, those of these machines and nothing of the installation."""
        self.update_counters()
        machines = [each for each in self._enabled() if not only or each.name in only]
        names = {each.name for each in machines}
        counters = self._counters.all()
        families = [
            *(each for machine in machines for each in self._of_machine(machine.name, counters)),
            *(_of_machines(metric, name, counters, names) for metric, name in _OF_ALL),
            *self._of_records(machines),
        ]
        if not only:
            families += self._of_installation(counters)
        return metrics.exposition(families)

    def _of_installation(self, counters: Sequence[CounterValue]) -> Iterator[Family]:
        yield from self._of_service()
        yield from _of_attempts(counters)
        yield from self._of_deliveries()
        yield Family(metric=metrics.BUILD, samples={(self._version,): 1})

    def update_counters(self, *, batches_max: int = BATCHES_MAX) -> bool:
        """Count the new transitions, each batch in its own transaction; whether some may be left."""
        ends = {
            (machine.name, state.name)
            for machine in self._machines()
            for state in machine.states
            if state.kind == "terminal"
        }
        return all(self._counters.follow(ends=ends) for _ in range(batches_max))

    def _of_machine(self, machine: str, counters: Sequence[CounterValue]) -> Iterator[Family]:
        chosen = self._settings.machine(machine).metrics.labels
        for metric, name, stored in _OF_MACHINES:
            labels = tuple(label for label in metric.labels if label in chosen)
            places = [stored.index(label) for label in labels]
            own = [each for each in counters if each.metric == name and each.labels[0] == machine]
            if metric is metrics.RETRIES and "retry_count" not in labels:
                own = [each for each in own if each.labels[-1] != "0"]  # those are no retries
            samples = _sum_by_labels(
                metric, ((tuple(each.labels[1 + n] for n in places), each) for each in own)
            )
            yield Family(metric=metric, samples=samples, machine=machine, labels=labels)

    def _of_records(self, machines: Sequence[Machine]) -> Iterator[Family]:
        names = {each.name for each in machines}
        # Every status, also with no record in it: a series that vanishes looks like a failed scrape.
        records: Samples = {
            (each.name, state.name): 0 for each in machines for state in each.states
        }
        counted = record_counts(self._database).items()
        records |= {pair: count for pair, count in counted if pair[0] in names}
        yield Family(metric=metrics.RECORDS, samples=records)
        yield from self._of_queues(names)

    def _of_queues(self, names: set[str]) -> Iterator[Family]:
        now = self._clock()
        depth: Samples = {}
        age: Samples = {}
        for machine, priority, count, oldest in self._database.rows(
            "SELECT machine, priority, count(*), min(entered_at) FROM records WHERE waiting IS NOT NULL"
            " GROUP BY machine, priority"
        ):
            if machine in names:
                labels = (str(machine), str(priority))
                depth[labels] = int(count or 0)
                age[labels] = _seconds(now, oldest)
        yield Family(metric=metrics.QUEUE_DEPTH, samples=depth)
        yield Family(metric=metrics.QUEUE_AGE, samples=age)
        # A record is due when its lease ends; only after another one is no coordinator about to act.
        overdue = now - round(2 * self._settings.worker.lease_seconds * SECOND)
        stuck: Samples = {(name,): 0 for name in names}
        # The limit keeps SQLite from reading all records in the order of the groups instead of the few that are due.
        for machine, count in self._database.rows(
            "SELECT machine, count(*) FROM (SELECT machine FROM records WHERE due_at < :overdue"
            f" LIMIT {STUCK_MAX}) AS due GROUP BY machine",
            overdue=overdue,
        ):
            if machine in names:
                stuck[(str(machine),)] = int(count or 0)
        yield Family(metric=metrics.STUCK, samples=stuck)
        flagged: Samples = {(name,): 0 for name in names}
        for machine, count in self._database.rows(
            f"SELECT machine, count(*) FROM records WHERE {FLAGGED} GROUP BY machine"
        ):
            if machine in names:
                flagged[(str(machine),)] = int(count or 0)
        yield Family(metric=metrics.FLAGGED, samples=flagged)

    def _of_service(self) -> Iterator[Family]:
        for metric, table in (
            (metrics.WORKERS, f"workers WHERE id NOT LIKE '{RELAY}%'"),
            (metrics.WORK_RUNNING, "work"),
            (metrics.EVENTS, "events"),
        ):
            yield _one(metric, self._count(table))
        end = log_end(self._database)
        lag: Samples = {
            (str(name),): end - int(seq or 0)
            for name, seq in self._database.rows("SELECT name, seq FROM followers")
            # The cursor of a feed that was switched off stays where it was, and is not late.
            if name != FEED or self._settings.feed.url is not None
        }
        yield Family(metric=metrics.LAG, samples=lag)
        last = last_backup(self._settings.data_path)
        yield _one(metrics.BACKUP, 0 if last is None else last.at / SECOND)
        ((applied,),) = self._database.rows(
            "SELECT max(at) FROM audit_log WHERE verb = 'retention'"
        )
        yield _one(metrics.RETENTION, int(applied or 0) / SECOND)
        yield _one(metrics.FILES_LEFT, self._count(f"announced_files WHERE at <= {TRIED_AT}"))
        yield _one(metrics.HOLDS, self._count("holds"))

    def _of_deliveries(self) -> Iterator[Family]:
        states: Samples = {("enabled",): 0, ("disabled",): 0}
        for is_enabled, count in self._database.rows(
            "SELECT is_enabled, count(*) FROM webhooks GROUP BY is_enabled"
        ):
            states["enabled" if is_enabled else "disabled",] = int(count or 0)
        ((pending, oldest),) = self._database.rows(
            "SELECT count(*), min(created_at) FROM deliveries WHERE due_at IS NOT NULL"
        )
        yield Family(metric=metrics.WEBHOOKS, samples=states)
        yield _one(metrics.DELIVERIES_PENDING, int(pending or 0))
        yield _one(metrics.DELIVERIES_AGE, _seconds(self._clock(), oldest))
        yield _one(metrics.DELIVERIES_DEAD, self._count("deliveries WHERE state = 'dead'"))
        yield _one(metrics.ALERTS_PENDING, self._count("alerts WHERE due_at IS NOT NULL"))

    def _count(self, rows: str) -> int:
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {rows}")
        return int(count or 0)


def _of_machines(
    metric: Metric, name: str, counters: Sequence[CounterValue], machines: set[str]
) -> Family:
    own = (each for each in counters if each.metric == name and each.labels[0] in machines)
    return Family(
        metric=metric, samples=_sum_by_labels(metric, ((each.labels, each) for each in own))
    )


def _of_attempts(counters: Sequence[CounterValue]) -> Iterator[Family]:
    for metric, name, outcomes in (
        (metrics.ATTEMPTS, DELIVERIES, ("delivered", "failed", "dead")),
        (metrics.MAILS, MAILS, ("sent", "failed", "dead")),
    ):
        own = (each for each in counters if each.metric == name)
        none: Samples = {(outcome,): 0 for outcome in outcomes}
        samples = none | _sum_by_labels(metric, ((each.labels, each) for each in own))
        yield Family(metric=metric, samples=samples)
    own = (each for each in counters if each.metric == ATTEMPT_TIMES)
    samples = _sum_by_labels(metrics.ATTEMPT_TIME, ((each.labels, each) for each in own))
    yield Family(metric=metrics.ATTEMPT_TIME, samples=samples)


def _sum_by_labels(
    metric: Metric, found: Iterable[tuple[tuple[str, ...], CounterValue]]
) -> Samples:
    """Counters by their labels; those that differ only in a label that is left out are added up."""
    samples: Samples = {}
    for labels, counter in found:
        if metric.kind == "histogram":
            histogram = samples.setdefault(labels, Histogram(BUCKETS_S))
            assert isinstance(histogram, Histogram)  # noqa: S101 - all samples of a metric are alike
            histogram.add(counter.bucket, count=counter.count, total=counter.total / SECOND)
        else:
            before = samples.get(labels, 0)
            assert not isinstance(before, Histogram)  # noqa: S101 - the same
            samples[labels] = before + counter.count
    return samples


def _one(metric: Metric, value: float) -> Family:
    return Family(metric=metric, samples={(): value})


def _seconds(now: Micros, since: object) -> float:
    return 0 if since is None else max(0.0, (now - int(str(since))) / SECOND)
