"""Webhooks, email and traces: what the service sends to people and to other programs."""

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated, Literal

from msgspec import Meta

from stateward.core.field_docs import about
from stateward.definition import plain_values
from stateward.definition.section import (
    PLAIN_ADDRESS,
    Count,
    Email,
    FilePath,
    Problem,
    Seconds,
    Section,
    Wait,
    has_host,
    is_plain_address,
)


class NotificationSettings(Section, frozen=True, kw_only=True):
    """How webhooks are delivered, and email to the administrator."""

    admin_email: Annotated[
        Email | None, about("Who gets email about records that are stuck or have failed for good.")
    ] = None
    smtp_url: Annotated[
        str | None, about("The mail server: `smtp://` or `smtps://user:password@host:port`.")
    ] = None
    email_from: Annotated[Email | None, about("The sender of email; null: `admin_email`.")] = None
    email_on: Annotated[
        tuple[Literal["exhausted", "failed", "stuck", "review", "webhook", "source"], ...],
        about(
            "What email is sent about: retries used up, failures that a retry cannot mend, timeouts, open "
            "reviews, webhooks that cannot be delivered, sources of which many records fail within an hour."
        ),
    ] = ("exhausted", "failed", "stuck", "webhook", "source")
    digest_over: Annotated[
        Count,
        about("Emails within `digest_seconds`; anything beyond that is collected into one digest."),
    ] = 5
    digest_seconds: Annotated[Seconds, about("How long alerts are collected for a digest.")] = 900.0
    public_url: Annotated[
        str | None,
        about("The address of this service for links in email: `https://stateward.example.com`."),
    ] = None
    webhook_allow: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Hosts, `*.domains`, IP addresses and networks that may receive webhooks although they are not "
            "public, by plain http and at any port.",
        ),
    ] = ()
    webhook_ports: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=65_535)], ...],
        Meta(description="Ports at which all others may receive webhooks."),
    ] = (443, 8443)
    webhook_timeout_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=60)],
        Meta(description="How long one attempt may take, from the DNS lookup to the response."),
    ] = 15.0
    webhook_backoff_seconds: Annotated[
        tuple[Wait, ...],
        about(
            "The wait after each failed attempt, plus up to a fifth at random; after the last one the "
            "delivery is a dead letter.",
            max_length=50,
        ),
    ] = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 21_600, 36_000)
    webhook_concurrency: Annotated[
        int, about("Attempts running at once, in one process.", ge=1, le=256)
    ] = 16
    rotation_seconds: Annotated[
        Wait, about("How long the previous secret also signs after a rotation.")
    ] = 86_400.0
    ca_file: Annotated[
        FilePath | None,
        about(
            "A file of certificates (PEM) to trust besides the system's, for webhooks and email, relative "
            "to the settings file."
        ),
    ] = None
    retention_days: Annotated[
        int, about("How long finished deliveries and sent emails are stored.", ge=1, le=3650)
    ] = 30

    def problems(self) -> Iterator[Problem]:
        """Addresses must be usable; email needs a server and a recipient."""
        if self.smtp_url is not None and not has_host(self.smtp_url, "smtp", "smtps"):
            message = "smtp_url must have the form smtp://user:password@host:port (or smtps://)"
            yield ("smtp_url",), message
        for place, allowed in enumerate(self.webhook_allow):
            if not _is_host_or_network(allowed):
                message = "a host, *.domain, IP address or network (such as 10.0.0.0/8)"
                yield (
                    ("webhook_allow", place),
                    f"an entry must be {message}, not {plain_values.quote_value(allowed)}",
                )
        if self.public_url is not None and not is_plain_address(self.public_url):
            yield ("public_url",), f"public_url must be {PLAIN_ADDRESS}"
        if (self.admin_email is None) != (self.smtp_url is None):
            lone = "admin_email" if self.smtp_url is None else "smtp_url"
            yield (lone,), "admin_email and smtp_url are needed together"


class TelemetrySettings(Section, frozen=True, kw_only=True):
    """Traces for OpenTelemetry."""

    otlp_endpoint: Annotated[
        str | None,
        about(
            "Where spans are sent (OTLP over HTTP), like `http://127.0.0.1:4318`; null: nowhere. Needs "
            "the extra `otel`."
        ),
    ] = None
    service_name: Annotated[
        str, about("The service name on the spans.", min_length=1, max_length=100)
    ] = "stateward"


def _is_host_or_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        host = r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?"
        return re.fullmatch(host, text) is not None
    return True
