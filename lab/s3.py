"""An S3 server in memory, for tests: objects, conditional puts, ranges, uploads in parts, and faults on demand.

It knows the part of the protocol that Stateward uses, checks the name of the key but no signature, and listens on the
loopback address alone. Whatever it is told by `faults` it does to the next request that fits: answer 500, cut the
answer off in the middle, or wait. It must never be used for anything but tests.
"""

import re
import socket
import time
from collections.abc import Callable
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Literal, Self, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

import msgspec

ACCESS_KEY = "test-key"
SECRET_KEY = "test-secret"  # noqa: S105 - of a server in memory

HELD_S_MAX = 60.0
# What a process must have in its environment to be let in.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_REGION": "us-east-1",
}

FaultKind: TypeAlias = Literal["fail", "deny", "cut", "slow", "drop", "held"]


class S3Fault(msgspec.Struct, kw_only=True):
    """What happens to the next `times` requests with this method: 500, cut in the middle, late, dropped, or held.

    What is held is answered when `S3Server.release` is set. A deletion (POST) can also be denied.
    """

    kind: FaultKind
    method: str = "GET"
    times: int = 1
    after: int = 0
    """How many requests with this method go well before."""
    seconds: float = 0.0


class S3Server:
    """A server with some buckets. A context: it stops at its end."""

    def __init__(self, *buckets: str) -> None:
        self.objects: dict[str, dict[str, bytes]] = {name: {} for name in buckets or ("documents",)}
        self.uploads: dict[str, tuple[str, str, dict[int, bytes]]] = {}
        """Unfinished uploads by id: bucket, key, and the parts by number."""
        self.began: dict[str, float] = {}
        self.requests: list[tuple[str, str]] = []
        self.faults: list[S3Fault] = []
        self.release = Event()
        self._lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fault_for(self, method: str) -> S3Fault | None:
        """The fault that this request meets."""
        with self._lock:
            for fault in self.faults:
                if fault.method != method or fault.times <= 0:
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that went away is nothing to report."""


def _handler(s3: S3Server) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"s3": s3})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    s3: S3Server

    def handle_one_request(self) -> None:
        self._fault: S3Fault | None = None
        super().handle_one_request()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._begin(self._get)

    def do_HEAD(self) -> None:
        self._begin(self._get)

    def do_PUT(self) -> None:
        self._begin(self._put)

    def do_POST(self) -> None:
        self._begin(self._post)

    def do_DELETE(self) -> None:
        self._begin(self._delete)

    def _begin(self, act: Callable[[], None]) -> None:
        parts = urlsplit(self.path)
        self.bucket, _, self.key = unquote(parts.path).lstrip("/").partition("/")
        self.query = {
            name: value[0] for name, value in parse_qs(parts.query, keep_blank_values=True).items()
        }
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.s3.requests.append((self.command, self.path))
        self._fault = self.s3.fault_for(self.command)
        if self._fault is not None and self._fault.kind == "slow":
            time.sleep(self._fault.seconds)
        if self._fault is not None and self._fault.kind == "held":
            self.s3.release.wait(HELD_S_MAX)
        if self._fault is not None and self._fault.kind == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif self._fault is not None and self._fault.kind == "fail":
            self._error(500, "InternalError")
        elif not self._is_allowed():
            self._error(403, "InvalidAccessKeyId")
        elif self.bucket not in self.s3.objects:
            self._error(404, "NoSuchBucket")
        else:
            act()

    def _is_allowed(self) -> bool:
        said = self.headers.get("Authorization") or self.query.get("X-Amz-Credential", "")
        return f"{ACCESS_KEY}/" in said

    def _get(self) -> None:
        objects = self.s3.objects[self.bucket]
        if not self.key and "uploads" in self.query:
            self._list_uploads()
        elif not self.key:
            self._list()
        elif self.key not in objects:
            self._error(404, "NoSuchKey")
        else:
            data = objects[self.key]
            found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
            if found is None:
                self._answer(200, data, ETag=_tag(data))
                return
            first, last = int(found[1]), min(int(found[2] or len(data) - 1), len(data) - 1)
            where = f"bytes {first}-{last}/{len(data)}"
            self._answer(206, data[first : last + 1], ETag=_tag(data), **{"Content-Range": where})

    def _list(self) -> None:
        prefix = self.query.get("prefix", "")
        found = sorted(self.s3.objects[self.bucket].items())
        lines = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{escape(_tag(data))}</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, data in found
            if key.startswith(prefix)
        )
        self._xml("ListBucketResult", f"<IsTruncated>false</IsTruncated>{lines}")

    def _list_uploads(self) -> None:
        prefix = self.query.get("prefix", "")
        lines = "".join(
            f"<Upload><Key>{escape(key)}</Key><UploadId>{upload}</UploadId><Initiated>"
            f"{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(self.s3.began[upload]))}</Initiated></Upload>"
            for upload, (bucket, key, _) in self.s3.uploads.items()
            if bucket == self.bucket and key.startswith(prefix)
        )
        self._xml("ListMultipartUploadsResult", f"<IsTruncated>false</IsTruncated>{lines}")

    def _put(self) -> None:
        if upload := self.query.get("uploadId"):
            self.s3.uploads[upload][2][int(self.query["partNumber"])] = self.body
        else:
            with self.s3._lock:
                if self.headers.get("If-None-Match") == "*" and self.key in self._objects:
                    self._error(412, "PreconditionFailed")
                    return
                self._objects[self.key] = self.body
        self._answer(200, b"", ETag=_tag(self.body))

    def _post(self) -> None:
        if "uploads" in self.query:
            upload = f"upload-{len(self.s3.requests)}"
            self.s3.uploads[upload] = (self.bucket, self.key, {})
            self.s3.began[upload] = time.time()
            self._xml("InitiateMultipartUploadResult", f"<UploadId>{upload}</UploadId>")
            return
        if "delete" in self.query:
            keys = [unescape(each) for each in re.findall(r"<Key>(.*?)</Key>", self.body.decode())]
            if self._fault is not None and self._fault.kind == "deny":
                said = "<Code>AccessDenied</Code><Message>Access Denied</Message>"
                denied = "".join(f"<Error><Key>{escape(each)}</Key>{said}</Error>" for each in keys)
                self._xml("DeleteResult", denied)
                return
            for each in keys:
                self._objects.pop(each, None)
            gone = "".join(f"<Deleted><Key>{escape(each)}</Key></Deleted>" for each in keys)
            self._xml("DeleteResult", gone)
            return
        upload = self.query["uploadId"]
        _, key, parts = self.s3.uploads.pop(upload)
        numbers = [int(each) for each in re.findall(r"<PartNumber>(\d+)<", self.body.decode())]
        data = self._objects[key] = b"".join(parts[number] for number in numbers)
        self._xml(
            "CompleteMultipartUploadResult",
            f"<Bucket>{self.bucket}</Bucket><Key>{escape(key)}</Key><ETag>{escape(_tag(data))}</ETag>",
        )

    def _delete(self) -> None:
        if upload := self.query.get("uploadId"):
            if self.s3.uploads.pop(upload, None) is None:
                self._error(404, "NoSuchUpload")
                return
        else:
            self._objects.pop(self.key, None)
        self._answer(204, b"")

    @property
    def _objects(self) -> dict[str, bytes]:
        return self.s3.objects[self.bucket]

    def _xml(self, name: str, inner: str) -> None:
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        self._answer(200, f'<{name} xmlns="{space}">{inner}</{name}>'.encode())

    def _error(self, status: int, code: str) -> None:
        self._answer(
            status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        )

    def _answer(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self._fault is not None and self._fault.kind == "cut":
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.wfile.write(data)


def _tag(data: bytes) -> str:
    return f'"{md5(data, usedforsecurity=False).hexdigest()}"'
