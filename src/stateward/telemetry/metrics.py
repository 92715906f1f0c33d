"""All metrics, and the text format in which Prometheus reads them.

A metric is declared here with its kind, labels and help; tests compare the reference page, the Grafana dashboard and
the alert rules with this list. Names carry base units (`_seconds`) and counters end in `_total`. `{machine}` in a name
stands for the name of a machine: the machine `invoices` has `invoices_processing_duration_seconds`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, TypeAlias

import msgspec

CONTENT_TYPE = "text/plain; version=0.0.4"
MACHINE = "{machine}"

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric family. `labels` are in the order of the label values of its samples."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()

    def name_for(self, machine: str = "") -> str:
        """Its name, where each machine has its own."""
        return self.name.replace(MACHINE, machine)


def _metric(kind: Kind, name: str, text: str, labels: str = "") -> Metric:
    """A metric and its labels, in one text with blanks between them."""
    return Metric(name=name, kind=kind, help=text, labels=tuple(labels.split()))


_counter, _gauge = partial(_metric, "counter"), partial(_metric, "gauge")
_histogram = partial(_metric, "histogram")

PROCESSING = _histogram(
    "{machine}_processing_duration_seconds",
    "Time that records spent in a status before they left it.",
    "source_type status",
)
WHOLE = _histogram(
    "{machine}_end_to_end_duration_seconds",
    "Time from the submission of a record to its end, by the status that it ended in.",
    "source_type status",
)
RETRIES = _counter(
    "{machine}_retries_total",
    "Retries, by the status at which they resumed and the number of the retry; with retry_count 0, records that "
    "came to their end without one, by that status.",
    "status retry_count",
)
TIMEOUTS = _counter(
    "{machine}_timeouts_total",
    "Attempts that timed out, by the status in which they ran.",
    "status",
)
TRANSITIONS = _counter(
    "stateward_transitions_total",
    "Transitions. An empty source is the submission of a record.",
    "machine source target",
)
ERRORS = _counter(
    "stateward_errors_total",
    "Failed attempts, by the status they led to and their error code.",
    "machine status error_code",
)
LATENCY = _histogram(
    "stateward_transition_latency_seconds",
    "Time from the end of an attempt to the transition that follows from it.",
    "machine",
)
RECORDS = _gauge("stateward_records", "Records by status.", "machine status")
QUEUE_DEPTH = _gauge(
    "stateward_queue_depth", "Records that wait for a worker, by priority.", "machine priority"
)
QUEUE_AGE = _gauge(
    "stateward_queue_oldest_seconds",
    "How long the oldest waiting record has waited, by priority.",
    "machine priority",
)
STUCK = _gauge(
    "stateward_stuck_records",
    "Records that are overdue by two leases and that no coordinator has moved.",
    "machine",
)
FLAGGED = _gauge(
    "stateward_flagged_records",
    "Records whose result is flagged as wrong or incomplete, and that no person has decided about.",
    "machine",
)
WORKERS = _gauge("stateward_workers", "Registered workers.")
WORK_RUNNING = _gauge("stateward_work_under_way", "Attempts that workers are running.")
EVENTS = _gauge("stateward_events_waiting", "Events that no coordinator has handled yet.")
LAG = _gauge(
    "stateward_follower_lag",
    "Transitions that a follower of the history has not processed yet.",
    "follower",
)
WEBHOOKS = _gauge("stateward_webhooks", "Webhook endpoints, by state.", "state")
DELIVERIES_PENDING = _gauge(
    "stateward_webhook_deliveries_pending", "Webhook messages that are not delivered yet."
)
DELIVERIES_AGE = _gauge(
    "stateward_webhook_oldest_pending_seconds",
    "Age of the oldest webhook message that is not delivered yet.",
)
DELIVERIES_DEAD = _gauge(
    "stateward_webhook_deliveries_dead",
    "Webhook messages that could not be delivered: dead letters, which can be replayed.",
)
ATTEMPTS = _counter(
    "stateward_webhook_attempts_total",
    "Attempts to deliver a webhook message, by outcome: delivered, failed (will be retried) or dead.",
    "outcome",
)
ATTEMPT_TIME = _histogram(
    "stateward_webhook_attempt_duration_seconds",
    "Duration of attempts to deliver a webhook message.",
)
MAILS = _counter(
    "stateward_mails_total",
    "Emails to the administrator, by outcome: sent, failed (will be retried) or dead.",
    "outcome",
)
ALERTS_PENDING = _gauge("stateward_mails_pending", "Alerts that are not sent by email yet.")
BACKUP = _gauge(
    "stateward_backup_last_success_timestamp_seconds",
    "When the last backup set was completed, in seconds since 1970; 0: none is known.",
)
RETENTION = _gauge(
    "stateward_retention_last_success_timestamp_seconds",
    "When the rules of retention were applied last, in seconds since 1970; 0: never.",
)
FILES_LEFT = _gauge(
    "stateward_erased_files_left",
    "Files of erased records that are not deleted yet, by a crash or because they cannot be.",
)
HOLDS = _gauge("stateward_holds", "Records that nothing may be deleted of.")
BUILD = _gauge(
    "stateward_build_info", "The version of Stateward; the value is always 1.", "version"
)

METRICS: tuple[Metric, ...] = (
    PROCESSING, WHOLE, RETRIES, TIMEOUTS, TRANSITIONS, ERRORS, LATENCY, RECORDS, QUEUE_DEPTH, QUEUE_AGE, STUCK, FLAGGED,
    WORKERS, WORK_RUNNING, EVENTS, LAG, WEBHOOKS, DELIVERIES_PENDING, DELIVERIES_AGE, DELIVERIES_DEAD, ATTEMPTS,
    ATTEMPT_TIME, MAILS, ALERTS_PENDING, BACKUP, RETENTION, FILES_LEFT, HOLDS, BUILD,
)  # fmt: skip


class Histogram:
    """Counts by bucket, and the sum of all values."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, bucket: int, *, count: int, total: float) -> None:
        """Add values of one bucket: how many, and their sum."""
        self._counts[min(bucket, len(self._bounds))] += count
        self._sum += total

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Suffix, bound and value as in the text format, where each bucket includes those below it."""
        below = 0
        for bound, count in zip((*map(repr, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            yield "_bucket", bound.removesuffix(".0"), below
        yield "_sum", "", self._sum
        yield "_count", "", below


Samples: TypeAlias = Mapping[tuple[str, ...], "float | Histogram"]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A metric with its samples. `labels` are those that the settings choose; None: all of them."""

    metric: Metric
    samples: dict[tuple[str, ...], float | Histogram]
    machine: str = ""
    labels: tuple[str, ...] | None = None


def exposition(families: Iterable[Family]) -> str:
    """The samples in the text format of Prometheus."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    metric = family.metric
    name = metric.name_for(family.machine)
    labels = metric.labels if family.labels is None else family.labels
    yield f"# HELP {name} {_escape(metric.help)}"
    yield f"# TYPE {name} {metric.kind}"
    for values, value in sorted(family.samples.items()):
        pairs = list(zip(labels, values, strict=True))
        if isinstance(value, Histogram):
            for suffix, bound, number in value.samples():
                more = [("le", bound)] if bound else []
                yield f"{name}{suffix}{_label_text([*pairs, *more])} {_number(number)}"
        else:
            yield f"{name}{_label_text(pairs)} {_number(value)}"


def _label_text(pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return ""
    return "{" + ",".join(f'{key}="{_escape_value(value)}"' for key, value in pairs) + "}"


def _escape_value(text: str) -> str:
    return _escape(text).replace('"', '\\"')


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
