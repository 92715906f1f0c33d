"""`<machine>_record`: what a settings file says of one state machine, and what that means for it.

The retry, timeout, queue, metrics, logging and webhook sections of a profile stand here. What a section leaves out,
the declaration of the machine rules.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import field
from msgspec.structs import replace

from stateward.core.field_docs import about
from stateward.core.machine import APPROVALS_MAX, REASON_CODE, ReviewRules
from stateward.core.query import PRIORITY_CLASSES
from stateward.core.retry import BACKOFF_DEFAULT_S, RETRIES_MAX, Retry
from stateward.definition import plain_values
from stateward.definition.section import (
    PLAIN_ADDRESS,
    FilePath,
    Name,
    Problem,
    Seconds,
    Section,
    Wait,
    find_repeated,
    is_plain_address,
)

# A timeout is noticed at most this much late; checking costs one indexed query.
CHECK_INTERVAL_DEFAULT_S = 60.0
PRIORITIES = PRIORITY_CLASSES


class SourceTypeRetry(Section, frozen=True, kw_only=True):
    """How failed attempts at documents of one source type are repeated."""

    source_type: Annotated[Name, about("The source type of the documents.")]
    max_retries: Annotated[int, about("Automatic retries; 0 for none.", ge=0, le=RETRIES_MAX)]
    backoff_seconds: Annotated[
        tuple[Wait, ...], about("The wait before each retry; empty: those of the section.")
    ] = ()


class RetrySettings(Section, frozen=True, kw_only=True):
    """How failed attempts are repeated."""

    enabled: Annotated[bool, about("Whether failed attempts are retried at all.")] = True
    max_retries: Annotated[
        int,
        about(
            "Automatic retries before the record stays failed until a person acts.",
            ge=0,
            le=RETRIES_MAX,
        ),
    ] = 3
    backoff_seconds: Annotated[
        tuple[Wait, ...], about("The wait before each retry, in order; the last one repeats.")
    ] = BACKOFF_DEFAULT_S
    jitter_ms: Annotated[
        int, about("A random time of up to this length is added to each wait.", ge=0, le=3_600_000)
    ] = 0
    fatal_after_seconds: Annotated[
        Wait | None,
        about(
            "How long a failure that no retry can cure waits for a fix before the record is given up, "
            "where the machine has a state for that; null: as the machine declares."
        ),
    ] = None
    source_types: Annotated[
        tuple[SourceTypeRetry, ...], about("Source types that are retried otherwise.")
    ] = ()

    def problems(self) -> Iterator[Problem]:
        """Retries need a wait, and a source type one rule."""
        if self.enabled and not self.backoff_seconds:
            yield ("backoff_seconds",), "backoff_seconds must name at least one wait"
        for name in find_repeated(each.source_type for each in self.source_types):
            yield ("source_types",), f"source_types names {name} twice"


class TimeoutMonitoring(Section, frozen=True, kw_only=True):
    """How long an attempt may take, by running state."""

    enabled: Annotated[bool, about("Whether the timeouts of this section apply.")] = True
    timeouts_s: Annotated[
        dict[str, Seconds],
        about(
            "How long a record may stay in that running state; without it, what the machine declares.",
            extra={"keys": "<running state>_timeout_seconds"},
        ),
    ] = field(default_factory=dict)
    check_interval_seconds: Annotated[
        Seconds, about("How often the scheduler looks for overdue records.")
    ] = CHECK_INTERVAL_DEFAULT_S


class PriorityQueue(Section, frozen=True, kw_only=True):
    """Which records are dispatched first."""

    enabled: Annotated[
        bool, about("Whether priority counts; otherwise first come, first served.")
    ] = True
    priorities: Annotated[
        tuple[Literal["vip_customer", "regulatory_filing", "normal", "batch_import"], ...],
        about(
            "The priority classes in use: vip_customer is priority 10, regulatory_filing 7, normal 5 and "
            "batch_import 1.",
            min_length=1,
        ),
    ] = ("vip_customer", "regulatory_filing", "normal", "batch_import")
    preemption: Annotated[
        bool, about("Can only be false: a running attempt is never cancelled.", title="false")
    ] = False

    def problems(self) -> Iterator[Problem]:
        """Preemption does not exist; a class has one priority."""
        if self.preemption:
            yield ("preemption",), "preemption must be false: a running attempt is never cancelled"
        for name in find_repeated(self.priorities):
            yield ("priorities",), f"priorities names {name} twice"


class ReviewRuleSettings(Section, frozen=True, kw_only=True):
    """Who answers the reviews of this machine, and with which reasons."""

    approvals: Annotated[
        int | None,
        about(
            "How many different people must accept a document; null: as the machine declares.",
            title="a whole number from 1 to 10, or null",
        ),
    ] = None
    group: Annotated[
        Name | None,
        about(
            "The group (`reviews.groups`) whose members alone may answer; null: as the machine declares.",
            title="a name, or null",
        ),
    ] = None
    reason_codes: Annotated[
        dict[str, str] | None,
        about(
            "The codes for which a document can be rejected, each with a text; where there are some, a "
            "rejection names one. null: as the machine declares.",
            title="a mapping, or null",
        ),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """More approvals than that are a mistake of typing."""
        if self.approvals is not None and not 1 <= self.approvals <= APPROVALS_MAX:
            yield ("approvals",), f"approvals must be from 1 to {APPROVALS_MAX}"
        for code in self.reason_codes or {}:
            if not REASON_CODE.fullmatch(code):
                yield (
                    ("reason_codes", code),
                    f"a reason code is lower case letters, digits and _, not {code!r}",
                )

    @property
    def rules(self) -> ReviewRules:
        """As a machine takes them."""
        return ReviewRules(
            approvals=self.approvals, group=self.group, reason_codes=self.reason_codes
        )


class Metrics(Section, frozen=True, kw_only=True):
    """Which metrics `GET /metrics` serves for this machine."""

    enabled: Annotated[bool, about("Whether metrics are collected and served.")] = False
    backend: Annotated[Literal["prometheus"], about("The format in which they are served.")] = (
        "prometheus"
    )
    labels: Annotated[
        tuple[Literal["status", "source_type", "retry_count"], ...],
        about("The labels on metrics of records."),
    ] = ("status", "source_type", "retry_count")


class Logging(Section, frozen=True, kw_only=True):
    """The form of log lines."""

    structured: Annotated[
        bool, about("Whether a line consists of named values rather than a sentence.")
    ] = False
    format: Annotated[Literal["text", "json"], about("How a line is written.")] = "text"
    level: Annotated[
        Literal["debug", "info", "warning", "error"], about("The lowest level that is written.")
    ] = "info"
    trace_id: Annotated[bool, about("Whether lines carry a trace id.")] = False


class Endpoint(Section, frozen=True, kw_only=True):
    """An address that receives a webhook when a record changes its status."""

    url: Annotated[str, about("Where to post: http or https, without credentials.")]
    events: Annotated[tuple[Name, ...], about("The statuses that are sent to it.", min_length=1)]
    content: Annotated[
        Literal["standard", "cloudevents"],
        about("The body: that of Standard Webhooks, or CloudEvents 1.0 (structured)."),
    ] = "standard"
    secret_file: Annotated[
        FilePath | None,
        about(
            "The file with the `whsec_…` secret that signs, relative to the settings file; null: one is "
            "generated, and `stateward webhook show` prints it."
        ),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """A password in a URL would end up in logs."""
        if not is_plain_address(self.url):
            yield ("url",), f"url must be {PLAIN_ADDRESS}, not {plain_values.quote_value(self.url)}"


class Webhooks(Section, frozen=True, kw_only=True):
    """Who is notified over HTTP."""

    enabled: Annotated[bool, about("Whether anything is sent.")] = True
    endpoints: Annotated[tuple[Endpoint, ...], about("The addresses to notify.")] = ()


class RecordSettings(Section, frozen=True, kw_only=True):
    """What a file says of one machine; what it leaves out, the machine's declaration rules."""

    states: Annotated[
        tuple[Name, ...] | None,
        about(
            "The machine's states, compared with the machine at start.",
            title="a list of names, or null",
        ),
    ] = None
    retry: Annotated[
        bool | RetrySettings | None,
        about("false: no automatic retries.", title="false or a mapping"),
    ] = None
    timeout_monitoring: Annotated[
        bool | TimeoutMonitoring | None,
        about("false: only the machine's own timeouts.", title="false or a mapping"),
    ] = None
    priority_queue: Annotated[
        bool | PriorityQueue | None,
        about("false: first come, first served.", title="false or a mapping"),
    ] = None
    review: ReviewRuleSettings = ReviewRuleSettings()
    metrics: Metrics = Metrics()
    logging: Logging = Logging()
    webhooks: Webhooks = Webhooks()

    def problems(self) -> Iterator[Problem]:
        """`true` would not say which retries or timeouts are meant."""
        for key in ("retry", "timeout_monitoring", "priority_queue"):
            if getattr(self, key) is True:
                yield (key,), f"{key} must be false or a mapping, not true"
        for state in find_repeated(self.states or ()):
            yield ("states",), f"states names {state} twice"

    def state_problems(
        self, machine_name: str, states: Sequence[str], *, is_own: bool
    ) -> Iterator[Problem]:
        """Where the section and the machine disagree about states; `is_own`: a list must be complete."""
        if self.states is not None:
            missing = [state for state in states if is_own and state not in self.states]
            foreign = [state for state in self.states if state not in states]
            parts = [("missing", missing), ("not among them", foreign)]
            if message := "; ".join(
                f"{word}: {', '.join(names)}" for word, names in parts if names
            ):
                yield ("states",), f"states must be those of the machine {machine_name} ({message})"
        for path, state in self._named_states():
            if state not in states:
                from difflib import get_close_matches

                near = get_close_matches(state, states, n=1)
                cure = f"did you mean {near[0]}?" if near else f"its states are {', '.join(states)}"
                yield path, f"the machine {machine_name} has no state {state}; {cure}"

    def _named_states(self) -> Iterator[tuple[plain_values.Path, str]]:
        if isinstance(self.timeout_monitoring, TimeoutMonitoring):
            for state in self.timeout_monitoring.timeouts_s:
                yield ("timeout_monitoring", f"{state}_timeout_seconds"), state
        for place, endpoint in enumerate(self.webhooks.endpoints):
            for position, state in enumerate(endpoint.events):
                yield ("webhooks", "endpoints", place, "events", position), state


class MachineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings mean for one machine; None: the machine's own declaration rules."""

    states: tuple[str, ...] | None = None
    max_retries: int | None = None
    backoff_s: tuple[float, ...] = ()
    jitter_s: float = 0.0
    fatal_after_s: float | None = None
    retry_by_source_type: dict[str, Retry] = {}
    timeouts_s: dict[str, float] = {}
    check_interval_s: float = CHECK_INTERVAL_DEFAULT_S
    is_fifo: bool = True
    priorities: dict[str, int] = {}
    review: ReviewRules = ReviewRules()
    metrics: Metrics = Metrics()
    logging: Logging = Logging()
    webhooks: tuple[Endpoint, ...] = ()

    @classmethod
    def of(cls, section: RecordSettings) -> "MachineSettings":
        """What a section means: `false` and `enabled: false` both switch a part off."""
        machine = cls(
            states=section.states,
            review=section.review.rules,
            metrics=section.metrics,
            logging=section.logging,
            webhooks=section.webhooks.endpoints if section.webhooks.enabled else (),
        )
        retry, timeouts, queue = section.retry, section.timeout_monitoring, section.priority_queue
        if isinstance(retry, RetrySettings) and retry.enabled:
            machine = replace(
                machine,
                max_retries=retry.max_retries,
                backoff_s=retry.backoff_seconds,
                jitter_s=retry.jitter_ms / 1000,
                fatal_after_s=retry.fatal_after_seconds,
                retry_by_source_type={
                    each.source_type: Retry(
                        max_retries=each.max_retries,
                        backoff_s=each.backoff_seconds or retry.backoff_seconds,
                        jitter_s=retry.jitter_ms / 1000,
                    )
                    for each in retry.source_types
                },
            )
        elif retry is not None:
            machine = replace(machine, max_retries=0)
        if isinstance(timeouts, TimeoutMonitoring) and timeouts.enabled:
            machine = replace(
                machine,
                timeouts_s=timeouts.timeouts_s,
                check_interval_s=timeouts.check_interval_seconds,
            )
        if isinstance(queue, PriorityQueue) and queue.enabled:
            classes = {name: PRIORITIES[name] for name in queue.priorities}
            machine = replace(machine, is_fifo=False, priorities=classes)
        return machine

    def timeout_s(self, running_state: str) -> float | None:
        """How long a record may stay in a running state."""
        return self.timeouts_s.get(running_state)

    def retry_rule(self, declared: Retry) -> Retry:
        """The rule that applies, given the one that the machine declares."""
        if self.max_retries is None:
            return declared
        wait_s = declared.fatal_after_s if self.fatal_after_s is None else self.fatal_after_s
        return Retry(
            max_retries=self.max_retries,
            backoff_s=self.backoff_s,
            jitter_s=self.jitter_s,
            fatal_after_s=wait_s,
        )
