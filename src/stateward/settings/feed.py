"""The change feed: every transition as a CloudEvent on a log that others already run."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from msgspec import Meta

from stateward.core.errors import InvalidRequest
from stateward.core.field_docs import about
from stateward.core.query import META, WORD, parse_query
from stateward.definition.section import Bytes, Count, Problem, Seconds, Section
from stateward.settings.transport import SCHEMES, TransportSettings, is_engine_url

NATS_SCHEMES = ("nats", "tls")
TRANSPORT_STREAMS = ("results", "dead")  # of one word after the prefix, as those of a feed are
# What a record has from its first transition to its last: a query on its status would depend on when it is asked.
LASTING_KEYS = ("machine", "artifact", "created", "document", WORD)

FeedField: TypeAlias = Literal[
    "previous_status", "trigger", "actor", "attempt", "facts", "labels", "hash"
]
FIELDS: tuple[FeedField, ...] = get_args(FeedField)

_PLACE = re.compile(r"\{([^{}]*)\}")
_TOPIC = re.compile(r"[A-Za-z0-9._{}-]+")


class FeedSettings(Section, frozen=True, kw_only=True):
    """Where every transition is published as a CloudEvent. The short form `feed: nats://host` sets `url` alone."""

    short_form: ClassVar = "url"

    url: Annotated[
        str | None,
        about(
            "`redis://` (streams of Redis or Valkey), `nats://` (JetStream) or "
            "`kafka://host:port,host:port?name=value` (with settings of librdkafka); null: no feed. "
            "`stateward up` and `stateward notifier` send it."
        ),
    ] = None
    topic: Annotated[
        str,
        about(
            "The stream (Redis), subject (NATS) or topic (Kafka) of a transition; `{machine}` and "
            "`{status}` are replaced. The order of a record's transitions holds within one topic.",
            min_length=1,
            max_length=200,
        ),
    ] = "stateward.{machine}"
    events: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Which transitions: `*`, `<machine>.*` or `<machine>.<status>`, as for webhooks."
        ),
    ] = ("*",)
    query: Annotated[
        str,
        about(
            "Only transitions of records that match this query, of keys that do not change in a record's "
            "life: `machine:`, `meta.<label>=`, `document:`, `created:`, `artifact:`. Empty: all."
        ),
    ] = ""
    fields: Annotated[
        tuple[FeedField, ...],
        about(
            "What each event says besides the record's id, machine, status, version and `seq`: "
            "`labels` may hold what documents are called, `actor` who acted."
        ),
    ] = ("previous_status", "trigger", "attempt", "facts")
    batch_max: Annotated[
        Count, about("Transitions sent together before the cursor moves.", le=10_000)
    ] = 500
    length_max: Annotated[
        Count | None,
        about(
            "How many events a stream of Redis or JetStream holds, roughly; the oldest go. null: all."
        ),
    ] = None
    event_bytes_max: Annotated[
        Bytes, about("An event that would be larger is sent without `facts` and `labels`.")
    ] = 512 * 1024
    timeout_seconds: Annotated[Seconds, about("For one batch; then it is sent again.")] = 10.0
    warn_after_seconds: Annotated[
        Seconds, about("The age of an unsent transition from which `doctor` complains.")
    ] = 60.0

    def problems(self) -> Iterator[Problem]:
        """An address, a template or a query that cannot work."""
        if self.url is not None and not is_engine_url(self.url):
            yield ("url",), f"url must begin with {', '.join(f'{each}://' for each in SCHEMES)}"
        unknown = set(_PLACE.findall(self.topic)) - {"machine", "status"}
        if unknown or not _TOPIC.fullmatch(self.topic):
            yield (
                ("topic",),
                "topic may hold letters, digits, dots, hyphens, {machine} and {status}",
            )
        try:
            keys = {term.key for term in parse_query(self.query, now=0).terms}
        except InvalidRequest as error:
            yield ("query",), str(error)
            return
        for key in sorted(keys):
            if key not in LASTING_KEYS and not key.startswith(META):
                yield (
                    ("query",),
                    f"{key}: changes in a record's life, so it cannot choose transitions; use events, or another key",
                )


def shares_subjects(feed: FeedSettings, transport: TransportSettings) -> bool:
    """Whether the stream of the feed would take the subjects of the transport's streams, on the same NATS."""
    ours, theirs = urlsplit(feed.url or ""), urlsplit(transport.url)
    if ours.scheme not in NATS_SCHEMES or theirs.scheme not in NATS_SCHEMES:
        return False
    if _server(feed.url or "") != _server(transport.url):
        return False
    pattern = re.escape(feed.topic).replace(r"\{machine\}", "[^.]+").replace(r"\{status\}", "[^.]+")
    return any(re.fullmatch(pattern, f"{transport.prefix}.{each}") for each in TRANSPORT_STREAMS)


def _server(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].removesuffix(":4222")
