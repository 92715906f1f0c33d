"""Every knob, what it is unless somebody says otherwise, and who said otherwise.

A profile (a file that ships in `profiles/`) lies below one's own file, that below the environment,
and that below arguments. This module alone reads settings files and environment variables. It must
never open a store, start anything, fill in what it cannot read, or show a password.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import resources
from ipaddress import ip_network
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias, get_args
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta
from msgspec import inspect as kinds
from msgspec.structs import asdict, replace

from stateward.core.errors import DeclarationError, Fault
from stateward.core.failpoints import CrashAt
from stateward.core.query import PRIORITY_CLASSES
from stateward.core.retry import BACKOFF_DEFAULT_S, RETRIES_MAX, RetryRule
from stateward.definition import yaml_source
from stateward.definition.yaml_source import Document

FILE_BYTES_MAX = 4_000_000
SECONDS_MAX = 30 * 24 * 3600
CHECK_INTERVAL_DEFAULT_S = 60.0
DATABASE = "stateward.db"
PRIORITIES = PRIORITY_CLASSES

ProfileName: TypeAlias = Literal["personal", "business", "enterprise"]
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)

MIB = 1024 * 1024
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=SECONDS_MAX)]
Wait: TypeAlias = Annotated[float, Meta(ge=0, le=SECONDS_MAX)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1)]
Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z][a-z0-9_]*\Z",
        max_length=100,
        title="a name of small letters, digits and underscores",
    ),
]
Email: TypeAlias = Annotated[str, Meta(pattern=r"\A[^@\s]+@[^@\s]+\Z", title="an e-mail address")]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping in a settings file."""


class Retry(Section, frozen=True, kw_only=True):
    """How failed attempts are repeated."""

    enabled: Annotated[bool, Meta(description="Whether failed attempts are repeated at all.")] = (
        True
    )
    max_retries: Annotated[
        int,
        Meta(ge=0, le=RETRIES_MAX, description="Automatic retries before the record rests."),
    ] = 3
    backoff_seconds: Annotated[
        tuple[Wait, ...],
        Meta(description="The wait before each retry, in order; the last one repeats."),
    ] = BACKOFF_DEFAULT_S
    jitter_ms: Annotated[
        int,
        Meta(ge=0, le=3_600_000, description="Up to this much is added to each wait, at random."),
    ] = 0


class TimeoutMonitoring(Section, frozen=True, kw_only=True):
    """How long an attempt may take, by running state."""

    enabled: Annotated[bool, Meta(description="Whether the timeouts of this section hold.")] = True
    timeouts_s: Annotated[
        dict[str, Seconds],
        Meta(
            description="How long a record may stay in that state; otherwise its machine says.",
            extra={"keys": "<running state>_timeout_seconds"},
        ),
    ] = {}
    check_interval_seconds: Annotated[
        Seconds, Meta(description="How often overdue records are looked for.")
    ] = CHECK_INTERVAL_DEFAULT_S


class PriorityQueue(Section, frozen=True, kw_only=True):
    """Which records go first."""

    enabled: Annotated[
        bool, Meta(description="Whether priority counts; otherwise first come, first served.")
    ] = True
    priorities: Annotated[
        tuple[Literal["vip_customer", "regulatory_filing", "normal", "batch_import"], ...],
        Meta(
            min_length=1,
            description="The classes in use: vip_customer is priority 10, regulatory_filing 7, "
            "normal 5 and batch_import 1.",
        ),
    ] = ("vip_customer", "regulatory_filing", "normal", "batch_import")
    preemption: Annotated[
        bool,
        Meta(title="false", description="Can only be false: work under way is never cancelled."),
    ] = False


class Metrics(Section, frozen=True, kw_only=True):
    """Numbers for monitoring."""

    enabled: Annotated[bool, Meta(description="Whether metrics are kept and served.")] = False
    backend: Annotated[Literal["prometheus"], Meta(description="Who collects them.")] = "prometheus"
    labels: Annotated[
        tuple[Literal["status", "source_type", "retry_count"], ...],
        Meta(description="What the metrics of records are told apart by."),
    ] = ("status", "source_type", "retry_count")


class Logging(Section, frozen=True, kw_only=True):
    """The shape of log lines."""

    structured: Annotated[
        bool, Meta(description="Whether a line is made of named values rather than a sentence.")
    ] = False
    format: Annotated[Literal["text", "json"], Meta(description="How a line is written.")] = "text"
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least important lines that are still written."),
    ] = "info"
    trace_id: Annotated[
        bool, Meta(description="Whether lines carry the id of the trace they belong to.")
    ] = False


class Endpoint(Section, frozen=True, kw_only=True):
    """An address that is told of changes of status."""

    url: Annotated[str, Meta(description="Where to post: http or https, without credentials.")]
    events: Annotated[
        tuple[Name, ...], Meta(min_length=1, description="The statuses that it is told of.")
    ]
    content: Annotated[
        Literal["standard", "cloudevents"],
        Meta(
            description="The envelope: that of Standard Webhooks, or CloudEvents 1.0 (structured)."
        ),
    ] = "standard"
    secret_file: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="The file with the `whsec_…` that signs, counted from the file that names it; null: one is "
            "made, and `stateward webhook show` tells it.",
        ),
    ] = None


class Webhooks(Section, frozen=True, kw_only=True):
    """Who is told over HTTP."""

    enabled: Annotated[bool, Meta(description="Whether anything is sent.")] = True
    endpoints: Annotated[tuple[Endpoint, ...], Meta(description="The addresses to tell.")] = ()


class RecordSettings(Section, frozen=True, kw_only=True):
    """What a file says of one machine; what it leaves out, the machine's declaration rules."""

    states: Annotated[
        tuple[Name, ...] | None,
        Meta(title="a list of names, or null", description="The machine's states, as a check."),
    ] = None
    retry: Annotated[
        bool | Retry | None,
        Meta(title="false or a mapping", description="false: nothing is retried by itself."),
    ] = None
    timeout_monitoring: Annotated[
        bool | TimeoutMonitoring | None,
        Meta(title="false or a mapping", description="false: only the machine's own timeouts."),
    ] = None
    priority_queue: Annotated[
        bool | PriorityQueue | None,
        Meta(title="false or a mapping", description="false: first come, first served."),
    ] = None
    metrics: Metrics = Metrics()
    logging: Logging = Logging()
    webhooks: Webhooks = Webhooks()


class StoreSettings(Section, frozen=True, kw_only=True):
    """Where records are kept."""

    url: Annotated[
        str,
        Meta(
            description="`sqlite:` (a file in the data folder), `sqlite:///path`, "
            "`postgresql://user:password@host/name` or `memory:`."
        ),
    ] = "sqlite:"

    def __repr__(self) -> str:
        """Without the password."""
        return f"StoreSettings(url={masked(self.url)!r})"


class WorkerSettings(Section, frozen=True, kw_only=True):
    """How stages are run, and what a runner may use."""

    processes: Annotated[
        int, Meta(ge=1, le=1024, description="Worker processes on this machine.")
    ] = 2
    inline_window: Annotated[
        Count, Meta(description="Jobs of inline stages that are taken and reported together.")
    ] = 256
    prefetch: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description=(
                "Jobs that a process takes ahead of the one it runs, at least; where jobs are quick it takes more by "
                "itself. They count as running meanwhile."
            ),
        ),
    ] = 0
    heartbeat_seconds: Annotated[
        Seconds, Meta(description="How often a worker says that its job is still under way.")
    ] = 5.0
    lease_seconds: Annotated[
        Seconds,
        Meta(description="Silence after which a job is given to another: two heartbeats or more."),
    ] = 15.0
    deliveries_max: Annotated[
        Count, Meta(description="Times that a job is handed out before it counts as failed.")
    ] = 3
    cpu_seconds: Annotated[
        Seconds | None,
        Meta(description="Processor time of one attempt; null is the timeout of its stage."),
    ] = None
    memory_bytes: Annotated[Bytes, Meta(description="Memory of one attempt.")] = 512 * MIB
    file_bytes: Annotated[
        Bytes, Meta(description="The largest file that an attempt may write.")
    ] = 1024 * MIB
    open_files: Annotated[
        Count, Meta(description="Files that an attempt may hold open at once.")
    ] = 256
    processes_max: Annotated[
        Count, Meta(description="Processes and threads that an attempt may start.")
    ] = 64
    items_max: Annotated[Count, Meta(description="Items that one attempt may produce.")] = 5_000_000
    item_bytes_max: Annotated[Bytes, Meta(description="The largest item, as JSON.")] = MIB
    items_bytes_max: Annotated[
        Bytes, Meta(description="All items of one attempt together, as JSON.")
    ] = 1024 * MIB
    log_bytes_max: Annotated[
        Bytes, Meta(description="The log of one attempt; what comes after is cut off.")
    ] = MIB
    jobs_per_child: Annotated[
        Count, Meta(description="Jobs that a child process runs before a fresh one replaces it.")
    ] = 2000
    transient_attempts: Annotated[
        int,
        Meta(ge=1, le=100, description="Attempts at a job whose failures pass by themselves."),
    ] = 3
    transient_backoff_seconds: Annotated[
        Wait, Meta(description="The wait before the second of them; it doubles each time.")
    ] = 0.5


class CoordinatorSettings(Section, frozen=True, kw_only=True):
    """How events are drained."""

    batch_max: Annotated[
        int, Meta(ge=1, le=10_000, description="Events decided and committed together.")
    ] = 512
    idle_seconds: Annotated[
        Seconds, Meta(description="The longest sleep when nothing wakes the coordinator.")
    ] = 30.0
    ageing_seconds: Annotated[
        Seconds, Meta(description="A record that waits this long goes before fresher, higher ones.")
    ] = 600.0


class LimitSettings(Section, frozen=True, kw_only=True):
    """What the doors let in and out."""

    upload_bytes_max: Annotated[Bytes, Meta(description="The largest document.")] = 256 * MIB
    name_chars_max: Annotated[Count, Meta(description="The longest name of a document.")] = 255
    message_chars_max: Annotated[
        Count, Meta(description="The longest error message that is kept; the rest is cut off.")
    ] = 2000
    page_rows_max: Annotated[Count, Meta(description="The most rows in one answer.")] = 200


class LedgerSettings(Section, frozen=True, kw_only=True):
    """The history once more, as a ledger of plain files."""

    mirror: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="The folder of the ledger that every transition is mirrored to, counted from the file that "
            "names it; null is none.",
        ),
    ] = None
    batch_max: Annotated[
        int,
        Meta(ge=1, le=100_000, description="Transitions mirrored together, in one durable group."),
    ] = 1000
    compact: Annotated[
        bool, Meta(description="Whether the mirror is compacted each night, at local midnight.")
    ] = True
    compact_at: Annotated[
        str,
        Meta(
            title="a time of day like 03:30",
            pattern=r"\A([01][0-9]|2[0-3]):[0-5][0-9]\Z",
            description="When that is, in the time of the machine; checkpoints are made then too.",
        ),
    ] = "00:00"
    hand_over: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            max_length=16,
            description="Who gets a checkpoint each night: folders on other machines, counted from the file that "
            "names them, and http or https addresses.",
        ),
    ] = ()
    origin: Annotated[
        Annotated[str, Meta(pattern=r"\A[^\s+]+\Z", title="one word without +")] | None,
        Meta(description="The name of the log in its checkpoints; null is that of the key."),
    ] = None
    signing_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="The file with the key that signs checkpoints (`stateward ledger new-key`); null is none."
        ),
    ] = None
    webhook_secret: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="The file with the `whsec_…` that signs what is posted (Standard Webhooks); null is none."
        ),
    ] = None


class NoticeSettings(Section, frozen=True, kw_only=True):
    """Webhooks, and mail for what needs a person."""

    admin_email: Annotated[
        Email | None, Meta(description="Who is told of stuck and given-up records.")
    ] = None
    smtp_url: Annotated[
        str | None,
        Meta(description="How mail is sent: `smtp://` or `smtps://user:password@host:port`."),
    ] = None
    mail_from: Annotated[
        Email | None, Meta(description="Who mails are from; null is the admin.")
    ] = None
    mail_on: Annotated[
        tuple[Literal["exhausted", "failed", "stuck", "review", "webhook"], ...],
        Meta(
            description="What is mailed: retries that are used up, failures that no retry mends, overrun time, "
            "questions to a person, webhooks that cannot be delivered.",
        ),
    ] = ("exhausted", "failed", "stuck", "webhook")
    digest_over: Annotated[
        Count,
        Meta(description="Mails within `digest_seconds`; more news than that is gathered in one."),
    ] = 5
    digest_seconds: Annotated[Seconds, Meta(description="How long news is gathered then.")] = 900.0
    public_url: Annotated[
        str | None,
        Meta(
            description="Where people reach this service, for links: `https://stateward.example.com`."
        ),
    ] = None
    webhook_allow: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Hosts, `*.domains`, addresses and networks that may be told although they are not public, by "
            "plain http and at any port.",
        ),
    ] = ()
    webhook_ports: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=65_535)], ...],
        Meta(description="Ports that everybody else may be told at."),
    ] = (443, 8443)
    webhook_timeout_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=60)],
        Meta(description="How long one attempt may take, from the first packet to the answer."),
    ] = 15.0
    webhook_backoff_seconds: Annotated[
        tuple[Wait, ...],
        Meta(
            max_length=50,
            description="The wait after each failed attempt, and up to a fifth more; after the last one a delivery is "
            "dead.",
        ),
    ] = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 21_600, 36_000)
    webhook_concurrency: Annotated[
        int, Meta(ge=1, le=256, description="Attempts under way at once, in one process.")
    ] = 16
    rotation_seconds: Annotated[
        Wait, Meta(description="How long the old secret signs too after a new one was made.")
    ] = 86_400.0
    ca_file: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A file of certificates (PEM) to trust besides the system's, for webhooks and mail, counted "
            "from the file that names it.",
        ),
    ] = None
    keep_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long what was delivered and mailed is kept.")
    ] = 30

    def __repr__(self) -> str:
        """Without the password."""
        url = None if self.smtp_url is None else masked(self.smtp_url)
        return f"NoticeSettings(admin_email={self.admin_email!r}, smtp_url={url!r})"


class TelemetrySettings(Section, frozen=True, kw_only=True):
    """Traces for OpenTelemetry."""

    otlp_endpoint: Annotated[
        str | None,
        Meta(
            description="Where spans are sent (OTLP over HTTP), like `http://127.0.0.1:4318`; null is nowhere. Needs "
            "the extra `otel`.",
        ),
    ] = None
    service_name: Annotated[
        str, Meta(min_length=1, max_length=100, description="What this service is called there.")
    ] = "stateward"


class SourceType(Section, frozen=True, kw_only=True):
    """A name for what is known of statements before they are read."""

    name: Annotated[Name, Meta(description="What `--source-type` says.")]
    format: Annotated[
        Literal["pdf", "csv", "sheet", "ofx", "qif", "mt940", "camt"] | None,
        Meta(description="What the files should be; content decides."),
    ] = None
    date_order: Annotated[
        Literal["dmy", "mdy", "ymd"] | None,
        Meta(description="The order of day and month where nothing in the file decides it."),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Meta(description="The decimal sign where nothing in the file decides it."),
    ] = None
    sign: Annotated[
        Literal["printed", "flipped"] | None,
        Meta(description="`flipped`: positive amounts of the table are money out."),
    ] = None
    currency: Annotated[str | None, Meta(description="The currency where none is printed.")] = None
    encoding: Annotated[str | None, Meta(description="The encoding of text files.")] = None
    is_card: Annotated[bool, Meta(description="Whether these are statements of a card.")] = False


class StatementSettings(Section, frozen=True, kw_only=True):
    """How bank statements are read."""

    ambiguous_dates: Annotated[
        Literal["flag", "fail"],
        Meta(
            description="What becomes of a file whose dates could all be day first or month first: `flag` keeps it "
            "without dates and notes it, `fail` ends in AMBIGUOUS_DATES."
        ),
    ] = "flag"
    date_order: Annotated[
        Literal["dmy", "mdy"] | None,
        Meta(description="The order of day and month where nothing in a file decides it."),
    ] = None
    rules: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A YAML file of one's own rules for descriptions and merchants, counted from the file that "
            "names it; they come before those that ship.",
        ),
    ] = None
    passwords: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A text file of passwords to try on locked PDFs, one a line, counted from the file that "
            "names it.",
        ),
    ] = None
    source_types: Annotated[
        tuple[SourceType, ...], Meta(description="Names for hints, besides those that ship.")
    ] = ()
    inflated_bytes_max: Annotated[Bytes, Meta(description="What a spreadsheet may inflate to.")] = (
        256 * MIB
    )
    pages_max: Annotated[Count, Meta(description="The most pages of a PDF.")] = 2000


class ModelSettings(Section, frozen=True, kw_only=True):
    """A language model that reads contracts, behind any endpoint that speaks OpenAI's chat completions."""

    base_url: Annotated[
        str | None,
        Meta(
            description="Where it is, up to `/chat/completions`, as in `https://api.example.com/v1`; null is none."
        ),
    ] = None
    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="What the endpoint calls the model."),
    ] = None
    key: Annotated[
        str | None,
        Meta(
            extra={"secret": True},
            description="The key to show there; better said by `STATEWARD_MODEL_KEY` or `key_file` than here.",
        ),
    ] = None
    key_file: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="A file that holds the key alone, counted from the file that names it."),
    ] = None
    timeout_seconds: Annotated[
        Seconds, Meta(description="How long one answer may take, to its last byte.")
    ] = 120.0
    retries: Annotated[
        int,
        Meta(
            ge=0,
            le=20,
            description="Further tries when the endpoint is busy (429), failing (5xx) or silent, within the timeout of "
            "the stage. A wait that it asks for is kept.",
        ),
    ] = 4
    response_format: Annotated[
        Literal["json_schema", "json_object", "none"],
        Meta(
            description="How the endpoint is held to the schema; `json_object` and `none` are for those that cannot: "
            "then the schema stands in the request. The answer is checked against it in any case.",
        ),
    ] = "json_schema"
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None,
        Meta(description="How freely it answers; null leaves it to the endpoint."),
    ] = 0.0
    tokens_max: Annotated[
        Count | None, Meta(description="The most tokens of an answer; null: the endpoint's own.")
    ] = None
    document_chars_max: Annotated[
        Count, Meta(description="How much of a document it is shown; the rest is left out.")
    ] = 200_000
    price_input: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="What a million tokens of the request cost; null: no cost is reckoned."),
    ] = None
    price_output: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="What a million tokens of the answer cost."),
    ] = None
    ca_file: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A file of certificates (PEM) to trust besides the system's, counted from the file that names "
            "it.",
        ),
    ] = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"ModelSettings(base_url={self.base_url!r}, name={self.name!r}, key={self.key and '***'!r})"


class ContractSettings(Section, frozen=True, kw_only=True):
    """How contracts are read, checked and compared."""

    extractor: Annotated[
        Literal["offline", "model", "both"],
        Meta(
            description="Who reads the terms: the rules that ship, a model, or both, whose agreement is the "
            "confidence. A model alone never scores enough to go past a person.",
        ),
    ] = "offline"
    model: ModelSettings = ModelSettings()
    rules: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A folder of one's own verticals and providers (YAML), counted from the file that names it; "
            "read again when a file changes.",
        ),
    ] = None
    prompts: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A folder of one's own prompts (YAML), counted from the file that names it; read again when a "
            "file changes.",
        ),
    ] = None
    offers: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="The registry of offers (CSV or JSON), counted from the file that names it; null is a sample "
            "of invented ones. Read again when it changes.",
        ),
    ] = None
    comparison: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A YAML file that says how contracts of one's own verticals are compared, counted from the "
            "file that names it.",
        ),
    ] = None
    consumption: Annotated[
        dict[str, Annotated[float, Meta(gt=0, le=10_000_000)]],
        Meta(
            description="What a year is assumed to take where nothing tells it, by vertical, as in `{energy: 3500}`."
        ),
    ] = {}
    saving_min: Annotated[
        float,
        Meta(ge=0, description="What an offer must save in the first year to count as better."),
    ] = 0.0
    currency: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Z]{3}\Z",
            title="a currency such as EUR",
            description="The currency of contracts; offers in another are not compared.",
        ),
    ] = "EUR"
    pages_max: Annotated[Count, Meta(description="The most pages of a contract.")] = 1000
    chars_max: Annotated[Count, Meta(description="The most characters of a contract.")] = 4_000_000


class ReviewSettings(Section, frozen=True, kw_only=True):
    """How people decide what waits for them. The deadline of a review is a timeout of its state."""

    claim_seconds: Annotated[
        Seconds,
        Meta(description="How long a review is somebody's own after they took it up."),
    ] = 900.0
    self_approval: Annotated[
        Literal["auto", "allow", "refuse"],
        Meta(
            description="Whether who submitted a document may also accept it; `auto`: not where there are API keys, "
            "for without them nobody can be told from anybody.",
        ),
    ] = "auto"


class ApiSettings(Section, frozen=True, kw_only=True):
    """The HTTP door."""

    host: Annotated[
        str,
        Meta(
            min_length=1,
            description="The address to listen at. Any other than loopback needs a key, and TLS or a proxy with it.",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="The port; 0 takes a free one and says which.")
    ] = 8420
    hosts: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Names by which clients call the service, besides those of loopback and `host`; a request "
            "with another `Host` is refused.",
        ),
    ] = ()
    tls_certificate: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="The file with the certificate chain (PEM), for TLS; null is none."),
    ] = None
    tls_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="The file with its private key (PEM)."),
    ] = None
    behind_tls_proxy: Annotated[
        bool, Meta(description="Whether a proxy in front of the service speaks TLS.")
    ] = False
    require_if_match: Annotated[
        bool, Meta(description="Whether a change without `If-Match` is refused with 428.")
    ] = False
    rate_per_minute: Annotated[
        Count,
        Meta(description="Requests that one key may send a minute, unless the key says."),
    ] = 6000
    burst: Annotated[
        Count, Meta(description="Requests of that rate that may come all at once.")
    ] = 500
    requests_max: Annotated[
        Count, Meta(description="Requests under way at once; more are told to come back.")
    ] = 1000
    streams_max: Annotated[
        Count, Meta(description="Streams of events open at once, of all keys together.")
    ] = 200
    wait_seconds_max: Annotated[Seconds, Meta(description="The longest that `?wait=` waits.")] = (
        60.0
    )
    step_seconds_max: Annotated[
        Seconds,
        Meta(
            description="The longest that a call of `/workflows` waits for its step; then the answer is 503, and the "
            "same call again waits on."
        ),
    ] = 60.0
    body_bytes_max: Annotated[
        Bytes, Meta(description="The largest JSON document of a request.")
    ] = MIB
    idle_seconds: Annotated[
        Seconds, Meta(description="Silence in the middle of a request after which it is given up.")
    ] = 30.0
    answers_kept_seconds: Annotated[
        Seconds, Meta(description="How long the answer to an `Idempotency-Key` is given again.")
    ] = 86_400.0


class ServerSettings(Section, frozen=True, kw_only=True):
    """A Stateward elsewhere that the command line talks to instead of a database."""

    url: Annotated[
        str | None,
        Meta(description="Its address, as in `https://stateward.example`; null works here."),
    ] = None
    key: Annotated[str | None, Meta(description="The API key to show there.")] = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"ServerSettings(url={self.url!r}, key={self.key and '***'!r})"


class WatchSettings(Section, frozen=True, kw_only=True):
    """How `stateward watch` takes files from a folder."""

    settle_seconds: Annotated[
        Wait, Meta(description="How long a file must rest unchanged before it is taken.")
    ] = 2.0
    poll_seconds: Annotated[Seconds, Meta(description="How often the folder is looked at.")] = 1.0
    after: Annotated[
        Literal["leave", "move"],
        Meta(description="What becomes of a file that was taken: it stays, or moves to `done`."),
    ] = "leave"
    done: Annotated[
        Annotated[str, Meta(min_length=1)],
        Meta(description="The folder that taken files are moved to, counted from the watched one."),
    ] = "done"
    refused: Annotated[
        Annotated[str, Meta(min_length=1)],
        Meta(description="The folder that refused files are moved to, if files are moved."),
    ] = "refused"


class Declared(Section, frozen=True, kw_only=True):
    """All that a settings file may say."""

    profile: Annotated[
        ProfileName, Meta(description="The profile that the rest of the file changes.")
    ] = "personal"
    data: Annotated[
        str,
        Meta(min_length=1, description="The data folder, counted from the file that names it."),
    ] = "stateward-data"
    store: StoreSettings = StoreSettings()
    worker: WorkerSettings = WorkerSettings()
    coordinator: CoordinatorSettings = CoordinatorSettings()
    limits: LimitSettings = LimitSettings()
    api: ApiSettings = ApiSettings()
    server: ServerSettings = ServerSettings()
    notices: NoticeSettings = NoticeSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    ledger: LedgerSettings = LedgerSettings()
    statements: StatementSettings = StatementSettings()
    contracts: ContractSettings = ContractSettings()
    reviews: ReviewSettings = ReviewSettings()
    watch: WatchSettings = WatchSettings()
    pipelines: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="What to load besides the built-in machines: Python modules, and Python "
            "or YAML files counted from the file that names them."
        ),
    ] = ()
    records: Annotated[dict[str, RecordSettings], Meta(extra={"keys": "<machine>_record"})] = {}


class MachineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings mean for one machine; None: the machine's own declaration rules."""

    states: tuple[str, ...] | None = None
    max_retries: int | None = None
    backoff_s: tuple[float, ...] = ()
    jitter_s: float = 0.0
    timeouts_s: dict[str, float] = {}
    check_interval_s: float = CHECK_INTERVAL_DEFAULT_S
    is_fifo: bool = True
    priorities: dict[str, int] = {}
    metrics: Metrics = Metrics()
    logging: Logging = Logging()
    webhooks: tuple[Endpoint, ...] = ()

    def timeout_s(self, running_state: str) -> float | None:
        """How long a record may stay in a running state."""
        return self.timeouts_s.get(running_state)

    def retry_rule(self, declared: RetryRule) -> RetryRule:
        """The rule that holds, given the one that the machine declares."""
        if self.max_retries is None:
            return declared
        return RetryRule(
            max_retries=self.max_retries, backoff_s=self.backoff_s, jitter_s=self.jitter_s
        )


class Settings(Declared, frozen=True, kw_only=True):
    """Everything that was said, merged and checked; `layers` are who said it, the last on top."""

    layers: tuple[Document, ...] = ()
    crash_at: CrashAt | None = None
    """For tests alone, so no file can set it: where this process kills itself (`STATEWARD_CRASH_AT`)."""

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        *,
        profile: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Profile, file, environment (this process's own if None) and arguments, as one value.

        Raises `DeclarationError` with every fault, each with its file and line.
        """
        variables = os.environ if environ is None else environ
        said = [*_file_layer(config, variables), *_variable_layers(variables)]
        if profile is not None:
            said.append(yaml_source.plain({"profile": profile}, source="--profile"))
        _raise_any(chain.from_iterable(yaml_source.convert(layer, Declared)[1] for layer in said))
        layers = (_profile_layer(_declared(said).profile), *said)
        settings = cls(**asdict(_declared(layers)), layers=layers, crash_at=_crash_at(variables))
        _raise_any(settings.fault(path, sentence) for path, sentence in _impossible(settings))
        return settings

    @property
    def data_path(self) -> Path:
        """The data folder."""
        return Path(self.data)

    @property
    def store_path(self) -> Path | None:
        """The file of an SQLite store; None for every other store."""
        scheme, _, rest = self.store.url.partition(":")
        if scheme != "sqlite":
            return None
        if rest.startswith("//"):
            return Path(unquote(rest.removeprefix("//")))
        return self.data_path / (rest or DATABASE)

    def machine(self, name: str) -> MachineSettings:
        """What holds for one machine, whether a section speaks of it or not."""
        section = self.records.get(name, RecordSettings())
        machine = MachineSettings(
            states=section.states,
            metrics=section.metrics,
            logging=section.logging,
            webhooks=section.webhooks.endpoints if section.webhooks.enabled else (),
        )
        machine = _with_retries(machine, section.retry)
        machine = _with_timeouts(machine, section.timeout_monitoring)
        return _with_priorities(machine, section.priority_queue)

    def check_states(self, machine_name: str, states: Iterable[str]) -> list[Fault]:
        """What the section of a machine says of states that the machine does not have, or lacks.

        A list of one's own names every state. The list of a shipped profile may be behind a machine that was
        extended since, but names none that is gone.
        """
        section = self.records.get(machine_name, RecordSettings())
        known = list(states)
        key = f"{machine_name}_record"
        is_own = any(layer.has(key, "states") for layer in self.layers[1:])
        wrong = chain(
            _states_differ(section, known, machine_name, is_own=is_own),
            _states_unknown(section, known, machine_name),
        )
        return [self.fault((key, *path), sentence) for path, sentence in wrong]

    def fault(self, path: yaml_source.Path, sentence: str) -> Fault:
        """A fault of what stands at `path`, blamed on the topmost layer that speaks of it."""
        for end in range(len(path), 0, -1):
            for layer in reversed(self.layers):
                if layer.has(*path[:end]):
                    return layer.fault(path, sentence)
        return Document(source="settings", value=None, lines={}).fault(path, sentence)

    def shown(self) -> dict[str, object]:
        """All of it as a settings file would say it, with passwords as ***."""
        return _unfolded(self, Declared)

    def __repr__(self) -> str:
        """Without the passwords, and without the layers, which hold them too."""
        return f"Settings({self.shown()})"


class Knob(NamedTuple):
    """One line of the reference page."""

    path: str
    type: str
    default: str
    description: str


def describe_settings() -> list[Knob]:
    """Every key that a settings file may hold, in the order of the declaration."""
    return list(_knobs(Declared, ""))


def masked(url: str) -> str:
    """A URL with *** for its passwords, an API key with *** for its secret; other text as it is."""
    # Greedy up to the last @: a password that holds one itself must not be shown from there on.
    without_login = re.sub(r"(://[^:@/?#]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    parameters = r"([?&][^=&#]*(?:pass|secret|token)[^=&#]*=)[^&#]*"
    without_login = re.sub(parameters, r"\1***", without_login, flags=re.IGNORECASE)
    return re.sub(r"\b(sw_[a-z0-9]+)_\w+", r"\1_***", without_login)  # API keys


# Who says what: files, variables and arguments become layers, the last one on top.

_VARIABLES: dict[str, yaml_source.Path] = {
    "STATEWARD_PROFILE": ("profile",),
    "STATEWARD_DATA": ("data",),
    "STATEWARD_STORE_URL": ("store", "url"),
    "STATEWARD_SERVER": ("server", "url"),
    "STATEWARD_KEY": ("server", "key"),
    "STATEWARD_MODEL_KEY": ("contracts", "model", "key"),
}
CRASH_AT = "STATEWARD_CRASH_AT"


def _file_layer(config: Path | None, variables: Mapping[str, str]) -> list[Document]:
    named = variables.get("STATEWARD_CONFIG", "")
    if config is None and not named:
        return []
    path = Path(named) if config is None else config
    document = yaml_source.read_yaml(_text(path), source=str(path))
    value = {} if document.value is None else _counted_from(path.parent, document.value)
    return [Document(source=document.source, value=value, lines=document.lines)]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise _unreadable(path, "there is no such settings file") from None
    except IsADirectoryError:
        raise _unreadable(path, "this is a folder, not a settings file") from None
    except PermissionError:
        raise _unreadable(path, "this user may not read the settings file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"the settings file cannot be read: {error}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise _unreadable(path, f"the settings file is larger than {FILE_BYTES_MAX} bytes")
    return _decoded(raw, path)


def _decoded(raw: bytes, path: Path) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, "the settings file is not UTF-8 text", line=line) from None


def _unreadable(path: Path, sentence: str, *, line: int = 0) -> DeclarationError:
    return DeclarationError([Fault(source=str(path), line=line, path="", sentence=sentence)])


def _counted_from(folder: Path, value: object) -> object:
    """Relative paths in a file are counted from the file, wherever the service is started."""
    if not isinstance(value, dict):
        return value
    moved: dict[str, object] = dict(value)
    if isinstance(data := moved.get("data"), str) and data and not data.startswith("~"):
        moved["data"] = str(folder / data)
    if isinstance(ledger := moved.get("ledger"), dict):
        moved["ledger"] = _ledger_from(folder, ledger)
    if isinstance(notices := moved.get("notices"), dict) and isinstance(
        certificates := notices.get("ca_file"), str
    ):
        moved["notices"] = {**notices, "ca_file": str(folder / certificates)}
    for key, section in value.items():
        if str(key).endswith("_record") and isinstance(section, dict):
            moved[key] = _record_from(folder, section)
    if isinstance(statements := moved.get("statements"), dict):
        own = {key: statements[key] for key in ("rules", "passwords") if statements.get(key)}
        named = {key: str(folder / name) for key, name in own.items() if isinstance(name, str)}
        moved["statements"] = {**statements, **named}
    if isinstance(contracts := moved.get("contracts"), dict):
        moved["contracts"] = _contracts_from(folder, contracts)
    if isinstance(api := moved.get("api"), dict):
        files = [name for name in ("tls_certificate", "tls_key") if isinstance(api.get(name), str)]
        moved["api"] = {**api, **{name: str(folder / str(api[name])) for name in files}}
    if isinstance(pipelines := moved.get("pipelines"), list):
        moved["pipelines"] = [_pipeline_from(folder, each) for each in pipelines]
    return moved


def _ledger_from(folder: Path, ledger: dict[str, object]) -> dict[str, object]:
    moved = dict(ledger)
    for name in ("mirror", "signing_key", "webhook_secret"):
        if isinstance(value := moved.get(name), str) and value:
            moved[name] = str(folder / value)
    if isinstance(places := moved.get("hand_over"), list):
        moved["hand_over"] = [
            str(folder / each) if isinstance(each, str) and each and "://" not in each else each
            for each in places
        ]
    return moved


def _contracts_from(folder: Path, contracts: dict[str, object]) -> dict[str, object]:
    moved = dict(contracts)
    for name in ("rules", "prompts", "offers", "comparison"):
        if isinstance(value := moved.get(name), str) and value:
            moved[name] = str(folder / value)
    if isinstance(model := moved.get("model"), dict):
        files = [name for name in ("key_file", "ca_file") if isinstance(model.get(name), str)]
        moved["model"] = {**model, **{name: str(folder / str(model[name])) for name in files}}
    return moved


def _record_from(folder: Path, section: dict[str, object]) -> dict[str, object]:
    webhooks = section.get("webhooks")
    listed = webhooks.get("endpoints") if isinstance(webhooks, dict) else None
    if not isinstance(webhooks, dict) or not isinstance(listed, list):
        return section
    moved = [
        {**each, "secret_file": str(folder / each["secret_file"])}
        if isinstance(each, dict) and isinstance(each.get("secret_file"), str)
        else each
        for each in listed
    ]
    return {**section, "webhooks": {**webhooks, "endpoints": moved}}


def _pipeline_from(folder: Path, named: object) -> object:
    is_file = isinstance(named, str) and named.endswith((".py", ".yaml", ".yml"))
    return str(folder / str(named)) if is_file else named


def _variable_layers(variables: Mapping[str, str]) -> list[Document]:
    layers = []
    for name, path in _VARIABLES.items():
        value: object = variables.get(name)
        if not value:
            continue
        for key in reversed(path):
            value = {key: value}
        layers.append(yaml_source.plain(value, source=name))
    return layers


def _crash_at(variables: Mapping[str, str]) -> CrashAt | None:
    text = variables.get(CRASH_AT, "")
    try:
        return CrashAt.parse(text) if text else None
    except ValueError as error:
        fault = Fault(source=CRASH_AT, line=0, path="", sentence=str(error))
        raise DeclarationError([fault]) from None


def _profile_layer(name: ProfileName) -> Document:
    file = resources.files("stateward.settings") / "profiles" / f"{name}.yaml"
    return yaml_source.read_yaml(file.read_text("utf-8"), source=f"stateward/profiles/{name}.yaml")


def _declared(layers: Iterable[Document]) -> Declared:
    value: object = {}
    for layer in layers:
        value = _merged(value, layer.value)
    declared, faults = yaml_source.convert(yaml_source.plain(value, source="settings"), Declared)
    if declared is None:
        raise DeclarationError(faults)
    return declared


def _merged(below: object, above: object) -> object:
    """Mappings are merged key by key; anything else replaces what lies below it."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {key: _merged(below.get(key), each) for key, each in above.items()}
    return above


def _raise_any(faults: Iterable[Fault]) -> None:
    if found := list(faults):
        raise DeclarationError(found)


# What is well-formed and still impossible: pairs of a place and a sentence.

_Wrong: TypeAlias = Iterator[tuple[yaml_source.Path, str]]


def _impossible(settings: Settings) -> _Wrong:
    if settings.data.startswith("~"):
        yield ("data",), "data must be a whole path: ~ is not expanded"
    if sentence := _store_fault(settings.store.url):
        yield ("store", "url"), sentence
    yield from _impossible_worker(settings.worker)
    yield from _impossible_api(settings.api, settings.server)
    yield from _impossible_notices(settings.notices)
    yield from _impossible_contracts(settings.contracts)
    for number, place in enumerate(settings.ledger.hand_over):
        if "://" in place and not _is_plain_address(place):
            said = f"{_PLAIN_ADDRESS}, or a folder, not {yaml_source.shown(place)}"
            yield ("ledger", "hand_over", number), f"a place must be {said}"
    for name, section in settings.records.items():
        for path, sentence in _impossible_record(section):
            yield (f"{name}_record", *path), sentence


def _store_fault(url: str) -> str | None:
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in ("sqlite", "postgresql", "memory"):
        return f"url must begin with sqlite:, postgresql:// or memory:, not with {scheme!r}"
    if scheme == "memory" and rest:
        return "nothing may follow memory:"
    if scheme == "sqlite" and (rest.endswith("/") or rest.startswith(":")):
        return "sqlite: must be followed by nothing or by the path of a file"
    if scheme == "sqlite" and rest.startswith("//") and not rest.startswith("///"):
        return "a whole path has three slashes before it, as in sqlite:///var/lib/stateward.db"
    if scheme == "postgresql" and not (rest.startswith("//") and _is_url(url)):
        return "url must have the form postgresql://user:password@host:port/name"
    return None


def _is_url(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _impossible_worker(worker: WorkerSettings) -> _Wrong:
    least = 2 * worker.heartbeat_seconds
    if worker.lease_seconds < least:
        yield (
            ("worker", "lease_seconds"),
            f"lease_seconds must be at least two heartbeats ({least:g}), "
            f"not {worker.lease_seconds:g}",
        )
    if worker.item_bytes_max > worker.items_bytes_max:
        yield (
            ("worker", "item_bytes_max"),
            f"item_bytes_max must be at most items_bytes_max ({worker.items_bytes_max}), "
            f"not {worker.item_bytes_max}",
        )


def _impossible_api(api: ApiSettings, server: ServerSettings) -> _Wrong:
    if (api.tls_certificate is None) != (api.tls_key is None):
        lone = "tls_certificate" if api.tls_key is None else "tls_key"
        yield ("api", lone), "tls_certificate and tls_key are needed together"
    if server.url is not None and not _is_plain_address(server.url):
        yield (
            ("server", "url"),
            f"url must be {_PLAIN_ADDRESS}, not {yaml_source.shown(server.url)}",
        )


def _impossible_notices(notices: NoticeSettings) -> _Wrong:
    if notices.smtp_url is not None and not _has_host(notices.smtp_url, "smtp", "smtps"):
        said = "smtp_url must have the form smtp://user:password@host:port (or smtps://)"
        yield ("notices", "smtp_url"), said
    for place, allowed in enumerate(notices.webhook_allow):
        if not _is_place(allowed):
            said = "must be a host, *.domain, address or network (such as 10.0.0.0/8), not"
            path = ("notices", "webhook_allow", place)
            yield path, f"an allowed place {said} {yaml_source.shown(allowed)}"
    if notices.public_url is not None and not _is_plain_address(notices.public_url):
        yield ("notices", "public_url"), f"public_url must be {_PLAIN_ADDRESS}"
    if (notices.admin_email is None) != (notices.smtp_url is None):
        lone = "admin_email" if notices.smtp_url is None else "smtp_url"
        yield ("notices", lone), "admin_email and smtp_url are needed together"


def _impossible_contracts(contracts: ContractSettings) -> _Wrong:
    model = contracts.model
    if model.base_url is not None and not _is_plain_address(model.base_url):
        yield ("contracts", "model", "base_url"), f"base_url must be {_PLAIN_ADDRESS}"
    if contracts.extractor != "offline":
        for name in ("base_url", "name"):
            if getattr(model, name) is None:
                said = f"the extractor {contracts.extractor} needs contracts.model.{name}"
                yield ("contracts", "extractor"), said
    if model.key is not None and not (model.key.isascii() and model.key.isprintable()):
        yield ("contracts", "model", "key"), "key must be plain letters, digits and signs"
    if model.key is not None and " " in model.key:
        yield ("contracts", "model", "key"), "key must not hold a space"


def _is_place(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return (
            re.fullmatch(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?", text) is not None
        )
    return True


def _has_host(url: str, *schemes: str) -> bool:
    return _is_url(url) and urlsplit(url).scheme in schemes and bool(urlsplit(url).hostname)


def _impossible_record(section: RecordSettings) -> _Wrong:
    for key in ("retry", "timeout_monitoring", "priority_queue"):
        if getattr(section, key) is True:
            yield (key,), f"{key} must be false or a mapping, not true"
    retry = section.retry
    if isinstance(retry, Retry) and retry.enabled and not retry.backoff_seconds:
        yield ("retry", "backoff_seconds"), "backoff_seconds must name at least one wait"
    if isinstance(section.priority_queue, PriorityQueue):
        yield from _impossible_queue(section.priority_queue)
    for state in _repeated(section.states or ()):
        yield ("states",), f"states names {state} twice"
    for place, endpoint in enumerate(section.webhooks.endpoints):
        url = endpoint.url
        if not _is_plain_address(url):
            said = f"url must be {_PLAIN_ADDRESS}, not {yaml_source.shown(url)}"
            yield ("webhooks", "endpoints", place, "url"), said


_PLAIN_ADDRESS = "http or https, with a host and without credentials"


def _is_plain_address(url: str) -> bool:
    return _has_host(url, "http", "https") and "@" not in urlsplit(url).netloc


def _impossible_queue(queue: PriorityQueue) -> _Wrong:
    if queue.preemption:
        said = "preemption must be false: work under way is never cancelled"
        yield ("priority_queue", "preemption"), said
    for name in _repeated(queue.priorities):
        yield ("priority_queue", "priorities"), f"priorities names {name} twice"


def _repeated(names: Iterable[str]) -> list[str]:
    listed = list(names)
    return [name for name in dict.fromkeys(listed) if listed.count(name) > 1]


def _states_differ(
    section: RecordSettings, states: list[str], machine_name: str, *, is_own: bool
) -> _Wrong:
    if section.states is None or set(section.states) == set(states):
        return
    lacking = [state for state in states if is_own and state not in section.states]
    foreign = [state for state in section.states if state not in states]
    if not lacking and not foreign:
        return
    parts = [("missing", lacking), ("not among them", foreign)]
    said = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
    yield ("states",), f"states must be those of the machine {machine_name} ({said})"


def _states_unknown(section: RecordSettings, states: list[str], machine_name: str) -> _Wrong:
    for path, state in _states_named(section):
        if state not in states:
            near = get_close_matches(state, states, n=1)
            cure = f"did you mean {near[0]}?" if near else f"its states are {', '.join(states)}"
            yield path, f"the machine {machine_name} has no state {state}; {cure}"


def _states_named(section: RecordSettings) -> Iterator[tuple[yaml_source.Path, str]]:
    if isinstance(section.timeout_monitoring, TimeoutMonitoring):
        for state in section.timeout_monitoring.timeouts_s:
            yield ("timeout_monitoring", f"{state}_timeout_seconds"), state
    for place, endpoint in enumerate(section.webhooks.endpoints):
        for position, state in enumerate(endpoint.events):
            yield ("webhooks", "endpoints", place, "events", position), state


# What the sections mean.


def _with_retries(machine: MachineSettings, retry: bool | Retry | None) -> MachineSettings:
    if retry is None:
        return machine
    if not isinstance(retry, Retry) or not retry.enabled:
        return replace(machine, max_retries=0)
    return replace(
        machine,
        max_retries=retry.max_retries,
        backoff_s=retry.backoff_seconds,
        jitter_s=retry.jitter_ms / 1000,
    )


def _with_timeouts(
    machine: MachineSettings, monitoring: bool | TimeoutMonitoring | None
) -> MachineSettings:
    if not isinstance(monitoring, TimeoutMonitoring) or not monitoring.enabled:
        return machine
    return replace(
        machine,
        timeouts_s=monitoring.timeouts_s,
        check_interval_s=monitoring.check_interval_seconds,
    )


def _with_priorities(
    machine: MachineSettings, queue: bool | PriorityQueue | None
) -> MachineSettings:
    if not isinstance(queue, PriorityQueue) or not queue.enabled:
        return machine
    classes = {name: PRIORITIES[name] for name in queue.priorities}
    return replace(machine, is_fifo=False, priorities=classes)


# Showing.


def _unfolded(section: Section, type_: type[msgspec.Struct]) -> dict[str, object]:
    """A section as a file says it: keys that a field gathers stand by themselves again."""
    said: dict[str, object] = {}
    for field in _fields(type_):
        part = _plainly(getattr(section, field.name))
        keys = yaml_source.form(field.type)
        if _is_secret(field.type) and part is not None:
            part = "***"
        if keys is not None and isinstance(part, dict):
            said |= {re.sub("<.*>", name, keys): each for name, each in part.items()}
        else:
            said[field.name] = part
    return said


def _is_secret(kind: kinds.Type) -> bool:
    return isinstance(kind, kinds.Metadata) and (kind.extra or {}).get("secret") is True


def _plainly(value: object) -> object:
    match value:
        case Section():
            return _unfolded(value, type(value))
        case dict():
            return {key: _plainly(each) for key, each in value.items()}
        case tuple():
            return [_plainly(each) for each in value]
        case str():
            return masked(value)
        case _:
            return value


def _fields(type_: type[msgspec.Struct]) -> tuple[kinds.Field, ...]:
    info = kinds.type_info(type_)
    return info.fields if isinstance(info, kinds.StructType) else ()


def _knobs(type_: type[msgspec.Struct], prefix: str) -> Iterator[Knob]:
    for field in _fields(type_):
        path = prefix + (yaml_source.form(field.type) or field.name)
        if (description := _description(field.type)) is not None:
            yield Knob(path, yaml_source.described(_each(field)), _default(field), description)
        for inner, is_listed in _sections_in(field.type):
            yield from _knobs(inner, f"{path}[]." if is_listed else f"{path}.")


def _description(kind: kinds.Type) -> str | None:
    extra = kind.extra_json_schema if isinstance(kind, kinds.Metadata) else None
    return (extra or {}).get("description")


def _each(field: kinds.Field) -> kinds.Type:
    """The type of one value: that of the mapping's values where a field gathers keys."""
    match field.type:
        case kinds.Metadata(type=kinds.DictType() as gathered):
            return gathered.value_type
    return field.type


def _default(field: kinds.Field) -> str:
    if field.required:
        return "required"
    if yaml_source.form(field.type) is not None:
        return "not set"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.encode(default).decode()


def _sections_in(kind: kinds.Type) -> Iterator[tuple[type[msgspec.Struct], bool]]:
    """The Structs that a field leads to, and whether they stand in a list."""
    match kind:
        case kinds.StructType():
            yield kind.cls, False
        case kinds.Metadata():
            yield from _sections_in(kind.type)
        case kinds.DictType():
            yield from _sections_in(kind.value_type)
        case kinds.VarTupleType():
            yield from ((section, True) for section, _ in _sections_in(kind.item_type))
        case kinds.UnionType():
            for each in kind.types:
                yield from _sections_in(each)
