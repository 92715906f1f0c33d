"""Backup sets: database, documents, ledger and settings as they were together, in a folder that many sets share.

    <folder>/documents/<2 hex>/<sha256>   every document of every set, once
    <folder>/sets/<time>/backup.json      what the set holds; written last, so a set without it is none
                        /stateward.db     the database (PostgreSQL: stateward.pgdump)
                        /documents.txt    the documents that the set needs, one SHA-256 a line
                        /ledger/          the mirrored ledger, if there is one
                        /settings.yaml    the settings file, if there is one

The order makes the set consistent while the service runs: first the ledger, which only follows the database; then the
database at one moment; then the documents that it names, which never change. Only documents that the folder does not
hold yet are copied. Everything is private to the user who makes it, because it holds what documents and settings hold.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from stateward import __version__
from stateward.app.artifacts import open_artifacts
from stateward.blobs import Folder, pieces_of
from stateward.core.errors import ArtifactError, InvalidRequest, StoreError
from stateward.core.model import Micros, to_iso
from stateward.settings import Settings
from stateward.storage.database import Database
from stateward.storage.last_backup import LAST_BACKUP, LastBackup

FORMAT = 1
MANIFEST = "backup.json"
SQLITE_FILE = "stateward.db"
POSTGRES_FILE = "stateward.pgdump"
DOCUMENTS_FILE = "documents.txt"
SETTINGS_FILE = "settings.yaml"
LEDGER_FOLDER = "ledger"
UNFINISHED = ".unfinished-"
NAME_FORMAT = "%Y%m%dT%H%M%SZ"
UNLIMITED = 1 << 62

Progress = Callable[[str, int], None]


class BackupSet(msgspec.Struct, frozen=True, kw_only=True):
    """What one set holds. `missing` are documents that records name and that were not to be had when it was made."""

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


class Backup:
    """Makes sets of one installation in one folder."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        database: Database,
        config: Path | None,
        clock: Callable[[], Micros],
    ) -> None:
        self._settings = settings
        self._folder = folder.absolute()
        self._database = database
        self._config = config
        self._clock = clock
        self._pool = Folder(self._folder / "documents")

    def make(self, *, progress: Progress = lambda *_: None) -> BackupSet:
        """A new set, complete and durable when this returns; an earlier set is never touched."""
        self._refuse_own_data()
        sets = self._folder / "sets"
        sets.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _only_one(self._folder):
            for left in sets.glob(f"{UNFINISHED}*"):
                shutil.rmtree(left)
            now = self._clock()
            name = _free_name(sets, now)
            place = sets / f"{UNFINISHED}{name}"
            place.mkdir(mode=0o700)
            has_ledger = self._copy_ledger(place)
            made = self._fill(place, name, now, has_ledger=has_ledger, progress=progress)
            write_private(place / MANIFEST, msgspec.json.encode(made) + b"\n")
            sync_folder(place)
            place.rename(sets / name)
            sync_folder(sets)
        last = LastBackup(folder=str(self._folder), name=name, at=now)
        write_private(self._settings.data_path / LAST_BACKUP, msgspec.json.encode(last))
        return made

    def _fill(
        self, place: Path, name: str, now: Micros, *, has_ledger: bool, progress: Progress
    ) -> BackupSet:
        if self._config is not None:
            write_private(place / SETTINGS_FILE, self._config.read_bytes())
        records, transitions = _size(self._database)
        digests = list(document_digests(self._database))
        if self._settings.store_path is not None:
            database = place / SQLITE_FILE
            _snapshot(self._settings.store_path, database, progress)
            with _opened(database) as copy:  # what the snapshot names, not what came after it
                digests = list(document_digests(copy))
                records, transitions = _size(copy)
        else:
            database = place / POSTGRES_FILE
            dump_postgres(self._settings.store.url, database)
            digests = sorted({*digests, *document_digests(self._database)})
        listing = "".join(f"{digest}\n" for digest in digests).encode()
        write_private(place / DOCUMENTS_FILE, listing)
        count, size, missing = self._copy_documents(digests, progress)
        return BackupSet(
            format=FORMAT,
            name=name,
            stateward=__version__,
            taken_at=to_iso(now),
            engine="sqlite" if self._settings.store_path is not None else "postgresql",
            database_sha256=file_digest(database),
            database_bytes=database.stat().st_size,
            records=records,
            transitions=transitions,
            documents=len(digests),
            documents_sha256=sha256(listing).hexdigest(),
            new_documents=count,
            new_bytes=size,
            has_ledger=has_ledger,
            missing=tuple(missing),
        )

    def _copy_documents(self, digests: list[str], progress: Progress) -> tuple[int, int, list[str]]:
        """Copy what the pool does not hold; how many, how many bytes, and what could not be had unchanged."""
        own = open_artifacts(self._settings)
        count = size = 0
        missing = []
        for number, digest in enumerate(digests, start=1):
            progress("documents", number)
            if self._pool.holds(digest):
                continue
            try:
                copied = self._pool.put_as(digest, own.pieces(digest), bytes_max=UNLIMITED)
            except ArtifactError:
                missing.append(digest)
                continue
            if copied is None:  # its bytes are not those that were submitted
                missing.append(digest)
                continue
            count, size = count + 1, size + copied.size
        return count, size, missing

    def _copy_ledger(self, place: Path) -> bool:
        mirror = self._settings.ledger.mirror
        if mirror is None or not Path(mirror).is_dir():
            return False
        from stateward.ledger import copy_ledger  # most commands need no ledger

        copy_ledger(Path(mirror), place / LEDGER_FOLDER)
        return True

    def _refuse_own_data(self) -> None:
        if self._settings.store.url.startswith("memory:"):
            raise InvalidRequest("a store in memory cannot be backed up: it ends with its process")
        data = self._settings.data_path.absolute()
        if self._folder == data or self._folder.is_relative_to(data):
            raise InvalidRequest(
                f"{self._folder} is inside the data folder, and would be lost with it: name a folder elsewhere, at "
                "best on another machine"
            )


def document_digests(database: Database) -> Iterator[str]:
    """The SHA-256 of every document and derived file that records name."""
    found = database.rows(
        "SELECT artifact FROM records WHERE artifact IS NOT NULL UNION SELECT sha256 FROM derived_files ORDER BY 1"
    )
    return (str(digest) for (digest,) in found)


def sets_in(folder: Path) -> list[BackupSet]:
    """The complete sets of a folder, the oldest first."""
    found = sorted(folder.glob(f"sets/*/{MANIFEST}"))
    return [read_manifest(each.parent) for each in found if not each.parent.name.startswith(".")]


def read_manifest(place: Path) -> BackupSet:
    """What a set holds; refused if it is none, or of a newer version."""
    try:
        made = msgspec.json.decode((place / MANIFEST).read_bytes(), type=BackupSet)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRequest(
            f"{place} is no complete backup set: {MANIFEST} cannot be read ({error})"
        ) from error
    if made.format > FORMAT:
        raise InvalidRequest(f"{place} was made by a newer Stateward ({made.stateward}); upgrade")
    return made


def remove_old_sets(folder: Path, *, keep: int) -> list[str]:
    """Leave the newest sets and the documents that they need; the names of the sets that are gone."""
    with _only_one(folder):
        names = [each.name for each in sets_in(folder)]
        gone = names[: max(0, len(names) - keep)]
        for name in gone:
            shutil.rmtree(folder / "sets" / name)
        if gone:
            needed = {
                digest
                for each in folder.glob(f"sets/*/{DOCUMENTS_FILE}")
                for digest in each.read_text().split()
            }
            for file in folder.glob("documents/??/*"):
                if file.name not in needed:
                    file.unlink()
    return gone


def dump_postgres(url: str, to: Path) -> None:
    """Write the schema of Stateward by `pg_dump`, which sees one moment of a running database."""
    from stateward.storage.postgres import SCHEMA

    command = ["pg_dump", "--format=custom", "--no-owner", f"--schema={SCHEMA}", f"--file={to}"]
    run_postgres_tool([*command, without_password(url)], url)
    to.chmod(0o600)


def run_postgres_tool(command: list[str], url: str) -> None:
    """Run a program of PostgreSQL; the password travels in its environment, where `ps` does not show it."""
    parts = urlsplit(url)
    environ = dict(os.environ)
    if parts.password is not None:
        environ["PGPASSWORD"] = unquote(parts.password)
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise InvalidRequest(
            f"{command[0]} is needed and not installed: it comes with PostgreSQL's client programs, in the version "
            "of the server or newer"
        ) from error
    if done.returncode != 0:
        raise StoreError(f"{command[0]} failed: {done.stderr.strip()[:1000]}")


def without_password(url: str) -> str:
    """A database URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{host}"))


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = sha256()
    for piece in pieces_of(path):
        digest.update(piece)
    return digest.hexdigest()


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, whole and durable or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    incoming = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    incoming.replace(path)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Two that write to one folder would remove what the other is about to name."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InvalidRequest(
            f"another backup is being made in {folder}; wait for its end"
        ) from error
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    from stateward.storage.sqlite import SqliteDatabase

    database = SqliteDatabase(path)
    try:
        yield database
    finally:
        database.close()
        shutil.rmtree(f"{path}-wake", ignore_errors=True)


def _snapshot(source: Path, to: Path, progress: Progress) -> None:
    from stateward.storage.sqlite import snapshot

    snapshot(source, to, progress=lambda count: progress("pages", count))


def _size(database: Database) -> tuple[int, int]:
    ((records,),) = database.rows("SELECT count(*) FROM records")
    ((transitions,),) = database.rows("SELECT count(*) FROM transitions")
    return int(str(records)), int(str(transitions))


def _free_name(sets: Path, now: Micros) -> str:
    """The time as a name that sorts; a second set of the same second gets the next second."""
    second = now // 1_000_000
    while (sets / time.strftime(NAME_FORMAT, time.gmtime(second))).exists():
        second += 1
    return time.strftime(NAME_FORMAT, time.gmtime(second))
