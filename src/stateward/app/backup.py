"""Makes backup sets: database, documents, ledger and settings as they were together, in a place that many sets share.

    <place>/sets/<time>/backup.json      what the set holds
                       /database.txt     the pieces of the SQLite database, in order, one SHA-256 a line
                       /stateward.pgdump the database, where it is PostgreSQL
                       /documents.txt    the documents that the set needs, one SHA-256 a line
                       /erased.txt       the records of which something was erased by then, with the kinds
                       /ledger/          the mirrored ledger, if there is one
                       /settings.yaml    the settings file, if there is one

The order makes the set consistent while the service runs: first the ledger, which only follows the database; then the
database at one moment; then the documents that it names, which never change.

Only what the place does not hold yet is copied (`backup_places`): documents, and pieces of an SQLite file, which one
after the other are the file. Its pages keep their place when others are written, and ids of records begin with their
time, so that a day's work changes the end of most tables and little else (docs/explanation/scale.md).
"""

import errno
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from heapq import merge
from pathlib import Path

import msgspec

from stateward import __version__, telemetry
from stateward.app.artifacts import open_artifacts
from stateward.app.backup_places import (
    DATABASE_FILE,
    DOCUMENTS_FILE,
    ERASED_FILE,
    FORMAT,
    BackupPlace,
    BackupSet,
    encode_set,
    read_listing,
    unique,
    write_listing,
    write_private,
)
from stateward.app.key_file import opened_store_url
from stateward.app.postgres_tools import POSTGRES_FILE, dump_postgres
from stateward.blobs import pieces_of
from stateward.core.errors import ArtifactError, InvalidRequest, StoreBroken, StoreFull
from stateward.core.model import Micros, to_iso
from stateward.settings import Settings
from stateward.storage.database import Database
from stateward.storage.erasure import Erasures
from stateward.storage.last_backup import LAST_BACKUP, LastBackup

SNAPSHOT_FILE = ".snapshot.db"
# A multiple of every page size of SQLite. A quarter would be half the bytes for a day's work, and four times the files.
PIECE_BYTES = 1 << 20
SETTINGS_FILE = "settings.yaml"
LEDGER_FOLDER = "ledger"
DIGESTS_AT_ONCE = 5000
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})

Progress = Callable[[str, int], None]


class Backup:
    """Makes sets of one installation in one place."""

    def __init__(
        self,
        settings: Settings,
        place: BackupPlace,
        *,
        database: Database,
        config: Path | None,
        clock: Callable[[], Micros],
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._settings = settings
        self._piece_bytes = piece_bytes
        self._place = place
        self._database = database
        self._config = config
        self._clock = clock

    def make(self, *, progress: Progress = lambda *_: None) -> BackupSet:
        """A new set, complete and durable when this returns; an earlier set is never touched."""
        if self._settings.store.url.startswith("memory:"):
            raise InvalidRequest("a store in memory cannot be backed up: it ends with its process")
        data = self._settings.data_path.resolve()
        own = Path(self._place.location).resolve()  # a link may lead there
        if "://" not in self._place.location and own.is_relative_to(data):
            raise InvalidRequest(
                f"{self._place.location} is inside the data folder, and would be lost with it: name a folder "
                "elsewhere, at best on another machine"
            )
        now = self._clock()
        with self._all_or_nothing(), self._place.opened(now) as (name, files):
            has_ledger = self._copy_ledger(files)
            made = self._fill(files, name, now, has_ledger=has_ledger, progress=progress)
            self._place.complete(files, name, encode_set(made))
        self._note(LastBackup(folder=self._place.location, name=name, at=now))
        return made

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Say of a full disk what it means for the sets."""
        try:
            yield
        except (StoreFull, OSError) as error:
            if isinstance(error, StoreBroken) or (
                isinstance(error, OSError) and error.errno not in FULL_DISK
            ):
                raise
            where = self._place.location
            raise StoreFull(
                f"no set was made, and those in {where} are as they were: {error}"
            ) from error

    def _note(self, last: LastBackup) -> None:
        """For `doctor` and the metric. The set is there also where the data folder takes nothing more."""
        try:
            write_private(self._settings.data_path / LAST_BACKUP, msgspec.json.encode(last))
        except OSError as error:
            telemetry.log("backup").warning(
                f"the backup {last.name} is complete, but that could not be noted in the data folder: {error.strerror}"
            )

    def _fill(
        self, place: Path, name: str, now: Micros, *, has_ledger: bool, progress: Progress
    ) -> BackupSet:
        if self._config is not None:
            write_private(place / SETTINGS_FILE, self._config.read_bytes())
        if self._settings.store_path is not None:
            database = place / SNAPSHOT_FILE
            _snapshot(self._settings.store_path, database, progress)
            with _open(database) as copy:  # what the snapshot names, not what came after it
                listed = write_listing(place / DOCUMENTS_FILE, document_digests(copy))
                _write_erased(place / ERASED_FILE, copy)
                records, transitions = _size(copy)
            size = database.stat().st_size
            digest, new = self._copy_pieces(database, place, name, progress)
            database.unlink()
        else:
            database = place / POSTGRES_FILE
            # The dump shows a moment between the two lists, and a document of either may be one that it names.
            before = place / f"{DOCUMENTS_FILE}.before"
            write_listing(before, document_digests(self._database))
            records, transitions = _size(self._database)
            _write_erased(place / ERASED_FILE, self._database)
            dump_postgres(opened_store_url(self._settings), database)
            both = unique(merge(read_listing(before), document_digests(self._database)))
            listed = write_listing(place / DOCUMENTS_FILE, both)
            before.unlink()
            size = new = database.stat().st_size
            digest = file_digest(database)
        documents, listing_digest = listed
        lacking = self._place.lacking(DOCUMENTS_FILE, place, name)
        count, new_bytes, missing = self._copy_documents(lacking, progress)
        return BackupSet(
            format=FORMAT,
            name=name,
            stateward=__version__,
            taken_at=to_iso(now),
            engine="sqlite" if self._settings.store_path is not None else "postgresql",
            database_sha256=digest,
            database_bytes=size,
            database_new_bytes=new,
            records=records,
            transitions=transitions,
            documents=documents,
            documents_sha256=listing_digest,
            new_documents=count,
            new_bytes=new_bytes,
            has_ledger=has_ledger,
            missing=tuple(missing),
            files=_other_files(place),
        )

    def _copy_pieces(
        self, database: Path, place: Path, name: str, progress: Progress
    ) -> tuple[str, int]:
        """Store the pieces that no earlier set has; the SHA-256 of the list of all, and how many bytes were new.

        They are stored from the last one on, and each is cut off the copy: both together need no more space than one.
        """
        own = pieces_of(database, size=self._piece_bytes)
        _, digest = write_listing(
            place / DATABASE_FILE, (sha256(piece).hexdigest() for piece in own)
        )
        listed = list(read_listing(place / DATABASE_FILE))
        lacking = set(self._place.lacking(DATABASE_FILE, place, name))
        new = 0
        with database.open("rb+") as file:
            for count, each in enumerate(reversed(listed), start=1):
                start = (len(listed) - count) * self._piece_bytes
                if each in lacking:
                    progress("pieces", count)
                    lacking.remove(each)
                    file.seek(start)
                    stored = self._place.put(DATABASE_FILE, each, [file.read(self._piece_bytes)])
                    if stored is None:
                        raise StoreBroken(f"{database} does not read the same twice")
                    new += stored
                file.truncate(start)
        return digest, new

    def _copy_documents(
        self, digests: Iterable[str], progress: Progress
    ) -> tuple[int, int, list[str]]:
        """Copy documents; how many, how many bytes, and what could not be had unchanged."""
        own = open_artifacts(self._settings)
        count = size = 0
        missing = []
        for number, digest in enumerate(digests, start=1):
            progress("documents", number)
            try:
                copied = self._place.put(DOCUMENTS_FILE, digest, own.pieces(digest))
            except ArtifactError:
                missing.append(digest)
                continue
            if copied is None:  # its bytes are not those that were submitted
                missing.append(digest)
                continue
            count, size = count + 1, size + copied
        return count, size, missing

    def _copy_ledger(self, place: Path) -> bool:
        mirror = self._settings.ledger.mirror
        if mirror is None or not Path(mirror).is_dir():
            return False
        from stateward.ledger import copy_ledger  # most commands need no ledger

        copy_ledger(Path(mirror), place / LEDGER_FOLDER)
        return True


def document_digests(database: Database) -> Iterator[str]:
    """The SHA-256 of every document and derived file that records name, each once, in order, a part at a time."""
    after = ""
    while found := database.rows(
        "SELECT * FROM (SELECT DISTINCT artifact FROM records WHERE artifact > :after"
        " ORDER BY artifact LIMIT :limit) AS documents UNION SELECT * FROM"
        " (SELECT DISTINCT sha256 FROM derived_files WHERE sha256 > :after"
        " ORDER BY sha256 LIMIT :limit) AS files ORDER BY 1 LIMIT :limit",
        after=after,
        limit=DIGESTS_AT_ONCE,
    ):
        yield from (str(digest) for (digest,) in found)
        after = str(found[-1][0])


def _write_erased(path: Path, database: Database) -> None:
    """Each record with the kinds, a line each; only ids, which stay in the history as well."""
    lines = (f"{id_} {','.join(sorted(kinds))}" for id_, kinds in Erasures(database).erased())
    write_listing(path, lines)


def _other_files(place: Path) -> dict[str, str]:
    """The hashes of what a set holds beside its database and its lists."""
    known = {DATABASE_FILE, DOCUMENTS_FILE, POSTGRES_FILE}
    paths = {
        each.relative_to(place).as_posix(): each for each in place.rglob("*") if each.is_file()
    }
    return {name: file_digest(paths[name]) for name in sorted(paths.keys() - known)}


def file_digest(path: Path) -> str:
    digest = sha256()
    for piece in pieces_of(path):
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _open(path: Path) -> Iterator[Database]:
    from stateward.storage.sqlite import SqliteDatabase

    database = SqliteDatabase(path)
    try:
        yield database
    finally:
        database.close()
        shutil.rmtree(f"{path}-wake", ignore_errors=True)


def _snapshot(source: Path, to: Path, progress: Progress) -> None:
    from stateward.storage.sqlite_file import snapshot

    snapshot(source, to, progress=lambda count: progress("pages", count))


def _size(database: Database) -> tuple[int, int]:
    ((records,),) = database.rows("SELECT count(*) FROM records")
    ((transitions,),) = database.rows("SELECT sum(count) FROM lanes")
    return int(str(records)), int(str(transitions))
