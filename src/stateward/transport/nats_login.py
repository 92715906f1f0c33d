"""What the URL of a NATS says: its servers, how they are reached, and who a connection says it is.

    nats://user:password@host:4222,other:4222?tlsca=/etc/nats/ca.pem&creds=/etc/nats/worker.creds

The names after the `?` are those of the flags of the `nats` command. Files are read for each connection, so that what
replaced them counts from the next one on. Nothing is sent from this module.
"""

import base64
import re
import ssl
from binascii import crc_hqx
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.extras import missing_extra

PORT = 4222
FORMS = {
    "tlsca": "the certificate of an authority: write tlsca=/etc/nats/ca.pem",
    "tlscert": "the certificate of this client: write tlscert=/etc/nats/me.pem",
    "tlskey": "the key of the certificate of this client: write tlskey=/etc/nats/me.key",
    "tlsfirst": "1 where TLS comes before the first line, or 0: write tlsfirst=1",
    "creds": "a credentials file: write creds=/etc/nats/worker.creds",
    "nkey": "a file with the seed of an nkey: write nkey=/etc/nats/worker.nk",
    "inbox_prefix": "what subjects of answers begin with: write inbox-prefix=_INBOX_ocr",
    "js_domain": "the name of a JetStream domain: write js-domain=hub",
    "replicas": "the number of servers that keep a stream, 1 to 5: write replicas=3",
}
ENCODED = (
    "a NATS URL has an @ after its servers: percent-encode it as %40, "
    "and in a password or token / as %2F, ? as %3F and # as %23"
)
SERVERS_FORM = "a NATS URL names its servers as nats://host:4222,other:4222"
SEED_BYTES = 36  # two of prefix, 32 of key, two of checksum
SEED_PREFIX = 18 << 3  # the letter S
REPLICAS = ("1", "2", "3", "4", "5")
FLAGS = {"1": True, "true": True, "0": False, "false": False}
_PART = re.compile(
    r"-+BEGIN (NATS USER JWT|USER NKEY SEED)-+\s+(\S+)\s+-+END (?:NATS USER JWT|USER NKEY SEED)-+"
)


class NatsLoginError(OSError):
    """A file that a login needs cannot be used now; it may be the next time."""


class NatsUrl(msgspec.Struct, frozen=True, kw_only=True):
    """A URL, taken apart. `user` alone is a token."""

    servers: tuple[tuple[str, int], ...]
    is_tls: bool
    user: str | None = None
    password: str | None = None
    tlsca: str | None = None
    tlscert: str | None = None
    tlskey: str | None = None
    tlsfirst: bool = False
    creds: str | None = None
    nkey: str | None = None
    inbox_prefix: str = "_INBOX"
    js_domain: str | None = None
    replicas: int = 1

    @property
    def login(self) -> dict[str, str]:
        """What a server is told that asks for no signature."""
        if self.user is None or self.creds or self.nkey:
            return {}
        if self.password is None:
            return {"auth_token": self.user}
        return {"user": self.user, "pass": self.password}

    def sign(self, nonce: str) -> dict[str, str]:
        """What a server is told that has sent a nonce: who this is, and the nonce signed with the key of that."""
        if self.creds:
            parts = dict(_PART.findall(_read(self.creds, "creds")))
            if len(parts) < 2:
                raise NatsLoginError(
                    f"{self.creds} is no credentials file of NATS: it has no JWT or no seed"
                )
            _, signature = _sign(parts["USER NKEY SEED"], nonce, self.creds)
            return {"jwt": parts["NATS USER JWT"], "sig": signature}
        if self.nkey:
            public, signature = _sign(_read(self.nkey, "nkey").strip(), nonce, self.nkey)
            return {"nkey": public, "sig": signature}
        return {}

    def tls_context(self) -> ssl.SSLContext:
        """What checks the server, and shows it the certificate of this client if there is one."""
        try:
            context = ssl.create_default_context(cafile=self.tlsca)
            if self.tlscert:
                context.load_cert_chain(self.tlscert, self.tlskey)
        except (OSError, ssl.SSLError) as error:
            named = ", ".join(each for each in (self.tlsca, self.tlscert, self.tlskey) if each)
            raise NatsLoginError(f"no TLS with the files {named}: {error}") from error
        return context


def parse_nats_url(url: str) -> NatsUrl:
    """Take a URL apart; raises InvalidRequest if it says what is not known here."""
    parts = urlsplit(url)
    login, _, hosts = parts.netloc.rpartition("@")
    user, colon, password = login.partition(":")
    if "@" in parts.path + parts.query + parts.fragment:
        raise InvalidRequest(ENCODED)  # most likely it ends a login that is not encoded
    given: dict[str, Any] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        field = name.replace("-", "_")
        if field not in FORMS:
            known = ", ".join(each.replace("_", "-") for each in FORMS)
            raise InvalidRequest(f"{name} is no option of a NATS URL; there are {known}")
        given[field] = _value(field, value)
    if parts.path.strip("/"):
        raise InvalidRequest(SERVERS_FORM)
    found = NatsUrl(
        servers=tuple(map(_server, hosts.split(","))),
        is_tls=parts.scheme == "tls"
        or any(value for name, value in given.items() if name.startswith("tls")),
        user=unquote(user) if login else None,
        password=unquote(password) if colon else None,
        **given,
    )
    if bool(found.tlskey) > bool(found.tlscert):
        raise InvalidRequest("tlskey is the key of a certificate: name that too, with tlscert")
    if found.creds or found.nkey:
        _ed25519()
    return found


def _value(field: str, value: str) -> str | bool | int:
    if field == "tlsfirst" and value in FLAGS:
        return FLAGS[value]
    if field == "replicas" and value in REPLICAS:
        return int(value)
    if not value or field in ("tlsfirst", "replicas"):
        name = field.replace("_", "-")
        raise InvalidRequest(f"{name}={value} in a NATS URL: {name} is {FORMS[field]}")
    return value


def _server(host: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{host}")
        if parts.hostname:
            return parts.hostname, parts.port or PORT
    except ValueError:
        pass
    raise InvalidRequest(SERVERS_FORM)


def _read(path: str, option: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise NatsLoginError(f"{option}: {path} cannot be read ({type(error).__name__})") from None


def _sign(seed: str, nonce: str, path: str) -> tuple[str, str]:
    """The public key of a seed, and a nonce signed with it. The seed is never shown."""
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except ValueError:
        raw = b""
    is_seed = len(raw) == SEED_BYTES and raw[0] & 0xF8 == SEED_PREFIX
    if not is_seed or crc_hqx(raw[:-2], 0) != int.from_bytes(raw[-2:], "little"):
        raise NatsLoginError(f"{path} holds no seed of an nkey, which begins with SU") from None
    key = _ed25519().Ed25519PrivateKey.from_private_bytes(raw[2:-2])
    body = bytes([(raw[0] & 7) << 5 | raw[1] >> 3]) + key.public_key().public_bytes_raw()
    public = base64.b32encode(body + crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")
    return public, base64.urlsafe_b64encode(key.sign(nonce.encode())).decode().rstrip("=")


def _ed25519() -> Any:  # noqa: ANN401 - the package may not be there
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise missing_extra(error) or error from error
    return ed25519
