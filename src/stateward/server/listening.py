"""Where the HTTP API listens: the socket, and which addresses are refused.

It is apart from the server, whose code takes longer to load than a process takes to begin its work.
"""

import ipaddress
import socket

from stateward.core.errors import InvalidRequest
from stateward.settings import Settings
from stateward.settings.server import ApiSettings

BACKLOG = 2048
# What the kernel takes of an answer before its client has read what came before. By itself it takes megabytes, for
# every client that reads none: copying them costs the time in which others would be answered.
UNSENT_BYTES_MAX = 128 << 10
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host in LOOPBACK or host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(settings: Settings, *, has_key: bool) -> None:
    """Refuse to listen where others could reach a service that asks for no key."""
    own = settings.api
    if own.behind_tls_proxy and not has_key:
        raise InvalidRequest(
            "without a key the service is for this machine alone, and with api.behind_tls_proxy others come in by a "
            "proxy: make one with `stateward key create NAME --role admin`, then start again"
        )
    if is_loopback(own.host):
        return
    if not has_key:
        raise InvalidRequest(
            f"without a key the service listens at loopback only, not at {own.host}: "
            "make one with `stateward key create NAME --role admin`, then start again"
        )
    if own.tls_certificate is None and not own.behind_tls_proxy:
        raise InvalidRequest(
            f"keys must not cross a network in the open: to listen at {own.host}, name api.tls_certificate and "
            "api.tls_key, or say api.behind_tls_proxy: true if a proxy speaks TLS in front of it"
        )


def listening(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say: connections wait in it until they are accepted."""
    own = settings.api
    _check_certificate(own)
    try:
        family, _, _, _, address = socket.getaddrinfo(
            own.host, own.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With its protocol named, so that asyncio knows it for TCP and lets no answer wait for more (TCP_NODELAY).
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections take it over from the socket that accepts them.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        raise InvalidRequest(
            f"cannot listen at {own.host} port {own.port} ({error.strerror or error}); "
            "name another with --port or api.port"
        ) from error
    return listening


def _check_certificate(own: ApiSettings) -> None:
    """Refuse a certificate that cannot be read, which would otherwise be found by the server, again and again."""
    if own.tls_certificate is None:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(own.tls_certificate, own.tls_key)
    except OSError as error:
        raise InvalidRequest(
            f"cannot speak TLS with the certificate {own.tls_certificate} and the key {own.tls_key}: "
            f"{error.strerror or error}; see api.tls_certificate and api.tls_key"
        ) from error


def url_of(settings: Settings, listening: socket.socket) -> str:
    """Where a socket listens."""
    scheme = "https" if settings.api.tls_certificate else "http"
    host, port = listening.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
