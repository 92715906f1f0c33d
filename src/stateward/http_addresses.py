"""Which addresses may be connected to: protection against server-side request forgery (SSRF).

A URL that a user wrote is parsed once. What its name points to can change at any moment, so the name is resolved for
each connection, every address found must be allowed, and the connection is made to one of these very addresses (see
`http_client.post`): they cannot be exchanged between the check and the use.

Allowed are public unicast addresses. Everything else (loopback, private, link-local and metadata addresses, also where
they hide in IPv6) needs an entry in the setting that the `Purpose` names.
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
ADDRESSES_MAX = 16  # of one name; each costs a connection attempt within the same timeout
PORTS = {"http": 80, "https": 443}

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network
Lookup: TypeAlias = Callable[[str, int], Sequence[str]]

# Printable ASCII without the characters that browsers and servers interpret differently: blanks, quotes,
# backslashes, braces. Two parsers that disagree about the host are the classic way around a check like this one.
_PLAIN_URL = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.?")

_GLOBAL_V6 = IPv6Network("2000::/3")  # all that is assigned for public unicast
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_IPV4_COMPATIBLE = IPv6Network("::/96")
# Reserved by RFC 6890 and its successors, but global to `ipaddress` in some versions of Python.
_SPECIAL: tuple[IpNetwork, ...] = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip


class AddressRefused(InvalidRequest):
    """An address that may not be connected to."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a URL that matter for the check."""

    scheme: str
    host: str
    port: int


class Purpose(msgspec.Struct, frozen=True, kw_only=True):
    """What connections are made for, in the words of a refusal, and the settings that allow more."""

    what: str
    allow_setting: str
    ports_setting: str = ""
    is_plain_http_allowed: bool = False


WEBHOOKS = Purpose(
    what="webhooks are sent",
    allow_setting="notifications.webhook_allow",
    ports_setting="notifications.webhook_ports",
)


class AllowedHosts:
    """What the settings allow besides public https addresses: hosts, `*.domain`, addresses and networks."""

    def __init__(
        self,
        listed: Iterable[str] = (),
        *,
        ports: Iterable[int] = (443, 8443),
        purpose: Purpose = WEBHOOKS,
    ) -> None:
        self.purpose = purpose
        self._names: set[str] = set()
        self._domains: list[str] = []
        self._networks: list[IpNetwork] = []
        self.ports = frozenset(ports)
        for text in listed:
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                name = text.lower().rstrip(".")
                if name.startswith("*."):
                    self._domains.append(name[1:])
                else:
                    self._names.add(name)

    def has_name(self, host: str) -> bool:
        """Whether the host is listed by its name."""
        name = host.lower().rstrip(".")
        return name in self._names or any(name.endswith(domain) for domain in self._domains)

    def has_address(self, address: IpAddress) -> bool:
        """Whether the address is listed."""
        return any(address in each for each in self._networks if each.version == address.version)


def parse_url(url: str) -> Target:
    """The parts of a URL that a user gave; refused with a sentence that does not repeat all of it."""
    if len(url) > URL_CHARS_MAX:
        raise AddressRefused(f"the url is longer than {URL_CHARS_MAX} characters")
    if not _PLAIN_URL.fullmatch(url):
        raise AddressRefused(
            "the url must be plain ASCII without blanks; write other characters as %XX or xn--"
        )
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError as error:
        raise AddressRefused(f"the url cannot be read: {error}") from None
    if scheme not in PORTS or not host:
        raise AddressRefused("the url must begin with https:// (or http://) and name a host")
    if "@" in parts.netloc:
        raise AddressRefused("the url must not contain a login: it would be kept and shown with it")
    if parts.fragment or "#" in url:
        raise AddressRefused("the url must have no fragment (#…): a server never sees it")
    is_name = _HOST_NAME.fullmatch(host) is not None and "[" not in parts.netloc
    if not is_name and _as_address(host) is None:
        raise AddressRefused("the url names no host that could be looked up")
    if port == 0:
        raise AddressRefused("the url names port 0")
    return Target(scheme=scheme, host=host, port=port or PORTS[scheme])


def check_target(target: Target, allowed: AllowedHosts) -> None:
    """Refuse what can be refused without a lookup: plain http, other ports, addresses that are not public."""
    address = _as_address(target.host)
    if allowed.has_name(target.host) or (address is not None and allowed.has_address(address)):
        return
    purpose = allowed.purpose
    advice = f"or add {target.host} to {purpose.allow_setting}"
    if target.scheme != "https" and not purpose.is_plain_http_allowed:
        raise AddressRefused(f"{purpose.what} by https only; use https, {advice}")
    if target.port not in allowed.ports:
        ports = f"; add it to {purpose.ports_setting}," if purpose.ports_setting else ";"
        raise AddressRefused(
            f"{purpose.what.replace(' are ', ' are not ')} to port {target.port}{ports} {advice}"
        )
    if address is not None:
        _check_address(address, target, allowed)


def resolve(target: Target, allowed: AllowedHosts, lookup: Lookup) -> list[str]:
    """The addresses that a connection may be made to: all that the name has now, each of them checked."""
    check_target(target, allowed)
    try:
        found = list(dict.fromkeys(lookup(target.host, target.port)))
    except (OSError, UnicodeError) as error:
        raise OSError(f"{target.host} cannot be looked up: {error}") from error
    if not found:
        raise OSError(f"{target.host} has no address")
    if not allowed.has_name(target.host):
        # All, not only the first: otherwise a name with a public and a private address would pass by chance.
        for each in found:
            _check_address(ip_address(each), target, allowed)
    return found[:ADDRESSES_MAX]


def look_up(host: str, port: int) -> list[str]:
    """What the resolver of this machine says; a zone (`%eth0`) is part of no public address."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[4][0]).partition("%")[0] for address in found]


def is_public(address: IpAddress) -> bool:
    """Whether an address is public unicast, whatever it is embedded in."""
    inner = _embedded_ipv4(address)
    if inner is not None:
        return is_public(inner)
    if any(address in each for each in _SPECIAL if each.version == address.version):
        return False
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
    )


def _embedded_ipv4(address: IpAddress) -> IPv4Address | None:
    """The IPv4 address that packets really go to: IPv6 has five ways to write one."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    is_embedded = any(address in each for each in _NAT64) or address in _IPV4_COMPATIBLE
    return IPv4Address(int(address) & 0xFFFF_FFFF) if is_embedded else None


def _check_address(address: IpAddress, target: Target, allowed: AllowedHosts) -> None:
    if not (is_public(address) or allowed.has_address(address)):
        raise AddressRefused(
            f"{target.host} is {address}, which is not a public address; if it is meant, add {target.host} "
            f"to {allowed.purpose.allow_setting}"
        )


def _as_address(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
