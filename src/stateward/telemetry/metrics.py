"""Every metric there is, and the text that Prometheus reads.

A metric is declared here with its kind, labels and meaning; the reference page, the dashboard and the alert rules are
compared with this list. Names carry base units (`_seconds`) and counters end in `_total`. `{machine}` in a name stands
for the name of a machine, so that the `upload` machine has `upload_processing_duration_seconds`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

CONTENT_TYPE = "text/plain; version=0.0.4"
MACHINE = "{machine}"

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A family of numbers. `labels` are in the order of the values of its samples."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()

    def named(self, machine: str = "") -> str:
        """Its name, for one machine where each has its own."""
        return self.name.replace(MACHINE, machine)


PROCESSING = Metric(
    name="{machine}_processing_duration_seconds",
    kind="histogram",
    help="How long records were in a status before they left it.",
    labels=("source_type", "status"),
)
WHOLE = Metric(
    name="{machine}_end_to_end_duration_seconds",
    kind="histogram",
    help="From the opening of a record to its end, by the status that it ended in.",
    labels=("source_type", "status"),
)
RETRIES = Metric(
    name="{machine}_retries_total",
    kind="counter",
    help="Retries, by the status that they resumed at and the how manieth of the record it was.",
    labels=("status", "retry_count"),
)
TIMEOUTS = Metric(
    name="{machine}_timeouts_total",
    kind="counter",
    help="Attempts that were ended because their time was up, by the status they ran in.",
    labels=("status",),
)
TRANSITIONS = Metric(
    name="stateward_transitions_total",
    kind="counter",
    help="Changes of status. An empty source is the opening of a record.",
    labels=("machine", "source", "target"),
)
ERRORS = Metric(
    name="stateward_errors_total",
    kind="counter",
    help="Failed attempts, by the status they led to and their code.",
    labels=("machine", "status", "error_code"),
)
LATENCY = Metric(
    name="stateward_transition_latency_seconds",
    kind="histogram",
    help="From the end of an attempt to the transition that follows from it.",
    labels=("machine",),
)
RECORDS = Metric(
    name="stateward_records",
    kind="gauge",
    help="Records in each status.",
    labels=("machine", "status"),
)
QUEUE_DEPTH = Metric(
    name="stateward_queue_depth",
    kind="gauge",
    help="Records that wait to be handed to a worker, by priority.",
    labels=("machine", "priority"),
)
QUEUE_AGE = Metric(
    name="stateward_queue_oldest_seconds",
    kind="gauge",
    help="How long the one that waits longest has waited, by priority.",
    labels=("machine", "priority"),
)
STUCK = Metric(
    name="stateward_stuck_records",
    kind="gauge",
    help="Records whose time came a while ago and whom no coordinator has moved on.",
    labels=("machine",),
)
WORKERS = Metric(name="stateward_workers", kind="gauge", help="Workers that announced themselves.")
UNDER_WAY = Metric(
    name="stateward_work_under_way", kind="gauge", help="Attempts that are with a worker."
)
EVENTS = Metric(
    name="stateward_events_waiting",
    kind="gauge",
    help="Events that no coordinator has handled yet.",
)
LAG = Metric(
    name="stateward_follower_lag",
    kind="gauge",
    help="Transitions that those who follow the log have not come to yet.",
    labels=("follower",),
)
WEBHOOKS = Metric(
    name="stateward_webhooks", kind="gauge", help="Endpoints, by state.", labels=("state",)
)
DELIVERIES_PENDING = Metric(
    name="stateward_webhook_deliveries_pending",
    kind="gauge",
    help="Messages that are not delivered yet.",
)
DELIVERIES_AGE = Metric(
    name="stateward_webhook_oldest_pending_seconds",
    kind="gauge",
    help="Age of the oldest message that is not delivered yet.",
)
DELIVERIES_DEAD = Metric(
    name="stateward_webhook_deliveries_dead",
    kind="gauge",
    help="Messages that could not be delivered and wait for a person.",
)
ATTEMPTS = Metric(
    name="stateward_webhook_attempts_total",
    kind="counter",
    help="Attempts to deliver a message, by what came of it: delivered, failed (tried again) or dead.",
    labels=("outcome",),
)
ATTEMPT_TIME = Metric(
    name="stateward_webhook_attempt_duration_seconds",
    kind="histogram",
    help="How long attempts to deliver took.",
)
MAILS = Metric(
    name="stateward_mails_total",
    kind="counter",
    help="Mails to the admin, by what came of it: sent, failed (tried again) or dead.",
    labels=("outcome",),
)
LETTERS = Metric(name="stateward_mails_pending", kind="gauge", help="News that is not mailed yet.")
BUILD = Metric(
    name="stateward_build_info", kind="gauge", help="Which Stateward this is.", labels=("version",)
)

METRICS: tuple[Metric, ...] = (
    PROCESSING, WHOLE, RETRIES, TIMEOUTS, TRANSITIONS, ERRORS, LATENCY, RECORDS, QUEUE_DEPTH, QUEUE_AGE, STUCK,
    WORKERS, UNDER_WAY, EVENTS, LAG, WEBHOOKS, DELIVERIES_PENDING, DELIVERIES_AGE, DELIVERIES_DEAD, ATTEMPTS,
    ATTEMPT_TIME, MAILS, LETTERS, BUILD,
)  # fmt: skip


class Histogram:
    """Counts by bucket, and the sum of all that was measured."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, bucket: int, *, count: int, total: float) -> None:
        """So many fell into a bucket."""
        self._counts[min(bucket, len(self._bounds))] += count
        self._sum += total

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Suffix, bound and value, as the text has them: each bucket counts what is below it too."""
        below = 0
        for bound, count in zip((*map(repr, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            yield "_bucket", bound.removesuffix(".0"), below
        yield "_sum", "", self._sum
        yield "_count", "", below


Samples: TypeAlias = Mapping[tuple[str, ...], "float | Histogram"]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A metric with its numbers. `left_out` are labels that the settings do not want."""

    metric: Metric
    samples: dict[tuple[str, ...], float | Histogram]
    machine: str = ""
    labels: tuple[str, ...] | None = None


def exposed(families: Iterable[Family]) -> str:
    """The text that Prometheus reads."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    metric = family.metric
    name = metric.named(family.machine)
    labels = metric.labels if family.labels is None else family.labels
    yield f"# HELP {name} {_escaped(metric.help)}"
    yield f"# TYPE {name} {metric.kind}"
    for values, value in sorted(family.samples.items()):
        pairs = list(zip(labels, values, strict=True))
        if isinstance(value, Histogram):
            for suffix, bound, number in value.samples():
                more = [("le", bound)] if bound else []
                yield f"{name}{suffix}{_labelled([*pairs, *more])} {_number(number)}"
        else:
            yield f"{name}{_labelled(pairs)} {_number(value)}"


def _labelled(pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return ""
    return "{" + ",".join(f'{key}="{_quoted(value)}"' for key, value in pairs) + "}"


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
