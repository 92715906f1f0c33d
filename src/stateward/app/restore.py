"""Bringing an installation back from a backup set, and saying what is known elsewhere and missing in it.

Lists are checked before the first file is written, and pieces of the database as they are put together beside its
place. It gets its name last: an installation that was only half restored has no records, and the same command can be
given again.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from stateward.app.artifacts import open_artifacts
from stateward.app.backup import (
    LEDGER_FOLDER,
    Progress,
    file_digest,
)
from stateward.app.backup_places import (
    DATABASE_FILE,
    DOCUMENTS_FILE,
    MANIFEST,
    POOLS,
    SETS,
    UNLIMITED,
    BackupPlace,
    BackupSet,
    is_as_written,
    opened_set,
    read_listing,
    read_manifest,
    sync_folder,
    sync_tree,
)
from stateward.app.databases import open_database
from stateward.app.key_file import opened_store_url
from stateward.app.known_elsewhere import Elsewhere, compare_elsewhere, read_checkpoint_file
from stateward.app.postgres_tools import POSTGRES_FILE, run_postgres_tool, without_password
from stateward.blobs import ArtifactStore, pieces_of
from stateward.core.errors import InvalidRequest, StoreError, StoreMismatch
from stateward.regular_files import read_regular
from stateward.settings import Settings

SQLITE_FILE = "stateward.db"  # of sets before `PIECES_FORMAT`
PIECES_FORMAT = 2
JOURNALS = ("-wal", "-journal")  # beside an SQLite database
UNFINISHED = ".restoring"  # in a ledger that is being copied
DATABASE_TAKEN = (
    "the database holds a store: name an empty one in store.url, or rename its schema first "
    "(ALTER SCHEMA stateward RENAME TO …), or drop it if its tables are empty"
)
OTHER_HASH = "is not the file that was backed up: it cannot be read, or its hash is another"


class Restored(Elsewhere, frozen=True, kw_only=True):
    """What came back, and what is known here and elsewhere beyond it."""

    set: BackupSet
    documents: int


def restore(
    where: Path | str,
    settings: Settings,
    *,
    checkpoints: Sequence[Path] = (),
    progress: Progress = lambda *_: None,
) -> Restored:
    """Bring a set back into the data folder and database that these settings name, which hold no store yet.

    `checkpoints` are files with checkpoints that someone was given, to be compared with what came back.
    """
    _refuse_store(settings)
    for file in checkpoints:
        read_checkpoint_file(file)  # what is none is refused before anything is written
    with opened_set(where, settings) as (files, place):
        made, missing = _bring_back(files, place, settings, progress)
        found = compare_elsewhere(settings, place=place, checkpoints=checkpoints)
        damaged = [f"{files / each} {OTHER_HASH}" for each in _damaged_files(files, made)]
    own = {field: getattr(found, field) for field in Elsewhere.__struct_fields__}
    own |= {"missing": tuple(missing), "unread": (*found.unread, *damaged)}
    return Restored(set=made, documents=made.documents - len(missing), **own)


def _bring_back(
    files: Path, place: BackupPlace, settings: Settings, progress: Progress
) -> tuple[BackupSet, list[str]]:
    """The set, and which of its documents could not be brought back."""
    made = read_manifest(files)
    _refuse_other_engine(made, settings)
    database = files / _database_file(made)
    for file, digest in _hashes(made).items():
        if not _has_hash(files / file, digest):
            raise StoreMismatch(f"{files / file} {OTHER_HASH}")
    listing = read_regular(files / DOCUMENTS_FILE).decode("ascii")
    own = open_artifacts(settings)
    settings.data_path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if settings.store_path is None:
        missing = _copy_documents(place, listing.split(), own, progress)
        _copy_ledger(files, made, settings)
        _restore_postgres(database, opened_store_url(settings))
        _grant_rights(settings)
        return made, missing
    with _put_together(database, place, settings.store_path, progress) as whole:
        missing = _copy_documents(place, listing.split(), own, progress)
        _copy_ledger(files, made, settings)
        _refuse_store(settings)  # a service that was started meanwhile has made one
        whole.replace(settings.store_path)
        sync_folder(settings.store_path.parent)
    return made, missing


def check_set(
    where: Path | str, settings: Settings, *, progress: Progress = lambda *_: None
) -> list[str]:
    """Read database and documents of a set; which files cannot be read, or have another hash than then.

    What a list names that is damaged itself is not known, and not read.
    """
    name = str(where).rstrip("/").rpartition("/")[2]
    with opened_set(where, settings) as (files, place):
        made = read_manifest(files)
        hashes = _hashes(made)
        sound = [each for each, digest in hashes.items() if _has_hash(files / each, digest)]
        others = _damaged_files(files, made)
        bad = [f"{SETS}/{name}/{each}" for each in (*hashes, *others) if each not in sound]
        gone = set(made.missing)
        for listing in (each for each in sound if each in POOLS):
            for number, digest in enumerate(read_listing(files / listing), start=1):
                progress(POOLS[listing], number)
                if digest not in gone and not _is_whole(place, listing, digest):
                    bad.append(f"{POOLS[listing]}/{digest[:2]}/{digest}")
    return list(dict.fromkeys(bad))


def _is_whole(place: BackupPlace, listing: str, digest: str) -> bool:
    actual = sha256()
    try:
        pieces = place.read(listing, digest)
        for piece in pieces or ():
            actual.update(piece)
    except (
        OSError
    ):  # of a disk; a bucket that is not reached is another error, and says nothing of its bytes
        return False
    return pieces is not None and actual.hexdigest() == digest


def _hashes(made: BackupSet) -> dict[str, str]:
    """The files of a set whose hashes it knows."""
    return {_database_file(made): made.database_sha256, DOCUMENTS_FILE: made.documents_sha256}


def _damaged_files(files: Path, made: BackupSet) -> list[str]:
    """Those of the other files of a set that are changed or missing, and files that it did not have then."""
    changed = [] if is_as_written(read_regular(files / MANIFEST)) else [MANIFEST]
    if not made.files:
        return changed  # of a former version, which kept no hashes of them
    found = {each.relative_to(files).as_posix() for each in files.rglob("*") if each.is_file()}
    planted = found - made.files.keys() - _hashes(made).keys() - {MANIFEST}
    # What is not found is not looked for: a name that a stranger wrote leads to no other folder.
    return sorted(
        planted.union(
            changed,
            (
                each
                for each, digest in made.files.items()
                if each not in found or not _has_hash(files / each, digest)
            ),
        )
    )


def _has_hash(file: Path, digest: str) -> bool:
    try:
        return file_digest(file) == digest
    except OSError:
        return False


def _database_file(made: BackupSet) -> str:
    """The file whose hash the set knows: the database, or the list of its pieces."""
    if made.engine != "sqlite":
        return POSTGRES_FILE
    return SQLITE_FILE if made.format < PIECES_FORMAT else DATABASE_FILE


def _copy_documents(
    place: BackupPlace, digests: list[str], own: ArtifactStore, progress: Progress
) -> list[str]:
    missing = []
    for number, digest in enumerate(digests, start=1):
        progress("documents", number)
        if own.holds(digest) and own.verify(digest):
            continue
        pieces = place.read(DOCUMENTS_FILE, digest)
        if pieces is None or own.put_as(digest, pieces, bytes_max=UNLIMITED) is None:
            missing.append(digest)
    return missing


def _copy_ledger(place: Path, made: BackupSet, settings: Settings) -> None:
    mirror = settings.ledger.mirror
    source = place / LEDGER_FOLDER
    if mirror is None or not source.is_dir():
        return
    if any(each.startswith(f"{LEDGER_FOLDER}/") for each in _damaged_files(place, made)):
        return  # which is told; the mirror is made anew from the history
    folder = Path(mirror)
    unfinished = folder / UNFINISHED
    if folder.exists() and any(folder.iterdir()) and not unfinished.exists():
        return  # what survived knows at least as much, and is compared with the restored history
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished.touch()  # half a ledger of a restore that was killed is not one that survived
    for left in folder.iterdir():  # by then it may have been that of another set
        if left != unfinished:
            left.unlink()
    shutil.copytree(source, folder, dirs_exist_ok=True)
    sync_tree(folder)
    unfinished.unlink()


@contextmanager
def _put_together(
    database: Path, place: BackupPlace, to: Path, progress: Progress
) -> Iterator[Path]:
    """An SQLite database, complete and durable beside the place that it belongs to; removed unless it went there."""
    to.parent.mkdir(parents=True, exist_ok=True)
    incoming = to.with_name(f".{to.name}.restoring")
    try:
        with os.fdopen(
            os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
        ) as file:
            file.writelines(_database_pieces(database, place, progress))
            file.flush()
            os.fsync(file.fileno())
        yield incoming
    finally:
        incoming.unlink(missing_ok=True)


def _database_pieces(database: Path, place: BackupPlace, progress: Progress) -> Iterator[bytes]:
    if database.name == SQLITE_FILE:  # its hash was that of the set
        yield from pieces_of(database)
        return
    for number, digest in enumerate(read_listing(database), start=1):
        progress("pieces", number)
        found = place.read(DATABASE_FILE, digest)
        piece = None if found is None else b"".join(found)
        if piece is None or sha256(piece).hexdigest() != digest:
            what = "missing" if piece is None else "not what was backed up: its hash is another"
            raise StoreMismatch(
                f"{POOLS[DATABASE_FILE]}/{digest[:2]}/{digest} in {place.location} is {what}; try another set"
            )
        yield piece


def _restore_postgres(database: Path, url: str) -> None:
    command = ["pg_restore", "--no-owner", "--no-privileges", "--exit-on-error"]
    command += ["--single-transaction", f"--dbname={without_password(url)}", str(database)]
    try:
        run_postgres_tool(command, url)
    except StoreError as error:
        if "already exists" in str(error):  # one transaction: nothing of it was written
            raise InvalidRequest(DATABASE_TAKEN) from error
        raise


def _grant_rights(settings: Settings) -> None:
    """Rights are not part of a set: the role of workers may be missing on this server."""
    with closing(open_database(settings)) as opened:
        opened.rows("SELECT grant_to_runners() FROM pg_roles WHERE rolname = 'stateward_runner'")


def _refuse_other_engine(made: BackupSet, settings: Settings) -> None:
    engine = "sqlite" if settings.store_path is not None else "postgresql"
    if settings.store.url.startswith("memory:") or made.engine != engine:
        raise InvalidRequest(
            f"the set is of a {made.engine} store and the settings name {settings.store.url.partition(':')[0]}: name "
            "one of the same kind in store.url"
        )


def _refuse_store(settings: Settings) -> None:
    """What is here is never overwritten, whatever it is."""
    path = settings.store_path
    if settings.store.url.startswith("postgresql:"):
        from stateward.storage.postgres import has_schema

        # Here, and not when the dump is brought back: all documents would have been copied by then.
        if has_schema(opened_store_url(settings)):
            raise InvalidRequest(DATABASE_TAKEN)
    if path is not None and path.exists():
        raise InvalidRequest(
            f"there is a store at {path}: name another data folder, or move this one away first; if a restore made it "
            "and was cut off at its end, look at it with stateward restore --compare"
        )
    for left in () if path is None else (Path(f"{path}{end}") for end in JOURNALS):
        # SQLite takes it for that of the restored database, and writes its pages over those of the set.
        if left.exists() and left.stat().st_size:
            raise InvalidRequest(
                f"there is {left} without its database, which may hold what was written last: name another data "
                "folder, or move this file to the database that it belongs to first"
            )
