"""The HTTP API of this service, and the remote service that the command line may use instead."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated

from msgspec import Meta

from stateward.core.field_docs import about
from stateward.definition import plain_values
from stateward.definition.section import (
    MIB,
    PLAIN_ADDRESS,
    Bytes,
    Count,
    FilePath,
    Problem,
    Seconds,
    Section,
    is_plain_address,
)


class ApiSettings(Section, frozen=True, kw_only=True):
    """The HTTP API."""

    host: Annotated[
        str,
        about(
            "The address to listen at. Any other than loopback requires an API key, and TLS or a proxy "
            "that terminates it.",
            min_length=1,
        ),
    ] = "127.0.0.1"
    port: Annotated[int, about("The port; 0 picks a free one and prints it.", ge=0, le=65_535)] = (
        8420
    )
    hosts: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Host names by which clients call the service, besides those of loopback and `host`; a request "
            "with another `Host` is refused.",
        ),
    ] = ()
    tls_certificate: Annotated[
        FilePath | None, about("The file with the certificate chain (PEM), for TLS; null: none.")
    ] = None
    tls_key: Annotated[FilePath | None, about("The file with its private key (PEM).")] = None
    behind_tls_proxy: Annotated[
        bool, about("Whether a proxy in front of the service terminates TLS.")
    ] = False
    audit_reads: Annotated[
        bool,
        about(
            "Whether the audit log notes each document and derived file that the service gives out, and "
            "each export of items or search results, with who asked for it. The enterprise profile does."
        ),
    ] = False
    require_if_match: Annotated[
        bool, about("Whether a change without `If-Match` is refused with 428.")
    ] = False
    rate_per_minute: Annotated[
        Count, about("Requests a minute for one API key, unless the key has its own rate.")
    ] = 6000
    burst: Annotated[Count, about("Requests of that rate that may come all at once.")] = 500
    requests_max: Annotated[
        Count,
        about(
            "Requests handled at once; more are answered with 503 and `Retry-After`, and more than half of "
            "them by one key with 429."
        ),
    ] = 1000
    trusted_proxies: Annotated[
        tuple[str, ...],
        about(
            "Addresses and networks of proxies whose `X-Forwarded-For` is believed, for the limits by "
            "address and the audit log."
        ),
    ] = ()
    connections_max: Annotated[
        Count,
        about(
            "Connections open at once, as far as the limit of open files allows; a new one takes the place "
            "of the one that has been idle longest."
        ),
    ] = 2000
    header_seconds: Annotated[
        Seconds, about("Time within which the head of a request must be whole.")
    ] = 10.0
    streams_max: Annotated[
        Count, about("Event streams open at once, of all keys together; one key has half of them.")
    ] = 200
    wait_seconds_max: Annotated[Seconds, about("The longest that `?wait=` waits.")] = 60.0
    step_seconds_max: Annotated[
        Seconds,
        about(
            "The longest that a call of `/workflows` waits for its step; then the answer is 503, and the "
            "same call again continues to wait."
        ),
    ] = 60.0
    body_bytes_max: Annotated[Bytes, about("The largest JSON body of a request.")] = MIB
    idle_seconds: Annotated[
        Seconds, about("Time without data after which an unfinished request is closed.")
    ] = 30.0
    idempotency_seconds: Annotated[
        Seconds, about("How long a request with the same `Idempotency-Key` gets the same answer.")
    ] = 86_400.0

    def problems(self) -> Iterator[Problem]:
        """A certificate is of no use without its key."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            lone = "tls_certificate" if self.tls_key is None else "tls_key"
            yield (lone,), "tls_certificate and tls_key are needed together"
        for text in self.trusted_proxies:
            try:
                ip_network(text, strict=False)
            except ValueError:
                quoted = plain_values.quote_value(text)
                yield ("trusted_proxies",), f"trusted_proxies names addresses, not {quoted}"


class ServerSettings(Section, frozen=True, kw_only=True):
    """A remote Stateward that the command line uses instead of a database."""

    url: Annotated[
        str | None, about("Its address, as in `https://stateward.example`; null: work locally.")
    ] = None
    key: Annotated[str | None, about("The API key to send to it.")] = None

    def problems(self) -> Iterator[Problem]:
        """The key has a setting of its own."""
        if self.url is not None and not is_plain_address(self.url):
            yield ("url",), f"url must be {PLAIN_ADDRESS}, not {plain_values.quote_value(self.url)}"
