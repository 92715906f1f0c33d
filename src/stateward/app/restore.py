"""Bringing an installation back from a backup set, and saying what is known elsewhere and missing in it.

Everything is checked before the first file is written, and the database comes last: an installation that was only half
restored has no records, and the same command can be given again.
"""

import os
import shutil
from hashlib import sha256
from pathlib import Path

import msgspec

from stateward.app.anchors import TIMESTAMPS
from stateward.app.artifacts import open_artifacts
from stateward.app.backup import (
    LEDGER_FOLDER,
    SQLITE_FILE,
    Progress,
    document_digests,
    file_digest,
)
from stateward.app.backup_places import (
    DOCUMENTS_FILE,
    UNLIMITED,
    BackupPlace,
    BackupSet,
    opened_set,
    read_manifest,
    sync_folder,
)
from stateward.app.databases import open_database
from stateward.app.postgres_tools import POSTGRES_FILE, run_postgres_tool, without_password
from stateward.blobs import ArtifactStore
from stateward.core.errors import InvalidRequest, StoreError, StoreMismatch
from stateward.settings import Settings

SHOWN_MAX = 50


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What came back, and what is known here beyond it."""

    set: BackupSet
    documents: int
    missing: tuple[str, ...] = ()
    """Documents that records name and that the set could not bring."""
    unknown_documents: tuple[str, ...] = ()
    """Documents that lie in the data folder and that no restored record names: they came after the backup."""
    ledger_ahead: int = 0
    """Transitions that the mirrored ledger has beyond the restored history."""
    ledger_records: tuple[str, ...] = ()
    """The records that these belong to; at most the first fifty."""
    checkpoint: str | None = None
    """A file with a checkpoint that was handed over and that covers more than the restored history has."""
    checkpoint_ahead: int = 0
    """How many transitions it covers beyond it."""


def restore(
    where: Path | str, settings: Settings, *, progress: Progress = lambda *_: None
) -> Restored:
    """Bring a set back into the data folder and database that these settings name, which hold no store yet."""
    _refuse_store(settings)
    with opened_set(where, settings) as (files, place):
        return _restored(files, place, settings, progress)


def _restored(files: Path, place: BackupPlace, settings: Settings, progress: Progress) -> Restored:
    made = read_manifest(files)
    _refuse_other_engine(made, settings)
    listing = (files / DOCUMENTS_FILE).read_text()
    database = files / (SQLITE_FILE if made.engine == "sqlite" else POSTGRES_FILE)
    if file_digest(database) != made.database_sha256:
        raise StoreMismatch(f"{database} is not the file that was backed up: its hash is another")
    if sha256(listing.encode()).hexdigest() != made.documents_sha256:
        raise StoreMismatch(f"{files / DOCUMENTS_FILE} was changed since the backup")
    own = open_artifacts(settings)
    settings.data_path.mkdir(parents=True, exist_ok=True, mode=0o700)
    missing = _copy_documents(place, listing.split(), own, progress)
    _copy_ledger(files, settings)
    _copy_database(database, settings)
    return _compare(made, settings, own, missing)


def _copy_documents(
    place: BackupPlace, digests: list[str], own: ArtifactStore, progress: Progress
) -> list[str]:
    missing = []
    for number, digest in enumerate(digests, start=1):
        progress("documents", number)
        if own.holds(digest) and own.verify(digest):
            continue
        pieces = place.document(digest)
        if pieces is None or own.put_as(digest, pieces, bytes_max=UNLIMITED) is None:
            missing.append(digest)
    return missing


def _copy_ledger(place: Path, settings: Settings) -> None:
    mirror = settings.ledger.mirror
    source = place / LEDGER_FOLDER
    if mirror is None or not source.is_dir():
        return
    if Path(mirror).exists() and any(Path(mirror).iterdir()):
        return  # what survived knows at least as much, and is compared with the restored history
    shutil.copytree(source, mirror, dirs_exist_ok=True)


def _copy_database(database: Path, settings: Settings) -> None:
    to = settings.store_path
    if to is None:
        _restore_postgres(database, settings.store.url)
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    incoming = to.with_name(f".{to.name}.restoring")
    shutil.copyfile(database, incoming)
    incoming.chmod(0o600)
    with incoming.open("rb+") as file:
        os.fsync(file.fileno())
    incoming.replace(to)
    sync_folder(to.parent)


def _restore_postgres(database: Path, url: str) -> None:
    command = ["pg_restore", "--no-owner", "--no-privileges", "--exit-on-error"]
    command += ["--single-transaction", f"--dbname={without_password(url)}", str(database)]
    try:
        run_postgres_tool(command, url)
    except StoreError as error:
        if "already exists" in str(error):  # one transaction: nothing of it was written
            raise InvalidRequest(
                "the database holds a store: name an empty one, or rename its schema first"
            ) from error
        raise


def _compare(
    made: BackupSet, settings: Settings, own: ArtifactStore, missing: list[str]
) -> Restored:
    database = open_database(settings)
    try:
        if (
            made.engine == "postgresql"
        ):  # rights are not part of a set: the role may be missing there
            database.rows(
                "SELECT grant_to_runners() FROM pg_roles WHERE rolname = 'stateward_runner'"
            )
        named = set(document_digests(database))
        ((newest,),) = database.rows("SELECT coalesce(max(seq), 0) FROM transitions")
        ((count,),) = database.rows("SELECT coalesce(sum(count), 0) FROM lanes")
    finally:
        database.close()
    ahead, records = _ledger_ahead(settings, int(str(newest)))
    checkpoint, covered = _newest_checkpoint(settings)
    beyond = max(0, covered - int(str(count)))
    return Restored(
        set=made,
        documents=len(named) - len(missing),
        missing=tuple(missing),
        unknown_documents=tuple(sorted(set(own.digests()) - named)),
        ledger_ahead=ahead,
        ledger_records=tuple(records),
        checkpoint=str(checkpoint) if beyond else None,
        checkpoint_ahead=beyond,
    )


def _newest_checkpoint(settings: Settings) -> tuple[Path | None, int]:
    """The checkpoint that covers most, of those that were handed to folders or time-stamped; what it covers."""
    from stateward.ledger.history_checkpoint import read_checkpoint

    places = [settings.data_path / TIMESTAMPS, *map(Path, settings.anchors.destinations)]
    newest: Path | None = None
    covered = 0
    for file in (each for place in places if place.is_dir() for each in place.rglob("*.txt")):
        try:
            count = read_checkpoint(file.read_text("utf-8")).count
        except (InvalidRequest, OSError, UnicodeDecodeError):
            continue  # another file, or one that was damaged: `verify --checkpoint` says what is wrong with it
        if count > covered:
            newest, covered = file, count
    return newest, covered


def _ledger_ahead(settings: Settings, newest: int) -> tuple[int, list[str]]:
    from stateward.ledger import Ledger

    mirror = settings.ledger.mirror
    if mirror is None or not Path(mirror).is_dir() or not any(Path(mirror).iterdir()):
        return 0, []
    ahead = 0
    records: dict[str, None] = {}
    with Ledger.open(Path(mirror), read_only=True, machine=None) as ledger:
        for line in ledger.records():
            if (line.source_seq or 0) > newest:
                ahead += 1
                records[line.doc_id] = None
    return ahead, list(records)[:SHOWN_MAX]


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
    if path is not None and path.exists():
        raise InvalidRequest(
            f"there is a store at {path}: name another data folder, or move this one away first"
        )
