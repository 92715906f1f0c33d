"""An authority for time stamps on this machine: OpenSSL's, behind HTTP."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CONFIGURATION = """
[tsa]
default_tsa = own
[own]
serial = serial
default_policy = 1.2.3.4
digests = sha256
signer_digest = sha256
"""


class Authority(NamedTuple):
    """Where it is, what vouches for it, and another root that does not."""

    url: str
    roots: Path
    strangers: Path


@contextmanager
def timestamp_authority(folder: Path) -> Iterator[Authority]:
    """An authority that stamps what is posted to it; at `/broken` it answers nonsense, at `/away` 503."""
    program = shutil.which("openssl") or pytest.skip("openssl is not installed")
    folder.mkdir()
    _make_keys(folder)
    reply = [program, "ts", "-reply", "-queryfile", "query", "-signer", "tsa.pem"]
    reply += ["-inkey", "tsa.key", "-config", "tsa.cnf"]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (folder / "query").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            made = subprocess.run(reply, cwd=folder, capture_output=True, check=True).stdout
            self.send_response(503 if self.path == "/away" else 200)
            self.end_headers()
            self.wfile.write(made[:-9] if self.path == "/broken" else made)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            yield Authority(url, folder / "root.pem", folder / "stranger.pem")
        finally:
            server.shutdown()
            thread.join()


def _make_keys(folder: Path) -> None:
    root, own, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    stamps = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    files = {
        "root.pem": _certificate("root", root, root, x509.BasicConstraints(True, None)),
        "stranger.pem": _certificate("root", other, other, x509.BasicConstraints(True, None)),
        "tsa.pem": _certificate("authority", own, root, stamps),
    }
    for name, certificate in files.items():
        (folder / name).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    secret = own.private_bytes(serialization.Encoding.PEM, form, plain)
    (folder / "tsa.key").write_bytes(secret)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(CONFIGURATION)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    purpose: x509.ExtensionType,
) -> x509.Certificate:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        subject_name=named(name),
        issuer_name=named("root"),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=1),
    )
    return builder.add_extension(purpose, critical=True).sign(signer, hashes.SHA256())
