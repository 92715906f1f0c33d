"""Which store of artifacts the settings name."""

from pathlib import Path

from stateward.blobs import ArtifactStore, Folder
from stateward.settings import ArtifactSettings, Settings

FOLDER = "artifacts"
CACHE = "artifacts-cache"


def open_artifacts(settings: Settings, *, is_remote: bool = False) -> ArtifactStore:
    """The artifacts of an installation; nothing is connected yet.

    `is_remote`: those of a worker without a database, which may find them in another folder than a coordinator.
    """
    if is_remote and settings.transport.blobs is not None:
        return Folder(Path(settings.transport.blobs).absolute())
    return artifacts_at(settings.artifacts, settings.data_path.absolute())


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
