"""Where notices may go. What a person wrote is parsed once; what a name means is looked up and checked each time.

A name can point anywhere, and elsewhere a moment later. So it is resolved once for each connection, every address
that it has must be allowed, and the connection is made to one of these very addresses (`sending`): between the check
and the use nobody can exchange them. Allowed are public unicast addresses. Anything else (loopback, private, link-local
and metadata addresses, also where they hide in IPv6) only by name in `notifications.webhook_allow`.
"""

import re
import socket
from collections.abc import Callable, Iterable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from stateward.core.errors import InvalidRequest

URL_CHARS_MAX = 2000
ADDRESSES_MAX = 16
PORTS = {"http": 80, "https": 443}

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
Lookup: TypeAlias = Callable[[str, int], Sequence[str]]

# Printable ASCII without what browsers and servers read differently: blanks, quotes, backslashes, braces.
_PLAIN = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.?")

_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = IPv6Network("::/96")
# What the library of some versions of Python takes for public, and nobody should be told of anything at.
_SPECIAL: tuple[Network, ...] = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A URL, taken apart."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """Host and port as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


class Refused(InvalidRequest):
    """An address that notices may not go to."""


class Allowed:
    """What the settings allow beside public https addresses: hosts, `*.domain`, addresses and networks."""

    def __init__(self, listed: Iterable[str] = (), *, ports: Iterable[int] = (443, 8443)) -> None:
        self._names: set[str] = set()
        self._domains: list[str] = []
        self._networks: list[Network] = []
        self.ports = frozenset(ports)
        for each in listed:
            self._add(each)

    def _add(self, text: str) -> None:
        try:
            self._networks.append(ip_network(text))
        except ValueError:
            name = text.lower().rstrip(".")
            if name.startswith("*."):
                self._domains.append(name[1:])
            else:
                self._names.add(name)

    def is_named(self, host: str) -> bool:
        """Whether somebody vouched for this host by its name."""
        name = host.lower().rstrip(".")
        return name in self._names or any(name.endswith(domain) for domain in self._domains)

    def has(self, address: Address) -> bool:
        """Whether somebody vouched for this address."""
        return any(address in each for each in self._networks if each.version == address.version)

    def has_written(self, host: str) -> bool:
        """Whether a host is written as an address that somebody vouched for."""
        try:
            return self.has(ip_address(host))
        except ValueError:
            return False


def parse_url(url: str) -> Target:
    """The parts of an address that a person gave; refused with a sentence that does not repeat all of it."""
    if len(url) > URL_CHARS_MAX:
        raise Refused(f"the url is longer than {URL_CHARS_MAX} characters")
    if not _PLAIN.fullmatch(url):
        raise Refused(
            "the url must be plain ASCII without blanks; write other letters as %XX or xn--"
        )
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError as error:
        raise Refused(f"the url cannot be read: {error}") from None
    if scheme not in PORTS or not host:
        raise Refused("the url must begin with https:// (or http://) and name a host")
    if "@" in parts.netloc:
        raise Refused("the url must hold no login: notices are signed instead")
    if parts.fragment or "#" in url:
        raise Refused("the url must have no fragment (#…): a server never sees it")
    is_name = _NAME.fullmatch(host) is not None and "[" not in parts.netloc
    if not (is_name or _is_address(host)):
        raise Refused("the url names no host that could be looked up")
    if port == 0:
        raise Refused("the url names port 0")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme=scheme, host=host, port=port or PORTS[scheme], path=path)


def check_target(target: Target, allowed: Allowed) -> None:
    """Refuse what needs no look-up to be refused: plain http, odd ports, addresses that are not public."""
    if allowed.is_named(target.host) or allowed.has_written(target.host):
        return
    how = f"or add {target.host} to notifications.webhook_allow"
    if target.scheme != "https":
        raise Refused(f"notices go out by https only; use https, {how}")
    if target.port not in allowed.ports:
        raise Refused(
            f"notices do not go to port {target.port}; add it to notifications.webhook_ports, {how}"
        )
    if _is_address(target.host):
        _check_address(ip_address(target.host), target, allowed)


def resolved(target: Target, allowed: Allowed, lookup: Lookup) -> list[str]:
    """The addresses that a connection may be made to: all that the name has now, each of them checked."""
    check_target(target, allowed)
    try:
        found = list(dict.fromkeys(lookup(target.host, target.port)))
    except (OSError, UnicodeError) as error:
        raise OSError(f"{target.host} cannot be looked up: {error}") from error
    if not found:
        raise OSError(f"{target.host} has no address")
    if not allowed.is_named(target.host):
        for each in found:
            _check_address(ip_address(each), target, allowed)
    return found[:ADDRESSES_MAX]


def look_up(host: str, port: int) -> list[str]:
    """What the resolver of this machine says; a zone (`%eth0`) is part of no public address."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[4][0]).partition("%")[0] for address in found]


def is_public(address: Address) -> bool:
    """Whether an address is public unicast, whatever it is wrapped in."""
    inner = _unwrapped(address)
    if inner != address:
        return is_public(inner)
    if any(address in each for each in _SPECIAL if each.version == address.version):
        return False
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
    )


def _unwrapped(address: Address) -> Address:
    """The address that packets really go to: IPv6 has five ways to write an IPv4 one."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    is_wrapped = any(address in each for each in _NAT64) or address in _COMPATIBLE
    return IPv4Address(int(address) & 0xFFFF_FFFF) if is_wrapped else address


def _check_address(address: Address, target: Target, allowed: Allowed) -> None:
    if not (is_public(address) or allowed.has(address)):
        raise Refused(
            f"{target.host} is {address}, which is not a public address; if it is meant, add {target.host} "
            "to notifications.webhook_allow"
        )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
