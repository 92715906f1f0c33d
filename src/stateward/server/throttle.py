"""Who guesses keys is made to wait: by address, by account, and by both.

An account is the public half of a key, which names it. A key has 256 random bits, so that guessing is hopeless; but
every guess costs a look-up, and a log full of them hides what matters. A right key is never held up by what others
guess: only an address that has itself been wrong too often waits before its keys are looked at.
"""

import ipaddress
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from litestar.connection import ASGIConnection

from stateward.settings.server import ApiSettings

WINDOW_S = 60.0
Kind = Literal["both", "address", "account"]
LIMITS: dict[Kind, int] = {"both": 10, "address": 50, "account": 100}
REMEMBERED_MAX = 20_000
ACCOUNT_CHARS_MAX = 40
# Some proxies append the port of their client as well; unread, all of their clients would count as one address.
_WITH_PORT = re.compile(r"\[([0-9a-fA-F:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+", re.ASCII)


class Failures:
    """Failed attempts of the last minute. It belongs to the event loop."""

    def __init__(self, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._counts: dict[tuple[Kind, str], tuple[int, float]] = {}

    def wait_s(self, address: str, shown: str) -> float:
        """How long this address must wait before a key that it shows is looked at; 0: not at all."""
        account, address = account_of(shown), network_of(address)
        waits = [
            self._tokens_left("both", f"{address} {account}"),
            self._tokens_left("address", address),
        ]
        return max(waits)

    def add(self, address: str, shown: str) -> tuple[bool, float]:
        """Count a failure; whether it is the first one of its minute, worth a line in the log, and how long to wait."""
        account, address = account_of(shown), network_of(address)
        is_first = self._count("both", f"{address} {account}") == 1
        self._count("address", address)
        self._count("account", account)
        return is_first, max(self.wait_s(address, shown), self._tokens_left("account", account))

    def clear(self, address: str, shown: str) -> None:
        """A right key: what was mistyped before is forgotten."""
        self._counts.pop(("both", f"{network_of(address)} {account_of(shown)}"), None)

    def _tokens_left(self, kind: Kind, name: str) -> float:
        count, since = self._counts.get((kind, name), (0, 0.0))
        left = since + WINDOW_S - self._ticks()
        return left if count >= LIMITS[kind] and left > 0 else 0.0

    def _count(self, kind: Kind, name: str) -> int:
        now = self._ticks()
        count, since = self._counts.get((kind, name), (0, now))
        if now - since >= WINDOW_S:
            del self._counts[
                kind, name
            ]  # to stand last again: all are in the order of their minutes
            count, since = 0, now
        self._counts[kind, name] = (count + 1, since)
        self._forget(now)
        return count + 1

    def _forget(self, now: float) -> None:
        """Drop whose minute is over, and the oldest where there are too many: who guesses now is always counted."""
        while self._counts:
            oldest = next(iter(self._counts))
            is_over = now - self._counts[oldest][1] >= WINDOW_S
            if not is_over and len(self._counts) <= REMEMBERED_MAX:
                return
            del self._counts[oldest]


def account_of(shown: str) -> str:
    """The public half of what was shown as a key; of something else, nothing: it may be a password."""
    prefix, _, rest = shown.partition("_")
    name, _, secret = rest.partition("_")
    is_key = prefix == "sw" and secret and name.isalnum() and name.isascii()
    return name[:ACCOUNT_CHARS_MAX] if is_key else ""


def address_of(connection: ASGIConnection[Any, Any, Any, Any], settings: ApiSettings) -> str:
    """The address that a request comes from, as far as it can be believed.

    A proxy that the settings trust appends whom it heard to `X-Forwarded-For`: from the end, the first address that is
    none of these proxies is the client. Some append a line of their own instead: all lines are read as one.
    """
    peer = connection.client.host if connection.client is not None else ""
    trusted = [ipaddress.ip_network(each, strict=False) for each in settings.trusted_proxies]
    if not trusted or not _is_in(peer, trusted):
        return peer
    heard = ",".join(connection.headers.getall("x-forwarded-for", []))
    for part in reversed([part.strip() for part in heard.split(",") if part.strip()]):
        with_port = _WITH_PORT.fullmatch(part)
        each = (with_port[1] or with_port[2]) if with_port else part
        if not _is_address(each):
            return peer
        peer = each
        if not _is_in(each, trusted):
            return each
    return peer


def network_of(address: str) -> str:
    """What one client can choose its address from: with IPv6 that is usually all of a /64."""
    if ":" not in address or not _is_address(address):
        return address
    own = ipaddress.IPv6Address(address)
    mapped = own.ipv4_mapped
    return str(mapped or ipaddress.IPv6Network((int(own) >> 64 << 64, 64)))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_in(text: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    own = mapped or address
    return any(own in each for each in networks if each.version == own.version)
