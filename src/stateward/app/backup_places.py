"""Where backup sets lie: a folder, or a prefix of a bucket with the same names in it.

    <place>/documents/<2 hex>/<sha256>   every document of every set, once
    <place>/database/<2 hex>/<sha256>    every piece of an SQLite database of every set, once
    <place>/sets/<time>/backup.json      what the set holds; written last, so a set without it is none
                       /…                its files
    <place>/checkpoints/                 checkpoints of the history, where this is an outside anchor (`anchors`)

In a folder a set is made beside the others and renamed when it is complete. Objects cannot be renamed: there a set is
made in the data folder and sent file by file, first the lists of what it shares with others, so that a removal of old
sets that runs at the same time sees what it needs, and last `backup.json`, whose name must be free.
"""

import fcntl
import io
import os
import shutil
import tempfile
import time
from calendar import timegm
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from heapq import merge
from itertools import groupby
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from stateward.blobs import Folder
from stateward.core.errors import InvalidRequest, StoreMismatch
from stateward.core.model import SECOND, Micros
from stateward.regular_files import open_regular, read_regular
from stateward.settings import Settings

if TYPE_CHECKING:
    from stateward.blobs.bucket import Bucket

FORMAT = 3  # 1: an SQLite database was one file of its set, `stateward.db`; 2: the manifest had no hash of itself
SEALED_FORMAT = 3
SEAL_START = b',"seal":"'  # the last field of a manifest
MANIFEST = "backup.json"
DOCUMENTS_FILE = "documents.txt"
DATABASE_FILE = "database.txt"
ERASED_FILE = "erased.txt"
SETS = "sets"
POOLS = {DOCUMENTS_FILE: "documents", DATABASE_FILE: "database"}
"""The lists of a set, and where in the place the bytes lie that they name by their SHA-256."""
CHECKPOINTS = "checkpoints"  # of the history, where it is an anchor as well (`anchors`)
UNFINISHED = ".unfinished-"
STAGING = ".backup-"
COPIES = f"{STAGING}copies"
LOCK = f"{STAGING}lock"
NAME_FORMAT = "%Y%m%dT%H%M%SZ"
UNLIMITED = 1 << 62
ABANDONED_S = 7 * 86_400  # a set in a bucket that is not complete by then was cut off


class BackupSet(msgspec.Struct, frozen=True, kw_only=True):
    """What one set holds. `missing` are documents that records name and that were not to be had when it was made.

    `database_new_bytes` are those that no earlier set held. `files` are the hashes of its other files, by their paths:
    the ledger, the settings and what was erased; a former version did not keep these.
    """

    format: int
    name: str
    stateward: str
    taken_at: str
    engine: str
    database_sha256: str
    database_bytes: int
    records: int
    transitions: int
    documents: int
    documents_sha256: str
    new_documents: int
    new_bytes: int
    has_ledger: bool
    missing: tuple[str, ...] = ()
    database_new_bytes: int | None = None
    files: dict[str, str] = {}


class BackupPlace(Protocol):
    """What can be done with the sets of one place. `listing` is one of `POOLS`."""

    @property
    def location(self) -> str:
        """Where it is, for people."""

    def opened(self, now: Micros) -> AbstractContextManager[tuple[str, Path]]:
        """A new set: its name and an empty folder of this machine to fill."""

    def lacking(self, listing: str, place: Path, name: str) -> Iterator[str]:
        """What a list in the folder of a new set names and is not here; from now on nothing of it is removed."""

    def put(self, listing: str, digest: str, pieces: Iterable[bytes]) -> int | None:
        """Store bytes that a list names; how many, or None if they have another hash."""

    def complete(self, place: Path, name: str, manifest: bytes) -> None:
        """The set is filled: from now on it is one."""

    def sets(self) -> list[BackupSet]:
        """The complete sets, the oldest first."""

    def remove_old(self, *, keep: int) -> list[str]:
        """Leave the newest sets and the documents that they need; the names of the sets that are gone."""

    def fetched(self, name: str) -> AbstractContextManager[Path]:
        """The files of a set, in a folder of this machine."""

    def erased(self, name: str) -> bytes:
        """What was erased when a set was made, as its file says; empty where it has none."""

    def read(self, listing: str, digest: str) -> Iterator[bytes] | None:
        """The bytes that a list names; None if they are not here."""


class FolderPlace:
    """Sets in a folder. Everything is private to the user who makes it: it holds what documents and settings hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._sets = self._folder / SETS
        self._pools = {each: Folder(self._folder / name) for each, name in POOLS.items()}

    @property
    def location(self) -> str:
        return str(self._folder)

    @contextmanager
    def opened(self, now: Micros) -> Iterator[tuple[str, Path]]:
        """A folder beside the other sets; what a crash left of others is removed."""
        # Only the last of these folders gets the mode: a new place of backups is made by itself first.
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sets.mkdir(exist_ok=True, mode=0o700)
        with _only_one(self._folder):
            for left in self._sets.glob(f"{UNFINISHED}*"):
                shutil.rmtree(left)
            for pool in self._pools.values():
                pool.sweep(older_than=inf)  # none but this one writes there
            name = free_name(now, [each.name for each in self._sets.iterdir()])
            place = self._sets / f"{UNFINISHED}{name}"
            place.mkdir(mode=0o700)
            try:
                yield name, place
            finally:
                # What failed is not left on a disk that may be full; what is complete has another name.
                shutil.rmtree(place, ignore_errors=True)

    def lacking(self, listing: str, place: Path, name: str) -> Iterator[str]:
        """What the pool does not hold; who removes is refused by the lock."""
        holds = self._pools[listing].holds
        return (digest for digest in read_listing(place / listing) if not holds(digest))

    def put(self, listing: str, digest: str, pieces: Iterable[bytes]) -> int | None:
        """Store bytes in the pool."""
        stored = self._pools[listing].put_as(digest, pieces, bytes_max=UNLIMITED)
        return None if stored is None else stored.size

    def complete(self, place: Path, name: str, manifest: bytes) -> None:
        """Write what it holds, and give it its name."""
        write_private(place / MANIFEST, manifest)
        sync_tree(place)
        place.rename(self._sets / name)
        sync_folder(self._sets)

    def sets(self) -> list[BackupSet]:
        """Those with their last file, by the names of their folders."""
        found = sorted(each.parent for each in self._sets.glob(f"*/{MANIFEST}"))
        return [
            replace(read_manifest(each), name=each.name)
            for each in found
            if not each.name.startswith(".")
        ]

    def remove_old(self, *, keep: int) -> list[str]:
        """Remove sets, and what no other needs."""
        with _only_one(self._folder):
            sets = self.sets()
            gone = surplus(sets, keep)
            if gone:
                _refuse_damaged(sets, gone, self._content_of)
            for name in gone:
                # One step: a removal that is cut off leaves no set that lacks files, and the next backup ends it.
                left = (self._sets / name).rename(self._sets / f"{UNFINISHED}{name}")
                sync_folder(self._sets)
                shutil.rmtree(left)
            for listing in POOLS if gone else ():
                needed = unique(merge(*map(_read_sorted, self._sets.glob(f"*/{listing}"))))
                for file in _not_among(needed, self._files_of(listing)):
                    file.unlink()
        return gone

    def _content_of(self, name: str, listing: str) -> bytes | None:
        file = self._sets / name / listing
        return read_regular(file) if file.exists() else None

    def _files_of(self, listing: str) -> Iterator[Path]:
        """The files of a pool in the order of their names, one folder of 256 after the other."""
        for folder in sorted(self._folder.glob(f"{POOLS[listing]}/??")):
            yield from sorted(folder.iterdir())

    def erased(self, name: str) -> bytes:
        """From the folder of the set."""
        return self._content_of(name, ERASED_FILE) or b""

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        yield self._sets / name

    def read(self, listing: str, digest: str) -> Iterator[bytes] | None:
        """From the pool."""
        pool = self._pools[listing]
        return pool.pieces(digest) if pool.holds(digest) else None


class BucketPlace:
    """Sets in object storage. Credentials come from the environment, as for documents."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._url = url.rstrip("/")
        self._settings = settings

    @property
    def location(self) -> str:
        """The URL of the prefix."""
        return self._url

    @cached_property
    def _bucket(self) -> "Bucket":
        return self._connect("")

    @cached_property
    def _pools(self) -> "dict[str, Bucket]":
        return {each: self._connect(f"/{name}") for each, name in POOLS.items()}

    def _connect(self, below: str) -> "Bucket":
        from stateward.blobs.bucket import Bucket
        from stateward.blobs.objects import ObjectOptions

        own = self._settings.artifacts
        return Bucket(
            ObjectOptions(
                url=self._url + below,
                endpoint=own.endpoint,
                region=own.region,
                timeout_s=own.timeout_seconds,
            ),
            self._settings.data_path / COPIES,  # each is removed as soon as it was sent
        )

    @contextmanager
    def opened(self, now: Micros) -> Iterator[tuple[str, Path]]:
        """A folder in the data folder, which is removed at the end; so is what a crash left of others."""
        self._sweep(now)
        name = free_name(now, {each.split("/")[1] for each in self._bucket.names(f"{SETS}/")})
        with self._staging() as place:
            yield name, place

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        self._settings.data_path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _only_one(self._settings.data_path, LOCK):
            for left in self._settings.data_path.glob(f"{STAGING}set-*"):
                shutil.rmtree(left)
            try:
                with tempfile.TemporaryDirectory(
                    prefix=f"{STAGING}set-", dir=self._settings.data_path
                ) as folder:
                    yield Path(folder)
            finally:
                shutil.rmtree(self._settings.data_path / COPIES, ignore_errors=True)

    def _sweep(self, now: Micros) -> None:
        """Remove what was sent of sets that were cut off long ago."""
        limit = time.strftime(NAME_FORMAT, time.gmtime(now // SECOND - ABANDONED_S))
        names = self._bucket.names(f"{SETS}/")
        whole = {each.split("/")[1] for each in names if each.endswith(f"/{MANIFEST}")}
        for each in names:
            if each.split("/")[1] not in whole and each.split("/")[1] < limit:
                self._bucket.remove_named(each)

    def lacking(self, listing: str, place: Path, name: str) -> Iterator[str]:
        """Send the list, and then see what the bucket does not have; it is listed once, not asked for each."""
        self._bucket.send_named(place / listing, f"{SETS}/{name}/{listing}")
        known = set(self._pools[listing].digests())
        return (digest for digest in read_listing(place / listing) if digest not in known)

    def put(self, listing: str, digest: str, pieces: Iterable[bytes]) -> int | None:
        """Send bytes."""
        pool = self._pools[listing]
        try:
            stored = pool.put_as(digest, pieces, bytes_max=UNLIMITED)
        finally:
            pool.drop_copy(digest)
        return None if stored is None else stored.size

    def complete(self, place: Path, name: str, manifest: bytes) -> None:
        """Send all files, and last what the set holds."""
        for path in sorted(each for each in place.rglob("*") if each.is_file()):
            below = path.relative_to(place).as_posix()
            if below not in POOLS:
                self._bucket.send_named(path, f"{SETS}/{name}/{below}")
        write_private(place / MANIFEST, manifest)
        self._bucket.send_named(place / MANIFEST, f"{SETS}/{name}/{MANIFEST}")

    def sets(self) -> list[BackupSet]:
        """Those with their last file, by the names of their objects."""
        names = (each.split("/") for each in self._bucket.names(f"{SETS}/"))
        return [
            replace(
                decode_set(self._bucket.read_named("/".join(each)), f"{self._url}/{each[1]}"),
                name=each[1],
            )
            for each in names
            if each[2:] == [MANIFEST]
        ]

    def remove_old(self, *, keep: int) -> list[str]:
        """Remove sets, what they hold first: one that was cut off is none. Then what no set needs."""
        with _only_one(self._settings.data_path, LOCK):
            sets = self.sets()
            gone = surplus(sets, keep)
            if gone:
                _refuse_damaged(sets, gone, self._content_of)
            for name in gone:
                self._bucket.remove_named(f"{SETS}/{name}/{MANIFEST}")
                for each in self._bucket.names(f"{SETS}/{name}/"):
                    self._bucket.remove_named(each)
            for listing in POOLS if gone else ():
                needed = {
                    digest
                    for each in self._bucket.names(f"{SETS}/")
                    if each.endswith(f"/{listing}")
                    for digest in self._bucket.read_named(each).decode().split()
                }
                for digest in set(self._pools[listing].digests()) - needed:
                    self._pools[listing].remove(digest)
        return gone

    def erased(self, name: str) -> bytes:
        """From the bucket."""
        return self._content_of(name, ERASED_FILE) or b""

    def _content_of(self, name: str, file: str) -> bytes | None:
        # By the names of the set: asked for a whole name, a bucket lists what is below it, and not itself.
        path, names = f"{SETS}/{name}/{file}", self._bucket.names(f"{SETS}/{name}/")
        return self._bucket.read_named(path) if path in names else None

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """The files of the set, copied to the data folder; removed at the end."""
        with self._staging() as place:
            prefix = f"{SETS}/{name}/"
            for each in self._bucket.names(prefix):
                self._bucket.fetch_named(each, place / each.removeprefix(prefix))
            yield place

    def read(self, listing: str, digest: str) -> Iterator[bytes] | None:
        """From the bucket."""
        pool = self._pools[listing]
        return pool.pieces(digest) if pool.holds(digest) else None


def place_at(where: str | Path, settings: Settings) -> BackupPlace:
    """The place that a path or a URL names."""
    if "://" not in str(where):
        return FolderPlace(Path(where))
    if not str(where).startswith(("s3://", "gs://", "az://")):
        raise InvalidRequest(
            f"{where} is no place for backups: name a folder, s3://, gs:// or az://"
        )
    return BucketPlace(str(where), settings)


@contextmanager
def opened_set(where: str | Path, settings: Settings) -> Iterator[tuple[Path, BackupPlace]]:
    """The files of a set by its whole name, and the place that it lies in."""
    text = str(where).rstrip("/")
    if "://" not in text:
        text = str(Path(text).absolute())
    above, _, name = text.rpartition("/")
    if not above.endswith(f"/{SETS}"):
        newest = [each.name for each in place_at(text, settings).sets()][-1:]
        example = (
            f"{text}/{SETS}/{newest[0]}"
            if newest
            else f"DIR/{SETS}/NAME or s3://bucket/prefix/{SETS}/NAME"
        )
        raise InvalidRequest(f"{text} is no backup set: name one as {example}")
    place = place_at(above.removesuffix(f"/{SETS}") or "/", settings)
    with place.fetched(name) as files:
        yield files, place


def read_manifest(place: Path) -> BackupSet:
    """What a set holds; refused if it is none, or of a newer version."""
    try:
        content = read_regular(place / MANIFEST)
    except OSError as error:
        raise _no_set(str(place), error) from error
    return decode_set(content, str(place))


def encode_set(made: BackupSet) -> bytes:
    """What a set says of itself, and the hash of that."""
    said = msgspec.json.encode(made)
    return said[:-1] + _seal_of(said)


def is_as_written(content: bytes) -> bool:
    """Whether what a set says of itself has the hash that it was written with; a former version wrote none."""
    said, has_seal, _ = content.rpartition(SEAL_START)
    if has_seal:
        return content == said + _seal_of(said + b"}")
    return decode_set(content, "").format < SEALED_FORMAT


def _seal_of(said: bytes) -> bytes:
    return SEAL_START + sha256(said).hexdigest().encode() + b'"}\n'


def decode_set(content: bytes, where: str) -> BackupSet:
    """What a set says that it holds. No path is made of its name: a stranger could have written it."""
    try:
        made = msgspec.json.decode(content, type=BackupSet)
    except msgspec.MsgspecError as error:
        raise _no_set(where, error) from error
    if made.format > FORMAT:
        raise InvalidRequest(f"{where} was made by a newer Stateward ({made.stateward}); upgrade")
    return made


def _no_set(where: str, error: Exception) -> InvalidRequest:
    return InvalidRequest(f"{where} is no complete backup set: {MANIFEST} cannot be read ({error})")


def surplus(sets: list[BackupSet], keep: int) -> list[str]:
    """The names of all but the newest, and but those that hold more than the newest one.

    A history only grows: who went on from an earlier moment, or from nothing, may still need what came after it.
    """
    more = holding_more(sets, sets[-1].transitions) if sets else []
    names = [each.name for each in sets]
    return [each for each in names[: max(0, len(names) - keep)] if each not in more]


def holding_more(sets: Iterable[BackupSet], transitions: int) -> list[str]:
    """The names of sets whose history is longer than so many transitions."""
    return [each.name for each in sets if each.transitions > transitions]


def _refuse_damaged(
    sets: Iterable[BackupSet], gone: list[str], content_of: Callable[[str, str], bytes | None]
) -> None:
    """Refuse to remove any set beside one that is damaged.

    A list with a wrong line names less than its set needs, and in another order: the rest would be removed. A manifest
    with a wrong number makes another set the one that holds most.
    """
    for made in sets:
        if not is_as_written(content_of(made.name, MANIFEST) or b""):
            raise _damage_error(MANIFEST, made.name, "which sets hold most is not known")
        wanted = {} if made.name in gone else {DOCUMENTS_FILE: made.documents_sha256}
        if wanted and made.engine == "sqlite" and made.format > 1:
            wanted[DATABASE_FILE] = made.database_sha256
        for listing, digest in wanted.items():
            if sha256(content_of(made.name, listing) or b"").hexdigest() != digest:
                raise _damage_error(listing, made.name, "what the set needs is not known")


def _damage_error(file: str, name: str, why: str) -> StoreMismatch:
    return StoreMismatch(
        f"{file} of {name} is damaged: nothing is removed, for {why}; move the set away first"
    )


def free_name(now: Micros, taken: Iterable[str]) -> str:
    """The time as a name that sorts behind all others: the oldest are removed, and a clock may have been set back."""
    second = now // SECOND
    for each in taken:
        with suppress(ValueError):  # another file
            second = max(second, timegm(time.strptime(each, NAME_FORMAT)) + 1)
    return time.strftime(NAME_FORMAT, time.gmtime(second))


def write_listing(path: Path, digests: Iterable[str]) -> tuple[int, str]:
    """Write a list, one SHA-256 a line, durable on return; how many, and the SHA-256 of the file."""
    count, digest = 0, sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for each in digests:
            line = f"{each}\n".encode()
            file.write(line)
            digest.update(line)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count, digest.hexdigest()


def read_listing(path: Path) -> Iterator[str]:
    """What a list names, in its order; a set may name millions of documents, so not all are in memory."""
    with io.TextIOWrapper(open_regular(path), encoding="ascii") as lines:
        yield from (line.rstrip("\n") for line in lines)


def _read_sorted(path: Path) -> Iterator[str]:
    """What a list names, in the order of names. Documents are listed so; pieces of a database as they follow there."""
    listed = read_listing(path)
    return iter(sorted(listed)) if path.name == DATABASE_FILE else listed


def unique(ordered: Iterable[str]) -> Iterator[str]:
    """Each text of an ordered stream once."""
    return (text for text, _ in groupby(ordered))


def _not_among(needed: Iterator[str], files: Iterator[Path]) -> Iterator[Path]:
    """The files whose names are not needed; both streams are ordered."""
    following = next(needed, None)
    for file in files:
        while following is not None and following < file.name:
            following = next(needed, None)
        if following != file.name:
            yield file


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, whole and durable or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    incoming = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        incoming.replace(path)
    except BaseException:
        incoming.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable, or the bytes of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make all files below a folder durable, and its entries."""
    for path in (*folder.rglob("*"), folder):
        sync_folder(path)


@contextmanager
def _only_one(folder: Path, name: str = ".lock") -> Iterator[None]:
    """Two that write to one place would remove what the other is about to name."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InvalidRequest(
            f"another backup is being made in {folder}; wait for its end"
        ) from error
    finally:
        os.close(descriptor)
