"""Bringing an installation back from a backup set, and saying what is known elsewhere and missing in it.

Everything is checked before the first file is written, and the database comes last: an installation that was only half
restored has no records, and the same command can be given again.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from stateward.app.artifacts import open_artifacts
from stateward.app.backup import (
    LEDGER_FOLDER,
    SQLITE_FILE,
    Progress,
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
from stateward.app.known_elsewhere import Elsewhere, compare_elsewhere, read_checkpoint_file
from stateward.app.postgres_tools import POSTGRES_FILE, run_postgres_tool, without_password
from stateward.blobs import ArtifactStore
from stateward.core.errors import InvalidRequest, StoreError, StoreMismatch
from stateward.settings import Settings


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
    own = {
        field: getattr(found, field) for field in Elsewhere.__struct_fields__ if field != "missing"
    }
    return Restored(
        set=made, documents=made.documents - len(missing), missing=tuple(missing), **own
    )


def _bring_back(
    files: Path, place: BackupPlace, settings: Settings, progress: Progress
) -> tuple[BackupSet, list[str]]:
    """The set, and which of its documents could not be brought back."""
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
    return made, missing


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
        _grant_rights(settings)
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
    if path is not None and path.exists():
        raise InvalidRequest(
            f"there is a store at {path}: name another data folder, or move this one away first"
        )
