"""Artifacts in object storage: S3 and what speaks its protocol, Google Cloud Storage, Azure.

    <bucket>/<prefix>/<first 2 hex>/<sha256>   complete; never changed
    <bucket>/<prefix>/announced/<sha256>-…     whose bytes are about to come; empty (`Folder`)
    <cache>/incoming/<random>                  being received, or being fetched, on this machine
    <cache>/<first 2 hex>/<sha256>             a copy on this machine; may be removed at any time

The names are those of `Folder`, so a folder becomes a bucket by copying it. Object storage cannot rename, and the name
of an artifact is known only when its last byte has come: so bytes are received into a file here, hashed on the way,
and then sent in parts to the name that they have. A document that is refused, cut off or too large was never sent, and
no second copy of an object is ever needed. See docs/decisions/0028.

A reader gets a file of this machine, because runners read files. Its bytes are hashed against their name, both
when they come from the bucket and when the copy here is used again: a copy that does not match is fetched anew, an
object that does not match is `ArtifactChanged`. Nothing here lists the bucket but `digests` and `announced`.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stateward.blobs.folder import (
    ANNOUNCED,
    HEX_CHARS,
    Announcement,
    Folder,
    Incoming,
    Receiving,
    announcement_name,
    announcements,
    remove_unused,
)
from stateward.core.errors import ArtifactChanged, ArtifactError, ArtifactsUnreachable
from stateward.extras import missing_extra

if TYPE_CHECKING:
    from obstore.store import ObjectStore

ONE_REFUSED = (
    "request failed for key"  # what obstore says where S3 refuses one of the keys to delete
)
SCHEMES = ("s3", "gs", "az")
# One request each: below this a document is stored in one conditional put. S3 takes 10,000 parts of an upload.
PART_BYTES = 8 << 20
PARTS_AT_ONCE = 4  # with PART_BYTES this is the memory that a transfer takes
PARTS_MAX = 10_000
# Of a part that was cut off in the middle; failed requests are repeated by the client itself.
READ_TRIES_MAX = 3
RETRIES_MAX = 4
CONNECT_S = 5.0
# A copy that was used so shortly before the newest one is not removed: its reader may not have opened it yet.
CACHE_REST_S = 600.0
PROBE = "doctor"
UNLIMITED = 1 << 62
SAID_CHARS_MAX = 300
NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
UNREACHABLE = "it cannot be reached, or fails"
# A browser that is sent to the bucket must save what it gets, whatever it is: nothing cages it there.
ATTRIBUTES = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}


class ObjectOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach object storage. Credentials come from the environment, as the libraries of the vendors read it."""

    url: str
    endpoint: str | None = None
    region: str | None = None
    timeout_s: float = 30.0
    link_s: float = 0.0
    cache_bytes_max: int = 10 << 30
    part_bytes: int = PART_BYTES


def check_client() -> None:
    """Raise MissingExtra where the library that speaks to buckets is not installed."""
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise (missing_extra(error) or error) from error


class ObjectStorage(Receiving):
    """Artifacts in a bucket, with copies of those that were used last in a folder of this machine."""

    def __init__(self, options: ObjectOptions, cache: Path) -> None:
        self._options = options
        self._cache = Folder(cache)
        self._cache_root = cache
        self._added = 0  # bytes since the cache was last looked at

    is_local = False

    @property
    def location(self) -> str:
        """The URL of the bucket and prefix."""
        return self._options.url

    def receive(self, *, bytes_max: int) -> Incoming:
        """Start to receive bytes that come piece by piece; nothing is sent before the last has come."""
        return self._cache.receive(bytes_max=bytes_max, keeper=self)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raise errors of this machine's disk as `StoreFull`; those of the network have their own kind already."""
        with self._cache.writing():
            yield

    def adopt(self, incoming: str, digest: str) -> bool:
        """Send a complete file to its name, and leave a copy of it here; whether these bytes are new."""
        path = Path(incoming)
        size = path.stat().st_size
        is_new = self._send(path, self._key(digest), size=size)
        self._cache.adopt(incoming, digest)
        self._note(size)
        return is_new

    def path(self, digest: str) -> Path:
        """The copy of an artifact on this machine, fetched if there is none."""
        place = self._cache.place(digest)
        try:
            os.utime(place)  # its time is that of its last use, which `_trim` goes by
        except FileNotFoundError:
            return self._fetch(digest)
        return place

    def checked_path(self, digest: str) -> Path:
        """The same, hashed now. A copy that was damaged on this machine is fetched anew."""
        path = self.path(digest)
        with suppress(ArtifactError):
            if self._cache.verify(digest):
                return path
        path.unlink(missing_ok=True)
        return self._fetch(digest)

    def put_copy(self, digest: str, data: bytes) -> bool:
        """Write a copy on this machine; the bucket is not asked."""
        self._note(len(data))
        return self._cache.put_copy(digest, data)

    def drop_copy(self, digest: str) -> None:
        """Remove the copy on this machine, if there is one."""
        self._cache.remove(digest)

    def has_copy(self, digest: str) -> bool:
        """Whether there is a copy on this machine."""
        return self._cache.holds(digest)

    def pieces(self, digest: str) -> Iterator[bytes]:
        """The bytes of the object, a part at a time; no copy is left here."""
        return self._read(digest)

    def holds(self, digest: str) -> bool:
        """Whether the bucket has it."""
        return self._size(self._key(digest)) is not None

    def remove(self, digest: str) -> bool:
        """Delete an artifact that nothing names any more, here and in the bucket; whether it was there."""
        import obstore
        from obstore.exceptions import GenericError, PermissionDeniedError

        self._cache.remove(digest)
        if not self.holds(digest):
            return False
        with self._asking():
            try:
                obstore.delete(self._store, self._key(digest))
            except (PermissionDeniedError, GenericError) as error:
                # Both are about this one object: the bucket has just said that it is there.
                if isinstance(error, GenericError) and ONE_REFUSED not in str(error):
                    raise
                raise ArtifactError(
                    f"{self.location} does not allow to delete {digest}: {said_by(error)}"
                ) from error
        return True

    def settle_removed(self, digests: Iterable[str]) -> None:
        """A bucket answers when it is done; copies here go the same way."""
        self._cache.settle_removed(
            each for each in digests if self._cache.place(each).parent.is_dir()
        )

    def digests(self) -> Iterator[str]:
        """The hashes of all artifacts. Lists the bucket: only for restoring and for checks."""
        import obstore

        with self._asking():
            for page in obstore.list(self._store):
                names = (each["path"].rpartition("/")[2] for each in page)
                yield from (name for name in names if len(name) == HEX_CHARS)

    def verify(self, digest: str) -> bool:
        """Whether the object still has the hash that is its name. It is read whole; a copy here proves nothing."""
        actual = sha256()
        for piece in self._read(digest):
            actual.update(piece)
        return actual.hexdigest() == digest

    def sweep(self, *, older_than: float) -> int:
        """Remove what a crash left of receiving and fetching on this machine, and copies beyond the limit.

        Copies that were last used before that moment go as well: what they are of may have been erased elsewhere.
        """
        gone = remove_unused(self._cache_root, older_than=older_than)
        self._trim()
        return gone + self._cache.sweep(older_than=older_than)

    def link(self, digest: str) -> str | None:
        """An address that the object can be downloaded from for `link_s`; None where the settings want none."""
        if not self._options.link_s:
            return None
        import obstore

        with self._asking():
            wait = timedelta(seconds=self._options.link_s)
            return obstore.sign(self._signer, "GET", self._key(digest), wait)

    def announce(self, record_id: str, digests: Sequence[str]) -> None:
        """Write an empty object for each."""
        for digest in digests:
            self.put_named(f"{ANNOUNCED}/{announcement_name(record_id, digest)}", b"")

    def announced(self, *, limit: int) -> list[Announcement]:
        """By the names of these objects."""
        import obstore

        with self._asking():
            pages = obstore.list(self._store, ANNOUNCED)
            names = (each["path"].rpartition("/")[2] for page in pages for each in page)
            return list(islice(announcements(names), limit))

    def forget_announced(self, found: Sequence[Announcement]) -> None:
        """Delete the objects."""
        import obstore

        with self._asking():
            for each in found:
                obstore.delete(self._store, f"{ANNOUNCED}/{announcement_name(*each)}")

    def put_named(self, name: str, content: bytes) -> None:
        """Write a small object that is no artifact, under a name of its own; it replaces one of that name."""
        import obstore

        with self._asking():
            obstore.put(self._store, name, content)

    def check(self, content: bytes) -> float:
        """Write a small object, read it back, and return how many seconds that took; for `doctor`.

        The content must be another one each time, so that an old object is not taken for the new one.
        """
        import obstore

        start = time.monotonic()
        with self._asking():
            obstore.put(self._store, PROBE, content)
            found = bytes(obstore.get(self._store, PROBE).bytes())
        if found != content:
            raise ArtifactsUnreachable(
                f"{self.location} did not return what was just written to it"
            )
        return time.monotonic() - start

    # Sending and fetching

    def _send(self, path: Path, key: str, *, size: int) -> bool:
        """Store a file under a key that is free; False if there is an object of that name, which then stays.

        A large one is sent in parts, and its last request cannot be made conditional by the client library. Two that
        send the same large document at the same time then both write the same bytes.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._asking():
            if size <= self._options.part_bytes:
                try:
                    content = path.read_bytes()
                    obstore.put(self._store, key, content, mode="create", attributes=_attributes())
                except AlreadyExistsError:
                    return False
                return True
            if self._size(key) is not None:
                return False
            obstore.put(
                self._store,
                key,
                path,
                attributes=_attributes(),
                use_multipart=True,
                chunk_size=max(self._options.part_bytes, -(-size // PARTS_MAX)),
                max_concurrency=PARTS_AT_ONCE,
            )
            return True

    def _fetch(self, digest: str) -> Path:
        """Copy an object to this machine; `ArtifactChanged` if its bytes have another hash than its name."""
        copy = self._cache.put_as(digest, self._read(digest), bytes_max=UNLIMITED)
        if copy is None:
            raise ArtifactChanged(digest)
        self._note(copy.size)
        return self._cache.path(digest)

    def _read(self, digest: str) -> Iterator[bytes]:
        """An object's bytes; each part is asked for by itself, so that one which is cut off is all that is repeated."""
        import obstore

        key, part = self._key(digest), self._options.part_bytes
        with self._asking():
            try:
                found = obstore.get(self._store, key)
            except FileNotFoundError as error:
                if _is_about_bucket(error):
                    raise
                raise ArtifactError(
                    f"no artifact {digest} in {self.location}: it was never stored there, or was removed"
                ) from error
            size = int(found.meta["size"])
        if size <= part:
            yield self._repeat(
                lambda: bytes(found.bytes()), lambda: bytes(obstore.get(self._store, key).bytes())
            )
            return
        for start in range(0, size, part):
            yield self._repeat(
                partial(self._read_part, key, start=start, end=min(start + part, size))
            )

    def _read_part(self, key: str, *, start: int, end: int) -> bytes:
        import obstore

        return bytes(obstore.get_range(self._store, key, start=start, end=end))

    def _repeat(self, *ways: Callable[[], bytes]) -> bytes:
        """Ask the first way, and then the last one again where an answer was cut off in the middle."""
        from obstore.exceptions import GenericError

        with self._asking():
            for ask in [*ways, *ways[-1:] * READ_TRIES_MAX][: READ_TRIES_MAX - 1]:
                with suppress(GenericError):
                    return ask()
            return ways[-1]()

    def _size(self, key: str) -> int | None:
        import obstore

        with self._asking():
            try:
                return int(obstore.head(self._store, key)["size"])
            except FileNotFoundError:
                return None

    def _key(self, digest: str) -> str:
        place = self._cache.place(digest)
        return f"{place.parent.name}/{place.name}"

    # The copies of this machine

    def _note(self, size: int) -> None:
        """Look at the cache from time to time: whenever a sixteenth of what it may hold was added."""
        self._added += size
        if self._added >= self._options.cache_bytes_max // 16:
            self._trim()

    def _trim(self) -> None:
        """Remove the copies that were not used for the longest time, until the rest fits."""
        self._added = 0
        copies = []
        for path in self._cache_root.glob("??/*"):
            with suppress(FileNotFoundError):
                found = path.stat()
                copies.append((found.st_mtime, found.st_size, path))
        size = sum(each[1] for each in copies)
        newest = max((each[0] for each in copies), default=0.0)
        for used_at, own, path in sorted(copies):
            if size <= self._options.cache_bytes_max or used_at > newest - CACHE_REST_S:
                return
            path.unlink(missing_ok=True)
            size -= own

    # The client

    @cached_property
    def _store(self) -> "ObjectStore":
        return self._connect()

    @cached_property
    def _signer(self) -> Any:  # noqa: ANN401 - which of the three classes it is, the URL says
        return self._store

    def _connect(self) -> "ObjectStore":
        check_client()
        from obstore.store import from_url

        own = self._options
        # The names differ by vendor, and the stubs of the library have an overload for each.
        config: Any = {}
        if own.endpoint is not None:
            config["endpoint"] = own.endpoint
        if own.url.startswith("s3:"):
            config["checksum_algorithm"] = "SHA256"  # the server refuses a part that was damaged
            if own.region is not None:
                config["region"] = own.region
        with self._asking():
            store: ObjectStore = from_url(
                own.url,
                config=config,
                client_options={
                    "allow_http": (own.endpoint or "").startswith("http:"),
                    "connect_timeout": timedelta(seconds=min(CONNECT_S, own.timeout_s)),
                    "timeout": timedelta(seconds=own.timeout_s),
                },
                retry_config={
                    "max_retries": RETRIES_MAX,
                    "retry_timeout": timedelta(seconds=own.timeout_s),
                },
            )
            return store

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise what object storage answers as one kind of error, with a sentence that says what to mend."""
        from obstore import exceptions

        try:
            yield
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise self._unusable("it refuses the credentials of this process", error) from error
        except FileNotFoundError as error:
            if not _is_about_bucket(error):
                raise
            raise self._unusable("there is no such bucket", error) from error
        except (exceptions.BaseError, ConnectionError, TimeoutError) as error:
            # Asked for a list, a server says of the bucket what it otherwise says of an object.
            what = "there is no such bucket" if _is_about_bucket(error) else UNREACHABLE
            raise self._unusable(what, error) from error

    def _unusable(self, what: str, error: Exception) -> ArtifactsUnreachable:
        return ArtifactsUnreachable(
            f"{self.location} cannot be used: {what}; see that this address, the endpoint and region of `artifacts`, "
            f"and the credentials are right ({said_by(error)})"
        )


def said_by(error: Exception) -> str:
    """What object storage said, without what the library adds for its own debugging."""
    return str(error).partition("\n\nDebug source")[0].replace("\n", " ")[:SAID_CHARS_MAX]


def _is_about_bucket(error: Exception) -> bool:
    return any(word in str(error) for word in NO_BUCKET)


def _attributes() -> Any:  # noqa: ANN401 - a TypedDict that exists only for type checkers
    return ATTRIBUTES
