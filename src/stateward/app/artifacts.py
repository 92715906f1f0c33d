"""Which store of artifacts the settings name."""

import time
from pathlib import Path

from stateward.blobs import ArtifactStore, CopyFolder, Folder
from stateward.core.errors import StatewardError
from stateward.settings import ArtifactSettings, Settings

FOLDER = "artifacts"
CACHE = "artifacts-cache"
# A file that was received and never named by a record for a day is left over, and so is a copy that none used.
SWEEP_AGE_S = 86_400.0
SWEEP_EVERY_S = 6 * 3600.0
PROBE_BYTES = 64 * 1024  # more than what a full file system may still have in its last block


def open_artifacts(settings: Settings, *, is_remote: bool = False) -> ArtifactStore:
    """The artifacts of an installation; nothing is connected yet.

    `is_remote`: those of a worker without a database, which may find them in another folder than a coordinator, or has
    only copies that came with its work. Those lie apart: on the machine of a coordinator, with its settings, the folder
    of documents is that of the coordinator, and is read alone.
    """
    if is_remote and settings.transport.blobs is not None:
        return Folder(Path(settings.transport.blobs).absolute())
    if is_remote and settings.artifacts.is_folder:
        data = settings.data_path.absolute()
        return CopyFolder(data / CACHE, beside=Folder(data / FOLDER))
    return artifacts_at(settings.artifacts, settings.data_path.absolute())


def check_artifacts(settings: Settings, *, is_remote: bool) -> None:
    """Raise where no waiting helps: documents are in a bucket, and its client is not installed.

    A worker that learnt it from its first document would have taken that from one that can read it. A folder is made
    with the first document, so that none may be there yet.
    """
    is_elsewhere = is_remote and settings.transport.blobs is not None
    if not (settings.artifacts.is_folder or is_elsewhere):
        from stateward.blobs.objects import check_client

        check_client()


def sweep_artifacts(settings: Settings, *, is_remote: bool = False) -> float:
    """Remove what is left over on this machine; seconds until the next time."""
    own = open_artifacts(settings, is_remote=is_remote)
    own.sweep(older_than=time.time() - SWEEP_AGE_S)
    return SWEEP_EVERY_S


def storing_fault(artifacts: ArtifactStore) -> str:
    """Why no document can be stored, or ''; tried, because free space says nothing of quotas and permissions."""
    try:
        with artifacts.receive(bytes_max=PROBE_BYTES) as incoming:
            incoming.write(bytes(PROBE_BYTES))
    except (StatewardError, OSError) as error:
        return str(error)
    return ""


def artifacts_at(own: ArtifactSettings, data: Path) -> ArtifactStore:
    """The artifacts that these settings name, with their folder or their cache in a data folder."""
    if own.is_folder:
        return Folder(data / FOLDER)
    from stateward.blobs.objects import ObjectOptions, ObjectStorage  # most installations need none

    return ObjectStorage(
        ObjectOptions(
            url=own.url,
            endpoint=own.endpoint,
            region=own.region,
            timeout_s=own.timeout_seconds,
            link_s=own.link_seconds,
            cache_bytes_max=own.cache_bytes_max,
        ),
        data / CACHE,
    )
